//! PCC over the paths that the papers tested it on, and over those that break senders: in virtual time.

mod behaviour;
mod bursts;
mod company;
mod known;
mod laws;
mod memory;
mod own;
mod queues;
mod reordering;
mod replay;
