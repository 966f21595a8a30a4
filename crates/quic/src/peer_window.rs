//! Whether a receiver with noq's default windows holds a sender back: its user sees a slow path, and nothing says why.

use pcc::units::Bytes;

/// The bytes of a stream that noq and quinn let be under way, unless they are told otherwise: 100 Mbit/s over 100 ms.
const DEFAULT: u64 = 1_250_000;

/// The receiver gives credit an eighth of the window at a time, and packets are larger than what they carry.
const LEAST: u64 = DEFAULT / 8 * 7;
const MOST: u64 = DEFAULT / 16 * 17;

/// So often: an application that by chance has as much under way has more or less soon.
const ENOUGH: u32 = 8;

/// How often the sender stopped with a default window under way.
#[derive(Debug, Default)]
pub(crate) struct PeerWindow {
    stops: u32,
    /// More was under way, so the window is larger.
    is_larger: bool,
}

impl PeerWindow {
    /// There was nothing more that the sender could send, with so much in flight. Answers whether it is time to say so: once.
    pub(crate) fn on_stop(&mut self, in_flight: Bytes) -> bool {
        self.is_larger |= in_flight.get() > MOST;
        if self.is_larger || in_flight.get() < LEAST {
            return false;
        }
        self.stops = self.stops.saturating_add(1);
        self.stops == ENOUGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(stops: &[u64]) -> usize {
        let mut window = PeerWindow::default();
        stops.iter().filter(|&&bytes| window.on_stop(Bytes::new(bytes))).count()
    }

    #[test]
    fn a_sender_that_stops_at_the_default_window_is_told_once() {
        assert_eq!(told(&[1_200_000; 100]), 1);
        assert_eq!(told(&[1_270_000, 300_000].repeat(50)), 1, "a lost packet holds the window");
    }

    #[test]
    fn other_windows_and_idle_applications_say_nothing() {
        assert_eq!(told(&[500_000; 100]), 0);
        assert_eq!(told(&[1_200_000, 5_000_000].repeat(50)), 0);
        assert_eq!(told(&[1_200_000; 7]), 0);
    }
}
