"""``Endpoint``: a server that embeds over HTTP, asked again when that may help, within one deadline.

A request goes out; the JSON of the answer comes back, or an ``EmbeddingError`` that says what was asked, what was
answered and what to do. It guards two rules: what may be repeated is (429, 5xx, no connection), nothing else is; and
neither a key nor a text that is embedded stands in an error or a log.
"""

from __future__ import annotations

import json
import logging
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import omnigraph
from omnigraph.cancellation import cancellable_wait
from omnigraph.embedding.exchange import MAX_ANSWER_BYTES, Answer, AnswerTooLargeError, exchange
from omnigraph.embedding.settings import ATTEMPTS, BASE_URL, DEADLINE, MODEL, TIMEOUT, EmbedderSettings
from omnigraph.errors import EmbeddingError

_log: Final = logging.getLogger("omnigraph.embedding")

_TOO_MANY: Final = 429
_REASON_CHARACTERS: Final = 300
_SECRET: Final = "(secret)"  # noqa: S105  # stands where one was


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A server with its key and its patience.

    Attributes:
        key_header: the header that carries the key.
        key_prefix: what stands before the key there.
        key_variable: the environment variable that the key came from; errors name it.
    """

    provider: str
    model: str
    base_url: str
    key: str = field(repr=False)
    key_variable: str
    key_header: str
    key_prefix: str = ""
    settings: EmbedderSettings

    def post(self, path: str, body: Mapping[str, Any], *, within_seconds: float | None) -> Any:
        """The JSON that the server answers, after as many attempts as the settings allow.

        Args:
            path: below the base URL, quoted.
            body: sent as JSON.
            within_seconds: a deadline below that of the settings; None for theirs.

        Raises:
            EmbeddingError: no answer that could be used, and the deadline or the attempts are used up, or another
                attempt would not help.
        """
        limit = self.settings.deadline_seconds
        end = time.monotonic() + (limit if within_seconds is None else min(limit, within_seconds))
        url = f"{self.base_url}/{path}"
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": f"omnigraph-core/{omnigraph.__version__}",
            self.key_header: self.key_prefix + self.key,
        }
        data = json.dumps(body).encode()
        for attempt in range(1, self.settings.attempts + 1):
            left = end - time.monotonic()
            if left <= 0:
                raise self._error("the deadline was over before it could be asked", help=self._patience())
            found = self._attempt(url, headers=headers, data=data, seconds=min(left, self.settings.timeout_seconds))
            if isinstance(found, Answer) and found.status == 200:
                return self._decoded(found)
            failure, retry_after = self._judged(found, attempt)
            wait = max(self.settings.backoff_seconds * 2 ** (attempt - 1), retry_after or 0.0)
            if retry_after is None or attempt == self.settings.attempts:
                raise failure
            if wait >= end - time.monotonic():
                failure.add_note("The deadline would have been over before the next attempt.")
                raise failure
            _log.debug("%s (model %s), attempt %d: %s", self.provider, self.model, attempt, failure.message)
            cancellable_wait(wait)
        raise AssertionError("there is at least one attempt")

    def _attempt(self, url: str, *, headers: Mapping[str, str], data: bytes, seconds: float) -> Answer | OSError:
        try:
            return exchange(url, headers=headers, body=data, seconds=seconds)
        except AnswerTooLargeError:
            raise self._error(
                f"answered with more than {MAX_ANSWER_BYTES >> 20} MiB", help=f"Check {BASE_URL}."
            ) from None
        except OSError as error:
            return error

    def _judged(self, found: Answer | OSError, attempt: int) -> tuple[EmbeddingError, float | None]:
        """What went wrong, and how long the server asks to be left alone; None when asking again is no use."""
        tried = f" (attempt {attempt} of {self.settings.attempts})"
        if isinstance(found, ssl.SSLCertVerificationError):
            error = self._error(
                f"could not be trusted: {found.verify_message}",
                help=f"Check {BASE_URL}; a private certificate authority is made known with SSL_CERT_FILE.",
            )
            error.__cause__ = found
            return error, None
        if isinstance(found, OSError):
            why = "did not answer in time" if isinstance(found, TimeoutError) else f"could not be reached: {found}"
            error = self._error(f"{why}{tried}", help=self._patience())
            error.__cause__ = found
            return error, 0.0
        status = found.status
        said = self._reason(found)
        if status == _TOO_MANY or status >= 500:
            error = self._error(f"answered {status}{said}{tried}", status=status, help=self._patience())
            return error, _seconds_of(found.retry_after)
        if status in (401, 403):
            # What the server says here may hold parts of the key.
            return self._error(
                f"answered {status}: it does not accept the key in {self.key_variable}",
                status=status,
                help=f"Set {self.key_variable} to a key that may use this model.",
            ), None
        if 300 <= status < 400:
            help = "A redirect is not followed, because the key is for this server only."
            return self._error(f"answered {status}", status=status, help=f"{help} Check {BASE_URL}."), None
        return self._error(
            f"answered {status}{said}", status=status, help=f"Check {MODEL}, {BASE_URL} and the dimension."
        ), None

    def _reason(self, answer: Answer) -> str:
        """What the server gives as its reason, cut and without the key; empty when it gives none."""
        try:
            found = json.loads(answer.body)
            found = found[0] if isinstance(found, list) else found
            found = found["error"]
            said = found["message"] if isinstance(found, dict) else found
        except (ValueError, LookupError, TypeError, RecursionError):
            return ""
        words = " ".join(str(said).replace(self.key, _SECRET).split())
        return f': "{words[:_REASON_CHARACTERS]}"' if words else ""

    def _decoded(self, answer: Answer) -> Any:
        try:
            return json.loads(answer.body)
        except (ValueError, RecursionError):
            raise self.unusable("what it answered is not JSON") from None

    def unusable(self, what: str) -> EmbeddingError:
        """The error for an answer of status 200 that holds no vectors."""
        return self._error(f"gave no vectors: {what}", status=200, help=f"Check {BASE_URL} and {MODEL}.")

    def _error(self, what: str, *, help: str, status: int | None = None) -> EmbeddingError:
        return EmbeddingError(
            f'The embedder "{self.provider}" (model {self.model}) at {self.base_url} {what}.',
            provider=self.provider,
            model=self.model,
            status=status,
            help=help,
        )

    def _patience(self) -> str:
        return f"Try again later, or give it more time: {DEADLINE}, {TIMEOUT}, {ATTEMPTS}."


def _seconds_of(retry_after: str | None) -> float:
    """Seconds from now, of a header that has seconds or a date; 0 for one that means nothing."""
    value = (retry_after or "").strip()
    if value.isascii() and value.isdecimal():
        return float(value[:12])
    try:
        when = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    if when.tzinfo is None:
        when = when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())
