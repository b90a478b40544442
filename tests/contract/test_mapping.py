"""Events of a chat platform's own shape: `turnfold run` and `turnfold kafka map`."""

import base64
import gzip
import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.command import Done, ndjson, rows, turn, turnfold

pytestmark = pytest.mark.nightly

MAPPING = """\
version: 1
sources:
  chat.messages:
    records:
      - type: turn
        when: kind == 'message'
        fields:
          event_id: {from: id, as: text}
          session_id: room.id
          user_id: room.user
          occurred_at: {from: sent, time: epoch_ms}
          user_input: content[0].text
          topic: {from: label, default: small talk}
"""


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    file = tmp_path / "chat.yaml"
    file.write_text(MAPPING)
    return file


def event(number: int, **fields: Any) -> dict[str, Any]:
    given = {"id": number, "kind": "message", "room": {"id": "s", "user": "u"}}
    given |= {"sent": 1_767_225_600_000 + number * 1000, "content": [{"text": f"say {number}"}]}
    return given | fields


def native(number: int) -> dict[str, Any]:
    at = f"2026-01-01T00:00:{number:02}Z"
    return turn(str(number), occurred_at=at, topic="small talk")


def run(file: Path, history: Path, *options: str | Path) -> Done:
    return turnfold("run", file, "--history", history, "-o", "json", *options)


def test_a_mapped_file_makes_the_memory_of_the_native_one(tmp_path: Path, mapping: Path) -> None:
    mapped = ndjson(tmp_path / "events.ndjson", map(event, range(20)))
    ours = ndjson(tmp_path / "turns.ndjson", map(native, range(20)))
    assert run(mapped, tmp_path / "a", "--mapping", mapping).json()["applied"] == 20
    assert run(ours, tmp_path / "b").json()["applied"] == 20
    one, other = (
        turnfold("admin", "digest", "--history", tmp_path / name, "-o", "json") for name in "ab"
    )
    assert one.json() == other.json()


def test_a_second_run_goes_on_and_a_copy_is_a_duplicate(tmp_path: Path, mapping: Path) -> None:
    file, history = tmp_path / "events.ndjson.gz", tmp_path / "history"
    lines = [json.dumps(event(number)).encode() + b"\n" for number in range(4)]
    file.write_bytes(gzip.compress(b"".join(lines[:2])))
    assert run(file, history, "--mapping", mapping).json()["applied"] == 2
    copy = tmp_path / "copy.ndjson"
    copy.write_bytes(b"".join(lines))
    counts = run(copy, history, "--mapping", mapping).json()
    assert (counts["applied"], counts["duplicate"]) == (2, 2)
    assert run(copy, history, "--mapping", mapping).json()["read"] == 0


def test_other_events_and_tombstones_are_skipped_and_counted(tmp_path: Path, mapping: Path) -> None:
    file = tmp_path / "events.ndjson"
    file.write_text(
        "\n".join(["null", *map(json.dumps, (event(1, kind="typing"), event(2)))]) + "\n"
    )
    done = run(file, tmp_path / "history", "--mapping", mapping, "--strict")
    counts = done.json()
    assert done.code == 0
    assert (counts["read"], counts["applied"], counts["skipped"], counts["dead"]) == (3, 1, 2, 0)


def test_a_dead_letter_has_the_original_bytes_and_the_field_of_the_event(
    tmp_path: Path, mapping: Path
) -> None:
    bad = [event(1, room={"id": "s", "user": 7}), event(2, sent="soon"), event(3, content=5)]
    file, history = ndjson(tmp_path / "events.ndjson", bad), tmp_path / "history"
    run(file, history, "--mapping", mapping)
    letters = rows(
        history, "SELECT src_offset, reason, detail, decode(payload) FROM dead_letters ORDER BY 1"
    )
    assert [(place, reason) for place, reason, *_ in letters] == [(1, "invalid"), (2, "invalid")]
    assert letters[0][2] == (
        "rule 1 (turn): user_id (from `room.user`): Input should be a valid string"
    )
    assert letters[1][2] == (
        "rule 1 (turn): occurred_at (from `sent`): expected epoch_ms: a number, or its digits as "
        "text"
    )
    assert [json.loads(letter[3]) for letter in letters] == bad[:2]


def test_images_beside_the_mapped_fields_reach_no_dead_letter(
    tmp_path: Path, mapping: Path
) -> None:
    image = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4"
    events = [
        event(1), event(1, content=[{"text": "other"}], photo=image), event(2, sent="", photo=image)
    ]  # fmt: skip
    file, history = ndjson(tmp_path / "events.ndjson", events), tmp_path / "history"
    run(file, history, "--mapping", mapping)
    letters = rows(history, "SELECT reason, decode(payload) FROM dead_letters ORDER BY src_offset")
    assert [letter[0] for letter in letters] == ["conflicting_duplicate", "invalid"]
    for _, payload in letters:
        assert "iVBOR" not in payload
        assert "[image removed: " in payload


def test_a_withheld_request_is_withheld_wherever_the_event_says_it(
    tmp_path: Path, mapping: Path
) -> None:
    said = event(1, origin={"source": "meta_request"})
    counts = run(ndjson(tmp_path / "e", [said]), tmp_path / "h", "--mapping", mapping).json()
    assert (counts["withheld"], counts["applied"]) == (1, 0)


def test_map_shows_results_dead_letters_and_what_is_skipped(tmp_path: Path, mapping: Path) -> None:
    events = [*map(event, range(12)), event(12, sent=None), event(13, kind="typing")]
    file = ndjson(tmp_path / "events.ndjson", events)
    found = turnfold("kafka", "map", mapping, "--sample", file, "-o", "json").json()
    assert found["counts"] == {"read": 14, "mapped": 12, "dead": 1, "skipped": 1, "withheld": 0}
    assert len(found["results"]) == 10
    assert found["results"][0]["record"]["user_input"] == "say 0"
    assert found["dead"][0]["place"] == "events.ndjson:0:13"
    assert found["skipped"] == ["events.ndjson:0:14"]
    shown = turnfold("kafka", "map", mapping, "--sample", file, "--limit", "1").out
    assert "events.ndjson:0:13  would be a dead letter (invalid)" in shown
    assert "occurred_at (from `sent`): Field required" in shown


@pytest.mark.parametrize("kind", ["gz", "parquet", "rows"])
def test_map_shows_what_came_before_the_damage_of_a_file(
    tmp_path: Path, mapping: Path, kind: str
) -> None:
    lines = [json.dumps(event(number) | {"noise": os.urandom(400).hex()}) for number in range(1000)]
    file = tmp_path / f"events.{'gz' if kind == 'gz' else 'parquet'}"
    if kind == "gz":
        packed = gzip.compress("\n".join(lines).encode())
        file.write_bytes(packed[: len(packed) // 2])
    elif kind == "parquet":
        file.write_bytes(b"PAR1" + b"no Parquet" * 10)
    else:
        rows = pa.Table.from_pylist([json.loads(line) for line in lines])
        pq.write_table(rows, file, row_group_size=100, compression="zstd")
        whole = bytearray(file.read_bytes())
        middle = len(whole) * 3 // 4
        whole[middle : middle + 4000] = bytes(4000)
        file.write_bytes(whole)
    done = turnfold("kafka", "map", mapping, "--sample", file, "-o", "json")
    assert done.code == 4, done.err
    assert "Traceback" not in done.err
    (line,) = done.err.splitlines()
    assert "is damaged; what came before is shown: " in line
    counts = done.json()["counts"]
    assert counts["read"] == counts["mapped"]
    assert counts["read"] >= {"gz": 100, "parquet": 0, "rows": 256}[kind]


def test_a_run_that_skips_all_events_says_so(tmp_path: Path, mapping: Path) -> None:
    mapping.write_text(MAPPING.replace("kind == 'message'", 'kind == "message"'))  # a field
    file = ndjson(tmp_path / "events.ndjson", map(event, range(3)))
    done = run(file, tmp_path / "history", "--mapping", mapping)
    assert (done.code, done.json()["skipped"]) == (0, 3)
    assert f"warning: no rule of {mapping} takes any event; the first is {file}:0:1. A" in done.err
    assert "has single quotes" in done.err
    mapping.write_text(MAPPING)
    again = run(file, tmp_path / "history", "--mapping", mapping)
    assert again.json()["read"] == 0
    assert "To map it again, fold it into a new history: turnfold run FILES --mapping" in again.err
    assert "backfill" not in again.err
    assert run(file, tmp_path / "new", "--mapping", mapping).json()["applied"] == 3


def test_skipped_is_counted_where_it_is_none(tmp_path: Path, mapping: Path) -> None:
    file = ndjson(tmp_path / "events.ndjson", map(event, range(3)))
    done = run(file, tmp_path / "history", "--mapping", mapping)
    assert list(done.json())[:6] == [
        "read", "applied", "duplicate", "dead", "withheld", "skipped"
    ]  # fmt: skip
    assert done.json()["skipped"] == 0
    assert "warning" not in done.err
    native_ = ndjson(tmp_path / "turns.ndjson", map(native, range(3)))
    assert "skipped" not in run(native_, tmp_path / "other").json()


def test_base64_data_of_a_cloud_event_reach_neither_map_nor_the_history(
    tmp_path: Path, mapping: Path
) -> None:
    text = MAPPING.replace("    records:", "    format: cloudevents\n    records:")
    mapping.write_text(text.replace("kind == 'message'", "id").replace("content[0]", "data"))
    inner = {"text": "secret words", "source": "meta_request"}
    packed = base64.b64encode(json.dumps(inner).encode()).decode()
    said = event(1, specversion="1.0", source="/c", type="t", data_base64=packed)
    file = ndjson(tmp_path / "events.ndjson", [said])
    shown = turnfold("kafka", "map", mapping, "--sample", file)
    assert "secret" not in shown.out + shown.err
    counts = run(file, tmp_path / "history", "--mapping", mapping).json()
    assert (counts["withheld"], counts["applied"], counts["dead"]) == (1, 0, 0)


def test_map_checks_a_file_without_a_sample(mapping: Path) -> None:
    done = turnfold("kafka", "map", mapping)
    assert (done.code, done.out) == (0, "chat.messages: turn\n")


@pytest.mark.parametrize(
    "command",
    [
        (
            "kafka",
            "map",
        ),
        ("run", "-", "--history", "h", "--mapping"),
    ],
)
def test_a_wrong_mapping_is_one_line_and_exit_3(
    tmp_path: Path, mapping: Path, command: tuple[str, ...]
) -> None:
    mapping.write_text(MAPPING.replace("room.id", "room.."))
    done = turnfold(*command, mapping, cwd=tmp_path)
    assert done.code == 3
    assert f"{mapping}, line 9: " in done.err
    assert not (tmp_path / "h").exists()


def test_map_refuses_a_sample_that_is_nothing(mapping: Path) -> None:
    done = turnfold("kafka", "map", mapping, "--sample", "no.such")
    assert done.code == 3
    assert "no such file; correct the path, or name a source" in done.err


def test_expressions_of_the_page_can_be_written_as_it_writes_them(tmp_path: Path) -> None:
    """The page's own lines of YAML."""
    page = (Path(__file__).parents[2] / "docs" / "mapping.md").read_text()
    quoted = page[page.index("In YAML quote") : page.index("## Outcomes")]
    lines = re.findall(r"```yaml\n(.*?)```", quoted, re.DOTALL)[0]
    file = tmp_path / "chat.yaml"
    file.write_text(
        "version: 1\nsources:\n  chat:\n    records:\n      - type: turn\n"
        + "".join(f"        {line}\n" for line in lines.splitlines())
    )
    said = [{"sent-at": "2026-01-01T00:00:00Z", "id": "e", "room": "s", "deleted": gone}
            for gone in (False, True)]  # fmt: skip
    found = turnfold(
        "kafka", "map", file, "--sample", ndjson(tmp_path / "events.ndjson", said), "-o", "json"
    ).json()
    assert (found["counts"]["mapped"], found["counts"]["skipped"]) == (1, 1)


def test_the_example_of_the_page_does_what_the_page_says(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "mapping.md").read_text()
    example = page[page.index("## An example") : page.index("## The file")]
    parts = dict(re.findall(r"```(json|yaml|text)\n(.*?)```", example, re.DOTALL))
    (tmp_path / "chat.yaml").write_text(parts["yaml"])
    (tmp_path / "export.ndjson").write_text(parts["json"])
    done = turnfold("kafka", "map", "chat.yaml", "--sample", "export.ndjson", cwd=tmp_path)
    assert done.out == parts["text"]
    counts = run(
        tmp_path / "export.ndjson", tmp_path / "history", "--mapping", tmp_path / "chat.yaml"
    ).json()
    assert (counts["applied"], counts["skipped"]) == (2, 1)
