//! Numbers of entries, in words.

/// A number of entries, in words.
pub fn counted(entries: u64) -> String {
    if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") }
}
