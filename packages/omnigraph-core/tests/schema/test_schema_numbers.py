"""Numbers of types, properties and tables: worked examples, branches that change a schema apart, and the bounds."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from omnigraph.errors import InvalidInputError, ResourceLimitError
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema import compile_schema
from omnigraph.schema.diff import plan_migration
from omnigraph.schema.identity import assign_identities, resolve_identities
from omnigraph.schema.ir import SchemaIR, ir_from_json, ir_to_json
from omnigraph.schema.numbers import MAX_COUNTER, number_of, random_incarnation

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
ACCEPTED = "node Film { title: String @key }"

# A number is made by hand with: x=$(printf '%s' 0/node/Film | sha256sum | cut -c1-8); echo $(((1 << 31) + (0x$x >> 1)))
FILM = 2942850754
TITLE = 6383083329
EXAMPLES = [
    (1, 0, "node", "Film", FILM),
    (2, FILM, "property", "title", TITLE),
    (3, FILM, "property", "rating", 6978966682),
    (3, FILM, "property", "budget", 8087570603),
    (1, 0, "interface", "Named", 3440889975),
    (3, 0, "edge", "Near", 7317388118),
    (4294967295, 0, "node", "Film", 9223372035502659266),
]


def follow(accepted: SchemaIR, text: str) -> SchemaIR:
    source = SourceText.of(text)
    report = Report(source)
    found = resolve_identities(compile_schema(source), accepted, report)
    assert not report.has_errors
    return found


def numbers(schema: SchemaIR) -> dict[str, int]:
    """Of every type and property by name, such as ``Film`` and ``Film.title``."""
    found = {}
    for each in (*schema.interfaces, *schema.nodes, *schema.edges):
        found[each.name] = each.type_id
        found |= {f"{each.name}.{prop.name}": prop.property_id for prop in each.properties}
    return found


def incarnations(schema: SchemaIR) -> dict[str, int]:
    return {each.name: each.table_incarnation_id for each in (*schema.nodes, *schema.edges)}


# ── worked examples ──


@pytest.mark.parametrize(("counter", "owner", "kind", "name", "expected"), EXAMPLES)
def test_a_number_is_the_counter_and_31_bits_of_sha256_over_owner_kind_and_name(counter, owner, kind, name, expected):
    assert number_of(counter, owner=owner, kind=kind, name=name) == expected


def test_a_new_schema_gets_the_numbers_of_the_worked_examples():
    assert numbers(assign_identities(compile_schema(ACCEPTED), DOMAIN)) == {"Film": FILM, "Film.title": TITLE}


# ── branches that change one schema apart ──


def test_two_branches_that_add_different_properties_give_them_different_numbers():
    accepted = assign_identities(compile_schema(ACCEPTED), DOMAIN)
    one = follow(accepted, "node Film { title: String @key  rating: F64? }")
    other = follow(accepted, "node Film { title: String @key  budget: I64? }")
    assert numbers(one)["Film.rating"] == 6978966682
    assert numbers(other)["Film.budget"] == 8087570603
    assert one.next_identity_id == other.next_identity_id


def test_two_branches_that_add_different_types_give_them_different_numbers_and_tables():
    accepted = assign_identities(compile_schema(ACCEPTED), DOMAIN)
    one = follow(accepted, ACCEPTED + "node Person { name: String @key }")
    other = follow(accepted, ACCEPTED + "node Place { name: String @key }")
    added = [each for schema in (one, other) for key, each in numbers(schema).items() if "P" in key]
    assert len(set(added)) == 4
    assert incarnations(one)["Person"] != incarnations(other)["Place"]


def test_the_same_addition_on_two_branches_gets_the_same_numbers_and_tables_of_its_own():
    accepted = assign_identities(compile_schema(ACCEPTED), DOMAIN)
    text = "node Film { title: String @key  rating: F64? } node Person { name: String @key } edge Saw: Person -> Film"
    one, other = follow(accepted, text), follow(accepted, text)
    assert numbers(one) == numbers(other)
    assert incarnations(one)["Film"] == incarnations(other)["Film"] == incarnations(accepted)["Film"]
    for name in ("Person", "Saw"):
        assert incarnations(one)[name] != incarnations(other)[name]


def test_a_rename_on_one_branch_does_not_change_the_number_of_a_property_that_both_add():
    accepted = assign_identities(compile_schema(ACCEPTED), DOMAIN)
    one = follow(follow(accepted, 'node Movie @rename_from("Film") { title: String @key }'), _WITH_RATING_ON_MOVIE)
    other = follow(accepted, "node Film { title: String @key  rating: F64? }")
    assert numbers(one)["Movie.rating"] == numbers(other)["Film.rating"]


_WITH_RATING_ON_MOVIE = "node Movie { title: String @key  rating: F64? }"


def test_two_types_that_add_a_property_of_one_name_apart_give_it_different_numbers():
    accepted = assign_identities(compile_schema(ACCEPTED + "node Person { name: String @key }"), DOMAIN)
    one = follow(accepted, "node Film { title: String @key  note: String? } node Person { name: String @key }")
    other = follow(accepted, ACCEPTED + "node Person { name: String @key  note: String? }")
    assert numbers(one)["Film.note"] != numbers(other)["Person.note"]


def test_a_node_and_an_edge_of_one_name_that_are_added_apart_get_different_numbers():
    accepted = assign_identities(compile_schema(ACCEPTED), DOMAIN)
    one = follow(accepted, ACCEPTED + "node Saw {}")
    other = follow(accepted, ACCEPTED + "edge Saw: Film -> Film")
    assert numbers(one)["Saw"] != numbers(other)["Saw"]


# ── tables ──


def test_one_text_makes_other_tables_in_every_graph_and_the_same_numbers():
    one, other = (assign_identities(compile_schema(ACCEPTED), DOMAIN) for _ in range(2))
    assert numbers(one) == numbers(other)
    assert incarnations(one) != incarnations(other)


def test_a_type_that_is_added_twice_has_another_table_each_time():
    accepted = assign_identities(compile_schema(ACCEPTED), DOMAIN)
    again = follow(follow(accepted, ""), ACCEPTED)
    assert incarnations(again)["Film"] != incarnations(accepted)["Film"]
    assert numbers(again)["Film"] > numbers(accepted)["Film.title"]


def test_random_incarnations_are_63_bits_and_never_zero():
    drawn = [random_incarnation() for _ in range(2_000)]
    assert all(1 <= each < 2**63 for each in drawn)
    assert len(set(drawn)) == len(drawn)
    # One in 2^20 would miss this if the upper bits were not used.
    assert max(drawn) > 2**62


def test_incarnations_come_from_the_source_that_is_given_in_the_order_of_the_types():
    text = ACCEPTED + "node Actor {} edge Saw: Film -> Film interface I {}"
    schema = assign_identities(compile_schema(text), DOMAIN, incarnations=count(70).__next__)
    assert incarnations(schema) == {"Actor": 70, "Film": 71, "Saw": 72}


def test_a_plan_does_not_depend_on_incarnations():
    after = ACCEPTED + "node Person { name: String @key }"
    plans = []
    for first in (5, 2**62):
        drawn = count(first).__next__
        accepted = assign_identities(compile_schema(ACCEPTED), DOMAIN, incarnations=drawn)
        desired = resolve_identities(compile_schema(after), accepted, Report(SourceText.of(after)), incarnations=drawn)
        plans.append(plan_migration(accepted, desired))
    assert plans[0] == plans[1]
    assert [each.to_dict()["kind"] for each in plans[0].steps] == ["add_type"]


# ── order ──


def test_numbers_ascend_in_the_order_in_which_they_were_given_out():
    names = [f"p{number}" for number in range(200)]
    properties = " ".join(f"{name}: I32?" for name in names)
    schema = assign_identities(compile_schema(f"node A {{ {properties} }}"), DOMAIN)
    given = [numbers(schema)[f"A.{name}"] for name in sorted(names)]
    assert given == sorted(given)
    assert [each >> 31 for each in given] == list(range(2, 202))


def test_a_composite_key_is_in_the_order_in_which_its_members_were_declared_first():
    accepted = assign_identities(compile_schema("node A { m: I32 }"), DOMAIN)
    later = follow(accepted, "node A { m: I32  a: I32  @key(a, m) }")
    assert later.nodes[0].key == ("m", "a")


# ── bounds ──


def at_the_end(left: int) -> SchemaIR:
    """A schema whose counter has so many numbers left."""
    return replace(assign_identities(compile_schema(ACCEPTED), DOMAIN), next_identity_id=MAX_COUNTER + 1 - left)


def test_the_last_number_is_below_2_to_the_63_and_the_schema_reads_back():
    last = follow(at_the_end(1), "node Film { title: String @key  rating: F64? }")
    assert numbers(last)["Film.rating"] >> 31 == MAX_COUNTER == 2**32 - 1
    assert numbers(last)["Film.rating"] < 2**63
    assert last.next_identity_id == 2**32
    assert ir_from_json(ir_to_json(last)) == last
    assert follow(last, "node Film { title: String @key  rating: F64? }") == last


def test_one_number_more_than_there_are_is_refused():
    with pytest.raises(ResourceLimitError) as caught:
        follow(at_the_end(1), "node Film { title: String @key  rating: F64?  budget: I64? }")
    assert (caught.value.resource, caught.value.limit) == ("schema_numbers", 2**32 - 1)


@pytest.mark.parametrize("counter", [0, 2**32 + 1, 2**63])
def test_a_counter_that_cannot_be_is_refused_when_it_is_read(counter):
    schema = assign_identities(compile_schema(""), DOMAIN)
    with pytest.raises(InvalidInputError) as caught:
        ir_from_json(ir_to_json(replace(schema, next_identity_id=counter)))
    assert caught.value.details["path"] == "$.next_identity_id"


@pytest.mark.parametrize("incarnation", [0, 2**63, -1])
def test_an_incarnation_that_cannot_be_is_refused_when_it_is_read(incarnation):
    schema = assign_identities(compile_schema(ACCEPTED), DOMAIN, incarnations=lambda: incarnation)
    with pytest.raises(InvalidInputError) as caught:
        ir_from_json(ir_to_json(schema))
    assert caught.value.details["path"] == "$.nodes[0].table_incarnation_id"


def test_a_number_whose_counter_is_zero_is_refused_when_it_is_read():
    schema = assign_identities(compile_schema("node A {}"), DOMAIN)
    with pytest.raises(InvalidInputError) as caught:
        ir_from_json(ir_to_json(replace(schema, nodes=(replace(schema.nodes[0], type_id=7),))))
    assert caught.value.details["path"] == "$.nodes[0].type_id"


def test_two_numbers_of_one_counter_are_read_as_a_merge_of_branches_makes_them():
    accepted = assign_identities(compile_schema(ACCEPTED), DOMAIN)
    one = follow(accepted, "node Film { title: String @key  rating: F64? }")
    other = follow(accepted, "node Film { title: String @key  budget: I64? }")
    both = {each.name: each for schema in (one, other) for each in schema.nodes[0].properties}
    merged = replace(one, nodes=(replace(one.nodes[0], properties=tuple(both[name] for name in sorted(both))),))
    assert ir_from_json(ir_to_json(merged)) == merged
