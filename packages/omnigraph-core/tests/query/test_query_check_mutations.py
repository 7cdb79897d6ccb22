"""Mutations: sections 12.2 to 12.9 of the language as far as they are settled before execution; codes T10 to T16."""

from __future__ import annotations

import pytest

from omnigraph.lang import Code, Report, Scalar, SourceText, Span, ValueType
from omnigraph.lang.source import Name
from omnigraph.query import ast
from omnigraph.query.ast import Operator
from omnigraph.query.check import check_query
from omnigraph.query.checked import (
    Assignment,
    CheckedMutation,
    Constant,
    DeleteEdges,
    DeleteNodes,
    InsertEdge,
    InsertNode,
    ParameterRef,
    Predicate,
    UpdateNodes,
)

STRING = ValueType(Scalar.STRING)


# ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_mutation_is_its_statements(accept):
    query = accept('insert Person { handle: $h }  update Person set { mail: "m" } where handle = $h', "$h: String")
    assert isinstance(query, CheckedMutation)
    handle = ParameterRef("h", STRING)
    nullable = ValueType(Scalar.STRING, is_nullable=True)
    assert query.statements == (
        InsertNode("Person", (Assignment("handle", STRING, handle),)),
        UpdateNodes(
            "Person",
            (Assignment("mail", nullable, Constant("m", STRING)),),
            Predicate("handle", STRING, Operator.EQ, handle),
        ),
    )


def test_several_deletes_can_stand_in_one_query(accept):
    query = accept('delete Person where handle = "a"  delete Rented where price > 3')
    assert [type(each) for each in query.statements] == [DeleteNodes, DeleteEdges]


@pytest.mark.parametrize(
    "statements",
    [
        'insert Person { handle: "a" }  «delete Person» where handle = "b"',
        'delete Person where handle = "b"  «insert Person» { handle: "a" }',
        'delete Person where handle = "b"  «update Person» set { mail: "a" } where handle = "a"',
    ],
)
def test_inserts_or_updates_and_deletes_in_one_query_are_refused(refuse, statements):
    (found,) = refuse(statements, Code.MIXED_MUTATION)
    assert "inserts/updates and deletes" in found.message
    assert "split into separate mutations" in found.message
    assert len(found.related) == 1


@pytest.mark.parametrize(
    "statement",
    [
        'insert «Persn» { handle: "a" }',
        'update «Persn» set { handle: "a" } where handle = "b"',
        "delete «Persn» where a = 1",
    ],
)
def test_t10_an_unknown_type_is_refused_with_a_guess(refuse, statement):
    (found,) = refuse(statement, Code.T10)
    assert found.label == 'did you mean "Person"?'


def test_t10_an_interface_cannot_be_changed(refuse):
    (found,) = refuse('insert «Titled» { title: "a" }', Code.T10)
    assert "interface" in found.message


@pytest.mark.parametrize("word", ["rented", "RENTED"])
def test_t10_an_edge_is_spelled_exactly_in_a_mutation(catalog, word):
    source = SourceText.of("x" * 50)
    name = Name(word, Span(7, 13))
    value = ast.StringLiteral("a", Span(0, 1))
    insert = ast.Insert(name, (ast.Assignment(Name("from", Span(0, 1)), value, Span(0, 1)),), Span(0, 30))
    query = ast.Query(Name("q", Span(0, 1)), (), None, None, ast.Mutation((insert,), Span(0, 30)), Span(0, 30))
    report = Report(source)
    assert check_query(query, catalog, report) is None
    assert [(each.code, each.span) for each in report.diagnostics] == [(Code.T10, Span(7, 13))]


@pytest.mark.parametrize("kind", ["insert", "update"])
def test_t10_a_statement_without_assignments_is_refused(catalog, kind):
    name = Name("Film", Span(7, 11))
    predicate = ast.Predicate(Name("code", Span(0, 1)), Operator.EQ, ast.StringLiteral("a", Span(0, 1)), Span(0, 1))
    statement = ast.Insert(name, (), Span(0, 30)) if kind == "insert" else ast.Update(name, (), predicate, Span(0, 30))
    query = ast.Query(Name("q", Span(0, 1)), (), None, None, ast.Mutation((statement,), Span(0, 30)), Span(0, 30))
    report = Report(SourceText.of("x" * 50))
    assert check_query(query, catalog, report) is None
    assert [(each.code, each.span) for each in report.diagnostics] == [(Code.T10, Span(7, 11))]


def test_a_name_that_a_node_and_an_edge_share_means_the_node(accept):
    (insert,) = accept('insert Review { text: "good" }').statements
    assert isinstance(insert, InsertNode)


# ── inserting nodes ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_nullable_properties_can_be_left_out_of_an_insert(accept):
    (insert,) = accept('insert Film { code: "a", title: "t", genre: "drama", added: now() }').statements
    assert [each.property for each in insert.assignments] == ["code", "title", "genre", "added"]


def test_t12_an_insert_without_required_properties_is_refused_and_they_are_named(refuse):
    (found,) = refuse('insert «Film» { code: "a", title: "t" }', Code.T12)
    assert found.message == "Film needs a value for added, genre"
    assert found.help == "Add added: DateTime; genre: enum(docu, drama, sci-fi)"


def test_a_required_embedded_vector_can_be_left_out_when_its_source_is_assigned(accept):
    (insert,) = accept('insert Studio { name: "a", motto: "m" }').statements
    assert insert.embedded == ("face",)


def test_a_required_embedded_vector_that_is_assigned_is_not_embedded(accept):
    (insert,) = accept('insert Studio { name: "a", motto: "m", face: [1, 2] }').statements
    assert insert.embedded == ()


def test_t12_a_required_embedded_vector_cannot_be_left_out_without_its_source(refuse):
    (found,) = refuse('insert «Studio» { name: "a" }', Code.T12)
    assert found.message == "Studio needs a value for face"


def test_t11_an_unknown_property_in_an_insert_is_refused(refuse):
    (found,) = refuse('insert Person { handle: "a", «mial»: "m" }', Code.T11)
    assert found.message == 'Person has no property "mial"'
    assert found.label == 'did you mean "mail"?'


def test_t11_a_mutation_gives_no_id(refuse):
    (found,) = refuse('insert Person { handle: "a", «id»: "m" }', Code.T11)
    assert found.help == "The id of Person is made of its key: handle."
    (found,) = refuse('insert Review { text: "a", «id»: "m" }', Code.T11)
    assert found.help == "Ids are made by the system."


def test_t13_a_property_that_is_assigned_twice_is_refused(refuse):
    (found,) = refuse('insert Person { handle: "a", mail: "m", «handle»: "b" }', Code.T13)
    (first,) = found.related
    assert found.source.position(first.span.start).column == 29


def test_t13_what_is_wrong_with_the_name_is_told_of_the_first_one_only(refuse):
    refuse('update Person set { «nme»: "a", «nme»: "b" } where handle = "c"', Code.T11, Code.T13)
    refuse('update Person set { «handle»: "a", «handle»: "b" } where mail = "c"', Code.KEY_ASSIGNED, Code.T13)


def test_t14_a_variable_that_is_no_parameter_is_refused(refuse):
    (found,) = refuse("insert Person { handle: «$hndle» }", Code.T14, parameters="$handle: String")
    assert found.message == "$hndle is no declared parameter"
    assert found.label == 'did you mean "$handle"?'


def test_t14_a_variable_in_a_predicate_that_is_no_parameter_is_refused(refuse):
    refuse("delete Person where handle = «$h»", Code.T14)


# ── inserting edges ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_edge_is_inserted_between_two_ids(accept):
    (insert,) = accept('insert Rented { from: $who, to: "SF-1", on: date("1970-01-03") }', "$who: String").statements
    assert insert == InsertEdge(
        "Rented",
        ParameterRef("who", STRING),
        Constant("SF-1", STRING),
        (Assignment("on", ValueType(Scalar.DATE, is_nullable=True), Constant(2, ValueType(Scalar.DATE))),),
    )


@pytest.mark.parametrize(
    ("assignments", "missing"),
    [('from: "a"', "to"), ('to: "a"', "from"), ('on: date("2020-01-01")', "from, to")],
)
def test_t12_an_edge_without_an_end_is_refused(refuse, assignments, missing):
    (found,) = refuse(f"insert «Rented» {{ {assignments} }}", Code.T12)
    assert found.message == f"Rented needs a value for {missing}"
    assert ("to: the id of a Film" in found.help) == ("to" in missing)


def test_t12_an_edge_without_a_required_property_is_refused(refuse):
    refuse('insert «Made» { from: "a", to: "b" }', Code.T12)


@pytest.mark.parametrize(("end", "code"), [("3", Code.T3), ("$n", Code.T7), ("now()", Code.T7), ('["a"]', Code.T3)])
def test_the_ends_of_an_edge_are_strings(refuse, end, code):
    refuse(f'insert Rented {{ from: «{end}», to: "b" }}', code, parameters="$n: I32")


@pytest.mark.parametrize(("name", "instead"), [("src", "from"), ("dst", "to")])
def test_t11_the_ends_of_an_edge_are_called_from_and_to(refuse, name, instead):
    (found,) = refuse(f'insert Rented {{ from: "a", to: "b", «{name}»: "c" }}', Code.T11)
    assert f'"{instead}"' in found.help


def test_t11_an_unknown_property_of_an_edge_is_refused_and_the_ends_are_listed(refuse):
    (found,) = refuse('insert Rented { from: "a", to: "b", «prise»: 3.0 }', Code.T11)
    assert found.label == 'did you mean "price"?'
    assert found.help == "Rented has: from, to, note, on, price, slip"


def test_t13_an_end_that_is_given_twice_is_refused(refuse):
    refuse('insert Rented { from: "a", to: "b", «to»: "c" }', Code.T13)


def test_t14_is_told_although_the_type_is_unknown_or_an_edge_is_updated(refuse):
    refuse("delete «Flim» where a = «$x»", Code.T10, Code.T14)
    refuse("update «Rented» set { price: «$x» } where from = «$y»", Code.T16, Code.T14, Code.T14)


# ── updating ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_t16_an_edge_cannot_be_updated(refuse):
    refuse('update «Rented» set { price: 3.0 } where from = "a"', Code.T16)


def test_a_key_property_cannot_be_updated(refuse):
    (found,) = refuse('update Film set { «code»: "b" } where code = "a"', Code.KEY_ASSIGNED)
    assert "@key" in found.message


def test_no_column_of_a_composite_key_can_be_updated(refuse):
    refuse('update Seat set { «place»: "b", note: "n", «row»: 3 } where row = 1', Code.KEY_ASSIGNED, Code.KEY_ASSIGNED)


def test_a_required_property_need_not_be_assigned_by_an_update(accept):
    assert accept('update Film set { title: "x" } where code = "a"')


def test_both_the_assignments_and_the_predicate_of_an_update_are_judged(refuse):
    refuse("update Film set { «nme»: 3 } where «cod» = 1", Code.T11, Code.T11)


# ── predicates ───────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
def test_a_predicate_compares_a_property_with_a_value(accept, operator):
    (delete,) = accept(f"delete Film where votes {operator} 3").statements
    assert delete.predicate.operator is Operator(operator)


@pytest.mark.parametrize(("name", "column"), [("from", "src"), ("to", "dst")])
def test_a_predicate_of_an_edge_can_be_about_its_ends(accept, name, column):
    (delete,) = accept(f'delete Rented where {name} = "a"').statements
    assert delete == DeleteEdges("Rented", Predicate(column, STRING, Operator.EQ, Constant("a", STRING)))


@pytest.mark.parametrize("statement", ['delete Film where «from» = "a"', 'delete Film where «id» = "a"',
                                       'delete Rented where «src» = "a"', 'delete Rented where «dst» = "a"',
                                       'delete Rented where «id» = "a"', 'delete Film where «nme» = "a"'])  # fmt: skip
def test_t11_a_predicate_about_no_property_is_refused(refuse, statement):
    refuse(statement, Code.T11)


def test_t11_a_blob_in_a_predicate_is_refused(refuse):
    refuse('delete Film where «poster» = "a"', Code.T11)


@pytest.mark.parametrize("name", ["tags", "plotVec"])
def test_t7_a_list_in_a_predicate_is_refused(refuse, name):
    refuse(f'delete Film where «{name}» = "a"', Code.T7)


@pytest.mark.parametrize("predicate", ['released = «"2020-01-01"»', "code = «3»", 'votes = «"3"»', 'code = «["a"]»'])
def test_t3_a_literal_of_another_type_in_a_predicate_is_refused(refuse, predicate):
    refuse(f"delete Film where {predicate}", Code.T3)


def test_t3_an_enum_literal_in_a_predicate_must_be_a_member(refuse):
    refuse('delete Film where genre = «"horror"»', Code.T3)


def test_t7_a_parameter_of_another_type_in_a_predicate_is_refused(refuse):
    refuse("delete Film where released = «$d»", Code.T7, parameters="$d: String")


def test_numbers_of_any_type_can_be_compared_in_a_predicate(accept):
    (delete,) = accept("delete Film where votes > 2.5").statements
    assert delete.predicate.value.value == 2.5


def test_now_can_be_compared_in_a_predicate(accept, refuse):
    assert accept("delete Film where added < now()")
    refuse("delete Film where released < «now()»", Code.T7)


def test_a_date_that_is_none_is_refused_at_the_literal(refuse):
    refuse('delete Film where released < «date("2020-02-30")»', Code.BAD_DATE)
