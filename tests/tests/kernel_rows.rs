//! Row kernels on the simulator: softmax, normalisation, reductions and gather, against
//! plain loops in f64, within the bound of `docs/contracts.md` 6; cycles predicted = simulated.

mod support;

use ipucc_chip::ScalarType;
use ipucc_tile::Layout;
use ipucc_tile::kernel::{Fill, Gather, Kernel, Reduce, ReduceKind, Rows};
use smallvec::smallvec;
use support::{Bench, Random, bound, close, padded, unit_of};

const TYPES: [ScalarType; 2] = [ScalarType::F32, ScalarType::F16];

/// Shapes: tiny, odd, padded, more and fewer rows than workers, long.
const SHAPES: [(u32, u32); 62] = [
    (1, 384),
    (1, 100),
    (1, 333),
    (2, 128),
    (2, 101),
    (2, 770),
    (2, 27),
    (3, 129),
    (3, 64),
    (3, 35),
    (1, 1),
    (1, 2),
    (1, 3),
    (1, 4),
    (1, 5),
    (1, 7),
    (2, 6),
    (2, 9),
    (3, 16),
    (4, 13),
    (5, 31),
    (6, 8),
    (6, 33),
    (7, 12),
    (7, 50),
    (8, 64),
    (11, 5),
    (12, 24),
    (13, 100),
    (18, 17),
    (24, 48),
    (25, 3),
    (30, 129),
    (1, 768),
    (3, 1152),
    (64, 197),
    (1, 11),
    (1, 23),
    (2, 1),
    (2, 130),
    (3, 2),
    (3, 75),
    (4, 4),
    (4, 61),
    (5, 6),
    (5, 90),
    (6, 1),
    (6, 384),
    (7, 3),
    (7, 7),
    (8, 15),
    (9, 29),
    (10, 10),
    (11, 44),
    (12, 2),
    (13, 21),
    (14, 63),
    (17, 9),
    (19, 37),
    (23, 14),
    (31, 30),
    (48, 20),
];

fn pitch(columns: u32, element: ScalarType) -> u32 {
    columns.next_multiple_of(8 / element.bytes())
}

#[test]
fn softmax() {
    for element in TYPES {
        for (rows, columns) in SHAPES {
            let mut random = Random(u64::from(rows * 4096 + columns));
            let x = random.values(rows * columns, element, 6.0);
            let mut bench = Bench::new();
            let layout = padded(pitch(columns, element));
            let vx = bench.input("x", element, &[rows, columns], layout.clone(), &x);
            let vy = bench.output(element, &[rows, columns], layout);
            let shape = Rows {
                rows,
                columns,
                pitch: pitch(columns, element),
                element,
            };
            bench.call(Kernel::Softmax(shape), &[vx, vy]);
            let found = bench.run().values;
            let u = unit_of(element);
            for i in 0..rows as usize {
                let row = &x[i * columns as usize..(i + 1) * columns as usize];
                let most = row.iter().copied().fold(f64::MIN, f64::max);
                let sum: f64 = row.iter().map(|v| (v - most).exp()).sum();
                for (j, v) in row.iter().enumerate() {
                    let wanted = (v - most).exp() / sum;
                    // Difference, exponential, reciprocal, product; the first is amplified by the
                    // exponential's slope, |x - max|. Subnormal halves are rounded absolutely.
                    let r = wanted * (3.0 + (v - most).powi(2)).sqrt();
                    let tiny = if element == ScalarType::F16 {
                        2f64.powi(-24)
                    } else {
                        0.0
                    };
                    close(
                        found[i * columns as usize + j],
                        wanted,
                        bound(1.0, u, r) + tiny,
                        &format!("{element} {rows}x{columns} ({i}, {j})"),
                    );
                }
            }
        }
    }
}

#[test]
fn normalisation() {
    for element in TYPES {
        for mean in [true, false] {
            for (rows, columns) in SHAPES {
                if columns == 1 && mean {
                    continue;
                }
                let mut random = Random(u64::from(rows * 4096 + columns));
                let x: Vec<f64> = random
                    .values(rows * columns, element, 3.0)
                    .iter()
                    .map(|v| support::round(v + 1.5, element))
                    .collect();
                let g = random.values(columns, element, 2.0);
                let b = random.values(columns, element, 1.0);
                let mut bench = Bench::new();
                let pitch = pitch(columns, element);
                let vx = bench.input("x", element, &[rows, columns], padded(pitch), &x);
                let line = Layout {
                    kind: ipucc_tile::LayoutKind::Row { pitch },
                    order: smallvec![0],
                };
                let vg = bench.input("g", element, &[columns], line.clone(), &g);
                let epsilon = 1e-5f32;
                let shape = Rows {
                    rows,
                    columns,
                    pitch,
                    element,
                };
                if mean {
                    let vb = bench.input("b", element, &[columns], line, &b);
                    let vy = bench.output(element, &[rows, columns], padded(pitch));
                    bench.call(
                        Kernel::LayerNorm(shape, epsilon.to_bits()),
                        &[vx, vg, vb, vy],
                    );
                } else {
                    let vy = bench.output(element, &[rows, columns], padded(pitch));
                    bench.call(Kernel::RmsNorm(shape, epsilon.to_bits()), &[vx, vg, vy]);
                }
                let found = bench.run().values;
                let (u, n) = (unit_of(element), columns as f64);
                for i in 0..rows as usize {
                    let row = &x[i * columns as usize..(i + 1) * columns as usize];
                    let centre = if mean {
                        row.iter().sum::<f64>() / n
                    } else {
                        0.0
                    };
                    let square = row.iter().map(|v| (v - centre).powi(2)).sum::<f64>() / n;
                    let scale = 1.0 / (square + f64::from(epsilon)).sqrt();
                    let size = (row.iter().map(|v| v * v).sum::<f64>() / n).sqrt();
                    for (j, v) in row.iter().enumerate() {
                        let z = (v - centre) * scale;
                        let shift = if mean { b[j] } else { 0.0 };
                        let wanted = z * g[j] + shift;
                        // Output roundings of u; the statistics' roundings are f32 over n terms.
                        let r = (2.0 * (z * g[j]).powi(2) + wanted * wanted).sqrt();
                        let f = size * scale * (1.0 + z.abs()) * g[j].abs();
                        let limit = bound(1.0, u, r) + bound(n + 8.0, unit_of(ScalarType::F32), f);
                        close(
                            found[i * columns as usize + j],
                            wanted,
                            limit,
                            &format!("{element} mean {mean} {rows}x{columns} ({i}, {j})"),
                        );
                    }
                }
            }
        }
    }
}

fn fold(kind: ReduceKind, values: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = values.clone().count() as f64;
    match kind {
        ReduceKind::Sum => values.sum(),
        ReduceKind::Mean => values.sum::<f64>() / n,
        ReduceKind::Max => values.fold(f64::MIN, f64::max),
        ReduceKind::Min => values.fold(f64::MAX, f64::min),
        ReduceKind::Prod => values.product(),
    }
}

fn check_reduce(
    kind: ReduceKind,
    types: (ScalarType, ScalarType),
    outer: u32,
    axis: u32,
    inner: u32,
) {
    let (input, output) = types;
    let mut random = Random(u64::from(outer * 997 + axis * 31 + inner));
    let x = random.values(outer * axis * inner, input, 2.0);
    let mut bench = Bench::new();
    let innermost = if inner == 1 { axis } else { inner };
    let padded_to = pitch(innermost, input);
    let (shape, layout) = if inner == 1 {
        (vec![outer, axis], padded(padded_to))
    } else {
        let layout = Layout {
            kind: ipucc_tile::LayoutKind::Row { pitch: padded_to },
            order: smallvec![0, 1, 2],
        };
        (vec![outer, axis, inner], layout)
    };
    let vx = bench.input("x", input, &shape, layout, &x);
    let out_pitch = if inner == 1 {
        1
    } else {
        pitch(inner, ScalarType::F16)
    };
    let vy = bench.output(output, &[outer, inner], padded(out_pitch));
    let reduce = Reduce {
        kind,
        outer,
        axis,
        inner,
        input_strides: if inner == 1 {
            (padded_to, 1)
        } else {
            (axis * padded_to, padded_to)
        },
        output_stride: if inner == 1 { 1 } else { out_pitch },
        input,
        output,
    };
    bench.call(Kernel::Reduce(reduce), &[vx, vy]);
    let found = bench.run().values;
    for o in 0..outer {
        for i in 0..inner {
            let column = (0..axis).map(|a| x[((o * axis + a) * inner + i) as usize]);
            let wanted = fold(kind, column.clone());
            let r = column.map(|v| v * v).sum::<f64>().sqrt();
            let exact = matches!(kind, ReduceKind::Max | ReduceKind::Min);
            let limit = if exact {
                bound(
                    1.0,
                    unit_of(output),
                    if input == output { 0.0 } else { wanted.abs() },
                )
            } else {
                bound(f64::from(axis), unit_of(ScalarType::F32), r)
                    + bound(1.0, unit_of(output), wanted.abs())
            };
            close(
                found[(o * inner + i) as usize],
                wanted,
                limit,
                &format!("{reduce:?} ({o}, {i})"),
            );
        }
    }
}

#[test]
fn reductions_of_rows() {
    use ScalarType::{F16, F32};
    let kinds = [
        ReduceKind::Sum,
        ReduceKind::Mean,
        ReduceKind::Max,
        ReduceKind::Min,
    ];
    for kind in kinds {
        for types in [(F32, F32), (F16, F32), (F16, F16), (F32, F16)] {
            for (outer, axis) in SHAPES {
                let outer = if types.1 == F16 && outer > 1 {
                    outer.next_multiple_of(2)
                } else {
                    outer
                };
                check_reduce(kind, types, outer, axis, 1);
            }
        }
    }
}

#[test]
fn reductions_of_columns() {
    use ScalarType::{F16, F32};
    let kinds = [
        ReduceKind::Sum,
        ReduceKind::Mean,
        ReduceKind::Max,
        ReduceKind::Min,
    ];
    let mut shapes = vec![
        (1, 1, 4),
        (1, 2, 8),
        (1, 3, 12),
        (1, 7, 100),
        (2, 5, 24),
        (3, 4, 40),
        (1, 64, 16),
        (1, 9, 768),
        (5, 2, 8),
        (2, 33, 56),
    ];
    let mut random = Random(83);
    let mut below = |n: u64| 1 + (random.next() % n) as u32;
    shapes.extend((0..40).map(|_| (below(4), below(30), 4 * below(40))));
    for kind in kinds {
        for types in [(F32, F32), (F16, F32), (F16, F16), (F32, F16)] {
            for &(outer, axis, inner) in &shapes {
                check_reduce(kind, types, outer, axis, inner);
            }
        }
    }
}

#[test]
fn gather() {
    let element = ScalarType::F32;
    let mut shapes = vec![
        (1, 0, 1, 2),
        (5, 3, 4, 1),
        (6, 10, 20, 8),
        (13, 0, 7, 5),
        (30, 100, 50, 96),
        (7, 2, 3, 33),
    ];
    let mut random = Random(77);
    let mut below = |n: u64| 1 + (random.next() % n) as u32;
    shapes.extend((0..50).map(|_| (below(40), below(60) - 1, below(50), below(70))));
    for (count, first, rows, columns) in shapes {
        let mut random = Random(u64::from(count * 100 + columns));
        let table = random.values(rows * columns, element, 1.0);
        let indices: Vec<f64> = (0..count)
            .map(|_| (random.next() % u64::from(first + rows + 5)) as f64)
            .collect();
        let mut bench = Bench::new();
        let vt = bench.input("t", element, &[rows, columns], Layout::row(2), &table);
        let vi = bench.input("i", ScalarType::I32, &[count], Layout::row(1), &indices);
        let vy = bench.output(element, &[count, columns], Layout::row(2));
        let gather = Gather {
            count,
            first,
            rows,
            row_bytes: 4 * columns,
        };
        bench.call(Kernel::Gather(gather), &[vt, vi, vy]);
        let found = bench.run().values;
        for i in 0..count {
            let index = indices[i as usize] as u32;
            for j in 0..columns {
                let wanted = if (first..first + rows).contains(&index) {
                    table[((index - first) * columns + j) as usize]
                } else {
                    0.0
                };
                assert_eq!(
                    found[(i * columns + j) as usize],
                    wanted,
                    "{gather:?} ({i}, {j})"
                );
            }
        }
    }
}

#[test]
fn fills() {
    let mut random = Random(79);
    let sizes = (1..26)
        .map(|n| 2 * n)
        .chain((0..30).map(|_| 2 * (1 + (random.next() % 4000) as u32)));
    for words in sizes {
        let mut bench = Bench::new();
        let vy = bench.output(ScalarType::F32, &[words], Layout::row(1));
        let word = 1.5f32.to_bits();
        bench.call(Kernel::Fill(Fill { words, word }), &[vy]);
        let found = bench.run().values;
        assert!(found.iter().all(|&v| v == 1.5), "{words} words");
    }
}

/// A single large element, at every place: exponentials would overflow behind any other maximum.
#[test]
fn softmax_finds_the_maximum_everywhere() {
    let columns = 53;
    for (element, large) in [(ScalarType::F32, 200.0), (ScalarType::F16, 40.0)] {
        for rows in 1..=4u32 {
            for place in 0..columns {
                let x: Vec<f64> = (0..rows * columns)
                    .map(|i| if i % columns == place { large } else { 0.0 })
                    .collect();
                let mut bench = Bench::new();
                let layout = padded(pitch(columns, element));
                let vx = bench.input("x", element, &[rows, columns], layout.clone(), &x);
                let vy = bench.output(element, &[rows, columns], layout);
                let shape = Rows {
                    rows,
                    columns,
                    pitch: pitch(columns, element),
                    element,
                };
                bench.call(Kernel::Softmax(shape), &[vx, vy]);
                let wanted: Vec<f64> = x.iter().map(|&x| f64::from(x > 0.0)).collect();
                let found: Vec<f64> = bench.run().values.iter().map(|y| y.round()).collect();
                assert_eq!(found, wanted, "{element} {rows} {place}");
            }
        }
    }
}
