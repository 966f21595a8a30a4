//! The option that helps with an error: libraries say what is wrong, and know no options.

use pcc_files::get::{GaveUp, PlaceError};
use pcc_files::serve::StartError;
use pcc_net::dial::DialError;
use pcc_net::tls::TlsError;

/// Which option names a BPF object.
#[cfg(target_os = "linux")]
pub(crate) const OBJECT: &str = "--object FILE names one";

/// The remedy for the first cause that has one.
pub(crate) fn of(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(|cause| {
        let start = cause.downcast_ref().and_then(of_start);
        let net = || cause.downcast_ref().and_then(of_dial).or_else(|| cause.downcast_ref().and_then(of_tls));
        start.or_else(net).or_else(|| of_kernel(cause))
    })
}

/// An error with its causes, each with the option that helps where its own words speak of that.
pub(crate) fn told(error: &anyhow::Error) -> String {
    let place = error.downcast_ref::<PlaceError>().map(|place| (place.to_string(), of_place(place)));
    let gave_up = error.downcast_ref::<GaveUp>().map(|gave_up| (gave_up.to_string(), format!("{gave_up} (--give-up)")));
    let named = [place, gave_up];
    let one = |cause: &(dyn std::error::Error + 'static)| {
        let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if let Some(place) = inner.and_then(|inner| inner.downcast_ref()) {
            return of_place(place);
        }
        let text = cause.to_string();
        named.iter().flatten().find(|(plain, _)| *plain == text).map_or(text, |(_, advised)| advised.clone())
    };
    error.chain().map(one).collect::<Vec<_>>().join(": ")
}

fn of_place(error: &PlaceError) -> String {
    match error {
        PlaceError::Full { file, then } => {
            let file = file.display();
            format!("could not write {file} (make room or choose another place with -o, and run again: {then})")
        }
        other => format!("{other} with -o"),
    }
}

#[cfg(target_os = "linux")]
fn of_kernel(cause: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    matches!(cause.downcast_ref(), Some(pcc_bpf::HostError::NoObject)).then_some(OBJECT)
}

#[cfg(not(target_os = "linux"))]
const fn of_kernel(_: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    None
}

fn of_start(error: &StartError) -> Option<&'static str> {
    match error {
        StartError::Listen { .. } => Some("choose another address with --listen ADDRESS:PORT"),
        StartError::ListenTcp { .. } => Some("choose another address with --http ADDRESS:PORT"),
        _ => None,
    }
}

fn of_dial(error: &DialError) -> Option<&'static str> {
    match error {
        DialError::Full { .. } => Some("a server has --max-connections and --max-per-address for more"),
        DialError::Trust(error) => of_tls(error),
        _ => None,
    }
}

const fn of_tls(error: &TlsError) -> Option<&'static str> {
    match error {
        TlsError::NoAuthorities(_) => Some("name them with --ca FILE"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Failure;
    use anyhow::Context as _;

    #[test]
    fn each_cause_is_told_with_the_option_that_it_speaks_of() {
        let refused = std::io::Error::new(std::io::ErrorKind::InvalidInput, PlaceError::NotPlain);
        let error = Err::<(), _>(refused).context(PlaceError::File("a".into())).context(Failure::Error).unwrap_err();
        let expected = "failed: could not create a: choose a place that can be written with -o: it is no plain file: remove \
                        it, or choose another name with -o";
        assert_eq!(told(&error), expected);
        let full = anyhow::Error::new(PlaceError::Full { file: "a".into(), then: "it starts anew" });
        assert!(told(&full).contains("another place with -o, and run again"), "{full}");
        assert_eq!(told(&anyhow::anyhow!("x").context("y")), "y: x");
    }

    #[test]
    fn an_error_deep_in_the_chain_is_answered_with_its_option() {
        let address = ([127, 0, 0, 1], 4433).into();
        let taken = StartError::Listen { address, source: std::io::ErrorKind::AddrInUse.into() };
        let error = Err::<(), _>(taken).context("could not start").unwrap_err();
        assert!(of(&error).is_some_and(|advice| advice.contains("--listen")));
        let full = DialError::Full { peer: pcc_net::url::Peer::parse("host:4433", 443).unwrap() };
        assert!(of(&full.into()).is_some_and(|advice| advice.contains("--max-connections")));
        let none = DialError::Trust(TlsError::NoAuthorities(rustls::Error::DecryptError));
        assert_eq!(of(&none.into()), Some("name them with --ca FILE"));
        assert_eq!(of(&anyhow::anyhow!("something else")), None);
    }
}
