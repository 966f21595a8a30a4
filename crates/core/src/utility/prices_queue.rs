//! Whether a utility that somebody wrote has a price for the queue.

use super::function::Utility;
use super::preference::{Preference, SIDE};
use super::sender_view::{OF_A_QUEUE, SenderView};

/// Rates and queues at which [`prices_queue`] asks: from a slow access line to a data centre's. Units: Mbit/s, s.
const RATES: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];
const QUEUES: [f64; 4] = [0.001, 0.01, 0.1, 1.0];
/// A growth that nobody overlooks. Unit: s/s.
const GROWTH: f64 = 0.1;
pub(super) const USUAL_RTT: f64 = 0.03;

/// [`Utility::prices_queue`] of a user's utility.
///
/// A queue alone, without loss and without growth, makes a sender want less that wants more on an empty path: so it settles
/// before packets are lost, if its law foresees the queue. So does one that is worth less behind a queue, as by its RTT, and
/// wants less on a full path by what the queue will have become in a round trip. One whose price begins at a longer queue but
/// who pays for growth at once is better served by a law that compares rates: `deadline` on 100 Mbit/s and 30 ms keeps 0.3 ms
/// by Allegro, and two of them 0.6 ms, by Ascent 2.7 and 25.9 ms (`pcc-lab utility check deadline --law ascent`).
pub(super) fn prices_queue(utility: &dyn Utility) -> bool {
    let worth = |rate: f64, queue: f64, after: f64, growth: f64| {
        let (ends, foreseen) = ((queue, after), OF_A_QUEUE * queue);
        let clear = SenderView::clear(rate, USUAL_RTT);
        let sight = SenderView { queue: ends, growth: Some(growth), own_loss: Some(0.0), foreseen, ..clear };
        utility.evaluate(&sight.report())
    };
    let around =
        |rate: f64, queue: f64, growth: f64| [-SIDE, SIDE].map(|side| worth(rate * (1.0 + side), queue, queue, growth));
    let wish = |rate: f64, queue: f64| {
        let [less, more] = around(rate, queue, 0.0);
        Preference::between(less, more)
    };
    let slope = |rate: f64, queue: f64, growth: f64| {
        let [less, more] = around(rate, queue, growth);
        more - less
    };
    let foresees = |rate: f64, queue: f64| {
        let after = |side: f64| worth(rate * (1.0 + side), queue, queue + side * (USUAL_RTT + queue), side);
        let (empty, standing) = (worth(rate, 0.0, 0.0, 0.0), worth(rate, queue, queue, 0.0));
        empty - standing > SIDE * empty.abs() && Preference::between(after(-SIDE), after(SIDE)) == Preference::Less
    };
    let settles =
        |rate: f64| QUEUES.into_iter().any(|queue| wish(rate, queue) == Preference::Less || foresees(rate, queue));
    let compares = |rate: f64| {
        let clear = slope(rate, 0.0, 0.0);
        slope(rate, 0.0, GROWTH) < clear * (1.0 - SIDE) && slope(rate, QUEUES[0], 0.0) >= clear * (1.0 - SIDE)
    };
    let mut eager = RATES.into_iter().filter(|rate| wish(*rate, 0.0) == Preference::More).peekable();
    eager.peek().is_some() && eager.all(|rate| settles(rate) && !compares(rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::parse;

    #[test]
    fn utility_prices_queue_if_queue_alone_makes_it_want_less() {
        for (written, prices) in [
            ("fair", true),
            ("sqrt(x) - 100*x*q", true),
            ("x*exp(-q*(x/1Mbit)/20ms)", true),
            ("if(q > 20ms, -x, x)", true),
            ("x^0.9 - 900*x*max(0, g) - 11.35*x*L", false),
            ("T/rtt", true),
            ("x/rtt", false),
            ("log(x) - 5*q", true),
            ("log(x) - 0.5*q", false),
            ("-x*q", false),
            ("1/q", false),
            ("x*(1 - 0.1*q/1s)", false),
            ("x - x*g - 100*x*max(0, q/1s - 0.02)", false),
            ("x - 100*x*max(0, q/1s - 0.02)", true),
        ] {
            assert_eq!(prices_queue(&*parse(written).unwrap()), prices, "{written}");
        }
    }
}
