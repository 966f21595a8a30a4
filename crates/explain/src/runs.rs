//! Runs of acknowledged packets: whether the last number of each belongs to it.
//!
//! It does by the drafts of qlog. noq-proto 1.4 writes the number behind it.

/// How a trace writes runs, as far as they have shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ends {
    /// The last number belongs to the run.
    #[default]
    Inside,
    /// The last number is the one behind the run.
    Behind,
}

impl Ends {
    /// Looks at the runs of a frame, and says whether it has just learnt that they end behind themselves. Between two runs lies a packet
    /// at least, and nobody acknowledges a packet that was not sent.
    pub(crate) fn learn(&mut self, runs: &[(u64, u64)], highest_sent: u64) -> bool {
        let touches = |one: &(u64, u64)| runs.iter().any(|other| other.0 > one.1 && other.0 - one.1 == 1);
        let before = *self;
        if runs.iter().any(|run| run.1 > highest_sent || touches(run)) {
            *self = Self::Behind;
        }
        *self != before
    }

    /// A run with its last number inside; `None` if it is empty.
    pub(crate) fn inside(self, (first, last): (u64, u64)) -> Option<(u64, u64)> {
        let last = if self == Self::Behind && last > first { last - 1 } else { last };
        (first <= last).then_some((first, last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_touch_or_are_not_sent_end_behind_themselves() {
        for (runs, highest, ends) in [
            (&[(1, 5), (7, 9)][..], 9, Ends::Inside),
            (&[(7, 9), (1, 6)], 9, Ends::Behind),
            (&[(1, 10)], 9, Ends::Behind),
            (&[], 0, Ends::Inside),
        ] {
            let mut learnt = Ends::default();
            learnt.learn(runs, highest);
            assert_eq!(learnt, ends, "{runs:?}");
        }
        assert_eq!((Ends::Behind.inside((1, 6)), Ends::Inside.inside((1, 6))), (Some((1, 5)), Some((1, 6))));
        assert_eq!((Ends::Behind.inside((6, 6)), Ends::Inside.inside((7, 6))), (Some((6, 6)), None));
    }
}
