//! Values put together from parts of others: concatenation and padding.

use super::place::Place;
use super::{Home, PlanError, Planner};
use ipucc_chip::ScalarType;
use ipucc_tensor::{Inst, Op, TensorType};
use ipucc_tile::kernel::{Fill, Kernel};
use ipucc_tile::{Call, Role, Shape, TileSet, Value};
use smallvec::smallvec;

impl Planner<'_> {
    /// Operands one behind the other along an axis.
    pub(super) fn concat(&mut self, inst: Inst, axis: usize) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let mut parts = Vec::new();
        let mut at = 0;
        for &operand in &data.operands {
            let shape = self.function.ty(operand).shape.clone();
            let mut low = Shape::from_elem(0, shape.len());
            low[axis] = at;
            at += shape[axis];
            parts.push((self.materialize(operand, inst)?, low, shape));
        }
        self.assemble(inst, &parts, None)
    }

    /// Operand 0 inside a frame of the constant that operand 1 is.
    pub(super) fn pad(&mut self, inst: Inst, low: &[u32]) -> Result<Value, PlanError> {
        let data = self.function.insts[inst].clone();
        let fill = match self.homes.get(&data.operands[1]) {
            Some(Home::Lazy(inner)) => match &self.function.insts[*inner].op {
                Op::Constant { data, .. } => data.clone(),
                _ => return Err(self.error(inst, "padding with a computed value has no plan yet")),
            },
            _ => return Err(self.error(inst, "padding with a computed value has no plan yet")),
        };
        let shape = self.function.ty(data.operands[0]).shape.clone();
        let source = self.materialize(data.operands[0], inst)?;
        self.assemble(inst, &[(source, low.into(), shape)], Some(&fill))
    }

    /// A value of which `parts` (source, low corner, extents) hold boxes, the rest is `fill`.
    fn assemble(
        &mut self,
        inst: Inst,
        parts: &[(Value, Shape, Shape)],
        fill: Option<&[u8]>,
    ) -> Result<Value, PlanError> {
        let result = self.function.insts[inst].results[0];
        let ty = self.function.ty(result).clone();
        let name = self.name_of(result);
        if ty.element.bytes() == 1 {
            let message = format!("values of {} cannot be put together yet", ty.element);
            return Err(self.error(inst, message));
        }
        let place = self.spread_place(&ty);
        let target = self.add_value(name.clone(), &ty, place.clone(), Role::Temporary);
        let mut moves = Vec::new();
        for (source, low, shape) in parts {
            let map = part(low, shape);
            match self.pieces(*source, target, &map) {
                Ok(pieces) => moves.push((*source, pieces)),
                // Some part does not begin at a word: all of them move as words.
                Err(_) if ty.element == ScalarType::F16 => {
                    self.assemble_as_words(inst, parts, fill, target, &place)?;
                    return Ok(target);
                }
                Err(error) => return Err(self.error(inst, error.to_string())),
            }
        }
        if let Some(fill) = fill {
            self.fill(target, pattern(fill), &name);
        }
        for (source, pieces) in moves {
            self.push_move(source, target, &name, pieces);
        }
        Ok(target)
    }

    fn assemble_as_words(
        &mut self,
        inst: Inst,
        parts: &[(Value, Shape, Shape)],
        fill: Option<&[u8]>,
        target: Value,
        place: &Place,
    ) -> Result<(), PlanError> {
        let name = self.name_of(self.function.insts[inst].results[0]);
        let shape = self.program.values[target].shape.clone();
        let ty = TensorType::new(ScalarType::I32, shape);
        let wide = self.add_value(format!("{name}.words"), &ty, place.clone(), Role::Temporary);
        if let Some(fill) = fill {
            let half = i16::from_le_bytes([fill[0], fill[1]]);
            self.fill(wide, i32::from(half) as u32, &name);
        }
        for (source, low, shape) in parts {
            let words = self.as_words(*source, &name);
            let map = part(low, shape);
            let pieces = self.pieces(words, wide, &map);
            let pieces = pieces.map_err(|error| self.error(inst, error.to_string()))?;
            self.push_move(words, wide, &name, pieces);
        }
        self.joined_words(wide, target, &name);
        Ok(())
    }

    /// Writes a word everywhere into a value, padding included.
    pub(super) fn fill(&mut self, value: Value, word: u32, name: &str) {
        let data = &self.program.values[value];
        let mut calls = Vec::new();
        for (extents, tiles) in self.blocks(value) {
            let words = data.shard_bytes(&extents) / 4;
            calls.push(Call {
                tiles: TileSet::from_tiles(tiles),
                kernel: Kernel::Fill(Fill { words, word }),
                operands: smallvec![value.into()],
            });
        }
        self.compute(format!("{name} (fill)"), calls);
    }
}

/// The index in a part of an index of the whole, if it lies there.
fn part<'p>(low: &'p [u32], shape: &'p [u32]) -> impl Fn(&[u32]) -> Option<Shape> + 'p {
    move |index| {
        let inside = index.iter().zip(low.iter().zip(shape));
        inside
            .map(|(&i, (&low, &extent))| i.checked_sub(low).filter(|&i| i < extent))
            .collect()
    }
}

/// One element of 2 or 4 bytes as a word.
fn pattern(element: &[u8]) -> u32 {
    match *element {
        [a, b] => u32::from_le_bytes([a, b, a, b]),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        _ => 0,
    }
}
