"""``omnigraph version``: the release and the storage interface, and nothing else."""

from __future__ import annotations

import json
from importlib import metadata

import pytest
from click.testing import CliRunner

from omnigraph.storage import SPI_VERSION
from omnigraph_cli.main import cli

RELEASE = metadata.version("omnigraph-core")


@pytest.mark.parametrize("words", [["version"], ["--version"], ["-v"]])
def test_the_version_is_two_lines_release_and_storage_interface(words: list[str]) -> None:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0
    assert result.stdout == f"omnigraph {RELEASE}\nstorage interface {SPI_VERSION}\n"
    assert result.stderr == ""


def test_the_version_as_json_has_the_same_two_facts() -> None:
    result = CliRunner().invoke(cli, ["version", "--json"])
    assert result.exit_code == 0
    assert json.loads(result.stdout) == {"release": RELEASE, "storage_interface": SPI_VERSION}
