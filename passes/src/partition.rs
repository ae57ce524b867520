//! From tensors to tiles: which tile computes what, and which words move in between.
//!
//! Products are cut over a grid of rows, columns and shares of the contraction; the grid is chosen
//! by the cost of the kernel and of the exchanges before and after it, over all grids of the chip.
//! Elementwise operations are fused into one kernel that runs where its largest operand stands.
//! Inputs are placed by the host where their first reader wants them, weights where their reader
//! stands; everything else moves by exchange.

use indexmap::IndexMap;
use ipucc_chip::{Chip, HostType, LogicalTile, ScalarType};
use ipucc_tensor::{Builder, Function, Inst, Module, Op, TensorType};
use ipucc_tile::cost::{ExchangeCost, KernelCatalog, PhaseLoad};
use ipucc_tile::kernel::{Access, Dot, Expr, Kernel, Map};
use ipucc_tile::transfers::{local_calls, transfer};
use ipucc_tile::{
    AxisCut, Binding, Call, Compute, Distribution, Exchange, Layout, LayoutKind, MemoryClass,
    Operand, Padding, Program, Role, Shape, Step, TileSet, Value, ValueData, WeightProgram,
};
use smallvec::{SmallVec, smallvec};
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
    let mut planner = Planner {
        module,
        function,
        catalog,
        exchange,
        tiles: u32::from(options.chip.tiles()),
        uses,
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
    };
    for (index, port) in function.params.iter().enumerate() {
        planner.homes.insert(port.value, Home::Param(index));
    }
    for &inst in &function.body {
        planner.instruction(inst)?;
    }
    planner.results()?;
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
    homes: IndexMap<TensorValue, Home>,
    program: Program,
    log: Vec<PlanEntry>,
    /// Cycles of kernels already asked for.
    costs: IndexMap<Kernel, Option<u64>>,
}

/// A grid for a product: parts of rows, columns and contraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Grid {
    rows: u32,
    columns: u32,
    shares: u32,
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
            | Op::Slice { .. } => {
                self.homes.insert(result, Home::Lazy(inst));
            }
            Op::Softmax(axis) if usize::from(*axis) + 1 == self.function.ty(result).rank() => {
                let value = self.rows(inst)?;
                self.homes.insert(result, Home::Tiles(value));
            }
            Op::LayerNorm { .. } | Op::RmsNorm { .. } => {
                let value = self.rows(inst)?;
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

    /// Operations that a lazy value would fuse, the expensive ones counted by their registers.
    fn weight_of(&self, value: TensorValue) -> u32 {
        let Some(Home::Lazy(inst)) = self.homes.get(&value) else {
            return 0;
        };
        let data = &self.function.insts[*inst];
        let own = match &data.op {
            Op::Unary(ipucc_tensor::UnaryOp::Erf) | Op::Gelu { .. } => FUSED_OPERATIONS,
            Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select | Op::Convert(_) => 1,
            _ => return 0,
        };
        own + data
            .operands
            .iter()
            .map(|&operand| self.weight_of(operand))
            .sum::<u32>()
    }

    fn results(&mut self) -> Result<(), PlanError> {
        let ports = self.function.results.clone();
        for port in ports {
            let Some(inst) = self.function.def(port.value) else {
                return Err(PlanError {
                    place: format!("result `{}`", port.name),
                    message: "is a parameter; a program that computes nothing is not supported"
                        .into(),
                });
            };
            let value = self.materialize(port.value, inst)?;
            let data = &mut self.program.values[value];
            if data.role != Role::Temporary {
                return Err(PlanError {
                    place: format!("result `{}`", port.name),
                    message: "is returned twice; hint: return it once".into(),
                });
            }
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
            Some(Home::Lazy(inst)) if !self.is_view(inst) => {
                let made = self.elementwise(value, inst)?;
                self.homes.insert(value, Home::Tiles(made));
                Ok(made)
            }
            Some(Home::Param(_) | Home::Lazy(_)) => {
                let ty = self.function.ty(value).clone();
                let distribution = self.spread(&ty.shape);
                let layout = row_layout(ty.rank());
                self.bring(value, at, distribution, layout, MemoryClass::Any)
            }
            None => Err(self.error(at, "an operand has no definition")),
        }
    }

    /// A distribution over all tiles for a value that nothing places: the longest axis is cut.
    fn spread(&self, shape: &[u32]) -> Distribution {
        let mut cuts: SmallVec<[AxisCut; 4]> = SmallVec::from_elem(AxisCut::WHOLE, shape.len());
        let longest = (0..shape.len()).max_by_key(|&axis| (shape[axis], usize::MAX - axis));
        let mut parts = 1;
        if let Some(axis) = longest {
            let granule = if axis + 1 == shape.len() { 2 } else { 1 };
            parts = shape[axis].div_ceil(granule).clamp(1, self.tiles);
            cuts[axis] = AxisCut { parts, granule };
        }
        let tiles = (0..parts as u16).map(LogicalTile).collect();
        Distribution {
            cuts,
            replicas: 1,
            tiles,
        }
    }

    fn add_value(
        &mut self,
        name: String,
        ty: &TensorType,
        distribution: Distribution,
        layout: Layout,
        memory: MemoryClass,
        role: Role,
    ) -> Value {
        let number = self.program.values.len();
        self.program.values.push(ValueData {
            name: format!("{name}.{number}"),
            element: ty.element,
            shape: ty.shape.clone(),
            distribution,
            layout,
            memory,
            align_bytes: 16,
            tail_bytes: 8,
            padding: Padding::Zero,
            role,
            origin: None,
        })
    }

    /// A tensor value with this distribution and layout: placed by the host or the loader if
    /// nothing holds it yet, moved by an exchange otherwise.
    fn bring(
        &mut self,
        value: TensorValue,
        at: Inst,
        distribution: Distribution,
        layout: Layout,
        memory: MemoryClass,
    ) -> Result<Value, PlanError> {
        let ty = self.function.ty(value).clone();
        let name = self.name_of(value);
        match self.homes.get(&value).cloned() {
            Some(Home::Param(index)) => {
                let port = &self.function.params[index];
                let role = Role::Input(port.name.clone());
                let placed = self.add_value(name, &ty, distribution, layout, memory, role);
                let host: HostType = port.host;
                let binding = Binding {
                    value: placed,
                    host,
                    shape: ty.shape.clone(),
                };
                self.program.inputs.insert(port.name.clone(), binding);
                self.homes.insert(value, Home::Tiles(placed));
                return Ok(placed);
            }
            Some(Home::Lazy(inst)) => {
                if let Some(program) = self.weight_program(value, inst) {
                    let stored = format!("{name}.{}", self.program.weights.len());
                    let role = Role::Weight(stored.clone());
                    let placed = self.add_value(name, &ty, distribution, layout, memory, role);
                    self.program.weights.insert(stored, program);
                    return Ok(placed);
                }
            }
            _ => {}
        }
        // Through views to the value that is on tiles, or that the host or a kernel puts there.
        let mut views: Vec<Inst> = Vec::new();
        let mut root = value;
        while let Some(Home::Lazy(inst)) = self.homes.get(&root)
            && self.is_view(*inst)
        {
            views.push(*inst);
            root = self.function.insts[*inst].operands[0];
        }
        let source = self.materialize(root, at)?;
        let function = self.function;
        let map = move |index: &[u32]| {
            views.iter().fold(Shape::from(index), |index, &view| {
                let data = &function.insts[view];
                let (from, to) = (function.ty(data.operands[0]), function.ty(data.results[0]));
                view_index(&data.op, &index, &to.shape, &from.shape)
            })
        };
        let moved = self.moved(source, name, &ty, (distribution, layout, memory), &map);
        moved.map_err(|message| self.error(at, message))
    }

    /// True for operations that only say where elements stand.
    fn is_view(&self, inst: Inst) -> bool {
        matches!(
            self.function.insts[inst].op,
            Op::Reshape(_) | Op::Transpose(_) | Op::Slice { .. }
        )
    }

    /// A tile value of this type, distribution and layout from another: `map` gives the source's
    /// index of every index of the new value.
    fn moved(
        &mut self,
        source: Value,
        name: String,
        ty: &TensorType,
        place: (Distribution, Layout, MemoryClass),
        map: &dyn Fn(&[u32]) -> Shape,
    ) -> Result<Value, String> {
        let (distribution, layout, memory) = place;
        let data = &self.program.values[source];
        let same = data.shape == ty.shape
            && data.distribution == distribution
            && data.layout == layout
            && data.memory == memory;
        if same {
            return Ok(source);
        }
        let target = self.add_value(
            name.clone(),
            ty,
            distribution,
            layout,
            memory,
            Role::Temporary,
        );
        let (moved, local) =
            transfer(&self.program, source, target, map).map_err(|error| error.to_string())?;
        if !moved.runs.is_empty() {
            let step = Exchange {
                label: name.clone(),
                transfers: vec![moved],
            };
            self.program.steps.push(Step::Exchange(step));
        }
        let mut calls: Vec<Call> = Vec::new();
        let mut groups: IndexMap<(Kernel, [Operand; 2]), Vec<LogicalTile>> = IndexMap::new();
        for (tile, kernel, operands) in local_calls(&local, source, target) {
            groups.entry((kernel, operands)).or_default().push(tile);
        }
        for ((kernel, operands), tiles) in groups {
            let operands = operands.into_iter().collect();
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands,
            });
        }
        if !calls.is_empty() {
            let label = format!("{name} (local)");
            self.program
                .steps
                .push(Step::Compute(Compute { label, calls }));
        }
        Ok(target)
    }

    /// The program of a value that weights and constants alone decide.
    fn weight_program(&self, value: TensorValue, inst: Inst) -> Option<WeightProgram> {
        let mut builder = Builder::new("main");
        let mut module = Module::default();
        let root = self.weight_value(value, inst, &mut builder, &mut module)?;
        builder.result("stored", root);
        module.functions.insert("main".into(), builder.finish());
        Some(WeightProgram { module })
    }

    fn weight_value(
        &self,
        value: TensorValue,
        inst: Inst,
        builder: &mut Builder,
        module: &mut Module,
    ) -> Option<TensorValue> {
        let data = &self.function.insts[inst];
        if let Op::Weight(name) = &data.op {
            module
                .weights
                .insert(name.clone(), self.module.weights.get(name)?.clone());
            return Some(builder.weight(name.clone(), self.function.ty(value).clone()));
        }
        let mut operands = Vec::new();
        for &operand in &data.operands {
            match self.homes.get(&operand)? {
                Home::Lazy(inner) => {
                    operands.push(self.weight_value(operand, *inner, builder, module)?);
                }
                _ => return None,
            }
        }
        builder.op(data.op.clone(), &operands).ok()
    }

    fn kernel_cycles(&mut self, kernel: Kernel) -> Option<u64> {
        if let Some(&known) = self.costs.get(&kernel) {
            return known;
        }
        let cycles = self.catalog.cost(&kernel).ok().map(|cost| cost.cycles);
        self.costs.insert(kernel, cycles);
        cycles
    }

    fn dot(&mut self, inst: Inst) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let (x, w) = (data.operands[0], data.operands[1]);
        let (a, b) = (self.function.ty(x).clone(), self.function.ty(w).clone());
        let Op::Dot {
            lhs_batch,
            rhs_batch,
            lhs_contract,
            rhs_contract,
            result,
            ..
        } = &data.op
        else {
            return Err(self.error(inst, "is no product"));
        };
        if *result != a.element || !matches!(a.element, ScalarType::F32 | ScalarType::F16) {
            let message = format!("a product of {} into {result} has no plan yet", a.element);
            return Err(self.error(inst, message));
        }
        let (Some(left), Some(right)) = (
            Sides::of(&a.shape, lhs_batch, lhs_contract),
            Sides::of(&b.shape, rhs_batch, rhs_contract),
        ) else {
            let message = format!(
                "a product of {a} and {b} has no plan yet: one contracted axis, and one free axis \
                 longer than 1 on each side, have"
            );
            return Err(self.error(inst, message));
        };
        let batch: Vec<u32> = lhs_batch
            .iter()
            .map(|&axis| a.shape[axis as usize])
            .collect();
        let copies: u32 = batch.iter().product();
        let (m, n) = (a.shape[left.free], b.shape[right.free]);
        let k = a.shape[left.contract];
        if m == 0 || k == 0 || n == 0 || copies == 0 {
            return Err(self.error(inst, "a product with an empty operand has no plan"));
        }
        if copies > self.tiles {
            let message = format!(
                "{copies} products at once on {} tiles have no plan yet",
                self.tiles
            );
            return Err(self.error(inst, message));
        }
        let grid = self.choose_grid(inst, a.element, (m, n, k), self.tiles / copies)?;
        let panel = Dot::input_panel(a.element);

        // Coordinates of the tile grid: batch axes, rows, columns, shares.
        let (rows, columns, shares) = (batch.len(), batch.len() + 1, batch.len() + 2);
        let mut cuts: Vec<AxisCut> = batch
            .iter()
            .map(|&extent| AxisCut {
                parts: extent,
                granule: 1,
            })
            .collect();
        cuts.push(AxisCut {
            parts: grid.rows,
            granule: 1,
        });
        cuts.push(AxisCut {
            parts: grid.columns,
            granule: 16,
        });
        cuts.push(AxisCut {
            parts: grid.shares,
            granule: panel,
        });
        let roles = |rank: usize, batch: &[u8], sides: &Sides, free: usize| {
            let mut roles = vec![None; rank];
            for (coordinate, &axis) in batch.iter().enumerate() {
                roles[axis as usize] = Some(coordinate);
            }
            roles[sides.free] = Some(free);
            roles[sides.contract] = Some(shares);
            roles
        };
        let lhs = grid_distribution(&cuts, &roles(a.rank(), lhs_batch, &left, rows));
        let rhs = grid_distribution(&cuts, &roles(b.rank(), rhs_batch, &right, columns));
        let lhs_layout = Layout {
            kind: LayoutKind::AmpLhs { panel },
            order: innermost(a.rank(), left.free, left.contract),
        };
        let rhs_layout = Layout {
            kind: LayoutKind::AmpRhs { panel },
            order: innermost(b.rank(), right.free, right.contract),
        };
        let xs = self.bring(x, inst, lhs, lhs_layout, MemoryClass::Any)?;
        let ws = self.bring(w, inst, rhs, rhs_layout, MemoryClass::Interleaved)?;

        // Axes of the result: batch, free axes of the left, free axes of the right operand. Shares
        // of the contraction are a leading axis of partial sums.
        let ty = self.function.ty(data.results[0]).clone();
        let row_axis = batch.len() + left.free_position;
        let column_axis = batch.len() + left.free_count + right.free_position;
        let mut result_roles: Vec<Option<usize>> = vec![None; ty.rank()];
        for (coordinate, role) in result_roles.iter_mut().take(batch.len()).enumerate() {
            *role = Some(coordinate);
        }
        result_roles[row_axis] = Some(rows);
        result_roles[column_axis] = Some(columns);
        let name = self.name_of(data.results[0]);
        let split = grid.shares > 1;
        let (partial_ty, partial_roles, lead) = if split {
            let mut shape: Shape = smallvec![grid.shares];
            shape.extend_from_slice(&ty.shape);
            let mut roles = vec![Some(shares)];
            roles.extend(result_roles.iter().copied());
            (
                TensorType {
                    element: ty.element,
                    shape,
                },
                roles,
                1,
            )
        } else {
            (ty.clone(), result_roles.clone(), 0)
        };
        let mut partial_cuts = cuts.clone();
        partial_cuts[shares].granule = 1;
        let partial = self.add_value(
            name.clone(),
            &partial_ty,
            grid_distribution(&partial_cuts, &partial_roles),
            Layout {
                kind: LayoutKind::AmpLhs { panel: 16 },
                order: innermost(partial_ty.rank(), row_axis + lead, column_axis + lead),
            },
            MemoryClass::Interleaved,
            Role::Temporary,
        );
        let mut groups: IndexMap<(u32, u32, u32), Vec<LogicalTile>> = IndexMap::new();
        let extent = |cut: AxisCut, extent: u32, index: u32| {
            let (low, high) = cut.interval(extent, index);
            high - low
        };
        for tile in 0..copies * grid.rows * grid.columns * grid.shares {
            let share = tile % grid.shares;
            let column = tile / grid.shares % grid.columns;
            let row = tile / (grid.shares * grid.columns) % grid.rows;
            let shape = (
                extent(cuts[rows], m, row),
                extent(cuts[columns], n, column),
                extent(cuts[shares], k, share),
            );
            if shape.0 > 0 && shape.1 > 0 && shape.2 > 0 {
                groups
                    .entry(shape)
                    .or_default()
                    .push(LogicalTile(tile as u16));
            }
        }
        let calls = groups
            .into_iter()
            .map(|((m, n, k), tiles)| Call {
                tiles: TileSet::from_tiles(tiles),
                kernel: Kernel::Dot(Dot {
                    m,
                    n,
                    k,
                    input: a.element,
                    partials: a.element,
                    accumulate: false,
                }),
                operands: [xs, ws, partial]
                    .into_iter()
                    .map(|value| Operand {
                        value,
                        offset_bytes: 0,
                    })
                    .collect(),
            })
            .collect();
        self.program.steps.push(Step::Compute(Compute {
            label: name.clone(),
            calls,
        }));
        if !split {
            return Ok(partial);
        }
        // Few enough rows and columns each that all tiles join in the sum.
        let parts_n = n.div_ceil(16).min(self.tiles / copies);
        let mut sum_cuts = cuts;
        sum_cuts[columns].parts = parts_n;
        sum_cuts[rows].parts = (self.tiles / (copies * parts_n)).clamp(1, m);
        sum_cuts.truncate(shares);
        let place = (sum_cuts, result_roles, row_axis, column_axis);
        self.join_shares(inst, partial, &name, &ty, grid.shares, place)
    }

    /// Sums partial results: every tile gets all shares of a small block.
    fn join_shares(
        &mut self,
        inst: Inst,
        partial: Value,
        name: &str,
        ty: &TensorType,
        shares: u32,
        (cuts, roles, row_axis, column_axis): (Vec<AxisCut>, Vec<Option<usize>>, usize, usize),
    ) -> Result<Value, PlanError> {
        let element = ty.element;
        let pitch = 8 / element.bytes();
        let mut shared_roles = vec![None];
        shared_roles.extend(roles.iter().copied());
        let mut shape: Shape = smallvec![shares];
        shape.extend_from_slice(&ty.shape);
        let shared_ty = TensorType { element, shape };
        let layout = |lead: usize| Layout {
            kind: LayoutKind::Row { pitch },
            order: innermost(ty.rank() + lead, row_axis + lead, column_axis + lead),
        };
        let gathered = self
            .moved(
                partial,
                format!("{name}.shares"),
                &shared_ty,
                (
                    grid_distribution(&cuts, &shared_roles),
                    layout(1),
                    MemoryClass::Any,
                ),
                &|index| Shape::from(index),
            )
            .map_err(|message| self.error(inst, message))?;
        let sum = self.add_value(
            format!("{name}.sum"),
            ty,
            grid_distribution(&cuts, &roles),
            layout(0),
            MemoryClass::Any,
            Role::Temporary,
        );
        // A pass adds up to six shares and what the passes before it gave.
        let blocks = self.blocks(sum);
        let mut next = 0;
        while next < shares {
            let first = next == 0;
            let here = (shares - next).min(if first { 7 } else { 6 });
            let mut calls = Vec::new();
            for (extents, tiles) in &blocks {
                let elements = self.program.values[sum].layout.elements(extents) as u32;
                let mut inputs: Vec<Operand> = (next..next + here)
                    .map(|share| Operand {
                        value: gathered,
                        offset_bytes: share * elements * element.bytes(),
                    })
                    .collect();
                if !first {
                    inputs.push(Operand {
                        value: sum,
                        offset_bytes: 0,
                    });
                }
                let access = Access {
                    element,
                    strides: smallvec![1],
                };
                let mut nodes = vec![Expr::Input(0)];
                for input in 1..inputs.len() as u16 {
                    let sum = nodes.len() as u16 - 1;
                    nodes.push(Expr::Input(input));
                    nodes.push(Expr::Binary(ipucc_tensor::BinaryOp::Add, sum, sum + 1));
                }
                let kernel = Kernel::Map(Map {
                    extents: smallvec![elements],
                    inputs: inputs.iter().map(|_| access.clone()).collect(),
                    output: access,
                    nodes,
                });
                inputs.push(Operand {
                    value: sum,
                    offset_bytes: 0,
                });
                calls.push(Call {
                    tiles: TileSet::from_tiles(tiles.iter().copied()),
                    kernel,
                    operands: inputs.into_iter().collect(),
                });
            }
            let label = format!("{name} (sum of shares)");
            self.program
                .steps
                .push(Step::Compute(Compute { label, calls }));
            next += here;
        }
        Ok(sum)
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

    fn choose_grid(
        &mut self,
        inst: Inst,
        element: ScalarType,
        (m, n, k): (u32, u32, u32),
        tiles: u32,
    ) -> Result<Grid, PlanError> {
        let panel = Dot::input_panel(element);
        let (panels_n, panels_k) = (n.div_ceil(16), k.div_ceil(panel));
        let mut plans: Vec<(u64, Grid)> = Vec::new();
        for rows in distinct_parts(m, tiles) {
            for shares in distinct_parts(panels_k, tiles / rows) {
                for columns in distinct_parts(panels_n, tiles / (rows * shares)) {
                    let grid = Grid {
                        rows,
                        columns,
                        shares,
                    };
                    let (ml, nl, kl) = (
                        m.div_ceil(rows),
                        panels_n.div_ceil(columns) * 16,
                        panels_k.div_ceil(shares) * panel,
                    );
                    let dot = Dot {
                        m: ml,
                        n: nl.min(n),
                        k: kl.min(k),
                        input: element,
                        partials: element,
                        accumulate: false,
                    };
                    // Not worth asking for: the arithmetic alone is dearer than a whole plan.
                    let floor = u64::from(panels_n.div_ceil(columns))
                        * u64::from(panels_k.div_ceil(shares))
                        * (50 + 24 * u64::from(ml.div_ceil(6)));
                    if plans.iter().any(|(cost, _)| *cost < floor) {
                        continue;
                    }
                    let Some(kernel) = self.kernel_cycles(Kernel::Dot(dot)) else {
                        continue;
                    };
                    let bytes = element.bytes();
                    let words = |elements: u32| u64::from(elements) * u64::from(bytes) / 4;
                    let operands = self.exchange.cycles(PhaseLoad {
                        receive_words: words(ml * kl),
                        send_words: words(m * k / self.tiles.min(m * k / 16).max(1)),
                        messages: u64::from(ml * kl.div_ceil(panel)),
                    });
                    let mut cost = kernel + operands;
                    if shares > 1 {
                        let share = (ml * nl).div_ceil(shares) + 16;
                        cost += self.exchange.cycles(PhaseLoad {
                            receive_words: words(share * (shares - 1)),
                            send_words: words(ml * nl),
                            messages: u64::from(share / 16 * shares),
                        });
                        cost += 100 + u64::from(share.div_ceil(12)) * u64::from(shares * 2) * 6;
                    }
                    plans.push((cost, grid));
                }
            }
        }
        plans.sort_by_key(|(cost, grid)| {
            (
                *cost,
                grid.shares,
                std::cmp::Reverse(grid.rows * grid.columns),
            )
        });
        let Some(&(cost, grid)) = plans.first() else {
            let message = format!("no grid of {} tiles suits {m} x {k} x {n}", self.tiles);
            return Err(self.error(inst, message));
        };
        let describe = |(cost, grid): &(u64, Grid)| {
            format!(
                "{} rows x {} columns x {} shares on {} tiles, {cost} cycles",
                grid.rows,
                grid.columns,
                grid.shares,
                grid.rows * grid.columns * grid.shares
            )
        };
        let name = self.name_of(self.function.insts[inst].results[0]);
        self.log.push(PlanEntry {
            operation: format!("dot %{name}: {m} x {k} x {n} {element}"),
            chosen: describe(&(cost, grid)),
            second: plans.get(1).map(describe),
        });
        Ok(grid)
    }

    /// One fused kernel for an elementwise value.
    fn elementwise(&mut self, value: TensorValue, inst: Inst) -> Result<Value, PlanError> {
        let ty = self.function.ty(value).clone();
        // The leader decides where: the first operand of the full shape that is on tiles.
        let mut leaves = Vec::new();
        self.leaves(value, &mut leaves);
        let leader = leaves.iter().find_map(|&leaf| match self.homes.get(&leaf) {
            Some(Home::Tiles(found)) if self.function.ty(leaf).shape == ty.shape => Some(*found),
            _ => None,
        });
        let (distribution, layout, memory) = match leader {
            Some(leader) => {
                let data = &self.program.values[leader];
                (data.distribution.clone(), data.layout.clone(), data.memory)
            }
            None => (
                self.spread(&ty.shape),
                row_layout(ty.rank()),
                MemoryClass::Any,
            ),
        };
        let mut fused = Fused {
            nodes: Vec::new(),
            inputs: Vec::new(),
            seen: IndexMap::new(),
        };
        let place = (&distribution, &layout, memory);
        self.fuse(value, inst, &ty, place, &mut fused, true)?;
        let name = self.name_of(value);
        let result = self.add_value(
            name.clone(),
            &ty,
            distribution,
            layout.clone(),
            memory,
            Role::Temporary,
        );
        let mut calls = Vec::new();
        for (extents, tiles) in self.blocks(result) {
            let dims = walk(&layout, &extents);
            let full = contiguous(&dims);
            let mut inputs: SmallVec<[Access; 4]> = SmallVec::new();
            for (input, axes) in &fused.inputs {
                let data = &self.program.values[*input];
                let strides = match axes {
                    None => full.clone(),
                    Some(axes) => {
                        let local = data.distribution.shard_on(&data.shape, tiles[0]);
                        let local = local.map(|shard| shard.extents()).unwrap_or_default();
                        broadcast_strides(&dims, axes, &local, &data.layout)
                    }
                };
                inputs.push(Access {
                    element: data.element,
                    strides,
                });
            }
            let kernel = Kernel::Map(Map {
                extents: dims.iter().map(|dim| dim.extent).collect(),
                inputs,
                output: Access {
                    element: ty.element,
                    strides: full,
                },
                nodes: fused.nodes.clone(),
            });
            if let Err(error) = self.catalog.cost(&kernel) {
                return Err(self.error(inst, error.to_string()));
            }
            let mut operands: SmallVec<[Operand; 4]> = fused
                .inputs
                .iter()
                .map(|(value, _)| Operand {
                    value: *value,
                    offset_bytes: 0,
                })
                .collect();
            operands.push(Operand {
                value: result,
                offset_bytes: 0,
            });
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands,
            });
        }
        self.program
            .steps
            .push(Step::Compute(Compute { label: name, calls }));
        Ok(result)
    }

    /// A kernel that works row by row over the last axis: whole rows stand on a tile.
    fn rows(&mut self, inst: Inst) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let result = data.results[0];
        let ty = self.function.ty(result).clone();
        let rank = ty.rank();
        let columns = ty.shape[rank - 1];
        // Outer axes are cut until every tile has rows, the outermost first.
        let mut cuts: SmallVec<[AxisCut; 4]> = SmallVec::from_elem(AxisCut::WHOLE, rank);
        let mut left = self.tiles;
        for axis in 0..rank - 1 {
            let parts = ty.shape[axis].clamp(1, left);
            cuts[axis] = AxisCut { parts, granule: 1 };
            left /= parts;
        }
        let points: u32 = cuts.iter().map(|cut| cut.parts).product();
        let distribution = Distribution {
            cuts,
            replicas: 1,
            tiles: (0..points as u16).map(LogicalTile).collect(),
        };
        let layout = row_layout(rank);
        let place = (&distribution, &layout, MemoryClass::Any);
        let mut inputs = vec![self.bring(
            data.operands[0],
            inst,
            distribution.clone(),
            layout.clone(),
            MemoryClass::Any,
        )?];
        for &operand in &data.operands[1..] {
            inputs.push(self.spread_operand(operand, inst, &[rank - 1], &ty, place)?);
        }
        let name = self.name_of(result);
        let made = self.add_value(
            name.clone(),
            &ty,
            distribution.clone(),
            layout.clone(),
            MemoryClass::Any,
            Role::Temporary,
        );
        let mut calls = Vec::new();
        for (extents, tiles) in self.blocks(made) {
            let rows = ipucc_tile::kernel::Rows {
                rows: extents[..rank - 1].iter().product(),
                columns,
                pitch: columns.next_multiple_of(2),
                element: ty.element,
            };
            let kernel = match &data.op {
                Op::Softmax(_) => Kernel::Softmax(rows),
                Op::LayerNorm { epsilon } => Kernel::LayerNorm(rows, *epsilon),
                Op::RmsNorm { epsilon } => Kernel::RmsNorm(rows, *epsilon),
                _ => return Err(self.error(inst, "is no operation on rows")),
            };
            if let Err(error) = self.catalog.cost(&kernel) {
                return Err(self.error(inst, error.to_string()));
            }
            let operands = inputs
                .iter()
                .chain([&made])
                .map(|&value| Operand {
                    value,
                    offset_bytes: 0,
                })
                .collect();
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands,
            });
        }
        self.program
            .steps
            .push(Step::Compute(Compute { label: name, calls }));
        Ok(made)
    }

    /// Operands of a lazy value that are not lazy elementwise operations themselves.
    fn leaves(&self, value: TensorValue, out: &mut Vec<TensorValue>) {
        match self.homes.get(&value) {
            Some(Home::Lazy(inst)) if !self.is_view(*inst) => {
                for &operand in &self.function.insts[*inst].operands {
                    self.leaves(operand, out);
                }
            }
            _ => out.push(value),
        }
    }

    /// Adds the nodes of a value to a fused expression; returns the node's number.
    fn fuse(
        &mut self,
        value: TensorValue,
        at: Inst,
        ty: &TensorType,
        place: (&Distribution, &Layout, MemoryClass),
        fused: &mut Fused,
        root: bool,
    ) -> Result<u16, PlanError> {
        if let Some(&known) = fused.seen.get(&value) {
            return Ok(known);
        }
        let home = self.homes.get(&value).cloned();
        let node = match home {
            Some(Home::Lazy(inst)) => {
                let data = self.function.insts[inst].clone();
                match &data.op {
                    Op::Constant {
                        element,
                        data: bytes,
                        ..
                    } if bytes.len() == element.bytes() as usize => {
                        let mut word = [0; 4];
                        word[..bytes.len()].copy_from_slice(bytes);
                        fused.push(Expr::Constant(u32::from_le_bytes(word), *element))
                    }
                    Op::Broadcast { axes, .. } => {
                        let operand = data.operands[0];
                        let splat = match self.homes.get(&operand) {
                            Some(Home::Lazy(inner)) => match &self.function.insts[*inner].op {
                                Op::Constant { element, data, .. }
                                    if data.len() == element.bytes() as usize =>
                                {
                                    let mut word = [0; 4];
                                    word[..data.len()].copy_from_slice(data);
                                    Some(Expr::Constant(u32::from_le_bytes(word), *element))
                                }
                                _ => None,
                            },
                            _ => None,
                        };
                        match splat {
                            Some(constant) => fused.push(constant),
                            None => {
                                let axes: Vec<usize> = axes.iter().map(|&a| a as usize).collect();
                                let input = self.spread_operand(operand, at, &axes, ty, place)?;
                                fused.input(input, Some(axes))
                            }
                        }
                    }
                    Op::Weight(_)
                    | Op::Constant { .. }
                    | Op::Reshape(_)
                    | Op::Transpose(_)
                    | Op::Slice { .. } => {
                        let (distribution, layout, memory) = place;
                        let input =
                            self.bring(value, at, distribution.clone(), layout.clone(), memory)?;
                        fused.input(input, None)
                    }
                    op => {
                        let mut args = Vec::new();
                        for &operand in &data.operands {
                            args.push(self.fuse(operand, inst, ty, place, fused, false)?);
                        }
                        let expr = match op {
                            Op::Unary(op) => Expr::Unary(*op, args[0]),
                            Op::Binary(op) => Expr::Binary(*op, args[0], args[1]),
                            Op::Compare(op) => Expr::Compare(*op, args[0], args[1]),
                            Op::Select => Expr::Select(args[0], args[1], args[2]),
                            Op::Gelu { tanh } => Expr::Gelu(*tanh, args[0]),
                            Op::Convert(to) => Expr::Convert(*to, args[0]),
                            _ => return Err(self.error(inst, "is not elementwise")),
                        };
                        fused.push(expr)
                    }
                }
            }
            _ => {
                let (distribution, layout, memory) = place;
                let input = self.bring(value, at, distribution.clone(), layout.clone(), memory)?;
                fused.input(input, None)
            }
        };
        if !root {
            fused.seen.insert(value, node);
        }
        Ok(node)
    }

    /// An operand that is broadcast into `ty` along the axes that `axes` does not name, on the
    /// tiles of the result.
    fn spread_operand(
        &mut self,
        operand: TensorValue,
        at: Inst,
        axes: &[usize],
        ty: &TensorType,
        place: (&Distribution, &Layout, MemoryClass),
    ) -> Result<Value, PlanError> {
        let (distribution, layout, _) = place;
        let own = self.function.ty(operand).clone();
        let cuts: SmallVec<[AxisCut; 4]> = axes
            .iter()
            .zip(&own.shape)
            .map(|(&axis, &extent)| {
                if extent == ty.shape[axis] {
                    distribution.cuts[axis]
                } else {
                    AxisCut::WHOLE
                }
            })
            .collect();
        let mut tiles: Vec<Vec<LogicalTile>> =
            vec![Vec::new(); cuts.iter().map(|cut| cut.parts as usize).product()];
        let replicas = distribution.replicas as usize;
        for point in 0..distribution.points() {
            // Coordinates of the result's grid point, then of the operand's.
            let mut rest = point;
            let mut coordinates = vec![0usize; distribution.cuts.len()];
            for axis in (0..coordinates.len()).rev() {
                let parts = distribution.cuts[axis].parts as usize;
                coordinates[axis] = rest % parts;
                rest /= parts;
            }
            let slot = axes.iter().zip(&cuts).fold(0, |sum, (&axis, cut)| {
                let parts = cut.parts as usize;
                sum * parts + if parts == 1 { 0 } else { coordinates[axis] }
            });
            tiles[slot].extend(&distribution.tiles[point * replicas..(point + 1) * replicas]);
        }
        let copies = tiles.first().map_or(1, Vec::len);
        let own_distribution = Distribution {
            cuts,
            replicas: copies as u32,
            tiles: tiles.into_iter().flatten().collect(),
        };
        // Rows are padded as the result's panels are, so that both walk the same columns.
        let pitch = match layout.kind {
            LayoutKind::Row { pitch } => pitch,
            LayoutKind::AmpLhs { panel } => panel,
            LayoutKind::AmpRhs { .. } => 16,
        };
        let own_layout = Layout {
            kind: LayoutKind::Row { pitch },
            order: (0..own.rank() as u8).collect(),
        };
        self.bring(operand, at, own_distribution, own_layout, MemoryClass::Any)
    }
}

struct Fused {
    nodes: Vec<Expr>,
    /// Inputs with, for broadcast ones, the result axes of their own axes.
    inputs: Vec<(Value, Option<Vec<usize>>)>,
    seen: IndexMap<TensorValue, u16>,
}

impl Fused {
    fn push(&mut self, node: Expr) -> u16 {
        self.nodes.push(node);
        self.nodes.len() as u16 - 1
    }

    fn input(&mut self, value: Value, axes: Option<Vec<usize>>) -> u16 {
        let known = self
            .inputs
            .iter()
            .position(|(v, a)| *v == value && *a == axes);
        let number = known.unwrap_or_else(|| {
            self.inputs.push((value, axes));
            self.inputs.len() - 1
        });
        self.push(Expr::Input(number as u16))
    }
}

/// One loop over a shard's buffer: `step` elements of a tensor axis per iteration.
struct WalkDim {
    axis: usize,
    step: u32,
    extent: u32,
}

/// The loops that walk a shard's buffer in memory order, padding included.
fn walk(layout: &Layout, extents: &[u32]) -> Vec<WalkDim> {
    let order: Vec<usize> = layout.order.iter().map(|&axis| axis as usize).collect();
    let rank = order.len();
    let plain = |axis: usize| WalkDim {
        axis,
        step: 1,
        extent: extents[axis],
    };
    match layout.kind {
        LayoutKind::Row { pitch } => order
            .iter()
            .enumerate()
            .map(|(position, &axis)| {
                let mut dim = plain(axis);
                if position + 1 == rank {
                    dim.extent = dim.extent.next_multiple_of(pitch);
                }
                dim
            })
            .collect(),
        LayoutKind::AmpLhs { panel } => {
            let (m, k) = (order[rank - 2], order[rank - 1]);
            let mut dims: Vec<WalkDim> =
                order[..rank - 2].iter().map(|&axis| plain(axis)).collect();
            dims.push(WalkDim {
                axis: k,
                step: panel,
                extent: extents[k].div_ceil(panel),
            });
            dims.push(plain(m));
            dims.push(WalkDim {
                axis: k,
                step: 1,
                extent: panel,
            });
            dims
        }
        LayoutKind::AmpRhs { panel } => {
            let (n, k) = (order[rank - 2], order[rank - 1]);
            let mut dims: Vec<WalkDim> =
                order[..rank - 2].iter().map(|&axis| plain(axis)).collect();
            dims.push(WalkDim {
                axis: n,
                step: 16,
                extent: extents[n].div_ceil(16),
            });
            dims.push(WalkDim {
                axis: k,
                step: panel,
                extent: extents[k].div_ceil(panel),
            });
            dims.push(WalkDim {
                axis: n,
                step: 1,
                extent: 16,
            });
            dims.push(WalkDim {
                axis: k,
                step: 1,
                extent: panel,
            });
            dims
        }
    }
}

/// Strides of the buffer itself.
fn contiguous(dims: &[WalkDim]) -> SmallVec<[u32; 4]> {
    let mut strides: SmallVec<[u32; 4]> = SmallVec::from_elem(1, dims.len());
    for index in (0..dims.len().saturating_sub(1)).rev() {
        strides[index] = strides[index + 1] * dims[index + 1].extent;
    }
    strides
}

/// Strides of a row-major operand whose own axis `i` is result axis `axes[i]`.
fn broadcast_strides(
    dims: &[WalkDim],
    axes: &[usize],
    local: &[u32],
    layout: &Layout,
) -> SmallVec<[u32; 4]> {
    let pitch = if let LayoutKind::Row { pitch } = layout.kind {
        pitch
    } else {
        1
    };
    let rank = local.len();
    let mut own = vec![1u32; rank];
    for index in (0..rank.saturating_sub(1)).rev() {
        let extent = local[index + 1];
        let extent = if index + 2 == rank {
            extent.next_multiple_of(pitch)
        } else {
            extent
        };
        own[index] = own[index + 1] * extent;
    }
    dims.iter()
        .map(|dim| match axes.iter().position(|&axis| axis == dim.axis) {
            Some(index) if local[index] > 1 => own[index] * dim.step,
            _ => 0,
        })
        .collect()
}

fn row_layout(rank: usize) -> Layout {
    Layout {
        kind: LayoutKind::Row { pitch: 2 },
        order: (0..rank as u8).collect(),
    }
}

/// Numbers of parts that give different largest parts of `extent`, at most `most`.
fn distinct_parts(extent: u32, most: u32) -> Vec<u32> {
    let mut parts = Vec::new();
    let mut last = u32::MAX;
    for count in 1..=most.min(extent) {
        let largest = extent.div_ceil(count);
        if largest < last {
            parts.push(count);
            last = largest;
        }
    }
    parts
}

/// The operand's index of an index of a view's result.
fn view_index(op: &Op, index: &[u32], shape: &[u32], from: &[u32]) -> Shape {
    match op {
        Op::Transpose(permutation) => {
            let mut out = Shape::from_elem(0, from.len());
            for (to, &axis) in permutation.iter().enumerate() {
                out[axis as usize] = index[to];
            }
            out
        }
        Op::Slice {
            starts, strides, ..
        } => index
            .iter()
            .zip(starts.iter().zip(strides))
            .map(|(&i, (&start, &stride))| {
                (i64::from(start) + i64::from(i) * i64::from(stride)) as u32
            })
            .collect(),
        _ => {
            // A reshape keeps the row-major position.
            let mut flat = index
                .iter()
                .zip(shape)
                .fold(0u64, |sum, (&i, &e)| sum * u64::from(e) + u64::from(i));
            let mut out = Shape::from_elem(0, from.len());
            for axis in (0..from.len()).rev() {
                out[axis] = (flat % u64::from(from[axis])) as u32;
                flat /= u64::from(from[axis]);
            }
            out
        }
    }
}

/// What the axes of one operand of a product are.
struct Sides {
    /// The free axis that is longer than 1 (or the last one).
    free: usize,
    /// Its position among the free axes.
    free_position: usize,
    /// Number of free axes.
    free_count: usize,
    /// The contracted axis.
    contract: usize,
}

impl Sides {
    /// `None` unless one axis is contracted and at most one free axis is longer than 1.
    fn of(shape: &[u32], batch: &[u8], contract: &[u8]) -> Option<Sides> {
        let &[contract] = contract else { return None };
        let free: Vec<usize> = (0..shape.len())
            .filter(|&axis| axis != contract as usize && !batch.contains(&(axis as u8)))
            .collect();
        let long: Vec<usize> = (0..free.len()).filter(|&i| shape[free[i]] > 1).collect();
        let position = match long[..] {
            [] => free.len().checked_sub(1)?,
            [one] => one,
            _ => return None,
        };
        Some(Sides {
            free: free[position],
            free_position: position,
            free_count: free.len(),
            contract: contract as usize,
        })
    }
}

/// The distribution of a value whose axes follow coordinates of a grid of tiles: `cuts` by
/// coordinate, `roles` the coordinate of each axis (`None`: not cut). Coordinates that no axis
/// follows make replicas. Tiles are numbered row-major over all coordinates.
fn grid_distribution(cuts: &[AxisCut], roles: &[Option<usize>]) -> Distribution {
    let own: SmallVec<[AxisCut; 4]> = roles
        .iter()
        .map(|role| role.map_or(AxisCut::WHOLE, |role| cuts[role]))
        .collect();
    let missing: Vec<usize> = (0..cuts.len())
        .filter(|c| !roles.contains(&Some(*c)))
        .collect();
    let replicas: u32 = missing
        .iter()
        .map(|&coordinate| cuts[coordinate].parts)
        .product();
    let points: u32 = own.iter().map(|cut| cut.parts).product();
    let mut tiles = Vec::with_capacity((points * replicas) as usize);
    let mut coordinates = vec![0u32; cuts.len()];
    for point in 0..points {
        let mut rest = point;
        for (axis, role) in roles.iter().enumerate().rev() {
            let parts = own[axis].parts;
            if let Some(role) = role {
                coordinates[*role] = rest % parts;
            }
            rest /= parts;
        }
        for replica in 0..replicas {
            let mut rest = replica;
            for &coordinate in missing.iter().rev() {
                coordinates[coordinate] = rest % cuts[coordinate].parts;
                rest /= cuts[coordinate].parts;
            }
            let tile = coordinates
                .iter()
                .zip(cuts)
                .fold(0, |sum, (&c, cut)| sum * cut.parts + c);
            tiles.push(LogicalTile(tile as u16));
        }
    }
    Distribution {
        cuts: own,
        replicas,
        tiles,
    }
}

/// An axis order with two axes innermost, the others before them in their order.
fn innermost(rank: usize, outer: usize, inner: usize) -> SmallVec<[u8; 4]> {
    let mut order: SmallVec<[u8; 4]> = (0..rank)
        .filter(|&axis| axis != outer && axis != inner)
        .map(|axis| axis as u8)
        .collect();
    order.push(outer as u8);
    order.push(inner as u8);
    order
}
