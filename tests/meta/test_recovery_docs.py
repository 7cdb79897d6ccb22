"""The pages about recovery list what the code has: classes, decisions, fields, settings, and where failpoints are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import omnigraph as og
from omnigraph import config
from omnigraph.config import Settings
from omnigraph.failpoints import FAILPOINTS, PUBLISH_SIDECAR_WRITTEN
from omnigraph.history.recoveries import RecoveryKind
from omnigraph.plugins import open_adapter
from omnigraph.testing.faults import Call, armed
from omnigraph.write.plan import WriterKind
from omnigraph.write.recovery import settling, verdict

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "explanation" / "recovery.md"


def section(page: Path, heading: str) -> str:
    (found,) = re.findall(
        rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", page.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    return str(found)


def table(page: Path, heading: str) -> list[list[str]]:
    """The body rows of the table below a heading, as cells."""
    lines = [line for line in section(page, heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_what_is_found_is_told_in_the_order_of_the_code():
    assert [quoted(row[0])[0] for row in table(PAGE, "What is found")] == [str(each) for each, _ in verdict._CLASSES]


def test_what_is_decided_is_told_in_the_order_of_the_code_with_what_the_audit_says():
    listed = [(quoted(row[0])[0], quoted(row[3])) for row in table(PAGE, "What is decided")]
    kinds = {decision: [str(kind)] for decision, kind in settling._KINDS.items()}
    assert listed == [(str(each), kinds.get(each, [])) for each, _ in verdict._DECISIONS]
    assert {kind for _, named in listed for kind in named} == set(RecoveryKind)


def members(value: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """Names of what a sidecar holds, with dots; lists and what a commit carries along are told as one."""
    for name, each in value.items():
        if isinstance(each, dict) and name != "properties":
            yield from members(each, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def test_every_field_of_a_sidecar_is_explained():
    uri, seen = "memory://recovery-docs", list[dict[str, Any]]()
    with og.init(uri, schema="node Book { isbn: String @key }") as graph, open_adapter(uri) as store:

        def look(_: str) -> None:
            seen.extend(json.loads(store.read(key)) for key in store.list_dir(store.key("__recovery")))

        with armed({PUBLISH_SIDECAR_WRITTEN: Call(look)}):
            graph.load([{"type": "Book", "data": {"isbn": "b1"}}], "append")
    rows = {name: row[1] for row in table(PAGE, "The sidecar") for name in quoted(row[0])}
    assert sorted(rows) == sorted(members(seen[0]))
    assert set(quoted(rows["tables"])) == set(seen[0]["tables"][0])
    assert set(quoted(rows["read_set.pins"])) == set(seen[0]["read_set"]["pins"][0])
    assert set(quoted(rows["writer_kind"])) == set(WriterKind)


def test_every_failpoint_that_a_name_of_the_original_leads_to_is_there():
    rows = table(ROOT / "docs" / "reference" / "failpoints.md", "Names in the Rust original")
    for names, here in rows:
        same = quoted(names) if here.startswith("the same") else []
        led_to = [name for name in quoted(here) if re.fullmatch(r"\w+\.\w+", name)]
        assert set(same + led_to) <= set(FAILPOINTS), names
        if here.startswith(("none", "not yet")):
            assert set(quoted(names)).isdisjoint(FAILPOINTS), names
    named = {name for names, here in rows for name in quoted(names) + quoted(here)}
    assert {name for name in FAILPOINTS if name.startswith("recovery.")} <= named


def test_every_setting_is_listed_with_its_default():
    page = ROOT / "docs" / "reference" / "settings.md"
    listed = dict(re.findall(r"^\| `(OMNIGRAPH_\w+)` \| (.*?) \|", page.read_text("utf-8"), re.MULTILINE))
    variables = {value for value in vars(config).values() if isinstance(value, str) and value.startswith("OMNIGRAPH_")}
    assert set(listed) == variables
    assert float(listed[config.RECOVERY_PATIENCE]) == Settings().recovery_patience
    assert float(listed[config.WRITE_DEADLINE]) == Settings().write_deadline
    assert int(listed[config.CACHE_BYTES]) == Settings().cache_bytes
    assert int(listed[config.METADATA_CACHE_BYTES]) == Settings().metadata_cache_bytes
    assert int(listed[config.INDEX_CACHE_BYTES]) == Settings().index_cache_bytes


def test_what_recovery_leaves_on_disk_is_drawn():
    drawn = (ROOT / "docs" / "explanation" / "storage-model.md").read_text("utf-8")
    for name in (
        "_graph_commit_recoveries/",
        "__recovery/<id>.json",
        "__recovery/<id>.withdrawn.json",
        "__quarantine/",
    ):
        assert f"── {name}" in drawn, name
