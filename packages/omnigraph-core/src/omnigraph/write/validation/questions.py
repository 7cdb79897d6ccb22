"""The questions that validators ask about sets of rows, each answered in one of two ways.

    absent     rows whose key is not among others
    taken      rows whose key is among others
    repeated   rows whose tuple occurred before, in one set
    held       rows that share their tuple with a committed one that is another row
    members    as taken, for every row

Few rows are compared in memory (``codes``), many by DataFusion (``sets``) or by whoever the limits name as judge
(``row_sets``); limits decide, answers are the same. Inputs have neutral columns: ``row`` (the number of a row), ``id``,
``key``, and ``k0``, ``k1``, … for the members of a tuple. None of these is null: a row that no question is about is
left out before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.write.validation.codes import Codes, meetings, overtaken, repeats, tuple_codes
from omnigraph.write.validation.row_sets import Found, RowSet
from omnigraph.write.validation.sets import BATCH_ROWS, Limits, Rows, chain, gather, part_of, plan_table, run

Mask = npt.NDArray[np.bool_]

ROW: Final = pa.schema({"row": pa.int64()})
REPEATED: Final = pa.schema({"row": pa.int64(), "first": pa.int64()})
HELD: Final = pa.schema({"row": pa.int64(), "holder": pa.string()})


def absent(rows: Rows, known: Sequence[Rows], keep: int, limits: Limits) -> Found:
    """The rows (row, key) whose key is in none of the sets ``known`` (key)."""
    if not _are_few(limits, rows, *known):
        if limits.judge is not None and (sets := described(rows, *known)):
            return limits.judge.absent(sets[0], sets[1:], keep)
        return gather(_join("ANTI", rows, known, limits), ROW, keep)
    table = rows.read_all()
    missing = table.filter(pc.invert(pc.is_in(table["key"], value_set=_keys_of(known))))
    return gather(missing.select(["row"]).to_batches(), ROW, keep)


def taken(rows: Rows, known: Sequence[Rows], keep: int, limits: Limits) -> Found:
    """The rows (row, key) whose key is in one of the sets ``known`` (key)."""
    if limits.judge is not None and not _are_few(limits, rows, *known) and (sets := described(rows, *known)):
        return limits.judge.taken(sets[0], sets[1:], keep)
    return gather(_common(rows, known, limits), ROW, keep)


def members(rows: Rows, known: Sequence[Rows], limits: Limits) -> Mask:
    """By number of row, whether the key of a row (row, key) is in one of the sets ``known`` (key)."""
    found = np.zeros(rows.row_count, bool)
    for batch in _common(rows, known, limits):
        found[batch["row"].to_numpy()] = True
    return found


def _common(rows: Rows, known: Sequence[Rows], limits: Limits) -> Iterator[pa.RecordBatch]:
    if not _are_few(limits, rows, *known):
        yield from _join("SEMI", rows, known, limits)
        return
    table = rows.read_all()
    yield from table.filter(pc.is_in(table["key"], value_set=_keys_of(known))).select(["row"]).to_batches()


def _join(kind: str, rows: Rows, known: Sequence[Rows], limits: Limits) -> Iterator[pa.RecordBatch]:
    """The rows whose key others have (``SEMI``) or do not have (``ANTI``), in no order.

    The smaller side becomes the hash table: nodes, if there are more edges; and few edges, if there are more nodes.
    """
    others = chain(known, ["key"])
    is_table = rows.row_count < others.row_count
    table = plan_table(rows if is_table else others, limits)
    for number in range(table.parts):
        ours, theirs = (part_of(name, ["key"], number, table.parts) for name in ("r", "o"))
        join = f"{ours} LEFT {kind} JOIN {theirs}" if is_table else f"{theirs} RIGHT {kind} JOIN {ours}"
        sql = f'SELECT r."row" FROM {join} ON r.key = o.key'  # noqa: S608 - neutral names
        inputs = {"r": rows, "o": others}
        yield from run(sql, inputs, limits, has_hashes=table.parts > 1, as_views=table.has_short_keys)


def held(rows: Rows, others: Rows, replaced: Rows | None, keep: int, limits: Limits) -> Found:
    """The rows (row, id, k…) that share a tuple with one of ``others`` (id, k…) of another id, once for each.

    Those of ``others`` that are ``replaced`` (key) get another row and do not count.
    """
    is_many = replaced is None and not _are_few(limits, rows, others)
    if limits.judge is not None and is_many and (sets := described(rows, others)):
        return limits.judge.held(sets[0], sets[1], keep)
    return gather(meet(rows, others, limits, replaced=replaced), HELD, keep)


def meet(rows: Rows, others: Rows, limits: Limits, *, replaced: Rows | None = None) -> Iterator[pa.RecordBatch]:
    """All pairs that ``held`` is about, in no order. Rows without ``id`` meet every other one."""
    names = _members_of(rows)
    if _are_few(limits, rows, others, *((replaced,) if replaced else ())):
        yield from _meet_in_memory(rows.read_all(), others.read_all(), names, replaced)
        return
    same = " AND ".join(f"n.{name} = o.{name}" for name in names)
    if "id" in rows.schema.names:
        same += " AND n.id <> o.id"
    is_table = rows.row_count < others.row_count
    table = plan_table(rows if is_table else others, limits)
    inputs = {"n": rows, "o": others, **({} if replaced is None else {"r": replaced})}
    for number in range(table.parts):
        ours, theirs = (part_of(name, names, number, table.parts) for name in ("n", "o"))
        join = f"{ours} JOIN {theirs}" if is_table else f"{theirs} JOIN {ours}"
        sql = f'SELECT n."row", o.id AS holder FROM {join} ON {same}'  # noqa: S608 - as above
        if replaced is not None:
            sql = f'SELECT f."row", f.holder FROM ({sql}) f LEFT ANTI JOIN r ON f.holder = r.key'  # noqa: S608
        for batch in run(sql, inputs, limits, has_hashes=table.parts > 1, as_views=table.has_short_keys):
            yield batch.cast(HELD)


def _meet_in_memory(
    left: pa.Table, right: pa.Table, names: Sequence[str], replaced: Rows | None
) -> Iterator[pa.RecordBatch]:
    if replaced is not None:
        right = right.filter(pc.invert(pc.is_in(right["id"], value_set=replaced.read_all()["key"])))
    ours, theirs = meetings(*tuple_codes([left, right], names))
    pairs = pa.table({"row": left["row"].take(ours), "holder": right["id"].take(theirs)})
    if "id" in left.schema.names:
        pairs = pairs.filter(pc.not_equal(left["id"].take(ours), pairs["holder"]))
    yield from pairs.to_batches()


def repeated(rows: Rows, keep: int, limits: Limits) -> Found:
    """The rows (row, k…) whose tuple an earlier row has, each with the number of the first that has it."""
    names = _members_of(rows)
    if _are_few(limits, rows):
        return gather(_later_rows([rows.read_all()], rows.schema, names), REPEATED, keep)
    if limits.judge is not None and (sets := described(rows)):
        return limits.judge.repeated(sets[0], keep)

    def later() -> Iterator[pa.RecordBatch]:
        hashes = frequent_hashes(rows, names, 1, limits)
        for start in range(0, len(hashes), limits.build_rows):
            suspects = with_hashes(rows, names, hashes[start : start + limits.build_rows], limits)
            yield from _later_rows(_pieces(suspects, limits), rows.schema, names)

    return gather(later(), REPEATED, keep)


def superseded(rows: Rows, limits: Limits) -> Mask | None:
    """By number of row, whether a later row (row, k…) has the same tuple; None when no tuple repeats."""
    names = _members_of(rows)
    table = rows.read_all() if _are_few(limits, rows) else None
    if table is None:
        if limits.judge is not None and (sets := described(rows)) and not limits.judge.repeated(sets[0], 0).count:
            return None
        hashes = frequent_hashes(rows, names, 1, limits)
        if not len(hashes):
            return None
        table = with_hashes(rows, names, hashes, limits).read_all()
    lost = overtaken(tuple_codes([table], names)[0])
    if not len(lost):
        return None
    mask = np.zeros(rows.row_count, bool)
    mask[table["row"].to_numpy()[lost]] = True
    return mask


def frequent_hashes(rows: Rows, names: Sequence[str], most: int, limits: Limits) -> Codes:
    """Every 64-bit hash that more than ``most`` of the tuples have.

    Equal tuples have equal hashes, so every tuple that occurs so often has one of these; not the other way round.
    """
    passes = -(-rows.row_count // limits.hash_rows)
    found: list[Codes] = [np.zeros(0, np.int64)]
    for number in range(passes):
        hashes = _hashes(rows, names, limits, number, passes)
        hashes.sort()
        found.append(np.unique(hashes[most:][hashes[most:] == hashes[: max(len(hashes) - most, 0)]]))
    return np.concatenate(found)


def _hashes(rows: Rows, names: Sequence[str], limits: Limits, number: int, passes: int) -> Codes:
    """The hashes of a part of the tuples: equal tuples are in the same part."""
    sql = f"SELECT xxhash64({', '.join(names)}) AS hash FROM r"  # noqa: S608 - neutral names
    parts: list[Codes] = [np.zeros(0, np.int64)]
    for batch in run(sql, {"r": rows}, limits, has_hashes=True):
        hashes = batch["hash"].to_numpy()
        parts.append(hashes if passes == 1 else hashes[hashes.view(np.uint64) % np.uint64(passes) == number])
    return np.concatenate(parts)


def with_hashes(rows: Rows, names: Sequence[str], hashes: Codes, limits: Limits) -> Rows:
    """The rows whose tuple has one of these hashes, in order."""
    columns = ", ".join(f'"{name}"' for name in rows.schema.names)
    sql = (
        f"SELECT {columns} FROM h RIGHT SEMI JOIN "  # noqa: S608 - neutral names
        f"(SELECT {columns}, xxhash64({', '.join(names)}) AS hash FROM r) s ON h.hash = s.hash"
    )
    inputs = {"h": Rows.of(pa.table({"hash": hashes})), "r": rows}

    def open_suspects() -> Iterator[pa.RecordBatch]:
        for batch in run(sql, inputs, limits, is_ordered=True, has_hashes=True):
            yield batch.cast(rows.schema)

    return Rows(schema=rows.schema, row_count=rows.row_count, open=open_suspects)


def _pieces(rows: Rows, limits: Limits) -> Iterator[pa.Table]:
    """A set as tables of bounded size, in order."""
    held_back: list[pa.RecordBatch] = []
    for batch in rows.open():
        held_back.append(batch)
        if sum(each.num_rows for each in held_back) >= min(limits.build_rows, BATCH_ROWS):
            yield pa.Table.from_batches(held_back)
            held_back = []
    if held_back:
        yield pa.Table.from_batches(held_back)


def _later_rows(tables: Iterable[pa.Table], schema: pa.Schema, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The rows that repeat an earlier one, of tables in order. Holds one row of each tuple."""
    firsts = schema.empty_table()
    for table in tables:
        together = pa.concat_tables([firsts, table])
        later, first = repeats(tuple_codes([together], names)[0])
        numbers = together["row"].to_numpy()
        yield pa.record_batch({"row": numbers[later], "first": numbers[first]})
        is_first = np.ones(together.num_rows, bool)
        is_first[later] = False
        firsts = together.filter(pa.array(is_first)).combine_chunks()


def described(*sides: Rows) -> tuple[RowSet, ...] | None:
    """Where the rows of all sides lie; None where that cannot be said of one."""
    found = [each.described() for each in sides]
    return None if None in found else tuple(each for each in found if each is not None)


def _members_of(rows: Rows) -> list[str]:
    return [name for name in rows.schema.names if name.startswith("k")]


def _keys_of(sides: Sequence[Rows]) -> pa.ChunkedArray:
    return pa.concat_tables([each.read_all().select(["key"]) for each in sides])["key"]


def _are_few(limits: Limits, *sides: Rows) -> bool:
    return sum(each.row_count for each in sides) <= limits.memory_rows
