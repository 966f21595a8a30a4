//! TCP's congestion window, and its growth. Source: RFC 5681.

use super::INITIAL_WINDOW;

/// A window of segments that begins with ten (RFC 6928) and grows as Reno's does.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Segments that may be in flight.
    pub segments: f64,
    /// Slow start ends here. Unit: segments.
    pub threshold: f64,
    /// Acknowledged towards the next segment.
    counted: f64,
}

impl Default for Window {
    fn default() -> Self {
        Self { segments: INITIAL_WINDOW, threshold: f64::INFINITY, counted: 0.0 }
    }
}

impl Window {
    /// Whether the window is below the threshold.
    pub fn is_slow_start(&self) -> bool {
        self.segments < self.threshold
    }

    /// A segment for each acknowledged, up to the threshold; how many acknowledged ones are left over.
    pub fn slow_start(&mut self, acked: u64) -> f64 {
        let acked = acked as f64;
        let grown = (self.segments + acked).min(self.threshold.max(self.segments));
        let left = acked - (grown - self.segments);
        self.segments = grown;
        left
    }

    /// A segment for each `every` acknowledged (`tcp_cong_avoid_ai`).
    pub fn grow(&mut self, acked: f64, every: f64) {
        if self.counted >= every {
            self.counted = 0.0;
            self.segments += 1.0;
        }
        self.counted += acked;
        if self.counted >= every {
            let grown = (self.counted / every).floor();
            self.counted -= grown * every;
            self.segments += grown;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_grows_by_one_when_it_was_acknowledged_once() {
        let mut window = Window { segments: 20.0, threshold: 10.0, counted: 0.0 };
        for _ in 0..10 {
            window.grow(2.0, 20.0);
        }
        assert_eq!(window.segments, 21.0);
    }

    #[test]
    fn slow_start_doubles_up_to_the_threshold() {
        let mut window = Window { threshold: 32.0, ..Window::default() };
        assert_eq!(window.slow_start(10), 0.0);
        assert_eq!((window.segments, window.slow_start(20)), (20.0, 8.0));
        assert_eq!(window.segments, 32.0);
    }
}
