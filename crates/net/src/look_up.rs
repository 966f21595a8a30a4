//! Names become addresses.
//!
//! `getaddrinfo` cannot be stopped, and takes half a minute where no name server answers. So each look-up has a thread of its own:
//! nothing else waits for that thread, neither work that blocks in Tokio's threads nor the end of the program.

use core::net::{IpAddr, SocketAddr};
use std::io;
use std::net::ToSocketAddrs;
use std::thread;
use tokio::sync::oneshot;

/// The addresses of a host, in the system's order. `held` is dropped when the look-up is done, also if nobody waits for it any more:
/// a permit in it counts look-ups as they are.
///
/// Errors: the name has no address, or the system has no thread for the look-up.
pub async fn look_up(host: &str, port: u16, held: impl Send + 'static) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    let host = host.to_owned();
    in_thread(held, move || Ok((host.as_str(), port).to_socket_addrs()?.collect())).await
}

async fn in_thread<T: Send + 'static>(
    held: impl Send + 'static,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let (tell, told) = oneshot::channel();
    thread::Builder::new().name("look-up".to_owned()).spawn(move || {
        let found = work();
        drop(held);
        // Nobody may be left to hear it.
        let _ = tell.send(found);
    })?;
    told.await.unwrap_or_else(|_| Err(io::Error::other("the look-up ended without an answer")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;
    use std::sync::{Arc, mpsc};
    use tokio::sync::Semaphore;
    use tokio::time::timeout;

    #[tokio::test]
    async fn an_address_needs_no_look_up() {
        for (host, address) in [("10.0.0.5", "10.0.0.5:7"), ("::1", "[::1]:7")] {
            assert_eq!(look_up(host, 7, ()).await.unwrap(), [address.parse().unwrap()]);
        }
    }

    #[test]
    fn a_look_up_holds_its_permit_until_it_is_done() {
        let (answer, answers) = mpsc::channel::<()>();
        let permits = Arc::new(Semaphore::new(1));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let permit = permits.clone().acquire_owned().await.unwrap();
            let silent = in_thread(permit, move || answers.recv().map_err(io::Error::other));
            assert!(timeout(Duration::from_millis(10), silent).await.is_err(), "the waiting ends");
        });
        assert_eq!(permits.available_permits(), 0, "and the look-up does not");
        drop(runtime); // does not wait for it, either
        answer.send(()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime
            .block_on(async { timeout(Duration::from_secs(60), permits.acquire()).await.unwrap().unwrap() })
            .forget();
    }
}
