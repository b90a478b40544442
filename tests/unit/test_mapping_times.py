"""Times of other platforms become ours exactly, or are refused."""

from typing import Any

import pytest

from streams.mapping.times import BadTimeFormat, converter

GOOD: list[tuple[str, str | None, Any, str]] = [
    ("epoch_s", None, 1_700_000_000, "2023-11-14T22:13:20Z"),
    ("epoch_s", None, 1_700_000_000.25, "2023-11-14T22:13:20.250000Z"),
    ("epoch_s", None, "1355517523.000005", "2012-12-14T20:38:43.000005Z"),
    ("epoch_s", None, -1, "1969-12-31T23:59:59Z"),
    ("epoch_ms", None, 1_700_000_000_123, "2023-11-14T22:13:20.123000Z"),
    ("epoch_us", None, "1700000000000001", "2023-11-14T22:13:20.000001Z"),
    ("%d.%m.%Y %H:%M", "Europe/Berlin", "01.07.2026 12:30", "2026-07-01T10:30:00Z"),
    ("%d.%m.%Y %H:%M", "Europe/Berlin", "01.01.2026 12:30", "2026-01-01T11:30:00Z"),
    ("%Y-%m-%dT%H:%M:%S.%f%z", None, "2026-01-01T09:00:00.5+0900",
     "2026-01-01T00:00:00.500000Z"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "zone", "value", "expected"), GOOD)
def test_a_time_is_converted(format: str, zone: str | None, value: Any, expected: str) -> None:
    convert = converter(format, zone)
    assert convert is not None
    assert convert(value) == expected


def test_rfc_3339_stays_as_it_is() -> None:
    assert converter("rfc3339", None) is None


NO_NUMBER = [True, "soon", "", "1e400", "nan", [], {}, 10**30, 1e300, "٣x", "٣", "+1767225600",
             "1_767_225_600", " 1767225600", "1767225600\n", "1e9", "-", ".5", "5."]  # fmt: skip


@pytest.mark.parametrize("value", NO_NUMBER)
@pytest.mark.parametrize("format", ["epoch_s", "epoch_ms", "epoch_us"])
def test_what_is_no_number_of_seconds_is_refused(format: str, value: Any) -> None:
    convert = converter(format, None)
    assert convert is not None
    with pytest.raises(ValueError, match="expected epoch"):
        convert(value)


@pytest.mark.parametrize("value", [5, "2026", "31.02.2026 10:00", None])
def test_text_in_another_format_is_refused(value: Any) -> None:
    convert = converter("%d.%m.%Y %H:%M", "UTC")
    assert convert is not None
    with pytest.raises(ValueError, match=r"expected text as %d\.%m"):
        convert(value)


@pytest.mark.parametrize("zone", ["", "..", "/etc/passwd", "Nowhere"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(BadTimeFormat, match="zone"):
        converter("%Y", zone)
