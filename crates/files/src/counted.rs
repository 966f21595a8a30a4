//! Numbers of entries, in words.

/// So many entries.
pub fn counted(entries: u64) -> String {
    if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") }
}
