"""The JSON of a sidecar: spelled from an announced plan, and read back only if every part of it makes sense."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import UUID

from omnigraph.history.branches import BranchRef
from omnigraph.history.commits import CommitKind, from_micros, to_micros
from omnigraph.history.rows import table_location
from omnigraph.history.whereabouts import Whereabouts
from omnigraph.tables.interface import TablePin
from omnigraph.write.plan import AnnouncedPlan, CommitIntent, PlannedTable, ReadSet, Writer, WriterKind

SIDECAR_VERSION: Final = 1
"""Of the form. A release reads its own and refuses later ones."""

_ULID: Final = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")
_MAX_NUMBER: Final = 2**63 - 1


class SidecarFormError(Exception):
    """A sidecar that cannot be acted on; the message says why, without its name."""


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
        "branch": {
            "name": plan.branch.name,
            "physical": plan.branch.physical,
            "incarnation": plan.branch.incarnation,
        },
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
                "transaction_id": each.transaction_id,
            }
            for each in plan.tables
        ],
    }
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":")).encode()


def parse_sidecar(data: bytes, operation_id: str) -> AnnouncedPlan:
    """The plan that a sidecar of this name holds.

    Raises:
        SidecarFormError: it is no plan, of a newer release, or contradicts itself.
    """
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SidecarFormError("it is no JSON") from error
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
    for each in plan.tables:
        if each.pin.location != table_location(each.key.partition(":")[0], each.identity):
            raise SidecarFormError(f"{each.key} does not lie at {each.pin.location}")
        if plan.read_set.pins.get(each.key) != each.pin:
            raise SidecarFormError(f"it changes {each.key} without relying on it")


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
    return BranchRef(
        name=facts.text("name"), physical=facts.text_or_none("physical"), incarnation=facts.text("incarnation")
    )


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
        identity=(facts.number("stable_table_id"), facts.number("table_incarnation_id")),
        pin=_pin(facts),
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

    def text_or_none(self, name: str) -> str | None:
        return None if name in self._raw and self._raw[name] is None else self.text(name)

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
        return None if name in self._raw and self._raw[name] is None else self.number(name)

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
