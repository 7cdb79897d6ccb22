"""From a URI to an open adapter, or to the error that says what to install, repair or remove."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from omnigraph.errors import (
    BackendConflictError,
    BackendFailedToLoadError,
    BackendNotInstalledError,
    InvalidInputError,
    OmnigraphError,
)
from omnigraph.plugins.manager import LoadedPlugins, PluginInfo, PluginStatus, installed_plugins
from omnigraph.storage import StorageAdapter, StorageBackend, StorageUri, parse_uri, verify_honesty
from omnigraph.storage.options import GivenOptions

_PACKAGE_OF_SCHEME = {"file": "local"}


def open_adapter(
    uri: str | Path,
    *,
    options: Mapping[str, Any] | None = None,
    mode: Literal["r", "rw"] = "rw",
    plugins: LoadedPlugins | None = None,
    verify: bool = True,
) -> StorageAdapter:
    """Open the storage behind a URI with the backend that serves its scheme.

    With mode ``"r"`` the store is asked nothing yet, and the adapter refuses every change. With ``"rw"`` the endpoint
    is probed for honest create-if-absent on its first use in this process, and asked whether Lance can commit there;
    ``verify=False`` leaves that to the caller, who may know the verdict from an earlier time (``verify_place``).

    Raises:
        InvalidInputError: the URI, an option or the mode is malformed.
        BackendNotInstalledError: no plugin serves the scheme.
        BackendFailedToLoadError: the plugin that should is broken.
        BackendConflictError: several plugins claim it.
        StorageError: the endpoint cannot be trusted with a graph.
    """
    if mode not in ("r", "rw"):
        raise InvalidInputError(
            f"There is no mode {mode!r}.", help='Use "r" for reading or "rw" for reading and writing.'
        )
    root = parse_uri(uri)
    info, backend = find_backend(root, plugins or installed_plugins())
    try:
        backend.import_adapter()
        adapter = backend.open(root, options)
    except (OmnigraphError, KeyboardInterrupt):
        raise
    # Whatever a stranger's module or constructor does is that plugin's failure.
    except BaseException as error:
        raise _broken(root, info, backend, f"{type(error).__name__}: {error}") from error
    if not isinstance(adapter, StorageAdapter):
        raise _broken(root, info, backend, f"it made a {type(adapter).__name__} and not a StorageAdapter")
    if mode == "rw" and verify:
        try:
            verify_place(adapter)
        except BaseException:
            # The reason counts, and not what a broken store says to being closed.
            with contextlib.suppress(Exception):
                adapter.close()
            raise
    adapter.is_read_only = mode == "r"
    adapter.explicit_options = GivenOptions(options or {})
    return adapter


def verify_place(adapter: StorageAdapter) -> None:
    """Ask whether a graph can be trusted to this place.

    Raises:
        StorageError: condition ``configuration`` when it cannot.
    """
    verify_honesty(adapter)
    adapter.check_lance_commits()


def find_backend(root: StorageUri, plugins: LoadedPlugins) -> tuple[PluginInfo, StorageBackend]:
    """The one backend for a root's scheme, with the plugin that offers it.

    Raises:
        BackendNotInstalledError, BackendFailedToLoadError, BackendConflictError: as ``open_adapter``.
    """
    serving = [(info, backend) for info, backend in plugins.backends() if root.scheme in backend.schemes]
    if not serving:
        raise _missing(root, plugins)
    names = {backend.name for _, backend in serving}
    rivals = [info for info, backend in plugins.backends() if backend.name in names or root.scheme in backend.schemes]
    if len(rivals) > 1:
        providers = tuple(info.provider for info in rivals)
        raise BackendConflictError(
            f'Several plugins claim "{root.scheme}://" or its backend name: {", ".join(providers)}.',
            providers=providers,
            help="Uninstall all but one, or name the others in OMNIGRAPH_DISABLE_PLUGINS.",
        )
    return serving[0]


def _broken(root: StorageUri, info: PluginInfo, backend: StorageBackend, why: str) -> BackendFailedToLoadError:
    return BackendFailedToLoadError(
        f'The backend "{backend.name}" of {info.provider} could not be opened: {why}.',
        plugin=info.name,
        uri=str(root),
        help=_repair(info),
    )


def _repair(info: PluginInfo) -> str:
    return (
        f"If it is yours, correct it; otherwise reinstall it (pip install --force-reinstall {info.distribution}), "
        f"report it to its author, or leave it out with OMNIGRAPH_DISABLE_PLUGINS={info.name}."
    )


def _missing(root: StorageUri, plugins: LoadedPlugins) -> BackendNotInstalledError | BackendFailedToLoadError:
    package = f"omnigraph-storage-{_PACKAGE_OF_SCHEME.get(root.scheme, root.scheme)}"
    suspect = next((info for info in plugins.infos if info.distribution == package or info.name == root.scheme), None)
    installed = sorted({scheme for _, backend in plugins.backends() for scheme in backend.schemes})
    if suspect is not None and suspect.status is PluginStatus.FAILED:
        # Without an exception the reason itself says what to do, and installing the same again would not help.
        repair = f"{_repair(suspect)} " if suspect.error else ""
        reason = str(suspect.reason).rstrip(".")
        failure = BackendFailedToLoadError(
            f'The plugin {suspect.provider} for "{root.scheme}://" could not be loaded: {reason}.',
            plugin=suspect.name,
            uri=str(root),
            help=f"{repair}See: omnigraph plugins",
        )
        failure.__cause__ = suspect.error
        return failure
    if suspect is not None and suspect.status is PluginStatus.DISABLED:
        move = f"The plugin {suspect.provider} is disabled: take it out of OMNIGRAPH_DISABLE_PLUGINS."
    else:
        near = difflib.get_close_matches(root.scheme, installed, n=1, cutoff=0.75)
        guess = f"Did you mean {near[0]}://? " if near else ""
        move = f"{guess}Install it: pip install {package}."
    failed = [info.provider for info in plugins.infos if info.status is PluginStatus.FAILED]
    broken = f" Installed and broken: {', '.join(failed)}." if failed else ""
    return BackendNotInstalledError(
        f'No storage backend for "{root}".',
        uri=str(root),
        help=f"{move} Installed: {', '.join(installed)}.{broken} See: omnigraph plugins",
    )
