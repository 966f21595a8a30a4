//! A built-in utility: what there is to know of it, and how it is made of what people write: `vivace,b=2` or
//! `rate-limiter,limit=20Mbit`.

use super::error::ParseUtilityError;
use super::function::Utility;
use super::nearest::did_you_mean;
use super::parameter::{Parameter, Place};
use std::sync::Arc;

/// The description of a built-in utility.
#[derive(Clone, Copy, Debug)]
pub struct UtilityInfo {
    /// The name it is selected by.
    pub name: &'static str,
    /// Its purpose, in one line.
    pub summary: &'static str,
    /// The formula, in the papers' letters.
    pub formula: &'static str,
    /// The unit of what the formula gives.
    pub unit: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Behaviour that one might not expect.
    pub traps: &'static [&'static str],
    /// The same function as an expression. A parameter is a constant of the same name; one without a default has an
    /// example's value.
    pub text: &'static str,
}

/// A utility that is selected by its name.
pub(super) trait BuiltIn: Utility + Default + 'static {
    /// Its description for users.
    const INFO: UtilityInfo;

    /// Its parameters, by the names that users write. A parameter without a default is outside its range until it is
    /// set.
    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        Vec::new()
    }
}

/// Makes a built-in utility with the parameters that are written, `b=2,c=20`; the others keep their defaults.
pub(super) fn make<T: BuiltIn>(written: Option<&str>) -> Result<Arc<dyn Utility>, ParseUtilityError> {
    let (mut utility, name) = (T::default(), T::INFO.name);
    for one in written.into_iter().flat_map(|written| written.split(',')) {
        assign(&mut utility, one).map_err(|problem| ParseUtilityError::parameter(name, &problem))?;
    }
    if let Some(missing) = utility.parameters().iter().find(|parameter| !parameter.is_set()) {
        let example = match missing.place {
            Place::Number(_) => "0.5",
            Place::Rate(_) => "20Mbit",
            Place::Time(_) => "20ms",
        };
        let problem = format!("needs its {}: write it like {name},{}={example}", missing.name, missing.name);
        return Err(ParseUtilityError::parameter(name, &problem));
    }
    Ok(Arc::new(utility))
}

fn assign<T: BuiltIn>(utility: &mut T, written: &str) -> Result<(), String> {
    let (name, value) = written.split_once('=').ok_or_else(|| format!("`{written}` is not NAME=VALUE"))?;
    let (name, mut known) = (name.trim(), utility.parameters());
    let names: Vec<_> = known.iter().map(|parameter| parameter.name).collect();
    let Some(parameter) = known.iter_mut().find(|parameter| parameter.name == name) else {
        return Err(match names.join(", ") {
            none if none.is_empty() => "has no parameters".to_owned(),
            all => format!("`{name}` is no parameter of it; choose from {all}{}", did_you_mean(name, &names)),
        });
    };
    parameter.set(value.trim())
}
