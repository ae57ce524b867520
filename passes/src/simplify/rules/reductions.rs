//! Reductions.

use super::super::graph::{Graph, Term, binary, op};
use egg::Id;
use ipucc_tensor::{Axes, BinaryOp, Op, ReduceKind};

/// A fold of one axis of a transpose folds the axis that stood there.
pub fn reduce_transposed(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Reduce {
        kind,
        axes,
        keep: false,
    } = at
    else {
        return Vec::new();
    };
    let [axis] = axes[..] else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (inner, of) in graph.ops(operands[0]) {
        let Op::Transpose(permutation) = inner else {
            continue;
        };
        let folded = permutation[usize::from(axis)];
        let reduced = op(
            Op::Reduce {
                kind: *kind,
                axes: Axes::from_elem(folded, 1),
                keep: false,
            },
            [of[0].into()],
        );
        let rest: Axes = permutation
            .iter()
            .filter(|&&from| from != folded)
            .map(|&from| if from > folded { from - 1 } else { from })
            .collect();
        let sorted = rest.iter().enumerate().all(|(i, &a)| i == usize::from(a));
        out.push(if sorted {
            reduced
        } else {
            op(Op::Transpose(rest), [reduced])
        });
    }
    out
}

/// The extremum along an axis that a broadcast made is what was broadcast.
pub fn reduce_broadcast(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Reduce {
        kind: ReduceKind::Max | ReduceKind::Min,
        axes,
        keep: false,
    } = at
    else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (inner, of) in graph.ops(operands[0]) {
        let Op::Broadcast { shape, axes: kept } = inner else {
            continue;
        };
        let rest = (0..shape.len() as u8).filter(|axis| !axes.contains(axis));
        if rest.eq(kept.iter().copied())
            && shape.iter().all(|&extent| extent > 0)
            && kept
                .iter()
                .zip(&graph.ty(of[0]).shape)
                .all(|(&axis, &extent)| shape[usize::from(axis)] == extent)
        {
            out.push(of[0].into());
        }
    }
    out
}

/// A uniform factor leaves a sum or a mean.
pub fn sum_of_scaled(graph: &Graph, id: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Reduce {
        kind: ReduceKind::Sum | ReduceKind::Mean,
        ..
    } = at
    else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (inner, of) in graph.ops(operands[0]) {
        if *inner != Op::Binary(BinaryOp::Mul) {
            continue;
        }
        if let Some(factor) = graph.splat(of[1]) {
            let folded = op(at.clone(), [of[0].into()]);
            out.push(binary(
                BinaryOp::Mul,
                folded,
                graph.constant_like(id, factor),
            ));
        }
    }
    out
}

/// A sum divided by the number of its terms is a mean.
pub fn mean_from_sum(graph: &Graph, id: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Binary(kind @ (BinaryOp::Div | BinaryOp::Mul)) = at else {
        return Vec::new();
    };
    let Some(factor) = graph.splat(operands[1]) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (inner, of) in graph.ops(operands[0]) {
        let Op::Reduce {
            kind: ReduceKind::Sum,
            axes,
            keep,
        } = inner
        else {
            continue;
        };
        let shape = &graph.ty(of[0]).shape;
        let count: f64 = axes
            .iter()
            .map(|&axis| f64::from(shape[usize::from(axis)]))
            .product();
        let wanted = if *kind == BinaryOp::Div {
            count
        } else {
            1.0 / count
        };
        if super::idioms::close(graph, id, factor, wanted) {
            let op_mean = Op::Reduce {
                kind: ReduceKind::Mean,
                axes: axes.clone(),
                keep: *keep,
            };
            out.push(op(op_mean, [of[0].into()]));
        }
    }
    out
}
