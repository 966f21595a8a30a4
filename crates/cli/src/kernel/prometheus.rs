//! What `pcc kernel top` shows, for Prometheus: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use super::watch::{Connection, Watcher};
use anyhow::Context;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// A request is a line and some headers.
const LONGEST_REQUEST: usize = 8 << 10;
/// Who asks slowly, or reads the answer slowly, keeps the others waiting so long.
const PATIENCE: Duration = Duration::from_secs(2);

/// Answers until this process ends.
pub(super) fn serve(address: SocketAddr, mut watcher: Watcher) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).with_context(|| format!("--prometheus: cannot listen at {address}"))?;
    let address = listener.local_addr().context("--prometheus: no address")?;
    writeln!(std::io::stdout().lock(), "metrics at http://{address}/metrics")?;
    for asked in listener.incoming() {
        let look = || Ok(metrics(&watcher.look()?, watcher.loaded()));
        let answered = asked.map_err(Into::into).and_then(|stream| answer(Timed::new(stream, PATIENCE), look));
        if let Err(error) = answered {
            tracing::debug!(%error, "somebody asked and was not answered");
        }
    }
    Ok(())
}

/// A stream that ends at a moment, however slowly the peer goes on.
struct Timed {
    stream: TcpStream,
    end: Instant,
}

impl Timed {
    fn new(stream: TcpStream, time: Duration) -> Self {
        Self { stream, end: Instant::now() + time }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

fn answer(mut stream: impl Read + Write, look: impl FnOnce() -> anyhow::Result<String>) -> anyhow::Result<()> {
    let (mut request, mut part) = (Vec::new(), [0; 1024]);
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < LONGEST_REQUEST {
        match stream.read(&mut part)? {
            0 => break,
            length => request.extend(&part[..length]),
        }
    }
    let (status, body) = match wanted(&request).map(|()| look()) {
        Some(Ok(metrics)) => ("200 OK", metrics),
        Some(Err(error)) => ("500 Internal Server Error", format!("{error:#}\n")),
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

fn metrics<'a>(connections: &[Connection], loaded: impl Iterator<Item = &'a str>) -> String {
    let mut text = "# HELP pcc_kernel_loaded Congestion controls that new connections can have\n\
                    # TYPE pcc_kernel_loaded gauge\n"
        .to_owned();
    for name in loaded {
        let _ = writeln!(text, "pcc_kernel_loaded{{congestion=\"{name}\"}} 1");
    }
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
        let text = metrics(&[example(1, 3000, 2000, (30, 3))], ["pcc"].into_iter());
        let labels = "{congestion=\"pcc\",local=\"192.0.2.1:5001\",remote=\"192.0.2.1:443\"}";
        for expected in [
            "pcc_kernel_loaded{congestion=\"pcc\"} 1\n".to_owned(),
            "# TYPE pcc_kernel_sent_bytes_total counter\n".to_owned(),
            format!("pcc_kernel_sent_bytes_total{labels} 3000\n"),
            format!("pcc_kernel_rtt_seconds{labels} 0.04\n"),
            format!("pcc_kernel_utility{labels} 1.5\n"),
        ] {
            assert_eq!(text.matches(&expected).count(), 1, "{expected}\n{text}");
        }
        assert_eq!(metrics(&[], [].into_iter()).lines().count(), 2 * (METRICS.len() + 1));
    }

    #[test]
    fn who_asks_slowly_is_not_waited_for_beyond_the_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut slow = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let drip = std::thread::spawn(move || {
            while slow.write_all(b"G").is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let error = answer(Timed::new(stream, Duration::from_millis(200)), || Ok(String::new())).unwrap_err();
        let kind = error.downcast_ref::<io::Error>().unwrap().kind();
        assert!(matches!(kind, io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{error}");
        drip.join().unwrap();
    }

    #[test]
    fn what_cannot_be_seen_is_told_as_an_error_and_not_as_nothing() {
        struct Once(&'static [u8], Vec<u8>);
        impl Read for Once {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                self.0.read(buffer)
            }
        }
        impl Write for Once {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.1.write(bytes)
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for (look, status) in [(Ok("pcc 1\n".to_owned()), "200 OK"), (Err(anyhow::anyhow!("no rights")), "500 ")] {
            let mut stream = Once(b"GET /metrics HTTP/1.1\r\n\r\n", Vec::new());
            answer(&mut stream, || look).unwrap();
            let told = String::from_utf8(stream.1).unwrap();
            assert!(told.starts_with(&format!("HTTP/1.1 {status}")), "{told}");
            assert!(told.ends_with("pcc 1\n") || told.ends_with("no rights\n"), "{told}");
        }
    }

    #[test]
    fn only_the_metrics_are_answered() {
        assert!(wanted(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").is_some());
        for other in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"POST /metrics HTTP/1.1\r\n\r\n", b"", b"\xff"] {
            assert!(wanted(other).is_none());
        }
    }
}
