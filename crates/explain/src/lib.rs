//! Why a sender was slow, second by second, by its trace in qlog. docs/explain.md states the rules.
//!
//! | file | what it answers |
//! |---|---|
//! | `records` | where a record of a file begins and ends, however long or broken the file is |
//! | `event` | what a record tells, in each schema of qlog |
//! | `runs` | whether a run of acknowledged packets ends with its last number, or before it |
//! | `flight` | which packets are under way |
//! | `credit` | how much the peer still takes |
//! | `course` | what keeps the sender from sending more at each moment |
//! | `bins` | time in bins, of which there are 3600 at most |
//! | `policer` | whether losses are a policer's |
//! | `cause` | the limits, in words |
//! | `verdict` | the limit of each second |
//! | `words` | the answer as text |
//! | `page` | the answer as a page |
//!
//! A trace costs at most some 20 MB of memory: 100,000 packets under way, 10,000 lost ones, 4096 streams, 3600 bins, and a record of 1 MiB.
#![forbid(unsafe_code)]

mod bins;
mod cause;
mod course;
mod credit;
mod event;
mod flight;
pub mod page;
mod policer;
mod records;
mod runs;
mod verdict;
pub mod words;

pub use cause::Cause;
pub use event::Side;
pub use records::LONGEST;
pub use verdict::{Explained, Second, Spell};

#[cfg(test)]
mod tests;

use course::Course;
use event::{Event, Header};
use records::{Record, Records};
use std::io::{self, BufRead};

/// Records that are no events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// How many.
    pub records: u64,
    /// The number of the first one, counted from 1.
    pub first: Option<u64>,
}

/// A file cannot be explained.
#[derive(Debug)]
pub enum NoTrace {
    /// It cannot be read.
    Read(io::Error),
    /// It has no event of qlog.
    NoEvent(Unread),
}

impl core::fmt::Display for NoTrace {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Read(error) => write!(f, "it cannot be read: {error}"),
            Self::NoEvent(Unread { records: 0, .. }) => f.write_str("it has no event of qlog"),
            Self::NoEvent(Unread { records, .. }) => write!(
                f,
                "it has no event of qlog, and {records} of its records are no JSON of qlog; give a trace that ends in .sqlog or .qlog"
            ),
        }
    }
}

impl core::error::Error for NoTrace {}

/// Reads a trace to its end.
///
/// Errors: it cannot be read, or has no event.
pub fn explain(trace: impl BufRead) -> Result<Explained, NoTrace> {
    let mut records = Records::new(trace);
    let mut course = Course::default();
    let (mut number, mut events, mut unread) = (0, 0_u64, Unread::default());
    while let Some(record) = records.next().map_err(NoTrace::Read)? {
        number += 1;
        let is_read = match record {
            Record::Whole(text) => match Event::read(text) {
                Some(event) => {
                    events += 1;
                    course.apply(event)
                }
                None => {
                    let header = Header::read(text).filter(|_| events == 0);
                    header.map(|header| course = Course::of(header)).is_some()
                }
            },
            Record::Broken => false,
        };
        if !is_read {
            unread.records += 1;
            unread.first.get_or_insert(number);
        }
    }
    if events == 0 { Err(NoTrace::NoEvent(unread)) } else { Ok(verdict::explained(course, unread)) }
}
