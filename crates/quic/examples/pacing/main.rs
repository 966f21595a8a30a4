//! Measures how exactly packets leave, over loopback: `cargo run --release -p pcc-quic --example pacing`.
//!
//! A sender with a fixed rate sends through a tap, which notes the kernel's arrival time of every packet, to a receiver.
//! Sender, tap and receiver have a thread each, so that the sender's processor time can be told apart; what the kernel
//! takes of it anyway is measured with a thread that waits and sends without any protocol. Then a thousand connections
//! send 1 Mbit/s each. Give it the seconds per measurement (default 5), the number of connections (default 1000, 0 leaves
//! that out) and the rates in Mbit/s (default 10, 100 and 400). It needs Linux and a quiet machine with two cores. The
//! sender is the thread that the process began with, so `perf stat -e raw_syscalls:sys_enter -t PID` counts its system
//! calls.
#![allow(clippy::print_stdout, reason = "it is its purpose")]

#[cfg(target_os = "linux")]
mod bare;
#[cfg(target_os = "linux")]
mod crowd;
#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
mod machine;
#[cfg(target_os = "linux")]
mod single;
#[cfg(target_os = "linux")]
mod tap;

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    use std::time::Duration;

    let number = |index, default| std::env::args().nth(index).map_or(Ok(default), |written| written.parse::<u32>());
    let time = Duration::from_secs(number(1, 5)?.into());
    let crowd = number(2, 1000)?;
    let mut rates: Vec<f64> = std::env::args().skip(3).map(|written| written.parse()).collect::<Result<_, _>>()?;
    if rates.is_empty() {
        rates = vec![10.0, 100.0, 400.0];
    }
    println!("{}", single::Figures::HEADER);
    for pacer in [ends::Pacer::Ours, ends::Pacer::Noq] {
        for &mbit in &rates {
            println!("{}", single::measure(pacer, pcc::units::Rate::from_mbit(mbit), time)?);
        }
    }
    println!();
    for &mbit in &rates {
        let rate = pcc::units::Rate::from_mbit(mbit);
        let share = bare::measure(rate, time)?;
        println!("a thread that only waits for each packet's time and sends it, {rate}: {:.1} %", share * 100.0);
    }
    if crowd == 0 {
        return Ok(());
    }
    println!();
    println!("{}", crowd::measure(crowd.try_into()?, pcc::units::Rate::from_mbit(1.0), time)?);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this measurement needs Linux: it reads arrival times from the kernel");
}
