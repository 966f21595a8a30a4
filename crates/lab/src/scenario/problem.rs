//! Why no network could be like a scenario.

/// Why no network could be like a scenario.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The scenario has a flow of a program under test, and there is none.
    #[error("an `app` flow runs a program of yours: say which")]
    NoApp,
    /// The problem, and its remedy.
    #[error("{0}")]
    Other(String),
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Other(problem)
    }
}
