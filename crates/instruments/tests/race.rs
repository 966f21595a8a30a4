//! `pcc-lab race` as its users run it.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

/// Fast, with a little of everything.
const PATH: &str = "rate=50Mbit,rtt=20ms,buffer=64KB";

fn race(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pcc-lab")).arg("race").args(arguments).current_dir(folder).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// A folder with a file of two megabytes that no two parts of are alike.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let data: Vec<u8> = (0..500_000u32).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    std::fs::write(dir.path().join("file"), data).unwrap();
    dir
}

#[test]
fn every_copy_is_verified_and_last_line_of_json_holds_results() {
    let dir = folder();
    let done = race(dir.path(), &[PATH, "file", "-C", "pcc,cubic", "--json", "-o", "page.html", "--svg", "still.svg"]);
    assert!(done.status.success(), "{done:?}");
    let lines: Vec<Value> = text(&done.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["event"], &lines[0]["bytes"]), (&"start".into(), &2_000_000.into()));
    let progress = lines.iter().find(|line| line["event"] == "finished" && line["algorithm"] == "pcc").unwrap();
    for key in ["seconds", "bytes", "rtt_ms", "packets_sent", "packets_lost", "congestion_window", "rate_bps"] {
        assert!(progress[key].is_number(), "{key} in {progress}");
    }
    assert_eq!(lines.iter().filter(|line| line["event"] == "finished").count(), 2);
    let last = lines.last().unwrap();
    assert_eq!((&last["preset"], &last["bytes"]), (&PATH.into(), &2_000_000.into()));
    let results = last["results"].as_array().unwrap();
    assert_eq!(results.iter().map(|r| r["algorithm"].as_str().unwrap()).collect::<Vec<_>>(), ["pcc", "cubic"]);
    for result in results {
        assert_eq!((&result["finished"], &result["verified"]), (&true.into(), &true.into()), "{result}");
        assert_eq!(result["bytes"], 2_000_000);
        assert_eq!(result["error"], Value::Null);
        assert!(result["packets_sent"].as_u64().unwrap() >= 1400, "{result}");
        for key in ["packets_lost", "dropped_random", "dropped_buffer", "dropped_host"] {
            assert!(result[key].is_u64(), "{key} in {result}");
        }
        assert!(result["late_ms"].is_number(), "{result}");
        let number = |key: &str| result[key].as_f64().unwrap_or_else(|| panic!("{key} in {result}"));
        let expected = 2_000_000.0 * 8e-6 / number("seconds");
        assert!((number("goodput_mbps") / expected - 1.0).abs() < 1e-6, "{result}");
        // 2 MB cannot pass faster than the path carries them, and everything is sent at least once.
        assert!(number("goodput_mbps") < 50.0 && number("share") < 1.1, "{result}");
        assert!(number("waste") > 1.0 && number("waste") < 3.0, "{result}");
        assert!((0.0..=number("seconds")).contains(&number("started_seconds")) && number("share_started") >= 0.0);
        assert!((0.0..1.0).contains(&number("loss")) && number("rtt_added_ms") > -1.0, "{result}");
    }
    let digest = blake3::hash(&std::fs::read(dir.path().join("file")).unwrap()).to_string();
    assert_eq!((&last["blake3"], &last["path"], &last["seed"]), (&digest.into(), &PATH.into(), &1.into()));
    assert!(last["host_too_slow"].is_boolean());
    assert_eq!(last["version"], env!("CARGO_PKG_VERSION"));
    let page = std::fs::read_to_string(dir.path().join("page.html")).unwrap();
    assert!(page.contains("Measured with real connections over a path that pcc emulates"), "whence the figures are");
    assert!(page.contains(r#""source":"Raced""#) && page.contains(r#"["Program","pcc "#), "and by which build");
    the_page_stands_alone(&page);
    let still = std::fs::read_to_string(dir.path().join("still.svg")).unwrap();
    assert!(still.matches("stroke-linejoin").count() == 3 && still.contains("PCC") && still.contains("CUBIC"));
}

/// It holds the data, and asks for nothing.
fn the_page_stands_alone(page: &str) {
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("{{data}}"));
    let data =
        page.split_once(r#"<script type="application/json" id="data">"#).unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(data["summary"]["seed"], 1);
    assert_eq!(data["summary"]["results"].as_array().unwrap().len(), 2);
    let rows = data["provenance"].as_array().unwrap();
    let command = rows.iter().find(|row| row[0] == "Command").unwrap();
    assert!(command[1].as_str().unwrap().starts_with("pcc-lab race "), "{rows:?}");
    let runs = data["runs"].as_array().unwrap();
    let length = |run: &Value, key: &str| run[key].as_array().unwrap().len();
    for run in runs {
        for key in ["goodput", "rate", "rtt", "loss"] {
            assert_eq!(length(run, key), length(run, "t"), "{key}");
        }
    }
    assert!(length(&runs[0], "states") > 0 && length(&runs[1], "states") == 0);
    // The legend says what the colour of each state is.
    for state in ["Starting", "Draining", "Probing", "Decision Making", "Rate Adjusting"] {
        assert!(page.contains(&format!("\"{state}\": \"var(")), "{state}");
    }
}

#[test]
fn the_table_names_every_runner_and_one_after_another_works_too() {
    let dir = folder();
    let done = race(dir.path(), &[PATH, "-C", "pcc,cubic", "--size", "1MB", "--serial"]);
    assert!(done.status.success(), "{done:?}");
    let table = text(&done.stdout);
    for name in ["pcc ", "cubic "] {
        let line = table.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{name} in {table}"));
        assert!(line.contains("Mbit/s") && line.ends_with("verified"), "{line}");
    }
    assert!(dir.path().join("pcc-race.html").exists());
}

#[test]
fn an_unfinished_runner_shows_its_verified_bytes() {
    let dir = folder();
    // CUBIC takes each random loss for congestion, and is far behind when PCC is through.
    let slow = "rate=20Mbit,rtt=200ms,loss=3%,buffer=30KB";
    let done = race(dir.path(), &[slow, "-C", "pcc,cubic", "--size", "6MB", "--time-limit", "0s", "--json"]);
    assert!(done.status.success(), "{done:?}");
    let last: Value = serde_json::from_str(text(&done.stdout).lines().last().unwrap()).unwrap();
    let results = last["results"].as_array().unwrap();
    let unfinished: Vec<_> = results.iter().filter(|result| result["finished"] == false).collect();
    assert_eq!(unfinished.len(), 1, "{last}");
    let moved = unfinished[0]["bytes"].as_u64().unwrap();
    assert!(moved < 6_000_000 && unfinished[0]["verified"] == true, "{last}");
}

#[test]
fn what_cannot_work_is_refused_before_the_race() {
    let dir = folder();
    let refused = |arguments: &[&str], code: i32, named: &[&str]| {
        let done = race(dir.path(), arguments);
        let error = text(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{arguments:?}: {error}");
        assert!(named.iter().all(|word| error.contains(word)), "{arguments:?}: {error}");
        assert!(error.matches("satellite").count() < 2, "nothing is told twice: {error}");
        assert!(!dir.path().join("pcc-race.html").exists());
    };
    refused(&["sattelite"], 2, &["sattelite", "satellite", "lossy", "no file"]);
    refused(&["lossy", "-C", "pcc,vegas"], 2, &["vegas", "newreno"]);
    refused(&["lossy", "-C", "pcc,pcc"], 2, &["pcc", "twice"]);
    refused(&["lossy", "missing"], 1, &["missing"]);
    refused(&["lossy", "."], 1, &["not a file"]);
    refused(&["lossy", "--size", "0"], 2, &["nothing to move"]);
    refused(&["lossy", "-o", "no/such/folder.html"], 1, &["no/such/folder.html", "-o FILE"]);
    refused(&["lossy", "--svg", "."], 1, &["directory", "--svg FILE"]);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is left behind but the file that was there");
}

#[test]
fn a_file_alone_races_over_the_usual_path() {
    let dir = folder();
    std::fs::write(dir.path().join("film.mkv"), [7; 100_000]).unwrap();
    let done = race(dir.path(), &["film.mkv", "-C", "pcc", "--json"]);
    assert!(done.status.success(), "{done:?}");
    let lines: Vec<Value> = text(&done.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&lines[0]["preset"], &lines[0]["bytes"]), (&"satellite".into(), &100_000.into()));
    assert_eq!(lines.last().unwrap()["results"][0]["verified"], true);
}

#[cfg(target_os = "linux")]
#[test]
#[ignore = "needs root's network namespaces: make test"]
fn the_kernels_tcp_carries_the_same_file_over_the_same_path() {
    let dir = folder();
    let done = race(dir.path(), &[PATH, "file", "-C", "pcc", "--kernel", "--serial", "--json"]);
    assert!(done.status.success(), "{done:?}");
    let last: Value = serde_json::from_str(text(&done.stdout).lines().last().unwrap()).unwrap();
    let results = last["results"].as_array().unwrap();
    assert_eq!(
        results.iter().map(|r| r["algorithm"].as_str().unwrap()).collect::<Vec<_>>(),
        ["pcc", "tcp-cubic", "tcp-bbr"]
    );
    for result in results {
        assert_eq!((&result["finished"], &result["verified"]), (&true.into(), &true.into()), "{result}");
        let number = |key: &str| result[key].as_f64().unwrap_or_else(|| panic!("{key} in {result}"));
        // The same packets on the same path: 2 MB in packets of 1480 bytes, at most 50 Mbit/s with their headers. How
        // many are sent twice depends on how busy this computer is.
        assert!(number("packets_sent") >= 1400.0 && number("waste") > 1.01, "{result}");
        assert!(number("goodput_mbps") < 50.0 && number("share") < 1.1, "{result}");
        assert!((0.0..1.0).contains(&number("loss")) && number("rtt_added_ms") > -1.0, "{result}");
    }
    let page = std::fs::read_to_string(dir.path().join("pcc-race.html")).unwrap();
    assert!(page.contains("tcp-bbr"));
}

#[cfg(unix)]
#[test]
fn a_race_that_nobody_reads_ends() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    let dir = folder();
    // Left alone, it takes a quarter of an hour.
    let mut race = Command::new(env!("CARGO_BIN_EXE_pcc-lab"))
        .args(["race", "rate=200kbit,rtt=20ms", "-C", "pcc,cubic", "--size", "20MB", "--json"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(race.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("start"), "{line}");
    assert_eq!(race.wait().unwrap().code(), Some(141));
}

#[cfg(unix)]
#[test]
fn an_interrupted_race_shows_what_it_has() {
    use std::io::{BufRead, BufReader, Read};
    use std::process::Stdio;
    let (dir, temporary) = (folder(), tempfile::tempdir().unwrap());
    let arguments = ["race", "rate=2Mbit,rtt=20ms", "-C", "pcc,cubic", "--size", "20MB", "--json"];
    let mut race = Command::new(env!("CARGO_BIN_EXE_pcc-lab"))
        .args(arguments)
        .current_dir(dir.path())
        .env("TMPDIR", temporary.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(race.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("progress") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "it ended by itself");
    }
    let left = std::fs::read_dir(temporary.path()).unwrap().count();
    assert_eq!(left, 0, "whoever is killed now, or presses Ctrl-C twice, leaves nothing");
    assert!(Command::new("kill").args(["-INT", &race.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert_eq!(race.wait().unwrap().code(), Some(130));
    let last: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert_eq!(last["results"].as_array().unwrap().len(), 2, "{last}");
    assert!(last["results"][0]["finished"] == false && last["results"][0]["verified"] == true, "{last}");
}
