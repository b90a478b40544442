"""Context packs over HTTP: `turnfold serve` over a history of many users, a client beside it.

    python -m benchmarks.context_load --states 1000000

Every user has the same number of states and some of SGD's sessions. Packs of users at random are
asked for at steady rates, without a question and with one (words of a turn of that user), each
beside a uvicorn that answers constant bytes. CPU is that of the server process, which other work on
the machine bends less than latencies. `--history DIR` keeps the history, and uses it again.
"""

import argparse
import asyncio
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from urllib.parse import urlencode

from benchmarks import common, http_load
from benchmarks.http_load import load
from benchmarks.serving_embedded import Servers, peak_memory
from benchmarks.serving_load import CONNECTIONS
from schemas.base import DAY, JsonObject, format_time
from streams import search
from streams.files import file_runner
from tests.acceptance import sgd

TENANT = "default"
PLANS = 5
"""Of each user: their states come in so many write plans."""
SEED = 11


def records(users: int, states: int, sessions: int) -> Iterator[JsonObject]:
    """Of each user so many states, in plans, and so many sessions of SGD."""
    dialogues = _dialogues()
    for number in range(users):
        user = f"user-{number}"
        for place in range(sessions):
            yield from _session(dialogues, user, number * sessions + place)
        said = [turn["user_input"] for turn in dialogues[(7 * number) % len(dialogues)]]
        for place in range(PLANS):
            yield _plan(user, place, states // PLANS, said)


def _dialogues() -> list[list[JsonObject]]:
    found: dict[str, list[JsonObject]] = {}
    for turn in sgd.records(common.sgd_path()):
        found.setdefault(turn["session_id"], []).append(turn)
    return list(found.values())


def _session(dialogues: list[list[JsonObject]], user: str, number: int) -> Iterator[JsonObject]:
    repetition, place = divmod(number, len(dialogues))
    for turn in dialogues[place]:
        named = {name: f"{turn[name]}-r{repetition}" for name in ("session_id", "event_id")}
        yield {**turn, **named, "user_id": user}


def _plan(user: str, place: int, states: int, said: list[str]) -> JsonObject:
    return {
        "type": "write_plan", "plan_id": f"{user}-{place}", "user_id": user,
        "event_id": f"{user}-e{place}", "extractor": {"name": "benchmark", "version": "1"},
        "occurred_at": format_time(sgd.START + place * DAY),
        "state_updates": [_state(user, place * states + n, said) for n in range(states)],
    }  # fmt: skip


def _state(user: str, number: int, said: list[str]) -> JsonObject:
    text = f"{said[number % len(said)][:80]} ({number})"
    if number % 10 == 0:
        return {"kind": "task", "state_id": f"{user}-s{number}", "body_text": text}
    category = "constraint" if number % 10 == 1 else "background"
    return {
        "kind": "fact", "state_id": f"{user}-s{number}", "body_text": text,
        "payload": {"category": category, "value": f"value {number}"},
    }  # fmt: skip


def build(folder: Path, given: argparse.Namespace) -> None:
    """The history and its index."""
    users = given.states // given.each
    file = folder / "records.ndjson"
    common.write_ndjson(file, records(users, given.each, given.sessions))
    spent = common.in_process(_run, file, folder / "history")
    common.note(f"folded in {spent.seconds:.0f} s, {spent.cpu:.0f} CPU s")
    file.unlink()
    spent = common.in_process(_index, folder / "history")
    size = spent.answer.stat().st_size / 1e6
    common.note(f"indexed in {spent.seconds:.0f} s, {spent.cpu:.0f} CPU s, {size:.0f} MB")


def _run(file: Path, history: Path) -> None:
    file_runner.run([str(file)], history)


def _index(history: Path) -> Path:
    return search.update(history, TENANT)


def packs(users: int, sessions: int, *, asks: bool) -> Iterator[bytes]:
    """Requests for packs of users at random; with `asks` with a question."""
    chance, dialogues = Random(SEED), _dialogues()
    while True:
        number = chance.randrange(users)
        about: dict[str, str] = {}
        if asks:
            one = dialogues[(number * sessions + chance.randrange(sessions)) % len(dialogues)]
            about["q"] = " ".join(chance.choice(one)["user_input"].split()[:12])
        yield http_load.get(f"/v1/users/user-{number}/context?{urlencode(about)}")


def measure(here: Servers, given: argparse.Namespace) -> None:
    """Every kind of pack at every rate, the bare uvicorn beside it."""
    users, rows = given.states // given.each, []
    for rate in given.rates:
        kinds = {
            "bare uvicorn": (here.bare, here.bare_port, (http_load.get("/") for _ in count())),
            "no question": (here.serve, here.port, packs(users, given.sessions, asks=False)),
            "a question": (here.serve, here.port, packs(users, given.sessions, asks=True)),
        }
        bare = 0.0
        for name, (process, port, requests) in kinds.items():
            for seconds in (given.warm, given.seconds):
                before = process.cpu()
                found = asyncio.run(
                    load(port, requests, seconds=seconds, rate=rate, connections=CONNECTIONS)
                )
            answered = sum(found.statuses.values())
            each = 1000 * (process.cpu() - before) / max(1, answered)
            bare = bare or each
            rows.append(
                (name, rate, f"{found.rate:.0f}", *_quantiles(found.latencies), f"{each:.2f}",
                 f"{each / bare:.0f}", _told(found))
            )  # fmt: skip
            common.note(" | ".join(map(str, rows[-1])))
    title = (
        f"context packs: {given.states:,} states of {users:,} users, {given.each} each, "
        f"{given.sessions} sessions each; {peak_memory(here.serve.running.pid):.0f} MB resident"
    )
    head = ("", "asked/s", "answered/s", "p50 ms", "p99 ms", "CPU ms each", "of bare", "statuses")
    common.show(title, head, rows)


def _quantiles(latencies: list[float]) -> tuple[str, str]:
    places = (len(latencies) // 2, int(0.99 * len(latencies)))
    p50, p99 = (1000 * latencies[place] for place in places)
    return f"{p50:.1f}", f"{p99:.1f}"


def _told(found: http_load.Load) -> str:
    return " ".join(f"{status}: {times:,}" for status, times in sorted(found.statuses.items()))


def main() -> None:
    """Builds, then measures."""
    parser = common.arguments(__doc__)
    parser.add_argument("--history", type=Path, help="folder that keeps the history")
    parser.add_argument("--states", type=int, default=1_000_000)
    parser.add_argument("--each", type=int, default=50, help="states a user")
    parser.add_argument("--sessions", type=int, default=2, help="sessions a user")
    parser.add_argument("--rates", type=int, nargs="+", default=[25, 50, 100, 200])
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--warm", type=float, default=5)
    given = parser.parse_args()
    with common.work_folder(given.work) as made:
        folder = given.history or made
        folder.mkdir(exist_ok=True)
        if not (folder / "history").exists():
            build(folder, given)
        here = Servers(folder)
        try:
            measure(here, given)
        finally:
            here.serve.stop()
            here.bare.stop()


if __name__ == "__main__":
    main()
