//! Who may have tunnels, and whereto.

use super::token::Token;
use pcc_tunnel::Gate;

/// Who may have tunnels, and whereto.
#[derive(Debug)]
pub struct Tunnels {
    /// Of those who may.
    pub token: Token,
    /// Where tunnels may lead, and how many.
    pub gate: Gate,
}
