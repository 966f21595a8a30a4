//! The clients that may have tunnels, and their targets.

use super::token::Token;
use pcc_tunnel::Gate;

/// The clients that may have tunnels, and their targets.
#[derive(Debug)]
pub struct Tunnels {
    /// Of those who may.
    pub token: Token,
    /// Where tunnels may lead, and how many.
    pub gate: Gate,
}
