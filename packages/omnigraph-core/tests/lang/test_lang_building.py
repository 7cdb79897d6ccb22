"""What ``constructor_of`` makes cannot be told from what the class itself makes."""

from __future__ import annotations

import pickle
from copy import copy
from dataclasses import FrozenInstanceError, fields, is_dataclass

import pytest

from omnigraph.lang.building import constructor_of
from omnigraph.lang.source import Name, Span
from omnigraph.query import ast

NODES = [each for each in vars(ast).values() if is_dataclass(each) and each is not ast.ValueType]


@pytest.mark.parametrize("cls", NODES, ids=lambda each: each.__name__)
def test_a_made_object_is_like_one_of_its_class(cls: type):
    values = tuple(f"value {number}" for number, _ in enumerate(fields(cls)))
    made, ordinary = constructor_of(cls)(*values), cls(*values)
    assert type(made) is cls
    assert made == ordinary
    assert hash(made) == hash(ordinary)
    assert repr(made) == repr(ordinary)
    assert copy(made) == ordinary
    assert pickle.loads(pickle.dumps(made)) == ordinary


def test_a_made_object_is_frozen():
    made = constructor_of(Name)("a", Span(0, 1))
    with pytest.raises(FrozenInstanceError):
        made.text = "b"
    with pytest.raises(FrozenInstanceError):
        del made.text


def test_every_field_must_be_given():
    with pytest.raises(TypeError):
        constructor_of(Name)("a")
