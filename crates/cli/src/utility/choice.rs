use pcc::utility::{ParseUtilityError, Utility};
use std::str::FromStr;
use std::sync::Arc;

/// A utility function, and how the user wrote it.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    pub(crate) written: String,
    pub(crate) utility: Arc<dyn Utility>,
}

impl FromStr for Choice {
    type Err = ParseUtilityError;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        Ok(Self { written: written.to_owned(), utility: pcc::utility::parse(written)? })
    }
}
