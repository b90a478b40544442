"""Write quotas of tenants: records and bytes per second, counted by this process. A record that is
expensive to fold counts as several.

A request is accepted while any quota is left, and the excess delays later requests: no request is
too large for a quota, and the average is never exceeded.
"""

import logging
import time
from collections.abc import Callable

import msgspec

from streams.apps.metrics_registry import QUOTA_CHARGED, QUOTA_REFUSALS
from streams.quota import BURST_SECONDS, Quotas, Work
from streams.serving.http.problems import Problem, retry_after
from streams.serving.http.rate_limits import rate_headers
from streams.serving.http.request_bodies import count_bytes

log = logging.getLogger(__name__)

SAY_EVERY = 60.0
"""Seconds between two lines of the log about one tenant."""


class OverQuota(Problem):
    """A quota is used up. The request was not stored."""

    def __init__(
        self, tenant: str, limit: str, per_second: int, remaining: int, wait: float
    ) -> None:
        seconds = max(1, -int(-wait // 1))
        detail = (
            f"tenant {tenant} may write {per_second} {limit} a second, and {remaining} are left; "
            f"try again in {seconds} s"
        )
        whole = per_second * BURST_SECONDS
        headers = rate_headers(limit.encode(), whole, max(remaining, 0), seconds)
        super().__init__(429, "Over quota", detail, retry_after(seconds), *headers)
        quota = {"tenant": tenant, "limit": limit, "per_second": per_second, "remaining": remaining}
        document = msgspec.json.decode(self.body)
        self.body = msgspec.json.encode(document | {"quota": quota | {"retry_after": seconds}})


class TenantQuotas:
    """Enforces the quotas."""

    def __init__(
        self, quotas: Quotas | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._quotas = quotas or Quotas()
        self._clock = clock
        self._said: dict[tuple[str, str], float] = {}

    def check(self, tenant: str) -> None:
        """Raises OverQuota if a quota is used up."""
        now = self._clock()
        for limit, bucket in self._quotas.buckets(tenant, now).items():
            if (remaining := bucket.left(now)) < 1:
                QUOTA_REFUSALS.labels(limit).inc()
                self._say(tenant, limit, bucket.per_second, now)
                wait = (1 - remaining) / bucket.per_second
                raise OverQuota(tenant, limit, bucket.per_second, int(remaining // 1), wait)

    def take(self, tenant: str, records: int, size: int) -> None:
        """Charges a request before it is stored. Raises OverQuota, without a charge."""
        self.check(tenant)
        now = self._clock()
        for limit, bucket in self._quotas.buckets(tenant, now).items():
            amount = records if limit == "records" else size
            bucket.take(amount, now)
            QUOTA_CHARGED.labels(limit).inc(amount)
        count_bytes(size)

    def charge(self, tenant: str, size: int) -> None:
        """Charges bytes of a body that belong to no stored record."""
        now = self._clock()
        bucket = self._quotas.buckets(tenant, now).get("bytes")
        if bucket is not None:
            bucket.take(size, now)
            QUOTA_CHARGED.labels("bytes").inc(size)

    def charge_work(self, work: Work) -> None:
        """Charges processing time beyond the records' initial charge."""
        QUOTA_CHARGED.labels("records").inc(self._quotas.charge_work(work, self._clock()))

    def give_back(self, tenant: str, records: int, size: int) -> None:
        """Refunds a request that was not stored."""
        for limit, bucket in self._quotas.buckets(tenant, self._clock()).items():
            bucket.give_back(records if limit == "records" else size)
        count_bytes(-size)

    def _say(self, tenant: str, limit: str, per_second: int, now: float) -> None:
        if now - self._said.get((tenant, limit), float("-inf")) >= SAY_EVERY:
            self._said[tenant, limit] = now
            log.warning(
                "tenant %s writes more than its quota of %d %s a second: requests are refused",
                tenant, per_second, limit, extra={"tenant": tenant},
            )  # fmt: skip
