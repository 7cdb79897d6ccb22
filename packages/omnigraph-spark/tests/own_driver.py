"""A driver with a session of its own, for tests of what befalls drivers and executors: makes one load and tells of it.

The job comes as JSON on the command line; failpoints from the environment, see ``omnigraph.testing.faults``. How the
load ended goes to stdout.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from spark_load_world import cut_every, merge_by_tasks
from task_faults import stumbling

import omnigraph_spark
from omnigraph.testing.faults import arm_from_environment
from omnigraph_spark import loading
from omnigraph_spark.java import use_java


def run(job: dict[str, Any]) -> dict[str, Any]:
    use_java(only_bundled=True)
    spark = omnigraph_spark.session(master=job["config"].pop("master"), config=job["config"])
    if job["fault"] is not None:
        loading.write_ranges = stumbling(loading.write_ranges, **job["fault"], pid=os.getpid())
    cut_every(600)
    if job["mode"] == "merge":
        merge_by_tasks()
    arm_from_environment()
    done = omnigraph_spark.load(spark, job["uri"], job["path"], job["mode"], load_id=job["load_id"])
    spark.stop()
    return done.to_dict()


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(run(json.loads(sys.argv[1]))))
