"""`turnfold.toml`, the environment and options: which counts, what a wrong one gets, what is shown
(docs/configuration.md)."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from streams import cli, configuration
from streams.commands.config import class_of, default_settings
from streams.configuration import COMMON, FAMILIES, SECRETS
from streams.errors import ConfigurationError
from streams.search.vector_search import embedder
from streams.serving.http.serve import serve
from streams.serving.http.settings import ServeSettings
from streams.settings import Settings
from tests.command import Done, environment, ndjson, turn, turnfold

ROOT = Path(__file__).parents[2]
SECRET = "MARKED-5ecret"


def written(folder: Path, text: str, name: str = "turnfold.toml") -> Path:
    file = folder / name
    file.write_text(text, "utf-8")
    file.chmod(0o600)
    return file


def naming_the_file(folder: Path, env: dict[str, str]) -> dict[str, str]:
    """The environment in which the folder's turnfold.toml is named, unless `env` says otherwise."""
    there = os.path.lexists(folder / configuration.FILE)
    return environment(**{configuration.VARIABLE: configuration.FILE} if there else {}) | env


def call(folder: Path, *words: str, **env: str) -> Done:
    """A command in a process of its own."""
    return turnfold(*words, cwd=folder, env=naming_the_file(folder, env))


def config_show(folder: Path, *options: str, file: str | None = None, **env: str) -> Done:
    """`admin config` in this process, which has loaded all that it needs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(configuration, "_origins", {})
        patch.setattr(os, "environ", naming_the_file(folder, {"TURNFOLD_MEANING": ""} | env))
        if "TURNFOLD_MEANING" not in env:
            del os.environ["TURNFOLD_MEANING"]
        patch.setattr(cli, "keep_files_private", lambda: None)
        named = ("--config", file) if file else ()
        done = CliRunner().invoke(cli.app, [*named, "admin", "config", *options])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def shown(folder: Path, file: str | None = None, **env: str) -> dict[str, Any]:
    done = config_show(folder, "-o", "json", file=file, **env)
    assert done.code == 0, done.err
    found: dict[str, Any] = done.json()
    return found


def values(folder: Path, file: str | None = None, **env: str) -> dict[str, tuple[str, str]]:
    found = shown(folder, file, **env)["settings"]
    return {one["name"]: (one["value"], one["source"]) for one in found}


def refused(done: Done, *said: str) -> None:
    assert done.code == 3, (done.code, done.err)
    assert "Traceback" not in done.err
    for text in said:
        assert text in done.err, done.err


def test_an_option_comes_before_a_variable_and_a_variable_before_the_file(tmp_path: Path) -> None:
    said = ndjson(tmp_path / "said.ndjson", [turn("e1")])
    written(tmp_path, 'history = "of-the-file"\n')
    for options, env, made in (
        ((), {}, "of-the-file"),
        ((), {"TURNFOLD_HISTORY": "of-a-variable"}, "of-a-variable"),
        (("--history", "of-an-option"), {"TURNFOLD_HISTORY": "not-this"}, "of-an-option"),
    ):
        done = call(tmp_path, "run", said.name, *options, **env)
        assert done.code == 0, done.err
        assert (tmp_path / made).is_dir()
    assert not (tmp_path / "not-this").exists()


def test_each_value_says_where_it_comes_from(tmp_path: Path) -> None:
    written(
        tmp_path, '[kafka]\nbootstrap = "a:1,b:2"\npartitions = 8\n[serve]\ninspector = false\n'
    )
    assert values(tmp_path, TURNFOLD_KAFKA_PARTITIONS="2", TURNFOLD_LOG_FORMAT="json") == {
        "log_format": ("json", "environment"),
        "kafka.bootstrap": ("a:1,b:2", "turnfold.toml"),
        "kafka.partitions": ("2", "environment"),
        "serve.inspector": ("false", "turnfold.toml"),
    }


def test_another_file_can_be_named_and_none(tmp_path: Path) -> None:
    written(tmp_path, "[kafka]\npartitions = 8\n")
    other = written(tmp_path, "[kafka]\npartitions = 9\n", "other.toml")
    assert values(tmp_path, str(other))["kafka.partitions"] == ("9", str(other))
    assert values(tmp_path, TURNFOLD_CONFIG="other.toml")["kafka.partitions"] == ("9", "other.toml")
    assert values(tmp_path, TURNFOLD_CONFIG="") == {}
    refused(config_show(tmp_path, file="none.toml"), "none.toml: No such file")


def test_every_setting_of_the_file_reaches_who_asks_for_it(tmp_path: Path) -> None:
    """A text, a number, a truth value, a list and a table."""
    written(
        tmp_path,
        '[llm]\nbase_url = "http://m/v1"\nmodel = "m"\nsources = ["chat", "reminder"]\n'
        "price_input = 0.5\nbody = {seed = 1}\n[worker]\nconstants = {showings_needed = 2}\n"
        "[serve]\nmcp_forget = true\n",
    )
    assert shown(tmp_path)["problems"] == []
    code = (
        "from pathlib import Path; from streams import configuration as c; "
        "c.apply(Path('turnfold.toml'), explicit=True); "
        "from streams.llm.settings import LlmSettings as L; "
        "from streams.apps.worker_settings import WorkerSettings as W; "
        "from streams.serving.http.settings import ServeSettings as S; l = L.load(); "
        "print(l.sources, l.price_input, l.body, dict(W.load().constants), S.load().mcp_forget)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert done.stdout == ("('chat', 'reminder') 0.5 {'seed': 1} {'showings_needed': 2} True\n"), (
        done.stderr
    )


VALUES = {
    "TURNFOLD_KAFKA_SECURITY_PROTOCOL": "SSL", "TURNFOLD_KAFKA_BOOTSTRAP": "127.0.0.1:1",
    "TURNFOLD_TOKENIZER": "os:system",
}  # fmt: skip


@pytest.mark.parametrize("variable", sorted(configuration.EXPLICIT_ONLY))
def test_a_file_that_nobody_named_sets_neither_addresses_nor_code(
    variable: str, tmp_path: Path
) -> None:
    setting = variable.removeprefix(configuration.PREFIX).lower()
    family = next((f"{name}_" for name in configuration.FAMILIES if setting.startswith(name)), "")
    table = f"[{family[:-1]}]\n" if family else ""
    value = VALUES.get(variable, "http://127.0.0.1:1")
    written(tmp_path, f'{table}{setting.removeprefix(family)} = "{value}"\n')
    place = f"turnfold.toml: {setting.replace('_', '.', 1) if family else setting}"
    done = turnfold("admin", "config", cwd=tmp_path, env=environment())
    refused(done, place, "--config turnfold.toml")
    named = turnfold("--config", "turnfold.toml", "admin", "config", cwd=tmp_path)
    assert "only a file that you name" not in named.err
    kept = turnfold("admin", "config", cwd=tmp_path, env=environment(**{variable: ""}))
    assert "only a file that you name" not in kept.err


@given(st.sets(st.sampled_from(sorted(configuration.EXPLICIT_ONLY)), min_size=1))
@settings(max_examples=50, deadline=None)
def test_all_settings_that_such_a_file_may_not_have_are_named(variables: set[str]) -> None:
    places = {name: f"place of {name}" for name in variables | {"TURNFOLD_WORKER_STORE"}}
    with pytest.raises(ConfigurationError) as refusal:
        configuration._check_implicit(
            Path("turnfold.toml"), {name: (place, "x") for name, place in places.items()}
        )
    message = str(refusal.value)
    named = [name for name in places if re.search(rf"{places[name]}\b", message)]
    assert named == [name for name in places if name in variables]
    assert message.startswith(f"turnfold.toml: {places[named[0]]}"), "in the order of the file"


def test_every_setting_that_has_an_address_or_names_code_needs_a_file_that_is_named() -> None:
    """Addresses that a process listens at send nothing."""
    words = re.compile(r"\b(URL|Address|[Bb]ootstrap|Mirror|where to ask|MODULE:NAME)\b")
    listening = {"TURNFOLD_SERVE_HOST"}
    sending = {
        setting.variable
        for setting in default_settings()
        if words.search(setting.about) and setting.variable not in listening
    }
    assert sending <= configuration.EXPLICIT_ONLY
    assert len(sending) >= 6


def test_other_settings_of_a_file_that_nobody_named_hold(tmp_path: Path) -> None:
    written(tmp_path, "[kafka]\npartitions = 8\n")
    done = turnfold("admin", "config", "-o", "json", cwd=tmp_path, env=environment())
    values = {one["name"]: one["value"] for one in done.json()["settings"]}
    assert values == {"kafka.partitions": "8", "meaning": "off"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[kafka\n", "turnfold.toml: not TOML: Expected ']' at the end of a table declaration"),
        ("a = 1\n", "turnfold.toml: a: there is no such setting"),
        ('histroy = "x"\n', "histroy: there is no such setting; did you mean history?"),
        ("kafka = 1\n", "turnfold.toml: kafka: expected a table, [kafka]"),
        ("[kafak]\nx = 1\n", "kafak: there is no such setting; did you mean kafka?"),
        ("[llm]\nmodel = 2026-01-01\n", "llm.model: a date or time cannot be a setting"),
        ("[llm]\nprice_input = nan\n", "llm.price_input: a number that is none cannot be"),
        ("[llm]\nbody = {a = [nan]}\n", "llm.body: a list or table with such a value cannot be"),
        ("umask = 0o27\n", "umask: expected text, in quotes"),
        ("history = 5\n", "history: expected text, in quotes"),
        ("[kafka]\nsasl_password = true\n", "kafka.sasl_password: expected text, in quotes"),
        ("[serve]\nPORT = 1\n", "serve.PORT: there is no such setting; did you mean port?"),
        ('HISTORY = "x"\n', "HISTORY: there is no such setting; did you mean history?"),
        ('history = "a\\u0000b"\n', "history: contains the character NUL"),
    ],
)
def test_a_wrong_file_is_refused_and_says_where(tmp_path: Path, text: str, said: str) -> None:
    written(tmp_path, text)
    done = config_show(tmp_path)
    refused(done, said)
    assert len(done.err.splitlines()) == 1 and not done.out


def test_a_wrong_file_ends_every_command(tmp_path: Path) -> None:
    written(tmp_path, "a = 1\n")
    for words in (("kafka", "topology"), ("admin", "digest", "--history", "h")):
        done = call(tmp_path, *words)
        refused(done, "turnfold: turnfold.toml: a: there is no such setting")
        assert len(done.err.splitlines()) == 1 and not done.out


def test_a_file_that_is_no_text_or_no_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "turnfold.toml"
    file.write_bytes(b"\nhistory = '\xff'\n")
    refused(config_show(tmp_path), "turnfold.toml: not UTF-8 (at line 2, column 12)")
    file.unlink()
    file.mkdir()
    refused(config_show(tmp_path), "turnfold.toml: not a file")
    file.rmdir()
    os.mkfifo(file)
    refused(config_show(tmp_path), "turnfold.toml: not a file")
    file.unlink()
    file.symlink_to("what-was-unmounted")
    refused(config_show(tmp_path), "turnfold.toml: No such file")


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = written(tmp_path, "")
    file.write_bytes(b'\xef\xbb\xbfhistory = "x"\r\n')
    assert values(tmp_path) == {"history": ("x", "turnfold.toml")}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[kafka]\npartitions = 0\n", "turnfold.toml: kafka.partitions: Input should be greater"),
        ("[kafka]\nbootstrp = 'x:1'\n", "kafka.bootstrp: there is no such setting; did you mean"),
        ("[worker]\nconstants = {nothing = 1}\n", "nothing: no such constant"),
        ("[worker]\nstore = 'rocksdb'\n", "store rocksdb needs data"),
        ("[serve]\nport = 'x'\n", "turnfold.toml: serve.port: Input should be a valid integer"),
        ("[llm]\nmodel = 'm'\n", "TURNFOLD_LLM_API_KEY: there is no key: set OPENAI_API_KEY"),
        ("[llm]\nbody = 'chat'\n", "turnfold.toml: llm.body: not JSON; expected a list or"),
        ("log_format = 'xml'\n", "turnfold.toml: log_format: neither text nor json"),
        ("traces = 'perhaps'\n", "turnfold.toml: traces: 'perhaps' is not a valid boolean"),
        ("metrics_port = 99999\n", "metrics port: '99999' is not [HOST:]PORT"),
        (
            "[worker]\nstore = 'x'\nbad = 1\n",
            "worker.bad: there is no such setting; "
            "turnfold.toml: worker.store: Input should be 'memory' or 'rocksdb'",
        ),
    ],
)
def test_a_wrong_setting_is_told_by_its_place_in_the_file(
    tmp_path: Path, text: str, said: str
) -> None:
    written(tmp_path, text)
    refused(config_show(tmp_path), said)


def test_a_command_that_uses_a_wrong_setting_names_its_place(tmp_path: Path) -> None:
    written(tmp_path, "[kafka]\npartitions = 0\n")
    refused(call(tmp_path, "kafka", "lag"), "turnfold.toml: kafka.partitions")
    assert call(tmp_path, "kafka", "topology").code == 0, "which uses none of Kafka's settings"


def numbers() -> Iterator[tuple[str, type[Settings], str]]:
    """Each setting that is a number: the family's class and the field."""
    for family in FAMILIES:
        cls = class_of(family)
        for name, field in cls.model_fields.items():
            kinds = (field.annotation, *get_args(field.annotation))
            if int in kinds or (float in kinds and bool not in kinds):
                yield f"{family}.{name}", cls, name


@pytest.mark.parametrize("setting", [name for name, _, _ in numbers()])
@pytest.mark.parametrize("value", ["inf", "nan", "1e300", "9" * 300, "1" + "0" * 13])
def test_a_number_without_measure_is_refused(
    monkeypatch: pytest.MonkeyPatch, setting: str, value: str
) -> None:
    """A process that took one would wait for ever, or fail where it uses it."""
    cls, name = next((cls, name) for one, cls, name in numbers() if one == setting)
    for required in ("BASE_URL", "MODEL"):
        monkeypatch.setenv(f"{cls.model_config['env_prefix']}{required}", "http://127.0.0.1:1/v1")
    variable = f"{cls.model_config['env_prefix']}{name.upper()}"
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=f"^{cls.about}: {variable}: "):
        cls.load()


@pytest.mark.parametrize("limit", ["records", "bytes"])
def test_a_tenant_s_own_quota_has_a_measure(limit: str) -> None:
    with pytest.raises(ConfigurationError, match="TURNFOLD_SERVE_QUOTAS"):
        ServeSettings.load(quotas={"acme": {limit: 10**13}})


def options_of_numbers() -> Iterator[tuple[str, click.Parameter]]:
    """Each option of a command whose value may have a fraction."""
    waiting: list[tuple[str, click.Command | None]] = [("", cli.app)]
    while waiting:
        name, command = waiting.pop()
        if isinstance(command, click.Group):
            context = click.Context(command)
            waiting += [
                (f"{name} {below}".strip(), command.get_command(context, below))
                for below in command.list_commands(context)
            ]
        for parameter in command.params if command else ():
            if isinstance(parameter.type, click.types.FloatParamType) or (
                parameter.type.name == "float"
            ):
                yield f"{name} {parameter.name}", parameter


@pytest.mark.parametrize("option", [name for name, _ in options_of_numbers()])
@pytest.mark.parametrize("value", ["inf", "nan", "1e300", "-inf"])
def test_an_option_without_measure_is_refused(option: str, value: str) -> None:
    parameter = dict(options_of_numbers())[option]
    with pytest.raises((click.BadParameter, click.exceptions.Exit)):  # one says it by itself
        parameter.type.convert(value, parameter, None)


def test_a_server_refuses_wrong_settings_of_embeddings_at_its_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise each search would get 500."""
    monkeypatch.delenv("TURNFOLD_MEANING")
    embedder.cache_clear()  # of this process, as an earlier test had it
    for name, value in {
        "BASE_URL": "http://127.0.0.1:1/v1",
        "MODEL": "m",
        "SECONDS": "601",
    }.items():
        monkeypatch.setenv(f"TURNFOLD_EMBED_{name}", value)
    with pytest.raises(ConfigurationError, match=r"TURNFOLD_EMBED_SECONDS: .*600"):
        serve(ServeSettings(), None, None, lambda ready: nullcontext(), lambda url, key: None)


def test_no_secret_is_printed(tmp_path: Path) -> None:
    secrets = [one for one in default_settings() if SECRETS.search(one.variable)]
    assert len(secrets) >= 5
    env = {one.variable: SECRET for one in secrets} | {
        "TURNFOLD_MAVEN": f"https://me:{SECRET}@mirror.example/maven"
    }
    for options in ((), ("-o", "json"), ("--all",)):
        done = config_show(tmp_path, *options, **env)
        assert SECRET not in done.out + done.err
        assert "***" in done.out and "***@mirror.example/maven" in done.out
    written(tmp_path, f'[llm]\napi_key = "{SECRET}\\u0000"\n')
    done = config_show(tmp_path)
    refused(done, "llm.api_key: contains the character NUL")
    assert SECRET not in done.out + done.err


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        ('[llm]\nbase_url = "http://h/v1?api_key={}"\nmodel = "m"\n', "http://h/v1?***"),
        ('[llm]\nbase_url = "http://u:{}@h/v1"\nmodel = "m"\n', "http://***@h/v1"),
        ('[llm]\nbase_url = "http://h/v1"\nmodel = "m"\nbody = {{key = "{}"}}\n', "***"),
        ('[kafka]\nbootstrap = "u:{}@h:9,u:{}@i:9"\n', "***@h:9,***@i:9"),  # refused, and shown
        ('[kafka]\ntls_key = "-----BEGIN KEY-----{}"\n', "***"),
        ('maven = "https://u:p@ss:{}@maven/x"\n', "https://***@maven/x"),
        ('history = "s3://bucket/x?secret={}"\n', "s3://bucket/x?***"),
        ('[kafka]\nsasl_password = ["{}"]\n', None),
    ],
)
def test_a_secret_where_none_belongs_is_not_printed(
    tmp_path: Path, text: str, shows: str | None
) -> None:
    written(tmp_path, text.format(SECRET, SECRET))
    done = config_show(tmp_path, "-o", "json")
    assert SECRET not in done.out + done.err and "Traceback" not in done.err
    assert shows is None or shows in done.out, done.out


def test_a_file_with_a_secret_that_others_can_read_is_warned_of(tmp_path: Path) -> None:
    """It works: a cluster's secrets are mounted so."""
    file = written(tmp_path, f'key = "{SECRET}"\n')
    assert "chmod" not in config_show(tmp_path).err
    file.chmod(0o640)
    done = config_show(tmp_path)
    assert done.code == 0 and "chmod 600 turnfold.toml" in done.err


def test_a_variable_that_is_no_setting_is_warned_of(tmp_path: Path) -> None:
    done = config_show(tmp_path, TURNFOLD_HISTORI="x", TURNFOLD_FOO="1")
    assert done.code == 0
    assert "TURNFOLD_HISTORI: ignored" in done.err and "mean TURNFOLD_HISTORY?" in done.err
    assert "TURNFOLD_FOO: ignored" in done.err
    assert values(tmp_path, turnfold_history="x") == {}, "which no command reads"


def test_the_home_folder_is_written_as_in_a_shell(tmp_path: Path) -> None:
    said = ndjson(tmp_path / "said.ndjson", [turn("e1")])
    written(tmp_path, 'history = "~/mem"\n')
    assert call(tmp_path, "run", said.name, HOME=str(tmp_path / "home")).code == 0
    assert (tmp_path / "home" / "mem").is_dir() and not (tmp_path / "~").exists()


def test_a_text_with_colons_is_shown_as_it_is(tmp_path: Path) -> None:
    written(tmp_path, '[kafka]\nbootstrap = "a:smile:9092"\n')
    assert "a:smile:9092" in config_show(tmp_path).out


def test_a_server_that_is_named_comes_before_a_history_of_the_file(tmp_path: Path) -> None:
    written(tmp_path, 'history = "mem"\n')
    done = call(tmp_path, "mcp", "--url", "http://127.0.0.1:9")
    assert "one of them" not in done.err and not (tmp_path / "mem").exists()


def test_every_secret_setting_is_known_as_one() -> None:
    for family, declared in FAMILIES.items():
        module, cls = declared.settings.split(":")
        for name, field in getattr(import_module(module), cls).model_fields.items():
            is_secret = "SecretStr" in str(field.annotation)
            named = bool(SECRETS.search(configuration.variable(family, name)))
            assert is_secret == named, f"{family}.{name}"


def test_every_variable_that_the_code_reads_is_a_setting() -> None:
    known = {one.variable for one in default_settings()}
    others = configuration.NO_SETTINGS  # which file; from `dev` to its parts
    for folder in ("streams", "sinks", "schemas"):
        for file in (ROOT / folder).rglob("*.py"):
            for name in re.findall(r'"(TURNFOLD_[A-Z_]*[A-Z])"', file.read_text("utf-8")):
                assert name in known | others, f"{file}: {name}"
    assert len(known) == len(default_settings())


def test_the_example_on_the_page_is_right(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    file = written(tmp_path, example)
    assert set(tomllib.loads(example)) <= {*COMMON, *FAMILIES}
    env = {"TURNFOLD_KAFKA_SASL_PASSWORD": SECRET}
    assert shown(tmp_path, **env)["problems"] == []
    assert set(configuration.read(file)) <= {one.variable for one in default_settings()}
