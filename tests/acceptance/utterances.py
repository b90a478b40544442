"""Utterances written by hand, and how well an extractor does on them.

A file `utterances/*/{en,zh,ja}.ndjson` holds one utterance a line: {id, text, expect: [{kind,
value, polarity?, replaces?, or?: [other values]}], note?}; nothing expected is a hard negative.
`python -m tests.acceptance.utterances` prints precision and recall by language and kind.
"""

import sys
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from schemas.base import JsonObject
from schemas.events import Turn
from streams.extractors import rules

FOLDER = Path(__file__).parent / "utterances"
KINDS = (
    "preference", "constraint", "background", "decision", "task", "task_done", "correction",
)  # fmt: skip
SHORTEST = 0.25  # the shorter of two texts that agree is at least this part of the longer one


class Utterance(NamedTuple):
    """A line of a file; `language` is the file's name."""

    language: str
    id: str
    text: str
    expect: list[dict[str, Any]]


class Extraction(NamedTuple):
    """What an extractor found: one thing may be of two kinds (a correction of a preference)."""

    kinds: frozenset[str]
    value: str
    polarity: str | None
    replaces: str | None


class Score(NamedTuple):
    """Counts of one language and kind: found things that are right, of those found; expected
    things that were found, of those expected."""

    right: int = 0
    found: int = 0
    met: int = 0
    expected: int = 0

    def __add__(self, other: object) -> "Score":
        assert isinstance(other, Score)
        return Score(*(one + two for one, two in zip(self, other, strict=True)))

    @property
    def precision(self) -> float:
        return self.right / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.met / self.expected if self.expected else 1.0


def utterances(folder: Path = FOLDER) -> Iterator[Utterance]:
    """All lines of all files, in the order of their names."""
    for path in sorted(folder.glob("*/*.ndjson")):
        for line in path.read_bytes().splitlines():
            raw = msgspec.json.decode(line)
            yield Utterance(path.stem, raw["id"], raw["text"], raw["expect"])


def turn(text: str, event_id: str = "e1") -> Turn:
    """The chat turn in which a user says it."""
    return Turn(
        event_id=event_id,
        session_id="s1",
        user_id="u1",
        occurred_at="2026-03-01T09:00:00Z",  # type: ignore[arg-type]
        user_input=text,
        agent_answer="OK.",
    )


def extractions(plan: JsonObject | None) -> list[Extraction]:
    """What a plan says, to be set against what is expected."""
    if plan is None:
        return []
    found = []
    for update in plan.get("state_updates", ()):
        payload = update["payload"]
        found.append(_extraction(payload["category"], payload["value"], payload))
    for update in plan.get("preference_updates", ()):
        if update["op"] != "confirm":
            continue  # the other side of a correction
        payload = update["payload"] | {"polarity": update["polarity"]}
        found.append(_extraction("preference", update["subject"], payload))
    return list(dict.fromkeys(found))  # a favourite is a state and a preference


def _extraction(kind: str, value: str, payload: JsonObject) -> Extraction:
    old = payload.get("corrects")
    kinds = {kind, "correction"} if old else {kind}
    return Extraction(frozenset(kinds), value, payload.get("polarity"), old)


def agree(found: Extraction, expected: dict[str, Any]) -> bool:
    """Kind, polarity where both name one, and value; for a correction also what it replaces."""
    if expected["kind"] not in found.kinds:
        return False
    polarity = expected.get("polarity")
    if polarity and found.polarity and polarity != found.polarity:
        return False
    if expected.get("replaces") and not same(found.replaces or "", expected["replaces"]):
        return False
    return any(same(found.value, value) for value in (expected["value"], *expected.get("or", ())))


def same(one: str, other: str) -> bool:
    """Whether one text contains the other, and is not much longer."""
    short, long = sorted((_plain(one), _plain(other)), key=len)
    return bool(short) and short in long and len(short) >= SHORTEST * len(long)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def score(found: list[Extraction], expect: list[dict[str, Any]]) -> dict[str, Score]:
    """By kind. A found thing counts under the expected kind it agrees with, else under its own."""
    scores: Counter[tuple[str, str]] = Counter()
    for one in found:
        met = next((wanted["kind"] for wanted in expect if agree(one, wanted)), None)
        kind = met or ("correction" if "correction" in one.kinds else min(one.kinds))
        scores[kind, "found"] += 1
        scores[kind, "right"] += met is not None
    for wanted in expect:
        scores[wanted["kind"], "expected"] += 1
        scores[wanted["kind"], "met"] += any(agree(one, wanted) for one in found)
    return {
        kind: Score(*(scores[kind, name] for name in Score._fields))
        for kind in KINDS
        if any(scores[kind, name] for name in Score._fields)
    }


def total(scores: Iterable[Score]) -> Score:
    """The sum of counts."""
    return sum(scores, Score())


def measure(folder: Path = FOLDER) -> dict[tuple[str, str], Score]:
    """(language, kind) -> score of the rules over all files."""
    scores: dict[tuple[str, str], Score] = {}
    for one in utterances(folder):
        for kind, counts in score(extractions(rules.extract(turn(one.text))), one.expect).items():
            scores[one.language, kind] = scores.get((one.language, kind), Score()) + counts
    return scores


def main() -> None:
    """A table by kind and language, and with `-v` each utterance that is not as expected."""
    scores = measure()
    languages = sorted({language for language, _ in scores})
    print(f"| kind | {' | '.join(f'{name}: precision, recall' for name in languages)} | all |")
    print("| --- " * (len(languages) + 2) + "|")
    for kind in (*KINDS, "all"):
        kinds = KINDS if kind == "all" else (kind,)
        row = [
            total(scores.get((name, one), Score()) for one in kinds for name in of)
            for of in (*((name,) for name in languages), languages)
        ]
        print(f"| {kind} | {' | '.join(map(_cell, row))} |")
    if "-v" in sys.argv:
        for utterance in utterances():
            _tell(utterance)


def _cell(score: Score) -> str:
    return (
        f"{score.precision:.2f} ({score.right}/{score.found}), "
        f"{score.recall:.2f} ({score.met}/{score.expected})"
    )


def _tell(utterance: Utterance) -> None:
    found = extractions(rules.extract(turn(utterance.text)))
    wrong = [one for one in found if not any(agree(one, want) for want in utterance.expect)]
    missed = [want for want in utterance.expect if not any(agree(one, want) for one in found)]
    if wrong or missed:
        print(f"\n{utterance.id} {utterance.text}")
        for one in wrong:
            print(f"  wrong  {sorted(one.kinds)} {one.value!r} {one.polarity} {one.replaces!r}")
        for want in missed:
            print(f"  missed {want}")


if __name__ == "__main__":
    main()
