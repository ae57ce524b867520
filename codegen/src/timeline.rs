//! When things happen, computed from the timing table of `isa/supervisor.md` 4.
//!
//! The supervisor is an in-order machine that issues an operation when its operands are ready and a
//! slot is its own. Workers issue every sixth cycle in their own slot. Nothing here is observed:
//! turns come from the generators, cycles from the table.

use crate::kernels::Launch;
use crate::program::SupOp;
use ipucc_chip::Assumptions;
use ipucc_chip::timing::SLOTS;

/// A point in a tile's time, and what its registers wait for.
#[derive(Clone, Debug)]
pub struct Clock {
    /// Earliest cycle of the next issue.
    pub now: u64,
    written: [Option<u64>; 16],
    /// Cycle in which the slot of each worker is free again.
    slots: [u64; SLOTS as usize],
    last_exit: u64,
    /// Earliest launch after the weights loaded last.
    weights: u64,
}

impl Clock {
    /// A tile that issues its first instruction in cycle `now`.
    pub fn at(now: u64) -> Clock {
        Clock {
            now,
            written: [None; 16],
            slots: [0; SLOTS as usize],
            last_exit: 0,
            weights: 0,
        }
    }

    fn ready(&self, register: u8, distance: u32) -> u64 {
        self.written[register as usize].map_or(0, |issue| issue + u64::from(distance))
    }

    fn issue(&self, earliest: u64) -> u64 {
        let earliest = earliest.max(self.now);
        // The first slot, in turn, that no worker holds.
        (earliest..)
            .find(|&cycle| self.slots[(cycle % u64::from(SLOTS)) as usize] <= cycle)
            .unwrap_or(earliest)
    }

    /// Executes an operation that needs no other tile; barriers, credits and rows are the
    /// caller's.
    pub fn execute(&mut self, op: &SupOp, a: &Assumptions) {
        match *op {
            SupOp::Setzi { register, .. } => {
                let issue = self.issue(0);
                self.written[register as usize] = Some(issue);
                self.now = issue + u64::from(a.sup_issue);
            }
            SupOp::Put { csr, register } => {
                // The operand wait of a `put` to the exchange block is inside its time.
                let exchange = csr >= 0xa0;
                let wait = if exchange {
                    0
                } else {
                    self.ready(register, a.sup_use_exec)
                };
                let issue = self.issue(wait);
                self.now = issue + u64::from(if exchange { a.sup_put_exch } else { a.sup_put });
            }
            SupOp::LoadWeights(_) => {
                let issue = self.issue(0);
                self.now = issue + u64::from(a.sup_putcs);
                self.weights = self.now + u64::from(a.sup_cwei_ready);
            }
            SupOp::Call { .. } => {
                let issue = self.issue(0);
                self.written[10] = Some(issue);
                self.now = issue + u64::from(a.sup_branch);
            }
            SupOp::Return => {
                let issue = self.issue(self.ready(10, a.sup_use_early));
                self.now = issue + u64::from(a.sup_branch);
            }
            SupOp::Launch { turns } => {
                let operands = self
                    .ready(0, a.sup_use_early)
                    .max(self.ready(1, a.sup_use_early));
                let issue = self.issue(operands.max(self.weights));
                self.now = issue + u64::from(a.sup_launch);
                let slots = u64::from(SLOTS);
                for (worker, &turns) in turns.iter().enumerate() {
                    // The worker's slot comes round within six cycles of the launch time.
                    let wait = (worker as u64 + slots - self.now % slots) % slots;
                    let exit = self.now + wait + slots * (turns - 1);
                    self.slots[worker] = exit + u64::from(a.sup_slot_return);
                    self.last_exit = self.last_exit.max(exit);
                }
            }
            SupOp::Join => {
                let issue = self.issue(0);
                let joined = self.last_exit + u64::from(a.sup_join);
                self.now = (issue + u64::from(a.sup_sync)).max(joined);
            }
            SupOp::Barrier
            | SupOp::Sans { .. }
            | SupOp::AwaitCredit
            | SupOp::Row { .. }
            | SupOp::End => {}
        }
    }

    /// Issue of a barrier, credit wait or end: the cycle of its arrival.
    pub fn arrive(&mut self) -> u64 {
        self.now = self.issue(0);
        self.now
    }

    /// Goes on in this cycle.
    pub fn resume(&mut self, cycle: u64) {
        self.now = cycle;
    }
}

/// Tile cycles of a kernel call that begins in cycle 0 of an idle tile.
pub fn kernel_cycles(launches: &[Launch], a: &Assumptions) -> u64 {
    let mut clock = Clock::at(0);
    let mut ops = Vec::new();
    crate::program::call(
        &mut ops,
        launches,
        |_, _| crate::program::Target::Absolute(0),
        0,
    );
    for op in &ops {
        clock.execute(op, a);
        if let SupOp::Call { columns, .. } = *op {
            crate::program::panel_loader(columns)
                .iter()
                .for_each(|op| clock.execute(op, a));
        }
    }
    clock.now
}
