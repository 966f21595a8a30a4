//! What PCC makes of real connections over a path of 100 ms.

mod loopback;

use loopback::notes::Notes;
use loopback::relay::Relay;
use loopback::{PATIENCE, Paced, connect_to, endpoint, pattern};
use pcc::interval::{LimitedBy, Report};
use pcc::units::Rate;
use pcc_quic::{Algorithm, PccConfig};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{interval, timeout};

const fn half_of_the_rtt(_: u64) -> Duration {
    Duration::from_millis(50)
}

/// A client sends `pieces` of data, one each 50 ms. Answers the reports on its packets.
async fn sends(paced: Paced, pieces: &[usize]) -> Vec<Report> {
    let notes = Arc::new(Notes::default());
    let core = pcc::Config {
        observer: Some(Arc::clone(&notes) as _),
        max_rate: Some(Rate::from_mbit(10.0)),
        ..PccConfig::default().core
    };
    let runtime = paced.runtime();
    let receiver = endpoint(&Algorithm::default(), Arc::clone(&runtime));
    let sender = endpoint(&Algorithm::Pcc(core.into()), runtime);
    let relay = Relay::new(receiver.local_addr().unwrap(), half_of_the_rtt, half_of_the_rtt).await;
    let (client, server) = connect_to(&sender, &receiver, relay.address).await;
    let send = async {
        let mut stream = client.open_uni().await.unwrap();
        let mut clock = interval(Duration::from_millis(50));
        for &piece in pieces {
            clock.tick().await;
            stream.write_all(&pattern(piece)).await.unwrap();
        }
        stream.finish().unwrap();
        stream.stopped().await.unwrap();
    };
    let receive = async { server.accept_uni().await.unwrap().read_to_end(1 << 30).await.unwrap() };
    timeout(PATIENCE, async { tokio::join!(send, receive) }).await.expect("arrives in time");
    let reports = notes.0.lock().unwrap();
    reports.clone()
}

/// How many intervals were limited by the application, and how many by the host.
fn limited(reports: &[Report]) -> (usize, usize) {
    let by = |limit| reports.iter().filter(|report| report.limited_by == limit).count();
    (by(LimitedBy::Application), by(LimitedBy::Host))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_without_acks_is_the_application_s_limit() {
    for paced in [Paced::ByUs, Paced::ByNoq] {
        // The answers to 20 KB arrive while others leave, of which there are none for two thirds of the time.
        let reports = sends(paced, &[20_000; 60]).await;
        let (application, host) = limited(&reports);
        // A busy machine is late in some: the pauses are most.
        assert!(application > host, "{paced:?}: of {} intervals {application} and {host}", reports.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_application_that_always_has_data_is_not_what_limits() {
    for paced in [Paced::ByUs, Paced::ByNoq] {
        let reports = sends(paced, &[3_000_000]).await;
        let (application, _) = limited(&reports);
        // The handshake, and the end.
        assert!(application <= 4, "{paced:?}: {application} of {} intervals", reports.len());
        assert!(reports.len() > 16, "{paced:?}: {} intervals", reports.len());
    }
}
