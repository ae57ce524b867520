//! Products: the grid of tiles, operands and partial sums.

use super::place::Place;
use super::{Home, PlanEntry, PlanError, Planner, TensorValue};
use indexmap::IndexMap;
use ipucc_chip::{LogicalTile, ScalarType};
use ipucc_tensor::{Inst, Op, TensorType};
use ipucc_tile::cost::PhaseLoad;
use ipucc_tile::kernel::{Access, Dot, Expr, Kernel, Map};
use ipucc_tile::{
    AxisCut, Call, Distribution, Layout, LayoutKind, MemoryClass, Operand, Padding, Role, Shape,
    TileSet, Value,
};
use smallvec::{SmallVec, smallvec};

impl Planner<'_> {
    pub(super) fn kernel_cycles(&mut self, kernel: Kernel) -> Option<u64> {
        if let Some(&known) = self.costs.get(&kernel) {
            return known;
        }
        let cycles = self.catalog.cost(&kernel).ok().map(|cost| cost.cycles);
        self.costs.insert(kernel, cycles);
        cycles
    }

    pub(super) fn dot(&mut self, inst: Inst) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let (x, w) = (data.operands[0], data.operands[1]);
        let (a, b) = (self.function.ty(x).clone(), self.function.ty(w).clone());
        let Op::Dot {
            lhs_batch,
            rhs_batch,
            lhs_contract,
            rhs_contract,
            accumulate,
            result,
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
        // Products of one batch are dealt to groups of tiles; a group may have several.
        let mut batch_parts = Vec::new();
        let mut left_tiles = self.tiles;
        for &extent in &batch {
            let parts = extent.clamp(1, left_tiles);
            batch_parts.push(parts);
            left_tiles /= parts;
        }
        let copies: u32 = batch_parts.iter().product();
        let partials = match (a.element, accumulate) {
            (ScalarType::F16, ScalarType::F16) => ScalarType::F16,
            _ => ScalarType::F32,
        };
        let (m, n) = (a.shape[left.free], b.shape[right.free]);
        let k = a.shape[left.contract];
        if m == 0 || k == 0 || n == 0 || copies == 0 {
            return Err(self.error(inst, "a product with an empty operand has no plan"));
        }
        if batch.contains(&0) {
            return Err(self.error(inst, "a product with an empty operand has no plan"));
        }
        let grid = self.choose_grid(inst, (x, w), partials, (m, n, k), self.tiles / copies)?;
        let panel = Dot::input_panel(a.element);

        // Coordinates of the tile grid: batch axes, rows, columns, shares.
        let (rows, columns, shares) = (batch.len(), batch.len() + 1, batch.len() + 2);
        let mut cuts: Vec<AxisCut> = batch_parts
            .iter()
            .map(|&parts| AxisCut { parts, granule: 1 })
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
        // The padding of the contraction is multiplied: it must be zero on both sides.
        let lhs = Place {
            distribution: lhs,
            layout: Layout {
                kind: LayoutKind::AmpLhs { panel },
                order: innermost(a.rank(), left.free, left.contract),
            },
            memory: MemoryClass::Any,
            padding: Padding::Zero,
        };
        let rhs = Place {
            distribution: rhs,
            layout: Layout {
                kind: LayoutKind::AmpRhs { panel },
                order: innermost(b.rank(), right.free, right.contract),
            },
            memory: MemoryClass::Interleaved,
            padding: Padding::Zero,
        };
        let xs = self.bring(x, inst, lhs)?;
        let ws = self.bring(w, inst, rhs)?;

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
                    element: partials,
                    shape,
                },
                roles,
                1,
            )
        } else {
            (ty.with_element(partials), result_roles.clone(), 0)
        };
        let mut partial_cuts = cuts.clone();
        partial_cuts[shares].granule = 1;
        let partial = self.add_value(
            name.clone(),
            &partial_ty,
            Place {
                distribution: grid_distribution(&partial_cuts, &partial_roles),
                layout: Layout {
                    kind: LayoutKind::AmpLhs {
                        panel: Dot::result_panel(a.element, partials),
                    },
                    order: innermost(partial_ty.rank(), row_axis + lead, column_axis + lead),
                },
                memory: MemoryClass::Interleaved,
                padding: Padding::Anything,
            },
            Role::Temporary,
        );
        let mut groups: IndexMap<Shape, Vec<LogicalTile>> = IndexMap::new();
        let extents_of: Vec<u32> = batch.iter().copied().chain([m, n, k]).collect();
        for tile in 0..copies * grid.rows * grid.columns * grid.shares {
            // Extents of the tile's part of every coordinate.
            let mut rest = tile;
            let mut shape = Shape::from_elem(0, cuts.len());
            for coordinate in (0..cuts.len()).rev() {
                let (low, high) = cuts[coordinate]
                    .interval(extents_of[coordinate], rest % cuts[coordinate].parts);
                shape[coordinate] = high - low;
                rest /= cuts[coordinate].parts;
            }
            if shape.iter().all(|&extent| extent > 0) {
                groups
                    .entry(shape)
                    .or_default()
                    .push(LogicalTile(tile as u16));
            }
        }
        let mut calls = Vec::new();
        for (shape, tiles) in groups {
            let (m, n, k) = (shape[rows], shape[columns], shape[shares]);
            let local = &shape[..batch.len()];
            // Matrices of a batch follow one another in every operand, batch axes in the order of
            // the operand's axes.
            let bytes = |value: Value, extents: [u32; 2]| {
                let data = &self.program.values[value];
                let matrix = Layout {
                    kind: data.layout.kind,
                    order: smallvec![0, 1],
                };
                matrix.elements(&extents) as u32 * data.element.bytes()
            };
            let operands: [(Value, u32, Vec<u8>); 3] = [
                (xs, bytes(xs, [m, k]), lhs_batch.to_vec()),
                (ws, bytes(ws, [n, k]), rhs_batch.to_vec()),
                (
                    partial,
                    bytes(partial, [m, n]),
                    (0..batch.len() as u8).collect(),
                ),
            ];
            for point in 0..local.iter().product::<u32>() {
                let operands = operands.iter().map(|(value, bytes, axes)| {
                    let index = batch_index(point, local, axes);
                    Operand {
                        value: *value,
                        offset_bytes: index * bytes,
                    }
                });
                calls.push(Call {
                    tiles: TileSet::from_tiles(tiles.iter().copied()),
                    kernel: Kernel::Dot(Dot {
                        m,
                        n,
                        k,
                        input: a.element,
                        partials,
                        accumulate: false,
                        scale: 0,
                    }),
                    operands: operands.collect(),
                });
            }
        }
        self.compute(name.clone(), calls);
        if !split && partials == ty.element {
            return Ok(partial);
        }
        if !split {
            let data = &self.program.values[partial];
            let place = Place {
                distribution: data.distribution.clone(),
                layout: data.layout.clone(),
                memory: MemoryClass::Any,
                padding: Padding::Anything,
            };
            let rounded = self.add_value(name.clone(), &ty, place, Role::Temporary);
            self.convert(partial, rounded, &format!("{name} (rounded)"));
            return Ok(rounded);
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
    pub(super) fn join_shares(
        &mut self,
        inst: Inst,
        partial: Value,
        name: &str,
        ty: &TensorType,
        shares: u32,
        (cuts, roles, row_axis, column_axis): (Vec<AxisCut>, Vec<Option<usize>>, usize, usize),
    ) -> Result<Value, PlanError> {
        // Shares are summed in their own type and rounded once.
        let element = self.program.values[partial].element;
        let pitch = 8 / ty.element.bytes().min(element.bytes());
        let mut shared_roles = vec![None];
        shared_roles.extend(roles.iter().copied());
        let mut shape: Shape = smallvec![shares];
        shape.extend_from_slice(&ty.shape);
        let shared_ty = TensorType { element, shape };
        let place = |lead: usize, roles: &[Option<usize>]| Place {
            distribution: grid_distribution(&cuts, roles),
            layout: Layout {
                kind: LayoutKind::Row { pitch },
                order: innermost(ty.rank() + lead, row_axis + lead, column_axis + lead),
            },
            memory: MemoryClass::Any,
            padding: Padding::Anything,
        };
        let gathered = self
            .moved(
                partial,
                format!("{name}.shares"),
                &shared_ty,
                place(1, &shared_roles),
                &|index| Some(Shape::from(index)),
            )
            .map_err(|message| self.error(inst, message))?;
        let sum = self.add_value(format!("{name}.sum"), ty, place(0, &roles), Role::Temporary);
        // A pass adds up to six shares and what the passes before it gave.
        let passes = (shares - 1).div_ceil(6);
        let running = if passes > 1 && element != ty.element {
            let wide = ty.with_element(element);
            let name = format!("{name}.running");
            self.add_value(name, &wide, place(0, &roles), Role::Temporary)
        } else {
            sum
        };
        let blocks = self.blocks(sum);
        let mut next = 0;
        while next < shares {
            let first = next == 0;
            let here = (shares - next).min(if first { 7 } else { 6 });
            let last = next + here == shares;
            let to = if last { sum } else { running };
            let access = |element| Access {
                element,
                strides: smallvec![1],
            };
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
                    inputs.push(running.into());
                }
                let mut nodes = vec![Expr::Input(0)];
                for input in 1..inputs.len() as u16 {
                    let sum = nodes.len() as u16 - 1;
                    nodes.push(Expr::Input(input));
                    nodes.push(Expr::Binary(ipucc_tensor::BinaryOp::Add, sum, sum + 1));
                }
                if last && element != ty.element {
                    nodes.push(Expr::Convert(ty.element, nodes.len() as u16 - 1));
                }
                let kernel = Kernel::Map(Map {
                    extents: smallvec![elements],
                    inputs: inputs.iter().map(|_| access(element)).collect(),
                    output: access(self.program.values[to].element),
                    nodes,
                });
                inputs.push(to.into());
                calls.push(Call {
                    tiles: TileSet::from_tiles(tiles.iter().copied()),
                    kernel,
                    operands: inputs.into_iter().collect(),
                });
            }
            self.compute(format!("{name} (sum of shares)"), calls);
            next += here;
        }
        Ok(sum)
    }

    pub(super) fn choose_grid(
        &mut self,
        inst: Inst,
        (x, w): (TensorValue, TensorValue),
        partials: ScalarType,
        (m, n, k): (u32, u32, u32),
        tiles: u32,
    ) -> Result<Grid, PlanError> {
        let element = self.function.ty(x).element;
        // What the host or the loader puts in place does not move.
        let [left, right] = [x, w].map(|value| {
            let placed = self.fixed.contains(&value);
            u32::from(!placed && !matches!(self.homes.get(&value), Some(Home::Param(_))))
        });
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
                        partials,
                        accumulate: false,
                        scale: 0,
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
                        receive_words: words(left * ml * kl + right * nl * kl),
                        send_words: words(m * k / self.tiles.min(m * k / 16).max(1)),
                        messages: u64::from((left * ml + right * nl) * kl.div_ceil(panel)),
                    });
                    let mut cost = kernel + operands;
                    if shares > 1 {
                        let share = (ml * nl).div_ceil(shares) + 16;
                        let words =
                            |elements: u32| u64::from(elements) * u64::from(partials.bytes()) / 4;
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
}

/// A grid for a product: parts of rows, columns and contraction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grid {
    rows: u32,
    columns: u32,
    shares: u32,
}

/// What the axes of one operand of a product are.
pub(super) struct Sides {
    /// The free axis that is longer than 1 (or the last one).
    pub free: usize,
    /// Its position among the free axes.
    pub free_position: usize,
    /// Number of free axes.
    pub free_count: usize,
    /// The contracted axis.
    pub contract: usize,
}

impl Sides {
    /// `None` unless one axis is contracted and at most one free axis is longer than 1.
    pub fn of(shape: &[u32], batch: &[u8], contract: &[u8]) -> Option<Sides> {
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

/// Position of a matrix in an operand: `point` counts the tile's part of the batch row-major over
/// `local` extents, the operand has coordinate i at axis `axes[i]`.
pub(super) fn batch_index(point: u32, local: &[u32], axes: &[u8]) -> u32 {
    let mut rest = point;
    let mut coordinates = vec![(0u8, 0u32, 0u32); local.len()];
    for index in (0..local.len()).rev() {
        coordinates[index] = (axes[index], rest % local[index], local[index]);
        rest /= local[index];
    }
    coordinates.sort_unstable();
    coordinates
        .iter()
        .fold(0, |sum, &(_, at, extent)| sum * extent + at)
}

/// The distribution of a value whose axes follow coordinates of a grid of tiles: `cuts` by
/// coordinate, `roles` the coordinate of each axis (`None`: not cut). Coordinates that no axis
/// follows make replicas. Tiles are numbered row-major over all coordinates.
pub(super) fn grid_distribution(cuts: &[AxisCut], roles: &[Option<usize>]) -> Distribution {
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
pub(super) fn innermost(rank: usize, outer: usize, inner: usize) -> SmallVec<[u8; 4]> {
    let mut order: SmallVec<[u8; 4]> = (0..rank)
        .filter(|&axis| axis != outer && axis != inner)
        .map(|axis| axis as u8)
        .collect();
    order.push(outer as u8);
    order.push(inner as u8);
    order
}

/// Numbers of parts that give different largest parts of `extent`, at most `most`.
pub(super) fn distinct_parts(extent: u32, most: u32) -> Vec<u32> {
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
