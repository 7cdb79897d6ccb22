"""Values that are assigned: sections 8.2, 12.8 and 12.9 of the language, codes T3 and T7."""

from __future__ import annotations

import pytest

from omnigraph.lang import Code, Scalar, ValueType
from omnigraph.query.checked import Constant, CurrentTime, ParameterRef

SET = 'update Film set { %s } where code = "a"'


@pytest.fixture
def stored(accept):
    """What is assigned to one property of a film."""

    def check(assignment: str, parameters: str = ""):
        (update,) = accept(SET % assignment, parameters).statements
        (only,) = update.assignments
        return only.value

    return check


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ('title: "x"', "x"),
        ('genre: "sci-fi"', "sci-fi"),
        ("seen: true", True),
        ("votes: 2147483647", 2147483647),
        ("views: 9223372036854775807", 9223372036854775807),
        ("seats: 4294967295", 4294967295),
        ("seats: 0", 0),
        ("gross: 9223372036854775807", 9223372036854775807),
        ("gross: 18446744073709551615", 18446744073709551615),
        ("stars: 4", 4.0),
        ("rating: 4", 4.0),
        ("stars: 4.5", 4.5),
        ('released: date("1970-01-02")', 1),
        ('added: datetime("1970-01-01T00:00:01Z")', 1000),
        ('tags: ["a", "b"]', ("a", "b")),
        ("tags: []", ()),
        ("marks: [1, 2]", (1, 2)),
        ('days: [date("1970-01-02")]', (1,)),
        ("plotVec: [1, 2.5, 3, 4]", (1.0, 2.5, 3.0, 4.0)),
        ('poster: "base64:AAAA"', "base64:AAAA"),
    ],
)
def test_a_literal_is_stored_as_its_property_holds_it(stored, assignment, value):
    found = stored(assignment)
    assert isinstance(found, Constant)
    assert found.value == value
    assert type(found.value) is type(value)


@pytest.mark.parametrize(
    ("assignment", "advice"),
    [
        ('released: «"2020-01-01"»', 'Write date("2020-01-01").'),
        ('added: «"2020-01-01"»', 'Write datetime("2020-01-01").'),
        ('added: «date("2020-01-01")»', "Write datetime(..) with the same text: midnight UTC is meant."),
        ('released: «datetime("2020-01-01")»', "Write date(..) with the same text: the day in UTC is meant."),
        ('votes: «"3"»', "Write it without quotes."),
        ('seen: «"true"»', "Write it without quotes."),
        ("title: «3»", "Write it in quotes."),
        ("seen: «3»", None),
        ('tags: «"a"»', None),
        ('plotVec: «"a"»', None),
    ],
)
def test_a_literal_of_another_type_says_what_to_write_where_that_is_known(refuse, assignment, advice):
    (found,) = refuse(SET % assignment, Code.T3)
    assert found.help == advice


@pytest.mark.parametrize("assignment", ['released: «date("x")»', 'days: [date("2020-01-01"), «date("x")»]'])
def test_a_text_that_is_no_date_cannot_be_stored(refuse, assignment):
    refuse(SET % assignment, Code.BAD_DATE)


def test_an_integer_for_a_float_property_becomes_a_float(stored):
    assert stored("stars: 4") == Constant(4.0, ValueType(Scalar.F32))


@pytest.mark.parametrize(
    "assignment",
    ["title: «3»", 'votes: «"3"»', "seen: «1»", 'released: «"2020-01-01"»', 'added: «date("2020-01-01")»',
     'tags: «"a"»', 'title: «["a"]»', "plotVec: «3»", 'plotVec: «"text"»', "poster: «3»", "stars: «true»"],
)  # fmt: skip
def test_t3_a_literal_of_another_type_is_refused(refuse, assignment):
    refuse(SET % assignment, Code.T3)


@pytest.mark.parametrize("property_name", ["votes", "views", "seats", "gross"])
def test_t3_a_float_for_an_integer_property_is_refused(refuse, property_name):
    (found,) = refuse(SET % f"{property_name}: «3.0»", Code.T3)
    assert "got 3.0" in found.message


@pytest.mark.parametrize(("assignment", "kind"), [("votes: «2147483648»", "I32"), ("seats: «4294967296»", "U32")])
def test_t3_an_integer_beyond_its_property_is_refused(refuse, assignment, kind):
    (found,) = refuse(SET % assignment, Code.T3)
    assert f"exceeds {kind} range" in found.message


def test_t3_a_number_beyond_f32_is_refused(refuse):
    (found,) = refuse(SET % f"stars: «{'9' * 39}.0»", Code.T3)
    assert "exceeds F32 range" in found.message


def test_the_largest_f32_can_be_stored(stored):
    largest = (2 - 2**-23) * 2**127
    assert stored(f"stars: {largest:.1f}").value == largest


def test_t3_a_literal_that_is_no_enum_member_is_refused(refuse):
    (found,) = refuse(SET % 'genre: «"sci-fy"»', Code.T3)
    assert found.label == 'did you mean "sci-fi"?'


@pytest.mark.parametrize("vector", ["«[1, 2, 3]»", "«[]»", "«[1, 2, 3, 4, 5]»"])
def test_t3_a_vector_of_another_length_is_refused(refuse, vector):
    (found,) = refuse(SET % f"plotVec: {vector}", Code.T3)
    assert "expects 4 dimensions, got" in found.message


def test_t3_an_element_of_a_vector_that_is_no_number_is_refused(refuse):
    (found,) = refuse(SET % 'plotVec: [1, 2, «"3"», 4]', Code.T3)
    assert "elements must be numeric" in found.message


@pytest.mark.parametrize(
    "assignment", ["tags: [«1», «2»]", 'marks: [1, «"2"»]', "marks: [«2147483648»]", 'days: [«"2020-01-01"»]']
)
def test_t3_every_item_of_a_list_must_fit(refuse, assignment):
    refuse(SET % assignment, *[Code.T3] * assignment.count("«"))


def test_a_list_of_lists_cannot_be_stored(refuse):
    refuse(SET % 'tags: [«["a"]»]', Code.BAD_LIST_LITERAL)


@pytest.mark.parametrize(
    ("assignment", "declared"),
    [("title: $v", "String?"), ("genre: $v", "String"), ("votes: $v", "I64"), ("stars: $v", "I32"),
     ("votes: $v", "F64"), ("tags: $v", "[String]"), ("marks: $v", "[I64]"), ("plotVec: $v", "Vector(4)"),
     ("poster: $v", "String"), ("poster: $v", "Blob"), ("released: $v", "Date"), ("added: $v", "DateTime"),
     ("seen: $v", "Bool?")],
)  # fmt: skip
def test_a_parameter_of_a_compatible_type_can_be_stored(stored, assignment, declared):
    assert isinstance(stored(assignment, f"$v: {declared}"), ParameterRef)


@pytest.mark.parametrize(
    ("name", "declared"),
    [("title", "I32"), ("title", "Blob"), ("released", "String"), ("released", "DateTime"), ("tags", "String"),
     ("title", "[String]"), ("plotVec", "Vector(3)"), ("plotVec", "[F32]"), ("poster", "[String]"), ("poster", "I32"),
     ("seen", "I32")],
)  # fmt: skip
def test_t7_a_parameter_of_another_type_is_refused(refuse, name, declared):
    refuse(SET % f"{name}: «$v»", Code.T7, parameters=f"$v: {declared}")


def test_now_can_be_stored_as_a_point_in_time(stored):
    assert stored("added: now()") == CurrentTime()


def test_t7_now_is_nothing_else(refuse):
    refuse(SET % "released: «now()»", Code.T7)
