//! The analysis of utilities.

use crate::record::record;
use crate::{refused, seconds};
use pcc::control::Law;
use pcc::units::Rate;
use pcc_link::Path;
use pcc_play::read;
use pcc_utility::{Bottleneck, Game};
use pyo3::prelude::*;
use std::time::Duration;

/// The bottleneck of a path that is the same all the time.
fn bottleneck(written: &str) -> PyResult<Bottleneck> {
    let path: Path = written.parse().map_err(refused)?;
    let conditions = path.down.conditions;
    Ok(Bottleneck {
        capacity: conditions.rate,
        base_rtt: path.rtt(),
        buffer: conditions.rate.time_for(conditions.buffer),
        loss: conditions.loss.mean(),
    })
}

fn rate(name: &str, mbit: f64) -> PyResult<Rate> {
    if mbit >= 0.0 && mbit.is_finite() {
        return Ok(Rate::from_mbit(mbit));
    }
    Err(refused(format!("{name} is {mbit} Mbit/s: choose 0 or more")))
}

/// The fields of `pcc.Settled`.
#[derive(IntoPyObject)]
struct Settled {
    senders: u32,
    rate_mbit: f64,
    loss: f64,
    least_queue_ms: f64,
    largest_queue_ms: f64,
    fair: bool,
}

/// The fields of `pcc.Check`.
#[derive(IntoPyObject)]
struct Check {
    law: &'static str,
    settled: Vec<Py<PyAny>>,
    traps: Vec<String>,
}

/// Says where equal senders settle on a path, and which traps the utility has.
///
/// utility: a name of `utilities()`, a formula such as "T - 10*x*L", or a file such as "my.utility".
/// path: its rate, RTT, buffer and loss at the start count.
/// senders: numbers of senders.
///
/// Raises ValueError with line and column where the formula cannot be read.
#[pyfunction]
#[pyo3(signature = (utility, path = "clean", senders = vec![1, 2, 10]))]
pub(crate) fn check_utility(py: Python<'_>, utility: &str, path: &str, senders: Vec<u32>) -> PyResult<Py<PyAny>> {
    if senders.contains(&0) {
        return Err(refused("senders has a 0: nobody settles nowhere, choose 1 or more"));
    }
    let (utility, path) = (read(utility).map_err(refused)?, bottleneck(path)?);
    let law = Law::suited_to(&*utility);
    let (settled, traps) = py.detach(|| {
        let game = Game::new(&*utility, &law, path);
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let settled = senders.into_iter().flat_map(|senders| {
            game.settle(senders).stable.into_iter().map(move |settled| Settled {
                senders,
                rate_mbit: settled.rate.mbit(),
                loss: settled.loss,
                least_queue_ms: ms(settled.queue.0),
                largest_queue_ms: ms(settled.queue.1),
                fair: settled.fair,
            })
        });
        (settled.collect::<Vec<_>>(), game.traps().iter().map(ToString::to_string).collect())
    });
    let settled = settled.into_iter().map(|fields| record(py, "Settled", fields)).collect::<PyResult<_>>()?;
    record(py, "Check", Check { law: law.name(), settled, traps })
}

/// The utility of an interval at each of these rates, in Mbit/s; None where it is not defined.
///
/// utility: a name, a formula or a file, as `check_utility` takes it.
/// path: its rate, RTT, buffer and loss at the start count.
/// others_mbit: the rate of all other senders together, in Mbit/s.
/// queue_ms: the queueing delay when the interval begins, in milliseconds.
///
/// Raises ValueError where a rate is negative.
#[pyfunction]
#[pyo3(signature = (utility, rates_mbit, path = "clean", others_mbit = 0.0, queue_ms = 0.0))]
pub(crate) fn evaluate_utility(
    utility: &str,
    rates_mbit: Vec<f64>,
    path: &str,
    others_mbit: f64,
    queue_ms: f64,
) -> PyResult<Vec<Option<f64>>> {
    let (utility, path) = (read(utility).map_err(refused)?, bottleneck(path)?);
    let game = Game::new(&*utility, &Law::suited_to(&*utility), path);
    let queue = seconds("queue_ms / 1000", queue_ms / 1e3)?;
    let others = rate("others_mbit", others_mbit)?;
    rates_mbit.into_iter().map(|mbit| Ok(game.value(rate("a rate", mbit)?, others, queue))).collect()
}

/// The names of the built-in utilities. Those with a parameter are written as in "weighted,share=0.5".
#[pyfunction]
pub(crate) fn utilities() -> Vec<&'static str> {
    pcc::utility::NAMES.to_vec()
}
