"""Every kind of failure of the S3 clients, and what it is evidence of (C33 for S3)."""

from __future__ import annotations

import ssl

import aiohttp
import pytest
from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from omnigraph.errors import StorageCondition
from omnigraph.storage.failures import condition_of
from omnigraph_storage_s3 import errors
from omnigraph_storage_s3.silence import explain_silence

URL = {"endpoint_url": "http://h"}


def answered(status: int, code: str | None = None) -> boto.ClientError:
    """A server's answer as botocore reports it; without a body the status stands for the code."""
    response = {"Error": {"Code": code or str(status)}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return boto.ClientError(response, "PutObject")


def _name(value: object) -> str:
    if isinstance(value, boto.ClientError):
        return f"{errors.error_code(value)} {errors.http_status(value)}"
    return value if isinstance(value, str) else type(value).__name__


def refused_connection() -> BaseException:
    error = boto.EndpointConnectionError(**URL, error="refused")
    error.__context__ = aiohttp.ClientConnectorError(None, ConnectionRefusedError(111, "refused"))  # type: ignore[arg-type]
    return error


@pytest.mark.parametrize(
    ("error", "condition"),
    [
        (answered(404, "NoSuchKey"), "not_found"),
        (answered(404), "not_found"),
        (answered(404, "NoSuchBucket"), "configuration"),
        (answered(400, "InvalidBucketName"), "configuration"),
        (answered(403, "AccessDenied"), "configuration"),
        (answered(403, "InvalidAccessKeyId"), "configuration"),
        (answered(403, "SignatureDoesNotMatch"), "configuration"),
        (answered(400, "ExpiredToken"), "configuration"),
        (answered(403, "RequestTimeTooSkewed"), "configuration"),
        (answered(403), "configuration"),
        (answered(401), "configuration"),
        (answered(301, "PermanentRedirect"), "configuration"),
        (answered(400, "AuthorizationHeaderMalformed"), "configuration"),
        (answered(405, "MethodNotAllowed"), "configuration"),
        (answered(501, "NotImplemented"), "configuration"),
        (answered(507), "configuration"),
        (answered(400), "configuration"),
        (answered(412, "PreconditionFailed"), "precondition"),
        (answered(409, "ConditionalRequestConflict"), "precondition"),
        (answered(409, "OperationAborted"), "precondition"),
        (answered(304), "precondition"),
        (answered(503, "SlowDown"), "transient"),
        (answered(503, "ServiceUnavailable"), "transient"),
        (answered(500, "InternalError"), "transient"),
        (answered(502), "transient"),
        (answered(504), "transient"),
        (answered(520), "transient"),
        (answered(429), "transient"),
        (answered(400, "RequestTimeout"), "transient"),
        (answered(400, "BadDigest"), "transient"),
        (answered(418, "Teapot"), "unknown"),
        (boto.ClientError({}, "PutObject"), "unknown"),
        (boto.ConnectTimeoutError(**URL), "transient"),
        (boto.ReadTimeoutError(**URL), "transient"),
        (boto.EndpointConnectionError(**URL), "transient"),
        (boto.ConnectionClosedError(**URL), "transient"),
        (boto.ProxyConnectionError(proxy_url="http://p"), "transient"),
        (boto.HTTPClientError(error="x"), "transient"),
        (boto.ResponseStreamingError(error="x"), "transient"),
        (boto.IncompleteReadError(actual_bytes=1, expected_bytes=2), "transient"),
        (ResponseParserError(), "transient"),
        (aiohttp.ServerDisconnectedError(), "transient"),
        (aiohttp.ClientOSError(104, "reset"), "transient"),
        (aiohttp.ClientPayloadError(), "transient"),
        (TimeoutError(), "transient"),
        (boto.SSLError(**URL, error="x"), "configuration"),
        (aiohttp.ClientConnectorSSLError(None, ssl.SSLError()), "configuration"),  # type: ignore[arg-type]
        (boto.NoCredentialsError(), "configuration"),
        (boto.PartialCredentialsError(provider="p", cred_var="v"), "configuration"),
        (boto.CredentialRetrievalError(provider="p", error_msg="m"), "configuration"),
        (boto.ProfileNotFound(profile="p"), "configuration"),
        (boto.NoRegionError(), "configuration"),
        (boto.InvalidRegionError(region_name="!"), "configuration"),
        (boto.ParamValidationError(report="x"), "configuration"),
        (boto.UnauthorizedSSOTokenError(), "configuration"),
        (boto.FlexibleChecksumError(error_msg="x"), "permanent"),
        (boto.ChecksumError(checksum_type="c", expected_checksum="a", actual_checksum="b"), "permanent"),
        (RuntimeError("x"), "unknown"),
    ],
    ids=_name,
)
def test_a_failure_is_judged_by_its_type_its_code_and_its_status(error: BaseException, condition: str):
    assert condition_of(error, errors.s3_condition) == StorageCondition(condition)


def test_the_text_of_a_failure_says_nothing():
    response = {"Error": {"Code": "Odd", "Message": "NoSuchKey 404"}, "ResponseMetadata": {"HTTPStatusCode": 418}}
    assert errors.s3_condition(boto.ClientError(response, "GetObject")) is StorageCondition.UNKNOWN


@pytest.mark.parametrize(
    "error",
    [refused_connection(), boto.ConnectTimeoutError(**URL), answered(503, "SlowDown"), answered(429)],
    ids=_name,
)
def test_some_failures_prove_that_nothing_was_done(error: BaseException):
    assert errors.had_no_effect(error)


@pytest.mark.parametrize(
    "error",
    [
        boto.ReadTimeoutError(**URL),
        boto.ConnectionClosedError(**URL),
        boto.EndpointConnectionError(**URL),
        answered(500, "InternalError"),
        answered(503, "ServiceUnavailable"),
        answered(504),
    ],
    ids=_name,
)
def test_other_failures_leave_open_whether_something_was_done(error: BaseException):
    assert not errors.had_no_effect(error)


def test_a_code_that_does_not_look_like_one_is_not_repeated():
    error = answered(403, "<b>token=hush</b>")
    assert errors.describe_answer(error) == "HTTP status 403"


def test_an_answer_is_described_by_code_and_status():
    assert errors.describe_answer(answered(503, "SlowDown")) == "SlowDown with HTTP status 503"


SIGNED = {"endpoint_url": "https://id:hush@h:9000/bucket/key?X-Amz-Signature=hush#hush"}


@pytest.mark.parametrize(
    ("error", "words", "move"),
    [
        (boto.NoCredentialsError(), "no credentials were found for https://store.example", "AWS_ACCESS_KEY_ID"),
        (boto.PartialCredentialsError(provider="hush", cred_var="hush"), "only a part of the cred", "AWS_PROFILE"),
        (boto.ProfileNotFound(profile="hush"), "there is no AWS profile", "AWS_PROFILE"),
        (boto.CredentialRetrievalError(provider="hush", error_msg="hush"), "could not be fetched", "Sign in again"),
        (boto.NoRegionError(), "the region of the bucket is missing", "AWS_REGION"),
        (boto.ConfigParseError(path="hush", error="hush"), "the AWS configuration of this user", "AWS_CONFIG_FILE"),
        (boto.ParamValidationError(report="hush"), "refused before it was sent", "name of the bucket"),
        (boto.ProxyConnectionError(proxy_url="http://u:hush@p"), "the proxy on the way to https://store", "NO_PROXY"),
        (boto.SSLError(**SIGNED, error="hush"), "the TLS handshake with https://h:9000 failed", "http://"),
        (
            aiohttp.ClientConnectorCertificateError(None, ssl.SSLCertVerificationError("hush")),  # type: ignore[arg-type]
            "the certificate of https://store.example is not trusted",
            "AWS_CA_BUNDLE",
        ),
        (boto.ConnectTimeoutError(**SIGNED), "https://h:9000 did not accept a connection in time", "reachable"),
        (boto.ReadTimeoutError(**SIGNED), "https://h:9000 accepted the request and", "up and reachable"),
        (TimeoutError("hush"), "https://store.example accepted the request and", "read_timeout_seconds"),
        (refused_connection(), "http://h does not answer", "up and reachable at this address"),
        (boto.EndpointConnectionError(**SIGNED), "https://h:9000 does not answer", "up and reachable"),
        (boto.ConnectionClosedError(**SIGNED), "https://h:9000 closed the connection", "up and reachable"),
        (aiohttp.ServerDisconnectedError("hush"), "https://store.example closed the conn", "up and reachable"),
        (ResponseParserError("hush"), "https://store.example answered with something that is not S3", "endpoint_url"),
    ],
    ids=_name,
)
def test_a_failure_without_an_answer_names_the_address_and_the_next_move(error: BaseException, words: str, move: str):
    explained = explain_silence(error, "https://store.example/gateway")
    assert explained is not None
    assert words in explained[0]
    assert move in explained[1]
    assert "hush" not in " ".join(explained)
    assert type(error).__name__ not in " ".join(explained)


def test_only_scheme_host_and_port_of_a_url_are_shown():
    def shown(url: str) -> str:
        explained = explain_silence(boto.ReadTimeoutError(endpoint_url=url), "http://[")
        assert explained is not None
        return explained[0].partition(" accepted")[0]

    assert shown("http://a:b@[::1]:9/x?y") == "http://[::1]:9"
    assert shown("http://h/x") == "http://h"
    assert shown("http://h:port/x") == "the store"


def test_what_is_no_failure_of_the_clients_is_left_to_the_general_translation():
    assert explain_silence(RuntimeError("x"), "http://h") is None
