//! Emission: per tile the sections with symbolic addresses and exact sizes, the buffers to be
//! placed, and the predicted cycles. Nothing grows after this.

mod requests;

use self::requests::lives;
use crate::kernels::{Generated, Weights, Word, generate_with};
use crate::predict::{Predicted, predict};
use crate::program::{Place, SupOp, Target, call, panel_loader};
use indexmap::IndexMap;
use ipucc_chip::csr::{MUX_NEUTRAL, number};
use ipucc_chip::{Assumptions, LogicalTile};
use ipucc_machine::object::RelocationKind;
use ipucc_machine::row;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::Kernel;
use ipucc_tile::schedule::{Absence, AbstainMode, Scheduled};
use ipucc_tile::sram::{Kind, Problem};
use ipucc_tile::{Call, MemoryClass, Step, Value};
use rayon::prelude::*;
use std::sync::Arc;
use thiserror::Error;

/// Section index of the supervisor program.
const PROGRAM: u32 = 0;
/// Section index of the argument records.
const RECORDS: u32 = 1;

/// Why a program cannot be emitted.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum EmitError {
    /// A call has no kernel.
    #[error("step {step} ({label}): {error}")]
    Kernel {
        /// Step number.
        step: usize,
        /// Its label.
        label: String,
        /// Which kernel, and why not.
        error: NoKernel,
    },
    /// A step that emission does not handle.
    #[error("step {step}: {reason}")]
    Step {
        /// Step number.
        step: usize,
        /// What is the matter.
        reason: String,
    },
    /// A row that has no words.
    #[error("step {step}, tile {tile}: {reason}")]
    Row {
        /// Step number.
        step: usize,
        /// Logical tile.
        tile: u16,
        /// What the row encoder says.
        reason: String,
    },
}

/// Where an address goes into a section: `word |= ((address) >> right) << left`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Patch {
    /// Byte offset of the word.
    pub offset: u32,
    /// Right shift of the address: log2 of the unit.
    pub right: u8,
    /// Left shift of the field.
    pub left: u8,
    /// Whose address.
    pub target: Target,
}

/// A section of a tile.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Section {
    /// Name, unique on the tile.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// Content with address fields zero.
    pub bytes: Arc<[u8]>,
    /// Places of addresses.
    pub patches: Arc<[Patch]>,
}

/// Everything of one tile.
#[derive(Clone, PartialEq, Debug)]
pub struct TileCode {
    /// The supervisor's operations, in order.
    pub ops: Vec<SupOp>,
    /// Sections; the first is the program, the second the argument records.
    pub sections: Vec<Section>,
    /// Values of which the tile holds a shard, with its size in bytes.
    pub values: Vec<(Value, u32)>,
    /// The allocation problem: sections in order, then values in order.
    pub problem: Problem,
    /// (step, byte offset into the program section at which the tile has done its part of it), for
    /// the steps that it takes part in.
    pub marks: Vec<(u32, u32)>,
    /// (section, step that executes it) for kernels, loaders of weights and exchange rows, by step.
    pub uses: Vec<(u32, u32)>,
}

/// An emitted program.
#[derive(Clone, PartialEq, Debug)]
pub struct Emitted {
    /// By logical tile.
    pub tiles: Vec<TileCode>,
    /// What it costs.
    pub predicted: Predicted,
}

/// Emits a scheduled program.
///
/// # Errors
/// The first call without a kernel, or what emission cannot express.
pub fn emit(scheduled: &Scheduled, assumptions: &Assumptions) -> Result<Emitted, EmitError> {
    emit_with(scheduled, assumptions, false)
}

/// As [`emit`]; `relaxed` takes the forms of kernels that let their operands share memory elements,
/// slower but easier to place.
///
/// # Errors
/// As [`emit`].
pub fn emit_with(
    scheduled: &Scheduled,
    assumptions: &Assumptions,
    relaxed: bool,
) -> Result<Emitted, EmitError> {
    let program = &scheduled.program;
    let mut kernels: IndexMap<(&Kernel, bool), usize> = IndexMap::new();
    let mut labels: Vec<(usize, &str)> = Vec::new();
    for (step, item) in program.steps.iter().enumerate() {
        match item {
            Step::Compute(compute) => {
                for call in &compute.calls {
                    let next = kernels.len();
                    let key = (&call.kernel, relaxed || aliased(call));
                    kernels.entry(key).or_insert_with(|| {
                        labels.push((step, compute.label.as_str()));
                        next
                    });
                }
            }
            Step::Exchange(_) | Step::Host(_) => {}
            Step::Repeat(_) => {
                return Err(EmitError::Step {
                    step,
                    reason: "a repeat has no code yet; hint: write its body out count times".into(),
                });
            }
        }
    }
    let list: Vec<(&Kernel, bool)> = kernels.keys().copied().collect();
    let generated: Vec<Arc<Generated>> = list
        .par_iter()
        .zip(&labels)
        .map(|(&(kernel, relaxed), (step, label))| {
            generate_with(kernel, relaxed, assumptions)
                .map(Arc::new)
                .map_err(|error| EmitError::Kernel {
                    step: *step,
                    label: (*label).to_owned(),
                    error,
                })
        })
        .collect::<Result<_, _>>()?;
    let lives = lives(scheduled);
    let tiles: Vec<TileCode> = (0..program.tiles)
        .into_par_iter()
        .map(|tile| {
            Emitter {
                scheduled,
                tile: LogicalTile(tile),
                relaxed,
                kernels: &kernels,
                generated: &generated,
                lives: &lives,
                ops: Vec::new(),
                sections: Vec::new(),
                records: Vec::new(),
                record_patches: Vec::new(),
                kernel_sections: IndexMap::new(),
                apart: Vec::new(),
                needs: IndexMap::new(),
                loaders: [None; 2],
                marks: Vec::new(),
                uses: Vec::new(),
            }
            .run()
        })
        .collect::<Result<_, _>>()?;
    let predicted = predict(&tiles, assumptions);
    Ok(Emitted { tiles, predicted })
}

/// True if two operands are the same buffer, so that they cannot stand in different elements.
fn aliased(call: &Call) -> bool {
    let values = || call.operands.iter().map(|operand| operand.value);
    values()
        .enumerate()
        .any(|(index, value)| values().take(index).any(|earlier| earlier == value))
}

/// Name of a kernel's section: its first entry and its number.
fn kernel_name(generated: &Generated, index: usize) -> String {
    let entry = generated.launches.first().map_or("", |launch| launch.entry);
    format!("{entry}.{index}")
}

struct Emitter<'e> {
    scheduled: &'e Scheduled,
    tile: LogicalTile,
    relaxed: bool,
    kernels: &'e IndexMap<(&'e Kernel, bool), usize>,
    generated: &'e [Arc<Generated>],
    lives: &'e [(u32, u32)],
    ops: Vec<SupOp>,
    sections: Vec<Section>,
    records: Vec<u8>,
    record_patches: Vec<Patch>,
    kernel_sections: IndexMap<usize, u32>,
    /// Pairs of values that a kernel needs in different elements.
    apart: Vec<(Value, Value)>,
    /// Alignment, interleaved memory and tail that kernels need of a value.
    needs: IndexMap<Value, (u32, bool, u32)>,
    /// Sections of the panel loaders for 16 and 8 columns.
    loaders: [Option<u32>; 2],
    /// As [`TileCode::marks`].
    marks: Vec<(u32, u32)>,
    /// As [`TileCode::uses`].
    uses: Vec<(u32, u32)>,
}

impl Emitter<'_> {
    fn run(mut self) -> Result<TileCode, EmitError> {
        let empty = |name: &str, kind| Section {
            name: name.into(),
            kind,
            bytes: Arc::from([]),
            patches: Arc::from([]),
        };
        self.sections.push(empty("program", Kind::Code));
        self.sections.push(empty("records", Kind::Record));
        let zero = |csr| SupOp::Put { csr, register: 15 };
        let value = |v| SupOp::Setzi {
            register: 8,
            target: Target::Absolute(v),
        };
        self.ops.extend([
            zero(number::FP_ICTL),
            zero(number::INCOMING_BASE),
            zero(number::OUTGOING_BASE),
            value(u32::from(MUX_NEUTRAL)),
            SupOp::Put {
                csr: number::INCOMING_MUX,
                register: 8,
            },
            value(1),
            SupOp::Put {
                csr: number::INCOMING_DCOUNT,
                register: 8,
            },
            SupOp::Barrier,
        ]);
        let scheduled = self.scheduled;
        let mut phase = 0;
        let mut absences = scheduled.absences[self.tile.index()].iter().peekable();
        let mut credit = self.post_credits(&mut absences, 0);
        for (step, item) in scheduled.program.steps.iter().enumerate() {
            let before = self.ops.len();
            match item {
                Step::Compute(compute) => {
                    let tile = self.tile;
                    for call in compute.calls.iter().filter(|c| c.tiles.contains(tile)) {
                        self.call(call, step as u32);
                    }
                }
                Step::Exchange(_) => {
                    if let Some(events) = scheduled.phases[phase].rows.get(&self.tile) {
                        if std::mem::take(&mut credit) {
                            self.ops.push(SupOp::AwaitCredit);
                        }
                        self.row(step, phase, events)?;
                    } else if scheduled.abstain == AbstainMode::PerPhase
                        && let Some(absence) =
                            absences.next_if(|absence| absence.first as usize == phase)
                    {
                        self.ops.push(SupOp::Sans {
                            credits: absence.count,
                        });
                        self.ops.push(SupOp::AwaitCredit);
                    }
                    phase += 1;
                    credit |= self.post_credits(&mut absences, phase);
                }
                Step::Host(_) | Step::Repeat(_) => {}
            }
            if self.ops.len() > before {
                self.marks.push((step as u32, 4 * self.ops.len() as u32));
            }
        }
        if credit {
            self.ops.push(SupOp::AwaitCredit);
        }
        self.ops.extend([SupOp::Barrier, SupOp::End]);
        self.finish()
    }

    /// In `Advance` mode, the credits of the absence that begins with this phase: posted before the
    /// computing that stands between the phase before and this one, so that nobody waits for it.
    fn post_credits<'a>(
        &mut self,
        absences: &mut std::iter::Peekable<impl Iterator<Item = &'a Absence>>,
        phase: usize,
    ) -> bool {
        if self.scheduled.abstain != AbstainMode::Advance {
            return false;
        }
        match absences.next_if(|absence| absence.first as usize == phase) {
            Some(absence) => {
                self.ops.push(SupOp::Sans {
                    credits: absence.count,
                });
                true
            }
            None => false,
        }
    }

    fn call(&mut self, call_data: &Call, step: u32) {
        let index = self.kernels[&(&call_data.kernel, self.relaxed || aliased(call_data))];
        let generated = Arc::clone(&self.generated[index]);
        let section = self.kernel_section(index, &generated);
        let loads = generated
            .launches
            .iter()
            .any(|launch| launch.weights != Weights::Keep);
        let columns = generated
            .launches
            .first()
            .map_or(16, |launch| launch.columns);
        let loader = if loads { self.loader(columns) } else { 0 };
        self.uses.push((section, step));
        if loads {
            self.uses.push((loader, step));
        }
        let operand = |operand: usize, offset: u32| {
            let buffer = call_data.operands[operand];
            Target::Value(buffer.value, buffer.offset_bytes + offset)
        };
        let mut places: Vec<u32> = Vec::new();
        for (number, launch) in generated.launches.iter().enumerate() {
            let before = number.checked_sub(1);
            if let Some(before) = before
                && generated.launches[before].record == launch.record
            {
                places.push(places[before]);
                continue;
            }
            let at = self.records.len() as u32;
            places.push(at);
            for (n, word) in launch.record.iter().enumerate() {
                match *word {
                    Word::Constant(value) => self.records.extend(value.to_le_bytes()),
                    Word::Shared => self.records.extend([0; 4]),
                    Word::Operand(number, offset) => {
                        self.records.extend([0; 4]);
                        self.record_patches.push(Patch {
                            offset: at + 4 * n as u32,
                            right: 0,
                            left: 0,
                            target: operand(number, offset),
                        });
                    }
                }
            }
        }
        let entry = |launch: usize| {
            let name = generated.launches[launch].entry;
            generated
                .object
                .symbols
                .get(name)
                .map_or(0, |symbol| symbol.value)
        };
        call(
            &mut self.ops,
            &generated.launches,
            |place, launch| match place {
                Place::Entry => Target::Section(section, entry(launch)),
                Place::Record => Target::Section(RECORDS, places[launch]),
                Place::Operand(number, offset) => operand(number, offset),
            },
            loader,
        );
        for (index, need) in generated.operands.iter().enumerate() {
            let value = call_data.operands[index].value;
            let known = self.needs.entry(value).or_default();
            known.0 = known.0.max(need.align_bytes);
            known.1 |= need.memory == MemoryClass::Interleaved;
            known.2 = known.2.max(need.tail_bytes);
            for other in 0..generated.operands.len() {
                if need.apart_from >> other & 1 != 0 && other != index {
                    let pair = (
                        call_data.operands[index].value,
                        call_data.operands[other].value,
                    );
                    if pair.0 != pair.1 {
                        self.apart.push((pair.0.min(pair.1), pair.0.max(pair.1)));
                    }
                }
            }
        }
    }

    fn kernel_section(&mut self, index: usize, generated: &Generated) -> u32 {
        if let Some(&section) = self.kernel_sections.get(&index) {
            return section;
        }
        let section = self.sections.len() as u32;
        let (bytes, patches) = match generated.object.sections.first() {
            None => (Arc::from([]), Vec::new()),
            Some((_, text)) => {
                let mut bytes = text.bytes.clone();
                bytes.resize(text.size as usize, 0);
                let patches = text
                    .relocations
                    .iter()
                    .filter_map(|relocation| {
                        let (_, symbol) = generated.object.symbols.get_index(relocation.symbol)?;
                        let at = symbol.value.wrapping_add_signed(relocation.addend);
                        let (right, left) = match relocation.kind {
                            RelocationKind::Word18
                            | RelocationKind::Word19
                            | RelocationKind::Word20 => (2, 0),
                            RelocationKind::Field {
                                shift, unit_shift, ..
                            } => (unit_shift, shift),
                            _ => (0, 0),
                        };
                        let target = Target::Section(section, at);
                        Some(Patch {
                            offset: relocation.offset,
                            right,
                            left,
                            target,
                        })
                    })
                    .collect();
                (Arc::from(bytes), patches)
            }
        };
        self.sections.push(Section {
            name: kernel_name(generated, index),
            kind: Kind::Code,
            bytes,
            patches: patches.into(),
        });
        self.kernel_sections.insert(index, section);
        section
    }

    fn loader(&mut self, columns: u8) -> u32 {
        let slot = usize::from(columns == 8);
        if let Some(section) = self.loaders[slot] {
            return section;
        }
        let section = self.sections.len() as u32;
        let words: Vec<u8> = panel_loader(columns)
            .iter()
            .filter_map(|op| op.encode().ok())
            .flat_map(|(word, _)| word.to_le_bytes())
            .collect();
        self.sections.push(Section {
            name: format!("load_panel{columns}"),
            kind: Kind::Code,
            bytes: words.into(),
            patches: Arc::from([]),
        });
        self.loaders[slot] = Some(section);
        section
    }

    fn row(&mut self, step: usize, phase: usize, events: &row::RowEvents) -> Result<(), EmitError> {
        let encoded = row::encode(events).map_err(|error| EmitError::Row {
            step,
            tile: self.tile.0,
            reason: error.to_string(),
        })?;
        let section = self.sections.len() as u32;
        let patches = encoded
            .sites
            .iter()
            .map(|site| Patch {
                offset: site.word * 4,
                right: site.unit_shift,
                left: site.field_shift,
                target: match site.place.symbol {
                    Some(symbol) => Target::Value(Value::from_u32(symbol.0), site.place.offset),
                    None => Target::Absolute(site.place.offset),
                },
            })
            .collect();
        self.uses.push((section, step as u32));
        self.sections.push(Section {
            name: format!("row{phase}"),
            kind: Kind::Row,
            bytes: encoded
                .words
                .iter()
                .flat_map(|word| word.to_le_bytes())
                .collect(),
            patches,
        });
        self.ops.push(SupOp::Barrier);
        self.ops.push(SupOp::Row {
            target: Target::Section(section, 0),
            events: encoded.events,
        });
        Ok(())
    }

    fn finish(mut self) -> Result<TileCode, EmitError> {
        let mut words = Vec::with_capacity(self.ops.len() * 4);
        let mut patches = Vec::new();
        for op in &self.ops {
            let (word, address) = op.encode().map_err(|error| EmitError::Step {
                step: 0,
                reason: format!("supervisor program of tile {}: {error}", self.tile.0),
            })?;
            if let Some((target, right, left)) = address {
                patches.push(Patch {
                    offset: words.len() as u32,
                    right,
                    left,
                    target,
                });
            }
            words.extend(word.to_le_bytes());
        }
        let program = &mut self.sections[PROGRAM as usize];
        program.bytes = words.into();
        program.patches = patches.into();
        let records = &mut self.sections[RECORDS as usize];
        records.bytes = std::mem::take(&mut self.records).into();
        records.patches = std::mem::take(&mut self.record_patches).into();
        let (values, problem) = self.problem();
        Ok(TileCode {
            ops: self.ops,
            sections: self.sections,
            values,
            problem,
            marks: self.marks,
            uses: self.uses,
        })
    }
}
