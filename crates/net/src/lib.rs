//! The needs of a client or a server over QUIC before the first byte: addresses and URLs, certificates, connecting.
//!
//! * [`url`] reads `https://host:4433/path#sha256=…`, whose fragment names the server's certificate; [`alias`] is another name for it.
//! * [`tls`] has a server's [`Identity`](tls::Identity), made when there is none, and what a client trusts.
//! * [`look_up`](look_up()) finds the addresses of a name, without a hold on anything else.
//! * [`dial`] connects to the first address of a host that answers, and says why there is no connection.
//! * [`backoff`] says how long to wait before the next attempt.
//! * [`paths`] remembers what earlier transfers learnt of paths; [`ports`] finds a free UDP port in a range, and [`channel`] carries
//!   packets through a stream of bytes where UDP is blocked.
//! * [`examine`](examine::examine) measures what a path to a server allows: UDP, packet sizes, ECN, HTTP/3.
//! * [`scope`] reads link-local IPv6 addresses, [`listen`] an address to listen on, [`percent`] writes names as URLs have them.
//! * [`via`] finds the interfaces of this host that a connection is to use.
//! * [`throttle`] keeps an application below a rate, [`escape_for_terminal`](escape_for_terminal()) keeps text of
//!   strangers from commanding a terminal, and [`with_causes`] tells an error with its causes.

pub mod alias;
pub mod backoff;
pub mod channel;
pub mod dial;
mod escape_for_terminal;
pub mod examine;
pub mod listen;
mod look_up;
mod lost;
pub mod paths;
pub mod percent;
pub mod ports;
pub mod scope;
pub mod throttle;
pub mod tls;
pub mod url;
pub mod user_dirs;
pub mod via;

pub use escape_for_terminal::{escape_for_terminal, with_causes};
pub use look_up::look_up;
pub use lost::why_lost;
