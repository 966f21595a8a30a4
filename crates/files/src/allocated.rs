//! Counts what tests allocate, to the byte: the memory that the system gives is too coarse to see a small leak in, since
//! allocators keep tens of megabytes of what was given back.

use core::alloc::{GlobalAlloc, Layout};
use core::sync::atomic::{AtomicI64, Ordering::Relaxed};
use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static LIVE: AtomicI64 = AtomicI64::new(0);

struct Counting;

/// Bytes allocated and not freed, in all of the process.
pub(crate) fn live_bytes() -> i64 {
    LIVE.load(Relaxed)
}

// SAFETY: every call is passed on to the tool's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: the caller's promises are handed on.
        unsafe { MiMalloc.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as i64, Relaxed);
        // SAFETY: as above.
        unsafe { MiMalloc.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_add(size as i64 - layout.size() as i64, Relaxed);
        // SAFETY: as above.
        unsafe { MiMalloc.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as i64, Relaxed);
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(pointer, layout) }
    }
}
