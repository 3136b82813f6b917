"""Tests of `check_log`: right logs pass, and every kind of damage is found and named with its line.

    python test_check_log.py
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import check_log

NEVER = "9223372036.854775807"
A_STATE = "bb6f4149b62a32b6e619cdeae4a4a0f4"
OTHER = "0123456789abcdef0123456789abcdef"


def nanoseconds(time: str) -> int:
    return check_log.read_time(check_log.Number(time), "time")


class Writer:
    """Writes a log line by line and computes its hashes; times are texts such as `0.5`."""

    def __init__(self, world: str = "w", seed: int = 42):
        self.lines: list[str] = []
        self.tick_number = 0
        self.world_hash = check_log.world_start(world, seed)
        self.steps = 0
        self.signals = 0
        self.changes: list = []
        self.published: dict[str, list] = {}
        names = f'"format":"chaconne-log","version":1,"world":"{world}","seed":{seed}'
        self.add(f'"header",{names},"provenance":{{"threads":1}}')

    def add(self, rest: str) -> None:
        self.lines.append('{"type":' + rest + "}")

    def join(self, path: str, time: str) -> None:
        self.add(f'"join","path":"{path}","time":{time}')
        self.changes.append((b"\0", path, nanoseconds(time)))

    def leave(self, path: str, time: str) -> None:
        self.add(f'"leave","path":"{path}","time":{time}')
        self.changes.append((b"\1", path, nanoseconds(time)))

    def signal(self, time: str, path: str, key: str, seq: int, payload: str) -> None:
        self.add(f'"signal","time":{time},"path":"{path}","key":{json.dumps(key)},"seq":{seq},"payload":{payload}')
        self.published.setdefault(path, []).append((key, seq, payload.encode("utf-8")))

    def tick(self, time: str, *steps: tuple) -> None:
        """An instant of steps (path, next due) or (path, next due, state)."""
        contributions, entries = [], []
        for path, next_due, *state in steps:
            state = state[0] if state else None
            signals = self.published.get(path, [])
            digest = None if state is None else bytes.fromhex(state)
            contributions.append(check_log.contribution(path, nanoseconds(next_due), signals, digest))
            entries.append(f'["{path}",{next_due},{json.dumps(state)}]')
        tick_hash = check_log.tick_hash(self.tick_number, nanoseconds(time), contributions, self.changes)
        self.world_hash = check_log.world_next(self.world_hash, tick_hash)
        self.add(
            f'"tick","tick":{self.tick_number},"time":{time},"steps":[{",".join(entries)}],'
            f'"tick_hash":"{tick_hash.hex()}","world_hash":"{self.world_hash.hex()}"'
        )
        self.tick_number += 1
        self.steps += len(steps)
        self.signals += sum(map(len, self.published.values()))
        self.changes, self.published = [], {}

    def observed(self, path: str = "null") -> None:
        self.add(f'"observed","time":0.0,"path":{path},"kind":"late","data":{{"spent ms":3.5,"of":[1e3,null]}}')

    def gap(self, next_tick: int) -> None:
        self.add(f'"gap","tick":{self.tick_number},"next":{next_tick}')
        self.tick_number = next_tick

    def counts(self) -> str:
        return (
            f'"ticks":{self.tick_number},"steps":{self.steps},"signals":{self.signals},'
            f'"world_hash":"{self.world_hash.hex()}"'
        )

    def end(self, reason: str = "finished") -> None:
        self.add(f'"end","reason":"{reason}",{self.counts()}')

    def halt(self, tick: object, time: object, cause: str = "error") -> None:
        where = f'"tick":{tick},"time":{time},"path":"ego"'
        self.add(f'"halt",{where},"cause":"{cause}","text":"it broke","others":0,{self.counts()}')

    def bytes(self) -> bytes:
        return "".join(line + "\n" for line in self.lines).encode("utf-8")


def sample() -> Writer:
    """A run with everything in it. Its lines, counted from 1, are what the tests of damage name."""
    log = Writer()  # 1
    log.join("ego", "0.0")  # 2
    log.join("lead/driver", "0.0")  # 3
    log.join("lead/physics", "0.0")  # 4
    log.signal("0.0", "ego", "speed", 0, '{"x":1.5,"y":[1e21,"é,\\"payload\\":"]}')  # 5
    log.signal("0.0", "ego", 'say "hi"', 1, "true")  # 6
    log.observed()  # 7
    log.signal("0.0", "lead/driver", "speed", 0, "2")  # 8
    log.tick("0.0", ("ego", "0.5"), ("lead/driver", "0.033333333"), ("lead/physics", "0.5", A_STATE))  # 9
    log.signal("0.033333333", "lead/driver", "speed", 1, "3")  # 10
    log.tick("0.033333333", ("lead/driver", NEVER))  # 11
    log.leave("lead/driver", "0.5")  # 12
    log.leave("lead/physics", "0.5")  # 13
    log.join("walker", "1.0")  # 14
    log.signal("0.5", "ego", "speed", 2, "-0.0")  # 15
    log.tick("0.5", ("ego", "1.0"))  # 16
    log.observed('"ego"')  # 17
    log.tick("1.0", ("ego", NEVER), ("walker", NEVER))  # 18
    log.end()  # 19
    return log


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "run.jsonl")

    def check(self, log: bytes, *options: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of the program."""
        with open(self.file, "wb") as file:
            file.write(log)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = check_log.main([self.file, *options])
        return code, out.getvalue(), err.getvalue()

    def assert_right(self, log: Writer) -> None:
        code, out, err = self.check(log.bytes())
        self.assertEqual((code, err), (0, ""))
        self.assertIn(log.world_hash.hex(), out)

    def assert_refused(self, log: bytes, line: int, *words: str, code: int = 1) -> None:
        found, out, err = self.check(log)
        self.assertEqual((found, out), (code, ""), err)
        self.assertTrue(err.startswith(f"{self.file}:{line}: "), err)
        self.assertEqual(err.count("\n"), 1, err)
        for word in words:
            self.assertIn(word, err)

    def assert_damage(self, number: int, old: str, new: str, line: int, *words: str, code: int = 1) -> None:
        """Replaces `old` by `new` in a line of the sample; `line` is the one that must be named."""
        log = sample()
        self.assertIn(old, log.lines[number - 1])
        log.lines[number - 1] = log.lines[number - 1].replace(old, new, 1)
        self.assert_refused(log.bytes(), line, *words, code=code)


class Hashes(unittest.TestCase):
    """The vectors of sim-core/src/fingerprint.rs."""

    def test_the_vectors_of_the_specification(self) -> None:
        self.assertEqual(check_log.h(b"").hex(), "99aa06d3014798d86001c324468d497f")
        self.assertEqual(check_log.h(b"abc").hex(), "06b05ab6733a618578af5f94892f3950")
        ego = check_log.contribution("ego", 100_000_000, [("chaconne/w/actor/ego/speed", 7, b"1.5")], None)
        self.assertEqual(ego.hex(), "9c2b87dd73aff9fb8e04cd37af63cca3")
        lead = check_log.contribution("lead", check_log.NEVER, [], check_log.h(check_log.u64(3)))
        self.assertEqual(lead.hex(), "d97f28c9823510840b2f00722c110408")
        changes = [(b"\0", "walker", 60_000_000), (b"\1", "lead", 50_000_001)]
        tick = check_log.tick_hash(4, 50_000_000, [ego, lead], changes)
        self.assertEqual(tick.hex(), "2b031612b79719845231837ab21fd9a9")
        start = check_log.world_start("w", 42)
        self.assertEqual(start.hex(), "10c9410a2db8254708c459bcc9ce1e15")
        self.assertEqual(check_log.world_next(start, tick).hex(), "d797f231dc5427757a0881649c257cbe")

    def test_times_are_read_to_the_nanosecond(self) -> None:
        for time, expected in {
            "2.0": 2 * 10**9,
            "0.033333333": 33_333_333,
            "-0.5": -500_000_000,
            "9223372036.854775807": 2**63 - 1,
            "-9223372036.854775808": -(2**63),
        }.items():
            self.assertEqual(nanoseconds(time), expected)
        for time in ["2", "2.", ".5", "1e3", "1.0e3", "0.0000000001", "01.0", "9223372036.854775808"]:
            with self.assertRaises(check_log.Wrong, msg=time):
                nanoseconds(time)


class RightLogs(Case):
    def test_a_log_with_everything_in_it_is_right(self) -> None:
        self.assert_right(sample())

    def test_the_numbers_are_printed_as_json_on_request(self) -> None:
        log = sample()
        code, out, _ = self.check(log.bytes(), "--json")
        self.assertEqual(code, 0)
        expected = {"world_hash": log.world_hash.hex(), "ticks": 4, "steps": 7, "signals": 5, "complete": True}
        self.assertEqual(json.loads(out), expected)

    def test_a_run_without_an_instant_is_right(self) -> None:
        for reason in ("finished", "left", "stopped", "recovered"):
            log = Writer()
            log.end(reason)
            self.assert_right(log)

    def test_who_leaves_at_the_time_it_is_due_does_not_step(self) -> None:
        log = Writer()
        log.join("ego", "0.0")
        log.tick("0.0", ("ego", "1.0"))
        log.leave("ego", "1.0")
        log.tick("1.0")
        log.end()
        self.assert_right(log)

    def test_who_leaves_later_steps_until_then(self) -> None:
        log = Writer()
        log.join("ego", "0.0")
        log.leave("ego", "0.000000001")
        log.tick("0.0", ("ego", "1.0"))
        log.end()
        self.assert_right(log)

    def test_who_comes_back_counts_on(self) -> None:
        log = Writer()
        log.join("ego", "0.0")
        log.signal("0.0", "ego", "k", 0, "1")
        log.tick("0.0", ("ego", "1.0"))
        log.leave("ego", "1.0")
        log.join("ego", "1.0")
        log.signal("1.0", "ego", "k", 1, "1")
        log.tick("1.0", ("ego", NEVER))
        log.end()
        self.assert_right(log)

    def test_an_actor_under_anothers_path_may_step_directly_after_it(self) -> None:
        log = Writer()
        for path in ("a", "c", "a/b"):
            log.join(path, "0.0")
        log.tick("0.0", ("a", NEVER), ("a/b", NEVER), ("c", NEVER))
        log.end()
        self.assert_right(log)

    def test_a_run_that_halted_is_right(self) -> None:
        for tick, time, cause in [
            (1, "0.5", "error"),
            ("null", "null", "mirror"),
            (0, "0.0", "monitor"),
            # The recorder itself failed.
            (1, "0.5", "monitor"),
        ]:
            log = Writer()
            log.join("ego", "0.0")
            log.tick("0.0", ("ego", "0.5"))
            log.halt(tick, time, cause)
            self.assert_right(log)

    def test_after_a_gap_the_world_hash_is_taken_as_it_is_stated(self) -> None:
        log = Writer()
        log.join("ego", "0.0")
        log.signal("0.0", "ego", "k", 0, "1")
        log.tick("0.0", ("ego", "0.5"))
        log.gap(4)
        log.world_hash = bytes.fromhex(OTHER)
        log.signal("2.0", "ego", "k", 6, "1")
        log.tick("2.0", ("ego", "3.0"), ("new", "2.5"))
        log.tick("2.5", ("new", NEVER))
        log.signal("3.0", "ego", "k", 7, "1")
        log.tick("3.0", ("ego", NEVER))
        log.end("recovered")
        self.assert_right(log)

    def test_a_log_whose_run_goes_on_is_right_when_that_is_said(self) -> None:
        log = sample()
        whole = "".join(line + "\n" for line in log.lines[:16]).encode("utf-8")
        for tail in (b"", b'{"type":"observ', (log.lines[16] + "\n").encode("utf-8")):
            code, out, err = self.check(whole + tail, "--partial", "--json")
            self.assertEqual((code, err), (0, ""))
            self.assertEqual((json.loads(out)["complete"], json.loads(out)["ticks"]), (False, 3))


class Damage(Case):
    def test_a_payload(self) -> None:
        self.assert_damage(8, ":2}", ":2.0}", 9, "tick hash", "lines 2 to 9")
        self.assert_damage(5, "é", "\\u00e9", 9, "tick hash")
        self.assert_damage(8, ":2}", ":02}", 8, "payload", "JSON")
        self.assert_damage(8, ":2}", ":2,\"more\":1}", 8, "payload", "JSON")

    def test_a_key(self) -> None:
        self.assert_damage(10, "speed", "spend", 11, "tick hash")

    def test_a_sequence_number(self) -> None:
        self.assert_damage(6, '"seq":1', '"seq":0', 6, "`seq` 1")
        self.assert_damage(15, '"seq":2', '"seq":3', 15, "`seq` 2")
        self.assert_damage(15, '"seq":2', '"seq":0', 15, "`seq` 2")

    def test_the_time_of_a_signal(self) -> None:
        self.assert_damage(10, "0.033333333", "0.033333334", 10, "0.033333334 s")

    def test_the_order_of_steps(self) -> None:
        log = Writer()
        for path in ("b", "a", "a/x", "a/y"):
            log.join(path, "0.0")
        log.tick("0.0", ("a", NEVER), ("b", NEVER), ("a/x", NEVER), ("a/y", NEVER))
        self.assert_refused(log.bytes(), 6, "`b` must step before `a`")
        log = Writer()
        for path in ("a/x", "a/y"):
            log.join(path, "0.0")
        log.tick("0.0", ("a/y", NEVER), ("a/x", NEVER))
        self.assert_refused(log.bytes(), 4, "`a/x` must step before `a/y`")

    def test_the_order_of_signals(self) -> None:
        log = sample()
        log.lines[4:6], log.lines[7] = [log.lines[7], log.lines[4]], log.lines[5]
        self.assert_refused(log.bytes(), 6, "`ego`", "order of `steps`")

    def test_a_signal_of_somebody_who_does_not_step(self) -> None:
        by = '"path":"{}","key":"speed","seq":{}'
        self.assert_damage(15, by.format("ego", 2), by.format("walker", 0), 15, "`walker`")

    def test_a_due_time(self) -> None:
        self.assert_damage(9, '["ego",0.5', '["ego",0.6', 9, "tick hash")
        self.assert_damage(9, '["ego",0.5', '["ego",0.0', 9, "`ego`", "after 0.0 s")

    def test_steps_that_do_not_fit_the_due_times(self) -> None:
        for time, steps, words in [
            ("1.0", [("ego", NEVER)], "`lead` is due at 0.5 s and does not step"),
            ("0.5", [("ego", NEVER), ("lead", NEVER)], "`ego` steps at 0.5 s, but is due at 1.0 s"),
            ("0.5", [("new", NEVER), ("lead", NEVER)], "`new` steps, but has not joined"),
            ("0.5", [("lead", NEVER), ("lead", NEVER)], "`lead` steps twice"),
        ]:
            log = Writer()
            log.join("ego", "0.0")
            log.join("lead", "0.0")
            log.tick("0.0", ("ego", "1.0"), ("lead", "0.5"))
            log.tick(time, *steps)
            self.assert_refused(log.bytes(), 5, words)

    def test_a_state(self) -> None:
        self.assert_damage(9, A_STATE, OTHER, 9, "tick hash")
        self.assert_damage(9, f'"{A_STATE}"', "null", 9, "tick hash")
        self.assert_damage(9, A_STATE, A_STATE.upper(), 9, "`state`", "lower-case")

    def test_a_join(self) -> None:
        self.assert_damage(14, "1.0", "0.5", 16, "`walker` is due at 0.5 s")
        self.assert_damage(14, "1.0", "1.1", 16, "tick hash")
        self.assert_damage(14, '"walker"', '"ego"', 14, "`ego` joins, but is in the world already")

    def test_a_leave(self) -> None:
        self.assert_damage(13, '"lead/physics"', '"lead/driver"', 13, "`lead/driver` leaves, but has left")
        self.assert_damage(13, '"lead/physics"', '"walker"', 13, "`walker` leaves, but has not joined")
        self.assert_damage(12, "0.5", "0.4", 16, "tick hash")
        self.assert_damage(13, "0.5", "0.0", 13, "but stepped at 0.0 s")

    def test_a_missing_line(self) -> None:
        # The line that is missing, and the one at which that shows. Lines 7 and 17 are `observed`: they may be missing.
        named = {1: 1, 2: 8, 3: 8, 4: 8, 5: 5, 6: 8, 8: 8, 9: 10, 10: 10, 11: 11}
        named.update({12: 15, 13: 15, 14: 15, 15: 15, 16: 17, 18: 18})
        for number, line in named.items():
            with self.subTest(line=number):
                log = sample()
                del log.lines[number - 1]
                self.assert_refused(log.bytes(), line)

    def test_an_extra_line(self) -> None:
        for number in range(1, 20):
            if number in (7, 17):  # a line `observed` more is no damage
                continue
            with self.subTest(line=number):
                log = sample()
                log.lines.insert(number, log.lines[number - 1])
                code, _, err = self.check(log.bytes())
                self.assertEqual(code, 1)
                named = int(err[len(self.file) :].split(":")[1])
                self.assertGreater(named, number)

    def test_hashes(self) -> None:
        log = sample()
        tick = json.loads(log.lines[15])
        self.assert_damage(16, tick["tick_hash"], OTHER, 16, "tick hash", tick["tick_hash"])
        self.assert_damage(16, tick["world_hash"], OTHER, 16, "world hash", tick["world_hash"])
        self.assert_damage(19, log.world_hash.hex(), OTHER, 19, "world hash", log.world_hash.hex())

    def test_the_seed_and_the_name_of_the_world(self) -> None:
        self.assert_damage(1, '"seed":42', '"seed":43', 9, "world hash")
        self.assert_damage(1, '"world":"w"', '"world":"v"', 9, "world hash")
        self.assert_damage(1, '"seed":42', '"seed":18446744073709551616', 1, "`seed`")

    def test_counts(self) -> None:
        for name, count in (("ticks", 4), ("steps", 7), ("signals", 5)):
            self.assert_damage(19, f'"{name}":{count}', f'"{name}":{count + 1}', 19, f"`{name}` is {count + 1}")

    def test_ticks_and_times_that_do_not_go_on(self) -> None:
        self.assert_damage(11, '"tick":1', '"tick":2', 11, "tick 1")
        log = Writer()
        log.join("ego", "0.0")
        log.tick("0.0", ("ego", "0.5"))
        log.tick("0.0")
        self.assert_refused(log.bytes(), 4, "after 0.0 s")

    def test_a_missing_last_line(self) -> None:
        log = sample()
        del log.lines[-1]
        self.assert_refused(log.bytes(), 18, "without `end` or `halt`")

    def test_a_log_that_was_cut_off_within_a_line(self) -> None:
        self.assert_refused(sample().bytes()[:-1], 19, "cut off")

    def test_what_follows_the_last_line(self) -> None:
        for tail in (b"\n", b"{}\n", b"more", sample().bytes()):
            self.assert_refused(sample().bytes() + tail, 20, "nothing may follow")

    def test_an_instant_without_its_tick_before_the_last_line(self) -> None:
        log = sample()
        del log.lines[17]
        log.lines.insert(17, '{"type":"join","path":"late","time":2.0}')
        self.assert_refused(log.bytes(), 19, "line 18", "no `tick` line")

    def test_an_unknown_version_and_another_format(self) -> None:
        self.assert_damage(1, '"version":1', '"version":2', 1, "version 2", code=2)
        self.assert_damage(1, '"version":1', '"version":"1"', 1, "version", code=2)
        self.assert_damage(1, "chaconne-log", "other-log", 1, "not a log", code=2)

    def test_carriage_returns(self) -> None:
        self.assert_refused(sample().bytes().replace(b"\n", b"\r\n"), 1, "carriage return")

    def test_an_empty_file_and_no_file(self) -> None:
        self.assert_refused(b"", 1, "empty", code=2)
        err = io.StringIO()
        with contextlib.redirect_stderr(err):
            self.assertEqual(check_log.main([self.file + ".no"]), 2)
        self.assertIn(".no: ", err.getvalue())

    def test_fields_that_are_unknown_missing_or_out_of_order(self) -> None:
        self.assert_damage(2, '"time":0.0', '"time":0.0,"extra":1', 2, "`extra`")
        self.assert_damage(2, ',"time":0.0', "", 2, "`time` is missing")
        self.assert_damage(2, '"path":"ego","time":0.0', '"time":0.0,"path":"ego"', 2, "in this order")
        self.assert_damage(2, '"time":0.0', '"time":0.0,"time":0.0', 2, "once each")
        self.assert_damage(2, '"type":"join","path":"ego"', '"path":"ego","type":"join"', 2, "first field")
        self.assert_damage(2, '"join"', '"joins"', 2, "`joins`")
        self.assert_damage(5, '"payload"', '"pay"', 5, "payload")

    def test_values_of_another_kind(self) -> None:
        self.assert_damage(2, "0.0", "0", 2, "`time`")
        self.assert_damage(2, "0.0", '"0.0"', 2, "`time`")
        self.assert_damage(2, '"ego"', "null", 2, "`path`")
        self.assert_damage(2, '"ego"', '"\\ud800"', 2, "surrogate")
        self.assert_damage(5, '"seq":0', '"seq":0.0', 5, "`seq`")
        self.assert_damage(5, '"seq":0', '"seq":-1', 5, "`seq`")
        self.assert_damage(19, "finished", "done", 19, "`reason`")
        self.assert_damage(1, '{"threads":1}', "null", 1, "`provenance`")

    def test_white_space_and_bytes_that_are_no_text(self) -> None:
        self.assert_damage(2, '"time":0.0', '"time": 0.0', 2, "white space")
        self.assert_refused(sample().bytes().replace(b"ego", b"\xff", 1), 2, "UTF-8")

    def test_gaps_that_do_not_fit(self) -> None:
        for tick, following in ((0, 3), (2, 3), (1, 1)):
            log = Writer()
            log.join("ego", "0.0")
            log.tick("0.0", ("ego", "0.5"))
            log.add(f'"gap","tick":{tick},"next":{following}')
            self.assert_refused(log.bytes(), 4, "from tick 1")

    def test_what_is_wrong_after_a_gap(self) -> None:
        for time, path, seq, words in [
            ("2.0", "ego", 6, "`seq` 5"),
            ("3.0", "other", 0, "`ego` is due at 2.0 s"),
        ]:
            log = Writer()
            log.gap(2)
            log.join("ego", "1.0")
            log.signal("1.0", "ego", "k", 4, "1")
            log.tick("1.0", ("ego", "2.0"))
            log.signal(time, path, "k", seq, "1")
            log.tick(time, (path, NEVER))
            code, _, err = self.check(log.bytes())
            self.assertEqual(code, 1)
            self.assertIn(words, err)

    def halted(self, tick: object, time: str, cause: str) -> bytes:
        log = Writer()
        log.join("ego", "0.0")
        log.tick("0.0", ("ego", "0.5"))
        log.halt(tick, time, cause)
        return log.bytes()

    def test_a_halt_at_another_instant(self) -> None:
        for tick, time, cause in [(0, "0.0", "error"), (1, "0.0", "panic"), (2, "1.0", "monitor"), (0, "0.5", "monitor")]:
            self.assert_refused(self.halted(tick, time, cause), 4, "halted at")

    def test_a_halt_with_half_of_its_instant(self) -> None:
        for tick, time, cause in [(0, "null", "error"), (1, "null", "monitor"), ("null", "0.5", "monitor")]:
            self.assert_refused(self.halted(tick, time, cause), 4, "one is null")


class Compressed(Case):
    def test_frames_are_read_one_after_another(self) -> None:
        try:
            import zstandard
        except ImportError:
            self.skipTest("the package `zstandard` is not installed")
        self.file += ".zst"
        compress = zstandard.ZstdCompressor(write_checksum=True).compress
        lines = sample().bytes().splitlines(keepends=True)
        frames = [compress(b"".join(lines[:9])), compress(b"".join(lines[9:]))]
        self.assertEqual(self.check(b"".join(frames))[0], 0)
        self.assert_refused(frames[0], 9, "without `end`")
        self.assert_refused(frames[0] + b"no frame", 1, "decompressed")


if __name__ == "__main__":
    unittest.main()
