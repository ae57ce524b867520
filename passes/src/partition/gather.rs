//! Looking up rows of a table at indices that are known only at run time.
//!
//! The exchange is timed when the program is compiled, so no index decides which words move. Instead
//! every owner of table rows answers for all indices, with zeros for rows that it does not own, and
//! the answers are summed like the shares of a product. Columns are cut first, because a tile's
//! answer is as wide as its columns; rows only as far as the table needs it to fit. Updates go the
//! other way: every owner sees all indices and takes the rows that are its own.

use super::place::Place;
use super::product::grid_distribution;
use super::{PlanEntry, PlanError, Planner, TensorValue};
use indexmap::IndexMap;
use ipucc_chip::LogicalTile;
use ipucc_tensor::{Inst, TensorType};
use ipucc_tile::kernel::{Gather, Kernel, Scatter};
use ipucc_tile::{
    AxisCut, Call, Distribution, Layout, LayoutKind, MemoryClass, Padding, Role, Shape, TileSet,
    Value,
};
use smallvec::{SmallVec, smallvec};

/// Most bytes of the table on a tile, if there are tiles enough: a tenth of its memory.
const TABLE_BYTES: u32 = 64 * 1024;

impl Planner<'_> {
    /// Where a table of this type stands: columns cut first, rows as far as they need it.
    fn table(&self, inst: Inst, ty: &TensorType, count: u32) -> Result<Table, PlanError> {
        if ty.rank() != 2 || ty.element.bytes() == 1 {
            return Err(self.error(inst, format!("a lookup in {ty} has no plan yet")));
        }
        let (rows, columns) = (ty.shape[0], ty.shape[1]);
        if rows == 0 || columns == 0 || count == 0 {
            let message = "a lookup without rows, columns or indices has no plan";
            return Err(self.error(inst, message));
        }
        let wide = 8 / ty.element.bytes();
        let across = columns.div_ceil(wide).min(self.tiles);
        let bytes = rows * columns.div_ceil(across).next_multiple_of(wide) * ty.element.bytes();
        let shares = bytes
            .div_ceil(TABLE_BYTES)
            .clamp(1, (self.tiles / across).min(rows));
        let cut = |parts, granule| AxisCut { parts, granule };
        Ok(Table {
            cuts: [cut(shares, 1), cut(across, wide)],
            pitch: wide,
        })
    }

    /// All indices on every tile of the table.
    fn asked(
        &mut self,
        inst: Inst,
        indices: TensorValue,
        table: &Table,
    ) -> Result<Value, PlanError> {
        let copies = table.cuts[0].parts * table.cuts[1].parts;
        let everywhere = Distribution {
            cuts: SmallVec::from_elem(AxisCut::WHOLE, 1),
            replicas: copies,
            tiles: (0..copies as u16).map(LogicalTile).collect(),
        };
        let place = Place {
            layout: Layout {
                kind: LayoutKind::Row { pitch: 2 },
                order: smallvec![0],
            },
            ..table.place(everywhere, 1)
        };
        self.bring(indices, inst, place)
    }

    /// Tiles of a table by the first row and the extents of what they own.
    fn owners(&self, table: Value) -> IndexMap<(u32, Shape), Vec<LogicalTile>> {
        let mut groups: IndexMap<(u32, Shape), Vec<LogicalTile>> = IndexMap::new();
        let shards = self.program.values[table].shards();
        for shard in shards.filter(|shard| !shard.is_empty()) {
            let key = (shard.low[0], shard.extents());
            groups.entry(key).or_default().push(shard.tile);
        }
        groups
    }

    /// Rows of operand 0 (a matrix) at the indices of operand 1 (one axis).
    pub(super) fn gather(&mut self, inst: Inst) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let (rows_of, indices) = (data.operands[0], data.operands[1]);
        let ty = self.function.ty(rows_of).clone();
        let to = self.function.ty(data.results[0]).clone();
        let count = self.function.ty(indices).elements() as u32;
        if self.function.ty(indices).rank() != 1 {
            return Err(self.error(inst, format!("a lookup in {ty} has no plan yet")));
        }
        let table = self.table(inst, &ty, count)?;
        let [row_cut, column_cut] = table.cuts;
        let (shares, across) = (row_cut.parts, column_cut.parts);
        let stored = table.place(grid_distribution(&table.cuts, &[Some(0), Some(1)]), 2);
        let stored = self.bring(rows_of, inst, stored)?;
        let asked = self.asked(inst, indices, &table)?;
        let name = self.name_of(data.results[0]);
        let split = shares > 1;
        let (answer_ty, roles): (TensorType, Vec<Option<usize>>) = if split {
            let shape = [shares, count, ty.shape[1]];
            (
                TensorType::new(ty.element, shape),
                vec![Some(0), None, Some(1)],
            )
        } else {
            (to.clone(), vec![None, Some(1)])
        };
        let answer = table.place(grid_distribution(&table.cuts, &roles), answer_ty.rank());
        let answer = self.add_value(name.clone(), &answer_ty, answer, Role::Temporary);
        let mut calls = Vec::new();
        for ((first, extents), tiles) in self.owners(stored) {
            let kernel = Kernel::Gather(Gather {
                count,
                first,
                rows: extents[0],
                row_bytes: extents[1].next_multiple_of(table.pitch) * ty.element.bytes(),
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
            operation: format!("gather %{name}: {count} of {ty}"),
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
            column_cut,
        ];
        let place = (sum.to_vec(), vec![Some(0), Some(1)], 0, 1);
        self.join_shares(inst, answer, &name, &to, shares, place)
    }

    /// Operand 0 (a matrix) with the rows at the indices of operand 1 (one axis) replaced by those of
    /// operand 2: every owner sees all indices and its columns of all new rows.
    pub(super) fn scatter(&mut self, inst: Inst) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let [old, indices, rows] = data.operands[..] else {
            return Err(self.error(inst, "needs three operands"));
        };
        let ty = self.function.ty(old).clone();
        let count = self.function.ty(indices).elements() as u32;
        if self.function.ty(indices).rank() != 1 {
            return Err(self.error(inst, format!("an update of {ty} has no plan yet")));
        }
        let table = self.table(inst, &ty, count)?;
        let place = table.place(grid_distribution(&table.cuts, &[Some(0), Some(1)]), 2);
        let name = self.name_of(data.results[0]);
        // The table is written in part: it is always a copy of its own.
        let before = self.bring(old, inst, place.clone())?;
        let whole = |index: &[u32]| Some(Shape::from(index));
        let updated = self
            .moved(before, name.clone(), &ty, place, &whole)
            .map_err(|message| self.error(inst, message))?;
        let asked = self.asked(inst, indices, &table)?;
        let new = table.place(grid_distribution(&table.cuts, &[None, Some(1)]), 2);
        let new = self.bring(rows, inst, new)?;
        let mut calls = Vec::new();
        for ((first, extents), tiles) in self.owners(updated) {
            let kernel = Kernel::Scatter(Scatter {
                count,
                first,
                rows: extents[0],
                row_bytes: extents[1].next_multiple_of(table.pitch) * ty.element.bytes(),
            });
            if let Err(error) = self.catalog.cost(&kernel) {
                return Err(self.error(inst, error.to_string()));
            }
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands: smallvec![new.into(), asked.into(), updated.into()],
            });
        }
        self.compute(name.clone(), calls);
        let [rows, columns] = table.cuts;
        self.log.push(PlanEntry {
            operation: format!("scatter %{name}: {count} into {ty}"),
            chosen: format!("{} row parts x {} column parts", rows.parts, columns.parts),
            second: None,
        });
        Ok(updated)
    }
}

/// How a table that is looked up or updated at run time is cut.
struct Table {
    /// Rows, columns.
    cuts: [AxisCut; 2],
    /// Elements that rows are padded to.
    pitch: u32,
}

impl Table {
    fn place(&self, distribution: Distribution, rank: usize) -> Place {
        Place {
            distribution,
            layout: Layout {
                kind: LayoutKind::Row { pitch: self.pitch },
                order: (0..rank as u8).collect(),
            },
            memory: MemoryClass::Any,
            padding: Padding::Anything,
        }
    }
}
