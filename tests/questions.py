"""The questions of docs/analytics.md: their headings and their SQL."""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).resolve().parents[1] / "docs" / "analytics.md"
QUESTION = re.compile(r"^### (\d+)\. ([^\n]+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```sql\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Question(NamedTuple):
    """A heading, its number, and the one block of SQL below it."""

    number: int
    name: str
    sql: str


def questions() -> list[Question]:
    """In the order of the page."""
    found = QUESTION.findall(PAGE.read_text("utf-8"))
    return [Question(int(number), name, _sql(text)) for number, name, text in found]


def _sql(text: str) -> str:
    (sql,) = BLOCK.findall(text)
    return str(sql)
