"""What was corrected, ended and asked to be forgotten is the same memory in every tier, and
rebuilt: random corrections through the API of files and of Kafka."""

import random
from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas.citation import Citation
from sinks.digest import digest
from streams.files.manifest import Settings
from streams.generations.rebuild import backfill
from tests.command import answer, folded, turn, turnfold
from tests.serving.serving import Server, serving
from tests.serving.test_api_memory import ok
from tests.serving.tiers import TIERS
from tests.tiers import soaked

pytestmark = pytest.mark.nightly

NOW = {"Prefer": "wait=60"}
SAID = (
    "I live in Oslo.", "I love jazz.", "I'm allergic to peanuts.", "I hate olives.",
    "My name is Ida.", "I like tea.", "I have a dog called Rex.",
)  # fmt: skip
ASKED = ("Forget that I live in Oslo.", "Forget that I love jazz.", "Forget my name.")
STEPS = 14
PLAN = {
    "type": "write_plan", "plan_id": "first", "user_id": "ida", "extractor": {"name": "test"},
    "occurred_at": "2025-03-01T08:00:00Z",
    "state_updates": [
        {"kind": "fact", "state_id": f"fact {number}", "body_text": f"Has {number} lamps."}
        for number in range(3)
    ],
    "preference_updates": [
        {"op": op, "domain": "food", "polarity": "like", "subject": subject}
        for op, subject in (("confirm", "tea"), ("upsert_candidate", "rye"))
    ],
}  # fmt: skip
"""What is known before, also where no rules run."""


def held(api: httpx.Client, user: str, kind: str) -> list[str]:
    reply = api.get(f"/v1/users/{user}")
    found = [] if reply.status_code == 404 else ok(reply)[kind]
    return sorted(one[f"{'state' if kind == 'states' else 'preference'}_id"] for one in found)


def step(api: httpx.Client, user: str, rng: random.Random) -> None:
    """Corrects or ends one thing, by its id or its citation."""
    kind = rng.choice(("states", "preferences"))
    ids = held(api, user, kind)
    if not ids:
        return
    id = rng.choice(ids)
    if rng.random() < 0.5:
        id = str(Citation.of(kind[:-1], id))
    query = {"user_id": user}
    if rng.random() < 0.5:
        text = rng.choice(("Lives in Rome.", "tea", "coffee", "olives"))
        body: dict[str, Any] = {"reason": "she wrote"}
        body |= {"body_text": text} if kind == "states" else {"subject": text}
        if kind == "preferences" and rng.random() < 0.5:
            body["polarity"] = rng.choice(("like", "dislike"))
        ok(api.patch(f"/v1/{kind}/{id}", json=body, params=query, headers=NOW))
    else:
        ok(api.delete(f"/v1/{kind}/{id}", params={"reason": "over", **query}, headers=NOW))


def talk(server: Server, seed: int) -> None:
    rng = random.Random(seed)
    ok(server.client.post("/v1/records", json=PLAN, headers=NOW))
    for number in range(STEPS):
        text = rng.choice(SAID if rng.random() < 0.7 else ASKED)
        record = turn(f"e{number}", session_id=f"s{number % 3}", user_id="ida", status="done",
                      occurred_at=f"2025-03-01T09:{number:02}:00Z", user_input=text,
                      agent_answer="Noted.")  # fmt: skip
        ok(server.client.post("/v1/records", json=record, headers=NOW))
        if number > 2:
            step(server.client, "ida", rng)


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("seed", soaked(list(range(6)), 2))
def test_corrected_memory_is_the_same_rebuilt(tmp_path: Path, tier: str, seed: int) -> None:
    with TIERS[tier](tmp_path) as reached:
        with serving(*reached.options, *(["--extractor", "rules"] * (tier == "files"))) as server:
            server.until("/readyz", 200)
            talk(server, seed)
        reached.settle()
    history = tmp_path / "memory"
    live = digest(history)["memory"]
    if tier == "files":
        backfill(history, "again", Settings(extractor=None))
        again = answer("admin", "digest", "--history", history, "--generation", "again")
        assert again["memory"] == live
    exported = turnfold("export", "--records", "--history", history)
    assert exported.code == 0, exported.err
    (tmp_path / "records.ndjson").write_text(exported.out, "utf-8")
    folded(tmp_path / "records.ndjson", history=tmp_path / "copy")
    assert digest(tmp_path / "copy")["memory"] == live
