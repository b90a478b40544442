"""Origin of messages that propagates a trace."""

from typing import Any

from streams.kafka.agents.encoding import Origin
from streams.observability.traces import carried_by, outgoing, trace_id


class TracedOrigin(Origin):
    """Propagates its message's trace: from the batch's span if that is of the same trace, otherwise
    unchanged."""

    __slots__ = ()

    def __init__(self, message: Any, tenant: str, recorded_at: int) -> None:
        super().__init__(message, tenant, recorded_at)
        carried = carried_by(message)
        if carried:
            span_headers = tuple(outgoing())
            is_same_trace = span_headers and trace_id(dict(span_headers)) == trace_id(dict(carried))
            self._headers = (*self._headers, *(span_headers if is_same_trace else carried))
