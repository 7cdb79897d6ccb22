"""From a URI to an open adapter, or to the error that says what to install, repair or remove."""

from __future__ import annotations

import pickle
import secrets
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from omnigraph.config import Settings
from omnigraph.errors import (
    BackendConflictError,
    BackendFailedToLoadError,
    BackendNotInstalledError,
    InvalidInputError,
    ReadOnlyError,
    StorageCondition,
    StorageError,
)
from omnigraph.plugins import Candidate, LoadedPlugins, find_backend, hookimpl, load_plugins, open_adapter
from omnigraph.storage import ObjectKey, StorageBackend, StorageOption, StorageUri, parse_uri
from omnigraph.storage.memory import MemoryAdapter

MEMORY = "omnigraph.storage.memory:MemoryAdapter"


class Watched(MemoryAdapter):
    """An adapter that says what was done to it; its class attributes make it misbehave."""

    events: ClassVar[list[str]] = []
    is_honest = True
    lance_obstacle: Exception | None = None
    cannot_open: Exception | None = None

    def __init__(self, root: StorageUri, options: Any = None) -> None:
        if self.cannot_open is not None:
            raise self.cannot_open
        super().__init__(root, options)
        self.events.append("opened")

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        self.events.append("create")
        return super()._write_if_absent(key, data) or not self.is_honest

    def check_lance_commits(self) -> None:
        self.events.append("lance checked")
        if self.lance_obstacle is not None:
            raise self.lance_obstacle

    def close(self) -> None:
        self.events.append("closed")


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> type[Watched]:
    """``Watched`` as ``acme_watched:Watched``, with no events yet."""
    home = types.ModuleType("acme_watched")
    home.Watched = Watched  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "acme_watched", home)
    monkeypatch.setattr(Watched, "events", [])
    return Watched


def plugin(
    name: str,
    *schemes: str,
    adapter: str = MEMORY,
    distribution: str | None = None,
    error: Exception | None = None,
    options: tuple[StorageOption, ...] = (),
) -> Candidate:
    @hookimpl
    def omnigraph_storage_backends() -> Iterator[StorageBackend]:
        yield StorageBackend(
            name=name,
            schemes=schemes or (name,),
            adapter=adapter,
            lance_scheme="memory",
            spi_version=1,
            options=options,
        )

    home = types.ModuleType(f"acme_{name}")
    home.omnigraph_storage_backends = omnigraph_storage_backends  # type: ignore[attr-defined]

    def load() -> types.ModuleType:
        if error is not None:
            raise error
        return home

    return Candidate(name=name, distribution=distribution or f"omnigraph-storage-{name}", version="1.2", load=load)


def plugins(*candidates: Candidate, disabled: str = "") -> LoadedPlugins:
    return load_plugins(candidates, settings=Settings.from_environment({"OMNIGRAPH_DISABLE_PLUGINS": disabled}))


def somewhere(scheme: str = "watched") -> str:
    return f"{scheme}://{secrets.token_hex(8)}/graph"


# ── the right backend ────────────────────────────────────────────────────────────────────────────────────────────


def test_each_scheme_leads_to_its_backend() -> None:
    loaded = plugins(plugin("local", "file"), plugin("gs", "gs", "gcs"))
    for uri, name in (
        ("memory://h", "memory"),
        ("gs://b/g", "gs"),
        ("GCS://b/g", "gs"),
        ("/a/b", "local"),
        ("graph.omni", "local"),
        ("file:///a", "local"),
    ):
        info, backend = find_backend(parse_uri(uri), loaded)
        assert (info.name, backend.name) == (name, name)


def test_opening_gives_an_adapter_at_the_canonical_root() -> None:
    adapter = open_adapter("memory://scratch/a//b/../c/", plugins=plugins())
    assert isinstance(adapter, MemoryAdapter)
    assert str(adapter.root) == "memory://scratch/a/c"


def test_a_path_object_opens_the_local_backend(tmp_path: Path) -> None:
    adapter = open_adapter(tmp_path / "with space", mode="r", plugins=plugins(plugin("local", "file")))
    assert str(adapter.root) == str(tmp_path / "with space")


def test_without_given_plugins_those_that_are_installed_are_used() -> None:
    assert isinstance(open_adapter(somewhere("memory")), MemoryAdapter)


def test_options_reach_the_backend_and_wrong_ones_are_refused() -> None:
    with pytest.raises(InvalidInputError, match='no storage option "region"'):
        open_adapter("memory://scratch", options={"region": "eu"}, plugins=plugins())


def test_an_adapter_tells_what_it_was_given_from_what_the_environment_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    options = (
        StorageOption(name="region", help="where", environment=("ACME_REGION",)),
        StorageOption(name="token", help="who", environment=("ACME_TOKEN",), is_secret=True),
    )
    monkeypatch.setenv("ACME_TOKEN", "hush")
    adapter = open_adapter(
        somewhere("acme"), options={"region": "eu"}, plugins=plugins(plugin("acme", options=options))
    )
    for each in (adapter, pickle.loads(pickle.dumps(adapter))):
        assert dict(each.options) == {"region": "eu", "token": "hush"}
        assert dict(each.explicit_options) == {"region": "eu"}
        assert "eu" not in repr(each.explicit_options)


def test_a_malformed_uri_is_refused_before_any_plugin_is_asked() -> None:
    with pytest.raises(InvalidInputError, match="empty"):
        open_adapter("", plugins=LoadedPlugins(()))


# ── what opening for writing costs and checks ────────────────────────────────────────────────────────────────────


def test_opening_to_write_probes_the_endpoint_once_and_asks_about_lance_each_time(watched: type[Watched]) -> None:
    loaded, uri = plugins(plugin("watched", adapter="acme_watched:Watched")), somewhere()
    open_adapter(uri, plugins=loaded)
    assert watched.events == ["opened", "create", "create", "lance checked"]
    watched.events.clear()
    open_adapter(uri + "/other", plugins=loaded)
    assert watched.events == ["opened", "lance checked"]


def test_opening_to_read_writes_nothing(watched: type[Watched]) -> None:
    open_adapter(somewhere(), mode="r", plugins=plugins(plugin("watched", adapter="acme_watched:Watched")))
    assert watched.events == ["opened"]


def test_a_store_that_lies_is_refused_and_the_adapter_closed(
    watched: type[Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "is_honest", False)
    with pytest.raises(StorageError, match="does not honour create-if-absent") as caught:
        open_adapter(somewhere(), plugins=plugins(plugin("watched", adapter="acme_watched:Watched")))
    assert caught.value.condition is StorageCondition.CONFIGURATION
    assert watched.events == ["opened", "create", "create", "closed"]


def test_a_place_where_lance_cannot_commit_is_refused_and_the_adapter_closed(
    watched: type[Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    obstacle = StorageError("No links here.", condition=StorageCondition.CONFIGURATION)
    monkeypatch.setattr(watched, "lance_obstacle", obstacle)
    with pytest.raises(StorageError) as caught:
        open_adapter(somewhere(), plugins=plugins(plugin("watched", adapter="acme_watched:Watched")))
    assert caught.value is obstacle
    assert watched.events[-1] == "closed"


# ── no backend ───────────────────────────────────────────────────────────────────────────────────────────────────


def refusal(uri: str, loaded: LoadedPlugins) -> StorageError:
    with pytest.raises(StorageError) as caught:
        open_adapter(uri, plugins=loaded)
    assert caught.value.condition is StorageCondition.CONFIGURATION
    return caught.value


def test_an_unknown_scheme_says_what_to_install_and_what_there_is() -> None:
    error = refusal("gs://bucket/graph", plugins(plugin("local", "file"), plugin("az", "az", "abfss")))
    assert isinstance(error, BackendNotInstalledError)
    assert str(error) == (
        'No storage backend for "gs://bucket/graph". Install it: pip install omnigraph-storage-gs. '
        "Installed: abfss, az, file, memory. See: omnigraph plugins"
    )
    assert error.uri == "gs://bucket/graph"


def test_a_path_without_the_local_backend_says_what_to_install() -> None:
    error = refusal("/data/graph", plugins())
    assert isinstance(error, BackendNotInstalledError)
    assert "pip install omnigraph-storage-local. Installed: memory." in str(error)


def test_credentials_in_a_uri_of_an_unknown_scheme_are_not_said_back() -> None:
    with pytest.raises(InvalidInputError) as caught:
        open_adapter("gs://key:hush@bucket/graph", plugins=plugins())
    assert "hush" not in f"{caught.value} {caught.value.to_dict()}"


@pytest.mark.parametrize(
    ("uri", "broken"),
    [
        ("gs://bucket/graph", plugin("gs", error=ImportError("libgs.so is gone"))),
        ("gs://bucket/graph", plugin("gs", distribution="acme-google", error=ImportError("libgs.so is gone"))),
        ("/data/graph", plugin("local", error=ImportError("libgs.so is gone"))),
    ],
)
def test_a_plugin_that_should_serve_the_scheme_and_failed_is_named_with_its_cause(uri: str, broken: Candidate) -> None:
    error = refusal(uri, plugins(broken))
    assert isinstance(error, BackendFailedToLoadError)
    assert f"{broken.name} ({broken.distribution} 1.2)" in error.message
    assert error.message.endswith("could not be loaded: ImportError: libgs.so is gone.")
    assert error.plugin == broken.name
    assert f"pip install --force-reinstall {broken.distribution}" in str(error.help)
    assert isinstance(error.__cause__, ImportError)


def test_a_plugin_for_another_version_of_the_interface_is_named_with_both_versions() -> None:
    @hookimpl
    def omnigraph_storage_backends() -> Iterator[StorageBackend]:
        yield StorageBackend(name="gs", schemes=("gs",), adapter=MEMORY, lance_scheme="gs", spi_version=7)

    home = types.SimpleNamespace(omnigraph_storage_backends=omnigraph_storage_backends)
    old = Candidate(name="gs", distribution="omnigraph-storage-gs", version="1.2", load=lambda: home)
    error = refusal("gs://bucket/graph", plugins(old))
    assert isinstance(error, BackendFailedToLoadError)
    assert "storage interface 7; this omnigraph-core has 1" in error.message
    assert "Upgrade omnigraph-storage-gs or omnigraph-core." in str(error)
    assert "reinstall" not in str(error)


def test_a_plugin_that_should_serve_the_scheme_and_is_disabled_is_named() -> None:
    for disabled in ("gs", "*"):
        error = refusal("gs://bucket/graph", plugins(plugin("gs"), disabled=disabled))
        assert isinstance(error, BackendNotInstalledError)
        assert "gs (omnigraph-storage-gs 1.2) is disabled" in str(error)
        assert "OMNIGRAPH_DISABLE_PLUGINS" in str(error)
        assert "pip install" not in str(error)


def test_a_plugin_that_is_well_and_serves_another_scheme_is_not_called_disabled() -> None:
    error = refusal("gs://bucket/graph", plugins(plugin("gs", "gcs")))
    assert isinstance(error, BackendNotInstalledError)
    assert "disabled" not in str(error)
    assert "Installed: gcs, memory." in str(error)


def test_a_broken_plugin_of_another_name_is_mentioned_and_not_blamed() -> None:
    error = refusal("gs://bucket/graph", plugins(plugin("az", error=ImportError("gone"))))
    assert isinstance(error, BackendNotInstalledError)
    assert "Install it: pip install omnigraph-storage-gs." in str(error)
    assert "Installed and broken: az (omnigraph-storage-az 1.2)." in str(error)


# ── too many backends ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "rival", [plugin("google", "gs", distribution="acme-google"), plugin("gs", "gcs", distribution="acme-google")]
)
def test_a_scheme_or_a_backend_name_that_two_plugins_claim_names_both(rival: Candidate) -> None:
    error = refusal("gs://bucket/graph", plugins(plugin("gs"), rival))
    assert isinstance(error, BackendConflictError)
    assert error.providers == ("gs (omnigraph-storage-gs 1.2)", f"{rival.name} (acme-google 1.2)")
    for provider in error.providers:
        assert provider in error.message
    assert "OMNIGRAPH_DISABLE_PLUGINS" in str(error.help)


def test_a_conflict_elsewhere_does_not_stop_a_backend_that_is_well() -> None:
    loaded = plugins(plugin("gs"), plugin("google", "gs"), plugin("az"))
    assert find_backend(parse_uri("az://c/g"), loaded)[1].name == "az"


def test_disabling_one_of_two_rivals_settles_the_conflict() -> None:
    loaded = plugins(plugin("gs"), plugin("google", "gs"), disabled="google")
    assert find_backend(parse_uri("gs://b/g"), loaded)[0].name == "gs"


# ── an adapter that cannot be had ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("source", "adapter", "says"),
    [
        (None, "acme_broken_gone:Gs", "ModuleNotFoundError: No module named 'acme_broken_gone'"),
        ("import acme_no_such_sdk", "acme_broken_sdk:Gs", "ModuleNotFoundError: No module named 'acme_no_such_sdk'"),
        ("Other = 1", "acme_broken_name:Gs", "AttributeError: module 'acme_broken_name' has no attribute 'Gs'"),
        ("1 / 0", "acme_broken_code:Gs", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "acme_broken_exit:Gs", "SystemExit: 3"),
    ],
)
def test_an_adapter_that_cannot_be_imported_names_the_plugin_and_keeps_the_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, adapter: str, says: str
) -> None:
    if source is not None:
        (tmp_path / f"{adapter.partition(':')[0]}.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    try:
        error = refusal(somewhere("gs"), plugins(plugin("gs", adapter=adapter)))
    finally:
        sys.modules.pop(adapter.partition(":")[0], None)
    assert isinstance(error, BackendFailedToLoadError)
    assert error.plugin == "gs"
    assert "gs (omnigraph-storage-gs 1.2)" in error.message
    assert error.message.endswith(f"could not be opened: {says}.")
    assert error.__cause__ is not None


def test_an_interrupt_by_the_user_while_an_adapter_is_imported_passes_untouched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme_interrupted.py").write_text("raise KeyboardInterrupt")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        open_adapter(somewhere("gs"), plugins=plugins(plugin("gs", adapter="acme_interrupted:Gs")))


def test_an_adapter_that_misses_a_library_only_when_opened_names_the_plugin_too(
    watched: type[Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watched, "cannot_open", ModuleNotFoundError("No module named 's3fs'"))
    error = refusal(somewhere(), plugins(plugin("watched", adapter="acme_watched:Watched")))
    assert isinstance(error, BackendFailedToLoadError)
    assert "s3fs" in error.message


def test_what_an_adapter_says_about_its_root_passes_untouched(
    watched: type[Watched], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = StorageError("No such bucket.", condition=StorageCondition.CONFIGURATION)
    monkeypatch.setattr(watched, "cannot_open", refused)
    assert refusal(somewhere(), plugins(plugin("watched", adapter="acme_watched:Watched"))) is refused


def test_opening_for_reading_refuses_every_change_and_an_unknown_mode_is_refused():
    reader = open_adapter("memory://opened-for-reading", mode="r")
    with pytest.raises(ReadOnlyError, match="was opened for reading"):
        reader.write(reader.key("a"), b"1")
    with pytest.raises(InvalidInputError, match="There is no mode 'a'"):
        open_adapter("memory://opened-for-reading", mode="a")  # type: ignore[arg-type]


def test_a_scheme_that_is_nearly_an_installed_one_is_recognised():
    with pytest.raises(BackendNotInstalledError, match="Did you mean memory://"):
        open_adapter("memroy://x")


class RefusesToBeMade(MemoryAdapter):
    def __init__(self, *arguments: Any) -> None:
        raise ZeroDivisionError("made wrongly")


def make_nothing(*arguments: Any) -> None:
    return None


@pytest.mark.parametrize(
    ("factory", "says"),
    [
        (RefusesToBeMade, "ZeroDivisionError: made wrongly"),
        (make_nothing, "it made a NoneType and not a StorageAdapter"),
    ],
)
def test_an_adapter_that_cannot_be_made_is_its_plugin_s_failure(
    monkeypatch: pytest.MonkeyPatch, factory: Any, says: str
) -> None:
    monkeypatch.setattr(StorageBackend, "import_adapter", lambda self: factory)
    with pytest.raises(BackendFailedToLoadError, match=says) as caught:
        open_adapter("memory://never-made")
    assert caught.value.plugin == "memory"


def test_what_a_broken_store_says_to_being_closed_does_not_hide_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(MemoryAdapter):
        def check_lance_commits(self) -> None:
            raise PermissionError("the reason")

        def close(self) -> None:
            raise RuntimeError("and this too")

    monkeypatch.setattr(StorageBackend, "import_adapter", lambda self: Broken)
    with pytest.raises(PermissionError, match="the reason"):
        open_adapter("memory://broken-twice")
