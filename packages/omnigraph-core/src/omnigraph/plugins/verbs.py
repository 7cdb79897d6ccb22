"""From a word of the command line to the plugin that offers it as a verb, or to the error that says what to repair."""

from __future__ import annotations

import importlib
from typing import Any

from omnigraph.errors import OmnigraphError, PluginError
from omnigraph.plugins.cli_verb import CliVerb
from omnigraph.plugins.manager import LoadedPlugins, PluginInfo, PluginStatus


def find_verb(name: str, plugins: LoadedPlugins) -> tuple[PluginInfo, CliVerb] | None:
    """The one verb of a name, with the plugin that offers it; None when no plugin does.

    Raises:
        PluginError: several plugins claim the name, or the plugin of that name is broken or disabled.
    """
    offering = [(info, verb) for info, verb in plugins.verbs() if verb.name == name]
    if len(offering) > 1:
        rivals = tuple(info.provider for info, _ in offering)
        raise PluginError(
            f'Several plugins claim the verb "{name}": {", ".join(rivals)}.',
            plugins=rivals,
            help="Uninstall all but one, or name the others in OMNIGRAPH_DISABLE_PLUGINS.",
        )
    if offering:
        return offering[0]
    # Verbs are mostly called as their plugin is.
    suspect = next((info for info in plugins.infos if info.name == name), None)
    if suspect is not None and suspect.status is PluginStatus.FAILED:
        failure = PluginError(
            f'The plugin {suspect.provider} for the verb "{name}" could not be loaded: '
            f"{str(suspect.reason).rstrip('.')}.",
            plugins=(suspect.provider,),
            help="See: omnigraph plugins",
        )
        failure.__cause__ = suspect.error
        raise failure
    if suspect is not None and suspect.status is PluginStatus.DISABLED:
        raise PluginError(
            f'The plugin {suspect.provider} for the verb "{name}" is disabled.',
            plugins=(suspect.provider,),
            help="Take it out of OMNIGRAPH_DISABLE_PLUGINS.",
        )
    return None


def import_command(info: PluginInfo, verb: CliVerb) -> Any:
    """The click command of a verb.

    Raises:
        PluginError: it could not be imported.
    """
    module, _, attribute = verb.command.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except (OmnigraphError, KeyboardInterrupt):
        raise
    # Whatever a stranger's module does is that plugin's failure.
    except BaseException as error:
        raise PluginError(
            f'The verb "{verb.name}" of {info.provider} could not be imported: {type(error).__name__}: {error}.',
            plugins=(info.provider,),
            help=f"If it is yours, correct it; otherwise reinstall it (pip install --force-reinstall "
            f"{info.distribution}), report it to its author, or leave it out with "
            f"OMNIGRAPH_DISABLE_PLUGINS={info.name}.",
        ) from error
