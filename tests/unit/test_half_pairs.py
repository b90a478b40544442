"""Half of a surrogate pair is refused alike on every way in, and by name."""

from collections.abc import Callable
from typing import Any

import pytest

from streams.pipeline.decode import Dead, decode
from streams.serving.http.content_type import decoded
from streams.serving.http.problems import Problem
from turnfold_client import ClientError, Turnfold

HALVES = ["x\ud83d", "\ude00", "\ud83d x \ude00", "a\udcff"]
CALLS: dict[str, Callable[[Turnfold, str], Any]] = {
    "records": lambda client, text: client.post_records([{"type": "turn", "user_input": text}]),
    "a name": lambda client, text: client.post_records([{text: 1}]),
    "add": lambda client, text: client.add([{"role": "user", "content": text}], user_id="u"),
    "add a user": lambda client, text: client.add([{"role": "user", "content": "a"}], user_id=text),
    "path": lambda client, text: client.profile(text),
    "query": lambda client, text: client.memory_summary(user_id=text),
    "header": lambda client, text: client.memory_summary(user_id="u", accept_language=text),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("half", HALVES, ids=ascii)
def test_the_client_refuses_it_before_it_sends(name: str, half: str) -> None:
    with (
        Turnfold("http://127.0.0.1:9", retries=0) as client,
        pytest.raises(ClientError, match="half of a surrogate pair"),
    ):
        CALLS[name](client, half)


@pytest.mark.parametrize("escape", [r"x\ud83d", r"\ude00", r"\uD83D x \uDE00"])
def test_http_and_files_refuse_it_with_its_place(escape: str) -> None:
    line = f'{{"type": "turn", "user_input": "{escape}"}}'.encode()
    letter = decode(line, ("x", 0, 1))
    assert isinstance(letter, Dead) and "half of a surrogate pair (byte" in letter.detail
    with pytest.raises(Problem) as problem:
        decoded(line)
    assert problem.value.status == 400
    assert "half of a surrogate pair (byte" in str(problem.value.detail)
