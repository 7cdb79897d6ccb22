"""``omnigraph load`` of records that leave vectors out: they are made, or the message says who did not make them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from omnigraph_cli.main import cli

SCHEMA = "node Film { code: String @key  plot: String  plotVec: Vector(4) @embed(plot) }"
FILMS = '\n{"type":"Film","data":{"code":"a","plot":"two bakers"}}\n'


@pytest.fixture(autouse=True)
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("PROVIDER", "MODEL", "BASE_URL"):
        monkeypatch.delenv(f"OMNIGRAPH_EMBED_{name}", raising=False)
    monkeypatch.delenv("OMNIGRAPH_EMBEDDINGS_MOCK", raising=False)
    Path("films.pg").write_text(SCHEMA, "utf-8")
    Path("films.jsonl").write_text(FILMS, "utf-8")
    made = CliRunner().invoke(cli, ["init", "--schema", "films.pg", "g.omni"])
    assert made.exit_code == 0, made.output


def run(*words: str, **environment: str) -> Result:
    return CliRunner().invoke(cli, list(words), env=environment)


def load(*words: str, **environment: str) -> Result:
    return run("load", "g.omni", "--data", "films.jsonl", "--mode", "append", *words, **environment)


def error_of(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)["error"]
    return found


def test_a_film_is_loaded_with_the_vector_of_its_plot() -> None:
    assert load(OMNIGRAPH_EMBED_PROVIDER="mock").exit_code == 0
    (line,) = run("export", "g.omni").stdout.splitlines()
    assert len(json.loads(line)["data"]["plotVec"]) == 4


def test_a_vector_that_nobody_makes_is_told_with_file_and_line() -> None:
    result = load("--json")
    assert result.exit_code == 3
    (problem,) = error_of(result)["details"]["problems"]
    assert (problem["source"], problem["line"], problem["property"]) == ("films.jsonl", 2, "plotVec")
    assert "set OMNIGRAPH_EMBED_PROVIDER" in load().stderr
    assert run("export", "g.omni").stdout == ""


def test_an_embedder_that_fails_says_what_it_was_asked_for() -> None:
    broken = {
        "OMNIGRAPH_EMBED_PROVIDER": "openai",
        "OMNIGRAPH_EMBED_BASE_URL": "http://127.0.0.1:9",
        "OMNIGRAPH_EMBED_RETRY_ATTEMPTS": "1",
        "OPENAI_API_KEY": "sk-hush",
    }
    result = load(**broken)
    assert result.exit_code == 1
    assert "Film.plotVec was to be made from 'plot'. Nothing was written." in result.stderr
    found = error_of(load("--json", **broken))
    assert (found["kind"], found["details"]["provider"]) == ("embedding", "openai")
    assert "sk-hush" not in str(found)
    assert run("export", "g.omni").stdout == ""
