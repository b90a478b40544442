"""The exit codes of `turnfold admin extract`: what came of its requests, and if any got a reply."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command import Done, environment, ndjson, turn, turnfold
from tests.kafka.working import options_of, shared_settings
from tests.llm.endpoint import Endpoint, Request, completion, model
from tests.llm.endpoint import Reply as Answer

pytestmark = pytest.mark.nightly

Start = Callable[..., Endpoint]
Folded = Callable[[list[dict[str, Any]]], Path]
USERS = 4
AWAY = "http://127.0.0.1:1/v1"


def records() -> list[dict[str, Any]]:
    """A turn of each of some users: a request each."""
    return [
        turn(f"e{number}", session_id=f"s{number}", user_id=f"u{number}",
             user_input=f"fact: number {number}")
        for number in range(USERS)
    ]  # fmt: skip


def nonsense(_: Request) -> Answer:
    return completion("I would rather not.")


def nonsense_for_one(request: Request) -> Answer:
    return nonsense(request) if "number 1" in str(request.body) else model(request)


def extract(url: str, *more: str | Path) -> Done:
    quick = {"TURNFOLD_LLM_BREAKER_SECONDS": "0.2", "TURNFOLD_LLM_RETRY_SECONDS": "0.2"}
    env = environment(TURNFOLD_LLM_BASE_URL=url, TURNFOLD_LLM_MODEL="test", **quick)
    tier = "admin" if "--history" in more else "kafka"
    return turnfold(tier, "extract", *more, env=env)


@pytest.mark.parametrize(("strict", "code"), [((), 1), (("--strict",), 4)])
def test_where_all_requests_come_to_nothing_it_fails_and_says_how_many(
    endpoint: Start, folded: Folded, strict: tuple[str, ...], code: int
) -> None:
    done = extract(endpoint(nonsense).url, "--history", folded(records()), *strict)
    assert done.code == code
    assert f"{USERS} requests (all) failed" in done.err


@pytest.mark.parametrize(("strict", "code"), [((), 0), (("--strict",), 4)])
def test_where_some_come_to_nothing_it_says_how_many(
    endpoint: Start, folded: Folded, strict: tuple[str, ...], code: int
) -> None:
    done = extract(endpoint(nonsense_for_one).url, "--history", folded(records()), *strict)
    assert done.code == code
    assert f"1 requests (of {USERS}) failed" in done.err


def test_an_endpoint_that_is_away_is_exit_5_with_what_was_answered(folded: Folded) -> None:
    done = extract(AWAY, "--history", folded(records()))
    assert done.code == 5
    assert "0 requests were answered before" in done.err


def test_without_anything_to_ask_it_is_done(endpoint: Start, folded: Folded) -> None:
    started, history = endpoint(), folded(records())
    assert extract(started.url, "--history", history).code == 0
    assert extract(started.url, "--history", history).code == 0
    assert extract(AWAY, "--history", history).code == 0


def test_over_kafka_once_has_the_same_outcomes(endpoint: Start, tmp_path: Path) -> None:
    file = ndjson(tmp_path / "turns.ndjson", records())
    at = options_of(shared_settings())
    assert turnfold("kafka", "produce", file, *at).code == 0
    away = extract(AWAY, *at, "--once", "--group", "away")
    assert away.code == 5
    assert "does not answer" in away.err
    failing = extract(endpoint(nonsense).url, *at, "--once", "--group", "failing")
    assert failing.code == 1
    assert "(all) failed" in failing.err
    partly = extract(endpoint(nonsense_for_one).url, *at, "--once", "--group", "partly")
    assert partly.code == 0
    assert f"1 requests (of {USERS})" in partly.err
