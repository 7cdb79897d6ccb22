"""``EmbedderProvider``: the record by which a plugin offers an embedder. It describes; it does not act."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from omnigraph.embedding.embedder import Embedder
from omnigraph.embedding.settings import EmbedderSettings
from omnigraph.errors import InvalidInputError

SPI_VERSION: Final = 1
"""Version of ``Embedder``, ``EmbedderProvider`` and ``EmbedderSettings``. It changes when a working embedder would
have to change."""

_NAME = re.compile(r"[a-z][a-z0-9-]*\Z")
_FACTORY = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderProvider:
    """One embedder, declared.

    Attributes:
        name: short, lower case; what ``OMNIGRAPH_EMBED_PROVIDER`` is set to.
        factory: ``"module:attribute"`` of a class or function, imported on first use and not before, so that listing
            plugins stays cheap. Called with ``EmbedderSettings``, it makes an ``Embedder``.
        spi_version: the ``SPI_VERSION`` that it was written for; a plugin writes the number, not the constant.

    Raises:
        InvalidInputError: a malformed name or factory.
    """

    name: str
    factory: str
    spi_version: int

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise self._refuse(f'the name "{self.name}" is not lower-case letters, digits and dashes')
        if not _FACTORY.match(self.factory):
            raise self._refuse(f'the factory "{self.factory}" is not of the form "module:attribute"')

    def make(self, settings: EmbedderSettings) -> Embedder:
        """Import the factory and call it. Raises whatever either of them raises."""
        module, _, attribute = self.factory.partition(":")
        factory: Callable[[EmbedderSettings], Embedder] = getattr(importlib.import_module(module), attribute)
        return factory(settings)

    def _refuse(self, why: str) -> InvalidInputError:
        return InvalidInputError(
            f'The embedder "{self.name}" is not declared rightly: {why}.', help="See docs/how-to/embed-text.md."
        )
