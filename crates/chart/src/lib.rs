//! Figures and pages without scripts, fonts or anything else that must be loaded.
//!
//! * [`plot`] says what is drawn, [`svg`] draws it, [`ink`] gives an algorithm the same colour and mark in every figure.
//! * [`sheet`] draws several small charts beside each other.
//! * [`page`] makes a page that stands alone, [`provenance`] tells on it who measured, by which build and command.
//! * [`finding`] is what a look at a computer or a path has shown.
//! * [`prometheus`] writes figures for machines that watch.
//! * [`escape`](escape::escape) makes the text of strangers safe in all of them; [`axis`] rounds their numbers.

pub mod axis;
pub mod escape;
pub mod finding;
pub mod ink;
pub mod page;
pub mod plot;
pub mod prometheus;
pub mod provenance;
pub mod sheet;
pub mod svg;
