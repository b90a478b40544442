"""`turnfold kafka worker` that sends itself SIGKILL when its lanes pass a point for the n-th time.

python -m tests.fault.doomed_worker --bootstrap HOST:PORT --instance a --die committed
"""

import argparse
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from streams.apps.worker import make_app, prepare
from streams.apps.worker_settings import WorkerSettings
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.transport.run import run
from streams.observability import logs
from streams.pipeline import row_formats
from tests.kafka.counting_worker import Death


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--instance")
    parser.add_argument("--die", required=True)
    parser.add_argument("--after", type=int, default=1)
    parser.add_argument("--entities", type=int, help="of one step of an upgrade")
    given = parser.parse_args()
    logs.log_to_stderr()
    if given.entities:
        row_formats.ENTITIES = given.entities
    kafka = KafkaSettings.load(bootstrap=given.bootstrap)
    worker = WorkerSettings.load(instance=given.instance, max_records=500)
    prepare(kafka, worker)
    app = make_app(kafka, worker, Path(tempfile.mkdtemp()))
    app.lanes.settings = replace(app.lanes.settings, observe=Death(given.die, given.after))
    return run(app)


if __name__ == "__main__":
    sys.exit(main())
