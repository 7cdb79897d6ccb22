"""What a fork leaves of Lance, which is why ``omnigraph.tables.processes`` refuses to use it in some processes.

Measured with pylance 14.0.2 on Linux, on local disk and in shared memory:

parent before the fork            the child
imported Lance, asked nothing     reads and writes
opened one table, is idle         reads; of writes one in three crashes (SIGSEGV)
wrote tables, has an index        reads and writes work, hang, or crash

The child of a parent that used Lance starts threads anew, but parking_lot's table of waiting threads is still that of
the parent: when it grows, or when somebody in it is to be woken, it leads into stacks that do not exist any more. That
cannot be shown on every machine at every run, so it is not a test; Lance's own word for it is.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def run(script: str, *arguments: str) -> str:
    """What a script prints that runs in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_lance_itself_warns_whoever_forks():
    printed = run("""
import os, warnings
import lance
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    if os.fork() == 0:
        os._exit(0)
os.wait()
print(*(each.message for each in told))
""")
    assert "lance is not fork-safe" in printed


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted where Linux lists them")
def test_lance_starts_its_threads_at_the_first_request_and_not_before(tmp_path: Path):
    printed = run(
        """
import sys
from pathlib import Path
def threads():
    return sum(each.joinpath("comm").read_text().startswith("lance") for each in Path("/proc/self/task").iterdir())
import datafusion, lance, pyarrow
from lance.lance import _Session
session = _Session()
print(threads() == 0)
lance.write_dataset(pyarrow.table({"a": [1]}), sys.argv[1])
print(threads() > 0)
""",
        str(tmp_path / "t"),
    )
    assert printed.split() == ["True", "True"]


@pytest.mark.parametrize("root", ["local", "shared-memory"])
def test_a_process_that_only_imported_lance_may_fork_and_its_children_use_it(tmp_path: Path, root: str):
    printed = run(
        """
import os, signal, sys, warnings
import datafusion, lance, pyarrow
from lance.lance import _Session
warnings.simplefilter("ignore")
session = _Session()
for number in range(4):
    if os.fork() == 0:
        signal.alarm(60)
        uri = f"{sys.argv[1]}/t{number}"
        lance.write_dataset(pyarrow.table({"a": [1, 2]}), uri)
        lance.write_dataset(pyarrow.table({"a": [3]}), uri, mode="append")
        found = lance.dataset(uri, session=session).to_table(filter="a > 1")
        os._exit(0 if sorted(found["a"].to_pylist()) == [2, 3] else 1)
print([os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(4)])
""",
        str(tmp_path) if root == "local" else "shared-memory://forks",
    )
    assert printed == "[0, 0, 0, 0]\n"
