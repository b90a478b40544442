"""The examples of docs/adapters.md run as they stand, with scripted models, each in an environment
that has what the page says to install and nothing else.

pytest alone does not run it: `.ci/nightly` asks for it by name."""

import re
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.building import ROOT, installed
from tests.command import PROGRAM, environment

PAGE = (ROOT / "docs" / "adapters.md").read_text("utf-8")
SECTIONS = {
    title: text
    for title, text in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    if "```python" in text
}
MEMORY = "from turnfold_client import Turnfold\nmemory = Turnfold.local('memory')\n"
BEFORE = {
    "LangChain": """
from langchain_core.language_models import FakeListChatModel
model = FakeListChatModel(responses=["Noted."])
""",
    "LangGraph": """
from typing import TypedDict
from langgraph.graph import END, START, StateGraph
class Seen(TypedDict):
    dish: str
def look(state, *, store):
    return {"dish": store.get(("maya", "likes"), "food").value["dish"]}
builder = StateGraph(Seen).add_node("look", look).add_edge(START, "look").add_edge("look", END)
""",
    "LlamaIndex": """
from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
llm = MockLLM()
""",
    "OpenAI Agents SDK": """
from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
from openai.types.responses import ResponseOutputMessage, ResponseOutputText
set_tracing_disabled(True)
class Scripted(Model):
    async def get_response(self, *given, **more):
        part = ResponseOutputText(type="output_text", text="In Leeds.", annotations=[])
        said = ResponseOutputMessage(
            id="m", type="message", role="assistant", status="completed", content=[part])
        return ModelResponse(output=[said], usage=Usage(), response_id=None)
    def stream_response(self, *given, **more):
        raise AssertionError
agent = Agent(name="helper", model=Scripted())
""",
}
AFTER = {
    "LangChain": ("print([one.content for one in history.messages])",
                  "['I live in Leeds.', 'Noted.']"),
    "LangGraph": ("print(graph.invoke({'dish': ''}))", "{'dish': 'lentils'}"),
    "LlamaIndex": ("print([one.role.value for one in chat.get_all()])",
                   "user: Where do I live?\nassistant: \n['user', 'assistant']"),
    "OpenAI Agents SDK": ("print(len(await session.get_items()))", "In Leeds.\n2"),
}  # fmt: skip
"""What is asked at the end, and all that is printed."""


def installed_for(title: str, folder: Path) -> Path:
    """The Python of an environment with what the page's table names for a framework."""
    (install,) = re.findall(rf"^\| \[{re.escape(title)}\]\(.*?\) \| `(.+?)` \|", PAGE, re.M)
    client = (ROOT / "clients" / "python").as_uri()
    return installed(f"{install} @ {client}", folder)


@pytest.mark.parametrize("title", SECTIONS)
def test_the_example_runs(title: str, tmp_path: Path) -> None:
    example = "".join(re.findall(r"^```python\n(.*?)^```$", SECTIONS[title], re.M | re.S))
    asked, printed = AFTER[title]
    body = textwrap.indent(f"{example}\n{asked}\n", "    ")
    program = f"{MEMORY}{BEFORE[title]}import asyncio\nasync def main():\n{body}\n"
    python = installed_for(title, tmp_path / "environment")
    python.with_name("turnfold").symlink_to(PROGRAM)  # the server is another environment's
    done = subprocess.run(
        [python, "-c", program + "asyncio.run(main())\n"],
        cwd=tmp_path, capture_output=True, text=True, env=environment(), timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == printed


def test_every_example_is_short() -> None:
    for title, text in SECTIONS.items():
        lines = "".join(re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)).split("\n")
        assert sum(1 for line in lines if line.strip()) <= 5, title
