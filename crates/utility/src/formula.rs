//! Built-in utilities by name and parameters, as the formulas that kernels run.

use pcc::utility::{Expression, ParseUtilityError, UtilityInfo, built_in};

/// A built-in utility by `NAME` or `NAME,KEY=VALUE,...`, and those values.
pub fn named(text: &str) -> Option<(&'static UtilityInfo, Vec<(String, String)>)> {
    let (name, rest) = text.split_once(',').unwrap_or((text, ""));
    let about = built_in().find(|about| about.name == name.trim())?;
    let pairs = rest.split(',').filter_map(|pair| pair.split_once('='));
    Some((about, pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()))
}

/// Why a formula has no such constant.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaError {
    /// The formula has other constants.
    #[error(
        "{key} cannot be set in the formula that `pcc-lab utility show` prints and the kernel runs: {text} has {constants}; write a formula of your own"
    )]
    NoSuchConstant {
        /// The name that was to be set.
        key: String,
        /// The utility, as it was written.
        text: String,
        /// The constants of the formula.
        constants: String,
    },
    /// The formula is none, or the value.
    #[error(transparent)]
    Text(#[from] ParseUtilityError),
}

/// The formula of a built-in utility, with or without parameters, or of one that was written, with these values for its
/// constants.
///
/// Errors: it has no such constant, or that is no value for it.
pub fn formula(text: &str, settings: Vec<(String, String)>) -> Result<Expression, FormulaError> {
    let (formula, settings) = match named(text) {
        Some((about, own)) => (about.text, [own, settings].concat()),
        None => (text, settings),
    };
    let constants = Expression::constants(formula);
    if let Some((key, _)) = settings.iter().find(|(key, _)| !constants.contains(key)) {
        let (key, text, constants) = (key.clone(), text.to_owned(), constants.join(", "));
        return Err(FormulaError::NoSuchConstant { key, text, constants });
    }
    Ok(Expression::with(formula, &settings)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_in_the_program_and_what_is_none_is_refused() {
        let program = |text: &str| {
            let formula = formula(text, Vec::new()).map_err(|error| error.to_string());
            formula.map(|formula| formula.program().to_string())
        };
        assert_eq!(program("vivace,b=900"), program("vivace"));
        assert_ne!(program("vivace,b=2"), program("vivace"));
        assert!(program("vivace,b=2").unwrap().contains(" 2.0 "), "{:?}", program("vivace,b=2"));
        assert!(program("vivace,q=1").unwrap_err().contains("q cannot be set"));
        assert!(program("vivace,b=much").is_err());
    }
}
