//! Operators of ONNX that move elements.

use super::helpers::{
    attribute, axis, extents, int, reshape_target, slice_bounds, squeeze, unsqueeze,
};
use super::ops::{Results, one, text};
use super::proto::NodeProto;
use super::{Constant, Importer, Known, fold};
use ipucc_chip::ScalarType;
use ipucc_tensor::{Op, Shape, Value};

impl Importer<'_> {
    pub(super) fn gather(&mut self, node: &NodeProto) -> Results {
        let shape = self.shape_of(node, 0)?;
        let axis = axis(int(node, "axis").unwrap_or(0), shape.len())?;
        if let (Known::Constant(table), Known::Constant(indices)) =
            (self.known(node, 0)?, self.known(node, 1)?)
            && let Some(folded) = fold::gather(&table, &indices, axis)
        {
            return Ok(vec![Known::Constant(folded)]);
        }
        let (table, mut indices) = (self.value(node, 0)?, self.value(node, 1)?);
        if self.builder.ty(indices).element != ScalarType::I32 {
            indices = self
                .builder
                .op(Op::Convert(ScalarType::I32), &[indices])
                .map_err(text)?;
        }
        let wide = self.wide.get(&table).copied();
        let value = self
            .builder
            .op(Op::Gather { axis: axis as u8 }, &[table, indices])
            .map_err(text)?;
        if let Some(kind) = wide {
            self.note_width(value, kind);
        }
        one(value)
    }

    pub(super) fn concat(&mut self, node: &NodeProto) -> Results {
        let rank = self.shape_of(node, 0)?.len();
        let axis = axis(
            int(node, "axis").ok_or("attribute `axis` is missing")?,
            rank,
        )?;
        let known: Vec<Known> = (0..node.input.len())
            .map(|i| self.known(node, i))
            .collect::<Result<_, _>>()?;
        let constants: Vec<&Constant> = known
            .iter()
            .filter_map(|k| {
                if let Known::Constant(c) = k {
                    Some(c)
                } else {
                    None
                }
            })
            .collect();
        if constants.len() == known.len()
            && let Some(folded) = fold::concat(&constants, axis)
        {
            return Ok(vec![Known::Constant(folded)]);
        }
        let values: Vec<Value> = (0..node.input.len())
            .map(|i| self.value(node, i))
            .collect::<Result<_, _>>()?;
        self.emit(Op::Concat(axis as u8), &values)
    }

    pub(super) fn slice(&mut self, node: &NodeProto) -> Results {
        let shape = self.shape_of(node, 0)?;
        let list = |index: usize, name: &str| -> Result<Option<Vec<i64>>, String> {
            if let Some(attribute) = attribute(node, name) {
                return Ok(Some(attribute.ints.clone()));
            }
            if self.has(node, index) {
                self.ints(node, index).map(Some)
            } else {
                Ok(None)
            }
        };
        let starts = list(1, "starts")?.ok_or("starts are missing")?;
        let ends = list(2, "ends")?.ok_or("ends are missing")?;
        let axes = list(3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
        let steps = list(4, "steps")?.unwrap_or_else(|| vec![1; starts.len()]);
        if [ends.len(), axes.len(), steps.len()]
            .iter()
            .any(|&n| n != starts.len())
        {
            return Err("starts, ends, axes and steps have different lengths".into());
        }
        let mut bounds: Vec<(i64, i64, i64)> =
            shape.iter().map(|&extent| (0, extent as i64, 1)).collect();
        for i in 0..starts.len() {
            let at = axis(axes[i], shape.len())?;
            bounds[at] = slice_bounds(starts[i], ends[i], steps[i], shape[at] as i64)?;
        }
        if let Known::Constant(data) = self.known(node, 0)?
            && let [(start, end, step)] = bounds[..]
            && let Some(folded) = fold::slice(&data, start, end, step)
        {
            return Ok(vec![Known::Constant(folded)]);
        }
        let x = self.value(node, 0)?;
        let size = |&(start, end, step): &(i64, i64, i64)| {
            let span = if step > 0 { end - start } else { start - end };
            (span.max(0) as u64).div_ceil(step.unsigned_abs()) as u32
        };
        let op = Op::Slice {
            starts: bounds.iter().map(|b| b.0.max(0) as u32).collect(),
            sizes: bounds.iter().map(size).collect(),
            strides: bounds.iter().map(|b| b.2 as i32).collect(),
        };
        self.emit(op, &[x])
    }

    pub(super) fn split(&mut self, node: &NodeProto) -> Results {
        let x = self.value(node, 0)?;
        let shape = self.builder.ty(x).shape.clone();
        let at = axis(int(node, "axis").unwrap_or(0), shape.len())?;
        let extent = shape[at];
        let parts = match attribute(node, "split") {
            Some(split) => extents(&split.ints)?,
            None if self.has(node, 1) => extents(&self.ints(node, 1)?)?,
            None => {
                let count = node.output.len().max(1) as u32;
                let each = extent.div_ceil(count);
                (0..count)
                    .map(|i| each.min(extent.saturating_sub(i * each)))
                    .collect()
            }
        };
        if parts.iter().map(|&n| n as u64).sum::<u64>() != extent as u64 {
            return Err(format!("parts {parts:?} do not add up to {extent}"));
        }
        let mut results = Vec::new();
        let mut start = 0;
        for part in parts {
            let mut starts = Shape::from_elem(0, shape.len());
            let mut sizes = shape.clone();
            starts[at] = start;
            sizes[at] = part;
            let strides = shape.iter().map(|_| 1).collect();
            results.extend(self.emit(
                Op::Slice {
                    starts,
                    sizes,
                    strides,
                },
                &[x],
            )?);
            start += part;
        }
        Ok(results)
    }

    pub(super) fn reshape(&mut self, node: &NodeProto) -> Results {
        let shape = self.shape_of(node, 0)?;
        let target: Vec<u32> = match node.op_type.as_str() {
            "Reshape" => {
                let zero_is_zero = int(node, "allowzero").unwrap_or(0) != 0;
                reshape_target(&shape, &self.ints(node, 1)?, zero_is_zero)?
            }
            "Flatten" => {
                let value = int(node, "axis").unwrap_or(1);
                let at = if value == shape.len() as i64 {
                    shape.len()
                } else {
                    axis(value, shape.len())?
                };
                let product = |part: &[u32]| part.iter().product::<u32>();
                vec![product(&shape[..at]), product(&shape[at..])]
            }
            name => {
                let named = match attribute(node, "axes") {
                    Some(axes) => Some(axes.ints.clone()),
                    None if self.has(node, 1) => Some(self.ints(node, 1)?),
                    None => None,
                };
                if name == "Squeeze" {
                    squeeze(&shape, named.as_deref())?
                } else {
                    unsqueeze(&shape, &named.ok_or("axes are missing")?)?
                }
            }
        };
        let count = |shape: &[u32]| shape.iter().map(|&e| e as u64).product::<u64>();
        if count(&shape) != count(&target) {
            return Err(format!("{shape:?} cannot become {target:?}"));
        }
        if let Known::Constant(constant) = self.known(node, 0)? {
            return Ok(vec![Known::Constant(Constant {
                shape: target,
                ..constant
            })]);
        }
        let x = self.value(node, 0)?;
        self.emit(Op::Reshape(target.into_iter().collect()), &[x])
    }
    /// The operand repeated along every axis: a broadcast into new axes, then joined.
    pub(super) fn tile(&mut self, node: &NodeProto) -> Results {
        let x = self.value(node, 0)?;
        let shape = self.builder.ty(x).shape.clone();
        let repeats = extents(&self.ints(node, 1)?)?;
        if repeats.len() != shape.len() {
            return Err(format!(
                "{} repeats for rank {}",
                repeats.len(),
                shape.len()
            ));
        }
        let mut value = x;
        for (axis, &count) in repeats.iter().enumerate() {
            if count == 1 {
                continue;
            }
            let here = self.builder.ty(value).shape.clone();
            let mut wide = here.clone();
            wide.insert(axis, count);
            let axes = (0..=here.len() as u8)
                .filter(|&a| a != axis as u8)
                .collect();
            let broadcast = Op::Broadcast { shape: wide, axes };
            value = self.builder.op(broadcast, &[value]).map_err(text)?;
            let mut joined = here;
            joined[axis] = joined[axis]
                .checked_mul(count)
                .ok_or_else(|| format!("axis {axis} becomes too long"))?;
            value = self
                .builder
                .op(Op::Reshape(joined), &[value])
                .map_err(text)?;
        }
        one(value)
    }
}
