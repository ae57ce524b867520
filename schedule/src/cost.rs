//! What an exchange phase costs before it is scheduled.

use ipucc_chip::{Assumptions, fabric};
use ipucc_tile::cost::{ExchangeCost, PhaseLoad};

/// Estimates from the timing assumptions.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// Timing assumptions.
    pub assumptions: Assumptions,
}

/// Events between the barrier and the first word, and between the last word and the end of the
/// last row, on a phase that spans the chip: bounds of whole-chip phases lie 102 to 190 events
/// above their words (`facts/planning_model.md` 1).
const ROUTE_AND_TAIL: u64 = 2 * fabric::RECEIVE_TAIL as u64;

impl ExchangeCost for Cost {
    fn cycles(&self, load: PhaseLoad) -> u64 {
        let a = &self.assumptions;
        let words = load.receive_words.max(load.send_words);
        // A receive needs two control events, which short messages do not hide.
        let busy = words.max(2 * load.messages);
        u64::from(a.sup_barrier) + 2 * u64::from(a.sup_branch) + ROUTE_AND_TAIL + busy
    }
}
