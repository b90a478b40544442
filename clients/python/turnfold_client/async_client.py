"""The methods of the async client. Made by scripts/generate from schemas/generated/openapi.json."""
# fmt: off
# ruff: noqa: I001

from collections.abc import AsyncIterator

from turnfold_client import operations
from turnfold_client.async_sender import AsyncSender
from turnfold_client.calls import Moment, Records
from turnfold_client.events import SessionEvent
from turnfold_client.models import (
    Accepted, ContextPack, DeadLetter, DeadLetterContent, DeadLetters, Erasure, Extracted,
    Health, ListedSession, ListedUser, MemorySummary, MessagesReply, MoodNow, NewMessages,
    Preference, PreferenceCorrection, Ready, RecordsReply, RevisionWithEvidence, SearchHit,
    SearchPage, SessionContext, SessionDocument, SessionList, SessionMessages, SessionUpdate,
    State, StateCorrection, StateVersion, States, StoredMessage, TaskDocument, Timeline,
    TimelineTurn, UserDocument, UserLearningProfile, UserList, UserUpdate, Why,
)


class AsyncTurnfold(AsyncSender):
    """A server's endpoints. Every method raises `turnfold_client.errors`."""

    async def profile(self, user_id: str) -> UserLearningProfile:
        """A user's learning profile."""
        return await self._send(operations.profile(user_id))

    async def session_context(self, session_id: str) -> SessionContext:
        """A session's context, for an agent before it answers."""
        return await self._send(operations.session_context(session_id))

    async def memory_summary(
        self,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        accept_language: str | None = None,
    ) -> MemorySummary:
        """A short summary of session and user, for an intent router. Pass `session_id`, `user_id`
        or both; without `user_id` the session's user is taken. An unknown id gives an empty
        summary."""
        return await self._send(
            operations.memory_summary(
                session_id=session_id,
                user_id=user_id,
                accept_language=accept_language,
            ),
        )

    async def update_session(
        self,
        body: SessionUpdate,
        *,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> SessionContext | Accepted | None:
        """Updates a session's context: intent, topic, last artifact. Returns the new context once
        the update has been applied."""
        return await self._send(
            operations.update_session(body, prefer=prefer, idempotency_key=idempotency_key),
        )

    async def update_user(
        self,
        body: UserUpdate,
        *,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> UserLearningProfile | Accepted | None:
        """Updates a user's profile: mastery, counts, preferences. Returns the new profile once the
        update has been applied."""
        return await self._send(
            operations.update_user(body, prefer=prefer, idempotency_key=idempotency_key),
        )

    async def post_records(
        self,
        records: Records,
        *,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> RecordsReply:
        """Appends input records to the log: turns, recursions, tool results, signals, write plans.
        200: every record has its outcome; 202: some are stored and not applied yet."""
        return await self._send(
            operations.post_records(records, prefer=prefer, idempotency_key=idempotency_key),
        )

    async def post_messages(
        self,
        body: NewMessages,
        *,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> MessagesReply:
        """Adds messages of a conversation to memory: user messages, assistant answers, tool calls
        and their results. They become turns; an answer belongs to the turn that waits for it. A
        request is stored completely or not at all. 202: stored and not applied yet."""
        return await self._send(
            operations.post_messages(body, prefer=prefer, idempotency_key=idempotency_key),
        )

    async def extract(self, *, prefer: str | None = None) -> Extracted:
        """Waits until the model has read all turns that are stored now. 202: some turns are unread,
        `about` gives the reason; the server continues. 501: this server has no model."""
        return await self._send(operations.extract(prefer=prefer))

    async def delete_message(
        self,
        message_id: str,
        session_id: str,
        *,
        prefer: str | None = None,
    ) -> RecordsReply:
        """Ends the facts and preferences that rest only on a user's message and its answer, and
        hides the turn from search and context packs. The turn stays in the session and in the
        history; erase the turn to remove it. 202: stored and not applied yet."""
        return await self._send(
            operations.delete_message(message_id, session_id=session_id, prefer=prefer),
        )

    async def users(
        self,
        *,
        prefix: str | None = None,
        from_: Moment | None = None,
        to_: Moment | None = None,
        order: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> UserList:
        """Lists users, with counts. Writes of the last one or two seconds may be missing."""
        return await self._send(
            operations.users(
                prefix=prefix,
                from_=from_,
                to_=to_,
                order=order,
                limit=limit,
                cursor=cursor,
            ),
        )

    def iter_users(
        self,
        *,
        prefix: str | None = None,
        from_: Moment | None = None,
        to_: Moment | None = None,
        order: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[ListedUser]:
        """The items of all pages of `users`."""
        return self._pages(
            lambda cursor: operations.users(
                prefix=prefix,
                from_=from_,
                to_=to_,
                order=order,
                limit=limit,
                cursor=cursor,
            ),
            lambda page: page.users,
        )

    async def sessions(
        self,
        *,
        prefix: str | None = None,
        user_id: str | None = None,
        from_: Moment | None = None,
        to_: Moment | None = None,
        order: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SessionList:
        """Lists sessions, with counts. Writes of the last one or two seconds may be missing."""
        return await self._send(
            operations.sessions(
                prefix=prefix,
                user_id=user_id,
                from_=from_,
                to_=to_,
                order=order,
                limit=limit,
                cursor=cursor,
            ),
        )

    def iter_sessions(
        self,
        *,
        prefix: str | None = None,
        user_id: str | None = None,
        from_: Moment | None = None,
        to_: Moment | None = None,
        order: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[ListedSession]:
        """The items of all pages of `sessions`."""
        return self._pages(
            lambda cursor: operations.sessions(
                prefix=prefix,
                user_id=user_id,
                from_=from_,
                to_=to_,
                order=order,
                limit=limit,
                cursor=cursor,
            ),
            lambda page: page.sessions,
        )

    async def session(
        self,
        session_id: str,
        *,
        as_of: Moment | None = None,
    ) -> SessionDocument:
        """A session with its conversations, memory and context, now or as of a time."""
        return await self._send(operations.session(session_id, as_of=as_of))

    async def forget_session(
        self,
        session_id: str,
        *,
        prefer: str | None = None,
    ) -> Erasure:
        """Permanently deletes a session of all its users, and everything derived from it. Other
        sessions of its users stay, and their memory is rebuilt without this one. A request that was
        answered is completed, even if the server is killed. 202: the erasure is not finished;
        `Location` returns its status."""
        return await self._send(operations.forget_session(session_id, prefer=prefer))

    async def timeline(
        self,
        session_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Timeline:
        """The turns of a session in order, from the history."""
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
        """The session's document as server-sent events: once now, then on every change. With `Last-
        Event-ID` the first event is sent only if the document has changed since."""
        return self._stream(operations.events(session_id, last_event_id=last_event_id))

    async def task(self, task_id: str, *, session_id: str | None = None) -> TaskDocument:
        """A task: plan, recursions, tool results and status. The history is searched for it if
        `session_id` is omitted."""
        return await self._send(operations.task(task_id, session_id=session_id))

    async def user(self, user_id: str) -> UserDocument:
        """A user's profile, states, preferences and mood, now."""
        return await self._send(operations.user(user_id))

    async def forget_user(self, user_id: str, *, prefer: str | None = None) -> Erasure:
        """Permanently deletes a user from all tables, files and the search index, as `turnfold
        forget` does, without confirmation. A request that was answered is completed, even if the
        server is killed. 202: the erasure is not finished; `Location` returns its status."""
        return await self._send(operations.forget_user(user_id, prefer=prefer))

    async def states(
        self,
        user_id: str,
        *,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> States:
        """A user's states that were true at `as_of`, as known at `known_at`; both default to now.
        An unknown user has an empty list."""
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
    ) -> AsyncIterator[StateVersion]:
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
        """A user's mood, now or at a time. It fades between moments of affect."""
        return await self._send(operations.mood(user_id, at=at))

    async def why(
        self,
        state_id: str,
        *,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Why:
        """The revisions of a state, preference, session, session memory item, link or thread, each
        with the text of its evidence events. A cited turn without effect has no revisions."""
        return await self._send(operations.why(state_id, limit=limit, cursor=cursor))

    def iter_why(
        self,
        state_id: str,
        *,
        limit: int | None = None,
    ) -> AsyncIterator[RevisionWithEvidence]:
        """The items of all pages of `why`."""
        return self._pages(
            lambda cursor: operations.why(state_id, limit=limit, cursor=cursor),
            lambda page: page.revisions,
        )

    async def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        kind: str | None = None,
        from_: Moment | None = None,
        to_: Moment | None = None,
        as_of: Moment | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        neighbours: int | None = None,
        about: str | None = None,
    ) -> SearchPage:
        """Searches events, states, preferences and session memory, best hits first. `matches` are
        the matching parts of a hit's text, as [start, end) in characters."""
        return await self._send(
            operations.search(
                query=query,
                user_id=user_id,
                session_id=session_id,
                kind=kind,
                from_=from_,
                to_=to_,
                as_of=as_of,
                limit=limit,
                cursor=cursor,
                neighbours=neighbours,
                about=about,
            ),
        )

    def iter_search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        session_id: str | None = None,
        kind: str | None = None,
        from_: Moment | None = None,
        to_: Moment | None = None,
        as_of: Moment | None = None,
        limit: int | None = None,
        neighbours: int | None = None,
        about: str | None = None,
    ) -> AsyncIterator[SearchHit]:
        """The items of all pages of `search`."""
        return self._pages(
            lambda cursor: operations.search(
                query=query,
                user_id=user_id,
                session_id=session_id,
                kind=kind,
                from_=from_,
                to_=to_,
                as_of=as_of,
                limit=limit,
                cursor=cursor,
                neighbours=neighbours,
                about=about,
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

    async def dead_letter(self, letter_id: str) -> DeadLetterContent:
        """One dead letter with its content. Write a slash in its id as `%2F`."""
        return await self._send(operations.dead_letter(letter_id))

    async def session_messages(
        self,
        session_id: str,
        *,
        order: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> SessionMessages:
        """The messages of a session that were sent with `original`, word for word, in order of
        arrival. Every message that was answered with 200 is included; an unknown session has
        none."""
        return await self._send(
            operations.session_messages(session_id, order=order, limit=limit, cursor=cursor),
        )

    def iter_session_messages(
        self,
        session_id: str,
        *,
        order: str | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StoredMessage]:
        """The items of all pages of `session_messages`."""
        return self._pages(
            lambda cursor: operations.session_messages(
                session_id,
                order=order,
                limit=limit,
                cursor=cursor,
            ),
            lambda page: page.messages,
        )

    async def context(
        self,
        user_id: str,
        *,
        query: str | None = None,
        session_id: str | None = None,
        max_tokens: int | None = None,
        as_of: Moment | None = None,
        known_at: Moment | None = None,
        sections: str | None = None,
        format: str | None = None,
    ) -> ContextPack:
        """A context pack: the part of a user's memory that matters for the next answer, as text for
        a prompt. An unknown user has an empty pack."""
        return await self._send(
            operations.context(
                user_id,
                query=query,
                session_id=session_id,
                max_tokens=max_tokens,
                as_of=as_of,
                known_at=known_at,
                sections=sections,
                format=format,
            ),
        )

    def export_user(self, user_id: str) -> AsyncIterator[bytes]:
        """Exports all data of a user (JSON Lines). `turnfold import turnfold` imports it on another
        server; the last line has the kind `end`."""
        return self._lines(operations.export_user(user_id))

    async def correct_state(
        self,
        state_id: str,
        body: StateCorrection,
        *,
        user_id: str | None = None,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> State | Accepted:
        """Corrects a state. Omitted fields stay unchanged; another `valid_from` starts a new
        version. Returns the state once the correction has been applied."""
        return await self._send(
            operations.correct_state(
                state_id,
                body,
                user_id=user_id,
                prefer=prefer,
                idempotency_key=idempotency_key,
            ),
        )

    async def end_state(
        self,
        state_id: str,
        reason: str,
        *,
        at: Moment | None = None,
        user_id: str | None = None,
        prefer: str | None = None,
    ) -> State | Accepted:
        """Ends a state: it was true until `at`. Its text stays in the history. Returns the state
        once the end has been applied; an ended state is unchanged."""
        return await self._send(
            operations.end_state(state_id, reason=reason, at=at, user_id=user_id, prefer=prefer),
        )

    async def correct_preference(
        self,
        preference_id: str,
        body: PreferenceCorrection,
        *,
        user_id: str | None = None,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> Preference | Accepted:
        """Corrects and confirms a preference. Omitted fields stay unchanged. A different `subject`,
        `polarity` or `domain` ends it and creates another preference. Returns the resulting
        preference once the correction has been applied."""
        return await self._send(
            operations.correct_preference(
                preference_id,
                body,
                user_id=user_id,
                prefer=prefer,
                idempotency_key=idempotency_key,
            ),
        )

    async def end_preference(
        self,
        preference_id: str,
        reason: str,
        *,
        user_id: str | None = None,
        prefer: str | None = None,
    ) -> Preference | Accepted:
        """Ends (revokes) a preference. Its messages stay in the history. Returns the preference
        once the end has been applied; an ended preference is unchanged."""
        return await self._send(
            operations.end_preference(preference_id, reason=reason, user_id=user_id, prefer=prefer),
        )

    async def forget_turn(
        self,
        session_id: str,
        event_id: str,
        *,
        prefer: str | None = None,
    ) -> Erasure:
        """Permanently deletes a turn of a session: message, answer, task steps, and everything
        derived from it. Memory of the session and its users is rebuilt without the turn. A request
        that was answered is completed, even if the server is killed. 202: the erasure is not
        finished; `Location` returns its status."""
        return await self._send(operations.forget_turn(session_id, event_id, prefer=prefer))

    async def erasure(self, erasure_id: str) -> Erasure:
        """An erasure: its status, and its receipt, which names no user, session or turn."""
        return await self._send(operations.erasure(erasure_id))

    async def healthz(self) -> Health:
        """Liveness, and the generation that answers."""
        return await self._send(operations.healthz())

    async def readyz(self) -> Ready:
        """Current readiness; during a restore also its progress."""
        return await self._send(operations.readyz())
