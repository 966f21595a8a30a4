//! Connections leave nothing in the memory of a server once they are over, to the kilobyte.

use super::{Bench, PATIENCE, WANTS_DIGEST};
use crate::allocated::live_bytes;
use core::time::Duration;
use h3::error::Code;
use pcc::units::Rate;
use pcc_quic::transport::Windows;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

/// Says to this program that it runs nothing but the test.
const ALONE: &str = "PCC_ALONE";

/// Connections before the first look, for what is made once; and after it, for what each leaves.
const FIRST: usize = 64;
const THEN: usize = 256;

/// Connections at a time.
const AT_A_TIME: usize = 8;

/// The bytes that one may leave. Tables that have become larger and threads that have started are no leak.
const LEFT: i64 = 1 << 10;

/// Longer than a closed connection lasts, and than a thread for files waits for work.
const REST: Duration = Duration::from_secs(12);

/// Comes, does one of seven things, and goes, politely or not.
async fn visit(bench: &Bench, number: usize) {
    let slow = Windows { rate: Rate::from_mbit(1.0), rtt: Duration::ZERO };
    let mut client = bench.client_with(if number % 7 == 1 { slow } else { Windows::default() }).await;
    match number % 7 {
        0 => drop(client.ask("GET", "/small", &WANTS_DIGEST).await.unwrap()),
        // Most of the data that is sent is never read.
        1 => drop(client.begin("GET", "/large", &[]).await.unwrap().recv_response().await.unwrap()),
        2 => drop(client.ask("GET", "/large", &WANTS_DIGEST).await.unwrap()),
        3 => drop(client.ask("GET", "/", &[("accept", "application/json")]).await.unwrap()),
        4 => {
            for _ in 0..20 {
                client.begin("GET", "/small", &[]).await.unwrap().stop_sending(Code::H3_REQUEST_CANCELLED);
            }
        }
        5 => {
            // Half a request, and one that is none.
            let (mut half, _answer) = client.connection.open_bi().await.unwrap();
            half.write_all(&[0x01, 0x20]).await.unwrap();
            let (mut noise, mut answer) = client.connection.open_bi().await.unwrap();
            noise.write_all(&[0x04, 0x00]).await.unwrap();
            let _ = answer.read_to_end(1000).await; // whatever it says to that
        }
        _ => drop(client.ask("PUT", "/file", &[]).await.unwrap()),
    }
    if number.is_multiple_of(2) {
        client.connection.close(0u32.into(), b"");
    }
}

async fn visits(bench: &mut Arc<Bench>, numbers: core::ops::Range<usize>) {
    for first in numbers.step_by(AT_A_TIME) {
        let visits = (first..first + AT_A_TIME).map(|number| {
            let bench = bench.clone();
            tokio::spawn(async move { visit(&bench, number).await })
        });
        for visit in visits.collect::<Vec<_>>() {
            visit.await.unwrap();
        }
        let bench = Arc::get_mut(bench).expect("nobody is there any more");
        while bench.log.try_recv().is_ok() {}
    }
}

/// What is allocated when nobody does anything any more: the least in a while, which ends early when that is `enough`.
async fn at_rest(rest: Duration, enough: i64) -> i64 {
    let begun = Instant::now();
    let mut least = live_bytes();
    while least > enough && begun.elapsed() < rest {
        tokio::time::sleep(Duration::from_millis(50)).await;
        least = least.min(live_bytes());
    }
    least
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_connections_that_are_over() {
    if std::env::var_os(ALONE).is_none() {
        // Allocations of other tests beside it would be counted too.
        let name =
            format!("{}::nothing_is_left_of_connections_that_are_over", module_path!().split_once("::").unwrap().1);
        let alone = Command::new(std::env::current_exe().unwrap()).args(["--exact", &name]).env(ALONE, "1").output();
        let alone = alone.unwrap();
        let said = String::from_utf8_lossy(&alone.stdout);
        assert!(alone.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let mut bench = Arc::new(Bench::new());
    bench.write("small", 10_000);
    bench.write("large", 3_000_000);
    visits(&mut bench, 0..FIRST).await;
    let before = at_rest(REST, 0).await;
    visits(&mut bench, FIRST..FIRST + THEN).await;
    let most = before + THEN as i64 * LEFT;
    let after = at_rest(PATIENCE, most).await;
    let each = (after - before) / THEN as i64;
    assert!(after <= most, "{before} bytes before {THEN} connections, {after} after: {each} of each");
    let leak = [0u8; 4096].repeat(THEN);
    assert!(live_bytes() > most, "4 KB of each connection would be seen");
    drop(leak);
}
