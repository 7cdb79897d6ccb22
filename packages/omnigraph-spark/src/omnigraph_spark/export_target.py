"""``ExportTarget``: the directory that an export fills, on a disk that all machines see or on S3.

    _attempts/<token>                every attempt of a task writes a file of its own here
    nodes/Film/part-00000.parquet    what the driver moves here is the export, and nothing else is
    part-00000.jsonl
    _export.json                     written last: with it the export is whole

Whatever begins with an underscore is passed over by Spark and by loads. So an attempt that failed, or that comes late
because it was overtaken, leaves at most a file that nobody reads.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from omnigraph.errors import AlreadyExistsError, InvalidInputError, OmnigraphError, StorageError
from omnigraph.plugins import find_backend, installed_plugins, open_adapter
from omnigraph.storage import ROOT, StorageUri, parse_uri
from omnigraph.storage.failures import advice_for, condition_of, describe_failure

if TYPE_CHECKING:
    from pyarrow.fs import FileInfo, FileSystem

MANIFEST: Final = "_export.json"
ATTEMPTS: Final = "_attempts"
FOLDERS: Final = {"node": "nodes", "edge": "edges"}
"""Where Parquet files go, by the kind of their type; a node type and an edge type may have one name."""

_SCHEMES: Final = ("file", "s3")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTarget:
    """A directory to export to, as a value that pickles, with its options; mind who reads it.

    Attributes:
        uri: without credentials.
        options: storage options of its backend.
    """

    uri: StorageUri
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, place: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> ExportTarget:
        """The target behind a path or a URI.

        Raises:
            InvalidInputError: it is malformed, an option is wrong, or exports cannot go there.
            BackendNotInstalledError, BackendFailedToLoadError, BackendConflictError: nothing serves it.
        """
        uri = parse_uri(os.fspath(place))
        _, backend = find_backend(uri, installed_plugins())
        if uri.scheme not in _SCHEMES:
            raise InvalidInputError(
                f"An export with Spark cannot be written to {uri}.",
                help="Write it to a directory that all machines of the cluster see, or to s3://.",
                details={"uri": str(uri)},
            )
        known = [option.name for option in backend.options]
        unknown = [name for name in options or {} if name not in known]
        if unknown:
            raise InvalidInputError(
                f'The backend "{backend.name}" has no option "{unknown[0]}".',
                help=f"It has: {', '.join(known)}." if known else "It takes no options.",
                details={"option": unknown[0]},
            )
        return cls(uri=uri, options=dict(options or {}))

    def open(self) -> OpenTarget:
        """The target in this process. Raises ``InvalidInputError`` when an option is wrong."""
        from pyarrow import fs

        if self.uri.scheme == "file":
            return OpenTarget(self.uri, fs.LocalFileSystem(), self.uri.path)
        with open_adapter(str(self.uri), options=self.options, mode="r") as adapter:
            reached_by = dict(adapter.lance_location(ROOT).storage_options or {})
        bucket = self.uri.authority
        path = f"{bucket}/{self.uri.path.strip('/')}".rstrip("/")
        return OpenTarget(self.uri, fs.S3FileSystem(**_s3_settings(bucket, reached_by)), path)


def _s3_settings(bucket: str, reached_by: Mapping[str, str]) -> dict[str, Any]:
    """How pyarrow reaches a bucket, from how Lance does."""
    scheme, _, server = reached_by.get("aws_endpoint", "").partition("://")
    is_hosted = reached_by.get("aws_virtual_hosted_style_request") == "true"
    settings = {
        "access_key": reached_by.get("aws_access_key_id"),
        "secret_key": reached_by.get("aws_secret_access_key"),
        "session_token": reached_by.get("aws_session_token") or None,
        "region": reached_by.get("aws_region"),
        "endpoint_override": server.removeprefix(f"{bucket}.") or None,
        "scheme": scheme or None,
        "force_virtual_addressing": is_hosted or None,
    }
    return {name: value for name, value in settings.items() if value is not None}


class OpenTarget:
    """The verbs on a target; names are relative to it."""

    def __init__(self, uri: StorageUri, filesystem: FileSystem, path: str) -> None:
        self.uri = uri
        self._files = filesystem
        self._path = path

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """A new file, as a stream of bytes."""
        with self._edge("write", name):
            if self.uri.scheme == "file":
                self._files.create_dir(self._at(name).rpartition("/")[0], recursive=True)
            with self._files.open_output_stream(self._at(name)) as stream:
                yield stream

    def files(self, below: str = "") -> dict[str, int]:
        """The files below a directory, with their sizes; none when there is no such directory."""
        from pyarrow import fs

        with self._edge("list", below):
            found: list[FileInfo] = self._files.get_file_info(
                fs.FileSelector(self._at(below), recursive=True, allow_not_found=True)
            )
            return {each.path[len(self._path) + 1 :]: each.size for each in found if each.type == fs.FileType.File}

    def prepare(self, *, overwrite: bool) -> None:
        """See that the target is free, or that what is there may go.

        Raises:
            AlreadyExistsError: something is there.
            InvalidInputError: something is there that is no export, so it is not overwritten.
        """
        with self._edge("look at", ""):
            there = self._files.get_file_info(self._path)
        if there.is_file:
            raise InvalidInputError(f"{self.uri} is a file.", help="Name a directory.", details={"uri": str(self.uri)})
        files = self.files()
        if not files:
            return
        if not overwrite:
            raise AlreadyExistsError(
                f"{self.uri} exists already.",
                help="Name another directory, or overwrite it: overwrite=True, --overwrite.",
                details={"uri": str(self.uri)},
            )
        if MANIFEST not in files and not any(name.startswith(f"{ATTEMPTS}/") for name in files):
            raise InvalidInputError(
                f"{self.uri} holds files that no export has made, so it is not overwritten.",
                help="Name another directory, or empty this one yourself.",
                details={"uri": str(self.uri)},
            )

    def clear(self) -> None:
        """Take away an earlier export, except for attempts; the first thing to go is what says that it is whole."""
        files = self.files()
        if MANIFEST in files:
            self._delete(MANIFEST)
        for name in files:
            if name.startswith((*(f"{folder}/" for folder in FOLDERS.values()), "part-")):
                self._delete(name)

    def move(self, source: str, name: str) -> None:
        """Give a file the name by which it is part of the export."""
        with self._edge("move", name):
            if self.uri.scheme == "file":
                self._files.create_dir(self._at(name).rpartition("/")[0], recursive=True)
            self._files.move(self._at(source), self._at(name))

    def drop_attempts(self) -> None:
        """Take away what attempts left."""
        from pyarrow import fs

        with self._edge("delete", ATTEMPTS):
            if self._files.get_file_info(self._at(ATTEMPTS)).type != fs.FileType.NotFound:
                self._files.delete_dir(self._at(ATTEMPTS))

    def _delete(self, name: str) -> None:
        with self._edge("delete", name):
            self._files.delete_file(self._at(name))

    def _at(self, name: str) -> str:
        return f"{self._path}/{name}" if name else self._path

    @contextlib.contextmanager
    def _edge(self, verb: str, name: str) -> Iterator[None]:
        """Turn what the file system raises into a ``StorageError`` that names the verb, the place and the next move."""
        place = f"{self.uri}/{name}" if name else str(self.uri)
        try:
            yield
        except OmnigraphError:
            raise
        except OSError as error:
            condition = condition_of(error, lambda _: None)
            raise StorageError(
                f"Could not {verb} {place}: {describe_failure(error)}.",
                condition=condition,
                uri=place,
                help=advice_for(error, condition, verb),
                details={"verb": verb},
            ) from error
