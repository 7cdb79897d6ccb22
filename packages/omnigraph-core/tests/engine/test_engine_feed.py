"""The feed: which blocks, in which order, from which start; what a page holds; what it costs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from feed_world import (
    add,
    all_told,
    change_schema,
    film,
    new_graph,
    person,
    remove,
    saw,
    set_age,
    told,
)
from publish_world import publish_bare

from omnigraph.engine.feed_pages import FeedPage
from omnigraph.errors import (
    ChangeCursorRejectedError,
    ChangeSchemaBoundaryError,
    ClosedError,
    InvalidInputError,
    NotFoundError,
    OmnigraphError,
)
from omnigraph.graph import Graph
from omnigraph.history.commits import CommitKind
from omnigraph.tables.counting import count_table_calls


def commits_of(page: FeedPage) -> list[str]:
    return [block.cause.commit_id for block in page.blocks]


def counts_of(page: FeedPage) -> list[int]:
    return [len(block.changes) for block in page.blocks]


# ── blocks ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_commit_is_a_block_oldest_first_with_its_cause_and_what_it_changed() -> None:
    graph = new_graph()
    first = graph.load(
        [person("ann", 3), person("bo"), film("Salt"), saw("s1", "ann", "Salt", 4.5)], "append", actor="x"
    )
    second = set_age(graph, "bo", 7)
    third = remove(graph, "ann")
    page = graph.changes(start="beginning")
    assert commits_of(page)[1:] == [first.commit.id, second, third]
    assert [block.cause.parent_id for block in page.blocks] == [None, *commits_of(page)[:-1]]
    assert [told(each) for each in page.blocks[1].changes] == [
        ("insert", "Film", "Salt"),
        ("insert", "Person", "ann"),
        ("insert", "Person", "bo"),
        ("insert", "Saw", "s1"),
    ]
    assert [told(each) for each in page.blocks[2].changes] == [("update", "Person", "bo")]
    assert [told(each) for each in page.blocks[3].changes] == [("delete", "Person", "ann"), ("delete", "Saw", "s1")]
    update = page.blocks[2].changes[0]
    assert update.before is not None
    assert update.after is not None
    assert (update.before["age"], update.after["age"]) == (None, 7)
    edge = page.blocks[1].changes[3]
    assert (edge.from_id, edge.to_id, edge.before) == ("ann", "Salt", None)
    cause = page.blocks[1].cause
    assert (cause.actor, cause.branch, cause.kind, cause.merged_parent_id) == ("x", "main", "data", None)
    assert cause.created_at == first.commit.created_at
    assert (page.caught_up, page.page_token, page.head.id) == (True, None, third)


def test_nodes_come_before_edges_types_by_identity_and_rows_by_the_bytes_of_their_ids() -> None:
    graph = new_graph()
    names = ["z", "a", "ä", "Z", "\U0001f600", "\uffff"]
    add(graph, *(saw(f"s{each}", each, "x") for each in names), film("x"), *(person(each) for each in names))
    changes = graph.changes(start="beginning").blocks[1].changes
    tables = graph.snapshot().schema.tables
    kinds = sorted(("node:Person", "node:Film"), key=lambda key: tables[key].identity)
    order = [(key.partition(":")[2], each) for key in kinds for each in (names if "Person" in key else ["x"])]
    expected = sorted(order, key=lambda each: (kinds.index(f"node:{each[0]}"), each[1].encode()))
    expected += [("Saw", each) for each in sorted((f"s{each}" for each in names), key=str.encode)]
    assert [(each.type, each.id) for each in changes] == expected


def test_the_first_commit_is_an_empty_block_without_a_parent() -> None:
    page = new_graph().changes(start="beginning")
    assert [(block.cause.parent_id, block.cause.kind, block.changes) for block in page.blocks] == [(None, "schema", ())]


def test_maintenance_is_an_empty_block_and_opens_nothing() -> None:
    graph = new_graph()
    add(graph, person("ann"))
    cursor = graph.changes().cursor
    graph.maintain.ensure_indices()
    with count_table_calls() as counts:
        page = graph.changes(cursor=cursor)
    assert [(block.cause.kind, block.changes, block.is_complete) for block in page.blocks] == [
        ("maintenance", (), True)
    ]
    assert page.caught_up
    assert "open" not in counts
    assert "read" not in counts


def test_a_load_that_writes_rows_as_they_are_changes_nothing() -> None:
    graph = new_graph()
    add(graph, person("ann", 3), person("bo", 4))
    cursor = graph.changes().cursor
    add(graph, person("ann", 3), person("bo", 5))
    assert all_told([graph.changes(cursor=cursor)]) == [("update", "Person", "bo")]


# ── where it begins ──────────────────────────────────────────────────────────────────────────────────────────────


def test_now_is_the_default_and_tells_what_comes_after_the_call() -> None:
    graph = new_graph()
    add(graph, person("ann"))
    page = graph.changes()
    assert (page.blocks, page.caught_up) == ((), True)
    assert graph.changes(start="now").cursor == page.cursor
    commit = add(graph, person("bo"))
    after = graph.changes(cursor=page.cursor)
    assert (commits_of(after), all_told([after])) == ([commit], [("insert", "Person", "bo")])


def test_after_a_commit_tells_what_came_behind_it() -> None:
    graph = new_graph()
    commits = [add(graph, person(str(number))) for number in range(40)]
    # Some are in the state of the manifest, some in its history.
    for place in (0, 1, 20, 38, 39):
        assert commits_of(graph.changes(start=f"after:{commits[place]}")) == commits[place + 1 :]
    assert graph.changes(start=f"after:{commits[39]}").caught_up


@pytest.mark.parametrize("start", ["", "later", "after:", "Now", "after", 7, ["now"]])
def test_a_start_that_is_none_is_refused(start: Any) -> None:
    with pytest.raises(InvalidInputError, match="is no start of a feed"):
        new_graph().changes(start=start)


def test_an_unknown_commit_or_branch_is_told() -> None:
    graph = new_graph()
    with pytest.raises(NotFoundError, match="has no commit"):
        graph.changes(start="after:01KA7X3J8Q0000000000000000")
    with pytest.raises(NotFoundError, match="no branch"):
        graph.changes("review")


def test_only_one_of_start_cursor_and_page_token_is_taken() -> None:
    graph = new_graph()
    cursor = graph.changes().cursor
    with pytest.raises(InvalidInputError, match="start and cursor say where to begin"):
        graph.changes(start="now", cursor=cursor)
    with pytest.raises(InvalidInputError, match="cursor and page_token say where to begin"):
        graph.changes(cursor=cursor, page_token="x")


# ── filters ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def busy() -> Graph:
    graph = new_graph()
    add(graph, person("ann"), person("bo"), film("Salt"), saw("s1", "ann", "Salt"), saw("s2", "bo", "Salt"))
    set_age(graph, "bo", 7)
    remove(graph, "ann")
    return graph


EVERY = [
    ("insert", "Film", "Salt"),
    ("insert", "Person", "ann"),
    ("insert", "Person", "bo"),
    ("insert", "Saw", "s1"),
    ("insert", "Saw", "s2"),
    ("update", "Person", "bo"),
    ("delete", "Person", "ann"),
    ("delete", "Saw", "s1"),
]


@pytest.mark.parametrize("ops", [None, [], ["insert"], ["update"], ["delete"], ["update", "delete"]])
@pytest.mark.parametrize("kinds", [None, [], ["node"], ["edge"], ["edge", "node"]])
@pytest.mark.parametrize("types", [None, [], ["Person"], ["edge:Saw", "node:Film"]])
def test_a_filter_leaves_out_everything_else(busy: Graph, ops: Any, kinds: Any, types: Any) -> None:
    names = None if types is None else [each.rpartition(":")[2] for each in types]
    expected = [
        (op, name, row)
        for op, name, row in EVERY
        if (ops is None or op in ops)
        and (kinds is None or ("edge" if name == "Saw" else "node") in kinds)
        and (names is None or name in names)
    ]
    page = busy.changes(start="beginning", ops=ops, kinds=kinds, types=types)
    assert all_told([page]) == expected
    assert (len(page.blocks), page.caught_up) == (4, True)


def test_what_is_filtered_out_moves_the_cursor_all_the_same(busy: Graph) -> None:
    page = busy.changes(start="beginning", types=["Film"])
    assert counts_of(page) == [0, 1, 0, 0]
    assert busy.changes(cursor=page.cursor, types=["Film"]).blocks == ()


@pytest.mark.parametrize(
    ("filters", "error"),
    [
        ({"types": ["Flim"]}, NotFoundError),
        ({"types": "Film"}, InvalidInputError),
        ({"kinds": ["nodes"]}, InvalidInputError),
        ({"kinds": "node"}, InvalidInputError),
        ({"ops": ["upsert"]}, InvalidInputError),
    ],
)
def test_a_filter_that_means_nothing_is_refused(busy: Graph, filters: Any, error: type[OmnigraphError]) -> None:
    with pytest.raises(error):
        busy.changes(**filters)


def test_the_spelling_and_the_order_of_a_filter_play_no_part(busy: Graph) -> None:
    cursor = busy.changes(types=["Film", "Person"], ops=["insert", "delete"], kinds=["node"]).cursor
    busy.changes(cursor=cursor, types=["node:Person", "Film", "Film"], ops=["delete", "insert"], kinds=["node", "node"])
    every = busy.changes().cursor
    busy.changes(cursor=every, ops=["insert", "update", "delete"], kinds=["edge", "node"])


# ── cursors belong somewhere ─────────────────────────────────────────────────────────────────────────────────────


def reason(graph: Graph, **arguments: Any) -> str:
    with pytest.raises(ChangeCursorRejectedError) as caught:
        graph.changes(**arguments)
    return caught.value.reason


def test_a_cursor_is_for_its_graph_its_kind_and_its_filter(busy: Graph) -> None:
    page = busy.changes(start="beginning", limit=1)
    cursor = busy.changes().cursor
    assert reason(new_graph(), cursor=cursor) == "graph"
    assert reason(busy, cursor=cursor, types=["Film"]) == "filter"
    assert reason(busy, cursor=cursor, ops=["insert"]) == "filter"
    assert reason(busy, cursor=cursor, kinds=["edge"]) == "filter"
    assert reason(busy, cursor=page.page_token) == "kind"
    assert reason(busy, page_token=cursor) == "kind"
    assert reason(busy, page_token=page.page_token, types=["Film"]) == "filter"
    assert reason(busy, cursor=f"{cursor}A") in {"form", "checksum"}


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 7, 100])
def test_pages_of_any_number_of_changes_together_are_the_whole_once(busy: Graph, limit: int) -> None:
    pages = list(busy.changes.follow(start="beginning", limit=limit))
    assert all_told(pages) == EVERY
    for page in pages:
        assert 0 < sum(counts_of(page)) <= limit
        assert [block.is_complete for block in page.blocks[:-1]] == [True] * (len(page.blocks) - 1)
        assert page.blocks[-1].is_complete is (page.page_token is None)
        assert (page.cursor is None) is (page.page_token is not None)
        assert page.caught_up is (page is pages[-1])


def test_a_page_that_ends_where_a_block_ends_has_a_cursor(busy: Graph) -> None:
    page = busy.changes(start="beginning", limit=5)
    assert counts_of(page) == [0, 5]
    assert page.cursor is not None
    assert not page.caught_up
    assert counts_of(busy.changes(cursor=page.cursor)) == [1, 2]


def test_a_block_that_has_no_room_for_its_first_change_waits_for_the_next_page() -> None:
    graph = new_graph()
    add(graph, person("a" * 100))
    add(graph, person("b" * 200))
    page = graph.changes(start="beginning", max_bytes=500)
    assert counts_of(page) == [0, 1]
    assert page.cursor is not None
    assert counts_of(graph.changes(cursor=page.cursor, max_bytes=500)) == [1]


def size_of(change: Any) -> int:
    return len(json.dumps(change.to_dict(), ensure_ascii=False, separators=(",", ":")).encode())


def test_a_page_holds_so_many_bytes_of_json_and_not_one_more() -> None:
    graph = new_graph()
    add(graph, *(person("ä" * number) for number in range(1, 60)))
    (block,) = graph.changes(start="beginning").blocks[1:]
    sizes = [size_of(each) for each in block.changes]
    for count in (1, 2, 30, 58):
        room = sum(sizes[:count])
        for max_bytes, fits in ((room, count), (room - 1, max(count - 1, 1)), (room + 1, count)):
            page = graph.changes(start="beginning", max_bytes=max_bytes)
            assert sum(counts_of(page)) == fits


def test_one_change_that_is_larger_than_a_page_comes_alone() -> None:
    graph = new_graph()
    add(graph, person("a"), person("b" * 3_000), person("c"), person("d" * 2_000))
    pages = list(graph.changes.follow(start="beginning", max_bytes=1_000))
    assert [[len(each.id) for block in page.blocks for each in block.changes] for page in pages] == [
        [1],
        [3_000],
        [1],
        [2_000],
    ]


def test_a_page_walks_so_many_commits_and_no_more() -> None:
    graph = new_graph()
    commits = [add(graph, person(str(number))) for number in range(5)]
    pages = list(graph.changes.follow(start="beginning", max_commits=2))
    assert [len(page.blocks) for page in pages] == [2, 2, 2]
    assert [each for page in pages for each in commits_of(page)][1:] == commits
    assert [page.caught_up for page in pages] == [False, False, True]


def test_a_page_has_the_bounds_of_the_specification_unless_others_are_given() -> None:
    graph = new_graph()
    add(graph, *(person(f"{number:04}") for number in range(1_001)))
    assert sum(counts_of(graph.changes(start="beginning"))) == 1_000
    assert sum(counts_of(graph.changes(start="beginning", limit=8_192))) == 1_001
    # The id is the key, so each of these has it twice.
    add(graph, *(person(f"{number}{'x' * 500_000}") for number in range(5)))
    assert counts_of(graph.changes(start=f"after:{graph.commits.list(limit=2)[1].id}")) == [4]
    log = graph._repository.newest()
    for _ in range(130):
        log = publish_bare(log, kind=CommitKind.FENCE)
    assert len(graph.changes(start=f"after:{graph.commits.list()[130].id}").blocks) == 128


@pytest.mark.parametrize(("bound", "most"), [("limit", 8_192), ("max_bytes", 32 * 1024 * 1024), ("max_commits", 512)])
def test_a_bound_that_is_none_is_refused(busy: Graph, bound: str, most: int) -> None:
    busy.changes(**{bound: most})
    for given in (0, -1, most + 1, 1.5, True, None, "7"):
        with pytest.raises(InvalidInputError, match=f"^{bound} is "):
            busy.changes(**{bound: given})


def test_a_page_inside_a_block_is_not_disturbed_by_what_comes_meanwhile() -> None:
    graph = new_graph()
    add(graph, person("a"), person("b"), person("c"))
    page = graph.changes(start="beginning", limit=2)
    later = add(graph, person("a", 9), person("aa"))
    rest = graph.changes(page_token=page.page_token, limit=100)
    assert [told(each) for each in rest.blocks[0].changes] == [("insert", "Person", "c")]
    assert (commits_of(rest)[1:], rest.blocks[0].is_complete, rest.caught_up) == ([later], True, True)


def test_ids_that_are_too_long_for_a_token_are_gone_through_one_by_one() -> None:
    graph = new_graph()
    stem = "k" * 300
    names = ["a", *(f"{stem}{number}" for number in range(5)), "z"]
    add(graph, *map(person, names), film(stem), *(saw(f"{stem}{each[-1]}", each, stem) for each in names[:3]))
    pages = list(graph.changes.follow(start="beginning", limit=1))
    assert sorted(each for _, name, each in all_told(pages) if name == "Person") == names
    assert len(all_told(pages)) == len(set(all_told(pages))) == len(names) + 4


def test_following_ends_when_it_has_caught_up_and_reads_page_by_page() -> None:
    graph = new_graph()
    add(graph, person("a"), person("b"))
    pages = graph.changes.follow(start="beginning", limit=1)
    assert counts_of(next(pages)) == [0, 1]
    commit = add(graph, person("c"))
    rest = list(pages)
    assert [commits_of(page)[-1] == commit for page in rest] == [False, True]
    assert rest[-1].caught_up


def test_nothing_is_told_after_the_close() -> None:
    graph = new_graph()
    add(graph, person("a"), person("b"))
    changes, pages, lines = graph.changes, graph.changes.follow(start="beginning", limit=1), graph.changes.baseline()
    next(pages)
    next(lines)
    graph.close()
    for call in (changes, lambda: next(pages), lambda: next(lines), changes.baseline, lambda: changes.of("x")):
        with pytest.raises(ClosedError):
            call()


# ── what cannot be told ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_commit_that_changed_the_schema_is_an_error_where_it_comes_first_and_the_end_of_a_page_elsewhere() -> None:
    graph = new_graph()
    before = add(graph, person("ann"))
    boundary = change_schema(graph)
    after = publish_bare(graph._repository.newest(), kind=CommitKind.FENCE).state.head.id
    page = graph.changes(start="beginning")
    assert commits_of(page)[1:] == [before]
    assert not page.caught_up
    with pytest.raises(ChangeSchemaBoundaryError) as caught:
        graph.changes(cursor=page.cursor)
    assert caught.value.commit_id == boundary
    assert f"after:{boundary}" in str(caught.value)
    assert commits_of(graph.changes(start=f"after:{boundary}")) == [after]


# ── what it costs ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def long_history() -> tuple[Graph, list[str]]:
    graph = new_graph()
    first = add(graph, person("a"))
    commits = [first]
    log = graph._repository.newest()
    for _ in range(200):
        log = publish_bare(log, kind=CommitKind.FENCE)
        commits.append(log.state.head.id)
    return graph, commits


def test_a_poll_that_has_caught_up_is_one_probe(long_history: tuple[Graph, list[str]]) -> None:
    graph, _ = long_history
    cursor = graph.changes().cursor
    with count_table_calls() as counts:
        assert graph.changes(cursor=cursor).caught_up
    assert counts == {"log.probe": 1}


def test_a_poll_of_one_commit_costs_the_same_whatever_the_backlog(long_history: tuple[Graph, list[str]]) -> None:
    graph, commits = long_history
    costs = []
    for place in (0, 100, 198):
        cursor = graph.changes(start=f"after:{commits[place - 1] if place else commits[0]}", max_commits=1).cursor
        with count_table_calls() as counts:
            page = graph.changes(cursor=cursor, max_commits=1)
        assert len(page.blocks) == 1
        costs.append(dict(counts))
    assert costs == [{"log.probe": 1, "log.open": 1, "log.read": 1}] * 3


def test_a_poll_of_one_commit_with_rows_opens_two_states_and_the_types_that_it_changed() -> None:
    graph = new_graph()
    add(graph, person("a"), film("x"))
    cursor = graph.changes().cursor
    add(graph, person("b"))
    for number in range(40):
        add(graph, film(str(number)))
    with count_table_calls() as counts:
        page = graph.changes(cursor=cursor, max_commits=1)
    assert all_told([page]) == [("insert", "Person", "b")]
    assert (counts["log.probe"], counts["log.open"], counts["log.read"]) == (1, 2, 2)
    assert counts["open"] <= 2


# ── the same for programs ────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_is_json_with_every_fact(busy: Graph) -> None:
    page = busy.changes(start="beginning", limit=6)
    facts = json.loads(json.dumps(page.to_dict()))
    assert facts.keys() == {"branch", "head", "blocks", "cursor", "page_token", "caught_up"}
    assert facts["head"] == page.head.id
    assert facts["blocks"][1]["cause"] == {
        "commit_id": page.blocks[1].cause.commit_id,
        "parent_id": page.blocks[0].cause.commit_id,
        "merged_parent_id": None,
        "branch": "main",
        "actor": None,
        "kind": "data",
        "created_at": busy.commits.show(page.blocks[1].cause.commit_id).to_dict()["created_at"],
    }
    assert [each["is_complete"] for each in facts["blocks"]] == [True, True, True]
    assert len(facts["blocks"][1]["changes"]) == 5
