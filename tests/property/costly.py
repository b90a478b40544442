"""Bodies made to cost much, and a search that climbs from them to bodies that cost more.

A `Recipe` is a record of any type (drawn from the models, so that a new field is tried at once)
with a hole at any of its places, and what the hole is filled with, again and again, up to any size.
The search changes recipes, keeps those that cost most, and changes them again.
"""

import base64
import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

from streams.pipeline.decode import decode
from streams.serving.http import message_bodies, routes_records, write_records
from streams.serving.http.problems import Problem
from tests.property.spellings import record
from tests.property.world import Json

LATEST = 2**62
"""No record of these tests is from the future."""
RECORDS = 10_000
NDJSON, JSON, CLOUD, EVENT, MESSAGES = (
    "application/x-ndjson", "application/json", "application/cloudevents-batch+json",
    "application/cloudevents+json", "messages",
)  # fmt: skip
LINE = "line"
"""One record alone, as files and topics have it."""
WAYS = (LINE, NDJSON, JSON, CLOUD, EVENT, MESSAGES)
HOLE = "\x1a"
PACKED = [base64.b64encode(pack(b"q" * 40)).decode() for pack in (gzip.compress, zlib.compress)]
WORDS = [
    *(f"{letters} " for letters in PACKED), f"{PACKED[1][:20]} ", "bWV0YV9yZXF1ZXN0 ",
    "/9j", "/9j/", "/9j/4", "/9j/4AAQSkZJRgABAQ", "iVBORw0KGgo", "PD94bWwg", "PHN2Z", "77u/P",
    "Qk0AAAAAAAAA", "AAAAxGZ0eXB", " SUkqA", "UklGR", "R0lGODlx", "ffd8ff", "89504e47 ",
    "data:image/", "data:image/a,", "data:image/png;base64,AAAA ", "data:image/svg+xml,<svg ",
    "<svg ", "<svg xmlns=", "&lt;", "&amp;", "&#77;", "&#x71", "&#0077;", "%41", "%71", "%25",
    "\\\\x71", "\\\\u0071", "\\u0071", "\\u0069V", "\\ud83d\\ude00", "\\ud83d", "\\udc00", "\\\\",
    "\\n", "\\/", "\\u0000", "\\u0301", "=", "-", "=\\n", "=71", "+AHE-", "meta ", "meta_request",
    "q meta_ request", "[meta request\\n", "m\u200be", "\uff51", "é", "e\u0301", "ﷺ", "😀",
    "\u200b", "\u202e", "Ⓜ", "\u0455", "```\\n", "`", "**", "# ", "> ", "[a](", "](b)", "<a href=",
    "<b>", "<!--", "|", "- ", "1. ", "https://a.b/c?d=e ", "http://", "www.", "@bob ", "<@U12345> ",
    "#tag ", "a@b.cd ", "[1]", "[x:", "0f3a]", "【1†", "】", "(", ")", '\\"', "'", "\u201c",
    "\u2019s ", "9" * 4_300 + " ", "0", "1e9", "-0.0", "1,234.5 ", "99999999999999999999", "{", "[",
    "{}", ",{[", '\\"a\\":', "tomorrow ", "9 May 2024 ", "2024-05-01T10:00:00Z ", "昨天",
    "来週の金曜", "übermorgen ", "mañana ", "il y a 3 jours ", "i love tea, ", "my dog is rex. ",
    "a", "的", "は", " ",
]  # fmt: skip
"""Contents of JSON strings."""
VALUES = [
    "{}", "[]", "0", '""', "1.5", "null", "true", '{"source":"q"}', '{"source":"meta_request"}',
    "[[[[[[]]]]]]", '{"a":{}}', '["/9j/4"]', "99999999999999999999", "1e999", "1e15", "-0.0",
    '{"type":"x"}', '{"type":"text","text":"a"}', '{"type":"turn"}', '{"name":"f","id":"a"}',
    '{"role":"user","content":"a"}', '{"role":"tool","tool_call_id":"a","content":"b"}',
    '{"kind":"fact","body_text":"x"}', '{"op":"confirm","subject":"x"}', '{"step_id":"x"}',
    '{"id":"a","type":"preference","content":"x"}', '"meta request"', '"a"',
]  # fmt: skip
SHAPES = ("text", "texts", "values", "names", "name", "deep", "numbered")
KEPT, KIN = 40, 4
"""Bodies that are kept to be changed, in all and of one way and shape."""
SPOILT = ("", "", "", "cut", "byte", "start", "inside")


class Recipe(NamedTuple):
    """How a body is made. `frame`: a record as JSON, with a hole; `each`: bytes of each record, as
    far as there is room for several."""

    way: str
    frame: str
    shape: str
    units: tuple[str, ...]
    each: int
    spoilt: str = ""

    def body(self, size: int) -> bytes:
        """Of about that many bytes."""
        whole = self.way in (LINE, EVENT)
        one = self._record(size if whole else min(self.each, size))
        if self.way in (LINE, EVENT):
            made = b'{"specversion":"1.0","data":' + one + b"}" if self.way == EVENT else one
        else:
            between = b"\n" if self.way == NDJSON else b","
            made = between.join([one] * max(size // (len(one) + 1), 1))
            if self.way == MESSAGES:
                made = b'{"user_id":"u","messages":[' + made + b"]}"
            elif self.way != NDJSON:
                made = b"[" + made + b"]"
        return made

    def _record(self, size: int) -> bytes:
        room = max(size - len(self.frame), 1)
        line = self.frame.replace(f'"{HOLE}"', self._filled(room), 1).encode("utf-8", "replace")
        if self.spoilt == "cut":
            return line[:-2]
        if self.spoilt == "byte":
            return line + b"\x80"
        if self.spoilt == "start":
            return line[1:]
        if self.spoilt == "inside":
            return line[: len(line) // 2] + b"\x80" + line[len(line) // 2 :]
        return line

    def _filled(self, room: int) -> str:
        unit = "".join(self.units)
        count = max(room // max(len(unit.encode("utf-8", "replace")), 1), 1)
        if self.shape == "text":
            return f'"{unit * count}"'
        if self.shape == "name":
            return f'{{"{unit * count}":0}}'
        if self.shape == "texts":
            return "[" + ",".join([f'"{unit}"'] * max(room // (len(unit) + 3), 1)) + "]"
        if self.shape == "names":
            short = unit[:40]
            count = room // (len(short) + 9)
            return "{" + ",".join(f'"{short}{at:x}":0' for at in range(count)) + "}"
        if self.shape == "numbered":
            numbers = range(room // (len(unit) + 5))
            return '"' + "".join(f"{unit}{at:x}" for at in numbers) + '"'
        values = ",".join(self.units)
        if self.shape == "values":
            return "[" + ",".join([values] * max(room // (len(values) + 1), 1)) + "]"
        depth = min(room // 12, 900)
        inside = ",".join([values] * max((room - depth * 6) // (len(values) + 1), 1))
        return '{"a":' * depth + f"[{inside}]" + "}" * depth


def read(way: str, body: bytes) -> None:
    """What a server, a worker or `run` does to read it."""
    try:
        if way == LINE:
            decode(body, ("f", 0, 1))
            return
        if way == MESSAGES:
            message_bodies.read(body)
            return
        records = routes_records._records(body, way, False, RECORDS)
        form = routes_records._event_form if way in (CLOUD, EVENT) else None
        write_records._checked(records, "default", LATEST, form)
    except Problem:
        pass


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each object or list with the name or index of something in it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for name, one in list(inside):
        yield value, name
        if isinstance(one, dict | list):
            yield from _places(one)


MESSAGE: list[Json] = [
    {"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "x", "content": "x"},
    {"role": "user", "content": [{"type": "text", "text": "x"}], "id": "a", "name": "b"},
    {"role": "assistant", "content": "x", "tool_calls": [{"id": "a", "type": "function",
     "function": {"name": "f", "arguments": "{}"}}]},
    {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "a", "output": [{"type": "text", "text": "x"}]},
    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}], "content": "x"},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}, "alt": "x"}]},
]  # fmt: skip


def fresh(random: Random) -> Recipe:
    """A designed body."""
    way = random.choice(WAYS)
    sample: Json = (
        json.loads(json.dumps(random.choice(MESSAGE))) if way == MESSAGES else record(random)
    )
    if random.random() < 0.2:
        sample["source"] = random.choice(["q", "Q", "/9j", "meta"])
    if random.random() < 0.3:
        sample["x"] = "request meta q /9j"  # a closer look is taken at what says so
    places = list(_places(sample))
    within, name = random.choice([*places, (sample, "y"), (sample, "metadata")])
    within[name] = HOLE
    shape = random.choice(SHAPES)
    pool = VALUES if shape in ("values", "deep") else WORDS
    units = tuple(random.choice(pool) for _ in range(random.choice([1, 1, 1, 2, 3])))
    size = random.choice([100, 500, 4_000, 60_000, 900_000])
    return Recipe(way, frame(sample), shape, units, size, random.choice(SPOILT))


def frame(sample: Json) -> str:
    """A record with a hole, as JSON with one."""
    return json.dumps(sample, ensure_ascii=False).replace("\\u001a", HOLE)


def changed(random: Random, recipe: Recipe, other: Recipe) -> Recipe:
    """A little different, or with parts of another."""
    pool = VALUES if recipe.shape in ("values", "deep") else WORDS
    units = list(recipe.units)
    match random.randrange(9):
        case 0:
            units.insert(random.randrange(len(units) + 1), random.choice(pool))
        case 1:
            units[random.randrange(len(units))] = random.choice(pool)
        case 2 if len(units) > 1:
            units.pop(random.randrange(len(units)))
        case 3:
            units += random.choice([units, list(other.units)])
        case 4:
            at = random.randrange(len(units))
            cut = random.randrange(len(units[at]) + 1)
            units[at] = units[at][:cut] + random.choice(["", random.choice(pool)])
        case 5:
            return recipe._replace(way=random.choice(WAYS))
        case 6:
            return recipe._replace(each=random.choice([50, 200, 1_000, 10_000, 200_000, 900_000]))
        case 7:
            return recipe._replace(spoilt=random.choice(SPOILT), shape=random.choice(SHAPES))
        case _:
            return recipe._replace(frame=other.frame)
    units = [unit for unit in units if unit][:12] or [random.choice(pool)]
    return recipe._replace(units=tuple(units))


class Found(NamedTuple):
    """A body that costs much, as how it is made."""

    cost: float
    recipe: Recipe


def climb(
    random: Random, cost: Callable[[Recipe], float], is_over: Callable[[], bool]
) -> list[Found]:
    """The bodies that cost most, the worst first, of each way and shape a few."""
    worst: list[Found] = []
    while not is_over():
        if len(worst) < KEPT // 2 or random.random() < 0.3:
            recipe = fresh(random)
        else:
            recipe = changed(random, *(found.recipe for found in random.choices(worst, k=2)))
        found = Found(cost(recipe), recipe)
        if len(worst) == KEPT and found.cost <= worst[-1].cost:
            continue
        found = Found(min(found.cost, cost(recipe)), recipe)  # a busy machine makes one dear
        kin = [one for one in worst if _kin(one) == _kin(found)]
        if len(kin) == KIN:
            worst.remove(kin[-1])
            found = max(found, kin[-1], key=lambda one: one.cost)
        worst = sorted([*worst, found], key=lambda one: -one.cost)[:KEPT]
    return worst


def _kin(found: Found) -> tuple[str, str]:
    return found.recipe.way, found.recipe.shape


def taken_by(call: Callable[[], object]) -> float:
    """Seconds of this thread's processor that a call takes."""
    began = time.thread_time()
    call()
    return time.thread_time() - began
