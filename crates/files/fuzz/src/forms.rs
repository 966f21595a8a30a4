//! Any bytes as what a stranger sends of a delta: read in parts of any length, refused or taken, and never too much kept.
#![no_main]

#[path = "../../src/coding.rs"]
#[allow(dead_code)]
mod coding;
#[path = "../../src/delta/mod.rs"]
#[allow(dead_code, unused_imports)]
mod delta;

use coding::{Decoder, Frame};
use delta::{List, Ranges};

libfuzzer_sys::fuzz_target!(|input: (u8, u8, u64, &[u8])| {
    let (form, cut, size, bytes) = input;
    let parts = bytes.chunks(usize::from(cut).max(1));
    match form % 3 {
        0 => {
            let mut list = List::default();
            for part in parts {
                list.push(part);
                loop {
                    match list.next() {
                        Ok(Some(chunk)) => assert!(chunk.length > 0),
                        Ok(None) => break,
                        Err(_) => return,
                    }
                }
            }
        }
        1 => {
            let (mut ranges, mut last) = (Ranges::within(size), 0);
            for part in parts {
                ranges.push(part);
                loop {
                    match ranges.next() {
                        Ok(Some(range)) => {
                            assert!(last <= range.start && range.start < range.end && range.end <= size);
                            last = range.end;
                        }
                        Ok(None) => break,
                        Err(_) => return,
                    }
                }
            }
        }
        _ => {
            let mut decoder = Decoder::default();
            for part in parts {
                decoder.push(part);
                loop {
                    match decoder.frame() {
                        Ok(Some(Frame::Bytes(piece))) => assert!((1..=coding::MOST).contains(&piece.len())),
                        Ok(Some(Frame::Copy(range))) => assert!(range.end - range.start <= coding::MOST as u64),
                        Ok(None) => break,
                        Err(_) => return,
                    }
                }
            }
        }
    }
});
