"""The prompt is the user's: a template with named parts, own categories, and a version of them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams.errors import ConfigurationError
from streams.llm import template
from streams.llm.completion import OUTPUTS, Dialect
from streams.llm.kafka_log import StreamOptions
from streams.llm.settings import LlmSettings
from tests.command import environment, ndjson, rows, turn, turnfold
from tests.llm.endpoint import Endpoint, completion, whole

pytestmark = pytest.mark.component

Start = Callable[..., Endpoint]
OWN = """You keep the memory of a player.
{{ input }}
{{categories}}
{{evidence}}
JSON such as {"a": {"b": 1}} is left as it is.
{{answer}}
"""
GAMES = {"quest": "what the player wants to reach", "装備": "what the player owns"}


def settings(**given: Any) -> LlmSettings:
    return LlmSettings.load(base_url="http://x/v1", model="m", **given)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    own = tmp_path / "own.txt"
    own.write_text(OWN, "utf-8")
    return own


def test_parts_are_filled_in_and_all_else_stays(file: Path) -> None:
    text = settings(prompt=file, categories=GAMES).instructions
    assert text.startswith("You keep the memory of a player.\nYou are given one JSON document")
    assert "\n- `quest`: what the player wants to reach\n- `装備`: what" in text
    assert '{"a": {"b": 1}} is left as it is' in text
    assert "{{" not in text and "allergy" not in text
    for part in template.PARTS:
        file.write_text(f"x{{{{{part}}}}}y")
        filled = settings(prompt=file).instructions
        assert filled[0] + filled[-1] == "xy" and len(filled) > 200


def test_the_version_is_that_of_what_the_model_is_told(file: Path, tmp_path: Path) -> None:
    def version(**given: Any) -> str:
        return settings(**given).extractor_version

    assert version() == template.VERSION
    copy = tmp_path / "copy.txt"
    copy.write_bytes(template.ours().replace("\n", "\r\n").encode("utf-8-sig"))
    assert version(prompt=copy) == template.VERSION, "another line end is the same prompt"
    assert version(categories=dict(template.CATEGORIES)) == template.VERSION
    own = version(prompt=file)
    assert own.startswith(f"{template.VERSION}-") and own == version(prompt=file)
    others = {own, version(categories=GAMES), version(prompt=file, categories=GAMES)}
    file.write_text(OWN + "Be brief.", "utf-8")
    others.add(version(prompt=file))
    assert len(others) == 4
    group = StreamOptions().group_of(settings(prompt=file))
    assert group == f"llm/m-{version(prompt=file)}"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"a\nb {{catgories}}", "line 2: there is no part {{catgories}} (did you mean "
         "{{categories}}?); parts: input, evidence, categories, answer"),
        (b"{{input}}\r\n\r\n{{}}", "line 3: there is no part {{}}; parts"),
        (b"{{input}} {{INPUT}}", "line 1: there is no part {{INPUT}} (did you mean {{input}}?)"),
        (b"{{input}}\n{{answer\n}}", "line 2: {{ without }}"),
        (b"{{in{{put}}", "line 1: {{ without }}"),
        (b"", "empty; expected a prompt with parts such as {{input}}"),
        (b" \n\xef\xbb\xbf\t", None),
        (b"\xef\xbb\xbf \n", "empty; expected a prompt"),
        (b"ok\n\xff{{input}}", "line 2: not UTF-8"),
        (b"x" * (template.LARGEST + 1), "larger than 100000 bytes"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_template_is_named_with_its_line(
    content: bytes, reason: str | None, file: Path
) -> None:
    file.write_bytes(content)
    if reason is None:
        settings(prompt=file)
        return
    with pytest.raises(ConfigurationError) as caught:
        settings(prompt=file)
    assert str(caught.value).startswith(f"model settings: TURNFOLD_LLM_PROMPT: {file}: {reason}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("make", [lambda file: None, lambda file: file.mkdir()])
def test_a_file_that_cannot_be_read_is_named(make: Callable[[Path], None], tmp_path: Path) -> None:
    make(tmp_path / "none.txt")
    with pytest.raises(ConfigurationError, match=r"TURNFOLD_LLM_PROMPT: .*none\.txt: "):
        settings(prompt=tmp_path / "none.txt")


@pytest.mark.parametrize(
    ("categories", "reason"),
    [
        ({"": "x"}, "should match"), ({" a": "x"}, "should match"), ({"a\nb": "x"}, "should match"),
        ({"a`b": "x"}, "should match"), ({"a" * 65: "x"}, "should match"),
        ({"a": " "}, "should match"), ({"a": ""}, "at least 1"), ({"a": "x\ny"}, "should match"),
        ({"a": "x" * 501}, "at most 500"), ({"a": 1}, "valid string"),
        ({str(n): "x" for n in range(65)}, "at most 64"), (["a"], "an object"),
    ],
)  # fmt: skip
def test_categories_that_are_wrong(categories: Any, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=f"TURNFOLD_LLM_CATEGORIES.*: .*{reason}"):
        settings(categories=categories)


def test_categories_that_the_prompt_does_not_have(file: Path) -> None:
    file.write_text("{{input}}")
    with pytest.raises(ConfigurationError, match=r"categories are set, .* no part {{categories}}"):
        settings(prompt=file, categories=GAMES)


@pytest.mark.parametrize("output", OUTPUTS)
def test_each_way_of_asking_names_the_categories(output: Any) -> None:
    told = settings(categories=GAMES)
    messages = [{"role": "system", "content": told.instructions}, {"role": "user", "content": "{}"}]
    body = json.dumps(Dialect(output).body(messages, told), ensure_ascii=False).replace('\\"', '"')
    named = json.dumps({"type": "string", "enum": list(GAMES)}, ensure_ascii=False)
    assert named.replace(" ", "") in body.replace(" ", "")


def test_a_run_with_an_own_prompt(endpoint: Start, file: Path, tmp_path: Path) -> None:
    """Its category is stored with the state; one that is not on the list is sent back."""

    def behave(request: Any) -> Any:
        category = "quest" if request.is_repair else "allergy"
        (event,) = [one["event_id"] for one in request.data["turns"]]
        update = {"kind": "fact", "body_text": "Wants the sword.", "category": category,
                  "evidence_event_ids": [event]}  # fmt: skip
        return completion(whole(states=[update]))

    asked, history = endpoint(behave), tmp_path / "memory"
    records = [turn("e1", user_id="u", user_input="I want the sword")]
    env = environment(TURNFOLD_LLM_BASE_URL=asked.url, TURNFOLD_LLM_MODEL="m",
                      TURNFOLD_LLM_CATEGORIES=json.dumps(GAMES))  # fmt: skip
    words = ("run", ndjson(tmp_path / "t.ndjson", records), "--history", history,
             "--extractor", "llm", "--prompt", file)  # fmt: skip
    done = turnfold(*words, "-o", "json", env=env)
    assert done.code == 0, done.err
    first, second = asked.requests
    assert first.body["messages"][0]["content"].startswith("You keep the memory of a player.")
    fault = "states.0.category: 'allergy' is none of quest, 装備"
    assert fault in second.body["messages"][-1]["content"]
    assert rows(history, "SELECT payload ->> '$.category' FROM state_current") == [("quest",)]
    ((version,),) = rows(history, "SELECT extractor_version FROM plans")
    assert version == settings(prompt=file, categories=GAMES).extractor_version
    file.write_text(OWN + "Be brief.", "utf-8")
    again = turnfold(
        "admin", "extract", "--history", history, "--prompt", file, "-o", "json", env=env
    )
    assert again.json()["turns"] == 1, "another prompt is another extractor"
    file.write_text("{{inptu}}")
    refused = turnfold(*words, env=env)
    assert refused.code == 3 and "own.txt: line 1: there is no part {{inptu}}" in refused.err
