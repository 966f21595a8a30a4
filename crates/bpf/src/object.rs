//! The BPF object: that which is built into the tool, or a file; and under which name it registers.

use crate::btf::Btf;
use crate::elf::{function, section};
use crate::formula::Code;
use crate::host_error::{Doing as _, HostError};
use crate::kept_object;
use crate::variant::Variant;
use std::path::{Path, PathBuf};

/// The object that `kernel/build` made, if there was one when this tool was built (build.rs); else nothing.
static BUILT_IN: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/tcp_pcc.bpf.o"));

/// Where the name of the congestion control stands, and how long it may be with the zero after it.
const SECTION: &str = ".struct_ops";
const NAME: usize = 16;
/// Linux's names for congestion controls, and for the member that is told that something is sent with nothing in flight.
const OPS: &str = "tcp_congestion_ops";
const TX_START: &str = "cwnd_event_tx_start";
/// The function whose place a formula's code takes, and the size of an instruction.
const FORMULA: &str = "pcc_written";
const INSTRUCTION: usize = 8;
/// `TCP_CONG_NON_RESTRICTED`: who has no rights may choose it too.
const NON_RESTRICTED: u32 = 1;

/// Where the BPF object is that is loaded: a file as kernel/build makes it, or by default the one that is built in.
#[derive(Clone, Debug, Default)]
pub struct Source {
    object: Option<PathBuf>,
}

/// A BPF object, and where it is from.
#[derive(Clone)]
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
    pub fn object(&self) -> Result<Object, HostError> {
        let Some(file) = &self.object else {
            if BUILT_IN.is_empty() {
                return Err(HostError::NoObject);
            }
            return Ok(Object { bytes: BUILT_IN.to_vec(), origin: "the object that this tool was built with".into() });
        };
        let bytes = std::fs::read(file).doing(|| format!("cannot read the object {}", file.display()))?;
        Ok(Object { bytes, origin: file.display().to_string() })
    }

    /// The same. Where there is none, that from which one of these variants was loaded.
    pub fn object_or_kept(&self, loaded: &[Variant]) -> Result<Object, HostError> {
        match self.object() {
            Err(HostError::NoObject) => loaded.iter().find_map(kept_object::of).ok_or(HostError::NoObject),
            found => found,
        }
    }

    /// The file, if it is none that is built in.
    pub fn file(&self) -> Option<&Path> {
        self.object.as_deref()
    }
}

impl Object {
    /// From the bytes of a file.
    pub(crate) fn new(bytes: Vec<u8>, origin: String) -> Self {
        Self { bytes, origin }
    }

    /// As libbpf takes it.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where it is from, for messages.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// By which it is told from others. The digest is that of the object as it was made, before it is changed for this kernel and
    /// name.
    pub fn digest(&self) -> u64 {
        let whole = blake3::hash(&self.bytes);
        whole.as_bytes().first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
    }

    /// Has it register under this name, and for applications without rights too if they are allowed.
    ///
    /// Errors: the object is not one of ours.
    pub fn register_as(&mut self, name: &str, allow: bool) -> Result<(), HostError> {
        let at = section(&self.bytes, SECTION).ok_or_else(|| self.strange())?.offset;
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

    /// Has it run this program, `struct pcc_program`, by code of its own.
    ///
    /// Errors: the object is not one of ours, or the code does not fit.
    pub fn write_formula(&mut self, program: &[u8]) -> Result<(), HostError> {
        let text = section(&self.bytes, ".text").ok_or_else(|| self.strange())?;
        let written = function(&self.bytes, text, FORMULA).ok_or_else(|| self.strange())?;
        let Code { mut instructions, calls } = Code::of(program);
        for (at, called) in calls {
            let called = function(&self.bytes, text, called).ok_or_else(|| self.strange())?;
            let [from, to] = [written.offset / INSTRUCTION + at + 1, called.offset / INSTRUCTION];
            let distance = i32::try_from(to as i64 - from as i64).map_err(|_| self.strange())?;
            instructions[at][4..].copy_from_slice(&distance.to_ne_bytes());
        }
        let code = instructions.as_flattened();
        if code.len() > written.size {
            return Err(HostError::FormulaTooLong { code: code.len(), room: written.size });
        }
        let begin = text.offset.saturating_add(written.offset);
        let place = self.bytes.get_mut(begin..begin.saturating_add(code.len()));
        place.ok_or(HostError::CutOff)?.copy_from_slice(code);
        let size = (code.len() as u64).to_ne_bytes();
        self.bytes[written.says_size..written.says_size + size.len()].copy_from_slice(&size);
        Ok(())
    }

    fn strange(&self) -> HostError {
        HostError::NotOurs(self.origin.clone())
    }

    /// Has it notice each pause also where the kernel, by these types, tells of the event at its end apart: since Linux 7.1.
    ///
    /// Errors: the object is not one of ours.
    pub fn fit(&mut self, kernel: &Btf) -> Result<(), HostError> {
        let is_told_apart = kernel.structure(OPS).and_then(|ops| kernel.member(ops, TX_START)).is_some();
        if !is_told_apart {
            return Ok(());
        }
        let begin = section(&self.bytes, ".BTF").ok_or_else(|| self.strange())?.offset;
        let types = Btf::read(self.bytes.get(begin..).ok_or_else(|| self.strange())?.to_vec())?;
        let (at, name) = types.renaming(OPS, "cwnd_event", TX_START).ok_or_else(|| self.strange())?;
        self.bytes[begin + at..begin + at + name.len()].copy_from_slice(&name);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::tests::{file, symbol};

    /// An ELF file with a congestion control of that content, and types.
    fn elf_with(content: &[u8], types: &[u8]) -> Vec<u8> {
        file(&[(SECTION, content), (".BTF", types)])
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
        let at = section(&ours.bytes, SECTION).unwrap().offset;
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
        let at = section(&ours.bytes, ".BTF").unwrap().offset;
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

    /// `struct pcc_program` of these operations.
    fn program(ops: &[(u32, u32)]) -> Vec<u8> {
        let head = [ops.len() as u32, 0, 0, 0, 0, 0].map(u32::to_ne_bytes);
        let ops = ops.iter().map(|(code, index)| [code.to_ne_bytes(), index.to_ne_bytes(), [0; 4], [0; 4]]);
        head.into_iter().chain(ops.flatten()).flatten().collect()
    }

    #[test]
    fn a_formula_is_written_where_the_object_has_room_for_it() {
        let symbols = [symbol(1, 0, 8), symbol(8, 64, 400)].concat();
        let before = file(&[(".text", &[0xee; 600]), (".symtab", &symbols), (".strtab", b"\0n_sqrt\0pcc_written\0")]);
        let mut ours = object(before.clone());
        let root_of_x = program(&[(1, 0), (15, 0)]);
        ours.write_formula(&root_of_x).unwrap();
        let text = section(&ours.bytes, ".text").unwrap();
        let written = function(&ours.bytes, text, FORMULA).unwrap();
        let code = Code::of(&root_of_x);
        assert_eq!(written.size, code.instructions.len() * INSTRUCTION);
        let at = text.offset + written.offset;
        assert_eq!(ours.bytes[at + written.size..at + 400], before[at + written.size..at + 400]);
        let call = at + code.calls[0].0 * INSTRUCTION;
        let distance = i32::from_ne_bytes(ours.bytes[call + 4..call + 8].try_into().unwrap());
        assert_eq!(distance, -(64 / 8 + code.calls[0].0 as i32 + 1), "to the begin of the section");

        let long = program(&[(1, 0)].into_iter().chain([(15, 0); 60]).collect::<Vec<_>>());
        let error = object(before.clone()).write_formula(&long).unwrap_err().to_string();
        assert!(error.contains("of 400"), "{error}");
        let error = object(before).write_formula(&program(&[(1, 0), (13, 0)])).unwrap_err().to_string();
        assert!(error.contains("is not PCC's BPF object"), "it has no n_exp: {error}");
    }
}
