"""Importers of foreign formats: each turns a file into input records (docs/importing.md).

A package adds one by an entry point of the group `turnfold.importers`: its name is the format, its
value a function `read(path, skipped, defaults)` (`streams.importers.base.Importer`).
"""

from typing import NamedTuple


class Format(NamedTuple):
    """A format: the module of this folder with its `read`, and a description of its files
    (Markdown)."""

    module: str
    about: str


FORMATS = {
    "turnfold": Format(
        "turnfold", "a person's archive, as `turnfold export` writes it ([erasure.md](erasure.md))"
    ),
    "openai-chat": Format(
        "openai_chat",
        "JSON or JSONL; an item is `{session_id?, user_id?, created?, messages: [...]}` or a bare "
        "array of messages",
    ),
    "chatgpt-export": Format(
        "chatgpt_export",
        "the `conversations.json` of a ChatGPT data export, or the export's `.zip`",
    ),
    "langgraph": Format(
        "langgraph", "a SQLite file of LangGraph checkpoints; needs the extra `langgraph`"
    ),
    "langgraph-postgres": Format(
        "langgraph_postgres",
        "a file with the connection string of a PostgreSQL database of LangGraph checkpoints; "
        "needs the extra `langgraph-postgres`",
    ),
    "mem0": Format(
        "mem0", "JSON or JSONL; what mem0's `get_all` answers, pages or memories one by one"
    ),
    "zep": Format(
        "zep",
        "JSON or JSONL; an item is a thread of Zep, `{thread_id, user_id, messages: [...]}`, or a "
        "user's facts, `{user_id, edges: [...]}`",
    ),
}
"""Name -> format. A module is loaded when a file of its format is imported."""
GROUP = "turnfold.importers"
"""Entry points of other packages' importers."""
