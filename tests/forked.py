"""A process that has loaded the command line, and forks for each call of it.

A call is a process like any other, with its own exit code, signals, environment, folder and files.
Only the second of CPU that Python takes to start and to load libraries is spent once per test
process instead of once per call.
"""

import atexit
import gc
import json
import os
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, NoReturn

FILES = (
    "duckdb", "pyarrow.compute", "pyarrow.parquet", "deltalake", "rocksdict", "rich.console",
    "rich.table", "sinks.digest", "streams.files.local",
)  # fmt: skip
GENERATIONS = (
    "streams.generations.folding", "streams.generations.rebuild", "streams.generations.switching",
)  # fmt: skip
KAFKA = ("streams.kafka.transport.app", "streams.apps.worker", "streams.kafka.sink.sink")
LLM = ("streams.llm.files", "httpx", "tenacity")
SEARCH = ("streams.search.answer", "streams.context.gather", "streams.context.pack")
SERVE = ("streams.serving.http.serve", "streams.serving.http.local")
NEEDED = {
    "backfill": GENERATIONS, "context": SEARCH, "config": (*KAFKA, *LLM, *SERVE),
    "demo": ("streams.apps.demo", *SERVE), "dev": KAFKA, "diff": GENERATIONS, "dlq": KAFKA,
    "doctor": (*KAFKA, *LLM, *SERVE),
    "extract": LLM, "forget": ("streams.apps.maintenance",), "lag": KAFKA,
    "map": ("streams.mapping.mapper",), "mcp": ("mcp",), "produce": KAFKA,
    "promote": GENERATIONS, "repartition": KAFKA, "reset": KAFKA, "rollback": GENERATIONS,
    "schema": ("streams.asyncapi",), "search": SEARCH, "serve": (*SERVE, *LLM), "sink": KAFKA,
    "topics": KAFKA, "topology": ("streams.topology_render",), "worker": KAFKA,
}  # fmt: skip
"""What a command loads beside FILES: loaded before its first call. It saves time and nothing else.
None of these starts a thread that takes locks of ours, or keeps what the environment has, but for
the variables of `AT_START`."""
AT_START = (
    "AIO", "F_", "FAUST", "LANG", "LC_", "LD_", "MALLOC_", "OTEL_", "PROMETHEUS", "PYTHON", "RUST",
    "SSL", "TZ",
)  # fmt: skip
"""Beginnings of variables that Python or a library reads only once."""
LARGEST = 100_000
"""Bytes of a request. The kernel's limit is 200 KB."""


class Started(subprocess.Popen[bytes]):
    """A call that may still run, with the methods of a Popen: it is the child of the server."""

    def __init__(self, args: list[str], status: socket.socket, pipes: list[BinaryIO | None]):
        self.args = args
        self.stdin = None
        self.stdout, self.stderr = pipes
        self.returncode: Any = None
        self.pid = int(status.recv(100))
        self._status = status
        self._one_looks = threading.Lock()
        self._output: dict[Any, list[bytes]] = {pipe: [] for pipe in pipes if pipe}

    def poll(self) -> int | None:
        with self._one_looks:
            if self.returncode is None and self._has_ended(0):
                code, seconds = self._status.recv(100).split()
                self._status.close()
                Server.seconds += float(seconds)
                self.returncode = int(code)
            return self.returncode  # type: ignore[no-any-return]

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None and not self._has_ended(timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        code = self.poll()
        assert code is not None
        return code

    def _has_ended(self, timeout: float | None) -> bool:
        waiting = select.poll()
        waiting.register(self._status, select.POLLIN)
        return bool(waiting.poll(None if timeout is None else timeout * 1000))

    def communicate(self, input: bytes | None = None, timeout: float | None = None) -> Any:
        end = None if timeout is None else time.monotonic() + timeout
        with selectors.DefaultSelector() as events:
            for pipe in self._output:
                if not pipe.closed:
                    events.register(pipe, selectors.EVENT_READ)
            while events.get_map():
                ready = events.select(end and max(0, end - time.monotonic()))
                if not ready:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                for key, _ in ready:
                    if content := os.read(key.fd, 1 << 16):
                        self._output[key.fileobj].append(content)
                    else:
                        events.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]
        self.wait(end and max(0, end - time.monotonic()))
        return tuple(
            b"".join(self._output[pipe]) if pipe else None for pipe in (self.stdout, self.stderr)
        )


class Server:
    """The process that forks."""

    seconds = 0.0
    """CPU of all calls that ended: RUSAGE_CHILDREN of the test process does not have it."""

    def __init__(self, program: str, environment: dict[str, str]) -> None:
        self._program = program
        self._environment = environment
        self._calls, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            code = f"from tests.forked import serve; serve({theirs.fileno()})"
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                cwd=Path(__file__).parents[1],
                env=environment,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the test
            )
        atexit.register(self._end)

    def _end(self) -> None:
        self._calls.close()
        self._process.wait()

    def start(
        self, args: list[str], environment: dict[str, str], folder: str, out: Any, err: Any
    ) -> Started | None:
        """`out` and `err` as Popen takes them. None where only a process of its own is the same: a
        library that was loaded with that environment would differ."""
        changed = dict(environment.items() ^ self._environment.items())
        words = [self._program, *args]
        request = json.dumps([words, environment, folder]).encode()
        if len(request) > LARGEST or any(name.startswith(AT_START) for name in changed):
            return None
        with ExitStack() as stack:
            pipes: list[BinaryIO | None] = []
            handles = [stack.enter_context(Path(os.devnull).open("r+b")).fileno()]
            for given in (out, err):
                pipe = None
                if given == subprocess.PIPE:
                    reading, writing = os.pipe()
                    pipe = open(reading, "rb")  # noqa: SIM115, PTH123
                    stack.callback(os.close, writing)
                    handles.append(writing)
                elif given == subprocess.DEVNULL:
                    handles.append(handles[0])
                elif given == subprocess.STDOUT:
                    handles.append(handles[1])
                else:
                    handles.append(given if isinstance(given, int) else given.fileno())
                pipes.append(pipe)
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            stack.enter_context(theirs)
            socket.send_fds(self._calls, [request], [*handles, theirs.fileno()])
        return Started(words, ours, pipes)


class Call(NamedTuple):
    """A call that runs, as the server keeps it."""

    pid: int
    ended: int
    status: socket.socket

    def report(self) -> None:
        """Its exit code and its CPU seconds, to the test process."""
        _, status, usage = os.wait4(self.pid, 0)
        seconds = usage.ru_utime + usage.ru_stime
        with suppress(OSError):  # the test does not wait for it
            self.status.send(f"{os.waitstatus_to_exitcode(status)} {seconds}".encode())
        self.status.close()
        os.close(self.ended)


def serve(number: int) -> NoReturn:
    """Forks for each request until the test process has gone."""
    from streams.cli import COMMANDS

    _load(*FILES, *(f"streams.commands.{place.partition(':')[0]}" for place in COMMANDS.values()))
    requests = socket.socket(fileno=number)
    calls: dict[int, Call] = {}
    waiting = select.poll()
    waiting.register(requests, select.POLLIN)
    while True:
        for handle, _ in waiting.poll():
            if handle in calls:
                waiting.unregister(handle)
                calls.pop(handle).report()
                continue
            request, handles, _, _ = socket.recv_fds(requests, 2 * LARGEST, 4)
            if not request:
                os._exit(0)
            others = [call.status for call in calls.values()]
            call = _fork(json.loads(request), handles, [requests, *others])
            waiting.register(call.ended, select.POLLIN)
            calls[call.ended] = call


def _fork(request: list[Any], handles: list[int], ours: list[socket.socket]) -> Call:
    words, environment, folder = request
    _load(*NEEDED.get(next(iter(words[1:]), ""), ()))
    *standard, status = handles
    pid = os.fork()
    if not pid:
        for one in ours:
            one.close()
        os.close(status)
        _become(words, environment, folder, standard)
    for handle in standard:
        os.close(handle)
    call = Call(pid, os.pidfd_open(pid), socket.socket(fileno=status))
    call.status.send(str(pid).encode())
    return call


def _load(*names: str) -> None:
    if names := tuple(name for name in names if name not in sys.modules):
        for name in names:
            import_module(name)
        gc.collect()
        gc.freeze()  # the collector would touch, and so copy, all of it in each call


def _become(
    words: list[str], environment: dict[str, str], folder: str, standard: list[int]
) -> NoReturn:
    """The command, in the new process, as the script `turnfold` runs it."""
    code = 1
    try:
        for number, handle in enumerate(standard):
            os.dup2(handle, number)
        for handle in standard:
            os.close(handle)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _open_standard_streams()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = words
        sys.path[0] = str(Path(words[0]).parent)
        code = _main()
        threading._shutdown()  # type: ignore[attr-defined]  # as Python ends: threads, then these
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if not stream.closed:
                stream.flush()
    finally:
        os._exit(code)


def _open_standard_streams() -> None:
    """As Python opens them when it starts: the server's know whether its own can be sought in."""
    encoding, anyhow = sys.stdout.encoding, sys.stdout.errors
    sys.stdin = open(0, encoding=encoding, errors=anyhow, closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding=encoding, errors=anyhow, closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", 1, encoding=encoding, errors="backslashreplace", closefd=False
    )


def _main() -> int:
    from streams.cli import main

    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except BaseException:
        traceback.print_exc()
        return 1
    return 0
