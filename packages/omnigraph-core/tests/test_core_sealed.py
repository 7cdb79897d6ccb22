"""Sealing: the interpreter refuses a subclass that lives outside the package ``omnigraph``."""

from __future__ import annotations

from typing import Any

import pytest

from omnigraph._sealed import Sealed


def declare(name: str, bases: tuple[type, ...], *, module: str, **keywords: Any) -> type:
    return type(name, bases, {"__module__": module}, **keywords)


@pytest.mark.parametrize("module", ["omnigraph", "omnigraph.tables.interface"])
def test_the_package_itself_may_subclass(module: str) -> None:
    inside = declare("Inside", (Sealed,), module=module)
    assert issubclass(declare("Deeper", (inside,), module=module), Sealed)


@pytest.mark.parametrize(
    "module", ["omnigraph_storage_s3.adapter", "omnigraphx", "acme.omnigraph", "__main__", "omnigraph_spark"]
)
def test_any_other_package_is_refused_even_with_a_name_that_begins_alike(module: str) -> None:
    with pytest.raises(TypeError):
        declare("Outside", (Sealed,), module=module)


def test_the_refusal_names_both_classes_the_rule_and_the_open_interface() -> None:
    inside = declare("TableThing", (Sealed,), module="omnigraph.tables.interface")
    with pytest.raises(TypeError) as caught:
        declare("Mine", (dict, inside), module="acme.tables")
    assert str(caught.value) == (
        "acme.tables.Mine may not subclass omnigraph.tables.interface.TableThing: it is sealed to the package "
        '"omnigraph". Storage backends subclass omnigraph.storage.StorageAdapter instead.'
    )


def test_a_subclass_of_an_inside_subclass_is_refused_too() -> None:
    inside = declare("Inside", (Sealed,), module="omnigraph.tables")
    deeper = declare("Deeper", (inside,), module="omnigraph.tables")
    with pytest.raises(TypeError, match=r"omnigraph\.tables\.Deeper"):
        declare("Outside", (deeper,), module="acme")


def test_class_keywords_reach_the_next_class_in_line() -> None:
    seen = []

    class Listening:
        def __init_subclass__(cls, *, flavour: str, **kwargs: Any) -> None:
            seen.append(flavour)
            super().__init_subclass__(**kwargs)

    declare("Inside", (Sealed, Listening), module="omnigraph.tables", flavour="sweet")
    assert seen == ["sweet"]
