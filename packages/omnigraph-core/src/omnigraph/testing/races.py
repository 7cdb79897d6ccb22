"""Races for one object: N writers, M rounds, and who was told that they won.

A compare-and-swap that two writers win, or nobody, loses a commit some day. Each writer opens the place for itself, so
that the race is at the store; a barrier lets all of them go at once. Afterwards the stored object must be the winner's.
"""

from __future__ import annotations

import multiprocessing
import pickle
import secrets
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from omnigraph.errors import OmnigraphError
from omnigraph.storage import ObjectKey, StorageAdapter

PATIENCE_SECONDS: Final = 300.0
"""How long a writer waits for the others before the race is called off."""

T = TypeVar("T")

Contest = Literal["create", "replace"]
Place = Literal["threads", "processes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceReport:
    """What a race showed.

    Attributes:
        winners: for each round, the writers that were told that they won.
        stored: for each round, the writer whose bytes the store held afterwards; None when it held none.
        errors: messages of writers that got an error instead of an answer.
    """

    contest: Contest
    place: Place
    writers: int
    winners: tuple[tuple[int, ...], ...]
    stored: tuple[int | None, ...]
    errors: tuple[str, ...]

    @property
    def is_exact(self) -> bool:
        """Whether every round had exactly one winner, whose bytes are there, and every writer got an answer."""
        return not self.errors and all(won == (held,) for won, held in zip(self.winners, self.stored, strict=True))

    def summary(self) -> str:
        """One line: how many rounds had how many winners."""
        by_count = Counter(len(won) for won in self.winners)
        rounds = ", ".join(f"{rounds} with {count}" for count, rounds in sorted(by_count.items()))
        wrong = sum(won != (held,) for won, held in zip(self.winners, self.stored, strict=True))
        return (
            f"{self.contest} race of {self.writers} {self.place}, {len(self.winners)} rounds by number of winners: "
            f"{rounds}; {wrong} rounds wrong, {len(self.errors)} errors"
        )


def run_race(
    adapter: StorageAdapter, contest: Contest, *, writers: int, rounds: int, place: Place = "threads"
) -> RaceReport:
    """Let writers race for one object per round below a prefix of its own, which is removed afterwards.

    ``create`` races on ``write_if_absent``; ``replace`` on ``write_if_match`` with one token that all hold.
    """
    prefix = adapter.key(f"__race_{secrets.token_hex(8)}")
    keys = [prefix / f"round-{number:04}" for number in range(rounds)]
    if contest == "replace":
        for key in keys:
            adapter.write(key, b"start")
    try:
        answers = _race(adapter, contest, keys, writers, place)
        stored = tuple(_writer_of(adapter.read_if_exists(key)) for key in keys)
    finally:
        adapter.delete_prefix(prefix)
    return RaceReport(
        contest=contest,
        place=place,
        writers=writers,
        winners=tuple(
            tuple(writer for writer, mine in enumerate(answers) if mine[number] is True) for number in range(rounds)
        ),
        stored=stored,
        errors=tuple(str(answer) for mine in answers for answer in mine if not isinstance(answer, bool)),
    )


_barrier: Any = None
"""The starting gate of a writer process; processes get it at their start because it cannot be sent later."""


def _set_barrier(barrier: Any) -> None:
    global _barrier
    _barrier = barrier


def _race(
    adapter: StorageAdapter, contest: Contest, keys: list[ObjectKey], writers: int, place: Place
) -> list[list[bool | str]]:
    # Each writer unpickles its own adapter, so that no connection, lock or cache is shared.
    packed = pickle.dumps(adapter)
    pool: Executor
    if place == "processes":
        # Not fork: the parent may run threads, of an event loop for instance, that a forked child would lack.
        context = multiprocessing.get_context("spawn")
        starting_gate: Any = context.Barrier(writers)
        pool = ProcessPoolExecutor(writers, mp_context=context, initializer=_set_barrier, initargs=(starting_gate,))
        gate = None
    else:
        gate = starting_gate = threading.Barrier(writers)
        pool = ThreadPoolExecutor(writers)
    with pool:
        running = [pool.submit(_write_rounds, packed, contest, keys, writer, gate) for writer in range(writers)]
        try:
            return [each.result() for each in running]
        except BaseException:
            # An interrupt ends the race now and not after the rounds that are left.
            starting_gate.abort()
            raise


def _write_rounds(
    packed: bytes, contest: Contest, keys: list[ObjectKey], writer: int, barrier: Any
) -> list[bool | str]:
    """One writer's answers: won, lost, or the message of an error."""
    gate = _barrier if barrier is None else barrier
    adapter: StorageAdapter = pickle.loads(packed)  # noqa: S301  # bytes of our own making, one call up
    answers: list[bool | str] = []
    with adapter:
        for key in keys:
            token: str | OmnigraphError = ""
            if contest == "replace":
                token = _token(adapter, key)
            # Also with nothing to try: the others count on every writer at the gate.
            gate.wait(PATIENCE_SECONDS)
            outcome = token if isinstance(token, OmnigraphError) else _attempt(adapter, contest, key, writer, token)
            answers.append(str(outcome) if isinstance(outcome, OmnigraphError) else outcome)
    return answers


def _token(adapter: StorageAdapter, key: ObjectKey) -> str | OmnigraphError:
    return _answer(lambda: adapter.read_versioned(key).token)


def _attempt(
    adapter: StorageAdapter, contest: Contest, key: ObjectKey, writer: int, token: str
) -> bool | OmnigraphError:
    if contest == "create":
        return _answer(lambda: adapter.write_if_absent(key, _mark(writer)))
    return _answer(lambda: adapter.write_if_match(key, _mark(writer), token) is not None)


def _answer(ask: Callable[[], T]) -> T | OmnigraphError:
    try:
        return ask()
    except OmnigraphError as error:
        return error


def _mark(writer: int) -> bytes:
    return f"writer {writer}".encode()


def _writer_of(data: bytes | None) -> int | None:
    if data is None or not data.startswith(b"writer "):
        return None
    return int(data.removeprefix(b"writer "))
