//! The line at the end of a transfer that says what the path was, and what CUBIC would have made of it.

use core::time::Duration;
use pcc::units::Rate;
use pcc_files::Crossing;

/// Bytes of a full segment of TCP.
const SEGMENT: f64 = 1448.0;

/// Below this the losses are too few for a rule about their mean.
const RARE: f64 = 0.0005;

/// A queue that is longer than this share of the round trip, and than [`SHORT_QUEUE`], may be full at times, and losses are its own.
const QUEUE_SHARE: f64 = 0.25;
const SHORT_QUEUE: Duration = Duration::from_millis(5);

/// A sender that needs less than so many times as long is about as fast, as well as anybody knows.
const SLOWER: f64 = 1.5;

/// CUBIC's mean rate over a path that loses packets at random.
///
/// Source: RFC 9438 §4.2 and §5.1, with its C of 0.4 and its β of 0.7: the larger of CUBIC's own mean window and Reno's.
fn cubic(loss: f64, rtt: Duration) -> Rate {
    let rtt = rtt.as_secs_f64();
    let of_cubic = (0.4 * 3.7 / 1.2_f64).powf(0.25) * (rtt / loss).powf(0.75);
    let of_reno = (1.5 / loss).sqrt();
    Rate::from_bytes_per_sec(of_cubic.max(of_reno) * SEGMENT / rtt)
}

/// How long CUBIC would have taken for a transfer that took `time`, if all losses are random. `None` if it would have been about as fast,
/// or if a queue may have caused the losses.
fn time_of_cubic(crossing: &Crossing, time: Duration) -> Option<Duration> {
    let path = crossing.figures;
    let has_queue = path.queue() > SHORT_QUEUE.max(path.base_rtt.mul_f64(QUEUE_SHARE));
    if path.loss < RARE || has_queue || path.base_rtt.is_zero() {
        return None;
    }
    let longer = crossing.rate.bytes_per_sec() / cubic(path.loss, path.base_rtt).bytes_per_sec();
    Some(longer)
        .filter(|longer| *longer >= SLOWER)
        .and_then(|longer| Duration::try_from_secs_f64(time.as_secs_f64() * longer).ok())
}

/// The line about a transfer that took `time`.
pub(crate) fn text(crossing: &Crossing, time: Duration) -> String {
    let path = crossing.figures;
    let loss = if path.loss < RARE / 5.0 { "no loss".to_owned() } else { format!("{} of loss", percent(path.loss)) };
    let (rtt, queue) = (milliseconds(path.base_rtt), milliseconds(path.queue()));
    let cubic = time_of_cubic(crossing, time)
        .map(|time| format!("; if the losses are random, CUBIC would have taken some {}", coarse(time)));
    format!("the path: {loss}, RTT {rtt}, queue {queue}{}", cubic.unwrap_or_default())
}

/// Two digits.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = if percent < 0.1 {
        3
    } else if percent < 1.0 {
        2
    } else {
        usize::from(percent < 10.0)
    };
    format!("{percent:.decimals$} %")
}

fn milliseconds(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1e3;
    if ms < 9.95 { format!("{ms:.1} ms") } else { format!("{ms:.0} ms") }
}

/// No finer than anybody knows.
fn coarse(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    match seconds {
        ..99.5 => format!("{seconds:.0} s"),
        ..5940.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcc_quic::PathFigures;

    fn crossing(loss: f64, rtt_ms: u64, queue_ms: u64, mbit: f64) -> Crossing {
        let base = Duration::from_millis(rtt_ms);
        Crossing::of(PathFigures::told(loss, base, base + Duration::from_millis(queue_ms)), Rate::from_mbit(mbit))
    }

    /// The last column is the mean of `pcc-lab sim rate=100Mbit,buffer=375KB,… --flows cubic --seed 1,2,3,4,5`.
    #[test]
    fn the_model_of_cubic_is_within_a_factor_of_two() {
        for (loss, rtt_ms, simulated) in [
            (0.0074, 800, 0.74),
            (0.001, 100, 8.1),
            (0.001, 30, 16.7),
            (0.01, 30, 4.0),
            (0.011, 82, 1.7),
            (0.03, 30, 1.9),
        ] {
            let model = cubic(loss, Duration::from_millis(rtt_ms)).mbit();
            assert!((simulated / 2.0..simulated * 2.0).contains(&model), "{loss}, {rtt_ms} ms: {model} Mbit/s");
        }
    }

    #[test]
    fn the_line_says_what_the_path_was_and_what_it_would_have_been() {
        let minute = Duration::from_secs(60);
        assert_eq!(
            text(&crossing(0.0074, 800, 3, 37.0), minute),
            "the path: 0.74 % of loss, RTT 800 ms, queue 3.0 ms; if the losses are random, CUBIC would have taken some 72 min"
        );
        assert_eq!(text(&crossing(0.0, 82, 12, 94.0), minute), "the path: no loss, RTT 82 ms, queue 12 ms");
        let slow = text(&crossing(0.011, 82, 3, 1.0), minute);
        assert_eq!(slow, "the path: 1.1 % of loss, RTT 82 ms, queue 3.0 ms", "CUBIC manages that, too");
    }

    #[test]
    fn losses_behind_a_queue_are_not_taken_for_random() {
        let minute = Duration::from_secs(60);
        assert!(time_of_cubic(&crossing(0.01, 30, 30, 94.0), minute).is_none());
        assert!(time_of_cubic(&crossing(0.01, 30, 4, 94.0), minute).is_some());
    }
}
