"""`DELETE /v1/sessions/{id}`, and one of its turns: it is erased with what memory made of it, also
by a server that was killed."""

import logging
import time
from pathlib import Path

import pytest

from sinks.digest import digest
from streams.apps.erasure_queue import Erasures
from streams.search import build_locks
from tests.command import files_holding, folded, ndjson, turn
from tests.serving.serving import Server, serving
from tests.serving.test_api_forget import LATER, NOW, SECRET, done, said
from tests.serving.test_api_memory import ok
from tests.serving.test_mcp import key_of
from tests.tiers import soaked
from tests.waiting import until

pytestmark = pytest.mark.nightly

RULES = ("--extractor", "rules")


def lives(server: Server, session: str, user: str, city: str) -> None:
    posted = server.endings([
        turn(f"{session}-{user}", session_id=session, user_id=user, status="done",
             user_input=f"I live in {city}.", agent_answer="Noted.")
    ])  # fmt: skip
    assert posted == ["applied"]


def facts(server: Server, user: str) -> list[str]:
    server.until("/readyz", 200)
    found = server.client.get(f"/v1/users/{user}")
    if found.status_code == 404:
        return []
    return [one["body_text"] for one in ok(found)["states"]]


def test_what_a_session_said_leaves_memory_and_what_was_said_elsewhere_stays(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "history"
    with serving("--history", folder, *RULES) as server:
        lives(server, "first", "ada", "Leeds")
        lives(server, "second", "ada", SECRET)
        assert any(SECRET in one for one in facts(server, "ada"))
        found = ok(server.client.delete("/v1/sessions/second", headers=NOW))
        receipt = found["receipt"]
        assert (found["status"], receipt["users"]) == ("done", 1)
        assert receipt["tables"]["events"]["erased"] == 1
        assert "second" not in str(found)
        assert facts(server, "ada") == ["Lives in Leeds."]
        assert server.session("second").status_code == 404
        assert server.session("first").status_code == 200
        assert ok(server.client.get(f"/v1/erasures/{found['id']}")) == found
        again = ok(server.client.delete("/v1/sessions/second", headers=NOW))["receipt"]
        assert all(one["erased"] == 0 for one in again["tables"].values())
        server.until("/readyz", 200)
        lives(server, "second", "ada", "Oslo")
        assert server.session("second").status_code == 200, "what is posted later is new"
    assert files_holding(folder, SECRET) == []


def test_a_session_of_several_users_goes_for_all_of_them(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    with serving("--history", folder, *RULES) as server:
        lives(server, "both", "ada", SECRET)
        lives(server, "both", "bo", SECRET)
        lives(server, "own", "bo", "Leeds")
        receipt = ok(server.client.delete("/v1/sessions/both", headers=NOW))["receipt"]
        assert receipt["users"] == 2
        assert facts(server, "ada") == []
        assert facts(server, "bo") == ["Lives in Leeds."]
        listed = until(lambda: server.client.get("/v1/users").json(), lambda one: "users" in one)
        assert [one["user_id"] for one in listed["users"]] == ["bo"]
    assert files_holding(folder, SECRET) == []


def test_a_turn_goes_with_its_messages_and_the_others_of_its_session_stay(tmp_path: Path) -> None:
    folder, words = (
        tmp_path / "history",
        ("I live in Leeds.", f"I live in {SECRET}.", "I like tea."),
    )
    with serving("--history", folder, *RULES) as server:
        for number, text in enumerate(words):
            messages = [
                {"role": "user", "id": f"m{number}", "content": text, "original": text},
                {"role": "assistant", "content": f"Noted: {text}", "original": f"Noted: {text}"},
            ]
            body = {"user_id": "ada", "session_id": "s", "messages": messages}
            ok(server.client.post("/v1/messages", json=body, headers=NOW))
        assert any(SECRET in one for one in facts(server, "ada"))
        erased = ok(server.client.delete("/v1/sessions/s/turns/m1", headers=NOW))
        assert erased["status"] == "done" and "m1" not in str(erased["receipt"])
        assert erased["receipt"]["tables"]["events"]["erased"] == 1
        assert facts(server, "ada") == ["Lives in Leeds."]
        kept = until(
            lambda: server.client.get("/v1/sessions/s/messages"), lambda one: one.status_code == 200
        )
        assert [one["original"] for one in ok(kept)["messages"]] == [
            text for one in (words[0], words[2]) for text in (one, f"Noted: {one}")
        ]
        turns = [one["user_input"] for one in server.session("s").json()["conversations"]]
        assert turns == [words[0], words[2]]
        again = ok(server.client.delete("/v1/sessions/s/turns/m1", headers=NOW))["receipt"]
        assert all(one["erased"] == 0 for one in again["tables"].values())
        server.until("/readyz", 200)
        lives(server, "s", "ada", "Oslo")
    assert files_holding(folder, SECRET) == []


GONE = ("gone", "own/turns/own-secret")
"""A session, and a turn of one that stays."""


@pytest.mark.nightly
@pytest.mark.parametrize("gone", GONE)
@pytest.mark.parametrize("pause", soaked([0.05, 0.4, 0.0, 0.2, 0.7], 2))
def test_killed_half_way_it_is_gone_after_the_next_start(
    tmp_path: Path, pause: float, gone: str
) -> None:
    turns = [
        turn(f"own-{number}", session_id="own", user_id=f"u{number}", status="done",
             user_input="I live in Leeds.", agent_answer="Noted.")
        for number in range(5)
    ]  # fmt: skip
    turns += [
        turn("own-secret" if "/" in gone else f"gone-{number}",
             session_id="own" if "/" in gone else "gone", user_id=f"u{number}", status="done",
             user_input=f"I live in {SECRET}.", agent_answer="Noted.")
        for number in range(1 if "/" in gone else 5)
    ]  # fmt: skip
    folder, never = tmp_path / "history", tmp_path / "never"
    with serving("--history", folder, *RULES) as server:
        assert set(server.endings(turns)) == {"applied"}
        asked = server.client.delete(f"/v1/sessions/{gone}", headers=LATER)
        assert asked.status_code in (200, 202)
        time.sleep(pause)
        server.process.kill()
    with serving("--history", folder) as server:
        done(server.client, asked.json())
        for number in range(5):
            assert facts(server, f"u{number}") == ["Lives in Leeds."]
    assert files_holding(folder, SECRET) == []
    with serving("--history", never, *RULES) as server:
        assert set(server.endings(turns[:5])) == {"applied"}
    assert digest(folder)["memory"] == digest(never)["memory"]


def test_only_an_admin_erases_a_session_and_of_their_own_tenant(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    keys = {role: key_of(file, role) for role in ("read", "write", "admin")}
    other = key_of(file, "admin", "other")
    with serving("--history", tmp_path / "history", "--keys", file) as server:

        def by(key: str) -> dict[str, str]:
            return {"Authorization": f"Bearer {key}", **NOW}

        for key in (keys["write"], other):
            assert server.post(said("s", "ada", SECRET), **by(key)).status_code == 200
        for role in ("read", "write"):
            for what in ("s", "s/turns/e"):
                refused = server.client.delete(f"/v1/sessions/{what}", headers=by(keys[role]))
                assert refused.status_code == 403
        ok(server.client.delete("/v1/sessions/s", headers=by(keys["admin"])))
        server.until("/readyz", 200)
        assert server.client.get("/v1/sessions/s", headers=by(other)).status_code == 200


def test_an_erasure_that_waits_for_an_index_holds_no_other_tenant(tmp_path: Path) -> None:
    history = tmp_path / "history"
    turns = [*said("s", "ada", SECRET), {**said("s", "bo", "tea", 1)[0], "tenant": "other"}]
    folded(ndjson(tmp_path / "turns.ndjson", turns), history=history)
    erasures = Erasures(history)
    with build_locks([history], "default"):
        erasures.start()
        try:
            first = erasures.ask("default", "ada")
            second = erasures.ask("other", session_id="s")
            until(
                lambda: erasures.find("other", second.id),
                lambda one: one is not None and one.finished_at is not None,
            )
            waiting = erasures.find("default", first.id)
            assert waiting is not None and waiting.finished_at is None
        finally:
            erasures.close()


def test_an_erasure_that_cannot_be_read_is_named_and_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    history = tmp_path / "history"
    folded(ndjson(tmp_path / "turns.ndjson", said("s", "ada", SECRET)), history=history)
    broken = history / "_erasures" / f"{'a' * 32}.json"
    broken.parent.mkdir()
    broken.write_bytes(b'{"id": "a')
    with serving("--history", history) as server:
        server.until("/readyz", 200)
        assert server.client.get(f"/v1/erasures/{'a' * 32}").status_code == 404
        ok(server.client.delete("/v1/users/ada", headers=NOW))
    assert broken.with_suffix(".broken").read_bytes() == b'{"id": "a'
    again = Erasures(history)
    broken.write_bytes(b"{}")
    with caplog.at_level(logging.ERROR):
        again.start()
        again.close()
    assert f"{'a' * 32}.broken" in caplog.text and "request it again" in caplog.text
