//! Patterns of `.gitignore` in the words of globset, which reads brackets, braces and many stars in another way.

/// Why a text is no pattern.
type Wrong = &'static str;

/// The same pattern for globset.
///
/// Git's rules are those of its `wildmatch.c`: within brackets a backslash takes the next character as it is, a `-` behind a
/// range is one, three stars are as two, and braces are nothing special.
pub(super) fn for_globset(pattern: &str) -> Result<String, Wrong> {
    let mut out = String::new();
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(rest.next());
            }
            '{' | '}' => out.extend(['\\', c]),
            '*' => {
                let mut stars = 1;
                while rest.next_if_eq(&'*').is_some() {
                    stars += 1;
                }
                let begins = out.is_empty() || out == "!" || out.ends_with('/');
                let is_level = stars > 1 && begins && matches!(rest.peek(), None | Some('/'));
                out.push_str(if is_level { "**" } else { "*" });
            }
            '[' => out.push_str(&Brackets::read(&mut rest)?.for_globset()),
            _ => out.push(c),
        }
    }
    Ok(out)
}

/// A pair of brackets: the characters that it matches.
#[derive(Default)]
struct Brackets {
    is_negated: bool,
    ranges: Vec<(char, char)>,
    /// As `[:alpha:]`.
    classes: String,
}

impl Brackets {
    /// Reads what follows the opening one, up to the closing one.
    fn read<I: Iterator<Item = char> + Clone>(rest: &mut I) -> Result<Self, Wrong> {
        let next = |rest: &mut I| rest.next().ok_or("has a [ without its ]");
        let mut read = Self::default();
        let mut c = next(rest)?;
        if matches!(c, '!' | '^') {
            read.is_negated = true;
            c = next(rest)?;
        }
        // Where a range may begin: not with the end of another.
        let mut before = None;
        loop {
            before = match (c, before) {
                ('-', Some(first)) => match next(rest)? {
                    ']' => {
                        read.ranges.push(('-', '-'));
                        return Ok(read);
                    }
                    last => {
                        let last = if last == '\\' { next(rest)? } else { last };
                        if last < first {
                            return Err("has a range that ends before it begins");
                        }
                        read.ranges.push((first, last));
                        None
                    }
                },
                ('[', _) => match class(rest) {
                    Some(name) if CLASSES.contains(&name.as_str()) => {
                        read.classes.push_str(&format!("[:{name}:]"));
                        None
                    }
                    Some(_) => return Err("has a class of characters that is none"),
                    None => {
                        read.ranges.push(('[', '['));
                        Some('[')
                    }
                },
                (c, _) => {
                    let c = if c == '\\' { next(rest)? } else { c };
                    read.ranges.push((c, c));
                    Some(c)
                }
            };
            c = next(rest)?;
            if c == ']' {
                return Ok(read);
            }
        }
    }

    /// The same in an order in which no character means anything else: `]` first, `-` last, and neither `!` nor `^` in front.
    fn for_globset(&self) -> String {
        let (mut body, mut singles) = (String::new(), String::new());
        for (mut first, mut last) in self.ranges.iter().copied() {
            // The ends of a range may be such characters.
            while first < last && SPECIAL.contains(&first) {
                singles.push(first);
                first = char::from_u32(first as u32 + 1).unwrap_or(last);
            }
            while first < last && SPECIAL.contains(&last) {
                singles.push(last);
                last = char::from_u32(last as u32 - 1).unwrap_or(first);
            }
            if first < last { body.extend([first, '-', last]) } else { singles.push(first) }
        }
        let has = |c| singles.contains(c);
        body.push_str(&self.classes);
        body.extend(singles.chars().filter(|c| !matches!(c, ']' | '-')));
        if has(']') {
            body.insert(0, ']');
        }
        if has('-') {
            body.push('-');
        }
        if !self.is_negated && body.starts_with(['!', '^']) {
            body.insert(0, '\0'); // which no name has
        }
        format!("[{}{body}]", if self.is_negated { "!" } else { "" })
    }
}

/// The name of a class, behind its bracket; takes it if it is one.
fn class(rest: &mut (impl Iterator<Item = char> + Clone)) -> Option<String> {
    let mut ahead = rest.clone();
    ahead.next().filter(|c| *c == ':')?;
    let name: String = ahead.by_ref().take_while(|c| *c != ']').collect();
    let name = name.strip_suffix(':')?.to_owned();
    *rest = ahead;
    Some(name)
}

/// Characters that mean something within globset's brackets.
const SPECIAL: [char; 5] = [']', '-', '!', '^', '['];

const CLASSES: [&str; 12] =
    ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];

#[cfg(test)]
mod tests {
    use super::super::Excluded;
    use serde::Deserialize;
    use std::path::Path;

    /// `git ls-files --others --exclude-standard`, of git 2.39.5, with each set of patterns in a tree of these paths: the
    /// first line has them, each further one what is left out.
    const AS_GIT_SAYS: &str = include_str!("gitignore.jsonl");

    #[derive(Deserialize)]
    struct Tree {
        paths: Vec<String>,
    }

    #[derive(Deserialize)]
    struct Row {
        patterns: Vec<String>,
        ignored: Vec<String>,
    }

    fn has(excluded: &Excluded, path: &str) -> bool {
        let mut above = Path::new(path).ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
        above.any(|path| excluded.has(path, true)) || excluded.has(Path::new(path), false)
    }

    #[test]
    fn each_pattern_leaves_out_what_git_leaves_out() {
        let mut lines = AS_GIT_SAYS.lines();
        let tree: Tree = serde_json::from_str(lines.next().unwrap()).unwrap();
        let (mut rows, mut wrong) = (0, Vec::new());
        for line in lines {
            let row: Row = serde_json::from_str(line).unwrap();
            rows += 1;
            let excluded = match Excluded::new(&row.patterns) {
                Ok(excluded) => excluded,
                Err(error) => {
                    wrong.push(format!("{:?}: {error}", row.patterns));
                    continue;
                }
            };
            let differ = |path: &&String| has(&excluded, path) != row.ignored.contains(path);
            let differing: Vec<_> = tree.paths.iter().filter(differ).collect();
            if !differing.is_empty() {
                wrong.push(format!("{:?}: {differing:?}", row.patterns));
            }
        }
        assert!(wrong.is_empty() && rows > 74, "of {rows} sets:\n{}", wrong.join("\n"));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for wrong in ["[a", "[a-", "[", "[!", "[]", "[z-a]", "[[:alfa:]]", "[[:alpha", "[\\", "[\\]", "x\\"] {
            assert!(Excluded::new([wrong]).is_err(), "{wrong}");
        }
    }
}
