//! `pcc-lab report` as its reader meets it: the command, and the page in a browser where there is one.
#![cfg(target_os = "linux")]

use pcc_lab::program::Program;
use pcc_lab::scenario::{self, Options, Run};
use pcc_lab::spec::{FlowOutcome, FlowSample, Outcome};
use pcc_lab::store::Store;
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = "0123456789abcdef";
const STACK: &str = "57ac457ac457ac45";

/// The one supplied scenario that was not run; it shares no path with another.
const NOT_RUN: &str = "satellite";

/// Results of the others, for which no kernel is needed: every flow delivers evenly, by its seed.
fn results(dir: &Path) -> Vec<&'static str> {
    let store = Store::at(dir, "k");
    let program = Program { hash: PROGRAM.into(), stack: STACK.into() };
    let names: Vec<_> = scenario::names().filter(|name| *name != NOT_RUN).collect();
    for name in &names {
        for mut run in scenario::load(name, &Options::default()).unwrap().runs {
            run.spec.program = program.of(&run.spec);
            store.keep(&run.spec, &outcome(&run), 3.0).unwrap();
        }
    }
    store.keep_origin(&program, Some("abc1234")).unwrap();
    names
}

fn outcome(run: &Run) -> Outcome {
    let flow = |number: usize| {
        let spec = &run.spec.flows[number];
        let rate = run.spec.path.rate / 8 / (2 + number as u64 + run.spec.seed % 3);
        let sample = |place: u64| {
            let at = spec.start + (spec.stop - spec.start) / 20 * place;
            let delivered = (at - spec.start) / 1_000_000 * rate / 1000;
            FlowSample { at, delivered, sent: delivered + 1, rtt: 40_000, ..FlowSample::default() }
        };
        FlowOutcome { samples: (0..=20).map(sample).collect(), ..FlowOutcome::default() }
    };
    let flows = (0..run.spec.flows.len()).map(flow).collect();
    Outcome { kernel: "6.12.1".into(), flows, ..Outcome::default() }
}

/// Writes the report and answers the page's path and the names of the scenarios that were run.
fn report(dir: &Path) -> (PathBuf, Vec<&'static str>) {
    let names = results(&dir.join("results"));
    let output = Command::new(env!("CARGO_BIN_EXE_pcc-lab"))
        .args(["report", "--results", "results", "--program", PROGRAM, "-o", "page.html"])
        .args(["--csv", "tables", "--pictures", "pictures"])
        .current_dir(dir)
        .env("XDG_CACHE_HOME", dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    (dir.join("page.html"), names)
}

#[test]
fn a_report_has_every_scenario_with_tables_and_pictures() {
    let dir = tempfile::tempdir().unwrap();
    let (page, names) = report(dir.path());
    let page = std::fs::read_to_string(page).unwrap();
    for name in scenario::names() {
        assert!(page.contains(&format!("<section id=\"{name}\">")), "{name}");
        let is_there = |file: String| dir.path().join(file).is_file();
        assert_eq!(is_there(format!("tables/{name}.csv")), names.contains(&name), "{name}");
        assert_eq!(is_there(format!("pictures/{name}.svg")), names.contains(&name), "{name}");
    }
    assert!(page.contains("abc1234") && page.contains("6.12.1") && page.contains("not run"));
    assert!(page.len() < 4_000_000, "{} bytes are too much for a phone", page.len());
}

#[test]
fn a_dry_run_needs_no_kernel() {
    let dir = tempfile::tempdir().unwrap();
    let mut pcc = Command::new(env!("CARGO_BIN_EXE_pcc-lab"));
    let done = pcc.args(["run", "satellite", "--dry-run"]).env("XDG_CACHE_HOME", dir.path()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.contains("runs to do (0 stored)"), "{said}");
}

/// Asks the page about itself, at a given width: what is wrong with it, an empty list if nothing is.
const INSPECTOR: &str = r#"<!DOCTYPE html><html><body style="margin:0">
<iframe id="page" src="page.html" width="WIDTH" height="900" style="border:0"></iframe><pre id="result"></pre>
<script>
document.getElementById("page").onload = event => {
  const page = event.target.contentDocument, wrong = [];
  const wide = page.documentElement.scrollWidth;
  if (wide > WIDTH) wrong.push(`the page is ${wide} wide`);
  const shown = [...page.querySelectorAll("figure > svg")].filter(svg => svg.getBoundingClientRect().width > 0);
  const figures = page.querySelectorAll("figure").length;
  if (figures === 0 || shown.length !== figures) wrong.push(`${shown.length} pictures for ${figures} figures`);
  for (const svg of shown) {
    const box = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")];
    for (const text of texts) {
      const at = text.getBoundingClientRect();
      if (at.left < box.left - 1 || at.right > box.right + 1 || at.bottom > box.bottom + 1)
        wrong.push(`"${text.textContent}" leaves its picture`);
      if (at.height < 9) wrong.push(`"${text.textContent}" is ${at.height} high`);
    }
    const marks = svg.querySelectorAll("path[stroke], path[fill]").length;
    if (texts.length < 4 || marks < 4) wrong.push("a picture is empty");
  }
  document.getElementById("result").textContent = `FOUND ${JSON.stringify(wrong)} END`;
};
</script></body></html>"#;

#[test]
#[ignore = "needs Chromium: make test"]
fn the_page_fits_a_desk_and_a_phone_in_a_real_browser() {
    let known = ["chromium", "chromium-browser", "google-chrome"];
    let is_there =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let browser = known.iter().find(|name| is_there(name)).unwrap_or_else(|| panic!("none of {known:?} runs"));
    let dir = tempfile::tempdir().unwrap();
    report(dir.path());
    for width in ["1200", "390"] {
        let inspector = dir.path().join("inspector.html");
        std::fs::write(&inspector, INSPECTOR.replace("WIDTH", width)).unwrap();
        let output = Command::new("timeout")
            .args(["120", browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"])
            .args(["--virtual-time-budget=20000", "--window-size=1300,1000", "--dump-dom"])
            .arg(format!("--user-data-dir={}", dir.path().join("profile").display()))
            .arg(&inspector)
            .output()
            .unwrap();
        let dom = String::from_utf8_lossy(&output.stdout);
        let found = dom.split_once("FOUND ").and_then(|(_, rest)| rest.split_once(" END")).map(|(found, _)| found);
        assert_eq!(found, Some("[]"), "at {width}: {dom:.2000}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
