"""Types of the extension module. Import from `pcc`."""

from typing import Optional, Sequence, final

@final
class Settled:
    """A state of the path in which equal senders stay."""

    senders: int
    """How many senders share the path."""
    rate_mbit: float
    """The rate of each, in Mbit/s."""
    loss: float
    """Share of their packets that is lost, 0 to 1."""
    least_queue_ms: float
    """The least standing queue, in milliseconds."""
    largest_queue_ms: float
    """The largest standing queue, in milliseconds. It differs where the utility does not care."""
    fair: bool
    """Each sender, whatever it sends, wants this same rate."""

@final
class Check:
    """The analysis of a utility on a path."""

    law: str
    """The control law that suits the utility: "ascent", "vivace" or "allegro"."""
    settled: list[Settled]
    """Where senders settle. No entry for a number of senders: they settle nowhere, and a trap says why."""
    traps: list[str]
    """Behaviour that the author of the utility might not expect."""

@final
class Series:
    """A flow, sample by sample: lists of equal length."""

    time_s: list[float]
    """Seconds since the start."""
    rate_mbit: list[float]
    """The rate that the controller chose, in Mbit/s."""
    goodput_mbit: list[float]
    """The rate at which useful data arrived since the sample before, headers included, in Mbit/s."""
    in_flight_bytes: list[int]
    """Bytes in flight."""
    rtt_ms: list[Optional[float]]
    """Smoothed RTT in milliseconds; None before the first sample."""
    state: list[str]
    """The controller's state."""

@final
class Simulation:
    """A simulation's outcome. Flows are counted from 0, in the order of the call."""

    @property
    def flows(self) -> list[str]:
        """The flows' names."""
    def goodput_mbit(self, flow: int = 0, start_s: float = 0.0, end_s: Optional[float] = None) -> float:
        """Mean goodput between two moments in Mbit/s, headers included. `end_s` is the end where it is None."""
    def share(self, start_s: float = 0.0, end_s: Optional[float] = None) -> float:
        """Goodput of all flows together as a share of what a perfect sender would have."""
    def loss(self, flow: int = 0) -> float:
        """Share of the flow's packets that was lost, 0 to 1."""
    def added_rtt_ms(self, flow: int = 0, quantile: float = 0.5) -> float:
        """RTT beyond that of the empty path, at this quantile, in milliseconds."""
    def series(self, flow: int = 0) -> Series:
        """The flow, each 100 ms."""

def simulate(path: str, flows: str = "pcc", duration_s: float = 30.0, seed: int = 1) -> Simulation:
    """Runs senders over an emulated path in virtual time. Equal arguments give equal results.

    path: parameters such as "rate=100Mbit,rtt=30ms,loss=1%,buffer=375KB", or the name of a preset such as "satellite".
    flows: senders such as "pcc*2 cubic:start=5s pcc/scavenger", as `pcc sim --flows` takes them.
    duration_s: seconds of virtual time, at most 86,400.
    seed: draws losses, jitter and the order of trials.

    Raises ValueError with the reason where an argument cannot be read.
    """

def check_utility(utility: str, path: str = "clean", senders: Sequence[int] = (1, 2, 10)) -> Check:
    """Says where equal senders settle on a path, and which traps the utility has.

    utility: a name of `utilities()`, or an expression such as "T - 10*x*L".
    path: its rate, RTT, buffer and loss at the start count.

    Raises ValueError with line and column where the expression cannot be read.
    """

def evaluate_utility(
    utility: str,
    rates_mbit: Sequence[float],
    path: str = "clean",
    others_mbit: float = 0.0,
    queue_ms: float = 0.0,
) -> list[Optional[float]]:
    """The utility of an interval at each of these rates, in Mbit/s; None where it is not defined.

    others_mbit: what all other senders together send, in Mbit/s.
    queue_ms: the queueing delay when the interval begins, in milliseconds.
    """

def utilities() -> list[str]:
    """The names of the built-in utilities. Those with a parameter are written as in "weighted,share=0.5"."""
