"""Schemas with identities as text: pretty JSON to store, the way back, and the hash that names one.

The types themselves are re-exported from ``ir_types``. ``SchemaState`` is the small object beside the two texts that
says which source and which identities belong together.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.schema.catalog import Catalog
from omnigraph.schema.ir_reading import read_domain, read_schema_ir
from omnigraph.schema.ir_types import (
    KINDS,
    CheckConstraint,
    ColumnsConstraint,
    ConstraintIR,
    EdgeIR,
    EmbedIR,
    FieldReference,
    InterfaceIR,
    NodeIR,
    PropertyIR,
    PropertyReference,
    RangeConstraint,
    SchemaIR,
    SystemField,
    TypeIR,
    TypeKind,
    TypeReference,
)
from omnigraph.schema.shape import hash_of, shape_hash
from omnigraph.schema.strict_json import Place, read_json

__all__ = [
    "KINDS",
    "CheckConstraint",
    "ColumnsConstraint",
    "ConstraintIR",
    "EdgeIR",
    "EmbedIR",
    "FieldReference",
    "InterfaceIR",
    "NodeIR",
    "PropertyIR",
    "PropertyReference",
    "RangeConstraint",
    "SchemaIR",
    "SchemaState",
    "SystemField",
    "TypeIR",
    "TypeKind",
    "TypeReference",
    "ir_from_json",
    "ir_hash",
    "ir_to_json",
]

STATE_FORMAT_VERSION: Final = 2
IDENTITY_VERSION: Final = 2


def ir_to_json(schema: SchemaIR) -> str:
    """The stored form: indented, text unescaped."""
    return json.dumps(schema.to_dict(), ensure_ascii=False, indent=2, allow_nan=False)


def ir_from_json(text: str) -> SchemaIR:
    """The schema whose ``ir_to_json`` this is.

    Raises:
        InvalidInputError: the text is no JSON, not this form, or its numbers contradict each other; the message has
            the path and what was expected there.
    """
    return read_schema_ir(text)


def ir_hash(schema: SchemaIR) -> str:
    """The hash over the compact form; indentation of a stored text plays no part."""
    return hash_of(schema.to_dict())


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaState:
    """Which shape and which identities a graph accepted.

    Attributes:
        shape_hash: of the catalog that the source text compiles to.
        ir_hash: of the schema with identities.
        domain: that of the identities.
    """

    shape_hash: str
    ir_hash: str
    domain: str

    @classmethod
    def of(cls, catalog: Catalog, schema: SchemaIR) -> SchemaState:
        """The state of a schema that was accepted under these identities."""
        return cls(shape_hash=shape_hash(catalog), ir_hash=ir_hash(schema), domain=schema.domain)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format_version": STATE_FORMAT_VERSION,
            "schema_shape_hash": self.shape_hash,
            "schema_ir_hash": self.ir_hash,
            "schema_identity_version": IDENTITY_VERSION,
            "schema_identity_domain": self.domain,
        }

    @classmethod
    def from_json(cls, text: str) -> SchemaState:
        """The state whose ``to_dict`` a JSON text holds.

        Raises:
            InvalidInputError: the text is no JSON or not this form.
        """
        fields = read_json("schema state", text).fields(
            *("format_version", "schema_shape_hash", "schema_ir_hash", "schema_identity_version"),
            "schema_identity_domain",
        )
        fields["format_version"].exactly(STATE_FORMAT_VERSION)
        fields["schema_identity_version"].exactly(IDENTITY_VERSION)
        return cls(
            shape_hash=_hash(fields["schema_shape_hash"]),
            ir_hash=_hash(fields["schema_ir_hash"]),
            domain=read_domain(fields["schema_identity_domain"]),
        )


def _hash(place: Place) -> str:
    kind, _, digits = place.text().partition(":")
    if kind != "sha256" or len(digits) != 64 or set(digits) - set("0123456789abcdef"):
        place.fail('"sha256:" and 64 lower-case hex digits')
    return str(place.value)
