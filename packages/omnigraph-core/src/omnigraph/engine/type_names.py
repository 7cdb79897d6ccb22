"""Names of types as users write them, to the types of a schema.

    "Film"         the node type and the edge type of this name, whichever there are
    "node:Film"    exactly the node type; so "edge:Film"

Exports select several types, a read of rows exactly one. A name that nothing has is answered with the nearest one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from omnigraph.errors import InvalidInputError, NotFoundError
from omnigraph.history.schemas import TypeTable
from omnigraph.lang.diagnostics import closest

_KINDS: Final = ("node", "edge")


def select_types(declared: Mapping[str, TypeTable], names: Sequence[str] | None) -> tuple[TypeTable, ...]:
    """The types that these names select, each once, in the order of ``declared``; all of them for None.

    Raises:
        InvalidInputError: the names are no list of text.
        NotFoundError: there is no such type.
    """
    if names is None:
        return tuple(declared.values())
    check_names(names)
    wanted = {target.key for name in names for target in _types_of(declared, name)}
    return tuple(target for key, target in declared.items() if key in wanted)


def check_names(names: Sequence[str]) -> None:
    """Raise unless this is a list of names, whether or not there are such types.

    Raises:
        InvalidInputError: it is not.
    """
    if isinstance(names, str) or not all(isinstance(each, str) for each in names):
        raise InvalidInputError(
            f"{names!r} is no list of type names.", help='Write a list, such as ["Film", "edge:Rented"].'
        )


def find_type(declared: Mapping[str, TypeTable], name: str) -> TypeTable:
    """The one type of this name.

    Raises:
        InvalidInputError: a node type and an edge type have this name, or it is no text.
        NotFoundError: there is no such type.
    """
    if not isinstance(name, str):
        raise InvalidInputError(f"{name!r} is no type name.", help='Write a name, such as "Film" or "node:Film".')
    found = _types_of(declared, name)
    if len(found) > 1:
        raise InvalidInputError(
            f'"{name}" is a node type and an edge type.',
            help=f'Write "node:{name}" or "edge:{name}".',
            details={"type": name},
        )
    return found[0]


def check_columns(target: TypeTable, columns: Sequence[str]) -> None:
    """Raise unless these are columns of a type, each named once.

    Raises:
        InvalidInputError: they are not.
    """
    wrong = None
    if isinstance(columns, str):
        wrong = f"{columns!r} is no list of columns"
    elif missing := [each for each in columns if each not in target.schema.names]:
        wrong = f"{target.name} has no column {missing[0]!r}"
    elif len(set(columns)) < len(columns):
        wrong = "A column was asked for twice"
    if wrong is not None:
        raise InvalidInputError(
            f"{wrong}.",
            help=f"The columns of {target.name} are: {', '.join(target.schema.names)}.",
            details={"type": target.key},
        )


def _types_of(declared: Mapping[str, TypeTable], name: str) -> list[TypeTable]:
    keys = (name,) if ":" in name else tuple(f"{kind}:{name}" for kind in _KINDS)
    found = [declared[key] for key in keys if key in declared]
    if not found:
        raise _unknown(declared, name)
    return found


def _unknown(declared: Mapping[str, TypeTable], name: str) -> NotFoundError:
    kind, colon, bare = name.partition(":")
    if colon and kind not in _KINDS:
        return NotFoundError(
            f'There is no type "{name}".', help="Write NAME, node:NAME or edge:NAME.", details={"type": name}
        )
    word, what = (bare, f"{kind} type") if colon else (name, "type")
    candidates = sorted({each.name for each in declared.values() if not colon or each.kind == kind})
    guess = closest(word, candidates)
    return NotFoundError(
        f'There is no {what} "{word}".' + (f' Did you mean "{guess}"?' if guess else ""),
        help=f"The graph has: {', '.join(candidates)}." if candidates else f"The graph has no {what}.",
        details={"type": name},
    )
