//! One run: its own server, client, copy of the path and threads, so that runners share nothing but the computer.

use super::carrier::Carrier;
use super::course::FILE_SHARE_OF_UDP;
use super::entry::{Ended, Entry, Update, verify};
use super::kernel;
use super::source::nameless;
use super::trace::{SAMPLE_INTERVAL, Sample, Trace, Watch};
use super::transfer::{Client, Server};
use anyhow::Context;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use noq::{Connection, PathId};
use pcc_netem as emulate;
use pcc_quic::{Algorithm, PccConfig, transport};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;
use tokio::fs::File;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::UnboundedSender;

/// Runs everybody, at once or one after another, and answers what became of each.
pub fn run_all(entries: Vec<Entry>, serial: bool, tell: &UnboundedSender<Update>) -> Vec<Trace> {
    let mut runners: Vec<_> = entries
        .into_iter()
        .enumerate()
        .map(|(runner, entry)| (entry.carrier.name(), move |tell: UnboundedSender<Update>| run(runner, &entry, &tell)))
        .collect();
    let together = if serial { 1 } else { runners.len().max(1) };
    let mut traces = Vec::new();
    while !runners.is_empty() {
        let group = runners.drain(..together.min(runners.len()));
        let threads: Vec<_> = group
            .map(|(name, runner)| {
                let tell = tell.clone();
                (name, thread::Builder::new().name(format!("race-{name}")).spawn(move || runner(tell)))
            })
            .collect();
        traces.extend(threads.into_iter().map(|(name, thread)| match thread.map(thread::JoinHandle::join) {
            Ok(Ok(trace)) => trace,
            Ok(Err(_)) => Trace::failed(name, "its thread failed".to_owned()),
            Err(error) => Trace::failed(name, format!("no thread for it: {error}")),
        }));
    }
    traces
}

/// Threads for one runner's server and client.
const WORKERS: usize = 2;

fn run(runner: usize, entry: &Entry, tell: &UnboundedSender<Update>) -> Trace {
    let name = entry.carrier.name();
    let run = || -> anyhow::Result<Trace> {
        let algorithm = match &entry.carrier {
            Carrier::Quic(algorithm) => algorithm,
            Carrier::Tcp { kernel, .. } => return kernel::go(runner, entry, kernel, tell),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name(format!("race-{name}"))
            .enable_all()
            .build()
            .context("no I/O threads for it")?;
        let trace = runtime.block_on(go(runner, entry, algorithm, tell));
        runtime.shutdown_background();
        trace
    };
    let trace = run().unwrap_or_else(|error| Trace::failed(name, format!("{error:#}")));
    let ended = match &trace {
        Trace { error: Some(_), .. } => Ended::Failed,
        Trace { finished: true, .. } => Ended::Finished,
        _ => Ended::Unfinished,
    };
    let sample = trace.samples.last().copied().unwrap_or_default();
    let _ = tell.send(Update { runner, algorithm: name, sample, state: None, ended: Some(ended) });
    trace
}

async fn go(runner: usize, entry: &Entry, chosen: &Algorithm, tell: &UnboundedSender<Update>) -> anyhow::Result<Trace> {
    let Entry { course, source, rules, .. } = entry;
    let name = chosen.name();
    let watch = Arc::new(Watch::default());
    let algorithm = watched(chosen, course.seed, &watch);
    let windows = course.windows();
    let server = Server::start(Arc::clone(source), transport::config(&algorithm, &windows), windows)?;
    let mut options = emulate::Options::new(course.path.clone(), server.address);
    options.seed = course.seed;
    let relay = emulate::relay(options)?;
    let began = Instant::now();
    let receiving = transport::config(chosen, &windows);
    let mut client = Client::connect(relay.addr(), server.trust.clone(), receiving).await?;
    if let (0, Some(warning)) = (runner, client.warning()) {
        tracing::warn!("{warning}");
    }
    let mut copy = File::from_std(nameless()?);

    let request = Instant::now();
    let mut trace = Trace { algorithm: name, requested: request - began, ..Trace::default() };
    let seen = Seen { client: client.connection(), server: Arc::clone(&server.connection), watch: Arc::clone(&watch) };
    let received = AtomicU64::new(0);
    let mut every = tokio::time::interval(SAMPLE_INTERVAL);
    every.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    let fetched = {
        let fetch = client.fetch(&mut copy, &received);
        tokio::pin!(fetch);
        loop {
            tokio::select! {
                fetched = &mut fetch => break Some(fetched?),
                _ = every.tick() => {
                    let sample = seen.sample(request.elapsed(), received.load(Relaxed));
                    trace.samples.push(sample);
                    let _ = tell.send(Update { runner, algorithm: name, sample, state: watch.state(), ended: None });
                    if rules.over(sample.at) {
                        break None;
                    }
                }
            }
        }
    };
    trace.time = fetched.unwrap_or_else(Instant::now) - request;
    if fetched.is_some() {
        rules.finished(trace.time);
    }
    trace.samples.push(seen.sample(trace.time, received.load(Relaxed)));
    trace.states = watch.states(request);
    trace.rates = watch.rates(request);
    client.close();
    server.close();
    let report = relay.stop();
    let path = report.down.link;
    trace.dropped_random = path.dropped_random.packets + path.dropped_blackout.packets;
    trace.dropped_buffer = path.dropped_buffer.packets + path.dropped_queue.packets;
    trace.dropped_host = report.down.dropped_host.packets + report.up.dropped_host.packets + report.missed;
    trace.late = Some(report.lateness.quantile(0.99));

    copy.flush().await.context("cannot write the copy")?;
    let copy = copy.into_std().await;
    tokio::task::block_in_place(|| verify(&mut trace, source, copy, fetched.is_some()))?;
    Ok(trace)
}

/// The algorithm, with us listening if it is PCC.
fn watched(algorithm: &Algorithm, seed: u64, watch: &Arc<Watch>) -> Algorithm {
    match algorithm {
        Algorithm::Pcc(PccConfig { core, .. }) => {
            let core = pcc::Config { seed, observer: Some(Arc::clone(watch) as _), ..core.clone() };
            Algorithm::Pcc(core.into())
        }
        other => other.clone(),
    }
}

/// The figures that are looked at.
struct Seen {
    client: Connection,
    server: Arc<OnceLock<Connection>>,
    watch: Arc<Watch>,
}

impl Seen {
    fn sample(&self, at: Duration, received: u64) -> Sample {
        let mut sample = Sample { at, received, rate: self.watch.rate(), ..Sample::default() };
        sample.arrived = (self.client.stats().udp_rx.bytes as f64 * FILE_SHARE_OF_UDP) as u64;
        if let Some(path) = self.server.get().and_then(|server| server.path_stats(PathId::ZERO)) {
            sample.rtt = path.rtt;
            sample.sent_packets = path.sent_packets;
            sample.lost_packets = path.lost_packets;
            sample.sent_bytes = path.udp_tx.bytes;
            sample.window = path.cwnd;
        }
        sample
    }
}
