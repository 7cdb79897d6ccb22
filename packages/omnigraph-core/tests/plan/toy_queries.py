"""Hypothesis strategies: small graphs, and read queries as text that mostly pass the check.

Ids of nodes of different types are spelled alike on purpose, values come from small sets so that comparisons, ties and
joins hit, and edges are often parallel or lead back to where they start. Both are drawn by a seed: evenly spread
examples find more here than ones that can be shrunk.
"""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import strategies as st

SCHEMA = """
node P {
    k: String @key
    n: I64?
    u: I64? @unique
    x: I64? @index
    t: String?
    v: Vector(2)?
}
node Q {
    k: String @key
    n: I64?
    t: String?
    tags: [String]?
}
edge Knows: P -> P { w: I64? }
edge Likes: P -> Q { w: I64? }
edge Back: Q -> P
"""

ENDS = {"knows": ("P", "P"), "likes": ("P", "Q"), "back": ("Q", "P")}
TEXTS = ("a", "b", "a b", "b b c", "c")
VECTORS = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (2.0, 2.0), (-1.0, 0.5))


SEEDS = st.integers(0, 2**63)


def graphs(toy: Any) -> st.SearchStrategy[Any]:
    """Graphs of up to 4 + 3 nodes."""
    return SEEDS.map(lambda seed: make_graph(toy, Random(seed)))


def queries(*, maximum_minimum: int = 3) -> st.SearchStrategy[str]:
    """Texts of queries. Some fail the check, for instance because a negation mentions nothing outside.

    Args:
        maximum_minimum: the greatest minimum of hop bounds.
    """
    return SEEDS.map(lambda seed: make_query(Random(seed), maximum_minimum))


def make_graph(toy: Any, random: Random) -> Any:
    def small() -> int | None:
        return random.choice((None, 0, 1, 1, 2))

    nodes: dict[str, dict[str, dict[str, Any]]] = {"P": {}, "Q": {}}
    for number in range(random.randint(1, 4)):
        nodes["P"][f"k{number}"] = {
            "k": f"k{number}",
            "n": small(),
            "u": number,
            "x": small(),
            "t": random.choice((None, *TEXTS)),
            "v": random.choice((None, *VECTORS)),
        }
    for number in range(random.randint(1, 3)):
        tags = random.choice((None, [], ["a"], ["b", "a"]))
        nodes["Q"][f"k{number}"] = {"k": f"k{number}", "n": small(), "t": random.choice((None, *TEXTS)), "tags": tags}
    edges: dict[str, list[Any]] = {}
    for word, (source, target) in ENDS.items():
        sources, targets = sorted(nodes[source]), sorted(nodes[target])
        edges[word.capitalize()] = [
            toy.Edge(
                f"{word}{number}",
                random.choice(sources),
                random.choice(targets),
                {} if word == "back" else {"w": small()},
            )
            for number in range(random.randint(1, 8))
        ]
    return toy.Graph(nodes, edges)


class _Writer:
    """Writes the text of a query, keeping track of what is bound where."""

    def __init__(self, random: Random, maximum_minimum: int) -> None:
        self.random = random
        self.maximum_minimum = maximum_minimum
        self.count = 0
        self.edge_count = 0

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def fresh(self) -> str:
        self.count += 1
        # Names in no particular order, because the tie-break goes by name.
        return "zaybxcwd"[self.count % 8] + str(self.count)

    def node(self, scope: dict[str, str], wanted: str, *, local: list[str]) -> str:
        """A variable of this type, an old one more often than a new one; rarely ``_``."""
        old = [name for name, found in scope.items() if found == wanted]
        way = self.random.choices(("old", "new", "none"), (5, 5 if self.count < 4 else 0, 1))[0]
        if way == "old" and old:
            return self.pick(*old)
        if way == "none" or self.count >= 4:
            return "_"
        name = self.fresh()
        scope[name] = wanted
        local.append(name)
        return name

    def clauses(self, scope: dict[str, str], depth: int, minimum: int = 1) -> list[str]:
        local: list[str] = []
        found = []
        for _ in range(self.random.randint(minimum, 5 if depth == 0 else 2)):
            kinds = ["binding"] * 3 + ["traversal"] * 6
            if scope:
                kinds += ["filter", "join", "join", "text", "not", "not"]
            kind = self.pick(*kinds)
            found.append(getattr(self, f"write_{kind}")(scope, local, depth))
        return [each for each in found if each]

    def write_binding(self, scope: dict[str, str], local: list[str], depth: int) -> str:
        wanted = self.pick("P", "P", "Q")
        name = self.node(scope, wanted, local=local)
        if name == "_":
            return ""
        choices = ["n: 1", 'k: "k1"', 't: "a"', 'n: 0, t: "b"']
        choices += ["u: 1", "x: 1", "x: 0, n: 1"] if wanted == "P" else ['tags: "a"']
        match = self.pick(*[None] * 6, *choices)
        return f"${name}: {wanted}" + (f" {{ {match} }}" if match else "")

    def write_traversal(self, scope: dict[str, str], local: list[str], depth: int) -> str:
        word = self.pick(*ENDS)
        source, target = ENDS[word]
        left = self.node(scope, source, local=local)
        right = self.node(scope, target, local=local)
        form = self.pick("plain", "plain", "edge", "hops", "undirected", "flipped", "self")
        spelled = word
        if word == "knows" and form == "undirected":
            spelled = f"<{word}>"
            form = self.pick("plain", "edge", "hops")
        if form == "self" and source == target:
            right = left
        if form == "flipped" and source != target and (left in scope or right in scope):
            left, right = right, left
        if form == "edge" and word != "back":
            self.edge_count += 1
            name = f"e{self.edge_count}"
            scope[name] = f"edge {word}"
            return f"${left} ${name}:{spelled} ${right}"
        if form == "hops" and word != "back":
            low = self.random.randint(1, self.maximum_minimum)
            return f"${left} {spelled}{{{low},{low + self.random.randint(0, 2)}}} ${right}"
        return f"${left} {spelled} ${right}"

    def number(self, scope: dict[str, str]) -> str | None:
        names = [name for name, found in scope.items() if found != "edge back"]
        if not names:
            return None
        name = self.pick(*names)
        if scope[name].startswith("edge"):
            return f"${name}.w"
        return f"${name}.{self.pick('n', 'u', 'x') if scope[name] == 'P' else 'n'}"

    def write_filter(self, scope: dict[str, str], local: list[str], depth: int) -> str:
        field = self.number(scope)
        if field is None:
            return ""
        operator = self.pick("=", "=", "!=", "<", ">=")
        number = self.random.randint(0, 2)
        return f"{number} {operator} {field}" if self.pick(True, False, False) else f"{field} {operator} {number}"

    def write_join(self, scope: dict[str, str], local: list[str], depth: int) -> str:
        left, right = self.number(scope), self.number(scope)
        if left is None or right is None or left.split(".")[0] == right.split(".")[0]:
            return ""
        return f"{left} {self.pick('=', '=', '=', '<')} {right}"

    def write_text(self, scope: dict[str, str], local: list[str], depth: int) -> str:
        names = [name for name, found in scope.items() if not found.startswith("edge")]
        if not names:
            return ""
        function = self.pick("search", "match_text", "fuzzy")
        return f'{function}(${self.pick(*names)}.t, "{self.pick(*TEXTS)}"{", 0" if function == "fuzzy" else ""})'

    def write_not(self, scope: dict[str, str], local: list[str], depth: int) -> str:
        if depth == 2 or not scope:
            return ""
        inner = self.clauses(dict(scope), depth + 1)
        return f"not {{ {'  '.join(inner)} }}" if inner else ""


RANKINGS = (
    "nearest(${}.v, [1.0, 0.5])",
    "nearest(${}.v, [0.0, 1.0])",
    'bm25(${}.t, "a b")',
    'rrf(nearest(${0}.v, [1.0, 0.5]), bm25(${0}.t, "b"))',
    'rrf(bm25(${0}.t, "a"), nearest(${0}.v, [1.0, 1.0]), 1)',
)


def make_query(random: Random, maximum_minimum: int) -> str:
    writer = _Writer(random, maximum_minimum)
    scope: dict[str, str] = {}
    clauses = writer.clauses(scope, 0, minimum=2)
    nodes = [name for name, found in scope.items() if not found.startswith("edge")]
    columns = [f"${name}" for name in nodes]
    columns += [f"${name}.w" for name, found in scope.items() if found in ("edge knows", "edge likes")]
    columns += [f"${name}.n" for name in nodes if random.random() < 0.5]
    result = ""
    ranked = [name for name in nodes if scope[name] == "P"]
    kind = random.choice(("none", "keys", "ranking", "ranking") if ranked else ("none", "keys"))
    keys = [f"${name}.n {random.choice(('asc', 'desc'))}" for name in random.sample(nodes, min(2, len(nodes)))]
    if kind == "ranking":
        name = random.choice(ranked)
        ranking = random.choice(RANKINGS).format(name)
        scores = (f"{ranking} as score", f"nearest(${name}.v, [0.5, 0.5]) as far", f'bm25(${name}.t, "a b") as near')
        columns += [each for each in scores if random.random() < 0.5]
        result = f" order {{ {', '.join([ranking, *keys[: random.randint(0, 2)]])} }} limit {random.randint(0, 5)}"
    elif kind == "keys" and keys:
        result = f" order {{ {', '.join(keys)} }}" + random.choice(("", " limit 3"))
    # Columns need no commas, but names of their own.
    shown = " ".join(dict.fromkeys(columns)) or '"nothing"'
    return f"query q() {{ match {{ {'  '.join(clauses)} }} return {{ {shown} }}{result} }}"
