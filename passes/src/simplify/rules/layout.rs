//! Transposes, reshapes and broadcasts: where elements stand, never what they are.

use super::super::graph::{Graph, Term, op};
use crate::fold::is_elementwise;
use egg::Id;
use ipucc_tensor::{Axes, Op};

fn in_order(axes: &[u8]) -> bool {
    axes.iter()
        .enumerate()
        .all(|(i, &axis)| i == usize::from(axis))
}

fn inverse(permutation: &[u8]) -> Axes {
    let mut out = Axes::from_elem(0, permutation.len());
    for (to, &from) in permutation.iter().enumerate() {
        out[usize::from(from)] = to as u8;
    }
    out
}

/// Views that do nothing, views of views, and transposes that only move axes of extent 1.
pub fn views_of_views(graph: &Graph, id: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let mut out = Vec::new();
    let view = matches!(at, Op::Reshape(_) | Op::Transpose(_) | Op::Broadcast { .. });
    let Some(&x) = operands.first().filter(|_| view) else {
        return out;
    };
    let (from, to) = (&graph.ty(x).shape, &graph.ty(id).shape);
    match at {
        Op::Transpose(permutation) => {
            let moved = permutation
                .iter()
                .copied()
                .filter(|&axis| from[usize::from(axis)] != 1);
            if in_order(permutation) {
                out.push(x.into());
            } else if moved.clone().is_sorted() {
                out.push(op(Op::Reshape(to.clone()), [x.into()]));
            }
        }
        _ if from == to => out.push(x.into()),
        _ => {}
    }
    for (inner, of) in graph.ops(x) {
        match (at, inner) {
            (Op::Reshape(shape), Op::Reshape(_)) => {
                out.push(op(Op::Reshape(shape.clone()), [of[0].into()]));
            }
            (Op::Transpose(outer), Op::Transpose(first)) => {
                let joined = outer.iter().map(|&axis| first[usize::from(axis)]).collect();
                out.push(op(Op::Transpose(joined), [of[0].into()]));
            }
            (Op::Broadcast { shape, axes: outer }, Op::Broadcast { axes: first, .. }) => {
                let axes = first.iter().map(|&axis| outer[usize::from(axis)]).collect();
                let shape = shape.clone();
                out.push(op(Op::Broadcast { shape, axes }, [of[0].into()]));
            }
            _ => {}
        }
    }
    out
}

/// Elementwise operations on transposed or reshaped operands, done before the view. Operands that
/// weights and constants alone decide take the view backwards.
pub fn lift_views(graph: &Graph, id: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    if !is_elementwise(at) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for &first in operands.iter().filter(|&&operand| !graph.fixed(operand)) {
        for (view, of) in graph.ops(first) {
            let back = match view {
                Op::Transpose(permutation) => Op::Transpose(inverse(permutation)),
                Op::Reshape(_) => Op::Reshape(graph.ty(of[0]).shape.clone()),
                _ => continue,
            };
            let before: Option<Vec<Term>> = operands
                .iter()
                .map(|&operand| {
                    if graph.fixed(operand) {
                        return Some(match graph.splat(operand) {
                            Some(_) => resplat(graph, operand, of[0]),
                            None => op(back.clone(), [operand.into()]),
                        });
                    }
                    graph
                        .ops(operand)
                        .find(|(other, _)| *other == view)
                        .filter(|(_, inner)| graph.ty(inner[0]).shape == graph.ty(of[0]).shape)
                        .map(|(_, inner)| inner[0].into())
                })
                .collect();
            if let Some(before) = before {
                let view = match view {
                    Op::Reshape(_) => Op::Reshape(graph.ty(id).shape.clone()),
                    other => other.clone(),
                };
                out.push(op(view, [op(at.clone(), before)]));
            }
        }
    }
    out
}

/// The uniform constant of a class in the shape of another.
fn resplat(graph: &Graph, constant: Id, like: Id) -> Term {
    let fact = graph.fact(constant);
    op(
        Op::Constant {
            element: fact.ty.element,
            shape: graph.ty(like).shape.clone(),
            data: fact.splat.clone().unwrap_or_default(),
        },
        [],
    )
}

/// Elementwise operations on operands that are all broadcast alike, done on what is broadcast.
pub fn broadcast_later(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    if !is_elementwise(at) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for &first in operands.iter().filter(|&&operand| !graph.fixed(operand)) {
        for (spread, of) in graph.ops(first) {
            if !matches!(spread, Op::Broadcast { .. }) {
                continue;
            }
            let before: Option<Vec<Term>> = operands
                .iter()
                .map(|&operand| {
                    if graph.splat(operand).is_some() {
                        return Some(resplat(graph, operand, of[0]));
                    }
                    graph
                        .ops(operand)
                        .find(|(other, inner)| {
                            *other == spread && graph.ty(inner[0]).shape == graph.ty(of[0]).shape
                        })
                        .map(|(_, inner)| inner[0].into())
                })
                .collect();
            if let Some(before) = before {
                out.push(op(spread.clone(), [op(at.clone(), before)]));
            }
        }
    }
    out
}

/// A product takes the axes of its transposed operand where they stood.
pub fn transposed_operand(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Dot {
        lhs_batch,
        rhs_batch,
        lhs_contract,
        rhs_contract,
        accumulate,
        result,
    } = at
    else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for side in [0, 1] {
        let (batch, contract) = match side {
            0 => (lhs_batch, lhs_contract),
            _ => (rhs_batch, rhs_contract),
        };
        for (inner, of) in graph.ops(operands[side]) {
            let Op::Transpose(permutation) = inner else {
                continue;
            };
            let from = |axes: &Axes| -> Axes {
                axes.iter()
                    .map(|&axis| permutation[usize::from(axis)])
                    .collect()
            };
            // Free axes come in the operand's order, which must stay the same.
            let free = (0..permutation.len() as u8)
                .filter(|axis| !batch.contains(axis) && !contract.contains(axis))
                .map(|axis| permutation[usize::from(axis)]);
            if !free.is_sorted() {
                continue;
            }
            let (mut lhs, mut rhs) = (
                (lhs_batch.clone(), lhs_contract.clone()),
                (rhs_batch.clone(), rhs_contract.clone()),
            );
            let moved = (from(batch), from(contract));
            let mut now = [operands[0], operands[1]];
            now[side] = of[0];
            match side {
                0 => lhs = moved,
                _ => rhs = moved,
            }
            let product = Op::Dot {
                lhs_batch: lhs.0,
                rhs_batch: rhs.0,
                lhs_contract: lhs.1,
                rhs_contract: rhs.1,
                accumulate: *accumulate,
                result: *result,
            };
            out.push(op(product, now.map(Term::from)));
        }
    }
    out
}

/// A product whose rows and columns are exchanged is the product of the exchanged operands.
pub fn transposed_product(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Transpose(permutation) = at else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for (inner, of) in graph.ops(operands[0]) {
        let Op::Dot {
            lhs_batch,
            rhs_batch,
            lhs_contract,
            rhs_contract,
            accumulate,
            result,
        } = inner
        else {
            continue;
        };
        let batch = lhs_batch.len() as u8;
        let rank = permutation.len() as u8;
        let rows = graph.ty(of[0]).rank() as u8 - batch - lhs_contract.len() as u8;
        let exchanged = (0..batch)
            .chain(batch + rows..rank)
            .chain(batch..batch + rows);
        if exchanged.eq(permutation.iter().copied()) {
            let product = Op::Dot {
                lhs_batch: rhs_batch.clone(),
                rhs_batch: lhs_batch.clone(),
                lhs_contract: rhs_contract.clone(),
                rhs_contract: lhs_contract.clone(),
                accumulate: *accumulate,
                result: *result,
            };
            out.push(op(product, [of[1].into(), of[0].into()]));
        }
    }
    out
}
