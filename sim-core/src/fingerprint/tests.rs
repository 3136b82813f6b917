use super::{
    world::{contribution_frame, tick_frame},
    *,
};
use crate::time::SimTime;

/// The bytes that a string of hexadecimal digits means; white space is skipped.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|digit| digit.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

// Every expected value here was computed by another program with another implementation of XXH3 (Python, `xxhash`).

#[test]
fn hashes_are_xxh3_in_canonical_order() {
    let long: Vec<u8> = (0..5).flat_map(|_| 0..=255).collect();
    let cases: [(&[u8], &str); 4] = [
        (b"", "99aa06d3014798d86001c324468d497f"),
        (b"abc", "06b05ab6733a618578af5f94892f3950"),
        (&long[..200], "cb0395310643ba0edd97e9af3609d9f5"),
        (&long, "d92ab3a1cb0542a74844b009e164352e"),
    ];
    for (bytes, text) in cases {
        assert_eq!(Fingerprint::of(bytes).to_string(), text);
    }
    assert_eq!(Fingerprint::of(b"").as_bytes()[..], hex("99aa06d3014798d86001c324468d497f"));
    let mut frame = Frame::new();
    for &byte in &long {
        frame.u8(byte);
    }
    assert_eq!(frame.finish64(), 0x4844_b009_e164_352e);
}

#[test]
fn test_vectors_of_the_layout_hold() {
    let ego = contribution_frame("ego", SimTime::from_millis(100), &[("chaconne/w/actor/ego/speed", 7, b"1.5")], None);
    assert_eq!(
        ego.as_slice(),
        hex("0300000000000000 65676f 00e1f50500000000 0100000000000000
             1a00000000000000 636861636f6e6e652f772f6163746f722f65676f2f7370656564
             0700000000000000 0300000000000000 312e35 00")
    );
    assert_eq!(ego.finish().to_string(), "9c2b87dd73aff9fb8e04cd37af63cca3");

    let mut state = StateWriter::new();
    state.u64(3);
    let lead = contribution_frame("lead", SimTime::MAX, &[], state.finish());
    assert_eq!(
        lead.as_slice(),
        hex("0400000000000000 6c656164 ffffffffffffff7f 0000000000000000 01 bb6f4149b62a32b6e619cdeae4a4a0f4")
    );
    assert_eq!(lead.finish().to_string(), "d97f28c9823510840b2f00722c110408");

    let membership = [
        MembershipChange { kind: MembershipKind::Join, path: "walker", time: SimTime::from_millis(60) },
        MembershipChange { kind: MembershipKind::Leave, path: "lead", time: SimTime::from_nanos(50_000_001) },
    ];
    let tick = tick_frame(4, SimTime::from_millis(50), &[ego.finish(), lead.finish()], &membership);
    assert_eq!(
        tick.as_slice(),
        hex("0400000000000000 80f0fa0200000000 0200000000000000
             9c2b87dd73aff9fb8e04cd37af63cca3 d97f28c9823510840b2f00722c110408 0200000000000000
             00 0600000000000000 77616c6b6572 0087930300000000
             01 0400000000000000 6c656164 81f0fa0200000000")
    );
    assert_eq!(tick.finish().to_string(), "2b031612b79719845231837ab21fd9a9");

    let start = world_start("w", 42);
    assert_eq!(start.to_string(), "10c9410a2db8254708c459bcc9ce1e15");
    assert_eq!(world_next(start, tick.finish()).to_string(), "d797f231dc5427757a0881649c257cbe");
}

#[test]
fn a_contribution_built_piece_by_piece_equals_the_reference() {
    let mut frame = Frame::new();
    frame.str("ego");
    frame.time(SimTime::from_millis(100));
    let count = frame.reserve_u64();
    frame.str("chaconne/w/actor/ego/speed");
    frame.u64(7);
    let text = frame.payload(&1.5).unwrap();
    assert_eq!(frame.as_slice()[text], *b"1.5");
    frame.patch_u64(count, 1);
    frame.u8(0);
    let reference = contribution("ego", SimTime::from_millis(100), &[("chaconne/w/actor/ego/speed", 7, b"1.5")], None);
    assert_eq!(frame.finish(), reference);
}

#[test]
fn a_payload_that_fails_leaves_the_frame_as_it_was() {
    let mut frame = Frame::new();
    frame.str("before");
    let before = frame.clone();
    assert!(frame.payload(&[1.0, f64::NAN]).is_err());
    assert_eq!(frame, before);
}

#[test]
fn every_field_of_a_contribution_counts() {
    let (key, payload) = ("chaconne/w/actor/ego/speed", b"1.5".as_slice());
    let mut hashes = vec![
        contribution("ego", SimTime::ZERO, &[], None),
        contribution("ego2", SimTime::ZERO, &[], None),
        contribution("ego", SimTime::from_nanos(1), &[], None),
        contribution("ego", SimTime::ZERO, &[], Some(Fingerprint::of(b""))),
        contribution("ego", SimTime::ZERO, &[(key, 0, payload)], None),
        contribution("ego", SimTime::ZERO, &[(key, 1, payload)], None),
        contribution("ego", SimTime::ZERO, &[(key, 0, b"1.6")], None),
        contribution("ego", SimTime::ZERO, &[(key, 0, payload), (key, 1, payload)], None),
    ];
    let count = hashes.len();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), count);
}

#[test]
fn state_is_none_until_something_is_written() {
    let mut state = StateWriter::new();
    assert_eq!(state.finish(), None);
    state.bool(false);
    assert_eq!(state.finish(), Some(Fingerprint::of(&[0])));
    state.clear();
    assert_eq!(state.finish(), None);
    state.str("");
    assert_eq!(state.finish(), Some(Fingerprint::of(&[0; 8])), "an empty text is state too");
}

#[test]
fn state_bytes_are_as_documented() {
    let mut state = StateWriter::new();
    state.u64(1);
    state.i64(-1);
    state.f64(-0.0);
    state.bool(true);
    state.time(SimTime::from_nanos(2));
    state.str("a");
    state.bytes(&[0xff]);
    state.value(&[1.5, 2.0]);
    assert_eq!(
        state.as_slice(),
        hex("0100000000000000 ffffffffffffffff 0000000000000080 01 0200000000000000
             0100000000000000 61 0100000000000000 ff 0700000000000000 5b312e352c325d")
    );
    assert!(state.take_error().is_none());
}

#[test]
fn a_value_without_text_is_the_first_error_of_the_state() {
    let mut state = StateWriter::new();
    state.value(&f64::NAN);
    state.value(&f64::INFINITY);
    assert!(state.take_error().unwrap().to_string().contains("NaN"));
    state.value(&f64::NAN);
    state.clear();
    assert!(state.take_error().is_none());
}

#[test]
fn text_is_32_lower_case_hexadecimal_digits() {
    let fingerprint = Fingerprint::of(b"abc");
    let text = fingerprint.to_string();
    assert_eq!(text.parse(), Ok(fingerprint));
    assert_eq!(serde_json::to_string(&fingerprint).unwrap(), format!("\"{text}\""));
    assert_eq!(serde_json::from_str::<Fingerprint>(&format!("\"{text}\"")).unwrap(), fingerprint);
    for wrong in
        ["", &text[1..], &text.to_uppercase(), &text.replace('0', "g"), &format!("{text}0"), "é".repeat(16).as_str()]
    {
        assert!(wrong.parse::<Fingerprint>().is_err(), "{wrong}");
    }
}
