"""``omnigraph plugins``: everything that is installed, with what is wrong about it in plain sight."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from importlib import metadata
from typing import Any

from click.testing import CliRunner

from omnigraph_cli.main import cli

CORE = metadata.version("omnigraph-core")


def listed(stdout: str) -> dict[str, dict[str, Any]]:
    return {plugin["name"]: plugin for plugin in json.loads(stdout)["plugins"]}


def test_the_built_in_backend_is_listed_with_all_its_facts() -> None:
    result = CliRunner().invoke(cli, ["plugins", "--json"])
    assert result.exit_code == 0
    assert listed(result.stdout)["memory"] == {
        "name": "memory",
        "distribution": "omnigraph-core",
        "version": CORE,
        "status": "loaded",
        "reason": None,
        "backends": [
            {
                "name": "memory",
                "schemes": ["memory"],
                "capabilities": ["atomic_rename", "write_if_match"],
                "options": [],
            }
        ],
        "embedders": ["openai-compatible", "openai", "gemini", "mock"],
        "verbs": [],
    }


def test_the_text_lists_distribution_schemes_and_capabilities() -> None:
    result = CliRunner().invoke(cli, ["plugins"])
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    start = lines.index(f"✓ memory  omnigraph-core {CORE}  loaded")
    assert lines[start + 1 : start + 6] == [
        "    schemes       memory://",
        "    capabilities  atomic_rename, write_if_match",
        "    options       none",
        "    embedders     openai-compatible, openai, gemini, mock",
        "",
    ]


def test_plugins_are_sorted_by_name_however_they_were_found(omnigraph: Any, install: Callable[..., None]) -> None:
    for name in ("zebra", "ant", "lion"):
        install(name, "")
    names = [plugin["name"] for plugin in json.loads(omnigraph("plugins", "--json").stdout)["plugins"]]
    assert {"zebra", "ant", "lion", "memory"} <= set(names)
    assert names == sorted(names)


def test_a_backend_for_paths_says_that_plain_paths_work() -> None:
    assert "    schemes       file:// and plain paths\n" in CliRunner().invoke(cli, ["plugins"]).stdout


def test_a_disabled_name_that_no_plugin_has_is_noted(omnigraph: Any, install: Callable[..., None]) -> None:
    install("mine", "")
    notes = [
        'OMNIGRAPH_DISABLE_PLUGINS: "memory" is built in and cannot be disabled.',
        'OMNIGRAPH_DISABLE_PLUGINS: no plugin is called "mien". Did you mean "mine"?',
        'OMNIGRAPH_DISABLE_PLUGINS: no plugin is called "zzz".',
    ]
    text = omnigraph("plugins", OMNIGRAPH_DISABLE_PLUGINS="mien,zzz,memory")
    assert text.returncode == 0
    assert text.stdout.splitlines()[-3:] == [f"note: {note}" for note in notes]
    document = omnigraph("plugins", "--json", OMNIGRAPH_DISABLE_PLUGINS="mien,zzz,memory")
    assert json.loads(document.stdout)["notes"] == notes
    for fine in ("mine", "*", ""):
        assert json.loads(omnigraph("plugins", "--json", OMNIGRAPH_DISABLE_PLUGINS=fine).stdout)["notes"] == []


def test_a_broken_plugin_is_listed_with_its_reason_and_the_others_still_work(
    omnigraph: Any, install: Callable[..., None]
) -> None:
    install("broken", "import a_module_that_nobody_has\n")
    text = omnigraph("plugins", OMNIGRAPH_DISABLE_PLUGINS="local,s3")
    assert text.returncode == 0
    assert "✗ broken  omnigraph-storage-broken 1.2.3  failed" in text.stdout
    assert "reason        ModuleNotFoundError: No module named 'a_module_that_nobody_has'" in text.stdout
    assert "✓ memory" in text.stdout
    assert re.search(r"^.*1 failed, \d+ loaded", text.stdout, re.MULTILINE)
    document = omnigraph("plugins", "--json")
    assert document.returncode == 0
    plugins = listed(document.stdout)
    assert plugins["broken"]["status"] == "failed"
    assert "a_module_that_nobody_has" in plugins["broken"]["reason"]
    assert plugins["broken"]["backends"] == []
    assert plugins["memory"]["status"] == "loaded"


def test_two_plugins_that_claim_one_scheme_are_both_marked_as_in_conflict(
    omnigraph: Any, install: Callable[..., None]
) -> None:
    for name in ("first", "second"):
        install(
            name,
            f"""
            from omnigraph.plugins import hookimpl
            from omnigraph.storage import StorageBackend

            @hookimpl
            def omnigraph_storage_backends():
                yield StorageBackend(
                    name="{name}", schemes=("both",), adapter="x:Y", lance_scheme="gs", spi_version=1
                )
            """,
        )
    text = omnigraph("plugins")
    assert text.returncode == 0
    assert "✗ first  omnigraph-storage-first 1.2.3  conflict" in text.stdout
    assert "✗ second  omnigraph-storage-second 1.2.3  conflict" in text.stdout
    assert 'The scheme "both://" is also claimed by second (omnigraph-storage-second 1.2.3).' in text.stdout


def test_a_disabled_plugin_is_listed_as_disabled(omnigraph: Any, install_vault: Callable[[str], None]) -> None:
    install_vault("pass")
    text = omnigraph("plugins", OMNIGRAPH_DISABLE_PLUGINS="vault")
    assert "- vault  omnigraph-storage-vault 1.2.3  disabled" in text.stdout
    assert "It is named in OMNIGRAPH_DISABLE_PLUGINS." in text.stdout


def test_options_are_listed_by_name_and_variable_and_never_by_value(
    omnigraph: Any, install_vault: Callable[[str], None]
) -> None:
    install_vault("pass")
    values = {"VAULT_TOKEN": "open-sesame", "VAULT_REGION": "over-the-hills"}
    text, document = omnigraph("plugins", **values), omnigraph("plugins", "--json", **values)
    vault = text.stdout[text.stdout.index("vault") :].splitlines()
    assert vault[3:7] == [
        "    options       region  Where it is.",
        "                          [VAULT_REGION]",
        "                  token   Opens it.",
        "                          [VAULT_TOKEN, secret]",
    ]
    assert listed(document.stdout)["vault"]["backends"][0]["options"] == [
        {"name": "region", "help": "Where it is.", "kind": "text", "environment": ["VAULT_REGION"], "is_secret": False},
        {"name": "token", "help": "Opens it.", "kind": "text", "environment": ["VAULT_TOKEN"], "is_secret": True},
    ]
    for shown in (text.stdout, text.stderr, document.stdout, document.stderr):
        assert "open-sesame" not in shown
        assert "over-the-hills" not in shown


def test_what_a_plugin_prints_while_it_loads_stays_out_of_the_results(
    omnigraph: Any, install: Callable[..., None]
) -> None:
    install("chatty", "print('hello from a plugin')\n")
    document = omnigraph("plugins", "--json")
    assert listed(document.stdout)["chatty"]["status"] == "loaded"
    assert document.stderr == "hello from a plugin\n"
