//! Accepts connections at a local port.

use crate::client::{Opened, Tunnel};
use crate::event::Event;
use crate::pump::reset_at_close;
use crate::socks::{self, Reply};
use crate::target::Target;
use core::time::Duration;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Tunnels of a port at a time; further connections wait to be accepted. A server allows 128 requests on a connection.
pub const AT_A_TIME: usize = 100;

/// After the system refused to accept, since it has no descriptors left, say.
const PAUSE: Duration = Duration::from_millis(100);

/// What a local port leads to.
#[derive(Clone, Debug)]
pub enum Port {
    /// One target.
    Forward(Target),
    /// What each client of SOCKS5 names.
    Socks,
}

/// Accepts until it is dropped. A tunnel without data for `idle` ends.
pub async fn serve_port(listener: TcpListener, port: Port, tunnel: Tunnel, idle: Duration) {
    let (turns, port) = (Arc::new(Semaphore::new(AT_A_TIME)), Arc::new(port));
    loop {
        // Never closed, so there is always a turn to come.
        let turn = turns.clone().acquire_owned().await;
        let (tcp, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("could not accept a connection: {error}");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        };
        let (port, tunnel) = (port.clone(), tunnel.clone());
        tokio::spawn(async move {
            let _turn = turn;
            let (bytes, ended) = lead(tcp, from, &port, &tunnel, idle).await;
            match ended {
                Ok(target) => tunnel.tell(Event::Closed { from, target: &target, bytes }),
                Err(error) => tunnel.tell(Event::Broken { from, bytes, reason: &error.to_string() }),
            }
        });
    }
}

/// Leads one connection to where it wants; answers how many bytes went through, and how it ended.
async fn lead(
    mut tcp: TcpStream,
    from: SocketAddr,
    port: &Port,
    tunnel: &Tunnel,
    idle: Duration,
) -> (u64, io::Result<Target>) {
    let (target, opened) = match open(&mut tcp, port, tunnel).await {
        Ok(opened) => opened,
        Err(error) => return (0, Err(error)),
    };
    tunnel.tell(Event::Opened { from, target: &target });
    let (bytes, ended) = opened.carry(&mut tcp, idle).await;
    (bytes, ended.map(|()| target))
}

async fn open(tcp: &mut TcpStream, port: &Port, tunnel: &Tunnel) -> io::Result<(Target, Opened)> {
    // Small writes of interactive programs leave at once. It is only slower without.
    let _ = tcp.set_nodelay(true);
    let target = match port {
        Port::Forward(target) => target.clone(),
        Port::Socks => socks::accept(tcp).await?,
    };
    let opened = tunnel.open(&target).await;
    let answer = opened.as_ref().map_or_else(Reply::from, |_| Reply::Succeeded);
    if matches!(port, Port::Socks) {
        tcp.write_all(&socks::reply(answer)).await?;
    } else if opened.is_err() {
        reset_at_close(tcp, true);
    }
    Ok((target, opened.map_err(io::Error::other)?))
}
