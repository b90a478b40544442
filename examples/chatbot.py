"""A chatbot that remembers what you tell it, also when it is started again.

    python examples/chatbot.py ./memory        # talk; Ctrl-D ends it; start it again and ask

With OPENAI_API_KEY set, a model answers (pip install openai). Without it, a scripted model does,
which repeats what memory knows.
"""

import argparse
import os
import sys
from collections.abc import Callable
from uuid import uuid4

from turnfold_client import LocalServerError, Turnfold

Model = Callable[[str, str], str]  # (what memory knows, question) -> answer


def chat(memory: Turnfold, model: Model, user: str, session: str, question: str) -> str:
    """One turn: what memory knows goes to the model, then both messages go to memory."""
    context = memory.context(user_id=user, session_id=session, query=question)
    answer = model(context.text, question)
    messages = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
    memory.add(user_id=user, session_id=session, messages=messages)
    return answer


def scripted(known: str, question: str) -> str:
    lines = [line.removeprefix("- ") for line in known.splitlines() if line.startswith("- ")]
    return "\n".join(["I remember:", *lines]) if lines else "I do not know you yet."


def openai(known: str, question: str) -> str:
    from openai import OpenAI

    reply = OpenAI().chat.completions.create(
        model="gpt-5.4-mini",
        messages=[{"role": "system", "content": known}, {"role": "user", "content": question}],
    )
    return reply.choices[0].message.content or ""


def main() -> None:
    parser = argparse.ArgumentParser(description="A chatbot that remembers what you tell it.")
    parser.add_argument("folder", help="where the memory is stored")
    parser.add_argument("--user", default="me")
    options = parser.parse_args()
    model = openai if os.environ.get("OPENAI_API_KEY") else scripted
    session = str(uuid4())
    with Turnfold.local(options.folder) as memory:
        for question in filter(None, map(str.strip, sys.stdin)):
            print(chat(memory, model, options.user, session, question), flush=True)


if __name__ == "__main__":
    try:
        main()
    except LocalServerError as error:
        sys.exit(f"chatbot: {error}")
