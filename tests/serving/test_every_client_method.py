"""Each method of the Python client, sync and async, called against a server: none makes a request
that no server would take."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from pydantic import BaseModel

from tests.serving.every_method import IMPOSSIBLE, PLAN, Method, methods
from tests.serving.serving import Server, serving
from tests.serving.test_api_memory import ok
from turnfold_client import AsyncTurnfold, StatusError, Turnfold, operations

pytestmark = pytest.mark.component

CORRECTED = {"correct_state", "correct_preference", "end_state", "end_preference"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """Of each test: the erasures at the end of one go on after it, and others wait for them."""
    with serving("--history", tmp_path / "history") as started:
        yield started


def ids(server: Server) -> dict[str, str]:
    """Of a fact and a preference that the server has."""
    ok(server.client.post("/v1/records", json=PLAN, headers={"Prefer": "wait=30"}))
    (like,) = [
        one["preference_id"]
        for one in ok(server.client.get("/v1/users/every"))["preferences"]
        if one["subject"] == "tea"
    ]
    return {"state_id": "fact", "preference_id": like}


def arguments(method: Method) -> dict[str, Any]:
    """Of a method, by name; every parameter that has to be given."""
    function = getattr(operations, method.name)
    hints = get_type_hints(function)
    given: dict[str, Any] = {**method.path, **method.query}
    if "q" in given:
        given["query"] = given.pop("q")
    if method.body is not None:
        name = "records" if "records" in hints else "body"
        model = hints[name]
        is_model = isinstance(model, type) and issubclass(model, BaseModel)
        given[name] = model.model_validate(method.body) if is_model else [method.body]
    if "user_id" in hints and "user_id" not in given:
        given["user_id"] = "every"
    missing = [
        name
        for name, one in inspect.signature(function).parameters.items()
        if one.default is one.empty and name not in given
    ]
    assert not missing, (method.name, missing)
    return given


def status(outcome: Any) -> int:
    """A refused request's; 200 of any other."""
    if isinstance(outcome, StatusError):
        return outcome.problem.status
    if isinstance(outcome, Exception):
        raise outcome
    return 200


def check(outcomes: dict[str, int]) -> None:
    wrong = {name: one for name, one in outcomes.items() if one in IMPOSSIBLE or one >= 500}
    assert wrong == {"extract": 501}, "this server asks no model"
    assert {name: outcomes[name] for name in CORRECTED} == dict.fromkeys(CORRECTED, 200)


def test_sync(server: Server) -> None:
    outcomes: dict[str, int] = {}
    known = ids(server)
    with Turnfold(server.url) as client:
        for method in methods(known):
            try:
                reply = getattr(client, method.name)(**arguments(method))
                if inspect.isgenerator(reply):
                    next(reply, None)
            except StatusError as error:
                outcomes[method.name] = status(error)
            else:
                outcomes[method.name] = 200
    check(outcomes)


async def test_async(server: Server) -> None:
    known = ids(server)
    outcomes: dict[str, int] = {}
    async with AsyncTurnfold(server.url) as client:
        for method in methods(known):
            try:
                reply = getattr(client, method.name)(**arguments(method))
                if inspect.isasyncgen(reply):
                    await anext(reply, None)
                else:
                    await reply
            except StatusError as error:
                outcomes[method.name] = status(error)
            else:
                outcomes[method.name] = 200
    check(outcomes)
