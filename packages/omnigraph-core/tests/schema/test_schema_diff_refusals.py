"""Migration planning: each change that is refused, by its rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from omnigraph.errors import InvalidInputError
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema import compile_schema
from omnigraph.schema.diff import plan_migration
from omnigraph.schema.identity import assign_identities, resolve_identities
from omnigraph.schema.ir import SchemaIR
from omnigraph.schema.steps import MigrationPlan

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def init(text: str) -> SchemaIR:
    return assign_identities(compile_schema(text), DOMAIN)


def resolve(accepted: SchemaIR, text: str) -> SchemaIR:
    source = SourceText.of(text)
    report = Report(source)
    desired = resolve_identities(compile_schema(source), accepted, report)
    assert not report.has_errors
    return desired


def plan(before: str, after: str, **options: bool) -> MigrationPlan:
    accepted = init(before)
    return plan_migration(accepted, resolve(accepted, after), **options)


def refusals(before: str, after: str) -> list[tuple[str, str | None]]:
    """Entity and code of each refusal; there is nothing else in the plan."""
    made = plan(before, after)
    assert not made.supported
    assert len(made.unsupported) == len(made.steps)
    return [(each.entity, None if each.code is None else str(each.code)) for each in made.unsupported]


@pytest.mark.parametrize(
    ("before", "after", "entity"),
    [
        ("node A {}", "node A { p: String }", "node:A.p"),
        ("node A {}", 'node A { p: String @default("x") }', "node:A.p"),
        ("node A {} edge E: A -> A", "node A {} edge E: A -> A { p: I32 }", "edge:E.p"),
        ("interface I {}", "interface I { p: I32 }", "interface:I.p"),
    ],
)
def test_a_new_property_that_is_not_nullable_is_refused(before, after, entity):
    assert refusals(before, after) == [(entity, "OG-MF-103")]


def test_the_refusal_of_a_required_property_says_what_to_write():
    (refusal,) = plan("node A {}", "node A { p: [I32] }").unsupported
    assert '"p: [I32]?"' in refusal.reason
    assert refusal.message == f"[OG-MF-103] {refusal.reason}"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("I32", "I64", id="wider"),
        pytest.param("I64", "I32", id="narrower"),
        pytest.param("F32", "F64", id="wider float"),
        pytest.param("I32", "String", id="another scalar"),
        pytest.param("String", "String?", id="nullable"),
        pytest.param("String?", "String", id="required"),
        pytest.param("String", "[String]", id="to a list"),
        pytest.param("[String]", "String", id="from a list"),
        pytest.param("Vector(2)", "Vector(3)", id="vector size"),
        pytest.param("enum(a, b)", "enum(a)", id="enum narrowed"),
        pytest.param("enum(a, b)", "enum(a, c)", id="enum value renamed"),
        pytest.param("enum(a, b)", "String", id="enum to String"),
        pytest.param("String", "enum(a, b)", id="String to enum"),
        pytest.param("enum(a)", "enum(a, b)?", id="enum extended and nullable at once"),
        pytest.param("enum(a)?", "enum(a, b)", id="enum extended and required at once"),
        pytest.param("enum(a)", "enum(a)?", id="enum nullable"),
    ],
)
def test_a_change_of_type_is_refused(old, new):
    assert refusals(f"node A {{ p: {old} }}", f"node A {{ p: {new} }}") == [("node:A.p", "OG-MF-106")]
    (refusal,) = plan(f"node A {{ p: {old} }}", f"node A {{ p: {new} }}").unsupported
    assert f"from {old} to {new}" in refusal.reason


def test_a_change_of_type_is_told_by_the_new_names():
    made = plan("node A { p: I32 }", 'node B @rename_from("A") { q: I64 @rename_from("p") }')
    assert [each.entity for each in made.unsupported] == ["node:B.q"]
    assert [each.kind for each in made.steps] == ["rename_type", "rename_property", "unsupported_change"]


def test_removing_an_interface_is_refused():
    assert refusals("interface I { p: I32 }", "") == [("interface:I", None)]


def test_renaming_an_interface_is_a_removal_and_an_addition():
    made = plan("interface I { p: I32 }", "interface J { p: I32 }")
    assert [each.render().split(":")[0] for each in made.steps] == [
        "add interface type 'J'",
        "unsupported change on interface",
    ]


def test_renaming_an_interface_that_is_implemented_is_refused_in_all_its_parts():
    made = plan("interface I { p: I32 } node A implements I {}", "interface J { p: I32 } node A implements J {}")
    assert [(each.kind, each.to_dict().get("entity")) for each in made.steps] == [
        ("add_type", None),
        ("unsupported_change", "interface:I"),
        ("unsupported_change", "node:A"),
        ("unsupported_change", "node:A.p"),
    ]
    reasons = " ".join(each.reason for each in made.unsupported)
    assert "+J, -I" in reasons
    assert "+J.p, -I.p" in reasons


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("interface I {} node A {}", "interface I {} node A implements I {}", "+I"),
        ("interface I {} node A implements I {}", "interface I {} node A {}", "-I"),
    ],
)
def test_a_change_of_what_a_node_implements_is_refused(before, after, change):
    assert refusals(before, after) == [("node:A", None)]
    assert change in plan(before, after).unsupported[0].reason


def test_interfaces_that_come_and_go_are_named_in_order():
    first = init("interface Late {} interface Old {} node A implements Old {}")
    second = resolve(first, "interface Late {} interface Old {} interface Early {} node A implements Late, Early {}")
    (refusal,) = plan_migration(first, second).unsupported
    assert "(+Early, +Late, -Old)" in refusal.reason


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "interface I { p: I32 } node A implements I {}",
            "interface I { p: I32 } node A implements I { p: I32 }",
        ),
        (
            "interface I { p: I32 } node A implements I { p: I32 }",
            "interface I { p: I32 } node A implements I {}",
        ),
    ],
)
def test_a_property_that_moves_between_injected_and_direct_is_refused(before, after):
    assert refusals(before, after) == [("node:A.p", None)]


def test_a_property_that_begins_to_stand_for_an_interface_property_is_refused():
    made = plan(
        "interface I {} node A implements I { p: I32? }",
        "interface I { p: I32? } node A implements I { p: I32? }",
    )
    assert [each.entity for each in made.unsupported] == ["node:A.p"]
    assert "+I.p" in made.unsupported[0].reason


def test_a_property_that_ceases_to_stand_for_an_interface_property_is_refused():
    made = plan(
        "interface I { p: I32? } node A implements I { p: I32? }",
        "interface I {} node A implements I { p: I32? }",
    )
    assert [each.entity for each in made.unsupported] == ["node:A.p"]
    assert "-I.p" in made.unsupported[0].reason


@pytest.mark.parametrize("ends", ["B -> B", "A -> A", "B -> A"])
def test_a_change_of_the_endpoints_of_an_edge_is_refused(ends):
    before = "node A {} node B {} edge E: A -> B"
    assert refusals(before, f"node A {{}} node B {{}} edge E: {ends}") == [("edge:E", None)]
    assert f"from A -> B to {ends}" in plan(before, f"node A {{}} node B {{}} edge E: {ends}").unsupported[0].reason


@pytest.mark.parametrize(
    ("old", "new"), [("", "@card(0..1)"), ("@card(0..1)", "@card(0..)"), ("@card(1..2)", "@card(2..2)")]
)
def test_a_change_of_cardinality_is_refused(old, new):
    before, after = f"node A {{}} edge E: A -> A {old}", f"node A {{}} edge E: A -> A {new}"
    assert refusals(before, after) == [("edge:E", None)]
    assert f"from {old or '@card(0..)'} to {new}" in plan(before, after).unsupported[0].reason


@pytest.mark.parametrize(
    ("with_it", "without", "entity"),
    [
        pytest.param("node A { p: I32 @key }", "node A { p: I32 }", "node:A.p", id="key on a property"),
        pytest.param("node A { p: I32 @key(p) }", "node A { p: I32 }", "node:A", id="key in the body"),
        pytest.param("node A { p: I32 @unique }", "node A { p: I32 }", "node:A.p", id="unique on a property"),
        pytest.param(
            "node A { p: I32 q: I32 @unique(p, q) }", "node A { p: I32 q: I32 }", "node:A", id="unique in the body"
        ),
        pytest.param(
            "node A {} edge E: A -> A { @unique(src, dst) }",
            "node A {} edge E: A -> A",
            "edge:E",
            id="unique ends of an edge",
        ),
        pytest.param(
            "node A {} edge E: A -> A { p: I32 @unique }",
            "node A {} edge E: A -> A { p: I32 }",
            "edge:E.p",
            id="unique on a property of an edge",
        ),
        pytest.param("node A { p: I32 @range(p, 1..2) }", "node A { p: I32 }", "node:A", id="range"),
        pytest.param('node A { p: String @check(p, "x") }', "node A { p: String }", "node:A", id="check"),
        pytest.param(
            "interface I { p: I32 @key }", "interface I { p: I32 }", "interface:I.p", id="key of an interface"
        ),
    ],
)
def test_adding_or_removing_a_constraint_is_refused_once(with_it, without, entity):
    assert refusals(without, with_it) == [(entity, None)]
    assert "cannot be added" in plan(without, with_it).unsupported[0].reason
    assert refusals(with_it, without) == [(entity, None)]
    assert "cannot be removed" in plan(with_it, without).unsupported[0].reason


@pytest.mark.parametrize("kind", ["key", "unique"])
def test_moving_a_constraint_between_property_and_body_is_refused_once(kind):
    on_property, in_body = f"node A {{ p: I32 @{kind} }}", f"node A {{ p: I32 @{kind}(p) }}"
    assert refusals(on_property, in_body) == [("node:A.p", None)]
    assert "from the property to the body" in plan(on_property, in_body).unsupported[0].reason
    assert "from the body to the property" in plan(in_body, on_property).unsupported[0].reason


def test_several_marks_of_one_property_are_refused_in_order():
    made = plan("node A { p: I32 }", "node A { p: I32 @unique @key }")
    assert [each.reason.split()[0] for each in made.unsupported] == ["@key", "@unique"]


def test_a_key_of_other_columns_is_refused():
    made = plan("node A { p: I32 q: I32 @key(p) }", "node A { p: I32 q: I32 @key(p, q) }")
    assert [each.reason.split(" cannot")[0] for each in made.unsupported] == ["@key(p)", "@key(p, q)"]


def test_other_bounds_of_a_range_are_refused():
    made = plan("node A { p: F64 @range(p, 0..5) }", "node A { p: F64 @range(p, 0..5.0) }")
    assert [each.reason.split(" cannot")[0] for each in made.unsupported] == ["@range(p, 0..5)", "@range(p, 0..5.0)"]


def test_a_refused_constraint_is_told_by_the_new_names_in_order():
    made = plan("node A { a: I32 b: I32 @unique(a, b) }", 'node A { z: I32 @rename_from("a") b: I32 }')
    assert [each.reason.split(" cannot")[0] for each in made.unsupported] == ["@unique(b, z)"]


def test_another_pattern_is_refused():
    made = plan('node A { p: String @check(p, "x") }', 'node A { p: String @check(p, "y") }')
    assert [each.reason.split(" cannot")[0] for each in made.unsupported] == ['@check(p, "x")', '@check(p, "y")']


def test_a_new_property_with_unique_is_refused_for_the_constraint():
    made = plan("node A {}", "node A { p: I32? @unique }")
    assert [each.kind for each in made.steps] == ["add_property", "unsupported_change"]
    assert made.unsupported[0].entity == "node:A.p"


@pytest.mark.parametrize("key", ["code: String @key", "code: String @key(code)"])
def test_dropping_a_key_property_is_refused_because_of_the_key(key):
    made = plan(f"node A {{ {key} p: I32 }}", "node A { p: I32 }")
    assert [each.kind for each in made.steps] == ["drop_property", "unsupported_change"]
    assert made.unsupported[0].entity == "node:A"
    assert "@key(code)" in made.unsupported[0].reason


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", '@embed("s")'),
        ('@embed("s")', ""),
        ('@embed("s")', '@embed("t")'),
        ('@embed("s")', '@embed("s", model="m")'),
        ('@embed("s", model="m")', '@embed("s", model="n")'),
    ],
)
def test_a_change_of_an_embed_source_or_model_is_refused(old, new):
    before = f"node A {{ s: String t: String v: Vector(2)? {old} }}"
    after = f"node A {{ s: String t: String v: Vector(2)? {new} }}"
    assert refusals(before, after) == [("node:A.v", None)]
    assert f"from {old or 'none'} to {new or 'none'}" in plan(before, after).unsupported[0].reason


@pytest.mark.parametrize(
    ("before", "after", "entity"),
    [
        ("node A {}", "node A @audited {}", "node:A"),
        ("node A @audited {}", "node A {}", "node:A"),
        ("node A @level(1) {}", "node A @level(2) {}", "node:A"),
        ("node A @level(1) {}", "node A @level(1.0) {}", "node:A"),
        ("node A @level(1) {}", "node A @level(true) {}", "node:A"),
        ("node A @level(1, x=1) {}", "node A @level(1, x=2) {}", "node:A"),
        ("node A { p: I32 }", "node A { p: I32 @audited }", "node:A.p"),
        ("node A {} edge E: A -> A", "node A {} edge E: A -> A @audited", "edge:E"),
        ("interface I { p: I32 }", "interface I { p: I32 @audited }", "interface:I.p"),
    ],
)
def test_a_change_of_any_other_annotation_is_refused(before, after, entity):
    assert refusals(before, after) == [(entity, None)]


def test_all_annotations_that_cannot_change_are_named_in_order():
    made = plan("node A @c @d(1) {}", "node A @b @a @d(2) {}")
    assert made.unsupported[0].reason.endswith("not @a, @b, @c, @d")


def test_metadata_is_not_told_beside_a_refused_annotation():
    assert refusals("node A {}", 'node A @audited @description("d") {}') == [("node:A", None)]


def test_a_difference_that_no_rule_speaks_of_is_unclassified():
    accepted = init("node A { p: I32 }")
    desired = replace(accepted, next_identity_id=accepted.next_identity_id + 1)
    (refusal,) = plan_migration(accepted, desired).unsupported
    assert (refusal.entity, refusal.code) == ("schema", None)
    assert "unclassified" in refusal.reason


def test_another_table_behind_the_same_type_is_unclassified():
    accepted = init("node A { p: I32 }")
    node = replace(accepted.nodes[0], table_incarnation_id=99)
    desired = replace(accepted, nodes=(node,), next_identity_id=100)
    (refusal,) = plan_migration(accepted, desired).unsupported
    assert refusal.entity == "node:A"
    assert "unclassified" in refusal.reason


def test_a_counter_that_runs_backwards_is_unclassified_whatever_else_changes():
    accepted = init("node A { p: I32 }")
    desired = replace(resolve(accepted, "node A {}"), next_identity_id=1)
    (refusal,) = plan_migration(accepted, desired).unsupported
    assert refusal.entity == "schema"


def test_schemas_of_two_graphs_cannot_be_compared():
    with pytest.raises(InvalidInputError, match="different graphs"):
        plan_migration(init("node A {}"), assign_identities(compile_schema("node A {}"), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"))
