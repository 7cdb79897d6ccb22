"""The steps of a migration: their JSON, the lines for people, and the registry of codes."""

from __future__ import annotations

import json

import pytest

from omnigraph.lang.codes import Code
from omnigraph.lang.types import Scalar, ValueType
from omnigraph.schema.catalog import Annotation, Index
from omnigraph.schema.steps import (
    TIERS,
    AddConstraint,
    AddProperty,
    AddType,
    DropMode,
    DropProperty,
    DropType,
    ExtendEnum,
    MigrationPlan,
    RemoveConstraint,
    RenameProperty,
    RenameType,
    UnsupportedChange,
    UpdatePropertyMetadata,
    UpdateTypeMetadata,
)

DESCRIBED = (Annotation(name="description", value="what it is"),)

# step, JSON with its fields in order, line
STEPS = {
    "add_type": (
        AddType(type_kind="node", name="X"),
        '{"kind": "add_type", "type_kind": "node", "name": "X"}',
        "add node type 'X'",
    ),
    "add_type of an edge": (
        AddType(type_kind="edge", name="X"),
        '{"kind": "add_type", "type_kind": "edge", "name": "X"}',
        "add edge type 'X'",
    ),
    "rename_type": (
        RenameType(type_kind="node", old="A", new="B"),
        '{"kind": "rename_type", "type_kind": "node", "from": "A", "to": "B"}',
        "rename node type 'A' -> 'B'",
    ),
    "add_property": (
        AddProperty(
            type_kind="node",
            type_name="X",
            property_name="p",
            property_type=ValueType(Scalar.STRING, is_nullable=True, is_list=True),
        ),
        (
            '{"kind": "add_property", "type_kind": "node", "type_name": "X", "property_name": "p", "property_type": '
            '{"scalar": "String", "nullable": true, "list": true, "enum_values": null}}'
        ),
        "add property 'X.p' ([String]?) on node 'X'",
    ),
    "add_property of an enum": (
        AddProperty(
            type_kind="edge",
            type_name="X",
            property_name="p",
            property_type=ValueType(Scalar.STRING, is_nullable=True, enum_values=("a", "b")),
        ),
        (
            '{"kind": "add_property", "type_kind": "edge", "type_name": "X", "property_name": "p", "property_type": '
            '{"scalar": "String", "nullable": true, "list": false, "enum_values": ["a", "b"]}}'
        ),
        "add property 'X.p' (enum(a, b)?) on edge 'X'",
    ),
    "add_property of a vector": (
        AddProperty(
            type_kind="node",
            type_name="X",
            property_name="p",
            property_type=ValueType(Scalar.VECTOR, is_nullable=True, dimension=3),
        ),
        (
            '{"kind": "add_property", "type_kind": "node", "type_name": "X", "property_name": "p", "property_type": '
            '{"scalar": {"Vector": 3}, "nullable": true, "list": false, "enum_values": null}}'
        ),
        "add property 'X.p' (Vector(3)?) on node 'X'",
    ),
    "rename_property": (
        RenameProperty(type_kind="node", type_name="X", old="a", new="b"),
        '{"kind": "rename_property", "type_kind": "node", "type_name": "X", "from": "a", "to": "b"}',
        "rename property 'X.a' -> 'X.b' on node 'X'",
    ),
    "add_constraint": (
        AddConstraint(type_kind="node", type_name="X", constraint=Index(columns=("a", "b"))),
        '{"kind": "add_constraint", "type_kind": "node", "type_name": "X", "constraint": {"Index": ["a", "b"]}}',
        "add constraint @index(a, b) on node 'X'",
    ),
    "remove_constraint": (
        RemoveConstraint(type_kind="edge", type_name="X", constraint=Index(columns=("src",))),
        '{"kind": "remove_constraint", "type_kind": "edge", "type_name": "X", "constraint": {"Index": ["src"]}}',
        "remove constraint @index(src) on edge 'X'",
    ),
    "extend_enum": (
        ExtendEnum(type_kind="node", type_name="X", property_name="p", added_values=("v", "w")),
        (
            '{"kind": "extend_enum", "type_kind": "node", "type_name": "X", "property_name": "p", '
            '"added_values": ["v", "w"]}'
        ),
        "extend enum 'X.p' (+v, +w) on node 'X'",
    ),
    "update_type_metadata": (
        UpdateTypeMetadata(type_kind="node", name="X", annotations=DESCRIBED),
        (
            '{"kind": "update_type_metadata", "type_kind": "node", "name": "X", '
            '"annotations": [{"name": "description", "value": "what it is"}]}'
        ),
        "update metadata on node 'X'",
    ),
    "update_property_metadata": (
        UpdatePropertyMetadata(type_kind="node", type_name="X", property_name="p", annotations=()),
        (
            '{"kind": "update_property_metadata", "type_kind": "node", "type_name": "X", "property_name": "p", '
            '"annotations": []}'
        ),
        "update metadata on property 'X.p' of node 'X'",
    ),
    "drop_type": (
        DropType(type_kind="node", name="X", mode=DropMode.SOFT),
        '{"kind": "drop_type", "type_kind": "node", "name": "X", "mode": "soft"}',
        "drop node type 'X' (soft mode)",
    ),
    "drop_type for good": (
        DropType(type_kind="edge", name="X", mode=DropMode.HARD),
        '{"kind": "drop_type", "type_kind": "edge", "name": "X", "mode": "hard"}',
        "drop edge type 'X' (hard mode)",
    ),
    "drop_property": (
        DropProperty(type_kind="node", type_name="X", property_name="p", mode=DropMode.SOFT),
        '{"kind": "drop_property", "type_kind": "node", "type_name": "X", "property_name": "p", "mode": "soft"}',
        "drop property 'X.p' of node 'X' (soft mode)",
    ),
    "unsupported_change": (
        UnsupportedChange(entity="node:X", reason="because"),
        '{"kind": "unsupported_change", "entity": "node:X", "reason": "because"}',
        "unsupported change on node:X: because",
    ),
    "unsupported_change with a code": (
        UnsupportedChange(entity="node:X.p", reason="because", code=Code.PROPERTY_TYPE_CHANGED),
        '{"kind": "unsupported_change", "entity": "node:X.p", "reason": "because", "code": "OG-MF-106"}',
        "unsupported change on node:X.p [OG-MF-106, destructive]: because",
    ),
    "unsupported_change that could be validated": (
        UnsupportedChange(entity="node:X.p", reason="because", code=Code.REQUIRED_PROPERTY_ADDED),
        '{"kind": "unsupported_change", "entity": "node:X.p", "reason": "because", "code": "OG-MF-103"}',
        "unsupported change on node:X.p [OG-MF-103, validated]: because",
    ),
}


@pytest.mark.parametrize("what", STEPS)
def test_the_json_of(what):
    step, text, _ = STEPS[what]
    assert json.dumps(step.to_dict()) == text


@pytest.mark.parametrize("what", STEPS)
def test_the_line_for(what):
    step, _, line = STEPS[what]
    assert step.render() == line


def test_the_message_of_a_refusal_has_its_code_in_front():
    coded = UnsupportedChange(entity="node:X.p", reason="because", code=Code.PROPERTY_TYPE_CHANGED)
    assert coded.message == "[OG-MF-106] because"
    assert UnsupportedChange(entity="node:X", reason="because").message == "because"


def test_a_plan_without_steps_says_so():
    plan = MigrationPlan()
    assert plan.supported
    assert plan.render() == "no schema changes"
    assert plan.to_dict() == {"supported": True, "steps": []}


def test_a_plan_is_a_header_and_a_line_for_each_step():
    plan = MigrationPlan((AddType(type_kind="node", name="X"), AddType(type_kind="edge", name="Y")))
    assert plan.supported
    assert plan.render() == "supported: yes\nadd node type 'X'\nadd edge type 'Y'"
    assert plan.to_dict() == {
        "supported": True,
        "steps": [
            {"kind": "add_type", "type_kind": "node", "name": "X"},
            {"kind": "add_type", "type_kind": "edge", "name": "Y"},
        ],
    }


def test_one_unsupported_change_makes_the_plan_unsupported():
    refusal = UnsupportedChange(entity="schema", reason="because")
    plan = MigrationPlan((AddType(type_kind="node", name="X"), refusal))
    assert not plan.supported
    assert plan.unsupported == (refusal,)
    assert plan.to_dict()["supported"] is False
    assert plan.render().splitlines()[0] == "supported: no"


def test_the_registry_has_every_code_of_a_schema_change_with_its_tier():
    assert {str(code): str(tier) for code, tier in TIERS.items()} == {
        "OG-DS-101": "destructive",
        "OG-DS-102": "destructive",
        "OG-DS-103": "destructive",
        "OG-DS-104": "destructive",
        "OG-DS-105": "destructive",
        "OG-MF-103": "validated",
        "OG-MF-104": "validated",
        "OG-MF-106": "destructive",
    }
    assert set(TIERS) == {code for code in Code if code.startswith(("OG-DS-", "OG-MF-"))}
