//! Virtual times as people write them.

use crate::written::duration;
use pcc_play::LONGEST;
use std::time::Duration;

/// A virtual time, which has to be computed.
pub(crate) fn time(written: &str) -> Result<Duration, String> {
    let time = duration(written)?;
    if time > LONGEST { Err(format!("`{written}` is too long: at most 24h are simulated")) } else { Ok(time) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulation_has_a_longest_time() {
        assert_eq!(time("24h"), Ok(LONGEST));
        assert!(time("99999999h").unwrap_err().contains("at most 24h"));
    }
}
