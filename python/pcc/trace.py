"""Traces of PCC's monitor intervals and decisions, as `docs/traces` has them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Iterator, Optional, Union

_NUMBER = r"(-?(?:[\d.]+(?:e-?\d+)?|inf|NaN))"
_INTERVAL = re.compile(
    rf"\s*{_NUMBER} (\d+) interval +(\d+) target +{_NUMBER} achieved +{_NUMBER} goodput +{_NUMBER} Mbit/s, +(\d+) packets "
    rf"in +{_NUMBER} ms, loss +{_NUMBER} %, marked +{_NUMBER} %, RTT +{_NUMBER} ms, gradient +{_NUMBER}, utility +(.*)"
)
_DECISION = re.compile(rf"\s*{_NUMBER} (\d+) decision (.+), {_NUMBER} Mbit/s: (.*)")


@dataclass(frozen=True)
class Interval:
    """What one monitor interval achieved."""

    time_s: float
    """When its fate was known, in seconds since the start."""
    flow: int
    """The sender, counted from 0."""
    id: int
    """The interval's number in its sender."""
    target_mbit: float
    """The rate that PCC chose, in Mbit/s."""
    achieved_mbit: float
    """The rate at which packets left, in Mbit/s."""
    goodput_mbit: float
    """The rate at which data arrived, in Mbit/s."""
    packets: int
    """Packets sent in it."""
    duration_ms: float
    """How long it lasted, in milliseconds."""
    loss: float
    """Share of its bytes that was lost, 0 to 1."""
    marked: float
    """Share of its packets that arrived with a mark of congestion (ECN), 0 to 1."""
    rtt_ms: float
    """Mean RTT, in milliseconds."""
    gradient: float
    """Slope of the RTT, in seconds a second."""
    utility: Optional[float]
    """The utility's value; None where it is not defined."""


@dataclass(frozen=True)
class Decision:
    """A change of state or rate, and its reason."""

    time_s: float
    """When, in seconds since the start."""
    flow: int
    """The sender, counted from 0."""
    state: str
    """The control law's state from then on."""
    rate_mbit: float
    """The rate from then on, in Mbit/s."""
    reason: str
    """Why."""


def read_trace(path: Union[str, "os.PathLike[str]"]) -> Iterator[Union[Interval, Decision]]:
    """Reads a trace, line by line. Comments, and the flows' totals at its end, are left out.

    Raises ValueError with the number of the first line that is something else.
    """
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.startswith(("#", "flow ")):
                event = _event(line.rstrip("\n"))
                if event is None:
                    raise ValueError(f"{os.fspath(path)}, line {number}: neither interval nor decision: {line.strip()!r}")
                yield event


def _event(line: str) -> Optional[Union[Interval, Decision]]:
    found = _INTERVAL.fullmatch(line)
    if found:
        time, flow, number, target, achieved, goodput, packets, duration, loss, marked, rtt, gradient, utility = found.groups()
        return Interval(
            float(time), int(flow), int(number), float(target), float(achieved), float(goodput), int(packets),
            float(duration), float(loss) / 100, float(marked) / 100, float(rtt), float(gradient), _optional(utility),
        )
    found = _DECISION.fullmatch(line)
    if found:
        time, flow, state, rate, reason = found.groups()
        return Decision(float(time), int(flow), state, float(rate), reason)
    return None


def _optional(written: str) -> Optional[float]:
    try:
        return float(written)
    except ValueError:
        return None
