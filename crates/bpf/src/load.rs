//! Loads PCC into the kernel under a name, in the place of another version if need be. If a step fails, the steps before it are
//! undone.

use crate::btf::Btf;
use crate::host_error::{Doing as _, HostError};
use crate::libbpf::{Loaded, Part};
use crate::object::{Object, Source};
use crate::registration::{self, Registration};
use crate::trial::{in_this_time, remaining};
use crate::variant::{KERNEL_TYPES, Variables, Variant};
use crate::{bpf, formula, kept_object, rights, rule, sysctl};
use socket2::{Domain, Socket, Type};
use std::net::{Ipv4Addr, TcpListener};
use std::time::Duration;

/// PCC's share of a socket's room at the most: `struct pcc_connection`, which `kernel/tcp_pcc.bpf.c` bounds, and the storage's
/// own. Unit: byte.
pub const STATE: u64 = 8192;

/// Room for a utility's text in what is loaded, with the zero after it: `utility_text` of `kernel/tcp_pcc.bpf.c`.
pub const UTILITY_TEXT: usize = 1024;

/// The attendant that tidies up after a trial: told the number of the map and how long the trial takes.
pub type Attend<'a> = &'a dyn Fn(u32, Duration) -> Result<(), Box<dyn std::error::Error + Send + Sync>>;

/// The load that is wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The name of the congestion control.
    pub name: String,
    /// The utility, as people write it.
    pub utility: String,
    /// The utility as the kernel runs it: `struct pcc_program`.
    pub program: Vec<u8>,
    /// The highest rate of each connection; 0 for no limit. Unit: byte/s.
    pub limit: u64,
    /// Whether new connections of this network namespace are to have it.
    pub default: bool,
    /// Whether applications without rights may choose it.
    pub allow: bool,
    /// Whether it may take the place of another version of that name.
    pub replace: bool,
    /// How long it stays; without one, until it is unloaded.
    pub trial: Option<Duration>,
}

/// The outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The same is there already.
    Same,
    /// The same is there already, and had to be given to more connections only.
    Given {
        /// Whether it was made the default.
        is_default: bool,
        /// The default before, or now.
        before: String,
    },
    /// It is loaded.
    Loaded {
        /// Whether another version was there before.
        replaces: bool,
        /// Whether the kernel had neither for a moment: connections of who held the one before began with Reno then.
        gap: bool,
        /// Whether new connections have it, since that was asked for or was so before.
        is_default: bool,
        /// The default before, or now.
        before: String,
    },
}

/// Why it was not loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The name is of a congestion control that is not PCC's BPF object.
    #[error("the kernel has a congestion control called {name} already, which is not PCC's BPF object")]
    Taken {
        /// The name.
        name: String,
    },
    /// Another version has the name, and was not to be replaced.
    #[error("another {name} is loaded already")]
    Other {
        /// The name.
        name: String,
    },
    /// A network namespace other than the first takes no default that is for root only.
    #[error(
        "in this network namespace, which is not the first one, the default must be allowed to all: nothing was loaded"
    )]
    MustAllow,
    /// This process may not.
    #[error(transparent)]
    Rights(#[from] rights::MissingRights),
    /// The kernel refused a step, or nobody would tidy up. The steps before it were undone.
    #[error(transparent)]
    Host(#[from] HostError),
}

impl Wanted {
    /// Loads the object of `source`.
    pub fn load(&self, source: &Source, attend: Attend<'_>) -> Result<Done, LoadError> {
        let object = source.object()?;
        rights::check()?;
        let kept = object.clone();
        let done = match self.load_object(object, attend) {
            // Somebody was faster: what is there now may be what is wanted.
            Err(LoadError::Host(error)) if is_there(&error) => self.load_object(kept.clone(), attend),
            done => done,
        }?;
        kept_object::keep(&kept);
        Ok(done)
    }

    fn load_object(&self, object: Object, attend: Attend<'_>) -> Result<Done, LoadError> {
        let (name, digest) = (&self.name, object.digest());
        let mut same: Vec<_> = Variant::all()?.into_iter().filter(|variant| variant.name == *name).collect();
        let old = same.iter().position(|variant| variant.is_registered).map(|place| same.swap_remove(place));
        match &old {
            None if sysctl::available()?.contains(name) => return Err(LoadError::Taken { name: name.clone() }),
            Some(old) if self.is(old, digest) && self.can_give()? => return self.give(old),
            Some(old) if !self.replace && remaining(old).ok().flatten() != Some(Duration::ZERO) => {
                return Err(LoadError::Other { name: name.clone() });
            }
            _ => {}
        }
        self.place(object, old.as_ref(), &same, attend)
    }

    /// Whether that is what is asked for, whoever may have it.
    fn is(&self, loaded: &Variant, digest: u64) -> bool {
        let variables = &loaded.variables;
        // Other versions may not have all of them.
        let has = |path: &str, number: u64| variables.number(path).is_ok_and(|there| there == number);
        has("object_digest", digest)
            && variables.strives_for(&self.program)
            && has("limits.most", self.limit)
            && has("trial.until", 0)
            && self.trial.is_none()
    }

    /// Whether what is loaded can be given to all who are to have it: only in the first network namespace is somebody allowed to
    /// choose it later.
    fn can_give(&self) -> Result<bool, HostError> {
        Ok(!self.allow || sysctl::is_first_network() || sysctl::is_allowed(&self.name)?)
    }

    /// Gives what is loaded to all who are to have it. It stays as it is.
    fn give(&self, loaded: &Variant) -> Result<Done, LoadError> {
        let (name, before) = (&self.name, sysctl::default()?);
        let (allow, default) = (self.allow && !sysctl::is_allowed(name)?, self.default && before != *name);
        if !allow && !default {
            return Ok(Done::Same);
        }
        if default && !sysctl::may_be_default(name)? {
            return Err(LoadError::MustAllow);
        }
        if allow {
            sysctl::allow(name)?;
        }
        if default {
            loaded.variables.write_text::<16>("trial.before", &before)?;
            sysctl::set_default(name)?;
        }
        Ok(Done::Given { is_default: default, before })
    }

    /// Loads it, in the place of `old` if there is one; `stale` are those of its name that were unloaded, and are in use still.
    fn place(
        &self,
        mut object: Object,
        old: Option<&Variant>,
        stale: &[Variant],
        attend: Attend<'_>,
    ) -> Result<Done, LoadError> {
        let name = &self.name;
        // A user who could choose the one before can choose this one.
        let allow = self.allow || old.is_some() && sysctl::is_allowed(name)?;
        // Linux (6.18 and before) refuses what would be wrong here, but never lets go of it again.
        if self.default && !allow && !sysctl::is_first_network() {
            return Err(LoadError::MustAllow);
        }
        let digest = object.digest();
        let linked = self.fit(&mut object, allow, old)?;
        // Sums go on, whatever version adds to them.
        let totals = old.and_then(|old| old.totals.as_ref());
        let loaded = Loaded::load_with(&object, Part::Control { linked }, totals)?;
        let (is_default, before) = before(name, old.into_iter().chain(stale))?;
        let until = self.trial.map(in_this_time).transpose()?.unwrap_or(0);
        self.write(&loaded, digest, &before, until)?;
        let registration =
            Registration::new(name, &loaded, linked, old).doing(|| format!("the kernel did not register {name}"))?;
        let is_default = self.default || is_default;
        if let Err(error) = self.finish(&loaded, registration.map.id, is_default, attend) {
            registration.undo().map_err(|undone| undone.within(error.told()))?;
            return Err(error.within("nothing was changed").into());
        }
        old.into_iter().chain(stale).try_for_each(|variant| variant.retire(name))?;
        rule::Rule::all()?.iter().filter(|rule| rule.name == *name).try_for_each(|rule| rule.ends(until))?;
        let gap = old.is_some_and(|old| old.link.is_none());
        Ok(Done::Loaded { replaces: old.is_some(), gap, is_default, before })
    }

    /// Makes the object one for this kernel, with this name and formula: whether a link is to hold it.
    fn fit(&self, object: &mut Object, allow: bool, old: Option<&Variant>) -> Result<bool, LoadError> {
        object.register_as(&self.name, allow)?;
        object.write_formula(&self.program)?;
        // libbpf tells more of types that cannot be read.
        let kernel = std::fs::read(KERNEL_TYPES).ok().and_then(|types| Btf::read(types).ok());
        if let Some(kernel) = &kernel {
            object.fit(kernel)?;
        }
        let can_link = kernel.is_some_and(|kernel| registration::has_links(&kernel));
        Ok(can_link && old.map_or_else(registration::can_pin, |old| old.link.is_some() || registration::can_pin()))
    }

    /// The last steps, of a registered congestion control: a connection has it, a trial ends, and it is the default.
    fn finish(&self, loaded: &Loaded, map: u32, is_default: bool, attend: Attend<'_>) -> Result<(), HostError> {
        let name = &self.name;
        if let Some(got) = self.given(loaded)?.filter(|got| got != name) {
            return Err(HostError::NoRoomInSockets { name: name.clone(), got, most: STATE });
        }
        if let Some(time) = self.trial {
            attend(map, time).map_err(HostError::Unattended)?;
        }
        if is_default { sysctl::set_default(name) } else { Ok(()) }
    }

    /// The congestion control that a connection of this host with itself is given if it asks for this one. The totals do not have
    /// it.
    fn given(&self, loaded: &Loaded) -> Result<Option<String>, HostError> {
        let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) else { return Ok(None) };
        let (variables, port) = (variables(loaded)?, listener.local_addr()?.port());
        let uncounted = |port: u16| variables.write("uncounted_port", &u64::from(port).to_ne_bytes());
        // Objects of other versions count it.
        let is_counted = uncounted(port).is_err();
        let given = given_to(&self.name, &listener);
        if is_counted { Ok(given) } else { uncounted(0).map(|()| given) }
    }

    fn write(&self, loaded: &Loaded, digest: u64, before: &str, until: u64) -> Result<(), HostError> {
        let variables = variables(loaded)?;
        variables.write("object_digest", &digest.to_ne_bytes())?;
        variables.write("formula_digest", &formula::digest(&self.program).to_ne_bytes())?;
        variables.strive_for(&self.program)?;
        variables.write_text::<UTILITY_TEXT>("utility_text", &self.utility)?;
        variables.write_text::<16>("trial.before", before)?;
        variables.write("trial.until", &until.to_ne_bytes())?;
        set_limit(&variables, self.limit)
    }
}

/// Those of an object that was just loaded.
fn variables(loaded: &Loaded) -> Result<Variables, HostError> {
    let maps = [".data", ".bss"].map(|map| loaded.map_fd(map).and_then(|fd| Ok(bpf::Map::of(fd)?)));
    Variables::of(maps.into_iter().collect::<Result<_, HostError>>()?)
}

/// Whether something of that name was there.
fn is_there(error: &HostError) -> bool {
    matches!(error, HostError::Step { source, .. } if source.raw_os_error() == Some(libc::EEXIST))
}

/// Whether a congestion control of that name is the default, and what was before, or is.
/// The variants of that name remember, what is loaded first.
fn before<'a>(name: &str, mut variants: impl Iterator<Item = &'a Variant>) -> Result<(bool, String), HostError> {
    let default = sysctl::default()?;
    if default != name {
        return Ok((false, default));
    }
    // A default whose congestion control was taken out is still one, by name.
    let remembered = variants.find_map(|variant| {
        // A variant that was replaced gives new connections to its own name.
        variant.variables.text("trial.before").ok().filter(|before| !before.is_empty() && before != name)
    });
    let before = match remembered {
        Some(before) => before,
        None => sysctl::usual(&sysctl::available()?, name),
    };
    Ok((true, before))
}

/// The highest rate of each connection, from now on; 0 for no limit. Unit: byte/s.
pub fn set_limit(variables: &Variables, limit: u64) -> Result<(), HostError> {
    variables.write("limits.most", &limit.to_ne_bytes())
}

/// The congestion control of a connection to this listener that asks for this and sends something: another one's, where there is
/// no room for its state. `None` where there can be no such connection.
fn given_to(name: &str, listener: &TcpListener) -> Option<String> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    socket.set_tcp_congestion(name.as_bytes()).ok()?;
    socket.connect_timeout(&listener.local_addr().ok()?.into(), Duration::from_secs(1)).ok()?;
    socket.send(&[0]).ok()?;
    let got = socket.tcp_congestion().ok()?;
    Some(String::from_utf8_lossy(&got).trim_end_matches('\0').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_tells_what_it_was_given() {
        // Every Linux has it; where there is no loopback there is nothing to tell.
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)) {
            assert_eq!(given_to("reno", &listener).as_deref(), Some("reno"));
            assert_eq!(given_to("no-such", &listener), None);
        }
    }
}
