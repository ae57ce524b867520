//! Operators of ONNX that slide a window: convolutions, pooling, and what goes with them.

use super::Importer;
use super::helpers::{attribute, extents, int, string};
use super::ops::{Results, one, text};
use super::proto::NodeProto;
use ipucc_chip::ScalarType;
use ipucc_tensor::{Axes, BinaryOp, Op, PoolKind, ReduceKind, Shape, UnaryOp, Value, Window};

impl Importer<'_> {
    pub(super) fn conv(&mut self, node: &NodeProto) -> Results {
        let (x, w) = (self.value(node, 0)?, self.value(node, 1)?);
        let spatial = self.spatial(x)?;
        let kernel = self.kernel_of(node, w, spatial.len())?;
        let element = self.builder.ty(x).element;
        let op = Op::Conv {
            window: window(node, &spatial, &kernel)?,
            groups: groups(node)?,
            accumulate: ScalarType::F32,
            result: element,
        };
        let value = self.builder.op(op, &[x, w]).map_err(text)?;
        self.add_channels(node, value)
    }

    pub(super) fn conv_transpose(&mut self, node: &NodeProto) -> Results {
        let (x, w) = (self.value(node, 0)?, self.value(node, 1)?);
        let spatial = self.spatial(x)?;
        let kernel = self.kernel_of(node, w, spatial.len())?;
        if attribute(node, "output_shape").is_some()
            || string(node, "auto_pad").is_some_and(|pad| pad != "NOTSET" && pad != "VALID")
        {
            return Err("`output_shape` and SAME padding are not supported; hint: `pads`".into());
        }
        let output_padding = match list(node, "output_padding", spatial.len())? {
            Some(padding) => padding,
            None => Shape::from_elem(0, spatial.len()),
        };
        let op = Op::ConvTranspose {
            window: window(node, &spatial, &kernel)?,
            output_padding,
            groups: groups(node)?,
            result: self.builder.ty(x).element,
        };
        let value = self.builder.op(op, &[x, w]).map_err(text)?;
        self.add_channels(node, value)
    }

    /// Adds input 2, one element per channel, if it is there.
    fn add_channels(&mut self, node: &NodeProto, value: Value) -> Results {
        if !self.has(node, 2) {
            return one(value);
        }
        let bias = self.value(node, 2)?;
        let bias = self.by_channel(bias, value)?;
        one(self
            .builder
            .binary(BinaryOp::Add, value, bias)
            .map_err(text)?)
    }

    /// A vector over the channels (axis 1) of `like`, broadcast to its shape.
    fn by_channel(&mut self, vector: Value, like: Value) -> Result<Value, String> {
        let shape = self.builder.ty(like).shape.clone();
        let axes = Axes::from_elem(1, 1);
        let op = Op::Broadcast { shape, axes };
        self.builder.op(op, &[vector]).map_err(text)
    }

    pub(super) fn pool(&mut self, node: &NodeProto) -> Results {
        let x = self.value(node, 0)?;
        let spatial = self.spatial(x)?;
        if node.output.iter().skip(1).any(|name| !name.is_empty()) {
            return Err("the optional output of indices is not supported".into());
        }
        if int(node, "storage_order").unwrap_or(0) != 0 {
            return Err("column-major storage_order is not supported".into());
        }
        let size = list(node, "kernel_shape", spatial.len())?
            .ok_or("attribute `kernel_shape` is missing")?;
        let window = window(node, &spatial, &size)?;
        if int(node, "ceil_mode").unwrap_or(0) != 0 {
            let left = (0..spatial.len()).any(|axis| {
                let whole = spatial[axis] + window.low[axis] + window.high[axis];
                let reach = (size[axis] - 1) * window.dilation[axis] + 1;
                whole < reach || !(whole - reach).is_multiple_of(window.strides[axis])
            });
            if left {
                return Err(
                    "ceil_mode that keeps an incomplete window is not supported; hint: pad the \
                     input"
                        .into(),
                );
            }
        }
        let kind = match node.op_type.as_str() {
            "MaxPool" => PoolKind::Max,
            _ if int(node, "count_include_pad").unwrap_or(0) != 0 => PoolKind::AverageWithPadding,
            _ => PoolKind::Average,
        };
        self.emit(Op::Pool { kind, size, window }, &[x])
    }

    pub(super) fn global_pool(&mut self, node: &NodeProto) -> Results {
        let x = self.value(node, 0)?;
        self.spatial(x)?;
        let axes: Vec<u8> = (2..self.builder.ty(x).rank() as u8).collect();
        let kind = match node.op_type.as_str() {
            "GlobalMaxPool" => ReduceKind::Max,
            _ => ReduceKind::Mean,
        };
        one(self.builder.reduce(kind, x, &axes, true).map_err(text)?)
    }

    /// Inference form: `(x - mean) / sqrt(variance + epsilon) * scale + bias`, as one factor and
    /// one summand per channel.
    pub(super) fn batch_norm(&mut self, node: &NodeProto) -> Results {
        if int(node, "training_mode").unwrap_or(0) != 0
            || node.output.iter().skip(1).any(|name| !name.is_empty())
        {
            return Err("training is not supported; hint: export the model for inference".into());
        }
        let x = self.value(node, 0)?;
        if self.builder.ty(x).rank() < 2 {
            return Err("the operand has no channel axis".into());
        }
        let [scale, bias, mean, variance] = [1, 2, 3, 4].map(|index| self.value(node, index));
        let (scale, bias, mean, variance) = (scale?, bias?, mean?, variance?);
        let element = self.builder.ty(variance).element;
        let epsilon = attribute(node, "epsilon").map_or(1e-5, |a| a.f);
        let epsilon = self.splat_like(variance, epsilon, element)?;
        let add = |this: &mut Self, op, a, b| this.builder.binary(op, a, b).map_err(text);
        let spread = add(self, BinaryOp::Add, variance, epsilon)?;
        let root = Op::Unary(UnaryOp::Rsqrt);
        let spread = self.builder.op(root, &[spread]).map_err(text)?;
        let factor = add(self, BinaryOp::Mul, spread, scale)?;
        let shift = add(self, BinaryOp::Mul, mean, factor)?;
        let shift = add(self, BinaryOp::Sub, bias, shift)?;
        let (factor, shift) = (self.by_channel(factor, x)?, self.by_channel(shift, x)?);
        let y = add(self, BinaryOp::Mul, x, factor)?;
        one(add(self, BinaryOp::Add, y, shift)?)
    }

    pub(super) fn pad(&mut self, node: &NodeProto) -> Results {
        if let Some(mode) = string(node, "mode").filter(|mode| mode != "constant") {
            return Err(format!("mode `{mode}` is not supported, `constant` is"));
        }
        let x = self.value(node, 0)?;
        let rank = self.builder.ty(x).rank();
        let element = self.builder.ty(x).element;
        let (pads, fill) = match attribute(node, "pads") {
            Some(pads) => {
                let fill = attribute(node, "value").map_or(0.0, |a| a.f);
                (pads.ints.clone(), Some(fill))
            }
            None => (self.ints(node, 1)?, (!self.has(node, 2)).then_some(0.0)),
        };
        let axes: Vec<usize> = if self.has(node, 3) {
            let named = self.ints(node, 3)?;
            let named = named.iter().map(|&axis| super::helpers::axis(axis, rank));
            named.collect::<Result<_, _>>()?
        } else {
            (0..rank).collect()
        };
        if pads.len() != 2 * axes.len() {
            return Err(format!("{} pads for {} axes", pads.len(), axes.len()));
        }
        if pads.iter().any(|&pad| pad < 0) {
            return Err("negative pads are not supported; hint: Slice".into());
        }
        let (first, last) = pads.split_at(axes.len());
        let (first, last) = (extents(first)?, extents(last)?);
        let mut low = Shape::from_elem(0, rank);
        let mut high = low.clone();
        for (index, &axis) in axes.iter().enumerate() {
            (low[axis], high[axis]) = (first[index], last[index]);
        }
        let fill = match fill {
            Some(value) => self.scalar(value, element)?,
            None => {
                let fill = self.value(node, 2)?;
                self.builder
                    .op(Op::Reshape(Shape::new()), &[fill])
                    .map_err(text)?
            }
        };
        self.emit(Op::Pad { low, high }, &[x, fill])
    }

    /// Extents of the axes from 2 on.
    fn spatial(&self, x: Value) -> Result<Shape, String> {
        let ty = self.builder.ty(x);
        match ty.rank() {
            3..=5 => Ok(ty.shape[2..].into()),
            rank => Err(format!(
                "the operand has rank {rank}, expected a batch, channels and 1 to 3 spatial axes"
            )),
        }
    }

    /// The window of a weight, checked against `kernel_shape`.
    fn kernel_of(&self, node: &NodeProto, w: Value, rank: usize) -> Result<Shape, String> {
        let shape = &self.builder.ty(w).shape;
        if shape.len() != rank + 2 {
            return Err(format!(
                "the weight has rank {}, expected {}",
                shape.len(),
                rank + 2
            ));
        }
        let kernel: Shape = shape[2..].into();
        match list(node, "kernel_shape", rank)? {
            Some(named) if named != kernel => Err(format!(
                "kernel_shape is {named:?}, the weight's window {kernel:?}"
            )),
            _ => Ok(kernel),
        }
    }
}

fn groups(node: &NodeProto) -> Result<u32, String> {
    let groups = int(node, "group").unwrap_or(1);
    u32::try_from(groups).map_err(|_| format!("{groups} groups"))
}

/// A list attribute with one entry per spatial axis.
fn list(node: &NodeProto, name: &str, rank: usize) -> Result<Option<Shape>, String> {
    let Some(attribute) = attribute(node, name) else {
        return Ok(None);
    };
    if attribute.ints.len() != rank {
        return Err(format!(
            "`{name}` has {} entries, expected {rank}",
            attribute.ints.len()
        ));
    }
    Ok(Some(extents(&attribute.ints)?.into_iter().collect()))
}

/// Strides, dilation and padding of a node; `SAME` padding becomes numbers.
fn window(node: &NodeProto, spatial: &[u32], kernel: &[u32]) -> Result<Window, String> {
    let rank = spatial.len();
    let ones = || Shape::from_elem(1, rank);
    let strides = list(node, "strides", rank)?.unwrap_or_else(ones);
    let dilation = list(node, "dilations", rank)?.unwrap_or_else(ones);
    if strides
        .iter()
        .chain(&dilation)
        .chain(kernel)
        .any(|&n| n == 0)
    {
        return Err("strides, dilations and windows must be at least 1".into());
    }
    let auto = string(node, "auto_pad").unwrap_or_else(|| "NOTSET".into());
    let (low, high): (Shape, Shape) = match auto.as_str() {
        "NOTSET" | "" => match list(node, "pads", 2 * rank)? {
            Some(pads) => (pads[..rank].into(), pads[rank..].into()),
            None => (Shape::from_elem(0, rank), Shape::from_elem(0, rank)),
        },
        "VALID" => (Shape::from_elem(0, rank), Shape::from_elem(0, rank)),
        "SAME_UPPER" | "SAME_LOWER" => {
            let totals = (0..rank).map(|axis| {
                let outputs = spatial[axis].div_ceil(strides[axis]);
                let reach = u64::from(kernel[axis] - 1) * u64::from(dilation[axis]) + 1;
                let span = u64::from(outputs.max(1) - 1) * u64::from(strides[axis]) + reach;
                span.saturating_sub(spatial[axis].into()) as u32
            });
            let totals: Shape = totals.collect();
            let smaller: Shape = totals.iter().map(|total| total / 2).collect();
            let larger: Shape = totals.iter().map(|total| total - total / 2).collect();
            if auto == "SAME_UPPER" {
                (smaller, larger)
            } else {
                (larger, smaller)
            }
        }
        other => return Err(format!("auto_pad `{other}` is not known")),
    };
    Ok(Window {
        strides,
        low,
        high,
        dilation,
    })
}
