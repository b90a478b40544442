"""Quotas: how many records and bytes a second a tenant may write, and what is left of that.

What happens beyond it is the server's (`serving.http.quotas`) and the worker's
(`kafka.transport.set_aside`) to say. Times are given: nothing here reads a clock.
"""

from collections.abc import Mapping
from typing import Annotated, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from schemas.base import Tenant
from streams.configuration import MOST
from streams.settings import Settings

BURST_SECONDS = 2
"""A bucket holds what flows into it in this time."""
MOST_BUCKETS = 10_000
"""Tenants whose use is remembered; beyond that those whose buckets are full are forgotten."""


class Quota(NamedTuple):
    """Of a tenant, a second; 0: no limit. The fields are the names of the limits."""

    records: int = 0
    bytes: int = 0


NO_QUOTA = Quota()


class TenantQuota(BaseModel):
    """A tenant's own quota, as a setting; what it leaves out is as for all tenants."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    records: Annotated[int | None, Field(ge=0, le=MOST, strict=True)] = None
    bytes: Annotated[int | None, Field(ge=0, le=MOST, strict=True)] = None


class Bucket:
    """What is left of one limit, as the time when all of it is (GCRA). It may be less than none."""

    __slots__ = ("_full_at", "per_second")

    def __init__(self, per_second: int) -> None:
        self.per_second = per_second
        self._full_at = float("-inf")

    def left(self, now: float) -> float:
        """Records or bytes."""
        return (BURST_SECONDS - max(self._full_at - now, 0.0)) * self.per_second

    def take(self, amount: float, now: float) -> None:
        self._full_at = max(self._full_at, now) + amount / self.per_second

    def give_back(self, amount: int) -> None:
        self._full_at -= amount / self.per_second


Buckets = Mapping[str, Bucket]
"""By limit; none where there is no limit."""


class Quotas:
    """The buckets of all tenants: quotas are `of` tenants by name, `default` of the others."""

    def __init__(
        self,
        default: Quota = NO_QUOTA,
        of: Mapping[str, Quota] | None = None,
    ) -> None:
        self._default = default
        self._of = of or {}
        self._held: dict[str, Buckets] = {}

    def buckets(self, tenant: str, now: float) -> Buckets:
        """The tenant's."""
        found = self._held.get(tenant)
        if found is None:
            quota = self._of.get(tenant, self._default)
            found = {name: Bucket(most) for name, most in quota._asdict().items() if most}
            if found:
                self._forget(now)
                self._held[tenant] = found
        return found

    def _forget(self, now: float) -> None:
        if len(self._held) >= MOST_BUCKETS:
            self._held = {
                name: some
                for name, some in self._held.items()
                if any(one.left(now) < one.per_second * BURST_SECONDS for one in some.values())
            }


class QuotaSettings(Settings):
    """The settings of a process that holds tenants to quotas."""

    quota_records: Annotated[
        int, Field(ge=0, description="Records a tenant may write per second; 0: no limit.")
    ] = 0
    quota_bytes: Annotated[
        int, Field(ge=0, description="Bytes of records a tenant may write per second; 0: no limit.")
    ] = 0
    quotas: Annotated[
        dict[Tenant, TenantQuota],
        Field(
            description="Tenants with a quota of their own: name -> `records`, `bytes`, as a table "
            "or JSON (docs/quotas.md)."
        ),
    ] = Field(default_factory=dict)

    @property
    def quota(self) -> Quota:
        """Of all tenants but those of `quotas`."""
        return Quota(self.quota_records, self.quota_bytes)

    @property
    def own_quotas(self) -> dict[str, Quota]:
        """By tenant."""
        given = {name: own.model_dump(exclude_none=True) for name, own in self.quotas.items()}
        return {name: self.quota._replace(**own) for name, own in given.items()}
