"""Plugins: the hooks they implement, how they are found, and what they offer."""

from __future__ import annotations

from omnigraph.plugins.backends import find_backend, open_adapter, verify_place
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

__all__ = [
    "Candidate",
    "LoadedPlugins",
    "PluginInfo",
    "PluginStatus",
    "embed_texts",
    "find_backend",
    "find_embedder",
    "hookimpl",
    "installed_plugins",
    "load_plugins",
    "open_adapter",
    "verify_place",
]
