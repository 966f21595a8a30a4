//! The BPF object: that which is built into the tool, or a file; and under which name it registers.

use crate::btf::Btf;
use anyhow::{Context, anyhow, bail};
use std::path::{Path, PathBuf};

/// The object that `kernel/build` made, if there was one when this tool was built (build.rs); else nothing.
static BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tcp_pcc.bpf.o"));

/// What to do where there is none.
const HOW: &str = "this pcc was built without PCC's BPF object: with clang 14 or newer and libbpf's headers (Debian: apt-get \
                   install clang libbpf-dev), in PCC's sources, `kernel/build tcp_pcc.bpf.o` makes one; pass it with \
                   `--object tcp_pcc.bpf.o`, or build the tool with it: `make build` does";

/// Where the name of the congestion control stands, and how long it may be with the zero after it.
const SECTION: &str = ".struct_ops";
const NAME: usize = 16;
/// What Linux calls its congestion controls, and the member that is told that something is sent with nothing in flight.
const OPS: &str = "tcp_congestion_ops";
const TX_START: &str = "cwnd_event_tx_start";
/// `TCP_CONG_NON_RESTRICTED`: who has no rights may choose it too.
const NON_RESTRICTED: u32 = 1;

/// Where the BPF object is that is loaded: a file as kernel/build makes it, or by default the one that is built in.
#[derive(Clone, Debug, Default)]
pub struct Source {
    object: Option<PathBuf>,
}

/// A BPF object, and where it is from.
pub struct Object {
    bytes: Vec<u8>,
    origin: String,
}

/// Whether one is built in.
pub const fn is_built_in() -> bool {
    !BUILT_IN.is_empty()
}

impl Source {
    /// This file; without one, what is built in.
    pub fn new(object: Option<PathBuf>) -> Self {
        Self { object }
    }

    /// Errors: there is none, or it cannot be read.
    pub fn object(&self) -> anyhow::Result<Object> {
        let Some(file) = &self.object else {
            if BUILT_IN.is_empty() {
                bail!(HOW);
            }
            return Ok(Object { bytes: BUILT_IN.to_vec(), origin: "the object that this tool was built with".into() });
        };
        let bytes = std::fs::read(file).with_context(|| format!("cannot read the object {}", file.display()))?;
        Ok(Object { bytes, origin: file.display().to_string() })
    }

    /// The file, if it is none that is built in.
    pub fn file(&self) -> Option<&Path> {
        self.object.as_deref()
    }
}

impl Object {
    /// As libbpf takes it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where it is from, for messages.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// By which it is told from others. Of the object as it was made, before it is changed for this kernel and name.
    pub fn digest(&self) -> u64 {
        let whole = blake3::hash(&self.bytes);
        whole.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Has it register under this name, and for applications without rights too if they are allowed.
    ///
    /// Errors: the object is not one of ours.
    pub fn register_as(&mut self, name: &str, allow: bool) -> anyhow::Result<()> {
        let at = section(&self.bytes, SECTION).ok_or_else(|| self.strange())?;
        // The first members of `pcc`, the first congestion control in there, are its name and its flags.
        let is_ours = |place: &&mut [u8]| place.starts_with(b"pcc\0") && place[NAME..] == [0; 4];
        if self.bytes.get_mut(at..at + NAME + 4).filter(is_ours).is_none() {
            return Err(self.strange());
        }
        let mut written = [0; NAME + 4];
        let letters = name.len().min(NAME - 1);
        written[..letters].copy_from_slice(&name.as_bytes()[..letters]);
        written[NAME..].copy_from_slice(&if allow { NON_RESTRICTED } else { 0 }.to_ne_bytes());
        self.bytes[at..at + NAME + 4].copy_from_slice(&written);
        Ok(())
    }

    fn strange(&self) -> anyhow::Error {
        anyhow!("{} is not PCC's BPF object: kernel/build makes it", self.origin)
    }

    /// Has it notice each pause also where the kernel, by these types, tells of the event at its end apart: since Linux 7.1.
    ///
    /// Errors: the object is not one of ours.
    pub fn fit(&mut self, kernel: &Btf) -> anyhow::Result<()> {
        let is_told_apart = kernel.structure(OPS).and_then(|ops| kernel.member(ops, TX_START)).is_some();
        if !is_told_apart {
            return Ok(());
        }
        let begin = section(&self.bytes, ".BTF").ok_or_else(|| self.strange())?;
        let types = Btf::read(self.bytes.get(begin..).ok_or_else(|| self.strange())?.to_vec())?;
        let (at, name) = types.renaming(OPS, "cwnd_event", TX_START).ok_or_else(|| self.strange())?;
        self.bytes[begin + at..begin + at + name.len()].copy_from_slice(&name);
        Ok(())
    }
}

/// Where a section of this name begins in an ELF file of 64 bits, in this machine's byte order.
fn section(elf: &[u8], name: &str) -> Option<usize> {
    let number = |at: usize, size: usize| {
        let bytes = elf.get(at..at.checked_add(size)?)?;
        let mut number = [0; 8];
        if cfg!(target_endian = "little") {
            number[..size].copy_from_slice(bytes);
        } else {
            number[8 - size..].copy_from_slice(bytes);
        }
        usize::try_from(u64::from_ne_bytes(number)).ok()
    };
    elf.starts_with(b"\x7fELF\x02").then_some(())?;
    let (headers, size, count, names) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?, number(0x3e, 2)?);
    let header = |index: usize| headers.checked_add(index.checked_mul(size)?);
    let names = number(header(names)?.checked_add(0x18)?, 8)?;
    let is_it = |index: &usize| {
        let at = header(*index).and_then(|at| number(at, 4)).and_then(|at| names.checked_add(at));
        let text = at.and_then(|at| elf.get(at..)).unwrap_or_default();
        text.split(|byte| *byte == 0).next() == Some(name.as_bytes())
    };
    let found = (0..count).find(is_it)?;
    number(header(found)?.checked_add(0x18)?, 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with a section of that content, one of types, and their names.
    fn elf_with(content: &[u8], types: &[u8]) -> Vec<u8> {
        let names = b"\0.struct_ops\0.BTF\0";
        let mut file = vec![0; 0x40];
        file[..5].copy_from_slice(b"\x7fELF\x02");
        let contents = file.len();
        file.extend(content);
        let described = file.len();
        file.extend(types);
        let strings = file.len();
        file.extend(names);
        let headers = file.len();
        for (name, at) in [(1_u32, contents), (0, strings), (13, described)] {
            let mut header = vec![0; 0x40];
            header[..4].copy_from_slice(&name.to_ne_bytes());
            header[0x18..0x20].copy_from_slice(&(at as u64).to_ne_bytes());
            file.extend(header);
        }
        file[0x28..0x30].copy_from_slice(&(headers as u64).to_ne_bytes());
        file[0x3a..0x3c].copy_from_slice(&0x40_u16.to_ne_bytes());
        file[0x3c..0x3e].copy_from_slice(&3_u16.to_ne_bytes());
        file[0x3e..0x40].copy_from_slice(&1_u16.to_ne_bytes());
        file
    }

    fn elf(content: &[u8]) -> Vec<u8> {
        elf_with(content, &[])
    }

    /// `struct tcp_congestion_ops` with one member of that name, as BTF.
    fn types(member: &str) -> Vec<u8> {
        let strings = format!("\0tcp_congestion_ops\0{member}\0enum\0cwnd_event_tx_start\0");
        let types = [1, 4 << 24 | 1, 8, 20, 0, 0];
        let header = [0x1_eb9f, 24, 0, 24, 24, strings.len() as u32];
        header.iter().chain(&types).flat_map(|word: &u32| word.to_ne_bytes()).chain(strings.bytes()).collect()
    }

    fn object(bytes: Vec<u8>) -> Object {
        Object { bytes, origin: "it".into() }
    }

    #[test]
    fn object_registers_under_another_name_and_nothing_else_changes() {
        let content = *b"pcc\0zzzzzzzzzzzz\0\0\0\0FUNCTIONS";
        let mut ours = object(elf(&content));
        let before = ours.bytes.clone();
        ours.register_as("pcc_scav", true).unwrap();
        let at = section(&ours.bytes, SECTION).unwrap();
        assert_eq!(&ours.bytes[at..at + 16], b"pcc_scav\0\0\0\0\0\0\0\0");
        assert_eq!(ours.bytes[at + 16..at + 20], NON_RESTRICTED.to_ne_bytes());
        assert_eq!((&ours.bytes[..at], &ours.bytes[at + 20..]), (&before[..at], &before[at + 20..]));
    }

    #[test]
    fn a_pause_is_told_where_the_kernel_tells_of_its_end() {
        let before = elf_with(b"pcc", &types("cwnd_event"));
        let kernel = |member| Btf::read(types(member)).unwrap();
        let mut ours = object(before.clone());
        ours.fit(&kernel("cwnd_event")).unwrap();
        assert_eq!(ours.bytes, before, "as Linux was until 7.0");
        ours.fit(&kernel(TX_START)).unwrap();
        let at = section(&ours.bytes, ".BTF").unwrap();
        let told = Btf::read(ours.bytes[at..].to_vec()).unwrap();
        assert!(told.member(told.structure(OPS).unwrap(), TX_START).is_some());
        let changed = ours.bytes.iter().zip(&before).filter(|(new, old)| new != old).count();
        assert!(changed <= 4 && ours.bytes.len() == before.len());
        let error = object(elf(b"pcc")).fit(&kernel(TX_START)).map_err(|error| error.to_string());
        assert!(error.is_err(), "it has no types");
    }

    #[test]
    fn what_is_not_our_object_is_refused_however_it_is_cut() {
        for (what, bytes) in [("text", b"x - L".to_vec()), ("another", elf(b"cubic\0")), ("short", elf(b"pcc\0"))] {
            let error = object(bytes).register_as("pcc_scav", false).map_err(|error| error.to_string());
            assert!(error.is_err_and(|error| error.contains("it is not PCC's BPF object")), "{what}");
        }
        let whole = elf(b"pcc\0zzzzzzzzzzzz\0\0\0\0");
        for end in 0..whole.len() {
            let _ = object(whole[..end].to_vec()).register_as("pcc_scav", false);
            let mut damaged = whole.clone();
            damaged[end] ^= 0xff;
            let _ = object(damaged).register_as("pcc_scav", false);
        }
    }
}
