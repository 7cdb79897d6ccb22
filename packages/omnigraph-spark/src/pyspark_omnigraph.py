"""What makes Spark find ``format("omnigraph")`` by itself: it imports every top-level module named ``pyspark_*``."""

from __future__ import annotations

from contextlib import suppress

# One module that cannot be imported keeps Spark from every other source too.
with suppress(ImportError):
    from omnigraph_spark.source import OmnigraphSource as DefaultSource  # noqa: F401 - Spark looks for this name
