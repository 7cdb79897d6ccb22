"""What to tell a person when the store gave no answer: what happened, at which address, and the next move.

Chosen by the type of the exception alone. Its text is never quoted; of the URL that it carries only scheme, host and
port are shown. That URL comes first, because it is the address that was really called: credentials are fetched from
somewhere else altogether. A change that may have been made has a next move of its own, see ``conditional``.
"""

from __future__ import annotations

import socket
import ssl
from typing import Final
from urllib.parse import urlsplit

import aiohttp
from botocore import exceptions as boto
from botocore.parsers import ResponseParserError

from omnigraph.storage import StoreSilentError
from omnigraph.storage.failures import causes

_SET_CREDENTIALS: Final = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, choose a profile with AWS_PROFILE, or pass the options "
    "access_key_id and secret_access_key."
)
_START_IT: Final = "Check that the store is up and reachable at this address, then repeat the operation."
_CHECK_PROXY: Final = "Check HTTP_PROXY and HTTPS_PROXY, or name the host in NO_PROXY; then repeat the operation."

SILENCES: Final[tuple[tuple[tuple[type[BaseException], ...], str, str], ...]] = (
    # The chain of causes holds general exceptions and special ones; the special ones come first, as they say more.
    ((boto.NoCredentialsError,), "no credentials were found for {endpoint}", _SET_CREDENTIALS),
    ((boto.PartialCredentialsError,), "only a part of the credentials for {endpoint} was found", _SET_CREDENTIALS),
    (
        (boto.ProfileNotFound,),
        "there is no AWS profile of the name that was asked for",
        "Correct AWS_PROFILE, or add the profile to the AWS configuration.",
    ),
    (
        (boto.CredentialRetrievalError, boto.TokenRetrievalError, boto.SSOError, boto.NoAuthTokenError),
        "the credentials for {endpoint} could not be fetched",
        "Sign in again where the AWS profile says, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
    ),
    (
        (boto.NoRegionError, boto.InvalidRegionError),
        "the region of the bucket is missing or is no region",
        "Set it: option region or variable AWS_REGION.",
    ),
    (
        (boto.ConfigNotFound, boto.ConfigParseError, boto.InvalidConfigError),
        "the AWS configuration of this user cannot be used",
        "Correct the file that AWS_CONFIG_FILE names, or ~/.aws/config.",
    ),
    (
        (boto.ParamValidationError, boto.InvalidDNSNameError),
        "the request was refused before it was sent to {endpoint}",
        "Correct the name of the bucket.",
    ),
    ((boto.InvalidProxiesConfigError,), "the proxy on the way to {endpoint} is not described rightly", _CHECK_PROXY),
    (
        (boto.ProxyConnectionError, aiohttp.ClientProxyConnectionError, aiohttp.ClientHttpProxyError),
        "the proxy on the way to {endpoint} made no connection",
        _CHECK_PROXY,
    ),
    (
        (ssl.SSLCertVerificationError, aiohttp.ClientConnectorCertificateError),
        "the certificate of {endpoint} is not trusted here",
        "Give the certificate of its authority in AWS_CA_BUNDLE, or use the host name for which it was issued.",
    ),
    (
        (boto.SSLError, aiohttp.ClientSSLError),
        "the TLS handshake with {endpoint} failed",
        "If the store serves plain HTTP, write its endpoint as http://…; else check that this is its port.",
    ),
    (
        (socket.gaierror,),
        "the host of {endpoint} is not known",
        "Correct the endpoint (option endpoint_url or variable AWS_ENDPOINT_URL_S3), or check the name service.",
    ),
    (
        (StoreSilentError,),
        "{endpoint} was not asked, because the time for this call was over",
        f"{_START_IT} Or give the call more time.",
    ),
    ((boto.ConnectTimeoutError,), "{endpoint} did not accept a connection in time", _START_IT),
    ((aiohttp.ClientConnectorError,), "{endpoint} does not answer", _START_IT),
    (
        (boto.ReadTimeoutError, aiohttp.ServerTimeoutError, TimeoutError),
        "{endpoint} accepted the request and did not answer in time",
        f"{_START_IT} The option read_timeout_seconds gives it longer.",
    ),
    ((boto.EndpointConnectionError,), "{endpoint} does not answer", _START_IT),
    (
        (boto.ConnectionError, boto.HTTPClientError, boto.IncompleteReadError, aiohttp.ClientError),
        "{endpoint} closed the connection before its answer was whole",
        _START_IT,
    ),
    (
        (ResponseParserError,),
        "{endpoint} answered with something that is not S3",
        "Correct the endpoint (option endpoint_url or variable AWS_ENDPOINT_URL_S3): another service listens there.",
    ),
)
"""Types, the words for them and the next move; the first entry of which any exception in the chain is one."""


def explain_silence(error: BaseException, endpoint: str) -> tuple[str, str] | None:
    """What happened and the next move; None when the failure is not one of the clients'.

    ``endpoint`` is the address that the options name, for failures that carry none.
    """
    chain = tuple(causes(error))
    for kinds, words, move in SILENCES:
        if any(isinstance(cause, kinds) for cause in chain):
            return words.format(endpoint=_address_called(chain) or address(endpoint) or "the store"), move
    return None


def address(url: str) -> str | None:
    """Scheme, host and port of a URL, and nothing else of it; None when it has no host."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if not host or not parts.scheme:
        return None
    shown = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown}" if port is None else f"{parts.scheme}://{shown}:{port}"


def _address_called(chain: tuple[BaseException, ...]) -> str | None:
    urls = (cause.kwargs.get("endpoint_url") for cause in chain if isinstance(cause, boto.BotoCoreError))
    return next((found for url in urls if isinstance(url, str) and (found := address(url))), None)
