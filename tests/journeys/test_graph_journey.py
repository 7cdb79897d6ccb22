"""A team keeps a film club as a graph, through the command and through Python, on a disk and on S3."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance
import pytest
from click.testing import CliRunner, Result

import omnigraph as og
from omnigraph.errors import HeadMovedError, OmnigraphError
from omnigraph.history.stamp import STAMP, STAMP_KEY
from omnigraph.testing.s3_servers import S3Server, run_s3_server
from omnigraph_cli.main import cli

OMNIGRAPH = Path(sys.executable).with_name("omnigraph")
WRITERS = 4
FILMS = Path(__file__).parents[2] / "examples" / "films"


@dataclass(frozen=True)
class Place:
    """Where a graph is, and how a process reaches it."""

    uri: str
    environment: dict[str, str]
    options: dict[str, Any]

    def run(self, *words: str, data: bytes | None = None) -> Result:
        """Run the command, in this process: a journey has many steps, and each start takes a second."""
        elsewhere: dict[str, str | None] = {name: None for name in os.environ if name.startswith("AWS_")}
        return CliRunner().invoke(cli, list(words), input=data, env=elsewhere | self.environment)

    def done(self, *words: str, data: bytes | None = None) -> bytes:
        """What the command prints; it must end well."""
        result = self.run(*words, data=data)
        assert result.exit_code == 0, result.output
        return result.stdout_bytes

    def document(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.done(*words, "--json"))
        return found


@pytest.fixture(scope="module")
def ministack() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket("club")
        yield server


@pytest.fixture(params=["local", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "local":
        return Place(str(tmp_path / "film club.omni"), {}, {})
    server: S3Server = request.getfixturevalue("ministack")
    environment = {
        "AWS_ENDPOINT_URL_S3": server.endpoint_url,
        "AWS_ACCESS_KEY_ID": server.access_key_id,
        "AWS_SECRET_ACCESS_KEY": server.secret_access_key,
        "AWS_REGION": server.region,
    }
    return Place(f"s3://club/{tmp_path.name}", environment, dict(server.options()))


def test_a_club_is_loaded_changed_looked_back_at_and_copied(place: Place):
    graph = place.uri
    place.done("init", "--schema", str(FILMS / "schema.pg"), graph, "--as", "ann")
    first = place.document("load", graph, "--data", str(FILMS / "seed.jsonl"), "--mode", "append", "--as", "ann")
    seed = [line for line in (FILMS / "seed.jsonl").read_text("utf-8").splitlines() if line.startswith("{")]
    assert first["total"] == len(seed)
    before = place.done("export", graph)
    assert len(before.splitlines()) == len(seed)

    place.done("load", graph, "--data", str(FILMS / "update.jsonl"), "--mode", "merge", "--as", "bo")
    after = place.done("export", graph)
    assert after != before

    listed = place.document("commit", "list", graph)["commits"]
    assert [(each["actor"], each["manifest_version"]) for each in listed] == [("bo", 3), ("ann", 2), ("ann", 1)]
    assert place.done("export", graph, "--snapshot", first["commit"]["id"]) == before
    assert place.done("export", graph, "--snapshot", "2") == before

    # Embedded, the same answers.
    with og.open(graph, mode="r", options=place.options) as opened:
        assert "\n".join(opened.export()).encode() + b"\n" == after
        assert [each.to_dict() for each in opened.commits.list()] == listed
        shown = place.document("snapshot", graph)
        assert {"uri": shown["uri"], **opened.snapshot().to_dict()} == shown

    copy = f"{graph}-copy"
    place.done("init", "--schema", str(FILMS / "schema.pg"), copy)
    place.done("load", copy, "--data", "-", "--mode", "overwrite", "--yes", data=after)
    assert place.done("export", copy) == after


def without_ids(export: bytes) -> list[dict[str, Any]]:
    """The lines of an export; edges get new ids wherever they are made."""
    lines = [json.loads(line) for line in export.splitlines()]
    for each in lines:
        each["data"].pop("id")
    return sorted(lines, key=json.dumps)


def told_alike(error: str) -> dict[str, Any]:
    """An error without the ids that two graphs do not share."""
    found: dict[str, Any] = json.loads(re.sub(r"[0-9A-HJKMNP-TV-Z]{26}", "(an id)", error))
    return found


def test_a_club_is_changed_by_query_alike_through_the_command_and_through_python(place: Place):
    by_command, by_python = f"{place.uri}-1", f"{place.uri}-2"
    for graph in (by_command, by_python):
        place.done("init", "--schema", str(FILMS / "schema.pg"), graph)
        place.done("load", graph, "--data", str(FILMS / "seed.jsonl"), "--mode", "append", "--as", "ann")
    queries = FILMS / "queries.gq"

    def words(name: str, params: dict[str, Any], *more: str) -> list[str]:
        given = ["--query", str(queries), "--params", json.dumps(params), "--as", "bo", *more]
        return ["mutate", by_command, name, *given]

    new = {"who": "ida.falk", "name": "Ida Falk", "code": "DR-014", "role": "the neighbour"}
    steps = [
        ("debut", new, (1, 1)),
        ("judge", {"code": "DR-014", "stars": 4.5}, (1, 0)),
        ("retag", {"code": "DR-014", "tags": ["strings"]}, (1, 0)),
        ("forget", {"card": 1022}, (1, 10)),
        ("forget", {"card": 1022}, (0, 0)),
    ]
    with og.open(by_python, actor="bo", options=place.options) as opened:
        seen = opened.snapshot().commit.id
        for name, params, affected in steps:
            printed = place.document(*words(name, params))
            done = opened.mutate(queries, name, params=params)
            assert (done.affected_nodes, done.affected_edges) == affected, name
            assert (printed["actor_id"], printed["commit"] is None) == ("bo", done.commit is None)
            same = ("branch", "query_name", "affected_nodes", "affected_edges")
            assert {each: printed[each] for each in same} == {each: done.to_dict()[each] for each in same}
        assert without_ids(place.done("export", by_command)) == without_ids("\n".join(opened.export()).encode())
        actors = [each.actor for each in opened.commits.list()]
        assert actors == ["bo"] * 4 + ["ann", None]
        assert [each["actor"] for each in place.document("commit", "list", by_command)["commits"]] == actors

        # What is refused is told alike too, and leaves nothing.
        before = place.done("export", by_command)
        for name, params, code in (
            ("judge", {"code": "DR-014", "stars": 11.0}, 3),
            ("debut", new | {"who": "per.falk", "code": "DR-999"}, 3),
            ("judge", {"code": "DR-014", "stras": 1.0}, 3),
            ("directed_by", {"who": "ida.falk"}, 3),
        ):
            refused = place.run(*words(name, params, "--json"))
            with pytest.raises(OmnigraphError) as error:
                opened.mutate(queries, name, params=params)
            assert refused.exit_code == code, name
            assert told_alike(refused.stdout) == told_alike(json.dumps({"error": error.value.to_dict()})), name
        loaded = place.document("commit", "list", by_command)["commits"][-2]["id"]
        late = place.run(*words("forget", {"card": 1030}, "--if-commit", loaded, "--json"))
        with pytest.raises(HeadMovedError) as moved:
            opened.mutate(queries, "forget", params={"card": 1030}, if_commit=seen)
        assert late.exit_code == 4
        assert told_alike(late.stdout) == told_alike(json.dumps({"error": moved.value.to_dict()}))
        assert place.done("export", by_command) == before


def test_a_club_tries_something_on_a_branch_alike_through_the_command_and_through_python(place: Place):
    graph, queries = place.uri, str(FILMS / "queries.gq")
    place.done("init", "--schema", str(FILMS / "schema.pg"), graph)
    place.done("load", graph, "--data", str(FILMS / "seed.jsonl"), "--mode", "append", "--as", "ann")
    before = place.done("export", graph)
    made = place.document("branch", "create", graph, "reviews/2026")["branch"]
    assert made["head"] == place.document("snapshot", graph)["commit_id"]

    # One branch is changed by the command, one by Python, in the same ways.
    place.done("branch", "create", graph, "by/python", "--from", "reviews/2026")
    judge = {"code": "DR-014", "stars": 4.5}
    words = ("--query", queries, "--params", json.dumps(judge), "--as", "bo", "--branch", "reviews/2026")
    place.done("mutate", graph, "judge", *words)
    place.done("load", graph, "--data", str(FILMS / "update.jsonl"), "--mode", "merge", "--branch", "reviews/2026")
    with og.open(graph, actor="bo", options=place.options) as opened:
        opened.mutate(Path(queries), "judge", params=judge, branch="by/python")
        opened.load(FILMS / "update.jsonl", "merge", branch="by/python")
        here = "\n".join(opened.export(branch="by/python")).encode()
        assert without_ids(here) == without_ids(place.done("export", graph, "--branch", "reviews/2026"))
        assert place.document("branch", "list", graph)["branches"] == [
            each.to_dict() for each in opened.branches.list()
        ]
    assert without_ids(here) != without_ids(before)
    assert place.done("export", graph) == before
    assert [each["branch"] for each in place.document("commit", "list", graph, "--branch", "by/python")["commits"]] == [
        "by/python",
        "by/python",
        "main",
        "main",
    ]

    # What was tried is thrown away, by mistake too; its last commit brings it back.
    for name in ("reviews/2026", "by/python"):
        last = place.document("branch", "delete", graph, name, "--yes")["head"]
    assert [each["name"] for each in place.document("branch", "list", graph)["branches"]] == ["main"]
    place.done("branch", "create", graph, "back", "--at", last)
    assert place.done("export", graph, "--branch", "back") == here + b"\n"
    assert place.done("export", graph) == before


def test_a_bad_file_changes_nothing_and_its_correction_loads(place: Place, tmp_path: Path):
    graph = place.uri
    place.done("init", "--schema", str(FILMS / "schema.pg"), graph)
    place.done("load", graph, "--data", str(FILMS / "seed.jsonl"), "--mode", "append")
    before = place.done("export", graph)
    good = (
        '{"type":"Film","data":{"code":"SF-500","title":"Late","genre":"sci-fi","released":"2026-02-01","minutes":90}}'
    )
    breaks = {
        "wrong_type": good.replace("90", '"long"'),
        "bad_date": good.replace("2026-02-01", "2026-02-30"),
        "unknown_field": good.replace('"minutes"', '"length": 1, "minutes"'),
        "range": good.replace("90", "9000"),
        "check": good.replace("SF-500", "sf-500"),
        "key_conflict": good.replace("SF-500", "SF-001"),
        "endpoint": '{"edge":"Directed","from":"nobody","to":"SF-001"}',
        "cardinality": '{"edge":"SequelOf","from":"SF-002","to":"DR-001"}',
    }
    data = tmp_path / "late.jsonl"
    for reason, line in breaks.items():
        data.write_text(line + "\n", "utf-8")
        refused = place.run("load", graph, "--data", str(data), "--mode", "append", "--json")
        assert refused.exit_code == 3, (reason, refused.stdout)
        details = json.loads(refused.stdout)["error"]["details"]
        assert reason in details["counts"], (reason, details)
        assert details["problems"][0]["line"] == 1, reason
    assert place.done("export", graph) == before
    assert len(place.document("commit", "list", graph)["commits"]) == 2
    data.write_text(good + "\n", "utf-8")
    place.done("load", graph, "--data", str(data), "--mode", "append")
    assert len(place.done("export", graph).splitlines()) == len(before.splitlines()) + 1


def test_mutations_in_several_processes_lose_nothing(tmp_path: Path):
    place = Place(str(tmp_path / "shop.omni"), {}, {})
    schema = tmp_path / "schema.pg"
    schema.write_text("node Item { key: String @key  seller: String }  edge Next: Item -> Item", "utf-8")
    place.done("init", "--schema", str(schema), place.uri)
    first = 'query first() { insert Item { key: "item", seller: "nobody" } }'
    place.done("mutate", place.uri, "-e", first)

    # Each adds an item and an edge to it, and puts its name on the one that all of them want.
    change = """
    query sell($key: String, $seller: String) {
        insert Item { key: $key, seller: $seller }
        insert Next { from: "item", to: $key }
        update Item set { seller: $seller } where key = "item"
    }
    """
    words = [OMNIGRAPH, "mutate", place.uri, "-e", change, "--on-conflict", "retry", "--json"]
    writers = [
        subprocess.Popen(
            [*words, "--params", json.dumps({"key": f"item {number}", "seller": f"seller {number}"})],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for number in range(WRITERS)
    ]
    with ThreadPoolExecutor(WRITERS) as threads:
        ends = list(threads.map(lambda writer: writer.communicate(timeout=120), writers))
    assert [each.returncode for each in writers] == [0] * WRITERS, ends
    printed = [json.loads(out) for out, _ in ends]
    assert all((each["affected_nodes"], each["affected_edges"]) == (2, 1) for each in printed)
    commits = place.document("commit", "list", place.uri)["commits"]
    assert sorted(each["id"] for each in commits[:WRITERS]) == sorted(each["commit"]["id"] for each in printed)
    assert [each["parent_id"] for each in commits] == [each["id"] for each in commits[1:]] + [None]
    with og.open(place.uri, mode="r") as graph:
        sellers = {row["key"]: row["seller"] for row in graph.table("Item")}
        assert sorted(row["dst"] for row in graph.table("Next")) == [f"item {number}" for number in range(WRITERS)]
    # The last one in the history has the last word.
    last = next(number for number, each in enumerate(printed) if each["commit"]["id"] == commits[0]["id"])
    assert sellers.pop("item") == f"seller {last}"
    assert sellers == {f"item {number}": f"seller {number}" for number in range(WRITERS)}


def test_writers_in_several_processes_lose_nothing(tmp_path: Path):
    place = Place(str(tmp_path / "busy.omni"), {}, {})
    schema = tmp_path / "schema.pg"
    schema.write_text("node Item { key: String @key }", "utf-8")
    place.done("init", "--schema", str(schema), place.uri)

    # Processes of their own, which start together.
    words = [OMNIGRAPH, "load", place.uri, "--data", "-", "--mode", "append"]
    writers = [
        subprocess.Popen(
            [*words, "--as", f"writer {number}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for number in range(WRITERS)
    ]
    records = [json.dumps({"type": "Item", "data": {"key": f"item {number}"}}) for number in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as threads:
        ends = list(threads.map(lambda writer, record: writer.communicate(record.encode(), 120), writers, records))
    assert [each.returncode for each in writers] == [0] * WRITERS, ends
    commits = place.document("commit", "list", place.uri)["commits"]
    assert sorted(each["actor"] for each in commits if each["actor"]) == [
        f"writer {number}" for number in range(WRITERS)
    ]
    # One line of history: each commit has the one below it as its parent.
    assert [each["parent_id"] for each in commits] == [each["id"] for each in commits[1:]] + [None]
    exported = [json.loads(line)["data"]["key"] for line in place.done("export", place.uri).splitlines()]
    assert exported == [f"item {number}" for number in range(WRITERS)]


def stamped(graph: str, stamp: int) -> None:
    """Give a graph the stamp of another release, as no command can."""
    main = json.loads((Path(graph) / "_refs/branches/main.json").read_text())
    manifest = lance.dataset(f"{graph}/__manifest/{main['physical']}")
    metadata = {key.decode(): value.decode() for key, value in (manifest.schema.metadata or {}).items()}
    assert metadata[STAMP_KEY]
    manifest.update_schema_metadata(metadata | {STAMP_KEY: str(stamp)}, replace=True)


def test_a_graph_of_an_older_format_is_refused_exported_and_rebuilt(tmp_path: Path):
    place = Place(str(tmp_path / "old.omni"), {}, {})
    place.done("init", "--schema", str(FILMS / "schema.pg"), place.uri)
    place.done("load", place.uri, "--data", str(FILMS / "seed.jsonl"), "--mode", "append")
    exported = place.done("export", place.uri)

    for stamp in (STAMP - 1, STAMP + 1):
        stamped(place.uri, stamp)
        for words in (["export"], ["snapshot"], ["load", "--data", str(FILMS / "update.jsonl"), "--mode", "merge"]):
            refused = place.run(words[0], place.uri, *words[1:], "--json")
            error = json.loads(refused.stdout)["error"]
            assert (refused.exit_code, error["kind"]) == (1, "format")
            assert ("omnigraph export" in error["help"]) == (stamp < STAMP)

    # The release that wrote it still reads it.
    stamped(place.uri, STAMP)
    assert place.done("export", place.uri) == exported
    data = tmp_path / "films.jsonl"
    data.write_bytes(exported)
    new = str(tmp_path / "new.omni")
    place.done("init", "--schema", f"{place.uri}/_schema.pg", new)
    place.done("load", new, "--data", str(data), "--mode", "overwrite")
    assert place.done("export", new) == exported
