//! `pcc-lab sim drawn` in parts. The paths are of another campaign than the published one.
#![cfg(target_os = "linux")]

use std::process::Command;

fn lab(arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pcc-lab"));
    let done = command.args(arguments.split(' ')).output().unwrap();
    assert!(done.status.success(), "{arguments}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn drawn(arguments: &str) -> String {
    lab(&format!("sim drawn --draws 7 --time-limit 3s --seed 1 {arguments}"))
}

#[test]
fn a_shard_repeats_byte_for_byte() {
    let [one, again] = [(); 2].map(|()| drawn("--shard 3/100"));
    assert!(one == again, "{one}\n{again}");
    assert_eq!(one.lines().count(), 1 + 2 * 3, "two paths with three senders: {one}");
}

#[test]
fn the_shards_of_a_campaign_are_its_paths() {
    let rows = |text: String| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let [left, right] = ["--shard 3/100", "--shard 53/100"].map(|shard| rows(drawn(shard)));
    let mut joined = [left, right].concat();
    let mut whole = rows(drawn("--shard 3/50"));
    joined.sort();
    whole.sort();
    assert_eq!(joined, whole);
    assert_eq!(rows(drawn("--path 3,53,103,153")).len(), whole.len());
    assert_eq!(rows(lab("sim drawn --list")).len(), 200);
}
