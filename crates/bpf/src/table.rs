//! Rows as text: as many columns as the terminal is wide, the less important ones left out first.

use crate::rows::{Row, Rows};
use std::fmt::Write as _;

/// A column: its head, whether it stands at the left, when it is left out (the largest first, 0 never), and what it shows.
type Column = (&'static str, bool, u8, fn(&Row<'_>) -> String);

const COLUMNS: [Column; 10] = [
    ("name", true, 2, |row| row.now.name.clone()),
    ("local", true, 7, |row| row.now.local.to_string()),
    ("remote", true, 0, |row| row.now.remote.to_string()),
    ("Mbit/s", false, 0, |row| format!("{:.2}", row.rate / 1e6)),
    ("goodput", false, 3, |row| format!("{:.2}", row.goodput / 1e6)),
    ("RTT ms", false, 1, |row| format!("{:.2}", row.now.rtt.as_secs_f64() * 1e3)),
    ("loss %", false, 4, |row| row.loss.map_or_else(dash, |loss| format!("{:.2}", loss * 100.0))),
    ("state", true, 5, |row| row.now.state.to_owned()),
    ("limited by", true, 6, |row| row.now.limited_by.to_owned()),
    ("utility", false, 8, |row| row.now.utility.map_or_else(dash, |utility| format!("{utility:.4}"))),
];

fn dash() -> String {
    "-".to_owned()
}

/// Letters between two columns.
const GAP: usize = 2;
/// A shorter rest of an address is worth nothing.
const NARROWEST: usize = 12;

/// The table, with the sums above it, in lines of at most so many letters. `unseen` says how connections are shown that only
/// receive.
pub fn table(rows: &Rows<'_>, width: usize, unseen: &str) -> String {
    let cells: Vec<Vec<String>> =
        rows.shown.iter().map(|row| COLUMNS.iter().map(|column| column.3(row)).collect()).collect();
    let mut widths: Vec<_> = COLUMNS
        .iter()
        .enumerate()
        .map(|(at, column)| cells.iter().map(|cells| cells[at].len()).chain([column.0.len()]).max().unwrap_or(0))
        .collect();
    let kept = fitting(&mut widths, width);
    let mut text = cut(&sums(rows, unseen), width) + "\n";
    let heads: Vec<_> = COLUMNS.iter().map(|column| column.0.to_owned()).collect();
    for cells in std::iter::once(&heads).chain(&cells) {
        let line = kept.iter().map(|at| cell(&cells[*at], widths[*at], COLUMNS[*at].1)).collect::<Vec<_>>();
        let _ = writeln!(text, "{}", line.join(&" ".repeat(GAP)).trim_end());
    }
    text
}

/// Which columns are kept; if those that always are do not fit, the address is made narrower.
fn fitting(widths: &mut [usize], width: usize) -> Vec<usize> {
    let mut kept: Vec<_> = (0..COLUMNS.len()).collect();
    let total = |kept: &[usize], widths: &[usize]| kept.iter().map(|at| widths[*at] + GAP).sum::<usize>() - GAP;
    while total(&kept, widths) > width {
        let Some(least) = kept
            .iter()
            .position(|at| COLUMNS[*at].2 > 0 && kept.iter().all(|other| COLUMNS[*other].2 <= COLUMNS[*at].2))
        else {
            let over = total(&kept, widths) - width;
            widths[2] = widths[2].saturating_sub(over).max(NARROWEST);
            break;
        };
        kept.remove(least);
    }
    kept
}

/// An address that is too long is told by its end, which has the port.
fn cell(text: &str, width: usize, left: bool) -> String {
    match text.len().checked_sub(width) {
        Some(over @ 1..) => format!("…{}", &text[over + 1..]),
        _ if left => format!("{text:width$}"),
        _ => format!("{text:>width$}"),
    }
}

fn sums(rows: &Rows<'_>, unseen: &str) -> String {
    let plural = if rows.wanted == 1 { "" } else { "s" };
    let mut text = format!("{} connection{plural}", rows.wanted);
    if rows.shown.len() < rows.wanted {
        let _ = write!(text, ", {} shown", rows.shown.len());
    }
    let _ = write!(text, ": {:.2} Mbit/s, goodput {:.2}", rows.rate / 1e6, rows.goodput / 1e6);
    if let Some(loss) = rows.loss {
        let _ = write!(text, ", loss {:.2} %", loss * 100.0);
    }
    if rows.receivers > 0 {
        let _ = write!(text, "; {} receive ({unseen})", rows.receivers);
    }
    text
}

fn cut(text: &str, width: usize) -> String {
    text.chars().take(width).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Selection;
    use crate::watch::Connection;
    use crate::watch::tests::example;
    use std::net::SocketAddr;

    fn shown(now: &[Connection], width: usize) -> Vec<String> {
        let rows = Rows::of(&Selection::default(), 100, &[example(1, 1000, 500, (10, 0))], now);
        table(&rows, width, "--all").lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_wide_table_has_all_columns() {
        let lines = shown(&[example(3, 251_000, 125_500, (110, 5))], usize::MAX);
        assert_eq!(lines[0], "1 connection: 1.00 Mbit/s, goodput 0.50, loss 5.00 %");
        let last: Vec<_> = lines[2].split_whitespace().collect();
        let expected = "pcc 192.0.2.1:5001 192.0.2.1:443 1.00 0.50 40.00 5.00 Probing application 1.5000";
        assert_eq!(last.join(" "), expected);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let long: SocketAddr = "[2001:db8:1111:2222:3333:4444:5555:6666]:65535".parse().unwrap();
        for remote in [None, Some(long)] {
            let one = example(3, 251_000, 125_500, (110, 5));
            let now = [Connection { remote: remote.unwrap_or(one.remote), ..one }];
            for width in 30..140 {
                let lines = shown(&now, width);
                let widest = lines.iter().map(|line| line.chars().count()).max();
                assert!(widest <= Some(width) && lines.len() == 3, "{width}: {lines:#?}");
                assert!(lines[1].contains("remote") && lines[1].contains("Mbit/s"), "{lines:#?}");
            }
            assert!(shown(&now, 80)[1].contains("RTT ms"));
        }
    }
}
