"""What a test lets happen at a failpoint: an error, a call, a meeting, or the end of the process.

    with armed({PUBLISH_BEFORE_COMMIT: Raise(OSError("gone"))}):        in this process
        graph.load(...)
    OMNIGRAPH_FAILPOINTS="publish.before_commit=kill"                   in another one, whose test script asks for it

The names are those of ``omnigraph.failpoints``. Nothing here is imported, and the variable is not read, unless a test
asks: ``arm_from_environment`` is called by scripts that a test starts, never by ``import omnigraph``.
"""

from __future__ import annotations

import os
import secrets
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from omnigraph.failpoints import FAILPOINTS, arm, disarm

FAILPOINTS_VARIABLE: Final = "OMNIGRAPH_FAILPOINTS"
"""``name=action`` pairs, separated by commas; see ``arm_from_environment``."""

PATIENCE_SECONDS: Final = 60.0
"""How long one party of a ``Barrier`` waits for the others before the test fails."""

Action = Callable[[str], None]
"""Called with the name of the failpoint, by the thread that reached it."""

_standing: Final[dict[str, Action]] = {}
"""What ``armed`` and ``arm_from_environment`` have armed, so that an inner ``armed`` can put the outer one back."""


class FailpointError(Exception):
    """Raised at a failpoint that was armed without an error of its own; no error of the product is one."""


class Raise:
    """Raises the error each time."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __call__(self, name: str) -> None:
        raise self.error


class RaiseTimes:
    """Raises the error the first ``times`` times, and does nothing after that."""

    def __init__(self, times: int, error: BaseException) -> None:
        self.error = error
        self._left = times
        self._lock = threading.Lock()

    def __call__(self, name: str) -> None:
        with self._lock:
            if self._left == 0:
                return
            self._left -= 1
        raise self.error


class Call:
    """Calls back with the name of the failpoint."""

    def __init__(self, callback: Callable[[str], object]) -> None:
        self.callback = callback

    def __call__(self, name: str) -> None:
        self.callback(name)


class Kill:
    """Ends this process as a power cut to it alone would: no handler runs, no buffer is flushed."""

    def __call__(self, name: str) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class OnNth:
    """Does what another action does, from the ``nth`` time on that the failpoint is reached; the first is 1."""

    def __init__(self, nth: int, action: Action) -> None:
        self.action = action
        self._before = nth - 1
        self._lock = threading.Lock()

    def __call__(self, name: str) -> None:
        with self._lock:
            if self._before > 0:
                self._before -= 1
                return
        self.action(name)


class Once:
    """Does what another action does, the first time, and nothing after that."""

    def __init__(self, action: Action) -> None:
        self.action = action
        self._is_due = True
        self._lock = threading.Lock()

    def __call__(self, name: str) -> None:
        with self._lock:
            is_due, self._is_due = self._is_due, False
        if is_due:
            self.action(name)


class Barrier:
    """Holds who comes until ``parties`` have come; whoever comes later passes.

    So two writers can be brought to one point, and the retry of the one that loses is not held again. Parties are
    threads of this process, or, with a ``directory`` that all of them reach, threads of any processes.

    Args:
        parties: how many meet.
        directory: where processes leave a mark when they come; made if it is missing.
        seconds: how long one waits before it gives up with ``TimeoutError``.
    """

    def __init__(self, parties: int, *, directory: Path | None = None, seconds: float = PATIENCE_SECONDS) -> None:
        self.parties = parties
        self.directory = directory
        self.seconds = seconds
        self._arrived = 0
        self._changed = threading.Condition()

    def __call__(self, name: str) -> None:
        met = self._meet_threads() if self.directory is None else self._meet_processes(self.directory / name)
        if not met:
            raise TimeoutError(f"fewer than {self.parties} parties came to {name} within {self.seconds} seconds")

    def _meet_threads(self) -> bool:
        with self._changed:
            self._arrived += 1
            self._changed.notify_all()
            return self._changed.wait_for(lambda: self._arrived >= self.parties, self.seconds)

    def _meet_processes(self, directory: Path) -> bool:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / secrets.token_hex(8)).touch()
        give_up = time.monotonic() + self.seconds
        while len(os.listdir(directory)) < self.parties:
            if time.monotonic() > give_up:
                return False
            time.sleep(0.002)
        return True


@contextmanager
def armed(actions: Mapping[str, Action]) -> Iterator[None]:
    """Arm failpoints for the body; afterwards they are as they were before.

    Raises:
        ValueError: there is no failpoint of one of these names; nothing is armed then.
    """
    for name in actions:
        _check_name(name)
    before = {name: _standing.get(name) for name in actions}
    for name, action in actions.items():
        _stand(name, action)
    try:
        yield
    finally:
        for name, earlier in before.items():
            _stand(name, earlier)


@contextmanager
def recorded() -> Iterator[list[str]]:
    """The names of the failpoints that the body reaches, in order."""
    reached: list[str] = []
    with armed(dict.fromkeys(FAILPOINTS, Call(reached.append))):
        yield reached


def arm_from_environment(environ: Mapping[str, str] = os.environ) -> None:
    """Arm, for the life of this process, what ``OMNIGRAPH_FAILPOINTS`` says.

    The variable holds ``name=action`` pairs, separated by commas. Actions are ``kill``, ``raise``, ``raise*N`` for the
    first N times, and ``meet*N:DIRECTORY`` for a ``Barrier`` of processes; each may end with ``@K``: from the K-th time
    on that the failpoint is reached.

    Raises:
        ValueError: a failpoint or an action is unknown; nothing is armed then.
    """
    pairs = [pair.partition("=") for pair in environ.get(FAILPOINTS_VARIABLE, "").split(",") if pair.strip()]
    actions = {name.strip(): _parse_action(text.strip()) for name, _, text in pairs}
    for name in actions:
        _check_name(name)
    for name, action in actions.items():
        _stand(name, action)


def _parse_action(text: str) -> Action:
    spelled, _, nth = text.rpartition("@") if "@" in text else (text, "", "1")
    word, _, directory = spelled.partition(":")
    verb, _, count = word.partition("*")
    try:
        action = _action(verb, int(count or 0), directory)
        first = int(nth)
    except ValueError as error:
        raise ValueError(
            f"{FAILPOINTS_VARIABLE} has no action {text!r}. Actions are kill, raise, raise*N and meet*N:DIRECTORY, "
            "each with @K for the K-th time."
        ) from error
    return action if first == 1 else OnNth(first, action)


def _action(verb: str, count: int, directory: str) -> Action:
    error = FailpointError(f"raised because {FAILPOINTS_VARIABLE} says so")
    if verb == "kill":
        return Kill()
    if verb == "raise":
        return RaiseTimes(count, error) if count else Raise(error)
    if verb == "meet" and count and directory:
        return Barrier(count, directory=Path(directory))
    raise ValueError(verb)


def _check_name(name: str) -> None:
    if name not in FAILPOINTS:
        raise ValueError(f"There is no failpoint {name!r}. There are: {', '.join(FAILPOINTS)}")


def _stand(name: str, action: Action | None) -> None:
    if action is None:
        _standing.pop(name, None)
        disarm(name)
    else:
        _standing[name] = action
        arm(name, action)
