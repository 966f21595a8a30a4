//! A relay in front of an endpoint: packets take their time, and chosen ones longer, so that others overtake them.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// How long the packet with this number is on its way; each direction counts its own.
pub(crate) type Delay = fn(number: u64) -> Duration;

/// Relays until it is dropped.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl Relay {
    /// In front of `server`, for one client.
    pub(crate) async fn new(server: SocketAddr, there: Delay, back: Delay) -> Self {
        let bind = async || Arc::new(UdpSocket::bind("127.0.0.1:0").await.expect("a socket"));
        let (near, far) = (bind().await, bind().await);
        let address = near.local_addr().expect("bound");
        let client = Arc::new(Mutex::new(server)); // until it is heard of, and nothing comes back before
        let mut tasks = JoinSet::new();
        tasks.spawn(carry(Arc::clone(&near), Arc::clone(&far), there, {
            let client = Arc::clone(&client);
            move |from| {
                *client.lock().unwrap() = from;
                server
            }
        }));
        tasks.spawn(carry(far, near, back, move |_| *client.lock().unwrap()));
        Self { address, _tasks: tasks }
    }
}

/// Sends what arrives at `from` on its way through `to`, to whom `route` says, after its time.
async fn carry(from: Arc<UdpSocket>, to: Arc<UdpSocket>, delay: Delay, route: impl Fn(SocketAddr) -> SocketAddr) {
    let mut buffer = vec![0; 2048];
    let mut held: VecDeque<(Instant, SocketAddr, Vec<u8>)> = VecDeque::new();
    let mut number = 0;
    loop {
        let due = held.front().map_or_else(Instant::now, |(due, ..)| *due);
        tokio::select! {
            received = from.recv_from(&mut buffer) => {
                let Ok((len, sender)) = received else { continue };
                let due = Instant::now() + delay(number);
                number += 1;
                let place = held.partition_point(|(other, ..)| *other <= due);
                held.insert(place, (due, route(sender), buffer[..len].to_vec()));
            }
            () = sleep_until(due), if !held.is_empty() => {
                if let Some((_, receiver, data)) = held.pop_front() {
                    drop(to.send_to(&data, receiver).await);
                }
            }
        }
    }
}
