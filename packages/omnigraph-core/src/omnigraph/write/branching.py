"""Making and deleting branches: one object each, and nothing of any table is touched.

    create   fork the manifest under a name that was never used ──> write the branch's object if it is absent
    delete   remove the object

The object is the one authority for the existence of a branch, so both happen in one step. What a create that fails or a
delete leaves of the physical line is litter without a name; a writer that still holds it publishes to nobody.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

from omnigraph import failpoints
from omnigraph.errors import (
    AlreadyExistsError,
    BranchReplacedError,
    FormatError,
    InvalidInputError,
    NotFoundError,
    StorageCondition,
    StorageError,
)
from omnigraph.failpoints import reach
from omnigraph.history.branches import MAIN, Branch, BranchRef, branch_key, resolve_branch, spell_ref
from omnigraph.history.log import ManifestLog, fork_manifest
from omnigraph.history.ref_names import check_ref_name
from omnigraph.history.repository import Repository
from omnigraph.history.ulids import new_ulid
from omnigraph.storage import ObjectKey, StorageAdapter


def make_branch(repository: Repository, name: str, base: ManifestLog) -> Branch:
    """Make a branch that begins as a log; its cost does not depend on the size of the graph.

    Raises:
        AlreadyExistsError: there is one of this name.
        InvalidInputError: a branch cannot be called so.
        StorageError: it could not be made.
    """
    check_ref_name(name, "branch")
    if name == MAIN:
        raise _exists(name)
    head = base.state.head
    ref = BranchRef.new(
        name,
        new_ulid(),
        base_commit=head.id,
        created_at=datetime.now(UTC),
        root=repository.main.physical,
    )
    fork_manifest(base, ref)
    reach(failpoints.BRANCH_CREATE_POST_NATIVE)
    if not _claim(repository, ref):
        raise _exists(name)
    confirm_ref(repository, branch_key(repository.adapter, name), spell_ref(ref))
    reach(failpoints.BRANCH_CREATE_POST_REF)
    return Branch(name=name, head=head.id, base_commit=ref.base_commit, created_at=ref.created_at)


def delete_branch(repository: Repository, name: str) -> None:
    """Delete a branch; its commits stay where they were merged, and may be read by their ids until they are reclaimed.

    One whose object or line is damaged is deleted as any other.

    Raises:
        NotFoundError: there is no such branch.
        InvalidInputError: it is main.
        StorageError: it could not be deleted.
    """
    if name == MAIN:
        raise InvalidInputError("main cannot be deleted: it is what the graph began with.", help="Delete another one.")
    try:
        ref = repository.resolve(name)
    except FormatError:
        # Its name is enough to delete it, and nothing else would take the object away. It must be of this graph.
        repository.refuse_replaced()
        _remove(repository, name, incarnation=None)
    else:
        _remove(repository, name, incarnation=ref.incarnation)
        repository.forget_branch(ref)
    reach(failpoints.BRANCH_DELETE_POST_NATIVE)


def ensure_branch(repository: Repository, name: str, base: str) -> bool:
    """Make a branch as another one is now unless it is there; whether it was made. Raises as ``make_branch``."""
    try:
        resolve_branch(repository.adapter, name)
    except NotFoundError:
        try:
            make_branch(repository, name, repository.newest(base))
        except AlreadyExistsError:
            # Somebody else made it meanwhile.
            return False
        return True
    return False


def confirm_ref(repository: Repository, key: ObjectKey, made: bytes) -> None:
    """Look at main after the object of a branch or tag was made, and take the object back if the graph is gone.

    Raises:
        NotFoundError: the graph was removed.
        BranchReplacedError: it was removed and made anew, and the object lay in the new one.
        StorageError: condition ``unknown``: the store did not answer; the object is there, in whatever graph.
    """
    adapter = repository.adapter
    try:
        repository.refuse_replaced()
    except StorageError as error:
        raise _unsure(adapter, key) from error
    except (NotFoundError, BranchReplacedError):
        with suppress(StorageError):
            if adapter.read_if_exists(key) == made:
                adapter.delete(key)
        raise


def _claim(repository: Repository, ref: BranchRef) -> bool:
    """Write the object of a branch unless there is one; also when only the answer is lost."""
    adapter = repository.adapter
    key = branch_key(adapter, ref.name)
    try:
        return adapter.write_if_absent(key, spell_ref(ref))
    except StorageError:
        try:
            found = adapter.read_if_exists(key)
        except StorageError as error:
            raise _unsure(adapter, key) from error
        if found is None:
            raise
        return found == spell_ref(ref)


def _unsure(adapter: StorageAdapter, key: ObjectKey) -> StorageError:
    uri = adapter.uri(key)
    return StorageError(
        f"It is not known whether {uri} was made: the store did not answer.",
        condition=StorageCondition.UNKNOWN,
        uri=uri,
        help="When the store answers again, look whether it is there: it is whole then. If not, repeat the operation.",
    )


def _remove(repository: Repository, name: str, *, incarnation: str | None) -> None:
    """Remove the object of a branch, None standing for one that is damaged; also when only the answer is lost."""
    adapter = repository.adapter
    try:
        adapter.delete(branch_key(adapter, name))
    except StorageError as failure:
        try:
            found = resolve_branch(adapter, name).incarnation
        except NotFoundError:
            return
        except FormatError:
            found = None
        if found == incarnation:
            raise failure from failure.__cause__


def _exists(name: str) -> AlreadyExistsError:
    return AlreadyExistsError(
        f'There is a branch "{name}" already.',
        help="Use it, give another name, or delete it first: omnigraph branch delete.",
        details={"branch": name},
    )
