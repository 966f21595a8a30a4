//! `--utility`: what PCC strives for.

mod choice;

pub(crate) use choice::Choice;
