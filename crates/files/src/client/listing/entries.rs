//! The text of a listing, and the entries in it.

use crate::attributes::{Attributes, modified};
use crate::extended::Extended;
use crate::owners::{self, Kind as Owned};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// The kind of an entry.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    File,
    Directory,
    /// A symbolic link.
    Link,
    /// Nothing that could be downloaded.
    #[serde(other)]
    Other,
}

/// One line of a listing.
#[derive(Debug, Deserialize, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    #[serde(rename = "type")]
    pub(crate) kind: Kind,
    #[serde(default)]
    pub(crate) size: Option<u64>,
    /// Seconds since 1970.
    #[serde(default)]
    pub(crate) modified: Option<u64>,
    /// Whether it is a link to that.
    #[serde(default)]
    pub(crate) link: bool,
    /// The text of a link, and when it was modified, to the nanosecond.
    #[serde(default)]
    pub(crate) target: Option<String>,
    #[serde(default)]
    changed: Option<String>,
    /// Owner and group of a link.
    #[serde(default)]
    owner: Option<String>,
    #[serde(default)]
    group: Option<String>,
    /// All names of one file have the same text here.
    #[serde(default)]
    pub(crate) same: Option<String>,
}

impl Entry {
    #[cfg(test)]
    pub(crate) fn of(name: String, kind: Kind, link: bool) -> Self {
        let (size, modified, target, changed, owner, group, same) = Default::default();
        Self { name, kind, size, modified, link, target, changed, owner, group, same }
    }

    /// The attributes of a link itself.
    pub(crate) fn attributes(&self) -> Attributes {
        let owned = |kind, text: &Option<String>| owners::read(kind, text.as_deref()?);
        Attributes {
            mode: None,
            modified: self.changed.as_deref().and_then(modified),
            owner: owned(Owned::User, &self.owner),
            group: owned(Owned::Group, &self.group),
            extended: Extended::default(),
        }
    }
}

/// A directory's listing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(crate) entries: Vec<Entry>,
    /// Entries that the server cannot list.
    pub(crate) omitted: u64,
    /// Entries that are more than were wanted.
    pub(crate) beyond: u64,
    /// The attributes that `-a` keeps of the directory itself.
    pub(crate) attributes: Attributes,
}

/// Reads a listing: a list of entries, or an object with `entries` and how many are `omitted`. Of the entries it keeps
/// `most` and counts the rest.
///
/// Errors: it is none.
pub(crate) fn parse(text: &[u8], most: usize) -> serde_json::Result<Listing> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let listing = Bounded { most }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(listing)
}

#[derive(Clone, Copy)]
struct Bounded {
    most: usize,
}

impl<'de> DeserializeSeed<'de> for Bounded {
    type Value = Listing;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Listing, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded {
    type Value = Listing;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a listing")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Listing, A::Error> {
        let mut listing = Listing::default();
        while listing.entries.len() < self.most {
            match entries.next_element()? {
                Some(entry) => listing.entries.push(entry),
                None => return Ok(listing),
            }
        }
        while entries.next_element::<IgnoredAny>()?.is_some() {
            listing.beyond += 1;
        }
        Ok(listing)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Listing, A::Error> {
        let (mut listed, mut omitted) = (None, 0);
        while let Some(field) = fields.next_key::<String>()? {
            match field.as_str() {
                "entries" if listed.is_none() => listed = Some(fields.next_value_seed(self)?),
                "omitted" => omitted = fields.next_value()?,
                _ => drop(fields.next_value::<IgnoredAny>()?),
            }
        }
        let listing = listed.ok_or_else(|| Error::missing_field("entries"))?;
        Ok(Listing { omitted, ..listing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn listings_are_read_with_and_without_a_count_of_omissions() {
        let entries = r#"[{"name":"a","type":"file","size":3,"modified":1},{"name":"d","type":"directory"}]"#;
        let plain = parse(entries.as_bytes(), 9).unwrap();
        assert_eq!((plain.entries.len(), plain.omitted, plain.beyond), (2, 0, 0));
        let counted = parse(format!(r#"{{"entries":{entries},"more":[],"omitted":2}}"#).as_bytes(), 9).unwrap();
        assert_eq!(counted, Listing { omitted: 2, ..plain });
        for wrong in ["", "{}", "[1]", r#"[{"name":1,"type":"file"}]"#, "<html>", "[] []", r#"{"entries":3}"#] {
            assert!(parse(wrong.as_bytes(), 9).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_listing_or_an_error(text in "[\\[\\]{}:,\"a-z0-9\\\\ ]{0,60}", most in 0..3usize) {
            if let Ok(listing) = parse(text.as_bytes(), most) {
                prop_assert!(listing.entries.len() <= most);
            }
        }

        #[test]
        fn no_entry_is_lost_whatever_the_bound(
            names in prop::collection::vec(any::<String>(), 0..20),
            most in 0..25usize,
            omitted in prop::option::of(any::<u32>()),
        ) {
            let entries: Vec<_> = names.iter().map(|name| serde_json::json!({"name": name, "type": "file"})).collect();
            let text = match omitted {
                None => serde_json::json!(entries),
                Some(omitted) => serde_json::json!({"entries": entries, "omitted": omitted}),
            };
            let listing = parse(text.to_string().as_bytes(), most).unwrap();
            prop_assert_eq!(listing.entries.len() + listing.beyond as usize, names.len());
            prop_assert_eq!(listing.omitted, u64::from(omitted.unwrap_or(0)));
            for (entry, name) in listing.entries.iter().zip(&names) {
                prop_assert_eq!(&entry.name, name);
            }
        }
    }
}
