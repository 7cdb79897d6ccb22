"""The bases in the file of a version are read and replaced, and everything else stays byte for byte.

The files are put together here by hand, from the description of protobuf and of Lance's format.
"""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.storage.keys import ObjectKey
from omnigraph.tables.base_paths import split_line
from omnigraph.tables.manifest_bases import ManifestFormError, bases_of, with_bases
from omnigraph.tables.relocating import LineVersion


def varint(value: int) -> bytes:
    parts = [value >> shift & 0x7F for shift in range(0, max(7, value.bit_length()), 7)]
    return bytes([*(each | 0x80 for each in parts[:-1]), parts[-1]])


def field(number: int, wire_type: int, content: bytes) -> bytes:
    return varint(number << 3 | wire_type) + (varint(len(content)) if wire_type == 2 else b"") + content


def base(path: str, number: int) -> bytes:
    return field(1, 0, varint(number)) + field(2, 2, b"name") + field(3, 0, b"\1") + field(4, 2, path.encode())


def file_of(fields: bytes, sections: bytes = b"") -> bytes:
    footer = struct.pack("<QHH4s", len(sections), 0, 2, b"LANC")
    return sections + struct.pack("<I", len(fields)) + fields + footer


OTHER_FIELDS = st.one_of(
    st.tuples(st.integers(1, 300), st.just(0), st.integers(0, 2**64 - 1).map(varint)),
    st.tuples(st.integers(1, 300), st.just(1), st.binary(min_size=8, max_size=8)),
    st.tuples(st.integers(1, 300), st.just(2), st.binary(max_size=200)),
    st.tuples(st.integers(1, 300), st.just(5), st.binary(min_size=4, max_size=4)),
).filter(lambda each: each[0] != 18)


@given(
    others=st.lists(OTHER_FIELDS, max_size=8),
    paths=st.lists(st.text(max_size=150), max_size=4),
    sections=st.binary(max_size=50),
    prefix=st.text(max_size=150),
    data=st.data(),
)
def test_bases_are_replaced_and_nothing_else(
    others: list[tuple[int, int, bytes]], paths: list[str], sections: bytes, prefix: str, data: st.DataObject
):
    def spelled(wanted: list[str]) -> list[bytes]:
        bases = [field(18, 2, base(path, number)) for number, path in enumerate(wanted)]
        return [*(field(*each) for each in others), *bases]

    order = data.draw(st.permutations(range(len(others) + len(paths))))
    in_order = lambda wanted: file_of(b"".join(spelled(wanted)[each] for each in order), sections)  # noqa: E731
    written = in_order(paths)
    assert sorted(bases_of(written)) == sorted(paths)
    assert with_bases(written, lambda each: each) == written
    assert with_bases(written, lambda each: prefix + each) == in_order([prefix + each for each in paths])


WHOLE = file_of(field(2, 0, b"\5") + field(18, 2, base("/a", 1)), b"sections")


@pytest.mark.parametrize("length", range(len(WHOLE)))
def test_a_file_that_was_cut_short_is_refused(length: int):
    with pytest.raises(ManifestFormError):
        bases_of(WHOLE[:length])


@pytest.mark.parametrize(
    "fields",
    [
        field(18, 2, base("/a", 1)) + b"\xff" * 11,
        varint(18 << 3 | 2) + varint(90) + b"short",
        varint(7 << 3 | 3),
        field(18, 2, field(4, 2, b"\xff\xfe")),
        field(18, 2, b"\x22\x7f"),
        field(9, 1, b"1234"),
    ],
)
def test_what_is_not_a_manifest_is_refused(fields: bytes):
    with pytest.raises(ManifestFormError):
        bases_of(file_of(fields))


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/g/nodes/1-2", ("/g/nodes/1-2", "")),
        ("/g/nodes/1-2/tree/b1", ("/g/nodes/1-2", "/tree/b1")),
        ("/home/tree/g/nodes/1-2/tree/b1.c2", ("/home/tree/g/nodes/1-2", "/tree/b1.c2")),
        ("/home/tree/g/nodes/1-2/", ("/home/tree/g/nodes/1-2", "")),
        ("s3://bucket/a%20b/__manifest/b1/tree/b2", ("s3://bucket/a%20b/__manifest/b1", "/tree/b2")),
        ("/a\nb/nodes/1-2/tree/b1/", ("/a\nb/nodes/1-2", "/tree/b1")),
        ("", ("", "")),
    ],
)
def test_a_base_is_a_table_or_a_line_of_one(path: str, parts: tuple[str, str]):
    assert split_line(path) == parts


@pytest.mark.parametrize(
    ("key", "is_version"),
    [
        ("nodes/1-2/tree/b1.c2/_versions/18446744073709551613.manifest", True),
        ("__manifest/b0/tree/b1/_versions/d9223372036854775809.manifest", True),
        ("nodes/1-2/_versions/18446744073709551613.manifest", False),
        ("nodes/1-2/tree/b1/_versions/latest_version_hint.json", False),
        ("nodes/1-2/tree/b1/data/1.lance", False),
        ("nodes/1-2/_refs/branches/b1.json", False),
    ],
)
def test_versions_of_forks_are_told_by_their_names(key: str, is_version: bool):
    found = LineVersion.of(ObjectKey(key))
    assert (found is not None) == is_version
    if found is not None:
        assert f"{found.location}/{found.name}" == key
        assert found.name.startswith(f"tree/{found.line}/_versions/")
