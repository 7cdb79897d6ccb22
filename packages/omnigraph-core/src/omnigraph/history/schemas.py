"""The schema of a graph as the engine uses it: text, catalog and identities in one value, and a table per type.

Stored content-addressed: ``__schema/<digest>.json`` holds everything, ``__schema/<digest>.pg`` the bare text for people
and other tools. Both are written before the publish whose ``schema`` row names the digest, and never change; so one
read of the ``.json`` opens a schema, and a snapshot of any age finds its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from omnigraph.errors import FormatError, InvalidInputError
from omnigraph.history.rows import table_location
from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema import Catalog, EdgeType, NodeType, compile_schema
from omnigraph.schema.identity import assign_identities, resolve_identities
from omnigraph.schema.ir import EdgeIR, NodeIR, SchemaIR, ir_from_json, ir_hash
from omnigraph.schema.numbers import Incarnations, random_incarnation
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.tables.arrow_schema import edge_schema, node_schema

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_FORMAT: Final = 1
SCHEMA_PREFIX: Final = "__schema"


@dataclass(frozen=True, kw_only=True)
class TypeTable:
    """One node or edge type and the table that holds its rows.

    Attributes:
        type: what the schema says: properties and constraints.
        ir: the identities behind it.
    """

    kind: Literal["node", "edge"]
    name: str
    type: NodeType | EdgeType
    ir: NodeIR | EdgeIR

    @property
    def key(self) -> str:
        """The name of the table in manifests and messages to programs: ``node:Film``."""
        return f"{self.kind}:{self.name}"

    @property
    def identity(self) -> tuple[int, int]:
        """Stable table id and incarnation: what stays when the type is renamed."""
        return self.ir.type_id, self.ir.table_incarnation_id

    @property
    def location(self) -> str:
        """The key of the table below the graph's root; made of identities, so a rename moves nothing."""
        return table_location(self.kind, self.identity)

    @cached_property
    def schema(self) -> pa.Schema:
        """The logical Arrow schema: ``id`` (and ``src``, ``dst``), then properties by name."""
        return node_schema(self.ir) if isinstance(self.ir, NodeIR) else edge_schema(self.ir)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The columns that make the id, in the order of their stable property ids; empty where ids are minted."""
        return self.ir.key if isinstance(self.ir, NodeIR) else ()


@dataclass(frozen=True, kw_only=True)
class GraphSchema:
    """A schema that a graph accepted.

    Attributes:
        source: the text as the user wrote it.
        digest: names the schema with its identities; hex digits of SHA-256.
    """

    source: str
    catalog: Catalog
    ir: SchemaIR
    digest: str

    @classmethod
    def new(cls, source: str, domain: str, *, incarnations: Incarnations = random_incarnation) -> GraphSchema:
        """The schema of a graph that is being made.

        Raises:
            CompileError: the text is wrong.
        """
        catalog = compile_schema(source)
        return cls.of(source, catalog, assign_identities(catalog, domain, incarnations=incarnations))

    @classmethod
    def of(cls, source: str, catalog: Catalog, ir: SchemaIR) -> GraphSchema:
        return cls(source=source, catalog=catalog, ir=ir, digest=ir_hash(ir).removeprefix("sha256:"))

    def __reduce__(self) -> tuple[Any, ...]:
        # What is cached is made anew where it is needed.
        return GraphSchema.of, (self.source, self.catalog, self.ir)

    @cached_property
    def tables(self) -> Mapping[str, TypeTable]:
        """Every type by table key, edges first, each by name: the order of exports."""
        edges = (TypeTable(kind="edge", name=ir.name, type=self.catalog.edges[ir.name], ir=ir) for ir in self.ir.edges)
        nodes = (TypeTable(kind="node", name=ir.name, type=self.catalog.nodes[ir.name], ir=ir) for ir in self.ir.nodes)
        return MappingProxyType({each.key: each for each in sorted((*edges, *nodes), key=lambda each: each.key)})

    def node(self, name: str) -> TypeTable:
        return self.tables[f"node:{name}"]

    def edge(self, name: str) -> TypeTable:
        return self.tables[f"edge:{name}"]


def schema_key(adapter: StorageAdapter, digest: str, suffix: str = ".json") -> ObjectKey:
    """The object that holds a schema."""
    return adapter.key(f"{SCHEMA_PREFIX}/{digest}{suffix}")


def write_schema(adapter: StorageAdapter, schema: GraphSchema) -> None:
    """Store a schema under its digest; repeating it changes nothing."""
    document = {"format": SCHEMA_FORMAT, "source": schema.source, "ir": schema.ir.to_dict()}
    text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
    adapter.write_if_absent(schema_key(adapter, schema.digest, ".pg"), schema.source.encode())
    adapter.write_if_absent(schema_key(adapter, schema.digest), text.encode())


def read_schema(adapter: StorageAdapter, digest: str) -> GraphSchema:
    """The schema that a manifest names.

    Raises:
        FormatError: the object is missing or is not what its name says.
        StorageError: it could not be read.
    """
    key = schema_key(adapter, digest)
    data = adapter.read_if_exists(key)
    if data is None:
        raise _damaged(adapter, key, "it is missing")
    try:
        document: dict[str, Any] = json.loads(data)
        if document["format"] != SCHEMA_FORMAT:
            raise _damaged(adapter, key, f"its format is {document['format']!r}, not {SCHEMA_FORMAT}")
        ir = ir_from_json(json.dumps(document["ir"]))
        schema = GraphSchema.of(document["source"], compile_schema(document["source"]), ir)
    except (ValueError, KeyError, TypeError, AttributeError, InvalidInputError) as error:
        raise _damaged(adapter, key, f"it cannot be read ({error})") from error
    if schema.digest != digest:
        raise _damaged(adapter, key, "its content is another schema")
    # The digest is over identities, not over the text; the rules come from the text.
    if resolve_identities(schema.catalog, ir, Report(SourceText.of(schema.source, "<schema>"))) != ir:
        raise _damaged(adapter, key, "its text is another schema")
    return schema


def _damaged(adapter: StorageAdapter, key: ObjectKey, why: str) -> FormatError:
    return FormatError(
        f"The schema object {adapter.uri(key)} is damaged: {why}.",
        help="Restore it from a copy of the graph; it never changes once it is written.",
        details={"uri": adapter.uri(key)},
    )
