"""Performance-oriented Congestion Control: simulate paths, write utilities and check them.

>>> import pcc
>>> run = pcc.simulate("rate=100Mbit,rtt=30ms,loss=1%,buffer=375KB", "pcc cubic", duration_s=20)
>>> run.goodput_mbit(0, start_s=10) > run.goodput_mbit(1, start_s=10)
True
>>> pcc.simulate("clean", utility="x^0.9 - 11.35*x*L", duration_s=2).flows
['pcc']
>>> pcc.check_utility("fair").law
'ascent'

Each name ends with its unit: ``_s`` seconds, ``_ms`` milliseconds, ``_mbit`` 10**6 bits a second.
"""

from ._pcc import Simulation, check_utility, evaluate_utility, simulate, utilities
from .records import Check, Decision, Interval, Report, Series, Settled, Summary, Trace
from .trace import read_trace

try:
    from ._pcc import simulate_scenario
except ImportError:
    # The lab's scenarios are for Linux.
    pass

__all__ = [
    "Check",
    "Decision",
    "Interval",
    "Report",
    "Series",
    "Settled",
    "Simulation",
    "Summary",
    "Trace",
    "check_utility",
    "evaluate_utility",
    "read_trace",
    "simulate",
    "utilities",
]
if "simulate_scenario" in globals():
    __all__.append("simulate_scenario")
