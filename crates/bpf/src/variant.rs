//! The variants of PCC that the kernel has, read from the kernel: name, state, variables.

use crate::bpf::{self, Link, Map, Program, STRUCT_OPS_MAP};
use crate::btf::{Btf, Field};
use crate::formula;
use crate::host_error::{Doing as _, HostError};
use std::fs;

/// Where the kernel describes its types.
pub const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";
/// The program by which a congestion control is known to be ours: `pcc_cong_control`, of which the kernel keeps 15 letters.
const OURS: &str = "pcc_cong_contro";
/// The functions of a `struct tcp_congestion_ops` that PCC has: the one with that program first.
const FUNCTIONS: [&str; 7] =
    ["cong_control", "init", "release", "ssthresh", "undo_cwnd", "cwnd_event", "cwnd_event_tx_start"];
/// The maps of the connections' states, and of what they have done.
const FLOWS: &str = "pcc_flows";
/// The map of what its connections have done.
pub const TOTALS: &str = "pcc_totals";

/// A congestion control that was loaded from PCC's object, by whomever.
pub struct Variant {
    /// The name of the congestion control.
    pub name: String,
    /// The map that stands for it.
    pub map: Map,
    /// The link that holds it, if it was not registered plainly.
    pub link: Option<Link>,
    /// Whether connections can have it; else it was unloaded, and those that have it still are its last.
    pub is_registered: bool,
    /// How many connections, and network namespaces whose default it is, hold it.
    pub held: u32,
    /// The programs that connections run; the one that steers them is first.
    pub programs: Vec<Program>,
    /// How it is set.
    pub variables: Variables,
    /// Its connections' states.
    pub flows: Option<Map>,
    /// The sums of its connections.
    pub totals: Option<Map>,
}

/// The variables of a loaded object, by name.
pub struct Variables(Vec<(Map, Btf)>);

impl Variables {
    /// Those in these maps; others are left out.
    pub fn of(maps: Vec<Map>) -> Result<Self, HostError> {
        let described = maps.into_iter().filter(|map| map.btf != 0);
        described
            .map(|map| Ok((Btf::read(bpf::btf(map.btf)?)?, map)))
            .map(|one| one.map(|(btf, map)| (map, btf)))
            .collect::<Result<_, HostError>>()
            .map(Self)
    }

    fn find(&self, path: &str) -> Result<(&Map, Field), HostError> {
        let (name, member) = path.split_once('.').map_or((path, None), |(name, member)| (name, Some(member)));
        let found = self.0.iter().find_map(|(map, btf)| {
            let variable = btf.variable(map.value_type, name)?;
            let field = member.map_or(Some(variable), |member| btf.member(variable, member))?;
            Some((map, field))
        });
        found.ok_or_else(|| HostError::NoVariable(path.to_owned()))
    }

    /// The first bytes of a variable, or of a member of it.
    fn bytes<const SIZE: usize>(&self, path: &str) -> Result<[u8; SIZE], HostError> {
        let (map, field) = self.find(path)?;
        let value = map.read().doing(|| format!("cannot read the variable `{path}`"))?;
        let bytes = value.get(field.offset..field.offset + SIZE).and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| HostError::ShortVariable(path.to_owned()))
    }

    /// Its first 8 bytes as a number.
    pub fn number(&self, path: &str) -> Result<u64, HostError> {
        self.bytes(path).map(u64::from_ne_bytes)
    }

    /// Up to its zero: how long the variable is differs from version to version.
    pub fn text(&self, path: &str) -> Result<String, HostError> {
        let (map, field) = self.find(path)?;
        let value = map.read().doing(|| format!("cannot read the variable `{path}`"))?;
        Ok(bpf::text(value.get(field.offset..).unwrap_or_default()))
    }

    /// Whether it begins with these bytes, as far as it is there.
    fn begins(&self, path: &str, bytes: &[u8]) -> bool {
        let value = self.find(path).ok().and_then(|(map, field)| Some((map.read().ok()?, field)));
        value.is_some_and(|(value, field)| value.get(field.offset..).is_some_and(|there| there.starts_with(bytes)))
    }

    /// Writes the first bytes of a variable, or of a member of it.
    pub fn write(&self, path: &str, bytes: &[u8]) -> Result<(), HostError> {
        let (map, field) = self.find(path)?;
        let mut value = map.read().doing(|| format!("cannot read the variable `{path}`"))?;
        let place = value.get_mut(field.offset..field.offset + bytes.len());
        place.ok_or_else(|| HostError::ShortVariable(path.to_owned()))?.copy_from_slice(bytes);
        map.write(&value).doing(|| format!("cannot write the variable `{path}`"))
    }

    /// Where the utility's program is that connections use, and where another one may be written.
    ///
    /// Errors: another version of PCC, which has one place.
    fn utility_places(&self) -> Result<(&'static str, &'static str), HostError> {
        let is_first = self.number("utility_place")? == 0;
        Ok(if is_first { ("utility", "utility_next") } else { ("utility_next", "utility") })
    }

    /// The program as it is where the object has code of it.
    fn marked(&self, program: &[u8]) -> Vec<u8> {
        // Other versions have code of the built-in utilities only.
        formula::marked(program, self.number("formula_digest").unwrap_or(0))
    }

    /// Whether connections strive for what this program says.
    pub fn strives_for(&self, program: &[u8]) -> bool {
        self.utility_places().is_ok_and(|(in_use, _)| self.begins(in_use, &self.marked(program)))
    }

    /// Connections strive for this from now on: all of a decision by the program before, or all by this one.
    pub fn strive_for(&self, program: &[u8]) -> Result<(), HostError> {
        let Ok((_, free)) = self.utility_places() else { return self.write("utility", program) };
        self.write(free, &self.marked(program))?;
        self.write("utility_place", &u64::from(free == "utility_next").to_ne_bytes())
    }

    /// Text with zeros behind it.
    ///
    /// Errors: it does not fit.
    pub fn write_text<const SIZE: usize>(&self, path: &str, text: &str) -> Result<(), HostError> {
        let mut bytes = [0; SIZE];
        let place = bytes[..SIZE - 1].get_mut(..text.len());
        place
            .ok_or_else(|| HostError::NoRoom { text: text.to_owned(), most: SIZE - 1 })?
            .copy_from_slice(text.as_bytes());
        self.write(path, &bytes)
    }
}

impl Variant {
    /// All that there are, those too that were unloaded and are still in use.
    ///
    /// Errors: no rights, or no description of the kernel's types.
    pub fn all() -> Result<Vec<Self>, HostError> {
        crate::rights::check()?;
        let mut controls = Vec::new();
        for id in Map::ids().doing(|| "cannot ask the kernel for its BPF maps")? {
            let map = Map::by_id(id).doing(|| format!("cannot look at BPF map {id}"))?;
            controls.extend(map.filter(|map| map.kind == STRUCT_OPS_MAP));
        }
        if controls.is_empty() {
            return Ok(Vec::new());
        }
        let (types, mut links) = (kernel_types()?, Link::all().doing(|| "cannot ask the kernel for its BPF links")?);
        let mut variants = Vec::new();
        for map in controls {
            let link = links.iter().position(|link| link.map == map.id).map(|place| links.swap_remove(place));
            variants.extend(Self::of(map, link, &types)?);
        }
        Ok(variants)
    }

    /// None if it is something else, or on its way out.
    fn of(map: Map, link: Option<Link>, types: &Btf) -> Result<Option<Self>, HostError> {
        let whole = Btf::whole(map.kernel_type);
        let value = map.read().doing(|| format!("cannot read BPF map {}", map.id))?;
        let within = |path: &str| types.member(whole, path).and_then(|field| value.get(field.offset..));
        let number = |path: &str| {
            let bytes = within(path).and_then(|bytes| bytes.get(..4)).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, u32::from_ne_bytes)
        };
        // Where functions would be there are the numbers of programs.
        let program = |function: &&str| {
            let id = within(&format!("data.{function}"))?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))?;
            Program::by_id(u32::try_from(id).ok()?).ok().flatten()
        };
        let programs: Vec<_> = FUNCTIONS.iter().filter_map(program).collect();
        let Some(control) = programs.first().filter(|program| program.name == OURS) else { return Ok(None) };
        let mut maps = Vec::new();
        for id in &control.maps {
            maps.extend(Map::by_id(*id)?);
        }
        let mut take = |name: &str| maps.iter().position(|map| map.name == name).map(|place| maps.remove(place));
        let (flows, totals) = (take(FLOWS), take(TOTALS));
        let name = within("data.name").map(|bytes| bpf::text(&bytes[..bytes.len().min(16)])).unwrap_or_default();
        // `enum bpf_struct_ops_state`: 1 is in use, which one that a link holds never is. Before Linux 6.6 it is not in a
        // structure of its own.
        let state = if within("common.state").is_some() { "common.state" } else { "state" };
        let refcnt = if within("common.refcnt").is_some() { "common.refcnt" } else { "refcnt" };
        let is_registered = number(state) == 1 || link.is_some();
        let held = number(refcnt).saturating_sub(u32::from(is_registered));
        let variables = Variables::of(maps)?;
        Ok(Some(Self { name, map, link, is_registered, held, programs, variables, flows, totals }))
    }

    /// Has it hand new connections on to this congestion control, for good. Network namespaces whose default it is, and sockets
    /// that listen with it, hold it even when nobody else can have it any more.
    pub fn retire(&self, heir: &str) -> Result<(), HostError> {
        // One that plain bpftool loaded knows nothing of that.
        if self.variables.number("trial.until").is_err() {
            return Ok(());
        }
        self.variables.write_text::<16>("trial.before", heir)?;
        self.variables.write("trial.until", &1_u64.to_ne_bytes())
    }

    /// The one of that name; without a name, the only one.
    ///
    /// Errors: there is none of that name, or several.
    pub fn find(name: Option<&str>) -> Result<Self, FindError> {
        let mut all: Vec<_> = Self::all()?.into_iter().filter(|variant| variant.is_registered).collect();
        let names = || all.iter().map(|variant| variant.name.clone()).collect::<Vec<_>>().join(", ");
        let place = match name {
            _ if all.is_empty() => return Err(FindError::NotLoaded),
            None if all.len() == 1 => 0,
            None => return Err(FindError::Several { names: names() }),
            Some(name) => all
                .iter()
                .position(|variant| variant.name == name)
                .ok_or_else(|| FindError::Unknown { name: name.to_owned(), names: names() })?,
        };
        Ok(all.remove(place))
    }
}

/// Why no variant was found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// There is none at all.
    #[error("PCC is not loaded: `pcc kernel load` loads it")]
    NotLoaded,
    /// There is more than one, and no name was given.
    #[error("several are loaded: {names}; say which")]
    Several {
        /// All of them.
        names: String,
    },
    /// There is none of this name.
    #[error("no PCC called {name} is loaded; there is {names}")]
    Unknown {
        /// The name that was given.
        name: String,
        /// Those that there are.
        names: String,
    },
    /// The kernel could not be asked.
    #[error(transparent)]
    Host(#[from] HostError),
}

fn kernel_types() -> Result<Btf, HostError> {
    let bytes = fs::read(KERNEL_TYPES).doing(|| {
        format!(
            "cannot read {KERNEL_TYPES}: the kernel must be one with CONFIG_DEBUG_INFO_BTF, as distributions build it"
        )
    })?;
    Ok(Btf::read(bytes)?)
}

/// As long as the kernel allows, and nothing that a list of names in /proc would be torn by.
pub fn name(written: &str) -> Result<String, String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    match written.len() {
        1..16 if written.chars().all(allowed) => Ok(written.to_owned()),
        _ => Err("a name has 1 to 15 letters (without accents), digits, - and _, like pcc_scav".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_the_kernel_takes() {
        for good in ["pcc", "pcc_scav", "a-b", "123456789012345"] {
            assert_eq!(name(good).as_deref(), Ok(good));
        }
        for bad in ["", "1234567890123456", "a b", "pcc\n", "ü", "a/b"] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
    }
}
