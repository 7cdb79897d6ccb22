"""What this distribution offers to OmniGraph: the backend of ``s3://``. Every listing imports it, so it stays light."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from omnigraph.plugins import hookimpl
from omnigraph.storage import Capability, StorageBackend, StorageOption

S3_OPTIONS: Final = (
    StorageOption(
        name="endpoint_url",
        help="URL of a server that speaks S3, such as http://127.0.0.1:9000; AWS itself when not given.",
        environment=("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    ),
    StorageOption(
        name="region",
        help="Region of the bucket; us-east-1 when an endpoint_url is given.",
        environment=("AWS_REGION", "AWS_DEFAULT_REGION"),
    ),
    StorageOption(
        name="access_key_id",
        help="Access key id; with none given, the usual AWS sources are asked (profile, role, instance).",
        environment=("AWS_ACCESS_KEY_ID",),
        group="credentials",
    ),
    StorageOption(
        name="secret_access_key",
        help="Secret that belongs to access_key_id.",
        environment=("AWS_SECRET_ACCESS_KEY",),
        is_secret=True,
        group="credentials",
    ),
    StorageOption(
        name="session_token",
        help="Session token that belongs to temporary credentials.",
        environment=("AWS_SESSION_TOKEN",),
        is_secret=True,
        group="credentials",
    ),
    StorageOption(
        name="allow_http",
        help="Allow a connection without TLS; an http:// endpoint_url implies it.",
        kind="flag",
        environment=("AWS_ALLOW_HTTP",),
    ),
    StorageOption(
        name="force_path_style",
        help="Put the bucket into the path instead of the host name; the default when an endpoint_url is given.",
        kind="flag",
        environment=("AWS_S3_FORCE_PATH_STYLE",),
    ),
    StorageOption(
        name="connect_timeout_seconds", help="How long to wait for a connection; 5 by default.", kind="seconds"
    ),
    StorageOption(
        name="read_timeout_seconds",
        help="How long the server may stay silent during a request; 30 by default.",
        kind="seconds",
    ),
)

S3_BACKEND: Final = StorageBackend(
    name="s3",
    schemes=("s3",),
    adapter="omnigraph_storage_s3.adapter:S3Adapter",
    lance_scheme="s3",
    spi_version=1,
    capabilities=frozenset({Capability.WRITE_IF_MATCH, Capability.SHARED_BETWEEN_PROCESSES}),
    options=S3_OPTIONS,
)


@hookimpl
def omnigraph_storage_backends() -> Iterator[StorageBackend]:
    """``s3://``."""
    yield S3_BACKEND
