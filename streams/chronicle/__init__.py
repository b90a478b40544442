"""What became of a session and of a person, for a reader who looks back: turns with what each of
them changed, tasks, what was held and what has ended, moments of affect, levels of mastery.

Every question has two clocks, in microseconds since 1970-01-01 UTC: `as_of`, when something was
true, and `known_at`, by when it was recorded. An owner's rows are read once and put in the order of
time (`sinks.kept`), so that a question is a bisection. Answers are plain JSON-ready values.
"""
