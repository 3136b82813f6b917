//! `chaconne log cat`: the lines of a log as they are, or some of them.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use chaconne::record::line::{End, Kind, Last, Line};
use chaconne::record::{LogError, LogReader, RawLine};
use chaconne::sim_core::key::Key;
use chaconne::sim_core::{ActorPath, KeyExpr, SimTime};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::{Input, failure, progress};
use crate::command::console::note;
use crate::command::program::Failure;

/// How much is written at once.
const CHUNK: usize = 64 * 1024;

/// Print the lines of a log as they are, or those that filters choose
///
/// Lines are printed byte for byte. What stands behind the last complete instant of a log
/// that was cut off is left out.
///
/// A line is printed when all filters choose it; of several --key, several --actor or
/// several types, one is enough. A filter leaves out lines that it says nothing about
/// (a tick has no key, a header no time), unless --type names their type.
///
///   chaconne log cat run.jsonl --key ego/pose --from 10 --to 20 --payload
///   chaconne log cat run.jsonl --actor ego --type join,leave,signal
#[derive(Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Arguments {
    #[command(flatten)]
    input: Input,
    /// Signals whose key is in this set, such as 'ego/pose' or '*/pose'
    ///
    /// Either a whole key expression, such as 'chaconne/*/actor/ego/pose', or one without
    /// what all keys begin with, which means any world's:
    ///   'ego/pose'             ego's pose
    ///   '*/pose'               the pose of every actor whose path is one segment
    ///   '**/pose', or 'pose'   everybody's pose
    ///   'ego/**'               everything of ego and of what is below it
    /// The quotes keep the shell from taking the stars for names of files.
    #[arg(long = "key", value_name = "EXPR", value_parser = expression, verbatim_doc_comment)]
    keys: Vec<KeyExpr>,
    /// Lines about this actor or what is below its path: signals that it published, joins, leaves
    #[arg(long = "actor", value_name = "PATH")]
    actors: Vec<ActorPath>,
    /// Lines whose time is this or later, in simulated seconds
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    from: Option<SimTime>,
    /// Lines whose time is before this, in simulated seconds
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    to: Option<SimTime>,
    /// Lines of these types, with commas between them
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',', value_parser = kinds())]
    types: Vec<Kind>,
    /// Print time, key and payload of signals only, with tabs between them
    #[arg(long)]
    payload: bool,
}

/// Reads the name of a type of line.
fn kinds() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::names())
        .try_map(|name| Kind::named(&name).ok_or_else(|| format!("there is no line of type `{name}`")))
}

/// Reads a key expression as it stands, or as one for any actor's signals.
fn expression(text: &str) -> Result<KeyExpr, String> {
    let given = KeyExpr::new(text).map_err(|error| error.to_string())?;
    if text.starts_with("chaconne/") {
        return Ok(given);
    }
    let of_any_actor = match text {
        "*" | "**" | "*/**" => KeyExpr::new("chaconne/*/actor/**"),
        text if text.contains('/') => KeyExpr::new(&format!("chaconne/*/actor/{text}")),
        signal => KeyExpr::new(&KeyExpr::of_actor("**", signal)),
    };
    of_any_actor.map_err(|error| error.to_string())
}

pub(super) fn run(arguments: Arguments, quiet: bool) -> Result<(), Failure> {
    let Arguments { input, keys, actors, from, to, mut types, payload } = arguments;
    if let (Some(from), Some(to)) = (from, to)
        && from >= to
    {
        return Err(Failure::Input(format!(
            "nothing is from {from} s on and before {to} s; --from has to be less than --to"
        )));
    }
    if payload {
        if !types.is_empty() && !types.contains(&Kind::Signal) {
            return Err(Failure::Input(
                "--payload prints signals, which --type leaves out; add signal to it".to_owned(),
            ));
        }
        types = vec![Kind::Signal];
    }
    let mut log = LogReader::open(&input.file).map_err(failure)?;
    let filter = Filter { keys, actors, from, to, types, known: BTreeMap::new(), is_past: false };
    let mut cat = Cat { filter, payload, out: Out::default() };
    // On a terminal, the lines themselves are the progress.
    let mut progress = progress(quiet || io::stdout().is_terminal(), "of the log printed");
    let ended = cat.lines(&mut log, &mut progress).and_then(|()| Ok(cat.out.flush()?));
    match ended {
        Ok(()) if !cat.out.has_written && !quiet => {
            note("no line was chosen; `chaconne log info` lists the keys and the participants of a log");
            Ok(())
        }
        Ok(()) => Ok(()),
        // Who reads has seen enough.
        Err(Stop::Output(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(Stop::Output(error)) => Err(Failure::Run(format!("the output cannot be written ({error})"))),
        Err(Stop::Log(error)) => {
            // What is complete is shown; that the log is not is the greater trouble.
            let _ = cat.out.flush();
            Err(failure(error))
        }
    }
}

/// Why printing ends before the log does.
enum Stop {
    Log(LogError),
    Output(io::Error),
}

impl From<LogError> for Stop {
    fn from(error: LogError) -> Self {
        Self::Log(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

struct Cat {
    filter: Filter,
    payload: bool,
    out: Out,
}

impl Cat {
    fn lines(&mut self, log: &mut LogReader, progress: &mut impl FnMut(f64)) -> Result<(), Stop> {
        let file = log.file().to_owned();
        let header = RawLine { number: 1, text: log.header_text(), kind: Kind::Header };
        self.line(&header, &file)?;
        self.out.accept()?;
        let mut ticks = 0;
        while let Some(line) = log.next_raw()? {
            let kind = line.kind;
            self.line(&line, &file)?;
            if self.filter.is_past {
                // What waits are lines that belong to no instant.
                return Ok(self.out.accept()?);
            }
            match kind {
                Kind::Tick => {
                    ticks += 1;
                    self.out.accept()?;
                    if let Some(share) = log.progress() {
                        progress(share);
                    }
                }
                Kind::End | Kind::Halt => return Ok(self.out.accept()?),
                _ => {}
            }
        }
        Err(LogError::Cut { file, line: log.line_number(), ticks }.into())
    }

    /// Takes a line to what is printed, if it passes.
    fn line(&mut self, raw: &RawLine<'_>, file: &Path) -> Result<(), LogError> {
        let mut line = Unread { raw, line: None };
        self.chosen(&mut line).map_err(|what| LogError::Line { file: file.to_owned(), line: raw.number, what })
    }

    fn chosen(&mut self, line: &mut Unread<'_>) -> Result<(), String> {
        if !self.filter.passes(line)? {
            return Ok(());
        }
        let out = &mut self.out.buffer;
        if !self.payload {
            out.extend_from_slice(line.raw.text);
        } else if let Line::Signal(signal) = line.read()? {
            signal.time.append_to(out);
            for column in [signal.key, signal.payload] {
                out.push(b'\t');
                out.extend_from_slice(column.as_bytes());
            }
        }
        out.push(b'\n');
        Ok(())
    }
}

/// A line that is read when somebody asks what it says.
struct Unread<'a> {
    raw: &'a RawLine<'a>,
    line: Option<Line<'a>>,
}

impl<'a> Unread<'a> {
    fn read(&mut self) -> Result<&Line<'a>, String> {
        match &mut self.line {
            Some(line) => Ok(line),
            empty => Ok(empty.insert(Line::parse(self.raw.text)?)),
        }
    }
}

/// Which lines are printed.
struct Filter {
    keys: Vec<KeyExpr>,
    actors: Vec<ActorPath>,
    from: Option<SimTime>,
    to: Option<SimTime>,
    types: Vec<Kind>,
    /// Keys that came, and whether they are chosen.
    known: BTreeMap<Box<str>, bool>,
    /// Nothing that comes now can be chosen.
    is_past: bool,
}

impl Filter {
    fn passes(&mut self, line: &mut Unread<'_>) -> Result<bool, String> {
        let kind = line.raw.kind;
        let is_named = self.types.contains(&kind);
        if !self.types.is_empty() && !is_named {
            return Ok(false);
        }
        // Which filters there are, and whether they can say anything about such a line.
        let has_time = !matches!(kind, Kind::Header | Kind::Gap | Kind::End);
        let has_path = has_time && kind != Kind::Tick;
        let window = (self.from.is_some() || self.to.is_some()).then_some(has_time);
        let actors = (!self.actors.is_empty()).then_some(has_path);
        let keys = (!self.keys.is_empty()).then_some(kind == Kind::Signal);
        let filters = [window, actors, keys];
        if filters.contains(&Some(false)) && !is_named {
            return Ok(false);
        }
        if !filters.contains(&Some(true)) {
            return Ok(true);
        }
        let (time, path, key) = fields(line.read()?);
        if window.is_some() && !self.is_in_window(kind, time, is_named) {
            return Ok(false);
        }
        if actors.is_some() && !path.map_or(is_named, |path| self.is_of_actor(path)) {
            return Ok(false);
        }
        Ok(keys.is_none() || key.map_or(is_named, |key| self.has_key(key)))
    }

    fn is_in_window(&mut self, kind: Kind, time: Option<SimTime>, is_named: bool) -> bool {
        let Some(time) = time else { return is_named };
        let is_late = self.to.is_some_and(|to| time >= to);
        // Times of instants increase, so that nothing follows of what has one.
        let of_instants = |kind: &Kind| matches!(kind, Kind::Join | Kind::Leave | Kind::Signal | Kind::Tick);
        if is_late && matches!(kind, Kind::Signal | Kind::Tick) && self.types.iter().all(of_instants) {
            self.is_past = true;
        }
        !is_late && self.from.is_none_or(|from| time >= from)
    }

    fn is_of_actor(&self, path: &str) -> bool {
        let is_at_or_below = |actor: &ActorPath| {
            path.strip_prefix(actor.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.actors.iter().any(is_at_or_below)
    }

    fn has_key(&mut self, text: &str) -> bool {
        if let Some(chosen) = self.known.get(text) {
            return *chosen;
        }
        let chosen = Key::new(text).is_ok_and(|key| self.keys.iter().any(|expression| expression.matches(&key)));
        self.known.insert(text.into(), chosen);
        chosen
    }
}

/// A line's time, path and key, as far as it has them.
fn fields<'a>(line: &'a Line<'a>) -> (Option<SimTime>, Option<&'a str>, Option<&'a str>) {
    match line {
        Line::Membership(change) => (Some(change.time), Some(change.path), None),
        Line::Signal(signal) => (Some(signal.time), Some(signal.path), Some(signal.key)),
        Line::Tick(tick) => (Some(tick.time), None, None),
        Line::Observed(observed) => (Some(observed.time), observed.path, None),
        Line::Last(Last { end: End::Halted(halted), .. }) => {
            (halted.instant.map(|(_, time)| time), halted.path.as_deref(), None)
        }
        _ => (None, None, None),
    }
}

/// What goes to stdout: held back until the instant that it is part of is complete.
#[derive(Default)]
struct Out {
    buffer: Vec<u8>,
    /// How much of it may be written.
    accepted: usize,
    has_written: bool,
}

impl Out {
    /// What has been taken so far may be written.
    fn accept(&mut self) -> io::Result<()> {
        self.accepted = self.buffer.len();
        if self.accepted < CHUNK { Ok(()) } else { self.write() }
    }

    fn write(&mut self) -> io::Result<()> {
        self.has_written |= self.accepted > 0;
        let written = io::stdout().lock().write_all(&self.buffer[..self.accepted]);
        self.buffer.drain(..self.accepted);
        self.accepted = 0;
        written
    }

    /// Writes all that may be.
    fn flush(&mut self) -> io::Result<()> {
        self.write()?;
        io::stdout().lock().flush()
    }
}
