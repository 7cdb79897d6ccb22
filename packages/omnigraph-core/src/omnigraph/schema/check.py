"""The check of the schema language: from what is written to a ``Catalog``, with everything that is wrong in a report.

Interfaces come first, because nodes take over their properties; then nodes; then edges, whose ends are nodes. Nothing
is raised. What could not be read is taken to be right, so that one mistake is told once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

from omnigraph.lang.codes import Code
from omnigraph.lang.diagnostics import Related, Report, did_you_mean, is_slip, listed
from omnigraph.lang.source import Name
from omnigraph.schema import ast
from omnigraph.schema.catalog import Cardinality, Catalog, EdgeType, InterfaceType, NodeType, Property
from omnigraph.schema.check_annotations import check_type_annotations
from omnigraph.schema.check_constraints import Scope, check_constraints
from omnigraph.schema.check_properties import Interface, Members, check_embeds, check_properties, inject
from omnigraph.schema.check_unknown import warn_of_unknown

_Type = TypeVar("_Type", InterfaceType, NodeType, EdgeType)


def check_schema(schema: ast.Schema, report: Report) -> Catalog:
    """The catalog of a schema, which means something only if the report ends without errors."""
    interfaces = [each for each in schema.declarations if isinstance(each, ast.Interface)]
    nodes = [each for each in schema.declarations if isinstance(each, ast.Node)]
    edges = [each for each in schema.declarations if isinstance(each, ast.Edge)]
    _check_names("interface", interfaces, report)
    _check_names("node type", nodes, report)
    _check_names("edge", edges, report)
    _check_case_folding(edges, report)

    by_interface: dict[str, Interface] = {}
    for interface in interfaces:
        members = check_properties("interface", interface.name, interface.properties, report)
        by_interface.setdefault(
            interface.name.text, Interface(name=interface.name, members=members, is_whole=interface.is_whole)
        )
    node_types = [_check_node(each, by_interface, report, is_whole=schema.is_whole) for each in nodes]
    names = {each.name for each in node_types}
    for edge in edges:
        for end, word in (("source", edge.source), ("target", edge.target)):
            if schema.is_whole or is_slip(word.text, names):
                _check_endpoint(end, edge, word, names, by_interface, report)
    edge_types = [_check_edge(each, report) for each in edges]
    warn_of_unknown(schema, report)
    return Catalog(
        interfaces=_by_name(
            InterfaceType(name=each.name.text, properties=_properties(each.members), span=each.name.span)
            for each in by_interface.values()
        ),
        nodes=_by_name(node_types),
        edges=_by_name(edge_types),
    )


def _check_names(
    kind: str, declarations: Iterable[ast.Interface] | Iterable[ast.Node] | Iterable[ast.Edge], report: Report
) -> None:
    """Names are there once for each kind; a node and an edge may share one."""
    first: dict[str, Name] = {}
    for each in declarations:
        before = first.setdefault(each.name.text, each.name)
        if before is not each.name:
            report.add(
                Code.DUPLICATE_TYPE,
                each.name.span,
                f"the {kind} {each.name} is declared twice",
                label="declared again here",
                related=(Related(span=before.span, label="first declared here"),),
            )


def _check_node(node: ast.Node, interfaces: Mapping[str, Interface], report: Report, *, is_whole: bool) -> NodeType:
    facts = check_type_annotations("node", node, report)
    members = check_properties("node", node.name, node.properties, report)
    is_complete = inject(node, members, interfaces, report, is_whole=is_whole)
    check_embeds(node.name, members, report, is_complete=is_complete)
    scope = Scope(kind="node", owner=node.name, members=members, is_complete=is_complete, report=report)
    return NodeType(
        name=node.name.text,
        properties=_properties(members),
        annotations=facts.annotations,
        implements=tuple(sorted({each.text for each in node.implements})),
        constraints=check_constraints(scope, node.constraints),
        rename_from=facts.rename_from,
        rename_span=facts.rename_span,
        span=node.name.span,
    )


def _check_edge(edge: ast.Edge, report: Report) -> EdgeType:
    facts = check_type_annotations("edge", edge, report)
    members = check_properties("edge", edge.name, edge.properties, report)
    scope = Scope(kind="edge", owner=edge.name, members=members, is_complete=edge.is_whole, report=report)
    return EdgeType(
        name=edge.name.text,
        source=edge.source.text,
        target=edge.target.text,
        properties=_properties(members),
        cardinality=_check_cardinality(edge, report),
        annotations=facts.annotations,
        constraints=check_constraints(scope, edge.constraints),
        rename_from=facts.rename_from,
        rename_span=facts.rename_span,
        span=edge.name.span,
    )


def _check_cardinality(edge: ast.Edge, report: Report) -> Cardinality:
    written = edge.cardinality
    if written is None:
        return Cardinality()
    if written.maximum is not None and written.minimum > written.maximum:
        report.add(
            Code.BAD_CARDINALITY,
            written.span,
            f"@card of {edge.name} asks for at least {written.minimum} and at most {written.maximum} edges",
            label="expected the smaller number first",
        )
    return Cardinality(minimum=written.minimum, maximum=written.maximum)


def _check_endpoint(
    end: str,
    edge: ast.Edge,
    word: Name,
    nodes: Collection[str],
    interfaces: Mapping[str, Interface],
    report: Report,
) -> None:
    """An end of an edge must be a node type; an empty word is one that could not be read."""
    if not word.text or word.text in nodes:
        return
    if word.text in interfaces:
        label = "this is an interface"
        help = "An edge connects node types; name one that implements the interface."
    else:
        label = did_you_mean(word.text, nodes) or "not declared"
        help = f"The node types are: {listed(nodes)}."
    report.add(
        Code.UNKNOWN_ENDPOINT,
        word.span,
        f'unknown {end} type "{word}" of the edge {edge.name}',
        label=label,
        help=help,
    )


def _check_case_folding(edges: Iterable[ast.Edge], report: Report) -> None:
    """Queries name edges in lower case, so no two may differ in case only."""
    first: dict[str, Name] = {}
    for edge in edges:
        before = first.setdefault(edge.name.text.lower(), edge.name)
        if before != edge.name:
            report.add(
                Code.EDGE_CASE_FOLDING,
                edge.name.span,
                f"the edges {before} and {edge.name} are the same after case folding",
                label="queries could not tell them apart",
                related=(Related(span=before.span, label="first declared here"),),
            )


def _properties(members: Members) -> tuple[Property, ...]:
    return tuple(members[name].property for name in sorted(members))


def _by_name(types: Iterable[_Type]) -> Mapping[str, _Type]:
    """In ascending order; of a name that is declared twice, which is reported, one counts."""
    return MappingProxyType({each.name: each for each in sorted(types, key=lambda each: each.name)})
