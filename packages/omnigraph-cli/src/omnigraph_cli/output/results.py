"""What the verbs found, as plain facts. ``to_dict`` is the JSON that scripts rely on; text is made from the same facts.

Text of foreign origin comes in through ``clean``, which takes out secret values, so results are free of them. The words
that programs compare, such as kinds, conditions and step names, are OmniGraph's own and do not go through it.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import click

from omnigraph.errors import CompileError, OmnigraphError
from omnigraph_cli.exit_codes import INTERNAL, USAGE

if TYPE_CHECKING:
    from omnigraph.lang import Diagnostic
    from omnigraph.plugins import LoadedPlugins, PluginInfo
    from omnigraph.storage import StorageBackend
    from omnigraph.testing.storage_check import CheckStep

Clean = Callable[[str], str]

_NEAR_ENOUGH: Final = 0.75
"""How alike two names are before one is offered for the other; ``json`` and ``jsom`` are just so."""


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
        embedders: the names of the embedders that it offers.
        verbs: the names of the verbs that it adds to the command line.
    """

    name: str
    distribution: str
    version: str
    status: str
    reason: str | None
    backends: tuple[BackendResult, ...]
    embedders: tuple[str, ...]
    verbs: tuple[str, ...]

    @classmethod
    def of(cls, info: PluginInfo, built_in: frozenset[str]) -> PluginResult:
        """``built_in`` are the verbs of the command line itself, which no plugin can take."""
        taken = [f'The verb "{verb.name}" is built in.' for verb in info.verbs if verb.name in built_in]
        return cls(
            name=info.name,
            distribution=info.distribution,
            version=info.version,
            status="conflict" if taken else str(info.status),
            reason=" ".join([*filter(None, [info.reason]), *taken]) or None,
            backends=tuple(BackendResult.of(backend) for backend in info.backends),
            embedders=tuple(each.name for each in info.embedders),
            verbs=tuple(each.name for each in info.verbs),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginsResult:
    """Every plugin found, sorted by name.

    Attributes:
        notes: names in ``OMNIGRAPH_DISABLE_PLUGINS`` that disable nothing.
    """

    plugins: tuple[PluginResult, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: LoadedPlugins, disabled: frozenset[str], built_in: frozenset[str]) -> PluginsResult:
        infos = sorted(found.infos, key=lambda info: (info.name, info.distribution))
        return cls(
            plugins=tuple(PluginResult.of(info, built_in) for info in infos),
            notes=tuple(
                note for name in sorted(disabled - {"*"}) for note in _notes_on_disabled(name, tuple(found.infos))
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def _notes_on_disabled(name: str, infos: tuple[PluginInfo, ...]) -> Iterator[str]:
    statuses = {str(info.status) for info in infos if info.name == name}
    if not statuses:
        near = difflib.get_close_matches(name, sorted({info.name for info in infos}), n=1)
        guess = f' Did you mean "{near[0]}"?' if near else ""
        yield f'OMNIGRAPH_DISABLE_PLUGINS: no plugin is called "{name}".{guess}'
    elif "disabled" not in statuses:
        yield f'OMNIGRAPH_DISABLE_PLUGINS: "{name}" is built in and cannot be disabled.'


@dataclass(frozen=True, slots=True, kw_only=True)
class VerbResult:
    """What a verb of a plugin did.

    Attributes:
        facts: the JSON form.
        lines: what a person reads, each as a word and what it is about; the first one is the news.
    """

    facts: Mapping[str, Any]
    lines: tuple[tuple[str, str], ...]

    def to_dict(self) -> dict[str, Any]:
        return dict(self.facts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorResult:
    """Why a command, or one step of it, failed.

    Attributes:
        kind: an ``ErrorKind``, or one that only a command line has, see ``exit_codes``.
        notes: lines for people, not part of the JSON.
        diagnostics: what is wrong with a text, for people; the JSON has them among the details.
    """

    kind: str
    message: str
    help: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()

    @classmethod
    def of(cls, error: OmnigraphError, clean: Clean, *, is_traced: bool) -> ErrorResult:
        """``is_traced`` when the traceback is shown already."""
        facts = error.to_dict()
        notes = [clean(note) for note in getattr(error, "__notes__", ())]
        diagnostics = error.diagnostics if isinstance(error, CompileError) else ()
        # A diagnostic says all that its cause knows.
        cause = _foreign_cause(error)
        if cause is not None and not diagnostics:
            more = "" if is_traced else "; --debug shows all of it"
            notes.append(f"It was caused by {type(cause).__name__}{more}.")
        return cls(
            kind=facts["kind"],
            message=clean(facts["message"]),
            help=_cleaned(facts["help"], clean),
            details={
                name: value if name == "condition" else _cleaned(value, clean)
                for name, value in facts["details"].items()
            },
            notes=tuple(notes),
            diagnostics=diagnostics,
        )

    @classmethod
    def of_usage(cls, error: click.ClickException) -> ErrorResult:
        ctx = getattr(error, "ctx", None)
        message = _no_such_option(error) if isinstance(error, click.NoSuchOption) else error.format_message()
        if isinstance(error, click.MissingParameter):
            # click lists the choices on lines of their own.
            message = " ".join(message.split())
        if ctx is None:
            return cls(kind=USAGE, message=message)
        # On one line, however narrow the terminal is.
        usage = " ".join(ctx.command.get_usage(ctx).split())
        return cls(kind=USAGE, message=message, help=f"{usage} (see: {ctx.command_path} --help)")

    @classmethod
    def of_interrupt(cls, error: BaseException, kind: str) -> ErrorResult:
        """With what the verb noted about the state that it left."""
        return cls(kind=kind, message=" ".join([f"{kind.capitalize()}.", *getattr(error, "__notes__", ())]))

    @classmethod
    def of_surprise(cls, error: Exception, clean: Clean, *, is_traced: bool) -> ErrorResult:
        move = "Report what it shows above." if is_traced else "Run it again with --debug and report what it shows."
        return cls(
            kind=INTERNAL,
            message=clean(f"internal error: {type(error).__name__}: {error}"),
            help=f"This is a fault in OmniGraph or in a plugin. {move}",
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
    def of(cls, step: CheckStep, clean: Clean, *, shorten: Clean, is_traced: bool) -> StepResult:
        """``shorten`` is for the sentences; the details keep the exact object."""
        error = ErrorResult.of(step.error, clean, is_traced=is_traced) if step.error else None
        return cls(
            name=step.name,
            detail=shorten(clean(step.detail)),
            error=error and replace(error, message=shorten(error.message)),
        )

    @property
    def passed(self) -> bool:
        return self.error is None

    def to_dict(self) -> dict[str, Any]:
        error = self.error.facts() if self.error else None
        return {"name": self.name, "passed": self.passed, "detail": self.detail, "error": error}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The verdict on a storage root, with every finding.

    Attributes:
        limits: for whom the verdict holds when not for everybody, for people.
    """

    uri: str
    steps: tuple[StepResult, ...]
    limits: str | None = None

    @property
    def passed(self) -> bool:
        return all(step.passed for step in self.steps)

    @property
    def verdict(self) -> str:
        """``passed``, ``unreachable`` when nothing could be tried, or ``failed``."""
        if self.passed:
            return "passed"
        return "failed" if all(step.passed for step in self.steps if step.name == "reach") else "unreachable"

    @property
    def evidence(self) -> tuple[str, ...]:
        """What the writers of the races saw."""
        return tuple(step.detail for step in self.steps if step.name.endswith("_race"))

    def to_dict(self) -> dict[str, Any]:
        return {
            "uri": self.uri,
            "verdict": self.verdict,
            "passed": self.passed,
            "steps": [step.to_dict() for step in self.steps],
        }


def _foreign_cause(error: BaseException) -> BaseException | None:
    """The nearest cause that is not OmniGraph's own; None where the message retells an error of the same tree."""
    cause = error.__cause__
    while cause is not None and type(cause).__module__.partition(".")[0] == "omnigraph":
        cause = None if isinstance(cause, OmnigraphError) else cause.__cause__
    return cause


def _no_such_option(error: click.NoSuchOption) -> str:
    """The guesses of click reach too far: for ``--verbose`` it offers whatever shares a few letters."""
    near = difflib.get_close_matches(error.option_name, error.possibilities or (), n=1, cutoff=_NEAR_ENOUGH)
    guess = f' Did you mean "{near[0]}"?' if near else ""
    return f'There is no option "{error.option_name}".{guess}'


def _cleaned(value: Any, clean: Clean) -> Any:
    """A JSON value with every text in it cleaned."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {key: _cleaned(each, clean) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(each, clean) for each in value]
    return value
