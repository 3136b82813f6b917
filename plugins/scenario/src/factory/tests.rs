use chaconne_sim_core::context::StepCtx;
use chaconne_sim_core::error::StepResult;
use chaconne_sim_core::participant::Participant;
use chaconne_sim_core::time::SimTime;
use serde::Deserialize;

use super::*;
use crate::text::Place;

struct Still;

impl Participant for Still {
    fn step(&mut self, ctx: &mut StepCtx<'_>) -> StepResult {
        Ok(ctx.never())
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Nothing {}

fn still(_: Nothing, _: &Site<'_>) -> Result<Still, String> {
    Ok(Still)
}

fn factories() -> Factories {
    let mut factories = Factories::default();
    factories.add("still", "does nothing", still).unwrap();
    factories
}

fn make(spec: &ActorSpec<'_>) -> Result<chaconne_conductor::Actor, String> {
    factories().make(&Setting::new("w", 1), spec).map_err(|error| error.to_string())
}

fn leaf(factory: &str) -> NodeSpec<'_> {
    NodeSpec::made(factory, Params::empty())
}

#[test]
fn a_name_is_given_once() {
    let mut factories = factories();
    let error = factories.add("still", "does nothing either", still).err().unwrap().to_string();
    let at = |text: &str| text.matches("tests.rs:").count();
    assert!(
        error.contains("(does nothing either; ") && error.contains("(does nothing; ") && at(&error) == 2,
        "{error}"
    );
    let error = factories.add("a b", "has a space", still).err().unwrap().to_string();
    assert!(
        error.starts_with("`a b` (")
            && error.ends_with("is not a name: use letters, digits, `_` and `-`, and `/` between parts, only"),
        "{error}"
    );
}

#[test]
fn a_shared_field_has_a_name_and_a_type_of_its_own() {
    let mut factories = factories();
    let load = |value: u8, _: &Path| Ok::<_, String>(Loaded::new(value));
    assert!(matches!(factories.share("actors", "", load), Err(FactoryError::Field { .. })));
    factories.share("level", "a number", load).unwrap();
    assert!(matches!(factories.share("level", "a number", load), Err(FactoryError::Field { .. })));
    assert!(matches!(factories.share("depth", "a number", load), Err(FactoryError::SharedType { .. })));
}

#[test]
fn an_actor_is_made_from_a_tree_of_names() {
    let group = NodeSpec::Group(vec![("a", leaf("still")), ("b", NodeSpec::Group(vec![("c", leaf("still"))]))]);
    assert_eq!(make(&ActorSpec::new("ego", group)).unwrap().path(), "ego");
}

#[test]
fn what_cannot_be_made_is_named_by_its_path() {
    let group = |name, child| NodeSpec::Group(vec![(name, child)]);
    for (spec, error) in [
        (ActorSpec::new("ego", leaf("stil")), "cannot make `ego`: unknown type `stil`; did you mean `still`?"),
        (
            ActorSpec::new("ego", group("a", leaf("x"))),
            "cannot make `ego/a`: unknown type `x`; only `still` is allowed here",
        ),
        (ActorSpec::new("ego", NodeSpec::Group(vec![])), "cannot make `ego`: it has no children; give it at least one"),
        (
            ActorSpec::new("ego", leaf("still")).first_due(SimTime::MAX),
            "cannot make `ego`: its first due time is one end of time; give it a time in between",
        ),
        (
            ActorSpec::new("ego", leaf("still")).leaves_at(SimTime::ZERO),
            "cannot make `ego`: it leaves at 0.0 s, and is first due at 0.0 s; let it leave later",
        ),
    ] {
        assert_eq!(make(&spec).err().unwrap(), error);
    }
    let deep = (0..200).fold(leaf("still"), |node, _| group("a", node));
    assert!(make(&ActorSpec::new("a", deep)).err().unwrap().ends_with("129 segments is deeper than 128; use fewer"));
    assert!(make(&ActorSpec::new("a//b", leaf("still"))).err().unwrap().contains("segment 2"));
    assert!(make(&ActorSpec::new("a", group("b c", leaf("still")))).err().unwrap().contains("segment 2"));
}

#[test]
fn a_factory_sees_its_site() {
    let mut factories = factories();
    let seen = |_: Nothing, site: &Site<'_>| -> Result<Still, String> {
        let shared: Option<Arc<u8>> = site.shared();
        Err(format!("{} {} {} {} {shared:?}", site.world(), site.seed(), site.path(), site.actor()))
    };
    factories.add("seen", "says what it sees", seen).unwrap();
    let setting = Setting { shared: Shared::default().with(7_u8), ..Setting::new("w", 1) };
    let group = NodeSpec::Group(vec![("a", leaf("seen"))]);
    let error = factories.make(&setting, &ActorSpec::new("ego", group)).err().unwrap();
    assert_eq!(error.mistake.what, "w 1 ego/a ego Some(7)");
}

#[test]
fn an_error_of_reading_more_keeps_its_place_and_a_panic_is_a_sentence() {
    let mut factories = factories();
    let place = Place { line: 7, column: 3 };
    let reads = move |_: Nothing, _: &Site<'_>| Err::<Still, _>(ParamError::new("no").at(place));
    factories.add("reads", "", reads).unwrap();
    factories.add("panics", "", |_: Nothing, _: &Site<'_>| -> Result<Still, String> { panic!("at {}", 3) }).unwrap();
    let error = |name| factories.make(&Setting::new("w", 1), &ActorSpec::new("a", leaf(name))).err().unwrap();
    assert_eq!(error("reads").mistake, Mistake::new(place, "no"));
    assert_eq!(error("panics").mistake.what, "its factory panicked: at 3");
}

#[test]
fn the_list_tells_what_is_registered() {
    let mut factories = factories();
    factories.share("level", "a number", |value: u8, _: &Path| Ok::<_, String>(Loaded::new(value))).unwrap();
    let list = factories.list();
    let names: Vec<_> = list.iter().map(|one| (one.name.as_str(), one.kind.as_str(), one.about.as_str())).collect();
    assert_eq!(names, [("still", "actor", "does nothing"), ("level", "shared", "a number")]);
    assert_eq!(list[0].schema["additionalProperties"], false);
}
