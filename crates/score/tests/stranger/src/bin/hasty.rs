use pcc::units::Timestamp;
use pcc_sim::tcp::{Acked, CongestionControl, InRecovery, Window};
use pcc_sim::{Cast, Control, Entrant, Scenario, run};
use std::time::Duration;

/// As Reno, with two segments more a round trip, and three quarters of the window after a loss.
#[derive(Default)]
struct Hasty(Window);

impl CongestionControl for Hasty {
    fn limits(&self) -> &Window {
        &self.0
    }
    fn limits_mut(&mut self) -> &mut Window {
        &mut self.0
    }
    fn reduced(&mut self, _: Timestamp) -> f64 {
        (0.75 * self.0.segments).max(2.0)
    }
    fn on_ack(&mut self, event: &Acked, _: InRecovery) {
        let left = if self.0.is_slow_start() { self.0.slow_start(event.acked) } else { event.acked as f64 };
        self.0.grow(2.0 * left, self.0.segments);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let hasty = Entrant::from(Control::own("hasty", |_| Hasty::default()));
    let Cast(flows) = Cast::among("hasty:start=2s reno pcc:rtt=+20ms", &[hasty])?;
    let (path, time) = ("rate=50Mbit,rtt=40ms,buffer=1bdp".parse()?, Duration::from_secs(30));
    let scenario = Scenario::new(path, flows, 1, time);
    let results = run(&scenario)?;
    for (flow, sender) in results.flows.iter().zip(&scenario.flows) {
        println!("{}: {:.1} Mbit/s", sender.control, flow.goodput(Duration::from_secs(5), time).mbit());
    }
    Ok(())
}
