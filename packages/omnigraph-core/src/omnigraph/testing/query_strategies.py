"""Random read queries about the graphs of ``strategies``, as text with parameters; drawn from a seed.

    Random ── make_question ──> Question(text, params)

Most pass the check; some do not, for instance because a negation mentions nothing outside. Every construct of the
language is among them. Numbers are compared across widths, values are given as literals or as parameters, and some
parameters are null. Names of variables are in no particular order, because ties are broken by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any, Final

from omnigraph.testing.strategies import CODES, ENDS, ENUMS, NUMBERS, PROPERTIES, VALUES
from omnigraph.testing.value_strategies import NUMERIC, ValueWriter, quoted

_COMPARED: Final = ("=", "=", "!=", "<", "<=", ">", ">=")
_MOST_VARIABLES: Final = 4

QUERY_VECTORS: Final = ((1.0, 0.75, 0.25), (0.0, 1.0, 0.5), (0.3, 0.1, 1.0), (-1.0, 0.2, 0.4))
QUERY_TEXTS: Final = ("orbit", "salt and stone", "gold wolf")
"""Texts that are embedded; like the vectors, clearly nearer to one stored vector than to the next."""


@dataclass(frozen=True, slots=True)
class Question:
    """The text of a query, and what is given for its parameters."""

    text: str
    params: dict[str, Any]


@dataclass
class _Writer(ValueWriter):
    """Writes one query, keeping track of what is bound where. A scope has the type of each variable."""

    node_count: int = 0
    edge_count: int = 0

    # ── clauses ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def node(self, scope: dict[str, str], wanted: str) -> str:
        """A variable of this type, an old one as often as a new one; rarely ``_``."""
        old = [name for name, found in scope.items() if found == wanted]
        way = self.random.choices(("old", "new", "none"), (5, 5 if self.node_count < _MOST_VARIABLES else 0, 1))[0]
        if way == "old" and old:
            return str(self.pick(*old))
        if way == "none" or self.node_count >= _MOST_VARIABLES:
            return "_"
        self.node_count += 1
        name = "zaybxcwd"[self.node_count] + str(self.random.randint(0, 9)) + "_" * self.random.randint(0, 1)
        name += str(self.node_count)
        scope[name] = wanted
        return name

    def clauses(self, scope: dict[str, str], depth: int, least: int = 1) -> list[str]:
        found = []
        for _ in range(self.random.randint(least, 4 if depth == 0 else 2)):
            kinds = [self.binding, self.binding, *[self.traversal] * 4]
            if scope:
                kinds += [self.filter, self.join, self.text, self.negation, self.pick(self.filter, self.membership)]
            found.append(self.pick(*kinds)(scope, depth))
        if self.chance(0.03):
            found.append(self.pick("1 = 1", '"b" > "a"', f"{self.number('I64')} >= 0", "true != false"))
        return [each for each in found if each]

    def binding(self, scope: dict[str, str], depth: int) -> str:
        wanted = self.pick("Item", "Item", "Item", "Place", "Place", "Note")
        name = self.node(scope, wanted)
        if name == "_":
            return ""
        if self.chance(0.7):
            return f"${name}: {wanted}"
        fields = [each for each, kind in PROPERTIES[wanted].items() if kind != "Vector"]
        matches = [
            f"{each}: {self.key_value(wanted, each)}" for each in self.random.sample(fields, self.pick(1, 1, 1, 2))
        ]
        return f"${name}: {wanted} {{ {', '.join(matches)} }}"

    def key_value(self, owner: str, name: str) -> str:
        if name == "code" and self.chance(0.7):
            return quoted(self.pick(*CODES))
        if name == "number" and self.chance(0.7):
            return self.parameter("I64", self.pick(*NUMBERS))
        return self.given(owner, PROPERTIES[owner][name])

    def traversal(self, scope: dict[str, str], depth: int) -> str:
        edge = self.pick("Knows", "Knows", "Knows", *ENDS)
        source, target = ENDS[edge]
        known = set(scope)
        form = self.pick("plain", "plain", "edge", "hops", "hops", "undirected", "flipped", "self")
        left = self.node(scope, source)
        right = left if form == "self" and source == target else self.node(scope, target)
        is_known = left in known or right in known
        word = self.pick(edge[0].lower() + edge[1:], edge.lower())
        if form == "flipped" and source != target and is_known:
            left, right = right, left
            form = self.pick("plain", "edge")
        if form == "undirected" and source == target:
            word = f"<{word}>"
            form = self.pick("plain", "edge", "hops")
        if form == "edge":
            self.edge_count += 1
            name = self.pick("e", "k", "_e") + str(self.edge_count)
            scope[name] = edge
            return f"${left} ${name}:{word} ${right}"
        if form == "hops":
            low = self.pick(1, 1, 2, 3)
            return f"${left} {word}{{{low},{low + self.random.randint(0, 2)}}} ${right}"
        if self.chance(0.05):
            return f"${left} $_:{word} ${right}"
        return f"${left} {word} ${right}"

    def field(self, scope: dict[str, str], *kinds: str) -> tuple[str, str, str] | None:
        """A property of one of these kinds: ``$variable.property``, the type it is of, and its kind."""
        found = [
            (f"${name}.{each}", owner, kind)
            for name, owner in scope.items()
            for each, kind in PROPERTIES[owner].items()
            if kind in kinds
        ]
        return self.pick(*found) if found else None

    def filter(self, scope: dict[str, str], depth: int) -> str:
        kinds = self.pick(NUMERIC, NUMERIC, ("String", "enum"), ("Bool", "Date", "DateTime"), ("text",))
        found = self.field(scope, *kinds)
        if found is None:
            return ""
        name, owner, kind = found
        operator = self.pick(*_COMPARED)
        if kind in ("String", "enum", "text") and self.chance(0.4):
            operator = self.pick("contains", "starts_with")
        sides = [name, self.given(owner, kind)]
        # In front of a word, a bare variable would be taken for the start of a traversal.
        if self.chance(0.25) and not (sides[1][0] == "$" and operator[0].isalpha()):
            sides.reverse()
        return f"{sides[0]} {operator} {sides[1]}"

    def membership(self, scope: dict[str, str], depth: int) -> str:
        """A list that holds something: a property or a literal."""
        found = self.field(scope, "[String]", "[I64]", "[F32]")
        if found is not None and self.chance(0.7):
            name, owner, kind = found
            return f"{name} contains {self.given(owner, kind)}"
        found = self.field(scope, "String", "I32", "I64", "enum")
        if found is None:
            return ""
        name, owner, kind = found
        if kind in ("String", "enum"):
            pool = ENUMS[owner] if kind == "enum" else VALUES["String"]
            items = [quoted(each) for each in self.random.choices(pool, k=3)]
        else:
            items = [str(each) for each in self.random.choices((0, 1, 2, 2.5, 2**53 + 1), k=2)]
        return f"[{', '.join(items)}] contains {name}"

    def join(self, scope: dict[str, str], depth: int) -> str:
        """Two properties, of different variables more often than not."""
        kinds = self.pick(NUMERIC, NUMERIC, ("String", "enum", "text"), ("Date",), ("DateTime",), ("Bool",))
        left, right = self.field(scope, *kinds), self.field(scope, *kinds)
        if left is None or right is None:
            return ""
        operator = self.pick("=", "=", "=", *_COMPARED)
        if kinds[0] == "String" and self.chance(0.3):
            operator = self.pick("contains", "starts_with")
        return f"{left[0]} {operator} {right[0]}"

    def text(self, scope: dict[str, str], depth: int) -> str:
        found = self.field(
            {name: owner for name, owner in scope.items() if owner not in ENDS}, "text", "text", "String"
        )
        if found is None:
            return ""
        function = self.pick("search", "match_text", "fuzzy")
        edits = ""
        if function == "fuzzy" and self.chance(0.7):
            value = self.random.randint(0, 2)
            edits = ", " + (self.parameter("I32", value) if self.chance(0.3) else str(value))
        return f"{function}({found[0]}, {self.query_text()}{edits})"

    def negation(self, scope: dict[str, str], depth: int) -> str:
        if depth == 2:
            return ""
        for _ in range(3):
            count = self.node_count
            inner = self.clauses(dict(scope), depth + 1)
            if any(f"${name}" in each for name in scope for each in inner if not each.startswith("not")):
                return f"not {{ {'  '.join(inner)} }}"
            self.node_count = count
        return ""

    # ── rankings ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def ranking(self, name: str, owner: str) -> str:
        has_vector = "vec" in PROPERTIES[owner]
        kind = self.pick("nearest", "bm25", "rrf") if has_vector else self.pick("bm25", "bm25", "rrf")
        if kind != "rrf":
            return self.arm(kind, name)
        kinds = ("nearest", "bm25") if has_vector else ("bm25",)
        k = self.pick("", "", f", {self.pick(1, 10)}")
        if self.chance(0.1):
            k = ", $k"
            if not any(each.startswith("$k:") for each in self.declared):
                self.declared.append("$k: I64")
                self.params["k"] = 3
        return f"rrf({self.arm(self.pick(*kinds), name)}, {self.arm(self.pick(*kinds), name)}{k})"

    def arm(self, kind: str, name: str) -> str:
        if kind == "bm25":
            return f"bm25(${name}.text, {self.query_text(2)})"
        way = self.pick("literal", "parameter", "text")
        if way == "text":
            query = quoted(self.pick(*QUERY_TEXTS))
        elif way == "parameter":
            query = self.parameter("Vector(3)", list(self.pick(*QUERY_VECTORS)))
        else:
            query = f"[{', '.join(map(str, self.pick(*QUERY_VECTORS[:3])))}]"
        return f"nearest(${name}.vec, {query})"

    # ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def rows(self, scope: dict[str, str]) -> str:
        """A return block, an order and a limit of a query without aggregates."""
        nodes = {name: owner for name, owner in scope.items() if owner not in ENDS}
        columns = [f"${name}" for name in nodes]
        for name, owner in scope.items():
            columns += [f"${name}.{each}" for each in PROPERTIES[owner] if self.chance(0.25)]
        columns = list(dict.fromkeys(columns))
        aliases = []
        for number in range(len(columns)):
            if self.chance(0.15):
                aliases.append(f"c{number}")
                columns[number] += f" as c{number}"
        if self.chance(0.1):
            columns.append(
                f"{self.given('Item', self.pick('String', 'I64', 'F64', 'Date', 'Bool', 'DateTime'))} as given"
            )
        rankings = [self.ranking(name, owner) for name, owner in nodes.items() if self.chance(0.5)]
        shown = [each for each in rankings if self.chance(0.5)]
        columns += [f"{each} as s{number}" for number, each in enumerate(shown)]
        self.random.shuffle(columns)
        order, needs_limit = self.order(
            scope, [*aliases, *(name for name in nodes if f"${name}" in columns)], rankings, shown
        )
        limit = f" limit {self.random.randint(0, 6)}" if needs_limit or self.chance(0.3) else ""
        separator = self.pick(", ", " ", "  ")
        return f"return {{ {separator.join(columns) or '1'} }}{order}{limit}"

    def constant(self) -> str:
        """Something to return that is the same for every row."""
        if self.chance(0.3):
            value = self.random.choices(VALUES["I64"], k=2)
            return self.parameter("[I64]", value) if self.chance(0.4) else '["a", "b"]'
        return self.given("Item", self.pick("String", "I64", "F32", "F64", "Date", "Bool", "DateTime"))

    def order(
        self, scope: dict[str, str], aliases: list[str], rankings: list[str], shown: list[str]
    ) -> tuple[str, bool]:
        if self.chance(0.25):
            return "", False
        keys: list[str] = []
        needs_limit = False
        if rankings and self.chance(0.7):
            first = self.pick(*rankings)
            needs_limit = "nearest" in first or "rrf" in first
            keys.append(f"s{shown.index(first)}" if first in shown and self.chance(0.4) else first)
            if len(rankings) > 1 and self.chance(0.2):
                keys.append(rankings[-1])
                needs_limit = True
        for _ in range(self.random.randint(0 if keys else 1, 2)):
            found = self.field(scope, *NUMERIC, "String", "enum", "Bool", "Date", "DateTime", "text")
            if found is not None:
                keys.append(f"{found[0]}{self.pick('', ' asc', ' desc')}")
        has_nearest = any(each.startswith(("nearest", "s")) for each in keys)
        if aliases and not has_nearest and self.chance(0.2):
            keys.insert(self.random.randint(0, len(keys)), self.pick(*aliases) + self.pick("", " desc"))
        self_ordered = ", ".join(dict.fromkeys(keys))
        return (f" order {{ {self_ordered} }}" if keys else ""), needs_limit

    def groups(self, scope: dict[str, str]) -> str:
        """A return block with aggregates."""
        nodes = [name for name, owner in scope.items() if owner not in ENDS]
        columns: dict[str, str] = {}
        for _ in range(self.random.randint(0, 2)):
            found = self.field(scope, *NUMERIC, "String", "enum", "Bool", "Date", "DateTime", "text", "[String]")
            if found is not None:
                columns[found[0]] = found[0][1:]
        if nodes and self.chance(0.2):
            name = self.pick(*nodes)
            columns[f"${name}"] = name
        for number in range(self.random.randint(1, 3)):
            call = self.measure(scope, nodes)
            if call is not None:
                columns[f"{call} as n{number}"] = f"n{number}"
        if not any(each.startswith("n") and each[1:].isdigit() for each in columns.values()):
            columns["count(1) as n9"] = "n9"
        keys = [each for each in columns.values() if not each.count(".") and each[0] != "_"]
        keys += ["$" + each for each in columns.values() if "." in each and not each.endswith(".tags")]
        order = ""
        if keys and self.chance(0.6):
            chosen = self.random.sample(keys, min(len(keys), self.pick(1, 1, 2)))
            order = f" order {{ {', '.join(each + self.pick('', ' desc') for each in chosen)} }}"
        limit = f" limit {self.random.randint(0, 4)}" if self.chance(0.3) else ""
        return f"return {{ {', '.join(columns)} }}{order}{limit}"

    def measure(self, scope: dict[str, str], nodes: list[str]) -> str | None:
        function = self.pick("count", "count", "sum", "avg", "min", "max")
        if function in ("count", "min", "max") and nodes and self.chance(0.4):
            return f"{function}(${self.pick(*nodes)})"
        kinds: tuple[str, ...] = NUMERIC
        if function in ("min", "max"):
            kinds = (*NUMERIC, "String", "enum")
        elif function == "count":
            kinds = (*NUMERIC, "String", "Date", "[String]", "Bool", "DateTime", "text")
        found = self.field(scope, *kinds)
        return None if found is None else f"{function}({found[0]})"


def make_question(random: Random) -> Question:
    """A query, mostly a valid one, with its parameters."""
    writer = _Writer(random)
    scope: dict[str, str] = {}
    clauses = writer.clauses(scope, 0) or [writer.binding(scope, 0) or "$only: Item"]
    result = writer.groups(scope) if writer.chance(0.3) else writer.rows(scope)
    text = f"query q({', '.join(writer.declared)}) {{ match {{ {'  '.join(clauses)} }} {result} }}"
    return Question(text, writer.params)
