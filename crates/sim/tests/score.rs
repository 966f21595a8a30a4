//! What is promised of PCC, in the short form of `pcc-lab sim score`: no row may fall behind what it has reached.

use pcc_sim::score::{self, Figures, Form, Judged, ROWS, Row, Size, Task};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Two at a time, as on the smallest machine that it is to run on.
fn simulate(tasks: &[Task]) -> Vec<Figures> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mine = core::iter::from_fn(|| tasks.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.map(Task::run).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let halves = [scope.spawn(work), scope.spawn(work)];
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    })
}

fn line(judged: &Judged) -> String {
    let Row { number, case, measure, must, today, .. } = judged.row;
    format!("row {number}, {case}: {} is {:?}, must {must}, today {today:?}\n", measure.name(), judged.measured)
}

#[test]
fn no_row_falls_behind_what_it_has_reached() {
    let tasks = score::plan(ROWS, &Form::of(Size::Short), &|_| {});
    let judged = score::judge(ROWS, &Form::of(Size::Short), &simulate(&tasks));
    let behind = |row: &&Judged| row.problem.is_none() && !row.keeps(row.row.today.unwrap_or(row.row.must));
    let all: String = judged.iter().map(line).collect();
    let behind: String = judged.iter().filter(behind).map(line).collect();
    assert!(behind.is_empty(), "behind:\n{behind}\nall:\n{all}");
}
