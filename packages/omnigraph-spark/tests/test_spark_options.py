"""The options of the format: found whatever their case, checked before a graph is asked, and all documented."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from omnigraph.errors import BackendNotInstalledError, InvalidInputError
from omnigraph_spark.options import OPTIONS, SourceOptions, parse_options


def parse(**given: str) -> SourceOptions:
    return parse_options({"uri": "graph.omni", **given})


def test_names_are_found_in_the_lower_case_that_spark_hands_over():
    given = parse_options({"uri": "g", "nodetype": "Film", "ROWSPERPARTITION": "10"})
    assert given.type_name == "node:Film"
    assert given.get("rowsPerPartition") == 10


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("columns", "id, title ,year", ("id", "title", "year")),
        ("columns", '["a, b", "c"]', ("a, b", "c")),
        ("partitions", " 7 ", 7),
        ("pushDown", "TRUE", True),
        ("pushDown", "off", False),
    ],
)
def test_a_text_means_what_its_option_says(name: str, text: str, value: Any):
    assert parse(type="Film", **{name: text}).get(name) == value


def test_values_for_a_query_are_json():
    assert parse(query="query q", params='{"since": 1990, "name": null}').get("params") == {"since": 1990, "name": None}


@pytest.mark.parametrize(
    ("given", "type_name"), [("type", "Film"), ("nodeType", "node:Film"), ("edgeType", "edge:Film")]
)
def test_a_type_is_named_as_the_front_door_takes_it(given: str, type_name: str):
    assert parse(**{given: "Film"}).type_name == type_name
    assert parse(query="q").type_name is None


def test_path_is_where_the_graph_is_when_uri_is_not_given():
    assert parse_options({"path": "s3://bucket/g", "type": "Film"}).uri == "s3://bucket/g"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"colums": "id"}, 'no option "colums".* Did you mean "columns"\\? Known options: uri, path, type'),
        ({"xyzzy": "1"}, 'no option "xyzzy" of format\\("omnigraph"\\)\\. Known'),
        ({"path": "other"}, '"uri" and "path" exclude each other'),
        ({"type": "A", "nodeType": "A"}, '"type" and "nodeType" exclude each other'),
        ({"edgeType": "A", "query": "q"}, '"edgeType" and "query" exclude each other'),
        ({"branch": "a", "commit": "b"}, '"branch" and "commit" exclude each other'),
        ({"commit": "a", "tag": "b"}, '"commit" and "tag" exclude each other'),
        ({"type": "A", "partitions": "2", "rowsPerPartition": "3"}, '"partitions" and "rowsPerPartition" exclude'),
        ({"columns": "id"}, '"columns" means nothing without "type" or "nodeType" or "edgeType"'),
        ({"query": "q", "columns": "id"}, '"columns" means nothing without "type"'),
        ({"type": "A", "params": "{}"}, '"params" means nothing without "query"'),
        ({"type": "A", "queryName": "q"}, '"queryName" means nothing without "query"'),
        ({"type": " "}, '"type" expects a text that is not empty'),
        ({"type": "A", "partitions": "0"}, "\"partitions\" expects an integer from 1, got '0'"),
        ({"type": "A", "partitions": "two"}, '"partitions" expects an integer'),
        ({"type": "A", "pushDown": "maybe"}, '"pushDown" expects true or false'),
        ({"type": "A", "columns": "a,,b"}, '"columns" expects names, separated by commas'),
        ({"type": "A", "columns": "[1]"}, '"columns" expects a JSON list of text'),
        ({"type": "A", "columns": "[a"}, '"columns" expects JSON'),
        ({"type": "A", "where": "{}"}, '"where" expects a JSON list of conditions'),
        ({"query": "q", "where": "[]"}, '"where" means nothing without "type"'),
        ({"query": "q", "params": "[]"}, '"params" expects a JSON object'),
        ({"query": "q", "params": "{"}, '"params" expects JSON'),
    ],
    ids=lambda each: ",".join(each) if isinstance(each, dict) else "",
)
def test_what_is_wrong_is_told_with_the_way_out(given: dict[str, str], message: str):
    with pytest.raises(InvalidInputError, match=message) as caught:
        parse(**given)
    assert caught.value.help
    assert caught.value.details["option"] in given


def test_a_graph_has_to_be_named():
    with pytest.raises(InvalidInputError, match=r'Which graph is meant.*\.option\("uri"'):
        parse_options({"type": "Film"})


def test_a_place_that_nothing_serves_is_told_at_once():
    with pytest.raises(BackendNotInstalledError, match="omnigraph-storage-gs"):
        parse_options({"uri": "gs://bucket/g", "type": "Film"})


def test_an_option_of_another_verb_is_told():
    given = parse(commit="01K")
    assert given.can_be("read")
    assert not given.can_be("write")
    given.check("read")
    with pytest.raises(InvalidInputError, match='"commit" is for read, not for write'):
        given.check("write")


def test_storage_options_get_the_names_of_their_backend_and_are_not_shown():
    given = parse_options(
        {"uri": "s3://b/g", "storage.access_key_id": "AK", "storage.SECRET_access_key": "hush", "Storage.Unknown": "x"}
    )
    assert given.storage == {"access_key_id": "AK", "secret_access_key": "hush", "Unknown": "x"}
    assert "hush" not in repr(given)
    assert pickle.loads(pickle.dumps(given)) == given


def test_credentials_in_a_uri_are_refused_and_not_said_back():
    with pytest.raises(InvalidInputError) as caught:
        parse_options({"uri": "s3://key:hush@bucket/g", "type": "Film"})
    assert "hush" not in str(caught.value)


def test_every_option_is_spelled_in_camel_case_and_explained():
    for each in OPTIONS:
        assert each.name[0].islower(), each
        assert each.name.isalpha(), each
        assert each.help, each
    assert len({each.name.lower() for each in OPTIONS}) == len(OPTIONS)
