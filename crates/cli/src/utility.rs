//! Which utilities a command takes: the options that say what PCC strives for, and what is refused because it gives way to nobody.

use crate::exit::misuse;
#[cfg(target_os = "linux")]
use pcc::utility::Utility;
pub(crate) use pcc_command::UtilityOptions;

/// A sender that bears any loss goes on until nearly all is lost, for everybody in the same queue: something else has to end it.
///
/// Errors: such a utility without a limit of the rate.
pub(crate) fn heeds_something(utility: &str, panic_loss: f64, limited: bool) -> anyhow::Result<()> {
    if panic_loss < 1.0 || limited {
        return Ok(());
    }
    Err(misuse!(
        "{utility} backs off for no loss, and in a queue that it shares nothing would end it: say how fast it may send at \
         the most, for example --limit 50Mbit"
    ))
}

/// Errors: a utility by which senders want ever more, without a limit of the rate.
#[cfg(target_os = "linux")]
pub(crate) fn gives_way(written: &str, utility: &dyn Utility, limited: bool) -> anyhow::Result<()> {
    let Some(senders) = pcc_utility::insatiable(utility).filter(|_| !limited) else { return Ok(()) };
    let who = if senders == 1 { "a lone sender wants".to_owned() } else { format!("{senders} senders want") };
    Err(misuse!(
        "{written} never gives way: {who} ever more, whatever is lost (`pcc-lab utility check` says so too): say how fast a \
         connection may send at the most, for example --limit 50Mbit"
    ))
}
