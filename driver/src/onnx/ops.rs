//! Operators of ONNX in terms of the tensor language.

use super::helpers::{
    attribute, axis, binary, broadcast_shapes, compare, extents, int, reduce, string, unary,
};
use super::proto::{DataType, NodeProto};
use super::{Constant, Importer, Known, fold};
use ipucc_chip::ScalarType;
use ipucc_tensor::{BinaryOp, Op, ReduceKind, Shape, UnaryOp, Value};

/// The operators that can be imported.
pub const SUPPORTED: &[&str] = &[
    "Abs",
    "Add",
    "And",
    "ArgMax",
    "ArgMin",
    "AveragePool",
    "BatchNormalization",
    "Cast",
    "Ceil",
    "Clip",
    "Concat",
    "Constant",
    "ConstantOfShape",
    "Conv",
    "ConvTranspose",
    "Cos",
    "CumSum",
    "Div",
    "Dropout",
    "Elu",
    "Equal",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Floor",
    "Gather",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "Greater",
    "GreaterOrEqual",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "LayerNormalization",
    "LeakyRelu",
    "Less",
    "LessOrEqual",
    "Log",
    "LogSoftmax",
    "MatMul",
    "Max",
    "MaxPool",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "Not",
    "Or",
    "Pad",
    "Pow",
    "RMSNormalization",
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
    "SimplifiedLayerNormalization",
    "Sin",
    "Slice",
    "Softmax",
    "Softplus",
    "Split",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Tanh",
    "Tile",
    "Transpose",
    "Unsqueeze",
    "Where",
    "Xor",
];

/// Most elements of a constant that an operator makes: it is held in memory, element by element.
const MOST_ELEMENTS: u64 = 1 << 26;

/// True if nodes of this operator can be imported.
pub fn is_supported(op: &str) -> bool {
    SUPPORTED.binary_search(&op).is_ok()
}

pub(super) type Results = Result<Vec<Known>, String>;

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
                let count = shape.iter().try_fold(1u64, |n, &e| n.checked_mul(e.into()));
                if count.is_none_or(|count| count > MOST_ELEMENTS) {
                    return Err(format!(
                        "a constant of shape {shape:?} has more than {MOST_ELEMENTS} elements"
                    ));
                }
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
            "Softmax" | "LogSoftmax" => {
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
                if op == "Softmax" {
                    return self.emit(Op::Softmax(axis as u8), &[x]);
                }
                // x - max - log(sum(exp(x - max))): the logarithm of a small share stays exact.
                let axes = [axis as u8];
                let most = self.builder.reduce(ReduceKind::Max, x, &axes, true);
                let most = most.map_err(text)?;
                let low = self.builder.binary(BinaryOp::Sub, x, most).map_err(text)?;
                let exp = self.builder.op(Op::Unary(UnaryOp::Exp), &[low]);
                let sum = self
                    .builder
                    .reduce(ReduceKind::Sum, exp.map_err(text)?, &axes, true);
                let log = self
                    .builder
                    .op(Op::Unary(UnaryOp::Log), &[sum.map_err(text)?]);
                let log = log.map_err(text)?;
                one(self.builder.binary(BinaryOp::Sub, low, log).map_err(text)?)
            }
            "Conv" => self.conv(node),
            "ConvTranspose" => self.conv_transpose(node),
            "MaxPool" | "AveragePool" => self.pool(node),
            "GlobalMaxPool" | "GlobalAveragePool" => self.global_pool(node),
            "BatchNormalization" => self.batch_norm(node),
            "Pad" => self.pad(node),
            "LeakyRelu" | "HardSigmoid" | "HardSwish" | "Elu" | "Softplus" => self.activation(node),
            "Sum" | "Mean" => {
                let sum = self.arithmetic(node, "Add", BinaryOp::Add)?;
                let (Some(Known::Value(sum)), "Mean") = (sum.first(), op) else {
                    return Ok(sum);
                };
                let element = self.builder.ty(*sum).element;
                let share = self.splat_like(*sum, 1.0 / node.input.len() as f32, element)?;
                self.emit(Op::Binary(BinaryOp::Mul), &[*sum, share])
            }
            "Mod" => {
                let (x, y) = (self.value(node, 0)?, self.value(node, 1)?);
                let truncated = int(node, "fmod").unwrap_or(0) != 0;
                if !truncated && self.builder.ty(x).element.is_float() {
                    return Err("floats need fmod = 1".into());
                }
                let op = if truncated {
                    BinaryOp::Rem
                } else {
                    BinaryOp::FloorRem
                };
                one(self.builder.binary(op, x, y).map_err(text)?)
            }
            "CumSum" => {
                let x = self.value(node, 0)?;
                let rank = self.builder.ty(x).rank();
                let at = self.ints(node, 1)?;
                let [at] = at[..] else {
                    return Err("input 1 must hold one axis".into());
                };
                let flag = |name| int(node, name).unwrap_or(0) != 0;
                let op = Op::CumSum {
                    axis: axis(at, rank)? as u8,
                    exclusive: flag("exclusive"),
                    reverse: flag("reverse"),
                };
                self.emit(op, &[x])
            }
            "Tile" => self.tile(node),
            "RMSNormalization" | "SimplifiedLayerNormalization" => {
                let (x, scale) = (self.value(node, 0)?, self.value(node, 1)?);
                let rank = self.builder.ty(x).rank();
                if axis(int(node, "axis").unwrap_or(-1), rank)? + 1 != rank {
                    return Err("normalisation over several axes is not supported".into());
                }
                let epsilon = attribute(node, "epsilon").map_or(1e-5f32, |a| a.f);
                let epsilon = epsilon.to_bits();
                self.emit(Op::RmsNorm { epsilon }, &[x, scale])
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

    pub(super) fn emit(&mut self, op: Op, operands: &[Value]) -> Results {
        let wide = operands.iter().find_map(|v| self.wide.get(v).copied());
        let value = self.builder.op(op, operands).map_err(text)?;
        if let Some(kind) = wide.filter(|kind| kind.device() == self.builder.ty(value).element) {
            self.note_width(value, kind);
        }
        one(value)
    }

    pub(super) fn known(&self, node: &NodeProto, index: usize) -> Result<Known, String> {
        match node.input.get(index).filter(|name| !name.is_empty()) {
            None => Err(format!("input {index} is missing")),
            Some(name) => match self.names.get(name) {
                None => Err(format!("input `{name}` is made by no node before it")),
                Some(known) => Ok(known.clone()),
            },
        }
    }

    pub(super) fn has(&self, node: &NodeProto, index: usize) -> bool {
        node.input.get(index).is_some_and(|name| !name.is_empty())
    }

    pub(super) fn value(&mut self, node: &NodeProto, index: usize) -> Result<Value, String> {
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

    pub(super) fn ints(&self, node: &NodeProto, index: usize) -> Result<Vec<i64>, String> {
        let constant = self.known_constant(node, index)?;
        constant
            .to_ints()
            .ok_or_else(|| format!("input {index} must be integers"))
    }

    pub(super) fn shape_of(&self, node: &NodeProto, index: usize) -> Result<Vec<u32>, String> {
        Ok(match self.known(node, index)? {
            Known::Constant(constant) => constant.shape,
            Known::Value(value) => self.builder.ty(value).shape.to_vec(),
            Known::Failed => return Err("an input could not be imported".into()),
        })
    }

    /// A tensor of rank 0.
    pub(super) fn scalar(&mut self, value: f32, element: ScalarType) -> Result<Value, String> {
        let op = Op::Constant {
            element,
            shape: Shape::new(),
            data: bytes_of(value, element),
        };
        self.builder.op(op, &[]).map_err(text)
    }

    pub(super) fn splat_like(
        &mut self,
        like: Value,
        value: f32,
        element: ScalarType,
    ) -> Result<Value, String> {
        let shape = self.builder.ty(like).shape.clone();
        let data = bytes_of(value, element);
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
}

/// One element.
fn bytes_of(value: f32, element: ScalarType) -> Vec<u8> {
    match element {
        ScalarType::F32 => value.to_le_bytes().to_vec(),
        ScalarType::F16 => half::f16::from_f32(value).to_le_bytes().to_vec(),
        other => {
            let wide = (value as i64).to_le_bytes();
            wide[..other.bytes() as usize].to_vec()
        }
    }
}

pub(super) fn one(value: Value) -> Results {
    Ok(vec![Known::Value(value)])
}

pub(super) fn text(error: ipucc_tensor::TypeError) -> String {
    error.to_string()
}
