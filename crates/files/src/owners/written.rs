//! An owner as a field or a listing has it.

use pcc_net::percent;

/// Bytes of a name, a third of them encoded.
pub(super) const LONGEST: usize = 768;

/// The number, and the name behind it where there is one.
pub(super) fn read(text: &str) -> Option<(u32, Option<String>)> {
    if text.len() > LONGEST {
        return None;
    }
    let (digits, name) = text.split_once(' ').map_or((text, None), |(digits, name)| (digits, Some(name)));
    let is_number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    // The last number means "as it is" to the system.
    let id = is_number.then(|| digits.parse().ok())?.filter(|id| *id != u32::MAX)?;
    let name = match name {
        Some(encoded) => Some(percent::decode(encoded).filter(|name| !name.is_empty() && !name.contains('\0'))?),
        None => None,
    };
    Some((id, name))
}
