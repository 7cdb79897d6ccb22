"""From entry points to ``LoadedPlugins``: each plugin loaded by itself, each failure recorded by name.

pluggy's own loader stops at the first plugin that cannot be imported and drops the second of two that share a name
without a word; this one reports the first and refuses the second case when the backend is used (docs/adr/0002).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from typing import Any

import pluggy

import omnigraph
from omnigraph.config import DISABLE_PLUGINS, Settings
from omnigraph.plugins import builtin, hookspecs
from omnigraph.storage import SPI_VERSION, StorageBackend


class PluginStatus(StrEnum):
    """How far a plugin came."""

    LOADED = "loaded"
    DISABLED = "disabled"
    FAILED = "failed"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginInfo:
    """One plugin as found.

    Attributes:
        name: its entry-point name.
        distribution: the installed distribution that brings it.
        version: of that distribution.
        backends: what it offers; empty unless loaded or in conflict.
        reason: why it is not loaded, in one sentence.
        error: the exception behind a failure, when there is one.
    """

    name: str
    distribution: str
    version: str
    status: PluginStatus
    backends: tuple[StorageBackend, ...] = ()
    reason: str | None = None
    error: BaseException | None = None

    @property
    def provider(self) -> str:
        """How messages name it, so that two of one name can be told apart."""
        return f"{self.name} ({self.distribution} {self.version})"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A plugin before it is loaded."""

    name: str
    distribution: str
    version: str
    load: Callable[[], Any]
    is_builtin: bool = False

    @classmethod
    def from_entry_point(cls, entry_point: metadata.EntryPoint) -> Candidate:
        distribution = entry_point.dist
        return cls(
            name=entry_point.name,
            distribution=distribution.name if distribution else "unknown",
            version=distribution.version if distribution else "unknown",
            load=entry_point.load,
        )


BUILTIN = Candidate(
    name="memory", distribution="omnigraph-core", version=omnigraph.__version__, load=lambda: builtin, is_builtin=True
)


@dataclass(frozen=True, slots=True)
class LoadedPlugins:
    """Every plugin found, in the order of discovery, built-ins first."""

    infos: tuple[PluginInfo, ...]

    def backends(self) -> Iterator[tuple[PluginInfo, StorageBackend]]:
        """Offered backends with who offers them, those in conflict included."""
        return ((info, backend) for info in self.infos for backend in info.backends)


@functools.cache
def installed_plugins() -> LoadedPlugins:
    """The plugins of this environment, loaded once per process under the settings of that moment."""
    found = (Candidate.from_entry_point(each) for each in metadata.entry_points(group=hookspecs.PROJECT))
    return load_plugins(found, settings=Settings.from_environment())


def load_plugins(candidates: Iterable[Candidate], *, settings: Settings) -> LoadedPlugins:
    """Load the built-ins and the candidates one by one. Never raises for a plugin's fault."""
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    infos = [_load(manager, candidate, settings) for candidate in (BUILTIN, *candidates)]
    return LoadedPlugins(tuple(_mark_conflicts(infos)))


def _load(manager: pluggy.PluginManager, candidate: Candidate, settings: Settings) -> PluginInfo:
    def outcome(status: PluginStatus, **facts: Any) -> PluginInfo:
        return PluginInfo(
            name=candidate.name,
            distribution=candidate.distribution,
            version=candidate.version,
            status=status,
            **facts,
        )

    if not candidate.is_builtin and settings.disabled_plugins & {candidate.name, "*"}:
        return outcome(PluginStatus.DISABLED, reason=f"It is named in {DISABLE_PLUGINS}.")
    try:
        backends = _register(manager, candidate)
    # Whatever a stranger's module does at import is that plugin's failure and nobody else's.
    except (Exception, SystemExit) as error:
        return outcome(PluginStatus.FAILED, reason=f"{type(error).__name__}: {error}", error=error)
    outdated = next((backend for backend in backends if backend.spi_version != SPI_VERSION), None)
    if outdated is not None:
        return outcome(
            PluginStatus.FAILED,
            reason=f'Its backend "{outdated.name}" was written for storage interface {outdated.spi_version}; this '
            f"omnigraph-core has {SPI_VERSION}. Upgrade {candidate.distribution} or omnigraph-core.",
        )
    return outcome(PluginStatus.LOADED, backends=backends)


def _register(manager: pluggy.PluginManager, candidate: Candidate) -> tuple[StorageBackend, ...]:
    """Import a plugin, check its hooks against the specs and ask what it offers."""
    plugin = candidate.load()
    name = manager.register(plugin, name=f"{candidate.distribution}:{candidate.name}")
    try:
        manager.check_pending()
        mine = [impl for impl in manager.hook.omnigraph_storage_backends.get_hookimpls() if impl.plugin is plugin]
        backends = tuple(backend for impl in mine for backend in impl.function())
        stranger = next((each for each in backends if not isinstance(each, StorageBackend)), None)
        if stranger is not None:
            raise TypeError(f"omnigraph_storage_backends yielded a {type(stranger).__name__}, not a StorageBackend")
    except BaseException:
        manager.unregister(name=name)
        raise
    return backends


def _mark_conflicts(infos: list[PluginInfo]) -> Iterator[PluginInfo]:
    """Say of each plugin whether another one claims a name or scheme of its own."""
    claims: dict[str, list[PluginInfo]] = {}
    for info in infos:
        for claim in _claims(info):
            claims.setdefault(claim, []).append(info)
    for info in infos:
        rivals = {
            (claim, rival.provider) for claim in _claims(info) for rival in claims[claim] if rival is not info
        }
        if not rivals:
            yield info
            continue
        what = "; ".join(f"{claim} is also claimed by {provider}" for claim, provider in sorted(rivals))
        yield PluginInfo(
            name=info.name,
            distribution=info.distribution,
            version=info.version,
            status=PluginStatus.CONFLICT,
            backends=info.backends,
            reason=f"{what[0].upper()}{what[1:]}.",
        )


def _claims(info: PluginInfo) -> Iterator[str]:
    for backend in info.backends:
        yield f'the backend name "{backend.name}"'
        yield from (f'the scheme "{scheme}://"' for scheme in backend.schemes)
