//! The second look at a file that may have changed while it was sent: all of it is read again before its last piece goes.
//!
//! A log may be of any size, and anybody may ask for it, so this is done as digests are computed: a slice in each turn,
//! in turns with what others wait for, and only as long as somebody waits.

use super::Part;
use crate::serve::body::LARGE;
use crate::serve::broken::Broken;
use crate::serve::digest::{Queue, SLICE};
use crate::serve::root::{Opened, Standing};
use blake3::Hash;
use bytes::Bytes;

/// A piece that may go if what was read before is read again.
#[derive(Debug)]
pub(in crate::serve) struct SecondLook {
    again: Box<Part>,
    first: Hash,
    /// Whether nothing may happen to the file meanwhile. Otherwise every byte that had its value both before and after
    /// the moment when this begins had it then.
    must_rest: bool,
    /// How often it may begin anew because something happened meanwhile.
    looks: u8,
    last: Bytes,
}

/// A backup that links a whole tree, or a `chmod -R`, touches a file once or twice.
const LOOKS: u8 = 4;

impl SecondLook {
    /// Whether `again`, of which nothing was read yet, still is what gave `first`.
    pub(in crate::serve) fn new(again: Part, first: Hash, must_rest: bool, last: Bytes) -> Self {
        Self { again: Box::new(again), first, must_rest, looks: LOOKS, last }
    }

    /// Whether the whole file still is what has this digest. It holds no piece back.
    pub(in crate::serve) fn at_all(opened: &Opened, digest: Hash) -> Self {
        Self::new(Part::new(opened.clone(), 0..opened.size), digest, false, Bytes::new())
    }

    /// The piece that was held back, for whoever knows already that what was read is right.
    pub(in crate::serve) fn spare(self) -> Bytes {
        self.last
    }

    /// The piece that was held back.
    ///
    /// Errors: the file is another.
    pub(in crate::serve) async fn finish(mut self, mut queue: Queue) -> Result<Bytes, Broken> {
        while !self.again.is_read() {
            let turn = queue.place().await.turn().await;
            let slice = tokio::task::spawn_blocking(move || {
                let read = self.go_on();
                drop(turn);
                read.map(|()| self)
            });
            self = slice.await.map_err(|error| Broken::Read(error.into()))??;
        }
        Ok(self.last)
    }

    /// Reads the next slice. Blocks.
    fn go_on(&mut self) -> Result<(), Broken> {
        let (mut buffer, mut left) = (Vec::new(), SLICE);
        while left > 0 && !self.again.is_read() {
            if !self.again.read(&mut buffer, LARGE).map_err(Broken::Read)? {
                return Err(Broken::Changed);
            }
            left = left.saturating_sub(buffer.len() as u64);
        }
        if !self.again.is_read() {
            return Ok(());
        }
        if self.again.digest() != self.first {
            return Err(Broken::Changed);
        }
        if self.must_rest { self.end_or_begin_anew() } else { Ok(()) }
    }

    /// The bytes are the same: done, unless something happened while they were read. Blocks, for 20 ms at most.
    fn end_or_begin_anew(&mut self) -> Result<(), Broken> {
        match self.again.opened().standing().map_err(Broken::Read)? {
            Standing::Same => Ok(()),
            Standing::Unsettled if self.looks > 1 => {
                self.looks -= 1;
                *self.again = self.again.settled()?;
                Ok(())
            }
            _ => Err(Broken::Changed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::body::Pieces;
    use crate::serve::digest::Digests;
    use crate::serve::path::SafePath;
    use crate::serve::root::{Found, Root};
    use core::net::IpAddr;
    use core::time::Duration;
    use std::io::Write;
    use tokio::time::timeout;

    const ONE: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 1));
    const OTHER: IpAddr = IpAddr::V4(core::net::Ipv4Addr::new(10, 0, 0, 2));

    /// A log of more than a slice that grew while it was sent.
    fn look(dir: &std::path::Path) -> SecondLook {
        let path = dir.join("log");
        std::fs::write(&path, vec![7; SLICE as usize + 5]).unwrap();
        let Found::File(opened) = Root::open(dir).unwrap().find(&SafePath::parse("/log").unwrap()).unwrap() else {
            panic!("not a file")
        };
        let size = opened.size;
        let mut part = Part::new(opened, 0..size);
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"another line").unwrap();
        while !part.is_read() {
            part.next(&mut Vec::new(), LARGE).unwrap();
        }
        part.held_back().expect("it grew")
    }

    #[tokio::test]
    async fn it_waits_for_its_turn_among_those_who_want_digests() {
        let dir = tempfile::tempdir().unwrap();
        let digests = Digests::default();
        let mut own = digests.queue(ONE);
        let place = own.place().await;
        let mut finish = Box::pin(look(dir.path()).finish(digests.queue(ONE)));
        assert!(
            timeout(Duration::from_millis(200), &mut finish).await.is_err(),
            "another request of the peer is at it"
        );
        drop(place);
        let last = finish.await.unwrap();
        assert!(!last.is_empty() && last.iter().all(|byte| *byte == 7));
    }

    #[tokio::test]
    async fn it_takes_a_turn_for_each_slice_and_lets_others_in_between() {
        let dir = tempfile::tempdir().unwrap();
        let digests = Digests::default();
        let mut look = look(dir.path());
        look.go_on().unwrap();
        assert!(!look.again.is_read(), "one slice of two");
        let (mut first, mut second) = (digests.queue(OTHER), digests.queue(IpAddr::from([10, 0, 0, 3])));
        let turns = [first.place().await.turn().await, second.place().await.turn().await];
        let mut finish = Box::pin(look.finish(digests.queue(ONE)));
        assert!(timeout(Duration::from_millis(200), &mut finish).await.is_err(), "others have all turns");
        drop(turns);
        finish.await.unwrap();
    }
}
