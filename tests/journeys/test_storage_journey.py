"""An operator asks whether a place can be trusted with a graph, through the command and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from omnigraph.testing.s3_servers import S3Server, run_s3_server

OMNIGRAPH = Path(sys.executable).with_name("omnigraph")


def omnigraph(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command with the given variables and without any AWS variable of the surroundings."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    return subprocess.run(
        [OMNIGRAPH, *arguments],
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def aws_environment(server: S3Server) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL_S3": server.endpoint_url,
        "AWS_ACCESS_KEY_ID": server.access_key_id,
        "AWS_SECRET_ACCESS_KEY": server.secret_access_key,
        "AWS_REGION": server.region,
    }


@pytest.fixture(scope="module")
def ministack() -> Iterator[S3Server]:
    with run_s3_server("ministack") as server:
        server.create_bucket("journey")
        yield server


@pytest.fixture(scope="module")
def rclone() -> Iterator[S3Server]:
    with run_s3_server("rclone") as server:
        server.create_bucket("journey")
        yield server


def test_the_installed_backends_are_listed_with_their_distributions():
    done = omnigraph("plugins", "--json")
    assert done.returncode == 0, done.stderr
    listed = {each["name"]: each for each in json.loads(done.stdout)["plugins"]}
    assert {"memory", "local", "s3"} <= listed.keys()
    assert listed["s3"]["distribution"] == "omnigraph-storage-s3"
    assert {each["status"] for each in listed.values()} == {"loaded"}


@pytest.mark.parametrize("place", ["memory", "local", "s3"])
def test_a_good_store_passes_the_check_and_is_left_as_it_was(place: str, tmp_path: Path, ministack: S3Server):
    uri = {
        "memory": "memory://journey/graph",
        "local": str(tmp_path / "a graph"),
        "s3": "s3://journey/some graph",
    }[place]
    done = omnigraph("storage", "check", uri, "--json", "--writers", "4", "--rounds", "3", **aws_environment(ministack))
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["passed"] is True
    assert [step["name"] for step in report["steps"]] == [
        "backend", "reach", "honesty", "round_trip", "create_race", "replace_race", "tables", "clean_up",
    ]  # fmt: skip
    if place == "local":
        assert not [each for each in tmp_path.rglob("*") if each.is_file()]


def test_a_server_that_ignores_conditional_writes_is_refused(rclone: S3Server):
    done = omnigraph("storage", "check", "s3://journey/graph", **aws_environment(rclone))
    assert done.returncode == 1, done.stdout + done.stderr
    printed = done.stdout + done.stderr
    assert "does not honour create-if-absent" in printed
    assert rclone.secret_access_key not in printed


def test_a_missing_bucket_is_named_with_the_next_move(ministack: S3Server):
    done = omnigraph("storage", "check", "s3://no-such-bucket/graph", **aws_environment(ministack))
    assert done.returncode == 1
    assert "no-such-bucket" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_scheme_says_what_to_install():
    done = omnigraph("storage", "check", "gs://bucket/graph")
    assert done.returncode == 1
    assert "pip install omnigraph-storage-gs" in done.stderr


def test_a_disabled_backend_is_named_as_such(tmp_path: Path):
    done = omnigraph("storage", "check", str(tmp_path), OMNIGRAPH_DISABLE_PLUGINS="local")
    assert done.returncode == 1
    assert "OMNIGRAPH_DISABLE_PLUGINS" in done.stderr
