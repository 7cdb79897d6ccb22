"""Identities: how numbers are given out, and how a later schema finds the numbers that it had."""

from __future__ import annotations

from itertools import count

import pytest

from omnigraph.errors import InvalidInputError
from omnigraph.lang.codes import Severity
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema import compile_schema
from omnigraph.schema.identity import assign_identities, resolve_identities
from omnigraph.schema.ir import ColumnsConstraint, PropertyReference, SchemaIR, SystemField

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def init(text: str) -> SchemaIR:
    return assign_identities(compile_schema(text), DOMAIN)


def follow(accepted: SchemaIR, text: str) -> tuple[SchemaIR, Report]:
    source = SourceText.of(text)
    report = Report(source)
    return resolve_identities(compile_schema(source), accepted, report), report


def resolve(accepted: SchemaIR, text: str) -> SchemaIR:
    schema, report = follow(accepted, text)
    assert report.diagnostics == []
    return schema


def complaints(before: str, after: str) -> list[tuple[str, str, str]]:
    """Code, severity and the text under the carets, by place."""
    _, report = follow(init(before), after)
    return [(str(each.code), str(each.severity), after[each.span.start : each.span.end]) for each in report.in_order()]


def type_ids(schema: SchemaIR) -> dict[str, int]:
    return {each.name: each.type_id for kind in ("interface", "node", "edge") for each in schema.types_of(kind)}


def table_ids(schema: SchemaIR) -> dict[str, int]:
    return {each.name: each.table_incarnation_id for each in (*schema.nodes, *schema.edges)}


def property_ids(schema: SchemaIR) -> dict[str, int]:
    return {
        f"{each.name}.{prop.name}": prop.property_id
        for kind in ("interface", "node", "edge")
        for each in schema.types_of(kind)
        for prop in each.properties
    }


# ── giving out numbers ──


def counters(numbers: dict[str, int]) -> dict[str, int]:
    """From which counter each number was made: its upper 32 bits. ``test_schema_numbers`` has the lower ones."""
    return {name: number >> 31 for name, number in numbers.items()}


def test_types_come_first_interfaces_then_nodes_then_edges_each_by_name_then_properties():
    schema = init(
        """
        edge Aa: Zed -> Bee { q: I32  p: I32 }
        node Zed implements Id { z: I32  a: I32 }
        node Bee { k: String @key }
        interface Id { x: String }
        """
    )
    assert counters(type_ids(schema)) == {"Id": 1, "Bee": 2, "Zed": 3, "Aa": 4}
    assert counters(property_ids(schema)) == {
        "Id.x": 5,
        "Bee.k": 6,
        "Zed.a": 7,
        "Zed.x": 8,
        "Zed.z": 9,
        "Aa.p": 10,
        "Aa.q": 11,
    }
    assert schema.next_identity_id == 12


def test_an_empty_schema_leaves_the_counter_at_one():
    assert init("").next_identity_id == 1


def test_numbers_do_not_depend_on_the_order_of_the_text():
    one, other = init("node A { p: I32 q: I32 } node B {}"), init("node B {} node A { q: I32 p: I32 }")
    assert (type_ids(one), property_ids(one)) == (type_ids(other), property_ids(other))


def test_new_things_are_numbered_from_where_the_counter_stood():
    accepted = init("node A { p: I32? }")
    assert (counters(type_ids(accepted)), counters(property_ids(accepted))) == ({"A": 1}, {"A.p": 2})
    schema = resolve(accepted, "edge E: A -> A { w: I32? } node A { p: I32? a: I32? } node New { n: I32? }")
    assert counters(type_ids(schema)) == {"A": 1, "New": 3, "E": 4}
    # Ordered by the number of the owner, then by name: A is 1, New is 3, E is 4.
    assert counters(property_ids(schema)) == {"A.p": 2, "A.a": 5, "New.n": 6, "E.w": 7}
    assert table_ids(schema)["A"] == table_ids(accepted)["A"]
    assert schema.next_identity_id == 8


def test_new_properties_are_numbered_by_the_number_of_their_owner_not_by_its_kind():
    accepted = init("node A {} edge E: A -> A")
    assert (counters(type_ids(accepted)), accepted.next_identity_id) == ({"A": 1, "E": 2}, 3)
    schema = resolve(accepted, "node A {} node B { p: I32? } edge E: A -> A { p: I32? }")
    assert counters(type_ids(schema))["B"] == 3
    assert counters(property_ids(schema)) == {"E.p": 4, "B.p": 5}


def test_the_same_schema_keeps_every_number_and_the_counter():
    text = "interface I { p: I32 } node A implements I { k: String @key } edge E: A -> A { w: I32 @unique(src, w) }"
    accepted = init(text)
    assert resolve(accepted, text) == accepted


def test_dropping_and_adding_a_name_again_gives_new_numbers():
    first = init("node A { p: I32? } node B {}")
    without = resolve(first, "node B {}")
    again = resolve(without, "node A { p: I32? } node B {}")
    assert without.next_identity_id == first.next_identity_id
    assert counters(type_ids(again))["A"] == first.next_identity_id
    assert counters(property_ids(again))["A.p"] == first.next_identity_id + 1
    assert table_ids(again)["A"] != table_ids(first)["A"]
    assert type_ids(again)["B"] == type_ids(first)["B"]


def test_dropping_and_adding_a_property_again_gives_a_new_number():
    first = init("node A { p: I32? }")
    again = resolve(resolve(first, "node A {}"), "node A { p: I32? }")
    assert counters(property_ids(again))["A.p"] == first.next_identity_id
    assert table_ids(again) == table_ids(first)


def test_a_node_and_an_edge_of_one_name_have_their_own_numbers():
    schema = init("node Link { p: I32 } edge Link: Link -> Link { p: I32 }")
    assert (schema.nodes[0].type_id >> 31, schema.edges[0].type_id >> 31) == (1, 2)
    assert schema.nodes[0].properties[0].property_id != schema.edges[0].properties[0].property_id


@pytest.mark.parametrize(
    "domain",
    [
        "",
        "01ARZ3NDEKTSV4RRFFQ69G5FA",
        "01ARZ3NDEKTSV4RRFFQ69G5FAVX",
        "01arz3ndektsv4rrffq69g5fav",
        "81ARZ3NDEKTSV4RRFFQ69G5FAV",
        "01ARZ3NDEKTSV4RRFFQ69G5FAI",
        "01ARZ3NDEKTSV4RRFFQ69G5FAL",
        "01ARZ3NDEKTSV4RRFFQ69G5FAO",
        "01ARZ3NDEKTSV4RRFFQ69G5FAU",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV\n",
    ],
)
def test_a_domain_that_is_no_canonical_ulid_is_refused(domain):
    with pytest.raises(InvalidInputError, match="ULID"):
        assign_identities(compile_schema(""), domain)


def test_the_largest_ulid_is_a_domain():
    assert assign_identities(compile_schema(""), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ").domain.startswith("7")


def test_the_domain_stays_with_the_graph():
    assert resolve(init("node A {}"), "node B {}").domain == DOMAIN


def test_at_init_hints_are_inert():
    plain = compile_schema("node A { p: I32 } edge E: A -> A")
    hinted = compile_schema(
        'node A @rename_from("Ghost") { p: I32 @rename_from("q") } edge E: A -> A @rename_from("A")'
    )
    made = [assign_identities(each, DOMAIN, incarnations=count(1).__next__) for each in (plain, hinted)]
    assert made[0] == made[1]


# ── references ──


def test_references_say_number_and_name():
    schema = init(
        """
        interface I { t: String }
        node A implements I { s: String  v: Vector(2)? @embed("s", model="m") }
        edge E: A -> A { w: I32  @unique(src, dst, w) }
        """
    )
    node, edge = schema.nodes[0], schema.edges[0]
    numbers = property_ids(schema)
    assert [(each.type_id, each.type_name) for each in node.implements] == [(type_ids(schema)["I"], "I")]
    assert (edge.source.type_id, edge.source.type_name) == (node.type_id, "A")
    embed = next(each.embed for each in node.properties if each.name == "v")
    assert (embed.source.owner_type_id, embed.source.property_id, embed.model) == (node.type_id, numbers["A.s"], "m")
    injected = next(each for each in node.properties if each.name == "t")
    assert injected.is_direct is False
    assert [(each.owner_type_name, each.property_id) for each in injected.satisfies] == [("I", numbers["I.t"])]
    (unique,) = edge.constraints
    assert unique == ColumnsConstraint(
        kind="unique",
        fields=(
            PropertyReference(
                owner_type_id=edge.type_id, owner_type_name="E", property_id=numbers["E.w"], property_name="w"
            ),
            _system(edge, "dst"),
            _system(edge, "src"),
        ),
    )


def _system(edge, role):
    return SystemField(
        stable_table_id=edge.type_id,
        table_type_name=edge.name,
        table_incarnation_id=edge.table_incarnation_id,
        role=role,
    )


def test_interfaces_that_a_node_implements_are_in_the_order_of_their_numbers():
    accepted = init("interface M {} node A {}")
    schema = resolve(accepted, "interface M {} interface B {} node A {} node C implements B, M {}")
    node = next(each for each in schema.nodes if each.name == "C")
    assert [each.type_name for each in node.implements] == ["M", "B"]


def test_interface_properties_that_a_property_stands_for_are_in_the_order_of_their_numbers():
    names = "interface A { p: I32 } interface B { p: I32 } interface C { p: I32 } interface D { p: I32 }"
    schema = init(f"{names} node N implements D, B, C, A {{}}")
    (prop,) = schema.nodes[0].properties
    assert [each.owner_type_name for each in prop.satisfies] == ["A", "B", "C", "D"]


def test_an_interface_may_embed_what_only_its_nodes_declare():
    schema = init('interface I { v: Vector(2)? @embed("s") } node A implements I { s: String }')
    (of_interface,) = schema.interfaces[0].properties
    assert (of_interface.embed.source.property_id, of_interface.embed.source.property_name) == (None, "s")
    of_node = next(each for each in schema.nodes[0].properties if each.name == "v")
    assert of_node.embed.source.property_id == property_ids(schema)["A.s"]


def test_members_of_a_composite_key_are_in_ascending_name_order_at_creation_whatever_is_written():
    assert init("node A { region: String num: I32 @key(region, num) }").nodes[0].key == ("num", "region")


def test_members_of_a_composite_key_keep_their_order_when_one_is_renamed():
    accepted = init("node A { num: I32 region: String @key(num, region) }")
    renamed = resolve(accepted, 'node A { zahl: I32 @rename_from("num") region: String @key(region, zahl) }')
    assert renamed.nodes[0].key == ("zahl", "region")


def test_a_keyless_node_has_no_key():
    assert init("node A { p: I32 }").nodes[0].key == ()


def test_a_node_property_called_like_an_end_of_an_edge_is_a_property():
    schema = init("node A { src: String @key }")
    assert schema.nodes[0].key == ("src",)


# ── keeping numbers through renames ──


def test_a_renamed_node_keeps_its_numbers():
    accepted = init("node A { p: I32 } edge E: A -> A")
    schema = resolve(accepted, 'node B @rename_from("A") { p: I32 } edge E: B -> B')
    assert type_ids(schema)["B"] == type_ids(accepted)["A"]
    assert table_ids(schema)["B"] == table_ids(accepted)["A"]
    assert property_ids(schema)["B.p"] == property_ids(accepted)["A.p"]
    assert schema.edges[0].source.type_name == "B"
    assert schema.next_identity_id == accepted.next_identity_id


def test_a_renamed_edge_keeps_its_numbers():
    accepted = init("node A {} edge E: A -> A { p: I32 }")
    schema = resolve(accepted, 'node A {} edge F: A -> A @rename_from("E") { p: I32 }')
    assert (type_ids(schema)["F"], table_ids(schema)["F"]) == (type_ids(accepted)["E"], table_ids(accepted)["E"])
    assert property_ids(schema)["F.p"] == property_ids(accepted)["E.p"]


def test_a_renamed_property_keeps_its_number():
    accepted = init("interface I { p: I32 } node A { p: I32 } edge E: A -> A { p: I32 }")
    schema = resolve(
        accepted,
        'interface I { q: I32 @rename_from("p") } node A { q: I32 @rename_from("p") } '
        'edge E: A -> A { q: I32 @rename_from("p") }',
    )
    assert list(property_ids(schema).values()) == list(property_ids(accepted).values())


def test_a_renamed_key_property_keeps_its_number():
    accepted = init("node A { code: String @key }")
    schema = resolve(accepted, 'node A { slug: String @key @rename_from("code") }')
    assert property_ids(schema) == {"A.slug": property_ids(accepted)["A.code"]}
    assert schema.nodes[0].key == ("slug",)


def test_a_renamed_interface_property_keeps_its_numbers_where_it_is_injected():
    accepted = init("interface I { p: I32 } node A implements I {} node B implements I { p: I32 }")
    schema = resolve(
        accepted,
        'interface I { q: I32 @rename_from("p") } node A implements I {} '
        'node B implements I { q: I32 @rename_from("p") }',
    )
    assert property_ids(schema) == {
        "I.q": property_ids(accepted)["I.p"],
        "A.q": property_ids(accepted)["A.p"],
        "B.q": property_ids(accepted)["B.p"],
    }


def test_a_type_and_its_properties_can_be_renamed_at_once():
    accepted = init("node A { p: I32 q: I32 }")
    schema = resolve(accepted, 'node B @rename_from("A") { x: I32 @rename_from("q") y: I32 @rename_from("p") }')
    before = property_ids(accepted)
    assert property_ids(schema) == {"B.x": before["A.q"], "B.y": before["A.p"]}


def test_a_rename_can_be_followed_by_another():
    first = init("node A { p: I32 }")
    second = resolve(first, 'node B @rename_from("A") { p: I32 }')
    third = resolve(second, 'node C @rename_from("B") { p: I32 }')
    assert type_ids(third)["C"] == type_ids(first)["A"]


def test_names_can_be_rotated_in_a_chain_when_each_target_name_is_free():
    accepted = init("node A {} node B {}")
    schema = resolve(accepted, 'node C @rename_from("B") {} node D @rename_from("A") {}')
    assert type_ids(schema) == {"C": type_ids(accepted)["B"], "D": type_ids(accepted)["A"]}


def test_two_names_cannot_be_swapped_through_hints():
    """The same name comes first, so both keep their numbers, and both hints are warned about."""
    before = "node A { p: I32 } node B { q: I32 }"
    after = 'node A @rename_from("B") { p: I32 } node B @rename_from("A") { q: I32 }'
    schema, report = follow(init(before), after)
    assert type_ids(schema) == type_ids(init(before))
    assert not report.has_errors
    assert complaints(before, after) == [("OG-S-305", "warning", '"B"'), ("OG-S-305", "warning", '"A"')]
    assert "third name" in report.in_order()[0].help


# ── hints that are ignored or refused ──


def test_a_hint_on_a_node_that_kept_its_name_is_ignored_with_a_warning():
    assert complaints("node A {}", 'node A @rename_from("Old") {}') == [("OG-S-305", "warning", '"Old"')]


def test_a_hint_on_an_edge_that_kept_its_name_is_ignored_with_a_warning():
    after = 'node A {} edge E: A -> A @rename_from("Old")'
    assert complaints("node A {} edge E: A -> A", after) == [("OG-S-305", "warning", '"Old"')]


def test_a_hint_on_a_property_that_kept_its_name_is_ignored_with_a_warning():
    assert complaints("node A { p: I32 }", 'node A { p: I32 @rename_from("o") }') == [("OG-S-305", "warning", '"o"')]


def test_a_hint_that_was_followed_once_is_ignored_the_next_time():
    accepted = init("node A { p: I32 }")
    text = 'node B @rename_from("A") { q: I32 @rename_from("p") }'
    once = resolve(accepted, text)
    again, report = follow(once, text)
    assert again == once
    assert [each.severity for each in report.diagnostics] == [Severity.WARNING, Severity.WARNING]


def test_a_hint_that_names_nothing_is_refused():
    assert complaints("node Film {}", 'node Movie @rename_from("Flim") {}') == [("OG-S-301", "error", '"Flim"')]
    _, report = follow(init("node Film {}"), 'node Movie @rename_from("Flim") {}')
    assert report.diagnostics[0].label == 'did you mean "Film"?'
    assert "Film" in report.diagnostics[0].help


def test_an_edge_hint_that_names_nothing_is_refused():
    after = 'node A {} edge F: A -> A @rename_from("Ghost")'
    assert complaints("node A {} edge E: A -> A", after) == [("OG-S-301", "error", '"Ghost"')]


@pytest.mark.parametrize(
    ("after", "word"),
    [
        ('interface I {} node A {} node B @rename_from("E") {} edge E: A -> A', "an edge type"),
        ('interface I {} node A {} node B @rename_from("I") {} edge E: A -> A', "an interface"),
        ('interface I {} node A {} edge F: A -> A @rename_from("A")', "a node type"),
    ],
)
def test_a_hint_that_names_another_kind_is_refused(after, word):
    _, report = follow(init("interface I {} node A {} edge E: A -> A"), after)
    (found,) = report.diagnostics
    assert str(found.code) == "OG-S-302"
    assert after[found.span.start - 13 : found.span.start] == "@rename_from("
    assert found.message.endswith(f"which is {word}")


def test_a_hint_names_its_own_kind_where_a_node_and_an_edge_share_a_name():
    accepted = init("node Link {} edge Link: Link -> Link")
    schema = resolve(accepted, 'node Link {} edge Tie: Link -> Link @rename_from("Link")')
    assert schema.edges[0].type_id == accepted.edges[0].type_id


def test_two_types_that_claim_the_same_old_one_are_refused():
    after = 'node C @rename_from("A") {} node B @rename_from("A") {}'
    assert complaints("node A {}", after) == [("OG-S-303", "error", '"A"')]
    _, report = follow(init("node A {}"), after)
    (found,) = report.diagnostics
    assert found.span.start == after.rindex('"A"')
    assert [each.span.start for each in found.related] == [after.index('"A"')]


def test_a_type_that_claims_one_that_kept_its_name_is_refused():
    after = 'node A {} node B @rename_from("A") {}'
    assert complaints("node A {}", after) == [("OG-S-303", "error", '"A"')]
    _, report = follow(init("node A {}"), after)
    assert report.diagnostics[0].related[0].span.start == after.index("A {}")


def test_two_properties_that_claim_the_same_old_one_are_refused():
    after = 'node A { q: I32 @rename_from("p") r: I32 @rename_from("p") }'
    assert complaints("node A { p: I32 }", after) == [("OG-S-303", "error", '"p"')]


def test_a_property_that_claims_one_that_kept_its_name_is_refused():
    after = 'node A { p: I32 q: I32 @rename_from("p") }'
    assert complaints("node A { p: I32 }", after) == [("OG-S-303", "error", '"p"')]


def test_a_property_hint_that_names_a_property_of_another_owner_is_refused():
    before = "node A { p: I32 } node B { other: I32 }"
    after = 'node A { p: I32 q: I32? @rename_from("other") } node B { other: I32 }'
    assert complaints(before, after) == [("OG-S-304", "error", '"other"')]
    _, report = follow(init(before), after)
    assert "moves across stable owners" in report.diagnostics[0].message
    assert "node type B" in report.diagnostics[0].message
    assert report.diagnostics[0].label == "expected an earlier property of A"


def test_a_property_hint_that_names_no_property_is_refused():
    after = 'node A { title: I32? q: I32? @rename_from("titel") }'
    assert complaints("node A { title: I32? }", after) == [("OG-S-301", "error", '"titel"')]
    _, report = follow(init("node A { title: I32? }"), after)
    assert report.diagnostics[0].label == 'did you mean "title"?'


def test_a_property_hint_on_a_new_owner_is_refused():
    after = 'node A { p: I32 } node New { q: I32 @rename_from("p") }'
    assert complaints("node A { p: I32 }", after) == [("OG-S-304", "error", '"p"')]
    _, report = follow(init("node A { p: I32 }"), after)
    assert "New is new" in report.diagnostics[0].help


def test_a_property_hint_on_a_new_owner_that_names_no_property_anywhere_is_refused():
    after = 'node A { p: I32 } node New { q: I32 @rename_from("ghost") }'
    assert complaints("node A { p: I32 }", after) == [("OG-S-301", "error", '"ghost"')]


def test_the_hint_of_an_interface_says_nothing_of_nodes_that_begin_to_have_the_property():
    before = "interface I { p: I32? } node A implements I {}"
    after = 'interface I { q: I32? @rename_from("p") } node A implements I {} node New implements I {}'
    schema = resolve(init(before), after)
    assert property_ids(schema)["A.q"] == property_ids(init(before))["A.p"]
    assert property_ids(schema)["New.q"] >= init(before).next_identity_id


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("interface I { p: I32? } node A implements I { q: I32? }", id="has the new name already"),
        pytest.param("interface I { p: I32? } node A implements I { p: I32? }", id="keeps the old name itself"),
    ],
)
def test_the_hint_of_an_interface_says_nothing_of_a_node_that(before):
    own = before[before.index("implements I {") :].replace("q: I32? ", "")
    after = f'interface I {{ q: I32? @rename_from("p") }} node A {own}'
    schema = resolve(init(before), after)
    assert property_ids(schema)["I.q"] == property_ids(init(before))["I.p"]


def test_a_wrong_hint_on_an_interface_property_is_told_once():
    before = "interface I { p: I32? } node A implements I {} node B implements I {}"
    after = 'interface I { q: I32? @rename_from("x") } node A implements I {} node B implements I {}'
    assert complaints(before, after) == [("OG-S-301", "error", '"x"')]


def test_a_wrong_hint_on_a_type_is_told_once_whatever_its_properties_say():
    after = 'node B @rename_from("Ghost") { q: I32 @rename_from("p") }'
    assert complaints("node A { p: I32 }", after) == [("OG-S-301", "error", '"Ghost"')]


def test_every_wrong_hint_is_told_in_one_run():
    before = "node A { p: I32 } node B { q: I32 } edge E: A -> A"
    after = """
    node A { p: I32  x: I32? @rename_from("q")  y: I32? @rename_from("nothing") }
    node C @rename_from("E") {}
    node D @rename_from("Ghost") {}
    node X @rename_from("B") { q: I32 }
    node Y @rename_from("B") { q: I32 }
    edge E: A -> A @rename_from("F")
    """
    assert complaints(before, after) == [
        ("OG-S-304", "error", '"q"'),
        ("OG-S-301", "error", '"nothing"'),
        ("OG-S-302", "error", '"E"'),
        ("OG-S-301", "error", '"Ghost"'),
        ("OG-S-303", "error", '"B"'),
        ("OG-S-305", "warning", '"F"'),
    ]


def test_a_schema_with_wrong_hints_still_gets_consistent_numbers():
    schema, report = follow(init("node A { p: I32 }"), 'node B @rename_from("Ghost") { p: I32 }')
    assert report.has_errors
    assert [*counters(type_ids(schema)).values(), *counters(property_ids(schema)).values()] == [3, 4]
    assert schema.next_identity_id == 5
