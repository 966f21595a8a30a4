//! The name that somebody may have meant.

/// `; did you mean X?` if one of the names is close to what was written, else nothing.
pub(super) fn did_you_mean<T: AsRef<str>>(written: &str, names: &[T]) -> String {
    nearest(written, names).map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The name that the fewest edits lead to, if they are at most a third of it, and more than nothing remains.
fn nearest<'a, T: AsRef<str>>(written: &str, names: &'a [T]) -> Option<&'a str> {
    const LONGEST: usize = 32;
    if written.chars().count() > LONGEST {
        return None;
    }
    let apart = |name: &str| distance(&written.to_lowercase(), &name.to_lowercase());
    let (edits, name) = names.iter().map(|name| (apart(name.as_ref()), name.as_ref())).min()?;
    (edits <= name.chars().count().div_ceil(3) && edits < name.chars().count()).then_some(name)
}

/// Letters to insert, delete or replace (Levenshtein), one row at a time.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_and_a_far_one_is_not_guessed() {
        let names = ["rtt", "rtt_least", "loss", "sigma", "throughput"];
        for (written, meant) in
            [("los", Some("loss")), ("Sigma", Some("sigma")), ("througput", Some("throughput")), ("rt", Some("rtt"))]
        {
            assert_eq!(nearest(written, &names), meant, "{written}");
        }
        for written in ["wombat", "", "y", &"x".repeat(10_000)] {
            assert_eq!(nearest(written, &names), None, "{written}");
        }
    }
}
