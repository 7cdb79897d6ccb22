"""``EmbedderSettings``: what the environment says about embedding, read when asked and never at import.

Variables come in as text; numbers, flags and URLs go out checked. A wrong value is refused with the name of its
variable, and what a variable holds is never shown by a repr.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import urlsplit

from omnigraph.errors import InvalidInputError

PROVIDER: Final = "OMNIGRAPH_EMBED_PROVIDER"
MODEL: Final = "OMNIGRAPH_EMBED_MODEL"
BASE_URL: Final = "OMNIGRAPH_EMBED_BASE_URL"
DEADLINE: Final = "OMNIGRAPH_EMBED_DEADLINE_MS"
TIMEOUT: Final = "OMNIGRAPH_EMBED_TIMEOUT_MS"
ATTEMPTS: Final = "OMNIGRAPH_EMBED_RETRY_ATTEMPTS"
BACKOFF: Final = "OMNIGRAPH_EMBED_RETRY_BACKOFF_MS"
FORCE_MOCK: Final = "OMNIGRAPH_EMBEDDINGS_MOCK"

CHOICES: Final = (PROVIDER, MODEL, BASE_URL)
"""What says who is to embed; a key says only that somebody may."""

DEFAULT_PROVIDER: Final = "openai-compatible"
MOCK_PROVIDER: Final = "mock"

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})
_DAY_MS: Final = 86_400_000
_MAX_ATTEMPTS: Final = 100


class Variables(Mapping[str, str]):
    """Environment variables by name, unchangeable, and silent about their values, which may be secrets."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{len(self)} variables>"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSettings:
    """What an embedder is told when it is made.

    Attributes:
        provider: which embedder.
        model: the model; None for the embedder's own default.
        base_url: where its server is, without a slash at the end; None for the embedder's own default.
        deadline_seconds: what one request may take, with all its attempts and the waiting between them.
        timeout_seconds: what one attempt may take.
        attempts: how often a request is sent at most; 1 is no retry.
        backoff_seconds: the wait behind the first attempt; it doubles behind each further one.
        variables: the whole environment, for what only one embedder knows, such as its key.
    """

    provider: str = DEFAULT_PROVIDER
    model: str | None = None
    base_url: str | None = None
    deadline_seconds: float = 60.0
    timeout_seconds: float = 30.0
    attempts: int = 4
    backoff_seconds: float = 0.2
    variables: Variables = field(default_factory=lambda: Variables({}))

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Settings as the variables give them; an empty variable counts as one that is not set.

        Raises:
            InvalidInputError: a variable has a value that means nothing.

        Example:
            >>> EmbedderSettings.from_environment({"OMNIGRAPH_EMBED_PROVIDER": "openai"}).provider
            'openai'
            >>> EmbedderSettings.from_environment({"OMNIGRAPH_EMBEDDINGS_MOCK": "1"}).provider
            'mock'
        """
        given = {name: value.strip() for name, value in (os.environ if environment is None else environment).items()}
        is_mocked = _flag(given, FORCE_MOCK)
        return cls(
            provider=MOCK_PROVIDER if is_mocked else given.get(PROVIDER, "").lower() or DEFAULT_PROVIDER,
            model=given.get(MODEL) or None,
            base_url=_url(given, BASE_URL),
            deadline_seconds=_number(given, DEADLINE, 60_000, lowest=1, highest=_DAY_MS) / 1000,
            timeout_seconds=_number(given, TIMEOUT, 30_000, lowest=1, highest=_DAY_MS) / 1000,
            attempts=_number(given, ATTEMPTS, 4, lowest=1, highest=_MAX_ATTEMPTS),
            backoff_seconds=_number(given, BACKOFF, 200, lowest=0, highest=_DAY_MS) / 1000,
            variables=Variables(given),
        )

    def key(self, name: str) -> str:
        """The secret that a variable holds.

        Raises:
            InvalidInputError: it is not set, or no text that a header can carry. The message has no part of it.
        """
        key = self.variables.get(name)
        if not key:
            raise InvalidInputError(
                f'The embedder "{self.provider}" needs a key, and {name} is not set.',
                help=f"Set {name}, choose another embedder with {PROVIDER}, or set {FORCE_MOCK}=1 for a test.",
                details={"variable": name, "provider": self.provider},
            )
        if not re.fullmatch(r"[\x21-\x7e]+", key):
            raise _wrong(name, "holds spaces or characters that a key cannot have", "Set it to the key alone.")
        return key


def is_embedder_chosen(environment: Mapping[str, str] | None = None) -> bool:
    """Whether the environment says who is to embed, by one of ``CHOICES`` or by asking for the mock.

    A search may go to the default embedder without that. A write would send whole columns of texts there, and pay for
    them, because of a key that is set for another program.

    Raises:
        InvalidInputError: the variable that asks for the mock has a value that means nothing.

    Example:
        >>> is_embedder_chosen({"OMNIGRAPH_EMBED_PROVIDER": "openai"}), is_embedder_chosen({"OPENAI_API_KEY": "k"})
        (True, False)
    """
    given = os.environ if environment is None else environment
    names = (*CHOICES, FORCE_MOCK)
    known = {name: value.strip() for name in names if (value := given.get(name)) is not None}
    return _flag(known, FORCE_MOCK) or any(known.get(name) for name in CHOICES)


def _wrong(name: str, what: str, help: str) -> InvalidInputError:
    return InvalidInputError(f"{name} {what}.", help=help, details={"variable": name})


def _flag(given: Mapping[str, str], name: str) -> bool:
    value = given.get(name, "").lower()
    if value not in _TRUE | _FALSE:
        raise _wrong(name, f"is {value!r}", "Set it to 1 or 0, true or false, yes or no, on or off.")
    return value in _TRUE


def _number(given: Mapping[str, str], name: str, default: int, *, lowest: int, highest: int) -> int:
    value = given.get(name)
    if not value:
        return default
    # A limit on the digits, because what is too long for int() raises another error than what is too large for us.
    if not re.fullmatch(r"[0-9]{1,12}", value) or not lowest <= int(value) <= highest:
        raise _wrong(name, f"is {value[:40]!r}", f"Set it to a whole number from {lowest} to {highest}.")
    return int(value)


def _url(given: Mapping[str, str], name: str) -> str | None:
    value = given.get(name)
    if not value:
        return None
    # The value itself is not said back: a password may stand in it.
    try:
        parts = urlsplit(value)
        host = (parts.hostname or "").encode("idna")
        is_whole = parts.scheme in ("http", "https") and bool(host) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or not re.fullmatch(r"[\x21-\x7e]+", value):
        raise _wrong(name, "is not the URL of a server", "Set it to a URL such as https://api.openai.com/v1.")
    if "@" in parts.netloc or "?" in value or "#" in value:
        raise _wrong(
            name, "holds a user name, a query or a fragment", "Set it to the bare URL; a key has a variable of its own."
        )
    return value.rstrip("/")
