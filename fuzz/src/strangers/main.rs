//! Any bytes as a peer or a file might have them, for one parser after the other: each takes them or refuses them, and what it takes
//! keeps within its bounds. The parsers are compiled from their own files, with little else of their crates.
#![no_main]

// As the files name each other's crates.
extern crate self as aws_lc_rs;
extern crate self as iroh;
extern crate self as iroh_relay;
extern crate self as pcc_files;
extern crate self as pcc_net;
extern crate self as pcc_quic;

#[allow(dead_code, unused_imports)]
mod around;
mod deltas;
mod files;
mod net;
mod reach;
mod rest;
mod texts;

#[path = "../../../crates/net/src/alias.rs"]
#[allow(dead_code, unused_imports)]
pub mod alias;
#[path = "../../../crates/reach/src/code.rs"]
#[allow(dead_code, unused_imports)]
pub mod code;
#[path = "../../../crates/files/src/coding.rs"]
#[allow(dead_code, unused_imports)]
pub mod coding;
#[path = "../../../crates/perf/src/cpu.rs"]
#[allow(dead_code, unused_imports)]
pub mod cpu;
#[path = "../../../crates/files/src/delta/mod.rs"]
#[allow(dead_code, unused_imports)]
pub mod delta;
#[path = "../../../crates/files/src/figures.rs"]
#[allow(dead_code, unused_imports)]
pub mod figures;
#[path = "../../../crates/files/src/filename.rs"]
#[allow(dead_code, unused_imports)]
pub mod filename;
#[path = "../../../crates/quic/src/http3/frames.rs"]
#[allow(dead_code, unused_imports)]
pub mod frames;
#[path = "../../../crates/remote/src/greeting.rs"]
#[allow(dead_code, unused_imports)]
pub mod greeting;
#[path = "../../../crates/remote/src/greeting_error.rs"]
#[allow(dead_code, unused_imports)]
pub mod greeting_error;
#[path = "../../../crates/perf/src/intervals.rs"]
#[allow(dead_code, unused_imports)]
pub mod intervals;
#[path = "../../../crates/netem/src/ip.rs"]
#[allow(dead_code, unused_imports)]
pub mod ip;
#[path = "../../../crates/net/src/percent.rs"]
#[allow(dead_code, unused_imports)]
pub mod percent;
#[path = "../../../crates/reach/src/place.rs"]
#[allow(dead_code, unused_imports)]
pub mod place;
#[path = "../../../crates/net/src/ports.rs"]
#[allow(dead_code, unused_imports)]
pub mod ports;
#[path = "../../../crates/remote/src/remote.rs"]
#[allow(dead_code, unused_imports)]
pub mod remote;
#[path = "../../../crates/link/src/replay.rs"]
#[allow(dead_code, unused_imports)]
pub mod replay;
#[path = "../../../crates/tunnel/src/rules.rs"]
#[allow(dead_code, unused_imports)]
pub mod rules;
#[path = "../../../crates/net/src/scope.rs"]
#[allow(dead_code, unused_imports)]
pub mod scope;
#[path = "../../../crates/net/src/escape_for_terminal.rs"]
#[allow(dead_code, unused_imports)]
pub mod escape_for_terminal;
#[path = "../../../crates/perf/src/side.rs"]
#[allow(dead_code, unused_imports)]
pub mod side;
#[path = "../../../crates/tunnel/src/target.rs"]
#[allow(dead_code, unused_imports)]
pub mod target;
#[path = "../../../crates/perf/src/record/train.rs"]
#[allow(dead_code, unused_imports)]
pub mod train;
#[path = "../../../crates/net/src/url.rs"]
#[allow(dead_code, unused_imports)]
pub mod url;
#[path = "../../../crates/perf/src/watch.rs"]
#[allow(dead_code, unused_imports)]
pub mod watch;
#[path = "../../../crates/files/src/wire.rs"]
#[allow(dead_code, unused_imports)]
pub mod wire;
#[path = "../../../crates/reach/src/words.rs"]
#[allow(dead_code, unused_imports)]
pub mod words;

pub use around::{
    Failure, Names, PathFigures, RelayConfig, RelayMap, RelayQuicConfig, RelayUrl, SecretKey, TransportAddr, digest,
    error, rand,
};
use around::{
    MAX_HEADER_BYTES, attributes, choice, client, conditions, extended, far_error, get, owners, permissions, serve,
    socks, tls, waiting,
};
pub use escape_for_terminal::{escape_for_terminal, with_causes};

/// Reads bytes, and asserts what holds of anything that was read. Answers whether it was.
type Parser = fn(&[u8]) -> bool;

/// With an example that is read: the fuzzer would not guess one. The first byte of an input chooses from these.
const PARSERS: &[(Parser, &[u8])] = &[
    (deltas::list, deltas::A_LIST),
    (deltas::ranges, b"\x00\x10\x00\x00\x00\x00\x00\x00\x03\x05\x07\x01\x02"),
    (deltas::frames, b"\x02\x00\x00\x00"),
    (files::path_of_a_request, b"/a%20b/c/"),
    (files::conditions_of_a_request, files::CONDITIONS),
    (files::fields_of_an_upload, files::UPLOAD),
    (files::fields_of_an_upload, files::ATTRIBUTES),
    (
        files::fields_of_an_answer,
        b"bytes 5-9/10\ncontent-length: 5\nrepr-digest: blake3=:AAAA:\nwant-file-chunks: 4096",
    ),
    (files::listing, files::LISTING),
    (files::journal, files::JOURNAL),
    (files::list_on_a_disk, files::LIST),
    (files::pattern, b"/a*[!b-d]?\\\\/**/***\na/b\nb"),
    (net::url, b"https://[fe80::1%25eth0]:4433/a b/%C3%A4?q"),
    (net::request_over_ssh, net::REQUEST),
    (net::answer_over_ssh, net::ANSWER),
    (net::place_that_ssh_reaches, b"me@[::1]:films/*.mkv"),
    (net::socks, b"\x05\x01\x00\x03\x09localhost\x00\x50"),
    (net::target_and_rule, b"[::1]:22"),
    (net::target_and_rule, b"10.0.0.0/8:*"),
    (reach::code, b"be8y-379v-9zes-e9y8@192.0.2.2:53676"),
    (reach::place, b"https://[2001:db8::9]:3340"),
    (reach::wish, br#"{"run":7,"item":1}"#),
    (reach::answer, br#"{"items":[{"name":"a","directory":false},{"name":"b","directory":true}]}"#),
    (reach::figures, b"loss=0.0074, base-rtt=0.7990, rtt=0.8020"),
    (rest::frames_of_http3, b"\x00\x02\x01\x03abc\x00\x40\x05hello\x21\x00"),
    (rest::trace_of_a_connection, rest::TRACE),
    (rest::report_of_a_test, rest::REPORT),
    (rest::request_of_a_train, b"\x01\0\0\0\x07\0\0\0\x64\0\0\0\0\0\x0f\x42\x40"),
    (rest::packet_of_a_train, b"R\0\0\0\x07\0\0\0\x64\0\0\0\0\0\x0f\x42\x40"),
    (rest::arrivals_of_a_train, b"\x00\x05\x02\x80\x01"),
    (
        rest::header_of_ip,
        b"\x45\x02\x00\x28\x01\x02\x40\x00\x40\x06\xff\xff\x0a\x00\x00\x01\x0a\x00\x00\x02\x01\x02\x03\x04",
    ),
    (texts::path, b"rate=10Mbit,rtt=20ms,buffer=2bdp,queue=pie,loss=ge/0.1%/25%/0%/100%,down.jitter=2ms,vary=5s:rate=10Mbit..100Mbit"),
    (texts::trace, b"0\n3 # ms\n3\n7"),
    (
        texts::utility,
        b"# Goodput by delay.\nlet cap = 5%;\nlet panic_loss = 3*cap;\nlet worth = T*sigmoid(-100*(L - cap)) - x*L;\n\
          worth/if(known(rtt), max(rtt, 1us), 100ms)",
    ),
    (texts::program, b"pcc-utility/1 panic_loss=0.5 x set0 get0 0.9 pow x L mul sub"),
    (texts::law, b"allegro,paper,epsilon_max=0.1,interval_rtts=1..2"),
    (texts::quantities, b"1.5Mbit"),
];

libfuzzer_sys::fuzz_target!(
    init: {
        for (number, (parser, example)) in PARSERS.iter().enumerate() {
            assert!(parser(example), "the example of parser {number} is refused");
        }
    },
    |input: &[u8]| {
        if let Some((choice, bytes)) = input.split_first() {
            PARSERS[usize::from(*choice) % PARSERS.len()].0(bytes);
        }
    }
);

// Begins with an example, and comes back to them now and then.
libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    let choice = seed as usize / 32 % PARSERS.len();
    let example = PARSERS[choice].1;
    if size > 1 && seed % 32 > 0 || example.len() >= most {
        return libfuzzer_sys::fuzzer_mutate(data, size, most);
    }
    data[0] = choice as u8;
    data[1..=example.len()].copy_from_slice(example);
    libfuzzer_sys::fuzzer_mutate(data, 1 + example.len(), most)
});
