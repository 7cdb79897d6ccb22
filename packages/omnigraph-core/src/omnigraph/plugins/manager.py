"""From entry points to ``LoadedPlugins``: each plugin loaded by itself, each failure recorded by name.

pluggy's own loader stops at the first plugin that cannot be imported and drops the second of two that share a name
without a word; this one reports the first and refuses the second case when what they claim is used (docs/adr/0002).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib import metadata
from typing import Any, Final, cast

import pluggy

import omnigraph
from omnigraph import embedding, storage
from omnigraph.config import DISABLE_PLUGINS, Settings
from omnigraph.embedding import EmbedderProvider
from omnigraph.plugins import builtin, cli_verb, hookspecs
from omnigraph.plugins.cli_verb import CliVerb
from omnigraph.storage import StorageBackend

Record = StorageBackend | EmbedderProvider | CliVerb

# hook → what it yields
_RECORD_OF_HOOK: Final[dict[str, type[Record]]] = {
    "omnigraph_storage_backends": StorageBackend,
    "omnigraph_embedders": EmbedderProvider,
    "omnigraph_cli_verbs": CliVerb,
}


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
        backends: what storage it offers; empty unless loaded or in conflict.
        embedders: what embedders it offers; empty unless loaded or in conflict.
        verbs: what it adds to the command line; empty unless loaded or in conflict.
        reason: why it is not loaded, in one sentence.
        error: the exception behind a failure, when there is one.
    """

    name: str
    distribution: str
    version: str
    status: PluginStatus
    backends: tuple[StorageBackend, ...] = ()
    embedders: tuple[EmbedderProvider, ...] = ()
    verbs: tuple[CliVerb, ...] = ()
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
        # A damaged distribution has no name or version, and reading what is missing is deprecated.
        facts = entry_point.dist.metadata if entry_point.dist else None
        name, version = ((facts[each] if facts and each in facts else "unknown") for each in ("Name", "Version"))
        return cls(name=entry_point.name, distribution=name, version=version, load=entry_point.load)


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

    def embedders(self) -> Iterator[tuple[PluginInfo, EmbedderProvider]]:
        """Offered embedders with who offers them, those in conflict included."""
        return ((info, embedder) for info in self.infos for embedder in info.embedders)

    def verbs(self) -> Iterator[tuple[PluginInfo, CliVerb]]:
        """Offered verbs of the command line with who offers them, those in conflict included."""
        return ((info, verb) for info in self.infos for verb in info.verbs)


@functools.cache
def installed_plugins() -> LoadedPlugins:
    """The plugins of this environment, loaded once per process under the settings of that moment."""
    found = (Candidate.from_entry_point(each) for each in metadata.entry_points(group=hookspecs.PROJECT))
    return load_plugins(found, settings=Settings.from_environment())


def load_plugins(candidates: Iterable[Candidate], *, settings: Settings) -> LoadedPlugins:
    """Load the built-ins and the candidates one by one. Never raises for a plugin's fault."""
    infos = [_load(candidate, settings) for candidate in (BUILTIN, *candidates)]
    return LoadedPlugins(tuple(_mark_conflicts(infos)))


def _load(candidate: Candidate, settings: Settings) -> PluginInfo:
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
        offered = _offered(candidate)
    except KeyboardInterrupt:
        raise
    # Whatever else a stranger's module does at import, SystemExit and panics of compiled code included, is that
    # plugin's failure and nobody else's.
    except BaseException as error:  # noqa: BLE001
        return outcome(PluginStatus.FAILED, reason=f"{type(error).__name__}: {error}", error=error)
    for each in offered:
        what, interface, ours = _interface(each)
        if each.spi_version != ours:
            return outcome(
                PluginStatus.FAILED,
                reason=f'Its {what} "{each.name}" was written for {interface} interface {each.spi_version}; this '
                f"omnigraph-core has {ours}. Upgrade {candidate.distribution} or omnigraph-core.",
            )
    return outcome(
        PluginStatus.LOADED,
        backends=tuple(each for each in offered if isinstance(each, StorageBackend)),
        embedders=tuple(each for each in offered if isinstance(each, EmbedderProvider)),
        verbs=tuple(each for each in offered if isinstance(each, CliVerb)),
    )


def _interface(record: Record) -> tuple[str, str, int]:
    """What a record declares, the interface that is for, and the version of it that we have."""
    if isinstance(record, StorageBackend):
        return "backend", "storage", storage.SPI_VERSION
    if isinstance(record, CliVerb):
        return "verb", "command-line", cli_verb.SPI_VERSION
    return "embedder", "embedding", embedding.SPI_VERSION


def _offered(candidate: Candidate) -> tuple[Record, ...]:
    """Import a plugin, check its hooks against the specs and ask what it offers.

    Each plugin gets a manager of its own, so that a faulty one leaves nothing behind for the next.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    manager.register(candidate.load(), name=candidate.name)
    manager.check_pending()
    offered: list[Record] = []
    for hook, record in _RECORD_OF_HOOK.items():
        for impl in getattr(manager.hook, hook).get_hookimpls():
            for each in cast("Any", impl.function()):
                if not isinstance(each, record):
                    article = "an" if record.__name__[0] in "AEIOU" else "a"
                    raise TypeError(f"{hook} yielded a {type(each).__name__}, not {article} {record.__name__}")
                offered.append(each)
    claims = [claim for each in offered for claim in _claims(each)]
    for claim in claims:
        if claims.count(claim) > 1:
            raise ValueError(f"{claim} is claimed twice by the plugin itself")
    return tuple(offered)


def _mark_conflicts(infos: list[PluginInfo]) -> Iterator[PluginInfo]:
    """Say of each plugin whether another one claims a name or scheme of its own."""
    claims: dict[str, list[PluginInfo]] = {}
    for info in infos:
        for claim in _claims(*info.backends, *info.embedders, *info.verbs):
            claims.setdefault(claim, []).append(info)
    for info in infos:
        rivals = {
            (claim, rival.provider)
            for claim in _claims(*info.backends, *info.embedders, *info.verbs)
            for rival in claims[claim]
            if rival is not info
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
            embedders=info.embedders,
            verbs=info.verbs,
            reason=f"{what[0].upper()}{what[1:]}.",
        )


def _claims(*records: Record) -> Iterator[str]:
    for record in records:
        yield f'the {_interface(record)[0]} name "{record.name}"'
        if isinstance(record, StorageBackend):
            yield from (f'the scheme "{scheme}://"' for scheme in record.schemes)
