"""What the verbs found, as plain facts. ``to_dict`` is the JSON that scripts rely on; text is made from the same facts.

Text of foreign origin comes in through ``clean``, which takes out secret values, so results are free of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import click

if TYPE_CHECKING:
    from omnigraph.errors import OmnigraphError
    from omnigraph.plugins import PluginInfo
    from omnigraph.storage import StorageBackend
    from omnigraph.testing.storage_check import CheckStep

Clean = Callable[[str], str]


class Result(Protocol):
    """Anything that a verb can print."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionResult:
    """What is installed.

    Attributes:
        release: of omnigraph-core; all distributions share it.
        storage_interface: the version that a storage plugin must be written for.
    """

    release: str
    storage_interface: int

    @classmethod
    def current(cls) -> VersionResult:
        import omnigraph
        from omnigraph.storage import SPI_VERSION

        return cls(release=omnigraph.__version__, storage_interface=SPI_VERSION)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionResult:
    """One storage option: where its value may come from, never the value."""

    name: str
    help: str
    kind: str
    environment: tuple[str, ...]
    is_secret: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendResult:
    """One backend that a plugin offers."""

    name: str
    schemes: tuple[str, ...]
    capabilities: tuple[str, ...]
    options: tuple[OptionResult, ...]

    @classmethod
    def of(cls, backend: StorageBackend) -> BackendResult:
        return cls(
            name=backend.name,
            schemes=backend.schemes,
            capabilities=tuple(sorted(str(capability) for capability in backend.capabilities)),
            options=tuple(
                OptionResult(
                    name=option.name,
                    help=option.help,
                    kind=option.kind,
                    environment=option.environment,
                    is_secret=option.is_secret,
                )
                for option in backend.options
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginResult:
    """One plugin, usable or not.

    Attributes:
        status: ``loaded``, ``disabled``, ``failed`` or ``conflict``.
        reason: why it is not usable; None for a loaded one.
    """

    name: str
    distribution: str
    version: str
    status: str
    reason: str | None
    backends: tuple[BackendResult, ...]

    @classmethod
    def of(cls, info: PluginInfo) -> PluginResult:
        return cls(
            name=info.name,
            distribution=info.distribution,
            version=info.version,
            status=str(info.status),
            reason=info.reason,
            backends=tuple(BackendResult.of(backend) for backend in info.backends),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginsResult:
    """Every plugin found, built-ins first."""

    plugins: tuple[PluginResult, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorResult:
    """Why a command, or one step of it, failed.

    Attributes:
        kind: an ``ErrorKind``; or ``usage`` and ``internal``, which only a command line has.
        notes: lines for people, not part of the JSON.
    """

    kind: str
    message: str
    help: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, error: OmnigraphError, clean: Clean) -> ErrorResult:
        facts = _cleaned(error.to_dict(), clean)
        notes = [clean(note) for note in getattr(error, "__notes__", ())]
        if error.__cause__ is not None:
            notes.append(f"It was caused by {type(error.__cause__).__name__}; --debug shows all of it.")
        return cls(**facts, notes=tuple(notes))

    @classmethod
    def of_usage(cls, error: click.ClickException) -> ErrorResult:
        ctx = getattr(error, "ctx", None)
        if ctx is None:
            return cls(kind="usage", message=error.format_message())
        # On one line, however narrow the terminal is.
        usage = " ".join(ctx.command.get_usage(ctx).split())
        return cls(kind="usage", message=error.format_message(), help=f"{usage} (see: {ctx.command_path} --help)")

    @classmethod
    def of_surprise(cls, error: Exception, clean: Clean) -> ErrorResult:
        return cls(
            kind="internal",
            message=clean(f"internal error: {type(error).__name__}: {error}"),
            help="This is a fault in OmniGraph or in a plugin. Run it again with --debug and report what it shows.",
        )

    def facts(self) -> dict[str, Any]:
        """The JSON form inside another result."""
        return {"kind": self.kind, "message": self.message, "help": self.help, "details": dict(self.details)}

    def to_dict(self) -> dict[str, Any]:
        return {"error": self.facts()}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One finding of a storage check; ``error`` is None when it passed."""

    name: str
    detail: str
    error: ErrorResult | None

    @classmethod
    def of(cls, step: CheckStep, clean: Clean) -> StepResult:
        error = ErrorResult.of(step.error, clean) if step.error else None
        return cls(name=step.name, detail=clean(step.detail), error=error)

    @property
    def passed(self) -> bool:
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        error = self.error.facts() if self.error else None
        return {"name": self.name, "passed": self.passed, "detail": self.detail, "error": error}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The verdict on a storage root, with every finding."""

    uri: str
    steps: tuple[StepResult, ...]

    @property
    def passed(self) -> bool:
        return all(step.passed for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        return {"uri": self.uri, "passed": self.passed, "steps": [step.to_dict() for step in self.steps]}


def _cleaned(value: Any, clean: Clean) -> Any:
    """A JSON value with every text in it cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {key: _cleaned(each, clean) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(each, clean) for each in value]
    return value
