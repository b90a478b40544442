"""Draws things that the rules store of conversations they were not made with, for readers to judge.

    python -m benchmarks.draw_kept [COUNT] [--seed N] [--tuned]

A line is {source, kind, text, sentence}. The first three conversations of LoCoMo, and each second
dialogue of SGD, were looked at while the rules were written (`--tuned`); it draws from the others.
"""

import argparse
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from schemas.base import parse_time
from streams.extractors import rules
from streams.pipeline.fast_decode import PlainTurn

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
AT = parse_time("2025-03-01T09:00:00Z")


def main() -> None:
    """Prints the drawn things as JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tuned", action="store_true", help="from the conversations looked at")
    options = parser.parse_args()
    stored = sorted({tuple(one.values()): one for one in things(tuned=options.tuned)}.items())
    chosen = random.Random(options.seed).sample(stored, min(options.count, len(stored)))
    for _, thing in chosen:
        print(json.dumps(thing, ensure_ascii=False))


def things(*, tuned: bool) -> Iterator[dict[str, Any]]:
    """What the rules store of each half: facts, tasks and tastes, each with its sentence."""
    for is_tuned, source, text in said():
        if is_tuned != tuned:
            continue
        plan = rules.extract(_turn(text)) or {}
        for state in plan.get("state_updates", []):
            evidence = state["payload"]["evidence"]
            yield {
                "source": source,
                "kind": state["kind"],
                "text": state["body_text"],
                "sentence": evidence,
            }
        for like in plan.get("preference_updates", []):
            text = f"{like['polarity']}: {like['subject']}"
            yield {"source": source, "kind": "taste", "text": text, "sentence": like["note"]}


def said() -> Iterator[tuple[bool, str, str]]:
    """(whether its conversation was looked at, source, what a user says)."""
    for number, path in enumerate(sorted((DATA / "locomo_dev").glob("*.json.gz"))):
        talk = json.loads(gzip.decompress(path.read_bytes()))
        talk = talk.get("conversation", talk)
        for name, turns in talk.items():
            if name.startswith("session_") and isinstance(turns, list):
                yield from (
                    (number < 3, "locomo", one["text"]) for one in turns if "speaker" in one
                )
    with gzip.open(DATA / "sgd" / "train_part.jsonl.gz", "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            for one in json.loads(line)["turns"]:
                if one["speaker"] == "USER":
                    yield number % 2 == 1, "sgd", one["utterance"]


def _turn(text: str) -> PlainTurn:
    return PlainTurn(
        type="turn", event_id="e", session_id="s", user_id="u", occurred_at=AT, user_input=text
    )


if __name__ == "__main__":
    main()
