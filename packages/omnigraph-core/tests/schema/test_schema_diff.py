"""Migration planning: each rule of what is a step, by name; and the order of steps."""

from __future__ import annotations

import pytest

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


def lines(before: str, after: str, **options: bool) -> list[str]:
    return [each.render() for each in plan(before, after, **options).steps]


# ── nothing ──


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("node A { p: I32 q: String }", "// new comment\nnode A { q: String p: I32 }"),
        ("node A { p: enum(a, b) }", "node A { p: enum(b, a) }"),
        ("node A { p: String @index }", "node A { p: String @index @index(p) }"),
        ("node A { p: String q: String @key(p, q) }", "node A { p: String q: String @key(q, p) }"),
        ("node A { p: String }", 'node A @rename_from("Old") { p: String @rename_from("old") }'),
    ],
)
def test_the_same_schema_has_an_empty_plan(before, after):
    made = plan(before, after)
    assert made.steps == ()
    assert made.supported
    assert made.render() == "no schema changes"


# ── steps ──


@pytest.mark.parametrize(
    ("after", "line"),
    [
        ("node A {} interface I { p: String }", "add interface type 'I'"),
        ("node A {} node B { k: String @key  n: I32  @range(n, 0..) }", "add node type 'B'"),
        ("node A {} edge E: A -> A @card(0..1) { w: F64  @unique(src) }", "add edge type 'E'"),
    ],
)
def test_add_type_for_a_new_type_whatever_it_declares(after, line):
    assert lines("node A {}", after) == [line]


def test_rename_type_for_a_node_matched_through_its_hint():
    assert lines("node A {} edge E: A -> A", 'node B @rename_from("A") {} edge E: B -> B') == [
        "rename node type 'A' -> 'B'"
    ]


def test_rename_type_for_an_edge_matched_through_its_hint():
    assert lines("node A {} edge E: A -> A", 'node A {} edge F: A -> A @rename_from("E")') == [
        "rename edge type 'E' -> 'F'"
    ]


def test_an_endpoint_that_is_renamed_is_no_change_of_the_edge():
    assert lines("node A {} edge E: A -> A", 'node B @rename_from("A") {} edge E: B -> B') == [
        "rename node type 'A' -> 'B'"
    ]


def test_a_rename_without_a_hint_is_a_drop_and_an_addition():
    assert lines("node A { p: I32 }", "node B { p: I32 }") == ["add node type 'B'", "drop node type 'A' (soft mode)"]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("node A {}", "node A { p: String? }", "add property 'A.p' (String?) on node 'A'"),
        ("node A {}", "node A { p: [I64]? }", "add property 'A.p' ([I64]?) on node 'A'"),
        ("node A {}", "node A { p: enum(y, x)? }", "add property 'A.p' (enum(x, y)?) on node 'A'"),
        ("node A {}", "node A { p: Vector(3)? }", "add property 'A.p' (Vector(3)?) on node 'A'"),
        ("node A {}", "node A { p: Blob? }", "add property 'A.p' (Blob?) on node 'A'"),
        (
            "node A {} edge E: A -> A",
            "node A {} edge E: A -> A { p: Date? }",
            "add property 'E.p' (Date?) on edge 'E'",
        ),
        ("interface I {}", "interface I { p: Date? }", "add property 'I.p' (Date?) on interface 'I'"),
    ],
)
def test_add_property_for_a_new_nullable_property(before, after, line):
    assert lines(before, after) == [line]


def test_add_property_to_an_interface_adds_it_to_each_node_that_takes_it_from_there():
    assert lines(
        "interface I {} node A implements I {} node B {}",
        "interface I { p: I32? } node A implements I {} node B {}",
    ) == [
        "add property 'I.p' (I32?) on interface 'I'",
        "add property 'A.p' (I32?) on node 'A'",
    ]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("node A { p: I32 }", 'node A { q: I32 @rename_from("p") }', "rename property 'A.p' -> 'A.q' on node 'A'"),
        (
            "node A { p: String @key }",
            'node A { q: String @key @rename_from("p") }',
            "rename property 'A.p' -> 'A.q' on node 'A'",
        ),
        (
            "node A {} edge E: A -> A { p: I32 @unique(src, p) }",
            'node A {} edge E: A -> A { q: I32 @rename_from("p") @unique(src, q) }',
            "rename property 'E.p' -> 'E.q' on edge 'E'",
        ),
        (
            'node A { p: I32 s: String @range(p, 1..2) @check(s, "x") @index(p, s) @unique(p, s) }',
            'node A { q: I32 @rename_from("p") s: String @range(q, 1..2) @check(s, "x") @index(q, s) @unique(q, s) }',
            "rename property 'A.p' -> 'A.q' on node 'A'",
        ),
    ],
)
def test_rename_property_for_one_matched_through_its_hint_constraints_included(before, after, line):
    assert lines(before, after) == [line]


def test_rename_of_an_embed_source_is_a_rename_and_no_change_of_the_embed():
    assert lines(
        'node A { s: String v: Vector(2)? @embed("s", model="m") }',
        'node A { text: String @rename_from("s") v: Vector(2)? @embed("text", model="m") }',
    ) == ["rename property 'A.s' -> 'A.text' on node 'A'"]


def test_rename_of_an_interface_property_is_a_rename_in_each_node_that_takes_it_from_there():
    assert lines(
        "interface I { p: I32 } node A implements I {} node B implements I { p: I32 }",
        'interface I { q: I32 @rename_from("p") } node A implements I {} '
        'node B implements I { q: I32 @rename_from("p") }',
    ) == [
        "rename property 'I.p' -> 'I.q' on interface 'I'",
        "rename property 'A.p' -> 'A.q' on node 'A'",
        "rename property 'B.p' -> 'B.q' on node 'B'",
    ]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("node A { p: String }", "node A { p: String @index }", "add constraint @index(p) on node 'A'"),
        ("node A { p: String }", "node A { p: String @index(p) }", "add constraint @index(p) on node 'A'"),
        ("node A { p: String }", "node A { p: String @index @index(p) }", "add constraint @index(p) on node 'A'"),
        (
            "node A { p: String q: I32 }",
            "node A { p: String q: I32 @index(q, p) }",
            "add constraint @index(p, q) on node 'A'",
        ),
        (
            "node A {} edge E: A -> A",
            "node A {} edge E: A -> A { @index(src, dst) }",
            "add constraint @index(dst, src) on edge 'E'",
        ),
        ("interface I { p: I32 }", "interface I { p: I32 @index }", "add constraint @index(p) on interface 'I'"),
    ],
)
def test_add_constraint_for_an_index_in_either_form_and_never_twice(before, after, line):
    assert lines(before, after) == [line]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("node A { p: String @index }", "node A { p: String }", "remove constraint @index(p) on node 'A'"),
        ("node A { p: String @index(p) }", "node A { p: String }", "remove constraint @index(p) on node 'A'"),
        (
            "node A {} edge E: A -> A { w: I32 @index(src, w) }",
            "node A {} edge E: A -> A { w: I32 }",
            "remove constraint @index(src, w) on edge 'E'",
        ),
        ("interface I { p: I32 @index }", "interface I { p: I32 }", "remove constraint @index(p) on interface 'I'"),
    ],
)
def test_remove_constraint_for_an_index_in_either_form(before, after, line):
    assert lines(before, after) == [line]


def test_remove_constraint_says_the_new_names():
    assert lines("node A { p: I32 @index }", 'node B @rename_from("A") { q: I32 @rename_from("p") }') == [
        "rename node type 'A' -> 'B'",
        "rename property 'B.p' -> 'B.q' on node 'B'",
        "remove constraint @index(q) on node 'B'",
    ]


def test_an_index_that_moves_between_property_and_body_is_removed_and_added():
    moved = ["remove constraint @index(p) on node 'A'", "add constraint @index(p) on node 'A'"]
    assert lines("node A { p: I32 @index }", "node A { p: I32 @index(p) }") == moved
    assert lines("node A { p: I32 @index(p) }", "node A { p: I32 @index }") == moved


def test_an_index_of_other_columns_is_removed_and_added():
    assert lines("node A { p: I32 q: I32 @index(p) }", "node A { p: I32 q: I32 @index(p, q) }") == [
        "remove constraint @index(p) on node 'A'",
        "add constraint @index(p, q) on node 'A'",
    ]


def test_a_new_property_with_an_index_is_two_steps():
    assert lines("node A {}", "node A { p: I32? @index }") == [
        "add property 'A.p' (I32?) on node 'A'",
        "add constraint @index(p) on node 'A'",
    ]


def test_an_index_on_an_interface_property_is_added_where_it_is_injected_only():
    assert lines(
        "interface I { p: I32 } node A implements I {} node B implements I { p: I32 }",
        "interface I { p: I32 @index } node A implements I {} node B implements I { p: I32 }",
    ) == ["add constraint @index(p) on interface 'I'", "add constraint @index(p) on node 'A'"]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("node A { p: enum(b) }", "node A { p: enum(c, b, a) }", "extend enum 'A.p' (+a, +c) on node 'A'"),
        ("node A { p: enum(b)? }", "node A { p: enum(b, sci-fi)? }", "extend enum 'A.p' (+sci-fi) on node 'A'"),
        (
            "node A {} edge E: A -> A { p: enum(b) }",
            "node A {} edge E: A -> A { p: enum(a, b) }",
            "extend enum 'E.p' (+a) on edge 'E'",
        ),
    ],
)
def test_extend_enum_for_a_strict_superset(before, after, line):
    assert lines(before, after) == [line]


def test_extend_enum_uses_the_new_names():
    assert lines(
        "node A { p: enum(a) }",
        'node B @rename_from("A") { q: enum(a, b) @rename_from("p") }',
    ) == [
        "rename node type 'A' -> 'B'",
        "rename property 'B.p' -> 'B.q' on node 'B'",
        "extend enum 'B.q' (+b) on node 'B'",
    ]


@pytest.mark.parametrize(
    ("before", "after", "annotations"),
    [
        ("node A {}", 'node A @description("d") {}', [{"name": "description", "value": "d"}]),
        ('node A @description("d") {}', "node A {}", []),
        (
            'node A @description("d") @instruction("i") @note(1) {}',
            'node A @description("e") @instruction("i") @note(1) {}',
            [{"name": "description", "value": "e"}, {"name": "instruction", "value": "i"}],
        ),
    ],
)
def test_update_type_metadata_when_only_description_or_instruction_changes(before, after, annotations):
    assert [each.to_dict() for each in plan(before, after).steps] == [
        {"kind": "update_type_metadata", "type_kind": "node", "name": "A", "annotations": annotations}
    ]


def test_update_type_metadata_of_an_edge():
    assert lines("node A {} edge E: A -> A", 'node A {} edge E: A -> A @instruction("i")') == [
        "update metadata on edge 'E'"
    ]


@pytest.mark.parametrize(
    ("before", "after", "annotations"),
    [
        ("node A { p: I32 }", 'node A { p: I32 @description("d") }', [{"name": "description", "value": "d"}]),
        ('node A { p: I32 @description("d") @note }', "node A { p: I32 @note }", []),
    ],
)
def test_update_property_metadata_when_only_the_description_changes(before, after, annotations):
    assert [each.to_dict() for each in plan(before, after).steps] == [
        {
            "kind": "update_property_metadata",
            "type_kind": "node",
            "type_name": "A",
            "property_name": "p",
            "annotations": annotations,
        }
    ]


def test_drop_type_for_a_type_that_is_gone():
    before = "node A { p: I32 } node B {} edge E: A -> B"
    assert lines(before, "node B {}") == ["drop node type 'A' (soft mode)", "drop edge type 'E' (soft mode)"]
    assert lines(before, "node B {}", allow_data_loss=True) == [
        "drop node type 'A' (hard mode)",
        "drop edge type 'E' (hard mode)",
    ]


def test_drop_property_for_a_property_that_is_gone():
    before = "node A { p: I32 q: Vector(2) } edge E: A -> A { r: I32 }"
    after = "node A {} edge E: A -> A"
    assert lines(before, after) == [
        "drop property 'A.p' of node 'A' (soft mode)",
        "drop property 'A.q' of node 'A' (soft mode)",
        "drop property 'E.r' of edge 'E' (soft mode)",
    ]
    assert {each.to_dict()["mode"] for each in plan(before, after, allow_data_loss=True).steps} == {"hard"}


def test_drop_property_of_an_interface_drops_it_where_it_was_injected():
    assert lines("interface I { p: I32 } node A implements I {}", "interface I {} node A implements I {}") == [
        "drop property 'I.p' of interface 'I' (soft mode)",
        "drop property 'A.p' of node 'A' (soft mode)",
    ]


@pytest.mark.parametrize(
    "constraint",
    ["@unique(p)", "@index(p)", "@range(p, 1..2)", "@unique(p, q)", "@index(p, q)"],
)
def test_a_constraint_goes_with_a_property_that_it_names(constraint):
    before = f"node A {{ p: I32 q: I32 {constraint} }}"
    assert lines(before, "node A { q: I32 }") == ["drop property 'A.p' of node 'A' (soft mode)"]


@pytest.mark.parametrize("mark", ["@unique", "@index"])
def test_a_mark_goes_with_the_property_that_it_stands_on(mark):
    assert lines(f"node A {{ p: I32 {mark} }}", "node A {}") == ["drop property 'A.p' of node 'A' (soft mode)"]


def test_a_pattern_goes_with_its_property():
    assert lines('node A { p: String @check(p, "x") }', "node A {}") == ["drop property 'A.p' of node 'A' (soft mode)"]


def test_drop_and_add_again_is_a_new_thing():
    first = init("node A { p: I32? }")
    second = resolve(first, "node A {}")
    third = resolve(second, "node A { p: String? }")
    assert [each.render() for each in plan_migration(second, third).steps] == [
        "add property 'A.p' (String?) on node 'A'"
    ]
    # Straight from the first to the third both are to be told, for the data is not the same.
    assert [each.render() for each in plan_migration(first, third).steps] == [
        "add property 'A.p' (String?) on node 'A'",
        "drop property 'A.p' of node 'A' (soft mode)",
    ]


def test_two_names_that_hints_try_to_swap_stay_as_they_are():
    after = 'node A @rename_from("B") { p: I32 } node B @rename_from("A") { q: I32 }'
    assert lines("node A { p: I32 } node B { q: I32 }", after) == []


# ── order ──


def test_everything_at_once_comes_in_the_promised_order():
    before = """
    interface Gone { g: I32? }
    interface Kept { k: I32? }
    node Alpha implements Kept { a: enum(x)  b: I32  old: I32?  v: Vector(2)? @embed("s")  s: String  z: I32? }
    node Beta {}
    edge Link: Alpha -> Beta @card(0..1) { w: I32? }
    edge Lost: Beta -> Beta
    """
    after = """
    interface Added {}
    interface Kept { k: I32?  more: I32? }
    node Omega @rename_from("Alpha") @description("d") {
        a: enum(x, y)
        b: I64 @rename_from("nothing")
        fresh: I32? @index
        k: I32?
        must: I32
        new: I32? @rename_from("old") @description("d") @unique
        v: Vector(2)?
        s: String
        @range(b, 1..2)
    }
    node Early {}
    edge Link: Omega -> Early { w: I32?  @index(src) }
    edge Tie: Early -> Early
    """.replace(' @rename_from("nothing")', "")
    assert [each.render().split(":  ")[0] for each in plan(before, after).steps] == [
        "add interface type 'Added'",
        "add property 'Kept.more' (I32?) on interface 'Kept'",
        (
            "unsupported change on interface:Gone: an interface cannot be removed or renamed once it is accepted; "
            "keep its declaration"
        ),
        "add node type 'Early'",
        "rename node type 'Alpha' -> 'Omega'",
        "unsupported change on node:Omega: the interfaces that a node type implements cannot change (-Kept)",
        "update metadata on node 'Omega'",
        "extend enum 'Omega.a' (+y) on node 'Omega'",
        (
            "unsupported change on node:Omega.b [OG-MF-106, destructive]: the type of a property cannot change, "
            "here from I32 to I64; an enum may get more values, anything else needs a new property"
        ),
        "add property 'Omega.fresh' (I32?) on node 'Omega'",
        "add constraint @index(fresh) on node 'Omega'",
        (
            "unsupported change on node:Omega.k: a property cannot move between an interface and the type itself; "
            "it would now come from Omega itself"
        ),
        "unsupported change on node:Omega.k: the interface properties that it stands for cannot change (-Kept.k)",
        (
            "unsupported change on node:Omega.must [OG-MF-103, validated]: a new property must be nullable, "
            'for what is stored has no value for it; write "must: I32?"'
        ),
        "rename property 'Omega.old' -> 'Omega.new' on node 'Omega'",
        "unsupported change on node:Omega.new: @unique cannot be added, for what is stored was never held against it",
        "update metadata on property 'Omega.new' of node 'Omega'",
        (
            'unsupported change on node:Omega.v: @embed cannot change, here from @embed("s") to none: '
            "stored vectors would not fit it"
        ),
        "drop property 'Omega.z' of node 'Omega' (soft mode)",
        (
            "unsupported change on node:Omega: @range(b, 1..2) cannot be added, for what is stored "
            "was never held against it"
        ),
        "drop node type 'Beta' (soft mode)",
        (
            "unsupported change on edge:Link: the endpoints of an edge type cannot change, here from Alpha -> Beta to "
            "Omega -> Early; declare another edge type"
        ),
        (
            "unsupported change on edge:Link: the cardinality of an edge type cannot change, here from @card(0..1) to "
            "@card(0..)"
        ),
        "add constraint @index(src) on edge 'Link'",
        "add edge type 'Tie'",
        "drop edge type 'Lost' (soft mode)",
    ]


def test_an_index_comes_with_its_property_in_the_property_form_and_last_in_the_body_form():
    before = "node A { a: I32 b: I32 c: I32 @index d: I32 gone: I32? @index(d) }"
    after = 'node A { a: I32 @index @description("d") b: I32 c: I32 d: I32 e: I32? @index(a, b) }'
    assert lines(before, after) == [
        "add constraint @index(a) on node 'A'",
        "update metadata on property 'A.a' of node 'A'",
        "remove constraint @index(c) on node 'A'",
        "add property 'A.e' (I32?) on node 'A'",
        "drop property 'A.gone' of node 'A' (soft mode)",
        "remove constraint @index(d) on node 'A'",
        "add constraint @index(a, b) on node 'A'",
    ]


def test_types_are_told_by_their_new_names():
    made = lines(
        "node A { p: I32 } node B { p: I32 }",
        'node Z @rename_from("A") { p: I32 x: I32? } node B { p: I32 x: I32? } node C {}',
    )
    assert made == [
        "add property 'B.x' (I32?) on node 'B'",
        "add node type 'C'",
        "rename node type 'A' -> 'Z'",
        "add property 'Z.x' (I32?) on node 'Z'",
    ]


def test_a_rename_chain_of_type_property_and_enum_is_supported_as_a_whole():
    made = plan(
        'node Film { code: String @key  genre: enum(a, b)  plot: String  vec: Vector(2)? @embed("plot") } '
        "edge Rented: Film -> Film { on: Date?  @unique(src, on) }",
        """
        node Movie @rename_from("Film") {
            slug: String @key @rename_from("code")
            kind: enum(a, b, c) @rename_from("genre")
            story: String @rename_from("plot")
            vec: Vector(2)? @embed("story")
        }
        edge Lent: Movie -> Movie @rename_from("Rented") { day: Date? @rename_from("on")  @unique(src, day) }
        """,
    )
    assert made.supported
    assert [each.render() for each in made.steps] == [
        "rename node type 'Film' -> 'Movie'",
        "rename property 'Movie.genre' -> 'Movie.kind' on node 'Movie'",
        "extend enum 'Movie.kind' (+c) on node 'Movie'",
        "rename property 'Movie.code' -> 'Movie.slug' on node 'Movie'",
        "rename property 'Movie.plot' -> 'Movie.story' on node 'Movie'",
        "rename edge type 'Rented' -> 'Lent'",
        "rename property 'Lent.on' -> 'Lent.day' on edge 'Lent'",
    ]
