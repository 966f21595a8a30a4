//! The first words of receiver and sender, as one line of JSON each.

use serde::{Deserialize, Serialize};

/// Things that one code is for.
pub const MOST_ITEMS: usize = 64;

/// Bytes of a greeting: [`MOST_ITEMS`] names of 255 bytes, each of which may be written in six characters.
pub(crate) const LONGEST: usize = 128 << 10;

/// The receiver's words.
#[derive(Debug, Deserialize, Serialize, PartialEq, Eq)]
pub(crate) struct Wish {
    /// The same number for all connections of one run of the receiver.
    pub(crate) run: u64,
    /// Which of the things this connection is for; without one, all of them have arrived.
    pub(crate) item: Option<usize>,
}

/// The sender's words.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) struct Answer {
    pub(crate) items: Vec<Item>,
}

/// A thing that is sent.
#[derive(Clone, Debug, Deserialize, Serialize, PartialEq, Eq)]
pub struct Item {
    /// Its name there, which the receiver's side checks before it uses it.
    pub name: String,
    /// Whether it is a directory.
    pub directory: bool,
}

/// Words that nobody can have said.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoWords {
    #[error("{0}")]
    Malformed(#[from] serde_json::Error),
    #[error("a wrong number of things")]
    Items,
}

impl Wish {
    /// As it came.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, NoWords> {
        Ok(serde_json::from_slice(bytes)?)
    }
}

impl Answer {
    /// As it came, in answer to this wish: it has the thing that was asked for.
    pub(crate) fn read(bytes: &[u8], wish: &Wish) -> Result<Self, NoWords> {
        let answer: Self = serde_json::from_slice(bytes)?;
        let is_possible = (1..=MOST_ITEMS).contains(&answer.items.len()) && wish.item < Some(answer.items.len());
        if is_possible { Ok(answer) } else { Err(NoWords::Items) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_what_was_asked_for_and_no_more_than_a_code_is_for() {
        let answer = |items: usize| {
            let item = Item { name: "a".to_owned(), directory: false };
            serde_json::to_vec(&Answer { items: vec![item; items] }).unwrap()
        };
        let read = |items, item| Answer::read(&answer(items), &Wish { run: 1, item }).is_ok();
        assert!(read(2, Some(1)) && read(1, None) && read(MOST_ITEMS, Some(0)));
        assert!(!read(2, Some(2)) && !read(0, None) && !read(MOST_ITEMS + 1, Some(0)));
        assert!(Wish::read(b"{}").is_err() && Wish::read(br#"{"run":1}"#).is_ok());
    }
}
