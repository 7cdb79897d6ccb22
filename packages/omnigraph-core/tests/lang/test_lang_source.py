"""Source texts: lines and columns of offsets, and bytes that are no text."""

from __future__ import annotations

import pytest

from omnigraph.errors import ParseError
from omnigraph.lang import Code, SourceText, Span, decode_source, read_source
from omnigraph.lang.source import Name


def position(text: str, offset: int) -> tuple[int, int]:
    return tuple(SourceText.of(text).position(offset))


# ── lines and columns ──


@pytest.mark.parametrize(
    ("text", "offset", "expected"),
    [
        ("", 0, (1, 1)),
        ("ab", 0, (1, 1)),
        ("ab", 1, (1, 2)),
        ("ab", 2, (1, 3)),
        ("ab\ncd", 2, (1, 3)),
        ("ab\ncd", 3, (2, 1)),
        ("ab\ncd\n", 6, (3, 1)),
        ("\n\n\nx", 3, (4, 1)),
    ],
)
def test_lines_and_columns_count_from_one(text, offset, expected):
    assert position(text, offset) == expected


def test_a_line_that_ends_with_cr_lf_is_one_line():
    text = "ab\r\ncd\r\n"
    assert position(text, text.index("c")) == (2, 1)
    assert SourceText.of(text).line_at(text.index("d")) == (4, "cd")
    assert SourceText.of(text).line_at(0) == (0, "ab")


def test_only_lf_ends_a_line():
    text = "a\rb\x0bc\x0cd\x85e\u2028f"
    assert position(text, text.index("f")) == (1, 11)
    assert SourceText.of(text).line_at(3) == (0, text)


def test_a_byte_order_mark_is_skipped_and_counts_nowhere():
    source = SourceText.of("\ufeffnode", "a.pg")
    assert source.text == "node"
    assert source.position(0) == (1, 1)
    assert decode_source(b"\xef\xbb\xbfnode", "a.pg") == source


def test_only_the_first_byte_order_mark_is_skipped():
    assert SourceText.of("\ufeff\ufeffa").text == "\ufeffa"


def test_a_tab_a_wide_and_a_far_character_are_one_column_each():
    assert position("\t日😀x", 3) == (1, 4)


def test_the_line_of_an_offset_is_answered_without_its_end():
    source = SourceText.of("first\nsecond\n\nlast")
    assert source.line_at(0) == (0, "first")
    assert source.line_at(5) == (0, "first")
    assert source.line_at(6) == (6, "second")
    assert source.line_at(13) == (13, "")
    assert source.line_at(18) == (14, "last")


def test_the_end_of_a_text_that_ends_with_a_line_is_an_empty_line():
    assert SourceText.of("a\n").line_at(2) == (2, "")


def test_the_span_from_one_to_another_covers_both():
    assert Span(3, 5).to(Span(9, 12)) == Span(3, 12)


def test_names_are_equal_when_they_are_spelled_alike():
    assert Name("a", Span(0, 1)) == Name("a", Span(7, 8))
    assert Name("a", Span(0, 1)) != Name("A", Span(0, 1))
    assert str(Name("title", Span(0, 5))) == "title"


def test_the_text_is_not_part_of_what_is_printed_for_programmers():
    assert repr(SourceText.of("secret", "a.pg")) == "SourceText(name='a.pg')"


# ── bytes ──


@pytest.mark.parametrize(
    ("data", "line", "column", "message", "label"),
    [
        (b"a\n b\xff", 2, 3, "byte 4 of a.pg is not UTF-8", "0xff cannot stand here"),
        (b"\xef\xbb\xbfab\x80", 1, 3, "byte 5 of a.pg is not UTF-8", "0x80 cannot stand here"),
        ("é日".encode() + b"\xc3", 1, 3, "byte 5 of a.pg is not UTF-8", "0xc3 cannot stand here"),
        (b"\xed\xa0\x80", 1, 1, "byte 0 of a.pg is not UTF-8", "0xed cannot stand here"),
        ("node".encode("utf-16"), 1, 1, "byte 0 of a.pg is not UTF-8", "0xff cannot stand here"),
    ],
)
def test_bytes_that_are_not_utf8_are_refused_at_the_first_bad_one(data, line, column, message, label):
    with pytest.raises(ParseError) as caught:
        decode_source(data, "a.pg")
    (problem,) = caught.value.diagnostics
    assert problem.code is Code.NOT_UTF8
    assert problem.position == (line, column)
    assert (problem.message, problem.label) == (message, label)
    assert problem.help == "Save the file as UTF-8."


def test_a_file_is_named_by_its_path(tmp_path):
    path = tmp_path / "films.pg"
    path.write_bytes("node Größe".encode())
    source = read_source(path)
    assert source.text == "node Größe"
    assert source.name == str(path)


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_source(tmp_path / "none.pg")
