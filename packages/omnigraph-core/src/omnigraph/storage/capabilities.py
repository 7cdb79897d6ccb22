"""What a backend may offer beyond the five required verbs, each with the promise that the contract tests."""

from __future__ import annotations

from enum import StrEnum


class Capability(StrEnum):
    """A declared extra. A capability is declared, tested and documented, or it does not exist."""

    WRITE_IF_MATCH = "write_if_match"
    """``write_if_match`` is a true compare-and-swap: of any number of writers that hold one token, in any number of
    processes where the store is shared, exactly one replaces the object."""

    ATOMIC_RENAME = "atomic_rename"
    """A reader never finds both names of a ``rename`` missing, nor a target that is neither the old nor the new
    object, and a crash leaves either the state before or the state after."""

    SHARED_BETWEEN_PROCESSES = "shared_between_processes"
    """Every process that opens the URI sees the same objects, the promises about races hold between processes, and the
    files of Lance's tables are themselves objects of the adapter: listed, made durable and deleted like others."""
