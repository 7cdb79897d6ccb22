"""Storage options: declared by a backend, given by argument or environment, checked in one place."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from omnigraph.errors import InvalidInputError

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageOption:
    """One option that a backend understands.

    Attributes:
        name: the key in the options mapping.
        help: one line for `omnigraph plugins` and the docs.
        kind: what a value is converted to.
        environment: variables that give the value when no argument does; the first one that is set wins.
        is_secret: never shown in any repr, log or error.
        group: options of one group belong together, as the parts of a credential do: when an argument gives one of
            them, the environment gives none.
    """

    name: str
    help: str
    kind: Literal["text", "flag", "seconds"] = "text"
    environment: tuple[str, ...] = ()
    is_secret: bool = False
    group: str | None = None


class GivenOptions(Mapping[str, Any]):
    """Options by name, unchangeable, and silent about their values, which may be secrets."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<options {', '.join(self._values) or 'none'}>"


def resolve_options(
    declared: tuple[StorageOption, ...], given: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Typed values by option name: arguments first, then environment; options that nobody set are left out.

    Raises:
        InvalidInputError: an unknown option (with the nearest one and all there are), or a value of the wrong kind.
            The value of a secret is never quoted.
    """
    variables = os.environ if environment is None else environment
    by_name = {option.name: option for option in declared}
    for name in given:
        if name not in by_name:
            raise _unknown(name, tuple(by_name))
    given_groups = {by_name[name].group for name, value in given.items() if value is not None} - {None}
    resolved: dict[str, Any] = {}
    for option in declared:
        value, place = given.get(option.name), f'the storage option "{option.name}"'
        if value is None:
            if option.group in given_groups:
                continue
            variable = next((each for each in option.environment if variables.get(each)), None)
            if variable is None:
                continue
            value, place = variables[variable], f"the environment variable {variable}"
        resolved[option.name] = _convert(option, value, place)
    return resolved


def _convert(option: StorageOption, value: Any, place: str) -> Any:
    if option.kind == "flag":
        if isinstance(value, bool):
            return value
        word = str(value).strip().lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise _wrong(option, value, place, "one of 1, true, yes, on, 0, false, no, off")
    if option.kind == "seconds":
        try:
            seconds = float(value)
        except (TypeError, ValueError, OverflowError):
            seconds = -1.0
        if not 0 < seconds < float("inf"):
            raise _wrong(option, value, place, "a number of seconds above 0")
        return seconds
    if not isinstance(value, str):
        raise _wrong(option, value, place, "text")
    return value


def _wrong(option: StorageOption, value: Any, place: str, expected: str) -> InvalidInputError:
    shown = "a value of the wrong kind" if option.is_secret else repr(value)
    return InvalidInputError(
        f"{place[0].upper()}{place[1:]} expects {expected}, got {shown}.",
        help=option.help,
        details={"option": option.name},
    )


def _unknown(name: str, names: tuple[str, ...]) -> InvalidInputError:
    near = difflib.get_close_matches(name, names, n=1)
    guess = f' Did you mean "{near[0]}"?' if near else ""
    known = ", ".join(sorted(names)) or "none"
    return InvalidInputError(
        f'There is no storage option "{name}" here.{guess}', help=f"Known options: {known}.", details={"option": name}
    )
