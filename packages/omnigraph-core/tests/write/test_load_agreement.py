"""Whatever way lines are read, the same comes out: as blocks or one by one, in large chunks or small ones."""

from __future__ import annotations

import base64
import io
import json
import math
import tracemalloc

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from load_world import SCHEMA, load

from omnigraph.lang.dates import MAX_DAYS, MAX_MILLISECONDS, MIN_DAYS, MIN_MILLISECONDS, format_date, format_datetime
from omnigraph.write.problems import ProblemLog
from omnigraph.write.records import reading as records
from omnigraph.write.records.envelopes import EnvelopeReader
from omnigraph.write.records.json_blocks import group_lines, read_block
from omnigraph.write.records.ndjson import Piece
from omnigraph.write.records.reading import read_records

TEXT = st.text(max_size=6)
"""Surrogates too: half of a pair is one of the things that can be wrong."""
I32 = st.integers(-(2**31), 2**31 - 1)
FLOAT = st.floats(allow_nan=False, allow_infinity=False)
SMALL = st.floats(width=32, allow_nan=False, allow_infinity=False)
DAY = st.builds(format_date, st.integers(MIN_DAYS, MAX_DAYS)) | st.builds(format_date, st.integers(-800_000, 3_000_000))
TIME = st.builds(format_datetime, st.integers(MIN_MILLISECONDS, MAX_MILLISECONDS)) | st.builds(
    lambda day, rest: f"{day}{rest}",
    DAY,
    st.sampled_from(["", "T10:00:00Z", "T10:00:00", " 10:00:00.123456", "T10:00:00+02:00", "T10:00Z", "T10", "x"]),
)
BLOB = st.binary(max_size=5).map(lambda content: f"base64:{base64.b64encode(content).decode()}")

FITTING = {
    "text": TEXT,
    "kind": st.sampled_from(["red", "blue"]),
    "flag": st.booleans(),
    "i32": I32,
    "i64": st.integers(-(2**63), 2**63 - 1),
    "u32": st.integers(0, 2**32 - 1),
    "u64": st.integers(0, 2**64 - 1),
    "f32": SMALL | I32,
    "f64": FLOAT | I32,
    "day": DAY,
    "time": TIME,
    "vec": st.lists(SMALL | I32, min_size=3, max_size=3),
    "body": BLOB,
    "texts": st.lists(TEXT, max_size=3),
    "flags": st.lists(st.booleans(), max_size=3),
    "counts": st.lists(I32, max_size=3),
    "floats": st.lists(SMALL, max_size=3),
    "days": st.lists(DAY, max_size=2),
    "times": st.lists(TIME, max_size=2),
}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | DAY | TIME | BLOB,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
FITTING_DATA = st.fixed_dictionaries({"name": TEXT}, optional={key: each | st.none() for key, each in FITTING.items()})
ANY_DATA = st.fixed_dictionaries({}, optional={key: each | ANYTHING for key, each in FITTING.items()}) | FITTING_DATA
LIKES = st.fixed_dictionaries(
    {"edge": st.sampled_from(["Likes", "likes", "Rates"]), "from": TEXT, "to": TEXT},
    optional={"data": st.fixed_dictionaries({}, optional={"since": DAY, "note": TEXT, "id": TEXT, "stars": I32})},
)


def nodes(data, kind="Thing"):
    return st.builds(lambda found: {"type": kind, "data": found}, data)


def as_line(record, style) -> str:
    return json.dumps(record, **style)


STYLES = st.sampled_from([{}, {"separators": (",", ":")}, {"ensure_ascii": False}])
MEMO = nodes(st.fixed_dictionaries({"text": TEXT}, optional={"stars": I32, "id": TEXT}), "Memo")
SEAT = nodes(st.fixed_dictionaries({"row": I32, "place": TEXT}, optional={"id": TEXT}), "Seat")


def known(loaded):
    """All that a load tells, with the signs of zeros, without the order of types and of finding problems."""
    told = sorted(
        (each.line or 0, each.reason, each.property or "", each.message, each.type_key or "")
        for each in loaded.log.kept
    )
    return repr(sorted(loaded.rows.items())), loaded.lines, told, loaded.log.counts


def load_line_by_line(text):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "group_lines", lambda *_: None)
        return load(text, limit=10_000)


def assert_same(text):
    assert known(load(text, limit=10_000)) == known(load_line_by_line(text))


@given(st.lists(st.tuples(nodes(FITTING_DATA) | MEMO | SEAT | LIKES, STYLES), max_size=8))
def test_records_that_fit_are_the_same_in_blocks_and_one_by_one(lines):
    assert_same("\n".join(as_line(record, style) for record, style in lines).encode(errors="surrogatepass"))


@given(st.lists(st.tuples(nodes(ANY_DATA) | LIKES, STYLES), max_size=6))
@example([({"type": "Thing", "data": {"name": "a", "f64": math.nan}}, {})])
@example([({"type": "Thing", "data": {"name": "a", "f64": -0.0}}, {})])
def test_records_of_any_values_are_the_same_in_blocks_and_one_by_one(lines):
    assert_same("\n".join(as_line(record, style) for record, style in lines).encode(errors="surrogatepass"))


DAMAGE = st.tuples(
    st.integers(0, 10_000),
    st.integers(0, 3),
    st.sampled_from(
        [b"", b"\n", b"\r\n", b" ", b'"', b"\\", b"{", b"}", b"[", b",", b":", b"0", b"-0", b".5", b"e9", b"null",
         b"\x00", b"\xff", b"\xef\xbb\xbf", b"//", b"}\n{", b"} {", b"NaN", b"\\ud800", b"\\u0061", b'"data":null,',
         b'"id":null,', b'"name":"x",', b"true"]
    ),
)  # fmt: skip


@settings(max_examples=300)
@given(
    st.lists(st.tuples(nodes(FITTING_DATA) | MEMO | LIKES, STYLES), min_size=1, max_size=4),
    st.lists(DAMAGE, min_size=1, max_size=3),
)
def test_damaged_lines_are_judged_the_same_in_blocks_and_one_by_one(lines, damages):
    text = "\n".join(as_line(record, style) for record, style in lines).encode(errors="surrogatepass")
    for place, removed, added in damages:
        at = place % (len(text) + 1)
        text = text[:at] + added + text[at + removed :]
    assert_same(text)


def test_usual_lines_are_read_as_blocks():
    data = {
        "name": "a", "text": "x\n\u00e9\u2603", "kind": "red", "flag": True, "i32": 1, "i64": 2, "u32": 3, "u64": 4,
        "f32": 0.5, "f64": -1.5e10, "day": "2026-01-05", "time": "2026-01-05T10:00:00.123456Z", "vec": [1, 2.5, 3],
        "body": "base64:AAE=", "texts": ["a"], "flags": [True], "counts": [1], "floats": [1.5], "days": ["2026-01-05"],
        "times": ["2026-01-05T10:00:00+02:00"],
    }  # fmt: skip
    lines = [
        json.dumps({"type": "Thing", "data": data}),
        json.dumps({"type": "Thing", "data": {**dict.fromkeys(data), "name": "b"}}),
        "",
        "// comments and blank lines do not matter",
        json.dumps({"edge": "Likes", "from": "a", "to": "b"}, separators=(",", ":")),
        json.dumps({"edge": "likes", "from": "a", "to": "b", "data": {"id": "x"}}),
    ]
    for end in ("\n", "\r\n"):
        blocks = group_lines(Piece(end.join(lines).encode(), 1), EnvelopeReader(SCHEMA))
        assert blocks is not None
        assert [block.target.key for block in blocks] == ["node:Thing", "edge:Likes"]
        assert [block.lines.tolist() for block in blocks] == [[1, 2], [5, 6]]
        assert all(read_block(block, None) is not None for block in blocks)


# ── chunks ───────────────────────────────────────────────────────────────────────────────────────────────────────────

MANY = [
    record
    for number in range(7)
    for record in (
        {"type": "Thing", "data": {"name": f"t{number}", "i32": number, "day": "2026-01-05" if number % 2 else number}},
        {"edge": "Likes", "from": f"t{number}", "to": "t0", "data": {"note": "x" * number}},
        {"type": "Thing", "data": {"name": number}},
    )
]
LINES = "\n".join(map(json.dumps, MANY))


@pytest.mark.parametrize("data", [LINES, MANY], ids=["text", "records"])
@pytest.mark.parametrize("chunk_rows", [1, 2, 3, 1_000])
@pytest.mark.parametrize("chunk_bytes", [1, 100, 300, 1_000_000])
def test_chunks_of_any_size_give_the_same(data, chunk_rows, chunk_bytes):
    whole = load(data)
    loaded = load(data, chunk_rows=chunk_rows, chunk_bytes=chunk_bytes)
    assert known(loaded) == known(whole)
    assert max(each.rows.num_rows for each in loaded.batches) <= chunk_rows
    assert len(whole.rows["node:Thing"]) == 7


@given(st.text('{}\n\r "a:1,[]', max_size=60), st.integers(1, 9))
def test_lines_are_numbered_the_same_whatever_the_size_of_blocks(text, size):
    class Slow:
        def __init__(self):
            self.rest = text.encode()

        def read(self, _):
            block, self.rest = self.rest[:size], self.rest[size:]
            return block

    assert known(load(Slow(), chunk_bytes=size)) == known(load(text.encode()))


def held_while_loading(make, size: int) -> int:
    """The most bytes that Python and Arrow held at once, with ``size`` records."""
    most = 0
    tracemalloc.start()
    try:
        before = pa.total_allocated_bytes()
        for _ in read_records(make(size), SCHEMA, ProblemLog(), chunk_bytes=50_000):
            most = max(most, pa.total_allocated_bytes() - before)
        return most + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class LinesOf(io.RawIOBase):
    """A file of many lines that nobody holds in memory."""

    def __init__(self, count: int, line: bytes) -> None:
        self.rest = count * len(line)
        self.lines = line * (20_000 // len(line))

    def read(self, size=-1):
        block = self.lines[: min(size, self.rest)]
        self.rest -= len(block)
        return block


@pytest.mark.parametrize(
    "make",
    [
        lambda count: LinesOf(count, b'{"type":"Memo","data":{"text":"%b"}}\n' % (b"x" * 60)),
        lambda count: LinesOf(count, b'{"data":{"text":"%b"},"type":"Memo"}\n' % (b"x" * 60)),
        lambda count: ({"type": "Memo", "data": {"text": f"{number:060}"}} for number in range(count)),
    ],
    ids=["blocks", "lines", "records"],
)
def test_memory_does_not_grow_with_the_input(make):
    held_while_loading(make, 1_000)
    assert held_while_loading(make, 16_000) < 1.2 * held_while_loading(make, 4_000)
