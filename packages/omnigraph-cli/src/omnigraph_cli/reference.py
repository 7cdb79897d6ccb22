"""The reference page of the command line, made from the help texts and from what the commands print.

    python -m omnigraph_cli.reference > docs/reference/cli.md

A test compares the page with what this prints, so the two cannot drift apart. Verbs of plugins are on it if they are
installed; the page of the repository has those of omnigraph-spark.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

import click

from omnigraph_cli.exit_codes import CODE_OF_KIND, ExitCode
from omnigraph_cli.main import PROGRAM, cli
from omnigraph_cli.output.results import OptionResult

_WIDTH = 88

_INTRODUCTION = """\
# The command line

<!-- Made by `python -m omnigraph_cli.reference > docs/reference/cli.md`. Change the help texts, not this page. -->

Install it from a clone of the repository, until it is published:

```sh
pip install -c constraints.txt ./packages/omnigraph-core ./packages/omnigraph-storage-local ./packages/omnigraph-cli
```

Results go to stdout, narration and errors to stderr. Colour is used on a terminal only, and not at all when `NO_COLOR`
is set. Values of secret storage options are replaced by `[hidden]` wherever they would be printed, unless they have
fewer than 8 characters.
"""

_VERSION: Final = ("version", "--json")
_PLUGINS: Final = ("plugins", "--json")
_CHECK: Final = ("storage", "check", "memory://scratch", "--writers", "2", "--rounds", "10", "--json")
_WRONG: Final = ("storage", "check", "memory://", "--json")
_LINT: Final = ("lint", "--schema", "library.pg", "--query", "loans.gq", "--json")
_PLAN: Final = ("schema", "plan", "--from", "library.pg", "--schema", "library-next.pg", "--json")
_INIT: Final = ("init", "--schema", "library.pg", "library.omni", "--json")
_LOAD: Final = ("load", "library.omni", "--data", "books.jsonl", "--mode", "append", "--as", "ann", "--json")
_WRONG_LOAD: Final = ("load", "library.omni", "--data", "wrong.jsonl", "--mode", "append", "--json")
_SNAPSHOT: Final = ("snapshot", "library.omni", "--json")
_COMMITS: Final = ("commit", "list", "library.omni", "--json")
_POLL: Final = ("changes", "poll", "library.omni", "--start", "beginning", "--limit", "1", "--json")
_RECOVERIES: Final = ("recovery", "list", "library.omni", "--json")
_EXPLAIN: Final = ("explain", "--schema", "library.pg", "--query", "loans.gq", "--name", "titles", "--json")
_QUERY: Final = ("query", "library.omni", "titles", "--query", "loans.gq", "--params", '{"least": 4.0}', "--json")
_RATE: Final = "query rate($isbn: String, $score: F32) { update Book set { score: $score } where isbn = $isbn }"
_RATED: Final = ("mutate", "library.omni", "-e", _RATE, "--params", '{"isbn": "b1", "score": 4.5}')
_MUTATE: Final = (*_RATED, "--as", "ann", "--json")
_LATE: Final = (*_RATED, "--if-commit", "01KA7X3J8Q0000000000000002", "--json")
_INDICES: Final = ("ensure-indices", "library.omni", "--as", "ann", "--json")
_BRANCH: Final = ("branch", "create", "library.omni", "review", "--json")
_BRANCHES: Final = ("branch", "list", "library.omni", "--json")
_RATED_APART: Final = (*_RATED[:-1], '{"isbn": "b2", "score": 5.0}', "--branch", "review", "--as", "bo", "--json")
_DIFF: Final = ("diff", "library.omni", "main", "review", "--json")
_MERGE: Final = ("branch", "merge", "library.omni", "review", "--dry-run", "--json")
_TAG: Final = ("tag", "create", "library.omni", "v1", "--as", "ann", "--json")
_COPY: Final = ("copy", "library.omni", "copy.omni", "--json")
_REPAIR: Final = ("repair", "copy.omni", "--relocate", "--json")
_ONE_BOOK: Final = "query one($isbn: String) { match { $b: Book { isbn: $isbn } } return { $b.title } }"
_EXPLAIN_GRAPH: Final = ("explain", "library.omni", "-e", _ONE_BOOK, "--json")

SAMPLES: Final = {
    "library.pg": "node Book { isbn: String @key  title: String  score: F32? }\n",
    "library-next.pg": "node Book { isbn: String @key  title: String @index  score: F32?  pages: I32? }\n",
    "loans.gq": (
        "query titles($least: F32) {\n"
        "    match { $b: Book  $b.score >= $least }\n"
        "    return { $b.isbn, $b.title as title }\n"
        "    order { title }\n"
        "}\n"
        "query rate($isbn: String, $score: F32) { update Book set { scroe: $score } where isbn = $isbn }\n"
    ),
    "books.jsonl": (
        '{"type": "Book", "data": {"isbn": "b1", "title": "Harbor"}}\n'
        '{"type": "Book", "data": {"isbn": "b2", "title": "Salt", "score": 4.5}}\n'
    ),
    "wrong.jsonl": '{"type": "Book", "data": {"isbn": "b3", "title": "Orbit", "score": "many"}}\n',
}
"""The files that the examples of the page name."""

_ULID: Final = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
_INCARNATION: Final = re.compile(r'"((?:nodes|edges)/[0-9a-f]{16})-[0-9a-f]{16}"')
_TOKEN: Final = re.compile(r'"(eyJ[\w-]{20})[\w-]{100,}"')


def reference_page() -> str:
    """The whole page, as Markdown."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, text in SAMPLES.items():
            Path(name).write_text(text, encoding="utf-8")
        return "\n".join([_INTRODUCTION, _exit_codes(), *_json_results(), *_sections(cli, None, PROGRAM)])


def steadied(document: dict[str, Any]) -> dict[str, Any]:
    """A document without what differs from run to run: ids are numbered, tokens cut, and the rest is made up."""
    text = json.dumps(document).replace(json.dumps(str(Path.cwd()))[1:-1], "/home/ann")
    for number, found in enumerate(dict.fromkeys(_ULID.findall(text)), 1):
        text = text.replace(found, f"01KA7X3J8Q{number:016}")
    text = _INCARNATION.sub(r'"\1-3b0c5d1e7f2a4968"', text)
    text = _TOKEN.sub(r'"\1..."', text)
    text = re.sub(r'"created_at": \d+', '"created_at": 1767225600000000', text)
    text = re.sub(r'"bytes": \d+', '"bytes": 25000', text)
    result: dict[str, Any] = json.loads(text)
    return result


def _exit_codes() -> str:
    rows = []
    for code in ExitCode:
        kinds = ", ".join(f"`{kind}`" for kind, its_code in CODE_OF_KIND.items() if its_code is code)
        rows.append(f"| {code} | {code.meaning} | {kinds} |\n")
    return (
        "## Exit codes\n\n"
        "The `kind` of an error decides how the command ends. `usage` stands for a command line that is wrong,\n"
        "`interrupted` and `terminated` for signals; the other kinds are those of the [errors](errors.md), and\n"
        "`internal` also stands for a fault in a plugin. A check that does not pass ends with 1 as well; a lint\n"
        "report with errors and a migration that is not supported end with 3, see below.\n\n"
        "| code | meaning | kinds of error |\n|---|---|---|\n" + "".join(rows)
    )


def _json_results() -> Iterator[str]:
    """A section for each form of document, with one that was printed just now."""
    yield (
        "## JSON results\n\n"
        "With `--json`, before the verb or after it, a verb prints one JSON document on stdout. Documents may get\n"
        "more members in later releases; those shown here stay.\n"
    )
    yield _example("An error", _WRONG, "`help` is the next move, or null. `details` holds facts that depend on `kind`.")
    yield _example("The version", _VERSION, "`storage_interface` is the one a storage plugin must be written for.")
    names = ", ".join(f"`{each.name}`" for each in fields(OptionResult))
    yield _example(
        "The plugins",
        _PLUGINS,
        "Every plugin is listed; here only one is shown. `status` is `loaded`, `disabled`, `failed` or `conflict`,\n"
        f"and `reason` says why it is not `loaded`. Each of `options` has {names}.\n"
        "`notes` tells of names in `OMNIGRAPH_DISABLE_PLUGINS` that disable nothing.",
    )
    yield _example(
        "A check",
        _CHECK,
        "`verdict` is `passed`; `failed` when a step failed; or `unreachable` when it was the step `reach`, and then\n"
        "nothing was written. `passed` is true for `passed` only. A check that did not pass is a result, not an\n"
        "`error`: its exit code is 1, and the step that failed has `error` with the members of an error.",
    )

    yield _samples()
    yield _example(
        "A lint report",
        _LINT,
        "`status` is `ok` or `error`; `errors`, `warnings` and `infos` count diagnostics. Each of `results` is a\n"
        "query: `error` is the first of its errors on one line, `warnings` are texts, `operation` tells what a query\n"
        "that is right gives, reads and writes. Each of `findings` is about a file; it may have `type_name`,\n"
        "`property` and `query_names`. Every diagnostic has its place: lines and columns count from 1, the end is\n"
        "exclusive. The exit code is 3 when `status` is `error`. A file that is not there, or is no UTF-8, is an\n"
        "[error](#an-error) with the same exit code, and there is no report.",
    )
    yield _example(
        "A migration plan",
        _PLAN,
        "`supported` is false when one of `steps` has the kind `unsupported_change`; the exit code is 3 then.\n"
        "`diagnostics` are warnings about the new schema.",
    )
    yield _example("A query plan", _EXPLAIN, "`plan` has one line per operator, for people.")
    yield _example(
        "A graph that was made", _INIT, "`commit` is its first one, and `types` are those of a [snapshot](#a-snapshot)."
    )
    yield _example(
        "A load",
        _LOAD,
        "`nodes` and `edges` count records by type, `total` all of them. `commit` has made them visible;\n"
        "`created_at` is in microseconds since 1970.",
    )
    yield _example(
        "A load that was refused",
        _WRONG_LOAD,
        "`problems` has the first 100 records of each reason, `counts` and `total` count all. See\n"
        "[what can be wrong](../how-to/load-data.md#what-can-be-wrong).",
    )
    yield _example(
        "A snapshot",
        _SNAPSHOT,
        "`location` and `version` are of the Lance table of a type, below the graph; `physical_branch` is the branch\n"
        "of that table, or null for its main line.",
    )
    yield _example(
        "Commits",
        _COMMITS,
        "Newest first. `omnigraph commit show` prints `uri`, one of them as `commit`, and `recoveries`: what was done\n"
        "about its write if that was cut off, as below.",
    )
    yield _example(
        "Recoveries",
        _RECOVERIES,
        "Writes that were cut off; mostly there are none. Each of `pending` has `operation_id`, `state` (`cut_off`,\n"
        "`unknown`, `under_way` or `refused`), `writer_kind`, `branch`, `actor` and `graph_commit_id`, which is the\n"
        "commit that it is to make; one that is `refused` has a `reason` instead. Each of `recoveries` has\n"
        "`recovery_kind` (`RolledForward`, `RolledBack` or `OrphanedBranchDiscarded`), `operation_id`,\n"
        "`graph_commit_id`, `writer_kind`, `branch`, `recovery_for_actor`, who had begun the write, `actor`, which is\n"
        "`omnigraph:recovery`, `created_at`, `tables`, each with what was `found` and the versions before and after,\n"
        "and `published_version`, the manifest version of a write that was rolled back and that its writer, which was\n"
        "only stopped, published afterwards, else null.\n"
        "Each of `loads` is a bulk load that holds a lease: `id`, `load_id`, `branch`, `state` (`under_way`,\n"
        "`cut_off` or `unknown`), `writer`, `started_at`, `manifest_version` and `lines`, where its files lie.\n"
        "`omnigraph recovery run` prints the same, of what it settled and what is left; `omnigraph recovery discard`\n"
        "prints `uri`, `operation_id`, `reason` and `moved_to`. See\n"
        "[recover from a crash](../how-to/recover-from-a-crash.md).",
    )
    yield _example(
        "A page of changes",
        _POLL,
        "`blocks` are commits, oldest first, each with its `cause` and its `changes`; `head` is the newest commit of\n"
        "the branch, and `caught_up` says whether it was reached. `cursor` is for storing, and null inside a commit:\n"
        "`is_complete` of the last block is false then, and `page_token` gives the rest. `omnigraph commit changes`\n"
        "prints `cause`, `changes` and `page_token`. See [follow changes](../how-to/follow-changes.md).",
    )
    yield _example(
        "The answer to a query",
        _QUERY,
        "`columns` are there also when there is no row. `target` has the `snapshot` that was asked for, or null, and\n"
        "`graph_commit_id` is the commit that was read. What a value is in JSON:\n"
        "[Result](python.md#result). With `--format jsonl` the first line has all of it but `rows`, and `kind`, which\n"
        "is `metadata`; each row is a line of its own.",
    )
    yield _example(
        "A mutation",
        _MUTATE,
        "`affected_nodes` and `affected_edges` are summed over the statements. `commit` is null when nothing matched:\n"
        "nothing was written then. What breaks a rule of the schema is told as of [a load](#a-load-that-was-refused),\n"
        "with `statement 2` as its `source`, and without a `line`.",
    )
    yield _example(
        "A mutation that came too late",
        _LATE,
        "The commit that `--if-commit` names is not the newest; or others changed what an update or delete is about\n"
        "while it was under way, and `members` says what. Nothing was written, and the exit code is 4.",
    )
    yield _example(
        "Indexes that were built",
        _INDICES,
        "`commit` is null when there was nothing to do. `pending` has what cannot be built yet, with the `reason`.",
    )
    yield _example(
        "A branch",
        _BRANCH,
        "`base_commit` is what it began as; it is null for main. `omnigraph branch show` prints the\n"
        "same, and `omnigraph branch delete` prints `uri`, the name as `deleted`, and its last `head`. `problem` says\n"
        "in a list why a branch cannot be read; then its `head` is null. See\n"
        "[branch and merge](../how-to/branch-and-merge.md).",
    )
    yield _example("Branches", _BRANCHES, "Main first, then by name.")
    yield _example("A mutation on a branch", _RATED_APART, "What is different on a branch is where it is.")
    yield _example(
        "A diff",
        _DIFF,
        "`changes` are nodes, then edges, each type by ascending id; `summary` counts them. `from_id` and `to_id` are\n"
        "the ends of an edge. With `--format jsonl` each change is a line of its own.",
    )
    yield _example(
        "A merge",
        _MERGE,
        "`outcome` is `already_up_to_date`, `fast_forward` or `merged`. `changes` and `conflicts` are those of a dry\n"
        "run; without it `commit` is the one that was made, `changes` is null, and conflicts are an\n"
        "[error](errors.md#merge_conflict) with exit code 4. `resolved` counts what `--strategy` decided.",
    )
    yield _example(
        "A tag",
        _TAG,
        "`line` and `manifest_version` say where the commit is. `omnigraph tag list` prints `tags`, `omnigraph tag\n"
        "delete` the name as `deleted`; `omnigraph commit graph` prints `format` and `drawing`.",
    )
    yield _example(
        "A copy",
        _COPY,
        "`files` and `bytes` count what was copied. Each of `lost` is a `kind` (`branch` or `tag`) and a `name` that\n"
        "cannot be read in the copy, because it cannot be in the graph, with the `reason`.",
    )
    yield _example(
        "A repair",
        _REPAIR,
        "`relocated` are branches that name their files where these are now, and did not before; here there was\n"
        "nothing to do. `versions` counts what was changed for it. See\n"
        "[move or copy a graph](../how-to/move-or-copy-a-graph.md).",
    )
    yield _example(
        "How a query is run",
        _EXPLAIN_GRAPH,
        "`steps` are the operators from the result down, as deep below it as `depth` says. `indexes` are those that\n"
        "the query can use, with the rows that they know and do not know; `missing_indexes` are declared and not\n"
        "built yet. With `--analyze` a step also has `rows`, `milliseconds`, `bytes`, `read_requests` and\n"
        "`read_bytes`; `rows` is null where `done` tells who did the work instead. A step may have more members that\n"
        "tell how it is run, such as `read`, `search`, `traversal` and `reason`.",
    )


def _samples() -> str:
    shown = "\n".join(f"// {name}\n{text}" for name, text in SAMPLES.items())
    return f"### Files of the examples\n\nThe documents below are about these files:\n\n```text\n{shown}```\n"


def _example(title: str, words: tuple[str, ...], explanation: str) -> str:
    document = json.dumps(_document(words), indent=2)
    return f"### {title}\n\n{explanation}\n\n```text\n$ {PROGRAM} {shlex.join(words)}\n{document}\n```\n"


def _document(words: tuple[str, ...]) -> dict[str, Any]:
    """What the command prints, without plugins that are not everybody's."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        cli.main(["--quiet", *words])
    document = steadied(json.loads(printed.getvalue()))
    if words == _PLUGINS:
        document["plugins"] = [each for each in document["plugins"] if each["distribution"] == "omnigraph-core"]
    return document


def _sections(command: click.Command, parent: click.Context | None, name: str) -> Iterator[str]:
    """A section for the command, then those of the commands below it."""
    settings = {**command.context_settings, "terminal_width": _WIDTH, "max_content_width": _WIDTH}
    ctx = click.Context(command, parent=parent, info_name=name, **settings)
    yield f"## {ctx.command_path}\n\n```text\n{command.get_help(ctx)}\n```\n"
    if isinstance(command, click.Group):
        for verb in command.list_commands(ctx):
            below = command.get_command(ctx, verb)
            if below is not None and not below.hidden:
                yield from _sections(below, ctx, verb)


if __name__ == "__main__":
    click.echo(reference_page(), nl=False)
