//! The core and the simulator for a page in a browser: questions and answers as JSON, without a clock, a network or a thread.
//!
//! | file | what it answers |
//! |---|---|
//! | `ask` | the questions of a page, and the words of an answer |
//! | `run` | a run of senders over a path, in stretches, and its pictures |
//! | `check` | a utility on a path, by computation |
//! | `files` | the files that somebody gave the page |
//! | `door` | how JavaScript and WebAssembly hand each other text |

mod ask;
mod check;
pub mod door;
mod files;
mod run;

pub use ask::Playground;
