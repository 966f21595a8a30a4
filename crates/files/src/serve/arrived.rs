//! When a request came.

use std::time::Instant;

/// When a request came, before it waited for its turn; an extension of the request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrived(pub(super) Instant);
