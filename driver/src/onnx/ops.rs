//! Operators of ONNX in terms of the tensor language.

use super::helpers::{
    attribute, axis, binary, broadcast_shapes, compare, extents, int, reduce, reshape_target,
    slice_bounds, squeeze, string, unary, unsqueeze,
};
use super::proto::{DataType, NodeProto};
use super::{Constant, Importer, Known, fold};
use ipucc_chip::ScalarType;
use ipucc_tensor::{BinaryOp, Op, ReduceKind, Shape, Value};

/// The operators that can be imported.
const SUPPORTED: &[&str] = &[
    "Abs",
    "Add",
    "And",
    "ArgMax",
    "ArgMin",
    "Cast",
    "Ceil",
    "Clip",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Cos",
    "Div",
    "Dropout",
    "Equal",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Floor",
    "Gather",
    "Gelu",
    "Gemm",
    "Greater",
    "GreaterOrEqual",
    "Identity",
    "LayerNormalization",
    "Less",
    "LessOrEqual",
    "Log",
    "MatMul",
    "Max",
    "Min",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Pow",
    "Reciprocal",
    "ReduceMax",
    "ReduceMean",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "Relu",
    "Reshape",
    "Round",
    "Shape",
    "Sigmoid",
    "Sign",
    "Sin",
    "Slice",
    "Softmax",
    "Split",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Tanh",
    "Transpose",
    "Unsqueeze",
    "Where",
    "Xor",
];

/// True if nodes of this operator can be imported.
pub fn is_supported(op: &str) -> bool {
    SUPPORTED.binary_search(&op).is_ok()
}

type Results = Result<Vec<Known>, String>;

impl Importer<'_> {
    /// The results of a node whose operator is supported.
    pub(super) fn import_node(&mut self, node: &NodeProto) -> Results {
        let op = node.op_type.as_str();
        if let Some(unary) = unary(op) {
            let x = self.value(node, 0)?;
            return self.emit(Op::Unary(unary), &[x]);
        }
        if let Some(binary) = binary(op) {
            return self.arithmetic(node, op, binary);
        }
        if let Some(compare) = compare(op) {
            let (x, y) = (self.value(node, 0)?, self.value(node, 1)?);
            return one(self.builder.compare(compare, x, y).map_err(text)?);
        }
        if let Some(kind) = op.strip_prefix("Reduce").and_then(reduce) {
            return self.reduce(node, kind);
        }
        match op {
            "Identity" | "Dropout" => Ok(vec![self.known(node, 0)?]),
            "Constant" => self.constant(node),
            "ConstantOfShape" => {
                let shape = extents(&self.ints(node, 0)?)?;
                let fill = match attribute(node, "value").and_then(|a| a.t.as_ref()) {
                    Some(tensor) => Constant::read(tensor, self.folder)?,
                    None => Constant::floats(vec![1], &[0.0]),
                };
                if fill.elements() != 1 {
                    return Err("`value` must hold one element".into());
                }
                Ok(vec![Known::Constant(fold::splat(
                    fill.kind,
                    &fill.bytes,
                    shape,
                ))])
            }
            "Shape" => {
                let shape = self.shape_of(node, 0)?;
                let rank = shape.len() as i64;
                let at = |name, default| {
                    let value = int(node, name).unwrap_or(default);
                    (if value < 0 { value + rank } else { value }).clamp(0, rank) as usize
                };
                let (start, end) = (at("start", 0), at("end", rank));
                Ok(vec![Known::Constant(fold::shape(
                    &shape[start..end.max(start)],
                ))])
            }
            "Relu" => {
                let x = self.value(node, 0)?;
                let element = self.builder.ty(x).element;
                let zero = self.splat_like(x, 0.0, element)?;
                self.emit(Op::Binary(BinaryOp::Max), &[x, zero])
            }
            "Gelu" => {
                let x = self.value(node, 0)?;
                let tanh = string(node, "approximate").is_some_and(|s| s == "tanh");
                self.emit(Op::Gelu { tanh }, &[x])
            }
            "Clip" => self.clip(node),
            "Softmax" => {
                let x = self.value(node, 0)?;
                let rank = self.builder.ty(x).rank();
                let (default, flat) = if self.version < 13 {
                    (1, true)
                } else {
                    (-1, false)
                };
                let axis = axis(int(node, "axis").unwrap_or(default), rank)?;
                if flat && axis + 1 != rank {
                    return Err("before operator set 13 only the last axis is supported".into());
                }
                self.emit(Op::Softmax(axis as u8), &[x])
            }
            "LayerNormalization" => self.layer_norm(node),
            "MatMul" => {
                let (x, y) = (self.value(node, 0)?, self.value(node, 1)?);
                self.matmul(x, y)
            }
            "Gemm" => self.gemm(node),
            "Cast" => self.cast(node),
            "Where" => {
                let condition = self.value(node, 0)?;
                let (x, y) = (self.value(node, 1)?, self.value(node, 2)?);
                let mut shape = self.common_shape(x, y)?;
                let condition_shape = self.builder.ty(condition).shape.clone();
                shape = broadcast_shapes(&shape, &condition_shape)?;
                let operands =
                    [condition, x, y].map(|v| self.builder.broadcast_to(v, &shape).map_err(text));
                let [c, x, y] = operands;
                self.emit(Op::Select, &[c?, x?, y?])
            }
            "ArgMax" | "ArgMin" => {
                let x = self.value(node, 0)?;
                if int(node, "select_last_index").unwrap_or(0) != 0 {
                    return Err("select_last_index is not supported".into());
                }
                let axis = axis(int(node, "axis").unwrap_or(0), self.builder.ty(x).rank())? as u8;
                let keep = int(node, "keepdims").unwrap_or(1) != 0;
                let largest = op == "ArgMax";
                let value = self
                    .builder
                    .op(
                        Op::ArgReduce {
                            largest,
                            axis,
                            keep,
                        },
                        &[x],
                    )
                    .map_err(text)?;
                self.note_width(value, DataType::Int64);
                one(value)
            }
            "Gather" => self.gather(node),
            "Concat" => self.concat(node),
            "Slice" => self.slice(node),
            "Split" => self.split(node),
            "Transpose" => {
                let x = self.value(node, 0)?;
                let rank = self.builder.ty(x).rank();
                let permutation: Vec<usize> = match attribute(node, "perm") {
                    Some(perm) => perm
                        .ints
                        .iter()
                        .map(|&a| axis(a, rank))
                        .collect::<Result<_, _>>()?,
                    None => (0..rank).rev().collect(),
                };
                let axes = permutation.iter().map(|&a| a as u8).collect();
                self.emit(Op::Transpose(axes), &[x])
            }
            "Expand" => {
                let x = self.value(node, 0)?;
                let wanted: Shape = extents(&self.ints(node, 1)?)?.into_iter().collect();
                let shape = broadcast_shapes(&self.builder.ty(x).shape.clone(), &wanted)?;
                one(self.builder.broadcast_to(x, &shape).map_err(text)?)
            }
            "Reshape" | "Flatten" | "Squeeze" | "Unsqueeze" => self.reshape(node),
            other => Err(format!("operator {other} is not supported")),
        }
    }

    fn emit(&mut self, op: Op, operands: &[Value]) -> Results {
        let wide = operands.iter().find_map(|v| self.wide.get(v).copied());
        let value = self.builder.op(op, operands).map_err(text)?;
        if let Some(kind) = wide.filter(|kind| kind.device() == self.builder.ty(value).element) {
            self.note_width(value, kind);
        }
        one(value)
    }

    fn known(&self, node: &NodeProto, index: usize) -> Result<Known, String> {
        match node.input.get(index).filter(|name| !name.is_empty()) {
            None => Err(format!("input {index} is missing")),
            Some(name) => match self.names.get(name) {
                None => Err(format!("input `{name}` is made by no node before it")),
                Some(known) => Ok(known.clone()),
            },
        }
    }

    fn has(&self, node: &NodeProto, index: usize) -> bool {
        node.input.get(index).is_some_and(|name| !name.is_empty())
    }

    fn value(&mut self, node: &NodeProto, index: usize) -> Result<Value, String> {
        match self.known(node, index)? {
            Known::Value(value) => Ok(value),
            Known::Constant(constant) => {
                let name = node.input[index].clone();
                let value = self.materialize(&name, &constant)?;
                self.names.insert(name, Known::Constant(constant));
                Ok(value)
            }
            Known::Failed => Err("an input could not be imported".into()),
        }
    }

    fn known_constant(&self, node: &NodeProto, index: usize) -> Result<Constant, String> {
        match self.known(node, index)? {
            Known::Constant(constant) => Ok(constant),
            _ => Err(format!(
                "input {index} (`{}`) must be known when the model is compiled; \
                 hint: shapes, axes and bounds cannot depend on inputs",
                node.input[index]
            )),
        }
    }

    fn ints(&self, node: &NodeProto, index: usize) -> Result<Vec<i64>, String> {
        let constant = self.known_constant(node, index)?;
        constant
            .to_ints()
            .ok_or_else(|| format!("input {index} must be integers"))
    }

    fn shape_of(&self, node: &NodeProto, index: usize) -> Result<Vec<u32>, String> {
        Ok(match self.known(node, index)? {
            Known::Constant(constant) => constant.shape,
            Known::Value(value) => self.builder.ty(value).shape.to_vec(),
            Known::Failed => return Err("an input could not be imported".into()),
        })
    }

    fn splat_like(
        &mut self,
        like: Value,
        value: f32,
        element: ScalarType,
    ) -> Result<Value, String> {
        let shape = self.builder.ty(like).shape.clone();
        let data = match element {
            ScalarType::F32 => value.to_le_bytes().to_vec(),
            ScalarType::F16 => half::f16::from_f32(value).to_le_bytes().to_vec(),
            other => {
                let wide = (value as i64).to_le_bytes();
                wide[..other.bytes() as usize].to_vec()
            }
        };
        self.builder
            .op(
                Op::Constant {
                    element,
                    shape,
                    data,
                },
                &[],
            )
            .map_err(text)
    }

    fn common_shape(&self, x: Value, y: Value) -> Result<Shape, String> {
        broadcast_shapes(&self.builder.ty(x).shape, &self.builder.ty(y).shape)
    }

    fn arithmetic(&mut self, node: &NodeProto, name: &str, op: BinaryOp) -> Results {
        if let (Ok(Known::Constant(a)), Ok(Known::Constant(b)), 2) =
            (self.known(node, 0), self.known(node, 1), node.input.len())
            && let Some(folded) = fold::binary(name, &a, &b)
        {
            return Ok(vec![Known::Constant(folded)]);
        }
        let mut result = self.value(node, 0)?;
        for index in 1..node.input.len() {
            let mut other = self.value(node, index)?;
            if op == BinaryOp::Pow {
                let element = self.builder.ty(result).element;
                if self.builder.ty(other).element != element {
                    other = self
                        .builder
                        .op(Op::Convert(element), &[other])
                        .map_err(text)?;
                }
            }
            let wide = [result, other]
                .iter()
                .find_map(|v| self.wide.get(v).copied());
            result = self.builder.binary(op, result, other).map_err(text)?;
            if let Some(kind) = wide {
                self.note_width(result, kind);
            }
        }
        one(result)
    }

    fn reduce(&mut self, node: &NodeProto, kind: ReduceKind) -> Results {
        let x = self.value(node, 0)?;
        let rank = self.builder.ty(x).rank();
        let named = match attribute(node, "axes") {
            Some(axes) => Some(axes.ints.clone()),
            None if self.has(node, 1) => Some(self.ints(node, 1)?),
            None => None,
        };
        let named = named.filter(|axes| !axes.is_empty());
        let axes: Vec<u8> = match named {
            Some(axes) => axes
                .iter()
                .map(|&a| axis(a, rank).map(|a| a as u8))
                .collect::<Result<_, _>>()?,
            None if int(node, "noop_with_empty_axes").unwrap_or(0) != 0 => return one(x),
            None => (0..rank as u8).collect(),
        };
        let keep = int(node, "keepdims").unwrap_or(1) != 0;
        let wide = self.wide.get(&x).copied();
        let value = self.builder.reduce(kind, x, &axes, keep).map_err(text)?;
        if let Some(kind) = wide {
            self.note_width(value, kind);
        }
        one(value)
    }

    fn constant(&mut self, node: &NodeProto) -> Results {
        let Some(value) = node.attribute.first() else {
            return Err("has no value".into());
        };
        let constant = match value.name.as_str() {
            "value" => {
                let tensor = value.t.as_ref().ok_or("`value` holds no tensor")?;
                Constant::read(tensor, self.folder)?
            }
            "value_float" => Constant::floats(vec![], &[value.f]),
            "value_floats" => Constant::floats(vec![value.floats.len() as u32], &value.floats),
            "value_int" => Constant::ints(vec![], &[value.i]),
            "value_ints" => Constant::ints(vec![value.ints.len() as u32], &value.ints),
            other => return Err(format!("constants given as `{other}` are not supported")),
        };
        Ok(vec![Known::Constant(constant)])
    }

    fn clip(&mut self, node: &NodeProto) -> Results {
        let mut x = self.value(node, 0)?;
        let element = self.builder.ty(x).element;
        for (index, name, op) in [(1, "min", BinaryOp::Max), (2, "max", BinaryOp::Min)] {
            let bound = match attribute(node, name) {
                Some(attribute) => self.splat_like(x, attribute.f, element)?,
                None if self.has(node, index) => self.value(node, index)?,
                None => continue,
            };
            x = self.builder.binary(op, x, bound).map_err(text)?;
        }
        one(x)
    }

    fn layer_norm(&mut self, node: &NodeProto) -> Results {
        if node.output.iter().skip(1).any(|name| !name.is_empty()) {
            return Err("the optional outputs mean and deviation are not supported".into());
        }
        let x = self.value(node, 0)?;
        let ty = self.builder.ty(x).clone();
        let first = axis(int(node, "axis").unwrap_or(-1), ty.rank())?;
        if first + 1 != ty.rank() {
            return Err(
                "normalisation over several axes is not supported; hint: reshape them to one"
                    .into(),
            );
        }
        let scale = self.value(node, 1)?;
        let bias = if self.has(node, 2) {
            self.value(node, 2)?
        } else {
            self.splat_like(scale, 0.0, ty.element)?
        };
        let epsilon = attribute(node, "epsilon")
            .map_or(1e-5f32, |a| a.f)
            .to_bits();
        self.emit(Op::LayerNorm { epsilon }, &[x, scale, bias])
    }

    fn matmul(&mut self, x: Value, y: Value) -> Results {
        let (a, b) = (self.builder.ty(x).clone(), self.builder.ty(y).clone());
        if a.rank() == 0 || b.rank() == 0 {
            return Err("a matrix product needs operands of rank 1 or more".into());
        }
        // Vectors become matrices with one row or column, which is dropped again.
        let (mut x, mut y) = (x, y);
        if a.rank() == 1 {
            x = self
                .builder
                .op(Op::Reshape([1, a.shape[0]].into_iter().collect()), &[x])
                .map_err(text)?;
        }
        if b.rank() == 1 {
            y = self
                .builder
                .op(Op::Reshape([b.shape[0], 1].into_iter().collect()), &[y])
                .map_err(text)?;
        }
        let value = self.builder.matmul(x, y).map_err(text)?;
        if a.rank() > 1 && b.rank() > 1 {
            return one(value);
        }
        let mut shape = self.builder.ty(value).shape.clone();
        if b.rank() == 1 {
            shape.pop();
        }
        if a.rank() == 1 {
            let at = shape.len() - usize::from(b.rank() > 1);
            shape.remove(at - usize::from(b.rank() == 1));
        }
        self.emit(Op::Reshape(shape), &[value])
    }

    fn gemm(&mut self, node: &NodeProto) -> Results {
        let (x, y) = (self.value(node, 0)?, self.value(node, 1)?);
        if self.builder.ty(x).rank() != 2 || self.builder.ty(y).rank() != 2 {
            return Err("operands must be matrices".into());
        }
        let flag = |name| u8::from(int(node, name).unwrap_or(0) != 0);
        let (left, right) = (1 - flag("transA"), flag("transB"));
        let mut value = self
            .builder
            .dot(x, y, &[], &[], &[left], &[right])
            .map_err(text)?;
        let scale = |name| attribute(node, name).map_or(1.0, |a| a.f);
        let element = self.builder.ty(value).element;
        if scale("alpha") != 1.0 {
            let alpha = self.splat_like(value, scale("alpha"), element)?;
            value = self
                .builder
                .binary(BinaryOp::Mul, value, alpha)
                .map_err(text)?;
        }
        if self.has(node, 2) && scale("beta") != 0.0 {
            let mut bias = self.value(node, 2)?;
            if scale("beta") != 1.0 {
                let beta = self.splat_like(bias, scale("beta"), element)?;
                bias = self
                    .builder
                    .binary(BinaryOp::Mul, bias, beta)
                    .map_err(text)?;
            }
            value = self
                .builder
                .binary(BinaryOp::Add, value, bias)
                .map_err(text)?;
        }
        one(value)
    }

    fn cast(&mut self, node: &NodeProto) -> Results {
        let number = int(node, "to").ok_or("attribute `to` is missing")?;
        let kind = i32::try_from(number)
            .ok()
            .and_then(DataType::of)
            .ok_or_else(|| format!("element type {number} is not supported"))?;
        match self.known(node, 0)? {
            Known::Constant(constant) => Ok(vec![Known::Constant(constant.cast(kind))]),
            Known::Failed => Err("an input could not be imported".into()),
            Known::Value(x) => {
                let value = if self.builder.ty(x).element == kind.device() {
                    let same = self.builder.ty(x).shape.clone();
                    // A value of its own, because the host may see it in another width.
                    self.builder.op(Op::Reshape(same), &[x]).map_err(text)?
                } else {
                    self.builder
                        .op(Op::Convert(kind.device()), &[x])
                        .map_err(text)?
                };
                self.note_width(value, kind);
                one(value)
            }
        }
    }

    fn gather(&mut self, node: &NodeProto) -> Results {
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

    fn concat(&mut self, node: &NodeProto) -> Results {
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

    fn slice(&mut self, node: &NodeProto) -> Results {
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

    fn split(&mut self, node: &NodeProto) -> Results {
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

    fn reshape(&mut self, node: &NodeProto) -> Results {
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
}

fn one(value: Value) -> Results {
    Ok(vec![Known::Value(value)])
}

fn text(error: ipucc_tensor::TypeError) -> String {
    error.to_string()
}
