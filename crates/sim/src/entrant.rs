//! A sender with a name, in the place of PCC or beside it.

use crate::scenario::{Control, Flow};
use pcc::control::Law;

/// A sender with a name: it may stand in a [`Cast`](crate::Cast), and take PCC's place in [the score](crate::score).
#[derive(Clone, Debug)]
pub struct Entrant {
    name: String,
    flow: Flow,
}

impl Entrant {
    /// One of that name, that sends as this flow does: by its control, utility, law and pacing, with packets of its size. Its
    /// data, times and way are those of the flow whose place it takes.
    pub fn new(name: impl Into<String>, flow: Flow) -> Self {
        Self { name: name.into(), flow }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How it sends.
    pub const fn flow(&self) -> &Flow {
        &self.flow
    }
}

impl From<Law> for Entrant {
    /// PCC's transport, with this law and the usual utility.
    fn from(law: Law) -> Self {
        let mut flow = Flow::default();
        let name = law.name();
        flow.config.law = Some(law);
        Self::new(name, flow)
    }
}

impl From<Control> for Entrant {
    fn from(control: Control) -> Self {
        Self::new(control.to_string(), Flow::of(control))
    }
}
