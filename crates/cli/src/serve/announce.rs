//! The first output of `pcc serve`: its addresses, and how they are used.

use crate::command_line::quote;
use pcc_files::serve::Server;
use pcc_net::escape_for_terminal;
use pcc_net::scope;
use pcc_net::tls::Fingerprint;
use serde::Serialize;
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

pub(super) struct Announcer<'a> {
    pub(super) json: bool,
    /// Whether clients need the fingerprint.
    pub(super) pinned: bool,
    /// The directory or file that is served; nothing if there are only tunnels.
    pub(super) dir: Option<&'a Path>,
    /// Below which name it is found, if that is private.
    pub(super) name: Option<String>,
    /// The name of the file that is served, where it is no directory.
    pub(super) file: Option<&'a str>,
    /// The token for uploads and tunnels, if there are any.
    pub(super) token: Option<Source<'a>>,
    /// Where figures are served.
    pub(super) metrics: Option<SocketAddr>,
    pub(super) writable: bool,
    pub(super) tunnel: bool,
}

/// Where the token comes from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    /// It was made here, and nobody knows it yet.
    Made(&'a str),
    File(&'a Path),
    Variable,
}

/// The first line of `pcc serve --json`.
#[derive(Serialize)]
struct Listening<'a> {
    event: &'static str,
    address: SocketAddr,
    urls: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    http: Option<&'a [String]>,
    fingerprint: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<SocketAddr>,
}

impl Announcer<'_> {
    pub(super) fn announce(&self, server: &Server) -> io::Result<()> {
        if let Some(warning) = &server.warning {
            tracing::warn!("{warning}");
        }
        let urls = self.urls("https", server.address, self.pinned.then_some(server.fingerprint));
        let scheme = if self.pinned { "http" } else { "https" };
        let http = server.tcp.map(|address| self.urls(scheme, address, None));
        let mut out = io::stdout().lock();
        if self.json {
            let fingerprint = server.fingerprint.to_string();
            let address = server.address;
            let token = if let Some(Source::Made(token)) = self.token { Some(token) } else { None };
            let (metrics, http) = (self.metrics, http.as_deref());
            line(&mut out, &Listening { event: "listening", address, urls: &urls, http, fingerprint, token, metrics })?;
        } else {
            self.tell_people(&mut out, &urls, http.as_deref())?;
        }
        out.flush()
    }

    fn tell_people(&self, out: &mut impl Write, urls: &[String], http: Option<&[String]>) -> io::Result<()> {
        let what = self.dir.map_or("tunnels".into(), Path::to_string_lossy);
        writeln!(out, "Serving {} over HTTP/3 at", escape_for_terminal(&what))?;
        urls.iter().try_for_each(|url| writeln!(out, "  {url}"))?;
        if let Some(http) = http {
            writeln!(out, "and for browsers and curl, read-only, at")?;
            http.iter().try_for_each(|url| writeln!(out, "  {url}"))?;
        }
        if let Some(metrics) = self.metrics {
            writeln!(out, "Figures for Prometheus at\n  http://{metrics}/metrics")?;
        }
        let url = urls.first().map_or("", String::as_str);
        if let Some(dir) = self.dir {
            if http.is_none() {
                writeln!(
                    out,
                    "No browser opens these addresses, and curl only if it was built with HTTP/3; see --http."
                )?;
            }
            match self.file {
                Some(_) => writeln!(out, "Download it with\n  pcc get '{url}'")?,
                None => writeln!(out, "Download all of it with\n  pcc get '{url}' -o {}", quoted(&copy(dir)))?,
            }
        }
        let commands = [(self.writable, "Upload", "put FILE"), (self.tunnel, "Tunnel", "tunnel -D 1080")];
        for (_, verb, command) in commands.into_iter().filter(|(is_on, ..)| *is_on) {
            let Some(token) = self.token else { continue };
            writeln!(out, "{} pcc {command} '{url}'", token.given(verb))?;
        }
        Ok(())
    }
}

/// The name for a copy of the directory: as it is called here.
fn copy(dir: &Path) -> String {
    let full = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let name = full.file_name().and_then(|name| name.to_str()).filter(|name| !name.contains(char::is_control));
    name.unwrap_or("downloaded").to_owned()
}

impl Source<'_> {
    /// How a command that does `verb` is given it: the secret only if nobody could know it else.
    fn given(self, verb: &str) -> String {
        let variable = crate::token::VARIABLE;
        match self {
            Self::Made(token) => format!("{verb} with\n  {variable}={token}"),
            Self::File(file) => {
                format!(
                    "{verb} with the following; TOKEN is the first line of {}\n  {variable}=TOKEN",
                    escape_for_terminal(&file.to_string_lossy())
                )
            }
            Self::Variable => {
                format!("{verb} with the following; TOKEN is the value of {variable} here\n  {variable}=TOKEN")
            }
        }
    }
}

/// As a shell takes it for one word, and a command for no option.
fn quoted(name: &str) -> String {
    quote(&if name.starts_with('-') { format!("./{name}") } else { name.to_owned() })
}

fn line(out: &mut impl Write, object: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, object)?;
    writeln!(out)?;
    out.flush()
}

impl Announcer<'_> {
    /// The URLs under which the server is likely to be reached, the best first.
    fn urls(&self, scheme: &str, address: SocketAddr, pin: Option<Fingerprint>) -> Vec<String> {
        let (ip, port) = (address.ip(), address.port());
        let here = ip.is_unspecified().then(|| "localhost".to_owned());
        let hosts = scope::reached_at(ip).into_iter().map(host).chain(here);
        let fragment = pin.map(|pin| format!("#{pin}")).unwrap_or_default();
        let directory = self.name.as_ref().map(|name| format!("{name}/")).unwrap_or_default();
        let path = directory + &self.file.map(pcc_net::percent::encode_segment).unwrap_or_default();
        hosts.map(|host| format!("{scheme}://{host}:{port}/{path}{fragment}")).collect()
    }
}

fn host(ip: IpAddr) -> String {
    match ip {
        IpAddr::V6(_) => format!("[{}]", scope::seen_from_elsewhere(ip)),
        IpAddr::V4(_) => ip.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_every_name_for_one_word() {
        for (name, written) in [
            ("isos", "isos"),
            ("my files", "'my files'"),
            ("it's", "'it'\\''s'"),
            ("-rf", "./-rf"),
            ("$(reboot)", "'$(reboot)'"),
        ] {
            assert_eq!(quoted(name), written);
        }
    }
}
