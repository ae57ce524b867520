//! Kernels along an axis on the simulator: reductions of any axis, shape and type, argmax and
//! argmin, running sums, the k largest; against plain loops, cycles predicted = simulated.

mod support;

use ipucc_chip::ScalarType::{self, F16, F32, I32};
use ipucc_tile::kernel::{ArgReduce, Kernel, Reduce, ReduceKind, Scan, TopK};
use ipucc_tile::{Layout, LayoutKind};
use smallvec::smallvec;
use support::{Bench, Random, bound, close, padded, round, unit_of};

/// (outer, axis, inner): tiny, odd, rows, columns, more and fewer items than workers.
fn shapes() -> Vec<(u32, u32, u32)> {
    let mut shapes = vec![
        (1, 1, 1),
        (1, 2, 1),
        (1, 1, 3),
        (2, 1, 2),
        (7, 5, 1),
        (1, 300, 1),
        (1, 5000, 1),
        (13, 64, 1),
        (1, 9, 100),
        (3, 3, 3),
    ];
    let mut random = Random(41);
    let mut below = |n: u64| 1 + (random.next() % n) as u32;
    shapes.extend((0..20).map(|_| (below(20), below(60), 1)));
    shapes.extend((0..25).map(|_| (below(7), below(20), below(20))));
    shapes
}

/// Random data of a type: floats or integers of any sign.
fn data(count: u32, element: ScalarType, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    match element {
        I32 => random.integers(count, 1 << 20),
        _ => random.values(count, element, 2.0),
    }
}

fn three() -> Layout {
    Layout {
        kind: LayoutKind::Row { pitch: 1 },
        order: smallvec![0, 1, 2],
    }
}

#[test]
fn reductions() {
    let kinds = [
        ReduceKind::Sum,
        ReduceKind::Mean,
        ReduceKind::Max,
        ReduceKind::Min,
        ReduceKind::Prod,
    ];
    for (input, output) in [(F32, F32), (F16, F32), (F16, F16), (F32, F16), (I32, I32)] {
        for kind in kinds {
            if input == I32 && kind == ReduceKind::Mean {
                continue;
            }
            for (outer, axis, inner) in shapes() {
                // Rows of f16 results begin at whole words.
                let pitch = if output == F16 && inner > 1 {
                    inner.next_multiple_of(2)
                } else {
                    inner
                };
                let seed = u64::from(outer * 997 + axis * 31 + inner);
                let mut x = data(outer * axis * inner, input, seed);
                if kind == ReduceKind::Prod && input != I32 {
                    // Near one, so that long products stay in range.
                    x = x.iter().map(|v| round(1.0 + v / 64.0, input)).collect();
                }
                let mut bench = Bench::new();
                let vx = bench.input("x", input, &[outer, axis, inner], three(), &x);
                let vy = bench.output(output, &[outer, inner], padded(pitch));
                let reduce = Reduce {
                    kind,
                    outer,
                    axis,
                    inner,
                    input_strides: (axis * inner, inner),
                    output_stride: pitch,
                    input,
                    output,
                };
                bench.call(Kernel::Reduce(reduce), &[vx, vy]);
                let found = bench.run().values;
                for at in 0..outer * inner {
                    let (o, i) = (at / inner, at % inner);
                    let column = || (0..axis).map(|a| x[((o * axis + a) * inner + i) as usize]);
                    let n = f64::from(axis);
                    let wanted = match kind {
                        ReduceKind::Sum => column().sum(),
                        ReduceKind::Mean => column().sum::<f64>() / n,
                        ReduceKind::Max => column().fold(f64::MIN, f64::max),
                        ReduceKind::Min => column().fold(f64::MAX, f64::min),
                        ReduceKind::Prod if input == I32 => f64::from(
                            column().fold(1i32, |product, v| product.wrapping_mul(v as i32)),
                        ),
                        ReduceKind::Prod => column().product(),
                    };
                    let out = bound(1.0, unit_of(output), wanted.abs());
                    let limit = match kind {
                        _ if input == I32 => 0.0,
                        ReduceKind::Max | ReduceKind::Min if output == input => 0.0,
                        ReduceKind::Max | ReduceKind::Min => out,
                        // Every partial sum is at most the root mean square times their number.
                        ReduceKind::Sum => {
                            let r = column().map(|v| v * v).sum::<f64>().sqrt();
                            bound(n, unit_of(F32), r) + out
                        }
                        ReduceKind::Mean => {
                            let r = column().map(|v| v * v).sum::<f64>().sqrt() / n;
                            bound(n, unit_of(F32), r) + out
                        }
                        ReduceKind::Prod => bound(n, unit_of(F32), wanted.abs()) + out,
                    };
                    close(
                        found[at as usize],
                        wanted,
                        limit,
                        &format!("{reduce:?} ({o}, {i})"),
                    );
                }
            }
        }
    }
}

#[test]
fn positions_of_extremes() {
    for input in [F32, F16, I32] {
        for largest in [true, false] {
            for (outer, axis, inner) in shapes() {
                let seed = u64::from(outer * 97 + axis * 31 + inner);
                // Few distinct values, so that the first of equals matters.
                let x = Random(seed).integers(outer * axis * inner, 5);
                let mut bench = Bench::new();
                let vx = bench.input("x", input, &[outer, axis, inner], three(), &x);
                let vy = bench.output(I32, &[outer, inner], padded(1));
                let arg = ArgReduce {
                    largest,
                    outer,
                    axis,
                    inner,
                    input_strides: (axis * inner, inner),
                    output_stride: inner,
                    input,
                };
                bench.call(Kernel::ArgReduce(arg), &[vx, vy]);
                let found = bench.run().values;
                for at in 0..outer * inner {
                    let (o, i) = (at / inner, at % inner);
                    let value = |a: u32| x[((o * axis + a) * inner + i) as usize];
                    let better = |a: u32, b: u32| {
                        if largest {
                            value(a) > value(b)
                        } else {
                            value(a) < value(b)
                        }
                    };
                    let wanted =
                        (1..axis).fold(0, |best, a| if better(a, best) { a } else { best });
                    assert_eq!(found[at as usize], f64::from(wanted), "{arg:?} ({o}, {i})");
                }
            }
        }
    }
}

#[test]
fn running_sums() {
    for element in [F32, F16, I32] {
        for (exclusive, reverse) in [(false, false), (true, false), (false, true), (true, true)] {
            for (outer, axis, inner) in shapes() {
                // Halves are summed in rows or in an even number of columns.
                let inner = if element == F16 && inner > 1 {
                    inner.next_multiple_of(2)
                } else {
                    inner
                };
                let row = if inner == 1 && element == F16 {
                    axis.next_multiple_of(2)
                } else {
                    axis
                };
                let seed = u64::from(outer * 997 + axis * 31 + inner);
                let x = data(outer * axis * inner, element, seed);
                let mut bench = Bench::new();
                let (shape, layout) = if inner == 1 {
                    (vec![outer, axis], padded(row))
                } else {
                    (vec![outer, axis, inner], three())
                };
                let vx = bench.input("x", element, &shape, layout.clone(), &x);
                let vy = bench.output(element, &shape, layout);
                let scan = Scan {
                    exclusive,
                    reverse,
                    outer,
                    axis,
                    inner,
                    strides: (row * inner, inner),
                    element,
                };
                bench.call(Kernel::Scan(scan), &[vx, vy]);
                let found = bench.run().values;
                for o in 0..outer {
                    for i in 0..inner {
                        let at = |a: u32| ((o * axis + a) * inner + i) as usize;
                        let (mut sum, mut squares) = (0.0, 0.0);
                        for step in 0..axis {
                            let a = if reverse { axis - 1 - step } else { step };
                            let before = sum;
                            sum += x[at(a)];
                            squares += x[at(a)] * x[at(a)];
                            let wanted = if exclusive { before } else { sum };
                            let limit = if element == I32 {
                                0.0
                            } else {
                                bound(f64::from(step + 1), unit_of(F32), squares.sqrt())
                                    + bound(1.0, unit_of(element), wanted.abs())
                            };
                            close(
                                found[at(a)],
                                wanted,
                                limit,
                                &format!("{scan:?} ({o}, {a}, {i})"),
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn largest_of_rows() {
    let mut random = Random(51);
    let mut below = |n: u64| 1 + (random.next() % n) as u32;
    for element in [F32, F16] {
        for largest in [true, false] {
            for _ in 0..55 {
                let (rows, columns) = (below(14), below(70));
                let k = 1 + below(u64::from(columns)) % columns.min(9);
                let k = k.min(columns);
                let mut seed = Random(u64::from(rows * 100 + columns));
                let x: Vec<f64> = (0..rows * columns)
                    .map(|_| (seed.next() % 23) as f64 - 11.0)
                    .collect();
                let result_pitch = k.next_multiple_of(2);
                let mut bench = Bench::new();
                let vx = bench.input("x", element, &[rows, columns], padded(1), &x);
                let vy = bench.output(element, &[rows, k], padded(result_pitch));
                let vi = bench.named_output("i", I32, &[rows, k], padded(result_pitch));
                let top = TopK {
                    largest,
                    rows,
                    columns,
                    pitch: columns,
                    k,
                    result_pitch,
                    element,
                };
                bench.call(Kernel::TopK(top), &[vx, vy, vi]);
                let outcome = bench.run();
                for row in 0..rows {
                    let line = &x[(row * columns) as usize..((row + 1) * columns) as usize];
                    let mut order: Vec<usize> = (0..columns as usize).collect();
                    order.sort_by(|&a, &b| {
                        let falling = line[b].total_cmp(&line[a]);
                        if largest { falling } else { falling.reverse() }
                    });
                    for n in 0..k as usize {
                        let at = row as usize * k as usize + n;
                        let what = format!("{top:?} ({row}, {n})");
                        assert_eq!(outcome.values[at], line[order[n]], "{what}");
                        assert_eq!(outcome.others[0][at], order[n] as f64, "{what}");
                    }
                }
            }
        }
    }
}
