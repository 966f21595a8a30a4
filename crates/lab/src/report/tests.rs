use super::*;
use crate::scenario;
use crate::spec::{FlowOutcome, FlowSample, Spec};
use pcc_report::provenance::{Build, Source};

const SCENARIO: &str = r#"
    title = "Loss & <blood>"
    source = "a test"
    published = ["nothing \"yet\""]
    algorithms = ["quic:pcc", "cubic", "reno"]
    duration = "10s"
    seeds = [1, 2, 3]
    path = { rate = "100Mbit", rtt = "30ms", buffer = "1bdp" }
    sweep = { parameter = "loss-both-ways", values = [0.0, 0.01, 0.02] }

    [[figure]]
    y = "share"

    [[figure]]
    kind = "cdf"
    y = "goodput"
    over = "cubic"
    x_scale = "log"
    y_label = "points"

    [[figure]]
    kind = "frontier"
    x = "rtt"
    y = "goodput"

    [[figure]]
    kind = "timeline"
    point = "0.01"

    [[reference]]
    label = "PCC, 2015"
    source = "NSDI 2015"
    algorithm = "quic:pcc"
    points = { "0.015" = 0.8 }

    [[target]]
    row = "1"
    at = ["0.0", "0.02"]
    measure = "share"
    must = 0.5
    goal = 0.6

    [[target]]
    row = "1"
    at = ["0.02"]
    measure = "share"
    over = ["reno"]
    must = 2.0
"#;

/// Ten samples of a goodput that falls with the loss, and is twice as high for PCC. Reno was not run.
fn outcome(run: &scenario::Run) -> Option<Outcome> {
    let factor = match run.algorithm.as_str() {
        "quic:pcc" => 2.0,
        "cubic" => 1.0,
        _ => return None,
    };
    let mbit = factor * (40.0 - 1000.0 * run.spec.path.loss) + run.spec.seed as f64;
    let second = 1_000_000_000;
    let sample = |at: u64| {
        let delivered = (mbit * 1e6 / 8.0 * at as f64) as u64;
        FlowSample { at: at * second, delivered, sent: delivered, rtt: 40_000, ..FlowSample::default() }
    };
    let flow = FlowOutcome { samples: (0..=10).map(sample).collect(), ..FlowOutcome::default() };
    Some(Outcome { kernel: "6.12.1".into(), flows: vec![flow], ..Outcome::default() })
}

fn with_section<T>(look: impl FnOnce(&Section<'_>) -> T) -> T {
    let scenario = scenario::parse("small", SCENARIO).unwrap_or_else(|error| panic!("{error}"));
    let outcomes: Vec<_> = scenario.runs.iter().map(outcome).collect();
    let dir = tempfile::tempdir().unwrap();
    let store = Store::at(dir.path(), "k");
    for run in &scenario.runs {
        store.keep(&Spec { ..run.spec.clone() }, &Outcome::default(), 10.0).unwrap();
    }
    look(&Section::of(&scenario, &outcomes, &store, "pcc-lab run small".into()))
}

fn provenance(source: Source) -> Provenance {
    let build = Build { version: "0.1.0".into(), program: "5ea1b523".into(), commit: Some("abc1234".into()) };
    Provenance { source, build, command: "pcc makes this page".into(), seeds: Vec::new() }
}

fn rendered() -> String {
    with_section(|section| page(std::slice::from_ref(section), &provenance(Source::Lab)))
}

/// Panics unless every tag is closed in its turn.
fn assert_well_formed(text: &str) {
    const VOID: [&str; 1] = ["meta"];
    let mut open: Vec<&str> = Vec::new();
    for part in text.split('<').skip(1) {
        let (tag, _) = part.split_once('>').unwrap_or_else(|| panic!("<{part} does not end"));
        assert!(!tag.contains('\n'), "<{tag}");
        if tag.starts_with('!') || tag.ends_with('/') {
            continue;
        }
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name), "</{name}> closes another"),
            None => {
                let name = tag.split_whitespace().next().unwrap_or_default();
                if !VOID.contains(&name) {
                    open.push(name);
                }
                assert_eq!(tag.matches('"').count() % 2, 0, "<{tag}>");
            }
        }
    }
    assert_eq!(open, Vec::<&str>::new(), "left open");
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_from_elsewhere() {
    let page = rendered();
    assert_well_formed(&page);
    for word in ["http:", "https:", "<script", "<link", "<img", "@import", "url(", "src="] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(!page.contains("NaN") && !page.contains("inf,"), "every number is one");
}

#[test]
fn what_comes_from_a_scenario_file_cannot_become_markup() {
    let page = rendered();
    assert!(page.contains("Loss &amp; &lt;blood&gt;") && !page.contains("<blood>"));
    assert!(page.contains("nothing &quot;yet&quot;"));
}

#[test]
fn the_page_shows_results_promises_papers_and_the_command() {
    let page = rendered();
    for (what, words) in [
        ("the score", "1 of 3 promises kept, 1 missed, 1 not judged; 1 goal reached"),
        ("a miss", "<span class=\"verdict miss\">MISS</span>"),
        ("a goal", "PASS, goal"),
        ("what is missing", "lacks reno at 0.02"),
        ("the published figure", "PCC, 2015 (NSDI 2015)"),
        ("the command", "<code>pcc-lab run small</code>"),
        ("the runs", "18 of 27; seeds 1 to 3; 10 s of virtual time each"),
        ("the kernel", "Linux 6.12.1"),
        ("the program", "commit abc1234, program 5ea1b523"),
        ("the real time", "<dt>Real time</dt><dd>3 min</dd>"),
        ("the data", "download=\"small.csv\""),
    ] {
        assert!(page.contains(words), "{what}: {words}");
    }
}

#[test]
fn a_scenario_without_results_is_shown_as_not_run() {
    let scenario = scenario::parse("small", SCENARIO).unwrap();
    let outcomes: Vec<_> = scenario.runs.iter().map(|_| None).collect();
    let dir = tempfile::tempdir().unwrap();
    let section = Section::of(&scenario, &outcomes, &Store::at(dir.path(), "k"), "pcc-lab run small".into());
    let page = page(std::slice::from_ref(&section), &provenance(Source::Lab));
    assert_well_formed(&page);
    assert!(page.contains("not run") && page.contains("pcc-lab run small") && !page.contains("PASS"));
    assert!(section.pictures(&provenance(Source::Lab)).is_empty());
}

#[test]
fn figures_have_the_lines_marks_and_limits_of_their_kind() {
    with_section(|section| {
        let [lines, distribution, frontier, timeline] = section.plots.as_slice() else {
            panic!("{} plots", section.plots.len())
        };
        let names = |plot: &Plot| plot.series.iter().map(|series| series.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(lines), ["pcc", "cubic"]);
        assert_eq!(lines.x.marks.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["0.0", "0.01", "0.02"]);
        assert_eq!(lines.references[0].points[0].x, 0.015, "between our points");
        assert_eq!(lines.limits.len(), 2, "that over a peer is none of this axis");
        assert!(lines.series[0].points.iter().all(|point| point.y.margin.is_some_and(|margin| margin > 0.0)));
        assert_eq!(lines.series[0].points[0].seeds.len(), 3, "few seeds are shown one by one");
        assert!(lines.is_small() && !timeline.is_small());
        assert_eq!(names(distribution), ["pcc"], "CUBIC over CUBIC is 1 everywhere");
        assert!(distribution.x.label.starts_with("goodput"), "{}", distribution.x.label);
        let last = distribution.series[0].points.last().unwrap();
        assert_eq!(last.y.mean, 1.0);
        assert!((last.x - 82.0 / 42.0).abs() < 1e-6, "{last:?}");
        assert_eq!(frontier.series[0].points[0].x, 40.0);
        assert_eq!(names(timeline), ["pcc", "cubic"], "one flow each: one picture");
        assert!((timeline.series[0].points[0].y.mean - 61.0).abs() < 1e-6, "seed 1 at 0.01");
    });
}

#[test]
fn marks_of_frontier_that_share_colour_have_shapes_of_their_own() {
    let text =
        SCENARIO.replace(r#""cubic", "reno"]"#, r#""cubic", "quic:pcc+allegro+least_gain=0", "quic:cubic", "reno"]"#);
    let scenario = scenario::parse("small", &text).unwrap_or_else(|error| panic!("{error}"));
    let run = |run: &scenario::Run| {
        let algorithm = run.algorithm.replace("+allegro+least_gain=0", "").replace("quic:cubic", "cubic");
        outcome(&scenario::Run { algorithm, ..run.clone() })
    };
    let outcomes: Vec<_> = scenario.runs.iter().map(run).collect();
    let dir = tempfile::tempdir().unwrap();
    let section = Section::of(&scenario, &outcomes, &Store::at(dir.path(), "k"), "pcc-lab run small".into());
    let marks: Vec<_> = section.plots[2].series.iter().map(|one| (one.name.as_str(), one.alike)).collect();
    assert_eq!(marks, [("pcc", 0), ("cubic", 0), ("pcc+allegro+least_gain=0", 1), ("quic:cubic", 1)]);
}

#[test]
fn without_a_sweep_each_algorithm_has_a_place_of_its_own() {
    let text = SCENARIO.replace("sweep = { parameter = \"loss-both-ways\", values = [0.0, 0.01, 0.02] }", "");
    let text = text.split("    [[figure]]\n    kind").next().unwrap();
    let target = "[[target]]\nrow = '1'\nmeasure = 'share'\nmust = 0.5";
    let scenario = scenario::parse("small", &format!("{text}\n{target}")).unwrap_or_else(|error| panic!("{error}"));
    let outcomes: Vec<_> = scenario.runs.iter().map(outcome).collect();
    let dir = tempfile::tempdir().unwrap();
    let section = Section::of(&scenario, &outcomes, &Store::at(dir.path(), "k"), "pcc-lab run small".into());
    let places: Vec<_> = section.plots[0].series.iter().map(|one| (one.name.as_str(), one.points[0].x)).collect();
    assert_eq!(places, [("pcc", 0.0), ("cubic", 1.0)]);
    assert_eq!(section.plots[0].limits.len(), 1);
    assert_eq!(section.checked[0].as_ref().unwrap().case, "small");
}

#[test]
fn a_promise_stands_at_the_named_point_of_its_measure() {
    let text =
        SCENARIO.replace("\"loss-both-ways\", values = [0.0, 0.01, 0.02]", "\"queue\", values = [\"fq\", \"codel\"]");
    let text = text.split("    [[figure]]\n    kind").next().unwrap();
    let target = "[[target]]\nrow = '1'\nmeasure = 'share'\nmust = 0.5";
    let scenario = scenario::parse("small", &format!("{text}\n{target}")).unwrap_or_else(|error| panic!("{error}"));
    let outcomes: Vec<_> = scenario.runs.iter().map(outcome).collect();
    let dir = tempfile::tempdir().unwrap();
    let section = Section::of(&scenario, &outcomes, &Store::at(dir.path(), "k"), "pcc-lab run small".into());
    let plot = &section.plots[0];
    let places = |number: usize| plot.series[number].points.iter().map(|point| point.x).collect::<Vec<_>>();
    assert_eq!(plot.limits.iter().map(|limit| limit.x).collect::<Vec<_>>(), places(0));
    assert_ne!(places(0), places(1));
    // The first mark of the first series keeps its width from the axis, which begins 14 pixels and three digits in.
    let drawn =
        pcc_chart::svg::draw(plot, pcc_chart::svg::Size { width: 450.0, height: 280.0 }, pcc_chart::ink::Ground::Page);
    let limit = drawn.split("stroke-width=\"3\"").next().unwrap().rsplit("<path d=\"M").next().unwrap();
    let left: f64 = limit.split(' ').next().unwrap().parse().unwrap();
    assert!(left > 14.0 + 3.0 * 7.3, "{limit}");
}

#[test]
fn table_has_line_for_every_run_and_only_columns_with_values() {
    with_section(|section| {
        let table = section.csv(&provenance(Source::Lab));
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines.len(), 1 + 18);
        assert_eq!(
            lines[0],
            "scenario,point,algorithm,seed,goodput,share,rtt,rtt-added,loss,waste,measured_by,program,commit"
        );
        assert!(lines[1].starts_with("small,0.0,quic:pcc,1,81.0"), "{}", lines[1]);
        assert!(lines.iter().all(|line| line.split(',').count() == 13));
    });
}

#[test]
fn the_page_begins_with_what_pcc_moves_by_what_its_peers_move() {
    with_section(|section| {
        let rows = overview::rows(std::slice::from_ref(section));
        assert_eq!(rows.len(), 1);
        let drawn = overview::draw(&rows, 900.0, false);
        assert_well_formed(&drawn);
        // At 0.01 twice CUBIC's 30 and its seeds' mean of 2: the median of the three points.
        assert!(drawn.contains(": 1.94 times cubic"), "{drawn}");
        assert!(!drawn.contains("times bbr"), "which was not run");
    });
    let page = rendered();
    assert!(page.find("times that of the kernel's CUBIC").unwrap() < page.find("A promise is").unwrap());
}

#[test]
fn an_interval_below_a_logarithmic_axis_stays_within_it() {
    with_section(|section| {
        let mut plot = section.plots[0].clone();
        plot.y.scale = pcc_chart::axis::Scale::Log;
        let point = &mut plot.series[0].points[0];
        point.seeds.clear();
        point.y = pcc_stats::Mean { mean: 0.5, margin: Some(0.4995) };
        let size = pcc_chart::svg::Size { width: 450.0, height: 280.0 };
        let drawn = pcc_chart::svg::draw(&plot, size, pcc_chart::ink::Ground::Page);
        // The axis is as long as the figures need: the lower end of the bar, at 0.0005, lies below it.
        assert!(drawn.contains(">0.5<") && !drawn.contains(">0.001<"), "{drawn}");
    });
}

#[test]
fn pictures_stand_alone() {
    with_section(|section| {
        let pictures = section.pictures(&provenance(Source::Lab));
        let names: Vec<_> = pictures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["small.svg", "small-2.svg", "small-3.svg", "small-4.svg"]);
        for (_, picture) in &pictures {
            assert_well_formed(picture);
            assert!(picture.contains("xmlns") && !picture.contains("var("), "colours of its own");
        }
    });
}

#[test]
fn a_simulated_page_claims_no_measurement() {
    let page = with_section(|section| page(std::slice::from_ref(section), &provenance(Source::Simulator)));
    assert_well_formed(&page);
    assert!(page.contains("<title>Simulated: Loss &amp; &lt;blood&gt;</title>") && page.contains("no network stack"));
    for claim in ["real Linux", "the kernel's CUBIC", "Kernels", "the papers"] {
        assert!(!page.contains(claim), "{claim}");
    }
    assert!(page.contains("pcc makes this page") && page.contains("models of Linux"));
}

#[test]
fn without_promises_no_score_is_told() {
    let text = SCENARIO.split("    [[target]]").next().unwrap();
    let scenario = scenario::parse("small", text).unwrap();
    let outcomes: Vec<_> = scenario.runs.iter().map(outcome).collect();
    let dir = tempfile::tempdir().unwrap();
    let section = Section::of(&scenario, &outcomes, &Store::at(dir.path(), "k"), "pcc-lab run small.toml".into());
    let page = page(&[section], &provenance(Source::Lab));
    assert!(!page.contains("promises kept") && page.contains("pcc-lab run small.toml"), "{page:.3000}");
}

#[test]
fn a_page_without_a_commit_says_so_on_top() {
    let mut unknown = provenance(Source::Lab);
    unknown.build.commit = None;
    let page = with_section(|section| page(std::slice::from_ref(section), &unknown));
    assert!(page.contains("Not reproducible: no commit is recorded of the program 5ea1b523"));
    assert!(!rendered().contains("Not reproducible"));
}

/// A page and the section of the point 0.01 alone.
fn with_part(look: impl FnOnce(&Section<'_>, &str)) {
    let mut scenarios = [scenario::parse("small", SCENARIO).unwrap()];
    let selection = scenario::Selection { points: &["0.01".to_owned()], ..scenario::Selection::default() };
    selection.apply(&mut scenarios).unwrap();
    let [scenario] = scenarios;
    let outcomes: Vec<_> = scenario.runs.iter().map(outcome).collect();
    let dir = tempfile::tempdir().unwrap();
    let section = Section::of(&scenario, &outcomes, &Store::at(dir.path(), "k"), "pcc-lab sim small.toml".into());
    let page = page(std::slice::from_ref(&section), &provenance(Source::Simulator));
    look(&section, &page);
}

#[test]
fn a_part_of_a_sweep_has_neither_limits_nor_papers_of_the_rest() {
    with_part(|section, page| {
        let lines = &section.plots[0];
        assert_eq!((lines.references.len(), lines.limits.len()), (0, 0), "0.015, 0.0 and 0.02 were left out");
        assert!(section.checked.is_empty(), "{:?}", section.checked);
        assert!(!page.contains("not judged") && !page.contains("PCC, 2015"), "{page}");
    });
}

#[test]
fn a_page_names_only_peers_that_there_are() {
    with_part(|_, page| {
        assert!(page.contains("models of Linux's CUBIC:") && page.contains("times CUBIC"), "{page}");
        assert!(!page.contains("BBR"), "{page}");
    });
}

#[test]
fn targets_of_ones_own_are_no_promises_of_the_lab() {
    let page = with_section(|section| page(std::slice::from_ref(section), &provenance(Source::Simulator)));
    assert!(page.contains("the targets of the scenario's file") && !page.contains("pcc-lab check"), "{page}");
}

#[test]
fn a_quotient_beyond_the_usual_range_widens_it() {
    let drawn = |over| overview::draw(&[overview::Row { name: "far", title: "far", over }], 900.0, false);
    let (usual, wide) = (drawn([vec![2.0], vec![1.0]]), drawn([vec![200.0], vec![0.01]]));
    assert!(usual.contains(">100</text>") && !usual.contains(">200</text>"), "{usual}");
    assert!(wide.contains(">200</text>") && wide.contains(">0.01</text>"), "{wide}");
}
