//! Progress on standard error: a bar where it is a terminal, else nothing.

use indicatif::{ProgressBar, ProgressStyle};
use ipucc::stage::Stage;
use std::time::Duration;

fn bar(steps: usize, template: &str, quiet: bool) -> ProgressBar {
    if quiet {
        return ProgressBar::hidden();
    }
    let style =
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(steps as u64).with_style(style)
}

/// A bar over rows of an input.
pub fn rows(count: usize, quiet: bool) -> ProgressBar {
    bar(count, "{bar:40} {pos}/{len} rows", quiet)
}

/// A spinner for one piece of work of unknown length.
pub fn work(what: &'static str, quiet: bool) -> ProgressBar {
    let bar = bar(0, "{spinner} {msg} ({elapsed})", quiet).with_message(what);
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// Runs a compilation behind a bar over its stages.
pub fn compile<T>(quiet: bool, run: impl FnOnce(&dyn Fn(Stage)) -> T) -> T {
    let bar = bar(Stage::ALL.len(), "{bar:20} {msg} ({elapsed})", quiet);
    bar.enable_steady_tick(Duration::from_millis(100));
    let result = run(&|stage| {
        bar.set_position(stage as u64);
        bar.set_message(stage.name());
    });
    bar.finish_and_clear();
    result
}
