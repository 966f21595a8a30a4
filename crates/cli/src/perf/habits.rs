//! Words of iperf3 that `pcc perf` has no use for: taken in silence where they ask for what happens anyway, and answered
//! otherwise.

use clap::Args;

/// None is listed in the help.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Habits {
    /// It is UDP already
    #[arg(short = 'u', long, hide = true)]
    udp: bool,
    /// QUIC delays no small packets
    #[arg(short = 'N', long, hide = true)]
    no_delay: bool,
    /// Each line is written at once
    #[arg(long, hide = true)]
    forceflush: bool,
    /// QUIC never fragments
    #[arg(long, hide = true)]
    dont_fragment: bool,
    #[arg(short = 'Z', long, hide = true)]
    zerocopy: bool,
    #[arg(short = 'D', long, hide = true)]
    daemon: bool,
    #[arg(short = 'f', long, value_name = "UNIT", hide = true)]
    format: Option<String>,
    #[arg(short = 'l', long, value_name = "SIZE", hide = true)]
    length: Option<String>,
    #[arg(short = 'S', long, value_name = "TOS", hide = true)]
    tos: Option<String>,
    #[arg(short = 'T', long, value_name = "TITLE", hide = true)]
    title: Option<String>,
    #[arg(short = 'k', long, value_name = "COUNT", hide = true)]
    blockcount: Option<String>,
    #[arg(long, value_name = "PORT", hide = true)]
    cport: Option<String>,
    #[arg(long, value_name = "MS", hide = true)]
    connect_timeout: Option<String>,
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, hide = true)]
    timestamps: Option<Option<String>>,
}

impl Habits {
    /// Advice in place of what was asked for; none if there is nothing to say.
    pub(super) fn answer(&self) -> Option<&'static str> {
        [
            (self.zerocopy, "-Z: QUIC encrypts what it sends, so nothing is sent without a copy: leave it out"),
            (self.daemon, "-D: run it in the background with your shell (`pcc perf -s &`) or a unit of systemd"),
            (self.format.is_some(), "-f: rates choose their unit themselves; -J has bits per second"),
            (self.length.is_some(), "-l: a stream has no blocks; -M limits the size of datagrams"),
            (self.tos.is_some(), "-S: the ECN bits are QUIC's, and no other class can be set"),
            (self.title.is_some(), "-T: lines have no title; write one before, or give each test a --logfile"),
            (self.blockcount.is_some(), "-k: a stream has no blocks; -n limits the bytes"),
            (self.cport.is_some(), "--cport: any free port is used; -B chooses the local address"),
            (
                self.connect_timeout.is_some(),
                "--connect-timeout: a server has 10 s to answer; `timeout 5 pcc perf …` ends sooner",
            ),
            (
                self.timestamps.is_some(),
                "--timestamps: lines have the seconds since the start; --json-stream has the time of the start",
            ),
        ]
        .into_iter()
        .find_map(|(is_asked, answer)| is_asked.then_some(answer))
    }
}

#[cfg(test)]
mod tests {
    use crate::perf::args::tests::asked;

    #[test]
    fn words_of_iperf3_are_taken_or_answered() {
        for word in ["-u", "-N", "--forceflush", "--dont-fragment", "-b 0", "-C reno"] {
            assert_eq!(asked(&format!("-c host {word}")).unwrap().habits.answer(), None, "{word}");
        }
        for word in
            ["-Z", "-D", "-f m", "-l 8K", "-S 0x10", "-T a", "-k 5", "--cport 9", "--connect-timeout 9", "--timestamps"]
        {
            let answer = asked(&format!("-c host {word}")).unwrap().habits.answer().expect(word);
            assert!(answer.starts_with(word.split(' ').next().unwrap()), "{answer}");
        }
        let many = asked("-c host -P 129").unwrap_err().to_string();
        assert!(many.contains("at most 32 streams"), "{many}");
    }
}
