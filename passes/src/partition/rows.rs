//! Kernels that work row by row.

use super::place::Place;
use super::{PlanError, Planner, row_layout};
use ipucc_chip::{LogicalTile, ScalarType};
use ipucc_tensor::{Inst, Op, TensorType};
use ipucc_tile::kernel::{Kernel, TopK};
use ipucc_tile::{
    AxisCut, Call, Distribution, Layout, LayoutKind, MemoryClass, Operand, Padding, Role, TileSet,
    Value,
};
use smallvec::SmallVec;

impl Planner<'_> {
    /// A kernel that works row by row over the last axis: whole rows stand on a tile.
    pub(super) fn rows(&mut self, inst: Inst) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let result = data.results[0];
        let ty = self.function.ty(result).clone();
        let rank = ty.rank();
        let columns = ty.shape[rank - 1];
        let place = self.rows_place(&ty);
        let mut inputs = vec![self.bring(data.operands[0], inst, place.clone())?];
        for &operand in &data.operands[1..] {
            inputs.push(self.spread_operand(operand, inst, &[rank - 1], &ty, &place)?);
        }
        let name = self.name_of(result);
        let made = self.add_value(name.clone(), &ty, place, Role::Temporary);
        let mut calls = Vec::new();
        for (extents, tiles) in self.blocks(made) {
            let rows = ipucc_tile::kernel::Rows {
                rows: extents[..rank - 1].iter().product(),
                columns,
                pitch: columns.next_multiple_of(8 / ty.element.bytes()),
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
                .map(|&value| Operand::from(value))
                .collect();
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands,
            });
        }
        self.compute(name, calls);
        Ok(made)
    }

    /// Whole rows on every tile: outer axes are cut until every tile has rows, the outermost first.
    fn rows_place(&self, ty: &TensorType) -> Place {
        let rank = ty.rank();
        let mut cuts: SmallVec<[AxisCut; 4]> = SmallVec::from_elem(AxisCut::WHOLE, rank);
        let mut left = self.tiles;
        for axis in 0..rank - 1 {
            let parts = ty.shape[axis].clamp(1, left);
            cuts[axis] = AxisCut { parts, granule: 1 };
            left /= parts;
        }
        let points: u32 = cuts.iter().map(|cut| cut.parts).product();
        Place {
            distribution: Distribution {
                cuts,
                replicas: 1,
                tiles: (0..points as u16).map(LogicalTile).collect(),
            },
            layout: row_layout(rank, ty.element),
            memory: MemoryClass::Any,
            padding: Padding::Anything,
        }
    }

    /// The first elements of every row in order, or their positions: one search finds both.
    pub(super) fn top_k(
        &mut self,
        inst: Inst,
        k: u32,
        largest: bool,
        indices: bool,
    ) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let x = data.operands[0];
        if let Some(found) = self.tops.get(&(x, k, largest)) {
            return Ok(found[usize::from(indices)]);
        }
        let ty = self.function.ty(x).clone();
        let rank = ty.rank();
        let source = self.rows_place(&ty);
        let source = self.bring(x, inst, source)?;
        let mut shape = ty.shape.clone();
        shape[rank - 1] = k;
        let name = self.name_of(data.results[0]);
        let results = [ty.element, ScalarType::I32].map(|element| {
            let ty = TensorType::new(element, shape.iter().copied());
            let place = Place {
                layout: Layout {
                    kind: LayoutKind::Row { pitch: 4 },
                    order: (0..rank as u8).collect(),
                },
                ..self.rows_place(&ty)
            };
            self.add_value(name.clone(), &ty, place, Role::Temporary)
        });
        let mut calls = Vec::new();
        for (extents, tiles) in self.blocks(source) {
            let columns = extents[rank - 1];
            let kernel = Kernel::TopK(TopK {
                largest,
                rows: extents[..rank - 1].iter().product(),
                columns,
                pitch: columns.next_multiple_of(8 / ty.element.bytes()),
                k,
                result_pitch: k.next_multiple_of(4),
                element: ty.element,
            });
            if let Err(error) = self.catalog.cost(&kernel) {
                return Err(self.error(inst, error.to_string()));
            }
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands: [source, results[0], results[1]]
                    .map(Operand::from)
                    .into_iter()
                    .collect(),
            });
        }
        self.compute(name, calls);
        self.tops.insert((x, k, largest), results);
        Ok(results[usize::from(indices)])
    }
}
