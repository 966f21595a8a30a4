//! Where sections and functions are in an ELF file of 64 bits, in this machine's byte order.

use libc::{Elf64_Ehdr as FileHeader, Elf64_Shdr as SectionHeader, Elf64_Sym as Symbol};
use std::mem::offset_of;

/// How a file of 64 bits begins.
const MAGIC: &[u8] = b"\x7fELF\x02";

/// Part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    index: usize,
    /// Where it begins. Unit: byte.
    pub offset: usize,
    size: usize,
}

/// A function's place, relative to the begin of its section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Unit: byte.
    pub offset: usize,
    /// Unit: byte.
    pub size: usize,
    /// Where the file says its size, in 8 bytes.
    pub says_size: usize,
}

fn number(elf: &[u8], at: usize, size: usize) -> Option<usize> {
    let bytes = elf.get(at..at.checked_add(size)?)?;
    let mut number = [0; 8];
    if cfg!(target_endian = "little") {
        number[..size].copy_from_slice(bytes);
    } else {
        number[8 - size..].copy_from_slice(bytes);
    }
    usize::try_from(u64::from_ne_bytes(number)).ok()
}

fn is_text(elf: &[u8], at: Option<usize>, text: &str) -> bool {
    let found = at.and_then(|at| elf.get(at..)).unwrap_or_default();
    found.split(|byte| *byte == 0).next() == Some(text.as_bytes())
}

/// The section of this name.
pub fn section(elf: &[u8], name: &str) -> Option<Section> {
    elf.starts_with(MAGIC).then_some(())?;
    let headers = number(elf, offset_of!(FileHeader, e_shoff), 8)?;
    let size = number(elf, offset_of!(FileHeader, e_shentsize), 2)?;
    let count = number(elf, offset_of!(FileHeader, e_shnum), 2)?;
    let names = number(elf, offset_of!(FileHeader, e_shstrndx), 2)?;
    let header = |index: usize| headers.checked_add(index.checked_mul(size)?);
    let names = number(elf, header(names)?.checked_add(offset_of!(SectionHeader, sh_offset))?, 8)?;
    let is_it = |index: &usize| {
        let named = header(*index).and_then(|at| at.checked_add(offset_of!(SectionHeader, sh_name)));
        is_text(elf, named.and_then(|at| number(elf, at, 4)).and_then(|at| names.checked_add(at)), name)
    };
    let index = (0..count).find(is_it)?;
    let at = header(index)?;
    at.checked_add(size_of::<SectionHeader>())?;
    let offset = number(elf, at + offset_of!(SectionHeader, sh_offset), 8)?;
    Some(Section { index, offset, size: number(elf, at + offset_of!(SectionHeader, sh_size), 8)? })
}

/// The function of this name in that section.
pub fn function(elf: &[u8], within: Section, name: &str) -> Option<Function> {
    let (symbols, names) = (section(elf, ".symtab")?, section(elf, ".strtab")?);
    let end = symbols.offset.checked_add(symbols.size)?.min(elf.len());
    let found = (symbols.offset..end).step_by(size_of::<Symbol>()).find(|at| {
        let named = number(elf, at + offset_of!(Symbol, st_name), 4).and_then(|at| names.offset.checked_add(at));
        number(elf, at + offset_of!(Symbol, st_shndx), 2) == Some(within.index) && is_text(elf, named, name)
    })?;
    let (value, says_size) = (found + offset_of!(Symbol, st_value), found + offset_of!(Symbol, st_size));
    let (offset, size) = (number(elf, value, 8)?, number(elf, says_size, 8)?);
    (offset.checked_add(size)? <= within.size).then_some(Function { offset, size, says_size })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A file of these sections.
    pub(crate) fn file(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut file = vec![0; size_of::<FileHeader>()];
        file[..MAGIC.len()].copy_from_slice(MAGIC);
        let at = |file: &mut [u8], at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        let (mut names, mut headers) = (vec![0], Vec::new());
        let mut add = |file: &mut Vec<u8>, name: usize, content: &[u8]| {
            let mut header = vec![0; size_of::<SectionHeader>()];
            at(&mut header, offset_of!(SectionHeader, sh_name), &(name as u32).to_ne_bytes());
            at(&mut header, offset_of!(SectionHeader, sh_offset), &(file.len() as u64).to_ne_bytes());
            at(&mut header, offset_of!(SectionHeader, sh_size), &(content.len() as u64).to_ne_bytes());
            file.extend(content);
            headers.extend(header);
        };
        for (name, content) in sections {
            add(&mut file, names.len(), content);
            names.extend(name.bytes().chain([0]));
        }
        add(&mut file, 0, &names);
        let begin = (file.len() as u64).to_ne_bytes();
        file.extend(headers);
        at(&mut file, offset_of!(FileHeader, e_shoff), &begin);
        at(&mut file, offset_of!(FileHeader, e_shentsize), &(size_of::<SectionHeader>() as u16).to_ne_bytes());
        at(&mut file, offset_of!(FileHeader, e_shnum), &(sections.len() as u16 + 1).to_ne_bytes());
        at(&mut file, offset_of!(FileHeader, e_shstrndx), &(sections.len() as u16).to_ne_bytes());
        file
    }

    /// A symbol, its name at that place among names: a function in the first section.
    pub(crate) fn symbol(name: u32, offset: u64, size: u64) -> Vec<u8> {
        let head = [name.to_ne_bytes(), [0; 4]].concat();
        [head, offset.to_ne_bytes().to_vec(), size.to_ne_bytes().to_vec()].concat()
    }

    #[test]
    fn functions_are_found_by_their_names() {
        let symbols = [symbol(0, 0, 0), symbol(1, 8, 16), symbol(5, 16, 24)].concat();
        let elf = file(&[(".text", &[0; 32]), (".symtab", &symbols), (".strtab", b"\0one\0two\0")]);
        let text = section(&elf, ".text").unwrap();
        let one = function(&elf, text, "one").unwrap();
        assert_eq!((one.offset, one.size, elf[one.says_size]), (8, 16, 16));
        assert_eq!(function(&elf, text, "two"), None, "it ends behind its section");
        assert_eq!((function(&elf, text, "on"), section(&elf, ".data")), (None, None));
        for end in 0..elf.len() {
            let mut damaged = elf.clone();
            damaged[end] ^= 0xff;
            for elf in [&elf[..end], &damaged] {
                let _ = section(elf, ".text").and_then(|text| function(elf, text, "one"));
            }
        }
    }
}
