//! The outcome of a draw, and whether it is bad.

use crate::draw::Draw;
use pcc_sim::{Control, Results, SecondHalf, run};

/// A queue is bad if its 95th percentile is longer than this, and than half of the buffer. Unit: s.
const LONG: f64 = 0.02;
/// Loss is bad beyond so many times CUBIC's and this.
const TIMES: f64 = 3.0;
const MORE: f64 = 0.003;
/// Jain's index is bad below.
const UNEQUAL: f64 = 0.85;

#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) draw: Draw,
    pub(crate) late: SecondHalf,
    /// CUBIC's loss in the second half of the same draw, where PCC's is much.
    pub(crate) cubic: Option<f64>,
}

impl Verdict {
    pub(crate) fn of(draw: &Draw) -> Result<Self, String> {
        let late = second_half(draw, Control::Pcc)?;
        let cubic = if late.loss > MORE { Some(second_half(draw, Control::Cubic)?.loss) } else { None };
        Ok(Self { draw: draw.clone(), late, cubic })
    }

    /// Its faults.
    pub(crate) fn faults(&self) -> Vec<String> {
        let (late, longest) = (&self.late, self.draw.longest_queue);
        let queue = late.queue_p95.as_secs_f64();
        let is_long = queue > LONG.max(longest / 2.0);
        let queue = is_long.then(|| format!("queue {:.1} of {:.1} ms", queue * 1e3, longest * 1e3));
        let cubic = self.cubic.filter(|cubic| late.loss > TIMES * cubic + MORE);
        let loss = cubic.map(|cubic| format!("loss {:.2} %, CUBIC's {:.2}", late.loss * 100.0, cubic * 100.0));
        let jain = late.jain.filter(|jain| *jain < UNEQUAL).map(|jain| format!("Jain {jain:.2}"));
        [queue, loss, jain].into_iter().flatten().collect()
    }
}

fn second_half(draw: &Draw, control: Control) -> Result<SecondHalf, String> {
    let scenario = draw.scenario(control)?;
    let results: Results = run(&scenario).map_err(|error| format!("{draw}: {error}"))?;
    Ok(SecondHalf::on_scale(draw.scale(), &scenario, &results))
}
