//! Why a request was not answered as hoped.

use core::time::Duration;
use http::header::{DATE, HeaderName, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use std::time::SystemTime;

/// The longest pause that a server may ask for: longer than any of `pcc serve`, and short enough that a server cannot make a
/// client wait for hours.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Why a request was not answered as hoped.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The same request may succeed later.
    Passing(anyhow::Error),
    /// It never will.
    Final(anyhow::Error),
}

impl From<anyhow::Error> for Trouble {
    fn from(error: anyhow::Error) -> Self {
        Self::Final(error)
    }
}

/// There was no progress for as long as the user wants to wait.
#[derive(Debug, thiserror::Error)]
#[error("no progress for {}", humantime::format_duration(*.0))]
pub struct GaveUp(pub(crate) Duration);

/// The server's answer that there is nothing to have: trouble with one file, not with the connection.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// 404 and 410.
    #[error("{url} does not exist on the server: check the name ({status}){}", of_patterns(url))]
    Missing { url: String, status: StatusCode },
    /// 401 and 403.
    #[error("the server does not allow reading {url} ({status}): ask whoever runs it")]
    Forbidden { url: String, status: StatusCode },
    /// 3xx, which we do not follow but to a directory of that name: the certificate was pinned for this server.
    #[error("{url} has moved to {to}: ask for that")]
    Moved { url: String, to: String },
    /// Any other.
    #[error("the server answered {status} for {url}")]
    Other { url: String, status: StatusCode },
    /// For now only: the server says after which time to ask again.
    #[error("{why}; it asks for a pause of {}", humantime::format_duration(*.pause))]
    Later { why: String, pause: Duration },
    /// In words of its own.
    #[error("{0}")]
    Told(String),
}

/// Shells' hands write patterns.
fn of_patterns(url: &str) -> &'static str {
    let name = url.rsplit('/').next().unwrap_or_default();
    let is_one = url.contains("://") && name.contains(['*', '[']);
    if is_one { "; a URL has no patterns: `user@host:path` has, and a directory's URL brings all of it" } else { "" }
}

impl Refused {
    /// A refusal for now, with the pause that the answer asks for, if it does.
    pub(crate) fn for_now(why: String, headers: &HeaderMap) -> Self {
        match retry_after(headers, SystemTime::now()) {
            Some(pause) => Self::Later { why, pause },
            None => Self::Told(why),
        }
    }

    /// The pause that the server asks for.
    pub(crate) const fn pause(&self) -> Option<Duration> {
        match self {
            Self::Later { pause, .. } => Some(*pause),
            _ => None,
        }
    }
}

/// `Retry-After` (RFC 9110 §10.2.3): seconds, or a time by the server's clock where the answer has that, by ours otherwise.
/// Never more than [`LONGEST_PAUSE`]; `None` without it, or if it is neither.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let told = text(headers, &RETRY_AFTER)?.trim();
    let pause = if !told.is_empty() && told.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a long time, too.
        told.parse().map_or(LONGEST_PAUSE, Duration::from_secs)
    } else {
        let then = httpdate::parse_http_date(told).ok()?;
        let now = text(headers, &DATE).and_then(|date| httpdate::parse_http_date(date).ok()).unwrap_or(now);
        // In whole seconds, as HTTP's times are.
        Duration::from_secs(then.duration_since(now).unwrap_or_default().as_secs())
    };
    Some(pause.min(LONGEST_PAUSE))
}

pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
