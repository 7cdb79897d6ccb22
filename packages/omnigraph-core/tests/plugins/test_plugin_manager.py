"""The plugin loader: each plugin by itself, each failure by name, and the others still load."""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from omnigraph.config import Settings
from omnigraph.plugins import Candidate, LoadedPlugins, PluginInfo, PluginStatus, hookimpl, load_plugins
from omnigraph.storage import StorageBackend


def backend(name: str, *schemes: str, **facts: Any) -> StorageBackend:
    record: dict[str, Any] = {
        "name": name,
        "schemes": schemes or (name,),
        "adapter": "omnigraph.storage.memory:MemoryAdapter",
        "lance_scheme": "memory",
        "spi_version": 1,
    }
    return StorageBackend(**record | facts)


def module(**members: Any) -> types.ModuleType:
    made = types.ModuleType("acme_plugin")
    for name, member in members.items():
        setattr(made, name, member)
    return made


def offering(*records: Any) -> types.ModuleType:
    @hookimpl
    def omnigraph_storage_backends() -> Iterator[Any]:
        yield from records

    return module(omnigraph_storage_backends=omnigraph_storage_backends)


def candidate(name: str, load: Callable[[], Any] | types.ModuleType, distribution: str | None = None) -> Candidate:
    return Candidate(
        name=name,
        distribution=distribution or f"acme-{name}",
        version="1.2",
        load=load if callable(load) else lambda: load,
    )


def load(*candidates: Candidate, disabled: str = "") -> LoadedPlugins:
    return load_plugins(candidates, settings=Settings.from_environment({"OMNIGRAPH_DISABLE_PLUGINS": disabled}))


def info(plugins: LoadedPlugins, name: str) -> PluginInfo:
    (found,) = [each for each in plugins.infos if each.name == name]
    return found


BEFORE = candidate("before", offering(backend("before")))
AFTER = candidate("after", offering(backend("after")))


def load_between_good_ones(broken: Candidate) -> PluginInfo:
    """The verdict on one plugin, after seeing that those around it and the built-in one are well."""
    plugins = load(BEFORE, broken, AFTER)
    assert [each.name for each in plugins.infos] == ["memory", "before", broken.name, "after"]
    for name in ("memory", "before", "after"):
        assert info(plugins, name).status is PluginStatus.LOADED
        assert [each.name for each in info(plugins, name).backends] == [name]
    return info(plugins, broken.name)


# ── what is well ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_built_in_plugin_comes_first_through_the_same_door() -> None:
    (only,) = load().infos
    assert (only.name, only.distribution, only.status) == ("memory", "omnigraph-core", PluginStatus.LOADED)
    assert [each.schemes for each in only.backends] == [("memory",)]


def test_a_plugin_is_listed_with_distribution_version_backends_and_status() -> None:
    record = backend("gs", "gs", "gcs")
    assert info(load(candidate("gs", offering(record))), "gs") == PluginInfo(
        name="gs", distribution="acme-gs", version="1.2", status=PluginStatus.LOADED, backends=(record,)
    )


def test_a_plugin_may_offer_several_backends_or_none() -> None:
    plugins = load(candidate("two", offering(backend("one"), backend("other"))), candidate("none", module()))
    assert [each.name for each in info(plugins, "two").backends] == ["one", "other"]
    assert info(plugins, "none").backends == ()
    assert info(plugins, "none").status is PluginStatus.LOADED


def test_offered_backends_come_with_who_offers_them() -> None:
    plugins = load(BEFORE, AFTER)
    assert [(who.name, what.name) for who, what in plugins.backends()] == [
        ("memory", "memory"),
        ("before", "before"),
        ("after", "after"),
    ]


def test_a_provider_is_named_so_that_two_of_one_name_can_be_told_apart() -> None:
    assert info(load(BEFORE), "before").provider == "before (acme-before 1.2)"


# ── what is broken, and leaves the others well ───────────────────────────────────────────────────────────────────


class NotAnException(BaseException):
    """As the panic of a compiled module."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ModuleNotFoundError("No module named 'acme_sdk'"), "ModuleNotFoundError: No module named 'acme_sdk'"),
        (ImportError("libacme.so: cannot open"), "ImportError: libacme.so: cannot open"),
        (SyntaxError("invalid syntax"), "SyntaxError: invalid syntax"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (SystemExit(3), "SystemExit: 3"),
        (NotAnException("panicked"), "NotAnException: panicked"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_whatever_an_import_raises_is_that_plugins_failure(error: BaseException, reason: str) -> None:
    def broken() -> None:
        raise error

    verdict = load_between_good_ones(candidate("broken", broken))
    assert verdict.status is PluginStatus.FAILED
    assert verdict.reason == reason
    assert verdict.error is error
    assert verdict.backends == ()


def test_an_interrupt_by_the_user_is_no_fault_of_a_plugin() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load(candidate("interrupted", interrupted))


def test_a_hook_that_does_not_exist_is_named() -> None:
    @hookimpl
    def omnigraph_storage_backend() -> None: ...

    verdict = load_between_good_ones(candidate("typo", module(omnigraph_storage_backend=omnigraph_storage_backend)))
    assert verdict.status is PluginStatus.FAILED
    assert "unknown hook 'omnigraph_storage_backend'" in str(verdict.reason)


def test_a_hook_with_arguments_that_the_specification_does_not_have_is_refused() -> None:
    @hookimpl
    def omnigraph_storage_backends(registry: object) -> None: ...

    verdict = load_between_good_ones(candidate("args", module(omnigraph_storage_backends=omnigraph_storage_backends)))
    assert verdict.status is PluginStatus.FAILED
    assert "registry" in str(verdict.reason)


def test_a_plugin_with_two_faults_leaves_nothing_behind_for_the_next() -> None:
    @hookimpl
    def omnigraph_a_wrong_name() -> None: ...

    @hookimpl
    def omnigraph_storage_backends(registry: object) -> None: ...

    both = module(omnigraph_a_wrong_name=omnigraph_a_wrong_name, omnigraph_storage_backends=omnigraph_storage_backends)
    assert load_between_good_ones(candidate("both", both)).status is PluginStatus.FAILED


@pytest.mark.parametrize("stranger", [None, "gs", {"name": "gs"}, StorageBackend])
def test_a_hook_that_yields_something_else_than_a_record_is_refused(stranger: object) -> None:
    verdict = load_between_good_ones(candidate("stranger", offering(backend("gs"), stranger)))
    assert verdict.status is PluginStatus.FAILED
    assert verdict.reason == (
        f"TypeError: omnigraph_storage_backends yielded a {type(stranger).__name__}, not a StorageBackend"
    )
    assert verdict.backends == ()


def test_a_hook_that_yields_nothing_at_all_is_refused() -> None:
    @hookimpl
    def omnigraph_storage_backends() -> None:
        return None

    verdict = load_between_good_ones(candidate("none", module(omnigraph_storage_backends=omnigraph_storage_backends)))
    assert verdict.status is PluginStatus.FAILED


def test_a_record_that_is_declared_wrongly_is_refused_with_the_reason() -> None:
    @hookimpl
    def omnigraph_storage_backends() -> Iterator[StorageBackend]:
        yield backend("good")
        yield backend("ftp", lance_scheme="ftp")

    wrong = candidate("wrong", module(omnigraph_storage_backends=omnigraph_storage_backends))
    verdict = load_between_good_ones(wrong)
    assert verdict.status is PluginStatus.FAILED
    assert 'Lance cannot reach "ftp://"' in str(verdict.reason)
    assert verdict.backends == ()


@pytest.mark.parametrize("version", [0, 2])
def test_a_backend_for_another_version_of_the_interface_is_refused_by_name(version: int) -> None:
    old = candidate("old", offering(backend("good"), backend("gs", spi_version=version)))
    verdict = load_between_good_ones(old)
    assert verdict.status is PluginStatus.FAILED
    assert verdict.reason == (
        f'Its backend "gs" was written for storage interface {version}; this omnigraph-core has 1. '
        "Upgrade acme-old or omnigraph-core."
    )
    assert verdict.backends == ()


@pytest.mark.parametrize(
    ("records", "claim"),
    [
        ((backend("gs", "gs"), backend("gs", "gcs")), 'the backend name "gs"'),
        ((backend("gs", "gs"), backend("gcs", "gs")), 'the scheme "gs://"'),
    ],
)
def test_a_plugin_whose_own_backends_claim_the_same_is_refused(records: tuple[StorageBackend, ...], claim: str) -> None:
    verdict = load_between_good_ones(candidate("twice", offering(*records)))
    assert verdict.status is PluginStatus.FAILED
    assert claim in str(verdict.reason)


# ── who is in whose way ──────────────────────────────────────────────────────────────────────────────────────────


def test_two_plugins_that_claim_one_scheme_are_in_conflict_and_each_names_the_other() -> None:
    plugins = load(
        candidate("gs", offering(backend("gs", "gs"))), candidate("google", offering(backend("google", "gs"))), AFTER
    )
    assert info(plugins, "gs").status is PluginStatus.CONFLICT
    assert info(plugins, "gs").reason == 'The scheme "gs://" is also claimed by google (acme-google 1.2).'
    assert info(plugins, "google").status is PluginStatus.CONFLICT
    assert info(plugins, "google").reason == 'The scheme "gs://" is also claimed by gs (acme-gs 1.2).'
    assert info(plugins, "after").status is PluginStatus.LOADED


def test_two_plugins_that_claim_one_backend_name_are_in_conflict() -> None:
    plugins = load(candidate("one", offering(backend("gs", "gs"))), candidate("two", offering(backend("gs", "gcs"))))
    assert info(plugins, "one").reason == 'The backend name "gs" is also claimed by two (acme-two 1.2).'
    assert info(plugins, "two").status is PluginStatus.CONFLICT


def test_a_conflict_lists_every_rival_and_every_claim() -> None:
    plugins = load(*(candidate(name, offering(backend("gs"))) for name in ("a", "b", "c")))
    reason = str(info(plugins, "a").reason)
    for rival in ("b (acme-b 1.2)", "c (acme-c 1.2)"):
        assert f'backend name "gs" is also claimed by {rival}' in reason
        assert f'scheme "gs://" is also claimed by {rival}' in reason
    assert "a (acme-a 1.2)" not in reason


def test_one_entry_point_name_from_two_distributions_is_two_plugins() -> None:
    plugins = load(
        candidate("gs", offering(backend("gs")), distribution="acme-gs"),
        candidate("gs", offering(backend("gs")), distribution="rival-gs"),
    )
    first, second = [each for each in plugins.infos if each.name == "gs"]
    assert (first.status, second.status) == (PluginStatus.CONFLICT, PluginStatus.CONFLICT)
    assert "rival-gs" in str(first.reason)
    assert "acme-gs" in str(second.reason)


def test_one_entry_point_name_with_different_backends_is_no_conflict() -> None:
    plugins = load(
        candidate("storage", offering(backend("gs")), distribution="acme"),
        candidate("storage", offering(backend("az")), distribution="rival"),
    )
    assert {each.status for each in plugins.infos} == {PluginStatus.LOADED}


def test_one_module_under_two_entry_points_is_in_conflict_with_itself_and_says_so() -> None:
    shared = offering(backend("gs"))
    plugins = load(candidate("gs", shared), candidate("google", shared))
    assert "google (acme-google 1.2)" in str(info(plugins, "gs").reason)
    assert "gs (acme-gs 1.2)" in str(info(plugins, "google").reason)


def test_a_plugin_cannot_take_the_place_of_a_built_in_one_unnoticed() -> None:
    plugins = load(candidate("mine", offering(backend("mine", "memory"))))
    assert info(plugins, "memory").status is PluginStatus.CONFLICT
    assert "mine (acme-mine 1.2)" in str(info(plugins, "memory").reason)


def test_a_failed_or_disabled_plugin_is_in_nobodys_way() -> None:
    old = candidate("old", offering(backend("gs", spi_version=0)))
    good, off = candidate("good", offering(backend("gs"))), candidate("off", offering(backend("gs")))
    plugins = load(old, off, good, disabled="off")
    assert info(plugins, "good").status is PluginStatus.LOADED


# ── what is switched off ─────────────────────────────────────────────────────────────────────────────────────────


def exploding() -> None:
    raise AssertionError("a disabled plugin was imported")


def test_a_disabled_plugin_is_listed_and_not_even_imported() -> None:
    plugins = load(BEFORE, candidate("off", exploding), AFTER, disabled="off")
    verdict = info(plugins, "off")
    assert verdict.status is PluginStatus.DISABLED
    assert "OMNIGRAPH_DISABLE_PLUGINS" in str(verdict.reason)
    assert verdict.backends == ()
    assert {each.status for each in plugins.infos if each.name != "off"} == {PluginStatus.LOADED}


def test_a_star_disables_every_plugin_that_is_not_built_in() -> None:
    plugins = load(candidate("one", exploding), candidate("two", exploding), disabled="*")
    assert [each.status for each in plugins.infos] == [
        PluginStatus.LOADED,
        PluginStatus.DISABLED,
        PluginStatus.DISABLED,
    ]


def test_a_built_in_plugin_stays_also_when_it_is_named() -> None:
    assert info(load(disabled="memory,*"), "memory").status is PluginStatus.LOADED


def test_disabling_goes_by_the_whole_name() -> None:
    assert info(load(BEFORE, disabled="bef,before2,acme-before"), "before").status is PluginStatus.LOADED


def test_plugin_facts_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        load().infos[0].status = PluginStatus.FAILED  # type: ignore[misc]


def test_the_statuses_are_words_for_programs() -> None:
    assert [str(each) for each in PluginStatus] == ["loaded", "disabled", "failed", "conflict"]


def test_loading_leaves_no_module_behind() -> None:
    load(BEFORE)
    assert "acme_plugin" not in sys.modules
