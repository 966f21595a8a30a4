//! How long one piece of work, a file or a listing, goes on without progress, and how long it waits between attempts.
//!
//! Each has its own clock: what befalls one file among others neither slows the others down nor is excused by them.

use super::source::Source;
use super::trouble::{GaveUp, Refused, Trouble};
use crate::failure::Failure;
use anyhow::anyhow;
use core::pin::pin;
use core::time::Duration;
use pcc_net::backoff::{Backoff, random};
use tokio::time::Instant;

/// Bytes a second that count as progress, a tenth of what the slowest modems carried: with a byte now and then a server
/// could hold a client for ever.
const LEAST_RATE: f64 = 100.0;

/// A request is answered within the time to give up, or this if that is shorter: with no time at all only a broken
/// connection ends the attempt.
const LEAST_PATIENCE: Duration = Duration::from_secs(1);

/// Between two looks at the clock. One that comes much later shows that this program did not run.
const LOOK: Duration = Duration::from_secs(1);

/// The delay with which a look may come on a busy machine.
const LATE: Duration = Duration::from_secs(2);

/// When enough came last.
#[derive(Debug)]
struct Meter {
    since: Instant,
    /// Bytes from then on.
    bytes: u64,
}

impl Meter {
    fn new(now: Instant) -> Self {
        Self { since: now, bytes: 0 }
    }

    /// Whether `bytes` more, which came at that time, are enough, at the least rate, for `window` of time.
    fn count(&mut self, bytes: u64, at: Instant, window: Duration) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        let enough = self.bytes as f64 >= LEAST_RATE * window.as_secs_f64();
        if enough {
            *self = Self::new(at.max(self.since));
        }
        enough
    }
}

/// The clock of one piece of work.
#[derive(Debug)]
struct Clock {
    give_up: Duration,
    /// New bytes.
    progress: Meter,
    /// Bytes that an earlier attempt had already: they show that the server is there, not that the end comes nearer.
    repeated: Meter,
    asked: Instant,
    backoff: Backoff,
}

impl Clock {
    fn new(give_up: Duration) -> Self {
        let now = Instant::now();
        let (progress, repeated) = (Meter::new(now), Meter::new(now));
        Self { give_up, progress, repeated, asked: now, backoff: Backoff::default() }
    }

    fn window(&self) -> Duration {
        self.give_up.max(LEAST_PATIENCE)
    }

    /// When the attempt under way has lasted too long.
    fn deadline(&self) -> Instant {
        let counted = self.progress.since.max(self.repeated.since) + self.window();
        counted.max(self.asked + LEAST_PATIENCE)
    }

    fn arrived(&mut self, bytes: u64, at: Instant) -> bool {
        let progressed = self.progress.count(bytes, at, self.window());
        if progressed {
            self.backoff.reset();
        }
        progressed
    }

    fn repeated(&mut self, bytes: u64, at: Instant) {
        self.repeated.count(bytes, at, self.window());
    }

    fn excuse(&mut self, time: Duration) {
        self.progress.since += time;
        self.repeated.since += time;
        self.asked += time;
    }

    /// How long to wait before the next attempt, beyond the pause that the server asks for, so that clients which are told
    /// the same do not come at once; `None` if no attempt is worth making. The last attempt is at the time to give up.
    fn next(&mut self, pause: Duration, random: f64) -> Option<Duration> {
        let left = self.give_up.saturating_sub(self.progress.since.elapsed());
        (!left.is_zero()).then(|| (pause + self.backoff.next(random)).min(left))
    }
}

/// The patience with one piece of work.
pub(crate) struct Patience<'a> {
    source: &'a Source,
    clock: Clock,
}

impl<'a> Patience<'a> {
    /// The clock of a new piece of work.
    pub(crate) fn of(source: &'a Source) -> Self {
        Self { source, clock: Clock::new(source.give_up()) }
    }

    /// A request begins.
    pub(crate) fn ask(&mut self) {
        self.clock.asked = Instant::now();
    }

    /// New bytes came.
    pub(crate) fn arrived(&mut self, bytes: u64) {
        self.arrived_by(bytes, Instant::now());
    }

    /// New bytes turn out to have come by that time.
    pub(crate) fn arrived_by(&mut self, bytes: u64, at: Instant) {
        if self.clock.arrived(bytes, at) {
            self.source.progressed_at(self.clock.progress.since);
        }
    }

    /// Bytes came that were here before.
    pub(crate) fn repeated(&mut self, bytes: u64) {
        self.repeated_by(bytes, Instant::now());
    }

    /// Such bytes turn out to have come by that time.
    pub(crate) fn repeated_by(&mut self, bytes: u64, at: Instant) {
        self.clock.repeated(bytes, at);
    }

    /// It is done.
    pub(crate) fn done(&self) {
        self.source.progressed();
    }

    /// This side took its time; the server has nothing to do with that.
    pub(crate) fn excuse(&mut self, time: Duration) {
        self.clock.excuse(time);
        self.source.waited(time);
    }

    /// Waits for an answer, or a part of one, no longer than the user wants to.
    /// Time in which this program did not run, since it was stopped or the computer slept, is no silence of the server.
    pub(crate) async fn wait<T>(&mut self, answer: impl Future<Output = Result<T, Trouble>>) -> Result<T, Trouble> {
        let mut answer = pin!(answer);
        loop {
            let look = Instant::now() + LOOK;
            let outcome = tokio::time::timeout_at(look.min(self.clock.deadline()), answer.as_mut()).await;
            self.excuse_stop(look);
            match outcome {
                Ok(outcome) => return outcome,
                Err(_) if Instant::now() < self.clock.deadline() => {}
                Err(_) => {
                    let silence = "the server is connected but sends nothing, or next to nothing";
                    return Err(Trouble::Passing(anyhow!(silence)));
                }
            }
        }
    }

    /// This should be no later than `look`.
    fn excuse_stop(&mut self, look: Instant) {
        let late = look.elapsed();
        if late > LATE {
            self.excuse(late);
        }
    }

    /// Waits before the next attempt.
    ///
    /// Errors: none is worth making, because of `trouble` or of how long it has lasted. [`Failure::Unreachable`] if
    /// nothing else that is asked of the server fared better; a server that refuses is there.
    pub(crate) async fn pause(&mut self, trouble: Trouble) -> anyhow::Result<()> {
        let reason = match trouble {
            Trouble::Passing(reason) => reason,
            Trouble::Final(error) => return Err(error),
        };
        let refusal = reason.downcast_ref::<Refused>();
        let (refused, pause) = (refusal.is_some(), refusal.and_then(Refused::pause).unwrap_or_default());
        // A server that refuses everything must not do so for the whole time with each of a million files.
        let next = if refused && self.source.is_overdue() { None } else { self.clock.next(pause, random()) };
        let Some(wait) = next else {
            let alone = refused || self.source.progressed_after(self.clock.progress.since);
            let error = reason.context(GaveUp(self.clock.give_up));
            return Err(if alone { error } else { error.context(Failure::Unreachable) });
        };
        self.source.watch().retry(self.clock.backoff.failures(), wait, &reason);
        let over = Instant::now() + wait;
        tokio::time::sleep_until(over).await;
        self.excuse_stop(over);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    async fn pass(time: Duration) {
        tokio::time::advance(time).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_byte_now_and_then_is_no_progress() {
        let mut clock = Clock::new(MINUTE);
        let begun = Instant::now();
        for _ in 0..59 {
            pass(Duration::from_secs(1)).await;
            assert!(!clock.arrived(10, Instant::now()));
        }
        assert_eq!(clock.deadline(), begun + MINUTE);
        assert!(clock.next(Duration::ZERO, 0.0).is_some());
        pass(Duration::from_secs(1)).await;
        assert_eq!(clock.next(Duration::ZERO, 0.0), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_s_pause_is_kept_but_not_beyond_giving_up() {
        let (mut clock, asked) = (Clock::new(MINUTE), Duration::from_secs(5));
        for random in [0.0, 1.0] {
            let wait = clock.next(asked, random).unwrap();
            assert!(wait > asked && wait < asked + Duration::from_secs(1), "{wait:?}");
        }
        pass(MINUTE - Duration::from_secs(2)).await;
        assert_eq!(clock.next(asked, 0.0), Some(Duration::from_secs(2)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_modem_is_progress() {
        let mut clock = Clock::new(MINUTE);
        for _ in 0..600 {
            pass(Duration::from_secs(1)).await;
            clock.arrived(1200, Instant::now());
            assert!(clock.deadline() > Instant::now() + MINUTE / 2);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_again_keeps_an_attempt_alive_and_no_more() {
        let mut clock = Clock::new(MINUTE);
        for _ in 0..120 {
            pass(Duration::from_secs(1)).await;
            clock.repeated(1_000_000, Instant::now());
        }
        assert!(clock.deadline() > Instant::now());
        assert_eq!(clock.next(Duration::ZERO, 0.0), None, "no new byte in two minutes");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_learnt_late_came_when_it_came() {
        let mut clock = Clock::new(MINUTE);
        pass(MINUTE / 3).await;
        let heard = Instant::now();
        pass(MINUTE / 3).await;
        clock.repeated(1_000_000, heard);
        assert!(clock.arrived(1_000_000, heard));
        assert_eq!(clock.deadline(), heard + MINUTE);
        assert!(clock.arrived(1_000_000, heard - MINUTE / 3));
        assert_eq!(clock.deadline(), heard + MINUTE, "and what is learnt last does not count for less");
    }

    #[tokio::test(start_paused = true)]
    async fn time_that_this_side_took_does_not_count() {
        let mut clock = Clock::new(MINUTE);
        pass(10 * MINUTE).await;
        clock.excuse(10 * MINUTE);
        assert!(clock.deadline() == Instant::now() + MINUTE && clock.next(Duration::ZERO, 0.0).is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_the_program_was_stopped_is_no_silence() {
        struct Deaf;
        impl crate::client::watch::Watch for Deaf {
            fn moved(&self, _: u64) {}
        }
        let transport = std::sync::Arc::new(noq::TransportConfig::default());
        let dialer = crate::client::dialer::dialer(pcc_net::tls::Trust::System, transport);
        let peer = pcc_net::url::Peer { host: "host".to_owned(), port: 1 };
        let source = Source::new(dialer, peer, MINUTE, std::sync::Arc::new(Deaf));
        let (mut patience, begun) = (Patience::of(&source), Instant::now());
        patience.ask();
        let nothing = core::future::pending::<Result<(), Trouble>>();
        let (outcome, ()) = tokio::join!(patience.wait(nothing), pass(10 * MINUTE));
        let Err(trouble) = outcome else { panic!("nothing came") };
        let waited = begun.elapsed();
        assert!(waited >= 11 * MINUTE - 2 * LOOK && waited <= 11 * MINUTE + LOOK, "{waited:?}");
        assert!(patience.pause(trouble).await.is_err(), "a minute of silence is one");
    }

    #[tokio::test(start_paused = true)]
    async fn even_the_impatient_wait_a_second_for_an_answer() {
        let mut clock = Clock::new(Duration::ZERO);
        pass(MINUTE).await;
        clock.asked = Instant::now();
        assert_eq!(clock.deadline(), Instant::now() + LEAST_PATIENCE);
        assert_eq!(clock.next(Duration::ZERO, 0.0), None);
    }
}
