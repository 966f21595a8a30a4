//! Work that is divided among machines.

use std::str::FromStr;

/// One of several parts, for as many machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 1.
    pub number: usize,
    /// The number of parts.
    pub count: usize,
}

/// A text is no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseShardError {
    /// It has another form.
    #[error("`{0}` is no shard: write 2/8 for the second of eight")]
    Form(String),
    /// There are not so many, or none.
    #[error("there is no shard {0} of {1}: they are numbered from 1")]
    Number(usize, usize),
}

impl FromStr for Shard {
    type Err = ParseShardError;

    /// As it is written: `2/8`.
    fn from_str(text: &str) -> Result<Self, ParseShardError> {
        let numbers =
            text.split_once('/').and_then(|(number, count)| Some((number.parse().ok()?, count.parse().ok()?)));
        let (number, count) = numbers.ok_or_else(|| ParseShardError::Form(text.to_owned()))?;
        if !(1..=count).contains(&number) {
            return Err(ParseShardError::Number(number, count));
        }
        Ok(Self { number, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_so_many() {
        assert_eq!("2/8".parse(), Ok(Shard { number: 2, count: 8 }));
        for wrong in ["0/8", "9/8", "8", "a/b", "1/0", ""] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
