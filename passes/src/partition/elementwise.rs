//! Fused elementwise expressions, and operands that are broadcast into them.

use super::place::Place;
use super::{FUSED_OPERATIONS, Home, PlanError, Planner, TensorValue};
use indexmap::IndexMap;
use ipucc_chip::{LogicalTile, ScalarType};
use ipucc_tensor::{Inst, Op, TensorType};
use ipucc_tile::kernel::{Access, Expr, Kernel, Map};
use ipucc_tile::{
    AxisCut, Call, Distribution, Layout, LayoutKind, MemoryClass, Operand, Padding, Role, TileSet,
    Value,
};
use smallvec::SmallVec;

impl Planner<'_> {
    /// Operations that a lazy value would fuse, the expensive ones counted by their registers.
    pub(super) fn weight_of(&self, value: TensorValue) -> u32 {
        let Some(Home::Lazy(inst)) = self.homes.get(&value) else {
            return 0;
        };
        if self.fixed.contains(&value) {
            return 0;
        }
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

    /// One fused kernel for an elementwise value.
    pub(super) fn elementwise(
        &mut self,
        value: TensorValue,
        inst: Inst,
    ) -> Result<Value, PlanError> {
        let ty = self.function.ty(value).clone();
        // The leader decides where: the first operand of the full shape that is on tiles.
        let mut leaves = Vec::new();
        self.leaves(value, &mut leaves);
        let leader = leaves.iter().find_map(|&leaf| match self.homes.get(&leaf) {
            Some(Home::Tiles(found)) if self.function.ty(leaf).shape == ty.shape => Some(*found),
            _ => None,
        });
        let place = match leader {
            Some(leader) => {
                let data = &self.program.values[leader];
                Place {
                    distribution: data.distribution.clone(),
                    layout: data.layout.clone(),
                    memory: data.memory,
                    padding: Padding::Anything,
                }
            }
            None => self.spread_place(&ty),
        };
        let mut fused = Fused {
            nodes: Vec::new(),
            inputs: Vec::new(),
            seen: IndexMap::new(),
        };
        self.fuse(value, inst, &ty, &place, &mut fused, true)?;
        let name = self.name_of(value);
        let layout = place.layout.clone();
        let result = self.add_value(name.clone(), &ty, place, Role::Temporary);
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
            let inputs = fused.inputs.iter().map(|&(value, _)| value);
            let operands = inputs.chain([result]).map(Operand::from).collect();
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel,
                operands,
            });
        }
        self.compute(name, calls);
        Ok(result)
    }

    /// Operands of a lazy value that are not lazy elementwise operations themselves.
    pub(super) fn leaves(&self, value: TensorValue, out: &mut Vec<TensorValue>) {
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
    pub(super) fn fuse(
        &mut self,
        value: TensorValue,
        at: Inst,
        ty: &TensorType,
        place: &Place,
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
                let computed = self.fixed.contains(&value)
                    && !data.operands.is_empty()
                    && self.function.ty(value).element != ScalarType::I1;
                match &data.op {
                    // Stored as it stands here.
                    op if computed && !matches!(op, Op::Broadcast { .. }) => {
                        let input = self.bring(value, at, place.clone())?;
                        fused.input(input, None)
                    }
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
                    | Op::Iota { .. }
                    | Op::Constant { .. }
                    | Op::Reshape(_)
                    | Op::Transpose(_)
                    | Op::Slice { .. }
                    | Op::Windows { .. } => {
                        let input = self.bring(value, at, place.clone())?;
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
                let input = self.bring(value, at, place.clone())?;
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
    pub(super) fn spread_operand(
        &mut self,
        operand: TensorValue,
        at: Inst,
        axes: &[usize],
        ty: &TensorType,
        place: &Place,
    ) -> Result<Value, PlanError> {
        let distribution = &place.distribution;
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
        let pitch = match place.layout.kind {
            LayoutKind::Row { pitch } => pitch,
            LayoutKind::AmpLhs { panel } => panel,
            LayoutKind::AmpRhs { .. } => 16,
        };
        let own_place = Place {
            distribution: own_distribution,
            layout: Layout {
                kind: LayoutKind::Row { pitch },
                order: (0..own.rank() as u8).collect(),
            },
            memory: MemoryClass::Any,
            padding: Padding::Anything,
        };
        self.bring(operand, at, own_place)
    }
}

pub(super) struct Fused {
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
pub(super) struct WalkDim {
    axis: usize,
    step: u32,
    extent: u32,
}

/// The loops that walk a shard's buffer in memory order, padding included.
pub(super) fn walk(layout: &Layout, extents: &[u32]) -> Vec<WalkDim> {
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
pub(super) fn contiguous(dims: &[WalkDim]) -> SmallVec<[u32; 4]> {
    let mut strides: SmallVec<[u32; 4]> = SmallVec::from_elem(1, dims.len());
    for index in (0..dims.len().saturating_sub(1)).rev() {
        strides[index] = strides[index + 1] * dims[index + 1].extent;
    }
    strides
}

/// Strides of a row-major operand whose own axis `i` is result axis `axes[i]`.
pub(super) fn broadcast_strides(
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
