//! A program with a server in it: takes uploads into a directory and tells of each request, until Ctrl-C.
//!
//! ```text
//! cargo run -p pcc-files --example inbox -- DIR
//! ```
//!
//! It prints the command that uploads to it.

use pcc_files::serve::{Lines, Log, Options, Token, start};
use pcc_files::{Identity, serve};
use std::error::Error;
use std::io::{Write, stdout};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).ok_or("usage: inbox DIR")?;
    let (token, secret) = Token::generate()?;
    let (log, writing) = Log::to(stdout(), Lines::ForPeople);
    // A certificate for as long as this program runs; `Identity::persistent` keeps one.
    let options = Options {
        token: Some(token),
        log,
        guests: serve::Guests::new(16, 4),
        ..Options::new(dir, ([0, 0, 0, 0], 4433).into(), Identity::generate()?)
    };
    let mut server = start(options)?;
    let port = server.address.port();
    writeln!(stdout(), "PCC_TOKEN={secret} pcc put FILE 'https://HOST:{port}/#{}'", server.fingerprint)?;
    tokio::signal::ctrl_c().await?;
    // Uploads under way are finished; clients go on with others when the server is there again.
    server.finish().await;
    drop(server);
    writing.finish();
    Ok(())
}
