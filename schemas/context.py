"""The context pack: memory of a user for an agent's prompt (docs/context.md)."""

from typing import Literal, get_args

from pydantic import Field

from schemas.base import Micros, Reply

Section = Literal[
    "identity", "constraints", "preferences", "facts", "tasks", "mood", "session", "turns"
]
SECTIONS: tuple[str, ...] = get_args(Section)
"""Sections in the order of the text; the sections that change least come first."""


class ContextItem(Reply):
    """One item of a pack. The text of the pack uses `cite` instead of `id`;
    `/v1/states/{cite}/why` accepts it. `detail` is a supplement, such as a date; `answer` is the
    agent's answer in a recalled turn. `source` is the speaker of the words that the item was
    derived from."""

    section: Section = Field(description="Section of the item.")
    kind: Literal["state", "preference", "session_memory", "event"] = Field(
        description="Kind of the item.",
    )
    id: str = Field(description="Id of the item.")
    cite: str = Field(
        description="Short form of `id`, used in `text` of the pack; `/v1/states/{cite}/why` "
        "accepts it.",
    )
    text: str = Field(description="Text of the item.")
    detail: str = Field(default="", description="Supplement, such as a date.")
    answer: str = Field(default="", description="The agent's answer in a recalled turn.")
    source: Literal["user", "agent"] = Field(
        description="Speaker of the words that it was derived from."
    )
    said_by: list[str | None] = Field(
        default_factory=list,
        description="Session of several users: ids of the speakers, unless this user is the only "
        "one; null for a turn without a user.",
    )
    session_id: str | None = Field(default=None, description="Session; null if it has none.")
    later: str = Field(
        default="",
        description="Date and text of a later turn about the same subject; it may have made the "
        "fact obsolete.",
    )
    later_id: str | None = Field(default=None, description="Event id of that turn.")


class ContextPack(Reply):
    """Memory of a user within a token budget. `text` is ready for a prompt and about `tokens` long.
    `known` is false without memory of the user. `left_out` counts the items that were omitted to
    stay within the budget. `missing` lists failed lookups and their reasons; usually it is
    empty."""

    user_id: str = Field(description="Id of the user.")
    known: bool = Field(description="Whether memory of the user exists.")
    as_of: Micros = Field(description="Point in time of the pack.")
    known_at: Micros | None = Field(
        description="Memory recorded up to this time is used; null: all memory."
    )
    max_tokens: int = Field(ge=1, description="Token budget.")
    tokens: int = Field(
        ge=0, description="Length of `text` in tokens: an estimate, or the count of your tokenizer."
    )
    left_out: int = Field(ge=0, description="Number of items omitted to stay within the budget.")
    left_out_by_section: dict[str, int] = Field(
        default_factory=dict, description="`left_out` by section."
    )
    missing: list[str] = Field(
        default_factory=list,
        description="Failed lookups, each with its reason; usually empty.",
    )
    text: str = Field(description="Text for a prompt.")
    items: list[ContextItem] = Field(description="The items of `text`, in order.")
