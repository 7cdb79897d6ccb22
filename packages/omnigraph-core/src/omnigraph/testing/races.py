"""Races for one object: N writers, M rounds, and who was told that they won.

A compare-and-swap that two writers win, or nobody, loses a commit some day. Each writer opens the place for itself, so
that the race is at the store; a barrier lets all of them go at once. Afterwards the stored object must be the winner's.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import pickle
import secrets
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
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
        return bool(self.winners) and not self.errors and not self.wrong_rounds

    def summary(self) -> str:
        """One line: who raced for how many objects, and how it ended."""
        race = f"{self.writers} {self.place} raced to {self.contest} {len(self.winners)} objects"
        if self.is_exact:
            return f"{race}: one winner each time"
        by_count = Counter(len(won) for won in self.winners)
        winners = ", ".join(f"{count} winners {rounds} times" for count, rounds in sorted(by_count.items()))
        return f"{race}: {winners}; {self.wrong_rounds} wrong, {len(self.errors)} attempts failed"

    @property
    def wrong_rounds(self) -> int:
        """Rounds without exactly one winner whose bytes are there."""
        return sum(won != (held,) for won, held in zip(self.winners, self.stored, strict=True))


def run_race(
    adapter: StorageAdapter,
    contest: Contest,
    *,
    writers: int,
    rounds: int,
    place: Place = "threads",
    seconds: float = math.inf,
) -> RaceReport:
    """Let writers race for one object per round below a prefix of its own, which is removed afterwards.

    ``create`` races on ``write_if_absent``; ``replace`` on ``write_if_match`` with one token that all hold. The race
    ends after ``rounds``, or with the first round that begins later than ``seconds`` after the first one.
    """
    prefix = adapter.key(f"__race_{secrets.token_hex(8)}")
    keys = [prefix / f"round-{number:04}" for number in range(rounds)]
    if contest == "replace":
        for key in keys:
            adapter.write(key, b"start")
    try:
        answers = _race(adapter, contest, keys, writers, place, seconds)
        played = len(answers[0])
        stored = tuple(_writer_of(adapter.read_if_exists(key)) for key in keys[:played])
    finally:
        adapter.delete_prefix(prefix)
    return RaceReport(
        contest=contest,
        place=place,
        writers=writers,
        winners=tuple(
            tuple(writer for writer, mine in enumerate(answers) if mine[number] is True) for number in range(played)
        ),
        stored=stored,
        errors=tuple(str(answer) for mine in answers for answer in mine if not isinstance(answer, bool)),
    )


@dataclass(frozen=True, slots=True)
class _Course:
    """What racing writers share.

    Attributes:
        gate: a barrier that lets all of them go at once.
        end: its ``value`` is the round before which the race ends; set by the first writer, ahead of that round.
    """

    gate: Any
    end: Any


_course: _Course | None = None
"""The course of a writer process; it gets it at its start, because locks cannot be sent later."""


def _enter(course: _Course) -> None:
    global _course
    _course = course
    threading.Thread(target=end_with_parent, daemon=True).start()


def end_with_parent() -> None:
    """End this process when the one that started it is gone; runs in a thread. A pool would let it race for nobody."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _race(
    adapter: StorageAdapter, contest: Contest, keys: list[ObjectKey], writers: int, place: Place, seconds: float
) -> list[list[bool | str]]:
    # Each writer unpickles its own adapter, so that no connection, lock or cache is shared.
    packed = pickle.dumps(adapter)
    pool: Executor
    if place == "processes":
        # Not fork: the parent may run threads, of an event loop for instance, that a forked child would lack.
        context = multiprocessing.get_context("spawn")
        course = _Course(context.Barrier(writers), context.Value("l", len(keys)))
        pool = ProcessPoolExecutor(writers, mp_context=context, initializer=_enter, initargs=(course,))
    else:
        course = _Course(threading.Barrier(writers), SimpleNamespace(value=len(keys)))
        pool = ThreadPoolExecutor(writers)
    with pool, _eager_threads():
        sent = course if place == "threads" else None
        others = set(multiprocessing.active_children())
        with _without_interrupts():
            running = [
                pool.submit(_write_rounds, packed, contest, keys, writer, seconds, sent) for writer in range(writers)
            ]
        try:
            return [each.result() for each in running]
        except BaseException:
            # An interrupt ends the race now and not after the rounds that are left. Processes are killed, because one
            # that died at the gate has taken its lock along, and then nobody can open it for the others.
            if place == "threads":
                course.gate.abort()
            for process in set(multiprocessing.active_children()) - others:
                process.kill()
            raise


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Start processes that an interrupt does not reach: a terminal sends it to all, and this one answers for them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _eager_threads() -> Iterator[None]:
    """Let threads take turns after microseconds: else most of them finish before another one gets to run."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _write_rounds(
    packed: bytes, contest: Contest, keys: list[ObjectKey], writer: int, seconds: float, given: _Course | None
) -> list[bool | str]:
    """One writer's answers: won, lost, or the message of an error."""
    course = given or _course
    if course is None:
        raise RuntimeError("a writer process was started without its course")
    adapter: StorageAdapter = pickle.loads(packed)  # noqa: S301  # bytes of our own making, one call up
    answers: list[bool | str] = []
    with adapter:
        course.gate.wait(PATIENCE_SECONDS)
        started = time.monotonic()
        for number, key in enumerate(keys):
            if writer == 0 and time.monotonic() - started > seconds:
                course.end.value = number
            token: str | OmnigraphError = ""
            if contest == "replace":
                token = _token(adapter, key)
            # Also with nothing to try: the others count on every writer at the gate.
            course.gate.wait(PATIENCE_SECONDS)
            # By number, not by a flag: a slow writer may look only when the first one is a round ahead.
            if number >= course.end.value:
                break
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
