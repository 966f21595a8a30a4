//! The findings of a sender about the path, as it tells them to the receiver: `loss=0.0074, base-rtt=0.7990, rtt=0.8020`.

use core::time::Duration;
use http::HeaderMap;
use http::header::HeaderName;
use pcc_quic::PathFigures;

/// Whether the answer is to tell of the connection's path: `?1`.
pub(crate) const WANT_PATH_FIGURES: HeaderName = HeaderName::from_static("want-path-figures");
/// Share of lost packets, shortest and mean round trip in seconds.
pub(crate) const PATH_FIGURES: HeaderName = HeaderName::from_static("path-figures");

/// Nobody waits longer for an answer. Unit: s.
const LONGEST_RTT: f64 = 3600.0;

/// Whether the peer wants to know what this side has seen of the path.
pub(crate) fn are_wanted(headers: &HeaderMap) -> bool {
    headers.get(WANT_PATH_FIGURES).is_some_and(|value| value == "?1")
}

/// The value of [`PATH_FIGURES`].
pub(crate) fn written(figures: &PathFigures) -> String {
    let PathFigures { loss, base_rtt, rtt, .. } = figures;
    format!("loss={loss:.6}, base-rtt={:.6}, rtt={:.6}", base_rtt.as_secs_f64(), rtt.as_secs_f64())
}

/// The same as it came; `None` if it is none. Members that nobody knows yet may stand between.
pub(crate) fn of(headers: &HeaderMap) -> Option<PathFigures> {
    let text = headers.get(PATH_FIGURES)?.to_str().ok()?;
    let number = |key: &str, most: f64| {
        let member = text.split(',').find_map(|member| member.trim().strip_prefix(key)?.strip_prefix('='))?;
        let is_plain = member.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        member.parse().ok().filter(|number: &f64| is_plain && (0.0..=most).contains(number))
    };
    let time = |key| number(key, LONGEST_RTT).map(Duration::from_secs_f64);
    let (loss, base_rtt, rtt) = (number("loss", 1.0)?, time("base-rtt")?, time("rtt")?);
    (base_rtt <= rtt).then(|| PathFigures::told(loss, base_rtt, rtt))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<PathFigures> {
        of(&HeaderMap::from_iter([(PATH_FIGURES, text.parse().unwrap())]))
    }

    #[test]
    fn figures_are_read_as_they_are_written() {
        let figures = PathFigures::told(0.0074, Duration::from_millis(799), Duration::from_millis(802));
        assert_eq!(written(&figures), "loss=0.007400, base-rtt=0.799000, rtt=0.802000");
        assert_eq!(read(&written(&figures)), Some(figures));
        assert_eq!(read("ecn=1, loss=0.0074, base-rtt=0.799, rtt=0.802"), Some(figures), "a later version");
    }

    #[test]
    fn nonsense_is_none() {
        for wrong in [
            "",
            "loss=0, rtt=1",
            "loss=2, base-rtt=0, rtt=0",
            "loss=-0, base-rtt=0, rtt=0",
            "loss=NaN, base-rtt=0, rtt=0",
            "loss=0, base-rtt=2, rtt=1",
            "loss=0, base-rtt=1e9, rtt=1e9",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_told_stays_within_bounds(text in "((loss|rtt|base-rtt)=[-+0-9.einfa]{0,6},? ?){0,4}") {
            if let Some(figures) = read(&text) {
                prop_assert!((0.0..=1.0).contains(&figures.loss) && figures.base_rtt <= figures.rtt);
            }
        }
    }
}
