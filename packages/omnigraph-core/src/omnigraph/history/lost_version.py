"""The newest version of a branch that somebody deleted: said when the branch is read, refused when it is written.

The next commit would take the number of the deleted one, and two histories would have one name. See
``tables.lost_versions`` for what shows it, and where.
"""

from __future__ import annotations

from omnigraph.errors import FormatError
from omnigraph.history.log import ManifestLog, Manifests
from omnigraph.tables.lost_versions import LostVersion, hinted_version, lost_version


def find_lost_version(manifests: Manifests, log: ManifestLog) -> LostVersion | None:
    """The version after a newest log that was deleted; one small file on a disk, and nothing elsewhere."""
    adapter, location, fork = manifests.logs.adapter, manifests.location, manifests.fork_of(log.branch)
    hinted = hinted_version(adapter, location, fork)
    # Others may have published since the log was opened; then their version is there.
    if hinted is None or hinted <= log.version or hinted <= log.table.latest_version():
        return None
    return lost_version(adapter, location, fork, hinted=hinted)


def lost_version_error(lost: LostVersion, newest: ManifestLog) -> FormatError:
    """What is said of it, as the error that refuses a write."""
    way_out = f"To go on from version {newest.version} instead, delete {lost.hint_uri}."
    return _deleted(newest, lost.version, f"{lost.uri} is not there", way_out)


def rolled_back_error(known: ManifestLog, newest: ManifestLog) -> FormatError:
    """What is said where this process has read a version that is newer than the newest one."""
    way_out = f"To go on from version {newest.version} instead, open the graph again."
    return _deleted(newest, known.version, "it was read and is not there any more", way_out)


def _deleted(newest: ManifestLog, version: int, what_shows_it: str, way_out: str) -> FormatError:
    branch = newest.branch.name
    return FormatError(
        f"The newest version of the manifest of {branch}, {version}, was deleted: {what_shows_it}. "
        f"{branch} is shown as it was at version {newest.version}.",
        help=f"Restore the file from a copy. {way_out}",
        details={"branch": branch, "manifest_version": version, "shown": newest.version},
    )
