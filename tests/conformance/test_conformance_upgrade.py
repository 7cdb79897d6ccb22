"""The recipe of docs/how-to/upgrade.md, end to end: refused, exported by the old release, rebuilt by the new."""

from __future__ import annotations

import pytest
from library import EVERYTHING, SCHEMA

from omnigraph.errors import AlreadyExistsError, FormatError
from omnigraph.history import log, snapshot, stamp


def release(patch: pytest.MonkeyPatch, number: int) -> None:
    """Be a release that reads and writes this format."""
    for module in (stamp, log, snapshot):
        patch.setattr(module, "STAMP", number)


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_an_older_graph_is_refused_and_can_be_rebuilt_by_following_the_message(
    root, mode: str, monkeypatch: pytest.MonkeyPatch
):
    release(monkeypatch, 1)
    root.init(SCHEMA, "old").load(EVERYTHING, mode="append")

    release(monkeypatch, 2)
    with pytest.raises(FormatError) as refused:
        root.open("old", mode=mode)
    assert refused.value.details["found"] == 1
    assert refused.value.details["expected"] == 2
    for step in ("omnigraph export", "omnigraph init", "--mode overwrite", "history and branches are not"):
        assert step in str(refused.value)
    with pytest.raises(AlreadyExistsError):
        root.init(SCHEMA, "old")

    release(monkeypatch, 1)
    with root.open("old", mode="r") as old:
        exported, schema = [*old.export()], old.schema.text

    release(monkeypatch, 2)
    new = root.init(schema, "new")
    new.load("\n".join(exported), mode="overwrite")
    assert [*new.export()] == exported
    assert [*root.open("new", mode="r").export()] == exported


@pytest.mark.parametrize("mode", ["r", "rw"])
def test_a_newer_graph_is_refused_with_the_advice_to_upgrade(root, mode: str, monkeypatch: pytest.MonkeyPatch):
    release(monkeypatch, 2)
    root.init(SCHEMA)
    release(monkeypatch, 1)
    with pytest.raises(FormatError, match="Upgrade OmniGraph"):
        root.open(mode=mode)
