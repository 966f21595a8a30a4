//! Takes a variant out of the kernel, with the rules that name it, and puts back what was the default before.

use crate::host_error::HostError;
use crate::variant::Variant;
use crate::{kept_object, registration, rule, sysctl};

/// Takes one out, and tells of each step.
pub fn variant(variant: &mut Variant, tell: &mut dyn FnMut(&str)) -> Result<(), HostError> {
    let name = variant.name.clone();
    // One that plain bpftool loaded remembers nothing.
    let before = variant.variables.text("trial.before").unwrap_or_default();
    if sysctl::default()? == name {
        let default = go_back(&name, &before)?;
        tell(&format!("new connections have {default} by default again"));
    }
    // A variant that took over from this one has nothing else to go back to, nor has one that handed over to it.
    for other in Variant::all()?.iter().filter(|one| one.map.id != variant.map.id) {
        if other.variables.text("trial.before").is_ok_and(|name_before| name_before == name) {
            other.variables.write_text::<16>("trial.before", &before)?;
        }
    }
    for rule in rule::Rule::all()?.iter().filter(|rule| rule.name == name) {
        if rule.remove()? {
            tell(&format!("rule {} is removed: {rule}", rule.id));
        } else {
            tell(&format!("rule {} went with its control group", rule.id));
        }
    }
    registration::unregister(variant)?;
    variant.retire(&before)?;
    kept_object::forget(&Variant::all()?);
    tell(&format!("{name} is unloaded; connections that have it keep it until they end"));
    Ok(())
}

/// Makes what was the default before the default again. Where that is gone, or is for root only, which no network namespace
/// but the first takes: the kernel's usual one.
fn go_back(name: &str, before: &str) -> Result<String, HostError> {
    let mut available = sysctl::available()?;
    available.retain(|one| one != name && sysctl::may_be_default(one).unwrap_or(false));
    let is_there = available.iter().any(|one| one == before);
    let default = if is_there { before.to_owned() } else { sysctl::usual(&available, name) };
    sysctl::set_default(&default)?;
    Ok(default)
}
