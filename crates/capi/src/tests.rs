use super::*;
use core::ptr::{null, null_mut};
use pcc::interval::Report;
use pcc::utility::Utility;
use std::sync::Arc;

const MS: u64 = 1_000_000;

fn config() -> PccConfig {
    PccConfig { size: size_of::<PccConfig>(), seed: 1, max_rate: 0, max_datagram_size: 0, reserved: 0, utility: null() }
}

/// What `pcc_new` answers, and what it says.
fn made(config: *const PccConfig) -> (PccStatus, *mut Sender, String) {
    let (mut sender, mut message) = (null_mut(), [1; 160]);
    // SAFETY: all of it is valid.
    let status = unsafe { pcc_new(config, 0, &mut sender, message.as_mut_ptr(), message.len()) };
    message[159] = 0;
    // SAFETY: it ends with NUL.
    let text = unsafe { CStr::from_ptr(message.as_ptr()) };
    (status, sender, text.to_string_lossy().into_owned())
}

/// One packet a millisecond for so long, acknowledged 30 ms later.
fn carry(sender: *mut Sender, from: u64, packets: u64) -> PccStatus {
    let mut status = PccStatus::PccOk;
    for number in from..from + packets {
        let now = number * MS;
        // SAFETY: it is a sender, or NULL.
        unsafe {
            pcc_on_packet_sent(sender, now, number, 1200);
            if number >= 30 {
                pcc_on_ack(sender, now, number - 30);
                status = pcc_on_end_acks(sender, now);
            }
        }
    }
    status
}

#[test]
fn a_sender_finds_its_rate() {
    let (status, sender, _) = made(null());
    assert_eq!(status, PccStatus::PccOk);
    assert_eq!(carry(sender, 0, 200), PccStatus::PccOk);
    // SAFETY: it is a sender.
    unsafe {
        assert!(pcc_rate(sender) > 400_000, "{}", pcc_rate(sender));
        assert_eq!(pcc_bytes_in_flight(sender), 30 * 1200);
        assert_eq!(pcc_rtt(sender).least, 30 * MS);
        assert!(pcc_congestion_window(sender) > 30 * 1200);
        assert!(pcc_next_timer(sender) < u64::MAX);
        pcc_free(sender);
    }
}

#[test]
fn a_configuration_is_refused_with_its_reason() {
    let wrong = |config: PccConfig| made(&config);
    for (config, expected) in [
        (PccConfig { size: 8, ..config() }, "size is 8"),
        (PccConfig { utility: c"fare".as_ptr(), ..config() }, "`fare` is no utility"),
        (PccConfig { utility: c"T -".as_ptr(), ..config() }, "utility:"),
        (PccConfig { utility: c"\xff".as_ptr(), ..config() }, "UTF-8"),
    ] {
        let (status, sender, message) = wrong(config);
        assert_eq!(status, PccStatus::PccInvalid);
        assert!(sender.is_null());
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_message_is_cut_to_its_room() {
    let mut message = [1; 4];
    // SAFETY: it has four bytes.
    unsafe { write_message("a\u{e4}\u{e4}", message.as_mut_ptr(), 4) };
    assert_eq!(message.map(|byte| byte as u8), [b'a', 0xc3, 0xa4, 0]);
}

#[test]
fn null_is_refused_everywhere() {
    assert_eq!(carry(null_mut(), 0, 40), PccStatus::PccNull);
    // SAFETY: NULL is allowed.
    unsafe {
        assert_eq!(pcc_new(null(), 0, null_mut(), null_mut(), 0), PccStatus::PccNull);
        assert_eq!(pcc_rate(null()), 1);
        assert_eq!(pcc_next_timer(null()), u64::MAX);
        pcc_free(null_mut());
    }
}

#[derive(Debug)]
struct Defective;

impl Utility for Defective {
    fn evaluate(&self, _: &Report) -> f64 {
        panic!("a defect")
    }

    fn name(&self) -> &str {
        "defective"
    }
}

#[test]
fn a_panic_poisons_the_sender_and_unwinds_no_further() {
    let config = pcc::Config { utility: Arc::new(Defective), ..pcc::Config::default() };
    let sender = Box::into_raw(Box::new(Sender::new(config, at(0))));
    assert_eq!(carry(sender, 0, 1000), PccStatus::PccPoisoned);
    // SAFETY: it is a sender.
    unsafe {
        assert!(pcc_rate(sender) > 1, "the rate before");
        assert_eq!(pcc_congestion_window(sender), 0);
        assert_eq!(pcc_on_timer(sender, 2000 * MS), PccStatus::PccPoisoned);
        pcc_free(sender);
    }
}
