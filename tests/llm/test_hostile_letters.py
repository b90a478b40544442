"""What anybody wrote into a dead letter, where a model's would say what it has cost."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.time import format_time
from streams.files import file_runner
from streams.llm.history import spent_since
from streams.serving.extract_history import extract
from tests.command import ndjson, rows, turn
from tests.llm.endpoint import Endpoint, Reply, Request, model

pytestmark = pytest.mark.component

Start = Callable[..., Endpoint]
NOW = format_time(time.time_ns() // 1000)


def letter(number: int, extraction: dict[str, Any]) -> dict[str, Any]:
    """A plan that is refused: `prompt_tokens` and the rest are of another type."""
    return {
        "type": "write_plan", "plan_id": f"p{number}", "user_id": "mallory", "occurred_at": NOW,
        "extractor": {"name": "llm/test"}, "state_updates": "none",
        "extraction": {"made_at": NOW, **extraction},
    }  # fmt: skip


OTHERWISE: dict[str, list[Any]] = {
    "prompt_tokens": ["abc", 1e30, 10**25, -900_000, [], {"a": 1}, None, True, 0.5],
    "cost": ["abc", -5, "inf", "nan", [], {}],
    "made_at": ["yesterday", 5, "infinity", [], None, "0001-01-01T00:00:00Z"],
    "event_ids": [5, "e1", {"a": 1}, [[1]], [None], None],
}
HOSTILE = [{name: one} for name, some in OTHERWISE.items() for one in some]


def test_a_dead_letter_neither_stops_the_asking_nor_gives_budget_back(
    endpoint: Start, tmp_path: Path
) -> None:
    said = [letter(number, one) for number, one in enumerate(HOSTILE)]
    said.append(turn("e1", user_input="fact: has a cat"))
    history = tmp_path / "h"
    file_runner.run([str(ndjson(tmp_path / "said.ndjson", said))], history)
    assert rows(history, "SELECT count(*) FROM dead_letters") == [(len(HOSTILE),)]
    asked = endpoint()
    done = extract(history, asked.settings(hourly_tokens=100_000, hourly_cost=9.0))
    assert (done["done"], done["failed"]) == (1, 0)
    spent = spent_since(history, time.time() - 3600)
    assert all(tokens >= 0 and cost >= 0 for _, tokens, cost in spent)
    assert any(
        tokens == done["prompt_tokens"] + done["completion_tokens"] for _, tokens, _ in spent
    )
    assert extract(history, asked.settings())["turns"] == 0


@pytest.mark.parametrize("counted", [10**25, 1 << 40, -1, "many", None])
def test_an_endpoint_that_cannot_count_costs_what_its_bytes_come_to(
    endpoint: Start, tmp_path: Path, counted: Any
) -> None:
    def miscounted(request: Request) -> Reply:
        reply = model(request)
        said = json.loads(reply.body)
        said["usage"]["prompt_tokens"] = counted
        return Reply(reply.status, json.dumps(said).encode())

    history = tmp_path / "h"
    said = ndjson(tmp_path / "said.ndjson", [turn("e1", user_input="fact: has a cat")])
    file_runner.run([str(said)], history)
    done = extract(history, endpoint(miscounted).settings())
    assert 10 < done["prompt_tokens"] < 100_000
    assert rows(history, "SELECT body_text FROM state_current") == [("has a cat",)]
