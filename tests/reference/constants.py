"""The numbers and texts of the rules, at their defaults."""

from uuid import UUID

MAX_CONVERSATIONS = 20  # newest conversations a session shows
MAX_INTENTS = 10  # recent intents of a session's context
MAX_EVIDENCE = 20  # newest turns that an item of memory names
# different turns that make memory of what none of them stated; other types have to be stated
SHOWINGS_NEEDED = {"preference": 3, "background": 3, "capability_assumption": 1}
DEFAULT_LIMIT = 10  # iterations of a task that gives no `max_iteration`
MAX_PLAN_STEPS = 100
MAX_SHORT_TERM = 50
STALLED_AFTER = 3  # equal recursions in a row
STEP_ERRORS = 3  # errors in a row that fail a step
CLOSED_REASON = "closed by the turn"
LIMIT_ERROR = "max_iteration reached"
MEMORY_IDS = UUID("6f0d5f5e-3a55-5d6b-9b5c-0c9f0b7f3e21")  # namespace of ids made from content
