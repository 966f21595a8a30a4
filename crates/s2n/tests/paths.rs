//! PCC over s2n-quic on emulated paths, in s2n-quic's own virtual time.
//!
//! The table of docs/library.md, of all paths or of those whose names have what `PATHS_WITH` says:
//! `cargo test --release --manifest-path crates/s2n/Cargo.toml -- --ignored --nocapture`.

use pcc::units::{Bytes, Timestamp};
use pcc_link::{Link, Outcome, Path};
use pcc_s2n::{PccConfig, RecentPaths};
use s2n_quic::client::Connect;
use s2n_quic::provider::congestion_controller::{Cubic, Provider, Timestamp as Moment};
use s2n_quic::provider::io::testing::network::Buffers;
use s2n_quic::provider::io::testing::{self, Network, primary, spawn, time};
use s2n_quic::provider::limits::Limits;
use s2n_quic::{Client, Server};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

/// Fits every path here.
const WINDOW: u64 = 16 << 20;

/// IP and UDP headers.
const HEADERS: u64 = 28;

static CERTIFIED: LazyLock<(String, String)> = LazyLock::new(|| {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    (certified.cert.pem(), certified.signing_key.serialize_pem())
});

/// An emulated path; the server is known by its address.
struct Between {
    up: Link,
    down: Link,
    began: Option<Moment>,
    server: Arc<OnceLock<SocketAddr>>,
}

impl Network for Between {
    fn execute(&mut self, buffers: &Buffers) -> usize {
        let moment = testing::now();
        let now = Timestamp::ZERO + moment.saturating_duration_since(*self.began.get_or_insert(moment));
        let mut count = 0;
        buffers.drain_pending_transmissions(|mut packet| {
            count += 1;
            let is_up = self.server.get() == Some(&packet.path.remote_address.0.into());
            let link = if is_up { &mut self.up } else { &mut self.down };
            let bytes = packet.payload.len() as u64 + HEADERS;
            if let Outcome::Delivered { at, .. } = link.send(now, Bytes::new(bytes)) {
                packet.switch();
                let buffers = buffers.clone();
                spawn(async move {
                    time::delay(at.since(now)).await;
                    buffers.rx(*packet.path.local_address, |queue| queue.enqueue(packet));
                });
            }
            Ok(())
        });
        count
    }
}

fn limits() -> Limits {
    let limits = || {
        Limits::new()
            .with_max_send_buffer_size(WINDOW as u32)?
            .with_data_window(WINDOW)?
            .with_unidirectional_data_window(WINDOW)
    };
    limits().expect("valid limits")
}

/// Goodput of a server with data without end, over this path, from half of the time on. Unit: Mbit/s.
fn goodput(controller: impl Provider + 'static, path: &str, seed: u64, time: Duration) -> f64 {
    let path: Path = path.parse().expect("a path");
    let (up, down) = path.links(seed).expect("a possible path");
    let address = Arc::new(OnceLock::new());
    let network = Between { up, down, began: None, server: Arc::clone(&address) };
    let (half, whole) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (read_half, read_whole) = (Arc::clone(&half), Arc::clone(&whole));
    testing::test_seed(network, seed, |handle| {
        let mut server = Server::builder()
            .with_io(handle.builder().build()?)?
            .with_tls((CERTIFIED.0.as_str(), CERTIFIED.1.as_str()))?
            .with_limits(limits())?
            .with_congestion_controller(controller)?
            .start()?;
        let to = *address.get_or_init(|| server.local_addr().expect("an address"));
        spawn(async move {
            let mut connection = server.accept().await.expect("a connection");
            let mut stream = connection.open_send_stream().await.expect("a stream");
            while stream.send(bytes::Bytes::from_static(&[7; 1 << 16])).await.is_ok() {}
        });
        let client = Client::builder()
            .with_io(handle.builder().build()?)?
            .with_tls(CERTIFIED.0.as_str())?
            .with_limits(limits())?
            .start()?;
        primary::spawn(async move {
            let connect = Connect::new(to).with_server_name("localhost");
            let mut connection = client.connect(connect).await.expect("a connection");
            let mut stream = connection.accept_receive_stream().await.expect("open").expect("a stream");
            let began = testing::now();
            while let Ok(Some(piece)) = stream.receive().await {
                let counter = match testing::now().saturating_duration_since(began) {
                    passed if passed > time => break,
                    passed if passed > time / 2 => &whole,
                    _ => &half,
                };
                counter.fetch_add(piece.len() as u64, Ordering::Relaxed);
            }
        });
        Ok(())
    })
    .expect("it runs");
    assert!(read_half.load(Ordering::Relaxed) > 0);
    read_whole.load(Ordering::Relaxed) as f64 * 8e-6 / (time / 2).as_secs_f64()
}

const PATHS: [(&str, &str, u64); 6] = [
    ("loss of 1 %", "rate=100Mbit,rtt=30ms,loss=1%,buffer=375KB", 20),
    ("loss of 4 %", "rate=100Mbit,rtt=30ms,loss=4%,buffer=375KB", 20),
    ("satellite, buffer 1 MB", "rate=42Mbit,rtt=800ms,loss=0.74%,buffer=1MB", 100),
    ("satellite, buffer 7.5 KB", "rate=42Mbit,rtt=800ms,loss=0.74%,buffer=7.5KB", 100),
    ("buffer of six packets", "rate=100Mbit,rtt=30ms,buffer=9KB", 20),
    ("bufferbloat", "rate=20Mbit,rtt=30ms,buffer=2MB", 30),
];

fn pcc(seed: u64) -> PccConfig {
    pcc::Config { seed, ..pcc::Config::default() }.into()
}

/// Goodput with PCC, the median of three seeds.
fn with_pcc(name: &str, seconds: u64) -> f64 {
    let (_, path, _) = PATHS.into_iter().find(|path| path.0 == name).expect("a path of the table");
    median((1..=3).map(|seed| goodput(pcc(seed), path, seed, Duration::from_secs(seconds))).collect())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn random_loss_costs_no_more_than_what_is_lost() {
    assert!(with_pcc("loss of 1 %", 10) > 80.0);
    assert!(with_pcc("loss of 4 %", 10) > 75.0);
}

#[test]
fn a_bloated_buffer_is_filled() {
    assert!(with_pcc("bufferbloat", 10) > 17.0);
}

#[test]
fn the_next_connection_begins_where_the_last_was() {
    let path = "rate=40Mbit,rtt=200ms,buffer=1MB";
    let paths = Arc::new(RecentPaths::default());
    let goodput = |seconds| {
        let config = PccConfig { paths: Some(paths.clone()), ..pcc(1) };
        goodput(config, path, 1, Duration::from_secs(seconds))
    };
    let first = goodput(2);
    goodput(10);
    let [(_, learnt)] = paths.all()[..] else { panic!("one path, not {paths:?}") };
    assert!((30.0..41.0).contains(&learnt.memory.rate.mbit()), "{learnt:?}");
    let next = goodput(2);
    assert!(next > 1.1 * first, "{next} after {first} Mbit/s");
}

#[test]
#[ignore = "measures the table of docs/library.md, for minutes"]
#[expect(clippy::print_stdout, reason = "its output is the table")]
fn table() {
    let only = std::env::var("PATHS_WITH").unwrap_or_default();
    for (name, path, seconds) in PATHS.into_iter().filter(|path| path.0.contains(&only)) {
        let time = Duration::from_secs(seconds);
        let ours = median((1..=5).map(|seed| goodput(pcc(seed), path, seed, time)).collect());
        let cubic = median((1..=5).map(|seed| goodput(Cubic::default(), path, seed, time)).collect());
        println!("| {name} | {ours:.1} | {cubic:.1} |");
    }
}
