"""Plugins: the hooks they implement, how they are found, and what they offer."""

from __future__ import annotations

from omnigraph.plugins.backends import find_backend, open_adapter, verify_place
from omnigraph.plugins.cli_verb import CliVerb
from omnigraph.plugins.embedders import embed_texts, find_embedder
from omnigraph.plugins.hookspecs import hookimpl
from omnigraph.plugins.manager import (
    Candidate,
    LoadedPlugins,
    PluginInfo,
    PluginStatus,
    installed_plugins,
    load_plugins,
)
from omnigraph.plugins.verbs import find_verb, import_command

__all__ = [
    "Candidate",
    "CliVerb",
    "LoadedPlugins",
    "PluginInfo",
    "PluginStatus",
    "embed_texts",
    "find_backend",
    "find_embedder",
    "find_verb",
    "hookimpl",
    "import_command",
    "installed_plugins",
    "load_plugins",
    "open_adapter",
    "verify_place",
]
