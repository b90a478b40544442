"""The origin of messages that pass a trace on."""

from typing import Any

from streams.kafka.agents.encoding import Origin
from streams.observing.traces import carried_by, outgoing, trace_id


class TracedOrigin(Origin):
    """Passes the trace of its record on to its messages: as of the batch's span where that is of
    the same trace, else as it came."""

    __slots__ = ()

    def __init__(self, record: Any, tenant: str, recorded_at: int) -> None:
        super().__init__(record, tenant, recorded_at)
        carried = carried_by(record)
        if carried:
            ours = tuple(outgoing())
            is_ours = ours and trace_id(dict(ours)) == trace_id(dict(carried))
            self._headers = (*self._headers, *(ours if is_ours else carried))
