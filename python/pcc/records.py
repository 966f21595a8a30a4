"""What simulations, checks and traces tell: records with names and units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, List, Optional, Union


@dataclass(frozen=True)
class Settled:
    """A state of the path in which equal senders stay.

    senders: the number of senders on the path.
    rate_mbit: the rate of each sender, in Mbit/s.
    loss: the share of their packets that is lost, 0 to 1.
    least_queue_ms: the least standing queue, in milliseconds.
    largest_queue_ms: the largest standing queue. It differs from the least where the utility does not care.
    fair: whether each sender wants this same rate, whatever it sends.
    """

    senders: int
    rate_mbit: float
    loss: float
    least_queue_ms: float
    largest_queue_ms: float
    fair: bool


@dataclass(frozen=True)
class Check:
    """The analysis of a utility on a path.

    law: the control law that suits the utility: "ascent", "vivace" or "allegro".
    settled: where senders settle. A number of senders without an entry settles nowhere, and a trap says why.
    traps: behaviour that the author of the utility might not expect.
    """

    law: str
    settled: List[Settled]
    traps: List[str]


@dataclass(frozen=True)
class Series:
    """A flow, sample by sample: lists of equal length.

    time_s: seconds since the start.
    rate_mbit: the rate that the controller chose, in Mbit/s.
    goodput_mbit: the rate at which useful data arrived since the sample before, headers included, in Mbit/s.
    in_flight_bytes: bytes in flight.
    rtt_ms: smoothed RTT in milliseconds; None before the first one.
    state: the controller's state.
    """

    time_s: List[float]
    rate_mbit: List[float]
    goodput_mbit: List[float]
    in_flight_bytes: List[int]
    rtt_ms: List[Optional[float]]
    state: List[str]


@dataclass(frozen=True)
class Summary:
    """A flow of a simulation from its start to its end: a line of the table of `pcc-lab sim`.

    flow: its name.
    start_s: when it began, in seconds.
    goodput_mbit: mean goodput in Mbit/s, headers included.
    share: the same, as a share of what the path allows the flow.
    loss: the share of its packets that was lost, 0 to 1.
    rtt_added_p50_ms, rtt_added_p95_ms: RTT beyond the empty path's, median and 95th percentile, in milliseconds.
    waste: packets sent for each that was useful; None if none was.
    finished_s: how long its volume took, in seconds; None if it has no end, or did not come to it.
    frame_delay_mean_ms, frame_delay_largest_ms: how late the frames of a call were, in milliseconds; None if it is no call.
    """

    flow: str
    start_s: float
    goodput_mbit: float
    share: float
    loss: float
    rtt_added_p50_ms: float
    rtt_added_p95_ms: float
    waste: Optional[float]
    finished_s: Optional[float]
    frame_delay_mean_ms: Optional[float]
    frame_delay_largest_ms: Optional[float]


@dataclass(frozen=True)
class Interval:
    """What one monitor interval achieved.

    time_s: when the fate of its packets was known, in seconds since the start.
    flow: the sender, counted from 0. A trace of qlog has one.
    id: the interval's number in its sender.
    target_mbit: the rate that PCC chose, in Mbit/s.
    achieved_mbit: the rate at which packets left, in Mbit/s.
    goodput_mbit: the rate at which data arrived, in Mbit/s; None if it was not measured.
    packets: packets sent in it.
    duration_ms: how long it lasted, in milliseconds.
    loss: the share of its bytes that was lost, 0 to 1.
    marked: the share of its packets that arrived with a mark of congestion (ECN), 0 to 1.
    rtt_ms: mean RTT in milliseconds; None if it was not measured.
    gradient: slope of the RTT in seconds a second; None if it was not measured.
    utility: the utility's value; None if the interval was not judged.
    queueing_ms: mean RTT above the base RTT in milliseconds; None if it is not known.
    limited_by: the limit of the interval, such as "network" or "application"; None if it is not known.
    """

    time_s: float
    flow: int
    id: int
    target_mbit: float
    achieved_mbit: float
    goodput_mbit: Optional[float]
    packets: int
    duration_ms: float
    loss: float
    marked: float
    rtt_ms: Optional[float]
    gradient: Optional[float]
    utility: Optional[float]
    queueing_ms: Optional[float] = None
    limited_by: Optional[str] = None


@dataclass(frozen=True)
class Report:
    """What a monitor interval achieved, as a law of one's own is told.

    started_s: when its first packet was sent, in seconds since the start.
    The other fields are those of an Interval. The utility is of the default one, `fair`.
    """

    id: int
    started_s: float
    target_mbit: float
    achieved_mbit: float
    goodput_mbit: Optional[float]
    packets: int
    duration_ms: float
    loss: float
    marked: float
    rtt_ms: Optional[float]
    gradient: Optional[float]
    utility: float
    queueing_ms: Optional[float]
    limited_by: str


@dataclass(frozen=True)
class Decision:
    """A change of state or rate, and its reason.

    time_s: when, in seconds since the start.
    flow: the sender, counted from 0. A trace of qlog has one.
    state: the control law's state from then on.
    rate_mbit: the rate from then on, in Mbit/s.
    reason: why.
    """

    time_s: float
    flow: int
    state: str
    rate_mbit: float
    reason: str


@dataclass(frozen=True)
class Trace:
    """Monitor intervals and decisions in the order of time. A loop over the trace has all of them.

    events: all of them.
    """

    events: List[Union[Interval, Decision]]

    @property
    def intervals(self) -> List[Interval]:
        """The intervals alone: `pandas.DataFrame(trace.intervals)` is a table of them."""
        return [event for event in self.events if isinstance(event, Interval)]

    @property
    def decisions(self) -> List[Decision]:
        """The decisions alone: `pandas.DataFrame(trace.decisions)` is a table of them."""
        return [event for event in self.events if isinstance(event, Decision)]

    def __iter__(self) -> Iterator[Union[Interval, Decision]]:
        """Intervals and decisions, in the order of time."""
        return iter(self.events)

    def __len__(self) -> int:
        """Their number."""
        return len(self.events)
