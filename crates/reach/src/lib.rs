//! Files between two computers of which neither can be reached from outside, by a code that is used once.
//!
//! The sender makes a [`Code`] and waits ([`Offer`]). The receiver is told the code and fetches ([`Fetch`]). Both derive their keys
//! from the code, so the handshake shows to each that the other knows it. The way is found by iroh: an address, multicast in the local
//! network, or a relay. Beside a relay iroh looks for a direct path through the NATs. Files move by the protocol of [`pcc_files`],
//! and PCC decides about the rate on every path.
//!
//! | file | what it answers |
//! |---|---|
//! | `code` | what a code holds, and how it is written |
//! | `place` | where a sender is looked for |
//! | `endpoint` | who is contacted, and how data is sent |
//! | `greeting` | how something is said before the files |
//! | `words` | what is said |
//! | `offer` | what the sender does |
//! | `fetch` | what the receiver does |
//! | `route` | over which way a connection goes |
//! | `relay` | what a relay of one's own does |
//! | `error` | why the two did not meet |

mod code;
mod endpoint;
mod error;
mod fetch;
mod greeting;
mod offer;
mod place;
mod relay;
mod route;
mod words;

pub use code::{Code, CodeError, MOST_PLACES};
pub use error::ReachError;
pub use fetch::{Fetch, Part};
pub use offer::{Event, Happenings, Offer, Options, STRANGERS};
pub use place::{Place, PlaceError, Relay};
pub use relay::{Limits, RelayServer};
pub use route::Route;
pub use words::{Item, MOST_ITEMS};
