//! Arithmetic on known integer tensors: shapes, axes and indices that a graph computes itself.

use super::Constant;
use super::proto::DataType;

/// Elementwise integer operation with NumPy broadcasting of equal or single-element shapes.
pub fn binary(op: &str, a: &Constant, b: &Constant) -> Option<Constant> {
    let (x, y) = (a.to_ints()?, b.to_ints()?);
    let shape = if a.elements() >= b.elements() {
        a.shape.clone()
    } else {
        b.shape.clone()
    };
    if a.shape != b.shape && x.len() != 1 && y.len() != 1 {
        return None;
    }
    let count = x.len().max(y.len());
    let at = |v: &[i64], i: usize| if v.len() == 1 { v[0] } else { v[i] };
    let values = (0..count)
        .map(|i| {
            let (p, q) = (at(&x, i), at(&y, i));
            match op {
                "Add" => p.checked_add(q),
                "Sub" => p.checked_sub(q),
                "Mul" => p.checked_mul(q),
                "Div" => p.checked_div(q),
                "Min" => Some(p.min(q)),
                "Max" => Some(p.max(q)),
                _ => None,
            }
        })
        .collect::<Option<Vec<i64>>>()?;
    Some(Constant::ints(shape, &values).cast(a.kind))
}

/// Concatenation along an axis.
pub fn concat(parts: &[&Constant], axis: usize) -> Option<Constant> {
    let first = parts.first()?;
    let mut shape = first.shape.clone();
    let same = parts.iter().all(|part| {
        part.kind == first.kind
            && part.shape.len() == shape.len()
            && (0..shape.len()).all(|a| a == axis || part.shape[a] == shape[a])
    });
    if !same || axis >= shape.len() {
        return None;
    }
    shape[axis] = parts.iter().map(|part| part.shape[axis]).sum();
    let outer: usize = shape[..axis].iter().map(|&e| e as usize).product();
    let mut bytes = Vec::new();
    for row in 0..outer {
        for part in parts {
            let length = part.bytes.len() / outer.max(1);
            bytes.extend_from_slice(&part.bytes[row * length..(row + 1) * length]);
        }
    }
    Some(Constant {
        kind: first.kind,
        shape,
        bytes,
    })
}

/// Elements along `axis` at known indices.
pub fn gather(table: &Constant, indices: &Constant, axis: usize) -> Option<Constant> {
    let extent = *table.shape.get(axis)? as i64;
    let outer: usize = table.shape[..axis].iter().map(|&e| e as usize).product();
    let inner: usize = table.shape[axis + 1..]
        .iter()
        .map(|&e| e as usize)
        .product();
    let size = inner * table.kind.bytes();
    let mut shape = table.shape[..axis].to_vec();
    shape.extend_from_slice(&indices.shape);
    shape.extend_from_slice(&table.shape[axis + 1..]);
    let mut bytes = Vec::new();
    for row in 0..outer {
        for index in indices.to_ints()? {
            let index = if index < 0 { index + extent } else { index };
            if !(0..extent).contains(&index) {
                return None;
            }
            let at = (row * extent as usize + index as usize) * size;
            bytes.extend_from_slice(&table.bytes[at..at + size]);
        }
    }
    Some(Constant {
        kind: table.kind,
        shape,
        bytes,
    })
}

/// A slice of a rank-1 tensor: what shape arithmetic slices.
pub fn slice(data: &Constant, start: i64, end: i64, step: i64) -> Option<Constant> {
    if data.shape.len() != 1 || step <= 0 {
        return None;
    }
    let values = data.to_ints()?;
    let picked: Vec<i64> = (start..end)
        .step_by(step as usize)
        .map(|i| values[i as usize])
        .collect();
    Some(Constant::ints(vec![picked.len() as u32], &picked).cast(data.kind))
}

/// The shape of a value as a constant.
pub fn shape(extents: &[u32]) -> Constant {
    let values: Vec<i64> = extents.iter().map(|&extent| extent as i64).collect();
    Constant::ints(vec![extents.len() as u32], &values)
}

/// A constant of `shape` filled with one element.
pub fn splat(kind: DataType, element: &[u8], shape: Vec<u32>) -> Constant {
    let count: usize = shape.iter().map(|&e| e as usize).product();
    Constant {
        kind,
        shape,
        bytes: element.repeat(count),
    }
}
