"""All endpoints of the API, in the order of the OpenAPI document."""

from streams.serving.http import (
    routes_archive,
    routes_context,
    routes_corrections,
    routes_erasure,
    routes_extract,
    routes_health,
    routes_lists,
    routes_memory,
    routes_message_deletion,
    routes_messages,
    routes_reading,
    routes_records,
    routes_session_messages,
)
from streams.serving.http.route import Route

ENDPOINTS: tuple[Route, ...] = tuple(
    route
    for module in (
        routes_memory, routes_records, routes_messages, routes_extract, routes_message_deletion,
        routes_lists, routes_reading, routes_session_messages, routes_context, routes_archive,
        routes_corrections, routes_erasure, routes_health,
    )
    for route in module.api.routes
)  # fmt: skip
