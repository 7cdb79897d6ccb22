"""The hook specifications: named by the project, and with a worked example that works."""

from __future__ import annotations

import inspect
import textwrap
import tomllib
import types

import pluggy

from omnigraph.config import Settings
from omnigraph.plugins import Candidate, PluginStatus, hookimpl, hookspecs, load_plugins
from omnigraph.storage import Capability


def literal_blocks(docstring: str) -> list[str]:
    """The indented blocks that follow a ``::``."""
    blocks: list[str] = []
    is_inside = False
    for line in inspect.cleandoc(docstring).splitlines():
        if line and not line.startswith(" "):
            is_inside = line.endswith("::")
            if is_inside:
                blocks.append("")
        elif is_inside:
            blocks[-1] += line + "\n"
    return [textwrap.dedent(block).strip() for block in blocks]


def test_hooks_carry_the_project_name() -> None:
    manager = pluggy.PluginManager("omnigraph")
    manager.add_hookspecs(hookspecs)
    hooks = [name for name in vars(manager.hook) if not name.startswith("_")]
    assert sorted(hooks) == ["omnigraph_cli_verbs", "omnigraph_embedders", "omnigraph_storage_backends"]
    assert hookspecs.PROJECT == hookimpl.project_name == "omnigraph"


def test_the_worked_example_of_the_storage_hook_is_a_plugin_that_loads() -> None:
    source, pyproject = literal_blocks(hookspecs.omnigraph_storage_backends.__doc__ or "")
    example = types.ModuleType("omnigraph_storage_gs.plugin")
    exec(compile(source, "example", "exec"), vars(example))
    ((name, target),) = tomllib.loads(pyproject)["project"]["entry-points"]["omnigraph"].items()
    assert (name, target) == ("gs", "omnigraph_storage_gs.plugin")

    candidate = Candidate(name=name, distribution="omnigraph-storage-gs", version="1", load=lambda: example)
    info = load_plugins([candidate], settings=Settings()).infos[-1]

    assert info.status is PluginStatus.LOADED
    assert [backend.schemes for backend in info.backends] == [("gs",)]
    assert Capability.WRITE_IF_MATCH in info.backends[0].capabilities


def test_the_worked_example_of_the_embedder_hook_is_a_plugin_that_loads() -> None:
    source, pyproject = literal_blocks(hookspecs.omnigraph_embedders.__doc__ or "")
    example = types.ModuleType("omnigraph_embed_acme.plugin")
    exec(compile(source, "example", "exec"), vars(example))
    ((name, target),) = tomllib.loads(pyproject)["project"]["entry-points"]["omnigraph"].items()
    assert (name, target) == ("acme", "omnigraph_embed_acme.plugin")

    candidate = Candidate(name=name, distribution="omnigraph-embed-acme", version="1", load=lambda: example)
    info = load_plugins([candidate], settings=Settings()).infos[-1]

    assert info.status is PluginStatus.LOADED
    assert info.backends == ()
    assert [embedder.name for embedder in info.embedders] == ["acme"]


def test_the_worked_example_of_the_verb_hook_is_a_plugin_that_loads() -> None:
    source, pyproject = literal_blocks(hookspecs.omnigraph_cli_verbs.__doc__ or "")
    example = types.ModuleType("omnigraph_acme.plugin")
    exec(compile(source, "example", "exec"), vars(example))
    ((name, target),) = tomllib.loads(pyproject)["project"]["entry-points"]["omnigraph"].items()
    assert (name, target) == ("acme", "omnigraph_acme.plugin")

    candidate = Candidate(name=name, distribution="omnigraph-acme", version="1", load=lambda: example)
    info = load_plugins([candidate], settings=Settings()).infos[-1]

    assert info.status is PluginStatus.LOADED
    assert (info.backends, info.embedders) == ((), ())
    assert [(verb.name, verb.command) for verb in info.verbs] == [("acme", "omnigraph_acme.commands:acme")]
