//! A check of the checks: against a reference that is wrong in one place (an element dropped, two
//! rows exchanged, a partial lost), the comparison within the bound must fail in at least 99 of 100
//! seeded cases of a kernel.

mod support;

use ipucc_chip::ScalarType;
use ipucc_tile::Layout;
use ipucc_tile::kernel::{Access, BinaryOp, Dot, Expr, Kernel, Map, Reduce, ReduceKind, Rows};
use smallvec::smallvec;
use support::{Bench, Random, padded, unit_of};

const ROWS: u32 = 7;
const COLUMNS: u32 = 24;
const CASES: u64 = 100;
const ELEMENT: ScalarType = ScalarType::F16;

/// A reference: values and the bound of each.
type Reference = fn(&[f64]) -> Vec<(f64, f64)>;

fn bound(n: f64, element: ScalarType, r: f64) -> f64 {
    6.0 * n.sqrt() * unit_of(element) * r
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

/// Runs a row kernel on `x`.
fn run(name: &str, x: &[f64]) -> Vec<f64> {
    let mut bench = Bench::new();
    let shape = Rows {
        rows: ROWS,
        columns: COLUMNS,
        pitch: COLUMNS,
        element: ELEMENT,
    };
    let vx = bench.input("x", ELEMENT, &[ROWS, COLUMNS], padded(1), x);
    match name {
        "softmax" => {
            let vy = bench.output(ELEMENT, &[ROWS, COLUMNS], padded(1));
            bench.call(Kernel::Softmax(shape), &[vx, vy]);
        }
        "layer norm" => {
            let (one, zero) = (vec![1.0; COLUMNS as usize], vec![0.0; COLUMNS as usize]);
            let vg = bench.input("g", ELEMENT, &[COLUMNS], Layout::row(1), &one);
            let vb = bench.input("b", ELEMENT, &[COLUMNS], Layout::row(1), &zero);
            let vy = bench.output(ELEMENT, &[ROWS, COLUMNS], padded(1));
            let kernel = Kernel::LayerNorm(shape, 1e-5f32.to_bits());
            bench.call(kernel, &[vx, vg, vb, vy]);
        }
        "sum" => {
            let vy = bench.output(ScalarType::F32, &[ROWS], Layout::row(1));
            let reduce = Reduce {
                kind: ReduceKind::Sum,
                outer: ROWS,
                axis: COLUMNS,
                inner: 1,
                input_strides: (COLUMNS, 1),
                output_stride: 1,
                input: ELEMENT,
                output: ScalarType::F32,
            };
            bench.call(Kernel::Reduce(reduce), &[vx, vy]);
        }
        _ => {
            let vy = bench.output(ELEMENT, &[ROWS, COLUMNS], padded(1));
            let access = Access {
                element: ELEMENT,
                strides: smallvec![1],
            };
            let map = Map {
                extents: smallvec![ROWS * COLUMNS],
                inputs: smallvec![access.clone()],
                output: access,
                nodes: vec![Expr::Input(0), Expr::Binary(BinaryOp::Add, 0, 0)],
            };
            bench.call(Kernel::Map(map), &[vx, vy]);
        }
    }
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
    let kernels: [(&str, Reference); 4] = [
        ("softmax", softmax),
        ("layer norm", norm),
        ("sum", sums),
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
            dropped[(random.next() % u64::from(ROWS * COLUMNS)) as usize] = 0.0;
            caught[0] += u32::from(!accepts(&found, &reference(&dropped)));
            let mut swapped = x.clone();
            let (a, b) = (random.next() as usize % 3, 3 + random.next() as usize % 4);
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
