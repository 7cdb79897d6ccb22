"""From exceptions to conditions: the whole matrix, and how far a chain of causes is followed."""

from __future__ import annotations

import errno
import io
import itertools
import json
import socket
import ssl

import pytest

from omnigraph.errors import StorageCondition
from omnigraph.storage.failures import MAX_CAUSES, advice_for, causes, condition_of

T = StorageCondition.TRANSIENT
C = StorageCondition.CONFIGURATION
N = StorageCondition.NOT_FOUND
P = StorageCondition.PRECONDITION
D = StorageCondition.PERMANENT
U = StorageCondition.UNKNOWN

# The mapping of the specification, number by number.
SPECIFIED = {
    "ETIMEDOUT": T,
    "EINTR": T,
    "ECONNRESET": T,
    "ECONNREFUSED": T,
    "ECONNABORTED": T,
    "EPIPE": T,
    "EHOSTUNREACH": T,
    "ENETUNREACH": T,
    "EAGAIN": T,
    "EWOULDBLOCK": T,
    "EACCES": C,
    "EPERM": C,
    "EINVAL": C,
    "ENOTSUP": C,
    "EOPNOTSUPP": C,
    "ENOSYS": C,
    "ENOSPC": C,
    "EDQUOT": C,
    "EROFS": C,
    "EFBIG": C,
    "ENOTDIR": C,
    "EISDIR": C,
    "ENAMETOOLONG": C,
    "ELOOP": C,
    "ENOENT": N,
    "EEXIST": P,
}
# Kin of those: Python itself makes the first three a BrokenPipeError and BlockingIOErrors.
KIN = {
    "ESHUTDOWN": T,
    "EALREADY": T,
    "EINPROGRESS": T,
    "EBUSY": T,
    "ESTALE": T,
    "EMFILE": C,
    "ENFILE": C,
    "EXDEV": C,
    "EMLINK": C,
    "ENOTEMPTY": P,
}
BY_NUMBER = {getattr(errno, name): condition for name, condition in (SPECIFIED | KIN).items()}


class ClientError(Exception):
    """Stands for the exceptions of a store's own client."""


class StatusError(Exception):
    """An exception of a client that carries a status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def recognise(error: BaseException) -> StorageCondition | None:
    if isinstance(error, StatusError):
        return {404: N, 403: C, 503: T}.get(error.status)
    return None


def chain(*links: BaseException) -> BaseException:
    """The first of the links, each raised from the next."""
    for outer, inner in itertools.pairwise(links):
        outer.__cause__ = inner
    return links[0]


def during(outer: BaseException, inner: BaseException) -> BaseException:
    """``outer`` as Python leaves it when raised while ``inner`` is handled."""

    def carelessly() -> None:
        try:
            raise inner
        except type(inner):
            raise outer  # noqa: B904

    with pytest.raises(type(outer)):
        carelessly()
    assert outer.__context__ is inner
    return outer


# ── the matrix ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", sorted(errno.errorcode), ids=lambda number: errno.errorcode[number])
def test_every_number_of_the_operating_system_has_its_condition_and_any_other_is_unknown(number: int) -> None:
    assert condition_of(OSError(number, "text")) is BY_NUMBER.get(number, U)


@pytest.mark.parametrize(
    ("error", "condition"),
    [
        (TimeoutError(), T),
        (ConnectionError(), T),
        (ConnectionResetError(), T),
        (ConnectionRefusedError(), T),
        (ConnectionAbortedError(), T),
        (BrokenPipeError(), T),
        (InterruptedError(), T),
        (BlockingIOError(), T),
        (PermissionError(), C),
        (NotADirectoryError(), C),
        (IsADirectoryError(), C),
        (NotImplementedError(), C),
        (io.UnsupportedOperation(), C),
        (FileNotFoundError(), N),
        (FileExistsError(), P),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), D),
        (OSError(), U),
        (OSError("only a text"), U),
        (ValueError(), U),
        (KeyError("a"), U),
        (RuntimeError(), U),
        (MemoryError(), U),
        (EOFError(), U),
        (ClientError(), U),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
def test_types_without_a_number_have_their_condition(error: BaseException, condition: StorageCondition) -> None:
    assert condition_of(error) is condition


@pytest.mark.parametrize(
    "text", ["not found", "No such file or directory", "404", "timed out", "PreconditionFailed", "Access Denied"]
)
def test_text_is_never_evidence(text: str) -> None:
    assert condition_of(ClientError(text)) is U
    assert condition_of(OSError(text)) is U


@pytest.mark.parametrize(
    "error",
    [
        ssl.SSLWantReadError(ssl.SSL_ERROR_WANT_READ, "The operation did not complete"),
        ssl.SSLCertVerificationError(ssl.SSL_ERROR_SSL, "certificate verify failed"),
        socket.gaierror(errno.ENOENT, "EAI_AGAIN on some systems"),
        socket.herror(errno.EPERM, "HOST_NOT_FOUND"),
        OSError("weird", "number"),
        OSError(["weirder"], "number"),
        OSError(2**70, "number"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_numbers_that_are_not_of_the_operating_system_are_not_read_as_if_they_were(error: OSError) -> None:
    condition = condition_of(error)
    assert condition is U
    assert advice_for(error, condition) == advice_for(ClientError(), U)


# ── chains ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_first_telling_exception_of_the_chain_decides() -> None:
    assert condition_of(chain(ClientError(), ConnectionResetError())) is T
    assert condition_of(chain(ClientError(), ClientError(), PermissionError(), FileNotFoundError())) is C
    assert condition_of(chain(TimeoutError(), PermissionError())) is T


def test_a_chain_is_followed_for_eight_exceptions_and_not_for_nine() -> None:
    assert MAX_CAUSES == 8
    eight = [ClientError() for _ in range(7)]
    assert condition_of(chain(*eight, FileNotFoundError())) is N
    nine = [ClientError() for _ in range(8)]
    assert condition_of(chain(*nine, FileNotFoundError())) is U
    assert len(list(causes(nine[0]))) == 8


def test_a_chain_that_bites_its_tail_ends() -> None:
    first, second = ClientError(), ClientError()
    chain(first, second)
    chain(second, first)
    assert condition_of(first) is U


def test_an_exception_raised_while_another_was_handled_tells_of_that_one() -> None:
    assert condition_of(during(ClientError(), ConnectionResetError())) is T


def test_a_context_that_was_cut_off_is_not_followed() -> None:
    error = during(ClientError(), ConnectionResetError())
    error.__suppress_context__ = True
    assert condition_of(error) is U


def test_a_cause_is_followed_and_not_the_context_beside_it() -> None:
    error = during(ClientError(), ConnectionResetError())
    chain(error, PermissionError())
    assert condition_of(error) is C


def test_absence_is_believed_only_where_it_was_said_and_not_from_something_missing_on_the_way() -> None:
    no_credentials_file = during(ClientError("no credentials"), FileNotFoundError(errno.ENOENT, "credentials"))
    assert condition_of(no_credentials_file) is U
    assert condition_of(chain(ClientError(), during(ClientError(), FileNotFoundError()))) is U
    assert condition_of(during(StatusError(500), StatusError(404)), recognise) is U
    assert condition_of(chain(ClientError(), FileNotFoundError())) is N


# ── a backend's own exceptions ───────────────────────────────────────────────────────────────────────────────────


def test_a_backend_is_asked_first_for_each_exception_of_the_chain() -> None:
    class ThrottledError(FileNotFoundError):
        pass

    assert condition_of(ThrottledError(), lambda error: T if isinstance(error, ThrottledError) else None) is T
    assert condition_of(chain(ClientError(), StatusError(404)), recognise) is N
    assert condition_of(chain(PermissionError(), StatusError(404)), recognise) is C


def test_what_a_backend_does_not_know_is_judged_as_ever() -> None:
    assert condition_of(chain(StatusError(500), TimeoutError()), recognise) is T
    assert condition_of(StatusError(500), recognise) is U


# ── the next move ────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_condition_has_a_next_move_of_its_own() -> None:
    moves = {advice_for(ClientError(), condition) for condition in StorageCondition}
    assert len(moves) == len(StorageCondition)
    assert all(move.endswith(".") for move in moves)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("EACCES", "access"),
        ("EPERM", "access"),
        ("ENOSPC", "space"),
        ("EROFS", "writable"),
        ("ENOTDIR", "file stands"),
        ("EISDIR", "directory stands"),
        ("ELOOP", "loop"),
    ],
)
def test_failures_of_a_disk_get_a_next_move_that_fits_them(name: str, word: str) -> None:
    error = OSError(getattr(errno, name), "text")
    assert word in advice_for(error, condition_of(error))
    assert word in advice_for(chain(ClientError(), error), C)


def test_the_next_move_fits_the_exception_that_gave_the_condition_and_no_other() -> None:
    timed_out = during(TimeoutError(), PermissionError(errno.EACCES, "text"))
    assert condition_of(timed_out) is T
    assert advice_for(timed_out, T) == advice_for(ClientError(), T)
    missing = chain(StatusError(404), PermissionError(errno.EACCES, "text"))
    assert condition_of(missing, recognise) is N
    assert advice_for(missing, N) == advice_for(ClientError(), N)


def test_bytes_that_are_no_json_are_not_mistaken_for_a_failure_of_the_store() -> None:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads("{")
    assert condition_of(caught.value) is U
