//! Where sections and functions are in an ELF file of 64 bits, in this machine's byte order.

/// Sizes of a section's header and of a symbol.
const HEADER: usize = 0x40;
const SYMBOL: usize = 24;

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
    elf.starts_with(b"\x7fELF\x02").then_some(())?;
    let (headers, size) = (number(elf, 0x28, 8)?, number(elf, 0x3a, 2)?);
    let (count, names) = (number(elf, 0x3c, 2)?, number(elf, 0x3e, 2)?);
    let header = |index: usize| headers.checked_add(index.checked_mul(size)?);
    let names = number(elf, header(names)?.checked_add(0x18)?, 8)?;
    let is_it = |index: &usize| {
        let at = header(*index).and_then(|at| number(elf, at, 4)).and_then(|at| names.checked_add(at));
        is_text(elf, at, name)
    };
    let index = (0..count).find(is_it)?;
    let at = header(index)?;
    at.checked_add(HEADER)?;
    Some(Section { index, offset: number(elf, at + 0x18, 8)?, size: number(elf, at + 0x20, 8)? })
}

/// The function of this name in that section.
pub fn function(elf: &[u8], within: Section, name: &str) -> Option<Function> {
    let (symbols, names) = (section(elf, ".symtab")?, section(elf, ".strtab")?);
    let end = symbols.offset.checked_add(symbols.size)?.min(elf.len());
    let found = (symbols.offset..end).step_by(SYMBOL).find(|at| {
        let named = number(elf, *at, 4).and_then(|at| names.offset.checked_add(at));
        number(elf, at + 6, 2) == Some(within.index) && is_text(elf, named, name)
    })?;
    let (offset, size) = (number(elf, found + 8, 8)?, number(elf, found + 16, 8)?);
    (offset.checked_add(size)? <= within.size).then_some(Function { offset, size, says_size: found + 16 })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A file of these sections.
    pub(crate) fn file(sections: &[(&str, &[u8])]) -> Vec<u8> {
        let mut file = vec![0; HEADER];
        file[..5].copy_from_slice(b"\x7fELF\x02");
        let (mut names, mut headers) = (vec![0], Vec::new());
        let mut add = |file: &mut Vec<u8>, name: usize, content: &[u8]| {
            let mut header = vec![0; HEADER];
            header[..4].copy_from_slice(&(name as u32).to_ne_bytes());
            header[0x18..0x20].copy_from_slice(&(file.len() as u64).to_ne_bytes());
            header[0x20..0x28].copy_from_slice(&(content.len() as u64).to_ne_bytes());
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
        file[0x28..0x30].copy_from_slice(&begin);
        file[0x3a..0x3c].copy_from_slice(&(HEADER as u16).to_ne_bytes());
        file[0x3c..0x3e].copy_from_slice(&(sections.len() as u16 + 1).to_ne_bytes());
        file[0x3e..0x40].copy_from_slice(&(sections.len() as u16).to_ne_bytes());
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
