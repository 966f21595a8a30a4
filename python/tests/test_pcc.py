"""The package as it is installed."""

import ast
import concurrent.futures
import contextlib
import inspect
import io
import pathlib
import pickle
import re
import tempfile
import traceback
import unittest

import pcc

TRACES = pathlib.Path(__file__).parents[2] / "docs" / "traces"
LOSSY = "rate=100Mbit,rtt=30ms,loss=1%,buffer=375KB"


class Simulations(unittest.TestCase):
    def test_pcc_keeps_its_rate_where_cubic_does_not(self):
        alone = pcc.simulate(LOSSY, "pcc", duration_s=20)
        cubic = pcc.simulate(LOSSY, "cubic", duration_s=20)
        self.assertGreater(alone.share(start_s=10), 0.85)
        self.assertLess(cubic.share(start_s=10), 0.4)
        self.assertAlmostEqual(alone.loss(), 0.01, delta=0.005)
        self.assertLess(alone.added_rtt_ms(quantile=0.5), 15)

    def test_equal_arguments_give_equal_results(self):
        first, second = (pcc.simulate("wifi", "pcc*2", duration_s=5, seed=7) for _ in range(2))
        self.assertEqual(first.series(1).rate_mbit, second.series(1).rate_mbit)
        self.assertNotEqual(first.series(0).rate_mbit, first.series(1).rate_mbit)

    def test_a_series_has_lists_of_equal_length(self):
        series = pcc.simulate("satellite", "pcc/scavenger", duration_s=10).series()
        lengths = {len(getattr(series, name)) for name in ("time_s", "rate_mbit", "goodput_mbit", "rtt_ms", "state")}
        self.assertEqual(lengths, {100})
        self.assertIn("Starting", series.state)

    def test_flows_have_names(self):
        self.assertEqual(pcc.simulate(LOSSY, "pcc cubic 5Mbit", duration_s=1).flows, ["pcc", "cubic", "5Mbit"])

    def test_a_utility_of_ones_own_is_simulated(self):
        text = "x - 11*x*L"
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "my.utility"
            file.write_text(text)
            runs = [
                pcc.simulate(LOSSY, "pcc", 3, utility=text),
                pcc.simulate(LOSSY, "pcc", 3, utility=str(file)),
                pcc.simulate(LOSSY, f"pcc/{file}", 3),
                pcc.simulate(LOSSY, "pcc/mine", 3, utility={"mine": text}),
            ]
        rates = [run.series().rate_mbit for run in runs]
        self.assertTrue(all(rate == rates[0] for rate in rates[1:]))
        self.assertNotEqual(pcc.simulate(LOSSY, "pcc", 3).series().rate_mbit, rates[0])

    def test_every_option_of_the_tool_changes_the_run(self):
        usual = pcc.simulate(LOSSY, "pcc*2", 3)
        for options in (
            {"law": "vivace"},
            {"settings": {"epsilon": 0.05}},
            {"settings": {"level": "0.02"}},
            {"then": ["rate=50Mbit,rtt=10ms"]},
            {"queue": "codel"},
            {"policer": "20Mbit:64kB"},
        ):
            other = pcc.simulate(LOSSY, "pcc*2", 3, **options)
            self.assertNotEqual(usual.series().rate_mbit, other.series().rate_mbit, options)
        marking = pcc.simulate("rate=20Mbit,rtt=20ms,buffer=200KB", "cubic", 5, queue="codel", ecn=True)
        self.assertGreater(marking.marked, 0)

    def test_intervals_and_decisions_are_kept_if_wanted(self):
        run = pcc.simulate(LOSSY, "cubic pcc", 2, trace=True)
        trace = run.trace(1)
        self.assertGreater(len(trace.intervals), 20)
        self.assertEqual((trace.intervals[0].flow, trace.decisions[0].state), (1, "Starting"))
        self.assertEqual(len(trace), len(trace.intervals) + len(trace.decisions))
        self.assertEqual(list(run.trace(0)), [])
        with self.assertRaisesRegex(ValueError, "trace=True"):
            pcc.simulate(LOSSY, "pcc", 1).trace()

    def test_a_law_of_ones_own_steers_a_flow(self):
        told = []

        class Half:
            def on_report(self, report):
                told.append(report)
                return 50

        run = pcc.simulate(LOSSY, "pcc/half cubic", 10, laws={"half": Half})
        self.assertAlmostEqual(run.goodput_mbit(0, 5) / 50, 0.99, delta=0.02)
        self.assertEqual(run.series().state[-1], "python")
        late = [report for report in told if report.started_s > 2]
        self.assertTrue(all(abs(report.target_mbit - 50) < 1e-6 for report in late))
        self.assertTrue(100 < len(late) < 400, len(late))
        self.assertAlmostEqual(sum(report.loss for report in late) / len(late), 0.01, delta=0.005)

    def test_the_laws_of_the_guides_run(self):
        root = pathlib.Path(__file__).parents[2]
        for guide in ("python/README.md", "docs/own-law.md"):
            blocks = re.findall(r"```python\n(.*?)```", (root / guide).read_text(), re.DOTALL)
            (block,) = (block for block in blocks if "on_report" in block)
            known = {"pcc": pcc}
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(block, known)
            ours, theirs = map(float, printed.getvalue().split())
            self.assertTrue(5 < ours and 5 < theirs and 80 < ours + theirs < 100, (guide, ours, theirs))

    def test_each_flow_has_a_law_of_its_own(self):
        made = []

        class Steady:
            def __init__(self):
                made.append(self)

            def on_report(self, report):
                return None

        run = pcc.simulate(LOSSY, "pcc/steady*2 pcc", 2, laws={"steady": Steady})
        self.assertGreaterEqual(len(made), 2)
        self.assertEqual(run.flows, ["pcc/steady 1", "pcc/steady 2", "pcc"])
        self.assertEqual([run.series(flow).state[-1] == "python" for flow in range(3)], [True, True, False])

    def test_an_exception_of_a_law_ends_the_run_with_its_traceback(self):
        class Broken:
            calls = 0

            def on_report(self, report):
                Broken.calls += 1
                return report.target_mbit / 0

        try:
            pcc.simulate(LOSSY, "pcc/broken", 80_000, laws={"broken": Broken})
        except ZeroDivisionError:
            # assertRaises would forget the frames.
            told = traceback.format_exc()
        self.assertEqual((told.count("return report.target_mbit / 0"), Broken.calls), (1, 1))

        def refused(answer):
            return type("Law", (), {"on_report": lambda self, report: answer})

        for answer in (0, -1, float("nan"), float("inf")):
            with self.assertRaisesRegex(ValueError, "answer a rate in Mbit/s above 0"):
                pcc.simulate(LOSSY, "pcc/bad", 10, laws={"bad": refused(answer)})
        for law in (refused("fast"), lambda: None, lambda argument: None):
            with self.assertRaises((TypeError, AttributeError)):
                pcc.simulate(LOSSY, "pcc/bad", 10, laws={"bad": law})

    def test_a_summary_is_the_line_of_the_table(self):
        run = pcc.simulate(LOSSY, "pcc cubic:start=2s:size=100kB", 10)
        (ours, theirs) = (run.summary(flow) for flow in range(2))
        self.assertAlmostEqual(ours.goodput_mbit, run.goodput_mbit())
        self.assertEqual((theirs.flow, theirs.start_s), ("cubic", 2.0))
        self.assertGreater(theirs.finished_s, 0.1)
        self.assertGreater(run.dropped, 0)

    def test_a_simulation_is_pickled_whole(self):
        run = pcc.simulate(LOSSY, "pcc cubic", 3, then=["rate=50Mbit,rtt=10ms"], trace=True)
        copy = pickle.loads(pickle.dumps(run))
        for told in (
            repr,
            lambda run: [run.goodput_mbit(flow, 1, 2) for flow in range(2)],
            lambda run: [run.share(1, 2), run.loss(), run.added_rtt_ms(1, 0.9), run.dropped, run.marked, run.jain],
            lambda run: [run.series(1), run.summary(1), run.trace(0)],
        ):
            self.assertEqual(told(run), told(copy))

    def test_processes_share_a_sweep(self):
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            runs = list(pool.map(pcc.simulate, [LOSSY] * 2, ["pcc"] * 2, [1.0] * 2, [1, 2]))
        self.assertNotEqual(runs[0].series(), runs[1].series())

    def test_what_cannot_be_read_is_refused_with_its_reason(self):
        for wrong, arguments in [
            ("rate", {"path": "rate=fast,rtt=30ms"}),
            ("quick", {"path": LOSSY, "flows": "quick"}),
            ("duration_s", {"path": LOSSY, "duration_s": -1}),
            ("duration_s", {"path": LOSSY, "duration_s": float("nan")}),
            ("duration_s: 0ns", {"path": LOSSY, "duration_s": 0}),
            ("flows: pcc begins at 30s", {"path": LOSSY, "flows": "pcc:start=30s"}),
            ("utility: ", {"path": LOSSY, "utility": "x -"}),
            ("gone.utility", {"path": LOSSY, "utility": "gone.utility"}),
            ("none of these is PCC", {"path": LOSSY, "flows": "cubic", "utility": "safe"}),
            ("settings: ", {"path": LOSSY, "settings": {"colour": "blue"}}),
            ("law: ", {"path": LOSSY, "law": "order"}),
            ("then: ", {"path": LOSSY, "then": ["nowhere"]}),
            ("queue: ", {"path": LOSSY, "queue": "quick"}),
            ("policer: ", {"path": LOSSY, "policer": "10Mbit"}),
        ]:
            with self.assertRaisesRegex(ValueError, wrong):
                pcc.simulate(**arguments)
        with self.assertRaisesRegex(IndexError, "flow 3 of 1"):
            pcc.simulate(LOSSY, duration_s=1).loss(3)
        with self.assertRaisesRegex(ValueError, "end_s is 40 s, and the run ended at 1s"):
            pcc.simulate(LOSSY, duration_s=1).goodput_mbit(0, 0.5, 40)


@unittest.skipUnless(hasattr(pcc, "simulate_scenario"), "the lab's scenarios are for Linux")
class Scenarios(unittest.TestCase):
    def test_a_scenario_file_is_simulated(self):
        text = """
            title = "t"
            source = "s"
            algorithms = ["cubic", "quic:pcc", "illinois"]
            duration = "2s"
            seeds = [1, 2]
            path = { rate = "20Mbit", rtt = "20ms", buffer = "1bdp" }
            sweep = { parameter = "loss", values = [0.0, 0.01] }
        """
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "mine.toml"
            file.write_text(text)
            told = pcc.simulate_scenario(str(file), points=["0.01"], utility="x - 11*x*L")
        self.assertEqual([(row["algorithm"], row["seeds"]) for row in told["rows"]], [("cubic", 2), ("quic:pcc", 2)])
        self.assertEqual(told["missing"], ["illinois"])
        for wrong in ({"name": "nowhere"}, {"name": "random-loss", "points": ["7"]}, {"name": "clean", "law": "order"}):
            with self.assertRaises(ValueError):
                pcc.simulate_scenario(**wrong)


class Utilities(unittest.TestCase):
    def test_fair_senders_settle_at_equal_shares(self):
        check = pcc.check_utility("fair", "rate=100Mbit,rtt=30ms,buffer=375KB", senders=[2])
        (settled,) = check.settled
        self.assertAlmostEqual(settled.rate_mbit, 50, delta=3)
        self.assertTrue(settled.fair)
        self.assertEqual((check.law, check.traps), ("ascent", []))

    def test_a_greedy_utility_has_traps(self):
        self.assertTrue(pcc.check_utility("x").traps)

    def test_an_expression_with_a_mistake_is_refused_with_its_place(self):
        with self.assertRaisesRegex(ValueError, "column"):
            pcc.check_utility("T - 10*x*")

    def test_utility_falls_behind_a_queue(self):
        (free,), (behind,) = (pcc.evaluate_utility("fair", [50.0], queue_ms=queue) for queue in (0.0, 20.0))
        self.assertGreater(free, behind)

    def test_what_no_sender_could_do_is_refused(self):
        for wrong in ({"rates_mbit": [-3]}, {"rates_mbit": [float("nan")]}, {"rates_mbit": [1], "others_mbit": -1}):
            with self.assertRaisesRegex(ValueError, "choose 0 or more"):
                pcc.evaluate_utility("fair", **wrong)
        with self.assertRaisesRegex(ValueError, "choose 1 or more"):
            pcc.check_utility("fair", senders=[0])

    def test_a_utility_may_be_in_a_file(self):
        with tempfile.TemporaryDirectory() as directory:
            file = pathlib.Path(directory) / "my.utility"
            file.write_text("x - 11*x*L")
            self.assertEqual(pcc.evaluate_utility(str(file), [20.0]), pcc.evaluate_utility("x - 11*x*L", [20.0]))
            self.assertEqual(pcc.check_utility(str(file)), pcc.check_utility("x - 11*x*L"))

    def test_every_name_is_a_utility(self):
        for name in pcc.utilities():
            try:
                self.assertTrue(pcc.check_utility(name).law)
            except ValueError as problem:
                self.assertIn("needs its", str(problem))


class Traces(unittest.TestCase):
    def test_every_trace_of_the_documents_can_be_read(self):
        for path in TRACES.glob("*.txt"):
            events = list(pcc.read_trace(path))
            self.assertTrue(any(isinstance(event, pcc.Decision) for event in events), path)
            self.assertTrue(any(isinstance(event, pcc.Interval) for event in events), path)

    def test_an_interval_has_its_numbers(self):
        first = next(event for event in pcc.read_trace(TRACES / "modem.txt") if isinstance(event, pcc.Interval))
        self.assertEqual((first.id, first.packets, first.rtt_ms, first.loss), (1, 18, 459.0, 0.0))

    def test_a_limited_interval_has_its_utility(self):
        intervals = pcc.read_trace(TRACES / "application-limited.txt").intervals
        self.assertFalse([one.id for one in intervals if one.utility is None][10:])

    def test_a_trace_of_the_tool_is_read(self):
        interval = (
            '{"time":1500,"name":"pcc:interval_done","data":{"id":7,"duration":30.5,"target_rate":2e6,"achieved_rate":1e6,'
            '"delivery_rate":null,"packets":10,"packets_lost":1,"packets_marked":2,"loss":0.3,"rtt":null,"rtt_gradient":0.1,'
            '"queueing_delay":2.5,"limited_by":"network","utility":null}}'
        )
        decision = '{"time":1600.5,"name":"pcc:rate_decision","data":{"state":"Probing","rate":3e6,"reason":"so"}}'
        for header in (
            '{"qlog_version":"0.3","serialization_format":"JSON-SEQ","trace":{"event_schemas":[]}}',
            '{"file_schema":"urn:ietf:params:qlog:file:sequential","serialization_format":"application/qlog+json-seq"}',
        ):
            other = '{"time":1,"name":"quic:timer_updated","data":{}}'
            trace = self.read("".join(f"\x1e{record}\n" for record in (header, other, interval, decision)))
            (one,) = trace.intervals
            self.assertEqual((one.time_s, one.id, one.target_mbit, one.goodput_mbit), (1.5, 7, 2.0, None))
            self.assertEqual((one.marked, round(one.loss, 9), one.queueing_ms), (0.2, 0.1, 2.5))
            self.assertEqual(trace.decisions, [pcc.Decision(1.6005, 0, "Probing", 3.0, "so")])

    def test_a_file_that_is_not_there_fails_at_the_call(self):
        with self.assertRaises(FileNotFoundError):
            pcc.read_trace("gone.sqlog")

    def test_a_line_that_is_no_event_is_refused_with_its_number(self):
        for wrong in ("# path clean\nnothing\n", '{"a":1}\n{"name":"pcc:interval_done"}\n', "{}\n{half"):
            with self.assertRaisesRegex(ValueError, "line 2"):
                self.read(wrong)

    def read(self, text):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "trace"
            path.write_text(text)
            return pcc.read_trace(path)


class Words(unittest.TestCase):
    def members(self, of):
        return {name: getattr(of, name) for name in vars(of) if not name.startswith("_")}

    def test_everything_has_a_docstring_at_run_time(self):
        for name in pcc.__all__:
            one = getattr(pcc, name)
            self.assertTrue(inspect.getdoc(one), name)
            for member, value in self.members(one).items() if inspect.isclass(one) else ():
                is_field = member in getattr(one, "__dataclass_fields__", {})
                text = one.__doc__ if is_field else inspect.getdoc(value)
                self.assertTrue(text and (not is_field or member in text), f"{name}.{member}")

    def test_every_argument_is_explained(self):
        for name in ("simulate", "simulate_scenario", "check_utility", "evaluate_utility", "read_trace"):
            function = getattr(pcc, name)
            for argument in inspect.signature(function).parameters:
                if argument != "rates_mbit":
                    self.assertIn(f"{argument}: ", function.__doc__, name)

    def test_stubs_name_what_there_is(self):
        stub = ast.parse((pathlib.Path(pcc.__file__).parent / "_pcc.pyi").read_text())
        for declared in (one for one in stub.body if isinstance(one, ast.FunctionDef)):
            arguments = [one.arg for one in declared.args.args + declared.args.kwonlyargs]
            self.assertEqual(arguments, list(inspect.signature(getattr(pcc, declared.name)).parameters), declared.name)
        (simulation,) = (one for one in stub.body if isinstance(one, ast.ClassDef) and one.name == "Simulation")
        self.assertEqual({one.name for one in simulation.body}, set(self.members(pcc.Simulation)))


if __name__ == "__main__":
    unittest.main()
