"""Migration planning on random schemas: a plan is empty when nothing changed, and its steps account for all that did.

The edits are made to a plain model of a schema, written out as text with the rename hints that belong to it. A second
model, of what applying means, makes the steps of a plan on the accepted shape and must arrive at the desired one.
"""

from __future__ import annotations

import copy
from itertools import count

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from omnigraph.lang.diagnostics import Report
from omnigraph.lang.source import SourceText
from omnigraph.schema import compile_schema
from omnigraph.schema.diff import plan_migration
from omnigraph.schema.identity import assign_identities, resolve_identities
from omnigraph.schema.ir import ir_from_json, ir_to_json
from omnigraph.schema.shape import compact_json, shape_of

DOMAIN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
TYPES = ["I32?", "String", "String?", "[F64]?", "enum(x, y)", "enum(x, y, z)?", "Vector(2)?", "Date"]
MARKS = ["@index", "@unique", '@description("one")', '@description("two")', "@note(1)"]

# ── schemas ──


def new_property(type_text: str, marks=(), name: str | None = None):
    """``was`` is the name that it had in the accepted schema, None when it is new."""
    return {"type": type_text, "marks": sorted(marks), "was": name}


def new_type(properties=None, name: str | None = None, **more):
    return {"properties": properties or {}, "body": [], "marks": [], "was": name, **more}


@st.composite
def schemas(draw):
    def properties(names):
        chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=3))
        return {name: draw(typed(name)) for name in chosen}

    def typed(name):
        plain = st.sampled_from(["I32?", "String", "enum(x, y)", "Date", "F64?"])
        marks = st.lists(st.sampled_from(["@index", '@description("one")']), unique=True, max_size=1)
        return st.builds(lambda each, its: new_property(each, its, name), plain, marks)

    interfaces = {
        name: new_type(properties(["i1", "i2"]), name)
        for name in draw(st.lists(st.sampled_from(["If", "Ig"]), unique=True))
    }
    nodes = {}
    for name in ["A", *draw(st.lists(st.sampled_from(["B", "C"]), unique=True))]:
        implements = draw(st.lists(st.sampled_from(sorted(interfaces)), unique=True, max_size=1)) if interfaces else []
        nodes[name] = new_type(properties(["p", "q", "r"]), name, implements=implements)
        if draw(st.booleans()):
            nodes[name]["properties"]["s"] = new_property("String", name="s")
            nodes[name]["properties"]["v"] = new_property("Vector(2)?", name="v") | {"embed": "s"}
            nodes[name]["body"] = draw(st.sampled_from([[], [("index", ["s"])], [("unique", ["s"])], [("key", ["s"])]]))
    edges = {
        name: new_type(properties(["w", "x"]), name, ends=draw(st.tuples(*[st.sampled_from(sorted(nodes))] * 2)))
        for name in draw(st.lists(st.sampled_from(["E", "F"]), unique=True))
    }
    return {"interface": interfaces, "node": nodes, "edge": edges}


def written(schema) -> str:
    """The schema as text, with a hint on everything that has another name than it had."""
    parts = []
    for kind in ("interface", "node", "edge"):
        for name, each in schema[kind].items():
            header = f"{kind} {name}"
            if kind == "edge":
                header += f": {each['ends'][0]} -> {each['ends'][1]}"
            header += "".join(f" {mark}" for mark in each["marks"]) + hint(name, each)
            if each.get("implements"):
                header += f" implements {', '.join(each['implements'])}"
            body = [
                f"  {prop}: {facts['type']}{''.join(f' {mark}' for mark in facts['marks'])}"
                + (f' @embed("{facts["embed"]}")' if "embed" in facts else "")
                + hint(prop, facts)
                for prop, facts in each["properties"].items()
            ]
            body += [f"  @{constraint}({', '.join(columns)})" for constraint, columns in each["body"]]
            parts.append("\n".join([f"{header} {{", *body, "}"]))
    return "\n".join(parts)


def hint(name, facts) -> str:
    return f' @rename_from("{facts["was"]}")' if facts["was"] not in (None, name) else ""


# ── edits ──


class Editor:
    """Makes one change after the other to a schema."""

    def __init__(self, schema, draw):
        self.schema = copy.deepcopy(schema)
        self.draw = draw
        self.numbers = count()

    def pick(self, choices):
        return self.draw(st.sampled_from(sorted(choices)))

    def owner(self, kinds=("interface", "node", "edge")):
        owners = [(kind, name) for kind in kinds for name in self.schema[kind]]
        assume(owners)
        return self.pick(owners)

    def prop(self):
        all_of_them = [
            (kind, name, prop)
            for kind in ("interface", "node", "edge")
            for name, each in self.schema[kind].items()
            for prop in each["properties"]
        ]
        assume(all_of_them)
        return self.pick(all_of_them)

    def add_type(self):
        kind = self.pick(["interface", "node", "edge"])
        name = f"T{next(self.numbers)}"
        properties = {"k": new_property("String", ["@unique"])}
        if kind == "interface":
            self.schema[kind][name] = new_type(properties)
        elif kind == "node":
            self.schema[kind][name] = new_type(properties, implements=[])
        else:
            self.schema[kind][name] = new_type(
                properties, ends=("A" if "A" in self.schema["node"] else self.node(),) * 2
            )

    def node(self):
        return self.pick(self.schema["node"])

    def rename_type(self):
        kind, name = self.owner(("node", "edge"))
        new = f"T{next(self.numbers)}"
        self.schema[kind] = {new if each == name else each: facts for each, facts in self.schema[kind].items()}
        if kind == "node":
            for edge in self.schema["edge"].values():
                edge["ends"] = tuple(new if each == name else each for each in edge["ends"])

    def drop_type(self):
        kind, name = self.owner()
        if kind == "node":
            assume(len(self.schema["node"]) > 1)
            self.schema["edge"] = {n: e for n, e in self.schema["edge"].items() if name not in e["ends"]}
        if kind == "interface":
            for node in self.schema["node"].values():
                node["implements"] = [each for each in node["implements"] if each != name]
        del self.schema[kind][name]

    def add_property(self):
        kind, name = self.owner()
        facts = new_property(self.pick(TYPES), [])
        if self.draw(st.booleans()) and not facts["type"].startswith("["):
            facts["marks"] = ["@index"]
        self.schema[kind][name]["properties"][f"n{next(self.numbers)}"] = facts

    def rename_property(self):
        kind, name, prop = self.prop()
        new = f"n{next(self.numbers)}"
        changed = [self.schema[kind][name]]
        if kind == "interface":
            changed += [
                each
                for each in self.schema["node"].values()
                if name in each["implements"] and prop in each["properties"]
            ]
        for each in changed:
            each["properties"] = {new if own == prop else own: facts for own, facts in each["properties"].items()}
            each["body"] = [(word, [new if own == prop else own for own in columns]) for word, columns in each["body"]]
            for facts in each["properties"].values():
                if facts.get("embed") == prop:
                    facts["embed"] = new

    def drop_property(self):
        kind, name, prop = self.prop()
        each = self.schema[kind][name]
        del each["properties"][prop]
        each["body"] = [(word, columns) for word, columns in each["body"] if prop not in columns]
        for facts in each["properties"].values():
            if facts.get("embed") == prop:
                del facts["embed"]

    def change_type(self):
        kind, name, prop = self.prop()
        facts = self.schema[kind][name]["properties"][prop]
        assume("embed" not in facts)
        facts["type"] = self.pick(TYPES)

    def extend_enum(self):
        enums = [
            facts
            for kind in ("interface", "node", "edge")
            for each in self.schema[kind].values()
            for facts in each["properties"].values()
            if facts["type"].startswith("enum(")
        ]
        assume(enums)
        facts = enums[self.draw(st.integers(0, len(enums) - 1))]
        facts["type"] = facts["type"].replace("enum(", f"enum(e{next(self.numbers)}, ")

    def mark_property(self):
        kind, name, prop = self.prop()
        facts = self.schema[kind][name]["properties"][prop]
        facts["marks"] = sorted({*facts["marks"]} ^ {self.pick(MARKS)})

    def mark_type(self):
        kind, name = self.owner(("node", "edge"))
        each = self.schema[kind][name]
        each["marks"] = sorted({*each["marks"]} ^ {self.pick(['@description("a")', '@instruction("b")', "@note(2)"])})

    def constrain(self):
        kind, name = self.owner(("node", "edge"))
        each = self.schema[kind][name]
        columns = self.draw(st.lists(st.sampled_from(sorted(each["properties"])), unique=True, max_size=2)
                            if each["properties"] else st.just([]))  # fmt: skip
        if kind == "edge" and self.draw(st.booleans()):
            columns = [*columns, "src"]
        assume(columns)
        each["body"] = [*each["body"], (self.pick(["index", "index", "unique"]), columns)]

    def unconstrain(self):
        kind, name = self.owner(("node", "edge"))
        self.schema[kind][name]["body"] = self.schema[kind][name]["body"][1:]

    def change_ends(self):
        _, name = self.owner(("edge",))
        self.schema["edge"][name]["ends"] = (self.node(), self.node())


HARMLESS = ["add_type", "rename_type", "rename_property", "drop_property", "extend_enum", "mark_type", "add_property"]
EDITS = [*HARMLESS, *HARMLESS, "drop_type", "change_type", "mark_property", "constrain", "unconstrain", "change_ends"]


@st.composite
def histories(draw):
    before = draw(schemas())
    editor = Editor(before, draw)
    for edit in draw(st.lists(st.sampled_from(EDITS), min_size=1, max_size=4)):
        getattr(editor, edit)()
    return written(before), written(editor.schema)


# ── what the steps mean ──


def applied(shape, steps, desired):
    """The shape after the steps. What is new is taken from the desired shape, for a step says only that it is there."""
    shape = copy.deepcopy(shape)
    for step in steps:
        Applier(shape, desired).do(step)
    return canonical(shape)


class Applier:
    def __init__(self, shape, desired):
        self.shape = shape
        self.desired = desired

    def do(self, step):
        getattr(self, step["kind"])(
            **{name.replace("from", "old"): each for name, each in step.items() if name != "kind"}
        )

    def of(self, type_kind, name, shape=None):
        (found,) = [each for each in (shape or self.shape)[f"{type_kind}s"] if each["name"] == name]
        return found

    def prop(self, type_kind, type_name, name, shape=None):
        (found,) = [each for each in self.of(type_kind, type_name, shape)["properties"] if each["name"] == name]
        return found

    def add_type(self, type_kind, name):
        assert all(each["name"] != name for each in self.shape[f"{type_kind}s"])
        self.shape[f"{type_kind}s"].append(copy.deepcopy(self.of(type_kind, name, self.desired)))

    def rename_type(self, type_kind, old, to):
        self.of(type_kind, old)["name"] = to
        for edge in self.shape["edges"] if type_kind == "node" else []:
            edge["from_type"] = to if edge["from_type"] == old else edge["from_type"]
            edge["to_type"] = to if edge["to_type"] == old else edge["to_type"]

    def drop_type(self, type_kind, name, mode):
        assert mode == "soft"
        self.shape[f"{type_kind}s"].remove(self.of(type_kind, name))

    def add_property(self, type_kind, type_name, property_name, property_type):
        properties = self.of(type_kind, type_name)["properties"]
        assert all(each["name"] != property_name for each in properties)
        new = copy.deepcopy(self.prop(type_kind, type_name, property_name, self.desired))
        assert new["prop_type"] == property_type
        assert property_type["nullable"]
        if type_kind == "interface":
            new["property_constraints"] = []
        properties.append(new)

    def rename_property(self, type_kind, type_name, old, to):
        self.prop(type_kind, type_name, old)["name"] = to
        each = self.of(type_kind, type_name)
        for prop in each["properties"]:
            if prop["embed_source"] and prop["embed_source"]["property_name"] == old:
                prop["embed_source"]["property_name"] = to
        for columns in columns_of(each):
            columns[:] = [to if column == old else column for column in columns]
        if type_kind == "interface":
            for node in self.shape["nodes"]:
                for prop in node["properties"]:
                    for link in prop["satisfies_interface_properties"]:
                        if link == {"owner_name": type_name, "property_name": old}:
                            link["property_name"] = to

    def drop_property(self, type_kind, type_name, property_name, mode):
        assert mode == "soft"
        each = self.of(type_kind, type_name)
        each["properties"].remove(self.prop(type_kind, type_name, property_name))
        if type_kind != "interface":
            each["constraints"] = [
                constraint
                for constraint in each["constraints"]
                if all(property_name not in columns for columns in constraint.values())
            ]

    def extend_enum(self, type_kind, type_name, property_name, added_values):
        values = self.prop(type_kind, type_name, property_name)["prop_type"]["enum_values"]
        assert not set(values) & set(added_values)
        values += added_values

    def update_type_metadata(self, type_kind, name, annotations):
        self.describe(self.of(type_kind, name), annotations)

    def update_property_metadata(self, type_kind, type_name, property_name, annotations):
        self.describe(self.prop(type_kind, type_name, property_name), annotations)

    def describe(self, each, annotations):
        kept = [one for one in each["annotations"] if one["name"] not in ("description", "instruction")]
        each["annotations"] = kept + annotations

    def add_constraint(self, type_kind, type_name, constraint):
        if type_kind == "interface":
            self.prop(type_kind, type_name, constraint["Index"][0])["property_constraints"].append("index")
        else:
            assert constraint not in self.of(type_kind, type_name)["constraints"]
            self.of(type_kind, type_name)["constraints"].append(constraint)

    def remove_constraint(self, type_kind, type_name, constraint):
        if type_kind == "interface":
            self.prop(type_kind, type_name, constraint["Index"][0])["property_constraints"].remove("index")
        else:
            each = self.of(type_kind, type_name)
            before = len(each["constraints"])
            each["constraints"] = [
                one for one in each["constraints"] if compact_json(_sorted(one)) != compact_json(constraint)
            ]
            assert len(each["constraints"]) == before - 1


def _sorted(constraint):
    return {kind: sorted(columns) for kind, columns in constraint.items()}


def columns_of(each):
    return [columns for constraint in each.get("constraints", []) for columns in constraint.values()]


def canonical(shape):
    """Sorted, and without the place where an index of a node or edge is written, which steps do not tell."""
    shape = copy.deepcopy(shape)
    for kind in ("interfaces", "nodes", "edges"):
        shape[kind].sort(key=lambda each: each["name"])
        for each in shape[kind]:
            each["properties"].sort(key=lambda prop: prop["name"])
            for columns in columns_of(each):
                columns.sort()
            for prop in each["properties"]:
                prop["annotations"].sort(key=compact_json)
                if prop["prop_type"]["enum_values"]:
                    prop["prop_type"]["enum_values"].sort()
                if kind != "interfaces":
                    prop["property_constraints"] = [one for one in prop["property_constraints"] if one != "index"]
            if kind != "interfaces":
                each["annotations"].sort(key=compact_json)
                each["constraints"].sort(key=compact_json)
    return shape


# ── the promises ──


def planned(before: str, after: str):
    accepted_catalog = compile_schema(before)
    accepted = assign_identities(accepted_catalog, DOMAIN)
    source = SourceText.of(after)
    report = Report(source)
    desired_catalog = compile_schema(source)
    desired = resolve_identities(desired_catalog, accepted, report)
    assert not report.has_errors, report.diagnostics
    return shape_of(accepted_catalog), shape_of(desired_catalog), accepted, desired


def compiles(text: str) -> bool:
    try:
        compile_schema(text)
    except ValueError:
        return False
    return True


@given(schemas())
@settings(max_examples=20, deadline=None)
def test_a_schema_that_does_not_change_has_an_empty_plan_and_reads_back(schema):
    text = written(schema)
    assume(compiles(text))
    _, _, accepted, desired = planned(text, text)
    assert plan_migration(accepted, desired).steps == ()
    assert ir_from_json(ir_to_json(accepted)) == accepted


@given(histories())
@settings(max_examples=50, deadline=None)
def test_a_plan_is_empty_exactly_when_the_shapes_are_equal_and_its_steps_account_for_the_difference(history):
    before, after = history
    assume(compiles(before))
    assume(compiles(after))
    old_shape, new_shape, accepted, desired = planned(before, after)
    plan = plan_migration(accepted, desired)
    assert (plan.steps == ()) == (old_shape == new_shape)
    assert not any("unclassified" in each.reason for each in plan.unsupported)
    assert ir_from_json(ir_to_json(desired)) == desired
    if plan.supported:
        steps = [each.to_dict() for each in plan.steps]
        assert applied(old_shape, steps, new_shape) == canonical(new_shape)


@given(schemas(), schemas())
@settings(max_examples=25, deadline=None)
def test_any_two_schemas_are_told_apart(one, other):
    """Names mean what they say here: nothing carries a hint, so what has another name is another thing."""
    before, after = written(one), written(other)
    assume(compiles(before))
    assume(compiles(after))
    old_shape, new_shape, accepted, desired = planned(before, after)
    plan = plan_migration(accepted, desired)
    assert (plan.steps == ()) == (old_shape == new_shape)
    assert not any("unclassified" in each.reason for each in plan.unsupported)
    if plan.supported:
        assert applied(old_shape, [each.to_dict() for each in plan.steps], new_shape) == canonical(new_shape)
