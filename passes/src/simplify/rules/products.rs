//! Scales and biases into weights, and products of products. What this makes of weights stays an
//! expression of weights: the planner stores it as a weight program.

use super::super::graph::{Graph, Term, binary, op};
use egg::Id;
use ipucc_tensor::BinaryOp::{Add, Mul};
use ipucc_tensor::{Axes, Op};

/// The extents and axes of a product `x[.., k] . w[k, n]` without batch axes.
fn linear(graph: &Graph, at: &Op, operands: &[Id]) -> bool {
    let Op::Dot {
        lhs_batch,
        lhs_contract,
        rhs_contract,
        ..
    } = at
    else {
        return false;
    };
    lhs_batch.is_empty()
        && lhs_contract.len() == 1
        && rhs_contract.len() == 1
        && usize::from(lhs_contract[0]) + 1 == graph.ty(operands[0]).rank()
        && rhs_contract[0] == 0
        && graph.ty(operands[1]).rank() == 2
}

/// What varies along the last axis of a class only: the vector, spread over an axis of a matrix of
/// `shape`. Uniform constants vary nowhere.
fn along_last(graph: &Graph, id: Id, like: Id, axis: u8) -> Vec<Term> {
    if let Some(value) = graph.splat(id) {
        if graph.ty(id).element != graph.ty(like).element {
            return Vec::new();
        }
        return vec![graph.constant_like(like, value)];
    }
    let last = graph.ty(id).rank() as u8;
    let shape = graph.ty(like).shape.clone();
    graph
        .ops(id)
        .filter_map(|(inner, of)| match inner {
            Op::Broadcast { axes, .. }
                if axes.len() == 1
                    && axes[0] + 1 == last
                    && graph.ty(of[0]).shape[0] == shape[usize::from(axis)] =>
            {
                let axes = Axes::from_elem(axis, 1);
                let shape = shape.clone();
                Some(op(Op::Broadcast { shape, axes }, [of[0].into()]))
            }
            _ => None,
        })
        .collect()
}

/// `(x . w) * s = x . (w * s)`, `s` one factor per column or one for all, `w` and `s` weights.
pub fn scale_into_weight(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let mut out = Vec::new();
    if *at != Op::Binary(Mul) || !graph.fixed(operands[1]) {
        return out;
    }
    for (inner, of) in graph.ops(operands[0]) {
        if linear(graph, inner, of) && graph.fixed(of[1]) {
            for scale in along_last(graph, operands[1], of[1], 1) {
                let weight = binary(Mul, of[1], scale);
                out.push(op(inner.clone(), [of[0].into(), weight]));
            }
        }
    }
    // (x . w + b) * s = x . w * s + b * s
    for (inner, of) in graph.ops(operands[0]) {
        let product = |id: Id| {
            graph
                .ops(id)
                .any(|(op, of)| linear(graph, op, of) && graph.fixed(of[1]))
        };
        if *inner == Op::Binary(Add) && graph.fixed(of[1]) && product(of[0]) {
            out.push(binary(
                Add,
                binary(Mul, of[0], operands[1]),
                binary(Mul, of[1], operands[1]),
            ));
        }
    }
    out
}

/// `(x * s) . w = x . (s * w)`, `s` one factor per contracted index or one for all.
pub fn operand_scale(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let mut out = Vec::new();
    if !linear(graph, at, operands) || !graph.fixed(operands[1]) {
        return out;
    }
    for (inner, of) in graph.ops(operands[0]) {
        if *inner == Op::Binary(Mul) && graph.fixed(of[1]) {
            for scale in along_last(graph, of[1], operands[1], 0) {
                let weight = binary(Mul, operands[1], scale);
                out.push(op(at.clone(), [of[0].into(), weight]));
            }
        }
    }
    out
}

/// `(x + b) . w = x . w + b . w`
pub fn operand_bias(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    if !linear(graph, at, operands) || !graph.fixed(operands[1]) {
        return Vec::new();
    }
    graph
        .ops(operands[0])
        .filter(|(inner, of)| **inner == Op::Binary(Add) && graph.fixed(of[1]))
        .map(|(_, of)| {
            let product = |x: Id| op(at.clone(), [x.into(), operands[1].into()]);
            binary(Add, product(of[0]), product(of[1]))
        })
        .collect()
}

/// `conv(x, w) * s = conv(x, w * s)`, `s` uniform or one factor per output channel.
pub fn conv_scale(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let mut out = Vec::new();
    if *at != Op::Binary(Mul) || !graph.fixed(operands[1]) {
        return out;
    }
    for (inner, of) in graph.ops(operands[0]) {
        if !matches!(inner, Op::Conv { .. }) || !graph.fixed(of[1]) {
            continue;
        }
        let weight = graph.ty(of[1]);
        let mut scales = Vec::new();
        if let Some(value) = graph.splat(operands[1])
            && weight.element == graph.ty(operands[1]).element
        {
            scales.push(graph.constant_like(of[1], value));
        }
        for (spread, inside) in graph.ops(operands[1]) {
            if let Op::Broadcast { axes, .. } = spread {
                let vector = graph.ty(inside[0]);
                if axes[..] == [1] && vector.shape[0] == weight.shape[0] {
                    let axes = Axes::from_elem(0, 1);
                    let shape = weight.shape.clone();
                    scales.push(op(Op::Broadcast { shape, axes }, [inside[0].into()]));
                }
            }
        }
        for scale in scales {
            let weight = binary(Mul, of[1], scale);
            out.push(op(inner.clone(), [of[0].into(), weight]));
        }
    }
    out
}

/// Factors and offsets behind a norm become its own.
pub fn norm_affine(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let mut out = Vec::new();
    let Op::Binary(kind @ (Mul | Add)) = at else {
        return out;
    };
    for (inner, of) in graph.ops(operands[0]) {
        let parts = match inner {
            Op::LayerNorm { .. } => of.len(),
            Op::RmsNorm { .. } if *kind == Mul => of.len(),
            _ => continue,
        };
        for vector in along_last(graph, operands[1], of[1], 0) {
            let mut now: Vec<Term> = of.iter().map(|&part| part.into()).collect();
            if *kind == Mul {
                for part in now.iter_mut().take(parts).skip(1) {
                    *part = binary(Mul, part.clone(), vector.clone());
                }
            } else {
                now[2] = binary(Add, now[2].clone(), vector);
            }
            out.push(op(inner.clone(), now));
        }
    }
    out
}

/// `(a . b) . c = a . (b . c)` of matrices, both ways: the cost decides.
pub fn chain(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let mut out = Vec::new();
    if !linear(graph, at, operands) {
        return out;
    }
    for (inner, of) in graph.ops(operands[0]) {
        if inner == at && linear(graph, inner, of) {
            let right = op(at.clone(), [of[1].into(), operands[1].into()]);
            if graph.ty(of[0]).rank() == 2 {
                out.push(op(at.clone(), [of[0].into(), right]));
            }
        }
    }
    for (inner, of) in graph.ops(operands[1]) {
        if inner == at && linear(graph, inner, of) && graph.ty(operands[0]).rank() == 2 {
            let left = op(at.clone(), [operands[0].into(), of[0].into()]);
            out.push(op(at.clone(), [left, of[1].into()]));
        }
    }
    out
}
