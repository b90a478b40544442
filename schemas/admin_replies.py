"""Replies of the HTTP API: lists of users and sessions, and erasures (docs/http.md)."""

from typing import Literal

from pydantic import Field

from schemas.base import JsonObject, Micros, Reply


class ListedUser(Reply):
    """A user with stored data."""

    user_id: str = Field(description="Id of the user.")
    last_active: Micros = Field(
        description="Time of the latest turn; without turns, of the latest other record.",
    )
    turns: int = Field(description="Turns in which the user spoke.")
    sessions: int = Field(description="Sessions in which the user spoke.")
    states: int = Field(description="Current states, without the mood.")
    preferences: int = Field(description="Current preferences.")


class UserList(Reply):
    """Users, the last active first. `next` is the cursor of the next page; null on the last
    page."""

    users: list[ListedUser] = Field(description="Users in the requested order.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class ListedSession(Reply):
    """A session with stored data."""

    session_id: str = Field(description="Id of the session.")
    first_line: str | None = Field(
        description="Start of the first turn's words, up to 120 characters; null if that turn has "
        "none, asks not to be kept, or is retracted.",
    )
    user_id: str | None = Field(
        description="User of the earliest turn that has one; null if none has.",
    )
    users: int = Field(description="Number of users who spoke in it.")
    started_at: Micros | None = Field(description="Time of the first turn; null without turns.")
    last_active: Micros = Field(
        description="Time of the latest turn; without turns, of the latest other record.",
    )
    turns: int = Field(description="Number of turns.")
    memory_items: int = Field(description="Current items of session memory.")


class SessionList(Reply):
    """Sessions, the last active first. `next` is the cursor of the next page; null on the last
    page."""

    sessions: list[ListedSession] = Field(description="Sessions in the requested order.")
    next: str | None = Field(description="Cursor of the next page; null on the last page.")


class ErasureReceipt(Reply):
    """Receipt of an erasure: counts and salted hashes, without ids of users, sessions or turns."""

    user_sha256: str | None = Field(
        default=None,
        description="SHA-256 of `SALT/TENANT/USER`, in hex; null if no user was erased.",
    )
    sessions: int | None = Field(
        default=None,
        description="Sessions erased with the user; null if no user was erased.",
    )
    shared_sessions: int | None = Field(
        default=None,
        description="Sessions of several users, rebuilt from the turns of the other users; null "
        "if no user was erased.",
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
        description="Number of users with memory rebuilt without the session or turn; null if a "
        "user was erased.",
    )
    salt: str | None = Field(
        default=None,
        description="Random salt of the hash, in hex; null in receipts of earlier versions.",
    )
    tables: dict[str, dict[str, int]] = Field(
        description="Per table: number of erased rows (`erased`) and the table version after the "
        "erasure. `may_remain` of `dead_letters`: dead letters that stay and may "
        "mention the erased data.",
    )
    may_remain: dict[str, int] | None = Field(
        default=None,
        description="Location -> number of entries that stay there and may mention the erased "
        "data; empty if there are none, null in receipts of earlier versions "
        "(docs/erasure.md lists the locations).",
    )
    generations: JsonObject | None = Field(
        default=None,
        description="Erased rows in the tables of other generations, by name; null if there are "
        "none.",
    )


class Erasure(Reply):
    """A requested erasure. It contains no id of a user, session or turn."""

    id: str = Field(description="Id of the erasure.")
    status: Literal["waiting", "done"] = Field(
        description="`waiting`: pending, even if the server was killed; `done`: finished.",
    )
    requested_at: Micros = Field(description="Time of the first request.")
    finished_at: Micros | None = Field(
        description="Time at which it finished; null while it is waiting."
    )
    receipt: ErasureReceipt | None = Field(
        description="Erased data in numbers; null while it is waiting."
    )
