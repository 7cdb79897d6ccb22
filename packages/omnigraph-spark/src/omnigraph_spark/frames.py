"""``read``, ``query``, ``nodes`` and ``edges``: DataFrames of a graph, with all settings that they need.

    arguments ── commit chosen, scan made ──> reader ── one number per partition, mapInArrow ──> DataFrame

They choose the commit in this process, so that a DataFrame shows one snapshot however often it is used, over Spark
Connect too. They need no setting of the session. The readers are those of ``format("omnigraph")``, which Spark plans in
three Python processes one after the other, whenever a DataFrame is used; here everything is known before, and a read of
some million rows takes about half of the time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import omnigraph
from omnigraph.errors import InvalidInputError
from omnigraph_spark.conditions import Condition, check_taken
from omnigraph_spark.moments import choose_commit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read(
    spark: SparkSession,
    uri: str | Path,
    type: str,  # noqa: A002 - the word that users say
    *,
    columns: Sequence[str] | None = None,
    where: Sequence[Condition] = (),
    branch: str | None = None,
    commit: str | None = None,
    tag: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The rows of a node or edge type, as of now or of a moment.

    Args:
        spark: any session.
        uri: the graph.
        type: ``Film``, or ``node:Film`` and ``edge:Film`` where both exist.
        columns: those to read; Spark does not find out by itself which are used.
        where: conditions that all rows fulfil, such as ``("year", ">=", 1990)``; they are judged where the rows lie.
        branch: the branch to read, as it is now; by default main.
        commit: the id of a commit instead.
        tag: the name of a tag instead.
        options: what the backend needs beside the URI; these travel to the executors, the environment does not.

    Raises:
        NotFoundError: there is no such graph, type, branch, commit or tag.
        InvalidInputError: the type has no such column, a condition cannot be judged there, or ``branch``, ``commit``
            and ``tag`` are mixed.
    """
    with omnigraph.open(uri, mode="r", options=options) as graph:
        scan = graph.scan(type, columns, snapshot=choose_commit(graph, branch=branch, commit=commit, tag=tag))
    check_taken(scan, where)
    return _frame(spark, scan, where)


def query(
    spark: SparkSession,
    uri: str | Path,
    source: str | os.PathLike[str],
    name: str | None = None,
    *,
    params: Mapping[str, Any] | None = None,
    branch: str | None = None,
    commit: str | None = None,
    tag: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The result of a query, which one task computes whenever the DataFrame is used; ``cache()`` it to use it often.

    ``source`` is the text of a query or the path of a ``.gq`` file, ``name`` says which query when there are several,
    and ``params`` are JSON values by name. The rest is as for ``read``.

    Raises:
        CompileError: the query is wrong; every mistake is told, with its place.
        InvalidInputError: a parameter is wrong or missing, or the query changes the graph.
        NotFoundError: there is no such graph, branch, commit or tag.
    """
    from omnigraph_spark.reader import QueryReader, frame_of, scan_query, schema_of

    with omnigraph.open(uri, mode="r", options=options) as graph:
        commit_id = choose_commit(graph, branch=branch, commit=commit, tag=tag)
        scan = scan_query(graph, source, name, params, commit_id, options)
    return frame_of(spark, QueryReader(scan, schema_of(scan)))


def nodes(
    spark: SparkSession,
    uri: str | Path,
    types: Sequence[str] | None = None,
    *,
    type_column: str = "type",
    qualified: bool = False,
    branch: str | None = None,
    commit: str | None = None,
    tag: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The nodes of some types, by default of all, as GraphFrames takes them: ``id``, the type, then all properties.

    A property that a type does not have is null there.

    Args:
        spark: any session.
        uri: the graph.
        types: names of node types.
        type_column: the column that says which type a row is of.
        qualified: ids as ``Film:1``. Ids are unique within a type; one frame of several types may need more.
        branch: as for ``read``; so ``commit`` and ``tag``.
        commit: instead of a branch.
        tag: instead of a branch.
        options: as for ``read``.

    Raises:
        NotFoundError: there is no such graph, type, branch, commit or tag.
        InvalidInputError: a property has another type here than there, or is called as the column of types.
    """
    return _frames("node", spark, uri, types, type_column, qualified, options, branch=branch, commit=commit, tag=tag)


def edges(
    spark: SparkSession,
    uri: str | Path,
    types: Sequence[str] | None = None,
    *,
    type_column: str = "type",
    qualified: bool = False,
    branch: str | None = None,
    commit: str | None = None,
    tag: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The edges of some types, by default of all, as GraphFrames takes them: with ``src`` and ``dst`` behind ``id``.

    All else is as for ``nodes``. With ``qualified`` the ends are told as ``nodes`` tells ids, so take both frames the
    same way.
    """
    return _frames("edge", spark, uri, types, type_column, qualified, options, branch=branch, commit=commit, tag=tag)


def _frames(
    kind: str,
    spark: SparkSession,
    uri: str | Path,
    types: Sequence[str] | None,
    type_column: str,
    qualified: bool,
    options: Mapping[str, Any] | None,
    **moment: str | None,
) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 - as Spark's own docs have it

    with omnigraph.open(uri, mode="r", options=options) as graph:
        commit_id = choose_commit(graph, **moment)
        catalog = graph.snapshot(at=commit_id).schema.catalog
        names = _names(kind, types, [*(catalog.nodes if kind == "node" else catalog.edges)])
        scans = {name: graph.scan(f"{kind}:{name}", snapshot=commit_id) for name in names}
    _check_columns([*scans.values()], type_column)
    made = []
    for name, scan in scans.items():
        frame = _frame(spark, scan).withColumn(type_column, F.lit(name))
        if qualified:
            owners = {"id": name}
            if kind == "edge":
                owners |= {"src": catalog.edges[name].source, "dst": catalog.edges[name].target}
            for column, owner in owners.items():
                frame = frame.withColumn(column, F.concat(F.lit(f"{owner}:"), F.col(column)))
        made.append(frame)
    first = ["id", *(("src", "dst") if kind == "edge" else ()), type_column]
    rows = reduce(lambda some, more: some.unionByName(more, allowMissingColumns=True), made)
    return rows.select(*first, *sorted(set(rows.columns) - set(first)))


def _names(kind: str, asked: Sequence[str] | None, there: Sequence[str]) -> list[str]:
    """The types that are read, each once; one that is not there is told by the scan."""
    if isinstance(asked, str):
        raise InvalidInputError(f"{asked!r} is no list of type names.", help=f'Write a list: ["{asked}"].')
    names = [*dict.fromkeys(each.removeprefix(f"{kind}:") for each in (there if asked is None else asked))]
    if not names:
        raise InvalidInputError(
            f"There is no {kind} type to read.", help=f"The graph has: {', '.join(there) or 'none'}."
        )
    return names


def _check_columns(scans: Sequence[omnigraph.TypeScan], type_column: str) -> None:
    """Raise when the types cannot stand below each other.

    Spark would find a type that both fit in, and turn numbers into text for it.
    """
    seen: dict[str, tuple[Any, str]] = {}
    for scan in scans:
        for field in scan.schema:
            if field.name == type_column:
                raise InvalidInputError(
                    f"{scan.type_key} has a column {type_column!r}, which is to say the type of a row.",
                    help='Give that another name: type_column="label".',
                    details={"type": scan.type_key},
                )
            kind, where = seen.setdefault(field.name, (field.type, scan.type_key))
            if kind != field.type:
                raise InvalidInputError(
                    f"{field.name} is {kind} in {where} and {field.type} in {scan.type_key}.",
                    help="Read the types by themselves: types=[...].",
                    details={"type": scan.type_key, "column": field.name},
                )


def _frame(spark: SparkSession, scan: omnigraph.TypeScan, where: Sequence[Condition] = ()) -> DataFrame:
    from pyspark.sql import is_remote

    from omnigraph_spark.reader import TypeReader, frame_of, partitions_for, schema_of

    # A client of Connect does not know how many cores there are.
    count = None if is_remote() else partitions_for(scan.row_count, spark.sparkContext.defaultParallelism)
    return frame_of(spark, TypeReader(scan, schema_of(scan), partitions=count, where=where))
