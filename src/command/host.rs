//! A helper process: steps actors for a run in another process.

use clap::Args;

use super::program::Failure;
use super::worlds::Worlds;

/// Step actors for a run in another process, which starts this and talks to it over a pipe
///
/// Runs start their helper processes themselves, for actors whose host is `process`; there is no use in it by hand. What
/// participants print goes to stderr. It ends when its stdin does.
#[derive(Args)]
#[command(after_help = "Exit codes: 0 the run let go of it, 1 it was sent what is not of the protocol, 2 bad usage")]
pub(crate) struct Arguments {
    /// Talk over stdin and stdout
    #[arg(long, required = true)]
    pipe: bool,
    /// Threads in each of Bevy's task pools, 0 for what Bevy makes of the cores
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(..=1024))]
    threads: u16,
}

#[cfg(unix)]
pub(crate) fn run(arguments: &Arguments, worlds: &Worlds) -> Result<(), Failure> {
    use chaconne::conductor::ActorMaker;
    use chaconne::conductor::host::process::serve;
    use chaconne::traffic::Watch;

    super::pools::size(arguments.threads);
    // Whoever ends a service ends all its processes. The run ends in good order then, and this one with it.
    chaconne::conductor::signals::on_signal(|| ());
    // Nobody in this process looks at what loggers see.
    let factories = worlds.factories(&Watch::default())?;
    serve(|opening| {
        let maker = factories.maker(opening.setting).map_err(|error| error.to_string())?;
        Ok(Box::new(maker) as Box<dyn ActorMaker>)
    })
    .map_err(|error| Failure::Run(error.to_string()))
}

#[cfg(not(unix))]
pub(crate) fn run(_: &Arguments, _: &Worlds) -> Result<(), Failure> {
    Err(Failure::Input("helper processes need a Unix system".to_owned()))
}
