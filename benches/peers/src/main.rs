//! One QUIC stream over the loopback interface: PCC on noq, and quinn and s2n-quic as they are released.
//!
//! `peers [ROUNDS [SECONDS [TRANSPORT]...]]`. Every stack has the same program: the sender on the first processor, the receiver on the
//! second, each a process with one thread; the same windows, socket buffers, chunks and allocator; TLS of the same cryptography.

mod on_noq;
mod on_quinn;
mod on_s2n;
mod roles;
mod run;
mod tls;

use anyhow::{Context, Result, bail};
use run::Run;
use std::process::ExitCode;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What one direction of a connection, and its stream, may have under way.
const WINDOW: u32 = 16 << 20;

/// Handed to the stack at a time.
const CHUNK: &[u8] = &[7; 64 << 10];

/// Read from the stack at a time, at most.
const CHUNKS_AT_A_TIME: usize = 64;

const ROUNDS: usize = 5;
const SECONDS: f64 = 3.0;

/// A stack and its congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    CubicOnNoq,
    PccOnNoq,
    CubicOnQuinn,
    PccOnQuinn,
    CubicOnS2n,
    PccOnS2n,
}

impl Transport {
    const ALL: [Self; 6] =
        [Self::CubicOnNoq, Self::PccOnNoq, Self::CubicOnQuinn, Self::PccOnQuinn, Self::CubicOnS2n, Self::PccOnS2n];

    /// The first over the second.
    const RATIOS: [(Self, Self); 5] = [
        (Self::PccOnNoq, Self::CubicOnNoq),
        (Self::PccOnNoq, Self::CubicOnQuinn),
        (Self::PccOnNoq, Self::CubicOnS2n),
        (Self::PccOnQuinn, Self::CubicOnQuinn),
        (Self::PccOnS2n, Self::CubicOnS2n),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::CubicOnNoq => "noq",
            Self::PccOnNoq => "noq+pcc",
            Self::CubicOnQuinn => "quinn",
            Self::PccOnQuinn => "quinn+pcc",
            Self::CubicOnS2n => "s2n-quic",
            Self::PccOnS2n => "s2n-quic+pcc",
        }
    }

    fn of(name: &str) -> Result<Self> {
        let named = Self::ALL.into_iter().find(|transport| transport.name() == name);
        named.with_context(|| format!("`{name}` is none of {}", Self::ALL.map(Self::name).join(", ")))
    }
}

fn main() -> Result<ExitCode> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["receive", transport, certificate, key] => roles::receive(Transport::of(transport)?, certificate, key)?,
        ["send", transport, certificate, port, seconds] => {
            let time = Duration::try_from_secs_f64(seconds.parse()?)?;
            roles::send(Transport::of(transport)?, certificate, port.parse()?, time)?;
        }
        _ => return compare(&words),
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the transports in turn. The exit code says whether each of them had a run that did not fail.
fn compare(words: &[&str]) -> Result<ExitCode> {
    let number = |index: usize| words.get(index).map(|word| word.parse::<f64>()).transpose();
    let rounds = number(0).context("ROUNDS is a number")?.map_or(ROUNDS, |rounds| rounds as usize);
    let time = Duration::try_from_secs_f64(number(1).context("SECONDS is a number")?.unwrap_or(SECONDS))?;
    let named: Vec<Transport> = words.iter().skip(2).map(|name| Transport::of(name)).collect::<Result<_>>()?;
    let transports = if named.is_empty() { Transport::ALL.to_vec() } else { named };
    if rounds == 0 {
        bail!("no rounds: one at least");
    }
    let here = run::Pair::new()?;
    let mut runs = Vec::new();
    for round in 0..rounds {
        // Every other round backwards: a host that warms up favours none.
        let mut order = transports.clone();
        if round % 2 == 1 {
            order.reverse();
        }
        for transport in order {
            match here.run(transport, time) {
                Ok(run) => runs.push((round, transport, run)),
                Err(error) => println!("{}: round {} failed: {error:#}", transport.name(), round + 1),
            }
        }
    }
    print(&transports, &runs, rounds);
    let all_ran = transports.iter().all(|transport| runs.iter().any(|(_, ran, _)| ran == transport));
    Ok(if all_ran { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(transports: &[Transport], runs: &[(usize, Transport, Run)], rounds: usize) {
    println!("{:<14} {:>6} {:>13} {:>16} {:>18}", "", "Gbit/s", "", "sender, ms/GB", "receiver, ms/GB");
    for &transport in transports {
        let of = |figure: fn(&Run) -> f64| {
            let mut figures: Vec<f64> =
                runs.iter().filter(|run| run.1 == transport).map(|run| figure(&run.2)).collect();
            figures.sort_by(f64::total_cmp);
            figures
        };
        let rates = of(Run::gbit);
        let (Some(least), Some(most)) = (rates.first(), rates.last()) else { continue };
        let range = format!("{least:.2} to {most:.2}");
        let (sender, receiver) = (median(&of(Run::sender_cost)), median(&of(Run::receiver_cost)));
        println!("{:<14} {:>6.2} {range:>13} {sender:>16.0} {receiver:>18.0}", transport.name(), median(&rates));
    }
    for (over, under) in Transport::RATIOS {
        let rate = |round, wanted| runs.iter().find(|run| run.0 == round && run.1 == wanted).map(|run| run.2.gbit());
        let mut ratios: Vec<f64> =
            (0..rounds).filter_map(|round| Some(rate(round, over)? / rate(round, under)?)).collect();
        ratios.sort_by(f64::total_cmp);
        if let (Some(least), Some(most)) = (ratios.first(), ratios.last()) {
            let (over, under) = (over.name(), under.name());
            println!("{over} over {under}: {:.2}, {least:.2} to {most:.2}", median(&ratios));
        }
    }
    println!("medians of {rounds} rounds; ratios within a round");
}

/// Of figures in their order.
fn median(figures: &[f64]) -> f64 {
    let upper = figures.len() / 2;
    if figures.len() % 2 == 1 { figures[upper] } else { (figures[upper - 1] + figures[upper]) / 2.0 }
}
