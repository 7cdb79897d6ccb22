"""What the exceptions of the S3 clients are evidence of, by type, error code and HTTP status, never by text.

Three layers raise below s3fs: ``ClientError`` is an answer of the server, ``BotoCoreError`` is botocore's own, and
aiohttp speaks up while a body is streamed. The words and the next move for people are chosen here too, and hold nothing
but codes: the texts of these exceptions may quote what was sent.
"""

from __future__ import annotations

import re
from typing import Final

import aiohttp
from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from omnigraph.errors import StorageCondition
from omnigraph.storage import StoreSilentError
from omnigraph.storage.failures import causes, condition_of

_T, _C, _P = StorageCondition.TRANSIENT, StorageCondition.CONFIGURATION, StorageCondition.PRECONDITION

BY_CODE: Final = {
    "NoSuchKey": StorageCondition.NOT_FOUND, "NoSuchVersion": StorageCondition.NOT_FOUND,
    # 404, and yet not the absence of an object.
    "NoSuchBucket": _C,
    "AccessDenied": _C, "InvalidAccessKeyId": _C, "SignatureDoesNotMatch": _C, "ExpiredToken": _C, "InvalidToken": _C,
    "RequestTimeTooSkewed": _C, "AuthorizationHeaderMalformed": _C, "PermanentRedirect": _C, "InvalidBucketName": _C,
    "QuotaExceeded": _C, "XMinioStorageFull": _C,
    "PreconditionFailed": _P, "ConditionalRequestConflict": _P, "OperationAborted": _P,
    # These come with status 400, and yet the next try may pass.
    "RequestTimeout": _T, "IncompleteBody": _T, "BadDigest": _T, "XAmzContentSHA256Mismatch": _T,
    "SlowDown": _T, "TooManyRequests": _T, "Throttling": _T, "ThrottlingException": _T, "RequestLimitExceeded": _T,
    "InternalError": _T, "ServiceUnavailable": _T,
}  # fmt: skip
"""Error codes of S3 that say more than their status."""

BY_STATUS: Final = {
    301: _C, 307: _C, 308: _C, 400: _C, 401: _C, 403: _C, 405: _C, 411: _C, 413: _C, 414: _C, 501: _C, 505: _C, 507: _C,
    304: _P, 409: _P, 412: _P,
    404: StorageCondition.NOT_FOUND,
    408: _T, 425: _T, 429: _T, 500: _T, 502: _T, 503: _T, 504: _T, 509: _T,
}  # fmt: skip
"""HTTP status codes of answers whose error code says nothing."""

BY_TYPE: Final[tuple[tuple[type[BaseException], StorageCondition], ...]] = (
    (boto.SSLError, _C),
    (aiohttp.ClientSSLError, _C),
    (boto.ConnectionError, _T),
    (boto.HTTPClientError, _T),
    (boto.IncompleteReadError, _T),
    (ResponseParserError, _T),
    (aiohttp.ClientConnectionError, _T),
    (aiohttp.ClientPayloadError, _T),
    (boto.CredentialRetrievalError, _C),
    (boto.InvalidConfigError, _C),
    (boto.InvalidDNSNameError, _C),
    (boto.InvalidProxiesConfigError, _C),
    (boto.NoAuthTokenError, _C),
    (boto.NoCredentialsError, _C),
    (boto.BaseEndpointResolverError, _C),
    (boto.EndpointProviderError, _C),
    (boto.ParamValidationError, _C),
    (boto.PartialCredentialsError, _C),
    (boto.ProfileNotFound, _C),
    (boto.ConfigNotFound, _C),
    (boto.ConfigParseError, _C),
    (boto.SSOError, _C),
    (boto.TokenRetrievalError, _C),
    (boto.UnknownSignatureVersionError, _C),
    (boto.UnsupportedSignatureVersionError, _C),
    (boto.ValidationError, _C),
    (boto.ChecksumError, StorageCondition.PERMANENT),
    (boto.FlexibleChecksumError, StorageCondition.PERMANENT),
)
"""Exceptions that are no answer of the server; the first one that fits."""

_UNSENT: Final = (
    StoreSilentError,
    aiohttp.ClientConnectorError,
    boto.ConnectTimeoutError,
    boto.ProxyConnectionError,
    boto.SSLError,
)
_REFUSED_UNDONE: Final = frozenset({"SlowDown", "TooManyRequests", "Throttling", "ThrottlingException"})
_CODE: Final = re.compile(r"[A-Za-z][A-Za-z0-9.]{0,63}\Z")

_ADVICE_BY_CODE: Final = {
    "NoSuchBucket": "Create the bucket, or correct its name.",
    "InvalidBucketName": "Correct the name of the bucket.",
    "RequestTimeTooSkewed": "Set the clock of this machine.",
    "AuthorizationHeaderMalformed": "Set the region of the bucket: option region or variable AWS_REGION.",
    "PermanentRedirect": "Set the region of the bucket: option region or variable AWS_REGION.",
    "ExpiredToken": "Renew the temporary credentials.",
}
_CREDENTIALS_ADVICE: Final = (
    "Check the credentials (access_key_id, secret_access_key, session_token, or the AWS_ variables of these names) and "
    "what they are allowed to do with this bucket."
)


def s3_condition(error: BaseException) -> StorageCondition | None:
    """What one exception of the S3 clients is evidence of; None when it is not one of theirs."""
    if isinstance(error, boto.ClientError):
        code, status = error_code(error), http_status(error)
        # Whatever else a server invents above 500, it is its own trouble.
        fallback = _T if status is not None and status > 500 else StorageCondition.UNKNOWN
        return BY_CODE.get(code or "") or BY_STATUS.get(status or 0) or fallback
    return next((condition for kind, condition in BY_TYPE if isinstance(error, kind)), None)


def is_transient(error: BaseException) -> bool:
    """Whether the evidence is of the passing kind. No leave to repeat a conditional write."""
    return condition_of(error, s3_condition) is StorageCondition.TRANSIENT


def error_code(error: BaseException) -> str | None:
    """The server's error code, when it answered with one that looks like one."""
    if not isinstance(error, boto.ClientError):
        return None
    code = str(error.response.get("Error", {}).get("Code", ""))
    return code if _CODE.match(code) else None


def http_status(error: BaseException) -> int | None:
    """The HTTP status of the server's answer, when there was one."""
    if not isinstance(error, boto.ClientError):
        return None
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return status if isinstance(status, int) else None


def had_no_effect(error: BaseException) -> bool:
    """Whether the request provably did nothing: no connection came about, or the server turned it away unread."""
    if isinstance(error, boto.ClientError):
        return error_code(error) in _REFUSED_UNDONE or http_status(error) == 429
    return any(isinstance(cause, _UNSENT) for cause in causes(error))


def describe_answer(error: boto.ClientError) -> str:
    """The server's answer in a few words: its code and status."""
    code, status = error_code(error), http_status(error)
    words = [code or "", "" if status is None else f"HTTP status {status}"]
    return " with ".join(filter(None, words)) or "without a code"


def advice_for_answer(error: boto.ClientError) -> str | None:
    """The next move that this answer asks for; None when its condition says enough."""
    by_status = _CREDENTIALS_ADVICE if http_status(error) in (401, 403) else None
    return _ADVICE_BY_CODE.get(error_code(error) or "", by_status)
