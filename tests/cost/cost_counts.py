"""``CountedPlace`` and ``Spent``: what an act costs at an S3 server, request by request.

    LIST     a GET of the bucket with list-type        GET, HEAD, DELETE
    PUT      an unconditional PUT                      PUT?     a PUT with If-None-Match, which decides a race
    POST     a bulk delete

Requests are counted where they arrive, whoever sent them: the adapter or Lance. Each is put down to a part of the
graph: the manifest, the tables of its types, sidecars, schemas.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal
from urllib.parse import parse_qs, unquote, urlsplit

import omnigraph as og
from omnigraph.testing.fault_proxy import FaultProxy, ProxiedRequest
from omnigraph.testing.s3_servers import S3Server

PARTS = {
    "__manifest": "manifest",
    "nodes": "tables",
    "edges": "tables",
    "__recovery": "sidecar",
    "__schema": "schema",
    "_schema.pg": "schema",
    "_refs": "branches",
}
KINDS = frozenset({"_versions", "_transactions", "data", "_deletions", "_indices", "_refs"})
WRITES = frozenset({"PUT", "PUT?", "POST", "DELETE"})


@dataclass(frozen=True)
class Spent:
    """The requests of one act.

    Attributes:
        requests: (part of the graph, verb) in order of arrival.
        received: bytes of the bodies that were asked for, by part of the graph.
        sent: bytes of the bodies that were put, by part of the graph.
        sent_to_tables: those to the tables of types, by kind of object: ``_versions``, ``_transactions``, ``data``,
            ``_deletions``, ``_indices``, ``_refs``.
    """

    requests: tuple[tuple[str, str], ...]
    received: Counter[str]
    sent: Counter[str]
    sent_to_tables: Counter[str]
    received_from_tables: Counter[str]
    tables: frozenset[str]

    @property
    def total(self) -> int:
        return len(self.requests)

    @property
    def by_part(self) -> dict[str, dict[str, int]]:
        found: dict[str, Counter[str]] = {}
        for part, verb in self.requests:
            found.setdefault(part, Counter())[verb] += 1
        return {part: dict(verbs) for part, verbs in found.items()}

    @property
    def writes(self) -> int:
        return sum(verb in WRITES for _, verb in self.requests)

    def __str__(self) -> str:
        return f"{self.total} requests: {self.by_part}; bytes in: {dict(self.received)}, out: {dict(self.sent)}"


class CountedPlace:
    """A root on the server, and the counting of what is asked of it."""

    def __init__(self, uri: str, server: S3Server, proxy: FaultProxy) -> None:
        self.uri = uri
        self.options = server.options()
        self._proxy = proxy
        self._bucket, _, self._prefix = uri.removeprefix("s3://").partition("/")
        session = import_module("botocore.session").Session()
        self._client = session.create_client(
            "s3",
            endpoint_url=server.endpoint_url,
            region_name=server.region,
            aws_access_key_id=server.access_key_id,
            aws_secret_access_key=server.secret_access_key,
            config=import_module("botocore.config").Config(s3={"addressing_style": "path"}),
        )

    def init(self, schema: str) -> Any:
        return og.init(self.uri, schema=schema, options=self.options)

    def open(self, mode: Literal["r", "rw"] = "rw") -> Any:
        return og.open(self.uri, mode=mode, options=self.options)

    def spent(self, act: Callable[[], Any]) -> Spent:
        """What an act costs."""
        self._proxy.clear()
        act()
        seen = self._proxy.requests
        received, sent, kinds, read_kinds = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
        for each in seen:
            part = self._part(each)
            if verb(each) == "GET":
                size = self._received(each)
                received[part] += size
                if part == "tables":
                    read_kinds[self._kind(each)] += size
            elif each.method == "PUT":
                size = int(each.headers.get("content-length", 0))
                sent[part] += size
                if part == "tables":
                    kinds[self._kind(each)] += size
        requests = tuple((self._part(each), verb(each)) for each in seen)
        tables = frozenset("/".join(self._path(each)[:2]) for each in seen if self._part(each) == "tables")
        return Spent(requests, received, sent, kinds, read_kinds, tables)

    def _kind(self, request: ProxiedRequest) -> str:
        return next((name for name in self._path(request) if name in KINDS), "_refs")

    def _part(self, request: ProxiedRequest) -> str:
        head = self._path(request)[0]
        return PARTS.get(head, head or "?")

    def _path(self, request: ProxiedRequest) -> list[str]:
        """Where the object lies below the root, or the prefix that is listed."""
        split = urlsplit(request.target)
        key = unquote(split.path).removeprefix(f"/{self._bucket}").lstrip("/")
        if not key:
            key = parse_qs(split.query).get("prefix", [""])[0]
        return key.removeprefix(self._prefix).lstrip("/").split("/")

    def _received(self, request: ProxiedRequest) -> int:
        """What the answer to a GET holds: the range asked for, cut at the end of the object."""
        key = unquote(urlsplit(request.target).path).removeprefix(f"/{self._bucket}/")
        objects = self._client.list_objects_v2(Bucket=self._bucket, Prefix=key).get("Contents", [])
        size = next((int(each["Size"]) for each in objects if each["Key"] == key), 0)
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", request.headers.get("range", "bytes=0-"))
        assert asked is not None, request
        first, last = asked.groups()
        if not first:
            return min(size, int(last))
        return max(0, min(size, int(last) + 1 if last else size) - int(first))


def verb(request: ProxiedRequest) -> str:
    if request.method == "GET" and "list-type" in parse_qs(urlsplit(request.target).query):
        return "LIST"
    return "PUT?" if request.method == "PUT" and "if-none-match" in request.headers else request.method
