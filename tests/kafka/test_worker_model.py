"""`kafka worker --extractor llm` on a real broker and endpoint: no turn waits for a model."""

import threading
from collections import Counter
from itertools import count, islice
from pathlib import Path

import msgspec
import pytest

from streams.kafka.client.partitions import partition_of
from tests.command import rows, turn, turnfold
from tests.kafka.asking import USERS, Asking, Held, better
from tests.kafka.counting import PARTITIONS
from tests.kafka.working import Working, message
from tests.llm.endpoint import Endpoint, Reply, Request, completion, error, model
from tests.waiting import until

encode = msgspec.json.Encoder().encode
MANY = 1_600
"""Turns of others beside a user's, in one partition."""


@pytest.mark.component
def test_a_turn_is_committed_while_the_endpoint_hangs_and_its_plan_replaces_the_rules(
    working: Working, tmp_path: Path
) -> None:
    """What somebody has corrected meanwhile stays as they said; the choice is remembered."""
    go = threading.Event()
    with Endpoint(lambda request: Held(better(request), go)) as asked:
        asking = Asking(working, asked)
        asking.start("--extractor", "llm")
        asking.say("I live in Porto.", users=2)
        working.await_done()
        asking.await_current("Lives in Porto.", "Lives in Porto.")
        until(lambda: len(asked.requests) >= 2, told=working.log)
        asking.say("I love green tea.", first=1)
        working.await_done()
        assert asking.plans() == [], "the model has not answered"
        assert "groups wait" in asking.shown("readyz")
        assert asking.metric("turnfold_model_waiting_groups") >= 2

        (home,) = (
            one["state_updates"][0] for one in asking.plans("rules")
            if one["user_id"] == "u1" and "state_updates" in one
        )  # fmt: skip
        corrected = {**home, "body_text": "Lives in Porto Alegre."}
        plan = {"type": "write_plan", "plan_id": "by-hand", "user_id": "u1",
                "extractor": {"name": "operator"}, "occurred_at": "2026-01-01T00:05:00Z",
                "state_updates": [corrected]}  # fmt: skip
        working.send([message(encode(plan))])
        working.await_done()
        asking.await_current("Lives in Porto.", "Lives in Porto Alegre.")

        go.set()
        said = ["I live in Porto.", "I live in Porto.", "I love green tea."]
        asking.await_current("Lives in Porto Alegre.", *(f"By a model: {one}" for one in said))
        history = working.history(tmp_path / "history")
        likes = rows(history, "SELECT subject, status FROM preference_current")
        assert likes == [("green tea", "revoked")]
        assert asking.end() < 25

        asking.start()
        working.await_log("memory is made by llm, as before", PARTITIONS)
        asking.say("I live in Faro.", first=2)
        until(lambda: "By a model: I live in Faro." in asking.current(), told=working.log)
        assert Counter(asking.asked_about()).most_common(1)[0][1] == 1


def test_an_endpoint_that_is_away_is_waited_for_and_nothing_is_lost(working: Working) -> None:
    """A worker that ends meanwhile does so at once; the next one asks about what it left."""
    with Endpoint(lambda _: error(503)) as asked:
        asking = Asking(working, asked)
        asking.start("--extractor", "llm")
        asking.say(*(f"fact: {n}" for n in range(12)), users=USERS)
        working.await_done()
        until(lambda: "the model does not answer" in asking.shown("readyz"), told=working.log)
        until(lambda: asking.metric("turnfold_model_lag_offsets") == 12 * USERS)
        assert asking.metric('turnfold_model_breaker_state{state="closed"}') == 0
        working.await_log("the model does not answer")
        assert asking.end() < 25
        asking.start()
        working.await_log("the model does not answer")
        assert asking.plans() == []
        asked.behave = model
        until(lambda: len(asking.asked_about()) == 12 * USERS, told=working.log)
        working.await_log("the model is asked", 2)
        until(lambda: asking.metric("turnfold_model_lag_offsets") == 0, told=working.log)
    assert len(set(asking.asked_about())) == 12 * USERS


def test_a_budget_that_is_used_up_ends_the_asking_and_not_the_worker(working: Working) -> None:
    with Endpoint() as asked:
        asking = Asking(working, asked, BUDGET_TOKENS="9000", TURNS="1", CONCURRENCY="1")
        asking.start("--extractor", "llm")
        asking.say("fact: 1", users=USERS)
        working.await_done()
        working.await_log("the model is asked no more by this worker: the budget of this run")
        made = len(asking.plans())
        assert 0 < made < USERS
        assert "used up" in asking.shown("readyz")
        assert asking.metric('turnfold_model_budget_used_ratio{budget="run",unit="tokens"}') > 0.2
        asking.say("I live in Porto.", first=1)
        working.await_done()
        asking.await_current(*["1"] * made, "Lives in Porto.")
        asking.end()
        asking.start(TURNFOLD_LLM_BUDGET_TOKENS="1000000")
        until(lambda: len(asking.asked_about()) == USERS + 1, told=working.log)
    assert len(set(asking.asked_about())) == USERS + 1


def test_an_hour_that_is_used_up_is_waited_for_and_said(working: Working, tmp_path: Path) -> None:
    """A worker that is started again knows from the history what was spent."""
    with Endpoint() as asked:
        asking = Asking(working, asked, HOURLY_TOKENS="9000", TURNS="1", CONCURRENCY="1")
        asking.start("--extractor", "llm")
        asking.say("fact: 1", users=USERS)
        working.await_done()
        working.await_log("the model waits: the budget of an hour is used up")
        assert "the budget of an hour" in asking.shown("readyz")
        made = len(asked.requests)
        assert 0 < made < USERS
        until(asking.plans, lambda plans: len(plans) == made, told=working.log)
        working.sent += made
        working.await_done()
        assert asking.end() < 25, "it does not wait for the hour"
        history = working.history(tmp_path / "history")
        asking.start("--history", str(history))
        working.await_log("the model waits: the budget of an hour is used up")
        assert len(asked.requests) == len(asking.plans()) == made


def test_a_total_failure_shows_in_log_readiness_metrics_and_dead_letters(working: Working) -> None:
    with Endpoint(lambda _: completion("No.")) as asked:
        asking = Asking(working, asked)
        asking.start("--extractor", "llm")
        asking.say("I live in Porto.", users=USERS)
        working.await_done()
        working.await_log("the model gives no usable answer: not JSON")
        assert "gives no usable answer" in asking.shown("readyz")
        assert asking.metric('turnfold_model_groups_total{ending="failed"}') >= 3
        assert asking.metric('turnfold_model_groups_total{ending="planned"}') == 0
        until(lambda: len(working.dead_letters()) == USERS, told=working.log)
        assert {one["reason"] for one in working.dead_letters()} == {"extraction_failed"}
        asking.await_current(*["Lives in Porto."] * USERS)


def test_useless_answers_after_good_ones_are_said_and_then_a_key_that_is_refused(
    working: Working,
) -> None:
    """The newest cause is shown, whatever came before it."""
    with Endpoint(better) as asked:
        asking = Asking(working, asked, TURNS="1", ATTEMPTS="2")
        asking.start("--extractor", "llm")
        asking.say("I live in Porto.", users=USERS)
        asking.await_current(*["By a model: I live in Porto."] * USERS)
        asked.behave = lambda _: completion("No.")
        asking.say("I live in Faro.", first=1, users=USERS)
        working.await_log("the model gives no usable answer: not JSON")
        until(lambda: len(working.dead_letters()) == USERS, told=working.log)
        assert "gives no usable answer: not JSON" in asking.shown("readyz")

        asked.behave = lambda _: completion("{}")
        asking.say("I live in Evora.", first=2, users=USERS)
        until(lambda: "states: Field required" in asking.shown("readyz"), told=working.log)
        until(lambda: len(working.dead_letters()) == 2 * USERS, told=working.log)
        assert working.log().count("gives no usable answer") == 1

        asked.behave = lambda _: error(401, "who are you?")
        asking.say("I live in Braga.", first=3, users=USERS)
        working.await_log("the model is not asked: HTTP 401 Unauthorized: who are you?")
        shown = asking.shown("readyz")
        assert "the model is not asked: HTTP 401" in shown
        assert "no usable answer" not in shown


def test_settings_that_are_missing_are_said(working: Working) -> None:
    """By a worker that is told to ask a model before anything else; by one that was told once, in
    its log: rules go on without it."""
    refused = turnfold("kafka", "worker", "--extractor", "llm", "--bootstrap", "localhost:1")
    assert refused.code == 3
    assert "TURNFOLD_LLM_BASE_URL" in refused.err
    with Endpoint() as asked:
        asking = Asking(working, asked)
        asking.start("--extractor", "llm")
        working.await_log("the model is asked")
        asking.end()
        working.start()
        working.await_ready()
        working.await_log("the model is not asked: ")
        assert "TURNFOLD_LLM_BASE_URL" in working.log()
        asking.say("I live in Porto.")
        working.await_done()
        asking.await_current("Lives in Porto.")
        working.kill()
        asking.start("--extractor", "none")
        working.await_log("memory is made by none from now on, until now by llm", PARTITIONS)
        asking.say("I live in Faro.", first=1)
        working.await_done()
        assert asked.requests == [] and asking.plans() == []


def test_what_is_remembered_is_shown_from_the_sinks_history(
    working: Working, tmp_path: Path
) -> None:
    """And what tools said; not what rules found in the turns themselves, for the plan takes its
    place."""
    known = {"type": "write_plan", "plan_id": "p", "user_id": "u0", "extractor": {"name": "hand"},
             "occurred_at": "2025-12-01T00:00:00Z",
             "state_updates": [{"kind": "fact", "body_text": "Plays the oboe."}]}  # fmt: skip
    of_task = {"session_id": "s0", "task_id": "t1", "occurred_at": "2026-01-01T00:00:01Z"}
    first = turn("e0-0", **of_task, user_id="u0", user_input="I live in Porto.")
    call = {"action_type": "CALL_TOOL", "output": {"tool_calls": [{"id": "c1", "name": "map"}]}}
    loop = {"type": "recursion", "trace_id": "r", "iteration_index": 0, "action": call, **of_task}
    result = {"type": "tool_result", "trace_id": "r", "tool_call_id": "c1", "success": True,
              "result": "Porto is in Portugal.", **of_task}  # fmt: skip
    with Endpoint(better) as asked:
        asking = Asking(working, asked, TURNS="2", IDLE_SECONDS="600")
        asking.start("--extractor", "llm", "--history", str(tmp_path / "history"))
        working.await_log("the model waits: ")
        working.send(message(encode(one)) for one in (known, first, loop, result))
        working.await_done()
        working.history(tmp_path / "history")
        asking.say("I love green tea.", first=1)
        until(lambda: asked.requests, told=working.log)
        (request,) = asked.requests
        assert [one["body_text"] for one in request.data["states"]] == ["Plays the oboe."]
        shown = [one.get("tool_results") for one in request.data["turns"]]
        assert shown == [["Porto is in Portugal."], None]
        asking.await_current(
            "Plays the oboe.", "By a model: I live in Porto.", "By a model: I love green tea."
        )


def test_a_model_may_begin_with_what_comes_from_now_on(working: Working) -> None:
    """As docs/extract.md says how: otherwise it is asked about every turn in the topic."""
    with Endpoint(better) as asked:
        asking = Asking(working, asked)
        asking.start("--extractor", "rules")
        asking.say("I live in Porto.", users=USERS)
        working.await_done()
        asking.end()
        done = turnfold("kafka", "extract", "--latest", "--once", "-o", "json", *working.at,
                        env=asking.env)  # fmt: skip
        assert (done.code, done.json()["turns"]) == (0, 0), done.err
        asking.start("--extractor", "llm")
        asking.say("I live in Faro.", first=1)
        asking.await_current(*["Lives in Porto."] * (USERS - 1), "By a model: I live in Faro.")
        assert asking.asked_about() == ["e1-0"]


def test_what_stays_with_a_worker_through_a_rebalance_is_paid_for_once(working: Working) -> None:
    """Only what moves is abandoned, and asked about by its new owner."""
    go = threading.Event()
    with Endpoint(lambda request: Held(better(request), go)) as asked:
        asking = Asking(working, asked, TURNS="1", CONCURRENCY=str(USERS))
        asking.start("--extractor", "llm")
        asking.say("I live in Porto.", users=USERS)
        until(lambda: len(asked.requests) == USERS, told=working.log)
        until(lambda: asking.metric("turnfold_model_lag_offsets") == USERS)
        working.start(env=asking.env)
        until(lambda: all(": 2 partitions" in working.log(number) for number in (0, 1)))
        moved = USERS - until(lambda: asking.metric("turnfold_model_lag_offsets"))
        until(lambda: len(asked.requests) >= USERS + moved, told=working.log)
        go.set()
        until(lambda: len(asking.asked_about()) >= USERS, told=working.log)
    assert Counter(Counter(asking.asked_about()).values()) == {1: USERS}
    times = Counter(one.data["turns"][0]["event_id"] for one in asked.requests)
    assert Counter(times.values()) == {1: USERS - moved, 2: moved}


def test_a_generation_has_a_model_of_its_own(working: Working) -> None:
    """Its plans reach the live memory in no way, and those of the live model not it."""

    with Endpoint(lambda request: better(request, request.body["model"])) as asked:
        asking = Asking(working, asked)
        asking.start("--extractor", "llm")
        asking.say("I live in Porto.", users=2)
        asking.await_current("test: I live in Porto.", "test: I live in Porto.")
        other = {"TURNFOLD_LLM_MODEL": "other"}
        anew = ("--generation", "anew")
        working.start(*anew, "--extractor", "llm", env=asking.env | other)
        theirs = ["other: I live in Porto."] * 2
        until(
            lambda: asking.current("states.anew"), lambda found: found == theirs, told=working.log
        )
        working.workers[-1].kill()
        working.start(*anew, env=asking.env | other)  # it is remembered
        asking.say("I live in Faro.", first=1)
        theirs = ["other: I live in Faro.", *theirs]
        until(
            lambda: asking.current("states.anew"), lambda found: found == theirs, told=working.log
        )
        asking.await_current("test: I live in Faro.", *["test: I live in Porto."] * 2)
        assert asking.plans("llm/other") == []
        assert asking.end() < 25
    done = turnfold("kafka", "reset", "turnfold", "--generation", "anew", "--yes", "-o", "json",
                    *working.at)  # fmt: skip
    assert {one["name"] for one in done.json()["groups"]} == {"turnfold.anew", "llm/other-3.anew"}


def test_what_lies_beyond_a_turn_that_waits_is_asked_about_once(working: Working) -> None:
    """A user's requests hang, among many others' that are answered: what the group knows of these
    has room in a commit, however many they are, and so a kill costs nothing."""
    go = threading.Event()

    def slow(request: Request) -> Reply:
        answer = model(request)
        is_slow = any(one["event_id"].startswith("slow") for one in request.data["turns"])
        return Held(answer, go) if is_slow else answer

    sessions = (f"s{number}" for number in count())
    here = (one for one in sessions if partition_of(f"default/{one}".encode(), PARTITIONS) == 0)
    mine, *others = islice(here, 1 + MANY)
    said = []
    for number, session in enumerate(others):
        said.append(turn(f"slow-{number}", session_id=mine, user_id="slow", user_input="fact: 1"))
        said.append(turn(f"e-{number}", session_id=session, user_id=session, user_input="fact: 2"))
    with Endpoint(slow) as asked:
        asking = Asking(working, asked, CONCURRENCY="16", TURNS="40")
        asking.start("--extractor", "llm")
        working.send(message(encode(one)) for one in said)
        working.await_done()
        until(lambda: len(asking.plans()) > MANY / 4, told=working.log)
        seen = []

        def lately() -> list[int]:
            seen.append(len(asking.plans()))
            return seen[-2:]

        until(lately, lambda two: two == two[:1] * 2, every=3.0, told=working.log)
        working.kill()
        before = len(asked.requests)
        asking.start()
        go.set()
        until(lambda: len(set(asking.asked_about())) == 2 * MANY, told=working.log)
        until(lambda: asking.metric("turnfold_model_lag_offsets") == 0, told=working.log)
        assert "tries again" not in working.log()
    assert 0 < before < len(asked.requests)
    assert Counter(asking.asked_about()).most_common(1)[0][1] == 1
    about = Counter(one["event_id"] for request in asked.requests for one in request.data["turns"])
    twice = [name for name, times in about.items() if times > 1 and name.startswith("e")]
    assert len(twice) <= 16, "what was under way at the kill"
