//! Packet numbers as acknowledgements carry them.

/// Ranges an acknowledgement carries at most; older ones are forgotten, as stacks do: noq-proto's number.
const RANGES: usize = 64;
/// A receiver knows so many packets, by number, up to the largest one (`vendor/noq-proto/0013-*.patch`).
const KNOWN: u64 = 4096;
const WORDS: usize = (KNOWN / 64) as usize;

/// Packet numbers that arrived: inclusive ranges, the newest first.
#[derive(Clone, Debug)]
pub(crate) struct Ranges {
    list: [(u64, u64); RANGES],
    len: usize,
}

impl Default for Ranges {
    fn default() -> Self {
        Self { list: [(0, 0); RANGES], len: 0 }
    }
}

impl Ranges {
    pub(crate) fn as_slice(&self) -> &[(u64, u64)] {
        &self.list[..self.len]
    }

    pub(crate) fn largest(&self) -> Option<u64> {
        self.as_slice().first().map(|range| range.1)
    }

    /// Becomes what another is, at the cost of what that holds.
    pub(crate) fn assign(&mut self, other: &Self) {
        self.list[..other.len].copy_from_slice(other.as_slice());
        self.len = other.len;
    }

    /// Puts into `fresh` what `later` has and these do not, from `..` to `..`, the newest first: so that the work follows what is new.
    pub(crate) fn fresh(&self, later: &Self, fresh: &mut Vec<(u64, u64)>) {
        let mut known = self.as_slice().iter().peekable();
        fresh.clear();
        for &(low, high) in later.as_slice() {
            let mut end = high + 1;
            while let Some(&&(known_low, known_high)) = known.peek()
                && known_high >= low
            {
                if known_high < end {
                    fresh.push((known_high + 1, end));
                    end = known_low;
                }
                known.next();
            }
            fresh.push((low, end));
        }
    }

    /// Adds `number`; false if it was there, or is so old that nobody knows.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        let at = self.as_slice().iter().position(|range| range.0 <= number + 1).unwrap_or(self.len);
        if at < self.len {
            let (low, high) = self.list[at];
            if (low..=high).contains(&number) {
                return false;
            }
            if number == high + 1 {
                self.list[at].1 = number;
                if at > 0 && self.list[at - 1].0 == number + 1 {
                    self.list[at - 1].0 = self.list[at].0;
                    self.list.copy_within(at + 1..self.len, at);
                    self.len -= 1;
                }
                return true;
            }
            if number + 1 == low {
                self.list[at].0 = number;
                if at + 1 < self.len && self.list[at + 1].1 + 1 == number {
                    self.list[at].0 = self.list[at + 1].0;
                    self.list.copy_within(at + 2..self.len, at + 1);
                    self.len -= 1;
                }
                return true;
            }
        }
        if at == RANGES {
            return false;
        }
        let kept = self.len.min(RANGES - 1);
        self.list.copy_within(at..kept, at + 1);
        self.list[at] = (number, number);
        self.len = kept + 1;
        true
    }
}

/// Tells packets that come for the first time from copies.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// A ring: the bit of a packet is its number modulo `KNOWN`.
    bits: [u64; WORDS],
    /// The lowest number above all that came.
    next: u64,
}

impl Default for Seen {
    fn default() -> Self {
        Self { bits: [0; WORDS], next: 0 }
    }
}

impl Seen {
    const fn bit(number: u64) -> (usize, u64) {
        ((number % KNOWN / 64) as usize, 1 << (number % 64))
    }

    /// Adds `number`; false if it came before, or may have: more than [`KNOWN`] later ones overtook it.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        if number < self.next.saturating_sub(KNOWN) {
            return false;
        }
        if let Some(skipped) = number.checked_sub(self.next) {
            // The bits are those of packets that nobody knows any more.
            for left in number - skipped.min(KNOWN - 1)..=number {
                let (word, mask) = Self::bit(left);
                self.bits[word] &= !mask;
            }
            self.next = number + 1;
        }
        let (word, mask) = Self::bit(number);
        let new = self.bits[word] & mask == 0;
        self.bits[word] |= mask;
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_new_once_and_within_4096_of_the_latest() {
        let mut seen = Seen::default();
        for (number, new) in
            [(0, true), (0, false), (5000, true), (904, false), (905, true), (4999, true), (905, false)]
        {
            assert_eq!(seen.insert(number), new, "{number}");
        }
        assert!(seen.insert(9096) && seen.insert(5001) && !seen.insert(5000));
    }

    #[test]
    fn ranges_hold_what_arrived_in_whatever_order() {
        let mut ranges = Ranges::default();
        for number in [0, 1, 5, 3, 9, 4, 2, 7, 6] {
            assert!(ranges.insert(number) && !ranges.insert(number), "{number}");
        }
        assert_eq!(ranges.as_slice(), [(9, 9), (0, 7)]);
        assert!(ranges.insert(8));
        assert_eq!(ranges.as_slice(), [(0, 9)]);
    }

    #[test]
    fn the_oldest_ranges_are_forgotten() {
        let mut ranges = Ranges::default();
        for number in 0..100 {
            ranges.insert(2 * number);
        }
        assert_eq!(ranges.as_slice().len(), RANGES);
        assert_eq!(ranges.as_slice()[RANGES - 1], (72, 72));
        assert!(!ranges.insert(1));
    }
}
