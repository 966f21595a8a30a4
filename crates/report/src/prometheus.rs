//! Prometheus's text format 0.0.4: <https://prometheus.io/docs/instrumenting/exposition_formats/>.

use core::fmt::{Display, Write};

/// The media type of a scrape.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The answer to one scrape.
#[derive(Clone, Debug)]
pub struct Exposition {
    prefix: &'static str,
    text: String,
}

/// The series of one name, which follow each other.
#[derive(Debug)]
pub struct Family<'a> {
    name: String,
    text: &'a mut String,
}

impl Exposition {
    /// All names begin with `prefix`.
    pub const fn new(prefix: &'static str) -> Self {
        Self { prefix, text: String::new() }
    }

    /// Begins the series of a name. `kind` is `counter`, `gauge` or `histogram`.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) -> Family<'_> {
        let name = format!("{}{name}", self.prefix);
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        Family { name, text: &mut self.text }
    }

    /// The whole text.
    pub fn into_text(self) -> String {
        self.text
    }
}

impl Family<'_> {
    /// One series of it.
    pub fn sample(&mut self, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.series("", labels, value)
    }

    /// A series whose name goes on, as histograms' do.
    pub fn series(&mut self, ending: &str, labels: &[(&str, &str)], value: impl Display) -> &mut Self {
        self.text.push_str(&self.name);
        self.text.push_str(ending);
        for (number, (label, is)) in labels.iter().enumerate() {
            let _ = write!(self.text, "{}{label}=\"{}\"", if number == 0 { '{' } else { ',' }, escaped(is));
        }
        let _ = writeln!(self.text, "{} {value}", if labels.is_empty() { "" } else { "}" });
        self
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_of_a_name_follow_its_description() {
        let mut all = Exposition::new("pcc_");
        all.family("size_bytes", "gauge", "How large it is").sample(&[], 1.5);
        all.family("parts_total", "counter", "Parts").sample(&[("of", "a\"\\\nb"), ("by", "c")], 2);
        assert_eq!(
            all.into_text(),
            "# HELP pcc_size_bytes How large it is\n# TYPE pcc_size_bytes gauge\npcc_size_bytes 1.5\n\
             # HELP pcc_parts_total Parts\n# TYPE pcc_parts_total counter\n\
             pcc_parts_total{of=\"a\\\"\\\\\\nb\",by=\"c\"} 2\n"
        );
    }
}
