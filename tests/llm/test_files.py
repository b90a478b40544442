"""`extract` over a history: each turn once, what is paid for is kept, the state as of the event."""

import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from schemas.time import format_time
from streams.serving.extract_history import extract
from tests.command import PROGRAM, environment, files_holding, rows, turn, turnfold
from tests.llm.endpoint import (
    LONG,
    Endpoint,
    Hang,
    Reply,
    Request,
    completion,
    in_turn,
    model,
)
from tests.waiting import WITHIN, until

pytestmark = pytest.mark.nightly

MINUTE = 60_000_000
START = 1_767_225_600_000_000
Start = Callable[..., Endpoint]
Folded = Callable[[list[dict[str, Any]]], Path]


def told(number: int, minute: float, text: str, **fields: Any) -> dict[str, Any]:
    at = format_time(START + int(minute * MINUTE))
    return turn(f"e{number}", occurred_at=at, user_input=text, agent_answer="I see.", **fields)


def talk(users: int, turns: int) -> list[dict[str, Any]]:
    """Users side by side, each with so many turns, ten seconds apart."""
    return [
        told(n * 100 + user, n / 6, f"fact: user {user} said {n}", session_id=f"s{user}",
             user_id=f"u{user}")
        for n in range(turns)
        for user in range(users)
    ]  # fmt: skip


@pytest.mark.component
def test_turns_become_plans_with_their_cost(endpoint: Start, folded: Folded) -> None:
    history = folded(talk(users=3, turns=8))
    counts = extract(history, endpoint().settings())
    assert counts["turns"] == counts["done"] == 24
    assert (counts["groups"], counts["calls"], counts["failed"]) == (6, 6, 0)
    assert (counts["prompt_tokens"], counts["completion_tokens"]) == (4200, 180)
    assert counts["cost"] == pytest.approx(6 * (700 * 1.0 + 30 * 10.0) / 1e6)
    found = rows(
        history,
        "SELECT extractor_name, extractor_version, count(*), "
        "sum(CAST(doc ->> '$.extraction.prompt_tokens' AS INT)), "
        "sum(CAST(doc ->> '$.extraction.cost' AS DOUBLE)) FROM plans GROUP BY ALL",
    )
    assert found == [("llm/test", "3", 6, 4200, pytest.approx(0.006))]
    facts = rows(history, "SELECT body_text, evidence_event_ids FROM state_current")
    assert len(facts) == 24
    assert ("user 2 said 7", ["e702"]) in facts, "evidence is the turn, not the whole group"


def test_a_second_time_nothing_is_asked(endpoint: Start, folded: Folded) -> None:
    history = folded(talk(users=3, turns=8))
    asked = endpoint()
    extract(history, asked.settings())
    before = rows(history, "SELECT plan_id FROM plans ORDER BY 1")
    assert extract(history, asked.settings())["turns"] == 0
    assert len(asked.requests) == 6
    assert rows(history, "SELECT plan_id FROM plans ORDER BY 1") == before


def test_new_turns_alone_are_asked_about(endpoint: Start, folded: Folded) -> None:
    history = folded([told(1, 0, "fact: one")])
    asked = endpoint()
    extract(history, asked.settings())
    folded([told(1, 0, "fact: one"), told(2, 1, "fact: two")])
    assert extract(history, asked.settings())["turns"] == 1
    assert asked.requests[-1].said == ["fact: two"]


def test_another_model_is_asked_again(endpoint: Start, folded: Folded) -> None:
    history = folded([told(1, 0, "fact: one")])
    asked = endpoint()
    extract(history, asked.settings())
    assert extract(history, asked.settings(model="other"))["groups"] == 1
    names = rows(history, "SELECT extractor_name FROM plans ORDER BY 1")
    assert names == [("llm/other",), ("llm/test",)]


def test_only_what_a_user_says_is_sent(endpoint: Start, folded: Folded) -> None:
    history = folded(
        [
            told(1, 0, "fact: mine"),
            told(2, 0.1, "a reminder", source="reminder"),
            told(3, 0.2, "of its own accord", source="meta_proactive"),
            told(4, 0.3, "not ended", status="running"),
            told(5, 0.4, " \n "),
            told(6, 0.5, "nobody's", user_id=None),
            told(7, 0.6, "withheld", source="meta_request"),
        ]
    )
    asked = endpoint()
    assert extract(history, asked.settings())["turns"] == 1
    assert [one.said for one in asked.requests] == [["fact: mine"]]


def test_in_a_group_chat_each_user_has_a_request(endpoint: Start, folded: Folded) -> None:
    history = folded(
        [told(n, n / 10, f"fact: {n}", user_id="ann" if n % 2 else "bob") for n in range(4)]
    )
    asked = endpoint()
    extract(history, asked.settings())
    assert sorted(one.said for one in asked.requests) == [
        ["fact: 0", "fact: 2"],
        ["fact: 1", "fact: 3"],
    ]
    owners = rows(history, "SELECT DISTINCT owner_id, body_text FROM state_current ORDER BY ALL")
    assert owners == [("ann", "1"), ("ann", "3"), ("bob", "0"), ("bob", "2")]


def plan(number: int, minute: float, text: str, **fields: Any) -> dict[str, Any]:
    at = format_time(START + int(minute * MINUTE))
    update = {"kind": "fact", "state_id": "home", "body_text": text, "valid_from": at,
              "evidence_event_ids": ["e0"]}  # fmt: skip
    given = {"type": "write_plan", "plan_id": f"p{number}", "user_id": "u", "occurred_at": at}
    return given | {"extractor": {"name": "hand"}, "state_updates": [update]} | fields


def test_the_state_shown_is_the_one_as_of_the_event(endpoint: Start, folded: Folded) -> None:
    """Both clocks: what holds later, and what was learnt later of that time, is not shown."""
    learnt_late = {"recorded_at": format_time(START + 90 * MINUTE)}
    history = folded(
        [
            told(0, 0, "hello"),
            plan(1, 1, "lives in Kyoto"),
            told(1, 30, "what do you know?"),
            plan(2, 60, "lives in Osaka"),
            plan(3, 20, "lives in Nara", **learnt_late),
            told(2, 100, "and now?"),
        ]
    )
    asked = endpoint()
    extract(history, asked.settings())
    shown = {
        request.said[0]: [one["body_text"] for one in request.data["states"]]
        for request in asked.requests
    }
    assert shown["hello"] == []
    assert shown["what do you know?"] == ["lives in Kyoto"]
    assert shown["and now?"] == ["lives in Osaka"]


def like(number: int, minute: float, op: str, **fields: Any) -> dict[str, Any]:
    update = {"op": op, "domain": "food", "polarity": "like", "subject": "tea",
              "evidence_event_ids": ["e0"]}  # fmt: skip
    return plan(number, minute, "", state_updates=[], preference_updates=[update]) | fields


def test_the_likes_shown_are_those_known_at_the_event(endpoint: Start, folded: Folded) -> None:
    learnt_late = {"recorded_at": format_time(START + 90 * MINUTE)}
    history = folded(
        [
            told(0, 0, "hello"), like(1, 1, "upsert_candidate"),
            like(2, 10, "confirm", user_id="v"), told(1, 30, "what do I like?"),
            like(3, 20, "confirm", **learnt_late), told(2, 100, "and now?"), like(4, 110, "revoke"),
            told(3, 200, "and in the end?"),
        ]
    )  # fmt: skip
    asked = endpoint()
    extract(history, asked.settings())
    shown = {
        request.said[0]: [one["status"] for one in request.data["preferences"]]
        for request in asked.requests
    }
    assert shown == {
        "hello": [],
        "what do I like?": ["candidate"],
        "and now?": ["confirmed"],
        "and in the end?": [],
    }


@pytest.mark.parametrize("concurrency", [1, 8])
def test_a_request_sees_what_the_ones_before_have_left(
    endpoint: Start, folded: Folded, concurrency: int
) -> None:
    """Whatever the number of requests at a time: of one user one after the other."""
    history = folded(talk(users=4, turns=12))
    asked = endpoint()
    extract(history, asked.settings(turns=3, concurrency=concurrency))
    for request in asked.requests:
        _, user, _, number = request.said[0].removeprefix("fact: ").split()
        known = {state["body_text"] for state in request.data["states"]}
        assert known == {f"user {user} said {n}" for n in range(int(number))}


def command(asked: Endpoint, history: Path, *more: str) -> "subprocess.Popen[bytes]":
    """The real command as a process."""
    env = environment(
        TURNFOLD_LLM_API_KEY="sk-secret", TURNFOLD_LLM_BASE_URL=asked.url,
        TURNFOLD_LLM_MODEL="test", TURNFOLD_LLM_RETRY_SECONDS="0.2",
        TURNFOLD_LLM_BREAKER_SECONDS="0.1",
        TURNFOLD_LLM_READ_SECONDS=str(LONG), TURNFOLD_LLM_TOTAL_SECONDS=str(LONG),
    )  # fmt: skip
    return subprocess.Popen(
        [PROGRAM, "admin", "extract", "--history", str(history), "-o", "json", *more],
        env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )  # fmt: skip


def reached(asked: Endpoint, requests: int) -> bool:
    return len(asked.requests) >= requests


def slowly(request: Request) -> Reply:
    time.sleep(0.05)
    return model(request)


@pytest.mark.component
def test_killed_in_the_middle_nothing_is_lost_doubled_or_paid_twice(
    endpoint: Start, folded: Folded
) -> None:
    history = folded(talk(users=8, turns=18))  # 24 groups
    asked = endpoint(slowly)
    for goal in (5, 10, 15):
        running = command(asked, history, "--concurrency", "2")
        until(partial(reached, asked, goal))
        running.kill()
        running.communicate()
    running = command(asked, history)
    _, err = running.communicate(timeout=WITHIN)
    assert running.returncode == 0, err
    # at most what was on its way when it was killed is asked again: two requests a kill
    assert 24 <= len(asked.requests) <= 24 + 3 * 2
    assert rows(history, "SELECT count(*), count(DISTINCT plan_id) FROM plans") == [(24, 24)]
    assert rows(history, "SELECT count(*) FROM state_current") == [(144,)]
    assert rows(history, "SELECT count(*) FROM dead_letters") == [(0,)]


@pytest.mark.component
def test_who_was_forgotten_is_not_brought_back_by_what_a_killed_run_left(
    endpoint: Start, folded: Folded
) -> None:
    history = folded(talk(users=2, turns=3))
    asked = endpoint(in_turn(model, model, then=lambda _: Hang(LONG)))
    running = command(asked, history, "--turns", "2", "--concurrency", "1")
    until(partial(reached, asked, 2))
    running.kill()
    running.communicate()
    assert turnfold("forget", "u0", "--history", history, "--yes").code == 0
    asked.behave = model
    extract(history, asked.settings())
    owners = rows(history, "SELECT DISTINCT user_id FROM plans")
    assert owners == [("u1",)]
    assert files_holding(history, "user 0 said") == []


def test_who_is_forgotten_while_it_runs_is_forgotten(endpoint: Start, folded: Folded) -> None:
    """Before a request that would show what they said, and while one is under way."""
    history = folded(talk(users=3, turns=3))

    def forgetting(request: Request) -> Reply:
        if len(asked.requests) == 1:
            for user in ("u0", "u2"):
                assert turnfold("forget", user, "--history", history, "--yes").code == 0
        return model(request)

    asked = endpoint(forgetting)
    extract(history, asked.settings(turns=1, concurrency=1, total_seconds=60, read_seconds=60))
    assert rows(history, "SELECT DISTINCT user_id FROM plans") == [("u1",)]
    assert files_holding(history, "user 0 said") == files_holding(history, "user 2 said") == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_within_seconds_and_keeps_what_it_has(
    endpoint: Start, folded: Folded, sent: signal.Signals
) -> None:
    history = folded(talk(users=6, turns=3))
    asked = endpoint(in_turn(model, model, then=lambda _: Hang(LONG)))
    running = command(asked, history, "--concurrency", "3")
    until(lambda: len(asked.requests) >= 5)
    running.send_signal(sent)
    out, err = running.communicate(timeout=WITHIN)
    assert running.returncode == 130, (out, err)
    assert b"run again to continue" in err
    assert rows(history, "SELECT count(*) FROM plans") == [(2,)]


def test_of_two_at_once_one_is_refused(endpoint: Start, folded: Folded) -> None:
    history = folded([told(1, 0, "fact: one")])
    asked = endpoint(lambda _: Hang(LONG))
    first = command(asked, history)
    until(lambda: len(asked.requests) >= 1)
    second = command(asked, history)
    _, err = second.communicate(timeout=WITHIN)
    assert second.returncode == 3
    assert b"or `turnfold admin extract` runs on this history" in err
    first.kill()
    first.communicate()
    assert len(asked.requests) == 1


@pytest.mark.component
def test_a_failure_is_a_dead_letter_and_asked_about_again_only_if_told(
    endpoint: Start, folded: Folded
) -> None:
    history = folded([told(1, 0, "fact: one"), told(2, 30, "fact: two")])
    nonsense = completion("I would rather not.")
    asked = endpoint(in_turn(nonsense, nonsense))
    counts = extract(history, asked.settings(concurrency=1))
    assert (counts["failed"], counts["done"], counts["calls"]) == (1, 1, 3)
    ((reason, detail, payload),) = rows(history, "SELECT reason, detail, payload FROM dead_letters")
    assert reason == "extraction_failed"
    assert "not JSON" in detail
    assert b"I would rather not." in payload and b'"prompt_tokens":1400' in payload
    assert extract(history, asked.settings())["turns"] == 0
    assert extract(history, asked.settings(), again=True)["done"] == 1
    assert len(rows(history, "SELECT * FROM plans")) == 2


def test_the_budget_of_a_run_stops_it_and_the_next_continues(
    endpoint: Start, folded: Folded
) -> None:
    history = folded(talk(users=5, turns=1))
    asked = endpoint()
    # a call comes to 730 tokens; what it may come to is reserved beforehand
    settings = asked.settings(budget_tokens=6_000, max_output_tokens=2_000, concurrency=1)
    counts = extract(history, settings)
    assert 0 < counts["done"] < 5
    assert "the budget of this run is used up" in counts["stopped"]
    assert counts["prompt_tokens"] + counts["completion_tokens"] <= 6_000
    while counts["stopped"]:
        counts = extract(history, settings)
    assert len(asked.requests) == 5
    assert rows(history, "SELECT count(*) FROM plans") == [(5,)]


def test_the_budget_of_an_hour_counts_what_earlier_runs_spent(
    endpoint: Start, folded: Folded
) -> None:
    history = folded(talk(users=2, turns=1))
    asked = endpoint()
    one = {"max_output_tokens": 100, "concurrency": 1}
    extract(history, asked.settings(**one, budget_tokens=4000))
    spent = 730 * len(asked.requests)
    counts = extract(history, asked.settings(**one, hourly_tokens=spent + 1))
    assert (counts["done"], len(asked.requests)) == (2 - spent // 730, spent // 730)
    assert "an hour" in (counts["stopped"] or "an hour")
