"""Conditional writes: exactly one winner, also when the winner's answer is lost on the way.

    PUT If-None-Match: *  or  If-Match: <etag>
      ├─ 200                     won
      ├─ 412, 409 (404)          lost
      └─ no answer, or 5xx       HEAD: whose nonce does the object carry?
           ├─ ours                 won after all
           ├─ nothing has changed  no effect so far: send it again, a few times
           └─ somebody else's      ours may have landed and been replaced since: nobody can tell

Every write carries a nonce of its own in the object's metadata. All attempts of one call carry the same one, so that an
attempt which lands late is recognised by the next look.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import ClientError

from omnigraph.errors import StorageCondition, StorageError
from omnigraph_storage_s3.client import ATTEMPTS, S3Client, pause
from omnigraph_storage_s3.errors import error_code, had_no_effect, http_status, is_transient

NONCE: Final = "omnigraph-writer"
"""The metadata entry that says which call wrote an object."""


@dataclass(frozen=True, slots=True)
class ObjectState:
    """What a HEAD says about an object."""

    etag: str
    nonce: str | None


def new_nonce() -> str:
    """A name for one write call that nobody else has."""
    return secrets.token_hex(16)


def look_at(client: S3Client, place: Mapping[str, str]) -> ObjectState | None:
    """The object's state now, or None when there is no object."""
    try:
        answer = client.ask(lambda s3: s3.head_object(**place))
    except ClientError as error:
        if http_status(error) == 404:
            return None
        raise
    return ObjectState(answer["ETag"], answer.get("Metadata", {}).get(NONCE))


def put_if(client: S3Client, place: Mapping[str, str], data: bytes, *, expected: str | None, uri: str) -> str | None:
    """Write an object if it is absent, or if it still has the ETag ``expected``.

    Returns:
        Its new ETag, or None when the race was lost.

    Raises:
        StorageError: condition ``unknown`` when the answer was lost and the object no longer tells whose write won.
        Exception: the last failure of the client, when it is certain that nothing was written.
    """
    nonce = new_nonce()
    condition = {"IfNoneMatch": "*"} if expected is None else {"IfMatch": expected}
    request: dict[str, Any] = {**place, **condition, "Body": data, "Metadata": {NONCE: nonce}}
    # Whether an earlier attempt was sent and failed, and whether one got no answer, so that it may still be under way.
    was_sent = may_land_late = False
    for attempt in range(1, ATTEMPTS + 1):
        try:
            answer = client.send(lambda s3: s3.put_object(**request))
            return str(answer["ETag"])
        except Exception as error:  # noqa: BLE001  # whatever it is, it leaves below unless it is understood
            failure = error
        is_lost = _is_lost_race(failure, is_replacement=expected is not None)
        if is_lost and not was_sent:
            return None
        if not is_lost and not is_transient(failure):
            if may_land_late:
                raise _unsettled(uri) from failure
            raise failure
        if is_lost or not had_no_effect(failure):
            was_sent = True
            may_land_late |= not isinstance(failure, ClientError)
            state = _look_after_failure(client, place, uri)
            if state is not None and state.nonce == nonce:
                return state.etag
            if is_lost and not may_land_late:
                return None
            is_unchanged = state is None if expected is None else state is not None and state.etag == expected
            if not is_unchanged:
                raise _unsettled(uri) from failure
        if attempt < ATTEMPTS:
            pause(attempt)
    if may_land_late:
        raise _unsettled(uri) from failure
    raise failure


def _is_lost_race(error: BaseException, *, is_replacement: bool) -> bool:
    """Whether the server says that the condition does not hold; a missing bucket says nothing of the kind."""
    status = http_status(error)
    return status in (409, 412) or (is_replacement and status == 404 and error_code(error) != "NoSuchBucket")


def _look_after_failure(client: S3Client, place: Mapping[str, str], uri: str) -> ObjectState | None:
    try:
        return look_at(client, place)
    except Exception as error:
        raise _unsettled(uri) from error


def _unsettled(uri: str) -> StorageError:
    return StorageError(
        f"It cannot be told whether the write of {uri} took effect: its answer was lost, and the object does not say.",
        condition=StorageCondition.UNKNOWN,
        uri=uri,
        help="Read the object and decide.",
    )
