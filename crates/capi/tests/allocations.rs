//! Once as many packets were in flight as ever are, nothing on the way of a packet allocates.

use pcc_capi::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller says so.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller says so.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn packets_allocate_nothing_once_warm() {
    let mut sender = null_mut();
    // SAFETY: all of it is valid.
    unsafe { pcc_new(null(), 0, &mut sender, null_mut(), 0) };
    let carry = |packets: core::ops::Range<u64>| {
        for number in packets {
            let now = number * 1_000_000;
            // SAFETY: it is a sender.
            unsafe {
                pcc_on_packet_sent(sender, now, number, 1200);
                if number >= 30 && number % 50 == 0 {
                    pcc_on_loss(sender, now, number - 30);
                } else if number >= 30 {
                    pcc_on_ack(sender, now, number - 30);
                    pcc_on_end_acks(sender, now);
                }
                pcc_on_timer(sender, now);
            }
        }
    };
    carry(0..20_000);
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    carry(20_000..120_000);
    assert_eq!(ALLOCATIONS.load(Ordering::Relaxed) - before, 0);
    // SAFETY: it is a sender.
    unsafe { pcc_free(sender) };
}
