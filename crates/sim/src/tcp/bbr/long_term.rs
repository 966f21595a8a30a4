//! Whether a policer is on the path: if in two stretches of rounds with heavy loss the same came through, that is what
//! BBR sends for the next 48 rounds (`bbr_lt_bw_sampling`).

use super::super::control::Acked;
use super::super::sample::RateSample;
use pcc::units::Timestamp;

/// A stretch has at least and at most so many rounds.
const SHORTEST: u32 = 4;
const LONGEST: u32 = 16;
/// Losses for each delivered packet that end a stretch: a fifth.
const HEAVY: f64 = 50.0 / 256.0;
/// Two rates are the same within an eighth, or within 4 kbit/s.
const SAME: f64 = 0.125;
const ANYWAY: f64 = 500.0 / 1448.0;
/// Rounds after which it is tried again.
const VALID: u32 = 48;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LongTerm {
    is_sampling: bool,
    is_used: bool,
    rounds: u32,
    /// Unit: segments/s.
    rate: Option<f64>,
    began: Timestamp,
    delivered: u64,
    lost: u64,
}

impl LongTerm {
    /// What the policer lets through, if there seems to be one.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.is_used)
    }

    fn restart(&mut self, event: &Acked, lost: u64) {
        (self.began, self.delivered, self.lost, self.rounds) = (event.now, event.delivered, lost, 0);
    }

    /// True if it is time to try again. `lost` counts from the flow's beginning.
    pub(super) fn update(
        &mut self,
        event: &Acked,
        sample: &RateSample,
        lost: u64,
        is_round_start: bool,
        in_probe_bw: bool,
    ) -> bool {
        if self.is_used {
            self.rounds += u32::from(in_probe_bw && is_round_start);
            if self.rounds >= VALID {
                *self = Self::default();
                return true;
            }
            return false;
        }
        if !self.is_sampling {
            if sample.lost == 0 {
                return false;
            }
            self.restart(event, lost);
            self.is_sampling = true;
        }
        if sample.app_limited {
            *self = Self::default();
            return false;
        }
        self.rounds += u32::from(is_round_start);
        if self.rounds > LONGEST {
            *self = Self::default();
            return false;
        }
        if self.rounds < SHORTEST || sample.lost == 0 {
            return false;
        }
        let (lost_now, delivered) = ((lost - self.lost) as f64, (event.delivered - self.delivered) as f64);
        let time = event.now.since(self.began).as_secs_f64();
        if delivered == 0.0 || lost_now < HEAVY * delivered || time < 1e-3 {
            return false;
        }
        self.end_stretch(event, delivered / time, lost);
        false
    }

    fn end_stretch(&mut self, event: &Acked, rate: f64, lost: u64) {
        if let Some(before) = self.rate {
            let differs = (rate - before).abs();
            if differs <= SAME * before || differs <= ANYWAY {
                (self.rate, self.is_used, self.rounds) = (Some(f64::midpoint(rate, before)), true, 0);
                return;
            }
        }
        self.rate = Some(rate);
        self.restart(event, lost);
    }
}
