"""What this distribution offers to OmniGraph: the verbs of Spark. Every listing imports it, so it stays light."""

from __future__ import annotations

from collections.abc import Iterator

from omnigraph.plugins import CliVerb, hookimpl


@hookimpl
def omnigraph_cli_verbs() -> Iterator[CliVerb]:
    """``omnigraph spark load`` and ``omnigraph spark export``."""
    yield CliVerb(
        name="spark",
        command="omnigraph_spark.commands.spark:spark",
        help="Load and export graphs with Spark.",
        spi_version=1,
    )
