use pcc::control::{Law, Path, RateControl, Verdict, Worth};
use pcc::interval::{IntervalPlan, Report};
use pcc::{rng::Rng, units::Rate, utility};
use pcc_sim::{Entrant, Flow};

/// Sends 5 % faster and 5 % slower in turn, and moves to the side that was worth more.
#[derive(Debug)]
struct Climber {
    rate: Rate,
    launched: u8,
    /// Each side's rate as achieved, in Mbit/s, and its utility.
    seen: [Option<(f64, f64)>; 2],
}

impl Climber {
    fn at(rate: Rate) -> Self {
        Self { rate, launched: 0, seen: [None; 2] }
    }
}

impl RateControl for Climber {
    fn next(&mut self, _: &Path, _: &mut Rng) -> IntervalPlan {
        let trial = self.launched;
        let Some(share) = [1.05, 0.95].get(usize::from(trial)) else { return IntervalPlan::filler(self.rate) };
        self.launched += 1;
        IntervalPlan { trial: Some(trial), ..IntervalPlan::filler(self.rate * *share) }
    }
    fn on_report(&mut self, plan: IntervalPlan, report: &Report, utility: &dyn Worth, path: &Path) -> Verdict {
        self.seen[usize::from(plan.trial == Some(1))] = Some((report.achieved.mbit(), utility.of(report)));
        let [Some(one), Some(other)] = self.seen else { return Verdict::Wait };
        let slope = (one.1 - other.1) / (one.0 - other.0);
        let step = if slope.is_finite() { (slope / self.rate.mbit()).clamp(-0.05, 0.05) } else { 0.0 };
        *self = Self::at(path.clamp(self.rate * (1.0 + step)));
        Verdict::Realign("both sides are known")
    }
    fn begin(&mut self, rate: Rate, _: &Path) {
        *self = Self::at(rate);
    }
    fn limit(&mut self, rate: Rate) {
        *self = Self::at(rate)
    }
    fn back_off(&mut self, rate: Rate) {
        *self = Self::at(rate)
    }
    fn restart(&mut self) {
        *self = Self::at(self.rate)
    }
    fn rate(&self) -> Rate {
        self.rate
    }
    fn state(&self) -> &'static str {
        "climbing"
    }
}

fn main() -> std::process::ExitCode {
    let (law, utility) = (Law::own("climber", |rate, _| Climber::at(rate)), utility::by_name("vivace").unwrap());
    let config = pcc::Config { law: Some(law), utility, ..Flow::default().config };
    pcc_score::entered(Entrant::new("climber", Flow { config, ..Flow::default() }))
}
