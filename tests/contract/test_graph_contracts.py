"""Every installed backend carries whole graphs, and the page about that contract is complete.

The shipped backends run the graph contract in their own packages; the example plugin runs it here.
"""

from __future__ import annotations

import configparser
import inspect
import re
from pathlib import Path

import pytest

from omnigraph import testing
from omnigraph.plugins import find_backend, installed_plugins
from omnigraph.storage import parse_uri
from omnigraph.testing import GraphPlace, graph_contract, graph_contract_for
from omnigraph.testing.graph_contract import clauses

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "contract.md"

GRAPH_CONTRACT_OF = {
    "memory": "packages/omnigraph-core/tests/testing/test_memory_graph_contract.py",
    "local": "packages/omnigraph-storage-local/tests/test_local_graph_contract.py",
    "s3": "packages/omnigraph-storage-s3/tests/test_s3_graph_contract.py",
    "example": "tests/contract/test_graph_contracts.py",
}
"""Where the graph contract of each backend runs."""


@graph_contract_for(find_backend(parse_uri("example://graphs/graph"), installed_plugins())[1])
class TestExampleGraph:
    @pytest.fixture
    def place(self, tmp_path: Path) -> GraphPlace:
        return GraphPlace(uri="example://graphs/graph", options={"directory": str(tmp_path)})


def test_every_installed_backend_runs_the_graph_contract():
    assert {backend.name for _, backend in installed_plugins().backends()} == set(GRAPH_CONTRACT_OF)
    for name, file in GRAPH_CONTRACT_OF.items():
        assert "\n@graph_contract_for(" in (ROOT / file).read_text("utf-8"), name


@pytest.mark.parametrize("name", [each for each in graph_contract.__all__ if each.endswith("Contract")])
def test_every_clause_of_a_graph_contract_is_listed_and_no_other(name: str):
    section = PAGE.read_text("utf-8").partition(f"\n### `{name}`\n")[2].partition("\n### ")[0]
    listed = re.findall(r"^\| `(test\w+)` \| \S", section, re.MULTILINE)
    assert sorted(listed) == sorted(each for each in dir(getattr(testing, name)) if each.startswith("test"))


def test_the_sizes_of_the_graph_contract_are_those_of_the_code_and_of_tox():
    section = PAGE.read_text("utf-8").partition("\n## The graph contract\n")[2]
    rows = re.findall(r"^\| `(OMNI\w+)` \| (\d+) \| (\d+) \|", section, re.MULTILINE)
    listed = {name: (short, full) for name, short, full in rows}
    defaults = dict(re.findall(r'environ\.get\("(\w+)", "(\d+)"\)', inspect.getsource(clauses)))
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini", encoding="utf-8")
    full = dict(re.findall(r"(OMNIGRAPH_\w+) = (\d+)", tox["testenv:races"]["set_env"]))
    assert listed == {name: (default, full.get(name)) for name, default in defaults.items()}
