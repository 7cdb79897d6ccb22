"""Graph URIs: every spelling of one root becomes one value, and nothing secret is said back."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from omnigraph.errors import InvalidInputError
from omnigraph.storage import ROOT, ObjectKey, StorageUri, parse_uri, queue_identity

WRITTEN = st.builds(
    str.__add__,
    st.sampled_from(
        [
            "",
            "/",
            "//",
            "~",
            "file:",
            "file:/",
            "file://",
            "FILE:///",
            "file://localhost/",
            "s3://",
            "S3://b/",
            "memory://h",
        ]
    ),
    st.text(st.sampled_from("ab/.#%?:@~ 012FE\\é😀\n\x00\udc80"), max_size=20),
)


def local(path: str | Path) -> StorageUri:
    return StorageUri(scheme="file", authority="", path=str(path))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory, without symbolic links on the way to it."""
    real = tmp_path.resolve()
    monkeypatch.chdir(real)
    return real


# ── local places ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("written", "below_here"),
    [
        ("graph.omni", "graph.omni"),
        ("./graph.omni", "graph.omni"),
        ("a/../graph.omni", "graph.omni"),
        ("graph.omni/", "graph.omni"),
        ("a//b///c", "a/b/c"),
        ("with space", "with space"),
        ("trailing ", "trailing "),
        ("ünï/😀", "ünï/😀"),
        ("a%20b", "a%20b"),
        ("a#b?c", "a#b?c"),
        ("c:x", "c:x"),
        ("file", "file"),
        (".", ""),
    ],
)
def test_a_relative_path_is_taken_literally_from_the_current_directory(
    here: Path, written: str, below_here: str
) -> None:
    assert parse_uri(written) == local(here / below_here)


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("/a/b", "/a/b"),
        ("/a/b/", "/a/b"),
        ("//a/b", "/a/b"),
        ("///a//b", "/a/b"),
        ("/a/./b/../c", "/a/c"),
        ("/../../a", "/a"),
        ("/", "/"),
        ("/a b/%41", "/a b/%41"),
        ("/~", "/~"),
        ("file:///a/b", "/a/b"),
        ("file:///a%20b", "/a b"),
        ("file:///a b", "/a b"),
        ("file:///%C3%BC", "/ü"),
        ("file:///100%25", "/100%"),
        ("file:///a%23b%3Fc", "/a#b?c"),
        ("file:///a/b/", "/a/b"),
        ("file:///a/../b", "/b"),
        ("file:////a", "/a"),
        ("file:///", "/"),
        ("file:///~/a", "/~/a"),
        ("file:///user@home", "/user@home"),
        ("file:///a:b/c@d", "/a:b/c@d"),
        ("file://localhost/a%20b", "/a b"),
        ("FILE:///a", "/a"),
        ("file:/a%20b", "/a b"),
        ("FILE:/a%20b", "/a b"),
    ],
)
def test_an_absolute_path_or_file_uri_becomes_one_absolute_path(written: str, path: str) -> None:
    assert parse_uri(written) == local(path)


def test_a_path_object_is_a_path_whatever_it_looks_like(here: Path) -> None:
    assert parse_uri(Path("graph.omni")) == local(here / "graph.omni")
    assert parse_uri(Path("/a/b")) == local("/a/b")
    assert parse_uri(Path("s3://bucket/a")) == local(here / "s3:/bucket/a")
    assert parse_uri(Path("file:/a%20b")) == local(here / "file:/a%20b")


def test_a_tilde_is_the_home_directory(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    assert parse_uri("~") == local("/home/somebody")
    assert parse_uri("~/g/../h") == local("/home/somebody/h")
    assert parse_uri(Path("~/g")) == local("/home/somebody/g")
    assert parse_uri("a/~/g") == local(here / "a/~/g")


def test_a_tilde_and_a_name_is_that_users_home(here: Path) -> None:
    root = pwd.getpwuid(0)
    assert parse_uri(f"~{root.pw_name}/g") == local(Path(root.pw_dir) / "g")


def test_a_tilde_and_an_unknown_name_is_an_ordinary_file_name(here: Path) -> None:
    assert parse_uri("~no-such-user-0/g") == local(here / "~no-such-user-0/g")


# ── remote places ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("written", "scheme", "authority", "path"),
    [
        ("s3://bucket/team/graph", "s3", "bucket", "team/graph"),
        ("s3://bucket/team/graph/", "s3", "bucket", "team/graph"),
        ("s3://bucket//team///graph", "s3", "bucket", "team/graph"),
        ("s3://bucket/a/./b/../c", "s3", "bucket", "a/c"),
        ("s3://bucket", "s3", "bucket", ""),
        ("s3://bucket/", "s3", "bucket", ""),
        ("s3://bucket/a/..", "s3", "bucket", ""),
        ("S3://Bucket/Team", "s3", "Bucket", "Team"),
        ("s3+ddb://bucket/a", "s3+ddb", "bucket", "a"),
        ("memory://scratch", "memory", "scratch", ""),
        ("memory://h/a b/ü#?%20", "memory", "h", "a b/ü#?%20"),
        ("hdfs://host:9000/a", "hdfs", "host:9000", "a"),
        ("s3://bucket/who@where/a:b", "s3", "bucket", "who@where/a:b"),
    ],
)
def test_a_remote_uri_is_split_and_folded_and_otherwise_literal(
    written: str, scheme: str, authority: str, path: str
) -> None:
    assert parse_uri(written) == StorageUri(scheme=scheme, authority=authority, path=path)


@pytest.mark.parametrize("written", ["s3://b/..", "s3://b/../c", "s3://b/a/../../c"])
def test_a_uri_that_climbs_above_its_bucket_is_refused(written: str) -> None:
    with pytest.raises(InvalidInputError, match='climbs above "b"'):
        parse_uri(written)


@pytest.mark.parametrize("written", ["s3://", "s3:///", "s3:///a", "memory:///"])
def test_a_uri_without_bucket_or_host_is_refused(written: str) -> None:
    with pytest.raises(InvalidInputError, match="names no bucket or host"):
        parse_uri(written)


# ── refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("written", ["", " ", "\t\n"])
def test_an_empty_uri_is_refused_with_an_example_of_a_right_one(written: str) -> None:
    with pytest.raises(InvalidInputError, match="empty") as caught:
        parse_uri(written)
    assert caught.value.help
    assert "graph.omni" in caught.value.help


@pytest.mark.parametrize("character", ["\n", "\x00", "\t", "\x1f", "\x7f"])
@pytest.mark.parametrize("form", ["a{}b", "/a{}b", "s3://b/a{}b", "file:///a{}b"])
def test_control_characters_are_refused(form: str, character: str) -> None:
    with pytest.raises(InvalidInputError, match="control character"):
        parse_uri(form.format(character))


@pytest.mark.parametrize("written", ["file:///a%0Ab", "file:///a%00b", "file:/a%7f"])
def test_control_characters_hidden_by_percent_encoding_are_refused(written: str) -> None:
    with pytest.raises(InvalidInputError, match="control character"):
        parse_uri(written)


@pytest.mark.parametrize("written", ["file:///a%FFb", "file:/a%C3b"])
def test_a_file_uri_that_decodes_to_no_text_is_refused_and_not_sent_to_another_place(written: str) -> None:
    with pytest.raises(InvalidInputError, match="UTF-8"):
        parse_uri(written)


@pytest.mark.parametrize("written", ["/a\udc80b", "a\udc80", "s3://b/\udc80", Path("/a\udcff")])
def test_a_place_whose_name_is_not_utf_8_is_refused_because_lance_cannot_address_it(written: str | Path) -> None:
    with pytest.raises(InvalidInputError, match="UTF-8") as caught:
        parse_uri(written)
    str(caught.value).encode()


@pytest.mark.parametrize("written", ["file://server/share", "file://server", "file://"])
def test_a_file_uri_with_a_host_or_without_a_path_is_refused_with_the_right_form(written: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse_uri(written)
    assert caught.value.help
    assert "file:///" in caught.value.help


@pytest.mark.parametrize(
    "written",
    [
        "s3://AKIA0:wJalrXUtn@bucket/g",
        "s3://wJalrXUtn@bucket/g",
        "s3://AKIA0:wJalr/XUtn@bucket/g",
        "s3://AKIA0:12/wJalrXUtn@bucket/g",
        "s3:///AKIA0:wJalrXUtn@bucket/g",
        "s3://AKIA0:wJalrXUtn@bucket/g\n",
        "s3://AKIA0:wJalrXUtn@bucket/../..",
        "s3://AKIA0:wJalrXUtn@",
        "s3://AKIA0:wJalrXUtn@\udc80",
        "file://user:wJalrXUtn@server/share",
        "file://user:wJalrXUtn@server",
    ],
)
def test_credentials_in_a_uri_are_refused_and_never_said_back(written: str) -> None:
    with pytest.raises(InvalidInputError, match="carries credentials") as caught:
        parse_uri(written)
    said = str(caught.value) + repr(caught.value) + repr(caught.value.to_dict())
    assert "wJalr" not in said
    assert "XUtn" not in said
    assert "environment variables" in said


# ── one canonical form ───────────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=200, deadline=None)
@given(WRITTEN)
@example("//")
@example("file:////..//")
@example("~/..")
def test_every_text_is_refused_as_invalid_or_has_one_canonical_form(written: str) -> None:
    try:
        uri = parse_uri(written)
    except InvalidInputError as error:
        str(error).encode()
        return
    assert parse_uri(str(uri)) == uri
    assert not str(uri).endswith("/") or uri.path == "/"
    assert not {".", ".."} & set(uri.path.split("/"))
    assert "//" not in uri.path
    assert uri.scheme == uri.scheme.lower()


@settings(max_examples=100, deadline=None)
@given(st.text(st.sampled_from("ab/.%#? é~"), min_size=1, max_size=20))
def test_a_path_and_its_file_uri_are_one_place(tail: str) -> None:
    path = "/" + tail
    assert parse_uri(Path(os.path.abspath(path)).as_uri()) == parse_uri(path)


@pytest.mark.parametrize(
    ("root", "key", "uri"),
    [
        ("/a/b", "c/d", "/a/b/c/d"),
        ("/", "c", "/c"),
        ("s3://b/g", "c d#e", "s3://b/g/c d#e"),
        ("memory://h", "c", "memory://h/c"),
    ],
)
def test_joining_puts_exactly_one_slash_between_root_and_key(root: str, key: str, uri: str) -> None:
    assert parse_uri(root).join(ObjectKey(key)) == uri
    assert parse_uri(root).join(ROOT) == root


# ── queue identity ───────────────────────────────────────────────────────────────────────────────────────────────


def test_aliases_through_symbolic_links_have_one_queue_identity(here: Path) -> None:
    (here / "real" / "deep").mkdir(parents=True)
    (here / "link").symlink_to("real")
    (here / "second").symlink_to(here / "link" / "deep")
    identities = {
        queue_identity(parse_uri(written))
        for written in ("real/deep/g", "link/deep/g", "second/g", f"file://{here}/link/deep/g/", "./x/../second//g")
    }
    assert identities == {str(here / "real/deep/g")}


def test_a_tail_that_does_not_exist_yet_is_kept_as_written(here: Path) -> None:
    (here / "real").mkdir()
    (here / "link").symlink_to("real")
    assert queue_identity(parse_uri("link/not/yet/there")) == str(here / "real/not/yet/there")


def test_the_queue_identity_is_the_same_before_and_after_the_root_is_created(here: Path) -> None:
    (here / "real").mkdir()
    (here / "link").symlink_to("real")
    before = queue_identity(parse_uri("link/a/g"))
    (here / "real/a/g").mkdir(parents=True)
    assert queue_identity(parse_uri("link/a/g")) == before


def test_different_roots_have_different_queue_identities(here: Path) -> None:
    assert queue_identity(parse_uri("a")) != queue_identity(parse_uri("b"))


def test_a_link_to_nowhere_and_a_loop_of_links_still_have_an_identity(here: Path) -> None:
    (here / "dangling").symlink_to(here / "gone")
    (here / "loop").symlink_to(here / "loop")
    assert queue_identity(parse_uri("dangling/g")) == str(here / "gone/g")
    assert queue_identity(parse_uri("loop/g")) == queue_identity(parse_uri("./loop//g"))


def test_a_remote_root_is_its_own_queue_identity() -> None:
    assert queue_identity(parse_uri("S3://bucket/a/../g/")) == "s3://bucket/g"


@pytest.mark.parametrize("scheme", ["abfs", "abfss"])
def test_an_azure_container_at_an_account_is_a_place_and_no_credential(scheme: str):
    place = parse_uri(f"{scheme}://container@account.example/team/graph")
    assert (place.authority, place.path) == ("container@account.example", "team/graph")


def test_credentials_in_an_azure_uri_are_refused_like_others():
    with pytest.raises(InvalidInputError, match="carries credentials") as caught:
        parse_uri("abfss://name:geheim@account.example/graph")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("s3:/bucket/graph", "s3://bucket/graph"),
        ("memory:/scratch", "memory://scratch"),
        ("memory:", "memory://NAME/path"),
        ("S3:/b", "S3://b"),
    ],
)
def test_a_uri_that_lacks_a_slash_is_refused_and_never_a_directory(slip: str, meant: str):
    with pytest.raises(InvalidInputError) as caught:
        parse_uri(slip)
    assert meant in str(caught.value)
    assert f"./{slip}" in str(caught.value)


@pytest.mark.parametrize("path", ["./s3:/b", "notes:today", "a/b:/c", "C:graph", "file:/tmp/x"])
def test_a_colon_in_a_path_stays_a_colon(path: str):
    assert parse_uri(path).scheme == "file"
    assert parse_uri(Path("s3:/b")).path.endswith("/s3:/b")


def test_credentials_in_a_slip_are_not_said_back():
    for slip in ("s3:/NAME:geheim@bucket/x", "s3:/NAME:ge/heim@bucket/x"):
        with pytest.raises(InvalidInputError) as caught:
            parse_uri(slip)
        assert "heim" not in str(caught.value)
