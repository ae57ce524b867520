//! Other extents along one axis, by interpolation between slices.

use super::place::{Place, even_cuts};
use super::{PlanError, Planner};
use ipucc_chip::LogicalTile;
use ipucc_tensor::{Coordinates, Inst, ResizeMode, Shape, interp};
use ipucc_tile::kernel::{Kernel, Lerp, LerpPoint};
use ipucc_tile::{
    AxisCut, Call, Distribution, Layout, LayoutKind, MemoryClass, Padding, Role, TileSet, Value,
};
use smallvec::{SmallVec, smallvec};

impl Planner<'_> {
    /// A resize along one axis, which stands whole on every tile; the other axes are cut.
    pub(super) fn resize(
        &mut self,
        inst: Inst,
        shape: &Shape,
        mode: ResizeMode,
        coordinates: Coordinates,
    ) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let (x, result) = (data.operands[0], data.results[0]);
        let ty = self.function.ty(x).clone();
        let rank = ty.rank();
        let mut changed = (0..rank).filter(|&axis| ty.shape[axis] != shape[axis]);
        let (Some(axis), None) = (changed.next(), changed.next()) else {
            return Err(self.error(inst, "a resize along several axes at once has no plan"));
        };
        if rank < 2 {
            return Err(self.error(inst, "a resize of one axis alone has no plan"));
        }
        // Slices are contiguous: some other axis is innermost.
        let mut order: SmallVec<[u8; 4]> = (0..rank as u8).collect();
        if axis + 1 == rank {
            order.swap(rank - 1, rank - 2);
        }
        let inner_axis = usize::from(order[rank - 1]);
        let wide = 8 / ty.element.bytes();
        let mut others = ty.shape.clone();
        others[axis] = 1;
        let granules: Vec<u32> = (0..rank)
            .map(|index| if index == inner_axis { wide } else { 1 })
            .collect();
        let mut cuts = even_cuts(&others, &granules, self.tiles);
        cuts[axis] = AxisCut::WHOLE;
        let points: u32 = cuts.iter().map(|cut| cut.parts).product();
        let place = Place {
            distribution: Distribution {
                cuts,
                replicas: 1,
                tiles: (0..points as u16).map(LogicalTile).collect(),
            },
            layout: Layout {
                kind: LayoutKind::Row { pitch: wide },
                order: order.clone(),
            },
            memory: MemoryClass::Any,
            padding: Padding::Anything,
        };
        let source = self.bring(x, inst, place.clone())?;
        let to = self.function.ty(result).clone();
        let name = self.name_of(result);
        let made = self.add_value(name.clone(), &to, place, Role::Temporary);
        let table = interp::resize_axis(mode, coordinates, ty.shape[axis], shape[axis]);
        let position = order
            .iter()
            .position(|&a| usize::from(a) == axis)
            .unwrap_or(0);
        let mut calls = Vec::new();
        for (extents, tiles) in self.blocks(source) {
            let along: Vec<u32> = order
                .iter()
                .map(|&axis| extents[usize::from(axis)])
                .enumerate()
                .map(|(at, extent)| match at + 1 == rank {
                    true => extent.next_multiple_of(wide),
                    false => extent,
                })
                .collect();
            let inner = along[position + 1..].iter().product();
            let kernel = Kernel::Lerp(Lerp {
                outer: along[..position].iter().product(),
                axis: extents[axis],
                inner,
                pitch: inner,
                points: table
                    .iter()
                    .map(|&(low, high, t)| LerpPoint {
                        low,
                        high,
                        t: t.to_bits(),
                    })
                    .collect(),
                element: ty.element,
            });
            if let Err(error) = self.catalog.cost(&kernel) {
                return Err(self.error(inst, error.to_string()));
            }
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands: smallvec![source.into(), made.into()],
            });
        }
        self.compute(name, calls);
        Ok(made)
    }
}
