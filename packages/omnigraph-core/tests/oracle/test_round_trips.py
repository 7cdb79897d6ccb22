"""What is printed reads back as what it was: whole trees of both languages, in every form that the grammars allow."""

from __future__ import annotations

import os
from random import Random

import pytest
from hypothesis import given, settings
from language_oracle import accepts, query_oracle, schema_oracle
from language_programs import query_files, schemas
from sentences import joined, maker_of
from tree_text import tree_text

from omnigraph.errors import CompileError
from omnigraph.lang.source import SourceText
from omnigraph.query.parser import parse_queries
from omnigraph.query.printer import print_queries
from omnigraph.schema.parser import parse_schema
from omnigraph.schema.printer import print_schema

FULL = "OMNIGRAPH_FUZZ_INPUTS" in os.environ
TREES = settings(max_examples=2000 if FULL else 40, deadline=None, derandomize=True)


@TREES
@given(schemas)
def test_a_printed_schema_reads_back_as_itself(schema):
    text = print_schema(schema)
    again = parse_schema(SourceText.of(text))
    assert tree_text(again) == tree_text(schema), text
    assert again == schema
    assert print_schema(again) == text
    assert accepts(schema_oracle(), text)


@TREES
@given(query_files)
def test_a_printed_query_file_reads_back_as_itself(file):
    text = print_queries(file)
    again = parse_queries(SourceText.of(text))
    assert tree_text(again) == tree_text(file), text
    assert again == file
    assert print_queries(again) == text
    assert accepts(query_oracle(), text)


@pytest.mark.parametrize(
    ("oracle", "parse", "printed"),
    [(schema_oracle, parse_schema, print_schema), (query_oracle, parse_queries, print_queries)],
    ids=["schema", "query"],
)
def test_printing_what_was_read_changes_nothing(oracle, parse, printed):
    random = Random(3)
    maker = maker_of(oracle())
    compared = 0
    for _ in range(4000 if FULL else 300):
        text = joined(maker.tokens(random), random)
        try:
            tree = parse(SourceText.of(text))
        except CompileError:
            continue
        again = printed(tree)
        assert accepts(oracle(), again), again
        assert tree_text(parse(SourceText.of(again))) == tree_text(tree), again
        compared += 1
    assert compared > 100


def test_a_tree_as_text_tells_one_from_one_point_zero_and_from_true():
    texts = {tree_text(parse_schema(SourceText.of(f"node A @x({each}) {{ }}"))) for each in ("1", "1.0", "true")}
    assert len(texts) == 3
