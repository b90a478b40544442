"""`DELETE /v1/users/{id}`: what is held of a person is erased, also by a server that was killed."""

import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from schemas.admin_replies import Erasure
from streams.apps.erasure_queue import Erasures
from streams.files.open_generation import erasing
from tests.command import files_holding, folded, ndjson, turn, turnfold
from tests.serving.serving import Server, serving
from tests.serving.test_api_memory import ok
from tests.serving.test_mcp import key_of, reads
from tests.serving.tiers import TIERS
from tests.tiers import soaked
from tests.waiting import WITHIN, until

pytestmark = pytest.mark.nightly

NOW = {"Prefer": "wait=30"}
LATER = {"Prefer": "respond-async"}
SECRET = "Quillfeather"


def said(session: str, user: str, text: str, count: int = 3) -> list[dict[str, Any]]:
    return [
        turn(f"{session}-{number}", session_id=session, user_id=user, user_input=text,
             agent_answer="Noted.")
        for number in range(count)
    ]  # fmt: skip


def done(client: httpx.Client, erasure: dict[str, Any], **headers: str) -> dict[str, Any]:
    """The erasure, once it is done."""

    def asked() -> dict[str, Any]:
        return dict(ok(client.get(f"/v1/erasures/{erasure['id']}", headers=headers)))

    found = until(asked, lambda one: one["status"] == "done")
    Erasure.model_validate(found)
    return found


def test_a_person_is_erased_with_a_receipt_and_others_stay(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with serving("--history", folder) as server:
        client = server.client
        server.endings(said("own", "wilma", SECRET) + said("both", "wilma", SECRET))
        server.endings([turn("b", session_id="both", user_id="bo", user_input="I like tea.")])
        found = ok(client.delete("/v1/users/wilma", headers=NOW))
        Erasure.model_validate(found)
        assert found["status"] == "done"
        receipt = found["receipt"]
        assert (receipt["sessions"], receipt["shared_sessions"]) == (1, 1)
        assert receipt["tables"]["events"]["erased"] == 6
        assert "wilma" not in str(found)
        assert server.session("own").status_code == 404
        (kept,) = ok(server.session("both"))["conversations"]
        assert kept["user_input"] == "I like tea."
        users = until(
            lambda: client.get("/v1/users").json(), lambda one: one.get("users") is not None
        )
        assert [one["user_id"] for one in users["users"]] == ["bo"]
        assert ok(client.get(f"/v1/erasures/{found['id']}")) == found
        assert files_holding(folder, SECRET) == files_holding(folder, "wilma") == []
        again = ok(client.delete("/v1/users/wilma", headers=NOW))
        assert all(one["erased"] == 0 for one in again["receipt"]["tables"].values())
        server.endings(said("later", "wilma", "I am back."))
        assert server.session("later").status_code == 200


def test_what_is_asked_after_one_that_is_done_is_answered(tmp_path: Path) -> None:
    with serving("--history", tmp_path / "history") as server:
        client = server.client
        server.endings(said("s-bo", "bo", "I like tea."))
        for what, prefer in product(("users/ada", "sessions/s-ada"), (NOW, LATER, LATER)):
            server.endings(said("s-ada", "ada", SECRET))
            asked = client.delete(f"/v1/{what}", headers=prefer)
            assert asked.status_code in (200, 202)
            done(client, asked.json())
            seen = [client.get(f"/{path}").status_code for path in ("v1/sessions/s-bo", "readyz")]
            assert seen == [200, 200]
            written = client.post("/v1/records", json=said("s-bo", "bo", "Tea."), headers=NOW)
            assert written.status_code == 200


def test_one_that_waits_is_not_asked_for_twice(tmp_path: Path) -> None:
    with serving("--history", tmp_path / "history") as server:
        server.endings(said("s", "ada", SECRET))

        def ask(_: int) -> httpx.Response:
            return httpx.delete(f"{server.url}/v1/users/ada", headers=LATER, timeout=WITHIN)

        with ThreadPoolExecutor(4) as threads:
            replies = list(threads.map(ask, range(4)))
        assert {one.status_code for one in replies} <= {200, 202}
        assert replies[0].headers["location"] == f"/v1/erasures/{replies[0].json()['id']}"
        for one in replies:
            done(server.client, one.json())
        assert files_holding(tmp_path, SECRET) == []


def test_asked_for_again_while_it_is_under_way_it_is_done_once_more(tmp_path: Path) -> None:
    """What is said between both is of the second."""
    history = tmp_path / "history"
    folded(ndjson(tmp_path / "turns.ndjson", said("s", "ada", SECRET)), history=history)
    erasures = Erasures(history)
    erasures.start()
    try:
        with erasing(history, alone=False):  # it has begun, and waits for this
            first = erasures.ask("default", "ada")
            second = until(lambda: erasures.ask("default", "ada"), lambda one: one.id != first.id)
        for asked in (first, second):
            ended = until(
                partial(erasures.find, "default", asked.id),
                lambda one: one is not None and one.finished_at is not None,
            )
            assert ended is not None and ended.user_id is None and ended.receipt is not None
    finally:
        erasures.close()
    assert files_holding(history, SECRET) == []


@pytest.mark.nightly
@pytest.mark.parametrize("pause", soaked([0.0, 0.1, 0.3, 0.02, 0.2, 0.5, 0.8], 3))
def test_killed_half_way_it_is_done_after_the_next_start(tmp_path: Path, pause: float) -> None:
    folder = tmp_path / "history"
    with serving("--history", folder) as server:
        for number in range(3):
            server.endings(said(f"own-{number}", "ada", SECRET))
            server.endings(said(f"both-{number}", "ada", SECRET))
            session = f"both-{number}"
            server.endings([turn(f"b{number}", session_id=session, user_id="bo", user_input="tea")])
        asked = server.client.delete("/v1/users/ada", headers=LATER)
        assert asked.status_code in (200, 202)
        time.sleep(pause)
        server.process.kill()
    with serving("--history", folder) as server:
        done(server.client, asked.json())
        server.until("/readyz", 200)
        for number in range(3):
            assert server.session(f"own-{number}").status_code == 404
            (kept,) = ok(server.session(f"both-{number}"))["conversations"]
            assert kept["user_input"] == "tea"
    assert files_holding(folder, SECRET) == []
    command = turnfold("forget", "ada", "--history", folder, "--yes", "-o", "json").json()
    assert all(one["erased"] == 0 for one in command["tables"].values())


def test_only_an_admin_of_the_tenant_erases(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    keys = {role: key_of(file, role) for role in ("read", "write", "admin")}
    other = key_of(file, "admin", "other")
    with serving("--history", tmp_path / "history", "--keys", file) as server:

        def by(key: str) -> dict[str, str]:
            return {"Authorization": f"Bearer {key}", **NOW}

        for key in (keys["write"], other):
            reply = server.post(said("s", "ada", SECRET), **by(key))
            assert reply.status_code == 200, reply.text
        for role in ("read", "write"):
            for path in ("/v1/users/ada", "/v1/users/a%2Fb"):
                refused = server.client.delete(path, headers=by(keys[role]))
                assert refused.status_code == 403
        found = ok(server.client.delete("/v1/users/ada", headers=by(keys["admin"])))
        path = f"/v1/erasures/{found['id']}"
        assert ok(server.client.get(path, headers=by(keys["admin"]))) == found
        assert server.client.get(path, headers=by(other)).status_code == 404
        assert server.client.get(path, headers=by(keys["read"])).status_code == 403
        until(lambda: reads(server, other) == 200)
        kept = server.client.get("/v1/sessions/s", headers=by(other))
        assert kept.status_code == 200, "another tenant's user of that id"


@pytest.mark.parametrize("id", ["x", "0" * 31, "0" * 33, "..%2F..%2Fkeys"])
def test_an_erasure_that_cannot_be_is_refused(sample: Server, id: str) -> None:
    assert sample.client.get(f"/v1/erasures/{id}").status_code == 422
    assert sample.client.get(f"/v1/erasures/{uuid4().hex}").status_code == 404


@pytest.mark.nightly
def test_over_kafka_it_says_what_to_do_instead(tmp_path: Path) -> None:
    with TIERS["kafka"](tmp_path) as here, serving(*here.options) as server:
        server.until("/readyz", 200)
        for path, command in (("users/ada", "turnfold forget"), ("sessions/s", "forget USER")):
            reply = server.client.delete(f"/v1/{path}")
            assert reply.status_code == 501
            assert command in reply.json()["detail"]
