"""Rule 14.6 of the language reference, on every place: a vector that is left out is made, and a search finds it."""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from bulk_workers import write_films
from library import SCHEMA

import omnigraph as og

PLOTS = {
    "AA-1": "a keeper counts the ships that do not come",
    "AA-2": "two bakers and one oven",
    "AA-3": "the river and the old stone",
}
NEAREST = """query near($text: String) {
    match { $f: Film } return { $f.code } order { nearest($f.plotVec, $text) } limit 1
}"""


@pytest.fixture(autouse=True)
def mock_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", "mock")


def film(code: str, **data: object) -> dict[str, object]:
    return {"type": "Film", "data": {"code": code, "title": code, "genre": "docu", "added": 0, **data}}


def table() -> pa.Table:
    rows = [film(code, plot=plot)["data"] for code, plot in PLOTS.items()]
    return pa.Table.from_pylist(rows)


def find(graph: og.Graph, text: str) -> list[dict[str, object]]:
    return graph.query(NEAREST, params={"text": text}).rows()


@pytest.mark.parametrize("form", ["text", "records", "arrow"])
def test_a_loaded_film_is_found_by_its_plot(root, form: str):
    graph = root.init(SCHEMA)
    records = [film(code, plot=plot) for code, plot in PLOTS.items()]
    data = {"text": "\n".join(map(json.dumps, records)), "records": records, "arrow": {"Film": table()}}[form]
    graph.load([film("AA-9"), film("AA-8", plot="x", plotVec=None)], mode="append")
    graph.load(data, mode="append")
    for code, plot in PLOTS.items():
        assert find(graph, plot) == [{"f.code": code}]
    graph.maintain.ensure_indices()
    with root.open(mode="r") as reader:
        assert find(reader, PLOTS["AA-2"]) == [{"f.code": "AA-2"}]


def test_what_is_exported_comes_back_without_an_embedder(root, monkeypatch: pytest.MonkeyPatch):
    graph = root.init(SCHEMA)
    graph.load({"Film": table()}, mode="append")
    graph.load([film("AA-8", plot="x", plotVec=None)], mode="append")
    exported = [*graph.export()]
    for embedder in ("no-such", ""):
        monkeypatch.setenv("OMNIGRAPH_EMBED_PROVIDER", embedder)
        copy = root.init(SCHEMA, name=f"copy{embedder}")
        copy.load("\n".join(exported), mode="overwrite")
        assert [*copy.export()] == exported


def test_a_film_written_by_another_process_is_found_by_its_plot(tmp_path: Path):
    graph = og.init(tmp_path / "graph", schema=SCHEMA)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        receipt = pool.submit(write_films, graph.bulk(["Film"]), table()).result()
    graph.bulk_publish([receipt])
    assert find(graph, PLOTS["AA-3"]) == [{"f.code": "AA-3"}]
