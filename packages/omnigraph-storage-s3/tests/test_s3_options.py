"""From options and environment to what s3fs and Lance are told."""

from __future__ import annotations

import subprocess
import sys

import pytest

from omnigraph.errors import InvalidInputError
from omnigraph.storage.options import resolve_options
from omnigraph_storage_s3.options import S3Settings
from omnigraph_storage_s3.plugin import S3_OPTIONS

KEYS = {"access_key_id": "the-id", "secret_access_key": "the-secret"}


def settings_from_environment(**variables: str) -> S3Settings:
    return S3Settings.from_options(resolve_options(S3_OPTIONS, {}, variables))


def test_the_usual_variables_say_where_and_as_whom():
    settings = settings_from_environment(
        AWS_ENDPOINT_URL="http://general:1",
        AWS_ENDPOINT_URL_S3="https://s3.example:9000/",
        AWS_REGION="eu-west-3",
        AWS_DEFAULT_REGION="us-west-1",
        AWS_ACCESS_KEY_ID="id",
        AWS_SECRET_ACCESS_KEY="secret",
        AWS_SESSION_TOKEN="token",
        AWS_S3_FORCE_PATH_STYLE="no",
    )
    assert settings == S3Settings(
        endpoint_url="https://s3.example:9000",
        region="eu-west-3",
        access_key_id="id",
        secret_access_key="secret",
        session_token="token",
        allow_http=False,
        is_path_style=False,
    )


TIMEOUTS = {
    "connect_timeout": "5000ms",
    "read_timeout": "30000ms",
    "timeout": "300000ms",
    "client_retry_timeout": "30",
}
"""What Lance is told of the timeouts where none is given."""


def test_without_any_option_both_clients_are_left_to_find_aws():
    settings = S3Settings.from_options({})
    assert settings.lance_options("bucket") == TIMEOUTS
    arguments = settings.client_kwargs()
    assert (arguments["endpoint_url"], arguments["key"], arguments["client_kwargs"]) == (None, None, {})
    assert arguments["config_kwargs"]["s3"] == {"addressing_style": "auto"}


def test_a_custom_endpoint_means_path_style_and_a_region_that_any_server_takes():
    settings = S3Settings.from_options({"endpoint_url": "https://minio.example"})
    assert settings.lance_options("bucket") == {
        "aws_endpoint": "https://minio.example",
        "aws_endpoint_url_s3": "https://minio.example",
        "aws_region": "us-east-1",
        "aws_virtual_hosted_style_request": "false",
        **TIMEOUTS,
    }
    assert settings.client_kwargs()["config_kwargs"]["s3"] == {"addressing_style": "path"}


def test_lance_is_told_the_same_as_the_client_of_control_objects():
    settings = S3Settings.from_options(
        {"endpoint_url": "http://127.0.0.1:9000", "region": "here", "session_token": "the-token", **KEYS}
    )
    assert settings.lance_options("bucket") == {
        "aws_access_key_id": "the-id",
        "aws_secret_access_key": "the-secret",
        "aws_session_token": "the-token",
        "aws_region": "here",
        "aws_endpoint": "http://127.0.0.1:9000",
        "aws_endpoint_url_s3": "http://127.0.0.1:9000",
        "allow_http": "true",
        "aws_virtual_hosted_style_request": "false",
        **TIMEOUTS,
    }
    arguments = settings.client_kwargs()
    assert [arguments[name] for name in ("endpoint_url", "key", "secret", "token")] == [
        "http://127.0.0.1:9000",
        "the-id",
        "the-secret",
        "the-token",
    ]
    assert arguments["client_kwargs"] == {"region_name": "here"}


def test_both_clients_have_the_same_timeouts():
    settings = S3Settings.from_options({"connect_timeout_seconds": 0.25, "read_timeout_seconds": 2.5})
    options, config = settings.lance_options("bucket"), settings.client_kwargs()["config_kwargs"]
    assert (options["connect_timeout"], config["connect_timeout"]) == ("250ms", 0.25)
    assert (options["read_timeout"], config["read_timeout"]) == ("2500ms", 2.5)
    # One request as a whole takes ten of them at most, and what used up one of them is not sent again.
    assert (options["timeout"], settings.request_seconds) == ("25000ms", 25.0)
    assert options["client_retry_timeout"] == "2"


def test_in_virtual_hosted_style_lance_gets_the_endpoint_of_the_bucket():
    settings = S3Settings.from_options({"endpoint_url": "https://store.example:9000", "force_path_style": False})
    options = settings.lance_options("bucket")
    assert options["aws_endpoint"] == options["aws_endpoint_url_s3"] == "https://bucket.store.example:9000"
    assert options["aws_virtual_hosted_style_request"] == "true"
    assert settings.client_kwargs()["config_kwargs"]["s3"] == {"addressing_style": "virtual"}


@pytest.mark.parametrize("word", ["1", "true", "YES", "On"])
def test_http_is_allowed_by_the_variable_in_its_usual_spellings(word: str):
    assert settings_from_environment(AWS_ENDPOINT_URL="https://h", AWS_ALLOW_HTTP=word).allow_http


def test_an_http_endpoint_implies_that_http_is_allowed():
    assert settings_from_environment(AWS_ENDPOINT_URL="http://h").allow_http


def test_the_scheme_of_an_endpoint_is_read_in_any_case():
    settings = S3Settings.from_options({"endpoint_url": "HTTP://Host:9000/Path/"})
    assert settings.endpoint_url == "http://Host:9000/Path"
    assert settings.lance_options("bucket")["allow_http"] == "true"
    with pytest.raises(InvalidInputError, match="needs plain HTTP"):
        S3Settings.from_options({"endpoint_url": "HTTP://h", "allow_http": False})


def test_given_keys_without_a_token_tell_lance_that_there_is_none():
    assert S3Settings.from_options(KEYS).lance_options("bucket")["aws_session_token"] == ""


def test_an_http_endpoint_is_refused_where_http_is_forbidden():
    with pytest.raises(InvalidInputError, match=r"http://h needs plain HTTP, and allow_http is false\. Use an https"):
        settings_from_environment(AWS_ENDPOINT_URL="http://h", AWS_ALLOW_HTTP="false")


@pytest.mark.parametrize("url", ["http://id:hush@h", "https://hush@h:9000/x", "http://[hush@h"])
def test_an_endpoint_with_credentials_is_refused_and_not_repeated(url: str):
    with pytest.raises(InvalidInputError, match="carries credentials") as caught:
        S3Settings.from_options({"endpoint_url": url})
    assert "hush" not in f"{caught.value} {caught.value.to_dict()}"


@pytest.mark.parametrize(
    "url",
    [
        *("", "minio", "minio:9000", "ftp://h", "http://", "http://h:port", "s3://b", "https://h?x=1", "https://h#x"),
        *("http://h\n", "http://h ", " http://h", "ht\ntp://h", "http://h\t/x", "http://h\x00", "http://h\x7f"),
    ],
)
def test_an_endpoint_that_is_no_server_url_is_refused(url: str):
    with pytest.raises(InvalidInputError, match=r"is not the URL of a server\. Write it as https://HOST"):
        S3Settings.from_options({"endpoint_url": url})


@pytest.mark.parametrize(("given", "missing"), [*[tuple(KEYS)], tuple(reversed(KEYS))])
def test_half_a_pair_of_credentials_is_refused(given: str, missing: str):
    with pytest.raises(InvalidInputError, match=f'"{given}" is given and "{missing}" is not') as caught:
        S3Settings.from_options({given: "hush"})
    assert "hush" not in str(caught.value)


def test_timeouts_reach_the_client():
    config = S3Settings.from_options({"connect_timeout_seconds": 1.5, "read_timeout_seconds": 2.5}).client_kwargs()[
        "config_kwargs"
    ]
    assert (config["connect_timeout"], config["read_timeout"]) == (1.5, 2.5)


def test_no_secret_shows_in_the_repr():
    shown = repr(S3Settings.from_options({**KEYS, "session_token": "the-token", "region": "here"}))
    assert "here" in shown
    assert not [value for value in ("the-id", "the-secret", "the-token") if value in shown]


def test_the_secret_and_the_token_are_marked_as_secrets_and_the_key_id_is_a_name():
    assert {option.name for option in S3_OPTIONS if option.is_secret} == {"secret_access_key", "session_token"}


def test_listing_the_plugin_imports_no_client():
    script = (
        "import sys, omnigraph_storage_s3.plugin as p; list(p.omnigraph_storage_backends());"
        "print([m for m in ('s3fs', 'fsspec', 'botocore', 'aiobotocore', 'aiohttp') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_given_keys_are_not_joined_by_a_session_token_of_the_environment():
    variables = {"AWS_SESSION_TOKEN": "of-somebody-else", "AWS_REGION": "eu-central-1"}
    assert resolve_options(S3_OPTIONS, KEYS, variables) == KEYS | {"region": "eu-central-1"}
