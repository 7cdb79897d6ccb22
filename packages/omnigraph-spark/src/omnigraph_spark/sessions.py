"""``session``: a Spark session on this machine that is quiet and has what graphs need.

Platforms make sessions themselves, and any session works; this one spares whoever has none the settings. A session that
is there already is returned as it is.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from omnigraph.errors import InvalidInputError
from omnigraph_spark.java import use_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PUSH_DOWN: Final = "spark.sql.python.filterPushdown.enabled"
"""Without it, Spark refuses a source that takes filters."""

JAVA_OPTIONS: Final = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
"""Arrow in Java looks at every access to a value whether it is within its buffer, and whether the value is null. Spark
asks for the second by itself and never leaves the first: without these looks rows come from Python a tenth faster."""

_LOGGING: Final = Path(__file__).with_name("log4j2.properties")


def session(
    name: str = "omnigraph", *, master: str = "local[*]", config: Mapping[str, str] | None = None
) -> SparkSession:
    """The session of this process, or a new one on a Java of this machine.

    Args:
        name: what Spark calls the application.
        master: where it runs; ``local[2]`` is two threads of this machine.
        config: settings of Spark, such as ``{"spark.driver.memory": "4g"}``; they count for a new session only.

    Raises:
        InvalidInputError: Spark or Java is not installed.
    """
    spark_class = import_spark()
    active = spark_class.getActiveSession()
    if active is not None:
        return active
    use_java()
    # Workers run what this process runs, and a machine without a name for itself is still a machine.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = {
        PUSH_DOWN: "true",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} {JAVA_OPTIONS}",
        "spark.executor.extraJavaOptions": JAVA_OPTIONS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        **(config or {}),
    }
    builder = spark_class.builder.appName(name).master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        # Where a graph was used before, Lance warns of the fork by which Java is started, which is Java at once.
        warnings.filterwarnings("ignore", "lance is not fork-safe")
        return builder.getOrCreate()


def import_spark() -> type[SparkSession]:
    """Spark's session class.

    Raises:
        InvalidInputError: Spark is not installed.
    """
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise InvalidInputError(
            "Spark is not installed.", help="Install it: pip install 'omnigraph-spark[pyspark,jre]'."
        ) from error
    return SparkSession
