"""Checks the log of a run: computes every hash again from the log alone, and looks at its structure.

    python -m pip install xxhash
    python check_log.py LOG

The log's format is specified in plugins/record/FORMAT.md. This program is written from that specification and shares
nothing with the programs that write logs. It is also meant to be read by whoever writes a reader in another language:
`Checker` takes one line after another, in the order of the specification, and the functions above it read fields and
compute hashes.

It needs Python 3.9 and the package `xxhash`, and for a log whose name ends in `.zst` also `zstandard`. It reads the log
line by line and keeps one instant, one entry per participant, and the sequence numbers.

Exit codes: 0 the log is right; 1 it is not, and a sentence on standard error says where and why; 2 it cannot be checked
(no such file, not a log, an unknown version, a package is missing).
"""

from __future__ import annotations

import argparse
import heapq
import io
import json
import re
import sys
from dataclasses import dataclass, field
from typing import Any, Iterator, Optional

try:
    import xxhash
except ImportError:
    xxhash = None

VERSION = "1"

# The fields of each type of line after `type`, in their order.
FIELDS = {
    "header": ["format", "version", "world", "seed", "provenance"],
    "join": ["path", "time"],
    "leave": ["path", "time"],
    "signal": ["time", "path", "key", "seq"],  # and `payload`, which `split_payload` has taken off
    "tick": ["tick", "time", "steps", "tick_hash", "world_hash"],
    "observed": ["time", "path", "kind", "data"],
    "gap": ["tick", "next"],
    "end": ["reason", "ticks", "steps", "signals", "world_hash"],
    "halt": [
        *("tick", "time", "path", "cause", "text", "others"),
        *("ticks", "steps", "signals", "world_hash"),
    ],
}
REASONS = ("finished", "left", "stopped", "recovered")
CAUSES = ("error", "panic", "not-advancing", "registration", "monitor", "mirror", "timeout", "lost")

# The largest time, which means never.
NEVER = 2**63 - 1


class Wrong(Exception):
    """The log is not right. `line` is the number of the line at fault when it is not the one being read."""

    def __init__(self, message: str, line: Optional[int] = None):
        super().__init__(message)
        self.line = line


class Unusable(Exception):
    """The log cannot be checked."""


# ---------------------------------------------------------------------------------------------------------------------
# Hashes. Each function returns bytes; a hash is its 16 bytes in the order in which its hexadecimal form reads.


def u64(number: int) -> bytes:
    """A length, count, tick, sequence number or seed."""
    return number.to_bytes(8, "little")


def i64(nanoseconds: int) -> bytes:
    """A time."""
    return nanoseconds.to_bytes(8, "little", signed=True)


def sized(data: bytes) -> bytes:
    """A text or payload: its length, then its bytes."""
    return u64(len(data)) + data


def text(string: str) -> bytes:
    return sized(string.encode("utf-8"))


def h(data: bytes) -> bytes:
    """XXH3-128 in canonical order."""
    return xxhash.xxh3_128_digest(data)


def contribution(path: str, next_due: int, signals: list[tuple[str, int, bytes]], state: Optional[bytes]) -> bytes:
    """What one participant did at an instant; `signals` are (key, seq, payload)."""
    published = b"".join(text(key) + u64(seq) + sized(payload) for key, seq, payload in signals)
    ending = b"\0" if state is None else b"\1" + state
    return h(text(path) + i64(next_due) + u64(len(signals)) + published + ending)


def tick_hash(tick: int, time: int, contributions: list[bytes], changes: list[tuple[bytes, str, int]]) -> bytes:
    """An instant; `changes` are (kind, path, time) of joins (kind 0) and leaves (kind 1)."""
    changed = b"".join(kind + text(path) + i64(at) for kind, path, at in changes)
    stepped = u64(len(contributions)) + b"".join(contributions)
    return h(u64(tick) + i64(time) + stepped + u64(len(changes)) + changed)


def world_start(world: str, seed: int) -> bytes:
    """The world hash before the first instant."""
    return h(text("chaconne/1") + text(world) + u64(seed))


def world_next(previous: bytes, tick: bytes) -> bytes:
    """The world hash after an instant."""
    return h(previous + tick)


# ---------------------------------------------------------------------------------------------------------------------
# Lines and fields.


class Number(str):
    """A number of the log as it is written: a float would lose nanoseconds, and `1` is not `1.0` here."""


class Object(list):
    """An object of the log as its (name, value) pairs: their order matters, and a name may not come twice."""


def no_constant(name: str) -> None:
    raise ValueError(f"`{name}` is no JSON")


DECODER = json.JSONDecoder(
    object_pairs_hook=Object, parse_int=Number, parse_float=Number, parse_constant=no_constant
)
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
WHITE_SPACE = re.compile(rb"[ \t\r]")
COUNT = re.compile(r"0|[1-9][0-9]{0,19}")
TIME = re.compile(r"(-?)(0|[1-9][0-9]{0,9})\.([0-9]{1,9})")
HASH = re.compile(r"[0-9a-f]{32}")
SIGNAL = b'{"type":"signal",'
PAYLOAD = b',"payload":'


def decode(data: bytes, what: str) -> Any:
    try:
        return DECODER.decode(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise Wrong(f"{what} is not UTF-8") from None
    except ValueError as error:
        raise Wrong(f"{what} is not JSON ({error})") from None
    except RecursionError:
        raise Unusable(f"{what} is nested too deeply for this program") from None


def split_payload(line: bytes) -> tuple[bytes, Optional[bytes]]:
    """A line without its payload, and the bytes of the payload if it is a signal.

    Inside a string a quotation mark is escaped, so `,"payload":` cannot occur there.
    """
    if not line.startswith(SIGNAL):
        return line, None
    at = line.find(PAYLOAD)
    if at < 0 or not line.endswith(b"}"):
        raise Wrong("a `signal` must end with its payload: `,\"payload\":`, the value, `}`")
    return line[:at] + b"}", line[at + len(PAYLOAD) : -1]


def read_line(line: bytes) -> tuple[str, dict[str, Any], Optional[bytes]]:
    """The type of a line, its fields, and the bytes of its payload if it is a signal."""
    if line.endswith(b"\r"):
        raise Wrong("the line ends with carriage return and line feed; it must be one line feed")
    if WHITE_SPACE.search(line) and WHITE_SPACE.search(STRING.sub(b"", line)):
        raise Wrong("there is white space outside of strings")
    head, payload = split_payload(line)
    pairs = decode(head, "the line")
    if not isinstance(pairs, Object) or not pairs or pairs[0][0] != "type":
        raise Wrong("a line must be an object whose first field is `type`")
    (_, kind), *rest = pairs
    if type(kind) is not str or kind not in FIELDS:
        raise Wrong(f"there is no type of line `{kind}`")
    fields = dict(rest)
    if kind == "header":
        check_version(fields)
    check_names(kind, [name for name, _ in rest])
    if payload is not None:
        decode(payload, "the payload")
    return kind, fields, payload


def check_version(fields: dict[str, Any]) -> None:
    """Comes before the names of fields, which may be others in another version."""
    if fields.get("format") != "chaconne-log":
        raise Unusable("`format` is not `chaconne-log`: this is not a log")
    version = fields.get("version")
    if not isinstance(version, Number) or version != VERSION:
        raise Unusable(f"version {show(version)} of the format is not known; this program reads {VERSION}")


def check_names(kind: str, names: list[str]) -> None:
    expected = FIELDS[kind]
    if names == expected:
        return
    for name in names:
        if name not in expected:
            raise Wrong(f"a `{kind}` has no field `{name}`")
    for name in expected:
        if name not in names:
            raise Wrong(f"the field `{name}` is missing")
    raise Wrong(f"the fields of a `{kind}` must be, once each and in this order: {', '.join(expected)}")


def read_count(value: Any, name: str) -> int:
    if not isinstance(value, Number) or not COUNT.fullmatch(value) or int(value) >= 2**64:
        raise Wrong(f"`{name}` must be an integer from 0 to 2^64 - 1, not {show(value)}")
    return int(value)


def read_time(value: Any, name: str) -> int:
    """A time in nanoseconds."""
    match = TIME.fullmatch(value) if isinstance(value, Number) else None
    if match is None:
        raise Wrong(f"`{name}` must be seconds with one to nine fractional digits, not {show(value)}")
    sign, seconds, fraction = match.groups()
    nanoseconds = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
    nanoseconds = -nanoseconds if sign else nanoseconds
    if not -(2**63) <= nanoseconds < 2**63:
        raise Wrong(f"`{name}` must fit in 64 bits of nanoseconds, and {value} does not")
    return nanoseconds


def read_text(value: Any, name: str) -> str:
    if type(value) is not str:
        raise Wrong(f"`{name}` must be a string, not {show(value)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Wrong(f"`{name}` has half of a surrogate pair") from None
    return value


def read_hash(value: Any, name: str) -> bytes:
    if type(value) is not str or not HASH.fullmatch(value):
        raise Wrong(f"`{name}` must be a string of 32 lower-case hexadecimal digits, not {show(value)}")
    return bytes.fromhex(value)


def read_one_of(value: Any, name: str, known: tuple[str, ...]) -> str:
    if type(value) is not str or value not in known:
        raise Wrong(f"`{name}` must be one of {', '.join(known)}, not {show(value)}")
    return value


def show(value: Any) -> str:
    """A value in a sentence."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, Object):
        return "an object"
    if isinstance(value, list):
        return "a list"
    shown = json.dumps(value)
    return shown if len(shown) <= 60 else shown[:60] + "…"


def seconds(nanoseconds: int) -> str:
    """A time as the log writes it."""
    if nanoseconds == NEVER:
        return "never"
    whole, fraction = divmod(abs(nanoseconds), 10**9)
    digits = f"{fraction:09}".rstrip("0") or "0"
    return f"{'-' if nanoseconds < 0 else ''}{whole}.{digits} s"


# ---------------------------------------------------------------------------------------------------------------------
# The log.


@dataclass
class Signal:
    """A signal of the instant that is being read."""

    line: int
    time: int
    path: str
    key: str
    seq: int
    payload: bytes


@dataclass
class Member:
    """A participant that is in the world."""

    # When it steps next; `None` when that was lost in a gap.
    due: Optional[int]
    # When it stepped last.
    stepped: Optional[int] = None
    # The first instant that it does not step, when it leaves.
    until: Optional[int] = None


@dataclass
class Change:
    """A join or a leave."""

    line: int
    kind: bytes
    path: str
    time: int

    @property
    def joins(self) -> bool:
        return self.kind == b"\0"


@dataclass
class Checker:
    """Takes the lines of a log one by one and raises `Wrong` at the first that is not right."""

    # Counts of what is in the log.
    ticks: int = 0
    steps: int = 0
    signals: int = 0
    # The world hash after the last instant; `None` between a gap and the next instant.
    world: Optional[bytes] = None
    # Which line was the last one by its type: `end`, `halt`, or `None` before it was there.
    last: Optional[str] = None
    # Number of the line being read, from 1.
    line: int = 0

    # The number and the time that an instant before the next one had.
    next_tick: int = 0
    time: Optional[int] = None
    # Whether a gap was read. Who is in the world, and what is due when, is then only known as far as it was told since.
    gap: bool = False

    # The instant being read: its first line, its joins and leaves, its signals.
    first_line: Optional[int] = None
    changes: list[Change] = field(default_factory=list)
    pending: list[Signal] = field(default_factory=list)

    # Participants in the world, and those that left (since the gap, if there was one).
    members: dict[str, Member] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    # (due, path), earliest first. An entry counts while the member's `due` is the same.
    agenda: list[tuple[int, str]] = field(default_factory=list)
    # The next sequence number of each path, and the paths for which it is the exact one in spite of a gap.
    next_seq: dict[str, int] = field(default_factory=dict)
    exact_seq: set[str] = field(default_factory=set)
    # When each path joined, and each path or beginning of a path first, as the number of a join.
    joins: int = 0
    joined: dict[str, int] = field(default_factory=dict)
    first_joined: dict[str, int] = field(default_factory=dict)

    def take(self, raw: bytes) -> None:
        """Takes the next line, with its line feed."""
        self.line += 1
        if self.last is not None:
            raise Wrong(f"the `{self.last}` line before was the last one, and nothing may follow it")
        if not raw.endswith(b"\n"):
            raise Wrong("the line does not end with a line feed: the log was cut off here")
        kind, fields, payload = read_line(raw[:-1])
        if (kind == "header") != (self.line == 1):
            raise Wrong("a log has one header, and it is its first line" if self.line > 1 else "there is no header")
        if payload is not None:
            fields["payload"] = payload
        getattr(self, f"take_{kind}")(**fields)

    def take_header(self, format: str, version: str, world: Any, seed: Any, provenance: Any) -> None:
        if not isinstance(provenance, Object):
            raise Wrong(f"`provenance` must be an object, not {show(provenance)}")
        self.world = world_start(read_text(world, "world"), read_count(seed, "seed"))

    # Joins and leaves.

    def take_join(self, path: Any, time: Any) -> None:
        self.read_change(b"\0", path, time)

    def take_leave(self, path: Any, time: Any) -> None:
        self.read_change(b"\1", path, time)

    def read_change(self, kind: bytes, path: Any, time: Any) -> None:
        if self.pending:
            raise Wrong("the joins and leaves of an instant must stand before its signals")
        self.begin()
        self.changes.append(Change(self.line, kind, read_text(path, "path"), read_time(time, "time")))

    def check_changes(self, tick: int, now: int) -> list[Change]:
        """Takes the joins and leaves of an instant before its steps, and returns those that take effect behind them."""
        behind: list[Change] = []
        for change in self.changes:
            member = self.members.get(change.path)
            leaves = member is not None and member.until is not None and member.due == now
            if any(earlier.path == change.path for earlier in behind) or (change.joins and leaves):
                behind.append(change)
            else:
                self.check_change(change, tick, now)
        return behind

    def check_change(self, change: Change, tick: int, now: int) -> None:
        path = change.path
        if not change.joins:
            member = self.member(path, "leaves", change.line)
            if member.until is not None:
                raise Wrong(f"`{path}` leaves, but has left already", change.line)
            if member.stepped is not None and change.time <= member.stepped:
                stepped = f"{seconds(change.time)}, but stepped at {seconds(member.stepped)}"
                raise Wrong(f"`{path}` leaves at {stepped}", change.line)
            member.until = change.time
            self.schedule(path, member)
            return
        member = self.members.get(path)
        if member is not None and member.until is None:
            raise Wrong(f"`{path}` joins, but is in the world already", change.line)
        if change.time < now:
            raise Wrong(f"`{path}` joins, but is first due at {seconds(change.time)}, before the instant", change.line)
        self.left.discard(path)
        self.joined[path] = self.joins
        for beginning in beginnings(path):
            self.first_joined.setdefault(beginning, self.joins)
        self.joins += 1
        self.schedule(path, Member(due=change.time))
        self.number_signals(change, tick, now)

    def number_signals(self, change: Change, tick: int, now: int) -> None:
        """Says which number the first signal of one that joins has."""
        earlier = [other for other in self.changes if other.line < change.line and not other.joins]
        left = change.time > now and any(other.path == change.path for other in earlier)
        if tick == 0 and not left:
            first = 0
        else:
            first = self.signals + (len(self.pending) if change.time > now else 0)
        if self.gap:
            # How many there were in the gap is not known.
            self.next_seq[change.path] = max(first, self.next_seq.get(change.path, 0))
            self.exact_seq.discard(change.path)
        else:
            self.next_seq[change.path] = first

    def begin(self) -> None:
        """Notes where the instant begins."""
        if self.first_line is None:
            self.first_line = self.line

    def member(self, path: str, does: str, line: Optional[int] = None) -> Member:
        """The participant of this path. After a gap it may be one that joined before or in it."""
        member = self.members.get(path)
        if member is None:
            if path in self.left:
                raise Wrong(f"`{path}` {does}, but has left", line)
            if not self.gap:
                raise Wrong(f"`{path}` {does}, but has not joined", line)
            member = self.members[path] = Member(due=None)
        return member

    def schedule(self, path: str, member: Member) -> None:
        """Enters when a participant is due next, or that it is gone because it leaves before or at that time."""
        if member.due is not None and member.until is not None and member.due >= member.until:
            self.members.pop(path, None)
            self.left.add(path)
            return
        self.members[path] = member
        if member.due is not None and member.due != NEVER:
            heapq.heappush(self.agenda, (member.due, path))

    # Signals.

    def take_signal(self, time: Any, path: Any, key: Any, seq: Any, payload: bytes) -> None:
        self.begin()
        path, seq = read_text(path, "path"), read_count(seq, "seq")
        self.pending.append(Signal(self.line, read_time(time, "time"), path, read_text(key, "key"), seq, payload))

    # Instants.

    def take_tick(self, tick: Any, time: Any, steps: Any, tick_hash: Any, world_hash: Any) -> None:
        self.begin()
        tick, time = read_count(tick, "tick"), read_time(time, "time")
        if tick != self.next_tick:
            raise Wrong(f"this must be tick {self.next_tick}, not {tick}")
        if self.time is not None and time <= self.time:
            raise Wrong(f"the time of an instant must be after {seconds(self.time)}, and {seconds(time)} is not")
        behind = self.check_changes(tick, time)
        contributions = self.take_steps(time, steps)
        self.check_nobody_is_missing(time)
        for change in behind:
            self.check_change(change, tick, time)
        stated = read_hash(tick_hash, "tick_hash"), read_hash(world_hash, "world_hash")
        self.check_hashes(tick, time, contributions, *stated)
        self.ticks += 1
        self.steps += len(contributions)
        self.signals += len(self.pending)
        self.next_tick = tick + 1
        self.time = time
        self.first_line = None
        self.changes = []
        self.pending = []

    def take_steps(self, time: int, steps: Any) -> list[bytes]:
        """The contributions of an instant, in its order."""
        if type(steps) is not list:
            raise Wrong(f"`steps` must be a list, not {show(steps)}")
        contributions = []
        before: Optional[str] = None
        next_signal = 0
        stepped = set()
        for step in steps:
            if type(step) is not list or len(step) != 3:
                raise Wrong(f"an entry of `steps` must be a list of path, next due time and state, not {show(step)}")
            path, next_due = read_text(step[0], "path"), read_time(step[1], "next_due")
            state = None if step[2] is None else read_hash(step[2], "state")
            if path in stepped:
                raise Wrong(f"`{path}` steps twice")
            stepped.add(path)
            if before is not None:
                self.check_order(before, path)
            before = path
            self.step(path, time, next_due)
            signals = []
            while next_signal < len(self.pending) and self.pending[next_signal].path == path:
                signal = self.pending[next_signal]
                if signal.time != time:
                    times = f"{seconds(signal.time)}, but its instant of {seconds(time)}"
                    raise Wrong(f"the signal is of {times}", signal.line)
                self.check_number(signal)
                signals.append((signal.key, signal.seq, signal.payload))
                next_signal += 1
            contributions.append(contribution(path, next_due, signals, state))
        if next_signal < len(self.pending):
            signal = self.pending[next_signal]
            if signal.path in stepped:
                raise Wrong(f"the signals of `{signal.path}` do not stand in the order of `steps`", signal.line)
            raise Wrong(f"the signal is by `{signal.path}`, which does not step", signal.line)
        return contributions

    def check_number(self, signal: Signal) -> None:
        path, seq = signal.path, signal.seq
        known = self.next_seq.get(path, 0)
        exact = not self.gap or path in self.exact_seq
        if seq != known and (exact or seq < known):
            more = "" if exact else " or more"
            raise Wrong(f"the next signal of `{path}` must have `seq` {known}{more}, not {seq}", signal.line)
        self.next_seq[path] = seq + 1
        self.exact_seq.add(path)

    def step(self, path: str, time: int, next_due: int) -> None:
        """A participant steps, and says when it is due next."""
        member = self.member(path, "steps")
        if member.due is not None and member.due != time:
            raise Wrong(f"`{path}` steps at {seconds(time)}, but is due at {seconds(member.due)}")
        if member.until is not None and time >= member.until:
            raise Wrong(f"`{path}` steps at {seconds(time)}, but left at {seconds(member.until)}")
        if next_due <= time:
            raise Wrong(f"`{path}` must be due next after {seconds(time)}, and {seconds(next_due)} is not")
        member.due = next_due
        member.stepped = time
        self.schedule(path, member)

    def check_order(self, before: str, after: str) -> None:
        """Two participants that step one after the other stand in the order in which they joined.

        With one exception: an actor under the path of another one comes directly after that one. The log does not say
        which participants are one actor, so whoever joined later may stand before when it could be such a one: when
        somebody with whom it shares more of its path joined still earlier.
        """
        if self.gap or before not in self.joined or after not in self.joined:
            return
        limit = self.joined[after]
        if self.joined[before] < limit:
            return
        shared = common_segments(before, after)
        relatives = list(beginnings(before))[shared]
        if self.first_joined[relatives] >= limit:
            raise Wrong(f"`{after}` must step before `{before}`, since it joined before it")

    def check_nobody_is_missing(self, time: int) -> None:
        while self.agenda and self.agenda[0][0] <= time:
            due, path = heapq.heappop(self.agenda)
            member = self.members.get(path)
            if member is not None and member.due == due:
                raise Wrong(f"`{path}` is due at {seconds(due)} and does not step")

    def check_hashes(
        self, tick: int, time: int, contributions: list[bytes], stated: bytes, stated_world: bytes
    ) -> None:
        changes = [(change.kind, change.path, change.time) for change in self.changes]
        computed = tick_hash(tick, time, contributions, changes)
        if computed != stated:
            one = self.first_line == self.line
            lines = "this line gives" if one else f"lines {self.first_line} to {self.line} give"
            raise Wrong(f"{lines} the tick hash {computed.hex()}, but {stated.hex()} is stated")
        world = stated_world if self.world is None else world_next(self.world, computed)
        if world != stated_world:
            raise Wrong(f"the world hash after tick {tick} is {world.hex()}, but {stated_world.hex()} is stated")
        self.world = world

    # What stands between instants.

    def take_observed(self, time: Any, path: Any, kind: Any, data: Any) -> None:
        read_time(time, "time")
        if path is not None:
            read_text(path, "path")
        read_text(kind, "kind")

    def take_gap(self, tick: Any, next: Any) -> None:
        self.check_between_instants()
        tick, next = read_count(tick, "tick"), read_count(next, "next")
        if tick != self.next_tick or next <= tick:
            raise Wrong(f"a gap here must be from tick {self.next_tick} to a later one, not from {tick} to {next}")
        self.gap = True
        self.next_tick = next
        self.world = None
        self.members.clear()
        self.left.clear()
        self.agenda.clear()
        self.exact_seq.clear()

    def check_between_instants(self) -> None:
        if self.first_line is not None:
            raise Wrong(f"the instant that begins in line {self.first_line} has no `tick` line")

    # The last line.

    def take_end(self, reason: Any, ticks: Any, steps: Any, signals: Any, world_hash: Any) -> None:
        read_one_of(reason, "reason", REASONS)
        self.check_last("end", ticks, steps, signals, world_hash)

    def take_halt(
        self, tick: Any, time: Any, path: Any, cause: Any, text: Any, others: Any, **counts: Any
    ) -> None:
        cause = read_one_of(cause, "cause", CAUSES)
        read_text(text, "text")
        read_count(others, "others")
        if path is not None:
            read_text(path, "path")
        # The instant that failed is the one after the last of the log. A monitor fails when it is shown a complete one: that
        # is in the log, unless it was the recorder that failed.
        if (tick is None) != (time is None):
            raise Wrong("of its tick and its time one is null, and the other is not")
        in_log = cause in ("monitor", "timeout", "lost") and tick is not None and read_count(tick, "tick") == self.next_tick - 1
        if tick is not None and read_count(tick, "tick") != self.next_tick and not in_log:
            raise Wrong(f"the run must have halted at tick {self.next_tick}, not {tick}")
        if time is not None:
            at = read_time(time, "time")
            if self.time is not None and (at != self.time if in_log else at <= self.time):
                raise Wrong(f"the run halted at {seconds(at)}, but the last instant was at {seconds(self.time)}")
        self.check_last("halt", **counts)

    def check_last(self, kind: str, ticks: Any, steps: Any, signals: Any, world_hash: Any) -> None:
        self.check_between_instants()
        for name, value in (("ticks", ticks), ("steps", steps), ("signals", signals)):
            stated, counted = read_count(value, name), getattr(self, name)
            # What was lost in a gap may have been counted.
            if stated != counted and (not self.gap or stated < counted):
                raise Wrong(f"`{name}` is {stated}, but the log has {counted}")
        if int(ticks) != self.next_tick:
            raise Wrong(f"`ticks` is {ticks}, but the last instant was tick {self.next_tick - 1}")
        stated_world = read_hash(world_hash, "world_hash")
        if self.world is not None and self.world != stated_world:
            raise Wrong(f"the run's world hash is {self.world.hex()}, but {stated_world.hex()} is stated")
        self.world = stated_world
        self.last = kind


def beginnings(path: str) -> Iterator[str]:
    """`a`, `a/b`, `a/b/c` of `a/b/c`."""
    segments = path.split("/")
    return ("/".join(segments[: n + 1]) for n in range(len(segments)))


def common_segments(one: str, other: str) -> int:
    """With how many equal segments two different paths begin, at most all but one of the first path's."""
    segments = one.split("/")
    count = 0
    for mine, theirs in zip(segments[:-1], other.split("/")):
        if mine != theirs:
            break
        count += 1
    return count


# ---------------------------------------------------------------------------------------------------------------------
# The program.


def read_lines(name: str) -> Iterator[bytes]:
    """The lines of a log, each with its line feed. The frames of a log in zstd are not looked at, only their text."""
    with open(name, "rb") as file:
        if not name.endswith(".zst"):
            yield from file
            return
        try:
            import zstandard
        except ImportError:
            raise Unusable("a log in zstd needs the package `zstandard`: install it, or decompress the log") from None
        try:
            yield from io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True))
        except zstandard.ZstdError as error:
            raise Wrong(f"somewhere after this line the log cannot be decompressed ({error})") from None


def check(name: str, checker: Checker, partial: bool = False) -> None:
    """Checks a whole log. With `partial` it may lack its last line, as when its run goes on.

    Raises `Wrong` with the line at fault, and `Unusable` or `OSError` when the log cannot be checked.
    """
    try:
        for raw in read_lines(name):
            if partial and not raw.endswith(b"\n"):
                break
            checker.take(raw)
    except Wrong as wrong:
        wrong.line = wrong.line or max(checker.line, 1)
        raise
    if checker.line == 0:
        raise Unusable("the file is empty: this is not a log")
    if checker.last is None and not partial:
        raise Wrong("the log ends here without `end` or `halt`: it was cut off, or its run goes on", checker.line)


def report(name: str, checker: Checker, as_json: bool) -> str:
    world = checker.world.hex() if checker.world is not None else None
    counts = {"ticks": checker.ticks, "steps": checker.steps, "signals": checker.signals}
    complete = checker.last is not None
    if as_json:
        return json.dumps({"world_hash": world, **counts, "complete": complete})
    ending = {"end": "complete", "halt": "halted", None: "not complete"}[checker.last]
    numbers = ", ".join(f"{count} {name}" for name, count in counts.items())
    return f"{name}: world hash {world or 'unknown'}, {numbers}, {ending}"


def main(arguments: Optional[list[str]] = None) -> int:
    parser = argparse.ArgumentParser(description="Checks the log of a run, and computes every hash again from it.")
    parser.add_argument("log", metavar="LOG", help="the log; in zstd if its name ends in `.zst`")
    parser.add_argument("--json", action="store_true", help="print a JSON object")
    parser.add_argument("--partial", action="store_true", help="accept a log without its last line")
    options = parser.parse_args(arguments)
    name = options.log
    checker = Checker()
    try:
        if xxhash is None:
            raise Unusable("the package `xxhash` is missing: `python -m pip install xxhash` installs it")
        check(name, checker, options.partial)
    except Wrong as wrong:
        print(f"{name}:{wrong.line}: {wrong}", file=sys.stderr)
        return 1
    except Unusable as error:
        print(f"{name}:{max(checker.line, 1)}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{name}: {error.strerror or error}", file=sys.stderr)
        return 2
    print(report(name, checker, options.json))
    return 0


if __name__ == "__main__":
    sys.exit(main())
