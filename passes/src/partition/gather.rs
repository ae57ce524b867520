//! Looking up rows of a table at indices that are known only at run time.
//!
//! The exchange is timed when the program is compiled, so no index decides which words move. Instead
//! every owner of table rows answers for all indices, with zeros for rows that it does not own, and
//! the answers are summed like the shares of a product. Columns are cut first, because a tile's
//! answer is as wide as its columns; rows only as far as the table needs it to fit.

use super::place::Place;
use super::product::grid_distribution;
use super::{PlanEntry, PlanError, Planner};
use ipucc_chip::LogicalTile;
use ipucc_tensor::{Inst, TensorType};
use ipucc_tile::kernel::{Gather, Kernel};
use ipucc_tile::{
    AxisCut, Call, Distribution, Layout, LayoutKind, MemoryClass, Padding, Role, Shape, TileSet,
    Value,
};
use smallvec::{SmallVec, smallvec};

/// Most bytes of the table on a tile, if there are tiles enough: a tenth of its memory.
const TABLE_BYTES: u32 = 64 * 1024;

impl Planner<'_> {
    /// Rows of operand 0 (a matrix) at the indices of operand 1 (one axis).
    pub(super) fn gather(&mut self, inst: Inst) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let (table, indices) = (data.operands[0], data.operands[1]);
        let ty = self.function.ty(table).clone();
        let to = self.function.ty(data.results[0]).clone();
        let count = self.function.ty(indices).elements() as u32;
        if ty.rank() != 2 || self.function.ty(indices).rank() != 1 || ty.element.bytes() == 1 {
            return Err(self.error(inst, format!("a lookup in {ty} has no plan yet")));
        }
        let (rows, columns) = (ty.shape[0], ty.shape[1]);
        if rows == 0 || columns == 0 || count == 0 {
            return Err(self.error(
                inst,
                "a lookup without rows, columns or indices has no plan",
            ));
        }
        let element = ty.element;
        let wide = 8 / element.bytes();
        let across = columns.div_ceil(wide).min(self.tiles);
        let bytes = rows * columns.div_ceil(across).next_multiple_of(wide) * element.bytes();
        let shares = bytes
            .div_ceil(TABLE_BYTES)
            .clamp(1, (self.tiles / across).min(rows));
        let cuts = [
            AxisCut {
                parts: shares,
                granule: 1,
            },
            AxisCut {
                parts: across,
                granule: wide,
            },
        ];
        let row = |rank: usize| Layout {
            kind: LayoutKind::Row { pitch: wide },
            order: (0..rank as u8).collect(),
        };
        let place = |distribution, rank| Place {
            distribution,
            layout: row(rank),
            memory: MemoryClass::Any,
            padding: Padding::Anything,
        };
        let stored = place(grid_distribution(&cuts, &[Some(0), Some(1)]), 2);
        let stored = self.bring(table, inst, stored)?;
        let everywhere = Distribution {
            cuts: SmallVec::from_elem(AxisCut::WHOLE, 1),
            replicas: shares * across,
            tiles: (0..(shares * across) as u16).map(LogicalTile).collect(),
        };
        let asked = Place {
            layout: Layout {
                kind: LayoutKind::Row { pitch: 2 },
                order: smallvec![0],
            },
            ..place(everywhere, 1)
        };
        let asked = self.bring(indices, inst, asked)?;
        let name = self.name_of(data.results[0]);
        let split = shares > 1;
        let (answer_ty, roles): (TensorType, Vec<Option<usize>>) = if split {
            let shape = [shares, count, columns];
            (
                TensorType::new(element, shape),
                vec![Some(0), None, Some(1)],
            )
        } else {
            (to.clone(), vec![None, Some(1)])
        };
        let answer = place(grid_distribution(&cuts, &roles), answer_ty.rank());
        let answer = self.add_value(name.clone(), &answer_ty, answer, Role::Temporary);
        let mut calls = Vec::new();
        let shards: Vec<_> = self.program.values[stored].shards().collect();
        let mut groups: indexmap::IndexMap<(u32, Shape), Vec<LogicalTile>> = Default::default();
        for shard in shards.into_iter().filter(|shard| !shard.is_empty()) {
            let key = (shard.low[0], shard.extents());
            groups.entry(key).or_default().push(shard.tile);
        }
        for ((first, extents), tiles) in groups {
            let kernel = Kernel::Gather(Gather {
                count,
                first,
                rows: extents[0],
                row_bytes: extents[1].next_multiple_of(wide) * element.bytes(),
            });
            if let Err(error) = self.catalog.cost(&kernel) {
                return Err(self.error(inst, error.to_string()));
            }
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands: smallvec![stored.into(), asked.into(), answer.into()],
            });
        }
        self.compute(name.clone(), calls);
        self.log.push(PlanEntry {
            operation: format!("gather %{name}: {count} of {rows} x {columns} {element}"),
            chosen: format!("{shares} row parts x {across} column parts, answers summed"),
            second: None,
        });
        if !split {
            return Ok(answer);
        }
        let sum = [
            AxisCut {
                parts: (self.tiles / across).clamp(1, count),
                granule: 1,
            },
            cuts[1],
        ];
        let place = (sum.to_vec(), vec![Some(0), Some(1)], 0, 1);
        self.join_shares(inst, answer, &name, &to, shares, place)
    }
}
