//! Where results go: the terminal or a log file, as text, one JSON document, or lines of JSON.

use super::args::Args;
use super::text;
use anyhow::Context;
use pcc_perf::client::Interval;
use pcc_perf::json;
use pcc_perf::run::{Run, Test, Turn};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;

/// How results are written.
enum Form {
    Text {
        verbose: bool,
    },
    /// One document at the end: what it will hold of intervals.
    Document {
        intervals: Vec<Value>,
    },
    Stream,
}

/// Writes results in the form that was asked for.
pub(super) struct Output {
    to: Box<dyn Write + Send>,
    form: Form,
    connected: Vec<(SocketAddr, SocketAddr)>,
    /// `--get-server-output`.
    server_output: bool,
}

impl Output {
    /// Opens it.
    ///
    /// Errors: the log file cannot be written.
    pub(super) fn open(args: &Args) -> anyhow::Result<Self> {
        let to: Box<dyn Write + Send> = match &args.logfile {
            Some(file) => {
                let opened = OpenOptions::new().append(true).create(true).open(file);
                Box::new(opened.with_context(|| format!("could not write to the log file {}", file.display()))?)
            }
            None => Box::new(std::io::stdout()),
        };
        let form = match (args.json, args.json_stream) {
            (true, _) => Form::Document { intervals: Vec::new() },
            (_, true) => Form::Stream,
            _ => Form::Text { verbose: args.verbose },
        };
        Ok(Self { to, form, connected: Vec::new(), server_output: args.get_server_output })
    }

    fn write(&mut self, text: &str) -> anyhow::Result<()> {
        // Each piece at once: a log is read, and a pipe is followed, while the test runs.
        self.to.write_all(text.as_bytes()).and_then(|()| self.to.flush()).context("could not write the results")
    }

    fn event(&mut self, event: &str, data: &Value) -> anyhow::Result<()> {
        self.write(&format!("{}\n", json!({ "event": event, "data": data })))
    }

    /// The test begins.
    pub(super) fn start(&mut self, test: &Test) -> anyhow::Result<()> {
        if matches!(self.form, Form::Text { .. }) { self.write(&text::start(test)) } else { Ok(()) }
    }

    /// A run begins, on a connection between these addresses.
    pub(super) fn run(&mut self, test: &Test, turn: Turn, ends: (SocketAddr, SocketAddr)) -> anyhow::Result<()> {
        self.connected.push(ends);
        match self.form {
            Form::Text { .. } => self.write(&text::head(test, turn)),
            Form::Stream if self.connected.len() == 1 => self.event("start", &json::start(test, &[ends])),
            _ => Ok(()),
        }
    }

    /// An interval of it has passed.
    pub(super) fn interval(&mut self, test: &Test, turn: Turn, interval: &Interval) -> anyhow::Result<()> {
        match &mut self.form {
            Form::Text { verbose } => {
                let text = text::interval(interval, *verbose);
                self.write(&text)
            }
            Form::Document { intervals } => {
                intervals.push(json::interval(test, turn, interval));
                Ok(())
            }
            Form::Stream => self.event("interval", &json::interval(test, turn, interval)),
        }
    }

    /// A run has ended.
    pub(super) fn ran(&mut self, run: &Run) -> anyhow::Result<()> {
        if !matches!(self.form, Form::Text { .. }) {
            return Ok(());
        }
        self.write(&text::summary(run))?;
        if self.server_output { self.write(&text::server_output(run)) } else { Ok(()) }
    }

    /// All runs have ended; if there was an `error`, the last one did not come to its end.
    pub(super) fn end(&mut self, test: &Test, runs: &[Run], error: Option<&anyhow::Error>) -> anyhow::Result<()> {
        let error = error.map(|error| format!("{error:#}"));
        let ending = json::ending(test, runs, self.server_output, error);
        match &mut self.form {
            Form::Text { .. } if test.algorithms.len() > 1 && !runs.is_empty() => self.write(&text::comparison(runs)),
            Form::Text { .. } => Ok(()),
            Form::Document { intervals } => {
                let intervals = std::mem::take(intervals);
                let document = json::document(test, &self.connected, intervals, ending);
                self.write(&format!("{document:#}\n"))
            }
            Form::Stream => ending.iter().try_for_each(|(event, data)| self.event(event, data)),
        }
    }

    /// A line of a server.
    pub(super) fn line(&mut self, text: &str, event: &str, data: &Value) -> anyhow::Result<()> {
        if matches!(self.form, Form::Text { .. }) { self.write(&format!("{text}\n")) } else { self.event(event, data) }
    }
}
