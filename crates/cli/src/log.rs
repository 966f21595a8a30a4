//! The tool's words on standard error besides progress: warnings, and with `-v` its actions.

use core::fmt::{self, Debug};
use pcc_net::escape_for_terminal;
use std::io::IsTerminal;
use tracing::field::Field;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::field::MakeExt;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

/// How much to say.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct LogArgs {
    /// Log more: -v what happens, -vv why, -vvv everything; RUST_LOG selects by part
    #[arg(short, long, action = clap::ArgAction::Count, display_order = 900)]
    pub(crate) verbose: u8,

    /// Print errors only: no progress, no warnings
    #[arg(short, long, conflicts_with = "verbose", display_order = 901)]
    pub(crate) quiet: bool,
}

impl LogArgs {
    /// Sends log lines to standard error from now on.
    pub(crate) fn start(self) {
        let default = match (self.quiet, self.verbose) {
            (true, _) => "off",
            // The platform's verifier complains by itself of what our own error says with all its context.
            (_, 0) => "error,rustls_platform_verifier=off,iroh=off,pcc=warn,pcc_quic=warn,pcc_link=warn,pcc_lab=warn",
            (_, 1) => {
                "warn,rustls_platform_verifier=off,noq_proto::connection::ecn=info,\
                 pcc=info,pcc_quic=info,pcc_link=info,pcc_lab=info"
            }
            (_, 2) => "info,pcc=debug,pcc_quic=debug,pcc_link=debug,pcc_lab=debug",
            _ => "trace",
        };
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
        let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let log = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(colours)
            .fmt_fields(fields());
        if self.verbose < 2 {
            log.without_time().with_target(false).init();
        } else {
            log.init();
        }
    }
}

/// How what a log line says is written.
fn fields() -> impl for<'a> FormatFields<'a> + Send + Sync + 'static {
    debug_fn(field).delimited(" ")
}

/// Writes one field of a log line. Names and reasons of strangers are among them.
fn field(line: &mut Writer<'_>, field: &Field, value: &dyn Debug) -> fmt::Result {
    let value = escape_for_terminal(&format!("{value:?}"));
    match field.name() {
        "message" => line.write_str(&value),
        name if name.starts_with("log.") => Ok(()), // where a line of the `log` crate comes from
        name => write!(line, "{name}={value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;
    use std::sync::{Arc, Mutex, PoisonError};
    use tracing_subscriber::fmt::MakeWriter;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).write(text)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl MakeWriter<'_> for Lines {
        type Writer = Self;

        fn make_writer(&self) -> Self {
            self.clone()
        }
    }

    #[test]
    fn a_stranger_s_name_is_one_line_of_the_log() {
        let lines = Lines::default();
        let log = tracing_subscriber::fmt().with_writer(lines.clone()).with_ansi(false).without_time();
        let log = log.with_target(false).fmt_fields(fields()).finish();
        let name = "a\x1b[2J\nERROR b\u{9b}\r";
        tracing::subscriber::with_default(log, || tracing::warn!(path = %name, "not served: {name}"));
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        let spelled = "a\\u{1b}[2J\\nERROR b\\u{9b}\\r";
        assert_eq!(text, format!(" WARN not served: {spelled} path={spelled}\n"));
    }
}
