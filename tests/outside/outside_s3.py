"""A real S3 server for a run: ministack, as a process of its own on loopback, started by its command."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BUCKET = "outside"
START_SECONDS = 60.0
_PR_SET_PDEATHSIG = 1


@contextmanager
def s3_server(directory: Path) -> Iterator[str]:
    """Run one for as long as the block lasts; its URL. It has a bucket and does not outlive this process."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    libc = ctypes.CDLL(None)
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(directory),
        "TMPDIR": str(directory),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "SERVICES": "s3",
        "LOG_LEVEL": "WARNING",
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "DOCKER_HOST": f"unix://{directory}/no-docker.sock",
    }
    with (directory / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [str(Path(sys.executable).with_name("ministack"))],
            env=environment,
            cwd=directory,
            stdout=log,
            stderr=log,
            preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL),
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _make_bucket(url, process)
        yield url
    finally:
        process.kill()
        process.wait()


def _make_bucket(url: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        request = urllib.request.Request(f"{url}/{BUCKET}", method="PUT")
        try:
            with urllib.request.urlopen(request, timeout=5):
                return
        except OSError as error:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"The S3 server did not start: {error}") from error
            time.sleep(0.1)


def options_of(url: str, **more: Any) -> dict[str, Any]:
    """How a graph is reached through a server or a proxy."""
    return {
        "endpoint_url": url,
        "region": "us-east-1",
        "access_key_id": "outside",
        "secret_access_key": "outside-secret",
        **more,
    }
