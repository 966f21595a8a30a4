//! What `pcc serve` prints: where it is found, and with `--json` each request.

use super::Server;
use super::server::Served;
use serde::Serialize;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;

pub(super) struct Announcer<'a> {
    pub(super) json: bool,
    /// Whether clients need the fingerprint.
    pub(super) pinned: bool,
    pub(super) dir: &'a Path,
    /// The token for uploads, if it was made here.
    pub(super) secret: Option<&'a str>,
}

/// The first line of `pcc serve --json`.
#[derive(Serialize)]
struct Listening<'a> {
    event: &'static str,
    address: SocketAddr,
    urls: &'a [String],
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
}

/// The lines after it.
#[derive(Serialize)]
struct Request<'a> {
    event: &'static str,
    #[serde(flatten)]
    served: &'a Served,
}

impl Announcer<'_> {
    pub(super) fn announce(&self, server: &Server) -> io::Result<()> {
        if let Some(warning) = &server.warning {
            tracing::warn!("{warning}");
        }
        let urls = urls(server, self.pinned);
        let mut out = io::stdout().lock();
        if self.json {
            let fingerprint = server.fingerprint.to_string();
            let (address, token) = (server.address, self.secret);
            line(&mut out, &Listening { event: "listening", address, urls: &urls, fingerprint, token })?;
        } else {
            writeln!(out, "Serving {} over HTTP/3 at", self.dir.display())?;
            urls.iter().try_for_each(|url| writeln!(out, "  {url}"))?;
            let url = urls.first().map_or("", String::as_str);
            writeln!(out, "Download all of it with\n  pcc get '{url}'")?;
            if let Some(secret) = self.secret {
                writeln!(out, "Upload with\n  {}={secret} pcc put FILE '{url}'", crate::token::VARIABLE)?;
            }
        }
        out.flush()
    }

    pub(super) fn request(&self, served: &Served) -> io::Result<()> {
        line(&mut io::stdout().lock(), &Request { event: "request", served })
    }
}

fn line(out: &mut impl Write, object: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, object)?;
    writeln!(out)?;
    out.flush()
}

/// The URLs under which the server is likely to be reached, the best first.
fn urls(server: &Server, pinned: bool) -> Vec<String> {
    let port = server.address.port();
    let hosts = match server.address.ip() {
        ip if ip.is_unspecified() => outward().into_iter().chain(["localhost".to_owned()]).collect(),
        IpAddr::V6(ip) => vec![format!("[{ip}]")],
        IpAddr::V4(ip) => vec![ip.to_string()],
    };
    let fragment = if pinned { format!("#{}", server.fingerprint) } else { String::new() };
    hosts.into_iter().map(|host| format!("https://{host}:{port}/{fragment}")).collect()
}

/// The address this computer would use towards the world. Connecting a UDP socket sends nothing.
fn outward() -> Option<String> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?; // an address reserved for documentation: never anybody's
    let ip = socket.local_addr().ok()?.ip();
    (!ip.is_unspecified() && !ip.is_loopback()).then(|| ip.to_string())
}
