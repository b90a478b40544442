"""Settings of `turnfold serve`: from the environment, TURNFOLD_SERVE_…, or its options."""

from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import SettingsConfigDict

from streams.extractors.registry import DEFAULT, check_choice
from streams.pipeline.retention import ABOUT, DEFAULT_DAYS, check_days
from streams.quota import Quotas, QuotaSettings
from streams.serving.http.quotas import TenantQuotas
from streams.serving.http.rate_limits import RequestLimits

PREFIX = "TURNFOLD_SERVE_"
BOUNDS = RequestLimits()


class ServeSettings(QuotaSettings):
    """The settings of a server."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="forbid")

    about = "serve settings"
    host: Annotated[
        str, Field(min_length=1, description="Address to listen on; loopback only without keys.")
    ] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65_535, description="Port; 0: any free port.")] = 8400
    keys: Annotated[
        Path | None, Field(description="Key file, as `turnfold admin keys` makes it.")
    ] = None
    inspector: Annotated[
        bool, Field(description="Serve the inspector's pages at `/` (docs/inspector.md).")
    ] = True
    metrics_from: Annotated[
        str,
        Field(
            pattern=r"^(\s*[^\s,/]+:\d+\s*(,|$))*$",
            description="Metrics ports of workers and sinks, HOST:PORT with commas between them: "
            "the inspector's pipeline then shows what they alone know.",
        ),
    ] = ""
    extractor: Annotated[
        str | None,
        AfterValidator(check_choice),
        Field(
            description="How to find memory in turns (without Kafka). The choice is stored in "
            f"the history; default: the stored choice, at first {DEFAULT}."
        ),
    ] = None
    retention_days: Annotated[
        float, AfterValidator(check_days), Field(description=f"{ABOUT} Only without Kafka.")
    ] = DEFAULT_DAYS
    app_id: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9._-]{1,100}$",
            description="App id of the workers whose tables are served.",
        ),
    ] = "turnfold"
    store: Annotated[
        Literal["memory", "rocksdb"],
        Field(
            description="Over Kafka: where the rows of sessions and users are kept. With rocksdb a "
            "restart reads only what is new."
        ),
    ] = "memory"
    data: Annotated[
        Path | None,
        Field(description="Folder of the rows (rocksdb), on a local disk; each server's own."),
    ] = None
    within: Annotated[
        float,
        Field(gt=0, le=60, description="Seconds to wait until a write is applied, before 202."),
    ] = 2.0
    page: Annotated[int, Field(ge=1, le=10_000, description="Maximum entries per page.")] = 1_000
    records: Annotated[int, Field(ge=1, description="Maximum records per request.")] = 10_000
    query_seconds: Annotated[
        float, Field(gt=0, le=600, description="Maximum seconds of a history query.")
    ] = 10.0
    mcp_forget: Annotated[
        bool, Field(description="Offer agents the tool `forget`, which erases a user for good.")
    ] = False
    body_bytes: Annotated[
        int, Field(ge=1_000, description="Maximum bytes of a body, unpacked.")
    ] = BOUNDS.body_bytes
    key_rate: Annotated[
        int, Field(ge=0, description="Maximum requests per second and key; 0: no limit.")
    ] = BOUNDS.key_rate
    tenant_rate: Annotated[
        int, Field(ge=0, description="Maximum requests per second and tenant; 0: no limit.")
    ] = BOUNDS.tenant_rate
    streams: Annotated[int, Field(ge=0, description="Maximum open event streams per tenant.")] = (
        BOUNDS.streams
    )
    all_streams: Annotated[int, Field(ge=0, description="Maximum open event streams.")] = (
        BOUNDS.all_streams
    )

    @model_validator(mode="after")
    def _guarded(self) -> Self:
        if self.keys is None and not is_loopback(self.host):
            raise ValueError(
                f"host {self.host} can be reached by others, and there are no keys: make one "
                "(turnfold admin keys add --keys keys.json --tenant default --role admin) and give "
                "--keys keys.json, or leave the host out"
            )
        return self

    @model_validator(mode="after")
    def _together(self) -> Self:
        if (self.store == "rocksdb") != (self.data is not None):
            raise ValueError("store rocksdb needs data, a folder; store memory takes none")
        return self

    @property
    def all_quotas(self) -> TenantQuotas:
        """New quotas of all tenants."""
        return TenantQuotas(Quotas(self.quota, self.own_quotas))

    @property
    def bounds(self) -> RequestLimits:
        return RequestLimits(
            body_bytes=self.body_bytes,
            key_rate=self.key_rate,
            tenant_rate=self.tenant_rate,
            streams=self.streams,
            all_streams=self.all_streams,
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:  # a name, which may come to mean anything
        return False
