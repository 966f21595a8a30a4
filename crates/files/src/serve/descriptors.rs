//! The number of files that this process may have open, and of requests that they allow.

#[cfg(any(unix, test))]
use super::look_ups;

/// Descriptors that are no request's: the socket, timers, threads, standard streams, and uploads.
#[cfg(any(unix, test))]
const RESERVE: u64 = 128;

/// Descriptors that one request holds at most: a listing needs its directory, an entry and a link.
#[cfg(any(unix, test))]
const EACH: u64 = 3;

/// Descriptors of look-ups, each of which may outlive its request: a socket for each of three name servers, which are the most
/// that the C library asks, and one for a file or an answer by TCP.
#[cfg(any(unix, test))]
const OF_LOOK_UPS: u64 = look_ups::MOST * 4;

/// Requests that are answered at a time where descriptors are no limit: two for each of 256 connections.
const MOST_REQUESTS: u64 = 512;

/// Raises the limit of descriptors as far as this process may, and answers how many requests it is good for, with or without
/// names that are looked up.
#[cfg(unix)]
pub(super) fn requests(looks_up: bool) -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let found = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: found.maximum, maximum: found.maximum });
    let limit = if raised.is_ok() { found.maximum } else { found.current };
    limit.map_or(MOST_REQUESTS, |limit| within(limit, looks_up))
}

#[cfg(not(unix))]
pub(super) fn requests(_looks_up: bool) -> u64 {
    MOST_REQUESTS
}

/// The requests that one client has under way when it downloads a directory; a process that is allowed next to nothing answers
/// them.
#[cfg(any(unix, test))]
const LEAST_REQUESTS: u64 = 8;

/// Requests for so many descriptors.
#[cfg(any(unix, test))]
fn within(descriptors: u64, looks_up: bool) -> u64 {
    let reserve = RESERVE + if looks_up { OF_LOOK_UPS } else { 0 };
    (descriptors.saturating_sub(reserve) / EACH).clamp(LEAST_REQUESTS, MOST_REQUESTS)
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn a_small_limit_of_descriptors_is_few_requests() {
        assert_eq!([32, 1024, 4096, 1 << 20].map(|limit| within(limit, false)), [8, 298, 512, 512]);
        assert_eq!(
            [32, 1024, 4096].map(|limit| within(limit, true)),
            [8, 256, 512],
            "less the descriptors of look-ups"
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        use rustix::process::{Resource, getrlimit};
        super::requests(false);
        let now = getrlimit(Resource::Nofile);
        assert_eq!(now.current, now.maximum);
    }
}
