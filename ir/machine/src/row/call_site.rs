//! The words around a row: what a tile executes to enter an exchange phase
//! (`facts/exchange.md` 1.7).

use super::words;
use ipucc_chip::csr::number::{
    INCOMING_BASE, INCOMING_DCOUNT, INCOMING_FORMAT, INCOMING_MUX, INCOMING_MUXPAIR, OUTGOING_BASE,
};
use ipucc_chip::sync::Zone;

/// The zero register.
const ZERO: u32 = 15;

/// One thing that a call site does. Addresses are byte addresses, multiples of 4.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// `setzi $m8, value` and `put csr, $m8`.
    Set {
        /// CSR number below 256.
        csr: u16,
        /// 20-bit value.
        value: u32,
    },
    /// `put csr, $m15`.
    Clear {
        /// CSR number below 256.
        csr: u16,
    },
    /// `setzi $m, value`: an argument of a helper.
    Argument {
        /// Register number.
        register: u32,
        /// 20-bit value.
        value: u32,
    },
    /// `call $m, address` of a helper that returns through that register.
    Call {
        /// Link register.
        link: u32,
        /// Helper.
        address: u32,
    },
    /// `sync zone`.
    Sync(Zone),
    /// `sans n`: n + 1 credits.
    Abstain(u32),
    /// `call $m10, address` of the row.
    Row(u32),
    /// `setzi $m0, address` and `br $m0`: leave for good.
    Leave(u32),
}

/// Helpers and bases of an active tile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Active {
    /// `$INCOMING_BASE`: 0 for absolute receive pointers, else what they count from.
    pub incoming_base: u32,
    /// Helper that launches an empty worker and joins; it returns through `$m7`.
    pub worker_barrier: u32,
    /// Row.
    pub row: u32,
    /// Words of the row to be patched before, if the row is shared.
    pub patch: Option<Patch>,
}

/// A patch list for a shared row; the helper returns through `$m9`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Patch {
    /// Address of the word offsets.
    pub offsets: u32,
    /// Address of the new words.
    pub values: u32,
    /// Number of words.
    pub count: u32,
    /// Helper.
    pub routine: u32,
}

/// What a tile with work in an internal exchange does.
pub fn active(site: &Active) -> Vec<Action> {
    let mut actions = Vec::new();
    if let Some(patch) = site.patch {
        for (register, value) in [
            (2, site.row),
            (3, patch.offsets),
            (4, patch.values),
            (5, patch.count),
        ] {
            actions.push(Action::Argument { register, value });
        }
        actions.push(Action::Call {
            link: 9,
            address: patch.routine,
        });
    }
    actions.extend([
        Action::Set {
            csr: INCOMING_BASE,
            value: site.incoming_base,
        },
        Action::Clear { csr: OUTGOING_BASE },
        Action::Call {
            link: 7,
            address: site.worker_barrier,
        },
        Action::Set {
            csr: INCOMING_DCOUNT,
            value: 1,
        },
        Action::Sync(Zone::Internal),
        Action::Row(site.row),
    ]);
    actions
}

/// What a tile without work in an internal exchange does; its row is only `br $m10`.
pub fn inactive(row: u32) -> Vec<Action> {
    vec![
        Action::Set {
            csr: INCOMING_BASE,
            value: 0,
        },
        Action::Clear { csr: OUTGOING_BASE },
        Action::Abstain(0),
        Action::Sync(Zone::Abstention),
        Action::Row(row),
    ]
}

/// The diagnostic form of a paired receive: format and pair mux by CSR, `sync 3` inside the row.
pub fn diagnostic_pair(format: u32, mux_pair: u32, worker_barrier: u32, row: u32) -> Vec<Action> {
    vec![
        Action::Set {
            csr: INCOMING_FORMAT,
            value: format,
        },
        Action::Set {
            csr: INCOMING_MUXPAIR,
            value: mux_pair,
        },
        Action::Call {
            link: 7,
            address: worker_barrier,
        },
        Action::Row(row),
    ]
}

/// The diagnostic form with the mux set by CSR, `sync 3` inside the row.
pub fn diagnostic_mux(mux: u32, dcount: u32, worker_barrier: u32, row: u32) -> Vec<Action> {
    vec![
        Action::Set {
            csr: INCOMING_MUX,
            value: mux,
        },
        Action::Call {
            link: 7,
            address: worker_barrier,
        },
        Action::Set {
            csr: INCOMING_DCOUNT,
            value: dcount,
        },
        Action::Row(row),
    ]
}

/// The words of a call site.
pub fn encode(actions: &[Action]) -> Vec<u32> {
    let mut result = Vec::new();
    for action in actions {
        match *action {
            Action::Set { csr, value } => {
                result.push(words::setzi(words::SCRATCH, value));
                result.push(words::put(u32::from(csr), words::SCRATCH));
            }
            Action::Clear { csr } => result.push(words::put(u32::from(csr), ZERO)),
            Action::Argument { register, value } => result.push(words::setzi(register, value)),
            Action::Call { link, address } => result.push(words::call(link, address)),
            Action::Sync(zone) => result.push(words::sync(zone.operand())),
            Action::Abstain(credits) => result.push(words::sans(credits)),
            Action::Row(address) => result.push(words::call(words::LINK, address)),
            Action::Leave(address) => {
                result.push(words::setzi(0, address));
                result.push(words::br(0));
            }
        }
    }
    result
}
