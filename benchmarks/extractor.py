"""The rule extractor alone: turns in, write plans out. Goal: 25 µs a turn, without affect.

Turns of SGD, in which hardly anybody says anything of themselves, and the utterances of
tests/acceptance/utterances, in half of which somebody does.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from benchmarks import common
from benchmarks.common import median, spread
from schemas.base import parse_time
from streams.extractors import rules
from streams.pipeline.fast_decode import PlainTurn
from tests.acceptance.utterances import utterances

AGAIN = 40  # how often a pass goes over the few utterances
FIELDS = ("tenant", "event_id", "session_id", "user_id", "source", "status", "occurred_at",
          "user_input")  # fmt: skip


def main() -> None:
    """One table: µs a turn of each input, beside a bare loop over the same turns."""
    parser = common.arguments(__doc__)
    parser.add_argument("--turns", type=int, default=38_568, help="of SGD (default: all)")
    parser.add_argument("--cores", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    common.pin(given.cores)
    rows = [
        _row("SGD", common.in_process(sgd, given.turns, given.repeat).answer),
        *(
            _row(
                f"utterances, {language}", common.in_process(spoken, language, given.repeat).answer
            )
            for language in sorted({one.language for one in utterances()})
        ),
    ]
    head = ("turns", "plans", "extract, CPU µs a turn", "spread", "bare loop: one dict a turn")
    common.show(f"rules, median of {given.repeat}", head, rows)


def _row(name: str, measured: tuple[float, list[tuple[float, float]]]) -> tuple[str, ...]:
    share, pairs = measured
    rule, bare = zip(*pairs, strict=True)
    return (name, f"{share:.0%}", f"{median(rule):.1f}", spread(rule), f"{median(bare):.2f}")


def sgd(turns: int, repeat: int) -> tuple[float, list[tuple[float, float]]]:
    """The share of turns with a plan, and µs a turn of rules and bare loop."""
    made = [
        _turn(record["event_id"], record["user_input"], record["agent_answer"])
        for record in common.sgd_records(turns)
    ]
    return _measure(made, repeat)


def spoken(language: str, repeat: int) -> tuple[float, list[tuple[float, float]]]:
    """The same of the utterances of one language."""
    own = [one for one in utterances() if one.language == language]
    return _measure([_turn(one.id, one.text, "OK.") for one in own] * AGAIN, repeat)


def _turn(event_id: str, said: str, answer: str) -> PlainTurn:
    return PlainTurn(
        type="turn",
        event_id=event_id,
        session_id="s1",
        user_id="u1",
        occurred_at=parse_time("2026-03-01T09:00:00Z"),
        user_input=said,
        agent_answer=answer,
    )


def _measure(turns: list[PlainTurn], repeat: int) -> tuple[float, list[tuple[float, float]]]:
    share = sum(rules.extract(turn) is not None for turn in turns) / len(turns)
    with common.no_collector():
        return share, [(_cost(turns, rules.extract), _cost(turns, _bare)) for _ in range(repeat)]


def _cost(turns: Iterable[PlainTurn], function: Callable[[Any], Any]) -> float:
    """CPU µs a turn: the machine's other work does not count."""
    began, count = time.process_time(), 0
    for turn in turns:
        function(turn)
        count += 1
    return 1e6 * (time.process_time() - began) / count


def _bare(turn: PlainTurn) -> dict[str, Any]:
    return {name: getattr(turn, name) for name in FIELDS}


if __name__ == "__main__":
    main()
