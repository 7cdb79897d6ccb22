"""Texts of CSV: every row with its line, however the text is cut; what is no CSV is told."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from load_world import load

from omnigraph import TypedText
from omnigraph.errors import InvalidInputError, ResourceLimitError
from omnigraph.write.records import csv_pieces, sources


def load_csv(text: bytes | str, type_name: str = "node:Memo", *, delimiter: str = ",", columns=None, **options: int):
    file = io.BytesIO(text if isinstance(text, bytes) else text.encode())
    file.name = "memos.csv"  # type: ignore[attr-defined]
    return load(TypedText(type_name=type_name, file=file, delimiter=delimiter, columns=columns), **options)


def memos(loaded) -> list[tuple[str, int | None]]:
    return [(row["text"], row["stars"]) for row in loaded.rows.get("node:Memo", [])]


CELL = st.text(st.sampled_from('ab",;\n\r ß'), max_size=5).map(lambda text: text.replace("\r", "\r\n"))


@given(
    st.lists(st.tuples(CELL, st.integers(0, 9) | st.none()), max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from([1, 7, 50, 4_000_000]),
    st.booleans(),
)
def test_rows_and_lines_are_those_that_a_careful_reader_finds(rows, end, quoting, chunk_bytes, has_mark):
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, lineterminator=end, quoting=quoting)
    lines = []
    for row in [("text", "stars"), *rows]:
        lines.append(sink.getvalue().count("\n") + 1)
        writer.writerow(row)
        # A blank line counts and is no row.
        sink.write(end)
    text = sink.getvalue().encode("utf-8-sig" if has_mark else "utf-8").removesuffix(end.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "_BLOCK", 16)
        loaded = load_csv(text, chunk_bytes=chunk_bytes)
    # Python writes nothing for an empty text unless it quotes everything; nothing is null, and Memo.text is required.
    kept = [row for row in rows if row[0] or quoting == csv.QUOTE_ALL]
    assert memos(loaded) == kept
    assert loaded.lines.get("node:Memo") == [
        line for row, line in zip(rows, lines[1:], strict=True) if row[0] or quoting == csv.QUOTE_ALL
    ]
    assert loaded.log.total == len(rows) - len(kept)


@pytest.mark.parametrize(
    ("text", "kept", "line", "words"),
    [
        ('text,stars\na,1\nb"c,2\nd,3\n', [("a", 1)], 3, "a quote stands in a cell that does not begin with one"),
        ('text,stars\na,1\n"b"c,2\nd,3\n', [("a", 1)], 3, "more follows behind the quote that closes a cell"),
        ('text,stars\na,1\n"b\nc,2\nd,3\n', [("a", 1)], 3, "the row that begins here, and none closes it"),
        ('text,stars\na,1\n"b\nc,2\n"d",3\n', [("a", 1)], 5, "more follows behind the quote"),
        ("text,stars\na,1\nb,2\rc,3\n", [("a", 1)], 3, "a carriage return stands alone"),
        ("text,stars\na,1\nb,2,3\nd,3\n", [("a", 1), ("d", 3)], 3, "the row has 3 cells, and the header 2"),
        ("text,stars\na,1\nb\nd,3\n", [("a", 1), ("d", 3)], 3, "the row has 1 cell, and the header 2"),
        (b"text,stars\na,1\nb,\xff,\nd,3\n", [("a", 1), ("d", 3)], 3, "the row has 3 cells"),
        ("", [], 1, "there is no header"),
        ("\n\r\n", [], 1, "there is no header"),
        ('\n"text,stars\n', [], 2, "none closes it"),
        ("\ntext;stars\na;1\n", [], 2, 'the header is one cell, "text;stars"; cells are separated by commas, not by'),
    ],
)
def test_what_is_no_csv_is_told_with_its_line(text, kept, line, words):
    loaded = load_csv(text)
    problem = loaded.problem
    assert (problem.source, problem.line, problem.reason) == ("memos.csv", line, "malformed_csv")
    assert words in problem.message
    assert memos(loaded) == kept


def test_cells_that_do_not_fit_are_told_with_the_line_that_their_row_begins_on():
    loaded = load_csv(b'stars,text\n1,"a\nb"\nmany,c\n2,\n99999999999,\xff\n')
    assert loaded.problems == [
        (4, "wrong_type", "stars"), (5, "missing_required", "text"), (6, "out_of_range", "stars"),
        (6, "invalid_utf8", "text"),
    ]  # fmt: skip
    assert memos(loaded) == [("a\nb", 1)]


def test_columns_that_are_wrong_are_told_at_the_header():
    loaded = load_csv("\ntext,strs,strs\n")
    assert sorted(loaded.problems) == [(2, "duplicate_member", "strs"), (2, "unknown_field", "strs")]
    assert load_csv(b"te\xffxt\na\n").problems == [(1, "invalid_utf8", None)]


def test_columns_that_are_given_stand_for_a_header():
    loaded = load_csv("1,a\n2,b\n", columns=["stars", "text"])
    assert (memos(loaded), loaded.lines) == ([("a", 1), ("b", 2)], {"node:Memo": [1, 2]})
    wrong = load_csv("1,a\n", columns=["stars"])
    assert wrong.problems == [(None, "missing_required", "text")]


def test_a_header_may_be_quoted_and_nothing_is_trimmed():
    assert memos(load_csv('"text" ,stars\n a ,1\n')) == []
    assert memos(load_csv('"text","stars"\n a ,1\n')) == [(" a ", 1)]


def test_edges_have_their_ends_as_columns_and_rows_their_ids():
    loaded = load_csv("from,to,since,id\na,b,2024-05-01,e1\na,,,\n", "Likes")
    assert [(row["id"], row["src"], row["dst"]) for row in loaded.rows["edge:Likes"]] == [("e1", "a", "b")]
    assert loaded.problems == [(3, "missing_required", "dst")]


def test_other_delimiters_are_taken_where_they_are_said():
    assert memos(load_csv("text\tstars\na,b\t1\n", delimiter="\t")) == [("a,b", 1)]


def test_a_text_without_rows_names_its_type():
    (batch,) = load_csv("text,stars\n").batches
    assert (batch.target.key, batch.rows.num_rows, batch.source) == ("node:Memo", 0, "memos.csv")


def test_a_name_that_is_no_type_or_two_is_told_with_the_file():
    assert load_csv("text\n", "Mem").problem.reason == "unknown_type"
    assert load_csv("text\n", "Memo").problem.reason == "ambiguous_type"
    assert load_csv("text\n", "Mem").problem.source == "memos.csv"
    wide = load_csv("from,to\n", "edge:Memo")
    assert list(wide.rows) == ["edge:Memo"]


def test_memory_of_vectors_that_are_not_there_is_bounded():
    text = "name\n" + "".join(f"t{number}\n" for number in range(1000))
    batches = load_csv(text, "Thing", chunk_bytes=1200).batches
    assert sum(each.rows.num_rows for each in batches) == 1000
    # A vector of three floats takes twelve bytes.
    assert max(each.rows.num_rows for each in batches) <= 100


def test_a_row_that_never_ends_is_refused_before_it_is_held(monkeypatch):
    monkeypatch.setattr(csv_pieces, "MAX_LINE_BYTES", 100)
    monkeypatch.setattr(sources, "_BLOCK", 64)
    with pytest.raises(ResourceLimitError, match=r"memos\.csv:2 has more than 100 bytes"):
        load_csv('text\n"' + "x\n" * 200, chunk_bytes=64)


def test_another_format_is_told_by_its_first_bytes():
    with pytest.raises(InvalidInputError, match="is a Parquet file, not CSV"):
        load_csv(b"PAR1abc")
