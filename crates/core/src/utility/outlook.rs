//! A law's forecast for its next rate.

/// The path's answer to a sender's next rate, as the asking law foresees it.
///
/// Behind a bottleneck of [`capacity`](Self::capacity) the queue moves with the rate, as long as that acts:
/// [`queue_at`](Self::queue_at). Nobody's own step changes the price of it, so a utility takes the queue at a rate as given when it
/// compares that rate with its neighbours. All times in seconds, rates in byte/s.
#[derive(Clone, Copy, Debug)]
pub struct Outlook {
    /// The rate that the bottleneck carries for the sender.
    pub capacity: f64,
    /// The lowest rate that is asked about.
    pub lowest: f64,
    /// The highest rate that is asked about.
    pub highest: f64,
    /// Queueing delay when the next rate begins to act.
    pub queue: f64,
    /// How long the next rate acts; zero where the queue stays as long as it is, whatever the sender does.
    pub horizon: f64,
    /// Share that is lost at any rate.
    pub lost: f64,
    /// Share of packets that is marked at any rate.
    pub marked: f64,
    /// The share of the capacity beyond which all that is sent is lost besides.
    pub full: f64,
}

impl Outlook {
    /// The queueing delay after the horizon at this share of the capacity, which is none where this is below it. Unit: s.
    pub fn queue_at(&self, share: f64) -> f64 {
        self.queue + (share - 1.0) * self.horizon
    }
}
