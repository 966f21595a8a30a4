//! Paths that are drawn at random, each shared by senders that come and go: the plan of `docs/results/drawn-plan.md`.

mod figures;

pub use figures::Figures;

use crate::cast::{Cast, ParseCastError};
use crate::running;
use crate::scenario::{HOST_DELAY, Scenario};
use core::fmt;
use core::time::Duration;
use pcc_link::{Impossible, ParsePathError, Path, Rng};

/// The senders in PCC's place, in turn.
pub const SENDERS: [&str; 3] = ["pcc", "cubic", "bbr"];
/// The size of a file.
const FILE: f64 = 100e3;
/// The most files of a run: each is a flow.
const MOST_FILES: f64 = 60.0;
/// The most bulk senders.
const MOST_SENDERS: f64 = 20.0;
/// Two packets are the least that a queue has, of those with the longest headers.
const LEAST_BUFFER: f64 = 3028.0;

/// A campaign: which paths it draws, and how long a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Campaign {
    /// The seed of the draws.
    pub draws: u64,
    /// The virtual time of a run.
    pub duration: Duration,
}

impl Campaign {
    /// The paths of a campaign are numbered from 1 to this.
    pub const PATHS: u64 = 200;
    /// The seeds of a path are numbered from 1 to this.
    pub const SEEDS: u64 = 10;
    /// The one whose results are published.
    pub const PUBLISHED: Self = Self { draws: 2026, duration: Duration::from_secs(60) };

    /// The path of this number, whatever the others are.
    pub fn path(self, number: u64) -> Drawn {
        let mut draw = Draw(self.generator(number, 0));
        let (mbit, rtt) = (draw.between(2.0, 100.0), draw.between(10.0, 300.0));
        let products = draw.between(0.02, 8.0);
        let loss = draw.now_and_then(0.001, 1.0);
        let jitter = draw.now_and_then(0.1, 10.0);
        let queue =
            draw.one_of(&[(0.5, "droptail"), (0.125, "codel"), (0.125, "fq_codel"), (0.125, "pie"), (0.125, "red")]);
        let count = draw.between(1.0, MOST_SENDERS + 1.0) as usize;
        let load = draw.now_and_then(0.01, 0.2);
        let of_files = draw.one_of(&[(0.5, "cubic"), (0.25, "bbr"), (0.25, "pcc")]);
        let bulk = (0..count).map(|place| {
            let kind = draw.one_of(&[(0.5, "pcc"), (0.25, "cubic"), (0.125, "bbr"), (0.125, "reno")]);
            let leaves = draw.0.chance(1.0 / 3.0);
            if place == 0 { Bulk { kind: "pcc", leaves: false } } else { Bulk { kind, leaves } }
        });
        let bulk = bulk.collect();
        let buffer = (products * mbit * rtt * 125.0).max(LEAST_BUFFER);
        let mut path = format!("rate={mbit:.3}Mbit,rtt={rtt:.2}ms,buffer={buffer:.0}B");
        path += &loss.map(|percent| format!(",loss={percent:.4}%")).unwrap_or_default();
        path += &jitter.map(|ms| format!(",jitter={ms:.2}ms")).unwrap_or_default();
        if queue != "droptail" {
            path += &format!(",down.queue={queue}");
        }
        let bytes = mbit * 125e3 * self.duration.as_secs_f64();
        let files = load.map(|load| (of_files, (load * bytes / FILE).round().clamp(1.0, MOST_FILES) as usize));
        Drawn { campaign: self, number, path, products, bulk, files }
    }

    /// A path's generator, or that of one of its seeds.
    const fn generator(self, number: u64, seed: u64) -> Rng {
        Rng::new(self.draws ^ (number << 32) ^ (seed << 16))
    }
}

/// A generator, and the distributions that are drawn from.
struct Draw(Rng);

impl Draw {
    /// Log-uniform.
    fn between(&mut self, from: f64, to: f64) -> f64 {
        from * (self.0.unit() * (to / from).ln()).exp()
    }

    /// In half of all cases nothing. It draws as much in either case.
    fn now_and_then(&mut self, from: f64, to: f64) -> Option<f64> {
        let (is_there, value) = (self.0.chance(0.5), self.between(from, to));
        is_there.then_some(value)
    }

    /// One of these, each with its probability; together they are certain.
    fn one_of(&mut self, choices: &[(f64, &'static str)]) -> &'static str {
        let mut left = self.0.unit();
        let found = choices.iter().find(|(probability, _)| {
            left -= probability;
            left < 0.0
        });
        found.or(choices.last()).map_or("", |(_, choice)| choice)
    }

    /// Uniform, between two shares of a run.
    fn moment(&mut self, run: Duration, from: f64, to: f64) -> Duration {
        run.mul_f64(from + (to - from) * self.0.unit())
    }
}

/// A sender that always has more data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bulk {
    kind: &'static str,
    leaves: bool,
}

/// A path of a campaign, and who shares it.
#[derive(Clone, Debug, PartialEq)]
pub struct Drawn {
    campaign: Campaign,
    /// Its number.
    pub number: u64,
    /// As [`Path`] reads it.
    pub path: String,
    /// The buffer that was drawn, in bandwidth-delay products.
    pub products: f64,
    bulk: Vec<Bulk>,
    /// The sender of the files, and how many there are.
    files: Option<(&'static str, usize)>,
}

/// A drawn path, or who shares it, makes no sense: a fault of this module.
#[derive(Clone, Debug, PartialEq)]
pub struct Senseless(String);

impl fmt::Display for Senseless {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Senseless {}

impl From<ParsePathError> for Senseless {
    fn from(error: ParsePathError) -> Self {
        Self(error.to_string())
    }
}

impl From<ParseCastError> for Senseless {
    fn from(error: ParseCastError) -> Self {
        Self(error.to_string())
    }
}

impl From<Impossible> for Senseless {
    fn from(error: Impossible) -> Self {
        Self(error.to_string())
    }
}

impl Drawn {
    /// The bulk senders, each kind with its number: `pcc*3 cubic`.
    pub fn senders(&self) -> String {
        let count = |kind| (kind, self.bulk.iter().filter(|sender| sender.kind == kind).count());
        let told = ["pcc", "cubic", "bbr", "reno"].into_iter().map(count).filter(|(_, count)| *count > 0);
        let told = told.map(|(kind, count)| if count > 1 { format!("{kind}*{count}") } else { kind.to_owned() });
        told.collect::<Vec<_>>().join(" ")
    }

    /// The files and their sender: `cubic*12`.
    pub fn files(&self) -> String {
        self.files.map_or(String::new(), |(kind, count)| format!("{kind}*{count}"))
    }

    /// The flows of a seed with this sender in PCC's place, as [`Cast`] reads them, and which of them stand there.
    fn flows(&self, seed: u64, sender: &str) -> (String, Vec<bool>) {
        let mut draw = Draw(self.campaign.generator(self.number, seed));
        let (run, host) = (self.campaign.duration, HOST_DELAY.as_micros());
        let in_place = |kind: &'static str| if kind == "pcc" { sender.to_owned() } else { kind.to_owned() };
        let mut words = Vec::new();
        for Bulk { kind, leaves } in &self.bulk {
            let (start, stop) = (draw.moment(run, 0.0, 1.0 / 3.0), draw.moment(run, 0.5, 11.0 / 12.0));
            let stop = if *leaves { format!(":stop={}ms", stop.as_millis()) } else { String::new() };
            words.push(format!("{}:start={}ms{stop}:hostdelay={host}us", in_place(kind), start.as_millis()));
        }
        let (kind, count) = self.files.unwrap_or(("", 0));
        words.extend((0..count).map(|_| {
            let start = draw.moment(run, 0.0, 11.0 / 12.0).as_millis();
            format!("{}:size=100kB:start={start}ms:hostdelay={host}us", in_place(kind))
        }));
        let kinds = self.bulk.iter().map(|bulk| bulk.kind).chain(core::iter::repeat_n(kind, count));
        (words.join(" "), kinds.map(|kind| kind == "pcc").collect())
    }

    /// The command that repeats a run.
    pub fn command(&self, seed: u64, sender: &str) -> String {
        let (flows, _) = self.flows(seed, sender);
        let seconds = self.campaign.duration.as_secs_f64();
        format!("pcc-lab sim --link {} --flows '{flows}' --time-limit {seconds}s --seed {seed}", self.path)
    }

    /// The simulation of a seed with this sender in PCC's place.
    ///
    /// Errors: what was drawn makes no sense, or there is no such sender.
    pub fn scenario(&self, seed: u64, sender: &str) -> Result<Scenario, Senseless> {
        let path: Path = self.path.parse()?;
        let (text, in_place) = self.flows(seed, sender);
        let Cast(mut flows) = text.parse()?;
        for ((number, flow), stands_in) in (0..).zip(&mut flows).zip(in_place) {
            flow.stands_in = stands_in;
            flow.config.seed = seed * 1000 + number;
        }
        Ok(Scenario::new(path, flows, seed, self.campaign.duration))
    }

    /// Simulates it.
    ///
    /// Errors: as [`Self::scenario`].
    pub fn run(&self, seed: u64, sender: &str) -> Result<Figures, Senseless> {
        let scenario = self.scenario(seed, sender)?;
        Ok(Figures::of(&scenario, &running::run(&scenario)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Control, Source};

    /// Another one, so that no test sees a path of the published one.
    const OTHER: Campaign = Campaign { draws: 7, duration: Duration::from_secs(6) };

    #[test]
    fn every_path_that_is_drawn_can_be_simulated() {
        for number in 1..=Campaign::PATHS {
            let drawn = OTHER.path(number);
            let scenario = drawn.scenario(3, "cubic").unwrap();
            assert!(scenario.path.bottlenecks(1).is_ok(), "{}", drawn.path);
            let bulk = scenario.flows.iter().filter(|flow| flow.source == Source::Greedy).count();
            assert!((1..=20).contains(&bulk) && scenario.flows[0].is_ours(), "{}", drawn.senders());
            assert!(scenario.flows.iter().all(|flow| flow.start < OTHER.duration && flow.control != Control::Pcc));
        }
    }

    #[test]
    fn half_of_the_paths_have_loss_and_half_are_droptail() {
        let paths: Vec<_> = (1..=400).map(|number| OTHER.path(number).path).collect();
        for word in ["loss=", "jitter=", "queue="] {
            let having = paths.iter().filter(|path| path.contains(word)).count();
            assert!((160..=240).contains(&having), "{word} on {having} of 400");
        }
    }

    #[test]
    fn a_peer_in_pcc_s_place_comes_and_goes_when_pcc_does() {
        let number = (1..).find(|number| OTHER.path(*number).senders().matches(' ').count() == 3).unwrap();
        let [ours, theirs] = ["pcc", "bbr"].map(|sender| OTHER.path(number).scenario(2, sender).unwrap().flows);
        for (one, other) in ours.iter().zip(&theirs) {
            assert_eq!((one.start, one.stop, one.is_ours()), (other.start, other.stop, other.is_ours()));
            assert!(one.is_ours() == (one.control == Control::Pcc) && other.control != Control::Pcc);
        }
    }

    #[test]
    fn the_seed_draws_the_moments_and_nothing_else() {
        let drawn = OTHER.path(4);
        let [one, other] = [1, 2].map(|seed| drawn.scenario(seed, "pcc").unwrap());
        assert_eq!((one.path, one.flows.len()), (other.path, other.flows.len()));
        assert!(one.flows[0].start != other.flows[0].start);
        assert_eq!(drawn, OTHER.path(4));
    }
}
