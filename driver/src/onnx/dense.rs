//! Matrix products and normalisations of ONNX.

use super::Importer;
use super::helpers::{attribute, axis, int};
use super::ops::{Results, one, text};
use super::proto::NodeProto;
use ipucc_tensor::{BinaryOp, Op, Value};

impl Importer<'_> {
    pub(super) fn layer_norm(&mut self, node: &NodeProto) -> Results {
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

    pub(super) fn matmul(&mut self, x: Value, y: Value) -> Results {
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
        if a.rank() == 1 {
            shape.remove(shape.len() - 2);
        }
        if b.rank() == 1 {
            shape.pop();
        }
        self.emit(Op::Reshape(shape), &[value])
    }

    pub(super) fn gemm(&mut self, node: &NodeProto) -> Results {
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
}
