//! The names of algorithms, in scenarios and in results.

/// How the algorithm of a QUIC flow is written: `quic:pcc`.
pub(crate) const QUIC: &str = "quic:";
/// PCC's own, whatever its utility and law.
pub(crate) const QUIC_PCC: &str = "quic:pcc";
/// The congestion control that our kernel module provides for TCP.
pub const MODULE_ALGORITHM: &str = "pcc";
/// The same with the trains of the BPF program, which are TCP's own.
pub(crate) const BPF_ALGORITHM: &str = "bpf:pcc";
/// The module's with a utility or a law of its own: one for all such flows of a run.
pub(crate) const MODULE_VARIANT: &str = "pcc_bulk";

/// How an algorithm is called in results: ours over QUIC, which most of them are about, without its prefix.
pub fn short(algorithm: &str) -> String {
    if algorithm.starts_with(MODULE_ALGORITHM) {
        return format!("kernel:{algorithm}");
    }
    algorithm.strip_prefix(QUIC).filter(|name| name.starts_with("pcc")).unwrap_or(algorithm).to_owned()
}
