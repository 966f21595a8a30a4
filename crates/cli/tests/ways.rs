//! `pcc get --via` and `pcc put --via`: several networks at once. Tests that make namespaces are ignored: `make test` runs them where it
//! can.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

const PCC: &str = env!("CARGO_BIN_EXE_pcc");

/// A server, and words for the scripts behind it.
const BEGIN: &str = r#"
head -c "$BYTES" /dev/urandom > file
mkdir kept
PCC_TOKEN=test-token timeout 100 "$PCC" serve -l 203.0.113.1:4433 --writable . > served.txt & server=$!
until grep -q 'pcc get' served.txt; do sleep 0.05; done
url=$(grep -o "https://[^' ]*" served.txt | head -n 1 | sed 's/203.0.113.1/198.51.100.1/')
file=${url/\/#/\/file#}
carried() { client cat "/proc/net/dev" | awk -v it="$1:" '$1 == it { print $2 + $10 }'; }
figure() { echo "$1 $2" >> figures.txt; }
"#;

/// The figures that a script writes, between a computer of two networks and a server.
fn between(paths: [&str; 2], bytes: u64, script: &str) -> BTreeMap<String, f64> {
    let dir = tempfile::tempdir().unwrap();
    let network = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/networks/two");
    let mut command = Command::new(network);
    command.args(paths).args(["bash", "-euc", &format!("{BEGIN}{script}\nkill $server")]).current_dir(dir.path());
    let done = command.env("HOME", dir.path()).env("PCC", PCC).env("BYTES", bytes.to_string()).output();
    let done = done.expect("bash runs");
    assert!(done.status.success(), "{}", said(&done));
    let figures = std::fs::read_to_string(dir.path().join("figures.txt")).unwrap();
    let figures = figures.lines().filter_map(|line| line.split_once(' '));
    figures.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
}

fn said(done: &Output) -> String {
    String::from_utf8_lossy(&done.stderr).into_owned()
}

fn pcc(args: &[&str]) -> Output {
    Command::new(PCC).args(args).output().unwrap()
}

const UNEQUAL: [&str; 2] = ["rate=20Mbit,rtt=20ms", "rate=20Mbit,rtt=80ms,loss=1%"];

#[test]
#[ignore = "needs network namespaces: make test"]
fn two_networks_are_faster_than_the_better_one() {
    let figures = between(
        UNEQUAL,
        20_000_000,
        r#"
        for via in wlan0 'wlan0 --via wwan0'; do
            begin=$(date +%s%N)
            client timeout 50 "$PCC" get --no-path-memory -q --via $via "$file" -o got
            figure "${via// /_}" $(($(date +%s%N) - begin))
            cmp file got
        done
        "#,
    );
    let gain = figures["wlan0"] / figures["wlan0_--via_wwan0"];
    assert!(gain > 1.4, "{figures:?}");
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn an_upload_uses_both_networks() {
    let figures = between(
        UNEQUAL,
        20_000_000,
        r#"
        begin=$(carried wwan0)
        PCC_TOKEN=test-token client timeout 50 "$PCC" put -q --via wlan0 --via wwan0 file "${url/\/#/\/kept\/#}"
        cmp file kept/file
        figure wlan0 "$(carried wlan0)"
        figure wwan0 "$(carried wwan0)"
        "#,
    );
    let (one, other) = (figures["wlan0"], figures["wwan0"]);
    assert!(one.min(other) > 0.3 * (one + other), "both carry their part: {figures:?}");
    assert!(one + other < 1.2 * 20e6, "little goes twice: {figures:?}");
}

/// A download during which these commands take the network wlan0 away and give it back. The figures are the bytes that the other network
/// carried within a second before and after, those that wlan0 carried once it was back, and how often a connection was lost.
fn without(taken: &str, given_back: &str) -> BTreeMap<String, f64> {
    let script = r#"
        client timeout 50 "$PCC" get --via wlan0 --via wwan0 --json "$file" -o got > got.txt & get=$!
        until [ "$(carried wlan0)" -gt 5000000 ]; do sleep 0.05; done
        before=$(carried wwan0); sleep 1; between=$(carried wwan0)
        TAKEN
        arrived=$(stat -c %b .got.pcc-part)
        sleep 1
        figure before $((between - before))
        figure after $(($(carried wwan0) - between))
        sleep 1
        figure arrived $((($(stat -c %b .got.pcc-part) - arrived) * 512))
        GIVEN_BACK
        back=$(carried wlan0)
        wait "$get"
        cmp file got
        figure back $(($(carried wlan0) - back))
        figure both $(($(carried wlan0) + $(carried wwan0)))
        figure retries "$(grep -c '"retry"' got.txt || true)"
    "#;
    between(UNEQUAL, 50_000_000, &script.replace("TAKEN", taken).replace("GIVEN_BACK", given_back))
}

fn went_on(figures: &BTreeMap<String, f64>) {
    assert!(figures["after"] > 0.6 * figures["before"], "the other network carries on: {figures:?}");
    assert!(figures["arrived"] > 0.6 * figures["before"], "and the file grows: {figures:?}");
    assert!(figures["back"] > 5e6, "the network is used again: {figures:?}");
    assert!(figures["both"] < 1.2 * 50e6, "little goes twice: {figures:?}");
    assert_eq!(figures["retries"], 0.0, "it is one connection: {figures:?}");
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn a_transfer_goes_on_when_an_interface_goes_down() {
    went_on(&without("client ip link set wlan0 down", "mend wlan0"));
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn a_transfer_goes_on_when_a_network_drops_everything() {
    went_on(&without("mute wlan0", "unmute wlan0"));
}

#[test]
#[ignore = "needs network namespaces: make test"]
fn a_transfer_begins_where_the_first_network_is_mute() {
    between(
        UNEQUAL,
        1_000_000,
        r#"
        mute wlan0
        client timeout 9 "$PCC" get -q --via wlan0 --via wwan0 "$file" -o got
        cmp file got
        figure done 1
        "#,
    );
}

#[test]
fn interfaces_that_cannot_be_used_are_told() {
    let url = "https://127.0.0.1:1/x";
    for (args, problem) in [
        (&["get", "--via", "none0", url][..], "no interface `none0`"),
        (&["get", "--via", "lo", "--via", "lo", url], "`lo` is named twice"),
        (&["get", "--via", "lo", "kmfm-eb2v-fbhr-85jy"], "a code finds its own ways"),
        (&["put", "--via", "lo", "--over-ssh", ".", "nobody@127.0.0.1:x"], "--over-ssh goes by ssh's connection"),
    ] {
        let done = pcc(args);
        assert!(done.status.code() == Some(2) && said(&done).contains(problem), "{args:?}: {}", said(&done));
    }
}
