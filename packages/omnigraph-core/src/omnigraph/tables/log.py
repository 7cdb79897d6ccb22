"""``LogTable``: the one table that is published to, by a compare-and-swap that no commit of Lance rebases.

    stage(rows) ──> fragments, durable, of no version ── publish ──> LogTable (the next version), or LogConflictError

A publish is an Overwrite of the schema that carries along the fragments to keep and adds new ones, with no retries:
Lance accepts it as the direct successor of the version it was built on, or refuses it. It reads nothing and writes one
small file per new fragment, a transaction and a manifest. Whatever goes wrong while staging, nothing has happened; only
the one request of the publish can leave its caller in doubt. Fragments keep their order, which is how ``history.log``
tells state from history; metadata of the schema travels with each version.

The manifest of a graph is such a table. What its rows mean is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pyarrow as pa
from lance import LanceDataset, LanceOperation, Transaction
from lance.commit import CommitConflictError
from lance.fragment import FragmentMetadata, write_fragments

from omnigraph.errors import InternalError, StorageCondition, StorageError
from omnigraph.storage import StorageAdapter
from omnigraph.tables.auto_cleanup import has_auto_cleanup, refuse_auto_cleanup, warn_of_auto_cleanup
from omnigraph.tables.counting import note
from omnigraph.tables.failures import LANCE_ERRORS, as_storage_error, condition_of_lance, translating
from omnigraph.tables.forking import fork_dataset, forked_lines, ref_file
from omnigraph.tables.native_calls import waits
from omnigraph.tables.opening import Place, manifest_name, open_dataset, place_of
from omnigraph.tables.sessions import Session, new_log_session

FORMAT_VERSION: Final = "2.2"

_ONE_FILE: Final = 2**31 - 1
"""Rows per file: one table of rows becomes one fragment, however long a history gets. Lance takes 32 bits of it."""

StagedFragments: TypeAlias = tuple[FragmentMetadata, ...]
"""New fragments of a log: written, durable, and of no version. Opaque above this layer."""


class LogConflictError(Exception):
    """Another publish came first. Nothing of this one is visible."""


class LogRefusedError(Exception):
    """The system refused a publish and the log did not move: nothing of it is visible, now or later.

    Attributes:
        failure: what was refused, for people.
    """

    def __init__(self, failure: StorageError) -> None:
        super().__init__(failure)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class LogStore:
    """The log tables of one graph's root, and the cache that their handles share."""

    adapter: StorageAdapter
    session: Session = field(default_factory=new_log_session, repr=False)

    @waits("open", is_brief=True)
    def open(self, location: str, *, branch: str | None = None, version: int | None = None) -> LogTable:
        """The log at a version, by default the newest: a listing and one request.

        Raises:
            StorageError: condition ``not_found`` when there is none; others when it cannot be read.
        """
        place = place_of(self.adapter, location, branch)
        dataset = open_dataset(place, version=version, session=self.session, counted="log.open")
        warn_of_auto_cleanup(dataset, place)
        return LogTable(self.adapter, place, dataset)

    @waits("create")
    def stage_create(self, location: str, rows: pa.Table) -> StagedFragments:
        """The rows of a first version, written and durable; nothing exists yet.

        Raises:
            LogConflictError: there is one already, and it is untouched.
            StorageError: they could not be written.
        """
        place = place_of(self.adapter, location, None)
        with translating("create", place.uri):
            try:
                fragments = write_fragments(
                    rows,
                    place.uri,
                    schema=rows.schema,
                    mode="create",
                    data_storage_version=FORMAT_VERSION,
                    enable_stable_row_ids=True,
                    max_rows_per_file=_ONE_FILE,
                    storage_options=place.options,
                )
            except LANCE_ERRORS as error:
                # A store may refuse a file as if it were there, because another request was in the way.
                if condition_of_lance(error) is StorageCondition.PRECONDITION and self._is_there(location):
                    raise LogConflictError from error
                raise
            _sync(self.adapter, place, _data_files(fragments))
        return tuple(fragments)

    def _is_there(self, location: str) -> bool:
        try:
            self.open(location)
        except StorageError as error:
            if error.condition is StorageCondition.NOT_FOUND:
                return False
            raise
        return True

    @waits("create", is_brief=True)
    def create(
        self,
        location: str,
        *,
        schema: pa.Schema,
        staged: StagedFragments,
        transaction_id: str,
        properties: Mapping[str, str],
    ) -> LogTable:
        """The first version of a log, with all its rows in one commit; among several creators one wins.

        Raises:
            LogConflictError: there is one already, and it is untouched.
            LogRefusedError: the system refused it.
            StorageError: it is not known whether it was created.
        """
        note("log.create")
        place = place_of(self.adapter, location, None)
        transaction = Transaction(
            read_version=0,
            operation=LanceOperation.Overwrite(schema, list(staged)),
            uuid=transaction_id,
            transaction_properties=dict(properties),
        )
        try:
            LanceDataset.commit(
                place.uri, transaction, enable_stable_row_ids=True, max_retries=0, storage_options=place.options
            )
        except LANCE_ERRORS as error:
            # Lance words this failure in several ways. What lies there now says whose the first version is.
            self._settle_create(place, location, transaction_id, error)
        # Opened anew: Lance gives a new table a session of its own.
        return self.open(location, version=1)

    def _settle_create(self, place: Place, location: str, transaction_id: str, error: BaseException) -> None:
        failure = as_storage_error(error, "create", place.uri)
        try:
            first = self.open(location, version=1)
            with translating("read", place.uri):
                made_by = first.dataset.read_transaction(1)
        except StorageError as missing:
            if missing.condition is StorageCondition.NOT_FOUND and _is_final(place, failure):
                raise LogRefusedError(failure) from error
            raise failure from error
        if made_by is None or made_by.uuid != transaction_id:
            raise LogConflictError from error


@dataclass(frozen=True, slots=True)
class LogTable:
    """A log table at one version; immutable."""

    adapter: StorageAdapter = field(repr=False)
    place: Place
    dataset: LanceDataset = field(repr=False)

    @property
    def version(self) -> int:
        return int(self.dataset.version)

    @property
    def schema(self) -> pa.Schema:
        return self.dataset.schema

    @property
    def metadata(self) -> dict[str, str]:
        """The metadata of the schema at this version."""
        raw = self.dataset.schema.metadata or {}
        # What is no text is damaged, and then no value that any reader of it knows.
        return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in raw.items()}

    @property
    def fragment_rows(self) -> tuple[int, ...]:
        """How many rows each fragment has, in order; no request.

        Raises:
            StorageError: the version does not say.
        """
        counts = [each.metadata.physical_rows for each in self.dataset.get_fragments()]
        if any(each is None for each in counts):
            raise StorageError(
                f"Could not read {self.place.uri}: version {self.version} does not say how many rows it has.",
                condition=StorageCondition.PERMANENT,
                uri=self.place.uri,
                help="Restore the files from another copy, or read an older commit.",
            )
        return tuple(int(each) for each in counts)

    @waits("read")
    def read(self, fragments: Sequence[int]) -> pa.Table:
        """The rows of these fragments, by position; one request for each that is small."""
        chosen = self._chosen(fragments)
        for _ in chosen:
            note("log.read")
        with translating("read", self.place.uri):
            if not chosen:
                return self.schema.empty_table()
            return self.dataset.scanner(fragments=chosen, scan_in_order=True).to_table()

    @waits("look at", is_brief=True)
    def latest_version(self) -> int:
        """The newest version there is: one cheap request, the probe behind every warm read."""
        note("log.probe")
        with translating("look at", self.place.uri):
            return int(self.dataset.latest_version)

    @property
    def has_auto_cleanup(self) -> bool:
        """Whether a publish on this version would delete older ones; no request."""
        return has_auto_cleanup(self.dataset)

    def refuse_auto_cleanup(self) -> None:
        """Raise before a write begins if its publish would delete older versions; no request.

        Raises:
            StorageError: condition ``configuration``.
        """
        refuse_auto_cleanup(self.dataset, self.place)

    @waits("write to")
    def stage(self, rows: Sequence[pa.Table]) -> StagedFragments:
        """New fragments, one per table of rows, written and durable; they belong to no version.

        Raises:
            StorageError: they could not be written, or a commit would delete older versions.
        """
        note("log.stage")
        refuse_auto_cleanup(self.dataset, self.place)
        with translating("write to", self.place.uri):
            written = [write_fragments(each, self.dataset, max_rows_per_file=_ONE_FILE) for each in rows]
        if any(len(each) != 1 for each in written):
            raise InternalError(f"Lance wrote {[len(each) for each in written]} fragments where one each was meant.")
        fragments = tuple(each[0] for each in written)
        # A manifest that survives a loss of power must not name a file that does not.
        _sync(self.adapter, self.place, _data_files(fragments))
        return fragments

    @waits("publish to", is_brief=True)
    def publish(
        self,
        *,
        keep: Sequence[int],
        staged: StagedFragments,
        metadata: Mapping[str, str],
        transaction_id: str,
        properties: Mapping[str, str],
    ) -> LogTable:
        """The next version: the kept fragments in their order, then the staged ones.

        Repeating it with equal arguments has no second effect and gives the version that the first one made.

        Raises:
            LogConflictError: another version comes after this one.
            LogRefusedError: the system refused it.
            StorageError: it is not known whether the publish happened; repeat it, or look for what it would have added.
        """
        note("log.publish")
        refuse_auto_cleanup(self.dataset, self.place)
        kept = [each.metadata for each in self._chosen(keep)]
        transaction = Transaction(
            read_version=self.version,
            operation=LanceOperation.Overwrite(self.schema.with_metadata(dict(metadata)), [*kept, *staged]),
            uuid=transaction_id,
            transaction_properties=dict(properties),
        )
        try:
            dataset = LanceDataset.commit(self.dataset, transaction, max_retries=0)
        except CommitConflictError as error:
            raise LogConflictError from error
        except LANCE_ERRORS as error:
            failure = as_storage_error(error, "publish to", self.place.uri)
            # Lance may still have failed after its effect.
            if _is_final(self.place, failure) and self.latest_version() == self.version:
                raise LogRefusedError(failure) from error
            raise failure from error
        return LogTable(self.adapter, self.place, dataset)

    @waits("look at", is_brief=True)
    def lines(self) -> list[str]:
        """The lines that were ever begun beside the main one, whether anybody still knows of them; by name.

        Raises:
            StorageError: they could not be listed.
        """
        note("log.lines")
        return forked_lines(self.adapter, self.dataset, self.place)

    @waits("fork", is_brief=True)
    def fork(self, branch: str) -> None:
        """Begin a line of its own with this version, durably, under a name that was never used before.

        Raises:
            StorageError: it could not be made, or condition ``precondition``: the name is taken.
        """
        note("log.fork")
        refuse_auto_cleanup(self.dataset, self.place)
        place = place_of(self.adapter, str(self.place.main_key), branch)
        fork_dataset(self.dataset, branch, place)
        if place.has_files:
            self.adapter.make_durable([place.file(manifest_name(self.version)), ref_file(place, branch)])

    def sync(self) -> None:
        """Return only when this version survives a loss of power, and the one before it, which may be another's."""
        try:
            versions = (self.version, self.version - 1) if self.version > 1 else (self.version,)
            _sync(self.adapter, self.place, (manifest_name(each) for each in versions))
        except StorageError as error:
            if error.condition is not StorageCondition.NOT_FOUND:
                raise
            # The one before it was reclaimed, so it was durable.
            _sync(self.adapter, self.place, (manifest_name(self.version),))

    def _chosen(self, positions: Sequence[int]) -> list[Any]:
        wanted = set(positions)
        return [each for position, each in enumerate(self.dataset.get_fragments()) if position in wanted]


def _is_final(place: Place, failure: StorageError) -> bool:
    """Whether a failure is the last word on its request.

    A refusal by the file system of this machine is: no request is under way any more. One by a server is not, because
    it may be the answer to a repetition of a request whose own answer was lost.
    """
    return place.is_on_disk and failure.condition is StorageCondition.CONFIGURATION


def _data_files(fragments: Iterable[FragmentMetadata]) -> Iterable[str]:
    return (f"data/{file.path}" for each in fragments for file in each.files)


def _sync(adapter: StorageAdapter, place: Place, names: Iterable[str]) -> None:
    if place.has_files:
        adapter.make_durable([place.file(name) for name in names])
