//! Activations of ONNX that the tensor language writes with simpler operations.

use super::Importer;
use super::helpers::attribute;
use super::ops::{Results, one, text};
use super::proto::NodeProto;
use ipucc_tensor::{BinaryOp, CompareOp, Op, UnaryOp, Value};

impl Importer<'_> {
    pub(super) fn clip(&mut self, node: &NodeProto) -> Results {
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

    pub(super) fn activation(&mut self, node: &NodeProto) -> Results {
        let x = self.value(node, 0)?;
        let alpha = |default| attribute(node, "alpha").map_or(default, |a| a.f);
        let beta = attribute(node, "beta").map_or(0.5, |a| a.f);
        match node.op_type.as_str() {
            "LeakyRelu" => {
                let scaled = self.scaled(x, alpha(0.01))?;
                self.negative_or(x, scaled, x)
            }
            "Elu" => {
                let exp = self.unary(UnaryOp::Exp, x)?;
                let low = self.shifted(exp, -1.0)?;
                let low = self.scaled(low, alpha(1.0))?;
                self.negative_or(x, low, x)
            }
            "HardSigmoid" => one(self.hard_sigmoid(x, alpha(0.2), beta)?),
            "HardSwish" => {
                let gate = self.hard_sigmoid(x, 1.0 / 6.0, 0.5)?;
                self.emit(Op::Binary(BinaryOp::Mul), &[x, gate])
            }
            _ => {
                // Softplus: max(x, 0) + log(1 + exp(-|x|)) does not overflow.
                let size = self.unary(UnaryOp::Abs, x)?;
                let size = self.unary(UnaryOp::Neg, size)?;
                let exp = self.unary(UnaryOp::Exp, size)?;
                let one_more = self.shifted(exp, 1.0)?;
                let log = self.unary(UnaryOp::Log, one_more)?;
                let positive = self.bounded(BinaryOp::Max, x, 0.0)?;
                self.emit(Op::Binary(BinaryOp::Add), &[positive, log])
            }
        }
    }

    fn unary(&mut self, op: UnaryOp, x: Value) -> Result<Value, String> {
        self.builder.op(Op::Unary(op), &[x]).map_err(text)
    }

    /// `op(x, value)`.
    fn bounded(&mut self, op: BinaryOp, x: Value, value: f32) -> Result<Value, String> {
        let element = self.builder.ty(x).element;
        let constant = self.splat_like(x, value, element)?;
        self.builder.binary(op, x, constant).map_err(text)
    }

    fn scaled(&mut self, x: Value, factor: f32) -> Result<Value, String> {
        self.bounded(BinaryOp::Mul, x, factor)
    }

    fn shifted(&mut self, x: Value, summand: f32) -> Result<Value, String> {
        self.bounded(BinaryOp::Add, x, summand)
    }

    /// `x < 0 ? low : high`.
    fn negative_or(&mut self, x: Value, low: Value, high: Value) -> Results {
        let element = self.builder.ty(x).element;
        let zero = self.splat_like(x, 0.0, element)?;
        let negative = self.builder.compare(CompareOp::Lt, x, zero).map_err(text)?;
        self.emit(Op::Select, &[negative, low, high])
    }

    fn hard_sigmoid(&mut self, x: Value, alpha: f32, beta: f32) -> Result<Value, String> {
        let y = self.scaled(x, alpha)?;
        let y = self.shifted(y, beta)?;
        let y = self.bounded(BinaryOp::Max, y, 0.0)?;
        self.bounded(BinaryOp::Min, y, 1.0)
    }
}
