//! The structures that C and Rust share lie in memory as C has them.

use crate::ffi::{IntervalPlan, Path, Sample, Told};
use crate::report::Report;
use core::mem::{offset_of, size_of};
use pcc_bpf::program::{Program, Step};

unsafe extern "C" {
    fn pcc_lib_place(index: u32) -> u32;
}

/// The size of each structure, then the places of its members.
macro_rules! layout {
    ($($name:ident { $($member:ident),* $(,)? })*) => {
        vec![$(
            (stringify!($name).to_owned(), size_of::<$name>()),
            $((concat!(stringify!($name), "::", stringify!($member)).to_owned(), offset_of!($name, $member)),)*
        )*]
    };
}

#[test]
fn shared_structures_have_the_layout_of_c() {
    let own: Vec<(String, usize)> = layout! {
        IntervalPlan { rate, rtts_least, rtts_most, trial, is_stretched }
        Path { rtt_ns, queue_ns, rtt, queue, packet, floor, initial, ceiling, delivery }
        Sample {
            now, next_sent, bytes_sent, sent, in_flight, outstanding, delivered, lost, marked, rtt, packet,
            reordering, window, app_limited, peer_limited, blocked, taken_rtt, accurate, least_rtt
        }
        Told {
            least_rtt, state, intervals, opened, limited_by, panics, silences, is_judged, packets_lost,
            loss_bursts
        }
        Report {
            started, duration, target, achieved, sent, lost, excess_loss, delivery_rate, rtt, rtt_least,
            rtt_base, rtt_gradient, rtt_gradient_error, rtt_span, rtt_pause, rtt_residual, rtt_deviation,
            packets, packets_lost, loss_bursts, packets_marked, rtt_samples, app_limited, timed_out, limited_by,
            previous
        }
        Step { code, index, value }
        Program { length, loads, panic_loss, built_in, reserved, ops }
    };
    // SAFETY: takes and returns integers.
    let place = |index: usize| unsafe { pcc_lib_place(index as u32) };
    for (index, (what, ours)) in own.iter().enumerate() {
        assert_eq!(*ours as u32, place(index), "{what}");
    }
    assert_eq!(place(own.len()), u32::MAX, "C has a member more than this list");
}
