"""Long messages: LoCoMo's turns as a user's words, each with an answer twelve times as long.

In real chats with assistants answers are about twelve times as long as what users write, while
most questions are about what the user said. Here an answer is made of turns of the other
conversations, chosen by a hash, so the evidence of a question stays in the user's words. Beside
search stands plain BM25 (stems, a stop list, k1 1.2, b 0.75) over the same texts. With `--out` the
labelled set is written as well, for `turnfold evaluate`.
"""

import hashlib
import math
from collections import Counter
from pathlib import Path

from benchmarks import common, locomo
from schemas.base import JsonObject
from streams.evaluation import labels, retrieval
from streams.files import local
from streams.search.tokens import terms
from streams.search.words import STOP

TIMES = 12
K1, B = 1.2, 0.75
HITS = 10


def main() -> None:
    """One table: turn hit@10 and session hit@10 of search and of plain BM25."""
    parser = common.arguments(__doc__)
    parser.add_argument("--conversations", nargs="+", default=locomo.DEVELOPMENT)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with common.work_folder(given.work) as folder:
        lines = convert(given.conversations)
        file = given.out or folder / "set.ndjson"
        common.write_ndjson(file, lines)
        found = labels.read(file, folder / "records.ndjson")
        local.run([str(folder / "records.ndjson")], folder / "history")
        asked = retrieval.ask(folder / "history", file, found.questions, retrieval.Options())
        ours = retrieval.figures(asked)[-1]
    turn, session = plain(lines)
    rows = [
        ("search", f"{ours.turn:.1%}", f"{ours.session:.1%}"),
        ("plain BM25 with a stop list", f"{turn:.1%}", f"{session:.1%}"),
    ]
    title = f"long messages: {len(found.questions)} questions, answers {TIMES} times as long"
    common.show(title, ("", "turn hit@10", "session hit@10"), rows)


def convert(names: list[str]) -> list[JsonObject]:
    """The labelled set: events with long answers, and the questions."""
    talks = {name: locomo.read(name) for name in names}
    texts = {
        name: [turn["text"] for _, turns in locomo.sessions(talk) for turn in turns]
        for name, talk in talks.items()
    }
    lines = []
    for name, talk in talks.items():
        others = [text for other in names if other != name for text in texts[other]]
        for line in locomo.convert(name, talk, "none", together=False):
            if line.get("type") == "turn":
                line["agent_answer"] = _answer(line["event_id"], line["user_input"], others)
            lines.append(line)
    return [line for line in lines if line.get("label") != "observation"]


def _answer(event: str, said: str, others: list[str]) -> str:
    """Sentences of others, until they are `TIMES` as long as what was said."""
    made: list[str] = []
    while sum(map(len, made)) < TIMES * len(said):
        chance = hashlib.sha256(f"{event}/{len(made)}".encode()).digest()
        made.append(others[int.from_bytes(chance[:6], "big") % len(others)])
    return " ".join(made)


def plain(lines: list[JsonObject]) -> tuple[float, float]:
    """Turn hit@10 and session hit@10 of plain BM25, of the questions that have evidence."""
    events = [line for line in lines if line.get("type") == "turn"]
    asked = [line for line in lines if line.get("label") == "question" and line["evidence"]]
    session_of = {one["event_id"]: one["session_id"] for one in events}
    counts: dict[str, dict[str, Counter[str]]] = {}
    for one in events:
        told = Counter(_words(f"{one['user_input']}\n{one['agent_answer']}"))
        counts.setdefault(one["tenant"], {})[one["event_id"]] = told
    turns = sessions = 0
    for one in asked:
        hits = _bm25(counts[one["tenant"]], _words(one["question"]))
        turns += any(hit in one["evidence"] for hit in hits)
        wanted = {session_of[event] for event in one["evidence"]}
        sessions += any(session_of[hit] in wanted for hit in hits)
    return turns / len(asked), sessions / len(asked)


def _bm25(docs: dict[str, Counter[str]], asked: list[str]) -> list[str]:
    """The best events."""
    average = sum(one.total() for one in docs.values()) / len(docs)
    weights = {}
    for term in set(asked):
        having = sum(term in one for one in docs.values())
        weights[term] = math.log(1 + (len(docs) - having + 0.5) / (having + 0.5))

    def score(event: str) -> float:
        words = docs[event]
        long = K1 * (1 - B + B * words.total() / average)
        return sum(
            weight * words[term] * (K1 + 1) / (words[term] + long)
            for term, weight in weights.items()
        )

    return sorted(docs, key=lambda event: (-score(event), event))[:HITS]


def _words(text: str) -> list[str]:
    return [term for term in terms(text) if term not in STOP]


if __name__ == "__main__":
    main()
