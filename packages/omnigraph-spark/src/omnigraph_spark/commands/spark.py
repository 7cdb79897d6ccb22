"""``omnigraph spark``: the verbs that need Spark."""

from __future__ import annotations

import click

from omnigraph_cli.verbs import LazyGroup, global_options, json_option

_EXAMPLES = """\b
Examples:
  omnigraph spark load films.omni --data 'films/*.jsonl' --mode append
  omnigraph spark load films.omni --data Film=films.parquet --data Rented=rentals/ --mode merge
  omnigraph spark export films.omni films-parquet --master 'local[4]'
"""


@click.group(
    cls=LazyGroup,
    verbs={
        "export": "omnigraph_spark.commands.export:export",
        "load": "omnigraph_spark.commands.load:load",
    },
    epilog=_EXAMPLES,
)
@json_option
@global_options
def spark() -> None:
    """Load and export graphs with Spark, when they outgrow one process.

    Spark runs on this machine, or on a cluster that --master names; it comes with `pip install
    'omnigraph-spark[pyspark,jre]'`. A graph that one process can load is loaded faster by `omnigraph load`.
    """
