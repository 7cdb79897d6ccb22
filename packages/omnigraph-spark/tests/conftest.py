"""What the tests of Spark share: one session on the Java that the package brings, and graphs to fill."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pyspark.sql import SparkSession

import omnigraph_spark
from omnigraph_spark.java import use_java

# Test modules are imported by path; what several of them use has to be found by name, by workers too.
sys.path.append(str(Path(__file__).parent))

# Machines are shared: neither a slow example nor slow generation is a failure. Hangs are guarded by themselves.
settings.register_profile("omnigraph", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("omnigraph")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One session for all tests: starting one takes longer than most of them."""
    # What the machine has is not what is tested: the package must do without.
    use_java(only_bundled=True)
    home = tmp_path_factory.mktemp("spark")
    made = omnigraph_spark.session(
        master="local[2,3]",
        config={
            "spark.sql.shuffle.partitions": "2",
            "spark.local.dir": str(home),
            "spark.sql.warehouse.dir": str(home / "warehouse"),
            "spark.driver.memory": "2g",
        },
    )
    yield made
    made.stop()
