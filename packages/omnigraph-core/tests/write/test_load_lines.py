"""Lines: the strict form of NDJSON, its bounds, and how everything that is not it is told with its line."""

from __future__ import annotations

import io
import json
import tracemalloc

import pytest
from load_world import DOMAIN, load, node, odd_node, things

from omnigraph.errors import InvalidInputError, ResourceLimitError
from omnigraph.history.schemas import GraphSchema
from omnigraph.write.records.ndjson import MAX_LINE_BYTES, MAX_STRUCTURAL, count_structural

GOOD = node("Thing", '{"name":"good"}')
LIKE = '{"edge":"Likes","from":"a","to":"b"}'


def ids(loaded, key="node:Thing"):
    return [row["id"] for row in loaded.rows.get(key, [])]


# ── framing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("data", ["", b"", "\n", " \n\t\n\r\n", "// nothing\n", io.BytesIO(b""), io.StringIO(""), []])
def test_an_input_without_records_gives_nothing(data):
    loaded = load(data)
    assert (loaded.batches, loaded.log.total) == ([], 0)


@pytest.mark.parametrize("form", [node, odd_node])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_end_with_lf_or_crlf_and_the_last_may_end_with_nothing(form, end, last):
    lines = [form("Thing", f'{{"name":"{name}"}}') for name in "abc"]
    loaded = load(end.join(lines) + end * last)
    assert (ids(loaded), loaded.lines["node:Thing"]) == (["a", "b", "c"], [1, 2, 3])


@pytest.mark.parametrize("form", [node, odd_node])
def test_blank_and_comment_lines_are_skipped_and_counted(form):
    lines = ["// a comment", "", form("Thing", '{"name":"a"}'), "  ", "\t// {", form("Thing", '{"name":"b"}'), ""]
    loaded = load("\n".join(lines))
    assert (ids(loaded), loaded.lines["node:Thing"], loaded.log.total) == (["a", "b"], [3, 6], 0)


def test_a_comment_sign_within_a_text_is_text():
    loaded = load(node("Thing", '{"name":"//a"}'))
    assert ids(loaded) == ["//a"]


def test_types_may_come_in_any_order_and_keep_the_order_of_the_input_each():
    lines = [LIKE, GOOD, node("Memo", '{"text":"m"}'), LIKE.replace("Likes", "likes"), node("Thing", '{"name":"z"}')]
    loaded = load("\n".join(lines))
    assert loaded.lines == {"edge:Likes": [1, 4], "node:Thing": [2, 5], "node:Memo": [3]}


def test_a_byte_order_mark_at_the_start_is_skipped_and_nowhere_else():
    loaded = load(f"\ufeff{GOOD}\n\ufeff{GOOD}".encode())
    assert ids(loaded) == ["good"]
    assert loaded.problems == [(2, "malformed_json", None)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "the line ends before the object does"),
        (GOOD[:-1], "the line ends before the object does"),
        ('{"type":"Thing","data":{"name":"a', "unterminated string"),
        (GOOD + GOOD, "more follows behind the end of the object"),
        (GOOD + " x", "more follows"),
        (GOOD + ",", "more follows"),
        ("name,text,flag", 'expected one object per line, such as {"type": "Film", "data": {...}}'),
        ("type: Thing", "expected one object per line"),
        ('{"type":"Thing","data":{"name":\'a\'}}', "expecting value"),
        ('{"type":"Thing","data":{"name":"a",}}', "this is not JSON"),
        ('{"type":"Thing","data":{"name":"a\tb"}}', "invalid control character"),
        ('{"type":"Thing","data":{"name":"\\x"}}', "invalid \\escape"),
        ('{"type":"Thing","data":{"name":01}}', "this is not JSON"),
        ('{"type":"Thing","data":{"name":"a"}}\x00', "more follows"),
    ],
)
@pytest.mark.parametrize("before", [GOOD, odd_node("Thing", '{"name":"good"}')])
def test_a_line_that_is_not_one_json_value_is_told_and_the_others_are_read(before, line, message):
    after = node("Thing", '{"name":"after"}')
    loaded = load(f"{before}\n{line}\n{after}")
    assert ids(loaded) == ["good", "after"]
    assert loaded.problems == [(2, "malformed_json", None)]
    assert message in loaded.problem.message


def test_records_that_share_lines_are_not_taken_for_one_per_line():
    # As many objects as lines, and each line begins and ends with a brace.
    loaded = load(f"{GOOD}{GOOD}\n\n{GOOD}")
    assert ids(loaded) == ["good"]
    assert loaded.problems == [(1, "malformed_json", None)]


def test_records_that_end_within_lines_are_not_taken_for_one_per_line():
    # As many objects as lines, each line begins as a record does, and both objects would be whole.
    schema = GraphSchema.new("node T { type: String @key }", DOMAIN)
    text = '{"type":"T","data":{"type":"a"}} {"type":"T","data":\n{"type":"T"}}'
    loaded = load(text, schema=schema)
    assert not loaded.batches
    assert loaded.problems == [(1, "malformed_json", None), (2, "malformed_json", None)]


def test_a_record_over_several_lines_is_refused_on_each():
    text = json.dumps({"type": "Thing", "data": {"name": "a"}}, indent=1)
    loaded = load(text)
    assert not loaded.batches
    assert [line for line, _, _ in loaded.problems] == list(range(1, text.count("\n") + 2))


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"Thing","data":{"name":"a","name":"a"}}',
        '{"type":"Thing","data":{"name":"a","text":null,"text":"b"}}',
        '{"type":"Thing","data":{"name":"a","n\\u0061me":"b"}}',
        '{"type":"Thing","data":{"name":"a"},"data":{}}',
        '{"type":"Thing","type":"Thing","data":{"name":"a"}}',
        '{"edge":"Likes","from":"a","from":"b","to":"c"}',
        '{"type":"Thing","data":{"name":"a","text":{"deep":[{"x":1,"x":2}]}}}',
    ],
)
def test_a_member_that_occurs_twice_is_refused_at_any_depth(line):
    loaded = load(f"{GOOD}\n{line}")
    assert loaded.problems == [(2, "duplicate_member", None)]
    assert "occurs twice" in loaded.problem.message


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80"])
def test_bytes_that_are_not_utf8_are_told_with_their_line(bad):
    line = node("Thing", '{"name":"bad","text":"a@"}').encode()
    loaded = load(GOOD.encode() + b"\n" + line.replace(b"@", bad) + b"\n" + GOOD.encode())
    assert ids(loaded) == ["good", "good"]
    assert loaded.problems == [(2, "invalid_utf8", None)]
    assert f"byte 0x{bad[0]:02x} at position {line.index(b'@') + 1}" in loaded.problem.message


def test_ends_of_an_edge_are_utf8_too():
    loaded = load(LIKE.encode() + b"\n" + LIKE.encode().replace(b'"b"', b'"\xff"'))
    assert loaded.problems == [(2, "invalid_utf8", None)]


def test_half_a_surrogate_pair_in_a_python_text_is_told_with_its_line():
    loaded = load(f"{GOOD}\n" + node("Thing", '{"name":"\ud800"}'))
    assert loaded.problems == [(2, "invalid_utf8", None)]


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [2_000, 30_000])
def test_deep_nesting_is_a_problem_and_no_crash(opening, depth):
    closing = "]" if opening == "[" else "}"
    deep = opening * depth + "1" + closing * depth
    loaded = load(f"{GOOD}\n" + node("Thing", f'{{"name":"a","text":{deep}}}'))
    assert ids(loaded) == ["good"]
    (line, reason, _) = loaded.problems[0]
    assert line == 2
    assert reason in ("malformed_json", "wrong_type")


def test_an_integer_of_thousands_of_digits_is_a_problem():
    loaded = load(f"{GOOD}\n" + node("Thing", f'{{"name":"a","i64":{"9" * 5_000}}}'))
    assert loaded.problems == [(2, "out_of_range", None)]


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"PAR1\x15\x04", "a Parquet file"),
        (b"\x89PNG\r\n\x1a\n\x00", "a PNG image"),
        (b"\x1f\x8b\x08\x00", "a gzip file"),
        (b"PK\x03\x04", "a zip file"),
        (b"ARROW1\x00\x00", "an Arrow file"),
        (GOOD.encode("utf-16"), "UTF-16 text"),
    ],
)
def test_another_format_is_named(start, name):
    with pytest.raises(InvalidInputError, match=name) as caught:
        load(start)
    assert caught.value.help


def test_a_csv_file_is_told_line_by_line_what_was_expected():
    loaded = load(io.StringIO("name,text\na,b\n"))
    assert loaded.problems == [(1, "malformed_json", None), (2, "malformed_json", None)]
    assert all("expected one object per line" in each.message for each in loaded.log.kept)


# ── envelopes ────────────────────────────────────────────────────────────────────────────────────────────────────────

BAD = "bad_envelope"


@pytest.mark.parametrize(
    ("line", "reason", "message"),
    [
        ("[]", BAD, "got []"),
        ("5", BAD, "got 5"),
        ('"Thing"', BAD, 'got "Thing"'),
        ("null", BAD, "got null"),
        ("{}", BAD, 'neither "type" nor "edge"'),
        ('{"node":"Thing","data":{"name":"a"}}', BAD, 'neither "type" nor "edge"'),
        ('{"type":"Thing","data":{"name":"a"},"extra":1}', BAD, '"extra" does not belong'),
        ('{"type":"Thing","edge":"Likes","data":{"name":"a"}}', BAD, '"edge" does not belong'),
        ('{"type":"Thing","from":"a","data":{"name":"a"}}', BAD, '"from" does not belong'),
        ('{"edge":"Likes","from":"a","to":"b","id":"x"}', BAD, "an id goes into data"),
        ('{"edge":"Likes","from":"a","to":"b","data":{},"x":1}', BAD, '"x" does not belong'),
        ('{"type":5,"data":{}}', BAD, '"type" expects the name of a node type, got 5'),
        ('{"type":null,"data":{}}', BAD, "got null"),
        ('{"edge":["Likes"],"from":"a","to":"b"}', BAD, '"edge" expects the name of an edge type'),
        ('{"type":"Thing","data":null}', BAD, '"data" expects an object, got null'),
        ('{"type":"Thing","data":[]}', BAD, '"data" expects an object, got []'),
        ('{"edge":"Likes","from":"a","to":"b","data":null}', BAD, '"data" expects an object, got null'),
        ('{"edge":"Likes","from":"a","to":"b","d\\u0061ta":null}', BAD, '"data" expects an object, got null'),
        ('{"edge":"Likes","to":"b"}', BAD, 'an edge needs "from" and "to", and "from" is missing'),
        ('{"edge":"Likes","from":"a"}', BAD, '"to" is missing'),
        ('{"edge":"Likes","from":null,"to":"b"}', "wrong_type", '"from" expects String, got null'),
        ('{"edge":"Likes","from":"a","to":7}', "wrong_type", '"to" expects String, got 7'),
        ('{"edge":"Likes","from":"a","to":"\\ud800"}', "bad_text", '"to" expects String'),
        ('{"type":"Thingy","data":{}}', "unknown_type", 'did you mean "Thing"?'),
        ('{"type":"thing","data":{}}', "unknown_type", 'did you mean "Thing"?'),
        ('{"type":"Zzz","data":{}}', "unknown_type", "there are: Day, Film, Memo, Seat, Thing, Weight"),
        ('{"type":"Likes","data":{}}', "unknown_type", "it is an edge type"),
        ('{"type":"Titled","data":{}}', "unknown_type", "it is an interface"),
        ('{"edge":"Thing","from":"a","to":"b"}', "unknown_type", "it is a node type"),
        ('{"edge":"Like","from":"a","to":"b"}', "unknown_type", 'did you mean "Likes"?'),
    ],
)
def test_an_envelope_has_one_of_two_exact_forms(line, reason, message):
    loaded = load(f"{GOOD}\n{LIKE}\n{line}")
    assert (ids(loaded), ids(loaded, "edge:Likes")) == (["good"], [None])
    assert (loaded.problem.line, loaded.problem.reason) == (3, reason)
    assert message in loaded.problem.message


@pytest.mark.parametrize(
    ("line", "reason", "name", "message"),
    [
        (node("Thing", '{"name":"a","colour":1}'), "unknown_field", "colour", "unknown input field"),
        (node("Thing", '{"name":"a","texd":1}'), "unknown_field", "texd", 'did you mean "text"?'),
        (node("Thing", '{"name":"a","src":"x"}'), "unknown_field", "src", "unknown input field"),
        ('{"edge":"Likes","from":"a","to":"b","data":{"src":"a"}}', "unknown_field", "src", '"from" and "to"'),
        ('{"edge":"Likes","from":"a","to":"b","data":{"dst":"a"}}', "unknown_field", "dst", '"from" and "to"'),
        ('{"edge":"Likes","from":"a","to":"b","data":{"to":"a"}}', "unknown_field", "to", '"from" and "to"'),
        (node("Thing", '{"name":"a","id":5}'), "wrong_type", "id", "Thing.id expects String, got 5"),
        (node("Memo", '{"text":"a","id":null}'), "wrong_type", "id", "Memo.id expects String, got null"),
        (node("Memo", '{"text":"a","\\u0069d":null}'), "wrong_type", "id", "got null"),
        ('{"edge":"Likes","from":"a","to":"b","data":{"id":1}}', "wrong_type", "id", "Likes.id expects String"),
        (
            node("Thing", '{"name":"a","id":"b"}'),
            "id_mismatch",
            "id",
            'Thing.id is "b", but the key (name) makes it "a"',
        ),
    ],
)
def test_data_holds_properties_and_an_id_and_nothing_else(line, reason, name, message):
    loaded = load(f"{GOOD}\n{line}")
    assert loaded.problems == [(2, reason, name)]
    assert message in loaded.problem.message


@pytest.mark.parametrize("form", [node, odd_node])
def test_ids_are_derived_from_keys_taken_from_data_or_left_open(form):
    lines = [
        form("Thing", '{"name":"a"}'),
        form("Thing", '{"name":"b","id":"b"}'),
        form("Memo", '{"text":"m"}'),
        form("Memo", '{"text":"n","id":"own"}'),
        form("Seat", '{"row":7,"place":"no\\"rth"}'),
        form("Seat", '{"row":7,"place":"north","id":"[\\"north\\",\\"7\\"]"}'),
        form("Weight", '{"grams":0.1}'),
        form("Weight", '{"grams":1e21,"id":"1000000000000000000000"}'),
        form("Day", '{"on":"1970-01-11"}'),
        form("Day", '{"on":"1969-12-31","id":"-1"}'),
    ]
    loaded = load("\n".join(lines))
    assert not loaded.log
    assert {key: ids(loaded, key) for key in loaded.rows} == {
        "node:Thing": ["a", "b"],
        "node:Memo": [None, "own"],
        "node:Seat": ['["no\\"rth","7"]', '["north","7"]'],
        "node:Weight": ["0.1", "1000000000000000000000"],
        "node:Day": ["10", "-1"],
    }


def test_an_edge_has_its_ends_and_its_data_or_none():
    lines = [LIKE, '{"edge":"LIKES","from":"c","to":"d","data":{"id":"e1","since":"1970-01-02"}}',
             '{"edge":"Memo","from":"a","to":"m","data":{}}']  # fmt: skip
    loaded = load("\n".join(lines))
    assert loaded.rows == {
        "edge:Likes": [
            {"id": None, "src": "a", "dst": "b", "note": None, "since": None},
            {"id": "e1", "src": "c", "dst": "d", "note": None, "since": 1},
        ],
        "edge:Memo": [{"id": None, "src": "a", "dst": "m"}],
    }


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def long_line(size: int) -> str:
    bare = node("Thing", '{"name":"a","text":""}')
    return node("Thing", f'{{"name":"a","text":"{"x" * (size - len(bare))}"}}')


def test_a_line_of_the_greatest_length_is_read():
    loaded = load(f"{GOOD}\n{long_line(MAX_LINE_BYTES)}\n{GOOD}")
    assert ids(loaded) == ["good", "a", "good"]


@pytest.mark.parametrize("tail", ["", "\n", f"\n{GOOD}"])
def test_a_longer_line_is_refused(tail):
    with pytest.raises(ResourceLimitError) as caught:
        load(f"{GOOD}\n\n{long_line(MAX_LINE_BYTES + 1)}{tail}")
    assert (caught.value.resource, caught.value.limit) == ("load_line_bytes", MAX_LINE_BYTES)
    assert "<text>:3 " in caught.value.message


def test_no_more_of_a_line_than_the_limit_is_held():
    class Endless(io.RawIOBase):
        given = 0

        def read(self, size=-1):
            self.given += size
            return b"x" * size

    endless = Endless()
    tracemalloc.start()
    try:
        with pytest.raises(ResourceLimitError):
            load(endless)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert endless.given < MAX_LINE_BYTES + 4 * 1024 * 1024
    assert peak < MAX_LINE_BYTES + 8 * 1024 * 1024


def test_a_file_with_a_line_of_40_mib_is_named(tmp_path):
    path = tmp_path / "seed.jsonl"
    path.write_text(f"{GOOD}\n{long_line(40 * 1024 * 1024)}\n")
    with pytest.raises(ResourceLimitError, match=r"seed\.jsonl:2 has more than 33554432 bytes"):
        load(path)


def test_structural_characters_are_bounded_per_line():
    bare = node("Thing", '{"name":"a","counts":[]}')
    own = sum(map(bare.count, "{}[]:,"))
    allowed = MAX_STRUCTURAL - own + 1
    fits = bare.replace("[]", f"[{','.join('1' * allowed)}]")
    loaded = load(f"{GOOD}\n{fits}")
    assert len(loaded.rows["node:Thing"][1]["counts"]) == allowed
    with pytest.raises(ResourceLimitError) as caught:
        load(f"{GOOD}\n{GOOD}\n{fits.replace('[1', '[1,1')}\n{GOOD}")
    assert (caught.value.resource, caught.value.actual) == ("load_line_structure", MAX_STRUCTURAL + 1)
    assert "<text>:3 " in caught.value.message


def test_structural_characters_within_texts_do_not_count():
    text = '{"[,:]}' * 100_000 + "\\"
    loaded = load(node("Thing", json.dumps({"name": "a", "text": text})))
    assert loaded.rows["node:Thing"][0]["text"] == text


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (b"", 0),
        (b'{"a":[1,2]}', 6),
        (b'{"a":"{[,:"}', 3),
        (b'{"a":"\\"{","b":"\\\\","c":{}}', 9),
        (b'["\\\\\\"{", "x"]' + b" " * 2_000_000 + b",", 4),
        (b'["' + b"," * 1_500_000 + b'",1]', 3),
    ],
)
def test_structural_characters_are_counted_outside_of_texts(line, count):
    assert count_structural(line) == count


def test_many_problems_are_all_counted_and_the_first_hundred_of_each_reason_kept():
    lines = [node("Thing", f'{{"name":"t{number}","i32":"x"}}') for number in range(250)] + ["["] * 50
    loaded = load("\n".join(lines))
    assert loaded.log.counts == {"wrong_type": 250, "malformed_json": 50}
    assert [each.line for each in loaded.log.kept] == [*range(1, 101), *range(251, 301)]


def test_reading_goes_on_behind_bad_lines():
    lines = things(5_000).split("\n")
    for number in range(0, 5_000, 1_000):
        lines[number] = "broken"
    loaded = load("\n".join(lines), chunk_bytes=20_000)
    assert len(ids(loaded)) == 4_995
    assert [line for line, _, _ in loaded.problems] == [1, 1001, 2001, 3001, 4001]
    assert loaded.lines["node:Thing"] == [line for line in range(1, 5_001) if line % 1_000 != 1]
