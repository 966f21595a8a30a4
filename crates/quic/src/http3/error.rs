//! noq's errors in the terms of `h3`.

use h3::quic::{ConnectionErrorIncoming, StreamErrorIncoming};
use noq::{ConnectionError, ReadError, VarInt, WriteError};
use std::sync::Arc;

/// A code as QUIC carries it. `h3` only has codes below 2^62, so the fallback is never used.
pub(super) fn code(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

pub(super) fn connection(error: ConnectionError) -> ConnectionErrorIncoming {
    match error {
        ConnectionError::ApplicationClosed(close) => {
            ConnectionErrorIncoming::ApplicationClose { error_code: close.error_code.into_inner() }
        }
        ConnectionError::TimedOut => ConnectionErrorIncoming::Timeout,
        other => ConnectionErrorIncoming::Undefined(Arc::new(other)),
    }
}

/// The stream failed because its connection did.
pub(super) fn lost(error: ConnectionError) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming { connection_error: connection(error) }
}

pub(super) fn read(error: ReadError) -> StreamErrorIncoming {
    match error {
        ReadError::Reset(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        ReadError::ConnectionLost(error) => lost(error),
        other @ (ReadError::ClosedStream | ReadError::ZeroRttRejected) => StreamErrorIncoming::Unknown(Box::new(other)),
    }
}

pub(super) fn write(error: WriteError) -> StreamErrorIncoming {
    match error {
        WriteError::Stopped(code) => StreamErrorIncoming::StreamTerminated { error_code: code.into_inner() },
        WriteError::ConnectionLost(error) => lost(error),
        other @ (WriteError::ClosedStream | WriteError::ZeroRttRejected) => {
            StreamErrorIncoming::Unknown(Box::new(other))
        }
    }
}

/// The connection cannot go on: `h3` closes it, with `why` as its reason.
pub(super) fn fatal(why: &str) -> StreamErrorIncoming {
    StreamErrorIncoming::ConnectionErrorIncoming {
        connection_error: ConnectionErrorIncoming::InternalError(why.to_owned()),
    }
}
