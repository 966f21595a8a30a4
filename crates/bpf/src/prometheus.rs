//! The doings of PCC's connections, as a file for Prometheus's node_exporter:
//! <https://prometheus.io/docs/instrumenting/exposition_formats/>. A file, since that exporter is on such hosts anyway, with
//! its own listener and rights: this tool runs as root, and would have to answer strangers.

use crate::host_error::{Doing as _, HostError};
use crate::rows::{Row, Rows};
use crate::totals::Totals;
use pcc_report::prometheus::Exposition;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes the whole file at once, so that nobody reads half of one; to standard output if it is called `-`.
pub fn write(to: &Path, text: &str) -> Result<(), HostError> {
    if to == Path::new("-") {
        return io::stdout().lock().write_all(text.as_bytes()).doing(|| "cannot write to standard output");
    }
    let failed = || format!("cannot write the metrics to {}", to.display());
    let directory = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !directory.is_dir() {
        let (file, directory) = (to.display().to_string(), directory.display().to_string());
        return Err(HostError::NoDirectory { file, directory });
    }
    let mut file = tempfile::NamedTempFile::new_in(directory).doing(failed)?;
    file.write_all(text.as_bytes()).doing(failed)?;
    // The reader is not root.
    file.as_file().set_permissions(Permissions::from_mode(0o644)).doing(failed)?;
    file.persist(to).map(drop).map_err(|error| error.error).doing(failed)
}

/// A sum over a variant in a network namespace: name, kind, what it is, and its value.
type Total = (&'static str, &'static str, &'static str, fn(&Totals) -> u64);

const TOTALS: [Total; 9] = [
    ("connections", "gauge", "Connections that there are", |one| one[0].saturating_sub(one[1])),
    ("connections_total", "counter", "Connections that began", |one| one[0]),
    ("sent_bytes_total", "counter", "Bytes sent, first or again", |one| one[2]),
    ("acked_bytes_total", "counter", "Bytes acknowledged", |one| one[3]),
    ("sent_packets_total", "counter", "Packets with data sent", |one| one[4]),
    ("lost_packets_total", "counter", "Packets lost", |one| one[5]),
    ("intervals_total", "counter", "Monitor intervals judged", |one| one[6]),
    ("silences_total", "counter", "Times that a path fell silent", |one| one[7]),
    ("panics_total", "counter", "Times that loss made a connection go back at once", |one| one[8]),
];

/// A figure of a connection. These are no counters, since they end with it.
type Metric = (&'static str, &'static str, fn(&Row<'_>) -> Option<f64>);

const CONNECTION: [Metric; 6] = [
    ("rate_bits_per_second", "Rate at which it sent since the last look", |row| Some(row.rate)),
    ("goodput_bits_per_second", "Rate at which data were acknowledged since the last look", |row| Some(row.goodput)),
    ("loss_ratio", "Packets lost of those sent since the last look", |row| row.loss),
    ("rtt_seconds", "Smoothed RTT", |row| Some(row.now.rtt.as_secs_f64())),
    ("window_packets", "Congestion window", |row| Some(row.now.window.into())),
    ("utility", "Utility of the last interval", |row| row.now.utility),
];

/// The whole text: which variants new connections can have, the totals, and the rows that are to be told one by one.
pub fn text(loaded: &[&str], totals: &BTreeMap<(&str, u32), Totals>, rows: &Rows<'_>) -> String {
    let mut text = Exposition::new("pcc_kernel_");
    let mut variants = text.family("loaded", "gauge", "Congestion controls that new connections can have");
    for name in loaded {
        variants.sample(&[("congestion", name)], 1);
    }
    for (name, kind, what, value) in TOTALS {
        let mut family = text.family(name, kind, what);
        for ((congestion, netns), totals) in totals {
            family.sample(&[("congestion", congestion), ("netns", &netns.to_string())], value(totals));
        }
    }
    for (name, what, value) in CONNECTION.iter().filter(|_| !rows.shown.is_empty()) {
        let mut family = text.family(&format!("connection_{name}"), "gauge", what);
        for row in &rows.shown {
            let Some(value) = value(row) else { continue };
            let now = row.now;
            let [netns, local, remote] = [now.netns.to_string(), now.local.to_string(), now.remote.to_string()];
            family
                .sample(&[("congestion", &now.name), ("netns", &netns), ("local", &local), ("remote", &remote)], value);
        }
    }
    text.into_text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::tests::example;

    #[test]
    fn a_missing_directory_is_named_without_a_made_up_file() {
        let error = write(Path::new("/nowhere/pcc.prom"), "").unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "cannot write the metrics to /nowhere/pcc.prom: there is no directory /nowhere"
        );
    }

    #[test]
    fn each_series_is_told_once_with_its_namespace() {
        let totals = BTreeMap::from([(("pcc", 7), [3, 1, 3000, 2000, 30, 3, 9, 0, 0]), (("pcc", 8), [1; 9])]);
        let now = [example(1, 3000, 2000, (30, 3))];
        let rows = Rows { shown: Row::all(&[], &now), ..Rows::default() };
        let text = text(&["pcc"], &totals, &rows);
        for expected in [
            "pcc_kernel_loaded{congestion=\"pcc\"} 1\n",
            "# TYPE pcc_kernel_sent_bytes_total counter\n",
            "pcc_kernel_sent_bytes_total{congestion=\"pcc\",netns=\"7\"} 3000\n",
            "pcc_kernel_sent_bytes_total{congestion=\"pcc\",netns=\"8\"} 1\n",
            "pcc_kernel_connections{congestion=\"pcc\",netns=\"7\"} 2\n",
            "pcc_kernel_connection_utility{congestion=\"pcc\",netns=\"7\",local=\"192.0.2.1:5001\",remote=\"192.0.2.1:443\"} 1.5\n",
        ] {
            assert_eq!(text.matches(expected).count(), 1, "{expected}\n{text}");
        }
        let series: Vec<_> = text.lines().filter_map(|line| line.rsplit_once(' ')).map(|(series, _)| series).collect();
        let distinct: std::collections::BTreeSet<_> = series.iter().collect();
        assert_eq!(distinct.len(), series.len(), "{text}");
    }

    #[test]
    fn connections_are_told_only_where_they_are_asked_for() {
        let text = text(&["pcc"], &BTreeMap::from([(("pcc", 7), [1; 9])]), &Rows::default());
        assert!(!text.contains("connection_") && !text.contains("remote="), "{text}");
    }

    #[test]
    fn the_file_is_replaced_whole_and_others_may_read_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pcc.prom");
        for text in ["a long text of before\n", "short\n"] {
            write(&file, text).unwrap();
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
        }
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1, "something is left beside it");
        let error = write(Path::new("/nowhere/pcc.prom"), "").unwrap_err();
        assert!(format!("{error:#}").contains("/nowhere/pcc.prom"), "{error:#}");
    }
}
