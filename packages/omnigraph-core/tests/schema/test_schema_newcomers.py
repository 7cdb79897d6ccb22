"""What people write who know other languages: each is told how it is written here, once."""

from __future__ import annotations

import pytest

from omnigraph.errors import CompileError
from omnigraph.lang import Code, Severity, SourceText
from omnigraph.lang.diagnostics import MAX_ERRORS, Diagnostic, Report
from omnigraph.schema import Annotation, compile_schema
from omnigraph.schema.check import check_schema
from omnigraph.schema.parser import read_schema


def found(text: str) -> tuple[Diagnostic, ...]:
    report = Report(SourceText.of(text, "test.pg"))
    check_schema(read_schema(report), report)
    return report.in_order()


def told(text: str) -> list[tuple[Code, str]]:
    """Each diagnostic by its code and the words under the carets."""
    return [(each.code, text[each.span.start : each.span.end]) for each in found(text)]


# ── annotations that do nothing ──


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("unqiue", "unique"),
        ("uniq", "unique"),
        ("kye", "key"),
        ("keys", "key"),
        ("indx", "index"),
        ("primary_key", "key"),
        ("pk", "key"),
        ("embedding", "embed"),
        ("desciption", "description"),
        ("renamed_from", "rename_from"),
        ("cardinality", "card"),
        ("regex", "check"),
        ("uNIQUE", "unique"),
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "node A {{ x: I32 @{} }}",
        "node A @{} {{}}",
        "node A {{}} edge E: A -> A @{}(1)",
        "node A {{}} edge E: A -> A {{ x: I32 @{} }}",
        "interface I {{ x: I32 @{} }} node A implements I {{}} node B implements I {{}}",
    ],
)
def test_an_annotation_near_a_known_one_is_kept_with_a_warning_told_once(text, word, meant):
    text = text.format(word)
    compile_schema(text)
    assert told(text) == [(Code.UNKNOWN_ANNOTATION, f"@{word}")]
    only = found(text)[0]
    assert (only.severity, only.label) == (Severity.WARNING, f'did you mean "@{meant}"?')
    assert f"@{word} is not known and has no effect" in only.message


@pytest.mark.parametrize(
    ("written", "help"),
    [
        ('@default("x")', "no default values"),
        ("@required", "required unless ?"),
        ("@not_null", "required unless ?"),
        ("@optional", "? behind its type"),
        ("@nullable", "? behind its type"),
    ],
)
def test_an_annotation_that_other_languages_have_says_how_it_is_done_here(written, help):
    text = f"node A {{ x: String {written} }}"
    assert compile_schema(text).nodes["A"].by_name["x"].annotations[0].name == written[1:].partition("(")[0]
    only = found(text)[0]
    assert told(text) == [(Code.UNKNOWN_ANNOTATION, written.partition("(")[0])]
    assert only.severity is Severity.WARNING
    assert only.help is not None
    assert help in only.help


def test_a_default_stays_metadata_and_has_no_effect():
    prop = compile_schema('node A { x: String @default("q") }').nodes["A"].by_name["x"]
    assert prop.annotations == (Annotation(name="default", value="q"),)
    assert not prop.type.is_nullable


@pytest.mark.parametrize("word", ["unit", "hard", "owner", "label", "deprecated", "since", "ui", "title", "version"])
def test_an_annotation_that_is_a_word_of_its_own_gets_no_warning(word):
    assert told(f"node A @{word} {{ x: I32 @{word}(1) }}") == []


def test_no_known_annotation_gets_a_warning():
    types = 'node A @description("a") @instruction("b") @rename_from("c") {} edge E: A -> A @card(0..1)'
    body = 'x: I32 @key @unique @index s: String v: Vector(2) @embed(s) @range(x, 1..2) @check(s, "a")'
    assert told(types) == []
    assert told(f"node A {{ {body} }}") == []


def test_warnings_take_no_room_that_an_error_needs():
    many = " ".join(f"p{number}: I32 @default(1)" for number in range(2 * MAX_ERRORS))
    text = f"node A {{ {many} x: I32? @key }}"
    errors = [each for each in found(text) if each.severity is Severity.ERROR]
    assert [each.code for each in errors] == [Code.BAD_KEY_COLUMN]


def test_a_warning_makes_no_parse_error_of_a_check_error():
    with pytest.raises(CompileError, match="OG-S-103") as caught:
        compile_schema("node A { x: I32 @unqiue } edge E: A -> B")
    assert type(caught.value).__name__ == "CheckError"


@pytest.mark.parametrize(
    ("marked", "guess"),
    [
        ("node A { x: I32 @«Key» y: I32 }", "key"),
        ("node A { x: I32 @«KEY» }", "key"),
        ("node A { @«Key»(x) x: I32 }", "key"),
        ("node A { x: I32 @«Unique»(x, y) y: I32 }", "unique"),
        ('node A @«Description»("d") {}', "description"),
    ],
)
def test_an_annotation_with_a_capital_is_recognised(refused, marked, guess):
    only = refused(marked, Code.UNEXPECTED_TOKEN, "starts with a lower-case letter")
    assert only.label == f'did you mean "{guess}"?'


# ── declarations ──


@pytest.mark.parametrize(
    "marked",
    [
        "interface B { y: I32 } node A «extends» B { @key(y) }",
        "interface B { y: I32 } node A «:» B { @key(y) }",
        "interface B {} node A«:» B {}",
        "node B {} node A «extends» B { x: I32 }",
        "interface B {} interface C {} node A @foo «inherits» B, C {}",
    ],
)
def test_another_word_for_implements_is_told_once_whatever_stands_behind_it(refused, marked):
    assert refused(marked, Code.UNEXPECTED_TOKEN).label == 'did you mean "implements"?'


@pytest.mark.parametrize(
    "marked",
    [
        "node Patient\n  «name»: String\n",
        "node Patient\n  «name»: String\n  age: I32\nnode Other {}",
        "node Patient«:»\n  name: String\n",
        "node Patient\n  «name»: String\n}\nnode Other {}",
        "interface Named\n  «name»: String\nnode Patient implements Named { @key(name) }",
        "node A {} edge E: A -> A\n  «x»: I32\n",
    ],
)
def test_a_body_without_braces_is_one_mistake(refused, marked):
    refused(marked, Code.UNEXPECTED_TOKEN, 'expected "{"', "stand between braces")


@pytest.mark.parametrize(
    "text",
    [
        "query people() { match { $p: Person } return { $p.name } }",
        '// all\nquery people($x: String) @description("d") { match { $p: Person } return { $p } }\nquery b() {}',
        "query people { match { $p: Person } return { $p } }",
    ],
)
def test_a_file_of_queries_is_told_from_a_schema_in_one_sentence(text):
    assert told(text) == [(Code.UNEXPECTED_TOKEN, "query")]
    assert "looks like queries" in str(found(text)[0].help)


def test_a_query_among_declarations_does_not_hide_what_follows():
    text = "node A {}\nquery q() { match { $a: A } return { $a } }\nnode B { x: Strng }"
    assert told(text) == [(Code.UNEXPECTED_TOKEN, "query"), (Code.UNKNOWN_SCALAR, "Strng")]
    assert "looks like a query" in str(found(text)[0].help)


@pytest.mark.parametrize(
    ("broken", "words"),
    [("edge E { from: A to: A }", ["{", "query"]), ("node B", ["query"]), ("node B { x: I32", ["query"])],
)
def test_a_query_is_no_part_of_what_stands_in_front_of_it(broken, words):
    text = f"node A {{}}\n{broken}\nquery q() {{ match {{ $a: A }} return {{ $a }} }}\nnode C {{}}"
    assert told(text) == [(Code.UNEXPECTED_TOKEN, word) for word in words]


def test_a_property_may_be_called_query():
    assert told("node A { query: String @key(query) }") == []


@pytest.mark.parametrize(
    ("marked", "code"),
    [
        ("node A {} node B {} edge E: A«,» B -> A", Code.UNEXPECTED_TOKEN),
        ("node A {} node B {} edge E: A«|»B -> A { x: I32 }", Code.UNEXPECTED_CHARACTER),
        ("node A {} node B {} edge E: A -> A«,» B", Code.UNEXPECTED_TOKEN),
        ("node A {} node B {} edge E: A -> A«,» B { x: I32 } node C {}", Code.UNEXPECTED_TOKEN),
        ("node A {} node B {} edge E: A -> A «|» B", Code.UNEXPECTED_CHARACTER),
        ("node A {} edge E «{» from: A to: A }", Code.UNEXPECTED_TOKEN),
        ("node A {} edge E «{» source: A } node B {}", Code.UNEXPECTED_TOKEN),
    ],
)
def test_ends_of_an_edge_in_another_form_are_one_mistake(refused, marked, code):
    refused(marked, code)


# ── marks of other languages ──


@pytest.mark.parametrize(
    "marked",
    [
        "node A { x: String«!» y: I32 @key }",
        "node A { x: String «!» @key }",
        "node A { x: Vector(3)«!» }",
        "node A { x: [I32]«!» y: I32 }",
        "node A { x: [I32«!»] y: I32 }",
    ],
)
def test_an_exclamation_mark_behind_a_type_is_explained(refused, marked):
    refused(marked, Code.UNEXPECTED_CHARACTER, "required unless ?")


@pytest.mark.parametrize(
    ("marked", "label"),
    [
        ("node A {} edge E: A -> A @card(0..«*»)", "write 0.."),
        ("node A {} edge E: A -> A @card(1..«*») { x: I32 }", "write 1.."),
        ("node A { x: I32 @range(x, 2..«*») }", "write 2.."),
    ],
)
def test_a_star_for_an_open_bound_is_explained(refused, marked, label):
    only = refused(marked, Code.UNEXPECTED_CHARACTER)
    assert only.label == label
    assert "arithmetic" not in str(only.help)


@pytest.mark.parametrize("written", ["0..«n»", "0«,» 1", "0«-»1"])
def test_a_cardinality_in_another_form_shows_the_right_one(refused, written):
    refused(f"node A {{}} edge E: A -> A @card({written})", Code.UNEXPECTED_TOKEN, "@card(0..1)", "@card(1..)")


@pytest.mark.parametrize(
    ("marked", "help"),
    [
        ("node A { x: enum(a «|» b) }", "between commas"),
        ("node A { x: String «|» I32 }", "one type"),
        ("node A { x: String «||» I32 }", "one type"),
        ("interface I {} interface J {} node A implements I «&» J {}", "implements First, Second"),
    ],
)
def test_marks_of_queries_are_explained_in_the_words_of_schemas(refused, marked, help):
    only = refused(marked, Code.UNEXPECTED_CHARACTER, help)
    assert "match" not in str(only.help)
