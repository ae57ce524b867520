//! Composites from their parts, as ONNX files hold them, and back.

use super::super::graph::{Graph, Term, binary, op, unary};
use egg::Id;
use ipucc_chip::ScalarType;
use ipucc_tensor::BinaryOp::{Add, Div, Mul, Pow, Sub};
use ipucc_tensor::{Axes, BinaryOp, Op, ReduceKind, TensorType, UnaryOp};

/// True if a constant of the class's type stands for `wanted`: both round to it, or it was rounded
/// once more on the way into the file.
pub fn close(graph: &Graph, like: Id, found: f64, wanted: f64) -> bool {
    let unit = match graph.ty(like).element {
        ScalarType::F16 => f64::from(f32::EPSILON) * 8192.0,
        _ => f64::from(f32::EPSILON),
    };
    (found - wanted).abs() <= 2.0 * unit * wanted.abs()
}

/// Operands of the class's nodes of an operation of two operands.
fn pairs(graph: &Graph, id: Id, kind: BinaryOp) -> Vec<(Id, Id)> {
    graph
        .ops(id)
        .filter(|(op, _)| **op == Op::Binary(kind))
        .map(|(_, of)| (of[0], of[1]))
        .collect()
}

/// As [`pairs`], each in both orders.
fn both(graph: &Graph, id: Id, kind: BinaryOp) -> Vec<(Id, Id)> {
    pairs(graph, id, kind)
        .into_iter()
        .flat_map(|(a, b)| [(a, b), (b, a)])
        .collect()
}

/// Operands of the class's nodes of an operation of one operand.
fn inside(graph: &Graph, id: Id, kind: UnaryOp) -> Vec<Id> {
    graph
        .ops(id)
        .filter(|(op, _)| **op == Op::Unary(kind))
        .map(|(_, of)| of[0])
        .collect()
}

fn is(graph: &Graph, id: Id, wanted: f64) -> bool {
    graph
        .splat(id)
        .is_some_and(|found| close(graph, id, found, wanted))
}

/// What the class is `factor` times of.
fn scaled(graph: &Graph, id: Id, factor: f64) -> Vec<Id> {
    let times = both(graph, id, Mul)
        .into_iter()
        .filter(|&(_, c)| is(graph, c, factor));
    let over = pairs(graph, id, Div)
        .into_iter()
        .filter(|&(_, c)| is(graph, c, 1.0 / factor));
    times.chain(over).map(|(x, _)| x).collect()
}

/// `1 / (1 + exp(-x))`
pub fn sigmoid(graph: &Graph, id: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let below = match at {
        Op::Binary(Div) if is(graph, operands[0], 1.0) => operands[1],
        Op::Unary(UnaryOp::Reciprocal) => operands[0],
        _ => return Vec::new(),
    };
    let mut out = Vec::new();
    for (one, e) in both(graph, below, Add) {
        if !is(graph, one, 1.0) {
            continue;
        }
        for exponent in inside(graph, e, UnaryOp::Exp) {
            for x in inside(graph, exponent, UnaryOp::Neg) {
                if graph.ty(x) == graph.ty(id) {
                    out.push(unary(UnaryOp::Sigmoid, x));
                }
            }
        }
    }
    out
}

/// Three factors of a product of products, in every order.
fn triples(graph: &Graph, operands: &[Id]) -> Vec<[Id; 3]> {
    let mut out = Vec::new();
    for (outer, nested) in [(operands[0], operands[1]), (operands[1], operands[0])] {
        for (p, q) in both(graph, nested, Mul) {
            out.extend([[outer, p, q], [p, outer, q], [p, q, outer]]);
        }
        // x / 2 is x * 0.5 by another name.
        for (p, q) in pairs(graph, nested, Div) {
            if is(graph, q, 2.0) {
                out.extend([[q, p, outer], [q, outer, p]]);
            }
        }
    }
    out
}

/// `x * 0.5 * (1 + f)`: pairs of x and f.
fn gated(graph: &Graph, operands: &[Id]) -> Vec<(Id, Id)> {
    let mut out = Vec::new();
    for [half, x, gate] in triples(graph, operands) {
        // The divisor 2 stands for the factor one half.
        if !is(graph, half, 0.5) && !is(graph, half, 2.0) {
            continue;
        }
        let by_two = is(graph, half, 2.0);
        let divided = |id: Id| {
            pairs(graph, id, Div)
                .iter()
                .any(|&(_, by)| graph.same(by, half))
        };
        if by_two && !operands.iter().any(|&operand| divided(operand)) {
            continue;
        }
        if by_two && both_are_factors(graph, operands, half) {
            continue;
        }
        for (one, f) in both(graph, gate, Add) {
            if is(graph, one, 1.0) {
                out.push((x, f));
            }
        }
    }
    out
}

/// True if `half` is a factor of the product itself, not a divisor in it.
fn both_are_factors(graph: &Graph, operands: &[Id], half: Id) -> bool {
    operands.iter().any(|&operand| {
        graph.same(operand, half)
            || both(graph, operand, Mul)
                .iter()
                .any(|&(p, _)| graph.same(p, half))
    })
}

/// `x * 0.5 * (1 + erf(x / sqrt(2)))`
pub fn gelu_erf(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    if *at != Op::Binary(Mul) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (x, f) in gated(graph, operands) {
        for inner in inside(graph, f, UnaryOp::Erf) {
            let scaled = scaled(graph, inner, std::f64::consts::FRAC_1_SQRT_2);
            if scaled.iter().any(|&y| graph.same(x, y)) {
                out.push(op(Op::Gelu { tanh: false }, [x.into()]));
            }
        }
    }
    out
}

/// True if the class is the third power of `x`.
fn is_cube(graph: &Graph, id: Id, x: Id) -> bool {
    let square = |id: Id| {
        pairs(graph, id, Mul)
            .iter()
            .any(|&(a, b)| graph.same(a, x) && graph.same(b, x))
            || pairs(graph, id, Pow)
                .iter()
                .any(|&(a, b)| graph.same(a, x) && is(graph, b, 2.0))
    };
    pairs(graph, id, Pow)
        .iter()
        .any(|&(a, b)| graph.same(a, x) && is(graph, b, 3.0))
        || both(graph, id, Mul)
            .iter()
            .any(|&(a, b)| graph.same(a, x) && square(b))
}

/// `x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))`
pub fn gelu_tanh(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    if *at != Op::Binary(Mul) {
        return Vec::new();
    }
    let factor = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
    let mut out = Vec::new();
    for (x, f) in gated(graph, operands) {
        for inner in inside(graph, f, UnaryOp::Tanh) {
            for sum in scaled(graph, inner, factor) {
                let fits = both(graph, sum, Add).iter().any(|&(a, b)| {
                    graph.same(a, x)
                        && scaled(graph, b, 0.044_715)
                            .iter()
                            .any(|&cube| is_cube(graph, cube, x))
                });
                if fits {
                    out.push(op(Op::Gelu { tanh: true }, [x.into()]));
                }
            }
        }
    }
    out
}

/// Operands and axes of the statistic that a class repeats along the one axis it folded.
fn statistic(graph: &Graph, id: Id, kind: ReduceKind) -> Vec<(Id, u8)> {
    let shape = &graph.ty(id).shape;
    let rank = shape.len() as u8;
    let mut out = Vec::new();
    let mut folded = |inner: Id, axes: &[u8]| {
        // A reshape that puts the folded axis back as one of extent 1 keeps it.
        let reshaped: Vec<Id> = graph
            .ops(inner)
            .filter(|(op, _)| matches!(op, Op::Reshape(_)))
            .map(|(_, of)| of[0])
            .collect();
        for (through, source) in
            std::iter::once((false, inner)).chain(reshaped.into_iter().map(|source| (true, source)))
        {
            for (op, of) in graph.ops(source) {
                let Op::Reduce {
                    kind: k,
                    axes: a,
                    keep,
                } = op
                else {
                    continue;
                };
                let ([axis], true) = (&a[..], *k == kind) else {
                    continue;
                };
                let x = graph.ty(of[0]);
                let mut kept = x.shape.clone();
                if x.shape != *shape {
                    continue;
                }
                kept[usize::from(*axis)] = 1;
                let as_kept = graph.ty(inner).shape == kept && axes.iter().copied().eq(0..rank);
                let as_dropped = !through
                    && !keep
                    && axes
                        .iter()
                        .copied()
                        .eq((0..rank).filter(|other| other != axis));
                if as_kept || as_dropped {
                    out.push((of[0], *axis));
                }
            }
        }
    };
    for (op, of) in graph.ops(id) {
        if let Op::Broadcast { axes, .. } = op {
            folded(of[0], axes);
        }
    }
    // An axis of extent 1 needs no broadcast; nobody writes that, and nothing is lost.
    out
}

/// `exp(x - max(x)) / sum(exp(x - max(x)))`, with or without the maximum.
pub fn softmax(graph: &Graph, _: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    if *at != Op::Binary(Div) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (e, axis) in statistic(graph, operands[1], ReduceKind::Sum) {
        if !graph.same(e, operands[0]) {
            continue;
        }
        for x in inside(graph, e, UnaryOp::Exp) {
            // Taking off the maximum changes nothing but the range: softmax does so itself.
            let shifted = pairs(graph, x, Sub).into_iter().find(|&(x, most)| {
                statistic(graph, most, ReduceKind::Max)
                    .iter()
                    .any(|&(y, a)| a == axis && graph.same(x, y))
            });
            let x = shifted.map_or(x, |(x, _)| x);
            out.push(op(Op::Softmax(axis), [x.into()]));
        }
    }
    out
}

/// `(x - mean) / sqrt(mean((x - mean)^2) + epsilon)` over the last axis; scale and bias join by
/// another rule.
pub fn layer_norm(graph: &Graph, id: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let rank = graph.ty(id).rank() as u8;
    let last = rank.wrapping_sub(1);
    // The centred values, and what the reciprocal of the deviation is spread from.
    let mut candidates: Vec<(Id, Id)> = Vec::new();
    let spread = |id: Id| per_row(graph, id);
    match at {
        Op::Binary(Div) => {
            for below in spread(operands[1]) {
                for variance in inside(graph, below, UnaryOp::Sqrt) {
                    candidates.push((operands[0], variance));
                }
            }
        }
        Op::Binary(Mul) => {
            for (x, y) in [(operands[0], operands[1]), (operands[1], operands[0])] {
                for factor in spread(y) {
                    for variance in inside(graph, factor, UnaryOp::Rsqrt) {
                        candidates.push((x, variance));
                    }
                    for root in inside(graph, factor, UnaryOp::Reciprocal) {
                        for variance in inside(graph, root, UnaryOp::Sqrt) {
                            candidates.push((x, variance));
                        }
                    }
                }
            }
        }
        _ => return Vec::new(),
    }
    let mut out = Vec::new();
    for (centred, sum) in candidates {
        let source = pairs(graph, centred, Sub).into_iter().find(|&(x, mean)| {
            statistic(graph, mean, ReduceKind::Mean)
                .iter()
                .any(|&(y, axis)| axis == last && graph.same(x, y))
        });
        let Some((x, _)) = source else { continue };
        for (mean, epsilon) in both(graph, sum, Add) {
            let Some(epsilon) = graph.splat(epsilon) else {
                continue;
            };
            let usual = epsilon > 0.0 && epsilon < 1.0;
            if !usual || !is_variance(graph, mean, centred, last) {
                continue;
            }
            let ty = graph.ty(x);
            let vector = |value: f32| {
                let scalar = TensorType::new(ty.element, []);
                let data = ipucc_tensor::interp::Tensor::from_floats(scalar, &[value]).data;
                let shape = ty.shape[usize::from(last)..].into();
                let element = ty.element;
                op(
                    Op::Constant {
                        element,
                        shape,
                        data,
                    },
                    [],
                )
            };
            let norm = Op::LayerNorm {
                epsilon: (epsilon as f32).to_bits(),
            };
            out.push(op(norm, [x.into(), vector(1.0), vector(0.0)]));
        }
    }
    out
}

/// The class, and what it repeats along its last axis: one element per row, the last axis dropped or
/// of extent 1.
fn per_row(graph: &Graph, id: Id) -> Vec<Id> {
    let shape = &graph.ty(id).shape;
    let mut out = vec![id];
    let Some(last) = shape.len().checked_sub(1) else {
        return out;
    };
    for (op, of) in graph.ops(id) {
        let Op::Broadcast { axes, .. } = op else {
            continue;
        };
        let inner = &graph.ty(of[0]).shape;
        let rows = inner[..last.min(inner.len())] == shape[..last];
        let dropped = inner.len() == last;
        let kept = inner.len() == last + 1 && inner[last] == 1;
        let leading = axes.iter().enumerate().all(|(i, &a)| i == usize::from(a));
        if rows && leading && (dropped || kept) {
            out.push(of[0]);
        }
    }
    out
}

/// True if the class is the mean of the squares of `centred` over the last axis, one per row or
/// repeated along the row. A reshape between one per row and one per row keeps their order.
fn is_variance(graph: &Graph, id: Id, centred: Id, last: u8) -> bool {
    let mut ids = per_row(graph, id);
    for at in 0..ids.len() {
        for (op, of) in graph.ops(ids[at]) {
            if matches!(op, Op::Reshape(_)) {
                ids.push(of[0]);
            }
        }
    }
    let square = |id: Id| {
        pairs(graph, id, Mul)
            .iter()
            .any(|&(a, b)| graph.same(a, centred) && graph.same(b, centred))
            || pairs(graph, id, Pow)
                .iter()
                .any(|&(a, b)| graph.same(a, centred) && is(graph, b, 2.0))
    };
    ids.into_iter().any(|id| {
        graph.ops(id).any(|(op, of)| {
            matches!(op, Op::Reduce { kind: ReduceKind::Mean, axes, .. } if axes[..] == [last])
                && square(of[0])
        })
    })
}

/// `softmax(q . k^T * scale) . v` with batch axes first.
pub fn attention(graph: &Graph, id: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let rank = graph.ty(id).rank();
    if rank < 2 || !is_batched(graph, at, operands, rank, rank - 2) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for (inner, of) in graph.ops(operands[0]) {
        if *inner != Op::Softmax(rank as u8 - 1) {
            continue;
        }
        let mut scores: Vec<(Id, f64)> = vec![(of[0], 1.0)];
        for (x, c) in both(graph, of[0], Mul) {
            scores.extend(graph.splat(c).map(|c| (x, c)));
        }
        for (x, c) in pairs(graph, of[0], Div) {
            scores.extend(graph.splat(c).map(|c| (x, 1.0 / c)));
        }
        for (score, scale) in scores {
            for (product, parts) in graph.ops(score) {
                if is_batched(graph, product, parts, rank, rank - 1) {
                    let attention = Op::Attention {
                        scale: Some((scale as f32).to_bits()),
                        causal: false,
                    };
                    let parts = [parts[0], parts[1], operands[1]].map(Term::from);
                    out.push(op(attention, parts));
                }
            }
        }
    }
    out
}

/// True for a product of `rank` axes, all but the last two of them batch axes, that contracts the
/// last axis of the left with axis `contracted` of the right operand.
fn is_batched(graph: &Graph, at: &Op, operands: &[Id], rank: usize, contracted: usize) -> bool {
    let Op::Dot {
        lhs_batch,
        rhs_batch,
        lhs_contract,
        rhs_contract,
        result,
        ..
    } = at
    else {
        return false;
    };
    let batch = 0..rank as u8 - 2;
    operands
        .iter()
        .all(|&operand| graph.ty(operand).rank() == rank && graph.ty(operand).element == *result)
        && lhs_batch.iter().copied().eq(batch.clone())
        && rhs_batch.iter().copied().eq(batch)
        && lhs_contract[..] == [rank as u8 - 1]
        && rhs_contract[..] == [contracted as u8]
}

/// Gelu as its definition.
pub fn decompose_gelu(graph: &Graph, id: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Gelu { tanh } = at else {
        return Vec::new();
    };
    let x = operands[0];
    let constant = |value: f64| graph.constant_like(id, value);
    let gate = if *tanh {
        let cube = binary(Mul, x, binary(Mul, x, x));
        let sum = binary(Add, x, binary(Mul, cube, constant(0.044_715)));
        let factor = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
        unary(UnaryOp::Tanh, binary(Mul, sum, constant(factor)))
    } else {
        let scaled = binary(Mul, x, constant(std::f64::consts::FRAC_1_SQRT_2));
        unary(UnaryOp::Erf, scaled)
    };
    let half = binary(Mul, x, constant(0.5));
    vec![binary(Mul, half, binary(Add, gate, constant(1.0)))]
}

/// The statistic of a term along an axis, spread over its shape again.
fn spread(ty: &TensorType, kind: ReduceKind, axis: u8, x: Term) -> Term {
    let reduce = Op::Reduce {
        kind,
        axes: Axes::from_elem(axis, 1),
        keep: false,
    };
    let axes = (0..ty.rank() as u8)
        .filter(|&other| other != axis)
        .collect();
    let shape = ty.shape.clone();
    op(Op::Broadcast { shape, axes }, [op(reduce, [x])])
}

/// Softmax as its definition.
pub fn decompose_softmax(graph: &Graph, id: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::Softmax(axis) = at else {
        return Vec::new();
    };
    let (ty, x) = (graph.ty(id), Term::from(operands[0]));
    let most = spread(ty, ReduceKind::Max, *axis, x.clone());
    let e = unary(UnaryOp::Exp, binary(Sub, x, most));
    let sum = spread(ty, ReduceKind::Sum, *axis, e.clone());
    vec![binary(Div, e, sum)]
}

/// Layer norm as its definition.
pub fn decompose_layer_norm(graph: &Graph, id: Id, at: &Op, operands: &[Id]) -> Vec<Term> {
    let Op::LayerNorm { epsilon } = at else {
        return Vec::new();
    };
    let ty = graph.ty(id);
    let last = ty.rank() as u8 - 1;
    let x = Term::from(operands[0]);
    let mean = spread(ty, ReduceKind::Mean, last, x.clone());
    let centred = binary(Sub, x, mean);
    let square = binary(Mul, centred.clone(), centred.clone());
    let variance = spread(ty, ReduceKind::Mean, last, square);
    let epsilon = graph.constant_like(id, f64::from(f32::from_bits(*epsilon)));
    let factor = unary(UnaryOp::Rsqrt, binary(Add, variance, epsilon));
    let along = |vector: Id| {
        let shape = ty.shape.clone();
        let axes = Axes::from_elem(last, 1);
        op(Op::Broadcast { shape, axes }, [vector.into()])
    };
    let normal = binary(Mul, centred, factor);
    let scaled = binary(Mul, normal, along(operands[1]));
    vec![binary(Add, scaled, along(operands[2]))]
}
