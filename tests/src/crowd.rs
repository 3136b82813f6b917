//! A world that is large enough for several threads: thousands of participants at an instant, composites, and populations
//! whose steps are long.

use bevy::prelude::*;
use chaconne::prelude::*;
use chaconne::sim_core::math;

/// Participants outside composites and populations.
const MEMBERS: usize = 2_600;
/// Composites of three parts.
const TEAMS: usize = 200;
/// Actors under members' paths, added last: in the world's order they stand where their slots do not.
const CAMERAS: usize = 50;
/// Populations of a few hundred agents.
const HERDS: usize = 6;

/// When those fail who are to fail.
pub const FAILURE: SimTime = SimTime::from_millis(60);

/// Draws, listens and sums up, every ten to thirty milliseconds.
struct Member {
    hears: Vec<Subscription>,
    period: SimDuration,
    sum: f64,
    failure: Option<Failure>,
}

#[derive(Clone, Copy)]
enum Failure {
    Error,
    Panic,
    Stuck,
    NotANumber,
}

impl Participant for Member {
    fn subscriptions(&self) -> Vec<Subscription> {
        self.hears.clone()
    }

    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        // Sums of floats: another order of arrival is another result.
        for signal in ctx.inbox() {
            self.sum = self.sum * 0.9 + signal.decode::<f64>()?;
        }
        for subscription in &self.hears {
            if subscription.delivery() == chaconne::sim_core::Delivery::Latest {
                for (_, held) in ctx.latest_all::<f64>(subscription.key())? {
                    self.sum = math::sin(self.sum + *held);
                }
            }
        }
        self.sum += ctx.rng().normal(0.0, 1.0);
        if ctx.now() >= FAILURE {
            match self.failure {
                None => {}
                Some(Failure::Error) => return Err("it was to fail".into()),
                Some(Failure::Panic) => panic!("it was to panic"),
                Some(Failure::Stuck) => return Ok(ctx.now()),
                Some(Failure::NotANumber) => ctx.publish("sum", &f64::NAN)?,
            }
        }
        ctx.publish("sum", &self.sum)?;
        ctx.after(self.period)
    }

    fn write_state(&self, out: &mut StateWriter) {
        out.f64(self.sum);
    }
}

#[derive(Component)]
struct Walker(f64);

fn arrive(mut commands: Commands) {
    commands.spawn_batch((0..300).map(|number| Walker(f64::from(number))));
}

fn walk(mut walkers: Query<&mut Walker>, run: Res<PopulationRun>) {
    let streams = run.streams("walk");
    for (agent, mut walker) in (0..).zip(&mut walkers) {
        walker.0 = math::cos(walker.0) + streams.stream(agent).unit();
    }
}

fn tell(walkers: Query<&Walker>, mut signals: ResMut<PopulationSignals>) {
    let heard: f64 = signals.inbox().iter().filter_map(|signal| signal.decode::<f64>().ok()).sum();
    let mean = walkers.iter().map(|walker| walker.0).sum::<f64>() / 300.0;
    signals.publish("sum", mean + heard);
}

fn herd(app: &mut App) {
    app.add_systems(PopulationStartup, arrive).add_systems(Tick, (walk, tell).chain());
}

/// The actors; with `failing`, nine of them fail at [`FAILURE`], each in its own way.
pub fn actors(failing: bool) -> Vec<Actor> {
    let member = |number: usize, hears: Vec<Subscription>| Member {
        hears,
        period: SimDuration::from_millis([10, 20, 30][number % 3]),
        sum: number as f64,
        failure: None,
    };
    let of = |path: String| format!("chaconne/*/actor/{path}/sum");
    let mut actors = Vec::new();
    for number in 0..MEMBERS {
        let before = format!("member-{}", (number + MEMBERS - 1) % MEMBERS);
        let mut hears =
            vec![if number % 2 == 0 { Subscription::every(of(before)) } else { Subscription::latest(of(before)) }];
        if number % 100 == 0 {
            hears.push(Subscription::every(of("team-1$*".to_string())));
            hears.push(Subscription::latest(of("herd-$*".to_string())));
        }
        let mut member = member(number, hears);
        if failing {
            member.failure = match number {
                1_200 | 2_400 => Some(Failure::Panic),
                540 | 2_598 => Some(Failure::Error),
                900 => Some(Failure::Stuck),
                1_800 => Some(Failure::NotANumber),
                _ => None,
            };
        }
        actors.push(Actor::of(format!("member-{number}"), member));
    }
    for number in 0..TEAMS {
        let part = |hears: &'static str| Member {
            period: SimDuration::from_millis(20),
            ..member(number, vec![Subscription::every(hears)])
        };
        let mut last = part("g/sum");
        if failing && (number == 30 || number == 150) {
            last.failure = Some(Failure::Error);
        }
        let team = Actor::new(format!("team-{number}"))
            .child("a", part("sum"))
            .child("g", Actor::group().child("b", part("sum")))
            .child("c", last);
        actors.push(team);
    }
    for number in 0..HERDS {
        let population = Population::new(format!("herd-{number}"), herd)
            .every(SimDuration::from_millis([10, 20][number % 2]))
            .subscribe(Subscription::every(of(format!("member-{number}"))));
        actors.push(population.into());
    }
    for number in 0..CAMERAS {
        let above = format!("member-{}", 51 * number);
        let mut camera = member(3 * number, vec![Subscription::every(of(above.clone()))]);
        if failing && number == 9 {
            camera.failure = Some(Failure::Error);
        }
        actors.push(Actor::of(format!("{above}/camera"), camera));
    }
    actors
}
