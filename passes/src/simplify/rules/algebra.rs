//! Laws of arithmetic.

use super::super::graph::{Graph, Term, binary, unary};
use egg::Id;
use ipucc_tensor::BinaryOp::{self, Add, And, Div, Max, Min, Mul, Or, Sub, Xor};
use ipucc_tensor::{Op, UnaryOp};

/// `x . y = y . x`
pub fn commute(_: &Graph, _: Id, op: &Op, operands: &[Id]) -> Vec<Term> {
    match op {
        Op::Binary(kind @ (Add | Mul | Min | Max | And | Or | Xor)) => {
            vec![binary(*kind, operands[1], operands[0])]
        }
        _ => Vec::new(),
    }
}

/// `x + 0`, `x - 0`, `x * 1`, `x / 1`, and of integers `x * 0`, `x ^ 0`, `x | 0`.
pub fn neutral(graph: &Graph, _: Id, op: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Binary(kind) = op else {
        return Vec::new();
    };
    let (x, y) = (operands[0], operands[1]);
    let integer = !graph.ty(x).element.is_float();
    match (kind, graph.splat(y)) {
        (Add | Sub, Some(0.0)) | (Mul | Div, Some(1.0)) => vec![x.into()],
        (Or | Xor, Some(0.0)) if integer => vec![x.into()],
        (Mul | And, Some(0.0)) if integer => vec![y.into()],
        _ => Vec::new(),
    }
}

/// Negations: twice, of a difference, as a factor, in sums.
pub fn negation(graph: &Graph, _: Id, op: &Op, operands: &[Id]) -> Vec<Term> {
    let mut out = Vec::new();
    match op {
        Op::Unary(UnaryOp::Neg) => {
            for (inner, of) in graph.ops(operands[0]) {
                match inner {
                    Op::Unary(UnaryOp::Neg) => out.push(of[0].into()),
                    Op::Binary(Sub) => out.push(binary(Sub, of[1], of[0])),
                    _ => {}
                }
            }
        }
        // Of unsigned integers -x is another number, and |x| is x.
        Op::Unary(UnaryOp::Abs) if signed(graph, operands[0]) => {
            for (inner, of) in graph.ops(operands[0]) {
                if let Op::Unary(UnaryOp::Neg) = inner {
                    out.push(unary(UnaryOp::Abs, of[0]));
                }
            }
        }
        Op::Binary(Mul) if graph.splat(operands[1]) == Some(-1.0) => {
            out.push(unary(UnaryOp::Neg, operands[0]));
        }
        Op::Binary(kind @ (Add | Sub)) => {
            let other = if *kind == Add { Sub } else { Add };
            for (inner, of) in graph.ops(operands[1]) {
                if let Op::Unary(UnaryOp::Neg) = inner {
                    out.push(binary(other, operands[0], of[0]));
                }
            }
        }
        _ => {}
    }
    out
}

fn signed(graph: &Graph, id: Id) -> bool {
    let element = graph.ty(id).element;
    element.is_float() || element.is_signed_integer()
}

/// `max(x, x) = x` and its like; `abs(abs(x)) = abs(x)`; rounding what is whole.
pub fn idempotent(graph: &Graph, _: Id, op: &Op, operands: &[Id]) -> Vec<Term> {
    match op {
        Op::Binary(Max | Min | And | Or) if graph.same(operands[0], operands[1]) => {
            vec![operands[0].into()]
        }
        Op::Unary(
            kind @ (UnaryOp::Abs | UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Sign),
        ) => graph
            .ops(operands[0])
            .filter(|(inner, _)| matches!(inner, Op::Unary(other) if other == kind))
            .map(|_| operands[0].into())
            .collect(),
        _ => Vec::new(),
    }
}

/// `x / 2^k = x * 2^-k`: the same number before rounding.
pub fn divide_by_power(graph: &Graph, _: Id, op: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Binary(Div) = op else {
        return Vec::new();
    };
    let element = graph.ty(operands[0]).element;
    match graph.splat(operands[1]) {
        // 2^-8 to 2^8 and their reciprocals are numbers of every float type of arithmetic.
        Some(divisor) if element.is_float() && element.bytes() > 1 => {
            let (fraction, exponent) = (divisor.abs().to_bits() << 12, divisor.abs().log2());
            if fraction == 0 && exponent.abs() <= 8.0 {
                let factor = graph.constant_like(operands[1], 1.0 / divisor);
                vec![binary(Mul, operands[0], factor)]
            } else {
                Vec::new()
            }
        }
        _ => Vec::new(),
    }
}

/// `x / c = x * (1 / c)`
pub fn divide_by_constant(graph: &Graph, _: Id, op: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Binary(Div) = op else {
        return Vec::new();
    };
    let element = graph.ty(operands[0]).element;
    match graph.splat(operands[1]) {
        Some(divisor) if element.is_float() && divisor.abs() > 1e-4 && divisor.abs() < 1e4 => {
            let factor = graph.constant_like(operands[1], 1.0 / divisor);
            vec![binary(Mul, operands[0], factor)]
        }
        _ => Vec::new(),
    }
}

fn associate(graph: &Graph, kind: BinaryOp, operands: &[Id]) -> Vec<Term> {
    graph
        .ops(operands[0])
        .filter(|(inner, _)| **inner == Op::Binary(kind))
        .map(|(_, of)| binary(kind, of[0], binary(kind, of[1], operands[1])))
        .collect()
}

/// `(x . y) . z = x . (y . z)` of integers, minima and maxima.
pub fn associate_exact(graph: &Graph, id: Id, op: &Op, operands: &[Id]) -> Vec<Term> {
    let integer = !graph.ty(id).element.is_float();
    match op {
        Op::Binary(kind @ (Min | Max | And | Or | Xor)) => associate(graph, *kind, operands),
        Op::Binary(kind @ (Add | Mul)) if integer => associate(graph, *kind, operands),
        _ => Vec::new(),
    }
}

/// `(x . y) . z = x . (y . z)` of floats, where the inner one then is a weight or a constant: sums
/// of activations keep their order.
pub fn associate_floats(graph: &Graph, id: Id, op: &Op, operands: &[Id]) -> Vec<Term> {
    match op {
        Op::Binary(kind @ (Add | Mul)) if graph.ty(id).element.is_float() => {
            let mut out = Vec::new();
            if graph.fixed(operands[1]) {
                for (inner, of) in graph.ops(operands[0]) {
                    if *inner == Op::Binary(*kind) && graph.fixed(of[1]) {
                        out.push(binary(*kind, of[0], binary(*kind, of[1], operands[1])));
                    }
                    // A constant goes outside, where the next product or norm can take it.
                    if *inner == Op::Binary(*kind) && graph.fixed(of[0]) && !graph.fixed(of[1]) {
                        out.push(binary(*kind, of[1], binary(*kind, of[0], operands[1])));
                    }
                }
            }
            out
        }
        _ => Vec::new(),
    }
}

/// `x * z + y * z = (x + y) * z`
fn factor(graph: &Graph, op: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Binary(kind @ (Add | Sub)) = op else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (left, a) in graph.ops(operands[0]) {
        for (right, b) in graph.ops(operands[1]) {
            if *left != Op::Binary(Mul) || *right != Op::Binary(Mul) {
                continue;
            }
            for (x, z) in [(a[0], a[1]), (a[1], a[0])] {
                for (y, w) in [(b[0], b[1]), (b[1], b[0])] {
                    if graph.same(z, w) {
                        out.push(binary(Mul, binary(*kind, x, y), z));
                    }
                }
            }
        }
    }
    out
}

/// `x * z + y * z = (x + y) * z` of integers.
pub fn factor_integers(graph: &Graph, id: Id, op: &Op, operands: &[Id]) -> Vec<Term> {
    if graph.ty(id).element.is_float() {
        return Vec::new();
    }
    factor(graph, op, operands)
}

/// `x * z + y * z = (x + y) * z` of floats.
pub fn factor_floats(graph: &Graph, id: Id, op: &Op, operands: &[Id]) -> Vec<Term> {
    if !graph.ty(id).element.is_float() {
        return Vec::new();
    }
    factor(graph, op, operands)
}
