//! The guest's first process: builds the network, measures it, runs the flows, writes what happened, switches off.

mod netlink;
mod offload;
pub(crate) mod probe;
pub(crate) mod quic;
mod sockets;
mod topology;

use crate::spec::{FlowOutcome, FlowSample, FlowSpec, Outcome, QueueSample, Spec};
use std::fs;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use topology::{Hosts, Network};

/// Name of the program that QUIC flows run, in the run's directory.
pub(crate) const PROGRAM: &str = "program";

/// Runs as process 1 of the guest and never returns. The run is described by `spec.json` in `dir`; the answer is
/// `outcome.json` or `error.txt` there.
pub fn run_as_init(dir: &Path) -> ! {
    // The name leads through the host's /proc, which is about to be covered by the guest's.
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let answer = serve(&dir.join("spec.json"));
    let written = match answer {
        Ok(outcome) => match serde_json::to_vec(&outcome) {
            Ok(bytes) => fs::write(dir.join("outcome.json"), bytes),
            Err(error) => fs::write(dir.join("error.txt"), error.to_string()),
        },
        Err(error) => fs::write(dir.join("error.txt"), error.to_string()),
    };
    // Nobody is left to tell if writing failed; the host notices that there is no answer.
    let _ = written;
    loop {
        // SAFETY: as process 1 of a virtual machine this ends the machine; elsewhere it lacks the right to do harm.
        unsafe { libc::reboot(libc::RB_POWER_OFF) };
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn serve(path: &Path) -> io::Result<Outcome> {
    if std::process::id() != 1 {
        return Err(io::Error::other("this command is for the first process of the lab's guest"));
    }
    let at = |step: &'static str| move |error| io::Error::other(format!("{step}: {error}"));
    mount(c"/proc", c"proc").map_err(at("mounting /proc"))?;
    // SAFETY: no pointers. Without this the kernel may delay a wake-up by 50 µs to merge it with another.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    let spec: Spec = serde_json::from_slice(&fs::read(path)?)?;
    let mut network = Network::build(&spec).map_err(at("building the network"))?;
    let first = network.hosts.first().ok_or_else(|| io::Error::other("there are no flows"))?;
    let probe = probe::probe(&spec, first).map_err(at("measuring the path"))?;
    let dir = path.parent().unwrap_or(Path::new("/"));
    let (flows, queue) = transfer(&spec, dir, &mut network).map_err(at("running the flows"))?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?.trim().to_owned();
    Ok(Outcome { kernel, probe, flows, queue, changes: Vec::new(), rejected: None })
}

fn mount(target: &std::ffi::CStr, kind: &std::ffi::CStr) -> io::Result<()> {
    // SAFETY: all strings are NUL-terminated and no options are passed.
    let done = unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The guest's clock. Unit: ns.
fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` outlives the call.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn sleep_until(moment: u64) {
    let time = libc::timespec {
        tv_sec: (moment / 1_000_000_000) as libc::time_t,
        tv_nsec: (moment % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `time` outlives the call and no remainder is asked for.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &time, std::ptr::null_mut()) };
}

/// Both ends of one connection, as soon as they are there.
#[derive(Debug, Default)]
struct Connection {
    sender: OnceLock<TcpStream>,
    receiver: OnceLock<TcpStream>,
    problem: OnceLock<String>,
}

impl Connection {
    /// Starts the threads that keep it busy. The calling thread ends up in some namespace of the flow.
    fn start(self: &Arc<Self>, hosts: &Arc<Vec<Hosts>>, flow: usize, spec: &FlowSpec) -> io::Result<()> {
        let ends = &hosts[flow];
        ends.receiver.enter()?;
        let listener = TcpListener::bind(SocketAddrV4::new(Ipv4Addr::from(ends.receiver_address), 0))?;
        let std::net::SocketAddr::V4(address) = listener.local_addr()? else {
            return Err(io::Error::other("an IPv4 listener has another kind of address"));
        };
        let receiver = Arc::clone(self);
        spawn(move || match sockets::accept(&listener) {
            Ok(stream) => sockets::discard(receiver.receiver.get_or_init(|| stream)),
            Err(error) => drop(receiver.problem.set(format!("could not accept: {error}"))),
        })?;
        let (sender, hosts, algorithm) = (Arc::clone(self), Arc::clone(hosts), spec.algorithm.clone());
        spawn(move || {
            let connected = hosts[flow].sender.enter().and_then(|()| sockets::connect(address, &algorithm));
            match connected {
                Ok(stream) => send_without_end(sender.sender.get_or_init(|| stream)),
                Err(error) => drop(sender.problem.set(format!("could not connect: {error}"))),
            }
        })
    }

    fn stop(&self) {
        // It may have ended by itself: then there is nothing to stop.
        let _ = self.sender.get().map(|stream| stream.shutdown(Shutdown::Both));
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    std::thread::Builder::new().stack_size(256 << 10).spawn(work).map(drop)
}

/// Keeps the socket full until somebody shuts it down.
fn send_without_end(mut stream: &TcpStream) {
    let chunk = vec![0; 1 << 20];
    while io::Write::write(&mut stream, &chunk).is_ok_and(|sent| sent > 0) {}
}

/// How long a QUIC flow may take to start and to end, besides its round trips. Unit: ns.
const GRACE: u64 = 10_000_000_000;

/// A flow that runs, ran or will run.
struct Running<'a> {
    spec: &'a FlowSpec,
    connections: Vec<Arc<Connection>>,
    transfer: Option<quic::Transfer>,
    stopped: bool,
    outcome: FlowOutcome,
}

impl Running<'_> {
    fn is_quic(&self) -> bool {
        self.spec.algorithm.starts_with(quic::PREFIX)
    }

    fn sample(&mut self, at: u64) -> io::Result<()> {
        let mut total = FlowSample { at, ..FlowSample::default() };
        let (mut busy, mut rwnd_limited, mut sndbuf_limited, mut senders) = (0, 0, 0, 0);
        for connection in &self.connections {
            if let Some(problem) = connection.problem.get() {
                return Err(io::Error::other(format!("a flow of {}: {problem}", self.spec.algorithm)));
            }
            if let Some(receiver) = connection.receiver.get() {
                total.delivered += sockets::Info::of(receiver)?.received;
            }
            if let Some(sender) = connection.sender.get() {
                let info = sockets::Info::of(sender)?;
                total.sent += info.sent;
                total.retransmitted += info.retransmitted;
                total.rtt += info.rtt;
                total.cwnd += info.cwnd;
                total.state = if senders == 0 { info.state } else { total.state };
                senders += 1;
                busy += info.busy;
                rwnd_limited += info.rwnd_limited;
                sndbuf_limited += info.sndbuf_limited;
            }
        }
        total.rtt = total.rtt.checked_div(senders).unwrap_or(0);
        self.outcome.samples.push(total);
        (self.outcome.busy, self.outcome.rwnd_limited, self.outcome.sndbuf_limited) =
            (busy, rwnd_limited, sndbuf_limited);
        Ok(())
    }
}

fn transfer(spec: &Spec, dir: &Path, network: &mut Network) -> io::Result<(Vec<FlowOutcome>, Vec<QueueSample>)> {
    let hosts = Arc::new(std::mem::take(&mut network.hosts));
    let before = network.queue_counts()?;
    let mut flows: Vec<_> = (spec.flows.iter())
        .map(|spec| Running {
            spec,
            connections: Vec::new(),
            transfer: None,
            stopped: false,
            outcome: FlowOutcome::default(),
        })
        .collect();
    let mut queue = Vec::new();

    // Every moment at which something happens, so that starts and stops need not fall on samples.
    let steps = (0..=spec.duration / spec.step).map(|number| number * spec.step);
    let changes = spec.flows.iter().flat_map(|flow| [flow.start, flow.stop]).filter(|&at| at <= spec.duration);
    let mut moments: Vec<u64> = steps.chain(changes).chain([spec.duration]).collect();
    moments.sort_unstable();
    moments.dedup();

    let begin = now() + 1_000_000;
    for at in moments {
        sleep_until(begin + at);
        let counts = network.queue_counts()?;
        queue.push(QueueSample {
            at,
            bytes: counts.bytes - before.bytes,
            drops: counts.drops.wrapping_sub(before.drops),
            backlog: counts.backlog,
        });
        for (number, flow) in flows.iter_mut().enumerate() {
            if at < flow.spec.start || flow.stopped {
                continue;
            }
            if flow.is_quic() {
                if at == flow.spec.start {
                    let transfer = quic::Transfer::start(dir, number, &hosts[number], flow.spec, spec.step)?;
                    flow.transfer = Some(transfer);
                }
                continue;
            }
            flow.sample(at)?;
            if at == flow.spec.start {
                for _ in 0..flow.spec.connections {
                    let connection = Arc::new(Connection::default());
                    connection.start(&hosts, number, flow.spec)?;
                    flow.connections.push(connection);
                }
            }
            if at >= flow.spec.stop {
                flow.stopped = true;
                flow.connections.iter().for_each(|connection| connection.stop());
            }
        }
    }
    // Their clients stop by themselves, after a handshake and the last word of the server.
    let deadline = begin + spec.duration + GRACE + 20 * spec.path.rtt;
    let finish = |flow: Running<'_>| match flow.transfer {
        Some(transfer) => transfer.finish(deadline),
        None => Ok(flow.outcome),
    };
    Ok((flows.into_iter().map(finish).collect::<io::Result<_>>()?, queue))
}
