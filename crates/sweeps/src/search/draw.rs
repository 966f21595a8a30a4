//! One draw: a path, a queue, and senders that come and go, all by a seed.

use core::fmt;
use core::time::Duration;
use pcc::rng::Rng;
use pcc_sim::{Cast, Control, Flow, Queue, Scenario};

/// From what is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges {
    senders: [f64; 2],
    /// Unit: Mbit/s.
    rate: [f64; 2],
    /// Unit: ms.
    rtt: [f64; 2],
    /// Unit: BDP.
    buffer: [f64; 2],
    /// A run has about so many packets.
    packets: f64,
}

impl Ranges {
    pub(crate) const WHOLE: Self =
        Self { senders: [2.0, 64.0], rate: [5.0, 1000.0], rtt: [0.1, 300.0], buffer: [0.5, 16.0], packets: 400e3 };
    /// The lengths that a test can afford.
    pub(crate) const SHORT: Self =
        Self { senders: [2.0, 16.0], rate: [5.0, 20.0], rtt: [5.0, 60.0], buffer: [0.5, 16.0], packets: 20e3 };
}

/// A packet, as the simulator has them. Unit: bytes.
const PACKET: f64 = 1500.0;
/// Nobody builds a shorter buffer for several senders. Unit: bytes.
const LEAST_BUFFER: f64 = 10.0 * PACKET;
/// A run has at least so many RTTs and seconds, to settle in the first half of them; a minute is enough.
const RTTS: f64 = 60.0;
const SECONDS: [f64; 2] = [12.0, 60.0];

/// Drop-tail twice as often as each of the others.
const QUEUES: [(Queue, bool); 8] = [
    (Queue::DropTail, false),
    (Queue::DropTail, false),
    (Queue::Codel, false),
    (Queue::Codel, true),
    (Queue::FqCodel, false),
    (Queue::Red, false),
    (Queue::Red, true),
    (Queue::Fair, false),
];

#[derive(Clone, Debug)]
pub(crate) struct Draw {
    pub(crate) seed: u64,
    /// Senders that come.
    pub(crate) senders: u64,
    /// The bottleneck's buffer. Unit: BDP.
    pub(crate) buffer: f64,
    /// The longest queue that it takes. Unit: s.
    pub(crate) longest_queue: f64,
    /// The rate of each sender that stays, if all were alike. Unit: packets a second.
    fair: f64,
    path: String,
    flows: String,
    queue: Queue,
    marks: bool,
    seconds: u64,
}

impl Draw {
    /// All is settled in the second half of the run: senders come in its first quarter, and in half of the draws some go in
    /// the second.
    pub(crate) fn of(seed: u64, ranges: &Ranges) -> Self {
        let mut rng = Rng::new(seed);
        let mut between = |[low, high]: [f64; 2]| low * (high / low).powf(rng.unit());
        let (rate, rtt) = (digits(between(ranges.rate)), digits(between(ranges.rtt)));
        let product = rate * 1e6 / 8.0 * rtt * 1e-3;
        let bytes = (between(ranges.buffer) * product).max(LEAST_BUFFER).round();
        let senders = between(ranges.senders).round() as u64;
        let packets_a_second = rate * 1e6 / 8.0 / PACKET;
        let settled = (ranges.packets / packets_a_second).max(RTTS * rtt * 1e-3).clamp(SECONDS[0], SECONDS[1]);
        let quarter = (settled / 4.0).ceil() as u64;
        let (queue, marks) = QUEUES[(rng.next_u64() % QUEUES.len() as u64) as usize];
        let go = if rng.coin() { rng.next_u64() % (senders - 1) } else { 0 };
        let stay = senders - go;
        let mut flows = format!("pcc*{stay}:start=random:0..{quarter}s");
        for share in 0..go.min(3) {
            let count = go / 3 + u64::from(share < go % 3);
            let stop = (quarter * 1000) as f64 * (1.0 + rng.unit());
            flows += &format!(" pcc*{count}:start=random:0..{quarter}s:stop={}ms", stop.ceil() + 1.0);
        }
        // Fair queueing has a buffer for each flow.
        let buffers = if queue == Queue::Fair { stay as f64 } else { 1.0 };
        Self {
            seed,
            senders,
            buffer: bytes / product,
            longest_queue: buffers * bytes * 8.0 / (rate * 1e6),
            fair: packets_a_second / stay as f64,
            path: format!("rate={rate}Mbit,rtt={rtt}ms,buffer={bytes}"),
            flows,
            queue,
            marks,
            seconds: 4 * quarter,
        }
    }

    /// The simulation, as `pcc-lab sim` makes it of the command; by another sender in PCC's place if one is named.
    pub(crate) fn scenario(&self, instead: Control) -> Result<Scenario, String> {
        let problem = |error: &dyn fmt::Display| format!("{self}: {error}");
        let Cast(mut flows) = self.flows.parse().map_err(|error| problem(&error))?;
        for (number, flow) in (0..).zip(&mut flows) {
            if instead != Control::Pcc {
                *flow = Flow::by(flow, instead.clone());
            }
            (flow.config.seed, flow.ecn) = (self.seed.wrapping_mul(1000).wrapping_add(number), self.marks);
        }
        let path = self.path.parse().map_err(|error| problem(&error))?;
        let duration = Duration::from_secs(self.seconds);
        Ok(Scenario { queue: self.queue, ..Scenario::new(path, flows, self.seed, duration) })
    }

    /// Over so long Jain's index is told: a second, or until a fair part is twenty packets.
    pub(crate) fn scale(&self) -> Duration {
        Duration::from_secs_f64((20.0 / self.fair).max(1.0))
    }
}

/// The command that repeats it.
impl fmt::Display for Draw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, flows, seconds, seed, .. } = self;
        write!(f, "pcc-lab sim {path} --flows '{flows}'")?;
        if let Some(name) = self.queue.name().filter(|_| self.queue != Queue::DropTail) {
            write!(f, " --queue {name}")?;
        }
        write!(f, "{} --time-limit {seconds}s --seed {seed}", if self.marks { " --ecn" } else { "" })
    }
}

/// Three digits, for commands that people read.
fn digits(value: f64) -> f64 {
    let scale = 10_f64.powi(2 - value.log10().floor() as i32);
    (value * scale).round() / scale
}
