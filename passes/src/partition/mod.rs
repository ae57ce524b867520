//! From tensors to tiles: which tile computes what, and which words move in between.
//!
//! Products are cut over a grid of rows, columns and shares of the contraction; the grid is chosen
//! by the cost of the kernel and of the exchanges before and after it, over all grids of the chip.
//! Elementwise operations are fused into one kernel that runs where its largest operand stands.
//! Inputs are placed by the host where their first reader wants them, weights where their reader
//! stands; everything else moves by exchange.

mod assemble;
mod axis;
mod elementwise;
mod gather;
mod integer;
mod place;
mod product;
mod resize;
mod rows;

use indexmap::{IndexMap, IndexSet};
use ipucc_chip::{Chip, LogicalTile, ScalarType};
use ipucc_tensor::text::value_names;
use ipucc_tensor::{Function, Inst, Module, Op};
use ipucc_tile::cost::{ExchangeCost, KernelCatalog};
use ipucc_tile::kernel::Kernel;
use ipucc_tile::{Binding, Layout, LayoutKind, Program, Role, Shape, Value};
use thiserror::Error;

/// Options of the planner.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Options {
    /// The chip.
    pub chip: Chip,
}

/// An operation that has no plan.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("{place}: {message}")]
pub struct PlanError {
    /// Operation, with its source.
    pub place: String,
    /// What stands against it.
    pub message: String,
}

/// What the planner decided about one operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlanEntry {
    /// The operation.
    pub operation: String,
    /// The plan taken, with its cost.
    pub chosen: String,
    /// The second best, with its cost, if there was one.
    pub second: Option<String>,
}

/// A planned program.
#[derive(Clone, PartialEq, Debug)]
pub struct Planned {
    /// The program: no times, no addresses.
    pub program: Program,
    /// Decisions in order.
    pub log: Vec<PlanEntry>,
}

type TensorValue = ipucc_tensor::Value;

/// Most operations of one fused expression: what the eight vector registers of a worker hold.
const FUSED_OPERATIONS: u32 = 4;

/// Where a tensor value is.
#[derive(Clone)]
enum Home {
    /// A parameter that no tile holds yet.
    Param(usize),
    /// Computed where it is needed: an elementwise operation, a broadcast, a weight or a constant.
    Lazy(Inst),
    /// On tiles.
    Tiles(Value),
}

/// Plans the entry function of a module of core operations.
///
/// # Errors
/// The first operation that has no plan.
pub fn partition(
    module: &Module,
    catalog: &dyn KernelCatalog,
    exchange: &dyn ExchangeCost,
    options: &Options,
) -> Result<Planned, PlanError> {
    let Some(function) = module.entry() else {
        let message = "the module has no entry function".to_owned();
        return Err(PlanError {
            place: "module".into(),
            message,
        });
    };
    let mut uses: IndexMap<TensorValue, u32> = IndexMap::new();
    for &inst in &function.body {
        for &operand in &function.insts[inst].operands {
            *uses.entry(operand).or_insert(0) += 1;
        }
    }
    let mut fixed: IndexSet<TensorValue> = IndexSet::new();
    for &inst in &function.body {
        let data = &function.insts[inst];
        if data.operands.iter().all(|operand| fixed.contains(operand)) {
            fixed.extend(data.results.iter().copied());
        }
    }
    let mut planner = Planner {
        module,
        function,
        catalog,
        exchange,
        tiles: u32::from(options.chip.tiles()),
        uses,
        fixed,
        homes: IndexMap::new(),
        program: Program {
            name: function.name.clone(),
            tiles: options.chip.tiles(),
            values: Default::default(),
            steps: Vec::new(),
            inputs: IndexMap::new(),
            outputs: IndexMap::new(),
            weights: IndexMap::new(),
        },
        log: Vec::new(),
        costs: IndexMap::new(),
        tops: IndexMap::new(),
    };
    for (index, port) in function.params.iter().enumerate() {
        planner.homes.insert(port.value, Home::Param(index));
    }
    for &inst in &function.body {
        planner.instruction(inst)?;
    }
    planner.results()?;
    let names = value_names(function);
    for (value, home) in &planner.homes {
        if let (Home::Tiles(placed), Some(name)) = (home, names.get(value)) {
            planner.program.values[*placed].tensor = Some(name.clone());
        }
    }
    Ok(Planned {
        program: planner.program,
        log: planner.log,
    })
}

struct Planner<'p> {
    module: &'p Module,
    function: &'p Function,
    catalog: &'p dyn KernelCatalog,
    exchange: &'p dyn ExchangeCost,
    tiles: u32,
    uses: IndexMap<TensorValue, u32>,
    /// What weights and constants alone decide: stored where it is wanted, never computed on tiles.
    fixed: IndexSet<TensorValue>,
    homes: IndexMap<TensorValue, Home>,
    program: Program,
    log: Vec<PlanEntry>,
    /// Cycles of kernels already asked for.
    costs: IndexMap<Kernel, Option<u64>>,
    /// Elements and positions of searches that are made, by operand, number and direction.
    tops: IndexMap<(TensorValue, u32, bool), [Value; 2]>,
}

impl Planner<'_> {
    fn error(&self, inst: Inst, message: impl Into<String>) -> PlanError {
        let data = &self.function.insts[inst];
        let place = match &data.origin {
            Some(origin) => format!("`{}` from node `{origin}`", data.op.name()),
            None => format!("`{}` %{}", data.op.name(), self.name_of(data.results[0])),
        };
        PlanError {
            place,
            message: message.into(),
        }
    }

    fn name_of(&self, value: TensorValue) -> String {
        match &self.function.values[value].name {
            Some(name) => name.clone(),
            None => value.to_string().trim_start_matches('%').to_owned(),
        }
    }

    fn instruction(&mut self, inst: Inst) -> Result<(), PlanError> {
        let data = self.function.insts[inst].clone();
        let result = data.results[0];
        if self.fixed.contains(&result) {
            self.homes.insert(result, Home::Lazy(inst));
            return Ok(());
        }
        match &data.op {
            Op::Unary(_)
            | Op::Binary(_)
            | Op::Compare(_)
            | Op::Select
            | Op::Gelu { .. }
            | Op::Convert(_) => {
                self.homes.insert(result, Home::Lazy(inst));
                // An expression too large for the registers is cut at its largest operand.
                while self.weight_of(result) > FUSED_OPERATIONS {
                    let operands = data.operands.iter().copied();
                    let lazy = operands.filter(|&operand| self.weight_of(operand) > 0);
                    let Some(largest) = lazy.max_by_key(|&operand| self.weight_of(operand)) else {
                        break;
                    };
                    self.materialize(largest, inst)?;
                }
                // What several readers want is computed once.
                if self.uses.get(&result).copied().unwrap_or(0) > 1 {
                    self.materialize(result, inst)?;
                }
            }
            Op::Broadcast { .. }
            | Op::Constant { .. }
            | Op::Weight(_)
            | Op::Reshape(_)
            | Op::Transpose(_)
            | Op::Slice { .. }
            | Op::Windows { .. } => {
                self.homes.insert(result, Home::Lazy(inst));
            }
            Op::Softmax(axis) if usize::from(*axis) + 1 == self.function.ty(result).rank() => {
                let value = self.rows(inst)?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::TopK {
                axis,
                k,
                largest,
                indices,
            } if usize::from(*axis) + 1 == self.function.ty(result).rank() => {
                let value = self.top_k(inst, *k, *largest, *indices)?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::LayerNorm { .. } | Op::RmsNorm { .. } => {
                let value = self.rows(inst)?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::Reduce {
                axes, keep: false, ..
            } if axes.len() == 1 => {
                let value = self.along_axis(inst, usize::from(axes[0]))?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::ArgReduce {
                axis, keep: false, ..
            }
            | Op::CumSum { axis, .. } => {
                let value = self.along_axis(inst, usize::from(*axis))?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::Resize {
                shape,
                mode,
                coordinates,
            } => {
                let value = self.resize(inst, shape, *mode, *coordinates)?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::Scatter {
                axis: 0,
                kind: ipucc_tensor::ScatterKind::Update,
            } => {
                let value = self.scatter(inst)?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::Gather { axis: 0 } => {
                let value = self.gather(inst)?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::Concat(axis) => {
                let value = self.concat(inst, usize::from(*axis))?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::Pad { low, .. } => {
                let value = self.pad(inst, low)?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::Dot { .. } if self.function.ty(data.operands[0]).element.is_integer() => {
                let value = self.integer_dot(inst)?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::Dot { .. } => {
                let value = self.dot(inst)?;
                self.homes.insert(result, Home::Tiles(value));
            }
            _ => return Err(self.error(inst, "this operation has no plan for the chip yet")),
        }
        Ok(())
    }

    fn results(&mut self) -> Result<(), PlanError> {
        let ports = self.function.results.clone();
        for port in ports {
            let value = match self.function.def(port.value) {
                Some(inst) => self.materialize(port.value, inst)?,
                None => self.parameter(port.value).ok_or_else(|| PlanError {
                    place: format!("result `{}`", port.name),
                    message: "has no definition".into(),
                })?,
            };
            // What the host writes, or what is a result already, is copied for this result.
            let value = match self.program.values[value].role {
                Role::Temporary => value,
                _ => self.copied(value, &port)?,
            };
            let data = &mut self.program.values[value];
            data.role = Role::Output(port.name.clone());
            let shape = data.shape.clone();
            let binding = Binding {
                value,
                host: port.host,
                shape,
            };
            self.program.outputs.insert(port.name.clone(), binding);
        }
        Ok(())
    }

    /// The value on tiles, computed where it is cheap if it is not there yet.
    fn materialize(&mut self, value: TensorValue, at: Inst) -> Result<Value, PlanError> {
        match self.homes.get(&value).cloned() {
            Some(Home::Tiles(found)) => Ok(found),
            Some(Home::Lazy(inst)) if !self.is_view(inst) && !self.fixed.contains(&value) => {
                let made = self.elementwise(value, inst)?;
                self.homes.insert(value, Home::Tiles(made));
                Ok(made)
            }
            Some(Home::Param(_) | Home::Lazy(_)) => {
                let ty = self.function.ty(value).clone();
                let place = self.spread_place(&ty);
                self.bring(value, at, place)
            }
            None => Err(self.error(at, "an operand has no definition")),
        }
    }

    /// Tiles of a value by the extents of their shards, empty ones left out.
    fn blocks(&self, value: Value) -> IndexMap<Shape, Vec<LogicalTile>> {
        let mut blocks: IndexMap<Shape, Vec<LogicalTile>> = IndexMap::new();
        for shard in self.program.values[value].shards() {
            if !shard.is_empty() {
                blocks.entry(shard.extents()).or_default().push(shard.tile);
            }
        }
        blocks
    }
}

/// Row-major, rows padded to double words.
fn row_layout(rank: usize, element: ScalarType) -> Layout {
    Layout {
        kind: LayoutKind::Row {
            pitch: 8 / element.bytes(),
        },
        order: (0..rank as u8).collect(),
    }
}
