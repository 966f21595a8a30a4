//! One tunnel over standard input and output, as the connection of another program: ssh's `ProxyCommand`.

use crate::client::{Refused, Tunnel};
use crate::pump::{self, Broken, CHUNK, Moved, Receiving, Sending};
use crate::target::Target;
use bytes::Bytes;
use std::io::{self, Read, stdin};
use tokio::io::stdout;
use tokio::sync::mpsc;

/// Why a tunnel did not carry all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StdioError {
    /// It did not open.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It broke, or standard input or output did.
    #[error(transparent)]
    Broken(#[from] io::Error),
}

/// Opens a tunnel to `target`, and carries bytes until the target has sent its last one. The end of standard input is passed on, and
/// what comes back after it still arrives.
///
/// A thread of its own reads standard input, and may still wait there at the end: the program should end soon after. It reads at most
/// three times [`CHUNK`] ahead of the tunnel.
///
/// Errors: there is no tunnel, it broke, or nobody reads standard output.
pub async fn carry_stdio(tunnel: &Tunnel, target: &Target) -> Result<(), StdioError> {
    let (mut sending, mut receiving) = tunnel.open(target).await?.0.split();
    let moved = Moved::default();
    let out = async {
        let mut input = standard_input()?;
        while let Some(bytes) = input.recv().await {
            sending.send(bytes?).await?;
        }
        sending.end().await?;
        core::future::pending().await
    };
    let ended: Result<(), Broken> = tokio::select! {
        ended = pump::back(&mut receiving, stdout(), &moved) => ended,
        ended = out => ended,
    };
    if ended.is_err() {
        sending.abort();
        receiving.abort();
    }
    Ok(ended.map_err(Broken::into_io)?)
}

/// The bytes that come in, at most [`CHUNK`] at a time.
fn standard_input() -> io::Result<mpsc::Receiver<io::Result<Bytes>>> {
    let (tell, told) = mpsc::channel(1);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || {
        let (mut input, mut buffer) = (stdin().lock(), vec![0; CHUNK]);
        loop {
            let read = match input.read(&mut buffer) {
                Ok(0) => return,
                Ok(read) => Ok(Bytes::copy_from_slice(&buffer[..read])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let is_last = read.is_err();
            if tell.blocking_send(read).is_err() || is_last {
                return;
            }
        }
    })?;
    Ok(told)
}
