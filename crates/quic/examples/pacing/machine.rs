//! What the rest of the machine did meanwhile: on a busy one the figures say little.

use std::fs;
use std::time::{Duration, Instant};

/// A span of time that is being measured.
#[derive(Debug)]
pub(crate) struct Span {
    started: Instant,
    thread: Duration,
    process: Duration,
    machine: Duration,
}

/// Shares of one core.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) passed: Duration,
    /// The thread that measures.
    pub(crate) thread: f64,
    /// This process.
    pub(crate) process: f64,
    /// Everybody else.
    pub(crate) others: f64,
}

impl Span {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let (thread, process, machine) = (thread_time()?, process_time()?, machine_time()?);
        Ok(Self { started: Instant::now(), thread, process, machine })
    }

    /// To be called on the thread that started it.
    pub(crate) fn end(&self) -> anyhow::Result<Use> {
        let passed = self.started.elapsed();
        let share = |used: Duration| used.as_secs_f64() / passed.as_secs_f64();
        let process = process_time()?.saturating_sub(self.process);
        let others = machine_time()?.saturating_sub(self.machine).saturating_sub(process);
        let thread = thread_time()?.saturating_sub(self.thread);
        Ok(Use { passed, thread: share(thread), process: share(process), others: share(others) })
    }
}

/// The first number of a `schedstat` file: nanoseconds on a processor.
fn run_time(schedstat: &str) -> anyhow::Result<Duration> {
    Ok(Duration::from_nanos(schedstat.split_whitespace().next().unwrap_or_default().parse()?))
}

fn thread_time() -> anyhow::Result<Duration> {
    run_time(&fs::read_to_string("/proc/thread-self/schedstat")?)
}

fn process_time() -> anyhow::Result<Duration> {
    fs::read_dir("/proc/self/task")?.map(|task| run_time(&fs::read_to_string(task?.path().join("schedstat"))?)).sum()
}

/// Time that all processors were busy: user, nice, system, interrupts and what the hypervisor took, in hundredths of
/// a second (`man 5 proc_stat`).
fn machine_time() -> anyhow::Result<Duration> {
    let stat = fs::read_to_string("/proc/stat")?;
    let fields = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let busy = fields.take(8).enumerate().filter(|(index, _)| ![3, 4].contains(index));
    let hundredths = busy.map(|(_, field)| field.parse::<u64>()).sum::<Result<u64, _>>()?;
    Ok(Duration::from_millis(hundredths * 10))
}
