"""The points of a write at which a process may die, by name: after each system call that changes something.

``LocalAdapter`` announces each to a hook that does nothing; crash tests override it and die there.
"""

from __future__ import annotations

from typing import Final

DIRECTORY_MADE: Final = "directory_made"
PARENT_SYNCED: Final = "parent_synced"
DIRECTORY_READY: Final = "directory_ready"
TEMPORARY_CREATED: Final = "temporary_created"
TEMPORARY_WRITTEN: Final = "temporary_written"
TEMPORARY_SYNCED: Final = "temporary_synced"
LOCK_OPENED: Final = "lock_opened"
LOCKED: Final = "locked"
CHECKED: Final = "checked"
REPLACED: Final = "replaced"
UNLOCKED: Final = "unlocked"
ONE_SYNCED: Final = "one_synced"
DIRECTORY_SYNCED: Final = "directory_synced"

WRITE_STEPS: Final = (
    DIRECTORY_MADE,
    PARENT_SYNCED,
    DIRECTORY_READY,
    TEMPORARY_CREATED,
    TEMPORARY_WRITTEN,
    TEMPORARY_SYNCED,
    LOCK_OPENED,
    LOCKED,
    CHECKED,
    REPLACED,
    UNLOCKED,
    ONE_SYNCED,
    DIRECTORY_SYNCED,
)
"""The points between the system calls of a conditional write, in order.

The object changes between CHECKED and REPLACED. DIRECTORY_MADE and PARENT_SYNCED come once for each directory that was
missing, ONE_SYNCED for each directory that is synced after the change.
"""

LOCK_STEPS: Final = (LOCK_OPENED, LOCKED, UNLOCKED)
"""Those that ``write`` does not come to."""

TEMPORARY_STEPS: Final = (TEMPORARY_CREATED, TEMPORARY_WRITTEN, TEMPORARY_SYNCED)
"""Those that ``rename`` does not come to."""
