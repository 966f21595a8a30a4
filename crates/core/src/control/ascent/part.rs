//! Parts of the law that can be left out, one at a time, to see what each of them is for.

use core::fmt;

/// A part of Ascent, for [`Config::without`](super::Config::without).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// That the first packets leave in trains, which tell the bottleneck's rate: without it start-up only doubles.
    Trains,
    /// An interval below the rate after Starting, in which the queue that it built drains.
    Drain,
    /// The experiment at half of the rate that tells a queue from a path that became longer.
    Test,
    /// That losses which answer to our rate are ours: without it all of them are random.
    OwnLoss,
    /// That losses which do not answer to our rate are random: without it all of them are ours.
    RandomLoss,
    /// That each pair counts by its error: without it each is taken at its word.
    Errors,
    /// That a level of the queue counts as far as it stands out of its noise.
    Noise,
    /// That steps up double while all is carried: without it each is one ε.
    Headroom,
    /// That more is tried only on the word of a pair that left since more was tried for the last time.
    News,
    /// What the probes on their way will do to the queue.
    OnItsWay,
    /// That the buffer is known to end, and half of it is left to others.
    Room,
    /// What the queue costs in the mean, which senders of unequal rates agree on.
    Price,
    /// The floor under the rate beside somebody who fills the queue.
    Rival,
}

impl Part {
    /// All of them, and what is different without.
    pub const ALL: [(Self, &'static str); 13] = [
        (Self::Trains, "Start-up only doubles; no trains tell it how far it may step"),
        (
            Self::Drain,
            "Probing begins at once after Starting, with the queue that it built, in the first seconds, of which no figure here is",
        ),
        (Self::Test, "No pair at half of the rate asks whether a level is a queue or the path's"),
        (Self::OwnLoss, "No loss is ours, all are random"),
        (Self::RandomLoss, "No loss is random, all are ours"),
        (Self::Errors, "Each pair is taken at its word, whatever its error"),
        (Self::Noise, "The level of the queue counts in full, whatever its noise"),
        (Self::Headroom, "Steps up do not double while all is carried: each is one ε"),
        (Self::News, "More is tried on the word of any pair, also of one that left before"),
        (Self::OnItsWay, "What is on its way to the queue is not foreseen"),
        (Self::Room, "The buffer has no end that is foreseen"),
        (Self::Price, "Only the queue of the moment has a price, not that of the last pairs in the mean"),
        (Self::Rival, "No floor is put under the rate beside a sender that fills the queue"),
    ];

    /// The part of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().map(|(part, _)| *part).find(|part| part.name() == name)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Trains => "trains",
            Self::Drain => "drain",
            Self::Test => "test",
            Self::OwnLoss => "own-loss",
            Self::RandomLoss => "random-loss",
            Self::Errors => "errors",
            Self::Noise => "noise",
            Self::Headroom => "headroom",
            Self::News => "news",
            Self::OnItsWay => "on-its-way",
            Self::Room => "room",
            Self::Price => "price",
            Self::Rival => "rival",
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
