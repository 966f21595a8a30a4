//! Whether the application had nothing to send.
//!
//! noq tells of it with acknowledgements, of which none may arrive meanwhile. But each time it looks for something to send
//! it asks first how fast packets may leave, and for the window as soon as it has found data. So a look that is followed
//! by another before it asks for the window has found nothing.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The results of noq's questions since a packet left. noq calls under a lock; the atomic only serves to change through
/// `&self`, as its trait demands.
#[derive(Debug, Default)]
pub(crate) struct Silence(AtomicU8);

/// It has not looked again. Sockets that are full and long turns end like that: nothing is known of the application.
const UNKNOWN: u8 = 0;
/// It looks, and may yet find something.
const LOOKING: u8 = 1;
const NOTHING: u8 = 2;
/// There was something at the first look.
const DATA: u8 = 3;

impl Silence {
    /// noq asked how fast packets may leave.
    pub(crate) fn on_metrics(&self) {
        match self.0.load(Relaxed) {
            UNKNOWN => self.0.store(LOOKING, Relaxed),
            LOOKING => self.0.store(NOTHING, Relaxed),
            _ => {}
        }
    }

    /// noq asked for the window. Also for statistics, and then a silence may go unseen.
    pub(crate) fn on_window(&self) {
        if self.0.load(Relaxed) != NOTHING {
            self.0.store(DATA, Relaxed);
        }
    }

    /// noq found data, and no room in the window, or our gate closed: the application is not what it waits for.
    pub(crate) fn on_blocked(&mut self) {
        *self.0.get_mut() = DATA;
    }

    /// A look ended with a datagram; where noq writes a log, it has asked once more for that.
    pub(crate) fn on_datagram(&mut self) {
        if *self.0.get_mut() == LOOKING {
            *self.0.get_mut() = UNKNOWN;
        }
    }

    /// A packet of data leaves: whether there was nothing to send before it.
    pub(crate) fn ends(&mut self) -> bool {
        core::mem::take(self.0.get_mut()) == NOTHING
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// noq's questions: `m`etrics and `w`indow; `d`: a datagram is complete, `b`: it is blocked.
    fn after(calls: &str) -> bool {
        let mut silence = Silence::default();
        for call in calls.chars() {
            match call {
                'm' => silence.on_metrics(),
                'w' => silence.on_window(),
                'd' => silence.on_datagram(),
                _ => silence.on_blocked(),
            }
        }
        silence.ends()
    }

    #[test]
    fn an_application_is_silent_where_noq_looked_in_vain() {
        for (what, calls, silent) in [
            ("the next datagram of a call", "wm", false),
            ("the next call, where a datagram was the last of the one before", "dmwm", false),
            ("a call that waits for noq's pacer, and another", "dmwm mwm", false),
            ("a call that waits for room, and another", "dmwb mwm", false),
            ("a call with a log", "mdmwm", false),
            ("a turn that ended early", "d mwm", false),
            ("one call in vain", "dm mwm", true),
            ("acknowledgements alone meanwhile", "dm md m mwm", true),
            ("data that came, and then waited for room", "dm mwb mwm", false),
            ("a probe, for which no window is asked", "dm mm", true),
        ] {
            assert_eq!(after(&calls.replace(' ', "")), silent, "{what}");
        }
    }
}
