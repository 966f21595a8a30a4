//! A request as a line of the Combined Log Format, which tools for web servers' logs read. Three fields follow: the seconds
//! that it took, the rate in bit/s, and why it was cut off.
//!
//! The referrer is always `-`: it may hold the address of a private directory.

use super::Served;
use core::fmt::Write;
use std::time::SystemTime;

/// The line, without its end.
pub(super) fn line(served: &Served) -> String {
    let Served { peer, at, method, path, version, agent, status, bytes, seconds, error } = served;
    let (time, rate) = (time(*at), *bytes as f64 * 8.0 / seconds.max(1e-6));
    let request = escaped(&format!("{method} {path} {version:?}"));
    let [agent, error] = [agent, error].map(|text| escaped(text.as_deref().unwrap_or("-")));
    let status = if *status == 0 { "-".to_owned() } else { status.to_string() };
    format!(
        "{} - - [{time}] \"{request}\" {status} {bytes} \"-\" \"{agent}\" {seconds:.3} {rate:.0} \"{error}\"",
        peer.ip()
    )
}

/// As `27/Nov/2026:21:41:31 +0000`.
fn time(at: SystemTime) -> String {
    let date = httpdate::fmt_http_date(at);
    let [day, month, year, time] = core::array::from_fn(|n| date.split(' ').nth(n + 1).unwrap_or_default());
    format!("{day}/{month}/{year}:{time} +0000")
}

/// As Apache writes the words of strangers: one line of ASCII, whatever they hold.
fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for byte in text.bytes() {
        let _ = match byte {
            b'"' | b'\\' => write!(written, "\\{}", char::from(byte)),
            b' '..=b'~' => write!(written, "{}", char::from(byte)),
            _ => write!(written, "\\x{byte:02x}"),
        };
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_line_of_the_combined_log_format() {
        let agent = Some("curl/8.1".to_owned());
        assert_eq!(
            line(&Served { agent, ..Served::example() }),
            "10.0.0.1 - - [09/Sep/2001:01:46:40 +0000] \"GET /a HTTP/3.0\" 200 1500000 \"-\" \"curl/8.1\" 2.000 6000000 \"-\""
        );
        let cut = Served { status: 0, bytes: 0, error: Some("the client left".to_owned()), ..Served::example() };
        assert!(line(&cut).ends_with("HTTP/3.0\" - 0 \"-\" \"-\" 2.000 0 \"the client left\""), "{}", line(&cut));
    }

    #[test]
    fn words_of_strangers_neither_end_a_field_nor_a_line() {
        let path = "/a\"b\\\x1b[2J\n\u{e4}".to_owned();
        let written = line(&Served { path: path.clone(), agent: Some(path), ..Served::example() });
        assert_eq!(written.matches("/a\\\"b\\\\\\x1b[2J\\x0a\\xc3\\xa4").count(), 2, "{written}");
        assert!(written.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{written}");
    }
}
