"""Answers of an S3 server are lost after their effect, at every request of a load: what is reported is what is there.

Lance repeats requests by itself, and a repeated conditional write meets its own effect and is told that it lost. So a
commit that landed may look like a lost race; it must be found by its id, and made once.
"""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Iterator

import pytest

import omnigraph as og
from omnigraph.errors import OmnigraphError, OutcomeUnknownError, StorageError
from omnigraph.testing.fault_proxy import FaultProxy, NetworkFault, run_fault_proxy
from omnigraph.testing.graph_contract.clauses import SEED, GraphPlace, film, holds, model_of
from omnigraph.testing.invariants import assert_graph_is_whole
from omnigraph.testing.s3_servers import run_s3_server

BUCKET = "lost-answers"


@dataclasses.dataclass(frozen=True)
class Places:
    """One graph, reached through the proxy and directly."""

    proxied: GraphPlace
    direct: GraphPlace
    proxy: FaultProxy


@pytest.fixture(scope="module")
def places() -> Iterator[Places]:
    with run_s3_server("ministack") as server, run_fault_proxy(server.endpoint_url) as proxy:
        server.create_bucket(BUCKET)
        proxied = dataclasses.replace(server, endpoint_url=proxy.endpoint_url)
        uri = f"s3://{BUCKET}/{secrets.token_hex(8)}"
        made = Places(
            GraphPlace(uri=uri, options=proxied.options()), GraphPlace(uri=uri, options=server.options()), proxy
        )
        with made.direct.init() as graph:
            graph.load(SEED, "append")
        yield made


def requests_of_a_load(places: Places, method: str) -> int:
    with places.proxied.open() as graph:
        places.proxy.clear()
        graph.load([film("counted", "x")], "merge")
        return places.proxy.methods.count(method)


@pytest.mark.parametrize("fault", [NetworkFault.LOSE_ANSWER, NetworkFault.HIDE_ANSWER, NetworkFault.UNAVAILABLE])
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_load_whose_answers_are_lost_is_made_once_and_reported_as_it_is(
    places: Places, method: str, fault: NetworkFault
):
    count = requests_of_a_load(places, method)
    assert count
    with places.direct.open("r") as reader, places.proxied.open() as graph:
        for number in range(count):
            before, commits = {row["id"] for row in reader.table("Film")}, len(reader.commits.list())
            code, what = f"{method}-{fault}-{number}", f"{fault} of {method} number {number}"
            places.proxy.clear()
            places.proxy.inject(NetworkFault.FORWARD, method=method, times=number)
            places.proxy.inject(fault, method=method)
            error = load(graph, code)
            places.proxy.clear()
            after = {row["id"] for row in reader.table("Film")}
            assert after in (before, before | {code}), what
            assert len(reader.commits.list()) == commits + (code in after), what
            if not isinstance(error, OutcomeUnknownError):
                assert (code in after) == (error is None), f"{what}: {error!r}"
            # What happened can be found out; a request without an effect may be reported instead of repeated.
            assert error is None or fault is NetworkFault.UNAVAILABLE, f"{what}: {error!r}"


def load(graph: og.Graph, code: str) -> OmnigraphError | None:
    try:
        graph.load([film(code, "x")], "append")
    except OmnigraphError as error:
        return error
    return None


def test_the_graph_is_whole_after_all_of_that(places: Places):
    with places.direct.open() as graph:
        assert_graph_is_whole(graph)
        films = [film(row["code"], row["title"], row["genre"]) for row in graph.table("Film")]
        rest = [record for record in SEED if record.get("type") != "Film"]
        assert holds(graph, model_of(("append", [*films, *rest])))


def test_an_init_that_other_requests_are_in_the_way_of_blames_no_other_init(places: Places):
    """A store may refuse a request because of another one, without saying whose."""
    places.proxy.clear()
    beside(places, "counted").init().close()
    for number in range(places.proxy.methods.count("PUT")):
        place = beside(places, f"turned-away-{number}")
        places.proxy.clear()
        places.proxy.inject(NetworkFault.FORWARD, method="PUT", times=number)
        places.proxy.inject(NetworkFault.CONFLICT, method="PUT")
        try:
            place.init().close()
        except (StorageError, OutcomeUnknownError):
            place.init(force=True).close()
        places.proxy.clear()
        place.open("r").close()


def beside(places: Places, name: str) -> GraphPlace:
    return dataclasses.replace(places.proxied, uri=f"{places.proxied.uri}-{name}")
