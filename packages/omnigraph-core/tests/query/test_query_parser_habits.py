"""What people bring along from other languages, and what beginners forget: told once, at the word, with the right form.

The wrong words stand between « and ». Every text here has exactly one mistake, and exactly one diagnostic.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from omnigraph.errors import ParseError
from omnigraph.lang import Code, Diagnostic, SourceText
from omnigraph.query.parser import parse_queries

TOKEN, FOREIGN, CHARACTER, MIXED = (
    Code.UNEXPECTED_TOKEN,
    Code.UNSUPPORTED_SYNTAX,
    Code.UNEXPECTED_CHARACTER,
    Code.MIXED_BODY,
)


def refused(marked: str, code: Code, *fragments: str) -> None:
    """Hold that the text is refused once, with this code, at the marked words; a fragment after ``-`` is not told."""
    text = re.sub("[«»]", "", marked)
    start, end = marked.index("«"), marked.index("»") - 1
    with pytest.raises(ParseError) as caught:
        parse_queries(SourceText.of(text))
    found = [(each.code, text[each.span.start : each.span.end], each.span.start) for each in caught.value.diagnostics]
    assert found == [(code, text[start:end], start)]
    holds(caught.value.diagnostics[0], *fragments)


def holds(diagnostic: Diagnostic, *fragments: str) -> None:
    told = f"{diagnostic.message}\n{diagnostic.label}\n{diagnostic.help}"
    for fragment in fragments:
        if fragment.startswith("-"):
            assert fragment[1:] not in told
        else:
            assert fragment in told


@pytest.mark.parametrize(
    ("body", "fragments"),
    [
        ("match { $p: Film } return { «p».name }", ['"p" has no $', "Write $p.name"]),
        ("match { $p: Film } return { «p».name, $p.age }", ['"p" has no $', "Write $p.name"]),
        ("match { $p: Film } return { $p.age, «p».name as n }", ['"p" has no $', "Write $p.name"]),
        ("match { $p: Film } return { $p.age } order { «p».name desc }", ['"p" has no $', "Write $p.name"]),
        ("match { $p: Film } return { count(«p».name) as n }", ['"p" has no $', "Write $p.name"]),
        ("match { $p: Film search(«p».name, \"x\") } return { $p }", ['"p" has no $', "Write $p.name"]),
        ("match { $p: Film } return { $p } order { nearest(«p».v, $v) } limit 3", ['"p" has no $', "Write $p.v"]),
        ("match { «p»: Film } return { $p.name }", ['"p" has no $', "Write $p: Film"]),
        ("match { «p»: Film { name: \"x\" } $q: Film } return { $p.name }", ['"p" has no $', "Write $p: Film"]),
        ("match { $p: Film «p».name = \"x\" } return { $p.name }", ['"p" has no $', "Write $p.name"]),
        ("match { $p: Film $p.name = «q».name } return { $p.name }", ['"q" has no $', "Write $q.name"]),
        ("match { $p: Film «p» treats q } return { $p.name }", ['"p" has no $', "Write $p treats $q"]),
        ("match { $p: Film «p» treats $q } return { $p.name }", ['"p" has no $', "Write $p treats $q"]),
        ("match { $p: Film $p treats «q» } return { $p.name }", ['"q" has no $', "Write $p treats $q"]),
    ],
)  # fmt: skip
def test_a_forgotten_dollar_is_told_at_the_word_that_lacks_it(body: str, fragments: list[str]):
    refused(f"query q() {{ {body} }}", TOKEN, *fragments)


@pytest.mark.parametrize(
    ("body", "code", "fragments"),
    [
        ("match { $p: Film $p.x = 1 «AND» $p.y = 2 } return { $p }", FOREIGN, ["all hold"]),
        ("match { $p: Film $p.x = 1 «OR» $p.y = 2 } return { $p }", FOREIGN, ["one query for each side"]),
        ("match { $p: Film «WHERE» $p.x = 1 } return { $p }", FOREIGN, ["clause of its own"]),
        ("match { $p: Film «OPTIONAL» MATCH { $p follows $q } } return { $p }", FOREIGN, ["optional part"]),
        ("match { $p: Film «NOT» { $p follows $q } $p.x = 1 } return { $p }", TOKEN, ["small letters", "write not"]),
        ("match { $p: Film «NOT» $p.x = 1 } return { $p }", TOKEN, ["not {"]),
        ("match { $p: Film $p.x «IS» NOT NULL } return { $p }", FOREIGN, ["$p.x = $p.x"]),
        ("match { $p: Film $p.x «LIKE» \"a\" } return { $p }", FOREIGN, ["contains"]),
        ("match { $p: Film $p «IN» [1] } return { $p }", FOREIGN, ["contains"]),
        ("match { $p: Film $p.x «CONTAINS» \"a\" } return { $p }", TOKEN, ['did you mean "contains"?']),
        ("match { $p: Film $p.x «STARTS» WITH \"a\" } return { $p }", TOKEN, ['did you mean "starts_with"?']),
        ("match { $p: Film } return { «COUNT»($p) as n }", TOKEN, ["small letters", "write count"]),
        ("match { $p: Film } return { «Count»($p), $p.x }", TOKEN, ["small letters", "write count"]),
        ("match { $p: Film } return { $p.x «AS» n, $p.y }", TOKEN, ["small letters", "write as"]),
        ("match { $p: Film } return { «DISTINCT» $p.x }", FOREIGN, ["no distinct"]),
        ("match { $p: Film } return «DISTINCT» { $p.x }", FOREIGN, ["no distinct"]),
        ("match { $p: Film } return { count(«DISTINCT» $p.x) as n }", FOREIGN, ["no distinct"]),
        ("match { $p: Film } return { $p } «SKIP» 3", FOREIGN, ["Only the first rows"]),
        ("match { $p: Film } return { $p } «LIMIT» 3", TOKEN, ["small letters", "write limit"]),
        ("match { $p: Film } return { $p } «ORDER» BY $p.x DESC", TOKEN, ["small letters", "write order"]),
        ("match { $p: Film } return { $p } «Order» { $p.x }", TOKEN, ["small letters", "write order"]),
        ("match { $p: Film } return { $p } order { $p.x «DESC» }", TOKEN, ["Write desc"]),
        ("match { $p: Film } return { $p } order «BY» { $p.x }", FOREIGN, ["order {"]),
        ("match { $p: Film } «WHERE» $p.x = 1 return { $p }", FOREIGN, ["clause of the match block"]),
        ("«MATCH» { $p: Film } RETURN { $p }", TOKEN, ["small letters", "write match"]),
        ("match { $p: Film } «RETURN» { $p }", TOKEN, ["small letters", "write return"]),
        ("«SELECT» name FROM film WHERE x = 1", FOREIGN, ["match { .. } return { .. }", "-delete"]),
        ("«SELECT *» FROM film", CHARACTER, ['no "SELECT *"', "match { $p: Type } return { $p.name }"]),
        ("«INSERT» Film { x: 1 }", TOKEN, ["small letters", "write insert"]),
        ("«DELETE» Film WHERE x = 1", TOKEN, ["small letters", "write delete"]),
        ("delete Film «WHERE» x = 1", TOKEN, ["small letters", "write where"]),
        ("delete Film where x = 1 «AND» y = 2", FOREIGN, ["exactly one comparison"]),
        ("update Film «SET» { x: 1 } where y = 2", TOKEN, ["small letters", "write set"]),
        ("update Film set { x: 1 } «WHERE» y = 2", TOKEN, ["small letters", "write where"]),
    ],
)  # fmt: skip
def test_a_keyword_in_capitals_is_known_and_told_in_small_letters(body: str, code: Code, fragments: list[str]):
    refused(f"query q() {{ {body} }}", code, *fragments)


def test_the_word_query_in_capitals_is_known():
    refused("«QUERY» q() { match { $p: Film } return { $p } }", TOKEN, "small letters", "write query")


@pytest.mark.parametrize(
    ("body", "fragments"),
    [
        ("update Film set { x: «null» } where y = 1", ["nullable type", "keeps its old value", "-leave the property"]),
        ("update Film set { a: 1, x: «NULL» } where y = 1", ["nullable type", "-Leave the property out"]),
        ("insert Film { a: [1, 2], x: «null» }", ["Leave the property out", "nullable type"]),
        ("match { $p: Film $p.x «is» null } return { $p }", ["not { $p.x = $p.x }"]),
        ("match { $p: Film $p.x «is» not null } return { $p }", ["$p.x = $p.x", "-not {"]),
        ("match { $p: Film $p.x = «null» } return { $p }", ["not { $p.x = $p.x }"]),
        ("match { $p: Film $p.x != «null» } return { $p }", ["$p.x = $p.x", "-not {"]),
        ("match { $p: Film $p.x = «NULL» } return { $p }", ["not { $p.x = $p.x }"]),
        ("match { $p: Film { x: «null» } } return { $p }", ["not { $p.x = $p.x }"]),
        ("insert Film { a: [1, «null»] }", ["item of a list"]),
        ("delete Film where x «is» null", ["Null never matches", "-parameter"]),
        ("delete Film where x = «null»", ["Null never matches", "-parameter"]),
    ],
)  # fmt: skip
def test_help_with_null_fits_the_place(body: str, fragments: list[str]):
    refused(f"query q() {{ {body} }}", FOREIGN, *fragments)


@pytest.mark.parametrize(
    ("body", "fragments"),
    [
        ("match { $p: Film } return { count(«*») as n }", ["count($p)", "-arithmetic"]),
        ("match { $p: Film } return { «*» }", ["$p.name", "-arithmetic"]),
        ("match { $p: Film } return { $p.«*» }", ["$p.name", "-arithmetic"]),
        ("match { $p: Film } return { $p.x, $p.«*» }", ["$p.name", "-arithmetic"]),
        ("match { $p: Film $p hasVisit«*1..3» $v } return { $p }", ["{1,3}", "-arithmetic"]),
        ("match { $p: Film $p hasVisit«*..3» $v } return { $p }", ["{1,3}", "-arithmetic"]),
        ("match { $p: Film $p hasVisit«*2» $v } return { $p }", ["{2,2}", "-arithmetic"]),
        ("match { $p: Film $p hasVisit«*7..» $v } return { $p }", ["{7,7}"]),
        ("match { $p: Film $p hasVisit«*» $v } return { $p }", ["{1,3}", "-arithmetic"]),
        ("match { $p: Film $p.x «*» 2 > 3 } return { $p }", ["arithmetic"]),
        ("match { $p: Film $p.x«*»2 > 3 } return { $p }", ["arithmetic"]),
        ("match { $p: Film $p.x = 1 «&&» $p.y = 2 } return { $p }", ["all hold"]),
        ("match { $p: Film $p.x = 1 «||» $p.y = 2 } return { $p }", ["one query for each side"]),
        ("match { $p: Film «!»$p.x = 1 } return { $p }", ["not { .. }", "!="]),
        ("match { $p: Film $p.x =«~» \"a.*\" } return { $p }", ["regular expressions", "starts_with"]),
    ],
)  # fmt: skip
def test_a_mark_that_is_none_is_told_once_with_what_it_was_meant_for(body: str, fragments: list[str]):
    refused(f"query q() {{ {body} }}", CHARACTER, *fragments)


@pytest.mark.parametrize(
    ("text", "code", "fragments"),
    [
        ("query q() { «create» Film { x: 1 } }", FOREIGN, ["insert Film { property: value }", "-delete"]),
        ("query q() { «merge» Film { x: 1 } }", FOREIGN, ["insert Film { property: value }"]),
        ("query q() { «CREATE» (p:Film) }", FOREIGN, ["insert Type { property: value }"]),
        ("query q() { «remove» Film where x = 1 }", FOREIGN, ["delete Film where property = value"]),
        ("query q() { delete Film where x = 1 «create» Film { x: 1 } }", FOREIGN, ["insert Film { property: value }"]),
        ("query q() { match { $p: Film } «create» Film { x: 1 } }", MIXED, ["reads or changes"]),
        ("«--» all films\nquery q() { match { $p: Film } return { $p } }", FOREIGN, ["//"]),
        ("query q() { «--» all, films\nmatch { $p: Film } return { $p } }", FOREIGN, ["//"]),
        ("query q() { match { $p: Film «--» all $p, films\n$p.x = 1 } return { $p } }", FOREIGN, ["//"]),
        ("query q() { match { $p: Film\n«--» only one\n$p.x = 1 } return { $p } }", FOREIGN, ["//"]),
        ("query q() { match { $p: Film } «--» then\nreturn { $p } }", FOREIGN, ["//"]),
        ("query q() { match { $p: Film } return { $p.x «--» its x, y\n$p.y } }", FOREIGN, ["//"]),
        ("query q() { insert Film { x: 1 } «--» done\n}", FOREIGN, ["//"]),
        ("query q() { match { $p: Film } return { $p.x } } «--» done }", FOREIGN, ["//"]),
        ("query q() { match { $p: Film «--» all } return { $p } }", FOREIGN, ["//"]),
        ("«MATCH» (p:Film) RETURN p", TOKEN, ["query name()"]),
        ("query «my-query»() { match { $p: Film } return { $p } }", TOKEN, ["my_query"]),
        ("query «my-own-query»() { match { $p: Film } return { $p } }", TOKEN, ["my_own_query"]),
        ("query q(«$my-id»: String) { match { $p: Film } return { $p } }", TOKEN, ["$my_id"]),
        ("query q() { match «(»p:Film)-[:X]->(v) return p.name }", FOREIGN, ["match {", "$p: Type"]),
        ("query q() { match «$p»: Film return { $p } }", FOREIGN, ["match {"]),
        ("query q() { «return» { $p } }", TOKEN, ['"match" is missing']),
        ("query q() { «return» { $p } limit 3 }", TOKEN, ['"match" is missing']),
        ("query q() { match { $p: Film $p hasVisit «->» $v } return { $p } }", FOREIGN, ["arrows"]),
        ("query q() { match { $p: Film $p <«-»[:hasVisit]- $v } return { $p } }", FOREIGN, ["arrows"]),
        ("query q() { match { $d: Film } «delete» $d }", MIXED, ["reads or changes", "delete Type where"]),
        ("query q() { update Film set «price» = 3 where x = 1 }", TOKEN,
         ["update Film set { price: value } where property = value"]),
        ("query q() { insert Film «(»a) values (1) }", TOKEN, ["insert Film { a: value }"]),
        ("query q() { insert Film «values» (1) }", TOKEN, ["insert Film { property: value }"]),
    ],
)  # fmt: skip
def test_a_habit_is_answered_with_the_right_form(text: str, code: Code, fragments: list[str]):
    refused(text, code, *fragments)


def test_what_stands_behind_a_comment_of_another_language_is_still_read():
    text = "-- one\nquery a() { match { $p: } return { $p } }\nquery b() { match { $p: Film -- two\n$q } return { 1 } }"
    with pytest.raises(ParseError) as caught:
        parse_queries(SourceText.of(text))
    assert [text[each.span.start : each.span.end] for each in caught.value.diagnostics] == ["--", "}", "--", "}"]


# ── what parses, and means nothing ──

Refuse = Callable[..., tuple[Diagnostic, ...]]


def test_a_bare_word_that_names_a_variable_lacks_its_dollar(refuse: Refuse):
    (only,) = refuse("match { $p: Person } return { «p» }", Code.BAD_PROJECTION)
    holds(only, 'did you mean "$p"?')
    (only,) = refuse("match { $p: Person } return { count(«p») as n }", Code.T8)
    holds(only, 'did you mean "$p"?')
    (only,) = refuse("match { $p: Person $p.handle = «q» } return { $p }", Code.T7, parameters="$q: String")
    holds(only, 'did you mean "$q"?')


def test_an_insert_with_a_misspelt_required_property_is_told_once(refuse: Refuse):
    (only,) = refuse('insert Person { «handel»: "x" }', Code.T11)
    holds(only, 'did you mean "handle"?')


def test_what_a_misspelt_property_does_not_explain_is_still_missing(refuse: Refuse):
    missing, _ = refuse("insert «Seat» { «rwo»: 1 }", Code.T12, Code.T11)
    holds(missing, "needs a value for place", "-row")


def test_a_guess_that_is_given_anyway_explains_nothing(refuse: Refuse):
    missing, _ = refuse("insert «Seat» { row: 1, «rwo»: 1 }", Code.T12, Code.T11)
    holds(missing, "needs a value for place")


@pytest.mark.parametrize("ends", ["«src»: $a, dst: $b", "«source»: $a, target: $b", "«src»: $a, to: $b"])
def test_the_ends_of_an_edge_by_other_names_are_told_once(refuse: Refuse, ends: str):
    (only,) = refuse(f"insert Follows {{ {ends} }}", Code.T11, parameters="$a: String, $b: String")
    holds(only, "from", "to", "write from")


def test_one_end_of_an_edge_by_another_name_leaves_the_other_missing(refuse: Refuse):
    missing, _ = refuse('insert «Follows» { «src»: "a" }', Code.T12, Code.T11)
    holds(missing, "needs a value for to")


@pytest.mark.parametrize("function", ["min", "max"])
def test_the_first_and_the_last_date_are_found_by_an_ordering(refuse: Refuse, function: str):
    (only,) = refuse(f"match {{ $f: Film }} return {{ {function}(«$f.released») as d }}", Code.T8)
    direction = "desc" if function == "max" else "asc"
    holds(only, f"order {{ $f.released {direction} }} limit 1")
