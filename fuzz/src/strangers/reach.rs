//! Codes, places, and the first words between computers that meet by a code; the figures of a path.

use crate::code::{Code, MOST_PLACES};
use crate::place::Place;
use crate::words::{Answer, MOST_ITEMS, Wish};
use crate::{figures as path, net::text};

/// A code that is read is read again as it is written, and names few places.
pub(crate) fn code(bytes: &[u8]) -> bool {
    let text = text(bytes);
    let _ = Code::is_meant(&text);
    let Ok(code) = text.parse::<Code>() else { return false };
    assert!(code.places().len() <= MOST_PLACES && code.short().len() == 4, "{code:?}");
    let written = code.to_string();
    assert!(Code::is_meant(&written), "{written}");
    assert_eq!(written.parse().as_ref(), Ok(&code));
    true
}

/// A place that is read is read again as it is written.
pub(crate) fn place(bytes: &[u8]) -> bool {
    let Ok(place) = text(bytes).parse::<Place>() else { return false };
    assert_eq!(place.to_string().parse().as_ref(), Ok(&place));
    true
}

/// A wish is the same when it is said again.
pub(crate) fn wish(bytes: &[u8]) -> bool {
    let Ok(wish) = Wish::read(bytes) else { return false };
    let said = serde_json::to_vec(&wish).expect("words");
    assert!(Wish::read(&said).is_ok_and(|again| again == wish), "{wish:?}");
    true
}

/// An answer has few things, and that which was asked for.
pub(crate) fn answer(bytes: &[u8]) -> bool {
    let item = bytes.first().map(|byte| usize::from(*byte % 70));
    let _ = Answer::read(bytes, &Wish { run: 0, item });
    let Ok(answer) = Answer::read(bytes, &Wish { run: 0, item: Some(1) }) else { return false };
    assert!((2..=MOST_ITEMS).contains(&answer.items.len()), "{answer:?}");
    true
}

/// Figures of a path are within their bounds.
pub(crate) fn figures(bytes: &[u8]) -> bool {
    let Ok(value) = http::HeaderValue::from_bytes(bytes) else { return false };
    let Some(figures) = path::of(&http::HeaderMap::from_iter([(path::PATH_FIGURES, value)])) else { return false };
    assert!((0.0..=1.0).contains(&figures.loss) && figures.base_rtt <= figures.rtt, "{figures:?}");
    true
}
