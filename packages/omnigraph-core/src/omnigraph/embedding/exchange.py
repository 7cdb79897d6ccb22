"""``exchange``: one POST of JSON, one answer, within a time that holds for all of it. It knows nothing of embedding.

Certificates are checked, proxies of the environment are used, redirects come back as answers and are not followed, so
a key goes to the server that it is meant for and nowhere else. An answer is read up to a bound.
"""

from __future__ import annotations

import functools
import http.client
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.cancellation import cancellable_wait

MAX_ANSWER_BYTES: Final = 32 * 1024**2

_PIECE_BYTES: Final = 64 * 1024


class AnswerTooLargeError(Exception):
    """The answer is longer than ``MAX_ANSWER_BYTES``; the rest was not read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a server answered, whatever it is."""

    status: int
    retry_after: str | None
    body: bytes


def exchange(url: str, *, headers: Mapping[str, str], body: bytes, seconds: float) -> Answer:
    """Send a request and read its answer.

    Raises:
        TimeoutError: it took longer than this.
        OSError: the server cannot be reached, is not who it should be, or hung up.
        AnswerTooLargeError: as it says.
    """
    outcome: list[Answer | BaseException] = []
    is_over = threading.Event()
    request = urllib.request.Request(url, data=body, headers=dict(headers), method="POST")  # noqa: S310  # http(s) only

    def work() -> None:
        try:
            outcome.append(_exchange(request, seconds))
        except BaseException as error:  # noqa: BLE001  # it is raised in the thread that waits
            outcome.append(error)
        is_over.set()

    # In a thread of its own: neither the look-up of a name nor a server that sends byte by byte knows a timeout. One
    # that is given up ends by itself, and is in nobody's way until then.
    threading.Thread(target=work, name="omnigraph-embedding", daemon=True).start()
    if not cancellable_wait(seconds, is_over.wait):
        raise TimeoutError("no whole answer came in time")
    found = outcome[0]
    if isinstance(found, Answer):
        return found
    raise found


def _exchange(request: urllib.request.Request, seconds: float) -> Answer:
    end = time.monotonic() + seconds
    try:
        with _opener().open(request, timeout=seconds) as response:
            return Answer(
                status=response.status,
                retry_after=response.headers.get("Retry-After"),
                body=_read(response, end),
            )
    except urllib.error.URLError as error:
        # urllib wraps what went wrong while connecting, and nothing else.
        raise error.reason if isinstance(error.reason, OSError) else OSError(str(error.reason)) from None
    except http.client.HTTPException as error:
        raise ConnectionError(f"the answer is cut off or is not HTTP ({type(error).__name__})") from None


def _read(response: Any, end: float) -> bytes:
    expected: int | None = response.length
    if expected is not None and expected > MAX_ANSWER_BYTES:
        raise AnswerTooLargeError
    pieces = bytearray()
    while piece := response.read1(_PIECE_BYTES):
        pieces += piece
        if len(pieces) > MAX_ANSWER_BYTES:
            raise AnswerTooLargeError
        if time.monotonic() > end:
            raise TimeoutError("no whole answer came in time")
    # What is read in pieces ends without an error when the server hangs up.
    if expected is not None and len(pieces) < expected:
        raise ConnectionError(f"the answer is cut off behind {len(pieces)} of {expected} bytes")
    return bytes(pieces)


def _opener() -> urllib.request.OpenerDirector:
    """Without handlers for redirects and for errors: every answer is an answer."""
    opener = urllib.request.OpenerDirector()
    opener.add_handler(urllib.request.ProxyHandler())
    opener.add_handler(urllib.request.HTTPHandler())
    opener.add_handler(urllib.request.HTTPSHandler(context=_context()))
    return opener


@functools.cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context()
