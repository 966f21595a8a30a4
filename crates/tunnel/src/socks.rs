//! SOCKS5 (RFC 1928) without authentication: CONNECT only, and names go to the far side as they are.

mod message;

pub use message::{Reply, reply};

use crate::client::Refused;
use crate::target::Target;
use core::time::Duration;
use message::{LONGEST_REQUEST, NO_AUTHENTICATION, NO_METHOD, VERSION, greeting, request};
use std::io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// From the first byte of a client to the last of its request.
const GREETING: Duration = Duration::from_secs(10);

impl From<&Refused> for Reply {
    fn from(refused: &Refused) -> Self {
        match refused {
            Refused::Forbidden(..) | Refused::Token(_) | Refused::NoTunnel(_) => Self::NotAllowed,
            Refused::UnknownHost(_) | Refused::SilentDns(_) | Refused::NoAnswer(_) => Self::HostUnreachable,
            Refused::Refused(_) => Self::Refused,
            _ => Self::Failure,
        }
    }
}

/// Reads what a client wants. A client of which no target can be read has its answer already.
///
/// Errors: it is no client of SOCKS5, or is slow.
pub(crate) async fn accept(tcp: &mut TcpStream) -> io::Result<Target> {
    timeout(GREETING, read_target(tcp)).await?
}

async fn read_target(tcp: &mut TcpStream) -> io::Result<Target> {
    let offered = read(tcp, 2 + 255, greeting).await?;
    if !matches!(offered, Ok(true)) {
        tcp.write_all(&[VERSION, NO_METHOD]).await?;
        return Err(io::Error::other("the client offers no SOCKS5 without authentication"));
    }
    tcp.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    match read(tcp, LONGEST_REQUEST, request).await? {
        Ok(target) => Ok(target),
        Err(wrong) => {
            tcp.write_all(&reply(wrong)).await?;
            Err(io::Error::other(format!("the client asks for what there is not: {wrong:?}")))
        }
    }
}

/// Reads byte by byte until `parse` has a whole message: what comes behind it is not SOCKS any more.
async fn read<T>(
    tcp: &mut TcpStream,
    longest: usize,
    parse: impl Fn(&[u8]) -> Result<Option<T>, Reply>,
) -> io::Result<Result<T, Reply>> {
    let mut bytes = Vec::new();
    while bytes.len() < longest {
        bytes.push(tcp.read_u8().await?);
        match parse(&bytes) {
            Ok(None) => {}
            Ok(Some(message)) => return Ok(Ok(message)),
            Err(wrong) => return Ok(Err(wrong)),
        }
    }
    Ok(Err(Reply::Failure))
}
