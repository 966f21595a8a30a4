//! Names that come from the other side of a connection, as names of files here.

/// Bytes in a name, the limit of every common file system.
pub(crate) const LONGEST: usize = 255;

/// Whether the name leads to a file of that name in its directory, and to nothing else. `.` and `..` do not count here.
pub(crate) fn is_possible(name: &str) -> bool {
    !name.contains(['/', '\0']) && (cfg!(not(windows)) || is_possible_on_windows(name))
}

/// Windows takes many names for something else: `a\b` is a path, `C:a` on another drive, `a:b` a stream within a file,
/// `a?` a pattern, `nul.txt` a device, `a.` and `a ` are `a`, and so `.. ` leads upwards.
fn is_possible_on_windows(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name).trim_end().to_uppercase();
    let numbered = |device| stem.strip_prefix(device).is_some_and(|rest| NUMBERS.contains(&rest));
    let device = DEVICES.contains(&stem.as_str()) || numbered("COM") || numbered("LPT");
    let forbidden = |c| c < ' ' || r#"\:*?"<>|"#.contains(c);
    !device && !name.contains(forbidden) && !name.ends_with(['.', ' '])
}

const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// Numbers of serial and parallel ports.
const NUMBERS: [&str; 13] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"];

/// The same text for all names that may lead to one file: many systems take upper and lower case for the same.
pub(crate) fn folded(name: &str) -> String {
    if cfg!(any(windows, target_os = "macos")) { name.to_lowercase() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_name() {
        for name in ["a/b", "/a", "a\0"] {
            assert!(!is_possible(name), "{name:?}");
        }
        for name in ["a", "a b", "ä", ".a", "-a"] {
            assert!(is_possible(name), "{name:?}");
        }
    }

    #[test]
    fn names_that_windows_reserves_are_refused_there() {
        for name in [r"a\b", "C:a", "a:b", "a::$DATA", "a?", "<a", "a\"", "a\n", "a.", "a ", ".. ", "..."] {
            assert!(!is_possible_on_windows(name), "{name:?}");
        }
        for name in ["NUL", "nul", "nul.txt", "nul .tar.gz", "Aux.h", "COM1", "com¹.txt", "LPT0", "conin$"] {
            assert!(!is_possible_on_windows(name), "{name:?}");
        }
        for name in ["a", ".a", "a.b", "a b", "ä", "null", "nul1", "console.log", "com", "com10", "a.nul"] {
            assert!(is_possible_on_windows(name), "{name:?}");
        }
    }
}
