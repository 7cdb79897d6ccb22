"""Graph URIs: from what a person typed to one canonical root.

    graph.omni, ~/g, /a/../b, file:///a%20b   →  scheme "file", an absolute path
    s3://bucket/team/graph/                   →  scheme "s3", authority "bucket", path "team/graph"
    memory://scratch                          →  scheme "memory", authority "scratch", path ""

Folding of ``.``, ``..`` and repeated slashes is lexical, so that it never touches a disk. Two spellings of one
root are equal afterwards; symbolic links are only followed by ``queue_identity``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from omnigraph.errors import InvalidInputError, StorageCondition, StorageError
from omnigraph.storage.keys import ObjectKey, fold_segments

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SLIP = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?:/(?!/)|\Z)(.*)", re.DOTALL)
_CONTAINER_AT_ACCOUNT = frozenset({"abfs", "abfss"})
"""Schemes of Azure, in which ``container@account`` names a place and carries no secret."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class StorageUri:
    """One storage root in canonical form.

    Attributes:
        scheme: lower case; ``file`` for every local spelling.
        authority: bucket or host; empty for ``file``.
        path: absolute for ``file``; otherwise without leading slash, empty at the top of the authority.
    """

    scheme: str
    authority: str
    path: str

    def __str__(self) -> str:
        if self.scheme == "file":
            return self.path
        return f"{self.scheme}://{self.authority}" + (f"/{self.path}" if self.path else "")

    def join(self, key: ObjectKey) -> str:
        """The URI of an object below this root, for messages and for Lance."""
        if key.is_root:
            return str(self)
        return f"{str(self).rstrip('/')}/{key.value}"


def parse_uri(text: str | Path) -> StorageUri:
    """Turn what a caller wrote into a canonical root.

    A relative path is taken from the current directory, ``~`` from the home directory. ``file://`` URIs are
    percent-decoded, as RFC 8089 has it; plain paths and other schemes are taken literally.

    Raises:
        InvalidInputError: empty, not a URI, credentials in it (they are not said back), a host in a ``file`` URI,
            or a name that Lance cannot address.

    Example:
        >>> str(parse_uri("s3://bucket/team//graph/../other/"))
        's3://bucket/team/other'
    """
    written = os.fspath(text)
    if not written.strip():
        raise InvalidInputError(
            "The graph URI is empty.", help='Give a path such as "graph.omni" or a URI such as "s3://bucket/graph".'
        )
    match = None if isinstance(text, Path) else _SCHEME.match(written)
    scheme, rest = (match.group(1).lower(), written[match.end() :]) if match else ("", written)
    # First of all, because every other message may quote what was written.
    _refuse_credentials(scheme, rest)
    _refuse_unaddressable(written)
    if not isinstance(text, Path):
        _refuse_slips(written)
    if scheme and scheme != "file":
        return _remote(scheme, rest)
    if scheme == "file":
        place = _local_from_file_uri(written, rest)
    elif _is_short_file_uri(written) and not isinstance(text, Path):
        place = _local(_percent_decoded(written[len("file:") :]))
    else:
        place = _local(written)
    # Once more: percent-encoding may have hidden something, and the current directory was not looked at yet.
    _refuse_unaddressable(place.path)
    return place


def is_absolute(text: str) -> bool:
    """Whether a text is a URI with ``://`` or an absolute path, and not a name relative to some root."""
    return text.startswith("/") or _SCHEME.match(text) is not None


def relative_to_root(text: str, root: StorageUri) -> str:
    """The part of a full URI that lies below a root; empty for the root itself.

    Raises:
        StorageError: condition ``configuration`` when it is malformed or lies elsewhere.
    """
    try:
        place = parse_uri(text)
    except InvalidInputError as error:
        raise StorageError(
            error.message, condition=StorageCondition.CONFIGURATION, uri=str(root), help=error.help
        ) from error
    is_inside = (place.scheme, place.authority) == (root.scheme, root.authority)
    prefix = root.path.rstrip("/") + "/" if root.path else ""
    if is_inside and place.path == root.path:
        return ""
    if is_inside and place.path.startswith(prefix):
        return place.path.removeprefix(prefix)
    raise StorageError(
        f'"{place}" is not below the storage root {root}.',
        condition=StorageCondition.CONFIGURATION,
        uri=str(place),
        help="Open the root that holds it, or give a name relative to this root.",
    )


def queue_identity(uri: StorageUri) -> str:
    """A name that is equal for every alias of one root, for locks and queues inside a process.

    Local roots follow symbolic links as far as the path exists; remote roots are opaque.
    """
    if uri.scheme != "file":
        return str(uri)
    return os.path.realpath(uri.path)


def _is_short_file_uri(text: str) -> bool:
    return text[: len("file:/")].lower() == "file:/"


def _refuse_slips(text: str) -> None:
    """Refuse what was surely meant as a URI; as a path it would make an odd directory without a word."""
    slip = _SLIP.match(text)
    if slip is not None and not _is_short_file_uri(text):
        scheme, rest = slip.groups()
        _refuse_credentials(scheme, rest)
        raise InvalidInputError(
            f'"{text}" looks like a URI that lacks a slash.' if rest else f'"{text}" is a scheme and names no place.',
            help=f"Write {scheme}://{rest or 'NAME/path'}, or ./{text} for a path.",
        )


def _refuse_credentials(scheme: str, rest: str) -> None:
    if scheme in _CONTAINER_AT_ACCOUNT and ":" not in rest.partition("/")[0]:
        return
    # A secret may hold "/", and then its "@" stands behind what looks like the end of the authority.
    before, at, _ = (rest if scheme == "file" else rest.lstrip("/")).partition("@")
    authority, slash, _ = before.partition("/")
    if scheme and at and (not slash or ":" in authority):
        raise InvalidInputError(
            f"The {scheme}:// URI carries credentials.",
            help="Take them out of the URI and pass them as storage options or environment variables.",
        )


def _refuse_unaddressable(text: str) -> None:
    flaw = "holds a control character" if _CONTROL.search(text) else None
    try:
        text.encode()
    except UnicodeEncodeError:
        flaw = "cannot be written as UTF-8"
    if flaw is not None:
        raise InvalidInputError(f"The graph URI {text!r} {flaw}.", help="Lance cannot address such a place; rename it.")


def _percent_decoded(path: str) -> str:
    try:
        return unquote(path, errors="strict")
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f'The path "{path}" of the file URI does not decode to UTF-8.',
            help="Percent-encode the UTF-8 bytes of the path, or write the plain path.",
        ) from error


def _local(path: str) -> StorageUri:
    if path.startswith("~"):
        expanded = os.path.expanduser(path)
        # A file whose name merely starts with "~" stays a relative path.
        path = expanded if os.path.isabs(expanded) else path
    absolute = os.path.abspath(path)
    # POSIX lets exactly two leading slashes mean something else; no system we serve does.
    if absolute.startswith("//"):
        absolute = "/" + absolute.lstrip("/")
    return StorageUri(scheme="file", authority="", path=absolute)


def _local_from_file_uri(written: str, rest: str) -> StorageUri:
    host, slash, path = rest.partition("/")
    if host not in ("", "localhost") or not slash:
        raise InvalidInputError(
            f'The URI "{written}" names the host "{host}"; a file URI has none.',
            help=f"Write file:///{host}{slash}{path} or the plain path.",
        )
    return _local("/" + _percent_decoded(path))


def _remote(scheme: str, rest: str) -> StorageUri:
    authority, _, path = rest.partition("/")
    if not authority:
        raise InvalidInputError(
            f'The URI "{scheme}://{rest}" names no bucket or host.', help=f"Write {scheme}://NAME/path."
        )
    segments = fold_segments(path)
    if segments is None:
        raise InvalidInputError(
            f'The URI "{scheme}://{rest}" climbs above "{authority}" with "..".', help="Remove the extra '..'."
        )
    return StorageUri(scheme=scheme, authority=authority, path="/".join(segments))
