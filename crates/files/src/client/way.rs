//! A way to a server other than by its address: over connections that the program makes.

use core::pin::Pin;

/// Makes connections to one server.
pub trait Way: Send + Sync {
    /// A new connection, on which HTTP/3 has yet to begin.
    ///
    /// Errors: why there is none.
    fn connect(&self) -> Connecting<'_>;
}

/// A connection that is being made.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = Result<noq::Connection, NoWay>> + Send + 'a>>;

/// Why there is no connection.
#[derive(Debug)]
pub struct NoWay {
    /// Its text says what was tried and what to do.
    pub error: Box<dyn core::error::Error + Send + Sync>,
    /// Whether the same attempt may succeed later.
    pub may_pass: bool,
}
