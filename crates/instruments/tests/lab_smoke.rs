//! Four small scenarios on the guest kernel, with what is known of them: the kernel's TCPs as textbooks and papers
//! describe them, and PCC. Virtual time and fixed seeds: the same figures on every machine.
//! `cargo test -p pcc-instruments --test lab_smoke -- --ignored` after `pcc-lab build`.
#![cfg(target_os = "linux")]

use serde_json::Value;
use std::fs;
use std::process::Command;

/// Runs the text of a scenario and returns its rows.
fn rows(scenario: &str) -> Vec<Value> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("smoke.toml"), format!("title = 'smoke'\nsource = 'a test'\nexact = true\n{scenario}"))
        .unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc-lab"));
    command.args(["run", "smoke.toml", "--jobs", "1", "--results", "results", "--json"]).current_dir(dir.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    answer["rows"].as_array().unwrap().clone()
}

#[track_caller]
fn figure(rows: &[Value], algorithm: &str, measure: &str) -> f64 {
    let row = rows.iter().find(|row| row["algorithm"] == algorithm).unwrap();
    row[measure]["mean"].as_f64().unwrap_or_else(|| panic!("no {measure} in {row}"))
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn behind_six_packets_of_buffer_pcc_fills_what_cubic_cannot() {
    let rows = rows(
        "duration = '15s'\nseeds = [1]\nalgorithms = ['quic:pcc', 'cubic', 'bbr']\n\
         path = { rate = '20Mbit', rtt = '60ms', buffer = '9kB' }\n",
    );
    let share = |algorithm| figure(&rows, algorithm, "share");
    assert!(share("quic:pcc") > 0.85, "{rows:#?}");
    assert!(share("quic:pcc") > share("bbr") && share("bbr") > share("cubic"), "{rows:#?}");
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn two_percent_of_loss_stop_cubic_and_not_pcc() {
    let rows = rows(
        "duration = '15s'\nseeds = [1]\nalgorithms = ['quic:pcc', 'cubic', 'bbr']\n\
         path = { rate = '20Mbit', rtt = '30ms', buffer = '1bdp', loss = 0.02, reverse_loss = 0.02 }\n",
    );
    let share = |algorithm| figure(&rows, algorithm, "share");
    assert!(share("quic:pcc") > 0.85 && share("bbr") > 0.8, "{rows:#?}");
    assert!(share("cubic") < 0.3, "{rows:#?}");
    // Besides what is lost at random, 2 %, and the headers, 2.5 %.
    assert!(figure(&rows, "quic:pcc", "waste") < 1.10, "{rows:#?}");
}

#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn two_equal_flows_share_a_link() {
    let rows = rows(
        "duration = '30s'\nseeds = [1]\nalgorithms = ['quic:pcc', 'reno']\n\
         path = { rate = '10Mbit', rtt = '30ms', buffer = '1bdp' }\n\
         [[flow]]\ncount = 2\n",
    );
    for algorithm in ["quic:pcc", "reno"] {
        assert!(figure(&rows, algorithm, "share") > 0.85, "{rows:#?}");
    }
}

/// TCP would make trains of 64 kB where a round trip is this short, and half of each would not fit into the port.
#[test]
#[ignore = "boots the guest kernel: run `pcc-lab build` first"]
fn many_senders_in_the_kernel_meet_at_a_port() {
    // The last of ten senders waits for a time-out of 200 ms in two of five runs.
    // With drawn starts PCC has 0.12 of the most in one seed and 0.78 in the other, CUBIC 0.84 in both.
    let rows = rows(
        "duration = '1s'\nstep = '10ms'\nseeds = [1, 2]\nalgorithms = ['pcc', 'cubic']\n\
         path = { rate = '1Gbit', rtt = '100us', buffer = '64kB', ecn = true }\n\
         [[flow]]\nsize = '256kB'\n[sweep]\nparameter = 'flows'\nvalues = [14]\n[[figure]]\ny = 'incast'\n",
    );
    let incast = |algorithm| figure(&rows, algorithm, "incast");
    assert!(incast("pcc") > 0.8 * incast("cubic") && incast("cubic") > 0.3, "{rows:#?}");
    assert!(figure(&rows, "pcc", "waste") < 1.25, "{rows:#?}");
}
