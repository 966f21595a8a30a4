//! Real transfers over loopback, with every algorithm under both runtimes.

mod loopback;

use loopback::notes::Notes;
use loopback::{PATIENCE, Paced, Pair, pair, pattern};
use pcc::interval::Report;
use pcc::units::{Bytes, Rate};
use pcc::utility::Utility;
use pcc_quic::transport::{self, Windows};
use pcc_quic::{Algorithm, PccConfig};
#[cfg(target_os = "linux")]
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::time::timeout;

fn algorithms() -> Vec<Algorithm> {
    let named = Algorithm::NAMES.iter().map(|name| name.parse().unwrap());
    named.chain([Algorithm::Fixed(Rate::from_mbit(200.0))]).collect()
}

/// Sends `data` one way and checks what arrives.
async fn moves(from: &noq::Connection, to: &noq::Connection, data: &[u8]) {
    let send = async {
        let mut stream = from.open_uni().await.unwrap();
        stream.write_all(data).await.unwrap();
        stream.finish().unwrap();
        stream.stopped().await.unwrap();
    };
    let receive = async { to.accept_uni().await.unwrap().read_to_end(data.len()).await.unwrap() };
    let ((), received) = timeout(PATIENCE, async { tokio::join!(send, receive) }).await.expect("arrives in time");
    assert!(received == data, "{} bytes of {} arrived, or others", received.len(), data.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_algorithm_moves_data_both_ways_at_once() {
    let data = pattern(400_000);
    for algorithm in algorithms() {
        for paced in [Paced::ByUs, Paced::ByNoq] {
            let Pair { client, server, endpoints: _endpoints } = pair(&algorithm, paced).await;
            tokio::join!(moves(&client, &server, &data), moves(&server, &client, &data));
        }
    }
}

#[tokio::test]
async fn one_thread_is_enough() {
    let Pair { client, server, endpoints: _endpoints } = pair(&Algorithm::default(), Paced::ByUs).await;
    moves(&client, &server, &pattern(400_000)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fixed_rate_is_never_exceeded() {
    // 200 KB at 8 Mbit/s take 200 ms, and however busy the machine is, no packet may leave earlier. Noq's pacer starts
    // with a full bucket.
    for (paced, allowance) in [(Paced::ByUs, 0.99), (Paced::ByNoq, 0.85)] {
        let Pair { client, server, endpoints: _endpoints } = pair(&Algorithm::Fixed(Rate::from_mbit(8.0)), paced).await;
        let started = Instant::now();
        moves(&client, &server, &pattern(200_000)).await;
        let took = started.elapsed();
        assert!(took >= Duration::from_millis(200).mul_f64(allowance), "{paced:?}: {took:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pcc_hears_of_every_packet_and_of_no_false_loss() {
    let notes = Arc::new(Notes::default());
    let core = pcc::Config {
        observer: Some(Arc::clone(&notes) as _),
        max_rate: Some(Rate::from_mbit(40.0)),
        ..PccConfig::default().core
    };
    let Pair { client, server, endpoints: _endpoints } = pair(&Algorithm::Pcc(core.into()), Paced::ByUs).await;
    moves(&client, &server, &pattern(1_000_000)).await;

    let reports = notes.0.lock().unwrap();
    let (sent, lost): (u32, u32) =
        reports.iter().fold((0, 0), |(sent, lost), r| (sent + r.packets, lost + r.packets_lost));
    let really_lost = client.stats().lost_packets + server.stats().lost_packets;
    // Of some 700 packets; intervals that a decision cuts short are not reported.
    assert!(sent > 100, "{sent} packets in {} reports", reports.len());
    assert!(u64::from(lost) <= really_lost, "{lost} lost by PCC's account, {really_lost} by noq's");
    assert!(reports.iter().any(|report| report.rtt.is_some()), "no RTT was measured");
}

/// Counts how often it is asked.
#[derive(Debug, Default)]
struct Asked(AtomicU32);

impl Utility for Asked {
    fn evaluate(&self, report: &Report) -> f64 {
        self.0.fetch_add(1, Relaxed);
        report.throughput().mbit()
    }

    fn name(&self) -> &'static str {
        "asked"
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handle_changes_the_utility_of_live_connections() {
    let [before, after] = [0, 1].map(|_| Arc::new(Asked::default()));
    let mut config = PccConfig::default();
    // Slow enough that a megabyte takes hundreds of intervals.
    (config.core.utility, config.core.max_rate) = (Arc::clone(&before) as _, Some(Rate::from_mbit(40.0)));
    let (handle, algorithm) = (config.handle.clone(), Algorithm::Pcc(config));
    let Pair { client, server, endpoints: _endpoints } = pair(&algorithm, Paced::ByUs).await;
    moves(&client, &server, &pattern(500_000)).await;
    assert!(before.0.load(Relaxed) > 0 && after.0.load(Relaxed) == 0);

    handle.set_utility(Arc::clone(&after) as _);
    moves(&client, &server, &pattern(100_000)).await; // by its end the client has had acknowledgements
    let (asked, since) = (before.0.load(Relaxed), after.0.load(Relaxed));
    moves(&client, &server, &pattern(500_000)).await;
    assert!(after.0.load(Relaxed) > since, "the new one is not asked");

    let Pair { client: next, server, endpoints: _others } = pair(&algorithm, Paced::ByUs).await;
    let since = after.0.load(Relaxed);
    moves(&next, &server, &pattern(500_000)).await;
    assert!(after.0.load(Relaxed) > since, "a connection made later is not told");
    // The server of the first pair sends acknowledgements only, and may hear of the change with its next ones.
    assert!(before.0.load(Relaxed) <= asked + 2, "the old one is still asked: {asked}, {before:?}");
}

/// Relays to `server`, and lets it look as if those of the packets had met congestion (RFC 3168). Ends with the process.
#[cfg(target_os = "linux")]
fn congested(server: SocketAddr, met: std::ops::Range<usize>) -> std::io::Result<SocketAddr> {
    const CAPABLE: u32 = 0b10;
    const EXPERIENCED: u32 = 0b11;
    let (front, back) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    back.connect(server)?;
    socket2::SockRef::from(&back).set_tos_v4(CAPABLE)?; // from the first on, or else the sender gives ECN up
    let address = front.local_addr()?;
    std::thread::spawn(move || {
        let mut buffer = [0; 2048];
        let (first, client) = front.recv_from(&mut buffer)?;
        back.send(&buffer[..first])?;
        let (to_client, from_server) = (front.try_clone()?, back.try_clone()?);
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok(bytes) = from_server.recv(&mut buffer) {
                let _ = to_client.send_to(&buffer[..bytes], client);
            }
        });
        for number in 1.. {
            let bytes = front.recv(&mut buffer)?;
            socket2::SockRef::from(&back).set_tos_v4(if met.contains(&number) { EXPERIENCED } else { CAPABLE })?;
            back.send(&buffer[..bytes])?;
        }
        std::io::Result::Ok(())
    });
    Ok(address)
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pcc_hears_how_many_packets_met_congestion() {
    let notes = Arc::new(Notes::default());
    let core = pcc::Config {
        observer: Some(Arc::clone(&notes) as _),
        max_rate: Some(Rate::from_mbit(40.0)),
        ..PccConfig::default().core
    };
    let runtime = Paced::ByUs.runtime();
    let from = loopback::endpoint(&Algorithm::Pcc(core.into()), Arc::clone(&runtime));
    let to = loopback::endpoint(&Algorithm::Cubic, runtime);
    let relay = congested(to.local_addr().unwrap(), 100..110).unwrap();
    let connecting = from.connect(relay, "localhost").unwrap();
    let (client, server) = tokio::join!(connecting, async { to.accept().await.unwrap().await });
    let (client, server) = (client.unwrap(), server.unwrap());
    moves(&client, &server, &pattern(1_000_000)).await;

    let marked: u32 = notes.0.lock().unwrap().iter().map(|report| report.packets_marked).sum();
    // Intervals that a decision cuts short are not reported, and noq-proto as released says only that there were some.
    assert!((1..=10).contains(&marked), "PCC heard of {marked} of 10 marks");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statistics_never_show_the_closed_gate() {
    let Pair { client, server, endpoints: _endpoints } =
        pair(&Algorithm::Fixed(Rate::from_mbit(8.0)), Paced::ByUs).await;
    let data = pattern(100_000);
    let watch = async {
        loop {
            let window = client.path_stats(noq::PathId::ZERO).unwrap().cwnd;
            assert!(window > 10_000, "a window of {window} bytes");
            tokio::time::sleep(Duration::from_micros(100)).await;
        }
    };
    tokio::select! {
        () = moves(&client, &server, &data) => {}
        () = watch => {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_survive_a_new_socket() {
    let Pair { client, server, endpoints } = pair(&Algorithm::default(), Paced::ByUs).await;
    moves(&client, &server, &pattern(50_000)).await;
    endpoints[0].rebind(std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap();
    let data = pattern(300_000);
    moves(&client, &server, &data).await;
    moves(&server, &client, &data).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_connections_of_one_rate_send_the_same_amount() {
    let runtime = Paced::ByUs.runtime();
    // 20 Mbit/s of all: a busy machine carries that in unoptimised code, too. A higher rate would miss some by chance.
    let algorithm = Algorithm::Fixed(Rate::from_mbit(0.2));
    // Small windows: each of these senders writes ahead as far as it may.
    let windows = Windows { rate: Rate::from_mbit(0.2), rtt: Duration::from_millis(10) };
    let from = loopback::endpoint_with(&algorithm, &windows, Arc::clone(&runtime));
    let to = loopback::endpoint_with(&algorithm, &windows, runtime);
    let mut pairs = Vec::new();
    for _ in 0..100 {
        let (client, server) = loopback::connect(&from, &to).await;
        let sending = client.clone();
        tokio::spawn(async move {
            let mut stream = sending.open_uni().await?;
            loop {
                stream.write_all(&[7; 16_384]).await?;
            }
            #[expect(unreachable_code)]
            anyhow::Ok(())
        });
        tokio::spawn({
            let server = server.clone();
            async move {
                let mut stream = server.accept_uni().await?;
                while stream.read_chunk(usize::MAX).await?.is_some() {}
                anyhow::Ok(())
            }
        });
        pairs.push((client, server));
    }
    // Counted between two looks, so that starting does not matter, and until each has sent so much and none a quarter more
    // than another: what a busy machine takes from one for a moment it takes from another later, and a preference stays.
    const EACH: u64 = 75_000;
    let sent = || pairs.iter().map(|(client, _)| client.stats().udp_tx.bytes).collect::<Vec<_>>();
    let before = sent();
    let (mut least, mut most) = (0, 0);
    let alike = timeout(PATIENCE, async {
        while least < EACH || most >= least * 5 / 4 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let volumes: Vec<_> = sent().iter().zip(&before).map(|(after, before)| after - before).collect();
            (least, most) = (*volumes.iter().min().unwrap(), *volumes.iter().max().unwrap());
        }
    });
    let alike = alike.await;
    assert!(alike.is_ok(), "one sent {least} bytes while another sent {most}");
}

/// What can be written to somebody who acknowledges it at 1 Mbit/s, within a second, while `granted` bytes are.
async fn written_in_a_second(granted: u64) -> usize {
    let Pair { client, server: _server, endpoints: _endpoints } =
        pair(&Algorithm::Fixed(Rate::from_mbit(1.0)), Paced::ByUs).await;
    client.set_send_window(0);
    let asked = Arc::new(AtomicU64::new(0));
    let seen = asked.clone();
    let grant = move |wanted: Bytes| {
        seen.fetch_max(wanted.get(), Relaxed);
        Bytes::new(granted.min(wanted.get()))
    };
    let sharing = tokio::spawn(transport::share_send_window(
        client.weak_handle(),
        Windows::default(),
        pcc_quic::Sight::default(),
        grant,
    ));
    let mut stream = client.open_uni().await.unwrap();
    let mut written = 0;
    let _ = timeout(Duration::from_secs(1), async {
        loop {
            stream.write_all(&[0; 4096]).await.unwrap();
            written += 4096;
        }
    })
    .await;
    assert!(asked.load(Relaxed) >= 400 << 10, "it asks for what the path needs");
    client.close(0_u32.into(), b"");
    timeout(PATIENCE, sharing).await.expect("ends with the connection").unwrap();
    written
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_more_is_written_ahead_than_was_granted() {
    let (little, more) = tokio::join!(written_in_a_second(0), written_in_a_second(300 << 10));
    // A second at 125 KB/s is acknowledged, and what was granted is under way.
    assert!((64 << 10..400_000).contains(&little), "{little}");
    assert!((300 << 10..700_000).contains(&more), "{more}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_path_takes_little_memory_once_its_window_is_tuned() {
    let Pair { client, server: _server, endpoints: _endpoints } =
        pair(&Algorithm::Fixed(Rate::from_mbit(1.0)), Paced::ByUs).await;
    let windows = Windows::default();
    let tuning = tokio::spawn(transport::tune_send_window(client.weak_handle(), windows));
    let mut stream = client.open_uni().await.unwrap();
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut written = 0;
    let _ = timeout(Duration::from_secs(1), async {
        loop {
            stream.write_all(&[0; 16_384]).await.unwrap();
            written += 16_384;
        }
    })
    .await;
    // 2 MiB to write ahead and a second at 125 KB/s; untuned it would be the whole window.
    assert!(written < 4_000_000, "{written} of {} bytes", windows.bytes());
    client.close(0_u32.into(), b"");
    timeout(PATIENCE, tuning).await.expect("ends with the connection").unwrap();
}
