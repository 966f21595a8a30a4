//! The sums of all connections of a variant, also those that have ended, by network namespace: the kernel adds them up
//! (`kernel/totals.h`).

use crate::bpf::{self, Map};
use crate::btf::Btf;
use crate::host_error::HostError;
use crate::variant::Variant;
use std::collections::{BTreeMap, BTreeSet};

/// The quantities that are summed up, as the members of `struct pcc_totals` are called.
pub const COUNTERS: [&str; 9] =
    ["begun", "ended", "sent", "acked", "packets_sent", "packets_lost", "intervals", "silences", "panics"];

/// The sums of one variant in one network namespace, in the order of [`COUNTERS`].
pub type Totals = [u64; COUNTERS.len()];

/// By the variant's name and the namespace's number. Number 0 is all namespaces beyond the first 1024.
pub fn all(variants: &[Variant]) -> Result<BTreeMap<(&str, u32), Totals>, HostError> {
    let mut all = BTreeMap::<_, Totals>::new();
    let mut seen = BTreeSet::new();
    for variant in variants {
        // One that took the place of another goes on with its sums.
        let Some(map) = variant.totals.as_ref().filter(|map| map.btf != 0 && seen.insert(map.id)) else { continue };
        for (netns, totals) in
            of(map).map_err(|error| error.within(format!("cannot read the totals of {}", variant.name)))?
        {
            let sum = all.entry((variant.name.as_str(), netns)).or_insert([0; COUNTERS.len()]);
            sum.iter_mut().zip(totals).for_each(|(sum, one)| *sum = sum.wrapping_add(one));
        }
    }
    Ok(all)
}

fn of(map: &Map) -> Result<Vec<(u32, Totals)>, HostError> {
    let types = Btf::read(bpf::btf(map.btf)?)?;
    let places = COUNTERS.map(|name| types.member(Btf::whole(map.value_type), name).map(|field| field.offset));
    let number = |value: &[u8], at: usize| Some(u64::from_ne_bytes(*value.get(at..)?.first_chunk()?));
    let entries = map.entries()?.into_iter();
    Ok(entries
        .map(|(netns, value)| (netns, places.map(|at| at.and_then(|at| number(&value, at)).unwrap_or(0))))
        .collect())
}
