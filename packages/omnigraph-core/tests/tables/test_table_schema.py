"""The Arrow schema of a node or edge type, and that Lance stores it as it is."""

from __future__ import annotations

import pyarrow as pa
import pytest

from omnigraph.schema.compile import compile_schema
from omnigraph.schema.identity import assign_identities
from omnigraph.tables.arrow_schema import edge_schema, logical_schema, node_schema, physical_schema

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"

EVERYTHING = """
node Thing {
    zip: String @key
    aBig: I64
    a_bool: Bool?
    b_i32: I32
    c_u32: U32?
    d_u64: U64
    e_f32: F32?
    f_f64: F64
    g_date: Date?
    h_when: DateTime
    i_vector: Vector(3)?
    j_tags: [String]?
    k_kind: enum(two, one)
    l_photo: Blob?
    m_scan: Blob
    n_days: [Date]
}
edge Knows: Thing -> Thing {
    since: Date?
    by: String
}
"""


@pytest.fixture(scope="module")
def ir():
    return assign_identities(compile_schema(EVERYTHING), DOMAIN)


def item(kind: pa.DataType) -> pa.Field:
    return pa.field("item", kind, nullable=True)


# language.md 2.2 and 3.1: upper case sorts before lower case, byte by byte.
THING = {
    "id": (pa.string(), False),
    "aBig": (pa.int64(), False),
    "a_bool": (pa.bool_(), True),
    "b_i32": (pa.int32(), False),
    "c_u32": (pa.uint32(), True),
    "d_u64": (pa.uint64(), False),
    "e_f32": (pa.float32(), True),
    "f_f64": (pa.float64(), False),
    "g_date": (pa.date32(), True),
    "h_when": (pa.date64(), False),
    "i_vector": (pa.list_(item(pa.float32()), 3), True),
    "j_tags": (pa.list_(item(pa.string())), True),
    "k_kind": (pa.string(), False),
    "l_photo": (pa.large_binary(), True),
    "m_scan": (pa.large_binary(), False),
    "n_days": (pa.list_(item(pa.date32())), False),
    "zip": (pa.string(), False),
}


def test_a_node_has_its_id_and_then_its_properties_by_name(ir):
    made = node_schema(ir.nodes[0])
    assert {each.name: (each.type, each.nullable) for each in made} == THING
    assert made.names == list(THING)


def test_an_edge_has_its_ends_before_its_properties(ir):
    made = edge_schema(ir.edges[0])
    assert [(each.name, each.type, each.nullable) for each in made] == [
        ("id", pa.string(), False),
        ("src", pa.string(), False),
        ("dst", pa.string(), False),
        ("by", pa.string(), False),
        ("since", pa.date32(), True),
    ]


def test_each_property_carries_its_number_and_a_blob_its_mark(ir):
    node = ir.nodes[0]
    numbers = {each.name: str(each.property_id).encode() for each in node.properties}
    made = node_schema(node)
    assert made.field("id").metadata is None
    for name in made.names[1:]:
        metadata = made.field(name).metadata
        assert metadata[b"omnigraph.stable_property_id"] == numbers[name]
        assert (b"omnigraph.blob" in metadata) == (name in ("l_photo", "m_scan"))


def test_only_blobs_are_stored_in_another_form(ir):
    made = node_schema(ir.nodes[0])
    stored = physical_schema(made)
    changed = [each.name for each in made if not stored.field(each.name).equals(each, check_metadata=True)]
    assert changed == ["l_photo", "m_scan"]
    assert logical_schema(stored).equals(made, check_metadata=True)


def test_lance_gives_back_the_schema_that_was_given(ir, tables):
    for made in (node_schema(ir.nodes[0]), edge_schema(ir.edges[0])):
        handle = tables.commit_create(tables.stage_create(f"nodes/{len(made)}", made))
        assert tables.schema(handle).equals(made, check_metadata=True)
        assert tables.read(handle).schema.equals(made, check_metadata=True)


def test_every_type_comes_back_as_it_was_written(ir, tables):
    made = node_schema(ir.nodes[0])
    values = [
        {
            "id": "one", "aBig": -(2**63), "a_bool": True, "b_i32": 2**31 - 1, "c_u32": 2**32 - 1, "d_u64": 2**64 - 1,
            "e_f32": 0.5, "f_f64": 1e-300, "g_date": -719162, "h_when": 253402300799999, "i_vector": [1.0, -2.5, 0.0],
            "j_tags": ["a", None, ""], "k_kind": "one", "l_photo": b"\x00\xff", "m_scan": b"", "n_days": [], "zip": "é",
        },
        {
            "id": "two", "aBig": 2**63 - 1, "a_bool": None, "b_i32": -(2**31), "c_u32": None, "d_u64": 0,
            "e_f32": None, "f_f64": -0.0, "g_date": None, "h_when": -1, "i_vector": None,
            "j_tags": None, "k_kind": "two", "l_photo": None, "m_scan": b"x" * 100_000, "n_days": [0, None], "zip": "",
        },
    ]  # fmt: skip
    given = pa.table([pa.array([row[each.name] for row in values], each.type) for each in made], schema=made)
    handle = tables.commit_create(tables.stage_create("nodes/thing", made, given))
    again = tables.commit_exact(handle, [tables.stage_upsert(handle, given)])
    found = tables.read(again, order_by_id=True).read_all()
    assert found.schema.equals(made, check_metadata=True)
    assert found.equals(given)
