"""What a store refuses: one sentence, what to do, and no word of a key."""

import os
import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from sinks.errors import HistoryError, HistoryWriteError, StoreError
from sinks.history_root import check_root
from sinks.object_store import ALLOW_HTTP, ENDPOINTS, KEYS, OF_AZURE, ObjectPath, delta_options
from sinks.sink_history import SharedHistory
from sinks.store_errors import WORDS, store_error, write_error
from tests.object_store.cli import turnfold
from tests.object_store.faulty_store import FaultyStore, healthy, read_only
from tests.object_store.s3_server import KEY, SECRET, S3Server
from tests.unit.test_shared_history import OWNER, piece

pytestmark = pytest.mark.component

LEAKY = (
    "Generic S3 error: Error performing GET http://host/memory/x in 1ms - Server returned non-2xx "
    "status code: 403 Forbidden: <?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code>"
    "<Message>The request signature we calculated does not match</Message><AWSAccessKeyId>"
    f"{KEY}</AWSAccessKeyId><StringToSign>AWS4-HMAC-SHA256 {SECRET}</StringToSign></Error>"
)


@pytest.mark.parametrize(
    ("code", "passes"),
    [("SignatureDoesNotMatch", False), ("SlowDown", True), ("AccessDenied", False),
     ("NobodyKnowsThis", False)],
)  # fmt: skip
def test_only_the_code_and_the_status_are_told(code: str, passes: bool) -> None:
    error = OSError(LEAKY.format(code=code))
    for found in (store_error(error, "s3://memory/x"), write_error(error, "s3://memory/x")):
        assert isinstance(found, StoreError | HistoryWriteError)
        assert str(found).startswith("s3://memory/x: ")
        assert str(found).endswith(f"({code}, HTTP 403)")
        assert found.may_pass == passes
        assert not any(word in str(found) for word in (KEY, SECRET, "AWS4", "signature", "host"))


@pytest.mark.parametrize("scheme", WORDS)
@pytest.mark.parametrize("code", ["ContainerNotFound", "AuthenticationFailed", "AccessDenied"])
def test_a_store_s_own_variables_are_named(scheme: str, code: str) -> None:
    """No store but Amazon's is told of AWS_…, and no placeholder is left."""
    said = str(store_error(OSError(LEAKY.format(code=code)), f"{scheme}://memory/x"))
    assert ("AWS_" in said or "s3:" in said.partition(": ")[2]) == (
        scheme == "s3" and code != "ContainerNotFound"
    )
    assert "{" not in said


@pytest.mark.parametrize(
    ("said", "codes"),
    [("error sending request", (5, 5)), ("operation timed out", (5, 5)),
     (LEAKY.format(code="AccessDenied"), (3, 1))],
)  # fmt: skip
def test_a_store_that_cannot_be_reached_has_one_code_whatever_is_asked(
    said: str, codes: tuple[int, int]
) -> None:
    """At the start of a command, or in the midst of writing."""
    read, written = (of(OSError(said), "s3://memory/x") for of in (store_error, write_error))
    assert isinstance(read, StoreError) and isinstance(written, HistoryWriteError)
    assert (read.exit_code, written.exit_code) == codes


def test_a_whole_bucket_is_no_place_of_a_history(settings: dict[str, str]) -> None:
    with pytest.raises(HistoryError, match="give the history a prefix: s3://memory/PREFIX"):
        check_root(ObjectPath("s3://memory"))


def test_another_writer_is_no_fault_of_the_store() -> None:
    assert write_error(OSError(LEAKY.format(code="PreconditionFailed")), "s3://memory/x") is None


@pytest.mark.parametrize(
    "url",
    ["s3://", "s3:///x", "s3://b u/x", "s3://memory/a%2fb", "s3://memory/*", "s3://memory//x",
     "s3://memory/x?versionId=1", f"s3://{KEY}:{SECRET}@memory/x", "s3://memory/é"],
)  # fmt: skip
def test_a_url_that_is_none_is_refused_without_what_is_secret_in_it(url: str) -> None:
    done = turnfold("sql", "SELECT 1", "--history", url)
    assert done.code == 3
    assert "not the URL of a history" in done.err
    assert SECRET not in done.err and KEY not in done.err


@pytest.mark.parametrize("name", ENDPOINTS)
def test_plain_http_is_used_only_if_it_is_asked_for(name: str) -> None:
    with pytest.raises(StoreError, match=f"{name} is http://.*{ALLOW_HTTP}=true"):
        delta_options({name: "http://127.0.0.1:9000"})
    options = delta_options({name: "http://127.0.0.1:9000", ALLOW_HTTP: "true"})
    assert options["allow_http"] == "true"
    assert delta_options({name: "https://store:9000"})["aws_endpoint"] == "https://store:9000"
    with pytest.raises(StoreError, match="not an address"):
        delta_options({name: "store:9000"})


@pytest.mark.parametrize(
    ("url", "why"),
    [("s3://b/x", "two characters"), ("s3://me:pass@memory/x", "it contains a login"),
     ("s3://memory/x?v=1", "it contains a query"), ("s3://memory/a/../x", "is . or ..")],
)  # fmt: skip
def test_what_is_wrong_with_a_url_is_said(url: str, why: str) -> None:
    with pytest.raises(StoreError, match=re.escape(why)) as caught:
        ObjectPath(url)
    assert "pass" not in str(caught.value) and "v=1" not in str(caught.value)


def asked(**env: str) -> str:
    """What a query of a bucket says, of a process with no other AWS settings."""
    foreign = {name: None for name in os.environ if name.startswith("AWS_")}
    done = turnfold(
        "sql", "SELECT 1", "--history", "s3://memory/x", env={**foreign, "AWS_REGION": "x", **env}
    )
    assert done.code in (3, 5) and len(done.err.splitlines()) == 1, done.err
    return done.err


@pytest.mark.parametrize("one", [0, 1])
def test_half_a_key_is_told(one: int) -> None:
    assert f"{KEYS[one]} is set and {KEYS[1 - one]} is not" in asked(**{KEYS[one]: "k"})


def test_azure_s_address_is_not_asked_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ALLOW_HTTP, raising=False)
    monkeypatch.setenv(OF_AZURE, "http://127.0.0.1:1/account")
    with pytest.raises(StoreError, match=f"{OF_AZURE} is http://.*{ALLOW_HTTP}=true"):
        ObjectPath("az://memory/x").read_bytes()


def test_who_may_not_ask_the_machine_for_a_role_needs_a_key() -> None:
    assert "no key found" in asked(AWS_EC2_METADATA_DISABLED="true")


def test_an_empty_variable_is_as_none() -> None:
    """The library takes it for an address, and panics."""
    given = {KEYS[0]: "k", KEYS[1]: "s", ALLOW_HTTP: "true", ENDPOINTS[2]: "http://127.0.0.1:1"}
    said = asked(**given, **{ENDPOINTS[0]: "", ENDPOINTS[1]: "", "AWS_SESSION_TOKEN": ""})
    assert "cannot be reached" in said


def test_a_machine_that_gives_no_role_is_no_refusal_of_the_store() -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            self.send_error(403)

        do_GET = do_PUT  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Not on stderr."""

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        said = asked(AWS_METADATA_ENDPOINT=f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert "no key found" in said and "permissions" not in said


@pytest.fixture
def filled(root: ObjectPath) -> ObjectPath:
    with SharedHistory(root, OWNER) as history:
        history.write({"threads": [piece([1])]}, {"a": 1}, {})
        history.write({"threads": [piece([2])]}, {"a": 2}, {})
    return root


@pytest.fixture
def proxy(s3: S3Server) -> Iterator[FaultyStore]:
    with FaultyStore(s3.port, healthy) as found:
        yield found


WRONG = {
    "no such bucket": ({}, "no such bucket; create it", 3),
    "wrong key": ({"AWS_ACCESS_KEY_ID": "NOBODY"}, "does not know this key", 3),
    "wrong secret": ({"AWS_SECRET_ACCESS_KEY": "guessed"}, "does not know this key", 3),
    "nothing listens": ({"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}, "cannot be reached", 5),
    "plain http": ({"AWS_ALLOW_HTTP": "false"}, "AWS_ALLOW_HTTP=true", 3),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_command_says_in_a_line_what_is_wrong(
    name: str, filled: ObjectPath, settings: dict[str, str]
) -> None:
    changed, words, code = WRONG[name]
    url = "s3://nobodys-bucket/h" if name == "no such bucket" else str(filled)
    done = turnfold("sql", "SELECT count(*) FROM threads", "--history", url, env=changed)
    assert done.code == code, done.err
    assert words in done.err
    assert len(done.err.splitlines()) == 1
    for secret in (KEY, SECRET, "NOBODY", "guessed", "AWS4"):
        assert secret not in done.err


def test_a_key_that_may_only_read_reads_and_writes_nothing(
    filled: ObjectPath, proxy: FaultyStore, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.plan = read_only
    env = s3.environ(proxy.port)
    before = s3.objects(filled.key)
    done = turnfold(
        "sql", "SELECT count(*) AS n FROM threads", "-o", "json", "--history", str(filled), env=env
    )
    assert done.json() == [{"n": 2}]
    done = turnfold("admin", "compact", "--history", str(filled), env=env)
    assert done.code == 1
    assert "the key may not do this" in done.err and "s3:PutObject" in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert KEY not in done.err
    for name, value in s3.environ(proxy.port).items():
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(HistoryWriteError, match="the key may not do this") as caught,
        SharedHistory(str(filled), OWNER) as history,
    ):
        history.write({"threads": [piece([3])]}, {"a": 3}, {})
    assert not caught.value.may_pass
    assert s3.objects(filled.key) == before


def test_an_overloaded_store_is_named_as_that(
    filled: ObjectPath, proxy: FaultyStore, s3: S3Server
) -> None:
    proxy.plan = lambda method, path, body: "slow down"
    done = turnfold("sql", "SELECT 1", "--history", str(filled), env=s3.environ(proxy.port))
    assert done.code == 3
    assert "overloaded" in done.err and "SlowDown" in done.err


def test_a_file_that_was_deleted_meanwhile_is_named(filled: ObjectPath, s3: S3Server) -> None:
    for file in (s3.folder / "memory" / filled.key).rglob("date=*/*.parquet"):
        file.unlink()
    done = turnfold("sql", "SELECT * FROM threads", "--history", str(filled))
    assert done.code == 3
    assert "was deleted while it was read; ask again" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_history_of_something_else_is_refused(root: ObjectPath, tmp_path: Path) -> None:
    (root / "photo.jpg").write_text("x")
    with pytest.raises(Exception, match="is not a history"):
        SharedHistory(root, OWNER)
    assert [one.name for one in root.iterdir()] == ["photo.jpg"]


def test_another_sinks_history_is_refused(filled: ObjectPath) -> None:
    with pytest.raises(Exception, match="the sink 's' writes this history, not 'other'"):
        SharedHistory(filled, {"sink": "other", "cluster": "c"})


def test_a_port_where_nobody_answers_is_not_waited_for(
    settings: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes connections and says nothing."""
    monkeypatch.setattr("sinks.object_store.ANSWER_WITHIN", 1)
    monkeypatch.setattr("sinks.object_store.RETRIES", 1)
    monkeypatch.setattr("sinks.store_errors.PATIENCE", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(StoreError, match="cannot be reached") as caught:
            ObjectPath("s3://memory/h").exists()
    assert caught.value.exit_code == 5
