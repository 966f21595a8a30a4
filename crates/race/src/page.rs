//! The page: everything about a race in one file that needs no network.

use super::summary::Summary;
use super::timeline::{Timeline, capacity};
use pcc_chart::provenance::Provenance;
use serde_json::json;

const TEMPLATE: &str = include_str!("page.html");

/// The whole page.
pub fn render(summary: &Summary<'_>, provenance: &Provenance) -> String {
    let end = summary.traces.iter().map(|trace| trace.time).max().unwrap_or_default();
    let data = json!({
        "summary": summary.json(),
        "source": provenance.source.word(),
        "provenance": provenance.rows(),
        "file": summary.source.describe(),
        "rtt_ms": summary.course.path.rtt().as_secs_f64() * 1e3,
        "capacity": capacity(summary.course, end),
        "runs": summary.traces.iter().map(Timeline::of).collect::<Vec<_>>(),
    });
    // `</script>` in a file name must not end the data; JSON knows the escape, and `<` stands only in strings.
    TEMPLATE.replacen("{{data}}", &data.to_string().replace('<', "\\u003c"), 1)
}
