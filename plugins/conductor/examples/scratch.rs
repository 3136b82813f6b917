use chaconne_conductor::{Actor, Conductor, ConductorConfig};
use chaconne_sim_core::{context::StepCtx, error::StepResult, participant::Participant, signal::Subscription, time::*};
struct P {
    from: String,
    v: f64,
}
impl Participant for P {
    fn subscriptions(&self) -> Vec<Subscription> {
        vec![Subscription::every(self.from.clone())]
    }
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        for s in ctx.inbox() {
            self.v = s.decode::<f64>()?;
        }
        self.v += 1.0;
        ctx.publish("value", &self.v)?;
        ctx.after(SimDuration::from_millis(10))
    }
}
fn main() {
    let threads: usize = std::env::args().nth(1).map_or(1, |a| a.parse().unwrap());
    let only: usize = std::env::args().nth(2).map_or(0, |a| a.parse().unwrap());
    for n in [10usize, 1000, 100_000] {
        if only != 0 && n != only {
            continue;
        }
        let mut c = Conductor::new(ConductorConfig { threads, ..Default::default() }).unwrap();
        for i in 0..n {
            let from = format!("chaconne/*/actor/p{}/value", (i + n - 1) % n);
            c.add(Actor::of(format!("p{i}"), P { from, v: i as f64 * 0.1 })).unwrap();
        }
        let mut until = SimTime::from_millis(100);
        c.run_until(until).unwrap();
        let mut best = f64::MAX;
        for _ in 0..std::env::args().nth(3).map_or(7, |a| a.parse().unwrap()) {
            let inst = (2_000_000 / n).max(5) as i64;
            until = until.checked_add(SimDuration::from_nanos(inst * 10_000_000)).unwrap();
            let t = std::time::Instant::now();
            c.run_until(until).unwrap();
            best = best.min(t.elapsed().as_nanos() as f64 / (inst as f64 * n as f64));
        }
        println!("threads {threads} n {n}: {best:.1} ns  {}", c.world_hash());
    }
}
