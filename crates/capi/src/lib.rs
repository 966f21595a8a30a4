//! PCC behind a C ABI: `libpcc`.
//!
//! `include/pcc.h` is made from this file by cbindgen (`crates/capi/header`); `.ci/capi` proves it current.
//!
//! | file | what it answers |
//! |---|---|
//! | `lib.rs` | which functions there are |
//! | `sender.rs` | what stands behind a `struct pcc`, and what becomes of a panic |

mod sender;

use core::ffi::{CStr, c_char};
use pcc::interval::LimitedBy;
use pcc::units::{Bytes, Rate, Timestamp};
pub use sender::Sender;

/// The version of the ABI. It rises when a program has to be compiled again.
pub const PCC_ABI: u32 = 0;

/// What a function answers. Values below zero are errors.
#[repr(i32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PccStatus {
    /// Done.
    PccOk = 0,
    /// A pointer that must point at something is NULL.
    PccNull = -1,
    /// The configuration is not valid: the message says why.
    PccInvalid = -2,
    /// libpcc has a defect and met it in this call or an earlier one of this sender. The sender keeps its last rate, and can
    /// only be freed. Please report it.
    PccPoisoned = -3,
}

/// Why a transport does not send although it may.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PccLimit {
    /// The application has no data.
    PccLimitApplication = 1,
    /// The receiver's flow-control window is full.
    PccLimitReceiver = 2,
    /// This host is late: processor, timer or socket buffer.
    PccLimitHost = 3,
}

/// What a sender is told in advance. Set all of it to zero, then `size` to `sizeof(struct pcc_config)`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PccConfig {
    /// `sizeof(struct pcc_config)`: later versions may add members at the end.
    pub size: usize,
    /// Draws the order of trials. Senders that share a path need different ones.
    pub seed: u64,
    /// The highest rate, in bytes a second; 0 for none.
    pub max_rate: u64,
    /// Bytes of a full packet, headers of UDP and IP aside; 0 for 1200.
    pub max_datagram_size: u32,
    /// Zero.
    pub reserved: u32,
    /// The utility function: a name such as "scavenger" or an expression such as "x^0.9 - 20*x*L", NUL-terminated UTF-8;
    /// NULL for "fair".
    pub utility: *const c_char,
}

/// RTT as the sender measured it. All zero before the first sample.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PccRtt {
    /// Smoothed (RFC 9002), in nanoseconds.
    pub smoothed: u64,
    /// The least of the last ten seconds, in nanoseconds.
    pub least: u64,
}

/// The version of the library, such as "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn pcc_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// What a status means, in English.
#[unsafe(no_mangle)]
pub extern "C" fn pcc_status_text(status: i32) -> *const c_char {
    let text = match status {
        0 => c"done",
        -1 => c"a pointer is NULL",
        -2 => c"the configuration is not valid",
        -3 => c"a defect of libpcc was met; the sender can only be freed",
        _ => c"no status of libpcc",
    };
    text.as_ptr()
}

/// Makes a sender. Time is counted in nanoseconds from any origin, the same in all calls.
///
/// `config` may be NULL for the defaults. Where the configuration is not valid `message`, if it is not NULL, gets up to
/// `length` bytes that say why, NUL included.
///
/// # Safety
/// `sender` is valid for a write, `config` is NULL or valid for a read of its `size`, `message` is NULL or valid for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_new(
    config: *const PccConfig,
    now: u64,
    sender: *mut *mut Sender,
    message: *mut c_char,
    length: usize,
) -> PccStatus {
    if sender.is_null() {
        return PccStatus::PccNull;
    }
    // SAFETY: the caller says so.
    let made = sender::guarded(|| unsafe { read_config(config) }.map(|config| Sender::new(config, at(now))));
    match made {
        Some(Ok(made)) => {
            // SAFETY: the caller says so.
            unsafe { sender.write(Box::into_raw(Box::new(made))) };
            PccStatus::PccOk
        }
        Some(Err(error)) => {
            // SAFETY: the caller says so.
            unsafe { write_message(&error, message, length) };
            PccStatus::PccInvalid
        }
        None => PccStatus::PccPoisoned,
    }
}

/// Frees a sender; NULL is none.
///
/// # Safety
/// `sender` is NULL, or [`pcc_new`] made it and it was not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_free(sender: *mut Sender) {
    if !sender.is_null() {
        // SAFETY: the caller says so.
        let sender = unsafe { Box::from_raw(sender) };
        sender::guarded(|| drop(sender));
    }
}

/// A packet that the peer will acknowledge leaves. Numbers rise and are never used again: a retransmission is a new packet.
///
/// # Safety
/// `sender` is NULL, or a sender of [`pcc_new`] that nobody else uses now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_on_packet_sent(sender: *mut Sender, now: u64, number: u64, bytes: u32) -> PccStatus {
    // SAFETY: the caller says so.
    unsafe { tell(sender, |pcc| pcc.on_packet_sent(at(now), number, Bytes::new(bytes.into()))) }
}

/// An acknowledgement covers this packet for the first time. [`pcc_on_end_acks`] follows after the last one of it.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_on_ack(sender: *mut Sender, now: u64, number: u64) -> PccStatus {
    // SAFETY: the caller says so.
    unsafe { tell(sender, |pcc| pcc.on_ack(at(now), number)) }
}

/// Of the packets that the acknowledgement covers, so many arrived with a mark of congestion (ECN). Before
/// [`pcc_on_end_acks`].
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_on_congestion_experienced(sender: *mut Sender, packets: u32) -> PccStatus {
    // SAFETY: the caller says so.
    unsafe { tell(sender, |pcc| pcc.on_congestion_experienced(packets)) }
}

/// All packets of an acknowledgement were told of.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_on_end_acks(sender: *mut Sender, now: u64) -> PccStatus {
    // SAFETY: the caller says so.
    unsafe { tell(sender, |pcc| pcc.on_end_acks(at(now))) }
}

/// The loss detection gave this packet up.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_on_loss(sender: *mut Sender, now: u64, number: u64) -> PccStatus {
    // SAFETY: the caller says so.
    unsafe { tell(sender, |pcc| pcc.on_loss(at(now), number)) }
}

/// Nobody will report on packets below this number: keys or path are gone.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_on_discarded(sender: *mut Sender, now: u64, number: u64) -> PccStatus {
    // SAFETY: the caller says so.
    unsafe { tell(sender, |pcc| pcc.on_discarded(at(now), number)) }
}

/// The transport may send and does not, because of a `pcc_limit`. The next packet sent ends it. Other values mean the host.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_on_limited(sender: *mut Sender, now: u64, limit: u32) -> PccStatus {
    // A number, not the enumeration: C may pass any.
    let limit = match limit {
        1 => LimitedBy::Application,
        2 => LimitedBy::ReceiverWindow,
        _ => LimitedBy::Host,
    };
    // SAFETY: the caller says so.
    unsafe { tell(sender, |pcc| pcc.on_limited(at(now), limit)) }
}

/// All packets of several probe time-outs were lost (RFC 9002, 7.6).
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_on_persistent_congestion(sender: *mut Sender, now: u64) -> PccStatus {
    // SAFETY: the caller says so.
    unsafe { tell(sender, |pcc| pcc.on_persistent_congestion(at(now))) }
}

/// A full packet has another size from now on, in bytes.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_set_max_datagram_size(sender: *mut Sender, bytes: u32) -> PccStatus {
    // SAFETY: the caller says so.
    unsafe { tell(sender, |pcc| pcc.set_max_datagram_size(Bytes::new(bytes.into()))) }
}

/// The time of [`pcc_next_timer`] has come. A transport without a spare timer may leave it to the next event.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_on_timer(sender: *mut Sender, now: u64) -> PccStatus {
    // SAFETY: the caller says so.
    unsafe { tell(sender, |pcc| pcc.on_timer(at(now))) }
}

/// When [`pcc_on_timer`] should be called at the latest; `UINT64_MAX` for never.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_next_timer(sender: *const Sender) -> u64 {
    // SAFETY: the caller says so.
    unsafe { ask(sender, u64::MAX, |pcc| pcc.next_timer().map_or(u64::MAX, Timestamp::as_nanos)) }
}

/// The rate at which packets should leave now, evenly, in bytes a second. At least 1.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_rate(sender: *const Sender) -> u64 {
    // SAFETY: the caller says so.
    unsafe { sender.as_ref() }.map_or(1, Sender::rate)
}

/// How much may be in flight at the most, in bytes.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_congestion_window(sender: *const Sender) -> u64 {
    // SAFETY: the caller says so.
    unsafe { ask(sender, 0, |pcc| pcc.congestion_window().get()) }
}

/// Bytes that were sent and are neither acknowledged nor lost nor discarded.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_bytes_in_flight(sender: *const Sender) -> u64 {
    // SAFETY: the caller says so.
    unsafe { ask(sender, 0, |pcc| pcc.bytes_in_flight().get()) }
}

/// How much may leave back to back, in bytes.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_send_quantum(sender: *const Sender) -> u64 {
    // SAFETY: the caller says so.
    unsafe { ask(sender, 1, |pcc| pcc.send_quantum().get()) }
}

/// How many packets should leave back to back while the sender measures the bottleneck, otherwise 1.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_train_packets(sender: *const Sender) -> u32 {
    // SAFETY: the caller says so.
    unsafe { ask(sender, 1, |pcc| pcc.train_packets()) }
}

/// The RTT of the path.
///
/// # Safety
/// As for [`pcc_on_packet_sent`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pcc_rtt(sender: *const Sender) -> PccRtt {
    let nanos =
        |time: Option<core::time::Duration>| time.map_or(0, |time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let read = |pcc: &pcc::Pcc| PccRtt { smoothed: nanos(pcc.rtt().smoothed()), least: nanos(pcc.rtt().min()) };
    // SAFETY: the caller says so.
    unsafe { ask(sender, PccRtt::default(), read) }
}

fn at(now: u64) -> Timestamp {
    Timestamp::from_nanos(now)
}

/// # Safety
/// `sender` is NULL, or a sender that nobody else uses now.
unsafe fn tell(sender: *mut Sender, event: impl FnOnce(&mut pcc::Pcc)) -> PccStatus {
    // SAFETY: the caller says so.
    match unsafe { sender.as_mut() } {
        Some(sender) => sender.tell(event),
        None => PccStatus::PccNull,
    }
}

/// # Safety
/// `sender` is NULL, or a sender that nobody else changes now.
unsafe fn ask<T>(sender: *const Sender, otherwise: T, question: impl FnOnce(&pcc::Pcc) -> T) -> T {
    // SAFETY: the caller says so.
    match unsafe { sender.as_ref() } {
        Some(sender) => sender.ask(question).unwrap_or(otherwise),
        None => otherwise,
    }
}

/// # Safety
/// `config` is NULL or valid for a read of its `size`, and its strings are NUL-terminated.
unsafe fn read_config(config: *const PccConfig) -> Result<pcc::Config, String> {
    // SAFETY: the caller says so; the size comes first, and the rest is read if it is there.
    let Some(size) = (unsafe { config.cast::<usize>().as_ref() }) else { return Ok(pcc::Config::default()) };
    let wanted = size_of::<PccConfig>();
    if *size < wanted {
        return Err(format!(
            "size is {size}, of a struct pcc_config of {wanted} bytes: set it to sizeof(struct pcc_config)"
        ));
    }
    // SAFETY: it is as large as it has to be.
    let given = unsafe { config.read() };
    let mut config = pcc::Config { seed: given.seed, ..pcc::Config::default() };
    if given.max_datagram_size > 0 {
        config.max_datagram_size = Bytes::new(given.max_datagram_size.into());
    }
    config.max_rate = (given.max_rate > 0).then(|| Rate::from_bytes_per_sec(given.max_rate as f64));
    if !given.utility.is_null() {
        // SAFETY: the caller says so.
        let written = unsafe { CStr::from_ptr(given.utility) };
        let written = written.to_str().map_err(|error| format!("utility is not UTF-8: {error}"))?;
        config.utility = pcc::utility::parse(written).map_err(|error| format!("utility: {error}"))?;
    }
    Ok(config)
}

/// Writes as much as there is room for, and NUL.
///
/// # Safety
/// `message` is NULL or valid for `length` bytes.
unsafe fn write_message(text: &str, message: *mut c_char, length: usize) {
    if message.is_null() || length == 0 {
        return;
    }
    let mut bytes = text.len().min(length - 1);
    while !text.is_char_boundary(bytes) {
        bytes -= 1;
    }
    // SAFETY: `bytes` are fewer than `length`, and of `text`.
    unsafe {
        message.copy_from_nonoverlapping(text.as_ptr().cast(), bytes);
        message.add(bytes).write(0);
    }
}

#[cfg(test)]
mod tests;
