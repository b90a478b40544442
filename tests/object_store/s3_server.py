"""A real S3 server on the loopback: S3Proxy, from Maven Central, over a temporary folder.

    with S3Server.start(folder) as server:
        os.environ.update(server.environ())

Its jars are listed with their checksums beside this file, written by scripts/s3proxy-jars.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import pytest

from streams.broker import jars, java, ports
from streams.broker.config import HOST
from streams.broker.java import archive_flags
from tests.java_server import JavaServer

JARS = Path(__file__).parent / "s3proxy-4.1.0.sha256"
KEY, SECRET = "TURNFOLDTESTKEY00001", "turnfold-test-secret"
BUCKET = "memory"
LOGGING = """
<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender">
<encoder><pattern>%d %-5level %logger{20} %msg%n</pattern></encoder></appender>
<root level="warn"><appender-ref ref="out"/></root></configuration>
"""
NAMES = (
    "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ALLOW_HTTP", "AWS_REGION",
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_EC2_METADATA_DISABLED",
)  # fmt: skip


class S3Server(JavaServer):
    """One running server; `folder` has a folder for each bucket."""

    name = "S3Proxy"
    errors_are_answers = True
    folder: Path
    port: int

    @classmethod
    def start(cls, folder: Path, say: Callable[[str], None] = lambda _: None) -> Self:
        """A server that answers, with the bucket BUCKET. The first one of a machine archives its
        classes, which halves what the later ones take to start."""
        runtime, classpath = java.find(), jars.classpath(say, JARS)

        def train(flag: str) -> None:
            with TemporaryDirectory(prefix="s3proxy-") as temporary:
                cls._started(Path(temporary), [str(runtime), flag, "-cp", classpath]).stop(60.0)

        flags = archive_flags(runtime, classpath, train, JARS)
        return cls._started(folder, [str(runtime), *flags, "-cp", classpath])

    @classmethod
    def _started(cls, folder: Path, program: list[str]) -> Self:
        buckets = folder / "buckets"
        (buckets / BUCKET).mkdir(parents=True)
        (port,) = ports.free(1)
        url = f"http://{HOST}:{port}"
        settings = {
            "s3proxy.endpoint": url,
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": KEY,
            "s3proxy.credential": SECRET,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(buckets),
        }
        properties, logging = folder / "s3proxy.properties", folder / "logback.xml"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        logging.write_text(LOGGING)
        command = [
            *program, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            f"-Dlogback.configurationFile={logging}",
            "org.gaul.s3proxy.Main", "--properties", str(properties),
        ]  # fmt: skip
        server = cls(command, folder / "s3proxy.log", url, f"{url}/")
        server.folder, server.port = buckets, port
        return server

    def environ(self, port: int | None = None) -> dict[str, str]:
        """What a client needs, as an operator sets it; `port`: of a proxy in front."""
        return {
            "AWS_ENDPOINT_URL_S3": f"http://{HOST}:{port or self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def place(self, prefix: str) -> str:
        """A history's URL in the bucket."""
        return f"s3://{BUCKET}/{prefix}"

    @contextmanager
    def reached(self) -> Iterator[None]:
        """This process's environment is that of an operator, for a while."""
        with pytest.MonkeyPatch.context() as patch:
            for name in NAMES:
                patch.delenv(name, raising=False)
            for name, value in self.environ().items():
                patch.setenv(name, value)
            yield

    def lies_at(self, prefix: str) -> Path:
        """Where the objects below a prefix lie on disk."""
        return self.folder / BUCKET / prefix

    def copy(self, source: str, target: str) -> None:
        """The same objects below another prefix."""
        shutil.copytree(self.lies_at(source), self.lies_at(target))

    def objects(self, prefix: str) -> list[str]:
        """The keys below a prefix, as they lie on disk."""
        files = (path for path in self.lies_at(prefix).rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.folder / BUCKET)) for path in files)
