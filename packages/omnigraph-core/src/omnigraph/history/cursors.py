"""Tokens that remember a place in the history for a consumer, so that nobody else has to.

    feed-cursor    behind a whole commit of a branch: what a consumer stores
    feed-page      inside the changes of a commit of a branch: what the next call takes, and nobody stores
    commit-page    the same for the changes of one commit by itself

A token is the base64url of JSON and its SHA-256. It is no secret and proves nothing: it says where to go on, and by
what it is bound to - graph, branch, incarnation, filters - that it is used where it was made. Row ids of up to 256
bytes ride as they are; of longer ones their beginning and their digest do, so that a token stays below 4 KiB.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, Self

import pyarrow as pa
import pyarrow.compute as pc

from omnigraph.control_json import ControlJsonError, read_control_json
from omnigraph.errors import ChangeCursorRejectedError, InternalError
from omnigraph.history.commits import Commit

MAX_TOKEN_BYTES: Final = 4_096
MAX_ID_BYTES: Final = 256
PREFIX_BYTES: Final = 64

_DIGEST_BYTES: Final = 32


class TokenKind(StrEnum):
    """What a token is for."""

    FEED_CURSOR = "feed-cursor"
    FEED_PAGE = "feed-page"
    COMMIT_PAGE = "commit-page"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitPlace:
    """Where a commit lies: enough to open its version of the manifest without looking for it."""

    commit_id: str
    line: str
    version: int

    @classmethod
    def of(cls, commit: Commit) -> Self:
        return cls(commit_id=commit.id, line=commit.line, version=commit.manifest_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowMark:
    """The last row of a commit's changes that was delivered.

    Attributes:
        commit_id: whose changes.
        entity, identity: the type of the row; what stays when it is renamed.
        id: of the row; of a long one only the beginning.
        id_digest: the SHA-256 of a long id, in hexadecimal digits; None when ``id`` is whole.
    """

    commit_id: str
    entity: Literal["node", "edge"]
    identity: tuple[int, int]
    id: str
    id_digest: str | None = None

    @classmethod
    def at(cls, commit_id: str, entity: Literal["node", "edge"], identity: tuple[int, int], row_id: str) -> Self:
        """The mark behind a row."""
        raw = row_id.encode()
        if len(raw) <= MAX_ID_BYTES:
            return cls(commit_id=commit_id, entity=entity, identity=identity, id=row_id)
        # A letter of several bytes is not cut.
        prefix = raw[:PREFIX_BYTES].decode(errors="ignore")
        return cls(commit_id=commit_id, entity=entity, identity=identity, id=prefix, id_digest=_hex(row_id))

    def passed(self, ids: pa.Array) -> int | None:
        """How many of these ascending ids were delivered: those up to the mark. None when the mark is not among them.

        Whole ids are found by their order, whether they are there or not, so that None means: of a long id, not here.
        """
        if self.id_digest is None:
            return int(pc.sum(pc.less_equal(ids, self.id)).as_py() or 0)
        for place in range(int(pc.sum(pc.less(ids, self.id)).as_py() or 0), len(ids)):
            row_id = ids[place].as_py()
            if not row_id.startswith(self.id):
                return None
            if _hex(row_id) == self.id_digest:
                return place + 1
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a token says.

    Attributes:
        behind: the last commit that was delivered whole; None before the first one.
        mark: how far the commit after it was delivered; None at a boundary between commits.
    """

    behind: CommitPlace | None = None
    mark: RowMark | None = None


def make_token(kind: TokenKind, place: Place, bound_to: Mapping[str, str]) -> str:
    """A token for a place.

    Args:
        kind: what it is for.
        place: what it says.
        bound_to: by the words that ``ChangeCursorRejectedError`` names, what must be the same where it is used.
    """
    bindings = {name: _binding(value) for name, value in bound_to.items()}
    document = {"kind": str(kind), "bound_to": bindings, "place": _spelled(place)}
    raw = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
    token = _encoded(raw + hashlib.sha256(raw).digest())
    if len(token) > MAX_TOKEN_BYTES:
        raise InternalError(f"A token of {len(token)} bytes came about.")
    return token


def read_token(token: str, kind: TokenKind, bound_to: Mapping[str, str]) -> Place:
    """The place that a token says.

    Raises:
        ChangeCursorRejectedError: it is damaged, of another kind, or bound to something else.
    """
    document = _document(token)
    if document.get("kind") != kind:
        raise ChangeCursorRejectedError("kind", help=_help_of_kind(document.get("kind"), kind))
    bindings = document.get("bound_to")
    if not isinstance(bindings, dict) or bindings.keys() != bound_to.keys():
        raise ChangeCursorRejectedError("form")
    for name, value in bound_to.items():
        if bindings[name] != _binding(value):
            raise ChangeCursorRejectedError(name)
    try:
        return _read_place(document["place"])
    except (KeyError, TypeError, ValueError) as error:
        raise ChangeCursorRejectedError("form") from error


def _document(token: object) -> dict[str, Any]:
    if not isinstance(token, str) or not token.isascii() or len(token) > MAX_TOKEN_BYTES:
        raise ChangeCursorRejectedError("form")
    try:
        data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ChangeCursorRejectedError("form") from error
    raw, digest = data[:-_DIGEST_BYTES], data[-_DIGEST_BYTES:]
    # The last letter of base64 has bits that mean nothing: one token has one spelling.
    if hashlib.sha256(raw).digest() != digest or _encoded(data) != token:
        raise ChangeCursorRejectedError("checksum")
    try:
        document = read_control_json(raw)
    except ControlJsonError as error:
        raise ChangeCursorRejectedError("form") from error
    if not isinstance(document, dict):
        raise ChangeCursorRejectedError("form")
    return document


def _help_of_kind(found: object, wanted: TokenKind) -> str | None:
    if (found, wanted) == (TokenKind.FEED_PAGE, TokenKind.FEED_CURSOR):
        return "It is a page token: give it as the page token, and store only cursors."
    if (found, wanted) == (TokenKind.FEED_CURSOR, TokenKind.FEED_PAGE):
        return "It is a cursor: give it as the cursor."
    return None


def _spelled(place: Place) -> dict[str, Any]:
    behind, mark = place.behind, place.mark
    spelled: dict[str, Any] = {}
    if behind is not None:
        spelled["behind"] = [behind.commit_id, behind.line, behind.version]
    if mark is not None:
        spelled["mark"] = [mark.commit_id, mark.entity, *mark.identity, mark.id, mark.id_digest]
    return spelled


def _read_place(spelled: Any) -> Place:
    if not isinstance(spelled, dict):
        raise TypeError
    behind, mark = spelled.get("behind"), spelled.get("mark")
    return Place(
        behind=None if behind is None else _read_behind(*behind), mark=None if mark is None else _read_mark(*mark)
    )


def _read_behind(commit_id: Any, line: Any, version: Any) -> CommitPlace:
    if not (isinstance(commit_id, str) and isinstance(line, str) and type(version) is int):
        raise TypeError
    if not 0 < version < 2**63:
        raise ValueError
    return CommitPlace(commit_id=commit_id, line=line, version=version)


def _read_mark(commit_id: Any, entity: Any, table: Any, incarnation: Any, row_id: Any, digest: Any) -> RowMark:
    if not (isinstance(commit_id, str) and isinstance(row_id, str) and isinstance(digest, str | None)):
        raise TypeError
    if entity not in ("node", "edge"):
        raise ValueError
    if type(table) is not int or type(incarnation) is not int:
        raise TypeError
    return RowMark(commit_id=commit_id, entity=entity, identity=(table, incarnation), id=row_id, id_digest=digest)


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode("ascii").rstrip("=")


def _binding(value: str) -> str:
    """Enough of a digest to tell any two apart; whole ones would make tokens long that people copy."""
    return _hex(value)[:32]


def _hex(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
