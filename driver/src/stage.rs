//! The stages of a compilation, for whoever shows its progress.

/// What a compilation is doing. Stages come in this order, each once, or again from `Emit` where the
/// first forms of the kernels did not fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// Tensor passes.
    Rewrite,
    /// The planner.
    Plan,
    /// Weight programs.
    Weights,
    /// Phases, event times, abstention.
    Schedule,
    /// Kernels, rows and supervisor programs.
    Emit,
    /// Addresses.
    Place,
    /// Images.
    Link,
}

impl Stage {
    /// Every stage, in order.
    pub const ALL: [Stage; 7] = [
        Stage::Rewrite,
        Stage::Plan,
        Stage::Weights,
        Stage::Schedule,
        Stage::Emit,
        Stage::Place,
        Stage::Link,
    ];

    /// What it does, in a few words.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Rewrite => "rewriting the graph",
            Stage::Plan => "planning",
            Stage::Weights => "computing stored weights",
            Stage::Schedule => "timing exchanges",
            Stage::Emit => "generating code",
            Stage::Place => "placing in SRAM",
            Stage::Link => "linking",
        }
    }
}

/// Is told of each stage as it begins.
pub type Watch<'w> = &'w dyn Fn(Stage);

/// Watches nothing.
pub const UNWATCHED: Watch<'static> = &|_| {};
