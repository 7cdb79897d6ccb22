"""The hooks that a plugin may implement. A hook yields records that describe; it never acts.

A plugin is a module named by an entry point in the group ``omnigraph``. It is imported whenever OmniGraph lists its
plugins, so it names heavy things instead of importing them.
"""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from omnigraph.embedding import EmbedderProvider
from omnigraph.plugins.cli_verb import CliVerb
from omnigraph.storage import StorageBackend

PROJECT = "omnigraph"
"""The pluggy project name and the entry-point group."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def omnigraph_storage_backends() -> Iterable[StorageBackend]:  # type: ignore[empty-body]  # pluggy calls only the impls
    """Yield the storage backends that this plugin offers.

    A whole plugin module::

        from omnigraph.plugins import hookimpl
        from omnigraph.storage import Capability, StorageBackend

        @hookimpl
        def omnigraph_storage_backends():
            yield StorageBackend(
                name="gs",
                schemes=("gs",),
                adapter="omnigraph_storage_gs.adapter:GsAdapter",   # imported on first use
                lance_scheme="gs",
                spi_version=1,
                capabilities=frozenset({Capability.WRITE_IF_MATCH, Capability.SHARED_BETWEEN_PROCESSES}),
            )

    and in its ``pyproject.toml``::

        [project.entry-points.omnigraph]
        gs = "omnigraph_storage_gs.plugin"
    """


@hookspec
def omnigraph_embedders() -> Iterable[EmbedderProvider]:  # type: ignore[empty-body]  # pluggy calls only the impls
    """Yield the embedders that this plugin offers: what turns texts into vectors.

    A whole plugin module::

        from omnigraph.embedding import EmbedderProvider
        from omnigraph.plugins import hookimpl

        @hookimpl
        def omnigraph_embedders():
            yield EmbedderProvider(
                name="acme",
                factory="omnigraph_embed_acme.embedder:AcmeEmbedder",   # imported on first use
                spi_version=1,
            )

    and in its ``pyproject.toml``::

        [project.entry-points.omnigraph]
        acme = "omnigraph_embed_acme.plugin"
    """


@hookspec
def omnigraph_cli_verbs() -> Iterable[CliVerb]:  # type: ignore[empty-body]  # pluggy calls only the impls
    """Yield the verbs that this plugin adds to the command line.

    A whole plugin module::

        from omnigraph.plugins import CliVerb, hookimpl

        @hookimpl
        def omnigraph_cli_verbs():
            yield CliVerb(
                name="acme",
                command="omnigraph_acme.commands:acme",   # a click command, imported when it is asked for
                help="Send a graph to Acme.",
                spi_version=1,
            )

    and in its ``pyproject.toml``::

        [project.entry-points.omnigraph]
        acme = "omnigraph_acme.plugin"
    """
