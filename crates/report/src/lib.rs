//! Reports that others read: people on a page, machines that watch.
//!
//! * [`finding`] is what a look at a computer or a path has shown, and its page for people.
//! * [`provenance`] tells who measured, by which build and command.
//! * [`prometheus`] writes figures for machines that watch.
//! * [`columns`] makes tables for people, and lines of a width.
//! * [`escape`](escape::escape) makes the text of strangers safe on a page.

pub mod columns;
pub mod escape;
pub mod finding;
pub mod prometheus;
pub mod provenance;
