"""The options of ``format("omnigraph")``: declared once, here, and checked before anything is asked of a graph.

    spark.read.format("omnigraph").option("uri", ...).option("nodeType", "Film") ── parse_options ──> SourceOptions

Spark hands over names in lower case and values as text. Names are found whatever their case; what a value means is said
by its option; a name that nothing has is answered with the nearest one. ``storage.<option>`` goes to the backend of the
URI under the name that it declares, and its value is never shown.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from omnigraph.errors import InvalidInputError
from omnigraph.plugins import find_backend, installed_plugins
from omnigraph.storage import parse_uri
from omnigraph_spark.conditions import Condition, conditions_of

STORAGE_PREFIX: Final = "storage."

Verb = Literal["read", "readStream", "write"]
"""What a DataFrame is made or written by: ``spark.read``, ``spark.readStream``, ``df.write``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOption:
    """One option of the format.

    Attributes:
        name: as users write it, in camelCase.
        help: one line for messages and the docs.
        kind: what its text is turned into: ``text``, ``flag``, ``count`` (an integer from 1), ``names`` (a tuple of
            text), ``values`` (a dict) or ``conditions`` (a tuple of them).
        verbs: what it is for.
        group: of the options of one group at most one is given.
        needs: one of these options has to be given too; any when it is empty.
    """

    name: str
    help: str
    kind: Literal["text", "flag", "count", "names", "values", "conditions"] = "text"
    verbs: tuple[Verb, ...] = ("read",)
    group: str | None = None
    needs: tuple[str, ...] = ()


_ANY: Final[tuple[Verb, ...]] = ("read", "readStream", "write")
_TYPES: Final = ("type", "nodeType", "edgeType")

OPTIONS: Final[tuple[SparkOption, ...]] = (
    SparkOption(
        name="uri", help="where the graph is: a directory or a URI such as s3://bucket/graph", verbs=_ANY, group="place"
    ),
    SparkOption(name="path", help="the same; what load(...) is given", verbs=_ANY, group="place"),
    SparkOption(name="type", help="the node or edge type: Film, node:Film or edge:Film", verbs=_ANY, group="subject"),
    SparkOption(name="nodeType", help="the node type", verbs=_ANY, group="subject"),
    SparkOption(name="edgeType", help="the edge type", verbs=_ANY, group="subject"),
    SparkOption(name="query", help="a read instead of a type: its text, or the name of a .gq file", group="subject"),
    SparkOption(name="queryName", help="which query, when the text has several", needs=("query",)),
    SparkOption(
        name="params", help="values for the query, a JSON object by name without $", kind="values", needs=("query",)
    ),
    SparkOption(name="branch", help="the branch; main by default", verbs=_ANY, group="moment"),
    SparkOption(name="commit", help="the id of a commit, to read what was there after it", group="moment"),
    SparkOption(name="tag", help="the name of a tag, to read what it names", group="moment"),
    SparkOption(
        name="columns", help='the columns to read: a, b or ["a", "b"]; all by default', kind="names", needs=_TYPES
    ),
    SparkOption(name="partitions", help="at most so many partitions", kind="count", group="size", needs=_TYPES),
    SparkOption(
        name="rowsPerPartition",
        help="small parts are read together up to so many rows; 1000000 by default",
        kind="count",
        group="size",
        needs=_TYPES,
    ),
    SparkOption(
        name="where",
        help='conditions that are judged where the rows lie, in JSON: [["year", ">=", 1990]]',
        kind="conditions",
        needs=_TYPES,
    ),
    SparkOption(
        name="pushDown",
        help="whether Spark hands its own filters over; false by default, and right only as said below",
        kind="flag",
        needs=_TYPES,
    ),
    SparkOption(
        name="start",
        help="where a new stream begins: now, beginning, or after: with the id of a commit; every stream says it",
        verbs=("readStream",),
    ),
    SparkOption(
        name="types",
        help="changes of these types, with images as JSON; of all types by default",
        kind="names",
        verbs=("readStream",),
        group="subject",
        needs=("start",),
    ),
    SparkOption(
        name="kinds",
        help="changes of these kinds: node, edge; both by default",
        kind="names",
        verbs=("readStream",),
        needs=("start",),
    ),
    SparkOption(
        name="ops",
        help="changes of these operations: insert, update, delete; all by default",
        kind="names",
        verbs=("readStream",),
        needs=("start",),
    ),
    SparkOption(
        name="maxCommitsPerTrigger",
        help="at most so many commits in a micro-batch; 1000 by default",
        kind="count",
        verbs=("readStream",),
        needs=("start",),
    ),
    SparkOption(
        name="commitsPerPartition",
        help="so many commits of a micro-batch are read by one task; 8 by default",
        kind="count",
        verbs=("readStream",),
        needs=("start",),
    ),
    SparkOption(
        name="writeMode",
        help='append: ids must be new; merge: rows of equal id are replaced; append by default, in .mode("append")',
        verbs=("write",),
        needs=_TYPES,
    ),
    SparkOption(
        name="loadId", help="names the write; a second one of this name does nothing", verbs=("write",), needs=_TYPES
    ),
    SparkOption(name="actor", help="who writes; kept with the commit", verbs=("write",), needs=_TYPES),
)
"""Every option, in the order of the docs. Streams and writes add theirs here and nowhere else."""

_BY_NAME: Final = {each.name: each for each in OPTIONS}
_BY_LOWER_NAME: Final = {each.name.lower(): each for each in OPTIONS}
_TRUE: Final = frozenset({"true", "1", "yes", "on"})
_FALSE: Final = frozenset({"false", "0", "no", "off"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """Options that were given and are well-formed. They pickle with the storage options; mind who reads that.

    Attributes:
        uri: where the graph is, as it was written.
        values: by name, each of the kind of its option.
        storage: what the backend is given, by the names that it declares.
    """

    uri: str
    values: Mapping[str, Any]
    storage: Mapping[str, str] = field(repr=False)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of an option; the default where it was not given."""
        return self.values.get(_BY_NAME[name].name, default)

    def check(self, verb: Verb) -> None:
        """Raise unless all options are for this verb.

        Raises:
            InvalidInputError: one is not.
        """
        for name in self.values:
            verbs = _BY_NAME[name].verbs
            if verb not in verbs:
                raise _wrong(
                    name, f'The option "{name}" is for {" and ".join(verbs)}, not for {verb}.', "Leave it out."
                )

    def can_be(self, verb: Verb) -> bool:
        """Whether all options are for this verb; Spark does not say which one it is about to ask for."""
        return all(verb in _BY_NAME[name].verbs for name in self.values)

    @property
    def moment(self) -> dict[str, str]:
        """Which state is meant: ``branch``, ``commit`` or ``tag``, or nothing."""
        return {name: self.values[name] for name in ("branch", "commit", "tag") if name in self.values}

    @property
    def type_name(self) -> str | None:
        """The type that is asked for as the front door takes it: ``Film``, ``node:Film``; None for a query."""
        kinds = {"type": "", "nodeType": "node:", "edgeType": "edge:"}
        return next((kinds[name] + self.values[name] for name in _TYPES if name in self.values), None)


def parse_options(given: Mapping[str, str]) -> SourceOptions:
    """What Spark was given, checked; nothing is asked of a store.

    Raises:
        InvalidInputError: an option that there is not, a value that is none, options that exclude each other, or no
            place, or one with credentials in it.
        StorageError: no installed backend serves the place.
    """
    storage = {name: given[name] for name in given if name.lower().startswith(STORAGE_PREFIX)}
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name in storage:
            continue
        option = _BY_LOWER_NAME.get(name.lower())
        if option is None:
            raise _unknown(name)
        values[option.name] = _KINDS[option.kind](option, text)
    _check_together(values)
    uri = values.pop("uri", None) or values.pop("path", None)
    if uri is None:
        raise InvalidInputError(
            "Which graph is meant is not said.",
            help='Give it: .option("uri", "s3://bucket/graph"), or .load("graph.omni").',
        )
    return SourceOptions(uri=uri, values=values, storage=_named_by_backend(uri, storage))


def _check_together(values: Mapping[str, Any]) -> None:
    groups: dict[str, str] = {}
    for option in (each for each in OPTIONS if each.name in values):
        rival = groups.setdefault(option.group, option.name) if option.group is not None else option.name
        if rival != option.name:
            raise _wrong(
                option.name, f'The options "{rival}" and "{option.name}" exclude each other.', "Give one of them."
            )
        if option.needs and not any(each in values for each in option.needs):
            others = " or ".join(f'"{each}"' for each in option.needs)
            raise _wrong(
                option.name,
                f'The option "{option.name}" means nothing without {others}.',
                f"{option.name}: {option.help}.",
            )


def _named_by_backend(uri: str, given: Mapping[str, str]) -> dict[str, str]:
    """Storage options under the names that the backend declares; Spark has made the letters small.

    A name that it does not declare is told when the graph is opened.
    """
    _, backend = find_backend(parse_uri(uri), installed_plugins())
    declared = {each.name.lower(): each.name for each in backend.options}
    names = {name: name[len(STORAGE_PREFIX) :] for name in given}
    return {declared.get(short.lower(), short): given[name] for name, short in names.items()}


# ── what a text means ────────────────────────────────────────────────────────────────────────────────────────────────


def _text(option: SparkOption, text: str) -> str:
    if not text.strip():
        raise _malformed(option, text, "a text that is not empty")
    return text


def _flag(option: SparkOption, text: str) -> bool:
    word = text.strip().lower()
    if word not in _TRUE | _FALSE:
        raise _malformed(option, text, "true or false")
    return word in _TRUE


def _count(option: SparkOption, text: str) -> int:
    word = text.strip()
    if not (word.isascii() and word.isdigit()) or int(word) < 1:
        raise _malformed(option, text, "an integer from 1")
    return int(word)


def _names(option: SparkOption, text: str) -> tuple[str, ...]:
    if text.lstrip().startswith("["):
        names = _json(option, text)
        if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
            raise _malformed(option, text, "a JSON list of text")
    else:
        names = [each.strip() for each in text.split(",")]
    if not names or not all(names):
        raise _malformed(option, text, "names, separated by commas")
    return tuple(names)


def _values(option: SparkOption, text: str) -> dict[str, Any]:
    found = _json(option, text)
    if not isinstance(found, dict):
        raise _malformed(option, text, "a JSON object")
    return found


def _conditions(option: SparkOption, text: str) -> tuple[Condition, ...]:
    found = _json(option, text)
    if not isinstance(found, list):
        raise _malformed(option, text, "a JSON list of conditions")
    return conditions_of(found)


def _json(option: SparkOption, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise _malformed(option, text, f"JSON ({error})") from error


_KINDS: Final[Mapping[str, Callable[[SparkOption, str], Any]]] = {
    "text": _text,
    "flag": _flag,
    "count": _count,
    "names": _names,
    "values": _values,
    "conditions": _conditions,
}


# ── errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _unknown(name: str) -> InvalidInputError:
    near = difflib.get_close_matches(name.lower(), _BY_LOWER_NAME, n=1)
    guess = f' Did you mean "{_BY_LOWER_NAME[near[0]].name}"?' if near else ""
    known = ", ".join(each.name for each in OPTIONS)
    return _wrong(
        name,
        f'There is no option "{name}" of format("omnigraph").{guess}',
        f"Known options: {known}, and storage.<option> for what the backend of the URI takes.",
    )


def _malformed(option: SparkOption, text: str, expected: str) -> InvalidInputError:
    return _wrong(
        option.name, f'The option "{option.name}" expects {expected}, got {text!r}.', f"{option.name}: {option.help}."
    )


def _wrong(name: str, message: str, help: str) -> InvalidInputError:
    return InvalidInputError(message, help=help, details={"option": name})
