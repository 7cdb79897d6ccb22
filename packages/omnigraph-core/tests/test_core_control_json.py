"""JSON of control objects is read within bounds of size and depth, or refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.control_json import MAX_DEPTH, ControlJsonError, read_control_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=40,
)


def depth_of(value: Any) -> int:
    """How deep a value is nested, counted on the value."""
    match value:
        case dict():
            return 1 + max(map(depth_of, value.values()), default=0)
        case list():
            return 1 + max(map(depth_of, value), default=0)
    return 0


@given(VALUES, st.integers(0, 6))
def test_a_value_is_read_unless_it_is_nested_deeper_than_the_bound(value: Any, bound: int):
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        data.decode()
    except UnicodeDecodeError:
        with pytest.raises(ControlJsonError, match="UTF-8"):
            read_control_json(data)
        return
    if depth_of(value) > bound:
        with pytest.raises(ControlJsonError, match=f"deeper than {bound} levels"):
            read_control_json(data, max_depth=bound)
    else:
        assert read_control_json(data, max_depth=bound) == value


@pytest.mark.parametrize("opened", [b"[", b'{"a":', b'[{"]":'])
def test_a_megabyte_of_opening_brackets_is_refused(opened: bytes):
    with pytest.raises(ControlJsonError, match=f"deeper than {MAX_DEPTH} levels"):
        read_control_json(opened * (1_000_000 // len(opened)))


def test_brackets_in_strings_are_not_depth():
    value = {"a": "[" * 1000 + '\\"' + "{" * 1000, "[": ["]"]}
    assert read_control_json(json.dumps(value)) == value


def test_a_string_that_is_not_closed_hides_nothing_and_takes_no_time():
    with pytest.raises(ControlJsonError):
        read_control_json('["' + "[" * 1_000_000)
    with pytest.raises(ControlJsonError):
        read_control_json('"\\' * 500_000 + "[" * 100)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe{}", "not UTF-8 at byte 0"),
        (b'{"a": "\xc3\x28"}', "not UTF-8 at byte 7"),
        (b'{"a": NaN}', "NaN is not a JSON number"),
        (b"[Infinity]", "Infinity is not a JSON number"),
        (b"{} {}", "not JSON"),
        (b"[" + b"1" * 5000 + b"]", "not JSON"),
    ],
)
def test_what_is_not_json_is_refused_with_the_reason(data: bytes, reason: str):
    with pytest.raises(ControlJsonError, match=reason):
        read_control_json(data)


def test_the_size_is_looked_at_before_anything_else():
    with pytest.raises(ControlJsonError, match="larger than 10 bytes"):
        read_control_json(b"\xff" * 11, max_bytes=10)
    assert read_control_json(b"[1, 2, 30]", max_bytes=10) == [1, 2, 30]
