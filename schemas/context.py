"""The context pack: what an agent should know of a user before it answers (docs/context.md)."""

from typing import Literal, get_args

from pydantic import Field

from schemas.base import Micros, Reply

Section = Literal[
    "identity", "constraints", "preferences", "facts", "tasks", "mood", "session", "turns"
]
SECTIONS: tuple[str, ...] = get_args(Section)
"""Sections of items; the first ones, which change least, come first in the text."""


class ContextItem(Reply):
    """One item of a pack. `cite` stands for `id` in the text; `/v1/states/{cite}/why` takes it.
    `detail` is what the pack adds, such as a date; `answer` is what the agent said in a recalled
    turn. `source`: whose words the item goes back to."""

    section: Section = Field(description="Section that shows it.")
    kind: Literal["state", "preference", "session_memory", "event"] = Field(
        description="What it is.",
    )
    id: str = Field(description="Its id.")
    cite: str = Field(
        description="Short form of `id`, as the text has it; `/v1/states/{cite}/why` takes it.",
    )
    text: str = Field(description="The item as it is shown.")
    detail: str = Field(default="", description="What the pack adds, such as a date.")
    answer: str = Field(default="", description="What the agent said in a recalled turn.")
    source: Literal["user", "agent"] = Field(description="Whose words it goes back to.")
    said_by: list[str | None] = Field(
        default_factory=list,
        description="In a session of several users: who said it, if not this user alone; null for "
        "a turn that names no user.",
    )
    session_id: str | None = Field(default=None, description="Its session; null if it has none.")
    later: str = Field(
        default="",
        description="Date and text of a later turn about the same subject, which may have "
        "overtaken the fact.",
    )
    later_id: str | None = Field(default=None, description="Event id of that turn.")


class ContextPack(Reply):
    """What an agent should know of a user. `text` is ready for a prompt and about `tokens`
    long. `known` is false if nothing is known of the user.
    `left_out` counts the items that the budget did not hold. `missing` says what could not be
    looked up, and why; usually it is empty."""

    user_id: str = Field(description="The user.")
    known: bool = Field(description="Whether anything is known of the user.")
    as_of: Micros = Field(description="Time of the answer.")
    known_at: Micros | None = Field(description="Time up to which memory is used; null: all of it.")
    max_tokens: int = Field(ge=1, description="The budget.")
    tokens: int = Field(
        ge=0, description="Tokens of `text`: an estimate, or your tokenizer's count."
    )
    left_out: int = Field(ge=0, description="Number of items for which the budget was too small.")
    left_out_by_section: dict[str, int] = Field(
        default_factory=dict, description="The same, by section."
    )
    missing: list[str] = Field(
        default_factory=list,
        description="What could not be looked up, and why; usually empty.",
    )
    text: str = Field(description="Text for a prompt.")
    items: list[ContextItem] = Field(description="The items of the text, in order.")
