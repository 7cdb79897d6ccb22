"""``S3Client``: the requests of one adapter, each sent exactly once, in whatever process the adapter finds itself.

s3fs brings the session, the credentials and an event loop in a thread of its own. The second tries of s3fs, botocore
and aiohttp are switched off: a conditional write that was silently sent twice would find its own object in the way and
report as lost a race that it had won. What may be repeated is repeated here, where it is known what was sent.
"""

from __future__ import annotations

import asyncio
import ctypes
import math
import os
import random
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, TypeAlias, TypeVar

import aiohttp
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import AioSession
from botocore.exceptions import ClientError
from fsspec.asyn import get_loop, sync
from s3fs import S3FileSystem  # noqa: TID253  # this module is itself imported on first use

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import StoreSilentError, note_answer, note_silence, seconds_to_wait
from omnigraph_storage_s3.errors import had_no_effect, is_transient
from omnigraph_storage_s3.options import S3Settings
from omnigraph_storage_s3.redaction import keep_out_of_logs

T = TypeVar("T")

Request: TypeAlias = Callable[[Any], Awaitable[T]]
"""Called with the client of aiobotocore, once per attempt."""

ATTEMPTS: Final = 3
"""How often a request is sent at most, after short and jittered waits, where it may be repeated at all."""

FIRST_PAUSE_SECONDS: Final = 0.1
"""The shortest wait after a first attempt. Each later wait is twice as long, and up to twice that by chance."""

_MAX_CONNECTIONS: Final = 32
# Below the idle times of common servers, so that a kept connection is rarely one that the server has just closed.
_KEEP_ALIVE_SECONDS: Final = 4
_CLOSE_SECONDS: Final = 5.0

_random: Final = random.SystemRandom()
# One per process, with or without a profile: a session reads the service models from disk, which takes longer than
# most requests.
_sessions: Final[dict[tuple[int, bool], AioSession]] = {}


class AnswerLostError(Exception):
    """A change may have been made or not; raised from the failure that leaves it open."""


class S3Client:
    """One store as seen by one adapter. Threads may share it; after a fork the child opens connections of its own."""

    def __init__(self, settings: S3Settings) -> None:
        keep_out_of_logs(settings.session_token, settings.secret_access_key)
        self._settings = settings
        self._is_closed = False
        # By process id. What a parent opened stays untouched in its children, where its event loop does not run.
        self._connections: dict[int, _Connection] = {}
        weakref.finalize(self, _close_own, self._connections)

    def ask(self, request: Request[T]) -> T:
        """Send a request that changes nothing; up to ``ATTEMPTS`` times while its failures are transient."""
        return self._repeat(request, is_transient)

    def change(self, request: Request[T]) -> T:
        """Send a request that changes something; again only when the failed one provably did nothing.

        A change whose answer was lost is not repeated: in between, another writer may have built on it, and the
        second one would undo that writer's work. See test_a_change_whose_answer_was_lost_is_not_made_again.

        Raises:
            AnswerLostError: the change may have been made.
            Exception: the last failure of the client, when it is certain that nothing was done.
        """
        try:
            return self._repeat(request, lambda error: is_transient(error) and had_no_effect(error))
        except Exception as error:
            if is_transient(error) and not had_no_effect(error):
                raise AnswerLostError from error
            raise

    def send(self, request: Request[T]) -> T:
        """Send a request once: call it with the client of aiobotocore and wait for its result.

        Raises:
            StoreSilentError: it was not sent, because the call that it belongs to has no time left for it.
            Exception: what the client raised, untranslated.
        """
        connection = self._connection()
        seconds = seconds_to_wait(self._settings.read_timeout_seconds)
        began = time.monotonic()
        try:
            found = connection.perform(request, min(seconds or math.inf, self._settings.request_seconds))
        except Exception as error:
            if isinstance(error, ClientError) or not is_transient(error):
                note_answer()
            else:
                note_silence(time.monotonic() - began)
            raise
        note_answer()
        return found

    def close(self) -> None:
        """Close the connections that this process opened; a later request is refused."""
        self._is_closed = True
        _close_own(self._connections)

    def _repeat(self, request: Request[T], may_repeat: Callable[[BaseException], bool]) -> T:
        failure: Exception | None = None
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self.send(request)
            except StoreSilentError as error:
                # That there is no time for another attempt says less than why there would be one.
                raise failure or error from None
            except Exception as error:
                if attempt == ATTEMPTS or not may_repeat(error):
                    raise
                failure = error
            pause(attempt)
        raise AssertionError("the last attempt returns or raises")

    def _connection(self) -> _Connection:
        if self._is_closed:
            raise StorageError(
                "This storage adapter was closed.", condition=StorageCondition.CONFIGURATION, help="Open the URI again."
            )
        # setdefault is atomic: all threads of a process meet in one entry, and no lock is inherited by a fork.
        return self._connections.setdefault(os.getpid(), _Connection(self._settings))


def pause(attempt: int) -> None:
    """Wait after attempt number ``attempt``: longer each time, and not in step with others."""
    time.sleep(FIRST_PAUSE_SECONDS * _random.uniform(1, 2) * 2 ** (attempt - 1))


class _Connection:
    """A client of one process, opened by its first request. Made and dropped freely as long as it is not open."""

    def __init__(self, settings: S3Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._client: Any = None

    def perform(self, request: Request[T], seconds: float) -> T:
        """The answer to a request, which is given up after so many seconds."""
        client = self._open()

        async def run() -> T:
            return await asyncio.wait_for(request(client), seconds)

        result: T = sync(get_loop(), run)
        return result

    def close(self) -> None:
        """Close from any thread, also from the event loop's own, where the garbage collector may call."""
        client, self._client = self._client, None
        if client is None:
            return
        loop = get_loop()
        closing = asyncio.run_coroutine_threadsafe(client.close(), loop)
        if not _runs_in_this_thread(loop):
            with suppress(TimeoutError):
                closing.result(_CLOSE_SECONDS)

    def _open(self) -> Any:
        if self._client is None:
            with self._lock:
                if self._client is None:
                    self._client = sync(get_loop(), _file_system(self._settings).set_session)
                    _open_connections.add(self)
        return self._client

    def abandon(self) -> None:
        """Let what the parent opened live in this forked child for as long as the child does, unused and unfreed.

        Freeing it would run destructors that take the parent's sockets out of the parent's own event loop: the two
        processes share the kernel's side of it. See test_a_forked_child_opens_connections_of_its_own.
        """
        if self._client is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._client))


def _abandon_in_child() -> None:
    for connection in tuple(_open_connections):
        connection.abandon()


_open_connections: Final[weakref.WeakSet[_Connection]] = weakref.WeakSet()
os.register_at_fork(after_in_child=_abandon_in_child)


class _SingleTrySession(AIOHTTPSession):  # type: ignore[misc]  # aiobotocore is not typed
    """HTTP sessions without aiohttp's habit of sending a PUT again when a connection breaks."""

    async def _get_session(self, proxy_url: str | None) -> aiohttp.ClientSession:
        session: aiohttp.ClientSession = await super()._get_session(proxy_url)
        # There is no public switch. test_a_request_is_sent_once_whatever_happens_to_it counts on the wire.
        session._retry_connection = False  # noqa: SLF001
        return session


if not hasattr(AIOHTTPSession, "_get_session") or "_retry_connection" not in aiohttp.ClientSession.ATTRS:
    raise ImportError("this release of aiobotocore or aiohttp sends requests twice and cannot be told not to")


def _file_system(settings: S3Settings) -> S3FileSystem:
    arguments = settings.client_kwargs()
    arguments["config_kwargs"] |= {
        "http_session_cls": _SingleTrySession,
        "max_pool_connections": _MAX_CONNECTIONS,
        "connector_args": {"keepalive_timeout": _KEEP_ALIVE_SECONDS},
    }
    # "asynchronous" leaves the closing to us: s3fs would close at exit, also in a forked child, where its loop is dead.
    return S3FileSystem(
        asynchronous=True,
        session=_session(settings),
        skip_instance_cache=True,
        use_listings_cache=False,
        **arguments,
    )


def _session(settings: S3Settings) -> AioSession:
    """The session of this process. With keys given, a profile that does not exist is not missed."""
    session = _kept_session(has_profile=True)
    profile = session.get_config_variable("profile")
    if settings.access_key_id is None or profile is None or profile in session.available_profiles:
        return session
    return _kept_session(has_profile=False)


def _kept_session(*, has_profile: bool) -> AioSession:
    place = (os.getpid(), has_profile)
    if place not in _sessions:
        without = {"profile": (None, None, None, None)}
        _sessions.setdefault(place, AioSession(None if has_profile else without))
    return _sessions[place]


def _runs_in_this_thread(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _close_own(connections: dict[int, _Connection]) -> None:
    connection = connections.pop(os.getpid(), None)
    if connection is not None:
        connection.close()
