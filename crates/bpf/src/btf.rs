//! Reads BTF, in which the kernel and BPF objects describe their types: where a field lies is looked up, never assumed.
//! Documentation/bpf/btf.rst of Linux has the format.

use std::fmt;

/// A description of types.
pub struct Btf {
    bytes: Vec<u8>,
    /// Where each type begins; the first is no type.
    types: Vec<usize>,
    strings: usize,
}

/// A place within a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Unit: byte.
    pub offset: usize,
    kind: u32,
}

/// Why a description says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct BtfError(String);

impl fmt::Display for BtfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unreadable description of types (BTF): {}", self.0)
    }
}

const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const DATASEC: u32 = 15;
/// The kinds that stand for another type: typedef, volatile, const, restrict, variable, type tag.
const NAMES: [u32; 6] = [8, 9, 10, 11, 14, 18];

impl Btf {
    /// Reads these bytes, which are in this machine's order.
    pub fn read(bytes: Vec<u8>) -> Result<Self, BtfError> {
        let wrong = |what: &str| BtfError(what.to_owned());
        let header = |at| word(&bytes, at).map(|word| word as usize).ok_or_else(|| wrong("no header"));
        if word(&bytes, 0).is_none_or(|magic| magic & 0xffff != 0xeb9f) {
            return Err(wrong("it does not begin as one, or is of another byte order"));
        }
        let length = header(4)?;
        let (begin, size, strings) = (length + header(8)?, header(12)?, length + header(16)?);
        let end = begin.checked_add(size).filter(|end| *end <= bytes.len()).ok_or_else(|| wrong("it ends early"))?;
        let (mut types, mut at) = (vec![0], begin);
        while at < end {
            types.push(at);
            let info = word(&bytes, at + 4).ok_or_else(|| wrong("it ends early"))?;
            let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
            at += 12
                + match kind {
                    1 | 14 | 17 => 4,
                    ARRAY => 12,
                    STRUCT | UNION | DATASEC | 19 => 12 * members,
                    6 | 13 => 8 * members,
                    2 | 7..=12 | 16 | 18 => 0,
                    _ => return Err(BtfError(format!("kind {kind} of types is not known"))),
                };
        }
        Ok(Self { bytes, types, strings })
    }

    fn word(&self, at: usize) -> u32 {
        word(&self.bytes, at).unwrap_or(0)
    }

    fn name(&self, at: usize) -> &[u8] {
        let text = self.bytes.get(self.strings + self.word(at) as usize..).unwrap_or_default();
        text.split(|byte| *byte == 0).next().unwrap_or_default()
    }

    /// Follows names to what they stand for, and arrays to their first element: where it begins, its kind, how many members it
    /// has.
    fn resolve(&self, mut id: u32) -> Option<(usize, u32, usize)> {
        // No chain is that long.
        for _ in 0..32 {
            let at = *self.types.get(id as usize).filter(|_| id > 0)?;
            let info = self.word(at + 4);
            let kind = info >> 24 & 0x1f;
            id = match kind {
                ARRAY => self.word(at + 12),
                _ if NAMES.contains(&kind) => self.word(at + 8),
                _ => return Some((at, kind, (info & 0xffff) as usize)),
            };
        }
        None
    }

    /// The variable of that name in a section of variables.
    pub fn variable(&self, section: u32, name: &str) -> Option<Field> {
        let (at, kind, members) = self.resolve(section)?;
        (kind == DATASEC).then_some(())?;
        (0..members).map(|index| at + 12 + 12 * index).find_map(|entry| {
            let kind = self.word(entry);
            let named = self.types.get(kind as usize).is_some_and(|at| self.name(*at) == name.as_bytes());
            named.then(|| Field { offset: self.word(entry + 4) as usize, kind })
        })
    }

    /// The structure of this name, as a field at the beginning.
    pub fn structure(&self, name: &str) -> Option<Field> {
        let is_it = |at: &usize| self.word(at + 4) >> 24 & 0x1f == STRUCT && self.name(*at) == name.as_bytes();
        let kind = self.types.iter().skip(1).position(is_it)? + 1;
        Some(Self::whole(u32::try_from(kind).ok()?))
    }

    /// Where the name of a member of that structure stands, and what stands there for another that is somewhere in here: where in
    /// these bytes, and the four to write there. `None` if it has no such member, or there is no such name.
    pub fn renaming(&self, structure: &str, member: &str, name: &str) -> Option<(usize, [u8; 4])> {
        let (at, _, members) = self.resolve(self.structure(structure)?.kind)?;
        let entry = (0..members).map(|index| at + 12 + 12 * index).find(|at| self.name(*at) == member.as_bytes())?;
        let wanted = [b"\0", name.as_bytes(), b"\0"].concat();
        let length = self.word(20) as usize;
        let strings = self.bytes.get(self.strings..self.strings.checked_add(length)?)?;
        let place = strings.windows(wanted.len()).position(|part| part == wanted)? + 1;
        Some((entry, u32::try_from(place).ok()?.to_ne_bytes()))
    }

    /// The structure with this number, as a field at the beginning.
    pub const fn whole(kind: u32) -> Field {
        Field { offset: 0, kind }
    }

    /// The place within a structure to which a path of names like `law.state` leads.
    pub fn member(&self, of: Field, path: &str) -> Option<Field> {
        path.split('.').try_fold(of, |within, name| self.own(within, name, 4))
    }

    /// One member, also of a structure without a name in it.
    fn own(&self, within: Field, name: &str, depth: u32) -> Option<Field> {
        let (at, kind, members) = self.resolve(within.kind)?;
        matches!(kind, STRUCT | UNION).then_some(())?;
        let bitfields = self.word(at + 4) >> 31 == 1;
        (0..members).map(|index| at + 12 + 12 * index).find_map(|entry| {
            let place = self.word(entry + 8);
            let bits = if bitfields { place & 0xff_ffff } else { place };
            let field = Field { offset: within.offset + bits as usize / 8, kind: self.word(entry + 4) };
            match self.name(entry) {
                found if found == name.as_bytes() => Some(field),
                b"" if depth > 0 => self.own(field, name, depth - 1),
                _ => None,
            }
        })
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `struct flow { u32 rate; struct { u32 state; } law; }` and a section `.data` that holds `flow` at 8.
    fn example() -> Vec<u8> {
        let strings = b"\0u32\0rate\0state\0law\0flow\0.data\0";
        let name = |wanted: &str| {
            let at = strings.windows(wanted.len() + 1).position(|part| part == [wanted.as_bytes(), b"\0"].concat());
            at.unwrap() as u32
        };
        let of = |kind: u32, members: u32| kind << 24 | members;
        let types = [
            [name("u32"), of(1, 0), 4, 32].to_vec(),             // 1
            [0, of(STRUCT, 1), 4, name("state"), 1, 0].to_vec(), // 2
            [name("flow"), of(STRUCT, 2), 8, name("rate"), 1, 0, name("law"), 2, 32].to_vec(), // 3
            [name("flow"), of(14, 0), 3, 1].to_vec(),            // 4
            [name(".data"), of(DATASEC, 1), 16, 4, 8, 8].to_vec(), // 5
            [0, of(ARRAY, 0), 0, 3, 1, 0].to_vec(),              // 6
        ]
        .concat();
        let size = types.len() as u32 * 4;
        let header = [0x1_eb9f, 24, 0, size, size, strings.len() as u32];
        header.iter().chain(&types).flat_map(|word| word.to_ne_bytes()).chain(*strings).collect()
    }

    #[test]
    fn a_field_is_found_by_its_path() {
        let btf = Btf::read(example()).unwrap();
        let flow = btf.variable(5, "flow").unwrap();
        assert_eq!(flow.offset, 8);
        assert_eq!(btf.member(flow, "law.state").map(|field| field.offset), Some(12));
        assert_eq!(btf.member(flow, "rate").map(|field| field.offset), Some(8));
        assert_eq!(
            btf.member(Btf::whole(6), "law.state").map(|field| field.offset),
            Some(4),
            "of an array's first element"
        );
        assert_eq!(btf.member(Btf::whole(3), "law.rate"), None);
        assert_eq!(btf.variable(3, "flow"), None, "a structure is no section");
        assert_eq!(btf.variable(99, "flow"), None);
    }

    #[test]
    fn a_member_gets_a_name_that_is_there() {
        let mut bytes = example();
        let btf = Btf::read(bytes.clone()).unwrap();
        assert_eq!(btf.structure("flow"), Some(Btf::whole(3)));
        assert_eq!(btf.structure("u32"), None, "it is no structure");
        assert_eq!(btf.renaming("flow", "rate", "stat"), None, "a part of a name is none");
        assert_eq!(btf.renaming("flow", "state", "law"), None, "that is a member of a member");
        let (at, name) = btf.renaming("flow", "rate", "state").unwrap();
        bytes[at..at + 4].copy_from_slice(&name);
        let btf = Btf::read(bytes).unwrap();
        let offset = |name| btf.member(Btf::whole(3), name).map(|field| field.offset);
        assert_eq!([offset("state"), offset("rate"), offset("law.state")], [Some(0), None, Some(4)]);
    }

    #[test]
    fn cut_or_damaged_input_never_panics() {
        let whole = example();
        for end in 0..whole.len() {
            if let Ok(btf) = Btf::read(whole[..end].to_vec()) {
                let _ = btf.variable(5, "flow").and_then(|flow| btf.member(flow, "law.state"));
                let _ = btf.renaming("flow", "rate", "state");
            }
        }
        for at in 0..whole.len() {
            for by in [1, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[at] ^= by;
                if let Ok(btf) = Btf::read(damaged) {
                    let _ = btf.variable(5, "flow").and_then(|flow| btf.member(flow, "law.state"));
                    let _ = btf.renaming("flow", "rate", "state");
                }
            }
        }
        assert!(Btf::read(b"none".to_vec()).is_err());
    }
}
