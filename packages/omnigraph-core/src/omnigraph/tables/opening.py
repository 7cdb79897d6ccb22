"""The one place where a Lance dataset is opened, and where the files of a table have their names.

A pin becomes a ``Place`` (where one line of a table lies: its main line or one physical branch) and a version. The
opener counts what it opens and never looks for the newest version unless it is asked to.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

import lance
from lance import LanceDataset

from omnigraph.cancellation import check_cancelled
from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import LanceLocation, ObjectKey, StorageAdapter
from omnigraph.tables.base_paths import refuse_foreign_bases
from omnigraph.tables.counting import note
from omnigraph.tables.failures import translating
from omnigraph.tables.sessions import Session

_MAX_VERSION: Final = 2**64 - 1
_MANIFEST_NAME: Final = re.compile(r"(\d{20})\.manifest\Z")
_WITHOUT_FILES: Final = ("memory://", "shared-memory://")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One line of versions of one table.

    Attributes:
        key: of its directory below the graph's root.
        uri: of the same directory, as Lance reads it.
        options: what Lance needs to reach it; may hold secrets.
        main_key: key of the table's main line.
        has_files: whether its files are objects of the adapter.
        main_uri: of the directory of the table's main line.
        root: the URI of the graph.
    """

    key: ObjectKey
    uri: str
    options: dict[str, str] = field(repr=False)
    main_key: ObjectKey
    has_files: bool
    main_uri: str
    root: str

    @property
    def is_on_disk(self) -> bool:
        """Whether it lies in a file system of this machine, which may lose power; not on a server."""
        return self.has_files and "://" not in self.uri

    def file(self, name: str) -> ObjectKey:
        """The key of a file below this line, such as ``data/x.lance``."""
        return self.key / name


def place_of(adapter: StorageAdapter, location: str, branch: str | None) -> Place:
    """Where a line of a table lies: ``<table>`` itself, or ``<table>/tree/<branch>``."""
    main = adapter.key(location)
    found: LanceLocation = adapter.lance_location(main)
    return Place(
        key=main if branch is None else main / "tree" / branch,
        uri=found.uri if branch is None else f"{found.uri}/tree/{branch}",
        options=dict(found.storage_options),
        main_key=main,
        has_files=not found.uri.startswith(_WITHOUT_FILES),
        main_uri=found.uri,
        root=str(adapter.root),
    )


def open_dataset(place: Place, *, version: int | None, session: Session | None, counted: str = "open") -> LanceDataset:
    """Open one version without listing; the newest one when ``version`` is None.

    Raises:
        StorageError: ``not_found`` when there is no such version, ``permanent`` when what lies there is no version.
        RelocationRequiredError: it names files at another place.
    """
    check_cancelled()
    note(counted)
    with translating("open", place.uri):
        found = lance.dataset(place.uri, version=version, storage_options=place.options, session=session)
        # Made of the manifest when it is asked for, and a damaged one may fail then: better here than anywhere.
        _ = found.schema
    # Lance takes a manifest of zeros, as a loss of power may leave it, for an empty table at version 0.
    if found.version < 1:
        raise StorageError(
            f"Could not open {place.uri}: its newest version is damaged.",
            condition=StorageCondition.PERMANENT,
            uri=place.uri,
            help="Open the graph for writing: that moves what a loss of power damaged out of the way.",
        )
    refuse_foreign_bases(found, place)
    return found


def moved_to_session(dataset: LanceDataset, place: Place, session: Session) -> LanceDataset:
    """The same version in this session, by the description that it has in memory; a look whether it is there."""
    # Any: Lance's own stubs do not know either method.
    inner: Any = dataset._ds  # noqa: SLF001 - what LanceDataset pickles by
    current: Any = dataset.session()
    if current.is_same_as(session):
        return dataset
    note("open")
    with translating("open", place.uri):
        return LanceDataset(
            place.uri,
            version=dataset.version,
            storage_options=place.options,
            serialized_manifest=inner.serialized_manifest(),
            session=session,
        )


def manifest_name(version: int) -> str:
    """The file of a version below the directory of its line. Lance counts down: listings begin at the newest."""
    return f"_versions/{_MAX_VERSION - version:020d}.manifest"


def detached_name(version: int) -> str:
    """The file of a detached version."""
    return f"_versions/d{version}.manifest"


def transaction_name(read_version: int, transaction_id: str) -> str:
    """The file of a transaction, by the version that it was built on."""
    return f"_transactions/{read_version}-{transaction_id}.txn"


def version_of_name(name: str) -> int | None:
    """The version whose file has this last segment; None for other files."""
    found = _MANIFEST_NAME.match(name)
    return None if found is None else _MAX_VERSION - int(found.group(1))
