"""A history in a bucket, searched and served: the answers are those of a folder."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb
import httpx
import pytest
from mcp import Client
from obstore.fsspec import FsspecStore

from schemas.base import parse_time
from sinks.object_store import ObjectPath
from streams.llm.debounce import Group, Turn
from streams.llm.history import remembered, spent_since, with_texts
from streams.search.history_source import LOOK_EVERY
from tests.acceptance.test_guarantees import ALICE, MARKS
from tests.command import environment, files_holding
from tests.command import turnfold as process
from tests.object_store.cli import turnfold
from tests.object_store.faulty_store import FaultyStore, healthy
from tests.object_store.s3_server import KEY, SECRET, S3Server
from tests.serving.serving import Server, serving
from tests.serving.test_mcp import refuses, says, stdio

pytestmark = pytest.mark.nightly

ASKED = (
    "/v1/sessions", "/v1/sessions/group", "/v1/sessions/group/messages",
    "/v1/sessions/group/timeline", "/v1/tasks/alone-t?session_id=alone", "/v1/users",
    "/v1/users/bob", "/v1/users/bob/context?q=fishes", "/v1/users/bob/export",
    "/v1/users/bob/states", "/v1/states/fb/why", "/v1/search?q=bob", "/v1/dead-letters",
    "/memory/user/bob",
)  # fmt: skip


@pytest.fixture(scope="module")
def there(s3: S3Server, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of commands that read the bucket."""
    return environment(**s3.environ(), XDG_CACHE_HOME=str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def bucket(s3: S3Server, written: str) -> ObjectPath:
    """The same in a bucket."""
    with s3.reached():
        root = ObjectPath(s3.place("served/h"))
        s3.copy(written, root.key)
        assert root.is_dir()  # which makes its client
    return root


def test_the_index_lies_where_it_is_told_and_is_its_owners_alone(
    bucket: ObjectPath, there: dict[str, str], tmp_path: Path, s3: S3Server
) -> None:
    objects = s3.objects("served")
    told = ("--history", str(bucket), "--search-folder", tmp_path / "index")
    assert process("search", "bob", *told, env=there).code == 0
    assert files_holding(tmp_path / "index", "bob in company")
    assert {one.stat().st_mode & 0o777 for one in (tmp_path / "index").iterdir()} == {0o700}
    assert s3.objects("served") == objects
    (tmp_path / "file").write_text("in the way")
    told = ("--history", str(bucket), "--search-folder", tmp_path / "file")
    refused = process("search", "bob", *told, env=there)
    assert (refused.code, len(refused.err.splitlines())) == (1, 1)
    assert "TURNFOLD_SEARCH_FOLDER" in refused.err


def test_a_catalog_is_read_by_another_program(
    bucket: ObjectPath, there: dict[str, str], tmp_path: Path, s3: S3Server
) -> None:
    """DuckDB itself, through a file system that is not ours."""
    file = tmp_path / "memory.duckdb"
    done = turnfold("admin", "catalog", file, "--history", str(bucket), env=there)
    assert done.code == 0, done.err
    assert not files_holding(tmp_path, SECRET) and not files_holding(tmp_path, KEY)
    files = FsspecStore(
        "s3", endpoint=s3.environ()["AWS_ENDPOINT_URL_S3"], access_key_id=KEY,
        secret_access_key=SECRET, region="us-east-1", client_options={"allow_http": True},
    )  # fmt: skip
    with duckdb.connect(str(file), read_only=True) as db:
        db.register_filesystem(files)
        found = db.execute("SELECT body_text FROM state_current WHERE owner_id = 'bob'").fetchall()
    assert found == [("bob fishes",)]


@pytest.fixture(scope="module")
def both(
    folder: Path, bucket: ObjectPath, there: dict[str, str]
) -> Iterator[tuple[Server, Server]]:
    with (
        serving("--history", folder) as here,
        serving("--history", str(bucket), env=there) as served,
    ):
        yield here, served


@pytest.mark.parametrize("path", ASKED)
def test_a_server_answers_what_it_answers_of_the_folder(
    path: str, both: tuple[Server, Server]
) -> None:
    found, expected = (plain(one.client.get(path)) for one in reversed(both))
    assert found == expected
    assert expected[0] == 200


def plain(reply: httpx.Response) -> tuple[int, str]:
    """A reply without the times at which it was asked for."""
    return reply.status_code, MOMENT.sub(r"\1", reply.text)


MOMENT = re.compile(r'("(?:as_of|exported_at|generated_at)": *)"[^"]*"')


def test_a_server_of_a_bucket_takes_nothing_and_shows_its_pages(
    both: tuple[Server, Server],
) -> None:
    _, served = both
    assert served.post([{"type": "turn"}]).status_code in (422, 503)
    pages = {path: served.client.get(path).status_code for path in ("/", "/pipeline")}
    assert pages == dict.fromkeys(pages, 200)
    assert served.client.get("/generations").status_code == 200
    assert served.client.get("/readyz").status_code == 200


@pytest.mark.component
def test_a_server_finds_nobody_who_is_forgotten_elsewhere(
    there: dict[str, str], tmp_path: Path, sunk: ObjectPath
) -> None:
    """Another process erases, with another folder for its index."""
    root = sunk
    env = there | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with serving("--history", str(root), env=env) as served:
        assert served.client.get("/v1/search?q=zebrafish").json()["hits"]
        assert files_holding(tmp_path / "cache", MARKS[0])
        done = turnfold("forget", ALICE, "--yes", "--history", str(root), env=there)
        assert done.code == 0, done.err
        found = served.client.get("/v1/search?q=zebrafish").json()["hits"]
        if found:  # it looks every two seconds
            time.sleep(LOOK_EVERY)
            found = served.client.get("/v1/search?q=zebrafish").json()["hits"]
        assert found == []
        assert served.client.get(f"/v1/users/{ALICE}").status_code == 404
        group = served.client.get("/v1/sessions/group").json()
        assert [one["user_input"] for one in group["conversations"]] == [
            "bob in company", "carol in company"
        ]  # fmt: skip
    assert [mark for mark in MARKS if files_holding(tmp_path / "cache", mark)] == []


def test_a_server_says_that_the_store_does_not_answer_and_goes_on_later(
    s3: S3Server, bucket: ObjectPath, there: dict[str, str], tmp_path: Path
) -> None:
    with FaultyStore(s3.port, healthy) as store:
        env = there | s3.environ(store.port) | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
        with serving("--history", str(bucket), env=env) as served:
            store.plan = denied
            reply = served.client.get("/v1/users/bob/states?as_of=2026-02-01")
            assert reply.status_code == 503
            assert KEY not in reply.text and SECRET not in reply.text
            store.plan = healthy
            served.until("/v1/users/bob/states?as_of=2026-02-01", 200)


def denied(method: str, path: str, body: bytes) -> str:
    return "denied"


async def test_tools_over_a_bucket_read_and_say_that_they_do_not_write(
    bucket: ObjectPath, there: dict[str, str], s3: S3Server
) -> None:
    """By the protocol's own client; the server's files lie on this machine."""
    objects = s3.objects(bucket.key)
    async with Client(stdio("--history", str(bucket), **there)) as client:
        assert "bob in company" in await says(client, "search", query="company", user_id="bob")
        told = await refuses(client, "remember", text="I like tea.", user_id="bob")
        assert "sinks write this history" in told
    assert s3.objects(bucket.key) == objects
    assert {one.stat().st_mode & 0o777 for one in Path(there["XDG_CACHE_HOME"], "turnfold").glob(
        "local/*")} == {0o700}  # fmt: skip
    missing = turnfold("mcp", "--history", f"{bucket}/none", env=there, input=b"")
    assert (missing.code, "no history here" in missing.err) == (3, True), missing.err


def test_a_model_is_shown_what_the_folder_would_show(
    bucket: ObjectPath, folder: Path, settings: dict[str, str]
) -> None:
    when = parse_time("2026-02-01T00:00:00Z")
    turn = Turn("default", "group", "bob", "g2", when, when + 10**15)
    groups = [Group((turn,))]
    known, told = remembered(folder, groups), with_texts(folder, groups)
    assert known[0]["states"] and told[0] and told[0].turns[0].user_input == "bob in company"
    assert remembered(bucket, groups) == known
    assert with_texts(bucket, groups) == told
    assert spent_since(bucket, 0.0) == spent_since(folder, 0.0)
