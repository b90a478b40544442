"""The command line's contract (docs/commands.md): help, JSON, exit codes."""

import csv
import io
import json
import os
import resource
import shutil
import subprocess
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from schemas.learner import UserLearningProfile
from schemas.rows import TABLES
from schemas.session import SessionContext, SessionDocument
from schemas.task import TaskDocument
from sinks.digest import digest
from streams import cli
from tests.command import (
    COUNTS,
    PROGRAM,
    answer,
    environment,
    files_holding,
    folded,
    ndjson,
    process,
    refused,
    turn,
    turnfold,
)
from tests.contract.test_every_command import EVERY, GROUPS

HELP_SECONDS = 0.7


# --- help -------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", sorted({*GROUPS, *EVERY}))
def test_every_command_has_help(command: str) -> None:
    done = turnfold(*command.split(), "--help")
    assert done.code == 0 and "Usage" in done.out and not done.err


def test_quiet_leaves_results_and_errors(tmp_path: Path) -> None:
    file = ndjson(tmp_path / "turns.ndjson", [turn("e1")])
    assert turnfold("run", file, cwd=tmp_path).err
    quiet = turnfold("-q", "run", file, "--extractor", "none", cwd=tmp_path)
    assert quiet.out and not quiet.err
    assert "none.ndjson" in turnfold("-q", "run", "none.ndjson", cwd=tmp_path).err


EMPTY_APP = """
import click
@click.command()
@click.argument("file")
def run(file): pass
run()
"""


def test_help_is_quick() -> None:
    """Under 0.7 s of CPU; on a slow machine, not much more than a click app of one line."""
    python = str(Path(PROGRAM).with_name("python"))
    ours, floor = [PROGRAM, "run", "--help"], [python, "-c", EMPTY_APP, "--help"]
    timed = [(_seconds(ours), _seconds(floor)) for _ in range(4)]
    mine, least = (min(times) for times in zip(*timed, strict=True))
    assert mine < max(HELP_SECONDS, 2 * least)


def _seconds(command: list[str]) -> float:
    """Of CPU: what else the machine does counts nothing."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=environment())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_loads_nothing_heavy() -> None:
    loaded = loaded_by("--help")
    assert "click" in loaded
    assert not loaded & {*HEAVY, "_duckdb"}


HEAVY = {"pyarrow", "duckdb", "deltalake", "pydantic", "rocksdict", "rich", "typer"}


@pytest.mark.parametrize(
    "command", ["show session yui-days", "why emma-home", "show state --user emma"]
)
def test_a_question_loads_nothing_that_its_answer_does_not_need(sample: Path, command: str) -> None:
    loaded = loaded_by(*command.split(), "--history", str(sample), "-o", "json")
    assert "_duckdb" in loaded
    assert not loaded & HEAVY


def loaded_by(*words: str) -> set[str]:
    """The modules that are loaded when a command has ended."""
    code = (
        "import atexit, sys; from streams.cli import main; "
        "atexit.register(lambda: print('loaded:', *sys.modules)); main()"
    )
    python = Path(PROGRAM).with_name("python")
    done = subprocess.run([python, "-c", code, *words], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("loaded:")[2].split())


def test_the_sixteen_names_at_the_top_fit_one_screen() -> None:
    names = """run serve dev demo import export forget context search sql show why mcp generation
    kafka admin"""
    assert sorted(cli.app.list_commands(click.Context(cli.app))) == sorted(names.split())
    assert len(CliRunner().invoke(cli.app, ["--help"]).stdout.splitlines()) <= 40


@pytest.mark.parametrize("path", [path for path in cli.paths() if " " in path])
def test_a_name_without_its_group_is_answered_with_the_whole_command(path: str) -> None:
    """Whatever the group: each tail of each path, as a user who has half of it in mind types it."""
    words = path.split()
    for start in range(1, len(words)):
        if " ".join(words[start:]) not in cli.paths():
            assert path in cli.suggested(words[start:])


@pytest.mark.parametrize(
    ("words", "unknown", "meant"),
    [
        ("generations list", "generations", "generation"),  # a similar name
        ("kafka lags", "lags", "kafka lag"),
        ("sessions", "sessions", "show session"),
        ("backfill --generation x", "backfill", "generation create"),  # a word of the help
        ("config show", "config", "admin config"),
        ("admin worker", "worker", "kafka worker"),  # of another group
        ("xyzzy", "xyzzy", None),
    ],
)
def test_an_unknown_command_suggests_what_was_meant(
    words: str, unknown: str, meant: str | None
) -> None:
    done = CliRunner().invoke(cli.app, words.split())
    assert done.exit_code == 2 and not done.stdout
    assert f"No such command '{unknown}'." in done.stderr
    suggestion = "Did you mean" if meant is None else f"'turnfold {meant}'"
    assert (suggestion in done.stderr) == (meant is not None)


def test_the_help_names_every_command() -> None:
    shown = "".join(turnfold(*group.split(), "--help").out for group in GROUPS)
    assert [name for name in EVERY if name.split()[-1] not in shown] == []


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ("kafka lag", "kafka"), ("kafka worker", "kafka"), ("kafka broker status", "broker"),
        ("search tea --history {}", "embeddings"),
        ("admin extract --history {} --model m --base-url http://127.0.0.1:1/v1", "llm"),
    ],
)  # fmt: skip
def test_the_extra_that_a_command_needs_is_named(sample: Path, words: str, extra: str) -> None:
    """Several extras install these modules."""
    code = (
        "import sys; sys.modules['aiokafka'] = sys.modules['pydantic_settings'] = None; "
        "sys.modules['httpx'] = sys.modules['openai'] = None; from streams.cli import main; main()"
    )
    python = Path(PROGRAM).with_name("python")
    done = subprocess.run(
        [python, "-c", code, *words.format(sample).split()],
        env=environment(TURNFOLD_EMBED_BASE_URL="http://127.0.0.1:1/v1"),
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert f"uv run --extra {extra} " in done.stderr and "Traceback" not in done.stderr


def test_the_version() -> None:
    done = process("--version")
    assert done.code == 0 and done.out.startswith("turnfold 0.")


# --- one JSON document with the documented keys -----------------------------------------------


def test_run_counts(tmp_path: Path) -> None:
    file = ndjson(tmp_path / "one.ndjson", [turn("e1")])
    done = process("run", file, "--history", tmp_path / "history", "-o", "json")
    counts = done.json()
    assert set(COUNTS) <= set(counts) and done.err == ""
    assert all(isinstance(counts[name], int) for name in COUNTS if name != "seconds")
    assert counts["seconds"] > 0
    assert (counts["read"], counts["applied"], counts["sessions"], counts["users"]) == (1, 1, 1, 1)


def test_a_pack_is_counted_with_the_platforms_own_tokenizer(sample: Path, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def count(text):\n    return len(text.split())\n", "utf-8")
    env = environment(PYTHONPATH=str(tmp_path), TURNFOLD_TOKENIZER="own:count")
    asked = ("context", "emma", "--history", str(sample), "--max-tokens", "60", "-o", "json")
    found = turnfold(*asked, env=env).json()
    assert len(found["text"].split()) == found["tokens"] <= 60
    assert found["text"] != turnfold(*asked).json()["text"]


@pytest.mark.parametrize("command", ["context emma", "serve --port 0"])
def test_a_tokenizer_that_is_none_is_refused_at_the_start(sample: Path, command: str) -> None:
    env = environment(TURNFOLD_TOKENIZER="own.nix:count")
    done = turnfold(*command.split(), "--history", sample, env=env)
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("turnfold: TURNFOLD_TOKENIZER: expected MODULE:NAME: No module")


def test_session_is_the_document_with_its_context(sample: Path) -> None:
    document = answer("show", "session", "emma-move", "--history", sample)
    context = document.pop("context")
    assert SessionDocument.model_validate_json(json.dumps(document)).session_id == "emma-move"
    assert SessionContext.model_validate_json(json.dumps(context)).session_id == "emma-move"
    assert (document["status"], document["closed_reason"]) == ("closed", "closed by the turn")


def test_a_session_expires_by_the_time_that_is_asked_about(sample: Path) -> None:
    args = ("show", "session", "yui-days", "--history", sample)
    now, then = answer(*args), answer(*args, "--as-of", "2026-03-09T13:00:00Z")
    assert (now["status"], now["closed_reason"]) == ("closed", "expired")
    assert (then["status"], then["closed_reason"]) == ("active", None)


def test_session_as_of_a_time_shows_what_was_known_then(sample: Path) -> None:
    then = answer(
        "show", "session", "emma-move", "--history", sample, "--as-of", "2026-03-02T09:10:00Z"
    )
    assert then["status"] == "active" and then["conversation_count"] == 2
    assert [one["user_input"][:8] for one in then["conversations"]] == ["Morning!", "Find me "]


def test_task_is_the_document(sample: Path) -> None:
    document = answer("show", "task", "emma-move-task-1", "--history", sample)
    assert TaskDocument.model_validate_json(json.dumps(document)).global_.status == "completed"


def test_user_has_profile_states_preferences_and_mood(sample: Path) -> None:
    found = answer("show", "user", "lin", "--history", sample)
    assert set(found) == {"user_id", "profile", "states", "preferences", "mood"}
    profile = UserLearningProfile.model_validate_json(json.dumps(found["profile"]))
    assert profile.mastery["微积分-极限"] == "strong"
    assert answer("show", "user", "yui", "--history", sample)["mood"]["vad"].keys() == {
        "v",
        "a",
        "d",
    }


STATE = {
    "tenant", "owner_id", "state_id", "kind", "body_text", "payload", "confidence", "valid_from",
    "valid_to", "last_confirmed_at", "status", "evidence_event_ids", "updated_at",
}  # fmt: skip


def test_state_has_its_columns_and_two_clocks(sample: Path) -> None:
    found = answer("show", "state", "--user", "emma", "--history", sample)
    assert found and all(set(one) == STATE for one in found)
    args = ("show", "state", "--user", "emma", "--history", sample, "--as-of", "2026-03-20")
    learnt = {
        known: next(
            one["payload"]["date"]
            for one in answer(*args, "--known-at", known)
            if one["state_id"] == "emma-nora-birthday"
        )
        for known in ("2026-03-05", "2026-03-20")
    }
    assert learnt == {"2026-03-05": "03-12", "2026-03-20": "03-14"}


def test_why_has_before_after_reason_and_evidence(sample: Path) -> None:
    found = answer("why", "emma-nora-birthday", "--history", sample)
    first, second = ([row for row in found if row["op"] == op] for op in ("insert", "update"))
    assert len(first) + len(second) == len(found)
    assert first[0]["before"] is None
    assert second[0]["before"] == first[0]["after"] != second[0]["after"]
    assert "emma-family-2" in {row["evidence_event_id"] for row in second}
    assert all(row["user_input"] and row["reason"] for row in found)
    assert all(row["occurred_at"].endswith("Z") for row in found)


def test_timeline_is_in_order(sample: Path) -> None:
    found = answer("show", "timeline", "emma", "--history", sample)
    times = [one["occurred_at"] for one in found]
    assert times == sorted(times) and len(found) > 5
    assert {one["user_id"] for one in found} == {"emma"}
    session = answer("show", "timeline", "emma-move", "--history", sample)
    assert {one["session_id"] for one in session} == {"emma-move"}


def test_digest_has_memory_log_and_tables(sample: Path) -> None:
    found = answer("admin", "digest", "--history", sample)
    assert set(found) == {"memory", "log", "tables"}
    assert set(TABLES) <= set(found["tables"])
    hashes = [found["memory"], found["log"], *found["tables"].values()]
    assert all(len(one) == 64 and int(one, 16) >= 0 for one in hashes)


def test_dlq_lists_and_shows(sample: Path) -> None:
    (listed,) = answer("admin", "dlq", "list", "--history", sample)
    assert {"id", "reason", "detail", "key", "bytes"} <= set(listed)
    assert answer("admin", "dlq", "list", "--history", sample, "--reason", "bad_row") == []
    shown = answer("admin", "dlq", "show", listed["id"], "--history", sample)
    assert {"reason", "detail", "payload", "src_topic", "src_offset"} <= set(shown)
    assert len(shown["payload"].encode()) == listed["bytes"]
    assert turnfold("admin", "dlq", "show", "x:1", "--history", sample).code == 4


def test_dlq_list_leaves_no_letter_out_without_a_word(tmp_path: Path) -> None:
    lines, history = tmp_path / "lines.ndjson", tmp_path / "history"
    lines.write_text("no json\n" * 1_100 + '{"type": "unheard of"}\n')
    assert turnfold("run", lines, "--history", history).code == 0
    at = ("--history", history)
    assert len(answer("admin", "dlq", "list", *at)) == 1_101
    table = turnfold("admin", "dlq", "list", *at)
    assert table.out.count("bad_json") == 1_000
    assert "the first 1,000 of 1,101 dead letters" in table.err
    few = turnfold("admin", "dlq", "list", *at, "--limit", "2", "-o", "json")
    assert [one["id"] for one in few.json()] == [f"{lines}:0:1", f"{lines}:0:2"]
    assert "the first 2 of 1,101 dead letters" in few.err
    for words in (("--reason", "unknown_type"), ("--limit", "1101"), ("--topic", str(lines))):
        assert "the first" not in turnfold("admin", "dlq", "list", *at, *words, "-o", "json").err
    assert (
        len(answer("admin", "dlq", "list", *at, "--topic", str(lines), "--since", "1970-01-01"))
        == 1_101
    )
    assert (
        answer("admin", "dlq", "list", *at, "--since", "1970-01-02") == []
    )  # lines of a file have no time
    assert answer("admin", "dlq", "list", *at, "--topic", "other") == []
    assert turnfold("admin", "dlq", "list", *at, "--since", "yesterday").code == 2


@pytest.mark.component
def test_a_settled_letter_is_out_of_the_way_and_stays_settled(tmp_path: Path) -> None:
    lines, history = tmp_path / "lines.ndjson", tmp_path / "history"
    bad = ["nonsense about ann", "no json", '{"type": "unheard of"}']
    lines.write_text("\n".join(bad) + "\n")
    assert turnfold("run", lines, "--history", history).code == 0
    at = ("--history", history)
    first, second, third = (one["id"] for one in answer("admin", "dlq", "list", *at))
    assert turnfold("admin", "dlq", "settle", *at).code == 2  # never all of them by accident
    assert turnfold("admin", "dlq", "settle", "x:0:1", *at).code == 4
    assert answer("admin", "dlq", "settle", first, *at) == {"settled": 1, "settled_before": 0}
    assert answer("admin", "dlq", "settle", first, *at) == {"settled": 0, "settled_before": 1}
    assert [one["id"] for one in answer("admin", "dlq", "list", *at)] == [second, third]
    listed = answer("admin", "dlq", "list", "--settled", *at)
    assert [(one["id"], one["settled_at"] is None) for one in listed] == [
        (first, False), (second, True), (third, True)
    ]  # fmt: skip
    dry = ("admin", "dlq", "replay", "--bootstrap", "127.0.0.1:1", "--dry-run", *at)
    counts = answer(*dry)
    assert (counts["chosen"], counts["settled"]) == (2, 1)
    assert answer("admin", "dlq", "settle", "--reason", "unknown_type", *at)["settled"] == 1
    # another record at the place of a settled one is a letter of its own; the same one is not
    lines.write_text("\n".join(["other nonsense", *bad[1:]]) + "\n")
    assert turnfold("run", lines, "--history", history).code == 0
    payloads = "SELECT decode(payload) FROM dead_letters WHERE settled_at IS NULL"
    rows = [next(iter(row.values())) for row in answer("sql", payloads, *at)]
    assert sorted(rows) == ["no json", "no json", "other nonsense"]
    assert answer("generation", "create", "g", *at)
    named = ("--history", history, "--generation", "g")
    assert answer("admin", "dlq", "list", *named) == answer("admin", "dlq", "list", *at)
    answer("forget", "ann", "--yes", *at)
    assert files_holding(history, "about ann") == []


def test_topology_and_schema_are_json() -> None:
    assert answer("kafka", "topology") == turnfold("kafka", "topology", "-o", "json").json()
    assert turnfold("kafka", "topology").out.startswith(("flowchart", "graph"))
    assert turnfold("admin", "schema").json()["asyncapi"].startswith("3.")
    assert "turn" in turnfold("admin", "schema", "jsonschema").out


@pytest.mark.nightly
def test_compact_keeps_memory_and_log(sample: Path, tmp_path: Path) -> None:
    copy = tmp_path / "history"
    shutil.copytree(sample, copy)
    for number in range(5):
        file = ndjson(tmp_path / f"{number}.ndjson", [turn(f"e{number}", session_id="emma-move")])
        folded(file, history=copy)
    before = digest(copy)
    done = answer("admin", "compact", "--history", copy)
    assert done["events"]["files_after"] < done["events"]["files_before"]
    assert done["sessions"]["rows_dropped"] > 0
    assert digest(copy) == before
    seen = [turn("more"), turn("e0", session_id="emma-move")]
    again = folded(ndjson(tmp_path / "more.ndjson", seen), history=copy)
    assert again["applied"] == again["duplicate"] == 1


@pytest.mark.component
def test_forget_is_a_dry_run_until_yes(sample: Path, tmp_path: Path) -> None:
    copy = tmp_path / "history"
    shutil.copytree(sample, copy)
    before = digest(copy)
    shown = turnfold("forget", "lin", "--history", copy)
    assert shown.code == 0 and digest(copy) == before
    assert "user lin of tenant default: 8 turns" in shown.out
    assert "--yes erases this permanently" in shown.err
    assert answer("forget", "--session", "emma-move", "--history", copy)["turns"] == 7
    assert answer("forget", "nobody", "--history", copy)["turns"] == 0
    receipt = answer("forget", "lin", "--history", copy, "--yes")
    assert receipt["tables"]["events"]["erased"] > 0
    assert turnfold("show", "user", "lin", "--history", copy).code == 4
    turn_of = ("forget", "--session", "emma-move", "--history", copy, "--yes")
    erased = answer(*turn_of, "--turn", "emma-move-3")
    assert erased["tables"]["events"]["erased"] == 1 and "emma-move-3" not in str(erased)
    shown = turnfold("show", "session", "emma-move", "--history", copy)
    assert "What do I need" in shown.out and "Ancoats then" not in shown.out
    assert answer(*turn_of)["tables"]["events"]["erased"] > 1
    assert turnfold("show", "session", "emma-move", "--history", copy).code == 4
    for wrong, why in (
        (("lin", "--session", "s"), "one of them"),
        ((), "one of them"),
        (("lin", "--turn", "e"), "--turn needs --session"),
    ):
        assert why in refused("forget", *wrong, "--history", copy, code=2)


@pytest.mark.component
def test_a_history_that_was_not_typed_is_reported(sample: Path, tmp_path: Path) -> None:
    """`./turnfold`, or what the environment or the file names."""
    said = ndjson(tmp_path / "said.ndjson", [turn("e1")])
    done = turnfold("show", "user", "u", cwd=tmp_path)
    assert done.code == 3 and "turnfold: no history here; `turnfold run FILE" in done.err
    assert not (tmp_path / "turnfold").exists()
    done = turnfold("run", said.name, cwd=tmp_path)
    assert done.code == 0 and "history: ./turnfold (the default" in done.err
    assert (tmp_path / "turnfold").is_dir()
    done = turnfold("show", "session", "s", cwd=tmp_path)
    assert done.code == 0 and "history: ./turnfold (the default" in done.err
    named = turnfold("admin", "digest", "--history", sample, cwd=tmp_path)
    assert named.err == ""
    env = environment(TURNFOLD_HISTORY=str(sample))
    done = turnfold("admin", "digest", cwd=tmp_path, env=env)
    assert (done.out, done.err) == (named.out, f"history: {sample} (TURNFOLD_HISTORY)\n")
    (tmp_path / "turnfold.toml").write_text(f'history = "{sample}"\n')
    done = turnfold("admin", "digest", cwd=tmp_path)
    assert done.err == f"history: {sample} (turnfold.toml: history)\n"


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("ka", {"kafka"}), ("kafka wo", {"worker"}), ("admin keys ", {"add", "list", "revoke"}),
     ("show user --as", {"--as-of"}), ("sql -o nd", {"ndjson"}),
     ("run --extractor ", {"none", "rules", "llm"}),
     ("generation create --extractor ", {"none", "rules"})],
)  # fmt: skip
def test_the_shell_completes_commands_options_and_choices(typed: str, completed: set[str]) -> None:
    words = ["turnfold", *typed.split(" ")]
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    done = process(env=environment(_TURNFOLD_COMPLETE="bash_complete", **asked))
    assert {line.partition(",")[2] for line in done.out.splitlines()} == completed


@pytest.mark.component
def test_sql_without_a_query_answers_those_of_stdin(sample: Path) -> None:
    words = ("sql", "--history", sample, "-o", "csv")
    queries = b"SELECT 1 AS a;\nSELECT session_id FROM sessions\n  LIMIT 0;\nSELECT 2 AS b"
    done = process(*words, input=queries)
    assert (done.code, done.out) == (0, "a\n1\nsession_id\nb\n2\n"), done.err
    done = process(*words, input=b"SHOW TABLES;")
    assert {"events", "state_current"} <= {*done.out.split()}
    done = process(*words, input=b"DROP TABLE events;\nSELECT 1 AS a;\n")
    assert done.code == 2 and not done.out and done.err.startswith("turnfold: ")


@pytest.mark.component
def test_an_error_in_the_shell_of_sql_ends_its_query_alone(sample: Path) -> None:
    controller, terminal = os.openpty()
    shell = subprocess.Popen(
        [PROGRAM, "sql", "--history", str(sample), "-o", "csv"],
        stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    os.close(terminal)
    os.write(controller, b"SELEC;\nSELECT 41 + 1 AS n;\n\x04")
    out, err = shell.communicate(timeout=300)
    os.close(controller)
    assert shell.returncode == 0 and b"n\n42\n" in out
    assert b"turnfold: " in err and b"Traceback" not in err


ROWS = {
    "show timeline emma-move": "event_id", "show state": "state_id", "why emma-home": "entity_id",
    "search flat": "id", "generation list": "name", "generation diff live live": "kind",
    "sql FROM\tsession_current\tORDER\tBY\tsession_id": "session_id",
}  # fmt: skip


@pytest.mark.parametrize("command", ROWS)
def test_the_four_forms_of_an_output_have_the_same_rows(command: str, sample: Path) -> None:
    """`-o` of every command that lists: a document, a line for each row, and CSV with a header."""
    words = [*command.split(" "), "--history", str(sample)]
    whole = answer(*words)
    document = whole if isinstance(whole, list) else whole.get("hits") or whole["kinds"]
    lines = turnfold(*words, "-o", "ndjson").out.splitlines()
    assert [json.loads(line) for line in lines] == document
    rows = list(csv.DictReader(io.StringIO(turnfold(*words, "-o", "csv").out)))
    assert len(rows) == len(document)
    key = ROWS[command]
    assert document and [row[key] for row in rows] == [row[key] for row in document]


@pytest.mark.parametrize("command", EVERY)
def test_options_of_one_meaning_have_one_name(command: str) -> None:
    every = {word for parameter in _parameters(command) for word in parameter.opts}
    assert not every & {"--json", "--format", "--quiet"}
    short = {"--output": "-o", "--user": "-u", "--yes": "-y", "--verbose": "-v"}
    assert [long for long, form in short.items() if long in every and form not in every] == []


def _parameters(command: str) -> list[click.Parameter]:
    reached: click.Command | None = cli.app
    for word in command.split():
        assert isinstance(reached, click.Group)
        reached = reached.get_command(click.Context(reached), word)
    assert reached is not None
    return reached.params


@pytest.mark.parametrize(
    "command",
    [
        "show session none",
        "show task none",
        "show user none",
        "why none",
        "show timeline none",
        "admin dlq show none",
    ],
)
def test_what_is_not_there_is_reported_in_one_line(sample: Path, command: str) -> None:
    done = turnfold(*command.split(), "--history", sample)
    assert done.code == 4 and done.out == "" and "none" in done.err
    assert done.err.startswith("turnfold: ") and done.err.count("\n") == 1


def test_for_people_every_command_says_something(sample: Path) -> None:
    for command in (
        "show session emma-move", "show task emma-move-task-1", "show user emma", "show state",
        "why emma-home", "show timeline emma", "admin digest", "admin dlq list", "kafka topology",
    ):  # fmt: skip
        named = [] if command == "kafka topology" else ["--history", str(sample)]
        done = turnfold(*command.split(), *named)
        assert done.code == 0 and len(done.out) > 40 and done.err == "", command


# --- usage ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "args",
    [
        "nonsense", "run", "run --nonsense",
        "sql -o xml --history h SELECT", "show state --history {} --as-of yesterday",
        "show state --history {} --known-at 2026-02-30",
        "show state --history {} --as-of 2026-01-01T00:00:00",
    ],
)  # fmt: skip
def test_a_wrong_command_line_ends_with_2(sample: Path, args: str) -> None:
    done = turnfold(*args.format(sample).split())
    assert done.code == 2 and done.err and done.out == ""


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("admin", "dlq", "list", "--reason", "typo"), "fold_failed"),
        (("admin", "dlq", "replay", "--reason", "typo"), "fold_failed"),
        (("serve", "--keys", ""), "--keys': is empty; give a path"),
        (("show", "timeline", "emma", "--history", ""), "--history': is empty; give a path"),
        (("sql", "SELECT 1; SELECT 2"), "2 queries given"),
        (("search", ""), "text: is empty"),
        (("search", "flat", "--kind", ""), "kinds: no kind ''"),
        (("search", "flat", "--from", "2026-03-03", "--to", "2026-03-02"), "is after to"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(
    sample: Path, command: tuple[str, ...], said: str
) -> None:
    done = turnfold(*command, env=environment(TURNFOLD_HISTORY=str(sample)))
    assert (done.code, done.out) == (2, "") and said in done.err


def test_an_unknown_import_format_is_reported(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]")
    done = turnfold("import", "no-such", tmp_path / "x.json")
    assert done.code in (2, 4) and "openai-chat" in done.err


def test_import_and_run_are_a_pipe(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    (tmp_path / "chat.jsonl").write_text(json.dumps({"session_id": "c", "messages": said}) + "\n")
    done = turnfold("import", "openai-chat", tmp_path / "chat.jsonl", "--user", "ann")
    assert done.code == 0 and "dated" in done.err
    records = [json.loads(line) for line in done.out.splitlines()]
    assert {record["type"] for record in records} == {"turn", "recursion"}
    run = turnfold("run", "-", "--history", tmp_path / "h", "-o", "json", input=done.out.encode())
    assert run.json()["applied"] == len(records)


def test_an_empty_history_has_a_digest_and_no_letters(empty: Path) -> None:
    assert len(answer("admin", "digest", "--history", empty)["memory"]) == 64
    assert answer("admin", "dlq", "list", "--history", empty) == []
    assert answer("show", "state", "--history", empty) == []
    assert turnfold("show", "timeline", "x", "--history", empty).code == 4
    assert answer("admin", "compact", "--history", empty) == {}


def test_a_tenant_sees_its_own_rows(tmp_path: Path) -> None:
    records = [turn("e1", tenant="a"), turn("e1", tenant="b", user_input="other")]
    root = tmp_path / "history"
    assert folded(ndjson(tmp_path / "two.ndjson", records), history=root)["applied"] == 2
    shown = answer("sql", "SELECT user_input FROM events", "--history", root, "--tenant", "b")
    assert shown == [{"user_input": "other"}]
    assert turnfold("show", "session", "s", "--history", root).code == 4, (
        "the default tenant has none"
    )
    document = answer("show", "session", "s", "--history", root, "--tenant", "a")
    assert document["context"]["last_user_message"] == "say e1"


# --- terminals and pipes ----------------------------------------------------------------------


def test_no_colour_where_none_is_wanted(sample: Path) -> None:
    for env in (environment(NO_COLOR="1", TERM="xterm-256color"), environment()):
        done = turnfold("sql", "SELECT 1 AS one", "--history", sample, env=env)
        assert "\x1b" not in done.out + done.err
        done = turnfold("--help", env=env)
        assert "\x1b" not in done.out + done.err


def test_a_reader_that_leaves_is_no_fault(sample: Path) -> None:
    many = "SELECT range AS n, repeat('x', 100) AS text FROM range(50000)"
    for format in ("json", "csv", "table"):
        reading, writing = os.pipe()
        process = subprocess.Popen(
            [PROGRAM, "sql", many, "--history", str(sample), "-o", format],
            stdout=writing,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        os.close(writing)
        os.read(reading, 10)
        os.close(reading)
        _, error = process.communicate(timeout=60)
        assert b"Traceback" not in error and b"BrokenPipe" not in error, error.decode()


def test_acls_are_commands_for_an_administrator() -> None:
    at = ("--app-id", "chat", "--topic-prefix", "acme.", "--bootstrap", "b:1")
    rows = answer("kafka", "acls", "sink", *at)
    assert {row["name"] for row in rows} == {"acme.history", "acme.dead-letters", "acme.sink"}
    done = turnfold("kafka", "acls", "worker", *at, "--principal", "User:CN=a b")
    assert done.out.splitlines()[-1] == (
        "kafka-acls.sh --bootstrap-server b:1 --add --allow-principal 'User:CN=a b' --operation "
        "Write --transactional-id acme.chat- --resource-pattern-type prefixed"
    )
    wrong = turnfold("kafka", "acls", "lagg")
    assert (wrong.code, "no process 'lagg'" in wrong.err) == (2, True)
