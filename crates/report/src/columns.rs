//! Text for people: tables whose columns are as wide as their longest word, and lines of a width.

/// A column: on which side its words stand, and the width that it has at least.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    /// Their left.
    Left(usize),
    /// Their right.
    Right(usize),
}

/// Rows below each other, with two spaces between columns.
pub fn aligned(columns: &[Column], rows: &[Vec<String>]) -> String {
    let widest = |place: usize| rows.iter().filter_map(|row| Some(row.get(place)?.chars().count())).max().unwrap_or(0);
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(place, column)| match column {
            Column::Left(least) | Column::Right(least) => widest(place).max(*least),
        })
        .collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((word, column), width) in row.iter().zip(columns).zip(&widths) {
            line += &match column {
                Column::Left(_) => format!("{word:width$}  "),
                Column::Right(_) => format!("{word:>width$}  "),
            };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// A text broken between words into lines of at most `width` characters; a word that is longer has a line.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => *line += &format!(" {word}"),
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_moves_the_whole_column() {
        let rows =
            [["flow", "Mbit/s"], ["quic:pcc/my.utility", "47.10"], ["ä", "1"]].map(|row| row.map(String::from).into());
        let text = aligned(&[Column::Left(4), Column::Right(8)], &rows);
        let ends: Vec<_> = text.lines().map(|line| line.chars().count()).collect();
        assert_eq!(ends, [19 + 2 + 8; 3], "{text}");
        assert!(text.contains("quic:pcc/my.utility     47.10\n"), "{text}");
    }
}
