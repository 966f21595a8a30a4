//! Why a connection is gone, in the words of users.

use crate::escape_for_terminal;
use core::fmt::Display;
use noq::{Connection, ConnectionError, VarInt};

/// HTTP/3's code for a server that has no place for another connection (RFC 9114 §8.1).
const EXCESSIVE_LOAD: VarInt = VarInt::from_u32(0x107);

/// Why the connection to a server is gone, as well as is known; `error` is what failed first, and is told if the connection lives.
pub fn why_lost(connection: &Connection, error: &dyn Display) -> String {
    connection.close_reason().map_or_else(|| error.to_string(), |reason| explain(&reason))
}

fn explain(reason: &ConnectionError) -> String {
    match reason {
        ConnectionError::Reset => "the server was restarted".to_owned(),
        ConnectionError::TimedOut => "the server fell silent".to_owned(),
        ConnectionError::ApplicationClosed(close) if close.error_code == EXCESSIVE_LOAD => {
            "the server is full: it serves as many connections as it may".to_owned()
        }
        ConnectionError::ApplicationClosed(close) => {
            let said = escape_for_terminal(&String::from_utf8_lossy(&close.reason));
            if said.is_empty() { "the server closed it".to_owned() } else { format!("the server closed it ({said})") }
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use noq::ApplicationClose;

    #[test]
    fn a_lost_connection_is_explained_without_terms_of_libraries() {
        let closed = |code, reason: &'static [u8]| {
            ConnectionError::ApplicationClosed(ApplicationClose { error_code: code, reason: reason.into() })
        };
        for (reason, told) in [
            (ConnectionError::Reset, "the server was restarted"),
            (ConnectionError::TimedOut, "the server fell silent"),
            (closed(EXCESSIVE_LOAD, b""), "the server is full: it serves as many connections as it may"),
            (closed(VarInt::from_u32(0x100), b""), "the server closed it"),
            (
                closed(VarInt::from_u32(0x100), b"it was stopped\x1b[2J"),
                "the server closed it (it was stopped\\u{1b}[2J)",
            ),
        ] {
            assert_eq!(explain(&reason), told);
        }
    }
}
