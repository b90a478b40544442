"""The process of `turnfold serve`: backend, port, shutdown."""

import asyncio
import errno
import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from sinks.history_root import check_root, is_marked, is_shared
from sinks.locations import Location
from streams import event_loop, gc_policy
from streams.apps.metric_samples import of_model, of_process
from streams.apps.metrics_registry import collected
from streams.context.tokenizer import tokenizer
from streams.errors import ConfigurationError, TurnfoldError, UsageError
from streams.extractors.registry import MODEL
from streams.files.extractor_choice import asks_model
from streams.observability.readiness import Readiness
from streams.pipeline.interfaces import StoreError
from streams.pipeline.retention import retention_of
from streams.search.vector_search import embedder
from streams.serving.backends.backend import Backend
from streams.serving.flow import gauges
from streams.serving.http.app import create_app
from streams.serving.http.connection import UVICORN, HttpConnection, raise_file_limit
from streams.serving.http.keys import Keys
from streams.serving.http.settings import ServeSettings

if TYPE_CHECKING:
    from streams.llm.settings import LlmSettings

BACKLOG = 4096
SWITCH_SECONDS = 0.0005
"""A thread that wants to run waits so long for the one that does: Python's 5 ms would be felt in
each answer, and the folding is as fast so."""
END_WITHIN = 10
"""Seconds that requests under way may take, once the server is to end."""

Beside = Callable[[Callable[[], Readiness]], AbstractAsyncContextManager[None]]
Entered = AbstractAsyncContextManager[Backend]


def serve(
    settings: ServeSettings,
    history: Location | None,
    bootstrap: str | None,
    beside: Beside,
    say: Callable[[str, str | None], None],
) -> None:
    """Serves until SIGTERM or SIGINT, then completes requests in progress; posted records are
    committed.

    `say` receives the URL and the extractor of a writing server once it answers. `beside`: a second
    port that runs as long. Raises ConfigurationError, UsageError, Unreachable; TurnfoldError if the
    backend has failed and a supervisor should restart it.
    """
    tokenizer()  # reports an invalid one now
    if (embeds := embedder()) is not None:
        embeds.begin()
    keys = Keys(settings.keys) if settings.keys else None  # before a history is created
    backend = backend_of(settings, history, bootstrap)
    raise_file_limit()
    sys.setswitchinterval(SWITCH_SECONDS)
    with _listening(settings.host, settings.port) as listening:
        event_loop.run(
            _serve(settings, backend, keys, listening, beside, say), loop_factory=_loop_factory()
        )


def backend_of(settings: ServeSettings, history: Location | None, bootstrap: str | None) -> Entered:
    """The backend, not entered yet: Kafka's with a broker, otherwise a history's."""
    if bootstrap is not None:
        from streams.kafka.client.settings import KafkaSettings
        from streams.serving.backends.replica import ReplicaBackend
        from streams.serving.backends.replica_disk import DiskStore

        kafka = KafkaSettings.load(bootstrap=bootstrap)
        store = None if settings.data is None else DiskStore(settings.data)
        return ReplicaBackend(kafka, settings.app_id, history, store)
    if settings.data is not None:
        raise UsageError(
            "--store rocksdb is for --bootstrap: a history has its rows on disk without it"
        )
    if history is None:
        raise UsageError("give --history DIR to serve a history, or --bootstrap to serve Kafka's")
    root = check_root(history)
    if is_marked(root) and (is_shared(root) or not isinstance(root, Path)):
        from streams.serving.backends.readonly import HistoryBackend

        return HistoryBackend(root)
    if not isinstance(root, Path):
        raise ConfigurationError(
            f"{root}: there is no history; `serve` writes into folders alone, and reads in an "
            "object store what sinks write, or a copy of a folder (docs/object-stores.md)"
        )
    from streams.serving.backends.embedded import EmbeddedBackend

    retention = retention_of(settings.retention_days)
    return EmbeddedBackend(root, settings.extractor, retention, _model(settings.extractor, root))


def _model(choice: str | None, root: Path) -> "LlmSettings | None":
    """Settings of the model, if it was chosen now or before.

    Raises ConfigurationError if they are wrong; if they are missing, only if the model was chosen
    now: an existing server continues to answer.
    """
    try:
        chosen = choice == MODEL or (choice is None and is_marked(root) and asks_model(root))
        if chosen:
            from streams.llm.settings import LlmSettings

            return LlmSettings.load()
    except ModuleNotFoundError:
        if choice == MODEL:
            raise
    except ConfigurationError:
        if choice == MODEL or os.environ.keys() & {"TURNFOLD_LLM_BASE_URL", "OPENAI_API_KEY"}:
            raise
    return None


async def _serve(
    settings: ServeSettings,
    entered: Entered,
    keys: Keys | None,
    listening: socket.socket,
    beside: Beside,
    say: Callable[[str, str | None], None],
) -> None:
    async with entered as backend, beside(backend.readiness), AsyncExitStack() as observing:
        observing.enter_context(collected(lambda: of_process(backend.readiness())))
        if backend.kafka is not None:
            await observing.enter_async_context(
                gauges.group_lag(backend.kafka, settings.app_id, backend)
            )
        if backend.history is not None:
            await observing.enter_async_context(gauges.unsettled_letters(backend.history))
        app = create_app(backend, keys, settings)
        gc_policy.set_for_server()
        server = _Server(
            uvicorn.Config(
                app, http=HttpConnection, timeout_graceful_shutdown=END_WITHIN, **UVICORN
            ),
            lambda: say(_url(listening), backend.extractor),
        )

        def end() -> None:
            server.should_exit = True
            app.state.serving.close_streams()

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end)
        failing = loop.create_task(backend.failed())
        failing.add_done_callback(lambda _: end())
        if model := backend.model:
            observing.enter_context(collected(lambda: of_model(model.driver)))
        await server._serve([listening])  # `serve` would raise the signals once more
        if failing.done():
            if isinstance(failing.result(), ConfigurationError | StoreError):
                raise failing.result()
            why = type(failing.result()).__name__  # its words may quote a record
            raise TurnfoldError(f"serve has failed: {why}; its log says where: start it again")
        failing.cancel()


class _Server(uvicorn.Server):
    """Calls `ready` once it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host.strip("[]"), port), family=family, backlog=BACKLOG)
    except OSError as error:
        advice = "give another --port, 0 for any that is free"
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            advice = "--host is an address or a name of this machine"
        raise ConfigurationError(f"{host}:{port}: {error.strerror or error}; {advice}") from None


def _url(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ModuleNotFoundError:  # Windows has none
        return None
    return uvloop.new_event_loop
