"""``StorageBackend``: the record by which a plugin says what it offers. It describes; it does not act."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from omnigraph.errors import InvalidInputError
from omnigraph.storage.adapter import StorageAdapter
from omnigraph.storage.capabilities import Capability
from omnigraph.storage.options import StorageOption, resolve_options
from omnigraph.storage.uri import StorageUri

SPI_VERSION: Final = 1
"""Version of ``StorageAdapter`` and ``StorageBackend``. It changes when a working backend would have to change."""

LANCE_SCHEMES: Final = frozenset(
    {
        "file", "file-object-store", "file+uring", "memory", "shared-memory", "s3", "s3+ddb", "gs", "az", "abfss",
        "oss", "hf", "goosefs", "cos", "tos",
    }
)  # fmt: skip
"""The schemes that Lance 14 reaches; tests/substrate pins the list against Lance's own."""

_NAME = re.compile(r"[a-z][a-z0-9-]*\Z")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*\Z")
_ADAPTER = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageBackend:
    """One storage backend, declared.

    Attributes:
        name: short, lower case; the ``xyz`` of ``omnigraph-storage-xyz``.
        schemes: URI schemes that it serves, without ``://``.
        adapter: ``"module:Class"`` of its ``StorageAdapter``, imported on first use and not before, so that
            listing plugins stays cheap. Called as ``Class(root, options)``.
        lance_scheme: the scheme of the URIs that its ``lance_location()`` returns.
        capabilities: what it offers beyond the required verbs.
        options: the storage options that it understands.
        spi_version: the ``SPI_VERSION`` that it was written for; a plugin writes the number, not the constant.

    Raises:
        InvalidInputError: a malformed name, scheme or adapter path, or a Lance scheme that Lance does not know.
    """

    name: str
    schemes: tuple[str, ...]
    adapter: str
    lance_scheme: str
    spi_version: int
    capabilities: frozenset[Capability] = frozenset()
    options: tuple[StorageOption, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.match(self.name):
            raise self._refuse(f'the name "{self.name}" is not lower-case letters, digits and dashes')
        # A bare text is the likeliest slip, ("gs") for ("gs",), and would pass for a sequence of its letters.
        is_tuple = isinstance(self.schemes, tuple)
        if not is_tuple or not self.schemes or not all(_SCHEME.match(scheme) for scheme in self.schemes):
            raise self._refuse(
                f"the schemes {self.schemes!r} are not a tuple of bare lower-case schemes such as ('gs',)"
            )
        if not _ADAPTER.match(self.adapter):
            raise self._refuse(f'the adapter "{self.adapter}" is not of the form "module:Class"')
        if self.lance_scheme not in LANCE_SCHEMES:
            raise self._refuse(
                f'Lance cannot reach "{self.lance_scheme}://". A backend is a scheme that Lance can reach '
                f"({', '.join(sorted(LANCE_SCHEMES))}) plus control objects"
            )

        if not all(isinstance(each, Capability) for each in self.capabilities):
            raise self._refuse(f"the capabilities {set(self.capabilities)!r} are not all of Capability")
        names = [getattr(option, "name", option) for option in self.options]
        if len(set(names)) < len(names) or not all(isinstance(each, StorageOption) for each in self.options):
            raise self._refuse(f"the options {names!r} are not StorageOptions with names of their own")

    def open(self, root: StorageUri, options: Mapping[str, Any] | None = None) -> StorageAdapter:
        """Import the adapter and open it at a root, with options completed from the environment.

        Raises:
            InvalidInputError: an option is unknown or malformed.
        """
        return self.import_adapter()(root, resolve_options(self.options, options or {}))

    def import_adapter(self) -> Callable[[StorageUri, Mapping[str, Any]], StorageAdapter]:
        """The adapter's class. Raises whatever the import of its module raises."""
        module, _, attribute = self.adapter.partition(":")
        adapter: Callable[[StorageUri, Mapping[str, Any]], StorageAdapter]
        adapter = getattr(importlib.import_module(module), attribute)
        return adapter

    def _refuse(self, why: str) -> InvalidInputError:
        return InvalidInputError(
            f'The storage backend "{self.name}" is not declared rightly: {why}.',
            help="See docs/how-to/write-a-storage-backend.md.",
        )
