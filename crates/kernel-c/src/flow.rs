//! The kernel's PCC for one connection, to be tried over simulated paths.

use crate::ffi::{self, Sample, Told};
use crate::program::Program;

/// The state of a TCP connection.
#[derive(Clone, Debug)]
pub struct Flow {
    state: Vec<u64>,
    program: Program,
    /// The bytes that another connection leaves in the working memory before each event.
    leftover: Option<u8>,
}

impl Flow {
    /// A connection that knows nothing of its path yet, and strives for what this program says.
    pub fn new(program: Program, sample: &Sample, seed: u64) -> Self {
        // SAFETY: C fills as many bytes as it asked for.
        let state = unsafe {
            let mut state = vec![0; (ffi::pcc_lib_flow_size() as usize).div_ceil(8)];
            ffi::pcc_lib_flow_new(state.as_mut_ptr(), sample, seed);
            state
        };
        Self { state, program, leftover: None }
    }

    /// From now on another connection uses the working memory between two events, and leaves these bytes in it.
    pub fn share_working_memory(&mut self, leftover: u8) {
        self.leftover = Some(leftover);
    }

    fn lose_working_memory(&mut self) {
        if let Some(byte) = self.leftover {
            // SAFETY: the state lives through the call.
            unsafe { ffi::pcc_lib_flow_lose(self.state.as_mut_ptr(), byte) }
        }
    }

    /// An acknowledgement arrived: whether the law was needed.
    pub fn on_ack(&mut self, sample: &Sample) -> bool {
        self.lose_working_memory();
        // SAFETY: all live through the call.
        unsafe { ffi::pcc_lib_flow_on_ack(self.state.as_mut_ptr(), &self.program, sample) != 0 }
    }

    /// Something is sent, and nothing was in flight: whether rate and window are others now.
    pub fn on_resumption(&mut self, sample: &Sample) -> bool {
        self.lose_working_memory();
        // SAFETY: both live through the call.
        unsafe { ffi::pcc_lib_flow_on_resumption(self.state.as_mut_ptr(), sample) != 0 }
    }

    /// TCP takes back that packets were lost, of which it has counted so many so far.
    pub fn on_undo(&mut self, lost: u32) {
        // SAFETY: the state lives through the call.
        unsafe { ffi::pcc_lib_flow_on_undo(self.state.as_mut_ptr(), lost) }
    }

    /// The socket's highest rate is this from now on. Unit: byte/s; 0 for none.
    pub fn limit(&mut self, most: u64) {
        // SAFETY: the state lives through the call.
        unsafe { ffi::pcc_lib_flow_limit(self.state.as_mut_ptr(), most) }
    }

    /// The rate at which packets should leave. Unit: byte/s.
    pub fn rate(&self) -> u64 {
        // SAFETY: the state lives through the call.
        unsafe { ffi::pcc_lib_flow_rate(self.state.as_ptr()) }
    }

    /// How many packets may be in flight, where TCP's window was this one before.
    pub fn window(&self, before: u32) -> u32 {
        // SAFETY: the state lives through the call.
        unsafe { ffi::pcc_lib_flow_window(self.state.as_ptr(), before) }
    }

    /// Its story so far.
    pub fn told(&self) -> Told {
        let mut told = Told::default();
        // SAFETY: both live through the call.
        unsafe { ffi::pcc_lib_flow_told(self.state.as_ptr(), &raw mut told) };
        told
    }

    /// Whether it looks for the order of magnitude still.
    pub fn is_starting(&self) -> bool {
        self.told().state == 0
    }

    /// How many intervals were reported.
    pub fn intervals(&self) -> u32 {
        self.told().intervals
    }

    /// The loss rate of the latest one.
    pub fn loss(&self) -> f64 {
        // SAFETY: the state lives through the call.
        f64::from_bits(unsafe { ffi::pcc_lib_flow_loss(self.state.as_ptr()) })
    }

    /// The latest interval's utility; NaN before the first.
    pub fn utility(&self) -> f64 {
        // SAFETY: the state lives through the call.
        f64::from_bits(unsafe { ffi::pcc_lib_flow_utility(self.state.as_ptr()) })
    }
}
