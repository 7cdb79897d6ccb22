"""The JSON of a sidecar: spelled from an announced plan, and read back only if every part of it makes sense."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from omnigraph.control_json import ControlJsonError, read_control_json
from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import CommitKind, from_micros, to_micros
from omnigraph.history.rows import table_location
from omnigraph.history.whereabouts import Whereabouts
from omnigraph.storage import MAX_OBJECT_BYTES
from omnigraph.tables.interface import TablePin
from omnigraph.write.plan import (
    AdoptedTable,
    AnnouncedPlan,
    CommitIntent,
    MergedHead,
    PlannedTable,
    ReadSet,
    Writer,
    WriterKind,
)

SIDECAR_VERSION: Final = 2
"""Of the form. A release reads its own and refuses others."""

_ULID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")
_MAX_NUMBER: Final = 2**63 - 1


class SidecarFormError(Exception):
    """A sidecar that cannot be acted on; the message says why, without its name."""


class ForeignSidecarError(SidecarFormError):
    """A sidecar of another graph: of one that was here before, mostly, and whose writer was stopped meanwhile."""


def is_operation_id(name: str) -> bool:
    """Whether an operation may be called so."""
    return _ULID.match(name) is not None


def spell_sidecar(plan: AnnouncedPlan) -> bytes:
    """The JSON of a plan."""
    facts = {
        "schema_version": SIDECAR_VERSION,
        "operation_id": plan.operation_id,
        "graph": plan.graph,
        "writer_kind": str(plan.kind),
        "writer": {"id": plan.writer.id, **plan.writer.process.to_dict()},
        "branch": _branch_facts(plan.branch),
        "base_manifest_version": plan.base_version,
        "commit": {
            "id": plan.intent.id,
            "kind": str(plan.intent.kind),
            "actor": plan.intent.actor,
            "created_at": to_micros(plan.intent.created_at),
            "properties": dict(plan.intent.properties),
        },
        "read_set": {
            "pins": [{"table_key": key, **_pin_facts(pin)} for key, pin in sorted(plan.read_set.pins.items())],
            "schema_digest": plan.read_set.schema_digest,
            "incarnation": plan.read_set.incarnation,
            "if_commit": plan.read_set.if_commit,
        },
        "tables": [
            {
                "table_key": each.key,
                "stable_table_id": each.identity[0],
                "table_incarnation_id": each.identity[1],
                **_pin_facts(each.pin),
                "fork": each.fork,
                "transaction_id": each.transaction_id,
            }
            for each in plan.tables
        ],
        "adopted": [
            {
                "table_key": each.key,
                "stable_table_id": each.identity[0],
                "table_incarnation_id": each.identity[1],
                **_pin_facts(each.pin),
                "to": _pin_facts(each.to),
                "row_count": each.row_count,
                "version_metadata": each.version_metadata,
            }
            for each in plan.adopted
        ],
        "merged": None if plan.merged is None else _merged_facts(plan.merged),
    }
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode()


def parse_sidecar(data: bytes, operation_id: str) -> AnnouncedPlan:
    """The plan that a sidecar of this name holds.

    Raises:
        SidecarFormError: it is no plan, of a newer release, or contradicts itself.
    """
    try:
        raw = read_control_json(data, max_bytes=MAX_OBJECT_BYTES)
    except ControlJsonError as error:
        raise SidecarFormError(str(error)) from error
    if not isinstance(raw, dict):
        raise SidecarFormError("it is no object")
    facts = _Facts(raw, "")
    version = facts.number("schema_version")
    if version != SIDECAR_VERSION:
        raise SidecarFormError(f"its form is version {version}, and this release knows {SIDECAR_VERSION}")
    if facts.ulid("operation_id") != operation_id:
        raise SidecarFormError("it says that it is another operation than its name")
    plan = AnnouncedPlan(
        operation_id=operation_id,
        graph=facts.ulid("graph"),
        kind=WriterKind(facts.one_of("writer_kind", tuple(WriterKind))),
        writer=_writer(facts.inner("writer")),
        branch=_branch(facts.inner("branch")),
        base_version=facts.number("base_manifest_version", least=1),
        intent=_intent(facts.inner("commit")),
        read_set=_read_set(facts.inner("read_set")),
        tables=tuple(_table(each) for each in facts.each("tables")),
        adopted=tuple(_adopted(each) for each in facts.each("adopted")),
        merged=None if facts.is_null("merged") else _merged(facts.inner("merged")),
    )
    _check(plan)
    return plan


def _check(plan: AnnouncedPlan) -> None:
    keys = [each.key for each in plan.tables]
    if keys != sorted(set(keys)):
        raise SidecarFormError("its tables are not in order, or one comes twice")
    if len({each.transaction_id for each in plan.tables}) != len(keys):
        raise SidecarFormError("two of its tables have one transaction")
    if plan.read_set.incarnation != plan.branch.incarnation:
        raise SidecarFormError("it relies on another branch than it writes to")
    adopted = [each.key for each in plan.adopted]
    if adopted != sorted(set(adopted) - set(keys)):
        raise SidecarFormError("what it adopts is not in order, or is changed too")
    every: list[PlannedTable | AdoptedTable] = [*plan.tables, *plan.adopted]
    for table in every:
        if table.pin.location != table_location(table.key.partition(":")[0], table.identity):
            raise SidecarFormError(f"{table.key} does not lie at {table.pin.location}")
        if plan.read_set.pins.get(table.key) != table.pin:
            raise SidecarFormError(f"it changes {table.key} without relying on it")
    for taken in plan.adopted:
        if taken.to.location != taken.pin.location:
            raise SidecarFormError(f"{taken.key} does not lie at {taken.to.location}")
    for each in plan.tables:
        if not plan.branch.owns(each.base):
            raise SidecarFormError(f"it changes {each.key} on a line of another branch")


def _branch_facts(branch: BranchRef) -> dict[str, Any]:
    return {"name": branch.name, "physical": branch.physical, "incarnation": branch.incarnation}


def _merged_facts(merged: MergedHead) -> dict[str, Any]:
    return {
        "branch": _branch_facts(merged.branch),
        "commit_id": merged.commit_id,
        "manifest_version": merged.manifest_version,
        "base_id": merged.base_id,
    }


def _merged(facts: _Facts) -> MergedHead:
    return MergedHead(
        branch=_branch(facts.inner("branch")),
        commit_id=facts.ulid("commit_id"),
        manifest_version=facts.number("manifest_version", least=1),
        base_id=facts.ulid("base_id"),
    )


def _adopted(facts: _Facts) -> AdoptedTable:
    return AdoptedTable(
        key=facts.text("table_key"),
        identity=_identity(facts),
        pin=_pin(facts),
        to=_pin(facts.inner("to")),
        row_count=facts.number("row_count"),
        version_metadata=facts.text("version_metadata"),
    )


def _identity(facts: _Facts) -> tuple[int, int]:
    return facts.number("stable_table_id"), facts.number("table_incarnation_id")


def _pin_facts(pin: TablePin) -> dict[str, Any]:
    return {"location": pin.location, "branch": pin.branch, "version": pin.version}


def _pin(facts: _Facts) -> TablePin:
    return TablePin(
        location=facts.text("location"), branch=facts.text_or_none("branch"), version=facts.number("version", least=1)
    )


def _writer(facts: _Facts) -> Writer:
    process = Whereabouts(
        machine=facts.text_or_none("machine"), pid=facts.number("pid"), began=facts.number_or_none("began")
    )
    return Writer(id=facts.ulid("id"), process=process)


def _branch(facts: _Facts) -> BranchRef:
    return BranchRef(name=facts.text("name"), physical=facts.text("physical"), incarnation=facts.text("incarnation"))


def _intent(facts: _Facts) -> CommitIntent:
    micros = facts.number("created_at")
    try:
        created_at = from_micros(micros)
    except (ValueError, OverflowError, OSError) as error:
        raise SidecarFormError(f"{micros} is no time") from error
    return CommitIntent(
        id=facts.ulid("id"),
        kind=CommitKind(facts.one_of("kind", tuple(CommitKind))),
        actor=facts.text_or_none("actor"),
        created_at=created_at,
        properties=facts.inner("properties").texts(),
    )


def _read_set(facts: _Facts) -> ReadSet:
    pins = {each.text("table_key"): _pin(each) for each in facts.each("pins")}
    return ReadSet(
        pins=pins,
        schema_digest=facts.text("schema_digest"),
        incarnation=facts.text("incarnation"),
        if_commit=facts.text_or_none("if_commit"),
    )


def _table(facts: _Facts) -> PlannedTable:
    transaction_id = facts.text("transaction_id")
    try:
        UUID(transaction_id)
    except ValueError as error:
        raise SidecarFormError(f"{transaction_id!r} is no transaction") from error
    return PlannedTable(
        key=facts.text("table_key"),
        identity=_identity(facts),
        pin=_pin(facts),
        fork=facts.text_or_none("fork"),
        transaction_id=transaction_id,
    )


class _Facts:
    """An object of JSON whose members are asked for by name and form; each refusal says which one is wrong."""

    def __init__(self, raw: Mapping[str, Any], path: str) -> None:
        self._raw = raw
        self._path = path

    def _wrong(self, name: str, expected: str) -> SidecarFormError:
        return SidecarFormError(f"{self._path}{name} is {self._raw.get(name)!r:.80} and no {expected}")

    def text(self, name: str) -> str:
        value = self._raw.get(name)
        if not isinstance(value, str) or not value:
            raise self._wrong(name, "text")
        return value

    def is_null(self, name: str) -> bool:
        """Whether a member is there and says nothing."""
        return name in self._raw and self._raw[name] is None

    def text_or_none(self, name: str) -> str | None:
        return None if self.is_null(name) else self.text(name)

    def ulid(self, name: str) -> str:
        value = self._raw.get(name)
        if not isinstance(value, str) or not _ULID.match(value):
            raise self._wrong(name, "ULID")
        return value

    def one_of(self, name: str, choices: tuple[str, ...]) -> str:
        value = self._raw.get(name)
        if value not in choices:
            raise self._wrong(name, f"one of {', '.join(choices)}")
        return str(value)

    def number(self, name: str, *, least: int = 0) -> int:
        value = self._raw.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _MAX_NUMBER:
            raise self._wrong(name, "number")
        return value

    def number_or_none(self, name: str) -> int | None:
        return None if self.is_null(name) else self.number(name)

    def inner(self, name: str) -> _Facts:
        value = self._raw.get(name)
        if not isinstance(value, dict):
            raise self._wrong(name, "object")
        return _Facts(value, f"{self._path}{name}.")

    def each(self, name: str) -> Iterator[_Facts]:
        value = self._raw.get(name)
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            raise self._wrong(name, "list of objects")
        return (_Facts(each, f"{self._path}{name}[{index}].") for index, each in enumerate(value))

    def texts(self) -> dict[str, str]:
        return {name: self.text(name) if self._raw[name] != "" else "" for name in self._raw}
