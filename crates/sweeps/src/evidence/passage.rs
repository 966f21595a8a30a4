//! First passage: the path changes, and it is seen in which direction the rate first leaves where it was, and after how many
//! pairs of judged intervals.

use core::time::Duration;
use pcc::observe::{Event, Observer};
use pcc::utility;
use pcc_sim::{Flow, Scenario, run};
use std::sync::{Arc, Mutex};

/// When the path changes, and how long after that a direction is waited for. Unit: s.
const SETTLED: u64 = 5;
const PATIENCE: u64 = 4;
/// The path's RTT, after which news of the change can be known at the earliest. Unit: s.
const RTT: f64 = 0.03;
/// A law may take back at once what it did: its rate is the mean over so long. Unit: s.
const WINDOW: f64 = 4.0 * RTT;
/// Where it was is the mean over so long before the change. Unit: s.
const BEFOREHAND: f64 = 1.0;
/// The rate left where it was when it is this far from it: the largest probe of the papers.
const LEFT: f64 = 0.05;
/// A sender this near to its new part has no right direction.
const NEAR: f64 = 0.07;
/// Capacity before the change, and after it. Unit: Mbit/s.
const BEFORE: f64 = 100.0;
const MORE: f64 = 125.0;
const LESS: f64 = 80.0;

/// The change of the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Change {
    /// A quarter more capacity.
    More,
    /// A fifth less.
    Less,
    /// It begins to lose this share at random: more than the objective bears.
    Loss(f64),
}

/// A path, and how many equal senders share it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Place {
    /// Random loss, unless that is the change.
    pub(crate) loss: f64,
    pub(crate) jitter_ms: u32,
    pub(crate) flows: u64,
}

/// A law and what it climbs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    pub(crate) law: &'static str,
    pub(crate) utility: &'static str,
}

/// The outcome of one sender.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Passage {
    Right {
        pairs: f64,
    },
    Wrong,
    /// It stayed where it was.
    Never,
}

/// All decisions and judged intervals of a flow, in order.
#[derive(Debug, Default)]
struct Story(Mutex<Vec<Line>>);

#[derive(Clone, Copy, Debug)]
enum Line {
    /// The base rate from this moment on, in s and Mbit/s.
    Rate(f64, f64),
    /// A judged interval is known: when, and when it began.
    Judged { at: f64, began: f64 },
}

impl Observer for Story {
    fn on_event(&self, event: &Event<'_>) {
        let line = match event {
            Event::Decision { at, rate, .. } => Line::Rate(at.as_secs_f64(), rate.mbit()),
            Event::Interval { at, report, utility: Some(_) } => {
                Line::Judged { at: at.as_secs_f64(), began: report.started.as_secs_f64() }
            }
            _ => return,
        };
        if let Ok(mut lines) = self.0.lock() {
            lines.push(line);
        }
    }
}

/// The passage of each sender; none of a sender that had no right direction.
pub(crate) fn observe(sender: Sender, place: Place, change: Change, seed: u64) -> Result<Vec<Passage>, String> {
    let mut stories = Vec::new();
    let mut flows = Vec::new();
    for number in 0..place.flows {
        let (mut flow, story) = (Flow::default(), Arc::new(Story::default()));
        flow.config.law = Some(sender.law.parse().map_err(|error| format!("{}: {error}", sender.law))?);
        flow.config.utility = utility::parse(sender.utility).map_err(|error| format!("{}: {error}", sender.utility))?;
        flow.config.seed = seed * 1000 + number;
        flow.config.observer = Some(story.clone());
        stories.push(story);
        flows.push(flow);
    }
    let (then, capacity) = match change {
        Change::More => (format!("rate={MORE}Mbit"), MORE),
        Change::Less => (format!("rate={LESS}Mbit"), LESS),
        Change::Loss(loss) => (format!("loss={}%", 100.0 * loss), 0.0),
    };
    let path = format!(
        "rate={BEFORE}Mbit,rtt=30ms,buffer=375KB,jitter={}ms,loss={}%,at={SETTLED}s:{then}",
        place.jitter_ms,
        100.0 * place.loss
    );
    let path = path.parse().map_err(|error| format!("{path}: {error}"))?;
    run(&Scenario::new(path, flows, seed, Duration::from_secs(SETTLED + PATIENCE)))
        .map_err(|error| error.to_string())?;
    let stories: Vec<Vec<Line>> =
        stories.iter().map(|story| story.0.lock().map(|lines| lines.clone()).unwrap_or_default()).collect();
    let part = capacity / place.flows as f64;
    Ok(stories.iter().filter_map(|story| passage(story, part)).collect())
}

/// Mean base rate between two moments. Unit: Mbit/s.
fn mean(story: &[Line], from: f64, to: f64) -> f64 {
    let rates = story.iter().filter_map(|line| match line {
        Line::Rate(at, rate) => Some((*at, *rate)),
        Line::Judged { .. } => None,
    });
    let (mut sum, mut since, mut rate) = (0.0, from, 0.0);
    for (at, next) in rates.take_while(|(at, _)| *at < to) {
        if at > since {
            sum += (at - since) * rate;
            since = at;
        }
        rate = next;
    }
    (sum + (to - since) * rate) / (to - from)
}

/// From where the rate was to the first moment at which it is away from it; `None` if it had its part.
fn passage(story: &[Line], part: f64) -> Option<Passage> {
    let changed = SETTLED as f64;
    let was = mean(story, changed - BEFOREHAND, changed);
    if (was / part.max(f64::MIN_POSITIVE) - 1.0).abs() < NEAR {
        return None;
    }
    let mut judged = 0;
    for (place, line) in story.iter().enumerate() {
        let at = match *line {
            Line::Judged { at, began } => {
                judged += u32::from(began >= changed);
                at
            }
            Line::Rate(at, _) => at,
        };
        if at < changed + RTT + WINDOW {
            continue;
        }
        let rate = mean(&story[..place], at - WINDOW, at);
        if (rate / was - 1.0).abs() >= LEFT {
            let right = (rate > was) == (part > was);
            return Some(if right { Passage::Right { pairs: f64::from(judged) / 2.0 } } else { Passage::Wrong });
        }
    }
    Some(Passage::Never)
}
