use super::*;
use core::time::Duration;
use pcc_link::Counters;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// Long enough for any machine, however busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server that sends everything back.
struct Echo {
    addr: SocketAddr,
    count: Arc<AtomicU64>,
}

impl Echo {
    fn start() -> Self {
        let socket = socket();
        let addr = socket.local_addr().unwrap();
        let count = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&count);
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((len, from)) = socket.recv_from(&mut buffer) {
                if len == 0 {
                    return;
                }
                let _ = socket.send_to(&buffer[..len], from);
                counter.fetch_add(1, SeqCst);
            }
        });
        Self { addr, count }
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        let _ = socket().send_to(&[], self.addr);
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn start(path: &str, to: SocketAddr) -> Handle {
    relay(Options::new(path.parse().unwrap_or_else(|error| panic!("{error}")), to)).unwrap()
}

/// Waits until the report says so.
#[track_caller]
fn until(handle: &Handle, what: &str, so: impl Fn(&Report) -> bool) -> Report {
    let began = std::time::Instant::now();
    loop {
        let report = handle.report();
        if so(&report) {
            return report;
        }
        assert!(began.elapsed() < PATIENCE, "never {what}: {report:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends `count` packets, never more than the socket buffers hold, until the relay has seen them all.
fn send(handle: &Handle, client: &UdpSocket, count: u64, size: usize) {
    let before = handle.report().up.link.sent.packets;
    for sent in 1..=count {
        client.send_to(&vec![7; size], handle.addr()).unwrap();
        if sent % 50 == 0 || sent == count {
            until(handle, "read all", |report| report.up.link.sent.packets == before + sent);
        }
    }
}

#[track_caller]
fn adds_up(direction: &Direction) {
    let Counters { sent, duplicated, .. } = direction.link;
    let out = [direction.forwarded, direction.link.dropped(), direction.dropped_host, direction.in_transit];
    assert_eq!(sent.packets + duplicated.packets, out.iter().map(|count| count.packets).sum::<u64>(), "{direction:?}");
    let bytes: u64 = out.iter().map(|count| count.bytes.get()).sum();
    assert_eq!(sent.bytes.get() + duplicated.bytes.get(), bytes, "{direction:?}");
}

#[test]
fn packets_go_to_the_server_and_back_unchanged() {
    let echo = Echo::start();
    let handle = start("rate=100Mbit,rtt=2ms", echo.addr);
    let client = socket();
    for size in [1, 100, 1472] {
        let sent: Vec<u8> = (0..size).map(|n| n as u8).collect();
        client.send_to(&sent, handle.addr()).unwrap();
        let mut buffer = [0; 2048];
        let (len, from) = client.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..len], from), (&sent[..], handle.addr()));
    }
    let report = handle.stop();
    assert_eq!((report.up.forwarded.packets, report.down.forwarded.packets), (3, 3));
    assert_eq!(report.up.forwarded.bytes.get(), 1 + 100 + 1472 + 3 * 28, "headers count");
}

#[test]
fn a_packet_takes_at_least_the_delay_of_the_path() {
    let echo = Echo::start();
    let handle = start("rate=100Mbit,rtt=120ms", echo.addr);
    let client = socket();
    let began = std::time::Instant::now();
    client.send_to(b"there and back", handle.addr()).unwrap();
    client.recv_from(&mut [0; 64]).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(120), "{:?}", began.elapsed());
}

#[test]
fn what_came_in_went_out_or_was_dropped_for_a_reason() {
    accounts_for_all("droptail", |up| up.dropped_buffer.packets > 0);
    // A discipline drops what does not fit, too.
    accounts_for_all("fq_pie", |up| up.dropped_queue.packets > 0 && up.dropped_buffer.packets == 0);
}

fn accounts_for_all(queue: &str, expected: fn(&Counters) -> bool) {
    let echo = Echo::start();
    let path = format!("rate=50Mbit,rtt=4ms,loss=10%,duplicate=10%,reorder=5%:1ms,buffer=30KB,queue={queue}");
    let handle = start(&path, echo.addr);
    send(&handle, &socket(), 3000, 1200);
    // A busy machine may drop packets in its socket buffers, before the echo or before the relay: none of our loss.
    let all = |report: &Report| {
        let (up, down) = (&report.up, &report.down);
        let idle = up.in_transit.packets == 0 && down.in_transit.packets == 0;
        idle && down.link.sent.packets + report.missed == echo.count.load(SeqCst)
    };
    until(&handle, "all through", all);
    let report = handle.stop();
    adds_up(&report.up);
    adds_up(&report.down);
    let up = report.up.link;
    assert!(up.duplicated.packets > 0 && up.reordered.packets > 0 && expected(&up), "{up:?}");
    assert!(report.down.forwarded.packets > 200, "{:?}", report.down);
}

#[test]
fn the_share_of_random_loss_is_the_one_asked_for() {
    let echo = Echo::start();
    let handle = start("rate=1Gbit,rtt=0ms,buffer=10MB,up.loss=20%", echo.addr);
    send(&handle, &socket(), 4000, 100);
    let report = handle.stop();
    // The seed is fixed and the loss of a packet depends on nothing else: the bound is six standard deviations.
    let lost = report.up.link.dropped_random.packets;
    assert!((lost as f64 - 800.0).abs() < 6.0 * (4000.0f64 * 0.2 * 0.8).sqrt(), "{lost} of 4000");
    assert_eq!(report.down.link.dropped().packets, 0);
}

#[test]
fn equal_seeds_lose_the_same_packets() {
    let echo = Echo::start();
    let lost = || {
        let handle = start("rate=1Gbit,rtt=0ms,buffer=10MB,loss=30%", echo.addr);
        send(&handle, &socket(), 500, 100);
        handle.stop().up.link.dropped_random.packets
    };
    assert_eq!(lost(), lost());
}

#[test]
fn each_client_has_its_own_path() {
    let echo = Echo::start();
    let handle = start("rate=100Mbit,rtt=2ms", echo.addr);
    let clients: Vec<_> = (0..5).map(|_| socket()).collect();
    for (number, client) in clients.iter().enumerate() {
        client.send_to(&[number as u8], handle.addr()).unwrap();
    }
    for (number, client) in clients.iter().enumerate() {
        let mut buffer = [0; 8];
        assert_eq!(client.recv_from(&mut buffer).unwrap().0, 1);
        assert_eq!(buffer[0], number as u8, "an answer went to the wrong client");
    }
    assert_eq!(until(&handle, "five", |report| report.sessions == 5).sessions_ever, 5);
}

#[test]
fn surplus_clients_are_turned_away_and_idle_ones_make_room() {
    let echo = Echo::start();
    let path = "rate=100Mbit,rtt=0ms".parse().unwrap();
    let options = Options { sessions: 1, idle: Duration::from_millis(300), ..Options::new(path, echo.addr) };
    let handle = relay(options).unwrap();
    let (first, second) = (socket(), socket());
    first.send_to(b"first", handle.addr()).unwrap();
    first.recv_from(&mut [0; 8]).unwrap();
    second.send_to(b"second", handle.addr()).unwrap();
    until(&handle, "turned away", |report| report.turned_away == 1 || report.sessions_ever == 2);
    until(&handle, "forgotten", |report| report.sessions == 0);
    second.send_to(b"again", handle.addr()).unwrap();
    second.recv_from(&mut [0; 8]).unwrap();
    let report = handle.stop();
    assert_eq!(report.sessions_ever, 2);
    adds_up(&report.up);
    assert!(report.up.forwarded.packets >= 2, "what a closed session did is not forgotten");
}

#[test]
fn a_slow_link_holds_packets_and_a_stopped_relay_says_so() {
    let echo = Echo::start();
    let handle = start("rate=1Mbit,rtt=60s,buffer=100KB", echo.addr);
    send(&handle, &socket(), 20, 1000);
    let report = handle.stop();
    adds_up(&report.up);
    assert_eq!((report.up.in_transit.packets, report.up.forwarded.packets), (20, 0));
}

#[test]
fn a_server_that_is_not_there_is_noticed() {
    let nobody = {
        let gone = socket();
        gone.local_addr().unwrap()
    };
    let handle = start("rate=100Mbit,rtt=0ms", nobody);
    let client = socket();
    if cfg!(target_os = "linux") {
        until(&handle, "noticed", |report| {
            let _ = client.send_to(b"hello?", handle.addr());
            report.nobody_there > 0
        });
    }
    adds_up(&handle.stop().up);
}

#[test]
fn an_address_in_use_is_named() {
    let taken = socket();
    let path = "satellite".parse().unwrap();
    let addr = taken.local_addr().unwrap();
    let error = relay(Options { listen: addr, ..Options::new(path, addr) }).unwrap_err();
    assert!(format!("{error:#}").contains(&format!("cannot listen at {addr}")), "{error:#}");
}
