"""The OpenAPI document: the server does what it promises, whatever it is asked."""

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, example, given, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from schemas.events import RECORD_TYPES
from schemas.session import SessionDocument
from streams.serving.http.endpoints import ENDPOINTS
from streams.serving.http.routes_records import EVENT, EVENTS
from tests.serving.serving import Server
from tests.serving.test_api_forget import done

pytestmark = pytest.mark.nightly

ROOT = Path(__file__).parents[2]
DOCUMENT = json.loads((ROOT / "schemas" / "generated" / "openapi.json").read_text("utf-8"))
STREAM = "/v1/sessions/{session_id}/events"
CONFORMING: Any = [
    not_a_server_error, status_code_conformance, content_type_conformance,
    response_schema_conformance, response_headers_conformance, positive_data_acceptance,
    negative_data_rejection, unsupported_method,
]  # fmt: skip
"""What the document says is valid is taken, what it says is not is refused."""


OF_RECORDS = [one for one in CONFORMING if one is not positive_data_acceptance]
"""Some rules of records, messages and corrections are not part of a schema: 422 names them."""
SIGNALS = ["/memory/user/update", "/memory/session/update"]
RECORDS = "/v1/records"
MESSAGES = "/v1/messages"
EXTRACT = "/v1/extract"
THOROUGHLY = settings(
    max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
whole: Any = schemathesis.openapi.from_dict(DOCUMENT)
ERASING = {
    "method": "DELETE",
    "path": [
        "/v1/users/{user_id}",
        "/v1/sessions/{session_id}",
        "/v1/sessions/{session_id}/turns/{event_id}",
    ],
}
document: Any = (
    whole.exclude(path=[STREAM, *SIGNALS, RECORDS, MESSAGES, EXTRACT])
    .exclude(**ERASING)
    .exclude(method="PATCH")
)
"""Without the stream, which has no end, the records, which come by their types, signals, messages,
corrections, and what erases, which keeps other requests waiting: all below. `POST /v1/extract`
answers 501 where no model is asked (tests/llm)."""


def _records_of(kind: str, media: str) -> Any:
    """The operation that posts records, of one type in one form: one of each at random, as the
    document has them, takes minutes to be made."""
    told = copy.deepcopy(DOCUMENT)
    content = told["paths"][RECORDS]["post"]["requestBody"]["content"]
    record = {"$ref": f"#/components/schemas/{kind}"}
    content["application/json"]["schema"] = {"anyOf": [record, {"type": "array", "items": record}]}
    events = [content[media]["schema"] for media in (EVENT, EVENTS)]
    for event in (events[0], events[1]["items"]):
        event["properties"]["data"] = record
    told["paths"][RECORDS]["post"]["requestBody"]["content"] = {media: content[media]}
    return schemathesis.openapi.from_dict(told)[RECORDS]["POST"]


def test_the_document_is_openapi() -> None:
    schemathesis.openapi.from_dict(DOCUMENT).validate()


def test_it_is_what_the_server_answers(api: httpx.Client) -> None:
    assert api.get("/openapi.json").json() == DOCUMENT


def test_every_endpoint_is_in_it_with_its_problems() -> None:
    for endpoint in ENDPOINTS:
        operation = DOCUMENT["paths"][endpoint.path][endpoint.method.lower()]
        assert operation["summary"] and operation["operationId"]
        problem = operation["responses"]["default"]["content"]
        assert list(problem) == ["application/problem+json"]


@pytest.mark.parametrize(
    "endpoint", [one for one in ENDPOINTS if one.reply.example and "{" not in one.path]
)
def test_the_examples_work(api: httpx.Client, endpoint: Any) -> None:
    assert (
        api.request(endpoint.method, endpoint.path, json=endpoint.reply.example).status_code == 200
    )


@document.parametrize()  # type: ignore[untyped-decorator]
@THOROUGHLY
def test_whatever_is_asked_the_answer_conforms(case: Case[Any], sample: Server) -> None:
    case.call_and_validate(base_url=sample.url, checks=CONFORMING)


@whole.include(**ERASING).parametrize()  # type: ignore[untyped-decorator]
@THOROUGHLY
def test_whatever_is_erased_the_answer_conforms(case: Case[Any], sample: Server) -> None:
    reply = case.call_and_validate(base_url=sample.url, checks=CONFORMING)
    if reply.status_code in (200, 202):
        done(sample.client, reply.json())
    sample.until("/readyz", 200, within=60)


@whole.include(path=[*SIGNALS, MESSAGES]).parametrize()  # type: ignore[untyped-decorator]
@THOROUGHLY
def test_whatever_messages_are_posted_the_answer_conforms(case: Case[Any], sample: Server) -> None:
    case.call_and_validate(base_url=sample.url, checks=OF_RECORDS)


@whole.include(method="PATCH").parametrize()  # type: ignore[untyped-decorator]
@THOROUGHLY
def test_whatever_is_corrected_the_answer_conforms(case: Case[Any], sample: Server) -> None:
    case.call_and_validate(base_url=sample.url, checks=OF_RECORDS)


@pytest.mark.parametrize("kind", [model.__name__ for model in RECORD_TYPES.values()])
def test_whatever_records_are_posted_the_answer_conforms(kind: str, sample: Server) -> None:
    """One, several, as an event, as events."""
    seen = Counter[int]()

    def post(case: Case[Any]) -> None:
        reply = case.call_and_validate(base_url=sample.url, checks=OF_RECORDS)
        seen[reply.status_code] += 1

    for media in ("application/json", EVENT, EVENTS):
        before = seen.total()
        THOROUGHLY(given(case=_records_of(kind, media).as_strategy())(post))()
        assert seen.total() > before, media
    assert seen[200], seen


def test_whatever_stream_is_asked_for_the_answer_conforms(sample: Server) -> None:
    """Of a stream its beginning: it has no end."""
    operation = whole[STREAM]["GET"]

    @THOROUGHLY
    @given(case=operation.as_strategy())
    @example(case=operation.Case(path_parameters={"session_id": "emma-move"}))
    def ask(case: Case[Any]) -> None:
        asked = case.as_transport_kwargs(base_url=sample.url)
        with requests.request(**asked, stream=True, timeout=120) as reply:
            if reply.status_code != 200:
                case.validate_response(reply, checks=CONFORMING)
                return
            seen.append(case.path_parameters["session_id"])
            assert reply.headers["content-type"].startswith("text/event-stream")
            lines = reply.iter_lines(chunk_size=1)
            data = next(line for line in lines if line.startswith(b"data: "))
            SessionDocument.model_validate_json(data.removeprefix(b"data: "))

    seen: list[str] = []
    ask()
    assert "emma-move" in seen
