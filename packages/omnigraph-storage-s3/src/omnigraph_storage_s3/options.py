"""``S3Settings``: one reading of the storage options, from which both clients are told the same.

Control objects go through s3fs and tables through Lance. Both must reach the same server in the same way, so neither
is given options by hand: ``client_kwargs`` and ``lance_options`` derive them from here. Both also look into the
environment and the AWS configuration on their own; what is decided here is said so that neither finds more there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self
from urllib.parse import SplitResult, urlsplit

from omnigraph.errors import InvalidInputError

DEFAULT_REGION: Final = "us-east-1"
"""What servers other than AWS call their one region, or accept for it."""

DEFAULT_CONNECT_TIMEOUT_SECONDS: Final = 5.0
DEFAULT_READ_TIMEOUT_SECONDS: Final = 30.0

WHOLE_REQUEST_TIMEOUTS: Final = 10
"""So many read timeouts bound one request from its first byte to its last, however steadily the bytes trickle.

The read timeout bounds silence only: large objects may take long over a slow line.
"""

_PRINTABLE: Final = re.compile(r"[^\s\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Settings:
    """How to reach a store. Credentials never show.

    Attributes:
        endpoint_url: without trailing slash; None for AWS.
        region: None only for AWS, where the clients find it out.
        access_key_id: None when the clients are to look where AWS tools look.
        is_path_style: whether the bucket is part of the path; None leaves it to the clients (AWS only).
    """

    endpoint_url: str | None = None
    region: str | None = None
    access_key_id: str | None = field(default=None, repr=False)
    secret_access_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    allow_http: bool = False
    is_path_style: bool | None = None
    connect_timeout_seconds: float = DEFAULT_CONNECT_TIMEOUT_SECONDS
    read_timeout_seconds: float = DEFAULT_READ_TIMEOUT_SECONDS

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> Self:
        """Settings from resolved storage options, with the defaults filled in.

        Raises:
            InvalidInputError: the endpoint is not an HTTP URL, carries credentials or needs plain HTTP where that is
                forbidden; or half of a pair of credentials is missing.
        """
        access_key_id, secret = options.get("access_key_id") or None, options.get("secret_access_key") or None
        if (access_key_id is None) != (secret is None):
            there, missing = ("access_key_id", "secret_access_key")[:: 1 if secret is None else -1]
            raise InvalidInputError(
                f'The storage option "{there}" is given and "{missing}" is not.',
                help="Give both, as options or as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or neither.",
                details={"option": missing},
            )
        endpoint_url = _checked_endpoint(options.get("endpoint_url"), allow_http=options.get("allow_http"))
        is_custom = endpoint_url is not None
        return cls(
            endpoint_url=endpoint_url,
            region=options.get("region") or (DEFAULT_REGION if is_custom else None),
            access_key_id=access_key_id,
            secret_access_key=secret,
            session_token=options.get("session_token") or None,
            allow_http=bool(options.get("allow_http")) or (endpoint_url or "").startswith("http://"),
            is_path_style=options.get("force_path_style", True if is_custom else None),
            connect_timeout_seconds=options.get("connect_timeout_seconds", DEFAULT_CONNECT_TIMEOUT_SECONDS),
            read_timeout_seconds=options.get("read_timeout_seconds", DEFAULT_READ_TIMEOUT_SECONDS),
        )

    def client_kwargs(self) -> dict[str, Any]:
        """Arguments for ``s3fs.S3FileSystem``: where, as whom, and no second try that we do not know of."""
        style = {None: "auto", True: "path", False: "virtual"}[self.is_path_style]
        return {
            "endpoint_url": self.endpoint_url,
            "key": self.access_key_id,
            "secret": self.secret_access_key,
            "token": self.session_token,
            "client_kwargs": {} if self.region is None else {"region_name": self.region},
            "config_kwargs": {
                "connect_timeout": self.connect_timeout_seconds,
                "read_timeout": self.read_timeout_seconds,
                "retries": {"total_max_attempts": 1, "mode": "standard"},
                "s3": {"addressing_style": style},
                # Lance does not read endpoints from the AWS configuration; nor may its companion.
                "ignore_configured_endpoint_urls": True,
                # Servers other than AWS choke on checksums that nobody asked for.
                "request_checksum_calculation": "when_required",
                "response_checksum_validation": "when_required",
            },
        }

    @property
    def request_seconds(self) -> float:
        """How long one request may take as a whole, its bodies included."""
        return self.read_timeout_seconds * WHOLE_REQUEST_TIMEOUTS

    def lance_options(self, bucket: str) -> dict[str, str]:
        """The storage options with which Lance reaches the same bucket in the same way."""
        endpoint = self._lance_endpoint(bucket)
        options = {
            "aws_access_key_id": self.access_key_id,
            "aws_secret_access_key": self.secret_access_key,
            # Empty, or Lance would sign given keys with a token of the environment that belongs to others.
            "aws_session_token": self.session_token or (None if self.access_key_id is None else ""),
            "aws_region": self.region,
            "aws_endpoint": endpoint,
            # To Lance this is an option of its own, and AWS_ENDPOINT_URL_S3 would outdo the one above.
            "aws_endpoint_url_s3": endpoint,
            "allow_http": "true" if self.allow_http else None,
            "aws_virtual_hosted_style_request": {None: None, True: "false", False: "true"}[self.is_path_style],
            "connect_timeout": _milliseconds(self.connect_timeout_seconds),
            "read_timeout": _milliseconds(self.read_timeout_seconds),
            "timeout": _milliseconds(self.request_seconds),
            # Whole seconds. What was refused at once is sent again; what used up its timeout is not.
            "client_retry_timeout": str(int(self.read_timeout_seconds)),
        }
        return {name: value for name, value in options.items() if value is not None}

    def _lance_endpoint(self, bucket: str) -> str | None:
        if self.endpoint_url is None or self.is_path_style:
            return self.endpoint_url
        # In virtual-hosted style Lance takes the endpoint for that of the bucket.
        scheme, _, rest = self.endpoint_url.partition("://")
        return f"{scheme}://{bucket}.{rest}"


def _milliseconds(seconds: float) -> str:
    """A time as Lance reads it: with its unit, and never nothing."""
    return f"{max(1, round(seconds * 1000))}ms"


def _checked_endpoint(url: str | None, *, allow_http: bool | None) -> str | None:
    """The endpoint with its scheme in lower case and no trailing slash, or None for AWS. Raises as ``from_options``."""
    if url is None:
        return None
    parts = _split(url)
    if "@" in (url if parts is None else parts.netloc):
        raise _refuse(
            "The endpoint URL carries credentials.", "Pass them as access_key_id and secret_access_key instead."
        )
    is_server = parts and parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
    # urlsplit passes over control characters at which the clients stumble, each in its own way.
    if parts is None or not is_server or not _PRINTABLE.fullmatch(url):
        raise _refuse(
            f"The endpoint {url!r} is not the URL of a server.", "Write it as https://HOST or http://HOST:PORT."
        )
    if parts.scheme == "http" and allow_http is False:
        raise _refuse(
            f"The endpoint {url} needs plain HTTP, and allow_http is false.",
            "Use an https:// endpoint, or allow HTTP with the option allow_http or the variable AWS_ALLOW_HTTP.",
        )
    return parts.scheme + url[len(parts.scheme) :].rstrip("/")


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return parts


def _refuse(message: str, move: str) -> InvalidInputError:
    return InvalidInputError(message, help=move, details={"option": "endpoint_url"})
