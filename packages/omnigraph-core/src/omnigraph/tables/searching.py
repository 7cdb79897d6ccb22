"""Search by Lance's own indexes: the rows whose text has a word, the rows nearest to a vector, each with its score.

    query ── candidates of Lance ── scores in float64, ties closed ──> columns + _score | _distance

Lance cuts at a limit wherever it likes among equals. Here everything that is as good as the last row comes along, so
that a caller who breaks ties by id gets the same rows whatever the index covers. Filters are judged before the cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from lance import LanceDataset
from lance.query import FullTextOperator, MatchQuery

from omnigraph.errors import InternalError
from omnigraph.tables.arrow_schema import logical_schema
from omnigraph.tables.coverage import VECTOR_METRIC, as_matrix, coverage_of
from omnigraph.tables.failures import translating
from omnigraph.tables.filters import ROW_ADDRESS
from omnigraph.tables.handles import LanceSnapshot
from omnigraph.tables.reading import projected, scan_options
from omnigraph.tables.row_filters import RowFilter, for_lance

SCORE: Final = "_score"
DISTANCE: Final = "_distance"

MAX_TIES: Final = 10_000
"""Among more equals than this the cut is by address."""

EXACT_ROWS: Final = 100_000
"""An index over no more rows than this is searched as a whole: the answer is exact, and faster than without it."""

_SHARE: Final = 4
"""Of a larger index one part in so many is searched; more when a filter leaves too few rows."""

_SAME: Final = 1e-5
"""Distances of Lance (float32) that differ by less may be equal."""

Floats = npt.NDArray[np.float64]


def search_text(
    snapshot: LanceSnapshot,
    column: str,
    query: str,
    *,
    columns: Sequence[str],
    predicate: RowFilter | None,
    limit: int | None,
) -> pa.Table:
    """The rows in whose text a word of the query occurs, best first, and all that are as good as the last."""
    if not _has_index(snapshot, column, "inverted"):
        raise InternalError(f"There is no inverted index on {column} in {snapshot.pin}.")
    dataset = snapshot.dataset
    schema = projected(logical_schema(dataset.schema), columns)
    if limit is not None and limit < 1:
        return schema.append(pa.field(SCORE, pa.float64(), nullable=False)).empty_table()
    words = MatchQuery(query, column, operator=FullTextOperator.OR)

    def ask(count: int | None) -> pa.Table:
        return _matches(dataset, schema, words, predicate, limit=count)

    with translating("search", snapshot.place.uri):
        if limit is None:
            found = ask(None)
        else:
            found = _with_ties(ask, limit, cut=lambda at_limit, last: last < at_limit, score=SCORE)
    scores = found[SCORE].to_numpy().astype(np.float64)
    return _ranked(found, schema, scores, name=SCORE, limit=limit, descending=True)


def nearest(
    snapshot: LanceSnapshot,
    column: str,
    vector: Sequence[float] | npt.NDArray[np.float32],
    count: int,
    *,
    columns: Sequence[str],
    predicate: RowFilter | None,
) -> pa.Table:
    """The rows nearest to a vector by cosine, nearest first, and all that are as near as the last."""
    dataset = snapshot.dataset
    schema = projected(logical_schema(dataset.schema), columns)
    if count < 1:
        return schema.append(pa.field(DISTANCE, pa.float64(), nullable=False)).empty_table()
    wanted = np.asarray(vector, np.float32)
    options = {
        "column": column,
        "q": wanted,
        "metric": VECTOR_METRIC,
        "use_index": _has_index(snapshot, column, "vector"),
        "minimum_nprobes": _probes(snapshot, column),
    }

    def ask(number: int | None) -> pa.Table:
        return dataset.scanner(
            columns=list(dict.fromkeys([*schema.names, column, DISTANCE])),
            nearest={**options, "k": number},
            filter=None if predicate is None else for_lance(predicate, dataset.schema),
            prefilter=True,
            with_row_address=True,
            **scan_options(schema),
        ).to_table()

    with translating("search", snapshot.place.uri):
        found = _with_ties(ask, count, cut=lambda at_limit, last: last > at_limit + _SAME, score=DISTANCE)
    distances = cosine_distances(as_matrix(found[column].combine_chunks()), wanted)
    return _ranked(found, schema, distances, name=DISTANCE, limit=count, descending=False)


def cosine_distances(vectors: npt.NDArray[np.float32], wanted: npt.NDArray[np.float32]) -> Floats:
    """1 - cosine similarity of each row of a matrix; NaN where a vector is zero or has no number somewhere."""
    rows, query = vectors.astype(np.float64), wanted.astype(np.float64)
    # Row by row, not as a product of matrices: there equal rows may differ in the last bit, and ties would break.
    dots, squares = (rows * query).sum(axis=1), (rows * rows).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        similar = dots / np.sqrt(squares * (query * query).sum())
    return np.asarray(np.clip(1.0 - similar, 0.0, 2.0))


def _has_index(snapshot: LanceSnapshot, column: str, kind: str) -> bool:
    return any((each.spec.column, each.spec.kind) == (column, kind) for each in coverage_of(snapshot))


def _probes(snapshot: LanceSnapshot, column: str) -> int:
    """How many partitions of each segment to search; more than there are means all of them."""
    found = [each.covered_rows for each in coverage_of(snapshot) if each.spec.column == column]
    rows = max(found, default=0)
    partitions = math.isqrt(rows)
    return max(EXACT_ROWS * partitions // max(1, rows), partitions // _SHARE, 1) if rows > EXACT_ROWS else EXACT_ROWS


def _matches(
    dataset: LanceDataset, schema: pa.Schema, words: MatchQuery, predicate: RowFilter | None, *, limit: int | None
) -> pa.Table:
    """Rows that match, with their score and address."""
    # Asked for by name: Lance warns when it adds the score by itself.
    return dataset.scanner(
        columns=[*schema.names, SCORE],
        full_text_query=words,
        filter=None if predicate is None else for_lance(predicate, dataset.schema),
        limit=limit,
        prefilter=True,
        with_row_address=True,
        **scan_options(schema),
    ).to_table()


def _with_ties(
    ask: Callable[[int | None], pa.Table], limit: int, *, cut: Callable[[float, float], bool], score: str
) -> pa.Table:
    """The first ``limit`` candidates and those that may be equal to the last of them: asks for more until it is sure.

    ``cut(at_limit, last)`` says whether a candidate is surely worse than the one at the limit.
    """
    fetch = limit + max(8, limit // 4)
    while True:
        found = ask(fetch)
        scores = np.sort(found[score].to_numpy())
        if score == SCORE:
            scores = scores[::-1]
        # Another number of rows than was asked for is all there are.
        if len(found) != fetch or fetch > limit + MAX_TIES or cut(float(scores[limit - 1]), float(scores[-1])):
            return found
        fetch *= 16


def _ranked(
    found: pa.Table, schema: pa.Schema, scores: Floats, *, name: str, limit: int | None, descending: bool
) -> pa.Table:
    """The best rows with their score, best first, then by address; those without a score are left out."""
    addresses = found[ROW_ADDRESS].to_numpy()
    order = np.lexsort((addresses, -scores if descending else scores))
    order = order[~np.isnan(scores[order])]
    if limit is not None and len(order) > limit:
        order = order[: limit + np.count_nonzero(scores[order[limit:]] == scores[order[limit - 1]])]
    rows = found.select(schema.names).take(pa.array(order))
    arrays = [rows[each].combine_chunks() for each in range(len(schema))]
    field = pa.field(name, pa.float64(), nullable=False)
    return pa.table([*arrays, pa.array(scores[order], pa.float64())], schema=schema.append(field))
