//! What the tool says on standard error besides progress: warnings, and with `-v` what it does.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// How much to say.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct LogArgs {
    /// Say more: -v what is done, -vv why, -vvv everything; RUST_LOG selects by part
    #[arg(short, long, action = clap::ArgAction::Count, display_order = 900)]
    pub(crate) verbose: u8,

    /// Say nothing but errors: no progress, no warnings
    #[arg(short, long, conflicts_with = "verbose", display_order = 901)]
    pub(crate) quiet: bool,
}

impl LogArgs {
    /// Sends log lines to standard error from now on.
    pub(crate) fn start(self) {
        let default = match (self.quiet, self.verbose) {
            (true, _) => "off",
            // The platform's verifier complains by itself of what our own error says with all its context.
            (_, 0) => "error,rustls_platform_verifier=off,pcc=warn,pcc_quic=warn,pcc_link=warn,pcc_lab=warn",
            (_, 1) => {
                "warn,rustls_platform_verifier=off,noq_proto::connection::ecn=info,\
                 pcc=info,pcc_quic=info,pcc_link=info,pcc_lab=info"
            }
            (_, 2) => "info,pcc=debug,pcc_quic=debug,pcc_link=debug,pcc_lab=debug",
            _ => "trace",
        };
        let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
        let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colours);
        if self.verbose < 2 {
            log.without_time().with_target(false).init();
        } else {
            log.init();
        }
    }
}
