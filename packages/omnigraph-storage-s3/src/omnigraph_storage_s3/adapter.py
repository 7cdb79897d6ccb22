"""``S3Adapter``: control objects in a bucket, one or two requests per verb.

    read, read_versioned   GET with a range          write            PUT
    write_if_absent        PUT If-None-Match: *      write_if_match   PUT If-Match: <etag>
    list, list_dir         LIST, page by page        exists           HEAD, then LIST when there is no such object
    delete                 DELETE                    rename           COPY and DELETE
    delete_prefix          LIST, then POST ?delete for a thousand keys at a time

Tokens are ETags. On most servers an ETag is a digest of the content, so a token says *which bytes* an object holds and
not *which write* put them there: an object that was changed and changed back has its first token again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import LanceLocation, ObjectKey, StorageAdapter, StorageUri, VersionedObject, parse_key
from omnigraph.storage.failures import advice_for, condition_of
from omnigraph_storage_s3.client import AnswerLostError, S3Client
from omnigraph_storage_s3.conditional import IN_DOUBT_MOVE, HasEtag, IsAbsent, look_at, put, put_if
from omnigraph_storage_s3.errors import (
    advice_for_answer,
    describe_answer,
    error_code,
    http_status,
    is_transient,
    s3_condition,
)
from omnigraph_storage_s3.options import S3Settings
from omnigraph_storage_s3.silence import explain_silence

PAGE_KEYS: Final = 1000
"""Keys per page of a listing and per request of a deletion: the most that S3 allows."""

# To a server "*" means any object at all, and a comma one out of several; neither is the token of a read.
_ONE_ETAG: Final = re.compile(r'(?:W/)?(?:"[^"\x00-\x1f\x7f]*"|[^"*,\s\x00-\x1f\x7f]+)')


class S3Adapter(StorageAdapter):
    """Control objects below one root in one bucket."""

    def __init__(self, root: StorageUri, options: Mapping[str, Any] | None = None) -> None:
        super().__init__(root, options)
        self._settings = S3Settings.from_options(self.options)
        self._client = S3Client(self._settings)
        self._bucket = root.authority
        self._top = f"{root.path}/" if root.path else ""

    @property
    def endpoint(self) -> str:
        return f"{self._server}/{self._bucket}"

    @property
    def timeout_seconds(self) -> float:
        return self._settings.read_timeout_seconds

    @property
    def _server(self) -> str:
        return self._settings.endpoint_url or "https://s3.amazonaws.com"

    # ── the five ─────────────────────────────────────────────────────────────────────────────────────────────

    def _read(self, key: ObjectKey, limit: int) -> bytes:
        return self._read_versioned(key, limit).data

    def _write(self, key: ObjectKey, data: bytes) -> None:
        put(self._client, self._place(key), data)

    def _write_if_absent(self, key: ObjectKey, data: bytes) -> bool:
        return put_if(self._client, self._place(key), data, IsAbsent(), uri=self.uri(key)) is not None

    def _list(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        return self._own_keys(self._keys_below(prefix))

    def _delete(self, key: ObjectKey) -> None:
        try:
            self._client.change(lambda s3: s3.delete_object(**self._place(key)))
        except ClientError as error:
            # S3 reports the deletion of nothing as success; some servers do not.
            if s3_condition(error) is not StorageCondition.NOT_FOUND:
                raise

    # ── better than the defaults ─────────────────────────────────────────────────────────────────────────────

    def _read_versioned(self, key: ObjectKey, limit: int) -> VersionedObject:
        request = self._place(key)
        try:
            return self._fetch({**request, "Range": f"bytes=0-{limit - 1}"}, limit)
        except ClientError as error:
            # No byte of an empty object is in any range.
            if http_status(error) != 416:
                raise
        return self._fetch(request, limit)

    def _write_if_match(self, key: ObjectKey, data: bytes, token: str) -> str | None:
        if not _ONE_ETAG.fullmatch(token):
            return None
        return put_if(self._client, self._place(key), data, HasEtag(token), uri=self.uri(key))

    def _exists(self, key: ObjectKey) -> bool:
        if not key.is_root and look_at(self._client, self._place(key)) is not None:
            return True
        # Two keys, because a stranger's directory marker sorts before the first object.
        return any(True for _ in self._own_keys(self._keys_below(key, page_keys=2)))

    def _list_dir(self, prefix: ObjectKey) -> Iterator[ObjectKey]:
        return self._own_keys(self._keys_below(prefix, delimiter="/"))

    def _rename(self, source: ObjectKey, target: ObjectKey) -> None:
        if source == target:
            self._client.ask(lambda s3: s3.head_object(**self._place(source)))
            return
        request = {**self._place(target), "CopySource": self._place(source)}
        self._client.change(lambda s3: s3.copy_object(**request))
        with _after_an_effect():
            self._delete(source)

    def _delete_prefix(self, prefix: ObjectKey) -> None:
        # Names that are no keys of ours go as well: the promise is that nothing is left below.
        names = list(self._keys_below(prefix))
        for start in range(0, len(names), PAGE_KEYS):
            with _after_an_effect() if start else nullcontext():
                self._delete_batch(names[start : start + PAGE_KEYS])
        if not prefix.is_root:
            with _after_an_effect() if names else nullcontext():
                self._delete(prefix)

    def _condition(self, error: BaseException) -> StorageCondition | None:
        return s3_condition(error)

    @contextmanager
    def _edge(self, verb: str, key: ObjectKey) -> Iterator[None]:
        """Name the server, its code and the next move, which the general translation cannot know."""
        with super()._edge(verb, key):
            try:
                yield
            except AnswerLostError as lost:
                cause = lost.__cause__ or lost
                raise StorageError(
                    f"It cannot be told whether the request to {verb} {self.uri(key)} took effect: "
                    f"{self._what_happened(cause)}.",
                    condition=StorageCondition.UNKNOWN,
                    uri=self.uri(key),
                    help=IN_DOUBT_MOVE,
                    details={"verb": verb, "error": type(cause).__name__, "status": http_status(cause)},
                ) from cause
            except ClientError as error:
                condition = condition_of(error, s3_condition)
                raise StorageError(
                    f"Could not {verb} {self.uri(key)}: the store answered {describe_answer(error)}.",
                    condition=condition,
                    uri=self.uri(key),
                    help=advice_for_answer(error) or advice_for(error, condition),
                    details={"verb": verb, "code": error_code(error), "status": http_status(error)},
                ) from error
            except (BotoCoreError, ResponseParserError, aiohttp.ClientError, TimeoutError) as error:
                explained = explain_silence(error, self._server)
                if explained is None:
                    raise
                happened, move = explained
                raise StorageError(
                    f"Could not {verb} {self.uri(key)}: {happened}.",
                    condition=condition_of(error, s3_condition),
                    uri=self.uri(key),
                    help=move,
                    details={"verb": verb, "error": type(error).__name__},
                ) from error

    def lance_location(self, key: ObjectKey) -> LanceLocation:
        # Lance parses this as a URL: an unquoted "#" or "?" would silently end the path, and "%" be decoded.
        place = quote(self._top + key.value) if key.value else quote(self.root.path)
        return LanceLocation(f"s3://{self._bucket}/{place}", self._settings.lance_options(self._bucket))

    def close(self) -> None:
        self._client.close()

    def _what_happened(self, error: BaseException) -> str:
        if isinstance(error, ClientError):
            return f"the store answered {describe_answer(error)}"
        explained = explain_silence(error, self._server)
        return explained[0] if explained else "its answer was lost"

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────

    def _place(self, key: ObjectKey) -> dict[str, str]:
        return {"Bucket": self._bucket, "Key": self._top + key.value}

    def _fetch(self, request: Mapping[str, str], limit: int) -> VersionedObject:
        async def fetch(s3: Any) -> VersionedObject:
            answer = await s3.get_object(**request)
            body, chunks, size = answer["Body"], [], 0
            try:
                while size < limit and (chunk := await body.read(limit - size)):
                    chunks.append(chunk)
                    size += len(chunk)
            finally:
                body.close()
            return VersionedObject(b"".join(chunks), answer["ETag"])

        return self._client.ask(fetch)

    def _keys_below(self, prefix: ObjectKey, *, delimiter: str = "", page_keys: int = PAGE_KEYS) -> Iterator[str]:
        """Whole object names in the bucket, as they come, page by page."""
        start = self._top + (f"{prefix.value}/" if prefix.value else "")
        request: dict[str, Any] = {"Bucket": self._bucket, "Prefix": start, "MaxKeys": page_keys}
        if delimiter:
            request["Delimiter"] = delimiter
        while True:
            page = self._client.ask(lambda s3: s3.list_objects_v2(**request))
            yield from (entry["Key"] for entry in page.get("Contents", ()))
            if not page.get("IsTruncated"):
                return
            request["ContinuationToken"] = page["NextContinuationToken"]

    def _own_keys(self, names: Iterator[str]) -> Iterator[ObjectKey]:
        """The names that are keys of this root; directory markers and what strangers left are passed over."""
        for name in names:
            relative = name[len(self._top) :]
            try:
                key = parse_key(relative)
            except StorageError:
                continue
            if key.value == relative and not key.is_root:
                yield key

    def _delete_batch(self, names: list[str]) -> None:
        batch = {"Objects": [{"Key": name} for name in names], "Quiet": True}
        answer = self._client.change(lambda s3: s3.delete_objects(Bucket=self._bucket, Delete=batch))
        refused = [entry for entry in answer.get("Errors", ()) if entry.get("Code") != "NoSuchKey"]
        if refused:
            # The answer as a whole is 200; the first refusal stands for all.
            raise ClientError({"Error": {"Code": refused[0].get("Code", "")}}, "DeleteObjects")


@contextmanager
def _after_an_effect() -> Iterator[None]:
    """For the later steps of a change: none of their failures leaves the store as it was."""
    try:
        yield
    except AnswerLostError:
        raise
    except Exception as error:
        if is_transient(error):
            raise AnswerLostError from error
        raise
