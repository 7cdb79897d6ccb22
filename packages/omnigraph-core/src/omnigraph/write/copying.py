"""``copy_graph``: a whole graph at another place, with every branch, tag and commit; or nothing.

    claim ──> lines of the manifest ──> tables, schemas ──> looked at as a reader would ──> refs ──> the object of main

Files are copied as they are, and each is read again and compared. The one exception are versions of branches: they name
the place of the line that they came from, and are written anew with that at the new place. So every version of every
line is what it was, and nothing of it names the source.

The source may be written to meanwhile: versions never change, and what is listed first is named only by what is listed
later. What is under way there, or was cut off, is not copied. The target is a graph when the object of main is there,
which is written last; before that it holds the claim of a copy, and opens as no graph.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from omnigraph import failpoints
from omnigraph.cancellation import check_cancelled, checker, uncancellable
from omnigraph.errors import (
    AlreadyExistsError,
    FormatError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    OmnigraphError,
    OutcomeUnknownError,
    StorageCondition,
    StorageError,
)
from omnigraph.failpoints import reach
from omnigraph.history.branches import (
    MAIN,
    REFS_PREFIX,
    BranchRef,
    branch_key,
    is_of_one_branch,
    list_branch_names,
    resolve_branch,
    spell_ref,
)
from omnigraph.history.log import MANIFEST, ManifestLog, open_manifest
from omnigraph.history.recoveries import RECOVERIES
from omnigraph.history.repository import Repository
from omnigraph.history.schemas import SCHEMA_PREFIX
from omnigraph.history.tags import TAGS_PREFIX, Tag, list_tag_names, read_tag, spell_tag, tag_key
from omnigraph.plugins import verify_place
from omnigraph.storage import ObjectKey, StorageAdapter
from omnigraph.storage.keys import ROOT
from omnigraph.tables.opening import place_of, version_of_name
from omnigraph.tables.relocating import LineVersion, rebased
from omnigraph.tables.table_files import TableFiles, is_unfinished, own_disk
from omnigraph.write.init_claim import CLAIM, SCHEMA_COPY, finish_copy, take_claim
from omnigraph.write.opening import find_main, repository_at
from omnigraph.write.relocation import TABLE_PREFIXES

THREADS: Final = 8
_VERSIONS: Final = "_versions"
_LOCATION: Final = re.compile(r"[^/]+\.lance|[^/]+/[^/]+")
_MADE: Final = (MANIFEST, *TABLE_PREFIXES, RECOVERIES, SCHEMA_PREFIX, REFS_PREFIX, TAGS_PREFIX, SCHEMA_COPY)
"""What a copy makes, and removes when it fails."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LostHistory:
    """A branch or tag that the copy cannot read, as the source cannot; it has the files that were there.

    Attributes:
        kind: ``branch`` or ``tag``.
        reason: what is wrong with it.
    """

    kind: str
    name: str
    reason: str

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "name": self.name, "reason": self.reason}


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyResult:
    """A graph that was copied.

    Attributes:
        source: the URI of the graph.
        target: the URI of the copy.
        branches: that the copy has, main first, then by name.
        tags: that the copy has, by name.
        files: how many were copied, control objects included.
        bytes: of these files.
        lost: branches and tags that cannot be read in the copy, because they could not be in the source.
    """

    source: str
    target: str
    branches: tuple[str, ...]
    tags: tuple[str, ...]
    files: int
    bytes: int
    lost: tuple[LostHistory, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "target": self.target,
            "branches": list(self.branches),
            "tags": list(self.tags),
            "files": self.files,
            "bytes": self.bytes,
            "lost": [each.to_dict() for each in self.lost],
        }


def copy_graph(source: StorageAdapter, target: StorageAdapter, *, force: bool, verify: bool) -> CopyResult:
    """Copy a graph to a place where nothing is.

    Args:
        source: opened for reading.
        target: opened for writing; whether the store is honest is asked here, before anything else is written.
        force: remove what a copy left here that was cut off, and begin anew; right only when that copy is dead.
        verify: read every file of the copy again and compare it.

    Raises:
        NotFoundError: there is no graph.
        AlreadyExistsError: something is at the target.
        InvalidInputError: one place is inside of the other one, or has no files.
        FormatError: the source is damaged where main needs it.
        OutcomeUnknownError: the store stopped answering when the copy was about to exist; the claim stays.
        StorageError: a store did not answer, or a file that was copied is not what it was; the target is empty again.
    """
    check_source(source)
    _refuse_memory(target)
    _refuse_nested(source, target)
    cut = _Cut.of(source)
    _refuse_occupied(target, force=force)
    check_cancelled()
    verify_place(target)
    claim = take_claim(target, force=force, verb="copy")
    copying = _Copying(source, target, cut, verify=verify)
    try:
        reach(failpoints.COPY_CLAIMED)
        if force:
            _remove(target)
        lost = copying.run()
        copying.create_main()
    except OutcomeUnknownError:
        raise
    except BaseException:
        # No object of main names what was made, so nobody uses it.
        with uncancellable(), contextlib.suppress(StorageError):
            _remove(target)
            target.delete(claim)
        raise
    reach(failpoints.COPY_AFTER_MAIN)
    finish_copy(target)
    return CopyResult(
        source=str(source.root),
        target=str(target.root),
        branches=tuple(each.name for each in cut.branches),
        tags=tuple(each.name for each in cut.tags),
        files=copying.files,
        bytes=copying.bytes,
        lost=lost,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cut:
    """What the source has when the copy begins.

    Attributes:
        branches: main first; one whose object is damaged is not among them.
        damaged: branches and tags whose object is damaged; the copy does not have them.
    """

    branches: tuple[BranchRef, ...]
    damaged: tuple[LostHistory, ...]
    tags: tuple[Tag, ...]

    @classmethod
    def of(cls, adapter: StorageAdapter) -> _Cut:
        branches, damaged = [find_main(adapter)], []
        for name in list_branch_names(adapter):
            try:
                branches.append(resolve_branch(adapter, name))
            except NotFoundError:
                # It was deleted meanwhile.
                continue
            except FormatError as error:
                damaged.append(LostHistory(kind="branch", name=name, reason=error.message))
        tags = []
        for name in list_tag_names(adapter):
            try:
                tags.append(read_tag(adapter, name))
            except NotFoundError:
                continue
            except FormatError as error:
                damaged.append(LostHistory(kind="tag", name=name, reason=error.message))
        return cls(branches=tuple(branches), damaged=tuple(damaged), tags=tuple(tags))

    @property
    def main(self) -> BranchRef:
        return self.branches[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """What a branch or a tag of the copy shows."""

    kind: str
    log: ManifestLog


class _Copying:
    """The files of one graph on their way to another place."""

    def __init__(self, source: StorageAdapter, target: StorageAdapter, cut: _Cut, *, verify: bool) -> None:
        self._source = source
        self._target = target
        self._cut = cut
        self._verify = verify
        self._from = TableFiles(source)
        self._to = TableFiles(target)
        self._copied: dict[str, int] = {}
        self._head = ""
        self.files = 0
        self.bytes = 0

    def run(self) -> tuple[LostHistory, ...]:
        """Everything but the object of main, durable; what cannot be read of it."""
        versions = {each: self._versions(each) for each in (MANIFEST, *TABLE_PREFIXES, RECOVERIES)}
        self._copy([*versions[MANIFEST], *self._others(MANIFEST)])
        reach(failpoints.COPY_MANIFESTS_COPIED)
        # Every opening below is of this repository, whose tables are closed at the end.
        copy = repository_at(self._target, self._cut.main)
        try:
            shown, lost = self._shown(copy)
            self._head = shown[0].log.state.head.id
            # A tag may show an old version of a line whose branch is gone, and other branches read newer ones of it.
            pinned = _newest_pins(each.log for each in shown if each.kind == "branch")
            for prefix in (*TABLE_PREFIXES, RECOVERIES):
                published = [each for each in versions[prefix] if not _is_above(each, pinned)]
                self._copy([*published, *self._others(prefix)])
            self._copy_objects([*self._source.list(self._source.key(SCHEMA_PREFIX)), self._source.key(SCHEMA_COPY)])
            lost = (*self._cut.damaged, *lost, *self._look_at(copy, shown))
        finally:
            copy.tables.close()
        reach(failpoints.COPY_VERIFIED)
        for branch in self._cut.branches[1:]:
            self._write(branch_key(self._target, branch.name), spell_ref(branch))
        for tag in self._cut.tags:
            self._write(tag_key(self._target, tag.name), spell_tag(tag))
        return lost

    def create_main(self) -> None:
        """Write the object of main, with which the copy exists; after a lost answer, look whether it does.

        Raises:
            AlreadyExistsError: a graph was made here meanwhile.
            OutcomeUnknownError: it cannot be told.
        """
        target, main = self._target, self._cut.main
        reach(failpoints.COPY_BEFORE_MAIN)
        key, data = branch_key(target, MAIN), spell_ref(main)
        try:
            is_ours = target.write_if_absent(key, data)
        except StorageError as error:
            is_ours = False
            with contextlib.suppress(StorageError):
                is_ours = target.read_if_exists(key) == data
            if not is_ours:
                raise OutcomeUnknownError(
                    f"It is not known whether the copy at {target.root} was finished: the store did not answer.",
                    commit_id=self._head,
                    help="When the store answers again, open it. If there is no graph, repeat with --force.",
                ) from error
        if not is_ours:
            uri = str(target.root)
            raise AlreadyExistsError(
                f"An init made a graph at {uri} meanwhile.", help="Choose another place.", details={"uri": uri}
            )
        self._note(key, len(data))

    # ── what is copied ───────────────────────────────────────────────────────────────────────────────────────

    def _versions(self, prefix: str) -> list[ObjectKey]:
        """The versions of tables below a prefix. Listed before their files, so that these are all there."""
        found = self._source.list(self._source.key(prefix))
        return [each for each in found if each.parent.name == _VERSIONS and version_of_name(each.name) is not None]

    def _others(self, prefix: str) -> list[ObjectKey]:
        """The other files of these tables. Detached versions and hints are of use to writers only."""
        check_cancelled()
        found = self._source.list(self._source.key(prefix))
        return [each for each in found if each.parent.name != _VERSIONS and not is_unfinished(each)]

    def _copy(self, keys: Sequence[ObjectKey]) -> None:
        check = checker()

        def copy(key: ObjectKey) -> int | None:
            check()
            try:
                return self._copy_file(key)
            except StorageError as error:
                if error.condition is not StorageCondition.NOT_FOUND or self._source.exists(key):
                    raise
                # Its writer took it away since it was listed, unpublished. Whether one is missing is looked at later.
                _log.info("It is not copied, because it is not there any more: %s", error)
                return None

        with tempfile.TemporaryDirectory(prefix="omnigraph-copy-") as folder, ThreadPoolExecutor(THREADS) as threads:
            self._folder = Path(folder)
            try:
                for key, size in zip(keys, threads.map(copy, keys), strict=True):
                    if size is not None:
                        self._note(key, size)
                    reach(failpoints.COPY_FILE_COPIED)
            except BaseException:
                threads.shutdown(cancel_futures=True)
                raise
        self._target.make_durable(self._target.key(str(each)) for each in keys if str(each) in self._copied)

    def _copy_file(self, key: ObjectKey) -> int:
        """Copy one file, and compare what is there then; its size."""
        location = _location_of(key)
        name = key.value[len(location) + 1 :]
        # Files on their way are kept on this machine, and its disk may be full too.
        with own_disk("copy", self._source.uri(key)), tempfile.TemporaryDirectory(dir=self._folder) as folder:
            path = self._from.path(location, name)
            if path is None:
                path = Path(folder) / "file"
                self._from.fetch(location, name, path)
            path = self._rebased(key, path, Path(folder) / "version")
            self._to.send(path, location, name)
            if self._verify:
                self._compare(path, location, name, Path(folder) / "again")
            return path.stat().st_size

    def _rebased(self, key: ObjectKey, path: Path, scratch: Path) -> Path:
        """The file to write: a version of a branch names its table at the target."""
        version = LineVersion.of(key)
        if version is None:
            return path
        try:
            data = rebased(path.read_bytes(), version, place_of(self._target, version.location, None))
        except FormatError as error:
            # It is as damaged in the source. If a branch or tag needs it, that is found when these are looked at.
            _log.warning("It is copied as it is: %s", error)
            return path
        scratch.write_bytes(data)
        return scratch

    def _compare(self, sent: Path, location: str, name: str, scratch: Path) -> None:
        arrived = self._to.path(location, name)
        if arrived is None:
            arrived = scratch
            self._to.fetch(location, name, arrived)
        if _digest(sent) != _digest(arrived):
            uri = self._target.uri(self._target.key(f"{location}/{name}"))
            raise _not_the_same(uri)

    def _copy_objects(self, keys: Iterable[ObjectKey]) -> None:
        for key in keys:
            data = self._source.read_if_exists(key)
            if data is not None:
                self._write(self._target.key(str(key)), data)

    def _write(self, key: ObjectKey, data: bytes) -> None:
        check_cancelled()
        self._target.write(key, data)
        if self._verify and self._target.read(key) != data:
            raise _not_the_same(self._target.uri(key))
        self._note(key, len(data))

    def _note(self, key: ObjectKey, size: int) -> None:
        self._copied[str(key)] = size
        self.files += 1
        self.bytes += size

    # ── what the copy shows ──────────────────────────────────────────────────────────────────────────────────

    def _shown(self, copy: Repository) -> tuple[list[_Shown], tuple[LostHistory, ...]]:
        """What branches and tags show, main first; and those whose manifest cannot be read."""
        try:
            shown = [_Shown(kind="branch", log=open_manifest(copy.manifests, self._cut.main))]
        except (NotFoundError, FormatError, StorageError) as error:
            raise self._main_is_damaged(error) from error
        lost: list[LostHistory] = []
        branches = [("branch", each, None) for each in self._cut.branches[1:]]
        tags = [("tag", BranchRef.of_line(each.name, each.line), each.manifest_version) for each in self._cut.tags]
        for kind, branch, version in (*branches, *tags):
            try:
                shown.append(_Shown(kind=kind, log=open_manifest(copy.manifests, branch, version=version)))
            except (NotFoundError, FormatError, StorageError) as error:
                lost.append(_lost(kind, branch.name, error))
        return shown, tuple(lost)

    def _look_at(self, copy: Repository, shown: Sequence[_Shown]) -> Iterator[LostHistory]:
        """Look at the schema and every table that a branch or tag shows; those that are not as its manifest says.

        Raises:
            FormatError: it is one of main.
            StorageError: the store did not answer.
        """
        for each in shown:
            try:
                self._look_at_one(copy, each.log)
            except (NotFoundError, FormatError, StorageError) as error:
                if each.kind == "branch" and each.log.branch.is_main:
                    raise self._main_is_damaged(error) from error
                yield _lost(each.kind, each.log.branch.name, error)

    def _look_at_one(self, copy: Repository, log: ManifestLog) -> None:
        log.lineage()
        copy.schema(log.state.schema_digest)
        for entry in log.state.entries.values():
            check_cancelled()
            handle = copy.tables.open_at(entry.pin)
            rows = copy.tables.table_state(handle).row_count
            wrong = self._wrong_file(copy.tables.named_files(handle))
            if rows != entry.row_count or wrong:
                raise FormatError(
                    f"The graph is damaged: {entry.key} {wrong or f'has {rows} rows instead of {entry.row_count}'}.",
                    help="Restore the graph from another copy, or copy what can be read: omnigraph export.",
                    details={"uri": str(self._source.root), "table_key": entry.key},
                )

    def _main_is_damaged(self, error: OmnigraphError) -> OmnigraphError:
        """The same of the graph: what was found out by a look at the copy, which there will not be, is true of it."""
        if not is_of_one_branch(error):
            return error
        uri = str(self._source.root)
        return FormatError(
            f"main of {uri} is damaged, so there is no copy: {error.message.replace(str(self._target.root), uri)}",
            help="Restore the file from another copy of the graph, or copy what can be read: omnigraph export.",
            details={**error.details, "uri": uri},
        )

    def _wrong_file(self, named: Mapping[str, int | None]) -> str:
        """What is wrong with the files that a version names, by their sizes where it knows them; or nothing."""
        for name, size in sorted(named.items()):
            copied = self._copied.get(name)
            if copied is None:
                return f"has no file {name}"
            if size not in (None, copied):
                return f"has a file {name} of {copied} bytes instead of {size}"
        return ""


def _newest_pins(logs: Iterable[ManifestLog]) -> Mapping[tuple[str, str | None], int]:
    """The newest version that is shown of each line, by who owns it: what is above was written and never published."""
    pins = [each.pin for log in logs for each in log.state.entries.values() if log.branch.owns(each.pin)]
    newest: dict[tuple[str, str | None], int] = {}
    for pin in pins:
        line = (pin.location, pin.branch)
        newest[line] = max(pin.version, newest.get(line, 0))
    return newest


def _is_above(key: ObjectKey, pinned: Mapping[tuple[str, str | None], int]) -> bool:
    location, version, fork = _location_of(key), version_of_name(key.name), LineVersion.of(key)
    newest = pinned.get((location, None if fork is None else fork.line))
    return newest is not None and version is not None and version > newest


def _location_of(key: ObjectKey) -> str:
    found = _LOCATION.match(key.value)
    if found is None:
        raise InternalError(f"{key} is not a file of a table.")
    return found[0]


def _lost(kind: str, name: str, error: OmnigraphError) -> LostHistory:
    if not is_of_one_branch(error):
        raise error
    return LostHistory(kind=kind, name=name, reason=error.message)


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _not_the_same(uri: str) -> StorageError:
    return StorageError(
        f"What was written to {uri} is not what is there.",
        condition=StorageCondition.PERMANENT,
        uri=uri,
        help="Look at the disk or the server, then copy again.",
    )


# ── the places ───────────────────────────────────────────────────────────────────────────────────────────────────────


def check_source(source: StorageAdapter) -> None:
    """Raise before anything is done with a target.

    Raises:
        NotFoundError: there is no graph.
        InvalidInputError: it is in memory.
    """
    _refuse_memory(source)
    find_main(source)


def _refuse_memory(adapter: StorageAdapter) -> None:
    if not place_of(adapter, MANIFEST, None).has_files:
        raise InvalidInputError(
            f"{adapter.root} is in memory and has no files to copy.",
            help="Export it and load that elsewhere: omnigraph export, omnigraph load.",
            details={"uri": str(adapter.root)},
        )


def _refuse_nested(source: StorageAdapter, target: StorageAdapter) -> None:
    here, there = _span(source), _span(target)
    if here.startswith(there) or there.startswith(here):
        raise InvalidInputError(
            f"{source.root} cannot be copied to {target.root}: one is inside of the other.",
            help="Give a place of its own.",
            details={"source": str(source.root), "target": str(target.root)},
        )


def _span(adapter: StorageAdapter) -> str:
    """What all places below a root begin with, and no other place."""
    place = place_of(adapter, MANIFEST, None)
    if place.is_on_disk:
        # A directory may have several names. The files of tables may lie elsewhere than where the root says.
        return f"{Path(place.main_uri).resolve().parent}/"
    return f"{adapter.endpoint} {str(adapter.root).rstrip('/')}/"


def _refuse_occupied(target: StorageAdapter, *, force: bool) -> None:
    uri = str(target.root)
    with contextlib.suppress(NotFoundError):
        resolve_branch(target, MAIN)
        raise AlreadyExistsError(
            f"There is a graph at {uri} already.", help="Choose another place.", details={"uri": uri}
        )
    if target.exists(target.key(CLAIM)):
        if force:
            return
        raise AlreadyExistsError(
            f"A copy to {uri} or an init of it is under way, or was cut off: there is no graph, and its claim lies "
            "there.",
            help="Wait for it. If you know that it is dead, repeat with --force (copy(..., force=True)): what it left "
            "is removed, and the copy begins anew.",
            details={"uri": uri, "claim": target.uri(target.key(CLAIM))},
        )
    if target.exists(ROOT):
        raise AlreadyExistsError(
            f"{uri} is not empty.",
            help="A graph is copied to a place where nothing is; choose another one.",
            details={"uri": uri},
        )


def _remove(target: StorageAdapter) -> None:
    """Remove what a copy made, unless somebody who did not respect its claim made a graph there."""
    if target.exists(branch_key(target, MAIN)):
        return
    for each in _MADE:
        target.delete_prefix(target.key(each))
