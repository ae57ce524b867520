//! One simulated tile with one worker, to execute single instructions on.

use crate::decode::{CodeCache, CodeStore, DecodeModel};
use crate::memory::{CodeMarks, TILE_BYTES, TileMemory};
use crate::worker::{AmpMode, Model, Shared, Stop, StopReason, WorkerState, step};
use ipucc_chip::Assumptions;
use ipucc_chip::exception::Exception;
use ipucc_machine::asm::{Options, assemble};
use ipucc_machine::{Inst, Lane, Op, OperandKind};
use std::sync::Arc;

/// Where single instructions are put.
pub(crate) const CODE: u32 = 0x4c100;

/// A tile.
pub(crate) struct Bench {
    bytes: Box<[u8; TILE_BYTES]>,
    marks: CodeMarks,
    cache: CodeCache,
    pub(crate) model: Model,
    pub(crate) shared: Shared,
    pub(crate) worker: WorkerState,
}

impl Bench {
    pub(crate) fn new(assumptions: &Assumptions) -> Result<Bench, String> {
        let bytes: Box<[u8; TILE_BYTES]> = vec![0; TILE_BYTES]
            .into_boxed_slice()
            .try_into()
            .map_err(|_| "no memory for a tile")?;
        Ok(Bench {
            bytes,
            marks: CodeMarks::new(),
            cache: CodeCache::new(Arc::new(CodeStore::new()), DecodeModel::new(assumptions)),
            model: Model::new(assumptions, AmpMode::Exact),
            shared: Shared::new(),
            worker: WorkerState::new(0),
        })
    }

    pub(crate) fn memory(&mut self) -> TileMemory<'_> {
        TileMemory::new(&mut self.bytes, &mut self.marks)
    }

    /// Assembles `text`, puts it at `pc`, executes one issue group there.
    pub(crate) fn execute_at(&mut self, text: &str, pc: u32) -> Result<Stop, String> {
        let code = assembled(text)?;
        if !self.memory().write(pc, &code) {
            return Err(format!("{pc:#x} is not populated"));
        }
        self.worker.pc = pc;
        let mut mem = TileMemory::new(&mut self.bytes, &mut self.marks);
        Ok(step(
            &mut self.worker,
            &mut self.shared,
            &mut mem,
            &mut self.cache,
            &self.model,
            0,
        ))
    }

    pub(crate) fn execute(&mut self, inst: &Inst) -> Result<Stop, String> {
        self.execute_at(&inst.to_string(), CODE)
    }
}

/// Bytes of a few lines of assembler text without addresses.
fn assembled(text: &str) -> Result<Vec<u8>, String> {
    let assembly = assemble(text, &Options::default()).map_err(|e| e.render(false))?;
    match assembly.object.sections.get(".text") {
        Some(section) => Ok(section.bytes.clone()),
        None => Err(format!("`{text}` is no code")),
    }
}

/// The exception of a stop.
pub(crate) fn raised(stop: &Stop) -> Option<Exception> {
    match stop.reason {
        StopReason::Exception(info) => Some(info.exception),
        _ => None,
    }
}

/// A wanted operand form: what tells the rows of a mnemonic apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Form<'f> {
    pub(crate) mnemonic: &'f str,
    pub(crate) lane: Lane,
    /// `:B`, `:BL`, `:BU` or nothing.
    pub(crate) broadcast: Option<&'f str>,
    /// Kind of immediate as vector files name it, or nothing.
    pub(crate) immediate: Option<&'f str>,
}

fn immediate_name(kind: OperandKind) -> Option<&'static str> {
    Some(match kind {
        OperandKind::Simm(16) => "si16",
        OperandKind::Zimm(16) | OperandKind::Rel16 => "zi16",
        OperandKind::Zimm(12) => "zi12",
        OperandKind::Immz12 => "iz12",
        OperandKind::Rel20 => "zi20",
        kind if kind.is_register() => return None,
        _ => "other",
    })
}

/// The row of a form.
pub(crate) fn find(form: Form<'_>) -> Result<Op, String> {
    Op::by_mnemonic(form.mnemonic)
        .iter()
        .copied()
        .find(|op| {
            let info = op.info();
            let broadcast = info.operands.iter().find_map(|o| match o.kind {
                OperandKind::ABroadcast => Some("B"),
                OperandKind::ABroadcastLower => Some("BL"),
                OperandKind::ABroadcastUpper => Some("BU"),
                _ => None,
            });
            let immediate = info.operands.iter().find_map(|o| immediate_name(o.kind));
            info.lane == form.lane
                && broadcast == form.broadcast
                && (form.immediate == immediate || form.immediate == Some("any"))
        })
        .ok_or_else(|| format!("no instruction has the form {form:?}"))
}

/// Which registers a form got.
pub(crate) struct Placed {
    pub(crate) inst: Inst,
    /// Source registers in the order of the input words.
    pub(crate) sources: Vec<usize>,
    /// Destination registers, low first.
    pub(crate) destinations: Vec<usize>,
}

/// Gives an instruction registers: sources in assembler order from register 0, then the
/// destination; all immediates become `immediate`.
pub(crate) fn place(op: Op, immediate: u32) -> Result<Placed, String> {
    let info = op.info();
    let mut next = 0u32;
    let mut operands = [0; 6];
    let (mut sources, mut destinations) = (Vec::new(), Vec::new());
    let mut take = |n: u32| {
        let at = next.next_multiple_of(n);
        next = at + n;
        at
    };
    let names = |at: u32, n: u32| (at..at + n).map(|r| r as usize);
    for pass in [false, true] {
        for &number in info.asm_order {
            let o = &info.operands[number as usize];
            let n = o.kind.registers();
            if n == 0 {
                operands[number as usize] = immediate;
            } else if o.role.writes() == pass {
                let at = take(n);
                operands[number as usize] = at;
                if pass {
                    destinations.extend(names(at, n));
                } else {
                    sources.extend(names(at, n));
                }
            }
        }
    }
    let inst = Inst::new(op, &operands[..info.operands.len()]).map_err(|e| e.to_string())?;
    Ok(Placed {
        inst,
        sources,
        destinations,
    })
}
