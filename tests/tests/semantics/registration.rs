//! What cannot be added, and that nothing of it is.

use chaconne_conductor::{Actor, Conductor, ConductorConfig, RegistrationError};
use chaconne_tests::{Probe, at, config, path, run, world};

fn probe() -> Probe {
    Probe::every(1).says("x").hears("chaconne/**")
}

fn ego() -> Actor {
    Actor::new("ego").child("controller", probe()).child("sensors", Actor::group().child("radar", probe()))
}

/// Adds to a world in which `ego` is, and expects a refusal that changes nothing.
fn refused(actor: Actor) -> String {
    let mut world = world([ego()]);
    let error = world.add(actor).unwrap_err().to_string();
    world.add(Actor::of("last", probe())).unwrap();
    world.run_until(at(3)).unwrap();
    assert_eq!(world.report(), run([ego(), Actor::of("last", probe())], 3).report(), "{error}");
    error
}

#[test]
fn a_path_in_use_is_refused_with_both_named() {
    assert_eq!(
        refused(Actor::of("ego", probe())),
        "cannot add `ego`: the path `ego` is already taken by actor `ego`; give one of them another name"
    );
    for (actor, path) in [
        (Actor::of("ego/controller", probe()), "ego/controller"),
        (Actor::of("ego/sensors", probe()), "ego/sensors"),
        (Actor::new("ego/sensors/radar").child("dish", probe()), "ego/sensors/radar"),
    ] {
        assert_eq!(
            refused(actor),
            format!(
                "cannot add `{path}`: the path `{path}` is already taken by actor `ego`; give one of them another name"
            )
        );
    }
}

#[test]
fn a_path_twice_within_one_actor_is_refused() {
    let twins = Actor::new("car").child("a", probe()).child("b", probe()).child("a", probe());
    assert_eq!(
        refused(twins),
        "cannot add `car`: the path `car/a` is already taken by actor `car`; give one of them another name"
    );
    let group = Actor::new("car").child("a", probe()).child("a", Actor::group().child("b", probe()));
    assert!(refused(group).contains("`car/a`"));
}

#[test]
fn an_actor_whose_part_an_other_actor_is_already_is_refused() {
    let mut world = world([Actor::new("car").child("a", probe()), Actor::of("car/b", probe())]);
    let error = world.add(Actor::of("car/b", probe())).unwrap_err();
    assert!(matches!(error, RegistrationError::Duplicate { .. }), "{error}");
}

#[test]
fn an_actor_under_nobody_is_refused() {
    let expected = "cannot add `lead/camera`: there is no actor `lead` for it to stand under; add that one first";
    assert_eq!(refused(Actor::of("lead/camera", probe())), expected);
}

#[test]
fn actors_and_groups_without_participants_are_refused() {
    assert_eq!(refused(Actor::new("car")), "cannot add `car`: it has no participants; give it at least one child");
    let car = Actor::new("car").child("a", probe()).child("g", Actor::group());
    assert_eq!(refused(car), "cannot add `car/g`: it has no participants; give it at least one child");
}

#[test]
fn a_participant_has_no_children() {
    assert_eq!(
        refused(Actor::of("car", probe()).child("wheel", probe())),
        "cannot add `car`: it is one participant and cannot have a child `wheel`; make it with Actor::new and add the \
         participant as a child"
    );
}

#[test]
fn a_text_that_is_no_path_is_refused_with_the_segment_at_fault() {
    for (actor, says) in [
        (Actor::of("", probe()), "cannot add an actor at ``: `` is not an actor's path (segment 1 is ``)"),
        (Actor::of("a b", probe()), "cannot add an actor at `a b`: `a b` is not an actor's path (segment 1 is `a b`)"),
        (Actor::of("a//b", probe()), "`a//b` is not an actor's path (segment 2 is ``)"),
        (Actor::new("car").child("a/b", probe()), "cannot add an actor at `car/a/b`: "),
        (Actor::new("car").child("*", probe()), "cannot add an actor at `car/*`: "),
    ] {
        let text = refused(actor);
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn a_worlds_name_that_is_no_segment_is_refused() {
    for name in ["", "a/b", "*", "a b"] {
        let Err(error) = Conductor::new(ConductorConfig { world: name.to_string(), ..config() }) else {
            panic!("`{name}` was taken");
        };
        let expected = format!("`{name}` is not a world's name: use letters, digits, `_` and `-` only");
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn leaving_is_refused_to_parts_and_strangers() {
    let mut world = run([ego()], 1);
    for (who, says) in [
        (
            "ego/controller",
            "`ego/controller` cannot leave alone: it is a part of actor `ego`, and an actor leaves as a whole",
        ),
        (
            "ego/sensors",
            "`ego/sensors` cannot leave alone: it is a part of actor `ego`, and an actor leaves as a whole",
        ),
        ("nobody", "`nobody` cannot leave: there is no actor of that path"),
    ] {
        assert_eq!(world.leave(&path(who)).unwrap_err().to_string(), says);
    }
    world.run_until(at(3)).unwrap();
    assert_eq!(world.report(), run([ego()], 3).report());
}
