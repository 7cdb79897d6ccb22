"""Writes that know what became of them: one winner of a condition, also when its answer is lost on the way.

    PUT If-None-Match: *  or  If-Match: <etag>
      ├─ 200                     won
      ├─ 412                     lost; so is a replacement by 409 and 404
      ├─ 409                     a create met another request: it had no effect, send it again
      └─ no answer, or 5xx       HEAD: whose nonce does the object carry?
           ├─ ours                 won after all
           ├─ nothing has changed  no effect so far: send it again, a few times
           └─ somebody else's      ours may have landed and been replaced since: nobody can tell

Every write carries a nonce of its own in the object's metadata. All attempts of one call carry the same one, so that an
attempt which lands late is recognised by the next look. A plain write is sent once and then looked for in this way.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import ClientError

from omnigraph.errors import StorageCondition, StorageError
from omnigraph.storage import StoreSilentError
from omnigraph_storage_s3.client import ATTEMPTS, AnswerLostError, S3Client, pause
from omnigraph_storage_s3.errors import error_code, had_no_effect, http_status, is_transient

NONCE: Final = "omnigraph-writer"
"""The metadata entry that says which call wrote an object."""

IN_DOUBT_MOVE: Final = "It may have been made already. Read the object and decide."
"""The next move after a change of which nobody can tell whether it took effect."""


@dataclass(frozen=True, slots=True)
class ObjectState:
    """What a HEAD says about an object."""

    etag: str
    nonce: str | None


@dataclass(frozen=True, slots=True)
class IsAbsent:
    """The condition of a create: there is no object."""

    def header(self) -> dict[str, str]:
        return {"IfNoneMatch": "*"}

    def holds(self, state: ObjectState | None) -> bool:
        return state is None

    def is_refused_by(self, error: BaseException) -> bool:
        """Whether this is the server's way to say that the condition does not hold."""
        return http_status(error) == 412

    def is_undecided_by(self, error: BaseException) -> bool:
        """Whether the server judged nothing: another request, a delete for instance, was under way."""
        return http_status(error) == 409


@dataclass(frozen=True, slots=True)
class HasEtag:
    """The condition of a replacement: the object is still the one that was read."""

    etag: str

    def header(self) -> dict[str, str]:
        return {"IfMatch": self.etag}

    def holds(self, state: ObjectState | None) -> bool:
        return state is not None and state.etag == self.etag

    def is_refused_by(self, error: BaseException) -> bool:
        """As for a create; a missing object does not have the ETag either, and a missing bucket says nothing."""
        status = http_status(error)
        return status in (409, 412) or (status == 404 and error_code(error) != "NoSuchBucket")

    def is_undecided_by(self, error: BaseException) -> bool:
        """Never: whoever replaces an object reads it again anyway when the race is lost."""
        return False


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


def put(client: S3Client, place: Mapping[str, str], data: bytes) -> None:
    """Write an object, whatever is there.

    Raises:
        AnswerLostError: the answer was lost, and the object that is there now is not the one of this call.
        Exception: the last failure of the client, when it is certain that nothing was written.
    """
    nonce = new_nonce()
    try:
        client.change(lambda s3: s3.put_object(**place, Body=data, Metadata={NONCE: nonce}))
    except AnswerLostError as lost:
        try:
            state = look_at(client, place)
        except Exception:  # noqa: BLE001  # the first failure is the one to tell of
            state = None
        if state is None or state.nonce != nonce:
            raise lost from lost.__cause__


def put_if(
    client: S3Client, place: Mapping[str, str], data: bytes, condition: IsAbsent | HasEtag, *, uri: str
) -> str | None:
    """Write an object if the condition holds.

    Returns:
        Its new ETag, or None when the race was lost.

    Raises:
        StorageError: condition ``unknown`` when the answer was lost and the object no longer tells whose write won.
        Exception: the last failure of the client, when it is certain that nothing was written.
    """
    nonce = new_nonce()
    request: dict[str, Any] = {**place, **condition.header(), "Body": data, "Metadata": {NONCE: nonce}}
    # Whether an earlier attempt was sent and failed, and whether one got no answer, so that it may still be under way.
    was_sent = may_land_late = False
    for attempt in range(1, ATTEMPTS + 1):
        try:
            answer = client.send(lambda s3: s3.put_object(**request))
            return str(answer["ETag"])
        except Exception as error:  # noqa: BLE001  # whatever it is, it leaves below unless it is understood
            failure = error
        is_lost, is_undecided = condition.is_refused_by(failure), condition.is_undecided_by(failure)
        if is_lost and not was_sent:
            return None
        if not is_lost and not is_undecided and not is_transient(failure):
            if may_land_late:
                raise _unsettled(uri) from failure
            raise failure
        if is_lost or not (is_undecided or had_no_effect(failure)):
            was_sent = True
            may_land_late |= not isinstance(failure, ClientError)
            state = _look_after_failure(client, place, uri)
            if state is not None and state.nonce == nonce:
                return state.etag
            if is_lost and not may_land_late:
                return None
            if not condition.holds(state):
                raise _unsettled(uri) from failure
        if isinstance(failure, StoreSilentError):
            break
        if attempt < ATTEMPTS:
            pause(attempt)
    if may_land_late:
        raise _unsettled(uri) from failure
    raise failure


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
        help=IN_DOUBT_MOVE,
    )
