"""Definitions of all metrics: name, kind, labels, unit and meaning (docs/metrics.md).

Labels are bounded by configuration (agents, partitions, topics) or by code (endings, reasons,
route templates): never an id, a tenant or a text.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import Literal, NamedTuple

Kind = Literal["counter", "gauge", "histogram"]
Part = Literal["process", "worker", "sink", "extract", "serve"]

LANE = ("agent", "partition")
UPTO_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
UPTO_MINUTES = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metric(NamedTuple):
    """A metric family. `part`: the process that exports it; `process`: all. `buckets`: upper bounds
    of a histogram."""

    name: str
    kind: Kind
    part: Part
    labels: Sequence[str]
    unit: str
    about: str
    buckets: Sequence[float] = ()


# --- every process --------------------------------------------------------------------------------

READY = Metric("turnfold_ready", "gauge", "process", (), "0 or 1", "1 if /readyz is 200.")
SUCCESS_AGE = Metric(
    "turnfold_success_age_seconds", "gauge", "process", ("act",), "seconds",
    "Time since the last success of a repeated act: fetch, commit or write; of the partition that "
    "has waited longest. A process that fetches nothing: since its last heartbeat was answered. "
    "Commit and write: 0 while there is nothing to do.",
)  # fmt: skip

# --- worker: committed transactions, from the lanes' markers --------------------------------------
# These counters survive a reassignment of the lane: they count since the creation of the topics.

RECORDS_READ = Metric(
    "turnfold_records_read_total", "counter", "worker", LANE, "records",
    "Input records read; the sum of all outcomes.",
)  # fmt: skip
RECORDS = Metric(
    "turnfold_records_total", "counter", "worker", (*LANE, "ending"), "records",
    "Input records by outcome: applied, duplicate, dead or withheld. Events of a mapping (agents "
    "mapping-TOPIC) are mapped, skipped, dead or withheld.",
)  # fmt: skip
DEAD_LETTERS = Metric(
    "turnfold_dead_letters_total", "counter", "worker", (*LANE, "reason"), "records",
    "Dead letters by reason, including those of user signals.",
)  # fmt: skip
HOPS = Metric(
    "turnfold_hops_total", "counter", "worker", (*LANE, "ending"), "messages",
    "User signals between the agents: folded, repeated, dead, or left_out by a generation.",
)  # fmt: skip
PLANS_EXTRACTED = Metric(
    "turnfold_plans_extracted_total", "counter", "worker", LANE, "plans",
    "Write plans that rules made from turns.",
)  # fmt: skip
SESSIONS_COOLED = Metric(
    "turnfold_sessions_cooled_total", "counter", "worker", LANE, "sessions",
    "Sessions past their retention whose rows were compressed into one.",
)  # fmt: skip
WARNINGS = Metric(
    "turnfold_warnings_total", "counter", "worker", (*LANE, "kind"), "warnings",
    "Records applied with a loss: a full list, or a reference to an unknown id.",
)  # fmt: skip

# --- worker: this process -------------------------------------------------------------------------

TRANSACTIONS = Metric(
    "turnfold_transactions_total", "counter", "worker", LANE, "transactions",
    "Committed batches, one Kafka transaction each.",
)  # fmt: skip
TRANSACTION_SECONDS = Metric(
    "turnfold_transaction_seconds", "histogram", "worker", ("agent",), "seconds",
    "Time from folding a batch's first record to the acknowledged commit.", UPTO_SECONDS,
)  # fmt: skip
FOLD_SECONDS = Metric(
    "turnfold_fold_seconds_total", "counter", "worker", LANE, "seconds",
    "Time spent folding. Summed over agents, a rate near 1 means that the process is saturated.",
)  # fmt: skip
WRITTEN_BYTES = Metric(
    "turnfold_written_bytes_total", "counter", "worker", LANE, "bytes",
    "Compressed bytes sent to the broker.",
)  # fmt: skip
CHANGELOG_BYTES = Metric(
    "turnfold_changelog_bytes_total", "counter", "worker", LANE, "bytes",
    "Compressed bytes sent to changelogs.",
)  # fmt: skip
LAG = Metric(
    "turnfold_lag_offsets", "gauge", "worker", ("agent", "topic", "partition"), "offsets",
    "Offsets between the last committed batch and the end of the topic at the last fetch.",
)  # fmt: skip
LANES = Metric(
    "turnfold_lanes", "gauge", "worker", ("state",), "lanes",
    "Lanes by state: opening, restoring, upgrading, ready, committing, standby, backing off, …",
)  # fmt: skip
RESTORED_ROWS = Metric(
    "turnfold_restored_rows_total", "counter", "worker", LANE, "rows",
    "Changelog rows read to restore tables.",
)  # fmt: skip
RESTORE_PROGRESS = Metric(
    "turnfold_restore_progress_ratio", "gauge", "worker", LANE, "0 to 1",
    "Restored share of the missing part of a table; 1 if nothing is missing.",
)  # fmt: skip
QUOTA_SET_ASIDE = Metric(
    "turnfold_quota_set_aside_total", "counter", "worker", LANE, "records",
    "Records of tenants beyond their quota that were left for later.",
)  # fmt: skip
QUOTA_BEHIND = Metric(
    "turnfold_quota_behind_tenants", "gauge", "worker", LANE, "tenants",
    "Tenants beyond their quota whose records are not all folded yet.",
)  # fmt: skip
STALLS = Metric(
    "turnfold_stalls_total", "counter", "worker", LANE, "stalls",
    "Number of times a lane was reported as stalled.",
)  # fmt: skip
STALLED = Metric(
    "turnfold_stalled_lanes", "gauge", "worker", (), "lanes",
    "Lanes with work to do and no progress; the log gives the reason.",
)  # fmt: skip
LANE_FAILURES = Metric(
    "turnfold_lane_failures_total", "counter", "worker", LANE, "failures",
    "Transactions and restores that failed and were retried.",
)  # fmt: skip

# --- sink -----------------------------------------------------------------------------------------

SINK_MESSAGES = Metric(
    "turnfold_sink_messages_total", "counter", "sink", (), "messages",
    "Messages read, each counted once.",
)  # fmt: skip
SINK_REPEATS = Metric(
    "turnfold_sink_repeats_total", "counter", "sink", (), "messages",
    "Repeated messages that were not written again.",
)  # fmt: skip
SINK_MISFITS = Metric(
    "turnfold_sink_misfits_total", "counter", "sink", (), "messages",
    "Messages that are not valid rows: dead letters with reason bad_row.",
)  # fmt: skip
SINK_ROWS = Metric(
    "turnfold_sink_rows_total", "counter", "sink", (), "rows", "Rows committed to the history."
)
SINK_COMMITS = Metric(
    "turnfold_sink_commits_total", "counter", "sink", (), "commits",
    "Writes to the history.",
)  # fmt: skip
SINK_COMMIT_SECONDS = Metric(
    "turnfold_sink_commit_seconds", "histogram", "sink", (), "seconds",
    "Duration of a write: columns, Parquet, Delta commits.", UPTO_MINUTES,
)  # fmt: skip
SINK_OLDEST = Metric(
    "turnfold_sink_oldest_seconds", "gauge", "sink", (), "seconds",
    "Age of the oldest message that is read and not committed; 0 if there is none.",
)  # fmt: skip
SINK_LAG = Metric(
    "turnfold_sink_lag_offsets", "gauge", "sink", ("topic", "partition"), "offsets",
    "Offsets between the last fetch and the end of the topic.",
)  # fmt: skip

# --- extract --------------------------------------------------------------------------------------

MODEL_TURNS = Metric(
    "turnfold_model_turns_total", "counter", "extract", (), "turns",
    "Turns with a plan of the model, or a dead letter.",
)  # fmt: skip
MODEL_GROUPS = Metric(
    "turnfold_model_groups_total", "counter", "extract", ("ending",), "groups",
    "Groups of turns sent to the model: planned, or failed (reason extraction_failed).",
)  # fmt: skip
MODEL_WAITING = Metric(
    "turnfold_model_waiting_groups", "gauge", "extract", (), "groups",
    "Groups waiting to be sent.",
)  # fmt: skip
MODEL_LAG = Metric(
    "turnfold_model_lag_offsets", "gauge", "extract", (), "offsets",
    "Kafka only: offsets of `turns`, in the process's partitions, without a plan yet.",
)  # fmt: skip
MODEL_CALLS = Metric(
    "turnfold_model_calls_total", "counter", "extract", (), "calls", "Requests answered."
)
MODEL_RETRIES = Metric(
    "turnfold_model_retries_total", "counter", "extract", (), "calls",
    "Attempts that failed and were retried: 429, 5xx, timeouts, broken connections.",
)  # fmt: skip
MODEL_TOKENS = Metric(
    "turnfold_model_tokens_total", "counter", "extract", ("kind",), "tokens",
    "Tokens sent (prompt) and received (completion).",
)  # fmt: skip
MODEL_COST = Metric(
    "turnfold_model_cost_total", "counter", "extract", (), "currency of the price settings",
    "Cost of the calls at the configured prices.",
)  # fmt: skip
MODEL_BREAKER = Metric(
    "turnfold_model_breaker_state", "gauge", "extract", ("state",), "0 or 1",
    "State of the circuit breaker: closed, open or half-open.",
)  # fmt: skip
MODEL_BUDGET = Metric(
    "turnfold_model_budget_used_ratio", "gauge", "extract", ("budget", "unit"), "0 to 1",
    "Spent share of a limit: budget run or hour, unit tokens or cost. 1 if the rest is too small "
    "for the next call.",
)  # fmt: skip

# --- serve ----------------------------------------------------------------------------------------

HTTP_REQUESTS = Metric(
    "turnfold_http_requests_total", "counter", "serve", ("method", "route", "status"), "requests",
    "Requests by route template; `unmatched` if no route matches.",
)  # fmt: skip
HTTP_FAILURES = Metric(
    "turnfold_http_failures_total", "counter", "serve", (), "requests",
    "Requests answered with a status of 500 or above.",
)  # fmt: skip
HTTP_SECONDS = Metric(
    "turnfold_http_request_seconds", "histogram", "serve", ("method", "route"), "seconds",
    "Duration of a request; without event streams.", UPTO_SECONDS,
)  # fmt: skip
HTTP_IN_FLIGHT = Metric(
    "turnfold_http_in_flight_requests", "gauge", "serve", (), "requests",
    "Requests in progress, including event streams.",
)  # fmt: skip
HTTP_STREAMS = Metric(
    "turnfold_http_event_streams", "gauge", "serve", (), "streams", "Open event streams."
)
WRITE_WAIT_SECONDS = Metric(
    "turnfold_write_wait_seconds", "histogram", "serve", (), "seconds",
    "Time from receiving records to the commit that applied them, or to the timeout.",
    UPTO_SECONDS,
)  # fmt: skip
QUOTA_CHARGED = Metric(
    "turnfold_quota_charged_total", "counter", "serve", ("limit",), "records or bytes",
    "What tenants with a quota have written, by limit: records or bytes.",
)  # fmt: skip
QUOTA_REFUSALS = Metric(
    "turnfold_quota_refusals_total", "counter", "serve", ("limit",), "requests",
    "Requests refused with 429, as nothing was left of a tenant's quota; the log names it.",
)  # fmt: skip
GROUP_LAG = Metric(
    "turnfold_group_lag_offsets", "gauge", "serve", ("group", "topic", "partition"), "offsets",
    "Kafka only: offsets of a topic that a consumer group of workers or sinks has not committed, "
    "as the broker sees it.",
)  # fmt: skip
GROUP_POSITION = Metric(
    "turnfold_group_position_offsets", "gauge", "serve", ("group", "topic", "partition"), "offsets",
    "Kafka only: next offset that the group has to read.",
)  # fmt: skip
UNSETTLED_LETTERS = Metric(
    "turnfold_unsettled_letters", "gauge", "serve", ("reason",), "records",
    "Dead letters in the history that were not replayed or marked as done.",
)  # fmt: skip
SEARCH_SECONDS = Metric(
    "turnfold_search_seconds", "histogram", "serve", (), "seconds",
    "Duration of a search.", UPTO_SECONDS,
)  # fmt: skip

METRICS = [metric for metric in list(globals().values()) if isinstance(metric, Metric)]
"""All metrics, in the order above."""


class Histogram:
    """Counts by upper bound; `sum` of all values."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.sum = 0.0
        self._counts = [0] * (len(self.bounds) + 1)

    def observe(self, value: float) -> None:
        """Counts a value at the first bound that is not below it."""
        self._counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def cumulative(self) -> list[tuple[str, float]]:
        """Returns (upper bound as in Prometheus, number of values up to it)."""
        names = [*map(str, self.bounds), "+Inf"]
        return list(zip(names, accumulate(map(float, self._counts)), strict=True))
