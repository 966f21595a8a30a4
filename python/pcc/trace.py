"""Reads traces of PCC's monitor intervals and decisions."""

from __future__ import annotations

import json
import os
import re
from typing import Any, Callable, Dict, Optional, Union

from .records import Decision, Interval, Trace

_Event = Union[Interval, Decision]
_RECORD_SEPARATOR = "\x1e"

_NUMBER = r"(-?(?:[\d.]+(?:e-?\d+)?|inf|NaN))"
_INTERVAL = re.compile(
    rf"\s*{_NUMBER} (\d+) interval +(\d+) target +{_NUMBER} achieved +{_NUMBER} goodput +{_NUMBER} Mbit/s, +(\d+) packets "
    rf"in +{_NUMBER} ms, loss +{_NUMBER} %, marked +{_NUMBER} %, RTT +{_NUMBER} ms, gradient +{_NUMBER}, utility +([^,]*)(?:,.*)?"
)
_DECISION = re.compile(rf"\s*{_NUMBER} (\d+) decision (.+), {_NUMBER} Mbit/s: (.*)")


def read_trace(path: Union[str, "os.PathLike[str]"]) -> Trace:
    """Reads the intervals and decisions of PCC from a trace.

    path: a file that `--qlog DIR` of `pcc get`, `pcc put`, `pcc serve`, `pcc tunnel` or `pcc perf` wrote (docs/qlog.md), or
        a printed trace of docs/traces. Other events of qlog are left out. A trace without PCC is empty.

    Raises OSError if the file cannot be read, and ValueError with the number of the first line that is something else.
    """
    with open(path, encoding="utf-8") as lines:
        events = []
        read: Optional[Callable[[str], Optional[_Event]]] = None
        for number, line in enumerate(lines, 1):
            line = line.strip().lstrip(_RECORD_SEPARATOR).strip()
            if not line:
                continue
            if read is None:
                read = _of_qlog if line.startswith("{") else _of_text
            try:
                event = read(line)
            except (ValueError, KeyError, TypeError, AttributeError) as problem:
                raise ValueError(f"{os.fspath(path)}, line {number}: no trace of PCC: {line[:100]!r}") from problem
            if event is not None:
                events.append(event)
        return Trace(events)


def _of_qlog(line: str) -> Optional[_Event]:
    """A record of qlog: rates are in bit/s and times in ms. The header, and events of the QUIC stack, are None."""
    record = json.loads(line)
    name = record.get("name")
    if name == "pcc:interval_done":
        return _interval(record["time"] / 1e3, record["data"])
    if name == "pcc:rate_decision":
        data = record["data"]
        return Decision(record["time"] / 1e3, 0, data["state"], data["rate"] / 1e6, data["reason"])
    return None


def _interval(time_s: float, data: Dict[str, Any]) -> Interval:
    def mbit(rate: Optional[float]) -> Optional[float]:
        return None if rate is None else rate / 1e6

    marked = data["packets_marked"] / max(data["packets"], 1)
    return Interval(
        time_s=time_s,
        flow=0,
        id=data["id"],
        target_mbit=data["target_rate"] / 1e6,
        achieved_mbit=data["achieved_rate"] / 1e6,
        goodput_mbit=mbit(data["delivery_rate"]),
        packets=data["packets"],
        duration_ms=data["duration"],
        # qlog's loss is what the utility sees: marks count.
        loss=max(data["loss"] - marked, 0.0),
        marked=marked,
        rtt_ms=data["rtt"],
        gradient=data["rtt_gradient"],
        utility=data["utility"],
        queueing_ms=data["queueing_delay"],
        limited_by=data["limited_by"],
    )


def _of_text(line: str) -> Optional[_Event]:
    """A line of a printed trace. Comments, and the flows' totals at the end, are None."""
    if line.startswith(("#", "flow ", "share ")):
        return None
    found = _INTERVAL.fullmatch(line)
    if found:
        time, flow, number, target, achieved, goodput, packets, duration, loss, marked, rtt, gradient, utility = found.groups()
        return Interval(
            float(time), int(flow), int(number), float(target), float(achieved), float(goodput), int(packets),
            float(duration), float(loss) / 100, float(marked) / 100, float(rtt) or None, _known(gradient), _known(utility),
        )
    found = _DECISION.fullmatch(line)
    if found:
        time, flow, state, rate, reason = found.groups()
        return Decision(float(time), int(flow), state, float(rate), reason)
    raise ValueError("neither interval nor decision")


def _known(written: str) -> Optional[float]:
    return None if written in ("-", "NaN") else float(written)
