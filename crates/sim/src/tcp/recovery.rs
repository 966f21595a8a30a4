//! Recovery: what a loss, a mark or a time-out does to the window of controls that do not decide alone. Proportional rate
//! reduction (RFC 6937) as Linux has it (`tcp_cwnd_reduction`).

use super::control::{Acked, CongestionControl, InRecovery};
use pcc::units::Timestamp;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    #[default]
    Open,
    /// The window shrinks because of a mark.
    Reducing,
    /// Losses are being repaired.
    Recovery,
    /// The same after a time-out.
    Loss,
}

/// Where the sender stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recovery {
    state: State,
    /// The first segment that was not yet sent when it began: it ends when all before it have arrived.
    high: u64,
    prior_window: f64,
    prior_threshold: f64,
    delivered: u64,
    sent: u64,
    /// Losses of this episode that have not turned out to be none.
    real: Option<u64>,
}

impl Recovery {
    pub(super) const fn state(&self) -> State {
        self.state
    }

    pub(super) const fn name(&self) -> &'static str {
        match self.state {
            State::Open => "open",
            State::Reducing => "reducing",
            State::Recovery => "recovery",
            State::Loss => "timeout",
        }
    }

    pub(super) const fn is_reducing(&self) -> bool {
        !matches!(self.state, State::Open)
    }

    pub(super) const fn is_after_loss(&self) -> bool {
        matches!(self.state, State::Recovery | State::Loss)
    }

    pub(super) const fn on_sent(&mut self) {
        self.sent += 1;
    }

    /// Marks count once a window (RFC 3168 §6.1.2).
    pub(super) fn on_mark(&mut self, control: &mut dyn CongestionControl, now: Timestamp, next: u64) {
        if self.state == State::Open {
            self.begin(control, State::Reducing, now, next);
        }
    }

    fn begin(&mut self, control: &mut dyn CongestionControl, state: State, now: Timestamp, next: u64) {
        (self.prior_window, self.prior_threshold) = (control.window(), control.threshold());
        let threshold = control.reduced(now);
        control.set_threshold(threshold);
        (self.state, self.high, self.delivered, self.sent) = (state, next, 0, 0);
        self.real = Some(0);
        if state == State::Recovery {
            control.on_recovery(now);
        }
    }

    pub(super) fn on_timeout(
        &mut self,
        control: &mut dyn CongestionControl,
        now: Timestamp,
        in_flight: u64,
        next: u64,
    ) {
        if self.state != State::Loss {
            self.begin(control, State::Loss, now, next);
            // Without knowing which of them arrive nothing is undone.
            self.real = None;
        }
        self.high = next;
        control.on_timeout(now);
        control.set_window(in_flight as f64 + 1.0);
    }

    /// A loss turned out to be none. If all of an episode did, the window is what it was.
    pub(super) fn on_spurious(&mut self, control: &mut dyn CongestionControl, was_lost: bool) {
        if !was_lost || self.state != State::Recovery {
            return;
        }
        if let Some(real) = &mut self.real {
            *real = real.saturating_sub(1);
            if *real == 0 {
                control.set_window(control.window().max(self.prior_window));
                control.set_threshold(control.threshold().max(self.prior_threshold));
                control.on_undo();
                self.state = State::Open;
            }
        }
    }

    pub(super) fn on_ack(&mut self, control: &mut dyn CongestionControl, event: &Acked, advanced: bool) {
        if self.state != State::Open && event.una >= self.high {
            if !control.decides_alone() && self.state != State::Loss {
                control.set_window(control.threshold());
            }
            self.state = State::Open;
        }
        if event.lost > 0 && matches!(self.state, State::Open | State::Reducing) {
            self.begin(control, State::Recovery, event.now, event.next);
        }
        if let Some(real) = &mut self.real {
            *real += event.lost;
        }
        let recovery = match self.state {
            State::Open | State::Reducing => InRecovery::No,
            State::Recovery => InRecovery::Fast,
            State::Loss => InRecovery::Timeout,
        };
        if control.decides_alone() {
            control.on_ack(event, recovery);
        } else if matches!(self.state, State::Recovery | State::Reducing) {
            self.reduce(control, event, advanced);
        } else if event.acked > 0 && (event.window_limited || self.state == State::Loss) {
            control.on_ack(event, recovery);
        }
    }

    /// The window follows what arrives, down to the threshold.
    fn reduce(&mut self, control: &mut dyn CongestionControl, event: &Acked, advanced: bool) {
        if event.acked == 0 {
            if event.lost > 0 && self.delivered == 0 {
                control.set_window(event.in_flight as f64 + 1.0);
            }
            return;
        }
        self.delivered += event.acked;
        let (threshold, in_flight) = (control.threshold(), event.in_flight as f64);
        let (delivered, sent) = (self.delivered as f64, self.sent as f64);
        let send = if threshold < in_flight {
            (threshold * delivered / self.prior_window.max(1.0)).ceil() - sent
        } else {
            let bonus = f64::from(u8::from(advanced && event.lost == 0));
            ((delivered - sent).max(event.acked as f64) + bonus).min(threshold - in_flight)
        };
        let send = send.max(f64::from(u8::from(self.sent == 0)));
        control.set_window(in_flight + send.max(0.0));
    }
}
