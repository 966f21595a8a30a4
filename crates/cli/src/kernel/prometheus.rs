//! What `pcc kernel top` shows, for Prometheus: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use super::watch::{Connection, Watcher};
use anyhow::Context;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// A request is a line and some headers.
const LONGEST_REQUEST: usize = 8 << 10;
/// Who asks and then says nothing keeps the others waiting so long.
const PATIENCE: Duration = Duration::from_secs(2);

/// Answers until this process ends.
pub(super) fn serve(address: SocketAddr, watcher: &Watcher) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).with_context(|| format!("--prometheus: cannot listen at {address}"))?;
    let address = listener.local_addr().context("--prometheus: no address")?;
    writeln!(std::io::stdout().lock(), "metrics at http://{address}/metrics")?;
    for asked in listener.incoming() {
        let answered = asked.map_err(Into::into).and_then(|stream| answer(stream, watcher));
        if let Err(error) = answered {
            tracing::debug!(%error, "somebody asked and was not answered");
        }
    }
    Ok(())
}

fn answer(mut stream: TcpStream, watcher: &Watcher) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (mut request, mut part) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
        match stream.read(&mut part)? {
            0 => break,
            length => request.extend(&part[..length]),
        }
    }
    let (status, body) = match wanted(&request) {
        Some(()) => ("200 OK", metrics(&watcher.look()?)),
        None => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; version=0.0.4; charset=utf-8\r\ncontent-length: {}\r\nconnection: \
         close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes())?;
    Ok(())
}

/// Whether this asks for the metrics.
fn wanted(request: &[u8]) -> Option<()> {
    let line = request.split(|byte| *byte == b'\r').next()?;
    let path = line.strip_prefix(b"GET ")?.split(|byte| matches!(byte, b' ' | b'?')).next()?;
    (path == b"/metrics").then_some(())
}

/// A metric: its name, its kind, what it is, and its value for a connection.
type Metric = (&'static str, &'static str, &'static str, fn(&Connection) -> Option<f64>);

const METRICS: [Metric; 11] = [
    ("sent_bytes_total", "counter", "Bytes sent, first or again", |one| Some(one.sent as f64)),
    ("acked_bytes_total", "counter", "Bytes acknowledged", |one| Some(one.acked as f64)),
    ("sent_packets_total", "counter", "Packets with data sent", |one| Some(one.packets_sent.into())),
    ("lost_packets_total", "counter", "Packets lost", |one| Some(one.packets_lost.into())),
    ("intervals_total", "counter", "Monitor intervals judged", |one| Some(one.intervals.into())),
    ("silences_total", "counter", "Times that the path fell silent", |one| Some(one.silences.into())),
    ("panics_total", "counter", "Times that loss made it go back at once", |one| Some(one.panics.into())),
    ("rtt_seconds", "gauge", "Smoothed RTT", |one| Some(one.rtt.as_secs_f64())),
    ("window_packets", "gauge", "Congestion window", |one| Some(one.window.into())),
    ("pacing_bytes_per_second", "gauge", "Rate at which it is to send", |one| Some(one.pacing as f64)),
    ("utility", "gauge", "Utility of the last interval", |one| one.utility),
];

fn metrics(connections: &[Connection]) -> String {
    let mut text = String::new();
    for (name, kind, what, value) in METRICS {
        let _ = writeln!(text, "# HELP pcc_kernel_{name} {what}\n# TYPE pcc_kernel_{name} {kind}");
        for one in connections {
            let Some(value) = value(one) else { continue };
            let Connection { name: congestion, local, remote, .. } = one;
            let labels = format!("congestion=\"{congestion}\",local=\"{local}\",remote=\"{remote}\"");
            let _ = writeln!(text, "pcc_kernel_{name}{{{labels}}} {value}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::watch::tests::example;
    use super::*;

    #[test]
    fn each_metric_is_told_with_its_kind_once_and_a_value_for_each_connection() {
        let text = metrics(&[example(1, 3000, 2000, (30, 3))]);
        let labels = "{congestion=\"pcc\",local=\"192.0.2.1:5001\",remote=\"192.0.2.1:443\"}";
        for expected in [
            "# TYPE pcc_kernel_sent_bytes_total counter\n".to_owned(),
            format!("pcc_kernel_sent_bytes_total{labels} 3000\n"),
            format!("pcc_kernel_rtt_seconds{labels} 0.04\n"),
            format!("pcc_kernel_utility{labels} 1.5\n"),
        ] {
            assert_eq!(text.matches(&expected).count(), 1, "{expected}\n{text}");
        }
        assert_eq!(metrics(&[]).lines().count(), 2 * METRICS.len());
    }

    #[test]
    fn only_the_metrics_are_answered() {
        assert!(wanted(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").is_some());
        for other in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"POST /metrics HTTP/1.1\r\n\r\n", b"", b"\xff"] {
            assert!(wanted(other).is_none());
        }
    }
}
