"""TLS files of Kafka clients are followed: real certificates, real connections over loopback."""

import asyncio
import logging
import os
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import uvloop

from streams.errors import ConfigurationError
from streams.kafka.client.settings import KafkaSettings

CLOSED = "closed"
CHAIN = "-----BEGIN CERTIFICATE"


class Made(NamedTuple):
    """What one authority has signed, as texts of PEM files."""

    authority: str
    server: str
    first: str
    second: str


def _pem(folder: Path, name: str, *options: str) -> str:
    key, pem = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "1", "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(pem),
         *options],
        check=True, capture_output=True,
    )  # fmt: skip
    return (key.read_text() if options else "") + pem.read_text()


def _made(folder: Path) -> Made:
    authority = _pem(folder, "authority")
    signed = ("-CA", str(folder / "authority.pem"), "-CAkey", str(folder / "authority.key"))
    server = _pem(folder, "server", *signed, "-addext", "subjectAltName=IP:127.0.0.1")
    return Made(authority, server, *(_pem(folder, name, *signed) for name in ("first", "second")))


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return _made(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="session")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return _made(tmp_path_factory.mktemp("theirs"))


class Open(NamedTuple):
    """A connection of a client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def name(self) -> str:
        """The name in the certificate that the server has of this client."""
        try:
            self.writer.write(b"\n")
            return (await self.reader.readline()).decode().strip() or CLOSED
        except OSError:
            return CLOSED


class Clients:
    """Connects as a Kafka client does, each time with the settings' context."""

    def __init__(self, address: tuple[str, int], settings: KafkaSettings) -> None:
        self.address, self.settings = address, settings
        self.context = settings.auth()["ssl_context"]
        self._open: list[Open] = []

    async def open(self) -> Open:
        made = Open(*await asyncio.open_connection(*self.address, ssl=self.context))
        self._open.append(made)
        return made

    async def close(self) -> None:
        for one in self._open:
            one.writer.close()
            with suppress(OSError):
                await one.writer.wait_closed()

    async def name(self) -> str:
        """The name that a new connection has."""
        try:
            return await (await self.open()).name()
        except OSError:
            return CLOSED


@asynccontextmanager
async def clients_of(folder: Path, made: Made) -> AsyncIterator[Clients]:
    """Clients with the first certificate, of a server that trusts one authority."""
    for name in ("authority", "server", "first"):
        (folder / f"{name}.pem").write_text(getattr(made, name))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=folder / "authority.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(folder / "server.pem")
    (folder / "client.pem").symlink_to("first.pem")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError):
            while await reader.readline():
                subject = writer.get_extra_info("peercert")["subject"]
                writer.write(dict(pair for (pair,) in subject)["commonName"].encode() + b"\n")

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    settings = KafkaSettings(
        security_protocol="SSL", tls_ca=folder / "authority.pem",
        tls_certificate=folder / "client.pem",
    )  # fmt: skip
    clients = Clients(server.sockets[0].getsockname(), settings)
    try:
        yield clients
    finally:
        await clients.close()
        server.close()


def rewritten(file: Path, content: str) -> None:
    """As an editor does it."""
    file.resolve().write_text(content)


def replaced(file: Path, content: str) -> None:
    """As most programs do it that renew certificates."""
    new = file.with_name("new.pem")
    new.write_text(content)
    new.replace(file)


def linked(file: Path, content: str) -> None:
    """As Kubernetes does it with a secret."""
    new = file.with_name("other.pem")
    new.write_text(content)
    link = file.with_name("link")
    link.symlink_to(new.name)
    link.replace(file)


def kept_time(file: Path, content: str) -> None:
    """As a copy does that keeps the time of its source."""
    before = file.stat()
    replaced(file, content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [
    asyncio.new_event_loop,
    uvloop.new_event_loop,
]


def run(coroutine: Any, loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(coroutine, 60))


@pytest.mark.parametrize(
    ("renew", "loop"),
    [(rewritten, LOOPS[0]), (replaced, LOOPS[1]), (linked, LOOPS[0]), (kept_time, LOOPS[1])],
)
def test_a_new_connection_has_the_renewed_certificate_and_an_open_one_keeps_its_own(
    tmp_path: Path, ours: Made, renew: Callable[[Path, str], None],
    loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:  # fmt: skip
    async def scene() -> None:
        async with clients_of(tmp_path, ours) as clients:
            before = await clients.open()
            assert await before.name() == "first"
            renew(tmp_path / "client.pem", ours.second)
            assert await clients.name() == "second"
            assert await before.name() == "first"

    run(scene(), loop)


def as_a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


BROKEN: dict[str, Callable[[Path, Made, Made], None]] = {
    "removed": lambda file, ours, theirs: file.unlink(),
    "empty": lambda file, ours, theirs: replaced(file, ""),
    "cut": lambda file, ours, theirs: replaced(file, ours.second[:-200]),
    "no PEM": lambda file, ours, theirs: replaced(file, "renewed soon"),
    "no key": lambda file, ours, theirs: replaced(file, ours.authority),
    "another's key": lambda file, ours, theirs: replaced(
        file, "".join([*theirs.second.partition(CHAIN)[:1], *ours.first.partition(CHAIN)[1:]])
    ),
    "a folder": lambda file, ours, theirs: as_a_folder(file),
}  # fmt: skip


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_file_keeps_the_certificate_of_before_and_is_reported_once(
    tmp_path: Path, ours: Made, theirs: Made, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        file = tmp_path / "client.pem"
        async with clients_of(tmp_path, ours) as clients:
            before = await clients.open()
            assert await clients.name() == "first"
            BROKEN[broken](file, ours, theirs)
            with caplog.at_level(logging.WARNING, "streams.kafka.client.tls"):
                assert [await clients.name() for _ in range(3)] == ["first"] * 3
                clients.context = clients.settings.auth()["ssl_context"]
                assert await clients.name() == "first", "a client that is made now"
            (message,) = caplog.messages
            assert message.startswith(f"TURNFOLD_KAFKA_TLS_CERTIFICATE: {file} cannot be used: ")
            if file.is_dir():
                file.rmdir()
            replaced(file, ours.second)
            assert await clients.name() == "second"
            assert await before.name() == "first"

    run(scene(), asyncio.new_event_loop)


def test_a_new_authority_is_trusted_in_place_of_the_old_one(
    tmp_path: Path, ours: Made, theirs: Made
) -> None:
    async def scene() -> None:
        file = tmp_path / "authority.pem"
        async with clients_of(tmp_path, ours) as clients:
            before = await clients.open()
            replaced(file, theirs.authority)
            assert await clients.name() == CLOSED
            assert await before.name() == "first"
            replaced(file, theirs.authority + ours.authority)
            assert await clients.name() == "first"

    run(scene(), asyncio.new_event_loop)


def test_a_file_that_is_broken_at_the_start_is_refused(tmp_path: Path, ours: Made) -> None:
    settings = KafkaSettings(security_protocol="SSL", tls_ca=tmp_path / "authority.pem")
    with pytest.raises(ConfigurationError, match=r"TURNFOLD_KAFKA_TLS_CA: .* cannot be used"):
        settings.auth()
    (tmp_path / "authority.pem").write_text(ours.authority)
    assert settings.auth()["ssl_context"]
