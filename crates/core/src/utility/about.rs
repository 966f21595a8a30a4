use super::Utility;
use super::parameters::Parameter;

/// What there is to know of a built-in utility before one uses it.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name it is selected by.
    pub name: &'static str,
    /// What it is for, in one line.
    pub summary: &'static str,
    /// The formula, in the papers' letters.
    pub formula: &'static str,
    /// The unit of what the formula gives.
    pub unit: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// What it does that one might not expect.
    pub traps: &'static [&'static str],
    /// The same function as an expression. A parameter is a constant of the same name; one without a default has an
    /// example's value.
    pub text: &'static str,
}

/// A utility that is selected by its name.
pub(super) trait BuiltIn: Utility + Default + 'static {
    /// What users are told of it.
    const ABOUT: About;

    /// Its parameters, by the names that users write. What has no default is outside its range until it is set.
    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        Vec::new()
    }
}
