"""A hypothesis strategy for the texts of valid schemas that use everything the language has."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]

SCALARS = ["String", "Bool", "I32", "I64", "U32", "U64", "F32", "F64", "Date", "DateTime"]
KEYABLE = ["String", "I32", "I64", "U32", "U64", "F64", "Bool", "Date", "DateTime", "enum(b, a)"]
WORDS = st.sampled_from(["a", "été", 'a "quoted" word', "back\\slash", "line\nbreak", "漢字"])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


@st.composite
def schema_texts(draw: Draw) -> str:
    """Interfaces, nodes and edges with every kind of property, constraint and annotation, in any order."""
    interfaces = {name: _properties(draw, name.lower()) for name in draw(_some(["Ia", "Ib", "Ic"]))}
    parts = [_block(draw, f"interface {name}", properties, []) for name, properties in interfaces.items()]
    nodes = ["A", *draw(_some(["B", "C"]))]
    parts += [_node(draw, name, interfaces) for name in nodes]
    for name in draw(_some(["E", "F", "A"])):
        ends = f"{draw(st.sampled_from(nodes))} -> {draw(st.sampled_from(nodes))}"
        card = draw(st.sampled_from(["", " @card(1..1)", " @card(2..)", " @card(0..3)"]))
        properties = _properties(draw, "e", is_edge=True)
        columns = [*_indexable(properties), "src", "dst"]
        body = [
            f"@{draw(st.sampled_from(['unique', 'index']))}({_listed(draw, columns)})" for _ in range(_upto(draw, 2))
        ]
        parts.append(_block(draw, f"edge {name}: {ends}{card}{_marks(draw)}", properties, body))
    return "\n".join(draw(st.permutations(parts)))


def _node(draw: Draw, name: str, interfaces: dict[str, dict[str, str]]) -> str:
    implemented = draw(_some(sorted(interfaces)))
    properties = _properties(draw, "p")
    for each in implemented:
        # What a node repeats is its own property, and stands for the one of the interface.
        repeated = draw(_some(sorted(interfaces[each])))
        properties |= {its: interfaces[each][its] for its in repeated}
    body = []
    if draw(st.booleans()):
        members = {f"k{number}": draw(st.sampled_from(KEYABLE)) for number in range(1 + _upto(draw, 2))}
        properties |= members
        body.append(f"@key({_listed(draw, sorted(members), every=True)})")
    columns = _indexable(properties)
    if columns:
        body += [
            f"@{draw(st.sampled_from(['unique', 'index']))}({_listed(draw, columns)})" for _ in range(_upto(draw, 2))
        ]
    for its, declared in properties.items():
        scalar = declared.rstrip("?")
        if scalar == "String" and draw(st.booleans()):
            body.append(f"@check({its}, {_quoted(draw(st.sampled_from(['^a', 'a|b', '[0-9]{2}', 'é+'])))})")
        if scalar in ("I32", "I64", "U32", "U64", "F32", "F64") and draw(st.booleans()):
            body.append(
                f"@range({its}, {draw(st.sampled_from(['1..', '..9.5', '0..1', '0.0..1.0', '-5..5', '1..1.0']))})"
            )
    if "String" in {declared.rstrip("?") for declared in properties.values()} and draw(st.booleans()):
        source = draw(st.sampled_from([its for its, each in properties.items() if each.rstrip("?") == "String"]))
        model = draw(st.sampled_from(["", ', model="m"']))
        properties["vec"] = f"Vector(3)? @embed({_quoted(source)}{model})"
    implements = f" implements {', '.join(implemented)}" if implemented else ""
    return _block(draw, f"node {name}{_marks(draw)}{implements}", properties, body)


def _block(draw: Draw, head: str, properties: dict[str, str], body: list[str]) -> str:
    lines = [f"  {its}: {each}" for its, each in properties.items()] + [f"  {each}" for each in body]
    return "\n".join([f"{head} {{", *draw(st.permutations(lines)), "}"])


def _properties(draw: Draw, prefix: str, *, is_edge: bool = False) -> dict[str, str]:
    found = {}
    for number in range(_upto(draw, 4)):
        declared = draw(
            st.sampled_from([*SCALARS, "enum(y, x)", "enum(one)", "Vector(2)", "[String]", "[I64]", "Blob"])
        )
        if is_edge and declared in ("Blob", "Vector(2)"):
            declared = "String"
        null = draw(st.sampled_from(["", "?"]))
        marks = _marks(draw, is_property=True)
        if declared in SCALARS or declared.startswith("enum"):
            marks += draw(st.sampled_from(["", "", " @index", " @unique", " @unique @index"]))
        found[f"{prefix}{number}"] = f"{declared}{null}{marks}"
    return found


def _marks(draw: Draw, *, is_property: bool = False) -> str:
    """Annotations: those that mean something, and unknown ones with values and arguments."""
    found = draw(st.sampled_from(["", "", f" @description({_quoted(draw(WORDS))})"]))
    if not is_property:
        found += draw(st.sampled_from(["", "", f" @instruction({_quoted(draw(WORDS))})"]))
    found += draw(
        st.sampled_from(["", "", " @note", " @note(1)", " @note(1.0)", " @note(true)", ' @note("x", b=1, a=2.5)'])
    )
    return found


def _indexable(properties: dict[str, str]) -> list[str]:
    return [its for its, each in properties.items() if each.partition(" ")[0].rstrip("?") in SCALARS]


def _listed(draw: Draw, columns: list[str], *, every: bool = False) -> str:
    size = len(columns) if every else 1
    return ", ".join(draw(st.lists(st.sampled_from(columns), unique=True, min_size=size)))


def _some(choices: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(choices), unique=True) if choices else st.just([])


def _upto(draw: Draw, most: int) -> int:
    return draw(st.integers(0, most))
