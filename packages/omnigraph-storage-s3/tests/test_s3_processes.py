"""One adapter in many threads, after a fork, after closing and at the end of a process: quiet and right."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.testing.s3_servers import S3Server
from omnigraph_storage_s3.adapter import S3Adapter

Open = Callable[..., S3Adapter]


def run_script(script: str, server: S3Server, root: str) -> str:
    """Run a script in a process of its own, with ``store`` open; what it printed. Warnings are failures."""
    prelude = (
        "import gc, json, os, sys\n"
        "from omnigraph.storage import parse_uri\n"
        "from omnigraph_storage_s3.adapter import S3Adapter\n"
        "store = S3Adapter(parse_uri(sys.argv[1]), json.loads(sys.argv[2]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", prelude + script, root, json.dumps(server.options())],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_threads_share_an_adapter(open_s3: Open, ministack: S3Server):
    store = open_s3(ministack)

    def work(number: int) -> bytes:
        key = store.key(f"threads/{number}")
        assert store.write_if_absent(key, str(number).encode())
        return store.read(key)

    # More threads than connections, and the first request of all of them is the one that opens the client.
    with ThreadPoolExecutor(40) as pool:
        assert list(pool.map(work, range(120))) == [str(number).encode() for number in range(120)]
    assert len(list(store.list())) == 120


def test_a_forked_child_opens_connections_of_its_own(open_s3: Open, ministack: S3Server):
    store = open_s3(ministack)
    # The child leaves through sys.exit, so that exit handlers and destructors inherited from the parent run in it. What
    # they must not do is to take the parent's connections away from it: with this timeout the parent would hang.
    printed = run_script(
        """
import warnings
store = S3Adapter(store.root, {**store.options, "read_timeout_seconds": 600.0})
store.write(store.key("parent"), b"parent")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # the thread of the event loop is the point
    child = os.fork()
if child == 0:
    assert store.read(store.key("parent")) == b"parent"
    assert store.write_if_absent(store.key("child"), b"child")
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert store.read(store.key("child")) == b"child"
store.close()
print("done")
""",
        ministack,
        str(store.root),
    )
    assert printed == "done\n"


def test_a_process_ends_quietly_without_closing(open_s3: Open, ministack: S3Server):
    assert (
        run_script('store.write(store.key("one"), b"1"); print("end")', ministack, str(open_s3(ministack).root))
        == "end\n"
    )


def test_a_forgotten_adapter_closes_its_connections(open_s3: Open, ministack: S3Server):
    store = open_s3(ministack)
    forgotten = S3Adapter(store.root, store.options)
    forgotten.write(forgotten.key("one"), b"1")
    http = forgotten._client._connection()._client._endpoint.http_session
    sessions = list(http._sessions.values())
    assert sessions
    del forgotten
    gc.collect()
    assert all(session.closed for session in sessions)


def test_a_closed_adapter_refuses_work_and_closes_twice(open_s3: Open, ministack: S3Server):
    store = open_s3(ministack)
    store.write(store.key("one"), b"1")
    store.close()
    store.close()
    with pytest.raises(StorageError, match=r"was closed\. Open the URI again\.") as caught:
        store.read(store.key("one"))
    assert caught.value.condition is StorageCondition.CONFIGURATION
