"""The client against a server that misbehaves: what is tried again, when, and what is not."""

import asyncio
import gzip
import itertools
import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from streams.errors import ConfigurationError, Unreachable
from streams.llm.budget import HOUR, Budget, BudgetSpent
from streams.llm.client import Breaker
from streams.llm.completion import LONGEST_WAIT, _retry_after
from streams.llm.debounce import Group, Turn
from streams.llm.extractor import NOTHING, Extractor
from streams.llm.settings import LlmSettings
from tests.llm.endpoint import (
    LONG,
    RECEIVED,
    SENT,
    CutChunks,
    Endpoint,
    Hang,
    Reply,
    Request,
    completion,
    error,
    extractor,
    facts,
    half,
    in_turn,
    model,
    whole,
)
from tests.waiting import WITHIN

Start = Callable[..., Endpoint]
GROUP = Group((Turn("default", "s", "u", "e1", 0, 0, user_input="fact: has a cat"),))
WHOLE = whole()


def group(number: int) -> Group:
    return Group((GROUP.turns[0]._replace(event_id=f"e{number}", user_input=f"fact: {number}"),))


def ask(
    asked: Endpoint,
    *groups: Group,
    patient: bool = False,
    one_by_one: bool = False,
    **settings: Any,
) -> tuple[list[Any], Extractor]:
    """Asks about groups side by side: their records, or what was raised; and who asked."""

    async def inside() -> tuple[list[Any], Extractor]:
        told = asked.settings(**settings)
        async with extractor(told, patient=patient) as asking:
            calls = (asking.make(one, NOTHING, []) for one in groups or (GROUP,))
            if one_by_one:
                return [await call for call in calls], asking
            return await asyncio.gather(*calls, return_exceptions=True), asking

    return asyncio.run(inside())


def only(asked: Endpoint, **settings: Any) -> Any:
    """What comes of one group."""
    ((found,), _) = ask(asked, **settings)
    return found


def is_plan(record: Any) -> bool:
    return isinstance(record, dict) and "error" not in record["extraction"]


TIMES = {
    "429": error(429),
    "500": error(500),
    "503": error(503),
    "half a body": half(WHOLE),
    "half a chunk": CutChunks(200, b"x" * 1000),
    "a page": Reply(200, b"<html>hello</html>"),
    "no choices": Reply(200, b'{"choices": []}'),
    "null": Reply(200, b"null"),
    "hangs up": Hang(0),
}


@pytest.mark.parametrize("failure", TIMES.values(), ids=TIMES)
def test_what_passes_is_tried_again(endpoint: Start, failure: Reply) -> None:
    asked = endpoint(in_turn(failure, failure))
    assert is_plan(only(asked))
    assert len(asked.requests) == 3


def test_who_hangs_is_left_and_asked_again(endpoint: Start) -> None:
    asked = endpoint(in_turn(Hang(LONG)))
    assert is_plan(only(asked, read_seconds=2, total_seconds=LONG))
    assert len(asked.requests) == 2


def test_an_answer_that_trickles_has_a_largest_time(endpoint: Start) -> None:
    """Each piece comes within the time for one; the whole would take for ever."""

    class Trickle(Reply):
        def write(self, handler: Any) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", str(10 * LONG))
            handler.end_headers()
            for _ in range(10 * LONG):
                handler.wfile.write(b" ")
                handler.wfile.flush()
                time.sleep(0.1)

    asked = endpoint(in_turn(Trickle(200, b"")))
    assert is_plan(only(asked, total_seconds=2))
    assert len(asked.requests) == 2


def test_retry_after_is_honoured(endpoint: Start) -> None:
    asked = endpoint(in_turn(error(429, Retry_After="1")))
    assert is_plan(only(asked, retry_seconds=3))
    first, second = (request.at for request in asked.requests)
    assert second - first >= 0.95


def test_retry_after_holds_for_all_requests(endpoint: Start) -> None:
    asked = endpoint(in_turn(error(429, Retry_After="1")))
    found, _ = ask(asked, *map(group, range(4)), concurrency=4, retry_seconds=3)
    assert all(map(is_plan, found))
    told = asked.requests[0].at
    # those already under way could not know
    assert [one for one in asked.requests[4:] if one.at - told < 0.95] == []


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7), ("-7", 0), ("1e300", LONGEST_WAIT),
     ("Fri, 31 Dec 9999 23:59:59 GMT", LONGEST_WAIT), ("Thu, 01 Jan 1970 00:00:00 GMT", 0)],
)  # fmt: skip
def test_a_retry_after_is_seconds_or_a_date_and_believed_for_an_hour(
    value: str, seconds: float
) -> None:
    assert _retry_after(httpx2.Response(429, headers={"Retry-After": value})) == seconds


def test_a_retry_after_may_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=1000), usegmt=True)
    seconds = _retry_after(httpx2.Response(429, headers={"Retry-After": date}))
    assert seconds is not None and 500 < seconds <= 1000


@pytest.mark.parametrize("said", ["inf", "nan", "-inf", "1e400", "soon", ""])
def test_a_retry_after_that_says_nothing(said: str) -> None:
    assert _retry_after(httpx2.Response(429, headers={"Retry-After": said})) is None


def test_an_endpoint_that_asks_for_too_much_patience(endpoint: Start) -> None:
    asked = endpoint(lambda _: error(429, "quota", Retry_After="3600"))
    found = only(asked)
    assert isinstance(found, Unreachable) and "HTTP 429" in str(found) and "quota" in str(found)
    assert len(asked.requests) == 1


@pytest.mark.parametrize(("status", "tries"), [(401, 1), (403, 1), (404, 1), (302, 1), (400, 4)])
def test_what_no_retry_will_change(endpoint: Start, status: int, tries: int) -> None:
    """After a 400 a harmless request is sent in each of the three ways to ask for JSON: it might
    have been the request, or how it asked."""
    asked = endpoint(lambda _: error(status, "no such thing: sk-1", Location="http://127.0.0.1:1"))
    found = only(asked, api_key="sk-1")
    assert isinstance(found, ConfigurationError)
    assert f"HTTP {status}" in str(found) and "sk-1" not in str(found)
    assert len(asked.requests) == tries


def test_an_endpoint_without_json_schema(endpoint: Start) -> None:
    def plain(request: Request) -> Reply:
        if request.body["response_format"]["type"] == "json_schema":
            return error(400, "response_format: json_schema is not supported")
        return model(request)

    asked = endpoint(plain)
    found, _ = ask(asked, GROUP)
    assert is_plan(found[0])
    forms = [request.body["response_format"]["type"] for request in asked.requests]
    assert forms == ["json_schema", "json_object"]
    rules = [request.body["messages"][0]["content"] for request in asked.requests]
    assert ['"event_ids":{' in one for one in rules] == [False, True]


def test_who_is_slow_to_hear_that_there_is_no_json_schema(endpoint: Start) -> None:
    """The other one has been answered without by then; that was no refusal of this request."""
    said = threading.Event()

    def plain(request: Request) -> Reply:
        if request.body["response_format"]["type"] != "json_schema":
            return model(request)
        if request.said == ["fact: 2"]:
            said.wait(WITHIN)
            time.sleep(0.3)
        else:
            said.set()
        return error(400, "response_format: json_schema is not supported")

    asked = endpoint(plain)
    found, _ = ask(asked, group(1), group(2))
    assert all(map(is_plan, found)), found
    forms = [one.body["response_format"]["type"] for one in asked.requests]
    assert sorted(forms) == ["json_object"] * 2 + ["json_schema"] * 2


SECRETS = {
    "OPENAI_API_KEY": "sk-of-openai", "OPENAI_ADMIN_KEY": "sk-admin", "OPENAI_ORG_ID": "org-1",
    "OPENAI_PROJECT_ID": "proj-1",
    "OPENAI_CUSTOM_HEADERS": "X-Secret: s-1\nAuthorization: Bearer s-2",
}  # fmt: skip


def test_another_endpoint_gets_nothing_that_is_meant_for_openai(
    endpoint: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    asked = endpoint()
    assert is_plan(only(asked)) and is_plan(only(asked, api_key="sk-own"))
    for request in asked.requests:
        said = json.dumps(request.headers)
        assert not [one for one in (*SECRETS.values(), "s-1", "s-2") if one in said], said
        assert "stainless" not in said.lower(), "nor what machine this is"
    keys = [one.headers.get("Authorization") for one in asked.requests]
    assert keys == [None, "Bearer sk-own"]


def test_a_compressed_reply_is_not_unpacked(endpoint: Start) -> None:
    """A megabyte of it may be a gigabyte."""
    bomb = Reply(200, gzip.compress(b" " * 50_000_000), Content_Encoding="gzip")
    asked = endpoint(in_turn(bomb))
    assert is_plan(only(asked))
    headers = {name.lower(): value for name, value in asked.requests[0].headers.items()}
    assert headers["accept-encoding"] == "identity"


def test_what_is_asked(endpoint: Start) -> None:
    asked = endpoint()
    only(asked, body={"seed": 7, "temperature": None}, max_output_tokens=99)
    (request,) = asked.requests
    body = request.body
    assert (body["model"], body["seed"], body["max_tokens"]) == ("test", 7, 99)
    assert "temperature" not in body
    assert body["response_format"]["json_schema"]["strict"] is True
    assert "Authorization" not in request.headers
    said = json.dumps(body)
    assert '"u"' not in said and '"default"' not in said, "ids of users are nobody's business"


# --- answers that are none --------------------------------------------------------------------


WRONG = {
    "not JSON": completion("Here is what I found:"),
    "another shape": completion('{"facts": ["has a cat"]}'),
    "another user's event": completion(whole(states=[
        {"kind": "fact", "body_text": "x", "evidence_event_ids": ["of-bob"]}])),
    "an unknown state": completion(whole(states=[
        {"op": "close", "state_id": "of-bob", "evidence_event_ids": ["e1"]}])),
    "another user": completion(whole(user_id="bob")),
    "no field": completion("{}"),
    "a field is missing": completion('{"states": [], "preferences": []}'),
    "cut off": completion('{"states": [', finish_reason="length"),
    "refused": completion("", refusal="I cannot"),
    "huge": completion("x" * 2_000_000),
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_wrong_answer_is_sent_back_once_and_twice_is_a_failure_with_its_cost(
    endpoint: Start, wrong: Reply
) -> None:
    asked = endpoint(in_turn(wrong, model, wrong, wrong))

    async def inside() -> tuple[list[Any], Extractor]:
        async with extractor(asked.settings()) as asking:
            return [await asking.make(one, NOTHING, []) for one in (GROUP, group(2))], asking

    (repaired, failed), asking = asyncio.run(inside())
    assert is_plan(repaired) and repaired["extraction"]["calls"] == 2
    assert failed["extraction"]["error"] and failed["extraction"]["calls"] == 2
    assert failed["extraction"]["prompt_tokens"] > SENT and failed["extraction"]["cost"] > 0
    assert len(json.dumps(failed)) < 50_000
    counts = asking.summary()
    assert (counts["repaired"], counts["failed"], len(asked.requests)) == (1, 1, 4)
    repairs = [one.body["messages"] for one in asked.requests if one.is_repair]
    for *_, answer, faults in repairs:
        assert (answer["role"], faults["role"]) == ("assistant", "user")
        assert "cannot be used: " in faults["content"]


def test_one_bad_id_twice_costs_one_fact_of_a_group(endpoint: Start) -> None:
    def one_bad_id(request: Request) -> Reply:
        answer = facts(request)
        answer["states"][1]["evidence_event_ids"] = ["of-bob"]
        return completion(json.dumps(answer))

    turns = tuple(GROUP.turns[0]._replace(event_id=f"e{n}", user_input=f"fact: {n}") for n in "123")
    ((record,), asking) = ask(endpoint(one_bad_id), Group(turns))
    assert [one["body_text"] for one in record["state_updates"]] == ["1", "3"]
    assert "'of-bob' is none of the turns given" in record["extraction"]["left_out"]
    counts = asking.summary()
    assert (counts["failed"], counts["partly"], counts["calls"]) == (0, 1, 2)


NONSENSE = completion("I would rather not.")


def test_a_first_answer_is_not_forgotten_where_the_second_is_out_of_reach(endpoint: Start) -> None:
    """Its cost stands in a dead letter: a run that asked anew would pay for it each time."""
    asked = endpoint(in_turn(NONSENSE, then=lambda _: error(503, "maintenance")))
    extraction = only(asked, attempts=2)["extraction"]
    assert "not JSON" in extraction["error"] and "maintenance" in extraction["error"]
    assert (extraction["calls"], extraction["prompt_tokens"]) == (1, SENT)


def test_a_first_answer_is_not_forgotten_where_the_budget_ends(endpoint: Start) -> None:
    asked = endpoint(in_turn(NONSENSE))
    enough_for_one = int(str(only(asked, budget_tokens=1)).split()[-1])
    extraction = only(asked, budget_tokens=enough_for_one)["extraction"]
    assert "the budget of this run is used up" in extraction["error"]
    assert (extraction["calls"], len(asked.requests)) == (1, 1)


def test_who_comes_back_continues_with_the_first_answer(endpoint: Start) -> None:
    asked = endpoint(in_turn(NONSENSE, error(503), error(503), error(503)))

    async def inside() -> Any:
        told = asked.settings(attempts=2, read_seconds=30.0, total_seconds=60.0)
        async with extractor(told, patient=True) as asking:
            replies: list[Any] = []
            with pytest.raises(Unreachable):
                await asking.make(GROUP, NOTHING, replies)
            return await asking.make(GROUP, NOTHING, replies)

    record = asyncio.run(inside())
    assert is_plan(record)
    assert record["extraction"]["calls"] == 2
    assert [one.is_repair for one in asked.requests if one.said] == [False, True, True, True]


def test_a_request_that_breaks_the_endpoint_does_not_stop_the_others(endpoint: Start) -> None:
    """500 whenever this one comes: it is not the endpoint that is down."""

    def allergic(request: Request) -> Reply:
        return error(500, "boom") if "fact: 2" in request.said else model(request)

    asked = endpoint(allergic)
    groups = [group(number) for number in range(5)]

    async def inside() -> list[Any]:
        told = asked.settings(attempts=4)
        async with extractor(told) as asking:
            poisoned = asyncio.create_task(asking.make(groups[2], NOTHING, []))
            for one in groups[:2] + groups[3:]:
                assert is_plan(await asking.make(one, NOTHING, []))
                await asyncio.sleep(0.05)
            return [await poisoned]

    (found,) = asyncio.run(inside())
    assert "HTTP 500" in found["extraction"]["error"]
    assert found["extraction"]["calls"] == 0


def after_an_answer(asked: Endpoint, patient: bool = False) -> Any:
    """What a second request comes to."""

    async def inside() -> Any:
        told = asked.settings(attempts=2)
        async with extractor(told, patient=patient) as asking:
            await asking.make(group(1), NOTHING, [])
            return await asking.make(group(2), NOTHING, [])

    return asyncio.run(inside())


@pytest.mark.parametrize("patient", [True, False])
@pytest.mark.parametrize("status", [400, 402, 403, 422])
def test_what_refuses_every_request_after_answers_is_no_fault_of_a_turn(
    endpoint: Start, status: int, patient: bool
) -> None:
    """No money is left: a dead letter would never be asked about again."""
    asked = endpoint(in_turn(model, then=lambda _: error(status, "insufficient balance")))
    with pytest.raises(ConfigurationError, match=f"HTTP {status} .*insufficient balance"):
        after_an_answer(asked, patient)


def test_a_400_and_then_no_answer_to_the_harmless_request_is_tried_again(endpoint: Start) -> None:
    asked = endpoint(in_turn(model, error(400, "overloaded"), error(503)))
    assert is_plan(after_an_answer(asked))


@pytest.mark.parametrize("patient", [True, False])
@pytest.mark.parametrize("status", [500, 400, 413, 422])
def test_the_first_request_of_all_may_be_what_cannot_be_answered(
    endpoint: Start, status: int, patient: bool
) -> None:
    """Nothing runs beside it: a harmless one tells that the endpoint is well."""

    def allergic(request: Request) -> Reply:
        return error(status, "too long") if "fact: 2" in request.said else model(request)

    asked = endpoint(allergic)
    (record,), _ = ask(asked, group(2), patient=patient, retry_seconds=0.05)
    assert f"HTTP {status}" in record["extraction"]["error"]
    assert [one.said for one in asked.requests].count([]) == 1


def test_a_request_that_nobody_ever_finishes(endpoint: Start) -> None:
    def endless(request: Request) -> Reply:
        return Hang(5) if request.said else model(request)

    settings: dict[str, Any] = {"read_seconds": 0.1, "attempts": 2}
    (record,), _ = ask(endpoint(endless), group(2), patient=True, **settings)
    assert "ReadTimeout" in record["extraction"]["error"]


@pytest.mark.parametrize("status", [500, 503, 429])
def test_an_endpoint_that_is_ill_is_no_fault_of_the_request(endpoint: Start, status: int) -> None:
    found = only(endpoint(lambda _: error(status)), attempts=3)
    assert isinstance(found, Unreachable)


def test_tokens_are_estimated_where_the_endpoint_does_not_count(endpoint: Start) -> None:
    reply = json.loads(completion(WHOLE).body)
    del reply["usage"]
    asked = endpoint(lambda _: Reply(200, json.dumps(reply).encode()))
    extraction = only(asked)["extraction"]
    assert extraction["prompt_tokens"] > 1000, "the rules alone have as many"
    assert 10 < extraction["completion_tokens"] < 200


def test_states_given_are_shown_and_may_be_changed(endpoint: Start) -> None:
    home = {"state_id": "home", "kind": "fact", "body_text": "lives in Kyoto", "confidence": 0.9,
            "valid_from": "2025-01-01T00:00:00Z", "last_confirmed_at": "2025-01-01T00:00:00Z",
            "status": "active"}  # fmt: skip
    update = {"op": "close", "state_id": "home", "evidence_event_ids": ["e1"]}
    asked = endpoint(lambda _: completion(whole(states=[update])))

    async def inside() -> Any:
        told = asked.settings()
        async with extractor(told) as asking:
            return await asking.make(GROUP, {"states": [home]}, [])

    assert asyncio.run(inside())["state_updates"][0]["state_id"] == "home"
    assert asked.requests[0].data["states"][0]["body_text"] == "lives in Kyoto"


def test_so_many_requests_at_a_time(endpoint: Start) -> None:
    """Bounded by the connections, whoever calls."""
    now, most = 0, 0
    three = threading.Barrier(3)

    def busy(request: Request) -> Reply:
        nonlocal now, most
        now += 1
        most = max(most, now)
        three.wait(WITHIN)
        time.sleep(0.1)  # in which a fourth would come
        now -= 1
        return completion(json.dumps(facts(request)))

    found, _ = ask(endpoint(busy), *map(group, range(12)), concurrency=3)
    assert all(map(is_plan, found))
    assert most == 3


# --- the breaker ------------------------------------------------------------------------------


def test_an_endpoint_that_is_down_is_left_alone_and_found_again(endpoint: Start) -> None:
    asked = endpoint(in_turn(*[error(503)] * 5))
    settings = {"breaker_failures": 3, "breaker_seconds": 0.1, "attempts": 50}

    async def inside() -> list[Any]:
        told = asked.settings(**settings)
        async with extractor(told, patient=True) as asking:
            calls = [asyncio.create_task(asking.make(group(0), NOTHING, []))]
            while (
                asking.client.breaker.state == "closed"
            ):  # one that is under way then may come any time
                await asyncio.sleep(0.01)
            calls += [asyncio.create_task(asking.make(group(it), NOTHING, [])) for it in (1, 2, 3)]
            return await asyncio.gather(*calls)

    assert all(map(is_plan, asyncio.run(inside())))
    times = [request.at for request in asked.requests]
    gaps = [later - sooner for sooner, later in itertools.pairwise(times)]
    # a request has come before its answer, after which the pause is counted
    assert gaps[2] >= 0.1 and gaps[3] >= 0.2 and gaps[4] >= 0.4, "open: one probe after the other"


def test_who_is_not_patient_gives_up_on_it(endpoint: Start) -> None:
    asked = endpoint(lambda _: error(503, "maintenance"))
    found, _ = ask(asked, *map(group, range(4)), breaker_failures=3)
    assert [one for one in found if not isinstance(one, Unreachable)] == []
    assert "maintenance" in str(found[0])


def test_the_breaker_by_itself() -> None:
    def state() -> str:
        return breaker.state

    now = 0.0
    breaker = Breaker(failures=2, seconds=10, clock=lambda: now)
    breaker.failed()
    breaker.succeeded()
    breaker.failed()
    assert state() == "closed", "not in a row"
    breaker.failed()
    assert state() == "open" and not breaker.may_pass()
    now = 10.0
    assert state() == "half-open"
    assert breaker.may_pass() and not breaker.may_pass(), "one probe"
    breaker.failed()
    now = 29.9
    assert state() == "open", "for twice as long"
    now = 30.0
    assert breaker.may_pass()
    breaker.gave_up()
    assert breaker.may_pass(), "a probe without an outcome leaves room for another"
    breaker.succeeded()
    assert state() == "closed" and breaker.may_pass() and breaker.may_pass()


# --- the budget -------------------------------------------------------------------------------


def told(**settings: Any) -> LlmSettings:
    given = {"base_url": "http://x/v1", "model": "m", "max_output_tokens": 100, "price_input": 1.0}
    return LlmSettings(**{**given, **settings})


def test_calls_side_by_side_do_not_overspend() -> None:
    budget = Budget(told(budget_tokens=450))
    first, second = budget.reserve(300), budget.reserve(300)  # 100 sent and 100 received each
    assert first and second and budget.reserve(300) is None
    budget.settle(first, 50, 0.0)
    assert budget.reserve(300)
    budget.settle(second, 300, 0.0)
    with pytest.raises(BudgetSpent, match="this run"):
        budget.reserve(300)


def test_an_hour_passes() -> None:
    now = 10_000.0
    budget = Budget(told(hourly_tokens=300), clock=lambda: now)
    budget.recall(now - HOUR - 1, 5000, 1.0)
    budget.recall(now - 1800, 200, 1.0)
    with pytest.raises(BudgetSpent, match="an hour") as caught:
        budget.reserve(300)
    assert caught.value.seconds == 1800
    assert budget.used() == [("hour", "tokens", 1.0)]
    now += 1800
    budget.reserve(300)
    assert budget.used()[0][2] < 1


def test_a_budget_too_small_for_one_call_is_never_enough() -> None:
    with pytest.raises(BudgetSpent) as caught:
        Budget(told(hourly_tokens=10)).reserve(300)
    assert caught.value.seconds is None


def test_a_budget_of_cost() -> None:
    budget = Budget(told(budget_cost=0.00015, price_output=0.0))
    reserved = budget.reserve(300)
    assert reserved
    budget.settle(reserved, 100, 0.0001)
    with pytest.raises(BudgetSpent, match="cost"):
        budget.reserve(300)


@pytest.mark.parametrize("limit", ["budget_tokens", "hourly_tokens"])
def test_what_is_held_for_calls_under_way_is_not_spent(endpoint: Start, limit: str) -> None:
    """Side by side as many groups are asked about as one after the other."""
    groups = [group(number) for number in range(12)]

    def answered(concurrent: bool) -> int:
        asked = endpoint()
        told = asked.settings(**{limit: 12_000})

        async def inside() -> list[Any]:
            async with extractor(told) as asking:
                if concurrent:
                    calls = (asking.make(one, NOTHING, []) for one in groups)
                    return await asyncio.gather(*calls, return_exceptions=True)
                return [await one_of(asking, one) for one in groups]

        found = asyncio.run(inside())
        assert all(is_plan(one) or isinstance(one, BudgetSpent) for one in found)
        return sum(map(is_plan, found))

    assert 0 < answered(concurrent=False) < len(groups)
    assert answered(concurrent=True) == answered(concurrent=False)


def test_who_waits_for_held_budget_does_nothing_meanwhile(endpoint: Start) -> None:
    """A worker's lanes run in the same process: a hundred that look again and again slow them."""
    tried = 0

    class Counted(Budget):
        def reserve(self, request_bytes: int) -> tuple[float, float] | None:
            nonlocal tried
            tried += 1
            return super().reserve(request_bytes)

    def slow(request: Request) -> Reply:
        time.sleep(0.3)
        return model(request)

    told = endpoint(slow).settings(budget_tokens=8_000)

    async def inside() -> list[Any]:
        async with extractor(told, Counted(told), patient=True) as asking:
            calls = (asking.make(group(number), NOTHING, []) for number in range(10))
            return await asyncio.gather(*calls, return_exceptions=True)

    answered = sum(map(is_plan, asyncio.run(inside())))
    assert answered >= 2
    assert tried <= 10 * (answered + 1)


async def one_of(asking: Extractor, asked: Group) -> Any:
    try:
        return await asking.make(asked, NOTHING, [])
    except BudgetSpent as spent:
        return spent


@pytest.mark.parametrize("limit", ["budget_tokens", "hourly_tokens"])
@pytest.mark.parametrize("status", [500, 422])
def test_a_harmless_request_needs_no_budget_of_its_own(
    endpoint: Start, status: int, limit: str
) -> None:
    """It takes the place of the request that it is about, for which the budget is held."""
    spent = only(endpoint(), **{limit: 1})
    enough_for_one = int(str(spent).split()[-1])

    def allergic(request: Request) -> Reply:
        return error(status, "too long") if "fact: 2" in request.said else model(request)

    asked = endpoint(allergic)
    told = asked.settings(attempts=2, **{limit: enough_for_one})
    budget = Budget(told)

    async def inside() -> Any:
        async with extractor(told, budget) as asking:
            return await asking.make(group(2), NOTHING, [])

    record = asyncio.run(inside())
    assert f"HTTP {status}" in record["extraction"]["error"]
    assert asked.requests[-1].said == []
    ((_, _, used),) = budget.used()
    assert used == pytest.approx((SENT + RECEIVED) / enough_for_one)


def test_nothing_is_asked_without_a_budget(endpoint: Start) -> None:
    asked = endpoint()
    assert isinstance(only(asked, budget_tokens=10), BudgetSpent)
    assert asked.requests == []


# --- settings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"base_url": "localhost:11434/v1"}, "TURNFOLD_LLM_BASE_URL: expected http"),
        ({"base_url": "https://me:sk-1@host/v1"}, "put the key into TURNFOLD_LLM_API_KEY"),
        ({"model": ""}, "TURNFOLD_LLM_MODEL"),
        ({"api_key": "sk-1\nX-Other: 1"}, "TURNFOLD_LLM_API_KEY: it holds control"),
        ({"api_key": "sk-1ü"}, "TURNFOLD_LLM_API_KEY: it holds control or non-ASCII"),
        ({"budget_cost": 1.0, "price_input": 0.0}, "needs price_input and price_output"),
        ({"body": {"model": "another"}}, "body: model is set by Turnfold"),
        ({"body": {"max_tokens": 9}}, "body: max_tokens is set by Turnfold"),
        ({"sources": ("chat", "meta_request")}, "meta_request is never what a user says"),
    ],
)
def test_settings_that_are_wrong(wrong: dict[str, Any], why: str) -> None:
    given = {"base_url": "http://x/v1", "model": "m"}
    with pytest.raises(ConfigurationError) as caught:
        LlmSettings.load(**{**given, **wrong})
    assert why in str(caught.value) and "sk-1" not in str(caught.value)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", " "])
def test_a_key_with_a_newline_is_the_key(endpoint: Start, end: str) -> None:
    asked = endpoint()
    assert is_plan(only(asked, api_key=f"sk-1{end}"))
    assert asked.requests[0].headers["Authorization"] == "Bearer sk-1"


def test_a_key_in_a_refusal_is_not_shown(endpoint: Start) -> None:
    """A dead letter is made of it."""
    asked = endpoint(lambda _: completion("", refusal="not for sk-1"))
    assert "sk-1" not in json.dumps(only(asked, api_key="sk-1"))


def test_the_address_may_be_that_of_the_method() -> None:
    settings = LlmSettings.load(base_url="http://x/v1/chat/completions/", model="m")
    assert settings.base_url == "http://x/v1"


def test_the_docs_name_every_setting_with_its_default() -> None:
    page = Path(__file__).parents[2] / "docs" / "extract.md"
    rows = [line.split("|")[1:4] for line in page.read_text("utf-8").splitlines()]
    listed = {row[0].strip(" `"): row[1].strip(" `") for row in rows if len(row) == 3}
    for name, field in LlmSettings.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        told = "null" if field.is_required() else json.dumps(default).strip('"')
        assert listed[name] == ("" if told == "null" else told), name
