"""Whole files of both languages, with what the compiler must make of them beside them.

    film.pg        film.ast      the tree, with places            film.shape         the canonical schema
    reads.gq       reads.ast     the tree, with places            reads.plan         the plan of every query
    errors.gq      errors.diagnostics                             what a person is told

A query file names its schema on its first line: ``// schema: film.pg``. ``pytest --update-cases`` writes the expected
files anew; read the difference before you keep it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tree_text import tree_text

from omnigraph.errors import CompileError
from omnigraph.lang.decode import read_source
from omnigraph.lang.diagnostics import render
from omnigraph.lang.source import SourceText
from omnigraph.plan import explain, lower_query, optimize
from omnigraph.query import compile_queries, parse_queries
from omnigraph.schema import Catalog, compile_schema, parse_schema
from omnigraph.schema.shape import shape_of

HERE = Path(__file__).parent
SCHEMAS = sorted((HERE / "schema").glob("*.pg"))
QUERIES = sorted((HERE / "query").glob("*.gq"))
ENDINGS = {".pg", ".gq", ".ast", ".shape", ".plan", ".diagnostics"}


def source_of(path: Path) -> SourceText:
    # Messages name the file, not the directory that somebody has it in.
    return SourceText(path.name, read_source(path).text)


def refusal(error: CompileError) -> dict[str, str]:
    return {".diagnostics": render(error.diagnostics) + "\n"}


def schema_results(path: Path) -> dict[str, str]:
    source = source_of(path)
    try:
        catalog = compile_schema(source)
    except CompileError as error:
        return refusal(error)
    return {".ast": tree_text(parse_schema(source), source), ".shape": "".join(shape_lines(catalog))}


def shape_lines(catalog: Catalog) -> Iterator[str]:
    """The canonical JSON, a line per type and per property, so that a difference is one line too."""
    for kind, types in shape_of(catalog).items():
        for each in types:
            yield f"{kind} {json.dumps({**each, 'properties': len(each['properties'])}, ensure_ascii=False)}\n"
            yield from (f"    {json.dumps(prop, ensure_ascii=False)}\n" for prop in each["properties"])


def catalog_for(path: Path, text: str) -> Catalog:
    named = re.match(r"// schema: (\S+\.pg)\n", text)
    assert named, f"{path.name} must start with a line like: // schema: film.pg"
    return compile_schema(source_of(HERE / "schema" / named[1]))


def query_results(path: Path) -> dict[str, str]:
    source = source_of(path)
    catalog = catalog_for(path, source.text)
    try:
        queries = compile_queries(source, catalog)
    except CompileError as error:
        return refusal(error)
    plans = [explain(optimize(lower_query(each, catalog), catalog)).rstrip() + "\n" for each in queries]
    return {".ast": tree_text(parse_queries(source), source), ".plan": "\n".join(plans)}


@pytest.mark.parametrize("path", [*SCHEMAS, *QUERIES], ids=lambda path: path.name)
def test_the_compiler_makes_of_this_file_what_stands_beside_it(path: Path, request: pytest.FixtureRequest):
    results = (schema_results if path.suffix == ".pg" else query_results)(path)
    beside = {each.suffix for each in path.parent.glob(f"{path.stem}.*")} - {".pg", ".gq"}
    if request.config.getoption("--update-cases"):
        for ending in beside - set(results):
            path.with_suffix(ending).unlink()
        for ending, text in results.items():
            path.with_suffix(ending).write_text(text, "utf-8", newline="\n")
        return
    assert beside == set(results), "an expected file is missing, or one is left over"
    for ending, text in results.items():
        assert text == path.with_suffix(ending).read_text("utf-8")


def test_every_expected_file_belongs_to_a_case():
    files = [each for directory in ("schema", "query") for each in (HERE / directory).iterdir()]
    assert {each.suffix for each in files} == ENDINGS
    cases = {each.parent / each.stem for each in (*SCHEMAS, *QUERIES)}
    assert [each.name for each in files if each.parent / each.stem not in cases] == []


def test_files_whose_name_says_so_are_the_ones_that_are_refused():
    for path in (*SCHEMAS, *QUERIES):
        assert path.with_suffix(".diagnostics").exists() == path.name.startswith("errors_"), path.name
