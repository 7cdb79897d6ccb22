"""Verbs that plugins bring: shown and run beside the built-in ones, and imported only when they are asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from omnigraph_cli.plugin_group import PluginGroup

PLUGIN = """
from omnigraph.plugins import CliVerb, hookimpl

@hookimpl
def omnigraph_cli_verbs():
    for name in {names!r}:
        yield CliVerb(name=name, command="{command}", help="Shout what is said.", spi_version=1)
"""

COMMAND = """
import click
from omnigraph.errors import NotFoundError
from omnigraph_cli.verbs import ExitCode, Session, VerbResult, global_options, json_option

print("the command was imported")

@click.command(epilog="Examples:")
@click.argument("words", nargs=-1)
@json_option
@global_options
@click.pass_obj
def shout(session: Session, words) -> ExitCode:
    '''Shout what is said, as loud as it gets.'''
    if not words:
        raise NotFoundError("There is nothing to shout.", help="Say something.")
    with session.watching("taking breath"):
        print("chatter")
    loud = " ".join(words).upper()
    session.show(VerbResult(facts={"loud": loud}, lines=(("shouted", loud), ("words", str(len(words))))))
    return ExitCode.CONFLICT
"""


@pytest.fixture
def shouting(install: Callable[..., None], plugin_path: Any) -> Callable[..., None]:
    """Install a plugin that offers verbs, by default ``shout``, and the module of their command."""

    def install_shouting(
        plugin: str = "shout", names: tuple[str, ...] = ("shout",), command: str = "shout_commands:shout"
    ) -> None:
        install(plugin, PLUGIN.format(names=names, command=command), distribution=f"omnigraph-{plugin}")
        (plugin_path / "shout_commands.py").write_text(COMMAND)

    return install_shouting


def test_a_verb_of_a_plugin_runs_with_the_manners_of_the_built_in_ones(omnigraph: Any, shouting: Any) -> None:
    shouting()
    said = omnigraph("shout", "hear", "me")
    assert (said.returncode, said.stdout) == (4, "shouted HEAR ME\nwords   2\n")
    assert said.stderr == "the command was imported\nchatter\n"
    document = omnigraph("shout", "hear", "me", "--json")
    assert (document.returncode, json.loads(document.stdout)) == (4, {"loud": "HEAR ME"})


def test_an_error_of_a_verb_of_a_plugin_has_the_exit_code_of_its_kind(omnigraph: Any, shouting: Any) -> None:
    shouting()
    failed = omnigraph("shout", "--json")
    assert failed.returncode == 1
    assert json.loads(failed.stdout)["error"]["kind"] == "not_found"
    assert omnigraph("shout", "--louder").returncode == 2


def test_help_shows_verbs_of_plugins_by_their_records_and_does_not_import_them(omnigraph: Any, shouting: Any) -> None:
    shouting()
    shown = omnigraph("--help")
    assert shown.returncode == 0
    # Other plugins of this environment may bring verbs of their own.
    _, _, brought = shown.stdout.partition("\nCommands of plugins:\n")
    assert "  shout  Shout what is said.\n" in brought.partition("\n\n")[0] + "\n"
    assert "shout" not in shown.stdout.partition("\nCommands of plugins:\n")[0]
    assert shown.stderr == ""
    assert omnigraph("shout", "--help").stdout.startswith("Usage: omnigraph shout")


def test_a_built_in_verb_looks_at_no_plugin(omnigraph: Any, shouting: Any, plugin_path: Any) -> None:
    shouting()
    script = """
import sys
from omnigraph_cli.main import cli
try:
    cli.main(sys.argv[1:])
except SystemExit:
    print("omnigraph.plugins" in sys.modules, "omnigraph_shout" in sys.modules, file=sys.stderr)
"""
    for words, seen in ((["version"], "False False"), (["load", "--help"], "False False"), (["--help"], "True True")):
        done = subprocess.run(
            [sys.executable, "-c", script, *words],
            **omnigraph.settings(),
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stderr.splitlines()[-1] == seen, words


def test_a_plugin_cannot_take_a_built_in_verb_and_is_named_for_trying(omnigraph: Any, shouting: Any) -> None:
    shouting(names=("version", "shout"))
    assert omnigraph("version").stdout.startswith("omnigraph ")
    assert omnigraph("shout", "x").returncode == 4
    assert omnigraph("--help").stdout.count("\n  version ") == 1
    listed = omnigraph("plugins")
    assert "✗ shout  omnigraph-shout 1.2.3  conflict\n" in listed.stdout
    assert '    reason        The verb "version" is built in.\n' in listed.stdout
    assert "    verbs         version, shout\n" in listed.stdout
    (plugin,) = (
        each for each in json.loads(omnigraph("plugins", "--json").stdout)["plugins"] if each["name"] == "shout"
    )
    assert (plugin["status"], plugin["verbs"]) == ("conflict", ["version", "shout"])


def test_a_verb_that_two_plugins_claim_names_both_and_the_others_work(omnigraph: Any, shouting: Any) -> None:
    shouting("one", ("shout", "murmur"))
    shouting("two", ("shout",))
    refused = omnigraph("shout", "x", "--json")
    assert refused.returncode == 1
    error = json.loads(refused.stdout)["error"]
    assert error["kind"] == "plugin"
    assert sorted(error["details"]["plugins"]) == ["one (omnigraph-one 1.2.3)", "two (omnigraph-two 1.2.3)"]
    assert omnigraph("murmur", "x").returncode == 4


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("no_such_module:shout", "could not be imported: ModuleNotFoundError"),
        ("shout_commands:COMMAND", "could not be imported: AttributeError"),
        ("json:dumps", "is no click command: json:dumps is a function"),
    ],
)
def test_a_command_that_is_none_is_told_by_its_plugin(omnigraph: Any, shouting: Any, command: str, says: str) -> None:
    shouting(command=command)
    refused = omnigraph("shout", "x")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert f'error: The verb "shout" of shout (omnigraph-shout 1.2.3) {says}' in refused.stderr
    assert omnigraph("version").returncode == omnigraph("--help").returncode == 0


def test_the_verb_of_a_broken_or_disabled_plugin_says_so(omnigraph: Any, install: Any) -> None:
    install("shout", "import a_module_that_nobody_has\n", distribution="omnigraph-shout")
    broken = omnigraph("shout", "x")
    assert broken.returncode == 1
    assert 'The plugin shout (omnigraph-shout 1.2.3) for the verb "shout" could not be loaded' in broken.stderr
    disabled = omnigraph("shout", "x", OMNIGRAPH_DISABLE_PLUGINS="shout")
    assert "is disabled" in disabled.stderr
    assert "Take it out of OMNIGRAPH_DISABLE_PLUGINS" in disabled.stderr


def test_a_word_that_is_nobodys_verb_gets_the_nearest_one_also_of_a_plugin(omnigraph: Any, shouting: Any) -> None:
    shouting()
    wrong = omnigraph("shuot")
    assert wrong.returncode == 2
    assert 'There is no command "shuot". Did you mean "shout"?' in wrong.stderr


def test_a_verb_that_is_known_and_not_installed_says_what_to_install() -> None:
    # The environment of the tests may have it.
    group = PluginGroup("omnigraph", verbs={})
    assert group.next_move("spark", ["load"]) == "Install it: pip install omnigraph-spark."
    assert group.next_move("lod", ["load"]) == 'Did you mean "load"?'


def test_the_shell_can_complete_verbs_of_plugins_and_passes_over_broken_ones(omnigraph: Any, shouting: Any) -> None:
    shouting(names=("shout",))
    shouting("broken", ("shoal",), "no_such_module:shoal")
    done = omnigraph(_OMNIGRAPH_COMPLETE="bash_complete", COMP_WORDS="omnigraph sho", COMP_CWORD="1")
    assert (done.returncode, done.stdout.split()) == (0, ["plain,shout"])
