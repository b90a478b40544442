"""Writes `histories.ndjson`: histories by hand with hand-checked answers, histories by chance, and
for both the questions at every boundary of the two clocks, answered by the oracle.

python -m conformance.histories
"""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from conformance.oracle import NOW, Record, believed

FILE = Path(__file__).with_name("histories.ndjson")
CLOCKS = [(False, False)] * 2 + [(False, True)] * 2 + [(True, False)] * 3 + [(True, True)] * 3
"""Which of `as_of` and `known_at` a question has, for each question that is not by hand."""
BY_CHANCE = 18
FORM = "%Y-%m-%dT%H:%M:%SZ"
OPEN = "-"
"""In a statement by hand: no end."""

Case = tuple[str, str, list[str], list[str]]

CASES: dict[str, list[Case]] = {
    "changed": [
        ("move", "Ann lives in Kyoto, then in Oslo; each learned at once.",
         ["01-03 home Kyoto 01-03 -", "03-01 home Oslo 03-01 -"],
         ["home 02-01 - Kyoto", "home 03-01 - Oslo", "home 01-02 - null", "home - - Oslo"]),
        ("jobs", "Three jobs, one after another, and a hobby that stays.",
         ["01-10 job cook 01-08 -", "02-01 hobby chess 01-01 -", "04-05 job waiter 04-01 -",
          "08-01 job baker 08-01 -"],
         ["job 03-31 - cook", "job 07-31 - waiter", "job - - baker", "hobby 09-01 - chess"]),
        ("planned-stay", "A stay with a known end, and nothing after it.",
         ["02-01 stay Lyon 02-01 02-15"],
         ["stay 02-14 - Lyon", "stay 02-15 - null", "stay - - null"]),
    ],
    "corrected": [
        ("name", "The value was heard wrongly; its start is right.",
         ["01-05 sister Ana 01-01 -", "02-10 sister Hanna 01-01 -"],
         ["sister 01-15 - Hanna", "sister 01-15 02-09 Ana", "sister - - Hanna"]),
        ("start", "The move was a week later than first said.",
         ["01-03 home Kyoto 01-03 -", "03-05 home Oslo 03-01 -", "03-20 retract r2",
          "03-21 home Oslo 03-08 -"],
         ["home 03-04 - Kyoto", "home 03-04 03-10 Oslo", "home 03-08 - Oslo"]),
        ("earlier-value", "A value of the past is corrected; the present one stays.",
         ["01-02 car Fiat 01-01 -", "05-01 car Skoda 05-01 -", "06-01 car Seat 01-01 05-01"],
         ["car 02-01 - Seat", "car 02-01 05-31 Fiat", "car 06-15 - Skoda"]),
        ("twice", "A value is corrected twice.",
         ["01-02 age 41 01-01 -", "02-02 age 42 01-01 -", "03-02 age 43 01-01 -"],
         ["age 01-10 02-01 41", "age 01-10 03-01 42", "age 01-10 - 43"]),
    ],
    "learned late": [
        ("late-move", "Ann moves on 1 March and mentions it on 5 March.",
         ["01-10 home Kyoto 01-03 -", "03-05 home Oslo 03-01 -"],
         ["home 02-01 - Kyoto", "home 03-02 - Oslo", "home 03-02 03-04 Kyoto"]),
        ("first-word", "Nothing is known before the first word about it.",
         ["06-01 diet vegan 01-01 -"],
         ["diet 03-01 05-31 null", "diet 03-01 - vegan", "diet 03-01 06-01 vegan"]),
        ("out-of-order", "The second change is learned before the first.",
         ["01-02 team red 01-01 -", "06-02 team blue 06-01 -", "07-01 team green 03-01 06-01"],
         ["team 04-01 06-15 red", "team 04-01 - green", "team 06-15 - blue"]),
    ],
    "dated back": [
        ("older-start", "It has been so for longer than first said.",
         ["03-01 owner Ben 03-01 -", "04-01 owner Ben 01-01 -"],
         ["owner 02-01 03-15 null", "owner 02-01 - Ben", "owner 03-15 - Ben"]),
        ("older-value", "A value before the first known one.",
         ["03-01 phone black 03-01 -", "04-01 phone white 01-01 03-01"],
         ["phone 02-01 - white", "phone 02-01 03-20 null", "phone 03-01 - black"]),
        ("trip", "A trip within a stay: before and after it the stay goes on.",
         ["01-02 place Leeds 01-01 -", "05-01 place Paris 04-01 04-10"],
         ["place 03-31 - Leeds", "place 04-05 - Paris", "place 04-10 - Leeds",
          "place 04-05 04-20 Leeds", "place - - Leeds"]),
        ("trip-longer", "The trip was longer than first said.",
         ["01-02 place Leeds 01-01 -", "05-01 place Paris 04-01 04-10",
          "05-02 place Paris 04-01 04-20"],
         ["place 04-15 05-01 Leeds", "place 04-15 - Paris", "place 04-20 - Leeds"]),
    ],
    "ended": [
        ("membership", "It ends, and is not replaced.",
         ["01-01 club chess 01-01 -", "06-03 end club 06-01"],
         ["club 05-31 - chess", "club 06-01 - null", "club 06-02 06-02 chess", "club - - null"]),
        ("end-ahead", "The end is known before it comes.",
         ["01-01 lease flat 01-01 -", "03-01 end lease 09-01"],
         ["lease 08-31 - flat", "lease 09-01 - null", "lease 09-02 02-01 flat"]),
        ("end-earlier", "It ended earlier than first said.",
         ["01-01 trial gold 01-01 -", "06-01 end trial 06-01", "07-01 end trial 04-01"],
         ["trial 05-01 06-15 gold", "trial 05-01 - null", "trial 03-31 - gold"]),
        ("end-before-a-change", "It had ended before the change that was told.",
         ["01-01 role lead 01-01 -", "03-01 role chair 03-01 -", "04-01 end role 02-01"],
         ["role 02-15 - null", "role 02-15 03-15 lead", "role 03-15 - null",
          "role 03-15 03-15 chair"]),
    ],
    "re-opened": [
        ("back-again", "It ends and starts again with the same value.",
         ["01-01 gym city 01-01 -", "03-01 end gym 03-01", "06-01 gym city 06-01 -"],
         ["gym 02-01 - city", "gym 04-01 - null", "gym 06-01 - city", "gym 06-02 05-01 null"]),
        ("did-not-end", "The end was an error.",
         ["01-01 plan pro 01-01 -", "03-01 end plan 03-01", "04-01 retract r2"],
         ["plan 03-15 03-20 null", "plan 03-15 - pro", "plan - - pro"]),
        ("other-end", "The end was on another day.",
         ["01-01 pass day 01-01 -", "03-01 end pass 03-01", "04-01 retract r2",
          "04-02 end pass 03-20"],
         ["pass 03-10 03-20 null", "pass 03-10 - day", "pass 03-20 - null"]),
    ],
    "contradicted": [
        ("later-word", "Two values for one time: the one that was learned later.",
         ["02-01 colour red 01-01 -", "02-02 colour green 01-01 -"],
         ["colour 01-15 02-01 red", "colour 01-15 - green", "colour - - green"]),
        ("since-before", "The later word goes back to before the other value's start.",
         ["01-02 city Leeds 01-01 -", "03-02 city York 03-01 -", "04-01 city Bath 02-01 -"],
         ["city 03-15 03-20 York", "city 03-15 - Bath", "city 01-15 - Leeds", "city - - Bath"]),
        ("overlap", "A period with an end over the start of another value.",
         ["01-02 desk A1 01-01 -", "03-15 desk B2 03-15 -", "04-10 desk C3 03-01 04-01"],
         ["desk 03-20 - C3", "desk 04-01 - B2", "desk 03-20 04-01 B2", "desk 02-15 - A1"]),
        ("inside", "A period within a value's period that has an end itself.",
         ["01-02 shift day 01-01 06-01", "03-10 shift night 02-01 03-01"],
         ["shift 02-15 - night", "shift 03-01 - day", "shift 06-01 - null"]),
    ],
    "future-dated": [
        ("next-job", "A change is announced.",
         ["01-02 job nurse 01-01 -", "03-01 job doctor 09-01 -"],
         ["job 08-31 - nurse", "job 09-01 - doctor", "job 09-01 02-01 nurse"]),
        ("before-the-move", "Before an announced change the value changes once more.",
         ["01-02 home Rome 01-01 -", "03-01 home Oslo 09-01 -", "05-02 home Bern 05-01 -"],
         ["home 06-01 - Bern", "home 06-01 05-01 Rome", "home 09-01 - Oslo"]),
        ("called-off", "The announced change does not come.",
         ["01-02 home Rome 01-01 -", "03-01 home Oslo 09-01 -", "06-01 retract r2"],
         ["home 09-15 05-01 Oslo", "home 09-15 - Rome", "home - - Rome"]),
        ("holiday", "An announced holiday; before it the value changes, and lasts over it.",
         ["01-02 place Rome 01-01 -", "03-01 place Nice 08-01 08-15", "05-02 place Bern 05-01 -"],
         ["place 06-01 - Bern", "place 08-02 - Nice", "place 08-15 - Bern",
          "place 08-15 04-01 Rome"]),
        ("end-before-it", "The value ends before the announced one starts.",
         ["01-02 job nurse 01-01 -", "03-01 job doctor 09-01 -", "06-01 end job 06-01"],
         ["job 05-31 - nurse", "job 06-15 - null", "job 09-01 - doctor"]),
    ],
    "deleted": [
        ("only-word", "The only record is withdrawn: it was never so.",
         ["01-02 pet cat 01-01 -", "03-01 retract r1"],
         ["pet 02-01 02-15 cat", "pet 02-01 - null", "pet - - null"]),
        ("last-word", "The last record is withdrawn: what it replaced holds again.",
         ["01-02 bank Ada 01-01 -", "03-02 bank Bia 03-01 -", "05-01 retract r2"],
         ["bank 03-15 04-01 Bia", "bank 03-15 - Ada", "bank - - Ada"]),
        ("first-word-withdrawn", "The first record is withdrawn; the later one stays.",
         ["01-02 bank Ada 01-01 -", "03-02 bank Bia 03-01 -", "05-01 retract r1"],
         ["bank 02-01 04-01 Ada", "bank 02-01 - null", "bank 03-15 - Bia"]),
        ("correction-withdrawn", "A correction is withdrawn.",
         ["01-02 size S 01-01 -", "02-02 size M 01-01 -", "03-02 retract r2"],
         ["size 01-15 02-15 M", "size 01-15 - S", "size 01-15 02-01 S"]),
        ("bystander", "What rests on another record stays.",
         ["01-02 tea green 01-01 -", "01-03 milk oat 01-01 -", "03-01 retract r1"],
         ["milk 02-01 - oat", "tea 02-01 02-15 green"]),
    ],
}  # fmt: skip


def day(text: str) -> str:
    return f"2024-{text}T00:00:00Z"


def statement(number: int, line: str) -> Record:
    """A record of a line: learned, fact, value, from, to; or learned, `end`, fact, from; or
    learned, `retract`, record."""
    learned, *words = line.split()
    record: Record = {"id": f"r{number}", "learned_at": day(learned)}
    match words:
        case ["retract", retracted]:
            return record | {"op": "retract", "record": retracted}
        case ["end", fact, start]:
            return record | {"op": "end", "fact": fact, "from": day(start)}
    fact, value, start, stop = words
    until = {} if stop == OPEN else {"to": day(stop)}
    return record | {"op": "state", "fact": fact, "value": value, "from": day(start)} | until


def by_hand(line: str) -> Record:
    """A question of a line: fact, `as_of`, `known_at`, answer."""
    fact, as_of, known_at, answer = line.split()
    times = {"as_of": as_of, "known_at": known_at}
    given = {name: day(time) for name, time in times.items() if time != OPEN}
    value = None if answer == "null" else answer
    return {"ask": "value", "fact": fact, **given, "answer": value, "by_hand": True}


def chance_records(draw: Random) -> list[Record]:
    """Statements, ends and retractions in the order in which they are learned."""
    records: list[Record] = []
    days = sorted(draw.sample(range(1, 330), draw.randint(3, 7)))
    for number, learned in enumerate(days, 1):
        start = max(0, min(330, learned + round(draw.gauss(-10, 50))))
        record: Record = {"id": f"r{number}", "learned_at": _date(learned)}
        kind = draw.choices(("state", "end", "retract"), (6, 1.5, 1.5))[0] if records else "state"
        retracted = {record.get("record") for record in records}
        targets = [
            record["id"]
            for record in records
            if record["op"] != "retract" and record["id"] not in retracted
        ]
        if kind == "retract" and targets:
            records.append(record | {"op": "retract", "record": draw.choice(targets)})
            continue
        fact = draw.choice(("home", "home", "job"))
        record |= {"op": "state", "fact": fact, "from": _date(start)}
        if kind == "end" and is_true(records, fact, _before(record["from"])):
            records.append(record | {"op": "end"})
            continue
        record["value"] = f"{fact}-{number}"
        if draw.random() < 0.3:
            record["to"] = _date(start + draw.randint(1, 60))
        records.append(record)
    return records


def _date(number: int) -> str:
    return _text(datetime(2024, 1, 1) + timedelta(days=number))


def _before(time: str) -> str:
    """Noon of the day before."""
    return _text(datetime.strptime(time, FORM) - timedelta(hours=12))


def _text(time: datetime) -> str:
    return time.strftime(FORM)


def questions(records: list[Record], draw: Random) -> Iterator[Record]:
    """Questions at the boundaries of both clocks, and just before them."""
    facts = sorted({record["fact"] for record in records if "fact" in record})
    bounds = {record[name] for record in records for name in ("from", "to") if name in record}
    learned = {record["learned_at"] for record in records}
    for number, (of_world, of_memory) in enumerate(CLOCKS):
        as_of = draw.choice(_around(bounds)) if of_world else None
        known_at = draw.choice(_around(learned)) if of_memory else None
        question = {
            "fact": draw.choice(facts), **_given("as_of", as_of), **_given("known_at", known_at),
        }  # fmt: skip
        record = answer_record(records, question)
        ask = ("value", "source", "value", "learned")[number % 4]
        if record is None or record["op"] == "end":
            yield {"ask": "value", **question, "answer": None}
        else:
            name = {"value": "value", "source": "id", "learned": "learned_at"}[ask]
            yield {"ask": ask, **question, "answer": record[name]}


def distinct(items: Iterable[Record]) -> list[Record]:
    return list({json.dumps(question): question for question in items}.values())


def _around(times: set[str]) -> list[str]:
    return sorted(times | {_before(time) for time in times})


def _given(name: str, time: str | None) -> dict[str, str]:
    return {} if time is None else {name: time}


def is_true(records: list[Record], fact: str, as_of: str) -> bool:
    """Whether a fact has a value, by all that is known."""
    record = believed(records, fact, as_of, NOW)
    return record is not None and record["op"] == "state"


def answer_record(records: list[Record], question: Record) -> Record | None:
    return believed(
        records, question["fact"], question.get("as_of", NOW), question.get("known_at", NOW)
    )


def histories() -> Iterator[dict[str, Any]]:
    for category, cases in CASES.items():
        for name, about, lines, answers in cases:
            records = [statement(number, line) for number, line in enumerate(lines, 1)]
            items = [*map(by_hand, answers), *distinct(questions(records, Random(name)))]
            yield _history(name, category, about, records, items)
    for number in range(1, BY_CHANCE + 1):
        draw = Random(number)
        records = chance_records(draw)
        about = "Statements, ends and retractions by chance."
        items = distinct(questions(records, draw))
        yield _history(f"mixed-{number}", "mixed", about, records, items)


def _history(
    name: str, category: str, about: str, records: list[Record], items: list[Record]
) -> dict[str, Any]:
    return {
        "history": name, "category": category, "about": about, "records": records,
        "questions": items,
    }  # fmt: skip


def text() -> str:
    return "".join(json.dumps(history) + "\n" for history in histories())


if __name__ == "__main__":
    FILE.write_text(text())
