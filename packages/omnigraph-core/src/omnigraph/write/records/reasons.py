"""Why a record cannot be loaded: one stable word per reason, for programs and for the counts of a load.

Readers raise ``Misfit`` where they see what is wrong with one value or line; whoever knows the place makes a
``Problem`` of it. The documentation lists these words, so their meanings stand here, beside them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Reason(StrEnum):
    """What is wrong with a record, a value or a column. Append-only."""

    INVALID_UTF8 = "invalid_utf8"
    MALFORMED_JSON = "malformed_json"
    DUPLICATE_MEMBER = "duplicate_member"
    BAD_ENVELOPE = "bad_envelope"
    UNKNOWN_TYPE = "unknown_type"
    AMBIGUOUS_TYPE = "ambiguous_type"
    UNKNOWN_FIELD = "unknown_field"
    MISSING_REQUIRED = "missing_required"
    WRONG_TYPE = "wrong_type"
    OUT_OF_RANGE = "out_of_range"
    BAD_TEXT = "bad_text"
    BAD_DATE = "bad_date"
    BAD_ITEM = "bad_item"
    BAD_VECTOR = "bad_vector"
    BAD_BASE64 = "bad_base64"
    EXTERNAL_URI = "external_uri"
    ID_MISMATCH = "id_mismatch"
    MALFORMED_CSV = "malformed_csv"


MEANINGS: Final[Mapping[Reason, str]] = MappingProxyType(
    {
        Reason.INVALID_UTF8: "The bytes of a line, or of a text in an Arrow column, are not UTF-8.",
        Reason.MALFORMED_JSON: "A line is not one JSON value; NaN and Infinity are no JSON either.",
        Reason.DUPLICATE_MEMBER: "An object repeats a member, or Arrow data repeats a column.",
        Reason.BAD_ENVELOPE: "A record has neither of the two forms, lacks a part of its form, or has more than it.",
        Reason.UNKNOWN_TYPE: "The schema has no node type or edge type of this name.",
        Reason.AMBIGUOUS_TYPE: "A node type and an edge type share the name that Arrow data is given for.",
        Reason.UNKNOWN_FIELD: "The type has no property of this name.",
        Reason.MISSING_REQUIRED: "A property that must have a value is missing or null.",
        Reason.WRONG_TYPE: "A value, or an Arrow column, is of another type than the property.",
        Reason.OUT_OF_RANGE: "A number is beyond what the type of the property holds, or is not finite.",
        Reason.BAD_TEXT: "A text holds half of a surrogate pair, which is no character.",
        Reason.BAD_DATE: "A text is not a date or not a point in time.",
        Reason.BAD_ITEM: "An item of a list is null or not of the type of the list.",
        Reason.BAD_VECTOR: "A vector has another number of elements, or one that is not a finite number.",
        Reason.BAD_BASE64: "What follows base64: is not standard base64 with padding.",
        Reason.EXTERNAL_URI: "A Blob is given as a text that does not start with base64:, which would be a URI.",
        Reason.ID_MISMATCH: "The id that is given is not the one that the key makes.",
        Reason.MALFORMED_CSV: "A row of CSV has another number of cells than the header, or quotes where none may be.",
    }
)


class Misfit(Exception):  # noqa: N818 - a signal within this package, never seen by users
    """Something is wrong with one value, record or line.

    Attributes:
        reason: the stable word.
        text: what is wrong; for a value, what follows the name of its property.
        name: the property or member concerned, where the raiser knows it.
    """

    def __init__(self, reason: Reason, text: str, *, name: str | None = None) -> None:
        super().__init__(reason, text)
        self.reason = reason
        self.text = text
        self.name = name
