//! The rules of the default law, and of its start-up.

/// The rules that `switches.rs` switches, and the law without each.
pub(crate) const RULES: [(&str, &[(&str, &str)]); 9] = [
    (
        "Start-up",
        &[
            ("trains", "Start-up only doubles; no train measures the bottleneck's rate."),
            ("jitter", "Jitter that pulls the packets of trains apart is taken for a bottleneck."),
            ("steps", "Start-up doubles towards the rate that trains told, instead of steps of eight."),
            ("drain", "Probing begins at once after start-up; the queue of start-up does not drain first."),
            ("early", "A doubling is judged only when the fate of all its packets is known."),
            ("own-queue", "A queue that start-up fills itself does not count."),
            ("climbs", "A queue that grows does not end start-up."),
            ("excused", "Losses of trains count as others do."),
            ("worse", "A utility below that of a lower rate, or below nothing, does not end start-up."),
        ],
    ),
    (
        "Probes and pairs",
        &[
            ("clumps", "The length of a probe does not grow with the noise of the RTT."),
            ("long-enough", "A probe lasts half an RTT even if that is more than 25 ms."),
            ("short-path", "A probe never lasts longer than an RTT, however few packets that is."),
            ("long-pairs", "A pair that takes longer than an RTT climbs no further than one of an RTT."),
            ("unseen", "A slope holds for all of a probe, however little of it had RTT samples."),
            ("means", "Growth is that of the two slopes, without the line through the means."),
            ("runs", "Losses in a row count as so many losses, not as one."),
            ("errors", "Each pair counts in full, whatever its error."),
        ],
    ),
    (
        "Our share of the queue",
        &[
            ("at-best", "Changes of growth may be known better than 0.002 s/s."),
            ("unexplained", "The scatter of pairs does not count as an error of our share."),
        ],
    ),
    (
        "The level of the queue",
        &[
            ("test", "No pair at half of the rate asks whether a standing delay is a queue or the path's."),
            ("alone", "Who certainly is alone tests too."),
            ("rises", "A level that rises in a test may be the path's."),
            ("window", "A test in which a window held the sender back counts."),
            ("shorter", "A base RTT that a test raised is never lowered."),
            ("grown", "The level is the least RTT of the probe, not that at its end."),
            ("residual", "How far RTT samples lie from the line through them is no noise."),
            ("noise", "The queueing delay counts in full, whatever its noise."),
        ],
    ),
    (
        "Losses and marks",
        &[
            ("own-loss", "All losses are random."),
            ("random-loss", "All losses are the sender's own."),
            ("bounds", "While losses are ours, random loss stays as it was."),
            ("nobodys", "No loss is nobody's: all random loss has its price."),
            ("nobodys-marks", "No mark is nobody's: each has its price."),
            ("rare", "High loss rates are as likely nobody's as low ones, before any evidence."),
            ("full", "Losses behind a full queue are as likely nobody's as others, before any evidence."),
            ("full-once", "The longest queue, by which a queue is full, is never forgotten."),
            ("rates", "The rates that were sent do not tell whose losses and marks are."),
            ("queues", "Losses and marks that come with a longer RTT may be nobody's as others may."),
            ("best-slope", "The slope of losses over the RTT that fits best counts as one that was known before."),
            ("others", "What others change does not count as an error of how losses answer."),
            ("remembered", "How losses answer is forgotten after so many probes, not after so many losses."),
            ("cap", "Losses below the cap have a price while nobody knows whose they are."),
            ("no-cap", "Losses below the cap have no price, whoever's they are."),
        ],
    ),
    (
        "What the bottleneck carries",
        &[
            ("long-queue", "A queue that stands is no sign of a busy bottleneck."),
            ("grows", "A queue that grows is no sign of a busy bottleneck."),
            ("loses-more", "Certainly more loss than the random is no sign of a busy bottleneck."),
            ("overflow", "A loss is no second reading of the capacity."),
            ("one-packet", "A pair that lost all may take the capacity to nothing."),
            ("scatter", "The scatter of capacity readings does not count as their error."),
            ("buffer", "Losses do not tell that the buffer is shorter than the longest queue seen."),
            ("doubt", "A queue within the noise of a radio ends the growth of the headroom."),
            ("headroom", "Steps up do not double while everything is carried: each is one ε."),
            ("news", "A pair that left before the last increase may raise the capacity."),
            ("late", "What a host sent late and at once counts as carried."),
            ("pacer", "A pacer that is a little late keeps the capacity from growing."),
            ("unused", "The capacity is remembered however long the rate stays below it."),
        ],
    ),
    (
        "The forecast",
        &[
            ("on-its-way", "Probes in flight are not foreseen."),
            ("pair-s-time", "The forecast looks an RTT ahead, even if a pair takes longer."),
            ("overflows", "No loss is foreseen."),
            ("price", "Only the momentary queue has a price, not the mean queue."),
            ("unusual", "A moment's queue counts in full in the mean."),
            ("noisy-price", "A mean queue within the noise has a price."),
        ],
    ),
    (
        "A rival",
        &[
            ("rival", "No floor is put under the rate beside a sender that fills the queue."),
            ("forgetting", "The most that was carried is never forgotten."),
            ("senders", "A queue is a rival's only if it is longer than the largest crowd would keep it."),
            ("stays", "A rival is one only while the queue certainly is not all ours."),
            ("yields", "The floor does not give way after a loss."),
            ("drained", "A queue that drains while the floor gives way does not end it."),
            ("falls", "The floor does not give way when the queue falls."),
            ("returns", "A queue that grows again does not bring the floor back early."),
            ("answered", "A queue that grows brings the floor back at once, before others can have answered."),
            ("whole", "The floor that a growing queue brings back begins where it would after a loss."),
            ("bears", "The floor holds even where the utility does not bear the loss."),
            ("standing", "The rival's queue does not count in the bytes in flight."),
        ],
    ),
    (
        "What others make of the RTT",
        &[
            ("deviation", "No deviation of the RTT is told to utilities."),
            ("quiet", "A deviation counts at the lowest rates too."),
        ],
    ),
];

/// Rules that are left out together: a mechanism each, or rules that stand in for one another.
pub(crate) const GROUPS: [(&str, &[&str]); 9] = [
    ("the base-RTT test's guards", &["rises", "window"]),
    ("buffer and price", &["buffer", "unusual", "one-packet", "pacer"]),
    ("noise", &["jitter", "unusual", "pacer", "one-packet", "quiet"]),
    ("whose losses and marks are", &["nobodys", "nobodys-marks"]),
    ("the odds before any evidence", &["rare", "full"]),
    ("the evidence", &["rates", "queues"]),
    ("the evidence's errors", &["best-slope", "others", "remembered"]),
    ("the rival", &["forgetting", "yields", "bears"]),
    ("falls and returns", &["falls", "returns", "answered", "whole"]),
];
