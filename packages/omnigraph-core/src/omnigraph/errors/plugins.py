"""A plugin cannot do what it offers."""

from __future__ import annotations

from omnigraph.errors.root import ErrorKind, OmnigraphError


class PluginError(OmnigraphError):
    """A verb of the command line that a plugin offers cannot be had: it is broken, disabled, or several claim it.

    Backends and embedders have errors of their own.

    Attributes:
        plugins: whose it is, each as ``name (distribution version)``.
    """

    kind = ErrorKind.PLUGIN

    def __init__(self, message: str, *, plugins: tuple[str, ...], help: str) -> None:
        super().__init__(message, help=help, details={"plugins": list(plugins)})
        self.plugins = plugins
