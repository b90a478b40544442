"""The OpenAPI document: the server does what it promises, whatever it is asked."""

import copy
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from streams.serving.endpoints import ENDPOINTS
from tests.serving.serving import Server

ROOT = Path(__file__).parents[2]
DOCUMENT = json.loads((ROOT / "schemas" / "generated" / "openapi.json").read_text("utf-8"))
STREAM = "/v1/sessions/{session_id}/events"
CONFORMING: Any = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


def _asked() -> Any:
    """The document without the stream, which has no end; of the bodies of records only signals:
    making one of each of the others at random takes minutes (tests/property has them all)."""
    given = copy.deepcopy(DOCUMENT)
    content = given["paths"]["/v1/records"]["post"]["requestBody"]["content"]
    signal = {"schema": {"$ref": "#/components/schemas/Signal"}}
    content.clear()
    content["application/json"] = signal
    return schemathesis.openapi.from_dict(given).exclude(path=STREAM)


document: Any = _asked()


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


@pytest.mark.parametrize("endpoint", [one for one in ENDPOINTS if one.example])
def test_the_examples_work(api: httpx.Client, endpoint: Any) -> None:
    assert api.request(endpoint.method, endpoint.path, json=endpoint.example).status_code == 200


@document.parametrize()  # type: ignore[untyped-decorator]
@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_whatever_is_asked_the_answer_conforms(case: Case[Any], sample: Server) -> None:
    case.call_and_validate(base_url=sample.url, checks=CONFORMING)
