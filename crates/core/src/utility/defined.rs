//! Whether a utility that somebody wrote is defined anywhere: a sender that is told nothing keeps its first rate.

use super::function::Utility;
use super::prices_queue::USUAL_RTT;
use super::sender_view::SenderView;

/// The fault of a utility that is defined for no interval with which a sender may begin; `None` if it is defined for
/// one.
///
/// The first interval of all has none before it, the second one has; which losses are its own no law knows yet.
pub(super) fn nowhere(utility: &dyn Utility) -> Option<&'static str> {
    // One interval of each kind: a utility's definition depends on which measurements there are, and hardly on their
    // values.
    let clear = SenderView::clear(10.0, USUAL_RTT);
    let before = SenderView { rate: 5.0, ..clear }.report().summary();
    let kinds = [
        clear,
        SenderView { queue: (0.01, 0.01), noise: 0.001, ..clear },
        SenderView { queue: (0.0, 0.01), ..clear },
        SenderView { loss: 0.02, marks: 0.01, ..clear },
        SenderView { queue: (0.01, 0.02), noise: 0.001, loss: 0.02, marks: 0.01, ..clear },
    ];
    let is_defined = |own_loss| {
        let mut sights = kinds.into_iter().map(|kind| SenderView { own_loss, previous: Some(before), ..kind });
        sights.any(|sight| utility.evaluate(&sight.report()).is_finite())
    };
    match (is_defined(None), is_defined(Some(0.01))) {
        (true, _) => None,
        (false, true) => Some(
            "it is not defined where E is not known, as while a sender begins, and it is never known to the laws allegro and \
             vivace: its first rate would be its last; write if(known(E), E, L)",
        ),
        (false, false) => Some("it is not defined for any interval: the first rate of a sender would be its last"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::utility::{Expression, parse, parse_with};

    #[test]
    fn a_utility_undefined_at_the_start_is_refused() {
        for (written, help) in [
            ("x^0.9 - 11.35*x*E", Some("if(known(E), E, L)")),
            ("x - 10*x*L - 3*sqrt(E)", Some("if(known(E), E, L)")),
            ("x/(L - L)", Some("any interval")),
            ("log(-x) + E", Some("any interval")),
            ("x^0.9 - 11.35*x*if(known(E), E, L)", None),
            ("if(known(E), x - 9*x*E, x - 9*x*L)", None),
            ("T*prev_rtt/rtt - x*L", None),
            ("x/(q/1ms)", None),
            ("x - x*log(sigma/1ms)", None),
            ("x - x*log(marks)", None),
            ("x/L", None),
            ("x/g", None),
            ("-x", None),
        ] {
            let formula: Expression = written.parse().unwrap();
            assert_eq!(nowhere(&formula).is_some(), help.is_some(), "{written}");
            for read in [parse(written), parse_with(&format!("let b = 1; b*({written})"), &[("b".into(), "2".into())])]
            {
                match (read, help) {
                    (Ok(_), None) => {}
                    (Err(error), Some(help)) => assert!(error.to_string().contains(help), "{written}: {error}"),
                    (read, _) => panic!("{written}: {read:?}"),
                }
            }
        }
        for about in crate::utility::built_in() {
            assert_eq!(nowhere(&about.text.parse::<Expression>().unwrap()), None, "{}", about.name);
        }
    }
}
