//! How JavaScript and WebAssembly hand each other text: `site/playground.js` has the other side.
//!
//! JavaScript asks for room, writes a question there, and calls [`answer`]. Then the answer lies where [`answer`] says, and is
//! [`length`] bytes long, until the next question. A module has one thread, so it holds one question and one answer.

use crate::ask::Playground;
use std::cell::RefCell;

#[derive(Default)]
struct Door {
    playground: Playground,
    question: Vec<u8>,
    answer: String,
}

thread_local! {
    static DOOR: RefCell<Door> = RefCell::default();
}

/// Where a question of so many bytes is to be written.
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    DOOR.with_borrow_mut(|door| {
        door.question = vec![0; length];
        door.question.as_mut_ptr()
    })
}

/// Where the answer to that question is.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    DOOR.with_borrow_mut(|door| {
        let question = String::from_utf8_lossy(&door.question);
        door.answer = door.playground.answer(&question);
        door.answer.as_ptr()
    })
}

/// How many bytes of it there are.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    DOOR.with_borrow(|door| door.answer.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_in_the_room_is_answered() {
        let question = br#"{"ask":"words"}"#;
        room(question.len());
        DOOR.with_borrow_mut(|door| door.question.copy_from_slice(question));
        assert!(!answer().is_null());
        DOOR.with_borrow(|door| assert!(door.answer.starts_with("{\"paths\":") && length() == door.answer.len()));
    }
}
