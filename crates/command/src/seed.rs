//! Seeds, as people write them.

/// The number that all that is random begins with.
///
/// Errors: which numbers may be one.
pub fn parse(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("a seed is a whole number from 0 to {}", u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_seed_is_told_what_one_is() {
        assert_eq!((parse("0"), parse("18446744073709551615")), (Ok(0), Ok(u64::MAX)));
        for text in ["-1", "1.5", "", "one", "18446744073709551616"] {
            assert_eq!(parse(text), Err("a seed is a whole number from 0 to 18446744073709551615".into()), "{text}");
        }
    }
}
