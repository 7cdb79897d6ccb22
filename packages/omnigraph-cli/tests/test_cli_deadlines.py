"""``--deadline`` ends a verb with the kind ``deadline`` and code 1; nothing is written, and more time is enough."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import omnigraph as og
from omnigraph_cli.main import cli

TEXT = "query q() { match { $f: Film } return { $f.code } }"
INSERT = 'query q() { insert Film { code: "z" } }'
VERBS = {
    "load": ["load", "{uri}", "--data", "{data}", "--mode", "append"],
    "query": ["query", "{uri}", "-e", TEXT],
    "mutate": ["mutate", "{uri}", "-e", INSERT],
    "export": ["export", "{uri}"],
    "diff": ["diff", "{uri}", "main", "review"],
    "changes poll": ["changes", "poll", "{uri}", "--start", "beginning"],
    "changes baseline": ["changes", "baseline", "{uri}"],
    "branch merge": ["branch", "merge", "{uri}", "review"],
    "ensure-indices": ["ensure-indices", "{uri}"],
    "copy": ["copy", "{uri}", "{uri}-copy"],
    "repair": ["repair", "{uri}", "--relocate"],
}


@pytest.fixture
def uri(tmp_path: Path) -> str:
    place = str(tmp_path / "films.omni")
    with og.init(place, schema="node Film { code: String @key  title: String? @index }") as g:
        g.load([{"type": "Film", "data": {"code": "a", "title": "A"}}], "append")
        g.branches.create("review")
        g.load([{"type": "Film", "data": {"code": "b"}}], "append", branch="review")
    return place


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_ends_at_its_deadline_and_works_with_more_time(verb: str, uri: str, tmp_path: Path):
    data = tmp_path / "data.jsonl"
    data.write_text('{"type": "Film", "data": {"code": "c"}}\n', "utf-8")
    words = [each.replace("{uri}", uri).replace("{data}", str(data)) for each in VERBS[verb]]
    with og.open(uri, mode="r") as g:
        before = g.commits.list()
    late = CliRunner().invoke(cli, [*words, "--deadline", "0", "--json"])
    assert late.exit_code == 1
    assert json.loads(late.stdout)["error"]["kind"] == "deadline"
    with og.open(uri, mode="r") as g:
        assert g.commits.list() == before
    assert CliRunner().invoke(cli, [*words, "--deadline", "3600"]).exit_code == 0


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("seconds", ["-1", "soon"])
def test_what_is_not_a_number_of_seconds_is_a_wrong_command_line(verb: str, seconds: str):
    done = CliRunner().invoke(cli, [*VERBS[verb], "--deadline", seconds])
    assert done.exit_code == 2
