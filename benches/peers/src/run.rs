//! One run: two processes, each on its processor.

use crate::Transport;
use anyhow::{Context, Result, bail};
use bytes::Bytes;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use nix::unistd::Pid;
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What a run measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    bytes: f64,
    /// From the first byte to the last one, at the receiver.
    seconds: f64,
    sender_cpu: f64,
    receiver_cpu: f64,
}

impl Run {
    pub(crate) fn gbit(&self) -> f64 {
        self.bytes * 8e-9 / self.seconds
    }

    /// Processor time of the sender for a gigabyte. Unit: ms.
    pub(crate) fn sender_cost(&self) -> f64 {
        self.sender_cpu * 1e12 / self.bytes
    }

    pub(crate) fn receiver_cost(&self) -> f64 {
        self.receiver_cpu * 1e12 / self.bytes
    }
}

/// When data began to flow: what a process costs before says nothing of the stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Began {
    at: Instant,
    cpu: f64,
}

impl Began {
    pub(crate) fn now() -> Result<Self> {
        Ok(Self { at: Instant::now(), cpu: cpu()? })
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.at.elapsed()
    }

    fn cost(&self) -> Result<f64> {
        Ok(cpu()? - self.cpu)
    }

    /// Says what sending cost.
    pub(crate) fn report(self) -> Result<()> {
        say(format_args!("{}", self.cost()?))
    }
}

/// Bytes as they come in.
#[derive(Debug, Default)]
pub(crate) struct Arrived {
    bytes: u64,
    began: Option<Began>,
}

impl Arrived {
    /// Counts the chunks and frees them.
    pub(crate) fn add(&mut self, chunks: &mut [Bytes]) -> Result<()> {
        if self.began.is_none() {
            self.began = Some(Began::now()?);
        }
        self.bytes += chunks.iter_mut().map(|chunk| std::mem::take(chunk).len() as u64).sum::<u64>();
        Ok(())
    }

    /// Says how many bytes came in how many seconds, and what that cost. Then it stays, to acknowledge the last of them, until the run
    /// is over.
    pub(crate) async fn report(self) -> Result<()> {
        let began = self.began.context("nothing arrived")?;
        say(format_args!("{} {} {}", self.bytes, began.elapsed().as_secs_f64(), began.cost()?))?;
        std::future::pending().await
    }
}

/// Where runs take place: this program, the files of a certificate, two processors.
#[derive(Debug)]
pub(crate) struct Pair {
    program: PathBuf,
    directory: PathBuf,
    processors: (usize, usize),
}

impl Pair {
    pub(crate) fn new() -> Result<Self> {
        let allowed = sched_getaffinity(Pid::from_raw(0))?;
        let mut processors = (0..CpuSet::count()).filter(|&index| allowed.is_set(index).unwrap_or(false));
        let (Some(first), Some(second)) = (processors.next(), processors.next()) else {
            bail!("two processors are needed, one for the sender and one for the receiver: NOT RUN");
        };
        let directory = std::env::temp_dir().join(format!("peers-{}", std::process::id()));
        std::fs::create_dir_all(&directory)?;
        let pair = Self { program: std::env::current_exe()?, directory, processors: (first, second) };
        let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        std::fs::write(pair.certificate(), certified.cert.pem())?;
        std::fs::write(pair.key(), certified.signing_key.serialize_pem())?;
        Ok(pair)
    }

    fn certificate(&self) -> PathBuf {
        self.directory.join("certificate.pem")
    }

    fn key(&self) -> PathBuf {
        self.directory.join("key.pem")
    }

    fn start(&self, processor: usize, role: &str, transport: Transport, paths: &[&Path]) -> Result<Started> {
        let mut command = Command::new(&self.program);
        command.arg(role).arg(transport.name()).args(paths).stdout(Stdio::piped());
        // A process inherits the processors of the thread that starts it.
        pin(processor)?;
        let mut child = command.spawn()?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Started { child, output })
    }

    pub(crate) fn run(&self, transport: Transport, time: Duration) -> Result<Run> {
        let mut receiver = self.start(self.processors.1, "receive", transport, &[&self.certificate(), &self.key()])?;
        let port = receiver.line()?;
        let seconds = time.as_secs_f64().to_string();
        let to = [self.certificate(), port.into(), seconds.into()];
        let mut sender = self.start(self.processors.0, "send", transport, &to.each_ref().map(|path| path.as_path()))?;
        let sender_cpu = sender.line().context("the sender")?.parse()?;
        let arrived = receiver.line().context("the receiver")?;
        let figures: Vec<f64> = arrived.split(' ').map(str::parse).collect::<Result<_, _>>()?;
        let [bytes, seconds, receiver_cpu] = figures[..] else { bail!("the receiver said {arrived:?}") };
        Ok(Run { bytes, seconds, sender_cpu, receiver_cpu })
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory); // a temporary one
    }
}

fn pin(processor: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(processor)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// A process of a run, which ends with it.
struct Started {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Started {
    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        if line.is_empty() {
            bail!("it ended too early");
        }
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill(); // it may have ended
        let _ = self.child.wait();
    }
}

/// A UDP socket with the same large buffers for every stack.
pub(crate) fn socket() -> Result<UdpSocket> {
    Ok(pcc_quic::socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?.socket)
}

/// Says at which port a receiver waits.
pub(crate) fn announce(address: SocketAddr) -> Result<()> {
    say(format_args!("{}", address.port()))
}

fn say(line: std::fmt::Arguments<'_>) -> Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}")?;
    Ok(output.flush()?)
}

/// Processor time of this process, the kernel's for it included. Unit: s.
fn cpu() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    Ok((usage.user_time() + usage.system_time()).num_microseconds() as f64 * 1e-6)
}
