//! A report in the kernel's form.

use core::time::Duration;
use pcc::interval::{self, LimitedBy};

/// `struct pcc_report`: what an interval achieved, as C has it.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Report {
    pub(crate) started: u64,
    pub(crate) duration: u64,
    pub(crate) target: u64,
    pub(crate) achieved: u64,
    pub(crate) sent: u64,
    pub(crate) lost: u64,
    pub(crate) excess_loss: u64,
    pub(crate) delivery_rate: u64,
    pub(crate) rtt: u64,
    pub(crate) rtt_least: u64,
    pub(crate) rtt_base: u64,
    pub(crate) rtt_gradient: u64,
    pub(crate) rtt_gradient_error: u64,
    pub(crate) rtt_span: u64,
    pub(crate) rtt_pause: u64,
    pub(crate) rtt_residual: u64,
    pub(crate) rtt_deviation: u64,
    pub(crate) packets: u32,
    pub(crate) packets_lost: u32,
    pub(crate) loss_bursts: u32,
    pub(crate) packets_marked: u32,
    pub(crate) rtt_samples: u32,
    pub(crate) app_limited: u32,
    pub(crate) timed_out: u32,
    pub(crate) limited_by: u32,
    pub(crate) previous: [u64; 4],
}

fn seconds(time: Duration) -> u64 {
    time.as_secs_f64().to_bits()
}

/// NaN is what is not known; there is one.
fn known(number: Option<f64>) -> u64 {
    number.filter(|number| !number.is_nan()).map_or(f64::NAN.to_bits(), f64::to_bits)
}

impl From<&interval::Report> for Report {
    fn from(report: &interval::Report) -> Self {
        let time = |time: Option<Duration>| known(time.map(|time| time.as_secs_f64()));
        let previous = report.previous;
        Self {
            started: report.started.as_nanos(),
            duration: seconds(report.duration),
            target: report.target.bytes_per_sec().to_bits(),
            achieved: report.achieved.bytes_per_sec().to_bits(),
            sent: (report.sent.get() as f64).to_bits(),
            lost: (report.lost.get() as f64).to_bits(),
            excess_loss: known(report.excess_loss),
            delivery_rate: known(report.delivery_rate.map(|rate| rate.bytes_per_sec())),
            rtt: time(report.rtt),
            rtt_least: time(report.rtt_least),
            rtt_base: time(report.rtt_base),
            rtt_gradient: known(report.rtt_gradient),
            rtt_gradient_error: report.rtt_gradient_error.to_bits(),
            rtt_span: seconds(report.rtt_span),
            rtt_pause: seconds(report.rtt_pause),
            rtt_residual: seconds(report.rtt_residual),
            rtt_deviation: seconds(report.rtt_deviation),
            packets: report.packets,
            packets_lost: report.packets_lost,
            loss_bursts: report.loss_bursts,
            packets_marked: report.packets_marked,
            rtt_samples: report.rtt_samples,
            app_limited: report.app_limited.into(),
            timed_out: report.timed_out.into(),
            limited_by: match report.limited_by {
                LimitedBy::Application => 1,
                LimitedBy::ReceiverWindow => 2,
                LimitedBy::Host => 3,
                _ => 0,
            },
            previous: [
                known(previous.map(|previous| previous.achieved.bytes_per_sec())),
                known(previous.map(|previous| previous.throughput.bytes_per_sec())),
                known(previous.map(|previous| previous.loss)),
                time(previous.and_then(|previous| previous.rtt)),
            ],
        }
    }
}
