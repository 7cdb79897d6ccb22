"""What one process wrote for a bulk load, as plain JSON: receipts of files, and what was wrong with its rows.

BulkReceipt    the files of one type
BulkAttempt    the receipts of one call, and every problem that it found; what is wrong travels as data, because
               an exception in a task of a cluster is an order to try again
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from omnigraph.control_json import ControlJsonError, read_control_json
from omnigraph.errors import InvalidInputError
from omnigraph.errors.examples import share
from omnigraph.tables.interface import TablePin, WrittenRows
from omnigraph.write.problems import KEPT, Problem, ProblemLog

RECEIPT_FORMAT: Final = 4
ATTEMPT_FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkReceipt:
    """The files of one type that one call wrote.

    Attributes:
        load_id: names the load that it belongs to.
        schema_digest: the schema by which the rows were checked.
        pin: the version of the type that the branch showed when the ticket was made.
        written: the files, in order; they lie below the line of that version, or of a fork of it.
        minted: how many of the rows got their id there.
        minted_rows: which of them, where some did and others did not and a merge must know: bits in the order of rows,
            as base64.
        staged_at: the manifest version that the ticket knew; a fence since then voids the files.
    """

    load_id: str
    schema_digest: str
    type_key: str
    pin: TablePin
    written: tuple[WrittenRows, ...]
    row_count: int
    minted: int
    minted_rows: str | None = None
    staged_at: int

    @property
    def is_minted(self) -> npt.NDArray[np.bool_]:
        """By row, whether it got its id there."""
        if self.minted_rows is None:
            return np.full(self.row_count, self.minted > 0)
        bits = np.frombuffer(base64.b64decode(self.minted_rows), np.uint8)
        return np.unpackbits(bits, count=self.row_count).astype(np.bool_)

    def to_dict(self) -> dict[str, Any]:
        return {"format": RECEIPT_FORMAT, **asdict(self)}

    def to_json(self) -> str:
        return _json(self.to_dict())

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> BulkReceipt:
        """The receipt whose ``to_dict`` this is.

        Raises:
            InvalidInputError: it is none.
        """
        try:
            members = dict(facts)
            is_ours = members.pop("format") == RECEIPT_FORMAT
            written = tuple(
                WrittenRows(**(each | {"fragments": tuple(each["fragments"])})) for each in members.pop("written")
            )
            receipt = cls(**members | {"pin": TablePin(**members["pin"])}, written=written)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _no_receipt(str(error)) from error
        if not is_ours:
            raise _no_receipt("it has another format")
        return receipt

    @classmethod
    def from_json(cls, text: str) -> BulkReceipt:
        """The receipt whose ``to_json`` this is. Raises as ``from_dict``."""
        return cls.from_dict(_members(text))


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkAttempt:
    """What one call wrote, and what it found wrong.

    Attributes:
        receipts: one for each type that was named, also without rows; none when records could not be read.
        problems: in the order of finding, the first hundred of each reason.
        counts: all of them, by reason.
        is_readable: whether every record was a row of its type; the problems are broken rules of the schema then.
        lines: how many lines the text had that was read; None where it was none.
    """

    receipts: tuple[BulkReceipt, ...]
    problems: tuple[Problem, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    is_readable: bool = True
    lines: int | None = None

    @classmethod
    def together(cls, attempts: Sequence[BulkAttempt]) -> BulkAttempt:
        """All attempts as one; what broke rules counts only where every record could be read."""
        is_readable = all(each.is_readable for each in attempts)
        log = gathered(attempts, are_readable=is_readable)
        return cls(
            receipts=tuple(receipt for each in attempts for receipt in each.receipts),
            problems=tuple(log.kept),
            counts=dict(log.counts),
            is_readable=is_readable,
        )

    def raise_problems(self) -> None:
        """Raise what was found: records that are no rows, or else values that break a rule.

        Raises:
            InvalidInputError, ConstraintError: with every kept problem in its details.
        """
        log = gathered([self], are_readable=self.is_readable)
        if self.is_readable:
            log.raise_violated()
        log.raise_invalid()

    def moved(self, lines: int) -> BulkAttempt:
        """The same, with so many lines before the text that was read."""
        shifted = (each if each.line is None else replace(each, line=each.line + lines) for each in self.problems)
        return replace(self, problems=tuple(shifted))

    def shortened(self, most: int = KEPT) -> BulkAttempt:
        """The same with at most so many problems, shared between their reasons; all are counted still.

        For who hands back very many attempts, of which every one may be wrong.
        """
        chosen = share([each.reason for each in self.problems], most)
        return replace(self, problems=tuple(self.problems[index] for index in chosen))

    def to_json(self) -> str:
        return _json({
            "attempt": ATTEMPT_FORMAT,
            "receipts": [each.to_dict() for each in self.receipts],
            "problems": [each.to_dict() for each in self.problems],
            "counts": dict(self.counts),
            "is_readable": self.is_readable,
            "lines": self.lines,
        })  # fmt: skip

    @classmethod
    def from_json(cls, text: str) -> BulkAttempt:
        """The attempt whose ``to_json`` this is.

        Raises:
            InvalidInputError: it is none.
        """
        facts = _members(text)
        try:
            is_ours = facts.pop("attempt") == ATTEMPT_FORMAT
            receipts = tuple(BulkReceipt.from_dict(each) for each in facts.pop("receipts"))
            problems = tuple(Problem.from_dict(each) for each in facts.pop("problems"))
            attempt = cls(**facts, receipts=receipts, problems=problems)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _no_receipt(str(error)) from error
        if not is_ours:
            raise _no_receipt("it has another format")
        return attempt


def minted_rows(is_minted: Sequence[npt.NDArray[np.bool_]]) -> str | None:
    """Which rows got their ids there, for a receipt; None when all of them did or none."""
    mask = np.concatenate(is_minted) if is_minted else np.zeros(0, np.bool_)
    return base64.b64encode(np.packbits(mask).tobytes()).decode() if mask.any() and not mask.all() else None


def as_attempt(given: BulkReceipt | BulkAttempt | str) -> BulkAttempt:
    """What a process handed back, in any of its forms.

    Raises:
        InvalidInputError: it is none of them.
    """
    if isinstance(given, str):
        given = BulkAttempt.from_json(given) if "attempt" in _members(given) else BulkReceipt.from_json(given)
    return BulkAttempt(receipts=(given,)) if isinstance(given, BulkReceipt) else given


def gathered(attempts: Sequence[BulkAttempt], *, are_readable: bool) -> ProblemLog:
    """The problems of all attempts that could read every record, or of all that could not."""
    log = ProblemLog()
    for each in attempts:
        if each.is_readable is are_readable:
            log.merge(each.problems, each.counts)
    return log


def _json(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, ensure_ascii=False, separators=(",", ":"))


def _members(text: str) -> dict[str, Any]:
    try:
        facts = read_control_json(text)
    except ControlJsonError as error:
        raise _no_receipt(str(error)) from error
    if not isinstance(facts, dict):
        raise _no_receipt("it is no object")
    return facts


def _no_receipt(why: str) -> InvalidInputError:
    return InvalidInputError(
        f"This is no receipt of a bulk write: {why}.",
        help="Pass what ticket.write returned, or its to_json(), unchanged.",
    )
