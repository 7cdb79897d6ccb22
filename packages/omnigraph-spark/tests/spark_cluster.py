"""``run_cluster``: a Spark cluster of two workers on this machine, each on a loopback address of its own.

Spark lets a second attempt of a slow task run only on another host, so the workers must look like two.
"""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from omnigraph_spark.java import use_java

_DEPLOY = "org.apache.spark.deploy"
_PATIENCE_SECONDS = 120.0


@contextmanager
def run_cluster(home: Path) -> Iterator[dict[str, str]]:
    """A cluster for as long as the block lasts: the settings by which a session uses it, with the ``master``."""
    use_java(only_bundled=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as started:
        words = [f"{_DEPLOY}.master.Master", "--port", str(port)]
        log = started.enter_context(_process(home, "127.0.0.1", words))
        for host in ("127.0.0.2", "127.0.0.3"):
            work = [f"{_DEPLOY}.worker.Worker", "-c", "1", "-m", "1g", "-d", str(home / host), master]
            started.enter_context(_process(home, host, work))
        _wait_for(log, "Registering worker", times=2)
        yield {
            "master": master,
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "512m",
            "spark.sql.shuffle.partitions": "2",
            # Both executors are there before the first task is.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        }


@contextmanager
def _process(home: Path, host: str, words: list[str]) -> Iterator[Path]:
    """A process of the cluster, and the file that it writes its log to."""
    place = Path(pyspark.__file__).parent
    kind, *rest = words
    log = home / f"{host}.log"
    environment = {
        **os.environ,
        "SPARK_HOME": str(place),
        "SPARK_LOCAL_IP": host,
        "SPARK_LOCAL_DIRS": str(home / "tmp"),
    }
    with log.open("wb") as file:
        process = subprocess.Popen(
            [place / "bin" / "spark-class", kind, "--host", host, "--webui-port", "0", *rest],
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        try:
            yield log
        finally:
            process.kill()
            process.wait()


def _wait_for(log: Path, said: str, *, times: int) -> None:
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while log.read_text("utf-8", "replace").count(said) < times:
        if time.monotonic() > give_up:
            raise TimeoutError(log.read_text("utf-8", "replace")[-2000:])
        time.sleep(0.2)
