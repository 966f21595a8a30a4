//! Measures how exactly packets leave, over loopback: `cargo run --release -p pcc-quic --example pacing`.
//!
//! A sender with a fixed rate sends through a tap, which notes the kernel's arrival time of every packet, to a receiver.
//! Sender, tap and receiver have a thread each, so that the sender's processor time can be told apart. Then a thousand
//! connections send 1 Mbit/s each. Give it a number of seconds per measurement (default 5); it needs Linux and
//! a quiet machine with two cores.
#![allow(clippy::print_stdout, reason = "it is its purpose")]

#[cfg(target_os = "linux")]
mod crowd;
#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
mod single;
#[cfg(target_os = "linux")]
mod tap;

#[cfg(target_os = "linux")]
fn main() -> anyhow::Result<()> {
    use std::time::Duration;

    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(5), |written| written.parse())?;
    let time = Duration::from_secs(seconds);
    println!("{}", single::Figures::HEADER);
    for pacer in [ends::Pacer::Ours, ends::Pacer::Noq] {
        for mbit in [10.0, 100.0, 400.0] {
            println!("{}", single::measure(pacer, pcc::units::Rate::from_mbit(mbit), time)?);
        }
    }
    println!();
    println!("{}", crowd::measure(1000, pcc::units::Rate::from_mbit(1.0), time)?);
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("this measurement needs Linux: it reads arrival times from the kernel");
}
