//! One run over the kernel's TCP: the bytes of the file and nothing else, without encryption, as `nc` would send them.

use super::host::{CLIENT, Host, SERVER};
use crate::entry::{Entry, Update, verify};
use crate::source::{Source, nameless};
use crate::trace::{SAMPLE_INTERVAL, Sample, Trace};
use anyhow::Context;
use core::mem::{size_of, zeroed};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use pcc_net::dial;
use pcc_netem::{Cable, Counts};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;

/// Anything: the server has its host for itself.
const PORT: u16 = 80;

/// Headers of a packet that are not counted as sent bytes: as many as the 28 of IPv4 and UDP, so that what is counted of
/// a full packet is the same 1452 bytes.
const HEADERS: u64 = 28;

/// Read from the file, or from the connection, at a time.
const PART: usize = 256 << 10;

/// Runs it, with the algorithm that the kernel knows by that name.
pub(crate) fn go(
    runner: usize,
    entry: &Entry,
    kernel: &'static str,
    tell: &UnboundedSender<Update>,
) -> anyhow::Result<Trace> {
    let (name, course) = (entry.carrier.name(), &entry.course);
    let (server, client) = (Host::new(SERVER)?, Host::new(CLIENT)?);
    let window = usize::try_from(course.windows().bytes().get()).unwrap_or(usize::MAX);
    server.prepare(kernel, window)?;
    client.prepare(kernel, window)?;
    let address = SocketAddrV4::new(SERVER, PORT);
    server.socket.bind(&address.into()).and_then(|()| server.socket.listen(1)).context("no server")?;
    let cable = Cable::connect(server.interface, client.interface, &course.path, course.seed)?;
    let began = Instant::now();
    client.socket.connect_timeout(&address.into(), dial::TIMEOUT).context("could not connect")?;
    let (listener, client) = (TcpListener::from(server.socket), TcpStream::from(client.socket));
    let copy = nameless()?;

    let request = Instant::now();
    (&client).write_all(b"\n").context("could not ask for the file")?;
    let mut trace = Trace { algorithm: name, requested: request - began, ..Trace::default() };
    let (received, sender) = (AtomicU64::new(0), OnceLock::new());
    let (done, told) = mpsc::channel();
    let fetched = thread::scope(|scope| {
        scope.spawn(|| {
            if let Err(error) = serve(&listener, &entry.source, &sender) {
                tracing::debug!("the TCP server of the race ended: {error}");
            }
        });
        let client = &client;
        let received = &received;
        let copy = &copy;
        scope.spawn(move || drop(done.send(fetch(client, copy, entry.source.bytes, received))));
        let fetched = loop {
            match told.recv_timeout(SAMPLE_INTERVAL) {
                Ok(fetched) => break Some(fetched),
                Err(RecvTimeoutError::Disconnected) => break None,
                Err(RecvTimeoutError::Timeout) => {
                    let sample = sample(request.elapsed(), received, &sender, &cable.counts());
                    trace.samples.push(sample);
                    let _ = tell.send(Update { runner, algorithm: name, sample, state: None, ended: None });
                    if entry.rules.over(sample.at) {
                        break None;
                    }
                }
            }
        };
        trace.time = request.elapsed();
        // Wakes whoever still waits for the other end; it may have ended by itself.
        let _ = nix::sys::socket::shutdown(listener.as_raw_fd(), nix::sys::socket::Shutdown::Both);
        for stream in [Some(client), sender.get()].into_iter().flatten() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        fetched
    });
    let fetched = fetched.transpose().context("the transfer broke off")?;
    if let Some(at) = fetched {
        trace.time = at - request;
        entry.rules.finished(trace.time);
    }
    let counts = cable.counts();
    trace.samples.push(sample(trace.time, &received, &sender, &counts));
    trace.dropped_random = counts.down.dropped_random.packets + counts.down.dropped_blackout.packets;
    trace.dropped_buffer = counts.down.dropped_buffer.packets + counts.down.dropped_queue.packets;
    trace.dropped_host = counts.dropped_host;
    verify(&mut trace, &entry.source, copy, fetched.is_some())?;
    Ok(trace)
}

/// Waits for one client and a byte from it, and sends the file.
fn serve(listener: &TcpListener, file: &Source, sender: &OnceLock<TcpStream>) -> io::Result<()> {
    let (accepted, _) = listener.accept()?;
    let mut stream = sender.get_or_init(|| accepted);
    stream.read_exact(&mut [0])?;
    io::copy(&mut BufReader::with_capacity(PART, file.reader().take(file.bytes)), &mut stream)?;
    stream.shutdown(Shutdown::Write)
}

/// Receives `bytes` bytes into `copy`, and answers when the last one was there.
fn fetch(mut stream: &TcpStream, mut copy: &File, bytes: u64, received: &AtomicU64) -> io::Result<Instant> {
    let mut buffer = vec![0; PART];
    while received.load(Relaxed) < bytes {
        let len = stream.read(&mut buffer)?;
        let part = buffer.get(..len).filter(|part| !part.is_empty()).ok_or(io::ErrorKind::UnexpectedEof)?;
        copy.write_all(part)?;
        received.fetch_add(len as u64, Relaxed);
    }
    Ok(Instant::now())
}

fn sample(at: Duration, received: &AtomicU64, sender: &OnceLock<TcpStream>, counts: &Counts) -> Sample {
    let sent = counts.down.sent;
    let mut sample = Sample {
        at,
        received: received.load(Relaxed),
        arrived: counts.arrived,
        sent_packets: sent.packets,
        sent_bytes: sent.bytes.get().saturating_sub(HEADERS * sent.packets),
        ..Sample::default()
    };
    if let Some(info) = sender.get().and_then(|sender| info(sender).ok()) {
        sample.rtt = Duration::from_micros(info.tcpi_rtt.into());
        // A packet that it sends once more it has given up.
        sample.lost_packets = info.tcpi_total_retrans.into();
        sample.window = u64::from(info.tcpi_snd_cwnd) * u64::from(info.tcpi_snd_mss);
    }
    sample
}

/// The kernel's figures of a connection.
fn info(stream: &TcpStream) -> io::Result<libc::tcp_info> {
    // SAFETY: a structure of numbers only, for which zero is a value.
    let mut info: libc::tcp_info = unsafe { zeroed() };
    let mut size = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes no more than `size` bytes, which is what there is.
    let done = unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut size)
    };
    if done == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
}
