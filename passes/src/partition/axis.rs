//! Operations along one axis: reductions, positions of extremes, running sums.

use super::place::Place;
use super::{PlanError, Planner};
use ipucc_chip::LogicalTile;
use ipucc_tensor::{Inst, Op};
use ipucc_tile::kernel::{ArgReduce, Kernel, Reduce, Scan};
use ipucc_tile::{
    AxisCut, Call, Distribution, Layout, LayoutKind, MemoryClass, Padding, Role, TileSet, Value,
};
use smallvec::{SmallVec, smallvec};

impl Planner<'_> {
    /// A reduction, a position of an extreme or a running sum over one axis, which stands whole on
    /// every tile; the other axes are cut, the outermost first.
    pub(super) fn along_axis(&mut self, inst: Inst, axis: usize) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let (x, result) = (data.operands[0], data.results[0]);
        let (ty, to) = (
            self.function.ty(x).clone(),
            self.function.ty(result).clone(),
        );
        let rank = ty.rank();
        let wide = 8 / ty.element.bytes();
        let mut cuts: SmallVec<[AxisCut; 4]> = SmallVec::from_elem(AxisCut::WHOLE, rank);
        let mut left = self.tiles;
        for index in (0..rank).filter(|&index| index != axis) {
            let granule = if index + 1 == rank { wide } else { 1 };
            let parts = ty.shape[index].div_ceil(granule).clamp(1, left);
            cuts[index] = AxisCut { parts, granule };
            left /= parts;
        }
        let tiles: Vec<LogicalTile> = {
            let points: u32 = cuts.iter().map(|cut| cut.parts).product();
            (0..points as u16).map(LogicalTile).collect()
        };
        let keeps = matches!(data.op, Op::CumSum { .. });
        let order = |rank: usize| (0..rank as u8).collect();
        let last = axis + 1 == rank;
        let place = Place {
            distribution: Distribution {
                cuts: cuts.clone(),
                replicas: 1,
                tiles: tiles.clone(),
            },
            layout: Layout {
                kind: LayoutKind::Row { pitch: wide },
                order: order(rank),
            },
            memory: MemoryClass::Any,
            padding: Padding::Anything,
        };
        let source = self.bring(x, inst, place.clone())?;
        let made_place = if keeps {
            place
        } else {
            cuts.remove(axis);
            // Without inner axes results follow one another.
            let pitch = if last { 1 } else { wide };
            Place {
                distribution: Distribution {
                    cuts,
                    replicas: 1,
                    tiles,
                },
                layout: Layout {
                    kind: LayoutKind::Row { pitch },
                    order: order(rank - 1),
                },
                memory: MemoryClass::Any,
                padding: Padding::Anything,
            }
        };
        let name = self.name_of(result);
        let made = self.add_value(name.clone(), &to, made_place, Role::Temporary);
        let mut calls = Vec::new();
        for (extents, tiles) in self.blocks(source) {
            let outer: u32 = extents[..axis].iter().product();
            let count = extents[axis];
            let (inner, along, step) = if last {
                (1, 1, count.next_multiple_of(wide))
            } else {
                let between: u32 = extents[axis + 1..rank - 1].iter().product();
                let inner = between * extents[rank - 1].next_multiple_of(wide);
                (inner, inner, count * inner)
            };
            let kernel = match data.op {
                Op::Reduce { kind, .. } => Kernel::Reduce(Reduce {
                    kind,
                    outer,
                    axis: count,
                    inner,
                    input_strides: (step, along),
                    output_stride: inner,
                    input: ty.element,
                    output: to.element,
                }),
                Op::ArgReduce { largest, .. } => Kernel::ArgReduce(ArgReduce {
                    largest,
                    outer,
                    axis: count,
                    inner,
                    input_strides: (step, along),
                    output_stride: inner,
                    input: ty.element,
                }),
                Op::CumSum {
                    exclusive, reverse, ..
                } => Kernel::Scan(Scan {
                    exclusive,
                    reverse,
                    outer,
                    axis: count,
                    inner,
                    strides: (step, along),
                    element: ty.element,
                }),
                _ => return Err(self.error(inst, "does not work along one axis")),
            };
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
