"""Which indexes a type is to have."""

from __future__ import annotations

from omnigraph.history.declared_indexes import declared_indexes, unbuilt_indexes
from omnigraph.history.schemas import GraphSchema

SCHEMA = """
node Film {
    code: String @key
    title: String @index
    genre: enum(docu, drama) @index
    stars: F32? @index
    seen: U64? @index
    on: Date? @index
    at: DateTime? @index
    good: Bool? @index
    mood: Vector(4)? @index
    tags: [String]?
    plot: String?
}
node Pair { a: String  b: I64  @key(a, b) }
edge Rented: Film -> Pair { on: Date? }
edge Owned: Film -> Pair {
    on: DateTime? @index  price: U64? @index  word: String? @index  tags: [I32]?
    @index(dst, on)  @index(src)  @index(tags)
}
"""


def kinds(key: str) -> set[tuple[str, str]]:
    schema = GraphSchema.new(SCHEMA, "01KA7X3J8Q0000000000000000")
    return {(each.column, each.kind) for each in declared_indexes(schema.tables[key])}


def test_a_node_type_has_its_id_and_every_declared_property_by_its_kind() -> None:
    assert kinds("node:Film") == {
        ("id", "btree"),
        ("code", "btree"),
        ("code", "inverted"),
        ("title", "btree"),
        ("title", "inverted"),
        ("genre", "btree"),
        ("stars", "btree"),
        ("seen", "btree"),
        ("on", "btree"),
        ("at", "btree"),
        ("good", "btree"),
        ("mood", "vector"),
    }


def test_a_key_of_several_properties_makes_no_index_but_that_of_the_id() -> None:
    assert kinds("node:Pair") == {("id", "btree")}


def test_an_edge_type_has_its_id_and_its_ends() -> None:
    assert kinds("edge:Rented") == {("id", "btree"), ("src", "btree"), ("dst", "btree")}


def test_an_edge_type_has_what_its_properties_declare_too() -> None:
    ends = {("id", "btree"), ("src", "btree"), ("dst", "btree")}
    assert kinds("edge:Owned") - ends == {
        ("on", "btree"),
        ("price", "btree"),
        ("word", "btree"),
        ("word", "inverted"),
    }


def test_an_index_on_several_properties_or_a_list_is_told_as_never_built() -> None:
    schema = GraphSchema.new(SCHEMA, "01KA7X3J8Q0000000000000000")
    assert [(each.property, each.kind) for each in unbuilt_indexes(schema.tables["edge:Owned"])] == [
        ("dst, on", "composite"),
        ("tags", "btree"),
    ]
    assert unbuilt_indexes(schema.tables["node:Pair"]) == ()


def test_names_are_unique_within_a_type_and_survive_a_rename() -> None:
    schema = GraphSchema.new(SCHEMA, "01KA7X3J8Q0000000000000000")
    specs = declared_indexes(schema.tables["node:Film"])
    assert len({each.name for each in specs}) == len(specs)
    title = next(each for each in schema.node("Film").ir.properties if each.name == "title")
    assert f"p{title.property_id}_btree" in {each.name for each in specs}
