//! `--qlog`, as a reader that is not ours finds it: Cloudflare's.
#![cfg(unix)]

use qlog::reader::{Event, QlogSeqReader};
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

#[test]
fn another_reader_finds_pcc_s_events_among_the_packets() {
    let dir = tempfile::tempdir().unwrap();
    let pcc = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pcc"));
        command.current_dir(dir.path()).env("XDG_STATE_HOME", dir.path()).env("XDG_CACHE_HOME", dir.path());
        command
    };
    std::fs::write(dir.path().join("file"), vec![7; 3_000_000]).unwrap();
    let mut server = pcc()
        .args(["serve", "file", "-l", "127.0.0.1:0", "--json", "--qlog", "served"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(server.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let listening: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = listening["urls"][0].as_str().unwrap();
    let got = pcc().args(["get", url, "-o", "copy", "--qlog", "got"]).output().unwrap();
    assert!(got.status.success(), "{got:?}");
    kill_process(Pid::from_child(&server), Signal::TERM).unwrap();
    assert!(server.wait().unwrap().success());

    let files = |name: &str| -> Vec<_> {
        std::fs::read_dir(dir.path().join(name)).unwrap().flatten().map(|entry| entry.path()).collect()
    };
    let [served, got] = ["served", "got"].map(files);
    assert_eq!((served.len(), got.len()), (1, 1));
    assert!(
        served[0].to_str().unwrap().ends_with("-server.sqlog") && got[0].to_str().unwrap().ends_with("-client.sqlog")
    );
    let reader = QlogSeqReader::with_file(&served[0]).unwrap();
    assert_eq!(reader.qlog.serialization_format, "application/qlog+json-seq");
    let (mut packets, mut ours) = (0, Vec::new());
    for event in reader {
        match event {
            Event::Qlog(event) => {
                packets += usize::from(matches!(event.data, qlog::events::EventData::QuicPacketSent(_)));
            }
            Event::Json(event) => {
                if event.name.starts_with("pcc:") {
                    ours.push((event.name, event.data));
                }
            }
        }
    }
    assert!(packets > 1000, "{packets}");
    let named = |name: &str| ours.iter().filter(|(is, _)| is == name).map(|(_, data)| data).collect::<Vec<_>>();
    let (intervals, decisions) = (named("pcc:interval_done"), named("pcc:rate_decision"));
    assert!(!intervals.is_empty() && !decisions.is_empty(), "{ours:?}");
    for interval in intervals {
        assert!(
            interval["packets"].as_u64().unwrap() > 0 && interval["achieved_rate"].as_f64().unwrap() > 0.0,
            "{interval}"
        );
    }
    assert!(decisions.iter().all(|decision| decision["state"].is_string() && decision["rate"].as_f64().unwrap() > 0.0));
}
