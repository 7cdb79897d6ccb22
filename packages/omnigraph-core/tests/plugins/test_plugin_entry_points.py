"""Plugins as installed: real entry points of real distributions, found through ``importlib.metadata``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from omnigraph.plugins import LoadedPlugins, PluginInfo, PluginStatus, installed_plugins, open_adapter

Install = Callable[..., None]

PLUGIN = """
from omnigraph.plugins import hookimpl
from omnigraph.storage import StorageBackend

@hookimpl
def omnigraph_storage_backends():
    yield StorageBackend(
        name="{name}", schemes=("{name}",), adapter="omnigraph.storage.memory:MemoryAdapter",
        lance_scheme="memory", spi_version=1,
    )
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Lays down a distribution with one plugin module, as an installer would, for the length of a test."""
    modules = set(sys.modules)
    monkeypatch.delenv("OMNIGRAPH_DISABLE_PLUGINS", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    installed_plugins.cache_clear()

    def lay_down(distribution: str, entry_point: str, source: str, metadata: str | None = None) -> None:
        module = f"{distribution.replace('-', '_')}_plugin"
        (tmp_path / f"{module}.py").write_text(source)
        info = tmp_path / f"{distribution.replace('-', '_')}-3.1.dist-info"
        info.mkdir()
        if metadata is None:
            metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 3.1\n"
        (info / "METADATA").write_text(metadata)
        (info / "entry_points.txt").write_text(f"[omnigraph]\n{entry_point} = {module}\n")

    yield lay_down
    for name in set(sys.modules) - modules:
        if name.startswith("acme"):
            del sys.modules[name]
    installed_plugins.cache_clear()


def infos(name: str, plugins: LoadedPlugins | None = None) -> list[PluginInfo]:
    return [info for info in (plugins or installed_plugins()).infos if info.name == name]


def test_an_installed_plugin_is_found_and_serves_its_scheme(install: Install) -> None:
    install("acme-store", "acme", PLUGIN.format(name="acme"))
    (info,) = infos("acme")
    assert (info.distribution, info.version, info.status) == ("acme-store", "3.1", PluginStatus.LOADED)
    with open_adapter("acme://bucket/graph") as adapter:
        adapter.write(adapter.key("a"), b"1")
        assert adapter.read(adapter.key("a")) == b"1"


def test_the_built_in_plugin_comes_before_every_installed_one(install: Install) -> None:
    install("acme-store", "acme", PLUGIN.format(name="acme"))
    assert installed_plugins().infos[0].name == "memory"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import acme_missing_sdk", "ModuleNotFoundError: No module named 'acme_missing_sdk'"),
        ("raise SystemExit('no licence')", "SystemExit: no licence"),
        ("def broken(:", "SyntaxError"),
    ],
)
def test_a_broken_installed_plugin_is_reported_and_the_others_load(install: Install, source: str, reason: str) -> None:
    install("acme-a-broken", "acme-broken", source)
    install("acme-store", "acme", PLUGIN.format(name="acme"))
    (broken,) = infos("acme-broken")
    assert broken.status is PluginStatus.FAILED
    assert str(broken.reason).startswith(reason)
    assert (broken.distribution, broken.version) == ("acme-a-broken", "3.1")
    assert infos("acme")[0].status is PluginStatus.LOADED
    assert infos("memory")[0].status is PluginStatus.LOADED


def test_one_entry_point_name_from_two_distributions_is_seen_twice(install: Install) -> None:
    install("acme-one", "acme", PLUGIN.format(name="acme"))
    install("acme-two", "acme", PLUGIN.format(name="acme"))
    found = infos("acme")
    assert {info.distribution for info in found} == {"acme-one", "acme-two"}
    assert {info.status for info in found} == {PluginStatus.CONFLICT}


def test_an_entry_point_of_a_damaged_distribution_is_still_found(install: Install) -> None:
    install("acme-store", "acme", PLUGIN.format(name="acme"), metadata="")
    (info,) = infos("acme")
    assert (info.distribution, info.version, info.status) == ("unknown", "unknown", PluginStatus.LOADED)


def test_entry_points_of_other_groups_are_left_alone(install: Install, tmp_path: Path) -> None:
    install("acme-store", "acme", "raise AssertionError('imported')")
    (tmp_path / "acme_store-3.1.dist-info" / "entry_points.txt").write_text(
        "[console_scripts]\nacme = acme_store_plugin\n"
    )
    assert infos("acme") == []


def test_plugins_are_loaded_once_per_process(install: Install) -> None:
    first = installed_plugins()
    install("acme-store", "acme", PLUGIN.format(name="acme"))
    assert installed_plugins() is first
    installed_plugins.cache_clear()
    assert infos("acme")[0].status is PluginStatus.LOADED


def test_the_environment_of_the_first_call_decides_what_is_disabled(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("acme-store", "acme", "raise AssertionError('imported')")
    monkeypatch.setenv("OMNIGRAPH_DISABLE_PLUGINS", "acme")
    assert infos("acme")[0].status is PluginStatus.DISABLED
    assert "acme_store_plugin" not in sys.modules
    monkeypatch.setenv("OMNIGRAPH_DISABLE_PLUGINS", "*")
    installed_plugins.cache_clear()
    assert [info.name for info in installed_plugins().infos if info.status is PluginStatus.LOADED] == ["memory"]
    monkeypatch.delenv("OMNIGRAPH_DISABLE_PLUGINS")
    installed_plugins.cache_clear()
    assert infos("acme")[0].status is PluginStatus.FAILED
