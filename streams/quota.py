"""Quotas: records and bytes per second that a tenant may write, as token buckets.

The server (`serving.http.quotas`) and the worker (`kafka.transport.throttled_tenants`) enforce
them. Times are arguments: this module reads no clock.
"""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from schemas.base import Tenant
from streams.configuration import MOST
from streams.settings import Settings

BURST_SECONDS = 2
"""Capacity of a bucket in seconds of its rate."""
RECORD_SECONDS = 0.001
"""CPU seconds of folding that a record of a quota pays for."""
MOST_BUCKETS = 10_000
"""Tenants with buckets in memory; beyond that full buckets are dropped."""


class Quota(NamedTuple):
    """Limits of a tenant per second; 0: no limit. The fields are the names of the limits."""

    records: int = 0
    bytes: int = 0


NO_QUOTA = Quota()


class Work(NamedTuple):
    """CPU seconds for folding a tenant's records."""

    tenant: str
    records: int
    seconds: float


class TenantQuota(BaseModel):
    """A tenant's quota as a setting; omitted limits are the default's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    records: Annotated[int | None, Field(ge=0, le=MOST, strict=True)] = None
    bytes: Annotated[int | None, Field(ge=0, le=MOST, strict=True)] = None


class Bucket:
    """Remaining amount of one limit, stored as the time when the bucket is full (GCRA). It may be
    negative."""

    __slots__ = ("_full_at", "per_second")

    def __init__(self, per_second: int) -> None:
        self.per_second = per_second
        self._full_at = float("-inf")

    def left(self, now: float) -> float:
        """Remaining records or bytes."""
        return (BURST_SECONDS - max(self._full_at - now, 0.0)) * self.per_second

    def take(self, amount: float, now: float) -> None:
        self._full_at = max(self._full_at, now) + amount / self.per_second

    def give_back(self, amount: int) -> None:
        self._full_at -= amount / self.per_second


Buckets = Mapping[str, Bucket]
"""Name of a limit -> bucket; without unlimited ones."""


class Quotas:
    """The buckets of all tenants: quotas `by_tenant`, `default` for the others."""

    def __init__(
        self,
        default: Quota = NO_QUOTA,
        by_tenant: Mapping[str, Quota] | None = None,
    ) -> None:
        self._default = default
        self._of = by_tenant or {}
        self._held: dict[str, Buckets] = {}

    def buckets(self, tenant: str, now: float) -> Buckets:
        """The buckets of a tenant."""
        buckets = self._held.get(tenant)
        if buckets is None:
            quota = self._of.get(tenant, self._default)
            buckets = {name: Bucket(limit) for name, limit in quota._asdict().items() if limit}
            if buckets:
                self._forget(now)
                self._held[tenant] = buckets
        return buckets

    def charge_work(self, work: Work, now: float) -> float:
        """Charges CPU time beyond the records' initial charge; returns the charged records."""
        bucket = self.buckets(work.tenant, now).get("records")
        more = work.seconds / RECORD_SECONDS - work.records
        if bucket is None or more <= 0:
            return 0.0
        bucket.take(more, now)
        return more

    def _forget(self, now: float) -> None:
        if len(self._held) >= MOST_BUCKETS:
            self._held = {
                name: buckets
                for name, buckets in self._held.items()
                if any(
                    bucket.left(now) < bucket.per_second * BURST_SECONDS
                    for bucket in buckets.values()
                )
            }


class QuotaSettings(Settings):
    """Settings of a process that enforces quotas."""

    quota_records: Annotated[
        int, Field(ge=0, description="Records a tenant may write per second; 0: no limit.")
    ] = 0
    quota_bytes: Annotated[
        int, Field(ge=0, description="Bytes of records a tenant may write per second; 0: no limit.")
    ] = 0
    quotas: Annotated[
        dict[Tenant, TenantQuota],
        Field(
            description="Quotas of single tenants: name -> `records`, `bytes`, as a table or JSON "
            "(docs/quotas.md)."
        ),
    ] = Field(default_factory=dict)

    @property
    def quota(self) -> Quota:
        """Quota of all tenants without an entry in `quotas`."""
        return Quota(self.quota_records, self.quota_bytes)

    @property
    def own_quotas(self) -> dict[str, Quota]:
        """Tenant -> quota."""
        limits = {name: quota.model_dump(exclude_none=True) for name, quota in self.quotas.items()}
        return {name: self.quota._replace(**quota) for name, quota in limits.items()}
