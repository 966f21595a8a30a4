//! Figures and pages without scripts, fonts or anything else that must be loaded.
//!
//! * [`plot`] says what is drawn, [`svg`] draws it, [`ink`] gives an algorithm the same colour and mark in every figure.
//! * [`sheet`] draws several small charts beside each other.
//! * [`page`] makes a page that stands alone.
//! * [`axis`] rounds the numbers in all of them.

pub mod axis;
pub mod ink;
pub mod page;
pub mod plot;
pub mod sheet;
pub mod svg;
