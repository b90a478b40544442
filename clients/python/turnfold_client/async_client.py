"""The methods of the async client. Made by scripts/generate from schemas/generated/openapi.json."""
# fmt: off
# ruff: noqa: I001

from collections.abc import AsyncIterator

from turnfold_client import operations
from turnfold_client.async_sender import AsyncSender
from turnfold_client.calls import Moment, Records
from turnfold_client.events import SessionEvent
from turnfold_client.models import (
    Accepted, DeadLetter, DeadLetterWhole, DeadLetters, Health, MemorySummary, MoodNow, Ready,
    RecordsReply, RevisionTold, SearchHit, SearchPage, SessionContext, SessionDocument,
    SessionUpdate, StateThen, States, TaskDocument, Timeline, TimelineTurn, UserDocument,
    UserLearningProfile, UserUpdate, Why,
)


class AsyncTurnfold(AsyncSender):
    """A server's endpoints. Every method raises `turnfold_client.errors`."""

    async def profile(self, user_id: str) -> UserLearningProfile:
        """The long-term learning profile of a user (seed 004 §3.1)."""
        return await self._send(operations.profile(user_id))

    async def context(self, session_id: str) -> SessionContext:
        """The short-term memory of a session (seed 004 §3.2)."""
        return await self._send(operations.context(session_id))

    async def memory_summary(
        self,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        accept_language: str | None = None,
    ) -> MemorySummary:
        """What an intent router is told before each answer (seed 004 §4). Give a session, a user,
        or both; without a user the session's own. Somebody unknown is a new user, not an error."""
        return await self._send(
            operations.memory_summary(
                session_id=session_id,
                user_id=user_id,
                accept_language=accept_language,
            ),
        )

    async def update_user(
        self,
        body: UserUpdate,
        *,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> UserLearningProfile | Accepted | None:
        """Moves a user's profile: mastery, counts, preferences (seed 004 §3.3). The reply is the
        new profile, once the write has been applied."""
        return await self._send(
            operations.update_user(body, prefer=prefer, idempotency_key=idempotency_key),
        )

    async def update_session(
        self,
        body: SessionUpdate,
        *,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> SessionContext | Accepted | None:
        """Moves a session's context: intents, topic, last artifact (seed 004 §3.4). The reply is
        the new context, once the write has been applied."""
        return await self._send(
            operations.update_session(body, prefer=prefer, idempotency_key=idempotency_key),
        )

    async def post_records(
        self,
        records: Records,
        *,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> RecordsReply:
        """Appends input records to the log (design 03): turns, recursions, tool results, signals,
        write plans. 200: all have ended; 202: some are in the log for good, and not applied yet."""
        return await self._send(
            operations.post_records(records, prefer=prefer, idempotency_key=idempotency_key),
        )

    async def session(
        self,
        session_id: str,
        *,
        as_of: Moment | None = None,
    ) -> SessionDocument:
        """A session with its conversations, memory and context (seed 000), now or as of a time."""
        return await self._send(operations.session(session_id, as_of=as_of))

    async def timeline(
        self,
        session_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Timeline:
        """The turns of a session in order, out of the history."""
        return await self._send(operations.timeline(session_id, limit=limit, cursor=cursor))

    def iter_timeline(
        self,
        session_id: str,
        *,
        limit: int | None = None,
    ) -> AsyncIterator[TimelineTurn]:
        """The items of all pages of `timeline`."""
        return self._pages(
            lambda cursor: operations.timeline(session_id, limit=limit, cursor=cursor),
            lambda page: page.turns,
        )

    def events(
        self,
        session_id: str,
        *,
        last_event_id: str | None = None,
    ) -> AsyncIterator[SessionEvent]:
        """The session's document as server-sent events: now, and whenever it changes. A client that
        comes back with `Last-Event-ID` gets it only if it has changed meanwhile."""
        return self._stream(operations.events(session_id, last_event_id=last_event_id))

    async def task(self, task_id: str, *, session_id: str | None = None) -> TaskDocument:
        """A task: plan, recursions, tool results and where it stands (seed 002). Without
        `session_id` it is looked for in the history."""
        return await self._send(operations.task(task_id, session_id=session_id))

    async def user(self, user_id: str) -> UserDocument:
        """Everything that is known of a user now: profile, states, preferences, mood."""
        return await self._send(operations.user(user_id))

    async def states(
        self,
        user_id: str,
        *,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> States:
        """What was held true of a user at `as_of`, as far as was known at `known_at`: two clocks,
        both now unless given. Nothing of a user nobody knows: an empty list."""
        return await self._send(
            operations.states(user_id, as_of=as_of, known_at=known_at, limit=limit, cursor=cursor),
        )

    def iter_states(
        self,
        user_id: str,
        *,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateThen]:
        """The items of all pages of `states`."""
        return self._pages(
            lambda cursor: operations.states(
                user_id,
                as_of=as_of,
                known_at=known_at,
                limit=limit,
                cursor=cursor,
            ),
            lambda page: page.states,
        )

    async def mood(self, user_id: str, *, at: Moment | None = None) -> MoodNow:
        """A user's mood, now or at a time: it fades between moments of feeling (seed 003 §5)."""
        return await self._send(operations.mood(user_id, at=at))

    async def why(
        self,
        state_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Why:
        """How a state (or whatever else has revisions: a session, a preference, an item of session
        memory, a link, a thread) came to be as it is, with the words it rests on."""
        return await self._send(operations.why(state_id, limit=limit, cursor=cursor))

    def iter_why(
        self,
        state_id: str,
        *,
        limit: int | None = None,
    ) -> AsyncIterator[RevisionTold]:
        """The items of all pages of `why`."""
        return self._pages(
            lambda cursor: operations.why(state_id, limit=limit, cursor=cursor),
            lambda page: page.revisions,
        )

    async def search(
        self,
        q: str,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        kind: str | None = None,
        from_: Moment | None = None,
        to_: Moment | None = None,
        as_of: Moment | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SearchPage:
        """The events and states that a text is about (docs/search.md), best first. `matches` are
        the parts of a hit's text that matched, as [start, end) in characters."""
        return await self._send(
            operations.search(
                q=q,
                user_id=user_id,
                session_id=session_id,
                kind=kind,
                from_=from_,
                to_=to_,
                as_of=as_of,
                limit=limit,
                cursor=cursor,
            ),
        )

    def iter_search(
        self,
        q: str,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        kind: str | None = None,
        from_: Moment | None = None,
        to_: Moment | None = None,
        as_of: Moment | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[SearchHit]:
        """The items of all pages of `search`."""
        return self._pages(
            lambda cursor: operations.search(
                q=q,
                user_id=user_id,
                session_id=session_id,
                kind=kind,
                from_=from_,
                to_=to_,
                as_of=as_of,
                limit=limit,
                cursor=cursor,
            ),
            lambda page: page.hits,
        )

    async def dead_letters(
        self,
        *,
        reason: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> DeadLetters:
        """Records that could not be applied, oldest first."""
        return await self._send(
            operations.dead_letters(reason=reason, limit=limit, cursor=cursor),
        )

    def iter_dead_letters(
        self,
        *,
        reason: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[DeadLetter]:
        """The items of all pages of `dead_letters`."""
        return self._pages(
            lambda cursor: operations.dead_letters(reason=reason, limit=limit, cursor=cursor),
            lambda page: page.dead_letters,
        )

    async def dead_letter(self, letter_id: str) -> DeadLetterWhole:
        """One dead letter with what was sent. A slash in its id is written `%2F`."""
        return await self._send(operations.dead_letter(letter_id))

    async def healthz(self) -> Health:
        """The process is alive, and which generation answers."""
        return await self._send(operations.healthz())

    async def readyz(self) -> Ready:
        """Whether questions are answered; during a restore how far it is."""
        return await self._send(operations.readyz())
