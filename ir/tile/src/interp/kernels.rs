//! What kernels compute, as loops over the buffers of one tile.
//!
//! Buffers begin at the operand's offset and are known to hold every byte that
//! [`crate::access`] names, so that indices need no checks here. Operations of the tensor language
//! are the tensor interpreter's: a strided view becomes a tensor, the result is stored again.

use crate::access::{node, node_types, tap_pitch};
use crate::kernel::{
    ArgReduce, Attention, Copy, Dot, Expr, Gather, IntegerDot, Kernel, Lerp, Map, Reduce, Rows,
    Scan, Scatter, TopK, Window, WindowKind,
};
use ipucc_chip::ScalarType;
use ipucc_tensor::interp::{Tensor, eval_op};
use ipucc_tensor::{Op, TensorType};
use std::cmp::Ordering;

/// Runs a kernel on its operands.
///
/// # Errors
/// Fields that contradict one another.
pub fn execute(kernel: &Kernel, buffers: &mut [Vec<u8>]) -> Result<(), String> {
    let Some((result, inputs)) = buffers.split_last_mut() else {
        return Ok(());
    };
    match kernel {
        Kernel::Dot(kernel) => dot(kernel, inputs, result),
        Kernel::Map(kernel) => map(kernel, inputs, result)?,
        Kernel::Reduce(kernel) => reduce(kernel, inputs, result),
        Kernel::Softmax(shape) => rows(shape, &Op::Softmax(1), inputs, result),
        Kernel::LayerNorm(shape, epsilon) => {
            let epsilon = *epsilon;
            rows(shape, &Op::LayerNorm { epsilon }, inputs, result);
        }
        Kernel::RmsNorm(shape, epsilon) => {
            let epsilon = *epsilon;
            rows(shape, &Op::RmsNorm { epsilon }, inputs, result);
        }
        Kernel::Copy(kernel) => copy(kernel, &inputs[0], result),
        Kernel::Fill(fill) => {
            for word in result[..fill.words as usize * 4].as_chunks_mut::<4>().0 {
                *word = fill.word.to_le_bytes();
            }
        }
        Kernel::Words(kernel) => {
            for i in 0..kernel.count as usize {
                let (half, word) = (2 * i, 4 * i);
                if kernel.narrow {
                    result[half..half + 2].copy_from_slice(&inputs[0][word..word + 2]);
                } else {
                    result[word..word + 2].copy_from_slice(&inputs[0][half..half + 2]);
                    result[word + 2..word + 4].fill(0);
                }
            }
        }
        Kernel::Gather(kernel) => gather(kernel, inputs, result),
        Kernel::Scatter(kernel) => scatter(kernel, inputs, result),
        Kernel::ArgReduce(kernel) => arg_reduce(kernel, inputs, result),
        Kernel::Scan(kernel) => scan(kernel, inputs, result),
        Kernel::TopK(kernel) => {
            if let Some((values, inputs)) = inputs.split_last_mut() {
                top_k(kernel, &inputs[0], values, result);
            }
        }
        Kernel::Window(kernel) => window(kernel, inputs, result),
        Kernel::Lerp(kernel) => lerp(kernel, &inputs[0], result),
        Kernel::Attention(kernel) => attention(kernel, inputs, result),
        Kernel::IntegerDot(kernel) => integer_dot(kernel, inputs, result),
    }
    Ok(())
}

/// Calls `visit` with the offset of every point of a nest, in row-major order.
fn points(dims: &[(u32, i64)], mut visit: impl FnMut(i64)) {
    let total: u64 = dims.iter().map(|&(count, _)| u64::from(count)).product();
    let mut index = vec![0u32; dims.len()];
    let mut offset = 0i64;
    for _ in 0..total {
        visit(offset);
        for (i, &(count, step)) in index.iter_mut().zip(dims).rev() {
            *i += 1;
            offset += step;
            if *i < count {
                break;
            }
            offset -= step * i64::from(count);
            *i = 0;
        }
    }
}

fn scaled(dims: &[(u32, u32)], element: ScalarType) -> Vec<(u32, i64)> {
    let size = i64::from(element.bytes());
    dims.iter()
        .map(|&(count, stride)| (count, i64::from(stride) * size))
        .collect()
}

/// The strided elements of a buffer as a tensor of these extents; strides in elements.
fn view(buffer: &[u8], element: ScalarType, dims: &[(u32, u32)]) -> Tensor {
    let size = element.bytes() as usize;
    let mut data = Vec::new();
    points(&scaled(dims, element), |at| {
        data.extend_from_slice(&buffer[at as usize..at as usize + size]);
    });
    let shape: Vec<u32> = dims.iter().map(|&(count, _)| count).collect();
    Tensor {
        ty: TensorType::new(element, shape),
        data,
    }
}

/// Stores a tensor's elements in row-major order at the points of a nest.
fn store(buffer: &mut [u8], tensor: &Tensor, dims: &[(u32, u32)]) {
    let size = tensor.ty.element.bytes() as usize;
    let mut elements = tensor.data.chunks_exact(size);
    points(&scaled(dims, tensor.ty.element), |at| {
        if let Some(element) = elements.next() {
            buffer[at as usize..at as usize + size].copy_from_slice(element);
        }
    });
}

/// The first `count` elements of a buffer as numbers.
fn floats(buffer: &[u8], element: ScalarType, count: usize) -> Vec<f32> {
    view(buffer, element, &[(count as u32, 1)]).to_floats()
}

fn encoded(values: &[f32], element: ScalarType) -> Tensor {
    Tensor::from_floats(TensorType::new(element, [values.len() as u32]), values)
}

/// `C[m][n] (+)= A[m][k] * B[n][k]` over whole panels, padding included: what is not zero there
/// is seen in the result, as it would be on the chip.
fn dot(dot: &Dot, inputs: &[Vec<u8>], result: &mut [u8]) {
    let panel = Dot::input_panel(dot.input) as usize;
    let columns = Dot::result_panel(dot.input, dot.partials) as usize;
    let (m, blocks) = (dot.m as usize, (dot.k as usize).div_ceil(panel));
    let a = floats(&inputs[0], dot.input, m * blocks * panel);
    let b = floats(
        &inputs[1],
        dot.input,
        (dot.n as usize).div_ceil(16) * 16 * blocks * panel,
    );
    let width = (dot.n as usize).div_ceil(columns) * columns;
    let mut c = if dot.accumulate {
        floats(result, dot.partials, m * width)
    } else {
        vec![0.0; m * width]
    };
    let scale = 2f32.powi(dot.scale.into());
    for row in 0..m {
        for column in 0..width {
            let at = (column / columns * m + row) * columns + column % columns;
            let mut sum = c[at];
            for block in 0..blocks {
                let left = &a[(block * m + row) * panel..][..panel];
                let start = ((column / 16 * blocks + block) * 16 + column % 16) * panel;
                for (x, y) in left.iter().zip(&b[start..start + panel]) {
                    sum += x * y * scale;
                }
            }
            c[at] = sum;
        }
    }
    let bytes = encoded(&c, dot.partials).data;
    result[..bytes.len()].copy_from_slice(&bytes);
}

fn map(map: &Map, inputs: &[Vec<u8>], result: &mut [u8]) -> Result<(), String> {
    let types = node_types(map).map_err(|fault| fault.to_string())?;
    let dims = |strides: &[u32]| -> Vec<(u32, u32)> {
        map.extents
            .iter()
            .copied()
            .zip(strides.iter().copied())
            .collect()
    };
    let mut nodes: Vec<Tensor> = Vec::new();
    for (expr, ty) in map.nodes.iter().zip(&types) {
        let (op, operands) = node(expr);
        let value = match (op, expr) {
            (Some(op), _) => {
                let operands: Vec<&Tensor> = operands
                    .iter()
                    .map(|&operand| &nodes[usize::from(operand)])
                    .collect();
                eval_op(&op, &operands, ty)
            }
            (None, Expr::Input(input)) => {
                let access = &map.inputs[usize::from(*input)];
                let buffer = &inputs[usize::from(*input)];
                Tensor {
                    ty: ty.clone(),
                    ..view(buffer, access.element, &dims(&access.strides))
                }
            }
            (None, Expr::Constant(bits, element)) => {
                let size = (element.bytes() as usize).min(4);
                Tensor {
                    ty: ty.clone(),
                    data: bits.to_le_bytes()[..size].repeat(ty.elements()),
                }
            }
            (None, _) => return Err("a node without an operation".into()),
        };
        nodes.push(value);
    }
    if let Some(value) = nodes.last() {
        store(result, value, &dims(&map.output.strides));
    }
    Ok(())
}

fn convert(tensor: &Tensor, to: ScalarType) -> Tensor {
    if tensor.ty.element == to {
        return tensor.clone();
    }
    let ty = TensorType::new(to, tensor.ty.shape.iter().copied());
    eval_op(&Op::Convert(to), &[tensor], &ty)
}

fn reduce(reduce: &Reduce, inputs: &[Vec<u8>], result: &mut [u8]) {
    let (outer, axis) = reduce.input_strides;
    let dims = [
        (reduce.outer, outer),
        (reduce.axis, axis),
        (reduce.inner, 1),
    ];
    let input = view(&inputs[0], reduce.input, &dims);
    // The sum is rounded once, to the type of the result.
    let float = reduce.input.is_float() && reduce.output.is_float();
    let wide = match float {
        true => convert(&input, ScalarType::F32),
        false => convert(&input, reduce.output),
    };
    let ty = TensorType::new(wide.ty.element, [reduce.outer, reduce.inner]);
    let op = Op::Reduce {
        kind: reduce.kind,
        axes: [1u8].into_iter().collect(),
        keep: false,
    };
    let folded = convert(&eval_op(&op, &[&wide], &ty), reduce.output);
    let dims = [(reduce.outer, reduce.output_stride), (reduce.inner, 1)];
    store(result, &folded, &dims);
}

fn rows(rows: &Rows, op: &Op, inputs: &[Vec<u8>], result: &mut [u8]) {
    let dims = [(rows.rows, rows.pitch), (rows.columns, 1)];
    let mut operands = vec![view(&inputs[0], rows.element, &dims)];
    for buffer in &inputs[1..] {
        operands.push(view(buffer, rows.element, &[(rows.columns, 1)]));
    }
    let operands: Vec<&Tensor> = operands.iter().collect();
    let value = eval_op(op, &operands, &operands[0].ty);
    store(result, &value, &dims);
}

fn copy(copy: &Copy, source: &[u8], result: &mut [u8]) {
    let bytes = copy.bytes as usize;
    let from: Vec<(u32, i64)> = copy
        .dims
        .iter()
        .map(|dim| (dim.count, dim.source_bytes.into()))
        .collect();
    let to: Vec<(u32, i64)> = copy
        .dims
        .iter()
        .map(|dim| (dim.count, dim.destination_bytes.into()))
        .collect();
    let mut starts = Vec::new();
    let (first, target) = (
        i64::from(copy.source_offset),
        i64::from(copy.destination_offset),
    );
    points(&from, |at| starts.push((first + at) as usize));
    let mut next = starts.into_iter();
    points(&to, |at| {
        if let Some(start) = next.next() {
            let at = (target + at) as usize;
            result[at..at + bytes].copy_from_slice(&source[start..start + bytes]);
        }
    });
}

/// Index i of a table lookup, relative to the tile's first row, if the tile owns it.
fn owned(indices: &[i64], first: u32, rows: u32) -> impl Iterator<Item = (usize, Option<usize>)> {
    indices.iter().enumerate().map(move |(i, &index)| {
        let row = index - i64::from(first);
        let own = (0..i64::from(rows)).contains(&row);
        (i, own.then_some(row as usize))
    })
}

fn gather(gather: &Gather, inputs: &[Vec<u8>], result: &mut [u8]) {
    let bytes = gather.row_bytes as usize;
    let indices = view(&inputs[1], ScalarType::I32, &[(gather.count, 1)]).to_ints();
    for (i, row) in owned(&indices, gather.first, gather.rows) {
        let to = &mut result[i * bytes..(i + 1) * bytes];
        match row {
            Some(row) => to.copy_from_slice(&inputs[0][row * bytes..(row + 1) * bytes]),
            None => to.fill(0),
        }
    }
}

fn scatter(scatter: &Scatter, inputs: &[Vec<u8>], table: &mut [u8]) {
    let bytes = scatter.row_bytes as usize;
    let indices = view(&inputs[1], ScalarType::I32, &[(scatter.count, 1)]).to_ints();
    for (i, row) in owned(&indices, scatter.first, scatter.rows) {
        if let Some(row) = row {
            let from = &inputs[0][i * bytes..(i + 1) * bytes];
            table[row * bytes..(row + 1) * bytes].copy_from_slice(from);
        }
    }
}

fn arg_reduce(arg: &ArgReduce, inputs: &[Vec<u8>], result: &mut [u8]) {
    let (outer, axis) = arg.input_strides;
    let dims = [(arg.outer, outer), (arg.axis, axis), (arg.inner, 1)];
    let input = view(&inputs[0], arg.input, &dims);
    let sign = if arg.largest { 1.0 } else { -1.0 };
    // f64 holds every f32, f16 and i32.
    let values: Vec<f64> = if arg.input.is_float() {
        input
            .to_floats()
            .iter()
            .map(|&v| sign * f64::from(v))
            .collect()
    } else {
        input.to_ints().iter().map(|&v| sign * v as f64).collect()
    };
    let (axis, inner) = (arg.axis as usize, arg.inner as usize);
    let mut found = Vec::new();
    for o in 0..arg.outer as usize {
        for i in 0..inner {
            let (mut best, mut position) = (values[o * axis * inner + i], 0);
            for a in 1..axis {
                // False for NaN, which counts in the first place only.
                if values[(o * axis + a) * inner + i] > best {
                    best = values[(o * axis + a) * inner + i];
                    position = a as i64;
                }
            }
            found.push(position);
        }
    }
    let ty = TensorType::new(ScalarType::I32, [arg.outer, arg.inner]);
    let dims = [(arg.outer, arg.output_stride), (arg.inner, 1)];
    store(result, &Tensor::from_ints(ty, &found), &dims);
}

fn scan(scan: &Scan, inputs: &[Vec<u8>], result: &mut [u8]) {
    let (outer, axis) = scan.strides;
    let dims = [(scan.outer, outer), (scan.axis, axis), (scan.inner, 1)];
    let input = view(&inputs[0], scan.element, &dims);
    let op = Op::CumSum {
        axis: 1,
        exclusive: scan.exclusive,
        reverse: scan.reverse,
    };
    store(result, &eval_op(&op, &[&input], &input.ty), &dims);
}

fn top_k(top: &TopK, input: &[u8], values: &mut [u8], positions: &mut [u8]) {
    let dims = [(top.rows, top.pitch), (top.columns, 1)];
    let all = view(input, top.element, &dims).to_floats();
    let (mut largest, mut columns) = (Vec::new(), Vec::new());
    for row in all.chunks_exact((top.columns as usize).max(1)) {
        // NaN and the infinity that nothing is beyond count as no element.
        let none = match top.largest {
            true => f32::NEG_INFINITY,
            false => f32::INFINITY,
        };
        let mut order: Vec<usize> = (0..row.len())
            .filter(|&column| !row[column].is_nan() && row[column] != none)
            .collect();
        order.sort_by(|&a, &b| {
            let rising = row[a].total_cmp(&row[b]);
            // Zeros of both signs are equal.
            let rising = if row[a] == row[b] {
                Ordering::Equal
            } else {
                rising
            };
            let wanted = if top.largest {
                rising.reverse()
            } else {
                rising
            };
            wanted.then(a.cmp(&b))
        });
        for place in 0..top.k as usize {
            let column = order.get(place).copied();
            largest.push(column.map_or(none, |column| row[column]));
            columns.push(column.unwrap_or(0) as i64);
        }
    }
    let dims = [(top.rows, top.result_pitch), (top.k, 1)];
    let ty = |element| TensorType::new(element, [top.rows, top.k]);
    store(
        values,
        &Tensor::from_floats(ty(top.element), &largest),
        &dims,
    );
    store(
        positions,
        &Tensor::from_ints(ty(ScalarType::I32), &columns),
        &dims,
    );
}

fn window(window: &Window, inputs: &[Vec<u8>], result: &mut [u8]) {
    let element = window.element;
    let channels = window.channels as usize;
    let offsets = |dims: Vec<(u32, u32)>| {
        let dims: Vec<(u32, i64)> = dims.into_iter().map(|(n, s)| (n, s.into())).collect();
        let mut list = Vec::new();
        points(&dims, |at| list.push(at as usize));
        list
    };
    let from = offsets(
        window
            .positions
            .iter()
            .map(|d| (d.count, d.input))
            .collect(),
    );
    let to = offsets(
        window
            .positions
            .iter()
            .map(|d| (d.count, d.output))
            .collect(),
    );
    let taps = offsets(window.taps.iter().map(|d| (d.count, d.input)).collect());
    let size = element.bytes() as usize;
    let image = floats(&inputs[0], element, inputs[0].len() / size);
    let pitch = tap_pitch(window) as usize;
    let weights = match window.kind {
        WindowKind::Conv => floats(&inputs[1], element, inputs[1].len() / size),
        _ => Vec::new(),
    };
    for (&from, &to) in from.iter().zip(&to) {
        let folded: Vec<f32> = (0..channels)
            .map(|channel| {
                let values = taps.iter().map(|tap| image[from + tap + channel]);
                match window.kind {
                    WindowKind::Conv => values
                        .enumerate()
                        .map(|(tap, value)| value * weights[tap * pitch + channel])
                        .sum(),
                    WindowKind::Max => values.fold(f32::NEG_INFINITY, f32::max),
                    WindowKind::Sum(factor) => values.sum::<f32>() * f32::from_bits(factor),
                }
            })
            .collect();
        let bytes = encoded(&folded, element).data;
        result[to * size..to * size + bytes.len()].copy_from_slice(&bytes);
    }
}

fn lerp(lerp: &Lerp, input: &[u8], result: &mut [u8]) {
    let size = lerp.element.bytes() as usize;
    let (pitch, inner) = (lerp.pitch as usize, lerp.inner as usize);
    for outer in 0..lerp.outer as usize {
        for (p, point) in lerp.points.iter().enumerate() {
            let slice = |index: u32| {
                let at = (outer * lerp.axis as usize + index as usize) * pitch;
                floats(&input[at * size..], lerp.element, inner)
            };
            let t = f32::from_bits(point.t);
            let (low, high) = (slice(point.low), slice(point.high));
            let mixed: Vec<f32> = low
                .iter()
                .zip(&high)
                .map(|(low, high)| (1.0 - t) * low + t * high)
                .collect();
            let at = (outer * lerp.points.len() + p) * pitch * size;
            let bytes = encoded(&mixed, lerp.element).data;
            result[at..at + bytes.len()].copy_from_slice(&bytes);
        }
    }
}

fn attention(attention: &Attention, inputs: &[Vec<u8>], result: &mut [u8]) {
    let element = attention.element;
    let panel = Dot::input_panel(element) as usize;
    let (queries, keys) = (attention.queries as usize, attention.keys as usize);
    let (head, values) = (attention.head as usize, attention.values as usize);
    let heads = head.div_ceil(panel);
    let q = floats(&inputs[0], element, queries * heads * panel);
    let k = floats(&inputs[1], element, keys.div_ceil(16) * 16 * heads * panel);
    let key_blocks = keys.div_ceil(panel);
    let v = floats(
        &inputs[2],
        element,
        values.div_ceil(16) * 16 * key_blocks * panel,
    );
    let right = |matrix: &[f32], row: usize, column: usize, blocks: usize| {
        let block = row / 16 * blocks + column / panel;
        matrix[(block * 16 + row % 16) * panel + column % panel]
    };
    let mask = attention.mask.map_or(vec![], |pitch| {
        let length = (queries - 1) * pitch as usize + keys;
        floats(&inputs[3], element, length)
    });
    let width = values.div_ceil(16) * 16;
    let mut out = vec![0.0; queries * width];
    for query in 0..queries {
        let seen = match attention.causal {
            Some(d) => (query as i64 + i64::from(d) + 1).clamp(0, keys as i64) as usize,
            None => keys,
        };
        let scores: Vec<f32> = (0..seen)
            .map(|key| {
                let product = |column: usize| {
                    let at = (column / panel * queries + query) * panel + column % panel;
                    q[at] * right(&k, key, column, heads)
                };
                let added = attention
                    .mask
                    .map_or(0.0, |pitch| mask[query * pitch as usize + key]);
                (0..head).map(product).sum::<f32>() * f32::from_bits(attention.scale) + added
            })
            .collect();
        let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
        let total: f32 = powers.iter().sum();
        for column in 0..values {
            let sum: f32 = powers
                .iter()
                .enumerate()
                .map(|(key, power)| power * right(&v, column, key, key_blocks))
                .sum();
            // A query that sees nothing.
            if most > f32::NEG_INFINITY || total.is_nan() && scores.iter().any(|s| s.is_nan()) {
                out[(column / 16 * queries + query) * 16 + column % 16] = sum / total;
            }
        }
    }
    let bytes = encoded(&out, element).data;
    result[..bytes.len()].copy_from_slice(&bytes);
}

fn integer_dot(dot: &IntegerDot, inputs: &[Vec<u8>], result: &mut [u8]) {
    let (m, n, k) = (dot.m as usize, dot.n as usize, dot.k as usize);
    let lhs = view(&inputs[0], dot.input, &[(dot.m, dot.pitches.0), (dot.k, 1)]).to_ints();
    let rhs = view(&inputs[1], dot.input, &[(dot.n, dot.pitches.1), (dot.k, 1)]).to_ints();
    let mut sums = Vec::with_capacity(m * n);
    for i in 0..m {
        for j in 0..n {
            sums.push((0..k).fold(0i64, |sum, l| {
                let a = lhs[i * k + l] - i64::from(dot.zeros.0);
                let b = rhs[j * k + l] - i64::from(dot.zeros.1);
                sum.wrapping_add(a.wrapping_mul(b))
            }));
        }
    }
    let ty = TensorType::new(ScalarType::I32, [dot.m, dot.n]);
    let dims = [(dot.m, dot.pitches.2), (dot.n, 1)];
    store(result, &Tensor::from_ints(ty, &sums), &dims);
}
