"""What real endpoints do otherwise than OpenAI's first API: each is found out once, and kept."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from streams.errors import ConfigurationError
from tests.llm.endpoint import Endpoint, Reply, Request, completion, error, facts, model, whole
from tests.llm.test_client import ask, group, is_plan, only

Start = Callable[..., Endpoint]
Behave = Callable[[Request], Reply]


def refusing(*names: str, then: Behave = model, quoted: bool = True) -> Behave:
    """An endpoint that knows none of these parameters, and names the first in its refusal."""

    def behave(request: Request) -> Reply:
        for name in names:
            if name in request.body:
                named = {"param": name} if quoted else {}
                said = f"Unsupported parameter: '{name}' is not supported with this model."
                return Reply(400, json.dumps({"error": {"message": said, **named}}).encode())
        return then(request)

    return behave


ENDPOINTS: dict[str, tuple[Behave, int]] = {
    "no max_tokens": (refusing("max_tokens"), 1),
    "no max_tokens, no temperature": (refusing("max_tokens", "temperature"), 2),
    "the same, not as a field": (refusing("max_tokens", "temperature", quoted=False), 2),
    "no response_format": (refusing("response_format"), 2),
    "nothing of these": (refusing("response_format", "max_tokens", "temperature"), 4),
}


@pytest.mark.parametrize(("behave", "refusals"), ENDPOINTS.values(), ids=ENDPOINTS)
def test_an_unsupported_parameter_is_found_out_once(
    endpoint: Start, behave: Behave, refusals: int
) -> None:
    asked = endpoint(behave)
    found, _ = ask(asked, *map(group, range(6)), concurrency=1)
    assert all(map(is_plan, found)), found
    texts = [[one["body_text"] for one in record["state_updates"]] for record in found]
    assert texts == [[str(number)] for number in range(6)]
    # those that were sent side by side may each be refused; nothing is asked in vain after that
    assert len(asked.requests) <= 6 + 6 * refusals
    fields = [sorted(one.body) for one in asked.requests]
    assert fields.count(fields[-1]) == 6, "what was found out is what is asked with"


def test_the_limit_of_an_answer_is_never_dropped(endpoint: Start) -> None:
    asked = endpoint(refusing("max_tokens"))
    only(asked, max_output_tokens=99)
    assert asked.requests[-1].body["max_completion_tokens"] == 99
    both = endpoint(refusing("max_tokens", "max_completion_tokens"))
    assert isinstance(only(both), ConfigurationError), "budgets rest on it"


def test_a_400_that_names_nothing_is_told_by_a_harmless_request(endpoint: Start) -> None:
    """This endpoint takes no response_format, and does not say so."""

    def silent(request: Request) -> Reply:
        return error(400, "Bad Request") if "response_format" in request.body else model(request)

    asked = endpoint(silent)
    found, _ = ask(asked, group(1), concurrency=1)
    assert is_plan(found[0])


def test_a_schema_that_is_taken_and_not_kept_to_is_in_the_instructions_from_then_on(
    endpoint: Start,
) -> None:
    """It answers in a form of its own where the schema is not in a message."""

    def deaf(request: Request) -> Reply:
        told = '"event_ids":{' in request.body["messages"][0]["content"]
        return model(request) if told else completion('{"facts": ["has a cat"]}')

    asked = endpoint(deaf)
    found, asking = ask(asked, *map(group, range(4)), one_by_one=True)
    assert all(map(is_plan, found))
    assert asking.summary()["repaired"] == 1
    assert len(asked.requests) == 5


def test_who_keeps_to_the_schema_once_is_asked_by_it_always(endpoint: Start) -> None:
    spoiled = {"fact: 1": completion('{"facts": ["has a cat"]}')}

    def behave(request: Request) -> Reply:
        return spoiled.pop(request.said[0], None) or model(request)

    asked = endpoint(behave)
    found, _ = ask(asked, *map(group, range(3)), one_by_one=True)
    assert all(map(is_plan, found))
    assert {one.body["response_format"]["type"] for one in asked.requests} == {"json_schema"}


# --- what stands around the JSON ----------------------------------------------------------------


def around(before: str, after: str = "", **message: Any) -> Behave:
    def behave(request: Request) -> Reply:
        return completion(before + json.dumps(facts(request), indent=1) + after, **message)

    return behave


AROUND = {
    "thoughts": around('<think>\nThe user {"may"} have a cat.\n</think>\n\n'),
    "thoughts without a beginning": around("so: a cat.\n</think>"),
    "thoughts, and a fence": around("<think>hm</think>\n```json\n", "\n```"),
    "a fence in prose": around("Here is the object:\n```\n", "\n```\nTell me if you need more."),
    "prose": around("Here is what changes: ", "\nThat is all."),
    "thoughts with a fence of their own": around('<think>```json\n{"a": 1}\n```</think>'),
}


@pytest.mark.parametrize("behave", AROUND.values(), ids=AROUND)
def test_what_stands_around_the_json_is_passed_over(endpoint: Start, behave: Behave) -> None:
    asked = endpoint(behave)
    record = only(asked)
    assert is_plan(record), record
    assert [one["body_text"] for one in record["state_updates"]] == ["has a cat"]
    assert len(asked.requests) == 1


def test_a_user_who_speaks_of_thoughts_is_quoted_whole(endpoint: Start) -> None:
    said = "likes the tag </think> {really}"
    update = {"kind": "fact", "body_text": said, "evidence_event_ids": ["e1"]}
    record = only(endpoint(lambda _: completion(whole(states=[update]))))
    assert record["state_updates"][0]["body_text"] == said


NOT_WHOLE = {
    "cut off while it thinks": (completion("<think>The user", "length"), "cut off"),
    "cut off, and without a text": (completion("", "length", reasoning="The user"), "cut off"),
    "refused": (completion("", refusal="I cannot help with that."), "I cannot help with that."),
    "filtered": (completion("", "content_filter"), "filtered"),
}


@pytest.mark.parametrize(("wrong", "why"), NOT_WHOLE.values(), ids=NOT_WHOLE)
def test_why_there_is_no_answer_is_said(endpoint: Start, wrong: Reply, why: str) -> None:
    asked = endpoint(lambda _: wrong)
    found, asking = ask(asked)
    assert why in found[0]["extraction"]["error"]
    assert why in asking.summary()["why_failed"]
    forms = {one.body["response_format"]["type"] for one in asked.requests}
    assert forms == {"json_schema"}, "that is no matter of how it is asked"
