"""Every code that a diagnostic can carry, with its area and one line on what it means.

Append-only: a code that was published keeps its meaning. ``T1`` to ``T24``, ``Q000``, ``L201``, ``OG-MF-*`` and
``OG-DS-*`` are the codes of the Rust original. ``docs/reference/errors.md`` lists the same codes; a test compares
both ways.

    OG-L-*   lexical rules and what the two languages share     OG-S-*   the schema language
    OG-Q-*   the query language, where the original has no T code   OG-MF-*  a schema change that is not supported
    OG-DS-*  a schema change that drops something
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Area(StrEnum):
    """Which step refused; the first word of the one-line form of a diagnostic."""

    PARSE = "parse"
    CATALOG = "catalog"
    TYPE = "type"
    LINT = "lint"
    MIGRATION = "migration"


class Severity(StrEnum):
    """How much it matters, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Code(StrEnum):
    """A stable code. ``area`` and ``severity`` follow from it, ``meaning`` is its line in the docs."""

    area: Area
    meaning: str
    severity: Severity

    def __new__(cls, value: str, area: Area, meaning: str, severity: Severity = Severity.ERROR) -> Self:
        """A code with what follows from it."""
        code = str.__new__(cls, value)
        code._value_ = value
        code.area = area
        code.meaning = meaning
        code.severity = severity
        return code

    # ── both languages ──
    NOT_UTF8 = "OG-L-001", Area.PARSE, "the text is not UTF-8, or holds half of a surrogate pair"
    UNEXPECTED_CHARACTER = "OG-L-002", Area.PARSE, "a character that starts no token"
    UNCLOSED_COMMENT = "OG-L-003", Area.PARSE, "a `/*` without its `*/`"
    UNCLOSED_STRING = "OG-L-004", Area.PARSE, "a string without its closing quote"
    UNSUPPORTED_ESCAPE = "OG-L-005", Area.PARSE, 'an escape other than `\\"`, `\\\\`, `\\n`, `\\r`, `\\t`'
    NUMBER_OUT_OF_RANGE = (
        "OG-L-006",
        Area.PARSE,
        "an integer above the largest (the label says which), or a float that is not finite",
    )
    UNEXPECTED_TOKEN = "OG-L-007", Area.PARSE, "something else was expected at this place"
    TOO_DEEP = "OG-L-008", Area.PARSE, "nested deeper than 64 levels"
    TOO_MANY_ERRORS = "OG-L-009", Area.PARSE, "100 errors were found; the rest of the text was not read"
    BAD_VECTOR_DIMENSION = "OG-L-010", Area.PARSE, "a vector dimension outside 1 to 2147483647"
    UNKNOWN_SCALAR = "OG-L-011", Area.PARSE, "a type name that is none of the scalar types"

    # ── schema language: declarations ──
    DUPLICATE_TYPE = "OG-S-101", Area.CATALOG, "two nodes, two edges or two interfaces with one name"
    DUPLICATE_PROPERTY = "OG-S-102", Area.CATALOG, "a property declared twice in one owner"
    UNKNOWN_ENDPOINT = "OG-S-103", Area.CATALOG, "an edge endpoint that is not a node type"
    EDGE_CASE_FOLDING = "OG-S-104", Area.CATALOG, "two edges whose names are equal after case folding"
    UNKNOWN_INTERFACE = "OG-S-105", Area.CATALOG, "`implements` names an interface that is not declared"
    INTERFACE_TYPE_MISMATCH = "OG-S-106", Area.CATALOG, "a property has another type than its interface declares"
    INTERFACE_CONFLICT = "OG-S-107", Area.CATALOG, "two interfaces inject a property with different declarations"
    RESERVED_PROPERTY = "OG-S-108", Area.PARSE, "a property name that the system uses itself"
    BAD_ENUM = "OG-S-109", Area.PARSE, "an enum without values, or with a repeated value"
    LIST_OF_BLOB = "OG-S-110", Area.PARSE, "a list of Blob, enum, list or Vector"
    DUPLICATE_IMPLEMENTS = (
        "OG-S-111", Area.CATALOG, "an interface named twice in one `implements`", Severity.WARNING
    )  # fmt: skip

    # ── schema language: annotations and constraints ──
    MISPLACED_ANNOTATION = "OG-S-201", Area.PARSE, "an annotation or constraint where it has no meaning"
    REPEATED_ANNOTATION = "OG-S-202", Area.PARSE, "an annotation given twice on one thing"
    BAD_ANNOTATION_ARGUMENT = "OG-S-203", Area.PARSE, "an annotation with a missing, blank or surplus argument"
    MULTIPLE_KEYS = "OG-S-204", Area.PARSE, "more than one key on a node"
    BAD_KEY_COLUMN = "OG-S-205", Area.PARSE, "`@key` on a nullable, list, Vector or Blob property"
    BAD_UNIQUE_COLUMN = "OG-S-206", Area.PARSE, "`@unique` on a list, Vector or Blob property"
    BAD_INDEX_COLUMN = "OG-S-207", Area.PARSE, "`@index` on a list or Blob property"
    BAD_RANGE = "OG-S-208", Area.PARSE, "`@range` on a property that is not numeric, or with bounds that hold nothing"
    BAD_CHECK = "OG-S-209", Area.PARSE, "`@check` on a property that is no String, or with an invalid pattern"
    BAD_CARDINALITY = "OG-S-210", Area.PARSE, "`@card` with a minimum above its maximum"
    BAD_EMBED = "OG-S-211", Area.PARSE, "`@embed` not on a Vector, or its source is no String property of the node"
    UNKNOWN_CONSTRAINT_PROPERTY = "OG-S-212", Area.PARSE, "a constraint that names a property that is not there"
    BAD_CONSTRAINT_ARGUMENT = "OG-S-213", Area.PARSE, "a constraint whose arguments have the wrong form"
    UNKNOWN_ANNOTATION = (
        "OG-S-214", Area.CATALOG, "an unknown annotation that looks as if it should do something", Severity.WARNING
    )  # fmt: skip

    # ── schema language: identities across versions ──
    RENAME_SOURCE_UNKNOWN = "OG-S-301", Area.CATALOG, "`@rename_from` names nothing that was accepted before"
    RENAME_OTHER_KIND = "OG-S-302", Area.CATALOG, "`@rename_from` names something of another kind"
    RENAME_CLAIMED_TWICE = "OG-S-303", Area.CATALOG, "two declarations claim the same old one"
    RENAME_ACROSS_OWNERS = "OG-S-304", Area.CATALOG, "a property hint that would move a property to another owner"
    RENAME_IGNORED = (
        "OG-S-305", Area.CATALOG, "`@rename_from` on something that kept its name; it has no effect", Severity.WARNING
    )  # fmt: skip

    # ── schema changes: what a drop destroys (kept for the registry, never refused), and what is not supported ──
    GRAPH_DROPPED = "OG-DS-101", Area.MIGRATION, "a graph is dropped"
    NODE_TYPE_DROPPED = "OG-DS-102", Area.MIGRATION, "a node type is dropped"
    EDGE_TYPE_DROPPED = "OG-DS-103", Area.MIGRATION, "an edge type is dropped"
    PROPERTY_DROPPED = "OG-DS-104", Area.MIGRATION, "a property is dropped"
    VECTOR_PROPERTY_DROPPED = "OG-DS-105", Area.MIGRATION, "a Vector property is dropped"
    REQUIRED_PROPERTY_ADDED = "OG-MF-103", Area.MIGRATION, "a property that may not be null is added"
    PROPERTY_MADE_REQUIRED = "OG-MF-104", Area.MIGRATION, "a property that may be null becomes required (reserved)"
    PROPERTY_TYPE_CHANGED = "OG-MF-106", Area.MIGRATION, "the type of a property changes"

    # ── query language: syntax beyond the shared rules ──
    EMPTY_BLOCK = "OG-Q-101", Area.PARSE, "a block that must hold something is empty"
    BAD_QUERY_ANNOTATION = "OG-Q-102", Area.PARSE, "a query annotation that is unknown or repeated"
    MISSING_COLON = "OG-Q-103", Area.PARSE, "a colon is missing between a name and its type or value"
    UNSUPPORTED_SYNTAX = "OG-Q-104", Area.PARSE, "something other query languages have and this one has not"
    MIXED_BODY = "OG-Q-105", Area.PARSE, "a query body that mixes reading and changing"
    NEAREST_DIRECTION = "OG-Q-106", Area.PARSE, "`asc` or `desc` after `nearest(...)`"

    # ── query language: checks that have no T code ──
    ALREADY_BOUND = "OG-Q-201", Area.TYPE, "a variable is bound to another type already"
    NOT_BOUND = "OG-Q-202", Area.TYPE, "a bare variable that is neither bound nor a parameter"
    RESERVED_PARAMETER = "OG-Q-203", Area.TYPE, "a parameter name that the system uses itself"
    DUPLICATE_PARAMETER = "OG-Q-204", Area.TYPE, "a parameter declared twice"
    BAD_LIST_LITERAL = "OG-Q-205", Area.TYPE, "a list literal that is nested, empty or mixes types"
    MIXED_MUTATION = "OG-Q-206", Area.TYPE, "inserts or updates and deletes in one query"
    DUPLICATE_OUTPUT = "OG-Q-207", Area.TYPE, "two projections with one output name"
    UNKNOWN_QUERY = "OG-Q-208", Area.TYPE, "the file holds no query of this name, or several and none was named"
    UNKNOWN_COLUMN = "OG-Q-209", Area.TYPE, "an ordering by a name that is no result column"
    BAD_DATE = "OG-Q-210", Area.TYPE, "text that is no date or no point in time"
    BAD_ORDERING = "OG-Q-211", Area.TYPE, "an ordering by something that has no order here"
    BAD_PROJECTION = "OG-Q-212", Area.TYPE, "a projection of something that is no value"
    KEY_ASSIGNED = "OG-Q-213", Area.TYPE, "an update that assigns a key property"
    TOO_MANY_STEPS = "OG-Q-214", Area.TYPE, "more than 256 bindings, traversals, negations and rankings in one query"

    T1 = "T1", Area.TYPE, "a binding names an unknown node type"
    T2 = "T2", Area.TYPE, "an inline match names a property that does not exist"
    T3 = "T3", Area.TYPE, "a literal has the wrong type, is no enum member, or has the wrong vector length"
    T4 = "T4", Area.TYPE, "an unknown edge"
    T5 = "T5", Area.TYPE, "a variable's type is not the endpoint type that the edge requires"
    T6 = "T6", Area.TYPE, "`$v.p` where the variable is not bound or has no such property"
    T7 = "T7", Area.TYPE, "an incompatible comparison or assignment"
    T8 = "T8", Area.TYPE, "an aggregate of something that it cannot take"
    T9 = (
        "T9",
        Area.TYPE,
        "a negation that mentions no outer variable, or a projection that cannot stand by an aggregate",
    )
    T10 = "T10", Area.TYPE, "a mutation of an unknown type, or without assignments"
    T11 = "T11", Area.TYPE, "an unknown property in an assignment or predicate, or a Blob in a predicate"
    T12 = "T12", Area.TYPE, "an insert lacks a required property or endpoint"
    T13 = "T13", Area.TYPE, "a property is assigned twice"
    T14 = "T14", Area.TYPE, "a variable in a mutation that is no declared parameter"
    T15 = "T15", Area.TYPE, "hop bounds that are no range, or a `nearest` that does not fit its property"
    T16 = "T16", Area.TYPE, "an update of an edge type"
    T17 = "T17", Area.TYPE, "an ordering by `nearest` without a limit"
    T18 = "T18", Area.TYPE, "an ordering by an alias together with one by `nearest`"
    T19 = "T19", Area.TYPE, "an argument of `search` or `fuzzy` has the wrong type"
    T20 = "T20", Area.TYPE, "an argument of `match_text` or `bm25` has the wrong type"
    T21 = "T21", Area.TYPE, "an argument of `rrf` has the wrong kind, or an ordering by it has no limit"
    T22 = "T22", Area.TYPE, "`<edge>` on an edge whose endpoint types differ"
    T23 = "T23", Area.TYPE, "an edge binding is used where it cannot be"
    T24 = "T24", Area.TYPE, "a Blob is used as a value that is read"

    # ── lint ──
    Q000 = "Q000", Area.LINT, "the query file does not parse"
    DUPLICATE_QUERY = "Q001", Area.LINT, "two queries of one file have the same name", Severity.WARNING
    NEVER_UPDATED = "L201", Area.LINT, "a nullable property that no update of the file sets", Severity.WARNING
    NO_PARAMETERS = "L202", Area.LINT, "a mutation that declares no params", Severity.WARNING
    UNBUILT_INDEX = (
        "L203",
        Area.LINT,
        "an `@index` on several properties or on a list: it is not built",
        Severity.WARNING,
    )
