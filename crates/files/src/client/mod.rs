//! A server as its clients see it: reached, asked, and asked again. Downloads and uploads share it.
//!
//! | file | what it answers |
//! |---|---|
//! | `source` | how the server is reached, and reached again |
//! | `dialer`, `way` | how it is connected to |
//! | `request`, `trouble` | what is asked, and what the answers mean |
//! | `patience` | how long to go on trying, and to wait in between |
//! | `content` | which bytes of a file an answer has |
//! | `listing` | what a server says is in a directory |
//! | `names` | which names are safe |
//! | `concurrency` | how many files of a directory are under way at a time |
//! | `watch` | what is told of a transfer meanwhile |
//! | `crossing` | what the path was |

pub(crate) mod concurrency;
mod content;
pub(crate) mod crossing;
pub(crate) mod dialer;
pub(crate) mod listing;
pub(crate) mod names;
pub(crate) mod patience;
pub(crate) mod request;
pub(crate) mod source;
pub(crate) mod trouble;
pub(crate) mod watch;
pub(crate) mod way;
