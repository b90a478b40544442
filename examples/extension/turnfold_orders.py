"""An extractor and an importer in a package of their own."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schemas.base import format_time
from schemas.turn import Turn
from streams.folds.ids import make_id
from streams.importers.base import NOTHING, ImportDefaults, Skipped

VERSION = "1"
ORDER = re.compile(r"\border ([A-Z]+-\d+)\b")


def extract(turn: Turn, affect: Any = None) -> dict[str, Any] | None:
    """The order that a turn names, as a fact of its user."""
    match = ORDER.search(turn.user_input)
    if match is None or turn.user_id is None:
        return None
    ids = (turn.tenant, turn.session_id, turn.event_id)
    order = {
        "kind": "fact",
        "state_id": make_id("orders", turn.tenant, turn.user_id, match[1]),
        "body_text": f"Ordered {match[1]}.",
        "confidence": 0.9,
        "valid_from": format_time(turn.occurred_at),
        "evidence_event_ids": [turn.event_id],
        "reason": turn.user_input,
    }
    return {
        "type": "write_plan", "tenant": turn.tenant, "plan_id": make_id("plan", "orders", *ids),
        "user_id": turn.user_id, "session_id": turn.session_id, "event_id": turn.event_id,
        "occurred_at": format_time(turn.occurred_at),
        "extractor": {"name": "orders", "version": VERSION}, "state_updates": [order],
    }  # fmt: skip


def read_tickets(
    path: Path, skipped: Skipped, defaults: ImportDefaults = NOTHING
) -> Iterator[dict[str, Any]]:
    """One turn per line of a help desk's file."""
    for line in path.read_text("utf-8").splitlines():
        ticket = json.loads(line)
        if not ticket.get("text"):
            skipped["ticket without text"] += 1
            continue
        yield {
            "type": "turn", "event_id": ticket["id"], "session_id": ticket["id"],
            "user_id": ticket["customer"], "occurred_at": ticket["at"],
            "user_input": ticket["text"],
        }  # fmt: skip
