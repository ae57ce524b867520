//! A check of the checks: against a reference that is wrong in one place (an element dropped, two
//! rows exchanged, a partial lost), the comparison within the bound must fail in at least 99 of 100
//! seeded cases of a kernel.

mod support;

use ipucc_chip::ScalarType;
use ipucc_tile::Layout;
use ipucc_tile::kernel::{
    Access, ArgReduce, BinaryOp, Copy, CopyDim, Dot, Expr, Gather, IntegerDot, Kernel, Lerp,
    LerpPoint, Map, Reduce, ReduceKind, Rows, Scan, Scatter, TopK, Window, WindowDim, WindowKind,
};
use smallvec::smallvec;
use support::{Bench, Random, padded, unit_of};

const ROWS: u32 = 7;
const COLUMNS: u32 = 24;
const CASES: u64 = 100;
const ELEMENT: ScalarType = ScalarType::F16;

/// A reference: values and the bound of each.
type Reference = fn(&[f64]) -> Vec<(f64, f64)>;

fn bound(n: f64, element: ScalarType, r: f64) -> f64 {
    support::bound(n, unit_of(element), r)
}

fn rows(x: &[f64]) -> impl Iterator<Item = &[f64]> {
    x.chunks(COLUMNS as usize)
}

fn softmax(x: &[f64]) -> Vec<(f64, f64)> {
    rows(x)
        .flat_map(|row| {
            let most = row.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = row.iter().map(|v| (v - most).exp()).sum();
            row.iter()
                .map(|v| {
                    let y = (v - most).exp() / sum;
                    let r = y * (3.0 + (v - most).powi(2)).sqrt();
                    (y, bound(1.0, ELEMENT, r) + 2f64.powi(-24))
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

fn norm(x: &[f64]) -> Vec<(f64, f64)> {
    rows(x)
        .flat_map(|row| {
            let n = row.len() as f64;
            let mean = row.iter().sum::<f64>() / n;
            let square = row.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
            let scale = 1.0 / (square + 1e-5).sqrt();
            row.iter()
                .map(|v| {
                    let y = (v - mean) * scale;
                    (
                        y,
                        bound(1.0, ELEMENT, y.abs() * 3f64.sqrt())
                            + bound(n + 8.0, ScalarType::F32, 4.0),
                    )
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

fn sums(x: &[f64]) -> Vec<(f64, f64)> {
    rows(x)
        .map(|row| {
            let r = row.iter().map(|v| v * v).sum::<f64>().sqrt();
            (
                row.iter().sum(),
                bound(row.len() as f64, ScalarType::F32, r),
            )
        })
        .collect()
}

fn double(x: &[f64]) -> Vec<(f64, f64)> {
    x.iter()
        .map(|v| (2.0 * v, bound(1.0, ELEMENT, 2.0 * v.abs())))
        .collect()
}

fn rms(x: &[f64]) -> Vec<(f64, f64)> {
    rows(x)
        .flat_map(|row| {
            let n = row.len() as f64;
            let scale = 1.0 / (row.iter().map(|v| v * v).sum::<f64>() / n + 1e-5).sqrt();
            row.iter()
                .map(|v| {
                    let y = v * scale;
                    let r = y.abs().max(2f64.powi(-14)) * 2f64.sqrt();
                    (
                        y,
                        bound(1.0, ELEMENT, r) + bound(n + 8.0, ScalarType::F32, y.abs()),
                    )
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

fn exact(values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    values.map(|v| (v, 0.0)).collect()
}

fn largest(row: &[f64]) -> usize {
    (1..row.len()).fold(0, |best, at| if row[at] > row[best] { at } else { best })
}

fn maxima(x: &[f64]) -> Vec<(f64, f64)> {
    exact(rows(x).map(|row| row[largest(row)]))
}

fn positions(x: &[f64]) -> Vec<(f64, f64)> {
    exact(rows(x).map(|row| largest(row) as f64))
}

fn two_largest(x: &[f64]) -> Vec<(f64, f64)> {
    exact(rows(x).flat_map(|row| {
        let mut order = row.to_vec();
        order.sort_by(|a, b| b.total_cmp(a));
        [order[0], order[1]]
    }))
}

fn running(x: &[f64]) -> Vec<(f64, f64)> {
    rows(x)
        .flat_map(|row| {
            let (mut sum, mut squares) = (0.0, 0.0);
            row.iter()
                .zip(1..)
                .map(|(v, n)| {
                    sum += v;
                    squares += v * v;
                    let limit = bound(f64::from(n), ScalarType::F32, f64::sqrt(squares))
                        + bound(1.0, ELEMENT, f64::abs(sum));
                    (sum, limit)
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

fn transposed(x: &[f64]) -> Vec<(f64, f64)> {
    let (rows, columns) = (ROWS as usize, COLUMNS as usize);
    exact((0..rows * columns).map(|at| x[at % rows * columns + at / rows]))
}

fn column_sums(x: &[f64]) -> Vec<(f64, f64)> {
    (0..COLUMNS as usize)
        .map(|column| {
            let values: Vec<f64> = rows(x).map(|row| row[column]).collect();
            let r = values.iter().map(|v| v * v).sum::<f64>().sqrt();
            (
                values.iter().sum(),
                bound(f64::from(ROWS), ScalarType::F32, r),
            )
        })
        .collect()
}

/// Windows of two rows: products with 0.5 and -1.5, means, maxima.
fn windows(x: &[f64], fold: fn(f64, f64) -> f64, roundings: f64) -> Vec<(f64, f64)> {
    let columns = COLUMNS as usize;
    (0..x.len() - columns)
        .map(|at| {
            let (a, b) = (x[at], x[at + columns]);
            let limit = if roundings == 0.0 {
                0.0
            } else {
                bound(roundings, ScalarType::F32, a.hypot(1.5 * b))
                    + bound(1.0, ELEMENT, fold(a, b).abs().max(2f64.powi(-14)))
            };
            (fold(a, b), limit)
        })
        .collect()
}

fn convolved(x: &[f64]) -> Vec<(f64, f64)> {
    windows(x, |a, b| 0.5 * a - 1.5 * b, 4.0)
}

fn averaged(x: &[f64]) -> Vec<(f64, f64)> {
    windows(x, |a, b| (a + b) / 2.0, 2.0)
}

fn pooled(x: &[f64]) -> Vec<(f64, f64)> {
    windows(x, f64::max, 0.0)
}

fn interpolated(x: &[f64]) -> Vec<(f64, f64)> {
    windows(x, |a, b| 0.75 * a + 0.25 * b, 3.0)
}

/// Rows 6, 5, 4, ... of a table.
fn gathered(x: &[f64]) -> Vec<(f64, f64)> {
    let lines: Vec<&[f64]> = rows(x).collect();
    exact(lines.into_iter().rev().flatten().copied())
}

fn window(kind: WindowKind) -> Kernel {
    let dim = |count: u32, input: u32, output: u32| WindowDim {
        count,
        input,
        output,
    };
    Kernel::Window(Window {
        kind,
        positions: smallvec![dim(ROWS - 1, COLUMNS, COLUMNS)],
        taps: smallvec![dim(2, COLUMNS, 0)],
        channels: COLUMNS,
        element: ELEMENT,
    })
}

fn line(bench: &mut Bench, name: &str, element: ScalarType, data: &[f64]) -> ipucc_tile::Value {
    bench.input(name, element, &[data.len() as u32], Layout::row(1), data)
}

/// Runs a kernel on `x`, ROWS rows of COLUMNS elements.
fn run(name: &str, x: &[f64]) -> Vec<f64> {
    let mut bench = Bench::new();
    let shape = Rows {
        rows: ROWS,
        columns: COLUMNS,
        pitch: COLUMNS,
        element: ELEMENT,
    };
    let vx = bench.input("x", ELEMENT, &[ROWS, COLUMNS], padded(1), x);
    let reduce = |kind: ReduceKind, output: ScalarType| Reduce {
        kind,
        outer: ROWS,
        axis: COLUMNS,
        inner: 1,
        input_strides: (COLUMNS, 1),
        output_stride: 1,
        input: ELEMENT,
        output,
    };
    let epsilon = 1e-5f32.to_bits();
    let (element, rows, columns): (ScalarType, u32, u32) = match name {
        "sum" | "maximum" => (ScalarType::F32, ROWS, 1),
        "position" => (ScalarType::I32, ROWS, 1),
        "column sum" => (ScalarType::F32, 1, COLUMNS),
        "two largest" => (ELEMENT, ROWS, 2),
        "convolution" | "average" | "pooling" | "interpolation" => (ELEMENT, ROWS - 1, COLUMNS),
        "transpose" => (ELEMENT, COLUMNS, ROWS),
        _ => (ELEMENT, ROWS, COLUMNS),
    };
    let mut operands = vec![vx];
    let kernel = match name {
        "softmax" => Kernel::Softmax(shape),
        "layer norm" => {
            let (one, zero) = (vec![1.0; COLUMNS as usize], vec![0.0; COLUMNS as usize]);
            operands.push(line(&mut bench, "g", ELEMENT, &one));
            operands.push(line(&mut bench, "b", ELEMENT, &zero));
            Kernel::LayerNorm(shape, epsilon)
        }
        "rms norm" => {
            operands.push(line(&mut bench, "g", ELEMENT, &vec![1.0; COLUMNS as usize]));
            Kernel::RmsNorm(shape, epsilon)
        }
        "sum" => Kernel::Reduce(reduce(ReduceKind::Sum, element)),
        "maximum" => Kernel::Reduce(reduce(ReduceKind::Max, element)),
        "column sum" => Kernel::Reduce(Reduce {
            outer: 1,
            axis: ROWS,
            inner: COLUMNS,
            input_strides: (ROWS * COLUMNS, COLUMNS),
            output_stride: COLUMNS,
            ..reduce(ReduceKind::Sum, element)
        }),
        "position" => Kernel::ArgReduce(ArgReduce {
            largest: true,
            outer: ROWS,
            axis: COLUMNS,
            inner: 1,
            input_strides: (COLUMNS, 1),
            output_stride: 1,
            input: ELEMENT,
        }),
        "running sum" => Kernel::Scan(Scan {
            exclusive: false,
            reverse: false,
            outer: ROWS,
            axis: COLUMNS,
            inner: 1,
            strides: (COLUMNS, 1),
            element: ELEMENT,
        }),
        "two largest" => Kernel::TopK(TopK {
            largest: true,
            rows: ROWS,
            columns: COLUMNS,
            pitch: COLUMNS,
            k: 2,
            result_pitch: 2,
            element: ELEMENT,
        }),
        "transpose" => {
            let dim = |count: u32, source_bytes: u32, destination_bytes: u32| CopyDim {
                count,
                source_bytes: source_bytes as i32,
                destination_bytes: destination_bytes as i32,
            };
            Kernel::Copy(Copy {
                source_offset: 0,
                destination_offset: 0,
                bytes: 2,
                dims: smallvec![dim(ROWS, 2 * COLUMNS, 2), dim(COLUMNS, 2, 2 * ROWS)],
            })
        }
        "convolution" => {
            let taps = [0.5, -1.5];
            let data: Vec<f64> = taps
                .iter()
                .flat_map(|&w| vec![w; COLUMNS as usize])
                .collect();
            operands.push(line(&mut bench, "w", ELEMENT, &data));
            window(WindowKind::Conv)
        }
        "average" => window(WindowKind::Sum(0.5f32.to_bits())),
        "pooling" => window(WindowKind::Max),
        "interpolation" => Kernel::Lerp(Lerp {
            outer: 1,
            axis: ROWS,
            inner: COLUMNS,
            pitch: COLUMNS,
            points: (0..ROWS - 1)
                .map(|low| LerpPoint {
                    low,
                    high: low + 1,
                    t: 0.25f32.to_bits(),
                })
                .collect(),
            element: ELEMENT,
        }),
        "gather" => {
            let indices: Vec<f64> = (0..ROWS).rev().map(f64::from).collect();
            operands.push(line(&mut bench, "i", ScalarType::I32, &indices));
            Kernel::Gather(Gather {
                count: ROWS,
                first: 0,
                rows: ROWS,
                row_bytes: 2 * COLUMNS,
            })
        }
        "scatter" => {
            let indices: Vec<f64> = (0..ROWS).rev().map(f64::from).collect();
            operands.push(line(&mut bench, "i", ScalarType::I32, &indices));
            Kernel::Scatter(Scatter {
                count: ROWS,
                first: 0,
                rows: ROWS,
                row_bytes: 2 * COLUMNS,
            })
        }
        _ => {
            let access = Access {
                element: ELEMENT,
                strides: smallvec![1],
            };
            Kernel::Map(Map {
                extents: smallvec![ROWS * COLUMNS],
                inputs: smallvec![access.clone()],
                output: access,
                nodes: vec![Expr::Input(0), Expr::Binary(BinaryOp::Add, 0, 0)],
            })
        }
    };
    operands.push(bench.output(element, &[rows, columns], padded(1)));
    if name == "two largest" {
        operands.push(bench.named_output("i", ScalarType::I32, &[rows, columns], padded(1)));
    }
    bench.call(kernel, &operands);
    bench.run().values
}

fn accepts(found: &[f64], reference: &[(f64, f64)]) -> bool {
    found
        .iter()
        .zip(reference)
        .all(|(f, (w, b))| (f - w).abs() <= *b)
}

#[test]
fn broken_references_of_row_kernels_are_caught() {
    let kernels: [(&str, Reference); 17] = [
        ("softmax", softmax),
        ("layer norm", norm),
        ("rms norm", rms),
        ("sum", sums),
        ("column sum", column_sums),
        ("maximum", maxima),
        ("position", positions),
        ("running sum", running),
        ("two largest", two_largest),
        ("transpose", transposed),
        ("convolution", convolved),
        ("average", averaged),
        ("pooling", pooled),
        ("interpolation", interpolated),
        ("gather", gathered),
        ("scatter", gathered),
        ("double", double),
    ];
    for (name, reference) in kernels {
        let mut caught = [0; 2];
        for seed in 0..CASES {
            let mut random = Random(seed);
            let x = random.values(ROWS * COLUMNS, ELEMENT, 3.0);
            let found = run(name, &x);
            assert!(accepts(&found, &reference(&x)), "{name}, seed {seed}");
            let mut dropped = x.clone();
            let at = (random.next() % u64::from(ROWS * COLUMNS)) as usize;
            let row = at / COLUMNS as usize;
            match name {
                // A kernel that selects drops one that it would select: nothing else shows.
                "maximum" | "position" | "two largest" => {
                    let line = &x[row * COLUMNS as usize..(row + 1) * COLUMNS as usize];
                    dropped[row * COLUMNS as usize + largest(line)] = -4.0;
                }
                "pooling" => {
                    let at = at % (x.len() - COLUMNS as usize);
                    let below = at + COLUMNS as usize;
                    dropped[if x[at] > x[below] { at } else { below }] = -4.0;
                }
                _ => dropped[at] = 0.0,
            }
            caught[0] += u32::from(!accepts(&found, &reference(&dropped)));
            if name == "column sum" {
                // Rows may change places there; columns may not.
                caught[1] += 1;
                continue;
            }
            let mut swapped = x.clone();
            let (mut a, b) = (random.next() as usize % 3, 3 + random.next() as usize % 4);
            if name == "position" {
                // Rows with one and the same position do not show.
                a = (0..ROWS as usize)
                    .find(|&a| found[a] != found[b])
                    .unwrap_or(a);
            }
            for column in 0..COLUMNS as usize {
                swapped.swap(a * COLUMNS as usize + column, b * COLUMNS as usize + column);
            }
            caught[1] += u32::from(!accepts(&found, &reference(&swapped)));
        }
        for (what, count) in ["element dropped", "rows exchanged"].iter().zip(caught) {
            println!("{name}, {what}: {count} of {CASES} caught");
            assert!(count >= 99, "{name}, {what}: {count} of {CASES} caught");
        }
    }
}

#[test]
fn broken_references_of_products_are_caught() {
    let (m, n, k) = (7u32, 16u32, 48u32);
    for (input, partials) in [
        (ScalarType::F32, ScalarType::F32),
        (ScalarType::F16, ScalarType::F16),
        (ScalarType::F16, ScalarType::F32),
        (ScalarType::F8E4M3, ScalarType::F16),
        (ScalarType::F8E5M2, ScalarType::F16),
    ] {
        let mut caught = [0; 3];
        for seed in 0..CASES {
            let mut random = Random(seed + 500);
            let a = random.values(m * k, input, 1.0);
            let b = random.values(k * n, input, 1.0);
            let panel = Dot::input_panel(input);
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
            let found = bench.run().values;
            let reference = |a: &[f64], from: u32| -> Vec<(f64, f64)> {
                (0..m * n)
                    .map(|at| {
                        let (i, j) = (at / n, at % n);
                        let terms =
                            (from..k).map(|l| a[(i * k + l) as usize] * b[(l * n + j) as usize]);
                        let r = terms.clone().map(|t| t * t).sum::<f64>().sqrt();
                        let sum: f64 = terms.sum();
                        // f32 additions, and a rounding of the partials at every panel.
                        let panels = f64::from(k.div_ceil(panel));
                        let bound = bound(2.0 * f64::from(k), ScalarType::F32, r)
                            + bound(panels, partials, r.max(sum.abs()) / panels.sqrt());
                        (sum, bound)
                    })
                    .collect()
            };
            assert!(accepts(&found, &reference(&a, 0)), "{dot:?}, seed {seed}");
            let mut dropped = a.clone();
            dropped[(random.next() % u64::from(m * k)) as usize] = 0.0;
            caught[0] += u32::from(!accepts(&found, &reference(&dropped, 0)));
            let mut swapped = a.clone();
            for l in 0..k as usize {
                swapped.swap(k as usize + l, 5 * k as usize + l);
            }
            caught[1] += u32::from(!accepts(&found, &reference(&swapped, 0)));
            caught[2] += u32::from(!accepts(&found, &reference(&a, panel)));
        }
        let names = ["element dropped", "rows exchanged", "panel lost"];
        for (what, count) in names.iter().zip(caught) {
            println!("{input} {partials}, {what}: {count} of {CASES} caught");
            assert!(
                count >= 99,
                "{input} {partials}, {what}: {count} of {CASES}"
            );
        }
    }
}

#[test]
fn broken_references_of_integer_products_are_caught() {
    let (m, n, k) = (7u32, 5u32, 24u32);
    let mut caught = [0; 3];
    for seed in 0..CASES {
        let mut random = Random(seed + 900);
        let a = random.integers(m * k, 127);
        let b = random.integers(n * k, 127);
        let mut bench = Bench::new();
        let va = bench.input("a", ScalarType::I8, &[m, k], padded(k), &a);
        let vb = bench.input("b", ScalarType::I8, &[n, k], padded(k), &b);
        let vy = bench.output(ScalarType::I32, &[m, n], padded(1));
        let dot = IntegerDot {
            m,
            n,
            k,
            pitches: (k, k, n),
            zeros: (3, -5),
            input: ScalarType::I8,
        };
        bench.call(Kernel::IntegerDot(dot), &[va, vb, vy]);
        let found = bench.run().values;
        let reference = |a: &[f64], from: u32| -> Vec<(f64, f64)> {
            exact((0..m * n).map(|at| {
                let (i, j) = (at / n, at % n);
                let term = |l| (a[(i * k + l) as usize] - 3.0) * (b[(j * k + l) as usize] + 5.0);
                (from..k).map(term).sum()
            }))
        };
        assert!(accepts(&found, &reference(&a, 0)), "seed {seed}");
        let mut dropped = a.clone();
        let at = (random.next() % u64::from(m * k)) as usize;
        dropped[at] = if a[at] == 0.0 { 1.0 } else { 0.0 };
        caught[0] += u32::from(!accepts(&found, &reference(&dropped, 0)));
        let mut swapped = a.clone();
        for l in 0..k as usize {
            swapped.swap(k as usize + l, 5 * k as usize + l);
        }
        caught[1] += u32::from(!accepts(&found, &reference(&swapped, 0)));
        caught[2] += u32::from(!accepts(&found, &reference(&a, 1)));
    }
    for (what, count) in ["element dropped", "rows exchanged", "column lost"]
        .iter()
        .zip(caught)
    {
        println!("integers, {what}: {count} of {CASES} caught");
        assert!(count >= 99, "integers, {what}: {count} of {CASES}");
    }
}
