"""Tags: names for commits, which stay readable for as long as they have one.

A tag is one object, ``_refs/tags/<encoded name>.json``, created if absent and never changed; deleting it deletes the
tag. It says where the commit lies, so that it is opened without a search, also when the branch that it was made on is
gone. Garbage collection keeps what tags name, so a damaged tag is an error and never left out. Whoever makes and
deletes tags is ``omnigraph.write.tags``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from omnigraph.control_json import ControlJsonError
from omnigraph.errors import FormatError, NotFoundError
from omnigraph.history.commits import from_micros, to_micros
from omnigraph.history.ref_names import check_ref_name, looks_like_commit_id, name_of_segment, ref_segment
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.storage.control_objects import MAX_REF_BYTES, read_control_object

TAGS_PREFIX: Final = "_refs/tags"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """A commit with a name.

    Attributes:
        line: the line of the manifest that the commit is on.
        manifest_version: the version on that line whose head the commit is.
        created_at: when the tag was made, in UTC; the clock of whoever made it.
        actor: who made it.
    """

    name: str
    commit_id: str
    line: str
    manifest_version: int
    created_at: datetime
    actor: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; ``created_at`` in microseconds since 1970."""
        return {
            "name": self.name,
            "commit_id": self.commit_id,
            "line": self.line,
            "manifest_version": self.manifest_version,
            "created_at": to_micros(self.created_at),
            "actor": self.actor,
        }


def tag_key(adapter: StorageAdapter, name: str) -> ObjectKey:
    """The object of a tag."""
    return adapter.key(f"{TAGS_PREFIX}/{ref_segment(name)}")


def read_tag(adapter: StorageAdapter, name: str) -> Tag:
    """The tag of this name; one request.

    Raises:
        InvalidInputError: no tag can be called so.
        NotFoundError: there is no such tag.
        FormatError: its object is damaged.
    """
    check_ref_name(name, "tag")
    found = _read(adapter, name)
    if found is None:
        raise no_such_tag(name)
    return found


def list_tags(adapter: StorageAdapter) -> tuple[Tag, ...]:
    """Every tag, by name; one request for all names and one for each tag.

    Raises:
        FormatError: the object of one is damaged.
    """
    # One that was deleted since it was listed is no tag any more.
    tags = (_read(adapter, name) for name in list_tag_names(adapter))
    return tuple(each for each in tags if each is not None)


def list_tag_names(adapter: StorageAdapter) -> list[str]:
    """The name of every tag; one request. Objects of another form are of no tag: none of ours was ever called so."""
    names = (name_of_segment(each.name) for each in adapter.list_dir(adapter.key(TAGS_PREFIX)))
    return sorted(each for each in names if each is not None)


def spell_tag(tag: Tag) -> bytes:
    """The content of a tag's object."""
    return json.dumps(tag.to_dict(), ensure_ascii=False).encode()


def no_such_tag(name: str) -> NotFoundError:
    """The error about a tag that is not there."""
    return NotFoundError(
        f'There is no tag "{name}".',
        help="List what there is: omnigraph tag list, or g.tags.list().",
        details={"tag": name},
    )


def _read(adapter: StorageAdapter, name: str) -> Tag | None:
    key = tag_key(adapter, name)
    try:
        facts = read_control_object(adapter, key, max_bytes=MAX_REF_BYTES)
    except ControlJsonError as error:
        raise _damaged(adapter, name, error) from error
    if facts is None:
        return None
    try:
        return _parse_tag(facts, name)
    # A time too large for a date is an OverflowError, or an OSError of the C library.
    except (ValueError, KeyError, TypeError, OverflowError, OSError) as error:
        raise _damaged(adapter, name, "it does not say what the object of this tag says") from error


def _damaged(adapter: StorageAdapter, name: str, why: object) -> FormatError:
    uri = adapter.uri(tag_key(adapter, name))
    return FormatError(
        f"The tag object {uri} is damaged: {why}.",
        help="Delete the tag and make it anew, or restore the object from a copy of the graph: "
        f'omnigraph tag delete {adapter.root} "{name}".',
        details={"tag": name, "uri": uri},
    )


def _parse_tag(facts: Any, name: str) -> Tag:
    version, micros = facts["manifest_version"], facts["created_at"]
    if not (
        facts["name"] == name
        and isinstance(facts["commit_id"], str)
        and looks_like_commit_id(facts["commit_id"])
        # bool is an int to Python.
        and type(version) is int
        and version > 0
        and type(micros) is int
        and isinstance(facts["line"], str)
        and facts["line"]
        and (facts["actor"] is None or (isinstance(facts["actor"], str) and facts["actor"]))
    ):
        raise ValueError(facts)
    return Tag(
        name=name,
        commit_id=facts["commit_id"],
        line=facts["line"],
        manifest_version=version,
        created_at=from_micros(micros),
        actor=facts["actor"],
    )
