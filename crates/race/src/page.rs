//! The page: everything about a race in one file that needs no network.

use super::still::ink_of;
use super::summary::Summary;
use super::timeline::{Timeline, capacity};
use pcc_chart::ink::{self, Ground, Ink};
use pcc_report::provenance::Provenance;
use serde_json::json;
use std::collections::BTreeMap;

const TEMPLATE: &str = include_str!("page.html");

/// The whole page.
pub fn render(summary: &Summary<'_>, provenance: &Provenance) -> String {
    let end = summary.traces.iter().map(|trace| trace.time).max().unwrap_or_default();
    let data = json!({
        "summary": summary.json(),
        "source": provenance.source.word(),
        "provenance": provenance.rows(),
        "file": summary.source.describe(),
        "doubt": summary.doubt(),
        "inks": summary.traces.iter().map(|trace| (trace.algorithm, look(trace.algorithm))).collect::<BTreeMap<_, _>>(),
        "rtt_ms": summary.course.path.rtt().as_secs_f64() * 1e3,
        "capacity": capacity(summary.course, end),
        "runs": summary.traces.iter().map(Timeline::of).collect::<Vec<_>>(),
    });
    // `</script>` in a file name must not end the data; JSON knows the escape, and `<` stands only in strings.
    let data = data.to_string().replace('<', "\\u003c");
    let page = TEMPLATE.replacen("{{light}}", &ink::style(false), 1).replacen("{{dark}}", &ink::style(true), 1);
    page.replacen("{{data}}", &data, 1)
}

/// The colour and the line of a runner, as in every figure.
fn look(algorithm: &str) -> serde_json::Value {
    let Ink { colour, dash, .. } = ink::ink(&ink_of(algorithm), Ground::Page);
    json!({ "colour": colour, "dash": dash })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::example::race;
    use core::time::Duration;
    use pcc_report::provenance::{Build, Source};

    fn page(late: Duration) -> String {
        let build = Build { version: "1".into(), program: "5ea1".into(), commit: None };
        let provenance = Provenance { source: Source::Emulator, build, command: "pcc-lab race".into(), seeds: vec![1] };
        let mut page = String::new();
        race(&[("pcc", 20.0), ("tcp-cubic", 1.0), ("cubic", 1.0)], Some(late), |summary| {
            page = render(summary, &provenance)
        });
        page
    }

    #[test]
    fn runners_look_as_in_every_other_figure() {
        let page = page(Duration::ZERO);
        assert!(!page.contains("{{"), "everything is filled in");
        for own in [
            r##""cubic":{"colour":"var(--cubic)","dash":"7 2 2 2"}"##,
            r##""tcp-cubic":{"colour":"var(--cubic)","dash":null}"##,
        ] {
            assert!(page.contains(own), "{own}: {page}");
        }
        assert_eq!(page.matches("--cubic:#c44e00").count(), 1, "{page}");
    }

    #[test]
    fn a_busy_computer_is_told_where_the_headline_is() {
        assert!(page(Duration::from_secs(1)).contains(r#""doubt":"The computer was too busy"#));
        assert!(page(Duration::ZERO).contains(r#""doubt":null"#));
    }
}
