"""Ids of many rows: derived ones are spelled as single ones are, minted ones are ULIDs that nobody else has."""

from __future__ import annotations

import random
import re
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from load_world import DOMAIN

from omnigraph.history.schemas import GraphSchema
from omnigraph.lang.dates import MAX_DAYS, MAX_MILLISECONDS, MIN_DAYS, MIN_MILLISECONDS
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema.ids import spell_id, spell_value
from omnigraph.tables.arrow_schema import arrow_type
from omnigraph.write.records import ids
from omnigraph.write.records.ids import derive_ids, mint_ulids, spell_column

CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = {
    Scalar.STRING: TEXT | st.sampled_from(['"', "\\", "\n", "\x1f", "\x7f", "é", "\u2028"]),
    Scalar.BOOL: st.booleans(),
    Scalar.I32: st.integers(-(2**31), 2**31 - 1),
    Scalar.I64: st.integers(-(2**63), 2**63 - 1),
    Scalar.U32: st.integers(0, 2**32 - 1),
    Scalar.U64: st.integers(0, 2**64 - 1),
    Scalar.F32: st.floats(width=32, allow_nan=False, allow_infinity=False),
    Scalar.F64: st.floats(allow_nan=False, allow_infinity=False),
    Scalar.DATE: st.integers(MIN_DAYS, MAX_DAYS),
    Scalar.DATETIME: st.integers(MIN_MILLISECONDS, MAX_MILLISECONDS),
}


def column(values, scalar):
    storage = {Scalar.DATE: pa.int32(), Scalar.DATETIME: pa.int64()}.get(scalar)
    wanted = arrow_type(ValueType(scalar))
    return pa.array(values, wanted) if storage is None else pa.array(values, storage).view(wanted)


@pytest.mark.parametrize("scalar", VALUES, ids=str)
def test_a_column_is_spelled_as_its_values_are(scalar):
    of = ValueType(scalar)

    @given(st.lists(VALUES[scalar], max_size=20))
    def check(values):
        spelled = spell_column(column(values, scalar), of)
        assert spelled.type == pa.string()
        assert spelled.to_pylist() == [spell_value(value, of) for value in values]

    check()


def test_nulls_stay_null_and_slices_are_slices():
    for scalar in (Scalar.I32, Scalar.F64, Scalar.DATE, Scalar.DATETIME, Scalar.BOOL):
        values = column([True, None, False, True] if scalar is Scalar.BOOL else [1, None, 0, 1], scalar).slice(1)
        assert spell_column(values, ValueType(scalar)).is_null().to_pylist() == [True, False, False]


@given(st.lists(st.tuples(VALUES[Scalar.F32], VALUES[Scalar.STRING], VALUES[Scalar.DATETIME]), max_size=20))
def test_a_composite_key_is_spelled_as_a_single_one_is(rows):
    schema = GraphSchema.new("node N { b: F32  a: String  c: DateTime  @key(c, b, a) }", DOMAIN)
    target = schema.node("N")
    assert target.key_columns == ("a", "b", "c")
    types = {"a": Scalar.STRING, "b": Scalar.F32, "c": Scalar.DATETIME}
    given_rows = [{"a": row[1], "b": row[0], "c": row[2]} for row in rows]
    columns = {name: column([row[name] for row in given_rows], scalar) for name, scalar in types.items()}
    expected = [spell_id([(row[name], ValueType(types[name])) for name in "abc"]) for row in given_rows]
    assert derive_ids(target, columns).to_pylist() == expected


def test_a_single_text_key_is_not_copied():
    schema = GraphSchema.new("node N { a: String @key }", DOMAIN)
    names = pa.array(["x", "y"])
    assert derive_ids(schema.node("N"), {"a": names}) is names


# ── minted ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def number_of(ulid: str) -> int:
    value = 0
    for character in ulid:
        value = value * 32 + CROCKFORD.index(character)
    return value


def test_minted_ids_are_ulids_of_this_moment_in_ascending_order():
    before = time.time_ns() // 1_000_000
    minted = mint_ulids(10_000)
    after = time.time_ns() // 1_000_000
    minted.validate(full=True)
    texts = minted.to_pylist()
    assert minted.type == pa.string()
    assert all(re.fullmatch(r"[0-7][0-9A-HJKMNP-TV-Z]{25}", each) for each in texts)
    assert texts == sorted(set(texts))
    assert len(texts) == 10_000
    assert before <= number_of(texts[0]) >> 80 == number_of(texts[-1]) >> 80 <= after


def test_counting_on_never_reaches_the_time(monkeypatch):
    monkeypatch.setattr(ids.os, "urandom", lambda size: b"\xff" * size)
    numbers = [number_of(each) for each in mint_ulids(3).to_pylist()]
    assert [each - numbers[0] for each in numbers] == [0, 1, 2]
    assert len({each >> 80 for each in numbers}) == 1


def test_two_writers_with_the_same_state_and_clock_mint_different_ids(monkeypatch):
    monkeypatch.setattr(ids.time, "time_ns", lambda: 1_700_000_000_000_000_000)
    minted = set()
    for _ in range(100):
        random.seed(7)
        np.random.seed(7)
        minted.update(mint_ulids(100).to_pylist())
    assert len(minted) == 10_000


def test_no_ids_are_an_empty_column():
    assert mint_ulids(0).to_pylist() == []


def test_more_ids_than_a_column_holds_are_refused():
    with pytest.raises(ValueError, match="at most 82595524"):
        mint_ulids(2**31 // 26 + 1)
