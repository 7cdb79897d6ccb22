"""The fast way for NDJSON: Arrow's own JSON reader takes many lines of one type at once, straight into columns.

It is strict where we are: it refuses repeated members, unknown fields, wrong types, numbers out of range, control
characters and halves of surrogate pairs. What it lets pass is looked for here, on whole blocks. Whenever a block is in
any way unusual the answer is None, and ``RowReader`` reads the same lines one by one, so this module never has to say
what is wrong. Tests compare the two ways on generated and on damaged lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.json as pa_json

from omnigraph.history.schemas import TypeTable
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.tables.arrow_schema import arrow_type
from omnigraph.write.embedding import optional_vectors
from omnigraph.write.records.columns import fit_column
from omnigraph.write.records.envelopes import ENDS, EnvelopeReader
from omnigraph.write.records.ndjson import Piece, is_skipped
from omnigraph.write.records.numpy_views import Lines, Mask, raw_values
from omnigraph.write.records.reasons import Misfit
from omnigraph.write.records.typed_rows import TypedRows, batch_of, check_given_ids, only_true
from omnigraph.write.records.values import BLOB_PREFIX, decode_base64

_HEAD: Final = re.compile(rb'\{[ \t]*"(type|edge)"[ \t]*:[ \t]*"([^"\\\n]*)"')
_ESCAPED_LETTERS: Final = re.compile(rb"(?i)\\u00(?:6[1-9a-f]|7[0-9a])")
"""Small letters as escapes, which nobody writes; so a member is found by its name."""
_ESCAPED_NAME: Final = re.compile(rb"(?i)\\u00(?:3[0-9]|4[1-9a-f]|5[0-9af]|6[1-9a-f]|7[0-9a])")
"""What names of properties are made of, as escapes."""
_NEGATIVE_ZERO: Final = np.int64(-(2**63))

_JSON_TYPES: Final = {
    Scalar.F32: pa.float64(),
    Scalar.DATE: pa.string(),
    Scalar.DATETIME: pa.string(),
    Scalar.BLOB: pa.string(),
    Scalar.VECTOR: pa.list_(pa.float64()),
}
"""What a property is read as where JSON has another form of it than Arrow."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Lines of one type; every one begins with a brace, and none is blank.

    Attributes:
        lines: the number of each line.
        is_plain: whether each line is a row by itself, without a form around its data.
    """

    target: TypeTable
    text: bytes
    lines: Lines
    is_plain: bool = False

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """Each line with its number."""
        return zip(self.lines.tolist(), self.text.split(b"\n"), strict=True)

    def cut(self, at_most: int) -> Iterator[Block]:
        """The same lines in blocks of at most so many."""
        if len(self.lines) <= at_most:
            yield self
            return
        texts = self.text.split(b"\n")
        for start in range(0, len(texts), at_most):
            part = slice(start, start + at_most)
            yield Block(self.target, b"\n".join(texts[part]), self.lines[part], self.is_plain)


def group_lines(piece: Piece, envelopes: EnvelopeReader) -> list[Block] | None:
    """The lines of a piece by type, in the order of the text within each type.

    None when a line does not begin as usual; then the order within a type could only be kept line by line.
    """
    text = _with_plain_ends(piece.text)
    head = _HEAD.match(text)
    count = text.count(b"\n") + 1
    try:
        if head is not None and text.count(b"\n" + head[0]) == count - 1:
            target = _find(head, envelopes)
            return [Block(target, text, np.arange(piece.first, piece.first + count))]
        return _sort_lines(text, piece.first, envelopes)
    except Misfit:
        return None


def group_rows(piece: Piece, target: TypeTable) -> list[Block] | None:
    """The lines of a piece that are rows of one type; None when one does not begin as an object."""
    text = _with_plain_ends(piece.text)
    count = text.count(b"\n") + 1
    if text.startswith(b"{") and text.count(b"\n{") == count - 1:
        return [Block(target, text, np.arange(piece.first, piece.first + count), is_plain=True)]
    numbered = [(number, line) for number, line in enumerate(text.split(b"\n"), piece.first) if not is_skipped(line)]
    if not all(line.startswith(b"{") for _, line in numbered):
        return None
    lines = np.array([number for number, _ in numbered], dtype=np.int64)
    return [Block(target, b"\n".join(line for _, line in numbered), lines, is_plain=True)] if numbered else []


def _with_plain_ends(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").removesuffix(b"\r") if b"\r" in text else text


def _find(head: re.Match[bytes], envelopes: EnvelopeReader) -> TypeTable:
    name = head[2].decode(errors="replace")
    return envelopes.find_node(name) if head[1] == b"type" else envelopes.find_edge(name)


def _sort_lines(text: bytes, first: int, envelopes: EnvelopeReader) -> list[Block] | None:
    found: dict[str, tuple[TypeTable, list[bytes], list[int]]] = {}
    # One type may be written in several ways; its lines stay together.
    by_head: dict[bytes, tuple[TypeTable, list[bytes], list[int]]] = {}
    for number, line in enumerate(text.split(b"\n"), first):
        head = _HEAD.match(line)
        if head is None:
            if not is_skipped(line):
                return None
            continue
        group = by_head.get(head[0])
        if group is None:
            target = _find(head, envelopes)
            group = by_head[head[0]] = found.setdefault(target.key, (target, [], []))
        group[1].append(line)
        group[2].append(number)
    return [
        Block(target, b"\n".join(lines), np.array(numbers, dtype=np.int64)) for target, lines, numbers in found.values()
    ]


def read_block(block: Block, source: str | None) -> TypedRows | None:
    """The rows of a block; None when it must be read line by line."""
    target, text = block.target, block.text
    if not _is_one_record_per_line(text, len(block.lines)) or not _is_utf8(text):
        return None
    schema = _row_schema(target) if block.is_plain else _json_schema(target)
    try:
        table = pa_json.read_json(
            pa.BufferReader(text),
            read_options=pa_json.ReadOptions(use_threads=False, block_size=len(text) + 1),
            parse_options=pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
    except pa.ArrowException:
        return None
    if table.num_rows != len(block.lines):
        return None
    given = _members_of_rows(target, table, text) if block.is_plain else _members_of_records(target, table, text)
    taken = None if given is None else _take_columns(target, given, text)
    if taken is None:
        return None
    columns, unmade = taken
    columns["id"], faults = check_given_ids(target, columns, columns["id"])
    if faults:
        return None
    return TypedRows(target=target, rows=batch_of(target, columns), lines=block.lines, source=source, unmade=unmade)


def _is_one_record_per_line(text: bytes, count: int) -> bool:
    """Whether lines end where records do; then equal numbers of lines and rows mean one record per line.

    Every line begins with a brace. A closing brace, a line end and an opening brace cannot follow one another within a
    record, so a line that ends with a closing brace ends a record.
    """
    return text.endswith(b"}") and text.count(b"}\n") == count - 1


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _row_schema(target: TypeTable) -> pa.Schema:
    ends = [] if target.kind == "node" else [pa.field(name, pa.string()) for names in ENDS.values() for name in names]
    return pa.schema([*_data_fields(target), *ends])


def _data_fields(target: TypeTable) -> list[pa.Field]:
    properties = [pa.field(each.name, json_type(each.type)) for each in target.type.properties]
    return [pa.field("id", pa.string()), *properties]


def _json_schema(target: TypeTable) -> pa.Schema:
    data = _data_fields(target)
    ends = [] if target.kind == "node" else [pa.field("from", pa.string()), pa.field("to", pa.string())]
    kind = pa.field("type" if target.kind == "node" else "edge", pa.string())
    return pa.schema([kind, *ends, pa.field("data", pa.struct(data))])


def json_type(of: ValueType) -> pa.DataType:
    """What Arrow reads a property as; for a list, its items."""
    scalar = _JSON_TYPES.get(of.scalar) or arrow_type(of.item)
    return pa.list_(scalar) if of.is_list else scalar


def _members_of_records(target: TypeTable, table: pa.Table, text: bytes) -> dict[str, pa.Array] | None:
    """The properties of records, ``id`` as it was given, and the ends of edges as ``src`` and ``dst``.

    None when a value must be looked at by itself.
    """
    data = table["data"].combine_chunks()
    # Arrow does not tell null from nothing; for these members we do.
    if data.null_count and _may_say_null(b"data", text):
        return None
    given = dict(zip((each.name for each in data.type), data.flatten(), strict=True))
    if target.kind == "edge":
        given |= {"src": table["from"].combine_chunks(), "dst": table["to"].combine_chunks()}
    return given


def _members_of_rows(target: TypeTable, table: pa.Table, text: bytes) -> dict[str, pa.Array] | None:
    """The same of rows; None as well when the ends of edges are not all called alike."""
    given = {name: table[name].combine_chunks() for name in table.schema.names}
    if target.kind == "edge":
        for end, names in ENDS.items():
            one, other = sorted(names, key=lambda name: given[name].null_count)
            if given[other].null_count < table.num_rows or _may_say_null(other.encode(), text):
                return None
            given[end] = given[one]
    return given


def _take_columns(
    target: TypeTable, given: Mapping[str, pa.Array], text: bytes
) -> tuple[dict[str, pa.Array], dict[str, Mask]] | None:
    """The columns of the type, ``id`` as it was given, and by property the rows whose vector can be made.

    None when a value must be looked at by itself.
    """
    if given["id"].null_count and _may_say_null(b"id", text):
        return None
    columns = {name: given[name] for name in ("id", "src", "dst") if name in target.schema.names}
    if target.kind == "edge" and (columns["src"].null_count or columns["dst"].null_count):
        return None
    unmade: dict[str, Mask] = {}
    optional = optional_vectors(target)
    for owned in target.type.properties:
        values = given[owned.name]
        missing = values.null_count
        if missing and owned.name in optional:
            left_out = _left_out(owned.name, values, text)
            if left_out is None:
                return None
            unmade[owned.name] = left_out & given[optional[owned.name].source].is_valid().to_numpy(zero_copy_only=False)
            missing -= np.count_nonzero(unmade[owned.name])
        if missing and not owned.type.is_nullable:
            return None
        fitted = fit_json(values, target.schema.field(owned.name).type, owned.type)
        if fitted is None:
            return None
        columns[owned.name] = fitted
    return columns, only_true(unmade)


def _left_out(name: str, values: pa.Array, text: bytes) -> Mask | None:
    """Which rows do not have the property at all: Arrow gives null for them too. None when that is not to be seen."""
    if b"\\u00" in text and _ESCAPED_NAME.search(text):
        return None
    is_null: Mask = values.is_null().to_numpy(zero_copy_only=False)
    # Quotes within texts are escaped, so this is found in no text.
    null_member = re.compile(rb'"%b"\s*:\s*null' % name.encode())
    count = len(null_member.findall(text))
    if not count:
        return is_null
    if count == values.null_count:
        return np.zeros_like(is_null)
    says_null: Mask = np.array([null_member.search(line) is not None for line in text.split(b"\n")])
    return is_null & ~says_null


def _may_say_null(name: bytes, text: bytes) -> bool:
    # Most texts do not have the word at all, and that is found out faster.
    if b'"%b"' % name in text and re.search(rb'"%b"\s*:\s*null' % name, text):
        return True
    return b"\\u00" in text and _ESCAPED_LETTERS.search(text) is not None


def fit_json(values: pa.Array, wanted: pa.DataType, of: ValueType) -> pa.Array | None:
    """The column of a property from what Arrow read of JSON; None when a value must be looked at by itself."""
    if of.scalar is Scalar.BLOB:
        return _decode_blobs(values, of)
    if _has_negative_zero(values):
        # -0 is an integer without a sign, -0.0 a float with one; Arrow reads both as the latter.
        return None
    fitted = fit_column(values, wanted, of)
    return None if fitted.misfits else fitted.values


def _has_negative_zero(values: pa.Array) -> bool:
    if pa.types.is_list(values.type):
        values = values.flatten()
    if not pa.types.is_float64(values.type):
        return False
    return bool((raw_values(values).view(np.int64) == _NEGATIVE_ZERO).any())


def _decode_blobs(values: pa.Array, of: ValueType) -> pa.Array | None:
    contents: list[bytes | None] = []
    for text in values.to_pylist():
        if text is None:
            contents.append(None)
        elif not text.startswith(BLOB_PREFIX):
            return None
        else:
            try:
                contents.append(decode_base64(text[len(BLOB_PREFIX) :], of))
            except Misfit:
                return None
    return pa.array(contents, pa.large_binary())
