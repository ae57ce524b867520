//! Products of integers: exact, modulo 2^32, without the matrix unit.

use super::place::Place;
use super::product::{Sides, batch_index, distinct_parts, grid_distribution, innermost};
use super::{PlanError, Planner};
use ipucc_chip::{LogicalTile, ScalarType};
use ipucc_tensor::{Inst, Op};
use ipucc_tile::kernel::{IntegerDot, Kernel};
use ipucc_tile::{
    AxisCut, Call, Layout, LayoutKind, MemoryClass, Operand, Padding, Role, TileSet, Value,
};

impl Planner<'_> {
    /// A product cut over a grid of rows and columns; the contraction stands whole.
    pub(super) fn integer_dot(&mut self, inst: Inst) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
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
        let (x, w) = (data.operands[0], data.operands[1]);
        let (a, b) = (self.function.ty(x).clone(), self.function.ty(w).clone());
        let (Some(left), Some(right)) = (
            Sides::of(&a.shape, lhs_batch, lhs_contract),
            Sides::of(&b.shape, rhs_batch, rhs_contract),
        ) else {
            return Err(self.error(inst, format!("a product of {a} and {b} has no plan yet")));
        };
        let (m, n, k) = (
            a.shape[left.free],
            b.shape[right.free],
            a.shape[left.contract],
        );
        if a.elements() == 0 || b.elements() == 0 {
            return Err(self.error(inst, "a product with an empty operand has no plan"));
        }
        let batch: Vec<u32> = lhs_batch
            .iter()
            .map(|&axis| a.shape[usize::from(axis)])
            .collect();
        // Batch axes first, then the grid with the fewest products on its fullest tile.
        let mut cuts = Vec::new();
        let mut tiles = self.tiles;
        for &extent in &batch {
            let parts = extent.clamp(1, tiles);
            cuts.push(AxisCut { parts, granule: 1 });
            tiles /= parts;
        }
        let pairs = n.div_ceil(2);
        let work = |rows: u32, columns: u32| {
            u64::from(m.div_ceil(rows)) * u64::from(2 * pairs.div_ceil(columns))
        };
        let mut best = (work(1, 1), 1, 1);
        for rows in distinct_parts(m, tiles) {
            for columns in distinct_parts(pairs, tiles / rows) {
                // Of equal ones the one with the least operands.
                let moved = m.div_ceil(rows) + 2 * pairs.div_ceil(columns);
                let known = m.div_ceil(best.1) + 2 * pairs.div_ceil(best.2);
                if (work(rows, columns), moved) < (best.0, known) {
                    best = (work(rows, columns), rows, columns);
                }
            }
        }
        let (rows, columns) = (batch.len(), batch.len() + 1);
        cuts.push(AxisCut {
            parts: best.1,
            granule: 1,
        });
        cuts.push(AxisCut {
            parts: best.2,
            granule: 2,
        });
        let wide = 8 / a.element.bytes();
        let side = |rank: usize, axes: &[u8], sides: &Sides, free: usize| {
            let mut roles = vec![None; rank];
            for (coordinate, &axis) in axes.iter().enumerate() {
                roles[usize::from(axis)] = Some(coordinate);
            }
            roles[sides.free] = Some(free);
            Place {
                distribution: grid_distribution(&cuts, &roles),
                layout: Layout {
                    kind: LayoutKind::Row { pitch: wide },
                    order: innermost(rank, sides.free, sides.contract),
                },
                memory: MemoryClass::Any,
                padding: Padding::Anything,
            }
        };
        let lhs = side(a.rank(), lhs_batch, &left, rows);
        let rhs = side(b.rank(), rhs_batch, &right, columns);
        let xs = self.bring(x, inst, lhs)?;
        let ws = self.bring(w, inst, rhs)?;

        let ty = self.function.ty(data.results[0]).clone();
        debug_assert_eq!(ty.element, *result);
        let row_axis = batch.len() + left.free_position;
        let column_axis = batch.len() + left.free_count + right.free_position;
        let mut roles = vec![None; ty.rank()];
        for (coordinate, role) in roles.iter_mut().take(batch.len()).enumerate() {
            *role = Some(coordinate);
        }
        roles[row_axis] = Some(rows);
        roles[column_axis] = Some(columns);
        let place = Place {
            distribution: grid_distribution(&cuts, &roles),
            layout: Layout {
                kind: LayoutKind::Row { pitch: 2 },
                order: innermost(ty.rank(), row_axis, column_axis),
            },
            memory: MemoryClass::Any,
            padding: Padding::Anything,
        };
        let name = self.name_of(data.results[0]);
        let made = self.add_value(name.clone(), &ty, place, Role::Temporary);
        let mut calls = Vec::new();
        for (extents, on) in self.blocks(made) {
            let tiles: Vec<LogicalTile> = on;
            let local = &extents[..batch.len()];
            let (m, n) = (extents[row_axis], extents[column_axis]);
            let pitches = (
                k.next_multiple_of(wide),
                k.next_multiple_of(wide),
                n.next_multiple_of(2),
            );
            let kernel = Kernel::IntegerDot(IntegerDot {
                m,
                n,
                k,
                pitches,
                zeros: (0, 0),
                // Modulo 2^32 both are the same.
                input: match a.element {
                    ScalarType::U32 => ScalarType::I32,
                    other => other,
                },
            });
            if let Err(error) = self.catalog.cost(&kernel) {
                return Err(self.error(inst, error.to_string()));
            }
            let result_axes: Vec<u8> = (0..batch.len() as u8).collect();
            let sides: [(Value, u32, &[u8]); 3] = [
                (xs, m * pitches.0 * a.element.bytes(), lhs_batch),
                (ws, n * pitches.1 * a.element.bytes(), rhs_batch),
                (made, m * pitches.2 * 4, &result_axes),
            ];
            for point in 0..local.iter().product::<u32>() {
                let operands = sides.iter().map(|&(value, bytes, axes)| Operand {
                    value,
                    offset_bytes: batch_index(point, local, axes) * bytes,
                });
                calls.push(Call {
                    tiles: TileSet::from_tiles(tiles.iter().copied()),
                    kernel: kernel.clone(),
                    operands: operands.collect(),
                });
            }
        }
        self.compute(name, calls);
        Ok(made)
    }
}
