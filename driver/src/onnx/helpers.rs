//! What importing operators needs: attributes, shape arithmetic, tables of operator names.

use super::proto::{AttributeProto, NodeProto};
use ipucc_tensor::{BinaryOp, CompareOp, ReduceKind, Shape, UnaryOp};

pub(super) fn attribute<'n>(node: &'n NodeProto, name: &str) -> Option<&'n AttributeProto> {
    node.attribute
        .iter()
        .find(|attribute| attribute.name == name)
}

pub(super) fn int(node: &NodeProto, name: &str) -> Option<i64> {
    attribute(node, name).map(|attribute| attribute.i)
}

pub(super) fn string(node: &NodeProto, name: &str) -> Option<String> {
    attribute(node, name).map(|a| String::from_utf8_lossy(&a.s).into_owned())
}

pub(super) fn axis(value: i64, rank: usize) -> Result<usize, String> {
    let at = if value < 0 {
        value + rank as i64
    } else {
        value
    };
    if (0..rank as i64).contains(&at) {
        Ok(at as usize)
    } else {
        Err(format!(
            "axis {value} does not exist in a tensor of rank {rank}"
        ))
    }
}

pub(super) fn extents(values: &[i64]) -> Result<Vec<u32>, String> {
    values
        .iter()
        .map(|&v| u32::try_from(v).map_err(|_| format!("extent {v}")))
        .collect()
}

pub(super) fn broadcast_shapes(a: &[u32], b: &[u32]) -> Result<Shape, String> {
    let rank = a.len().max(b.len());
    let extent = |shape: &[u32], axis: usize| {
        (axis + shape.len())
            .checked_sub(rank)
            .map_or(1, |i| shape[i])
    };
    (0..rank)
        .map(|axis| match (extent(a, axis), extent(b, axis)) {
            (p, q) if p == q || q == 1 => Ok(p),
            (1, q) => Ok(q),
            _ => Err(format!(
                "shapes {a:?} and {b:?} cannot be broadcast together"
            )),
        })
        .collect()
}

pub(super) fn slice_bounds(
    start: i64,
    end: i64,
    step: i64,
    extent: i64,
) -> Result<(i64, i64, i64), String> {
    if step == 0 || i32::try_from(step).is_err() {
        return Err(format!("step {step} is out of range"));
    }
    let wrap = |value: i64| {
        if value < 0 {
            value.saturating_add(extent)
        } else {
            value
        }
    };
    Ok(if step > 0 {
        (
            wrap(start).clamp(0, extent),
            wrap(end).clamp(0, extent),
            step,
        )
    } else {
        (
            wrap(start).clamp(-1, extent - 1),
            wrap(end).clamp(-1, extent - 1),
            step,
        )
    })
}

pub(super) fn reshape_target(
    shape: &[u32],
    wanted: &[i64],
    zero_is_zero: bool,
) -> Result<Vec<u32>, String> {
    let mut target = Vec::new();
    let mut hole = None;
    for (axis, &extent) in wanted.iter().enumerate() {
        target.push(match extent {
            -1 if hole.is_none() => {
                hole = Some(axis);
                1
            }
            0 if !zero_is_zero => *shape
                .get(axis)
                .ok_or_else(|| format!("extent 0 at axis {axis} copies nothing"))?,
            extent => u32::try_from(extent).map_err(|_| format!("extent {extent}"))?,
        });
    }
    if let Some(axis) = hole {
        let rest: u64 = target.iter().map(|&e| e as u64).product();
        let all: u64 = shape.iter().map(|&e| e as u64).product();
        if rest == 0 || !all.is_multiple_of(rest) {
            return Err(format!("{shape:?} cannot become {wanted:?}"));
        }
        target[axis] = (all / rest) as u32;
    }
    Ok(target)
}

pub(super) fn squeeze(shape: &[u32], named: Option<&[i64]>) -> Result<Vec<u32>, String> {
    let axes: Vec<usize> = match named {
        Some(named) => named
            .iter()
            .map(|&a| axis(a, shape.len()))
            .collect::<Result<_, _>>()?,
        None => (0..shape.len()).filter(|&a| shape[a] == 1).collect(),
    };
    if let Some(&bad) = axes.iter().find(|&&a| shape[a] != 1) {
        return Err(format!("axis {bad} has extent {}, not 1", shape[bad]));
    }
    Ok((0..shape.len())
        .filter(|a| !axes.contains(a))
        .map(|a| shape[a])
        .collect())
}

pub(super) fn unsqueeze(shape: &[u32], named: &[i64]) -> Result<Vec<u32>, String> {
    let rank = shape.len() + named.len();
    let axes: Vec<usize> = named
        .iter()
        .map(|&a| axis(a, rank))
        .collect::<Result<_, _>>()?;
    let mut rest = shape.iter();
    let target: Vec<u32> = (0..rank)
        .filter_map(|a| {
            if axes.contains(&a) {
                Some(1)
            } else {
                rest.next().copied()
            }
        })
        .collect();
    if target.len() == rank {
        Ok(target)
    } else {
        Err("an axis is named twice".into())
    }
}

pub(super) fn unary(op: &str) -> Option<UnaryOp> {
    Some(match op {
        "Abs" => UnaryOp::Abs,
        "Ceil" => UnaryOp::Ceil,
        "Cos" => UnaryOp::Cos,
        "Erf" => UnaryOp::Erf,
        "Exp" => UnaryOp::Exp,
        "Floor" => UnaryOp::Floor,
        "Log" => UnaryOp::Log,
        "Neg" => UnaryOp::Neg,
        "Not" => UnaryOp::Not,
        "Reciprocal" => UnaryOp::Reciprocal,
        "Round" => UnaryOp::Round,
        "Sigmoid" => UnaryOp::Sigmoid,
        "Sign" => UnaryOp::Sign,
        "Sin" => UnaryOp::Sin,
        "Sqrt" => UnaryOp::Sqrt,
        "Tanh" => UnaryOp::Tanh,
        _ => return None,
    })
}

pub(super) fn binary(op: &str) -> Option<BinaryOp> {
    Some(match op {
        "Add" => BinaryOp::Add,
        "And" => BinaryOp::And,
        "Div" => BinaryOp::Div,
        "Max" => BinaryOp::Max,
        "Min" => BinaryOp::Min,
        "Mul" => BinaryOp::Mul,
        "Or" => BinaryOp::Or,
        "Pow" => BinaryOp::Pow,
        "Sub" => BinaryOp::Sub,
        "Xor" => BinaryOp::Xor,
        _ => return None,
    })
}

pub(super) fn compare(op: &str) -> Option<CompareOp> {
    Some(match op {
        "Equal" => CompareOp::Eq,
        "Greater" => CompareOp::Gt,
        "GreaterOrEqual" => CompareOp::Ge,
        "Less" => CompareOp::Lt,
        "LessOrEqual" => CompareOp::Le,
        _ => return None,
    })
}

pub(super) fn reduce(kind: &str) -> Option<ReduceKind> {
    Some(match kind {
        "Max" => ReduceKind::Max,
        "Mean" => ReduceKind::Mean,
        "Min" => ReduceKind::Min,
        "Prod" => ReduceKind::Prod,
        "Sum" => ReduceKind::Sum,
        _ => return None,
    })
}
