"""The moves of both parsers: taking tokens, saying what was expected, and finding a place to go on."""

from __future__ import annotations

import pytest

from omnigraph.lang import Code, Report, SourceText, Span
from omnigraph.lang.cursor import MAX_DEPTH, Cursor, Unreadable, describe
from omnigraph.lang.source import Name
from omnigraph.lang.tokens import END, IDENT, INTEGER, STRING, TYPE_NAME, VARIABLE, Token


def cursor_at(text: str) -> Cursor:
    return Cursor(Report(SourceText.of(text, "a.gq")))


def failed(cursor: Cursor, move):
    """The one diagnostic of a move that gives up."""
    with pytest.raises(Unreadable):
        move()
    (found,) = cursor.report.diagnostics
    return found


# ── looking and taking ──


def test_tokens_are_taken_one_by_one():
    cursor = cursor_at("a B 1")
    assert cursor.kind == IDENT
    assert [cursor.take().text for _ in range(3)] == ["a", "B", "1"]
    assert cursor.kind == END


def test_at_the_end_the_cursor_stays_there():
    cursor = cursor_at("a")
    cursor.take()
    assert cursor.take().kind == END
    assert cursor.take() == Token(END, "", 1, 1)


def test_looking_ahead_moves_nothing_and_sees_the_end():
    cursor = cursor_at("a b")
    assert cursor.peek().text == "b"
    assert [cursor.peek(ahead).kind for ahead in (2, 3, 4)] == [END, END, END]
    assert cursor.token.text == "a"


def test_a_token_is_taken_only_if_it_is_of_the_kind():
    cursor = cursor_at("a 1")
    assert cursor.take_if(INTEGER) is None
    assert cursor.take_if(IDENT) == Token(IDENT, "a", 0, 1)
    assert cursor.take_if("integer") == Token(INTEGER, "1", 2, 3)
    assert cursor.take_if(IDENT) is None


def test_words_are_keywords_only_where_they_are_asked_for():
    cursor = cursor_at('match "match"')
    assert cursor.at_word("match")
    assert not cursor.at_word("mat")
    assert cursor.take().span == (0, 5)
    assert not cursor.at_word("match")


def test_a_name_keeps_its_place():
    cursor = cursor_at("  title")
    name = cursor.expect_name(IDENT)
    assert name == Name("title", Span(2, 7))
    assert name.span == (2, 7)


def test_a_span_goes_to_the_end_of_what_was_taken_last():
    cursor = cursor_at("a { b }  c")
    start = cursor.token.start
    for _ in range(4):
        cursor.take()
    assert cursor.span_from(start) == (0, 7)
    assert cursor.previous_end == 7


def test_nothing_ends_before_the_first_token():
    assert cursor_at("  a").previous_end == 0


def test_moving_to_an_offset_stops_at_the_first_token_there_or_behind():
    cursor = cursor_at("aa bb cc")
    cursor.move_to(4)
    assert cursor.token.text == "cc"
    cursor.move_to(0)
    assert cursor.token.text == "cc"
    cursor.move_to(99)
    assert cursor.kind == END


# ── giving up ──


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (IDENT, "a name that starts with a lower-case letter"),
        (TYPE_NAME, "a name that starts with a capital"),
        (VARIABLE, "a variable"),
        (INTEGER, "an integer"),
        (STRING, "a string"),
        ("{", '"{"'),
        (END, "the end of the file"),
    ],
)
def test_what_was_expected_is_said_in_words(kind, expected):
    cursor = cursor_at("x }")
    cursor.take()
    found = failed(cursor, lambda: cursor.expect(kind))
    assert found.code is Code.UNEXPECTED_TOKEN
    assert found.span == (2, 3)
    assert found.message == f'expected {expected}, found "}}"'
    assert found.label == f"expected {expected}"


def test_the_caller_can_say_better_what_was_expected():
    cursor = cursor_at("1")
    found = failed(cursor, lambda: cursor.expect(IDENT, "the name of a property"))
    assert found.message == 'expected the name of a property, found "1"'


def test_a_wrong_word_gets_a_guess_and_the_choices():
    cursor = cursor_at("retrun")
    found = failed(cursor, lambda: cursor.fail("a clause", choices=["return", "match", "order"]))
    assert found.label == 'did you mean "return"?'
    assert found.help == "There are: match, order, return"


def test_without_a_near_word_the_label_says_what_was_expected():
    cursor = cursor_at("xyz")
    found = failed(cursor, lambda: cursor.fail("a clause", choices=["return"], help="Write one."))
    assert found.label == "expected a clause"
    assert found.help == "Write one."


def test_a_place_code_and_message_of_the_caller_are_used():
    cursor = cursor_at("a b")
    found = failed(
        cursor, lambda: cursor.fail("x", code=Code.EMPTY_BLOCK, message="this block is empty", span=Span(0, 3))
    )
    assert (found.code, found.message, found.span) == (Code.EMPTY_BLOCK, "this block is empty", (0, 3))


def test_the_end_is_shown_right_behind_the_last_token():
    cursor = cursor_at("a {  // comment\n\n")
    cursor.take()
    cursor.take()
    found = failed(cursor, lambda: cursor.expect("}"))
    assert found.message == 'expected "}", found the end of the file'
    assert found.position == (1, 4)


def test_the_end_of_a_text_without_tokens_is_its_own_place():
    cursor = cursor_at("// only\n")
    assert failed(cursor, lambda: cursor.expect(IDENT)).position == (2, 1)


def test_where_the_tokenizer_has_spoken_nothing_is_added():
    cursor = cursor_at("; a")
    found = failed(cursor, lambda: cursor.expect(IDENT))
    assert found.code is Code.UNEXPECTED_CHARACTER


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc", '"abc"'),
        ("", "the end of the file"),
        ('"ab"', 'the string "ab"'),
        ("a" * 41, '"' + "a" * 37 + '..."'),
        ("a" * 40, '"' + "a" * 40 + '"'),
    ],
)
def test_a_token_is_called_by_its_text_and_long_ones_are_cut(text, expected):
    assert describe(cursor_at(text).token) == expected


# ── going on ──


def is_word(word: str):
    return lambda cursor: cursor.at_word(word)


def test_skipping_stops_at_what_can_be_read_again():
    cursor = cursor_at("x y ) return z")
    cursor.skip_to(is_word("return"))
    assert cursor.token.text == "return"


def test_skipping_stops_at_the_brace_that_closes_the_block():
    cursor = cursor_at("x y } return")
    cursor.skip_to(is_word("return"))
    assert cursor.kind == "}"


def test_skipping_leaves_out_whole_blocks():
    cursor = cursor_at("x { return { } } y } z")
    cursor.skip_to(is_word("return"))
    assert cursor.token.start == 19


def test_skipping_ends_with_the_text():
    cursor = cursor_at("x { y")
    cursor.skip_to(is_word("return"))
    assert cursor.kind == END


def test_skipping_goes_over_what_starts_no_token():
    cursor = cursor_at("; ' return")
    cursor.skip_to(is_word("return"))
    assert cursor.token.text == "return"


def test_a_block_is_left_out_with_the_blocks_in_it():
    cursor = cursor_at("{ a { b } { } } c")
    cursor.skip_block()
    assert cursor.token.text == "c"


def test_a_block_that_is_not_closed_is_left_out_to_the_end():
    cursor = cursor_at("{ a { b }")
    cursor.skip_block()
    assert cursor.kind == END


# ── depth ──


def test_sixty_four_levels_can_be_nested_and_no_more():
    cursor = cursor_at("x y")
    for _ in range(2):
        for _ in range(MAX_DEPTH):
            cursor.enter()
        for _ in range(MAX_DEPTH):
            cursor.leave()
    assert cursor.report.diagnostics == []
    cursor.depth = MAX_DEPTH
    found = failed(cursor, cursor.enter)
    assert found.code is Code.TOO_DEEP
    assert found.message == "this is nested deeper than 64 levels"
    assert found.span == (0, 1)
    assert cursor.depth == MAX_DEPTH
