"""Failpoints: named places in the write path where a test can make a process stumble, wait or die.

A place calls ``reach(NAME)``. Nothing happens there unless ``omnigraph.testing.faults`` armed that name; disarmed, it
costs one look at an empty dict. Names are constants, so that code, registry and docs/reference/failpoints.md can be
compared; a guard test does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

FAILPOINTS: Final[dict[str, str]] = {}
"""Every failpoint and where it lies. Append-only within a release."""

_armed: Final[dict[str, Callable[[str], None]]] = {}


def _point(name: str, where: str) -> str:
    FAILPOINTS[name] = where
    return name


INIT_CLAIMED: Final = _point("init.claimed", "the claim is written, nothing else is")
INIT_SCHEMA_WRITTEN: Final = _point("init.schema_written", "the schema objects are written")
INIT_TABLE_CREATED: Final = _point("init.table_created", "after each node or edge type got its empty table")
INIT_BEFORE_GENESIS: Final = _point("init.before_genesis", "all is prepared, the first commit is not made")
INIT_MANIFEST_CREATED: Final = _point(
    "init.manifest_created", "the first commit is made, and no object of main names its line"
)
INIT_AFTER_GENESIS: Final = _point("init.after_genesis", "the graph exists, the claim still lies there")
COPY_CLAIMED: Final = _point("copy.claimed", "the claim of a copy is written, nothing else is")
COPY_MANIFESTS_COPIED: Final = _point("copy.manifests_copied", "lines of the manifest are copied, no table is")
COPY_FILE_COPIED: Final = _point("copy.file_copied", "after each file that was copied and compared")
COPY_VERIFIED: Final = _point("copy.verified", "every file is copied and the copy was looked at, no ref is written")
COPY_BEFORE_MAIN: Final = _point("copy.before_main", "every ref is written but the object of main")
COPY_AFTER_MAIN: Final = _point("copy.after_main", "the copy is a graph, its claim still lies there")
LOAD_STAGED: Final = _point("load.staged", "all rows are judged and staged, no plan is made")
MUTATION_POST_NO_EFFECT_PRE_GATE: Final = _point(
    "mutation.post_no_effect_pre_gate", "nothing matched, and nobody is told yet"
)
MUTATION_DELETE_NODE_PRE_PRIMARY_DELETE: Final = _point(
    "mutation.delete_node_pre_primary_delete", "the nodes to delete and their edges are found, nothing is staged"
)
MUTATION_POST_STAGE_PRE_EFFECT_GATE: Final = _point(
    "mutation.post_stage_pre_effect_gate", "all changes are judged and staged, no plan is made"
)
MUTATION_POST_FORK_PRE_COMMIT: Final = _point(
    "mutation.post_fork_pre_commit", "a type has its own line on a branch, nothing is written to it"
)
BRANCH_CREATE_POST_NATIVE: Final = _point(
    "branch_create.post_native", "the line of a new branch is made, no object names it"
)
BRANCH_CREATE_POST_REF: Final = _point("branch_create.post_ref", "a new branch is made, and nobody is told yet")
BRANCH_MERGE_POST_AUTHORITY_CAPTURE: Final = _point(
    "branch_merge.post_authority_capture", "the head of the branch to merge is captured, nothing is compared"
)
BRANCH_MERGE_POST_CANDIDATE_VALIDATION: Final = _point(
    "branch_merge.post_candidate_validation", "a merge is thought through and judged, nothing is staged"
)
BRANCH_DELETE_POST_NATIVE: Final = _point("branch_delete.post_native", "a branch is deleted, and nobody is told yet")
ENSURE_INDICES_POST_STAGE_PRE_COMMIT_BTREE: Final = _point(
    "ensure_indices.post_stage_pre_commit_btree", "every index that was missing is built, no plan is made"
)
FOLD_STAGED: Final = _point("fold.staged", "small parts are written together, no plan is made")
PUBLISH_BEFORE_SIDECAR: Final = _point("publish.before_sidecar", "everything is staged, nothing is announced")
PUBLISH_SIDECAR_WRITTEN: Final = _point("publish.sidecar_written", "the plan is durable, no table moved")
PUBLISH_TABLE_COMMITTED: Final = _point("publish.table_committed", "after each table's commit")
PUBLISH_TABLES_DURABLE: Final = _point("publish.tables_durable", "every table is committed and synced")
PUBLISH_BEFORE_COMMIT: Final = _point("publish.before_commit", "right before the compare-and-swap")
PUBLISH_AFTER_COMMIT: Final = _point("publish.after_commit", "the swap is made, not yet synced")
PUBLISH_ACKNOWLEDGED: Final = _point("publish.acknowledged", "the commit is durable, the sidecar still lies there")
PUBLISH_SIDECAR_DELETED: Final = _point("publish.sidecar_deleted", "the end of a publish")
PUBLISH_LOAD_STATE_RETRYABLE_CONTENTION: Final = _point(
    "publish.load_state_retryable_contention", "a swap was lost, the newest log is about to be read"
)
REFUSAL_PRE_PUT_BACK: Final = _point(
    "refusal.pre_put_back", "a write is refused whose tables moved, and none of them is put back"
)
REFUSAL_POST_PUT_BACK: Final = _point("refusal.post_put_back", "after each table that a refused write put back")
RELOCATE_TABLES_DONE: Final = _point(
    "relocate.tables_done", "lines of types name their files here, and those of the manifest do not"
)
RECOVERY_SIDECAR_WRITE: Final = _point("recovery.sidecar_write", "right before the sidecar is written")
RECOVERY_SIDECAR_DELETE: Final = _point("recovery.sidecar_delete", "right before a sidecar is removed")
RECOVERY_SIDECAR_LIST: Final = _point("recovery.sidecar_list", "right before sidecars are listed")
RECOVERY_POST_SIDECAR_LIST_PRE_READ: Final = _point(
    "recovery.post_sidecar_list_pre_read", "sidecars are listed, none is read"
)
RECOVERY_POST_LIST_PRE_GATES: Final = _point(
    "recovery.post_list_pre_gates", "the writer of a sidecar is dead, the gates of its types are not held"
)
RECOVERY_BEFORE_ROLL_FORWARD_PUBLISH: Final = _point(
    "recovery.before_roll_forward_publish", "a plan is found complete and not yet published"
)
RECOVERY_POST_TABLE_RESTORE_PRE_PUBLISH: Final = _point(
    "recovery.post_table_restore_pre_publish", "after each table whose newest version was put right"
)
RECOVERY_RECORD_AUDIT: Final = _point("recovery.record_audit", "a sidecar is settled and not yet audited")
RECOVERY_ORPHAN_DISCARD_AUDIT_APPEND: Final = _point(
    "recovery.orphan_discard_audit_append", "a sidecar of a branch that is gone is about to be audited"
)


def reach(name: str) -> None:
    """Do what was armed for this failpoint, if anything was."""
    if _armed:
        action = _armed.get(name)
        if action is not None:
            action(name)


def arm(name: str, action: Callable[[str], None]) -> None:
    """Let ``reach`` call the action; tests use ``omnigraph.testing.faults.armed`` instead, which disarms again.

    Raises:
        ValueError: there is no failpoint of this name.
    """
    if name not in FAILPOINTS:
        raise ValueError(f"There is no failpoint {name!r}. There are: {', '.join(FAILPOINTS)}")
    _armed[name] = action


def disarm(name: str) -> None:
    """Let the failpoint do nothing again."""
    _armed.pop(name, None)
