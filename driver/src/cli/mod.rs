//! One module per subcommand, each with `Args` and `run`, and what they share: outcomes, output
//! that survives a closed pipe, files that are written whole or not at all.
//!
//! To add a subcommand: a module, a variant of [`Command`], an arm of [`Command::run`].

mod arrays;
mod asm;
mod build;
mod check;
mod compile;
mod disasm;
mod eval;
mod exchange;
mod fmt;
mod listing;
mod ops;
mod opt;
mod profile;
mod progress;
mod rows;
mod run;
mod sim;
mod sizes;
mod sram;
mod vectors;

use std::io::{self, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use ipucc_chip::Assumptions;
use ipucc_machine::{Context, asm as assembler};

/// The subcommands.
#[derive(Subcommand)]
pub enum Command {
    Asm(asm::Args),
    Disasm(disasm::Args),
    Build(build::Args),
    Run(run::Args),
    Check(check::Args),
    Eval(eval::Args),
    Opt(opt::Args),
    Fmt(fmt::Args),
    Sim(sim::Args),
    Exchange(exchange::Args),
    Vectors(vectors::Args),
    Explain(listing::ExplainArgs),
    Passes(listing::PassesArgs),
    Ops(ops::Args),
}

impl Command {
    /// Runs the subcommand.
    pub fn run(self) -> Outcome {
        match self {
            Command::Asm(args) => asm::run(args),
            Command::Disasm(args) => disasm::run(args),
            Command::Build(args) => build::run(args),
            Command::Run(args) => run::run(args),
            Command::Check(args) => check::run(args),
            Command::Eval(args) => eval::run(args),
            Command::Opt(args) => opt::run(args),
            Command::Fmt(args) => fmt::run(args),
            Command::Sim(args) => sim::run(args),
            Command::Exchange(args) => exchange::run(args),
            Command::Vectors(args) => vectors::run(args),
            Command::Explain(args) => listing::explain(args),
            Command::Passes(args) => listing::passes(args),
            Command::Ops(args) => ops::run(args),
        }
    }
}

/// Result of a subcommand.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why a subcommand stopped.
#[derive(Debug)]
pub enum Failure {
    /// The input or the request is at fault: `error: ` and this text, exit code 1.
    User(String),
    /// As `User`, but everything has been said on standard error.
    Reported,
    /// A fault of this program: exit code 2.
    Internal(String),
    /// Whoever read our output has gone; nothing is said.
    ClosedPipe,
}

impl Failure {
    /// A failure of the user with a formatted message.
    pub fn user(message: impl Into<String>) -> Failure {
        Failure::User(message.into())
    }
}

/// The exit code of an outcome, after its message.
pub fn finish(outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::Reported) => ExitCode::from(1),
        Err(Failure::User(message)) => {
            complain(&format!("error: {message}\n"));
            ExitCode::from(1)
        }
        Err(Failure::Internal(message)) => {
            complain(&format!("internal error: {message}\n"));
            ExitCode::from(2)
        }
    }
}

/// Makes a panic one line and exit code 2.
pub fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let message = info
            .payload()
            .downcast_ref::<&str>()
            .map(ToString::to_string)
            .or_else(|| info.payload().downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "panic".to_string());
        // `println!` panics when the reader has gone.
        if message.contains("failed printing to stdout") {
            std::process::exit(0);
        }
        let place = info
            .location()
            .map(|l| format!(" ({}:{})", l.file(), l.line()))
            .unwrap_or_default();
        complain(&format!("internal error: {message}{place}\n"));
        std::process::exit(2);
    }));
}

/// Writes `text` to standard error; a closed one is no reason to fail.
pub fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// True if messages may use colour.
pub fn color() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Writes `bytes` to standard output.
pub fn print(bytes: impl AsRef<[u8]>) -> Outcome {
    let mut out = io::stdout().lock();
    out.write_all(bytes.as_ref())
        .and_then(|()| out.flush())
        .map_err(|e| match e.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::user(format!("cannot write to standard output: {e}")),
        })
}

/// The bytes of a file, of standard input for `-`.
pub fn read(path: &Path) -> Outcome<Vec<u8>> {
    let mut bytes = Vec::new();
    let result = if path.as_os_str() == "-" {
        io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
    } else {
        std::fs::read(path).map(|read| bytes = read)
    };
    match result {
        Ok(()) => Ok(bytes),
        Err(e) => Err(Failure::user(format!(
            "cannot read {}: {e}",
            path.display()
        ))),
    }
}

/// The text of a file; not UTF-8 is the user's error.
pub fn read_text(path: &Path) -> Outcome<String> {
    String::from_utf8(read(path)?).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let line = 1 + e.as_bytes()[..at].iter().filter(|b| **b == b'\n').count();
        Failure::user(format!(
            "{}:{line}: the file is not UTF-8 text (byte {at})",
            path.display()
        ))
    })
}

/// Writes a file whole or not at all: a temporary file beside it is renamed.
pub fn write_file(path: &Path, bytes: &[u8]) -> Outcome {
    write_file_with(path, |out| out.write_all(bytes))
}

/// As [`write_file`], for what is too long to hold: `write` gets the open file.
pub fn write_file_with(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Outcome {
    ipucc_runtime::file::write_with(path, write)
        .map_err(|e| Failure::user(format!("cannot write {}: {e}", path.display())))
}

/// The defaults with these `NAME=VALUE` changes.
pub fn assumptions(changes: &[(String, String)]) -> Outcome<Assumptions> {
    let mut assumptions = Assumptions::default();
    for (name, value) in changes {
        assumptions
            .set(name, value)
            .map_err(|error| Failure::user(error.to_string()))?;
    }
    Ok(assumptions)
}

/// The bytes of a supervisor's text placed at `base`.
pub fn supervisor_code(text: &str, base: u32) -> Result<Vec<u8>, String> {
    let options = assembler::Options {
        file: "call".into(),
        context: Context::Supervisor,
    };
    let assembly = assembler::assemble(text, &options).map_err(|errors| errors.to_string())?;
    let addresses = [(".text".to_string(), base)].into_iter().collect();
    let placed = assembly.object.place(&addresses).map_err(|errors| {
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        texts.join("\n")
    })?;
    let section = placed.sections.get(".text");
    Ok(section.map(|text| text.bytes.clone()).unwrap_or_default())
}

/// A number as people write it: decimal, or hexadecimal behind `0x`.
pub fn parse_number(text: &str) -> Result<u32, String> {
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    value.map_err(|e| format!("`{text}` is no number: {e}"))
}
