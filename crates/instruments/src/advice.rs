//! The option that helps with an error of the lab: libraries say what is wrong, and know no options.

/// The remedy for the first cause that has one.
pub(crate) fn of(error: &anyhow::Error) -> Option<&'static str> {
    error.chain().find_map(of_lab)
}

#[cfg(target_os = "linux")]
fn of_lab(cause: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    use pcc_lab::kernel::KernelError;
    use pcc_lab::machine::{NoMemory, RunError};
    match (cause.downcast_ref(), cause.downcast_ref()) {
        (Some(KernelError::NoSource { .. }), _) => Some("--source names it"),
        (Some(KernelError::NoSources), _) | (_, Some(RunError::NoModule)) => Some("--module FILE names it"),
        _ => cause.is::<NoMemory>().then_some("--jobs says how many run at a time"),
    }
}

#[cfg(not(target_os = "linux"))]
const fn of_lab(_: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    None
}
