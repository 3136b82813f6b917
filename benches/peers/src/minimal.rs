//! The minimal fingerprinted loop: traffic stepped by hand, with nothing that a hand-written program could do without.
//!
//! It does what the conductor must do for the same cars, and no more: each car is a boxed controller and a boxed
//! physics; a controller sees the poses that were published before the instant, its own physics sees its command within
//! the instant; what is published is canonical JSON; every step contributes to the fingerprint, and contributions are
//! folded in the order of the cars. There is no agenda, no routing, no inbox, no thread pool and no error handling:
//! cadences are known, so an instant is a walk over the cars.
//!
//! ```text
//! contribution = H(path, next_due, n, (key, seq, payload)^n, 0)
//! tick_hash    = H(tick, time, n, contribution^n, 0)
//! world_hash   = H(previous world_hash, tick_hash), from H("chaconne/1", world name, seed)
//! ```
//!
//! H is XXH3-128, framed as [`Frame`] describes. The joins of the first tick are left out: nobody joins here.
//!
//! What cars say and do is a [`Laws`]; [`stand_in`] is one.

mod frame;
pub(crate) mod stand_in;

use std::mem;

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use self::frame::Frame;
use crate::{
    error::PeerError,
    growth::{CONTROL_MS, PHYSICS_MS, Traffic},
};

const WORLD: &str = "traffic";
const SEED: u64 = 42;
const NANOS_PER_MS: u64 = 1_000_000;
const STEP_S: f64 = PHYSICS_MS as f64 / 1_000.0;

/// What the cars of a loop say to each other and do.
pub(crate) trait Laws: Sized + 'static {
    /// What a car's physics publishes.
    type Pose: Copy;
    /// What a car's controller publishes.
    type Command: Copy;

    /// The controller of a car, of so many.
    fn controller(car: usize, cars: usize) -> Box<dyn Controller<Self>>;

    /// The physics of a car, of so many.
    fn physics(car: usize, cars: usize) -> Box<dyn Physics<Self>>;

    /// Publishes a command as one or several signals.
    fn publish_command(command: &Self::Command, out: &mut Outbox<'_>);

    /// Publishes a pose as one or several signals.
    fn publish_pose(pose: &Self::Pose, out: &mut Outbox<'_>);
}

/// The part of a car that is due at every control instant.
pub(crate) trait Controller<L: Laws> {
    /// Decides from the poses of its own car and of the one ahead, which are those of the last control instant; there is
    /// none at the first, and the foremost car has nobody ahead.
    fn step(&mut self, own: Option<&L::Pose>, ahead: Option<&L::Pose>) -> L::Command;
}

/// The part of a car that is due every 10 ms.
pub(crate) trait Physics<L: Laws> {
    /// Moves for `elapsed_s` seconds (none at the first step) under the command held since the last control instant.
    fn step(&mut self, elapsed_s: f64, command: Option<&L::Command>) -> L::Pose;
}

/// Where a part publishes while it is stepped.
pub(crate) struct Outbox<'a> {
    frame: &'a mut Frame,
    scratch: &'a mut Vec<u8>,
    key_prefix: &'a str,
    seq: &'a mut u64,
    count: u64,
}

impl Outbox<'_> {
    /// Publishes one signal, whose canonical JSON `write` appends.
    pub(crate) fn signal(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        self.frame.text_of_two(self.key_prefix, name);
        self.frame.count(*self.seq);
        self.scratch.clear();
        write(self.scratch);
        self.frame.bytes(self.scratch);
        *self.seq += 1;
        self.count += 1;
    }
}

/// What identifies one part and numbers its signals.
struct Publisher {
    path: Box<str>,
    seq: u64,
}

struct Car<L: Laws> {
    controller: Box<dyn Controller<L>>,
    controller_id: Publisher,
    physics: Box<dyn Physics<L>>,
    physics_id: Publisher,
    key_prefix: Box<str>,
    command: Option<L::Command>,
}

/// Cars in a row, each following the one before it, stepped by hand.
pub(crate) struct Loop<L: Laws> {
    cars: Vec<Car<L>>,
    /// Poses published at the last control instant, by car; empty before the first.
    seen: Vec<L::Pose>,
    /// Poses published at this control instant.
    published: Vec<L::Pose>,
    tick: u64,
    steps: u64,
    world_hash: u128,
    frame: Frame,
    scratch: Vec<u8>,
}

impl<L: Laws> Loop<L> {
    pub(crate) fn new(cars: usize) -> Self {
        let publisher = |path: String| Publisher { path: path.into(), seq: 0 };
        let mut frame = Frame::default();
        frame.text("chaconne/1");
        frame.text(WORLD);
        frame.count(SEED);
        Self {
            cars: (0..cars)
                .map(|car| Car {
                    controller: L::controller(car, cars),
                    controller_id: publisher(format!("car-{car}/controller")),
                    physics: L::physics(car, cars),
                    physics_id: publisher(format!("car-{car}/physics")),
                    key_prefix: format!("chaconne/{WORLD}/actor/car-{car}/").into(),
                    command: None,
                })
                .collect(),
            seen: Vec::with_capacity(cars),
            published: Vec::with_capacity(cars),
            tick: 0,
            steps: 0,
            world_hash: xxh3_128(frame.as_bytes()),
            frame,
            scratch: Vec::new(),
        }
    }

    /// The fingerprint of everything so far.
    #[cfg(test)]
    fn world_hash(&self) -> u128 {
        self.world_hash
    }

    /// Steps everyone due at the next multiple of 10 ms.
    fn instant(&mut self) {
        let now = self.tick * PHYSICS_MS * NANOS_PER_MS;
        let is_control = now.is_multiple_of(CONTROL_MS * NANOS_PER_MS);
        let elapsed_s = if self.tick == 0 { 0.0 } else { STEP_S };
        let stepped = self.cars.len() as u64 * if is_control { 2 } else { 1 };

        let mut tick_hash = Xxh3::new();
        tick_hash.update(&self.tick.to_le_bytes());
        tick_hash.update(&now.to_le_bytes());
        tick_hash.update(&stepped.to_le_bytes());

        self.published.clear();
        let (frame, scratch) = (&mut self.frame, &mut self.scratch);
        for (index, car) in self.cars.iter_mut().enumerate() {
            if is_control {
                let ahead = index.checked_sub(1).and_then(|ahead| self.seen.get(ahead));
                let command = car.controller.step(self.seen.get(index), ahead);
                car.command = Some(command);
                let next_due = now + CONTROL_MS * NANOS_PER_MS;
                let publish = |out: &mut Outbox<'_>| L::publish_command(&command, out);
                let hash = contribution(frame, scratch, &mut car.controller_id, &car.key_prefix, next_due, publish);
                tick_hash.update(&hash);
            }
            let pose = car.physics.step(elapsed_s, car.command.as_ref());
            let next_due = now + PHYSICS_MS * NANOS_PER_MS;
            let publish = |out: &mut Outbox<'_>| {
                if is_control {
                    L::publish_pose(&pose, out);
                }
            };
            let hash = contribution(frame, scratch, &mut car.physics_id, &car.key_prefix, next_due, publish);
            tick_hash.update(&hash);
            if is_control {
                self.published.push(pose);
            }
        }
        if is_control {
            mem::swap(&mut self.seen, &mut self.published);
        }

        tick_hash.update(&0_u64.to_le_bytes());
        self.frame.clear();
        self.frame.hash(self.world_hash);
        self.frame.hash(tick_hash.digest128());
        self.world_hash = xxh3_128(self.frame.as_bytes());
        self.tick += 1;
        self.steps += stepped;
    }
}

/// The contribution of one stepped part, in canonical byte order.
fn contribution(
    frame: &mut Frame,
    scratch: &mut Vec<u8>,
    publisher: &mut Publisher,
    key_prefix: &str,
    next_due: u64,
    publish: impl FnOnce(&mut Outbox<'_>),
) -> [u8; 16] {
    frame.clear();
    frame.text(&publisher.path);
    frame.count(next_due);
    let signals_at = frame.reserve_count();
    let mut out = Outbox { frame, scratch, key_prefix, seq: &mut publisher.seq, count: 0 };
    publish(&mut out);
    let signals = out.count;
    frame.fill_count(signals_at, signals);
    frame.no_state();
    xxh3_128(frame.as_bytes()).to_be_bytes()
}

impl<L: Laws> Traffic for Loop<L> {
    fn advance(&mut self, periods: u64) -> Result<(), PeerError> {
        for _ in 0..periods * (CONTROL_MS / PHYSICS_MS) {
            self.instant();
        }
        // The hash is what the loop is for: without a reader the optimiser could drop it.
        std::hint::black_box(self.world_hash);
        Ok(())
    }

    fn steps(&self) -> u64 {
        self.steps
    }
}

#[cfg(test)]
mod tests {
    use super::{stand_in::StandIn, *};

    fn after(cars: usize, periods: &[u64]) -> u128 {
        let mut traffic = Loop::<StandIn>::new(cars);
        for &periods in periods {
            traffic.advance(periods).unwrap();
        }
        traffic.world_hash()
    }

    #[test]
    fn a_run_in_pieces_equals_one_run() {
        assert_eq!(after(7, &[30]), after(7, &[1, 9, 20]));
        assert_ne!(after(7, &[30]), after(7, &[29]));
        assert_ne!(after(7, &[30]), after(8, &[30]));
    }

    /// A loop whose parts say nothing.
    struct Silent;

    impl Laws for Silent {
        type Pose = ();
        type Command = ();

        fn controller(_: usize, _: usize) -> Box<dyn Controller<Self>> {
            Box::new(Mute)
        }
        fn physics(_: usize, _: usize) -> Box<dyn Physics<Self>> {
            Box::new(Mute)
        }
        fn publish_command((): &(), out: &mut Outbox<'_>) {
            out.signal("go", |text| text.extend_from_slice(b"1"));
        }
        fn publish_pose((): &(), _: &mut Outbox<'_>) {}
    }

    struct Mute;

    impl Controller<Silent> for Mute {
        fn step(&mut self, _: Option<&()>, _: Option<&()>) {}
    }

    impl Physics<Silent> for Mute {
        fn step(&mut self, _: f64, _: Option<&()>) {}
    }

    #[test]
    fn the_first_tick_is_hashed_as_specified() {
        let mut bytes: Vec<u8> = Vec::new();
        let text = |bytes: &mut Vec<u8>, text: &str| {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        };
        text(&mut bytes, "chaconne/1");
        text(&mut bytes, "traffic");
        bytes.extend(42_u64.to_le_bytes());
        let start = xxh3_128(&bytes);

        bytes.clear();
        text(&mut bytes, "car-0/controller");
        bytes.extend(100_000_000_i64.to_le_bytes());
        bytes.extend(1_u64.to_le_bytes());
        text(&mut bytes, "chaconne/traffic/actor/car-0/go");
        bytes.extend(0_u64.to_le_bytes());
        text(&mut bytes, "1");
        bytes.push(0);
        let controller = xxh3_128(&bytes);

        bytes.clear();
        text(&mut bytes, "car-0/physics");
        bytes.extend(10_000_000_i64.to_le_bytes());
        bytes.extend(0_u64.to_le_bytes());
        bytes.push(0);
        let physics = xxh3_128(&bytes);

        bytes.clear();
        bytes.extend(0_u64.to_le_bytes());
        bytes.extend(0_i64.to_le_bytes());
        bytes.extend(2_u64.to_le_bytes());
        bytes.extend(controller.to_be_bytes());
        bytes.extend(physics.to_be_bytes());
        bytes.extend(0_u64.to_le_bytes());
        let tick = xxh3_128(&bytes);

        let world = xxh3_128(&[start.to_be_bytes(), tick.to_be_bytes()].concat());
        let mut traffic = Loop::<Silent>::new(1);
        traffic.instant();
        assert_eq!(traffic.world_hash(), world);
    }

    #[test]
    fn controllers_see_the_poses_of_the_control_instant_before() {
        struct Echo;
        struct Own(usize);
        impl Laws for Echo {
            type Pose = u64;
            type Command = (Option<u64>, Option<u64>);
            fn controller(car: usize, _: usize) -> Box<dyn Controller<Self>> {
                Box::new(Own(car))
            }
            fn physics(car: usize, _: usize) -> Box<dyn Physics<Self>> {
                Box::new(Own(car))
            }
            fn publish_command(_: &Self::Command, _: &mut Outbox<'_>) {}
            fn publish_pose(_: &u64, _: &mut Outbox<'_>) {}
        }
        impl Controller<Echo> for Own {
            fn step(&mut self, own: Option<&u64>, ahead: Option<&u64>) -> (Option<u64>, Option<u64>) {
                (own.copied(), ahead.copied())
            }
        }
        impl Physics<Echo> for Own {
            fn step(&mut self, _: f64, _: Option<&(Option<u64>, Option<u64>)>) -> u64 {
                self.0 += 10;
                self.0 as u64
            }
        }
        let mut traffic = Loop::<Echo>::new(2);
        traffic.instant();
        assert_eq!(traffic.cars[1].command, Some((None, None)));
        traffic.advance(1).unwrap();
        assert_eq!(traffic.cars[0].command, Some((Some(10), None)));
        assert_eq!(traffic.cars[1].command, Some((Some(11), Some(10))));
    }
}
