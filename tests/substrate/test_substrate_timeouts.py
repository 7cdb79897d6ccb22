"""What timeouts Lance has at an S3 server, and how often it asks one that is silent (ADR 0022, substrate.md 13).

Each fact is a count of requests, so that no test measures seconds. The server accepts, and never answers.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import lance
import pyarrow as pa
import pytest
from lance.file import LanceFileReader

from omnigraph.testing.fault_proxy import FaultProxy, NetworkFault, run_fault_proxy
from omnigraph.testing.s3_servers import S3Server

URI = "s3://bucket/table"
SILENT = "error sending request"


class SilentServer:
    """Counts what arrives and answers nothing."""

    def __init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._clients: list[socket.socket] = []
        self.requests: list[str] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def options(self, **more: str) -> dict[str, str]:
        return {
            "aws_access_key_id": "a",
            "aws_secret_access_key": "b",
            "aws_region": "us-east-1",
            "aws_endpoint": f"http://127.0.0.1:{self._listening.getsockname()[1]}",
            "allow_http": "true",
            **more,
        }

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listening.close()
        for each in self._clients:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._clients.append(client)
                threading.Thread(target=self._hear, args=(client,), daemon=True).start()

    def _hear(self, client: socket.socket) -> None:
        with suppress(OSError):
            while heard := client.recv(65_536):
                self.requests.append(heard.split(b" ", 1)[0].decode())


@pytest.fixture
def silent() -> Iterator[SilentServer]:
    server = SilentServer()
    yield server
    server.close()


def test_the_read_timeout_bounds_silence_and_what_used_it_up_is_not_asked_again(silent: SilentServer):
    options = silent.options(read_timeout="100ms", timeout="60s", client_retry_timeout="0")
    with pytest.raises(ValueError, match=SILENT):
        lance.dataset(URI, version=1, storage_options=options)
    assert silent.requests == ["HEAD"]
    silent.requests.clear()
    with pytest.raises(OSError, match=SILENT):
        LanceFileReader(f"{URI}/data/x.lance", storage_options=options)
    assert silent.requests == ["HEAD"]


def test_the_timeout_bounds_a_request_as_a_whole(silent: SilentServer):
    with pytest.raises(ValueError, match=SILENT):
        lance.dataset(URI, version=1, storage_options=silent.options(timeout="100ms", client_retry_timeout="0"))
    assert silent.requests == ["HEAD"]


def test_a_listing_is_asked_for_six_times_whatever_the_options_are(silent: SilentServer):
    options = silent.options(read_timeout="50ms", client_retry_timeout="0", client_max_retries="0")
    with pytest.raises(ValueError, match="list request"):
        lance.dataset(URI, storage_options={**options, "download_retry_count": "0"})
    assert silent.requests == ["GET"] * 6


def test_without_a_bound_on_repetitions_one_more_try_becomes_eight_requests(silent: SilentServer):
    """Why client_retry_timeout is given: two layers of Lance repeat, each what the other one has repeated."""
    with pytest.raises(ValueError, match="retries"):
        lance.dataset(URI, version=1, storage_options=silent.options(timeout="50ms", client_max_retries="1"))
    assert len(silent.requests) == 8


def test_a_time_without_a_unit_is_refused(silent: SilentServer):
    with pytest.raises(ValueError, match="Duration"):
        lance.dataset(URI, version=1, storage_options=silent.options(read_timeout="2"))


def test_request_timeout_is_no_option(silent: SilentServer):
    """It would be refused for its missing unit if it were one."""
    options = silent.options(request_timeout="2", read_timeout="100ms", client_retry_timeout="0")
    with pytest.raises(ValueError, match=SILENT):
        lance.dataset(URI, version=1, storage_options=options)


@pytest.fixture
def proxy(ministack: S3Server) -> Iterator[FaultProxy]:
    with run_fault_proxy(ministack.endpoint_url) as proxy:
        yield proxy


def table_behind(proxy: FaultProxy, server: S3Server, name: str, **more: str) -> tuple[str, dict[str, str]]:
    uri = f"s3://omnigraph-substrate/timeouts/{name}"
    options = {
        "aws_access_key_id": server.options()["access_key_id"],
        "aws_secret_access_key": server.options()["secret_access_key"],
        "aws_region": "us-east-1",
        "aws_endpoint": proxy.endpoint_url,
        "allow_http": "true",
        "client_retry_timeout": "0",
        **more,
    }
    lance.write_dataset(pa.table({"n": [1, 2, 3]}), uri, storage_options=options)
    return uri, options


def test_a_body_that_stops_is_asked_for_four_times(proxy: FaultProxy, ministack: S3Server):
    uri, options = table_behind(proxy, ministack, "stops", read_timeout="700ms")
    proxy.clear()
    proxy.inject(NetworkFault.TRICKLE_ANSWER, method="GET", times=100, seconds=30)
    with pytest.raises(ValueError, match="body error"):
        lance.dataset(uri, version=1, storage_options=options)
    assert proxy.methods.count("GET") == 4


def test_a_refusal_is_repeated_at_once_and_not_counted_as_silence(proxy: FaultProxy, ministack: S3Server):
    uri, options = table_behind(proxy, ministack, "refuses", read_timeout="5s", client_retry_timeout="5")
    proxy.clear()
    proxy.inject(NetworkFault.UNAVAILABLE, times=2)
    assert lance.dataset(uri, version=1, storage_options=options).version == 1
