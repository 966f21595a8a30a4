//! Arguments that several commands share.

use clap::ValueEnum;
use clap::builder::PossibleValue;
use pcc_bpf::object::Source;
use pcc_bpf::rows::{Order, Selection};
use pcc_bpf::rule::Network;
use std::path::PathBuf;

/// The option that all commands have which load something.
#[derive(clap::Args, Clone, Debug, Default)]
pub(super) struct ObjectArgs {
    /// The BPF object to load, as kernel/build makes it [default: the one that this tool was built with]
    #[arg(long, value_name = "FILE", env = "PCC_KERNEL_OBJECT")]
    object: Option<PathBuf>,
}

impl ObjectArgs {
    pub(super) fn source(&self) -> Source {
        Source::new(self.object.clone())
    }
}

/// Which connections are shown, and in which order.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct SelectionArgs {
    /// In this order: by rate the fastest are first
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = Sort(Order::Rate))]
    sort: Sort,
    /// Only with this port at either end
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Only to or from addresses in this network: 192.0.2.0/24, 2001:db8::/32
    #[arg(long, value_name = "NETWORK")]
    address: Option<Network>,
    /// Only where the law is in this state
    #[arg(long, value_name = "STATE", ignore_case = true, value_parser = ["Starting", "Draining", "Probing"])]
    state: Option<String>,
    /// Those too that have sent nothing: which only receive
    #[arg(long)]
    all: bool,
    /// So many rows at the most [default: on a terminal as many as fit, else all]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) rows: Option<u32>,
}

impl SelectionArgs {
    pub(super) fn selection(&self) -> Selection {
        Selection {
            sort: self.sort.0,
            port: self.port,
            address: self.address,
            state: self.state.clone(),
            all: self.all,
        }
    }
}

/// By what rows are sorted, by the column's name.
#[derive(Clone, Copy, Debug)]
struct Sort(Order);

const SORTS: [(Sort, &str); 7] = [
    (Sort(Order::Rate), "rate"),
    (Sort(Order::Goodput), "goodput"),
    (Sort(Order::Rtt), "rtt"),
    (Sort(Order::Loss), "loss"),
    (Sort(Order::Name), "name"),
    (Sort(Order::Local), "local"),
    (Sort(Order::Remote), "remote"),
];

impl ValueEnum for Sort {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Sort; 7] = [SORTS[0].0, SORTS[1].0, SORTS[2].0, SORTS[3].0, SORTS[4].0, SORTS[5].0, SORTS[6].0];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        SORTS.iter().find(|(sort, _)| sort.0 == self.0).map(|(_, name)| PossibleValue::new(*name))
    }
}
