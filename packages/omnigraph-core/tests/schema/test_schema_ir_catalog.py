"""A catalog from a stored schema is the one that the compiler made of its text, and needs no compiler."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from schema_texts import schema_texts
from test_schema_diff_model import histories

from omnigraph.errors import CompileError
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema import Catalog, compile_schema
from omnigraph.schema.identity import assign_identities, resolve_identities
from omnigraph.schema.ir import SchemaIR, ir_from_json, ir_to_json
from omnigraph.schema.ir_catalog import catalog_from_ir
from omnigraph.schema.shape import compact_json, shape_of

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
CASES = sorted((Path(__file__).parent.parent / "cases" / "schema").glob("*.pg"))


def without_hints(catalog: Catalog) -> Catalog:
    """The catalog without ``@rename_from``, which is for the plan that it is written for and never stored."""

    def plain(each):
        properties = tuple(replace(prop, rename_from=None) for prop in each.properties)
        return replace(each, properties=properties, rename_from=None)

    return Catalog(
        interfaces={
            name: replace(each, properties=tuple(replace(prop, rename_from=None) for prop in each.properties))
            for name, each in catalog.interfaces.items()
        },
        nodes={name: plain(each) for name, each in catalog.nodes.items()},
        edges={name: plain(each) for name, each in catalog.edges.items()},
    )


def check_same(found: Catalog, compiled: Catalog) -> None:
    compiled = without_hints(compiled)
    for mine, its in (
        (found.interfaces, compiled.interfaces),
        (found.nodes, compiled.nodes),
        (found.edges, compiled.edges),
    ):
        assert list(mine) == list(its)
        for name, each in its.items():
            assert mine[name] == each
            assert list(mine[name].by_name) == list(each.by_name)
    # For Python 1, 1.0 and True are equal; in this text they are not.
    assert compact_json(shape_of(found)) == compact_json(shape_of(compiled))
    for edge in compiled.edges:
        assert found.find_edge(edge.upper()) == compiled.find_edge(edge.upper())


def read_back(ir: SchemaIR) -> Catalog:
    return catalog_from_ir(ir_from_json(ir_to_json(ir)))


@settings(max_examples=150)
@given(schema_texts())
def test_the_catalog_of_a_stored_schema_is_the_one_that_its_text_compiles_to(text: str):
    try:
        compiled = compile_schema(text)
    except CompileError:
        assume(False)
    check_same(read_back(assign_identities(compiled, DOMAIN)), compiled)


@settings(max_examples=50)
@given(histories())
def test_after_renames_drops_and_additions_it_is_still_the_one_that_the_text_compiles_to(history):
    before, after = history
    try:
        first, second = compile_schema(before), compile_schema(after)
    except CompileError:
        assume(False)
    report = Report(SourceText.of(after))
    ir = resolve_identities(second, assign_identities(first, DOMAIN), report)
    assume(not report.has_errors)
    check_same(read_back(ir), second)


@pytest.mark.parametrize(
    "path", [each for each in CASES if not each.name.startswith("errors_")], ids=lambda path: path.name
)
def test_the_catalog_of_a_whole_file_is_the_one_that_its_text_compiles_to(path: Path):
    compiled = compile_schema(path.read_text("utf-8"))
    check_same(read_back(assign_identities(compiled, DOMAIN)), compiled)


def test_constraint_columns_are_in_ascending_order_whatever_the_order_of_their_numbers():
    source = 'node A { z: I32 @rename_from("a") b: I32  @key(z, b) }'
    accepted = assign_identities(compile_schema("node A { a: I32 b: I32 @key(a, b) }"), DOMAIN)
    ir = resolve_identities(compile_schema(source), accepted, Report(SourceText.of(source)))
    assert ir.nodes[0].key == ("z", "b")
    assert catalog_from_ir(ir).nodes["A"].key == ("b", "z")
    check_same(catalog_from_ir(ir), compile_schema(source))


def test_interfaces_are_in_ascending_order_of_name_whatever_the_order_of_their_numbers():
    accepted = assign_identities(compile_schema("interface M { p: I32 }"), DOMAIN)
    source = "interface M { p: I32 } interface B { p: I32 } node C implements M, B {}"
    ir = resolve_identities(compile_schema(source), accepted, Report(SourceText.of(source)))
    assert [each.type_name for each in ir.nodes[0].implements] == ["M", "B"]
    node = catalog_from_ir(ir).nodes["C"]
    assert node.implements == ("B", "M")
    assert node.by_name["p"].satisfies == (("B", "p"), ("M", "p"))
    check_same(catalog_from_ir(ir), compile_schema(source))


def test_a_catalog_of_a_stored_schema_pickles_and_never_changes():
    ir = assign_identities(compile_schema("node A { s: String @key }"), DOMAIN, incarnations=count(1).__next__)
    catalog = catalog_from_ir(ir)
    assert pickle.loads(pickle.dumps(catalog)) == catalog
    with pytest.raises(TypeError):
        catalog.nodes["B"] = catalog.nodes["A"]
