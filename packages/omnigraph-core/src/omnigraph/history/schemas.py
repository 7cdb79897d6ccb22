"""The schema of a graph as the engine uses it: text, catalog and identities in one value, and a table per type.

Stored content-addressed: ``__schema/<digest>.json`` holds everything, ``__schema/<digest>.pg`` the bare text for people
and other tools. Both are written before the publish whose ``schema`` row names the digest, and never change; so one
read of the ``.json`` opens a schema, and a snapshot of any age finds its own.

The digest is the SHA-256 of the ``.json``, byte for byte. So damage is seen before anything is parsed, ``sha256sum``
finds it too, the text is as safe as the identities, and members that a later release adds are covered. What is opened
are the identities. The text was compiled when it was accepted and is never compiled again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

from omnigraph.errors import FormatError, InvalidInputError, ResourceLimitError
from omnigraph.history.rows import table_location
from omnigraph.schema import Catalog, EdgeType, NodeType, compile_schema
from omnigraph.schema.identity import assign_identities
from omnigraph.schema.ir import EdgeIR, NodeIR, SchemaIR
from omnigraph.schema.ir_catalog import catalog_from_ir
from omnigraph.schema.ir_reading import DOCUMENT, read_ir_at
from omnigraph.schema.numbers import Incarnations, random_incarnation
from omnigraph.schema.strict_json import Place, read_json
from omnigraph.storage import MAX_OBJECT_BYTES, ObjectKey, StorageAdapter
from omnigraph.tables.arrow_schema import edge_schema, node_schema

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_FORMAT: Final = 2
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
        document: the object that holds it, byte for byte; a later release may have written more than is read here.
        source: the text as the user wrote it, for people; it is never compiled again.
        digest: names the schema with its text and its identities: the SHA-256 of the document, as hex digits.
    """

    document: bytes = field(repr=False)
    source: str
    ir: SchemaIR
    digest: str

    @classmethod
    def new(cls, source: str, domain: str, *, incarnations: Incarnations = random_incarnation) -> GraphSchema:
        """The schema of a graph that is being made.

        Raises:
            CompileError: the text is wrong.
            ResourceLimitError: ``storage_object_bytes``, it is too large to be stored.
        """
        return cls.of(source, assign_identities(compile_schema(source), domain, incarnations=incarnations))

    @classmethod
    def of(cls, source: str, ir: SchemaIR) -> GraphSchema:
        """The schema of a text that was compiled and of the identities that it got.

        Raises:
            ResourceLimitError: ``storage_object_bytes``, it is too large to be stored.
        """
        facts = {"format": SCHEMA_FORMAT, "source": source, "ir": ir.to_dict()}
        document = json.dumps(facts, ensure_ascii=False, indent=1, allow_nan=False).encode()
        if len(document) > MAX_OBJECT_BYTES:
            raise ResourceLimitError(
                f"The schema takes {len(document)} bytes when it is stored, and at most {MAX_OBJECT_BYTES} can be.",
                resource="storage_object_bytes",
                limit=MAX_OBJECT_BYTES,
                actual=len(document),
                help="Nothing was written. Declare fewer types and properties, or shorten comments and descriptions.",
            )
        return cls(document=document, source=source, ir=ir, digest=_digest(document))

    @classmethod
    def stored(cls, document: bytes) -> GraphSchema:
        """The schema that an object holds.

        Raises:
            InvalidInputError: it is no schema; the message has what was expected.
        """
        root = read_json("schema object", _decoded(document))
        root.field("format").exactly(SCHEMA_FORMAT)
        fields = root.fields("source", "ir")
        source = fields["source"].optional_text()
        if source is None:
            fields["source"].fail("a text")
        ir = read_ir_at(Place(DOCUMENT, fields["ir"].value))
        return cls(document=document, source=source, ir=ir, digest=_digest(document))

    def __reduce__(self) -> tuple[Any, ...]:
        # What the document says, and what is cached, is made anew where it is needed.
        return GraphSchema.stored, (self.document,)

    @cached_property
    def catalog(self) -> Catalog:
        """What queries, loads and migrations read, made of the identities."""
        return catalog_from_ir(self.ir)

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
    adapter.write_if_absent(schema_key(adapter, schema.digest, ".pg"), schema.source.encode())
    adapter.write_if_absent(schema_key(adapter, schema.digest), schema.document)


def read_schema(adapter: StorageAdapter, digest: str) -> GraphSchema:
    """The schema that a manifest names, as it was stored; its text is not compiled.

    Raises:
        FormatError: the object is missing or is not what its name says.
        StorageError: it could not be read.
    """
    key = schema_key(adapter, digest)
    try:
        data = adapter.read_if_exists(key)
    except ResourceLimitError as error:
        raise _damaged(adapter, key, f"it is larger than {error.limit} bytes") from error
    if data is None:
        raise _damaged(adapter, key, "it is missing")
    if _digest(data) != digest:
        raise _damaged(adapter, key, f"its content has another SHA-256 than its name says, {_digest(data)}")
    try:
        return GraphSchema.stored(data)
    except InvalidInputError as error:
        raise _damaged(adapter, key, f"it cannot be read ({error.message})") from error


def _digest(document: bytes) -> str:
    return hashlib.sha256(document).hexdigest()


def _decoded(document: bytes) -> str:
    try:
        return document.decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"The schema object is not UTF-8: {error.reason} at byte {error.start}.") from error


def _damaged(adapter: StorageAdapter, key: ObjectKey, why: str) -> FormatError:
    return FormatError(
        f"The schema object {adapter.uri(key)} is damaged: {why}.",
        help="Restore it from a copy of the graph; it never changes once it is written.",
        details={"uri": adapter.uri(key)},
    )
