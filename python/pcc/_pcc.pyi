"""Types of the extension module. Import from `pcc`; its docstrings are in `python/src`."""

from typing import Any, Callable, Mapping, Optional, Protocol, Sequence, Union, final

from .records import Check, Report, Series, Summary, Trace

class Law(Protocol):
    def on_report(self, report: Report) -> Optional[float]: ...

@final
class Simulation:
    @property
    def flows(self) -> list[str]: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def dropped(self) -> int: ...
    @property
    def marked(self) -> int: ...
    @property
    def jain(self) -> Optional[float]: ...
    def goodput_mbit(self, flow: int = 0, start_s: float = 0.0, end_s: Optional[float] = None) -> float: ...
    def share(self, start_s: float = 0.0, end_s: Optional[float] = None) -> float: ...
    def loss(self, flow: int = 0) -> float: ...
    def added_rtt_ms(self, flow: int = 0, quantile: float = 0.5) -> float: ...
    def series(self, flow: int = 0) -> Series: ...
    def summary(self, flow: int = 0) -> Summary: ...
    def trace(self, flow: int = 0) -> Trace: ...

def simulate(
    path: str,
    flows: str = "pcc",
    duration_s: float = 30.0,
    seed: int = 1,
    *,
    utility: Union[str, Mapping[str, str], None] = None,
    law: Optional[str] = None,
    laws: Mapping[str, Callable[[], Law]] = {},
    settings: Optional[Mapping[str, Union[str, float]]] = None,
    then: Sequence[str] = (),
    queue: str = "droptail",
    ecn: bool = False,
    policer: Optional[str] = None,
    trace: bool = False,
) -> Simulation: ...
def simulate_scenario(
    name: str,
    algorithms: Sequence[str] = (),
    points: Sequence[str] = (),
    seeds: Sequence[int] = (),
    full: bool = False,
    *,
    utility: Optional[str] = None,
    law: Optional[str] = None,
    settings: Optional[Mapping[str, Union[str, float]]] = None,
) -> dict[str, Any]: ...
def check_utility(utility: str, path: str = "clean", senders: Sequence[int] = (1, 2, 10)) -> Check: ...
def evaluate_utility(
    utility: str,
    rates_mbit: Sequence[float],
    path: str = "clean",
    others_mbit: float = 0.0,
    queue_ms: float = 0.0,
) -> list[Optional[float]]: ...
def utilities() -> list[str]: ...
