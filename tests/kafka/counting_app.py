"""The counting app as a module, for Faust's own command line: `faust -A tests.kafka.counting_app`.

COUNTING_BOOTSTRAP and COUNTING_GROUP say where.
"""

import os
import tempfile
from pathlib import Path

from streams.kafka.transport.app import App
from tests.kafka.counting_worker import plan

group = os.environ["COUNTING_GROUP"]
app = App(
    group,
    [plan(group)],
    bootstrap=os.environ["COUNTING_BOOTSTRAP"],
    datadir=Path(tempfile.gettempdir()) / f"counting-app-{os.getpid()}",
)
