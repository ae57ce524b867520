//! What a node costs: an estimate in cycles, spread over the tiles of the chip.
//!
//! The figures per element are those of the kernel table in `docs/kernels.md`; moving counts the
//! words that one tile receives. What weights and constants alone decide is stored with the package
//! and costs nothing at run time.

use super::graph::{Graph, Head, Node};
use egg::Id;
use ipucc_chip::ScalarType;
use ipucc_tensor::{BinaryOp, Op, ReduceKind, TensorType, UnaryOp};

/// Fixed cycles of a kernel call: launch, join, and the slots of six workers.
const LAUNCH: f64 = 128.0;

/// Fixed cycles of an exchange phase: barrier and first events.
const PHASE: f64 = 160.0;

/// Cycles of an elementwise operation that joins a chain, beside its elements.
const CHAINED: f64 = 8.0;

/// Cost in cycles of a node of class `id` on a chip of so many tiles; at least 1, so that fewer
/// operations win between equals.
pub fn cost(graph: &Graph, id: Id, node: &Node, tiles: u32) -> u64 {
    let Head::Op(op) = graph.head(node) else {
        return 1;
    };
    if graph.fixed(id) {
        return 1;
    }
    let ty = graph.ty(id);
    let share = |ty: &TensorType| (ty.elements() as f64 / f64::from(tiles)).max(1.0);
    let words = |ty: &TensorType| (ty.bytes() as f64 / 4.0 / f64::from(tiles)).max(1.0);
    let half = |element: ScalarType| if element.bytes() <= 2 { 0.5 } else { 1.0 };
    let operand = |index: usize| graph.ty(node.children[index]);
    let each = |cycles: f64| CHAINED + cycles * half(ty.element) * share(ty);
    let row = |cycles: f64| LAUNCH + PHASE + (cycles * half(ty.element) + 1.0) * share(operand(0));
    let cycles = match op {
        Op::Constant { .. } | Op::Weight(_) | Op::Iota { .. } | Op::Reshape(_) => 0.0,
        Op::Broadcast { .. } => CHAINED,
        Op::Unary(kind) => each(match kind {
            UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Not => 0.5,
            UnaryOp::Erf => 12.0,
            UnaryOp::Sin | UnaryOp::Cos => 20.0,
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Sign => 2.0,
            _ => 3.0,
        }),
        Op::Binary(kind) => each(match kind {
            BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorRem => 4.0,
            BinaryOp::Pow => 12.0,
            _ => 0.5,
        }),
        Op::Compare(_) | Op::Select | Op::Clamp | Op::Convert(_) => each(1.0),
        Op::Gelu { tanh } => each(if *tanh { 4.5 } else { 10.0 }),
        Op::Transpose(_) | Op::Slice { .. } | Op::Reverse(_) => PHASE + 2.0 * words(ty),
        Op::Pad { .. } | Op::Concat(_) => LAUNCH + PHASE + 2.0 * words(ty),
        Op::Softmax(_) => row(3.5),
        Op::LayerNorm { .. } | Op::RmsNorm { .. } => row(3.0),
        Op::Reduce { kind, .. } => row(match kind {
            ReduceKind::Sum | ReduceKind::Mean => 0.5,
            _ => 1.0,
        }),
        Op::ArgReduce { .. } | Op::CumSum { .. } => row(4.0),
        Op::Dot { lhs_contract, .. } => {
            let lhs = operand(0);
            let depth: f64 = lhs_contract
                .iter()
                .map(|&axis| f64::from(lhs.shape[usize::from(axis)]))
                .product();
            let macs = ty.elements() as f64 * depth / f64::from(tiles);
            let rate = match lhs.element {
                ScalarType::F8E4M3 | ScalarType::F8E5M2 => 128.0,
                ScalarType::F16 => 64.0,
                ScalarType::F32 => 16.0,
                _ => 1.0,
            };
            // A block of rows and columns of the operands goes to every tile.
            let moved: f64 = [0, 1]
                .iter()
                .filter(|&&index| !graph.fixed(node.children[index]))
                .map(|&index| operand(index).bytes() as f64 / 4.0 / f64::from(tiles).sqrt())
                .sum();
            2.0 * PHASE + LAUNCH + macs / rate + moved + 2.0 * words(ty)
        }
        Op::Attention { .. } => {
            let keys = f64::from(operand(1).shape[operand(1).rank() - 2]);
            let macs = 2.0 * operand(0).elements() as f64 * keys / f64::from(tiles);
            2.0 * PHASE + LAUNCH + macs / (16.0 / half(ty.element)) + 3.0 * words(ty)
        }
        Op::Conv { .. } | Op::ConvTranspose { .. } => {
            let taps = operand(1).elements() as f64 / f64::from(operand(1).shape[0].max(1));
            2.0 * PHASE + LAUNCH + taps * share(ty) / 16.0 + words(operand(0))
        }
        _ => LAUNCH + PHASE + 4.0 * share(ty),
    };
    1 + cycles.ceil() as u64
}
