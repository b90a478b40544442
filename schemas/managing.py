"""Replies of the HTTP API about users and sessions as a whole: lists of them, and erasures
(docs/http.md)."""

from typing import Literal

from pydantic import Field

from schemas.base import JsonObject, Micros, Reply


class ListedUser(Reply):
    """A user of whom something is stored."""

    user_id: str = Field(description="Id of the user.")
    last_active: Micros = Field(
        description="Time of the latest turn; without turns, of the latest other record.",
    )
    turns: int = Field(description="Turns in which the user spoke.")
    sessions: int = Field(description="Sessions in which the user spoke.")
    states: int = Field(description="States that hold now, without the mood.")
    preferences: int = Field(description="Preferences that hold now.")


class UserList(Reply):
    """Users, the last active first. `next` is the cursor of the next page; null at the end."""

    users: list[ListedUser] = Field(description="The users, in the order asked for.")
    next: str | None = Field(description="Cursor of the next page; null at the end.")


class ListedSession(Reply):
    """A session of which something is stored."""

    session_id: str = Field(description="Id of the session.")
    user_id: str | None = Field(
        description="User of its earliest turn that names one; null if none does.",
    )
    users: int = Field(description="How many users spoke in it.")
    started_at: Micros | None = Field(description="Time of the first turn; null without turns.")
    last_active: Micros = Field(
        description="Time of the latest turn; without turns, of the latest other record.",
    )
    turns: int = Field(description="Its turns.")
    memory_items: int = Field(description="Items of session memory that hold now.")


class SessionList(Reply):
    """Sessions, the last active first. `next` is the cursor of the next page; null at the end."""

    sessions: list[ListedSession] = Field(description="The sessions, in the order asked for.")
    next: str | None = Field(description="Cursor of the next page; null at the end.")


class ErasureReceipt(Reply):
    """What was erased. It names no user, session or turn."""

    user_sha256: str | None = Field(
        default=None,
        description="SHA-256 of `SALT/TENANT/USER`, in hex; null if no user was erased.",
    )
    sessions: int | None = Field(
        default=None,
        description="Sessions that were erased with the user; null if no user was erased.",
    )
    shared_sessions: int | None = Field(
        default=None,
        description="Sessions of several users, folded again from what the others said; null if no "
        "user was erased.",
    )
    session_sha256: str | None = Field(
        default=None,
        description="SHA-256 of `SALT/TENANT/SESSION`, in hex; null if no session was erased.",
    )
    turn_sha256: str | None = Field(
        default=None,
        description="SHA-256 of `SALT/TENANT/SESSION/TURN`, in hex; null if no turn was erased.",
    )
    users: int | None = Field(
        default=None,
        description="Users whose memory was made again without the session or turn; null if a "
        "user was erased.",
    )
    salt: str | None = Field(
        default=None,
        description="Random salt of the hash, in hex; null in receipts of earlier versions.",
    )
    tables: dict[str, dict[str, int]] = Field(
        description="Rows erased from each table (`erased`), and its version from then on. "
        "`may_remain` of `dead_letters`: letters that stay and may name what was erased.",
    )
    may_remain: dict[str, int] | None = Field(
        default=None,
        description="Place -> how many things stay there that may name what was erased; empty if "
        "none do, null in receipts of earlier versions (docs/erasure.md lists the places).",
    )
    generations: JsonObject | None = Field(
        default=None,
        description="The tables of other generations of the memory, by name; null if none.",
    )


class Erasure(Reply):
    """An erasure that was asked for. It names no user, session or turn."""

    id: str = Field(description="Id of the erasure.")
    status: Literal["waiting", "done"] = Field(
        description="`waiting`: it will be done; also after the server was killed.",
    )
    requested_at: Micros = Field(description="When it was first asked for.")
    finished_at: Micros | None = Field(description="When it was done; null while it waits.")
    receipt: ErasureReceipt | None = Field(description="What was erased; null while it waits.")
