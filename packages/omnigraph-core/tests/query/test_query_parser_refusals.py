"""What the query grammar refuses: the code, the very words that are wrong, and what the message tells about them.

The wrong words stand between « and ». Every text here has exactly one mistake, and exactly one diagnostic.
"""

from __future__ import annotations

import re

import pytest

from omnigraph.errors import ParseError
from omnigraph.lang import Code, Diagnostic, SourceText
from omnigraph.query.parser import parse_queries

TOKEN, FOREIGN, EMPTY, COLON = Code.UNEXPECTED_TOKEN, Code.UNSUPPORTED_SYNTAX, Code.EMPTY_BLOCK, Code.MISSING_COLON
SCALAR, ANNOTATION, MIXED = Code.UNKNOWN_SCALAR, Code.BAD_QUERY_ANNOTATION, Code.MIXED_BODY


def refused(marked: str, code: Code, *fragments: str) -> Diagnostic:
    """Hold that the text is refused once, with this code, at the marked words."""
    text = re.sub("[«»]", "", marked)
    start, end = marked.index("«"), marked.index("»") - 1
    with pytest.raises(ParseError) as caught:
        parse_queries(SourceText.of(text))
    found = [(each.code, text[each.span.start : each.span.end], each.span.start) for each in caught.value.diagnostics]
    assert found == [(code, text[start:end], start)]
    (only,) = caught.value.diagnostics
    told = f"{only.message}\n{only.label}\n{only.help}"
    for fragment in fragments:
        assert fragment in told
    return only


def in_match(clause: str) -> str:
    return f"query q() {{ match {{ $z: Film\n{clause}\n$y: Film }} return {{ $z }} }}"


# ── clauses ──


@pytest.mark.parametrize(
    ("clause", "code", "fragments"),
    [
        # a colon
        ("$c «Company»", COLON, ["$c: Company"]),
        ('$c «Company» { name: "x" }', COLON, ["$c: Company"]),
        ("$c «Company» $p: Person", COLON, ["$c: Company"]),
        ("$c: Company { name «\"x\"» }", COLON, ['name: "x"']),
        ("$c: Company { name «=» 1 }", COLON, ['":"', "name: value"]),
        ("$a $e «follows» $b", COLON, ["$a $e:follows $b"]),
        # binding
        ("$c: «company»", TOKEN, ["start with a capital", "Company"]),
        ("$c: «»", TOKEN, ["a node type"]),
        ("$c: «12»", TOKEN, ["a node type"]),
        ("$c: Company «{ }»", EMPTY, ["inline match of Company"]),
        ("$c: Company { a: 1 «b»: 2 }", TOKEN, ["comma is missing"]),
        ("$c: Company { «,» a: 1 }", TOKEN, ["property: value"]),
        ("$c: Company { a: 1, «,» }", TOKEN, ["property: value"]),
        ("$c: Company { «A»: 1 }", TOKEN, ["property: value"]),
        ("$c: Company { a: «word» }", TOKEN, ['"word"', "$word"]),
        ("$c: Company { a: «$b.c» }", TOKEN, ["clause of its own"]),
        ("$c: Company { a: «count»($f) }", TOKEN, ["a value"]),
        ("$c: Company { a: «null» }", FOREIGN, ["null"]),
        ("$c: Company { a «>» 3 }", FOREIGN, ["equality", "$variable.a > value"]),
        ("$c: Company { a «contains» 3 }", FOREIGN, ["equality"]),
        ("$c: Company { a: 1 «and» b: 2 }", FOREIGN, ["and"]),
        # traversal
        ("$p «Rented» $f", TOKEN, ["write it rented"]),
        ("$p «BorrowedBy» $f", TOKEN, ["write it borrowedBy"]),
        ("$p «Rented»{1,2} $f", TOKEN, ["write it rented"]),
        ("$p <«Rented»> $f", TOKEN, ["write it rented"]),
        ("$p $e:«Rented» $f", TOKEN, ["write it rented"]),
        ("$p «not» $f", TOKEN, ["not {"]),
        ("$p «not_x» $f", TOKEN, ["not_x"]),
        ("$p <«not_x»> $f", TOKEN, ["not_x"]),
        ("$p $e:«not_» $f", TOKEN, ["not_"]),
        ("«$a $b»", TOKEN, ["$a edge $b"]),
        ("$p rented «Film»", TOKEN, ["a variable behind $p rented"]),
        ("$p rented{«1»} $f", TOKEN, ["{1,3}"]),
        ("$p rented{«}» $f", TOKEN, ["{1,3}"]),
        ("$p rented{«1»..3} $f", TOKEN, ["{1,3}"]),
        ("$p rented{1,«-»3} $f", TOKEN, ["{1,3}"]),
        ("$p rented{«,»3} $f", TOKEN, ["{1,3}"]),
        ("$p rented «$f.title»", TOKEN, ["ends at a variable"]),
        ("$q contains «$m.name»", TOKEN, ['edge called "contains"']),
        ("$q starts_with «$m.name»", TOKEN, ['edge called "starts_with"']),
        ("$a «->» $b", FOREIGN, ["arrows", "$a follows $b"]),
        ("$a «-»[follows]-> $b", FOREIGN, ["arrows"]),
        ("«(»p:Person)", FOREIGN, ["$p: Person"]),
        # filter
        ("$f.x «==» 3", FOREIGN, ["write ="]),
        ("$f.x «<>» 3", FOREIGN, ["write !="]),
        ("$f.x «=<» 3", FOREIGN, ["write <="]),
        ("$f.x «=>» 3", FOREIGN, ["write >="]),
        ("$f.x >= «=» 3", TOKEN, ["a value"]),
        ("$f.x «:» 3", TOKEN, ["Write ="]),
        ("$f.x = «null»", FOREIGN, ["no null"]),
        ("$f.x «is» null", FOREIGN, ["Null never matches"]),
        ("$f.x «is» not null", FOREIGN, ["Null never matches"]),
        ('$f.x «in» ["a"]', FOREIGN, ["contains"]),
        ('$f.x «like» "a"', FOREIGN, ["contains"]),
        ("$f.x «like» $a", FOREIGN, ["contains"]),
        ("$f.x «between» 1", FOREIGN, [">=", "<="]),
        ('$f.x «contain» "a"', TOKEN, ["contains"]),
        ('$f «startswith» "a"', TOKEN, ["starts_with"]),
        ("$f.x = «-3»", FOREIGN, ["negative", "parameter"]),
        ("$f.x = «-3.5»", FOREIGN, ["negative", "parameter"]),
        ("$f.x = [1, «-3»]", FOREIGN, ["negative"]),
        ("$f.x = «1e5»", FOREIGN, ["exponents"]),
        ("$f.x = «1E5»", FOREIGN, ["exponents"]),
        ("$f.x = «1.5e-3»", FOREIGN, ["exponents"]),
        ("$f.x = «1_000»", FOREIGN, ["digits"]),
        ("$f.x = «5.»", FOREIGN, ["5.0"]),
        ("$f.x = «.5»", TOKEN, ["0.5"]),
        ("$f.x = «True»", TOKEN, ["Write true"]),
        ("$f.x = «NULL»", FOREIGN, ["no null"]),
        ("$f.x «-» 1 = 2", FOREIGN, ["arithmetic"]),
        ("$f.x «+» 1 = 2", Code.UNEXPECTED_CHARACTER, ["arithmetic"]),
        ("$f.x = «(»1)", FOREIGN, ["parentheses"]),
        ("$f.«X» = 1", TOKEN, ["lower-case", "x"]),
        ("$f.«1» = 1", TOKEN, ["a property"]),
        ("$f.x = «'a'»", Code.UNEXPECTED_CHARACTER, ["double quotes"]),
        ("«and» $f.x = 1", FOREIGN, ["all hold"]),
        ("«or» $f.x = 1", FOREIGN, ["one query for each side"]),
        ("«where» $f.x = 1", FOREIGN, ["clause of its own"]),
        ("«optional» match { $f: Film }", FOREIGN, ["optional part"]),
        ("«optional» { $f: Film }", FOREIGN, ["optional part"]),
        ("«exists» { $a follows $b }", FOREIGN, ["without exists"]),
        ("«not» $f.x = 1", TOKEN, ["not {"]),
        ("not «{ }»", EMPTY, ["not block"]),
        ("$f: Film«,»", TOKEN, ["comma"]),
        # calls
        ("«lower»($f.x) = 1", TOKEN, ['no function "lower"']),
        ("«sarch»($f.x, 1)", TOKEN, ['did you mean "search"?']),
        ("search($f.x«)»", TOKEN, ["one more argument"]),
        ('search($f.x, "a"«,» 1)', TOKEN, ['")"']),
        ('fuzzy($f.x, "a", 1«,» 1)', TOKEN, ["max_edits"]),
        ('«bm25($f.x, "a")»', TOKEN, ["not a condition"]),
        ('nearest(«"a"», $f.x) = 1', TOKEN, ["nearest($variable.property, query)"]),
        ('nearest($f«,» "a") = 1', TOKEN, ["nearest($variable.property, query)"]),
        ('rrf(«search»($f.x, "a"), bm25($f.x, "a")) = 1', TOKEN, ["nearest(..) or bm25(..)"]),
        ('rrf(bm25($f.x, "a")«)» = 1', TOKEN, ["one more argument"]),
        ("count(«)» = 1", TOKEN, ["a value"]),
        ("count($f«,» $g) = 1", TOKEN, ['")"']),
        ("count(«distinct» $f) = 1", FOREIGN, ["distinct"]),
        ("date(«2024») = 1", TOKEN, ['date("2024-05-01")']),
        ("datetime(«$x») = 1", TOKEN, ["datetime("]),
        ("now(«1») = 1", TOKEN, ["now()"]),
        ("[1«,»] = 1", TOKEN, ["comma"]),
        ("[«$x»] = 1", TOKEN, ["a value"]),
        ("[1 «2»] = 1", TOKEN, ['","']),
        # values
        ('$f.x = "a«\\q»"', Code.UNSUPPORTED_ESCAPE, ["unsupported escape sequence"]),
        ("$f.x = «18446744073709551616»", Code.NUMBER_OUT_OF_RANGE, ["18446744073709551615"]),
        (f"$f.x = «{'9' * 400}.0»", Code.NUMBER_OUT_OF_RANGE, []),
    ],
)  # fmt: skip
def test_clause(clause: str, code: Code, fragments: list[str]):
    marked = in_match(clause)
    if "«»" in marked:
        # Nothing stands where something should; the next word is what is wrong.
        marked = marked.replace("«»", "").replace("$y", "«$y»")
    refused(marked, code, *fragments)


# ── headers ──


@pytest.mark.parametrize(
    ("header", "code", "fragments"),
    [
        ("query «Films»()", TOKEN, ["lower-case", "films"]),
        ("query «(»)", TOKEN, ["no name"]),
        ("query «films»", TOKEN, ["parentheses", "films()"]),
        ("query q(«a»: String)", TOKEN, ["$a: Type"]),
        ("query q($a «String»)", COLON, ["$a: String"]),
        ("query q($a «[»String])", COLON, []),
        ("query q($a«)»", TOKEN, ['":"']),
        ("query q($a «=» 1)", TOKEN, ["$a: Type"]),
        ("query q($a: «string»)", SCALAR, ["unknown parameter type", 'did you mean "String"?']),
        ("query q($a: «Strng»)", SCALAR, ["unknown parameter type", 'did you mean "String"?']),
        ("query q($a: «Int»)", SCALAR, ["unknown parameter type", 'did you mean "I64"?']),
        ("query q($a: «float»)", SCALAR, ["unknown parameter type", 'did you mean "F64"?']),
        ("query q($a: «Film»)", SCALAR, ["unknown parameter type", "I32, I64, String"]),
        ("query q($a: [«Film»])", SCALAR, ["unknown parameter type"]),
        ("query q($a: «enum»(x, y))", SCALAR, ["unknown parameter type", "write String"]),
        ("query q($a: [«Vector»(3)])", FOREIGN, ["lists of vectors"]),
        ("query q($a: [String«?»])", TOKEN, ["[String]?"]),
        ("query q($a: [«[»String]])", TOKEN, ["a parameter type"]),
        ("query q($a: Vector(«0»))", Code.BAD_VECTOR_DIMENSION, ["1 to 2147483647"]),
        ("query q($a: Vector(«2147483648»))", Code.BAD_VECTOR_DIMENSION, ["1 to 2147483647"]),
        ("query q($a: Vector«)»", TOKEN, ["Vector(3)"]),
        ("query q($a: Vector(«$n»))", TOKEN, ["an integer"]),
        ("query q($a: I32«,»)", TOKEN, ["comma"]),
        ("query q($a: I32 «$b»: I32)", TOKEN, ["comma is missing"]),
        ("query q($a: I32 «=» 3)", FOREIGN, ["default"]),
        ("query q($a: I32?«?»)", TOKEN, ['","']),
        ('query q() «@descripton»("x")', ANNOTATION, ['did you mean "description"?']),
        ('query q() «@Description»("x")', ANNOTATION, ["@description"]),
        ('query q() «@deprecated»("x")', ANNOTATION, ["@description", "@instruction"]),
        ('query q() @description("x") «@description»("y")', ANNOTATION, ["twice"]),
        ('query q() @instruction("x") @description("z") «@instruction»("y")', ANNOTATION, ["twice"]),
    ],
)
def test_header(header: str, code: Code, fragments: list[str]):
    refused(f"{header} {{ match {{ $z: Film }} return {{ $z }} }}", code, *fragments)


@pytest.mark.parametrize(
    ("text", "code", "fragments"),
    [
        ("«@»description(\"x\") query q() { delete A where x = 1 }", TOKEN, ["between the parameters and the body"]),
        ("query q() @«(»\"x\") { delete A where x = 1 }", TOKEN, ["description or instruction"]),
        ("query q() @description «{» delete A where x = 1 }", TOKEN, ["@description(\"..\")"]),
        ("query q() @description(«x») { delete A where x = 1 }", TOKEN, ["@description(\"..\")"]),
        ("query q() «delete» A where x = 1", TOKEN, ['"{"']),
        ("«mutation» q() { delete A where x = 1 }", FOREIGN, ["query"]),
        ("«querry» q() { delete A where x = 1 }", TOKEN, ['did you mean "query"?']),
        ("«match» { $z: Film } return { $z }", TOKEN, ["query name()"]),
        ("«node» Film { }", TOKEN, ["schema"]),
        ("query q() { delete A where x = 1 } «}»", TOKEN, ["one closing brace too many"]),
        ("query q() «{ }»", EMPTY, ["match, insert, update or delete"]),
        ("query q() { «foo» { } }", TOKEN, ["match, insert, update or delete"]),
        ("query q() { «mtch» { $z: Film } }", TOKEN, ['did you mean "match"?']),
    ],
)  # fmt: skip
def test_file(text: str, code: Code, fragments: list[str]):
    refused(text, code, *fragments)


# ── sections ──


@pytest.mark.parametrize(
    ("body", "code", "fragments"),
    [
        ("match «{ }» return { $z }", EMPTY, ["match block"]),
        ("match { $z: Film } return «{ }»", EMPTY, ["return block"]),
        ("match { $z: Film } return { $z } order «{ }»", EMPTY, ["order block"]),
        ("match { $z: Film } «retrun» { $z }", TOKEN, ['did you mean "return"?']),
        ("match { $z: Film } «limit» 3", TOKEN, ['"return" is missing']),
        ("return { $z } «match» { $z: Film }", TOKEN, ['"match" comes before "return"']),
        ("match { $z: Film } return { $z } limit 3 «order» { $z.x }", TOKEN, ['"order" comes before "limit"']),
        ("match { $z: Film } return { $z } «return» { $z }", TOKEN, ['one "return"']),
        ("match { $z: Film } «where» $z.x = 1", FOREIGN, ["match block"]),
        ("match { $z: Film } return «$z».x limit 3", FOREIGN, ["braces"]),
        ("match { $z: Film } return «distinct» { $z.x }", FOREIGN, ["distinct"]),
        ("match { $z: Film } return { «distinct» $z.x }", FOREIGN, ["distinct"]),
        ("match { $z: Film } return { $z as «Total» }", TOKEN, ["total"]),
        ("match { $z: Film } return { $z as «\"x\"» }", TOKEN, ["alias"]),
        ("match { $z: Film } return { $z,«,» }", TOKEN, ["a value"]),
        ("match { $z: Film } return { «Film» }", TOKEN, ["a value"]),
        ("match { $z: Film } return { $z } order «by» { $z.x }", FOREIGN, ["order {"]),
        ("match { $z: Film } return { $z } order «by» $z.x desc", FOREIGN, ["order {"]),
        ("match { $z: Film } return { $z } order «$z».x desc", FOREIGN, ["braces"]),
        ("match { $z: Film } return { $z } order { $z.x«,» }", TOKEN, ["comma"]),
        ("match { $z: Film } return { $z } order { $z.x «$z».y }", TOKEN, ["comma is missing"]),
        ("match { $z: Film } return { $z } order { $z.x «descending» }", TOKEN, ["Write desc"]),
        ("match { $z: Film } return { $z } order { $z.x «DESC» }", TOKEN, ["Write desc"]),
        ("match { $z: Film } return { $z } order { nearest($z.v, \"x\") «desc» }", Code.NEAREST_DIRECTION, ["desc"]),
        ("match { $z: Film } return { $z } order { nearest($z.v, $v) «asc», $z.x }", Code.NEAREST_DIRECTION, ["asc"]),
        ("match { $z: Film } return { $z } limit «$n»", FOREIGN, ["parameter"]),
        ("match { $z: Film } return { $z } limit «-»1", FOREIGN, ["negative"]),
        ("match { $z: Film } return { $z } limit «1.5»", TOKEN, ["whole number"]),
        ("match { $z: Film } return { $z } limit «1e3»", FOREIGN, ["exponents"]),
        ("match { $z: Film } return { $z } «offset» 3", FOREIGN, ["offset"]),
        ("match { $z: Film } return { $z } limit 2 «skip» 3", FOREIGN, ["skip"]),
        ("match { $z: Film } return { $z } «group» by $z.x", FOREIGN, ["groups by itself"]),
        ("match { $z: Film } return { $z } «lmit» 3", TOKEN, ['did you mean "limit"?']),
        ("match { $z: Film } return { $z } limit 3 «4»", TOKEN, ['"}"']),
        ("match { $z: Film } return { $z } «insert» A { x: 1 }", MIXED, ["reads or changes"]),
        ("match { $z: Film } «delete» A where x = 1", MIXED, ["reads or changes"]),
        ("insert A { x: 1 } «match» { $z: Film } return { $z }", MIXED, ["reads or changes"]),
        ("insert A { x: 1 } «return» { $z }", MIXED, ["reads or changes"]),
        ("match { $z: Film «return» { $z }", TOKEN, ["match block is not closed"]),
        ("match { $z: Film not { $z.x = 1 } «return» { $z }", TOKEN, ["match block is not closed"]),
    ],
)  # fmt: skip
def test_section(body: str, code: Code, fragments: list[str]):
    refused(f"query q() {{ {body} }}", code, *fragments)


# ── statements ──


@pytest.mark.parametrize(
    ("body", "code", "fragments"),
    [
        ("insert «film» { x: 1 }", TOKEN, ["Film"]),
        ("insert «into» Film { x: 1 }", FOREIGN, ["insert Type {"]),
        ("insert «$f» { x: 1 }", TOKEN, ["a type"]),
        ("insert Film «{ }»", EMPTY, ["insert of Film"]),
        ("insert Film «(»x: 1)", TOKEN, ['"{"']),
        ("insert Film { x «=» 1 }", COLON, ["x: value"]),
        ("insert Film { x «1» y: 2 }", COLON, ["x: 1"]),
        ("insert Film { x «now»() y: 2 }", COLON, []),
        ("insert Film { x: «null» }", FOREIGN, ["no null"]),
        ("insert Film { x: «-1» }", FOREIGN, ["negative"]),
        ("insert Film { x: «$f.x» }", TOKEN, ["a literal, a parameter or now()"]),
        ("insert Film { «X»: 1 }", TOKEN, ["property: value"]),
        ("insert Film { x: 1, «,» y: 2 }", TOKEN, ["property: value"]),
        ("insert Film { x: 1 «and» y: 2 }", FOREIGN, ["and"]) ,
        ("update «Film» { x: 1 } where y = 1", TOKEN, ['"set" is missing']),
        ("update Film set «{ }» where y = 1", EMPTY, ["update of Film"]),
        ("update Film set { x: 1 «}»", TOKEN, []),
        ("update Film set { x: 1 } «delete» Film where x = 1", TOKEN, ["where"]),
        ("delete Film «{» x: 1 }", TOKEN, ["where"]),
        ("delete «from» Film where x = 1", FOREIGN, ["delete Type where"]),
        ("delete Film where «$f».x = 1", TOKEN, ["Write x"]),
        ("delete Film where x«:» 1", TOKEN, ["x = value"]),
        ("delete Film where x «==» 1", FOREIGN, ["write ="]),
        ("delete Film where x «contains» 1", FOREIGN, [">="]),
        ("delete Film where x «starts_with» \"a\"", FOREIGN, [">="]),
        ("delete Film where x «is» null", FOREIGN, ["Null"]),
        ("delete Film where x = 1 «and» y = 2", FOREIGN, ["exactly one comparison"]),
        ("delete Film where x = 1 «or» y = 2 delete Film where x = 1", FOREIGN, ["exactly one comparison"]),
        ("delete Film where «(»x = 1)", TOKEN, ["a property"]),
        ("delete Film where x = 1 «inser» Film { x: 1 }", TOKEN, ['did you mean "insert"?']),
    ],
)  # fmt: skip
def test_statement(body: str, code: Code, fragments: list[str]):
    text = f"query q() {{ {body} }}"
    if "«}»" in body:
        text = text.replace("«}» }", "} «}»")
    refused(text, code, *fragments)


# ── lexical rules ──


@pytest.mark.parametrize(
    ("value", "code", "fragments"),
    [
        ('«"»text', Code.UNCLOSED_STRING, ["closing quote"]),
        ('«"»text\\"', Code.UNCLOSED_STRING, ["closing quote"]),
        ('«"»text\\\\\\"', Code.UNCLOSED_STRING, ["closing quote"]),
        ("1 «/*» comment", Code.UNCLOSED_COMMENT, ["not closed"]),
        ("1 «#» comment", Code.UNEXPECTED_CHARACTER, ["//"]),
        ("«$1»", Code.UNEXPECTED_CHARACTER, ["lower-case"]),
        ("«$Name»", Code.UNEXPECTED_CHARACTER, ["lower-case"]),
        ("«$» name", Code.UNEXPECTED_CHARACTER, ["lower-case"]),
        ("$na«ïve»", Code.UNEXPECTED_CHARACTER, ["A-Z"]),
        ("1«\0»", Code.UNEXPECTED_CHARACTER, ["NUL"]),
        ("1«;»", Code.UNEXPECTED_CHARACTER, ["semicolon"]),
        ("«\u0661»", Code.UNEXPECTED_CHARACTER, []),
        ('"half «\ud800»"', Code.NOT_UTF8, ["surrogate"]),
    ],
)
def test_1_2_what_starts_no_token(value: str, code: Code, fragments: list[str]):
    refused(f"query q() {{ delete A where x = {value} }}", code, *fragments)
