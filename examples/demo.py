"""A walk through the storage layer on all three backends: in memory, on disk, and on an S3 server on loopback.

Run it with: tox run -e demo
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from omnigraph.plugins import open_adapter
from omnigraph.storage import StorageAdapter
from omnigraph.testing.races import run_race
from omnigraph.testing.s3_servers import run_s3_server
from omnigraph.testing.storage_check import check_storage


def main() -> None:
    """Show the command line, then each backend at work."""
    run_omnigraph("version")
    run_omnigraph("plugins")
    with tempfile.TemporaryDirectory(prefix="omnigraph-demo-") as folder, s3_place() as (s3_uri, s3_options):
        local_uri = str(Path(folder) / "team graph")
        places: tuple[tuple[str, str, dict[str, Any]], ...] = (
            ("in memory", "memory://demo/graph", {}),
            ("on disk", local_uri, {}),
            ("on a real S3 server, a process on loopback", s3_uri, s3_options),
        )
        for title, uri, options in places:
            heading(f"{title}: {uri}")
            with open_adapter(uri, options=options) as adapter:
                walk(adapter)
            check(uri, options)
        run_omnigraph("storage", "check", local_uri)


def walk(adapter: StorageAdapter) -> None:
    """Claim, replace, race, list: what publishing a graph rests on."""
    branch = adapter.key("_refs/branches/main.json")
    first, second = json.dumps({"head": "c1"}).encode(), json.dumps({"head": "c2"}).encode()
    say("create a branch reference", adapter.write_if_absent(branch, first))
    say("create it again", adapter.write_if_absent(branch, second))

    seen = adapter.read_versioned(branch)
    say("move it with the token that was read", adapter.write_if_match(branch, second, seen.token) is not None)
    say("move it with the token that is now stale", adapter.write_if_match(branch, first, seen.token) is not None)
    say("it reads back as", json.loads(adapter.read_text(branch)))

    report = run_race(adapter, "replace", writers=8, rounds=5)
    say("8 writers race 5 times with one token; one winner each time", report.is_exact)

    adapter.write(adapter.key("__schema/ab12.pg"), b"node Person { name: String @key }")
    say("objects", sorted(map(str, adapter.list())))
    say("Lance keeps tables at", adapter.lance_location(adapter.key("nodes/person")).uri)


def check(uri: str, options: dict[str, Any]) -> None:
    """The same check that ``omnigraph storage check`` runs."""
    for step in check_storage(uri, options=options, writers=4, rounds=5):
        say(f"check {step.name}", "passed" if step.passed else "FAILED")
        if step.error is not None:
            raise step.error


@contextmanager
def s3_place() -> Iterator[tuple[str, dict[str, Any]]]:
    """A bucket on an S3 server that lives as long as the demo, and the options that reach it."""
    with run_s3_server("ministack") as server:
        yield f"s3://{server.create_bucket('demo')}/graph", server.options()


def run_omnigraph(*arguments: str) -> None:
    """Run the command as a person would."""
    heading(" ".join(("$ omnigraph", *arguments)))
    subprocess.run([str(Path(sys.executable).parent / "omnigraph"), *arguments], check=True)


def heading(text: str) -> None:
    """Print a line that parts the walk."""
    print(f"\n── {text} {'─' * max(2, 100 - len(text))}", flush=True)


def say(what: str, result: object) -> None:
    """Print one thing that was done and what came of it."""
    print(f"  {what}: {result}", flush=True)


if __name__ == "__main__":
    main()
