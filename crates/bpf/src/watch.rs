//! The connections that have PCC, read from the kernel: what TCP counts, and where PCC is.

use crate::bpf::{self, Iterator as Passes, Map, STRUCT_OPS_MAP};
use crate::btf::Btf;
use crate::host_error::{Doing as _, HostError};
use crate::libbpf::{Loaded, Part};
use crate::object::Source;
use crate::rights;
use crate::variant::{FindError, Variant};
use std::io::Read as _;
use std::mem::offset_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

/// Looks at the connections of some variants, as often as one likes, whatever is loaded and unloaded meanwhile.
pub struct Watcher {
    /// Only these are watched, if there are any.
    names: Vec<String>,
    source: Source,
    /// The maps that the kernel has for congestion controls: others than these, and it looks for variants anew.
    controls: Vec<u32>,
    variants: Vec<Watched>,
}

/// A variant whose connections are looked at.
struct Watched {
    name: String,
    iterator: Passes,
}

/// One connection at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Connection {
    /// Its congestion control.
    pub name: String,
    /// Address and port here.
    pub local: SocketAddr,
    /// Address and port there.
    pub remote: SocketAddr,
    /// Since the machine was started.
    pub at: Duration,
    /// Bytes that were sent, first or again, and those that were acknowledged.
    pub sent: u64,
    /// Bytes that were acknowledged.
    pub acked: u64,
    /// Packets with data, sent and lost.
    pub packets_sent: u32,
    /// Packets with data that were lost.
    pub packets_lost: u32,
    /// The smoothed RTT, which is 0 before there is any.
    pub rtt: Duration,
    /// The packets that it may have in flight. Unit: packet.
    pub window: u32,
    /// At what rate it is to send. Unit: byte/s.
    pub pacing: u64,
    /// PCC's state.
    pub state: &'static str,
    /// The utility of its last interval; none if it is not defined.
    pub utility: Option<f64>,
    /// Loss of its last interval.
    pub loss: Option<f64>,
    /// The limit of its last interval: the rate, the application, a window.
    pub limited_by: &'static str,
    /// Monitor intervals judged.
    pub intervals: u32,
    /// Times that the path fell silent.
    pub silences: u32,
    /// Times that loss made it go back at once.
    pub panics: u32,
    /// The number of its network namespace, as `/proc/PID/ns/net` shows it.
    pub netns: u32,
}

/// Where what is shown lies in what the kernel keeps of a connection: what reads it was made for one such place each.
fn layout(flows: &Map) -> Result<Option<[usize; 7]>, HostError> {
    const SHOWN: [&str; 7] =
        ["flow.utility", "flow.loss", "flow.limited_by", "flow.intervals", "flow.silences", "flow.panics", "law.state"];
    if flows.btf == 0 {
        return Ok(None);
    }
    let types = Btf::read(bpf::btf(flows.btf)?)?;
    let whole = Btf::whole(flows.value_type);
    let places = SHOWN.map(|path| types.member(whole, path).map(|field| field.offset));
    Ok(places.iter().all(Option::is_some).then(|| places.map(Option::unwrap_or_default)))
}

/// `struct pcc_watched` of `kernel/watch.h`, which asserts the same places: the form of a record.
#[repr(C)]
struct Record {
    name: [u8; 16],
    local: [u8; 16],
    remote: [u8; 16],
    family: u16,
    local_port: u16,
    remote_port: u16,
    state: u16,
    now: u64,
    sent: u64,
    acked: u64,
    pacing: u64,
    packets_sent: u32,
    packets_lost: u32,
    rtt_us: u32,
    window: u32,
    utility: u64,
    loss: u64,
    limited_by: u32,
    law_state: u32,
    intervals: u32,
    silences: u32,
    panics: u32,
    netns: u32,
}

const RECORD: usize = size_of::<Record>();
const _: () = assert!(RECORD == 144);
const _: () = assert!(offset_of!(Record, family) == 48 && offset_of!(Record, now) == 56);
const _: () = assert!(offset_of!(Record, packets_sent) == 88 && offset_of!(Record, utility) == 104);
const _: () = assert!(offset_of!(Record, limited_by) == 120 && offset_of!(Record, netns) == 140);
/// `TCP_CLOSE`: the connection has ended, but not its socket. Another one may have its addresses by now.
const CLOSED: u16 = 7;

impl Watcher {
    /// Watches these variants, or all that have connections.
    ///
    /// Errors: none is loaded, or one by another version of PCC, unless that was unloaded and is not asked for by its name.
    pub fn of(names: &[String], source: &Source) -> Result<Self, FindError> {
        rights::check().map_err(HostError::from)?;
        for name in names {
            Variant::find(Some(name))?;
        }
        let watcher = Self::of_whatever_comes(names, source)?;
        if watcher.variants.is_empty() {
            return Err(FindError::NotLoaded);
        }
        Ok(watcher)
    }

    /// The same, though none may be loaded yet.
    pub fn of_whatever_comes(names: &[String], source: &Source) -> Result<Self, HostError> {
        rights::check()?;
        let mut watcher =
            Self { names: names.to_vec(), source: source.clone(), controls: Vec::new(), variants: Vec::new() };
        watcher.controls = controls()?;
        watcher.variants = watcher.find()?;
        Ok(watcher)
    }

    fn find(&self) -> Result<Vec<Watched>, HostError> {
        let names = &self.names;
        let all = Variant::all()?.into_iter().filter(|one| names.is_empty() || names.contains(&one.name));
        let variants: Vec<_> = all.collect();
        if variants.is_empty() {
            return Ok(Vec::new());
        }
        // The iterators hold the program.
        let loaded = Loaded::load(&self.source.object_or_kept(&variants)?, Part::Watch)?;
        let program = loaded.program_fd(c"pcc_watch")?;
        let own = layout(&Map::of(loaded.map_fd("pcc_flows")?)?)?;
        let mut found = Vec::new();
        for variant in variants {
            let layout = variant.flows.as_ref().map(layout).transpose()?.flatten();
            let Some(flows) = variant.flows.filter(|_| layout.is_some() && layout == own) else {
                if !variant.is_registered && names.is_empty() {
                    // A user who took a new version into use while connections had the old one cannot unload it any more.
                    tracing::warn!(
                        "{} is of another version of PCC, and unloaded: its last connections are not shown",
                        variant.name
                    );
                    continue;
                }
                return Err(HostError::OtherVersion(variant.name));
            };
            let iterator = Passes::over(program.as_fd(), &flows).doing(|| "cannot look at the connections")?;
            found.push(Watched { name: variant.name, iterator });
        }
        Ok(found)
    }

    /// All connections as they are now.
    pub fn look(&mut self) -> Result<Vec<Connection>, HostError> {
        let controls = controls()?;
        if controls != self.controls {
            self.variants = self.find()?;
            self.controls = controls;
        }
        let mut all = Vec::new();
        for Watched { name, iterator, .. } in &self.variants {
            let mut bytes = Vec::new();
            iterator
                .pass()
                .and_then(|mut pass| pass.read_to_end(&mut bytes))
                .doing(|| "cannot look at the connections")?;
            let read = bytes.chunks_exact(RECORD).filter_map(connection);
            // A connection that has another congestion control by now is not ours.
            all.extend(read.filter(|one| one.name == *name));
        }
        Ok(all)
    }
}

/// Numbers of the kernel's maps that stand for congestion controls and the like.
fn controls() -> Result<Vec<u32>, HostError> {
    let mut controls = Vec::new();
    for id in Map::ids().doing(|| "cannot ask the kernel for its BPF maps")? {
        let map = Map::by_id(id).doing(|| format!("cannot look at BPF map {id}"))?;
        controls.extend(map.filter(|map| map.kind == STRUCT_OPS_MAP).map(|_| id));
    }
    Ok(controls)
}

/// None if it is cut off, or the connection has ended.
fn connection(record: &[u8]) -> Option<Connection> {
    let u16_at = |at: usize| record.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes);
    let u32_at = |at: usize| record.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    let u64_at = |at: usize| record.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes);
    let number = |at: usize| u64_at(at).map(f64::from_bits).map(|number| number.is_finite().then_some(number));
    let word = |words: &[&'static str], at: usize| Some(words.get(u32_at(at)? as usize).copied().unwrap_or("?"));
    let address = |at: usize, port: usize| -> Option<SocketAddr> {
        let bytes: [u8; 16] = record.get(at..at + 16)?.try_into().ok()?;
        let of_ipv4 = Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]);
        // AF_INET6 is 10.
        let ip = if u16_at(offset_of!(Record, family))? == 10 {
            Ipv6Addr::from(bytes).to_canonical()
        } else {
            IpAddr::V4(of_ipv4)
        };
        Some(SocketAddr::new(ip, u16_at(port)?))
    };
    (u16_at(offset_of!(Record, state))? != CLOSED).then_some(())?;
    Some(Connection {
        name: bpf::text(record.get(..16)?),
        local: address(offset_of!(Record, local), offset_of!(Record, local_port))?,
        remote: address(offset_of!(Record, remote), offset_of!(Record, remote_port))?,
        at: Duration::from_nanos(u64_at(offset_of!(Record, now))?),
        sent: u64_at(offset_of!(Record, sent))?,
        acked: u64_at(offset_of!(Record, acked))?,
        pacing: u64_at(offset_of!(Record, pacing))?,
        packets_sent: u32_at(offset_of!(Record, packets_sent))?,
        packets_lost: u32_at(offset_of!(Record, packets_lost))?,
        rtt: Duration::from_micros(u32_at(offset_of!(Record, rtt_us))?.into()),
        window: u32_at(offset_of!(Record, window))?,
        utility: number(offset_of!(Record, utility))?,
        loss: number(offset_of!(Record, loss))?,
        limited_by: word(&["network", "application", "receiver", "host"], offset_of!(Record, limited_by))?,
        state: word(&["Starting", "Draining", "Probing"], offset_of!(Record, law_state))?,
        intervals: u32_at(offset_of!(Record, intervals))?,
        silences: u32_at(offset_of!(Record, silences))?,
        panics: u32_at(offset_of!(Record, panics))?,
        netns: u32_at(offset_of!(Record, netns))?,
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A record as the kernel writes it.
    fn record(family: u16, address: [u8; 16]) -> Vec<u8> {
        let mut bytes = b"pcc\0zzzzzzzzzzzz".to_vec();
        bytes.extend(address);
        bytes.extend(address);
        for word in [family, 5001, 443, 1] {
            bytes.extend(word.to_ne_bytes());
        }
        for word in [2_000_000_000_u64, 3000, 2000, 1_250_000] {
            bytes.extend(word.to_ne_bytes());
        }
        for word in [30_u32, 3, 40_000, 17] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(1.5_f64.to_ne_bytes());
        bytes.extend(f64::NAN.to_ne_bytes());
        for word in [1_u32, 2, 9, 0, 0, 7] {
            bytes.extend(word.to_ne_bytes());
        }
        assert_eq!(bytes.len(), RECORD);
        bytes
    }

    /// A connection that has sent so much at that time.
    pub(crate) fn example(seconds: u64, sent: u64, acked: u64, packets: (u32, u32)) -> Connection {
        let one = connection(&record(2, [192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])).unwrap();
        let at = Duration::from_secs(seconds);
        Connection { at, sent, acked, packets_sent: packets.0, packets_lost: packets.1, ..one }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let one = example(2, 3000, 2000, (30, 3));
        assert_eq!((one.local.to_string(), one.remote.port()), ("192.0.2.1:5001".into(), 443));
        assert_eq!((one.state, one.utility, one.loss, one.limited_by), ("Probing", Some(1.5), None, "application"));
        assert_eq!((one.rtt, one.window, one.pacing, one.intervals), (Duration::from_millis(40), 17, 1_250_000, 9));
        assert_eq!(one.name, "pcc");
    }

    #[test]
    fn an_ipv4_address_in_an_ipv6_socket_is_told_as_what_it_is() {
        let mapped = Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped().octets();
        assert_eq!(connection(&record(10, mapped)).unwrap().local.to_string(), "192.0.2.1:5001");
    }

    #[test]
    fn a_socket_that_is_not_closed_yet_is_no_connection() {
        let mut closed = record(2, [192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        closed[54..56].copy_from_slice(&CLOSED.to_ne_bytes());
        assert!(connection(&closed).is_none());
    }

    #[test]
    fn what_ends_early_is_no_connection() {
        let whole = record(2, [0; 16]);
        assert!((0..whole.len()).all(|end| connection(&whole[..end]).is_none()));
    }
}
