"""What every verb of Spark needs: where Spark runs, its settings, and a session for as long as the verb lasts."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

import click

from omnigraph_cli.verbs import Session, key_values

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALWAYS_SAID: Final = ("WARNING: ", "Using Spark's default log4j", "Setting ", "To adjust logging level")

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def spark_options(command: Decorated) -> Decorated:
    """Add ``--master`` and ``--conf``, which comes to the verb as the mapping ``conf``."""
    master = click.option(
        "--master",
        metavar="URL",
        default="local[*]",
        show_default=True,
        help="Where Spark runs; local[4] is four threads of this machine.",
    )
    conf = click.option(
        "--conf",
        metavar="KEY=VALUE",
        multiple=True,
        callback=key_values,
        help="A setting of Spark, such as spark.driver.memory=8g. Repeatable.",
    )
    return master(conf(command))


@contextlib.contextmanager
def running_spark(session: Session, master: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """A session of Spark, stopped at the end if it was started here; what Java prints is shown under ``--debug`` only.

    Raises:
        InvalidInputError: Spark or Java is not installed, or Spark does not start with these settings.
    """
    from omnigraph_spark.sessions import import_spark

    active = import_spark().getActiveSession()
    if active is not None:
        yield active
        return
    with tempfile.TemporaryFile("a+b") as noise, _logging_to(noise):
        try:
            with _interrupts_held() as held:
                spark = _started(session, master, conf, noise)
            try:
                held.deliver()
                yield spark
            finally:
                spark.stop()
        except BaseException:
            if session.debug:
                click.echo(session.clean(_text(noise)), err=True, nl=False)
            raise


def _started(session: Session, master: str, conf: Mapping[str, str], noise: IO[bytes]) -> SparkSession:
    from omnigraph.errors import InvalidInputError
    from omnigraph_spark.sessions import session as make_session

    with _errors_of_children_to(noise), session.working("starting Spark"):
        try:
            return make_session("omnigraph spark", master=master, config=conf)
        except InvalidInputError:
            raise
        # The launcher of Spark raises whatever it likes, with many lines of Java.
        except Exception as error:
            said = [line for line in _text(noise).splitlines() if line.strip() and not line.startswith(_ALWAYS_SAID)]
            raise InvalidInputError(
                f"Spark did not start at {master}: {session.clean(said[0]) if said else type(error).__name__}",
                help="Check --master and --conf; --debug shows all that Spark said.",
                details={"master": master},
            ) from error


@contextlib.contextmanager
def _errors_of_children_to(noise: IO[bytes]) -> Iterator[None]:
    """What is started meanwhile has this file as its stderr for life; this process keeps its own."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        os.dup2(noise.fileno(), 2)
        with contextlib.ExitStack() as stack:
            if sys.stderr is sys.__stderr__:
                ours = stack.enter_context(os.fdopen(os.dup(kept), "w", buffering=1, errors="backslashreplace"))
                stack.enter_context(contextlib.redirect_stderr(ours))
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@contextlib.contextmanager
def _logging_to(noise: IO[bytes]) -> Iterator[None]:
    """What nobody else wants to hear of the logging of Spark and of how it is talked to."""
    with io.TextIOWrapper(os.fdopen(os.dup(noise.fileno()), "ab", buffering=0), write_through=True) as text:
        handler = logging.StreamHandler(text)
        logging.getLogger().addHandler(handler)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(handler)


class _Held:
    """Signals that came while nobody was to be interrupted; the second one is not held any more."""

    def __init__(self) -> None:
        self.handlers = {
            each: handler for each in (signal.SIGINT, signal.SIGTERM) if callable(handler := signal.getsignal(each))
        }
        self.numbers: list[int] = []

    def take(self, number: int, frame: FrameType | None) -> None:
        self.numbers.append(number)
        if len(self.numbers) > 1:
            self.handlers[signal.Signals(number)](number, frame)

    def deliver(self) -> None:
        """Let what came take its course."""
        for number in self.numbers[:1]:
            signal.raise_signal(number)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[_Held]:
    """While Spark starts, an interrupt waits: cut off before both have found each other, Java would stay for good.

    Afterwards the handlers are ours again: Spark sets one that talks to Java in the middle of talking to it.
    """
    held = _Held()
    if threading.current_thread() is not threading.main_thread():
        yield held
        return
    for each in held.handlers:
        signal.signal(each, held.take)
    try:
        yield held
    finally:
        for each, handler in held.handlers.items():
            signal.signal(each, handler)


def _text(noise: IO[bytes]) -> str:
    # Whoever writes shares the place in the file, so that it is not moved.
    return os.pread(noise.fileno(), os.fstat(noise.fileno()).st_size, 0).decode(errors="backslashreplace")
