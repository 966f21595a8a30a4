//! The limits of a sender.

use serde::Serialize;

/// The limit of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// There was nothing to send.
    Application,
    /// The peer took no more: flow control.
    ReceiverWindow,
    /// The sender's computer did not run it.
    Host,
    /// Nothing came back.
    Outage,
    /// Its own congestion window or rate, with no sign from the path that it should not be larger.
    Window,
    /// Packets were lost though nothing waited.
    Loss,
    /// Packets above a rate were dropped, and nothing waited.
    Policer,
    /// The path carried no more, and packets waited for long.
    Queue,
    /// The path carried no more, behind a short queue.
    Rate,
}

impl Cause {
    /// All, in the order of pages.
    pub const ALL: [Self; 9] = [
        Self::Application,
        Self::ReceiverWindow,
        Self::Host,
        Self::Outage,
        Self::Window,
        Self::Loss,
        Self::Policer,
        Self::Queue,
        Self::Rate,
    ];

    /// In a few words.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Application => "the application",
            Self::ReceiverWindow => "the receiver's window",
            Self::Host => "this computer",
            Self::Outage => "an outage",
            Self::Window => "the sender's own window",
            Self::Loss => "losses without a queue",
            Self::Policer => "a policer",
            Self::Queue => "the path's rate, behind a long queue",
            Self::Rate => "the path's rate",
        }
    }

    /// The observation behind it.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Application => "There was nothing to send, or too little to fill the window.",
            Self::ReceiverWindow => "The peer's flow control allowed no more bytes.",
            Self::Host => {
                "The sender did nothing when it was due to: its process, its computer or its pacer was held up."
            }
            Self::Outage => "Packets were under way, and nothing came back.",
            Self::Window => "The sender kept below its path's rate without a loss or a queue, as in its start-up.",
            Self::Loss => "Packets were lost though none waited: random loss, or a buffer of a few packets.",
            Self::Policer => "Packets above a rate were dropped at once, and nothing waited.",
            Self::Queue => "The path carried no more, and packets waited in a queue.",
            Self::Rate => "The path carried no more.",
        }
    }

    /// The remedy.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Application => {
                "Look at the disk, the program, or whatever feeds it: the network could have carried more."
            }
            Self::ReceiverWindow => {
                "Raise the receiver's flow-control windows, for the connection and for each stream, above rate times RTT; \
                 or let it read faster."
            }
            Self::Host => "Look for what keeps the sender's processor busy, or its process stopped.",
            Self::Outage => "Look at the link: a radio that lost its cell, a route that changed, a NAT that forgot.",
            Self::Window => {
                "Nothing, if it is short. Otherwise look at the start-up and the limits of the sender's congestion control."
            }
            Self::Loss => {
                "A congestion control that does not slow down for every loss, such as PCC or BBR; or mend the radio or cable."
            }
            Self::Policer => "Send at the policer's rate and no faster; a larger one is the provider's to sell.",
            Self::Queue => {
                "A faster path; and for those who wait, a sender that keeps queues short, or a queue discipline such as fq_codel."
            }
            Self::Rate => "A faster path: this one was full.",
        }
    }
}
