//! A pattern of names, by rsync's rules.

/// Why a text is no pattern.
type Wrong = &'static str;

/// Text with wildcards.
///
/// `*` and `?` match no slash, and `**` does. A slash in front binds it to the directory that is moved. Otherwise it matches the end of
/// a path: its last name, or as many names as the pattern has. A slash at the end is for directories only, and `/***` for a directory and
/// everything in it.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    tokens: Vec<Token>,
    is_bound: bool,
    /// Names that it matches; `None` for any number.
    names: Option<usize>,
    directories_only: bool,
    /// Ends with `/***`.
    with_content: bool,
}

#[derive(Clone, Debug)]
enum Token {
    This(char),
    /// `?`
    One,
    /// `*`
    Several,
    /// `**`
    SeveralAndSlashes,
    Of(Brackets),
}

impl Pattern {
    /// Reads it.
    ///
    /// Errors: it can match nothing.
    pub(crate) fn new(text: &str) -> Result<Self, Wrong> {
        let with_content = text.ends_with("/***");
        let body = text.strip_suffix('/').unwrap_or(text);
        let directories_only = body.len() < text.len();
        let unbound = body.strip_prefix('/');
        let tokens = read(unbound.unwrap_or(body))?;
        if tokens.is_empty() {
            return Err("matches no name");
        }
        let slashes = tokens.iter().filter(|token| matches!(token, Token::This('/'))).count();
        let any_depth = tokens.iter().any(|token| matches!(token, Token::SeveralAndSlashes));
        let names = (!any_depth).then_some(slashes + 1);
        Ok(Self { tokens, is_bound: unbound.is_some(), names, directories_only, with_content })
    }

    /// Whether it matches this path, which begins below the directory that is moved.
    pub(crate) fn matches(&self, path: &str, is_directory: bool) -> bool {
        if self.directories_only && !is_directory {
            return false;
        }
        // The directory itself is matched by what its content would be.
        let end = if self.with_content && is_directory { "/" } else { "" };
        // `**/` in front may stand for no directory at all.
        let begin =
            if !self.is_bound && matches!(self.tokens.first(), Some(Token::SeveralAndSlashes)) { "/" } else { "" };
        let path = &format!("{begin}{path}{end}");
        if self.is_bound {
            return self.is_all_of(path);
        }
        let mut ends = core::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        ends.any(|at| path.get(at..).is_some_and(|end| self.is_as_long(end) && self.is_all_of(end)))
    }

    fn is_as_long(&self, path: &str) -> bool {
        self.names.is_none_or(|names| path.split('/').count() == names)
    }

    /// Whether all of this text is what the tokens say. Each character is compared with each token once at most, whatever stands in
    /// either: names are somebody else's choice.
    fn is_all_of(&self, text: &str) -> bool {
        let mut states = vec![false; self.tokens.len() + 1];
        let mut next = states.clone();
        if let Some(first) = states.first_mut() {
            *first = true;
        }
        self.skip(&mut states);
        for c in text.chars() {
            next.fill(false);
            for (at, token) in self.tokens.iter().enumerate() {
                if states.get(at) != Some(&true) {
                    continue;
                }
                let (is_matched, stays) = match token {
                    Token::This(this) => (*this == c, false),
                    Token::One => (c != '/', false),
                    Token::Of(brackets) => (c != '/' && brackets.has(c), false),
                    Token::Several => (c != '/', true),
                    Token::SeveralAndSlashes => (true, true),
                };
                if let Some(state) = next.get_mut(if stays { at } else { at + 1 }).filter(|_| is_matched) {
                    *state = true;
                }
            }
            self.skip(&mut next);
            core::mem::swap(&mut states, &mut next);
        }
        states.last() == Some(&true)
    }

    /// Several may be none.
    fn skip(&self, states: &mut [bool]) {
        for (at, token) in self.tokens.iter().enumerate() {
            let may_be_none = matches!(token, Token::Several | Token::SeveralAndSlashes);
            if let Some([here, after]) = states.get_mut(at..at + 2)
                && may_be_none
            {
                *after |= *here;
            }
        }
    }
}

/// A backslash takes the meaning of the next character away, where anything has one.
fn read(text: &str) -> Result<Vec<Token>, Wrong> {
    if !text.contains(['*', '?', '[']) {
        return Ok(text.chars().map(Token::This).collect());
    }
    let (mut tokens, mut rest) = (Vec::new(), text.chars().peekable());
    while let Some(c) = rest.next() {
        tokens.push(match c {
            '\\' => Token::This(rest.next().ok_or("ends with a backslash")?),
            '?' => Token::One,
            '[' => Token::Of(Brackets::read(&mut rest)?),
            '*' => {
                let mut stars = 1;
                while rest.next_if_eq(&'*').is_some() {
                    stars += 1;
                }
                if stars > 1 { Token::SeveralAndSlashes } else { Token::Several }
            }
            c => Token::This(c),
        });
    }
    Ok(tokens)
}

/// A pair of brackets: the characters that it matches.
#[derive(Clone, Debug, Default)]
struct Brackets {
    is_negated: bool,
    ranges: Vec<(char, char)>,
    /// As `[:alpha:]`.
    classes: Vec<String>,
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
                        read.classes.push(name);
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

    fn has(&self, c: char) -> bool {
        let is_in = self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&c))
            || self.classes.iter().any(|class| is_of(class, c));
        is_in != self.is_negated
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

/// Whether a character is of a class, by ASCII's rules.
fn is_of(class: &str, c: char) -> bool {
    match class {
        "alnum" => c.is_ascii_alphanumeric(),
        "alpha" => c.is_ascii_alphabetic(),
        "blank" => matches!(c, ' ' | '\t'),
        "cntrl" => c.is_ascii_control(),
        "digit" => c.is_ascii_digit(),
        "graph" => c.is_ascii_graphic(),
        "lower" => c.is_ascii_lowercase(),
        "print" => c.is_ascii_graphic() || c == ' ',
        "punct" => c.is_ascii_punctuation(),
        "space" => matches!(c, ' ' | '\t'..='\r'),
        "upper" => c.is_ascii_uppercase(),
        _ => c.is_ascii_hexdigit(),
    }
}

const CLASSES: [&str; 12] =
    ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];

#[cfg(test)]
mod tests {
    use super::super::{Excluded, Rule};
    use super::*;
    use proptest::prelude::*;
    use serde::Deserialize;
    use std::path::Path;

    /// `rsync -rn --out-format=%n`, of rsync 3.5.0, with each list of rules as `--filter` in a tree of these paths: the first line
    /// has them, each further one what is left out.
    const AS_RSYNC_SAYS: &str = include_str!("rsync.jsonl");

    #[derive(Deserialize)]
    struct Tree {
        paths: Vec<String>,
    }

    #[derive(Deserialize)]
    struct Row {
        rules: Vec<String>,
        left_out: Vec<String>,
    }

    fn has(excluded: &Excluded, path: &str) -> bool {
        let mut above: Vec<_> =
            Path::new(path).ancestors().skip(1).filter(|path| !path.as_os_str().is_empty()).collect();
        above.reverse();
        above.iter().any(|path| excluded.has(path, true)) || excluded.has(Path::new(path), false)
    }

    #[test]
    fn each_list_of_rules_leaves_out_what_rsync_leaves_out() {
        let mut lines = AS_RSYNC_SAYS.lines();
        let tree: Tree = serde_json::from_str(lines.next().unwrap()).unwrap();
        let (mut rows, mut wrong) = (0, Vec::new());
        for line in lines {
            let row: Row = serde_json::from_str(line).unwrap();
            rows += 1;
            let rules = row.rules.iter().map(|rule| Rule::exclude(rule)).collect::<crate::Result<Vec<_>>>();
            let excluded = match rules {
                Ok(rules) => Excluded::by(rules),
                // A pattern that rsync never finds anything with is refused here.
                Err(_) if row.left_out.is_empty() => continue,
                Err(error) => {
                    wrong.push(format!("{:?}: {error}", row.rules));
                    continue;
                }
            };
            let differ = |path: &&String| has(&excluded, path) != row.left_out.contains(path);
            let differing: Vec<_> = tree.paths.iter().filter(differ).collect();
            if !differing.is_empty() {
                wrong.push(format!("{:?}: {differing:?}", row.rules));
            }
        }
        assert!(wrong.is_empty() && rows > 160, "of {rows} lists:\n{}", wrong.join("\n"));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for wrong in ["[a", "[a-", "[", "[!", "[]", "[z-a]", "[[:alfa:]]", "[[:alpha", "[\\", "[\\]", "*\\", "", "/"] {
            assert!(Pattern::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_name_full_of_near_matches_is_compared_in_linear_time() {
        let pattern = Pattern::new(&("*a".repeat(60) + "b")).unwrap();
        assert!(!pattern.matches(&"a".repeat(255), false));
        assert!(pattern.matches(&("a".repeat(200) + "b"), false));
    }

    proptest! {
        #[test]
        fn any_text_is_a_pattern_or_refused(text in "[a/*?\\[\\]!^\\\\:-]{0,12}", path in "[a/*\\[]{0,12}") {
            if let Ok(pattern) = Pattern::new(&text) {
                let _ = pattern.matches(&path, true);
            }
        }
    }
}
