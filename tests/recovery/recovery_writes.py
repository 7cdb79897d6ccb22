"""``Write``: one write of each kind that there is, on a graph of which the dict model knows what it will be then.

Writes are numbered, so that each can be made again and again on one graph and is never without an effect. Before write
``n`` its branch holds ``news(n)``: what it updates and deletes. All but a fold change several types. Most are on main;
some are on a branch: their first there, which forks what it changes, or a later one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

import omnigraph as og
from omnigraph import failpoints
from omnigraph.schema import compile_schema
from omnigraph.testing.model import ModelGraph, Record
from omnigraph.testing.mutation_model import DeleteNodes, InsertEdge, InsertNode, Statement, Update, Where, mutate
from omnigraph.testing.mutation_text import spell_mutation
from omnigraph.write.tail import fold_type

SCHEMA: Final = """
node Person { name: String @key  age: I32? }
node Film { code: String @key  title: String }
node Note { text: String @key }
edge Rated: Person -> Film { stars: I32  @unique(src, dst) }
"""
CATALOG: Final = compile_schema(SCHEMA)

FOLDED: Final = "node:Person"
BRANCH: Final = "dev"
"""The branch of writes that are not on main."""


_FORKED: Final = failpoints.MUTATION_POST_FORK_PRE_COMMIT


def news(number: int | str, age: int | None = None) -> list[Record]:
    """Records of three types."""
    return [
        {"type": "Person", "data": {"name": f"p{number}", "age": age}},
        {"type": "Film", "data": {"code": f"f{number}", "title": f"film {number}"}},
        {"edge": "Rated", "from": f"p{number}", "to": f"f{number}", "data": {"id": f"r{number}", "stars": 3}},
    ]


def note(number: int | str) -> list[Record]:
    """A record of a type that no write is about."""
    return [{"type": "Note", "data": {"text": f"n{number}"}}]


@dataclass(frozen=True)
class Write:
    """One kind of write.

    Attributes:
        kind: as the audit calls it.
        table_count: how many types it changes.
        own_points: the failpoints that it reaches before it has a plan, in order.
        run: makes write ``n`` through a handle.
        apply: lets the model make it.
        looks: whether it looks for cut-off writes before it begins.
        has_actor: whether its commit tells who made it.
        is_strict: whether it is a conflict when others change what it is about.
        branch: what it changes.
        is_first: whether the branch was just made, so that each type that it changes is forked on the way.
    """

    name: str
    kind: str
    table_count: int
    own_points: tuple[str, ...]
    run: Callable[[og.Graph, int], object]
    apply: Callable[[ModelGraph, int], object]
    looks: bool = True
    has_actor: bool = True
    is_strict: bool = False
    branch: str = "main"
    is_first: bool = False

    @property
    def has_effect(self) -> bool:
        return self.table_count > 0


# ── loads ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _load(mode: Any, records: Callable[[int], list[Record]], *, branch: str = "main", is_first: bool = False) -> Write:
    return Write(
        name=f"load_{mode}{_where(branch, is_first=is_first)}",
        kind="load",
        table_count=3,
        own_points=(*([_FORKED] * 3 if is_first else []), failpoints.LOAD_STAGED),
        run=lambda graph, number: graph.load(records(number), mode, branch=branch),
        apply=lambda model, number: model.load(records(number), mode),
        is_strict=mode == "overwrite",
        branch=branch,
        is_first=is_first,
    )


def _where(branch: str, *, is_first: bool = False) -> str:
    return "" if branch == "main" else "_on_new_branch" if is_first else "_on_branch"


def _appended(number: int) -> list[Record]:
    return news(f"-appended-{number}")


def _merged(number: int) -> list[Record]:
    return [*news(number, age=number % 100), *news(f"-merged-{number}")]


def _overwriting(number: int) -> list[Record]:
    return [*news(number, age=number % 100), *news(f"-left-{number}")]


def _bulk(graph: og.Graph, number: int) -> object:
    ticket = graph.bulk()
    name = f"-bulk-{number}"
    receipts = [
        ticket.write("Person", pa.table({"name": [f"p{name}"]})),
        ticket.write("Film", pa.table({"code": [f"f{name}"], "title": [f"film {name}"]})),
        ticket.write("Rated", pa.table({"id": [f"r{name}"], "src": [f"p{name}"], "dst": [f"f{name}"], "stars": [3]})),
    ]
    return graph.bulk_publish(receipts, "append")


# ── mutations ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _mutation(
    name: str,
    table_count: int,
    own_points: tuple[str, ...],
    statements: Callable[[int], list[Statement]],
    *,
    branch: str = "main",
) -> Write:
    def run(graph: og.Graph, number: int) -> object:
        text, params = spell_mutation(CATALOG, statements(number), seed=number)
        return graph.mutate(text, params=params, branch=branch)

    return Write(
        name=f"mutate_{name}{_where(branch)}",
        kind="mutation",
        table_count=table_count,
        own_points=own_points,
        run=run,
        apply=lambda model, number: mutate(model, statements(number)),
        is_strict=name != "insert",
        branch=branch,
    )


def _insert(number: int) -> list[Statement]:
    name = f"-inserted-{number}"
    return [
        InsertNode(type="Person", values={"name": f"p{name}", "age": 9}),
        InsertNode(type="Film", values={"code": f"f{name}", "title": "new"}),
        InsertEdge(type="Rated", source=f"p{name}", target=f"f{name}", values={"stars": 5}),
    ]


def _update(number: int) -> list[Statement]:
    return [
        Update(type="Person", values={"age": 50}, where=Where(property="name", value=f"p{number}")),
        Update(type="Film", values={"title": "renamed"}, where=Where(property="code", value=f"f{number}")),
    ]


def _delete(number: int) -> list[Statement]:
    return [DeleteNodes(type="Person", where=Where(property="name", value=f"p{number}"))]


def _update_nobody(number: int) -> list[Statement]:
    return [Update(type="Person", values={"age": 50}, where=Where(property="name", value=f"nobody {number}"))]


# ── maintenance ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _fold(graph: og.Graph, number: int) -> object:
    return fold_type(graph._repository, "main", FOLDED)


_STAGED: Final = failpoints.MUTATION_POST_STAGE_PRE_EFFECT_GATE

WRITES: Final[Mapping[str, Write]] = {
    each.name: each
    for each in (
        _load("append", _appended),
        _load("merge", _merged),
        _load("overwrite", _overwriting),
        Write(
            name="bulk_publish",
            kind="load",
            table_count=3,
            own_points=(failpoints.LOAD_STAGED,),
            run=_bulk,
            apply=lambda model, number: model.load(news(f"-bulk-{number}"), "append"),
        ),
        _mutation("insert", 3, (_STAGED,), _insert),
        _mutation("update", 2, (_STAGED,), _update),
        _mutation("delete", 2, (failpoints.MUTATION_DELETE_NODE_PRE_PRIMARY_DELETE, _STAGED), _delete),
        _mutation("nothing", 0, (failpoints.MUTATION_POST_NO_EFFECT_PRE_GATE,), _update_nobody),
        Write(
            name="ensure_indices",
            kind="ensure_indices",
            table_count=3,
            own_points=(failpoints.ENSURE_INDICES_POST_STAGE_PRE_COMMIT_BTREE,),
            run=lambda graph, number: graph.maintain.ensure_indices(),
            apply=lambda model, number: None,
        ),
        Write(
            name="fold",
            kind="fold",
            table_count=1,
            own_points=(failpoints.FOLD_STAGED,),
            run=_fold,
            apply=lambda model, number: None,
            looks=False,
            has_actor=False,
        ),
        _load("merge", _merged, branch=BRANCH, is_first=True),
        _mutation("update", 2, (_STAGED,), _update, branch=BRANCH),
    )
}
