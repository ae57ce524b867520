//! Cycles per element of the kernels beside the best public figures (`facts/kernel_targets.md`,
//! `facts/kernel_findings.md`). The table of `docs/kernels.md` is checked against these runs.

mod support;

use ipucc_chip::ScalarType::{self, F16, F32};
use ipucc_tile::kernel::{
    Access, BinaryOp, Copy, CopyDim, Dot, Expr, Fill, Kernel, Map, Reduce, ReduceKind, Rows,
};
use ipucc_tile::{Layout, LayoutKind};
use smallvec::smallvec;
use support::{Bench, Random, padded};

fn flat() -> Layout {
    Layout::row(1)
}

/// Cycles of an elementwise program of `count` elements.
fn map(count: u32, element: ScalarType, nodes: &[Expr]) -> u64 {
    let mut random = Random(1);
    let mut bench = Bench::new();
    let access = Access {
        element,
        strides: smallvec![1],
    };
    let x = random.values(count, element, 2.0);
    let mut operands = vec![bench.input("x", element, &[count], flat(), &x)];
    let mut inputs = smallvec![access.clone()];
    if nodes.contains(&Expr::Input(1)) {
        let y = random.values(count, element, 2.0);
        operands.push(bench.input("z", element, &[count], flat(), &y));
        inputs.push(access.clone());
    }
    operands.push(bench.output(element, &[count], flat()));
    let map = Map {
        extents: smallvec![count],
        inputs,
        output: access,
        nodes: nodes.to_vec(),
    };
    bench.call(Kernel::Map(map), &operands);
    bench.run().cycles
}

fn rows(kernel: fn(Rows) -> Kernel, element: ScalarType, rows: u32, columns: u32) -> u64 {
    let mut random = Random(2);
    let mut bench = Bench::new();
    let x = random.values(rows * columns, element, 2.0);
    let mut operands = vec![bench.input("x", element, &[rows, columns], padded(1), &x)];
    let shape = Rows {
        rows,
        columns,
        pitch: columns,
        element,
    };
    let kernel = kernel(shape);
    let lines = match kernel {
        Kernel::LayerNorm(..) => 2,
        Kernel::RmsNorm(..) => 1,
        _ => 0,
    };
    for line in 0..lines {
        let data = random.values(columns, element, 1.0);
        let layout = Layout {
            kind: LayoutKind::Row { pitch: 1 },
            order: smallvec![0],
        };
        operands.push(bench.input(&format!("l{line}"), element, &[columns], layout, &data));
    }
    operands.push(bench.output(element, &[rows, columns], padded(1)));
    bench.call(kernel, &operands);
    bench.run().cycles
}

fn column_sum(element: ScalarType, axis: u32, inner: u32) -> u64 {
    let x = Random(3).values(axis * inner, element, 1.0);
    let mut bench = Bench::new();
    let vx = bench.input("x", element, &[axis, inner], padded(1), &x);
    let vy = bench.output(element, &[inner], flat());
    let reduce = Reduce {
        kind: ReduceKind::Sum,
        outer: 1,
        axis,
        inner,
        input_strides: (axis * inner, inner),
        output_stride: inner,
        input: element,
        output: element,
    };
    bench.call(Kernel::Reduce(reduce), &[vx, vy]);
    bench.run().cycles
}

fn copy(bytes: u32) -> u64 {
    let count = bytes / 4;
    let x = Random(4).values(count, F32, 1.0);
    let mut bench = Bench::new();
    let vx = bench.input("x", F32, &[count], flat(), &x);
    let vy = bench.output(F32, &[count], flat());
    let copy = Copy {
        source_offset: 0,
        destination_offset: 0,
        bytes,
        dims: smallvec![CopyDim {
            count: 1,
            source_bytes: 8,
            destination_bytes: 8,
        }],
    };
    bench.call(Kernel::Copy(copy), &[vx, vy]);
    bench.run().cycles
}

/// A copy of single elements over (count, source stride, destination stride).
fn rearrange(element: ScalarType, dims: &[(u32, u32, u32)]) -> u64 {
    let count: u32 = dims.iter().map(|d| d.0).product();
    let x = Random(4).values(count, element, 1.0);
    let mut bench = Bench::new();
    let vx = bench.input("x", element, &[count], flat(), &x);
    let vy = bench.output(element, &[count], flat());
    let bytes = element.bytes();
    let dim = |&(count, from, to): &(u32, u32, u32)| CopyDim {
        count,
        source_bytes: (from * bytes) as i32,
        destination_bytes: (to * bytes) as i32,
    };
    let copy = Copy {
        source_offset: 0,
        destination_offset: 0,
        bytes,
        dims: dims.iter().map(dim).collect(),
    };
    bench.call(Kernel::Copy(copy), &[vx, vy]);
    bench.run().cycles
}

/// `n` rows of 64 elements, transposed.
fn transpose(element: ScalarType, n: u32) -> u64 {
    rearrange(element, &[(n, 64, 1), (64, 1, n)])
}

/// `n` rows of 64 elements to panels of the left operand.
fn pack(element: ScalarType, n: u32) -> u64 {
    let panel = 32 / element.bytes();
    rearrange(
        element,
        &[
            (n, 64, panel),
            (64 / panel, panel, n * panel),
            (panel, 1, 1),
        ],
    )
}

/// [k = n][64 columns] to panels of the right operand, which run along k.
fn transposed_pack(element: ScalarType, n: u32) -> u64 {
    let panel = 32 / element.bytes();
    let panels = n / panel;
    rearrange(
        element,
        &[
            (panels, panel * 64, 16 * panel),
            (panel, 64, 1),
            (4, 16, panels * 16 * panel),
            (16, 1, panel),
        ],
    )
}

/// Conversion of halves to f8.
fn cast(count: u32) -> u64 {
    let x = Random(7).values(count, F16, 2.0);
    let mut bench = Bench::new();
    let vx = bench.input("x", F16, &[count], flat(), &x);
    let vy = bench.output(ScalarType::F8E4M3, &[count], flat());
    let access = |element| Access {
        element,
        strides: smallvec![1],
    };
    let map = Map {
        extents: smallvec![count],
        inputs: smallvec![access(F16)],
        output: access(ScalarType::F8E4M3),
        nodes: vec![Expr::Input(0), Expr::Convert(ScalarType::F8E4M3, 0)],
    };
    bench.call(Kernel::Map(map), &[vx, vy]);
    bench.run().cycles
}

fn fill(words: u32) -> u64 {
    let mut bench = Bench::new();
    let vy = bench.output(F32, &[words], flat());
    bench.call(Kernel::Fill(Fill { words, word: 7 }), &[vy]);
    bench.run().cycles
}

fn dot(m: u32, k: u32, input: ScalarType, partials: ScalarType) -> u64 {
    let n = 16;
    let mut random = Random(5);
    let (a, b) = (random.integers(m * k, 2), random.integers(k * n, 2));
    let dot = Dot {
        m,
        n,
        k,
        input,
        partials,
        accumulate: false,
        scale: 0,
    };
    let bench = Bench::product(dot, &a, &b);
    bench.run().cycles
}

/// A program without a kernel: what the frame costs.
fn empty() -> u64 {
    let x = Random(6).values(2, F32, 1.0);
    let mut bench = Bench::new();
    bench.input("x", F32, &[2], flat(), &x);
    bench.output(F32, &[2], flat());
    bench.run().cycles
}

fn slope(cycles: impl Fn(u32) -> u64, n: u32, elements: u32) -> f64 {
    (cycles(4 * n) - cycles(n)) as f64 / f64::from(3 * n * elements)
}

#[test]
fn cycles_per_element() {
    let add = [
        Expr::Input(0),
        Expr::Input(1),
        Expr::Binary(BinaryOp::Add, 0, 1),
    ];
    let gelu = [Expr::Input(0), Expr::Gelu(true, 0)];
    let bias = [
        Expr::Input(0),
        Expr::Input(1),
        Expr::Binary(BinaryOp::Add, 0, 1),
        Expr::Gelu(true, 2),
    ];
    let erf = [Expr::Input(0), Expr::Gelu(false, 0)];
    let norm = |shape| Kernel::LayerNorm(shape, 1e-5f32.to_bits());
    let rms = |shape| Kernel::RmsNorm(shape, 1e-5f32.to_bits());
    // Name, cycles per element, limit: the bound of the machine or the best public figure.
    let table: Vec<(&str, f64, f64)> = vec![
        ("f32 add", slope(|n| map(n, F32, &add), 4608, 1), 0.5),
        ("f16 add", slope(|n| map(n, F16, &add), 4608, 1), 0.25),
        (
            "f16 gelu, tanh form",
            slope(|n| map(n, F16, &gelu), 4608, 1),
            2.5,
        ),
        (
            "f16 bias + gelu",
            slope(|n| map(n, F16, &bias), 4608, 1),
            3.75,
        ),
        (
            "f32 gelu, erf form",
            slope(|n| map(n, F32, &erf), 4608, 1),
            64.0,
        ),
        (
            "f32 column sum",
            slope(|n| column_sum(F32, n, 96), 48, 96),
            0.25,
        ),
        (
            "f16 column sum",
            slope(|n| column_sum(F16, n, 96), 96, 96),
            0.125,
        ),
        (
            "f16 softmax row",
            slope(|n| rows(Kernel::Softmax, F16, 6, n), 768, 6),
            2.56,
        ),
        (
            "f32 softmax row",
            slope(|n| rows(Kernel::Softmax, F32, 6, n), 768, 6),
            8.0,
        ),
        (
            "f16 layer norm row",
            slope(|n| rows(norm, F16, 6, n), 768, 6),
            4.5,
        ),
        (
            "f32 layer norm row",
            slope(|n| rows(norm, F32, 6, n), 768, 6),
            4.5,
        ),
        (
            "f16 rms norm row",
            slope(|n| rows(rms, F16, 6, n), 768, 6),
            4.5,
        ),
        ("f16 transpose", slope(|n| transpose(F16, n), 96, 64), 0.36),
        ("f32 transpose", slope(|n| transpose(F32, n), 96, 64), 0.75),
        (
            "f16 transposed pack",
            slope(|n| transposed_pack(F16, n), 96, 64),
            0.36,
        ),
        (
            "f32 transposed pack",
            slope(|n| transposed_pack(F32, n), 96, 64),
            0.75,
        ),
        ("f16 row to panels", slope(|n| pack(F16, n), 96, 64), 1.25),
        ("f32 row to panels", slope(|n| pack(F32, n), 96, 64), 1.25),
        ("copy, 4 bytes", slope(|n| copy(4 * n), 4608, 1), 0.5),
        ("f16 to f8", slope(cast, 4608, 1), 0.25),
        ("fill, 4 bytes", slope(fill, 4608, 1), 0.5),
        (
            "f16 dot, row and panel",
            slope(|n| dot(n, 64, F16, F16), 60, 4),
            4.0,
        ),
        (
            "f16 dot with f32 partials, row and panel",
            slope(|n| dot(n, 64, F16, F32), 60, 4),
            8.0,
        ),
        (
            "f32 dot, row and panel",
            slope(|n| dot(n, 32, F32, F32), 60, 4),
            8.0,
        ),
    ];
    for (name, found, limit) in &table {
        println!("| {name} | {found:.3} | {limit} |");
    }
    for (name, found, limit) in &table {
        assert!(found <= limit, "{name}: {found} cycles, limit {limit}");
    }
}

#[test]
fn overhead_of_a_call() {
    let frame = empty();
    let call = fill(2) - frame;
    println!("smallest call: {call} cycles");
    // Published: 216 to 330 cycles (`isa/usage.md` 5, `facts/kernel_findings.md`).
    assert!(call < 216, "{call}");
    for (name, input, partials) in [("f16", F16, F16), ("f16-f32", F16, F32), ("f32", F32, F32)] {
        let panels = |k: u32| dot(6, k, input, partials);
        let per = 32 / input.bytes();
        let each = (panels(8 * per) - panels(4 * per)) / 4;
        println!("{name} panel of 6 rows: {each} cycles");
    }
}
