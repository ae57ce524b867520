//! NaN and infinities through maxima, minima and argmax on the simulator, as the tensor language
//! has them: a maximum or minimum is NaN if any element is, an infinity counts as a number, and an
//! index is that of the first element unless a later one is larger.

mod support;

use ipucc_chip::ScalarType::{self, F16, F32};
use ipucc_tile::kernel::{
    Access, ArgReduce, BinaryOp, Expr, Kernel, Map, Reduce, ReduceKind, UnaryOp, Window, WindowDim,
    WindowKind,
};
use ipucc_tile::{Layout, LayoutKind};
use smallvec::smallvec;
use support::{Bench, Random, padded};

/// Numbers with a NaN and infinities among them, rarer in larger shapes.
fn data(count: u32, element: ScalarType, random: &mut Random, rarity: u64) -> Vec<f64> {
    let plain = random.values(count, element, 2.0);
    let mixed = |x| match random.next() % (3 * rarity) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        _ => x,
    };
    plain.into_iter().map(mixed).collect()
}

fn fold(values: impl Iterator<Item = f64>, max: bool) -> f64 {
    let start = if max {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    };
    values.fold(start, |a, b| match (a.is_nan() || b.is_nan(), max) {
        (true, _) => f64::NAN,
        (_, true) => a.max(b),
        (_, false) => a.min(b),
    })
}

fn same(found: f64, wanted: f64, what: &str) {
    let equal = found == wanted || found.is_nan() && wanted.is_nan();
    assert!(equal, "{what}: found {found}, wanted {wanted}");
}

fn shapes() -> Vec<(u32, u32, u32)> {
    let mut shapes = vec![(1, 1, 1), (1, 2, 1), (2, 3, 1), (1, 700, 1), (1, 40, 96)];
    let mut random = Random(17);
    let mut below = |n: u64| 1 + (random.next() % n) as u32;
    shapes.extend((0..25).map(|_| (below(14), below(40), 1)));
    shapes.extend((0..15).map(|_| (below(4), below(12), below(20))));
    shapes.extend((0..10).map(|_| (below(3), below(12), 8 * below(4))));
    shapes
}

fn three() -> Layout {
    Layout {
        kind: LayoutKind::Row { pitch: 1 },
        order: smallvec![0, 1, 2],
    }
}

#[test]
fn reductions_keep_nan_and_infinities() {
    for (input, output) in [(F32, F32), (F16, F16), (F16, F32)] {
        for (outer, axis, inner) in shapes() {
            for kind in [ReduceKind::Max, ReduceKind::Min] {
                let mut random = Random(u64::from(outer * 997 + axis * 31 + inner));
                let x = data(outer * axis * inner, input, &mut random, axis.into());
                let pitch = match (output, inner) {
                    (F16, 2..) => inner.next_multiple_of(2),
                    _ => inner,
                };
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
                    let column = (0..axis).map(|a| x[((o * axis + a) * inner + i) as usize]);
                    let wanted = fold(column, kind == ReduceKind::Max);
                    same(
                        found[at as usize],
                        wanted,
                        &format!("{reduce:?} ({o}, {i})"),
                    );
                }
            }
        }
    }
}

#[test]
fn the_index_of_a_leading_nan_is_its_own() {
    for element in [F32, F16] {
        for (outer, axis, inner) in shapes() {
            for largest in [true, false] {
                let mut random = Random(u64::from(outer * 997 + axis * 31 + inner));
                let x = data(outer * axis * inner, element, &mut random, 2);
                let mut bench = Bench::new();
                let vx = bench.input("x", element, &[outer, axis, inner], three(), &x);
                let vy = bench.output(ScalarType::I32, &[outer, inner], padded(1));
                let arg = ArgReduce {
                    largest,
                    outer,
                    axis,
                    inner,
                    input_strides: (axis * inner, inner),
                    output_stride: inner,
                    input: element,
                };
                bench.call(Kernel::ArgReduce(arg), &[vx, vy]);
                let found = bench.run().values;
                for at in 0..outer * inner {
                    let (o, i) = (at / inner, at % inner);
                    let value = |a: u32| x[((o * axis + a) * inner + i) as usize];
                    let better = |a: u32, b: u32| match largest {
                        true => value(a) > value(b),
                        false => value(a) < value(b),
                    };
                    let wanted =
                        (1..axis).fold(0, |best, a| if better(a, best) { a } else { best });
                    same(
                        found[at as usize],
                        wanted.into(),
                        &format!("{arg:?} ({o}, {i})"),
                    );
                }
            }
        }
    }
}

#[test]
fn elementwise_maxima_keep_nan() {
    let bits = |value: f64, element| match element {
        F16 => u32::from(half::f16::from_f64(value).to_bits()),
        _ => (value as f32).to_bits(),
    };
    for element in [F32, F16] {
        for op in [BinaryOp::Max, BinaryOp::Min] {
            for count in [1, 2, 3, 5, 8, 13, 24, 64, 101, 400] {
                // By another vector, by a constant, by a constant among integers (one by one).
                for form in 0..4 {
                    let mut random = Random(u64::from(count));
                    let x = data(count, element, &mut random, 3);
                    let z = data(count, element, &mut random, 3);
                    let limit = [0.0, 0.0, 0.75, -0.0][form];
                    let second = match form {
                        0 => Expr::Input(1),
                        _ => Expr::Constant(bits(limit, element), element),
                    };
                    let mut nodes = vec![Expr::Input(0), second, Expr::Binary(op, 0, 1)];
                    if form == 3 {
                        // The other way round.
                        nodes[2] = Expr::Binary(op, 1, 0);
                    }
                    let one = || Access {
                        element,
                        strides: smallvec![1],
                    };
                    let mut bench = Bench::new();
                    let row = Layout::row(1);
                    let mut operands = vec![bench.input("x", element, &[count], row.clone(), &x)];
                    let mut inputs = smallvec![one()];
                    if form == 0 {
                        operands.push(bench.input("z", element, &[count], row.clone(), &z));
                        inputs.push(one());
                    }
                    operands.push(bench.output(element, &[count], row));
                    let map = Map {
                        extents: smallvec![count],
                        inputs,
                        output: one(),
                        nodes,
                    };
                    bench.call(Kernel::Map(map), &operands);
                    let found = bench.run().values;
                    for i in 0..count as usize {
                        let other = if form == 0 { z[i] } else { limit };
                        let wanted = fold([x[i], other].into_iter(), op == BinaryOp::Max);
                        same(
                            found[i],
                            wanted,
                            &format!("{element} {op:?} {form} {count} [{i}]"),
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn the_error_function_keeps_nan() {
    for element in [F32, F16] {
        let x = [f64::NAN, 0.0, 30.0, -30.0, f64::NAN, 0.0];
        let one = || Access {
            element,
            strides: smallvec![1],
        };
        let mut bench = Bench::new();
        let vx = bench.input("x", element, &[6], Layout::row(1), &x);
        let vy = bench.output(element, &[6], Layout::row(1));
        let map = Map {
            extents: smallvec![6],
            inputs: smallvec![one()],
            output: one(),
            nodes: vec![Expr::Input(0), Expr::Unary(UnaryOp::Erf, 0)],
        };
        bench.call(Kernel::Map(map), &[vx, vy]);
        let wanted = [f64::NAN, 0.0, 1.0, -1.0, f64::NAN, 0.0];
        for (found, wanted) in bench.run().values.into_iter().zip(wanted) {
            same(found, wanted, &format!("{element} erf"));
        }
    }
}

#[test]
fn pooling_keeps_nan() {
    for element in [F32, F16] {
        // Written out, and walked (more than 32 taps).
        for (taps, across) in [(1, 1), (1, 2), (2, 2), (3, 3), (2, 5), (6, 6), (5, 7)] {
            for channels in [1, 2, 5, 8, 13] {
                let (height, width) = (taps + 3, across + 2);
                let (rows, columns) = (4, 3);
                let pitch = u32::next_multiple_of(channels, 8 / element.bytes());
                let mut random = Random(u64::from(taps * 100 + across * 10 + channels));
                let c = channels;
                let rarity = u64::from(taps * across);
                let x = data(height * width * c, element, &mut random, rarity);
                let dim = |count, input, output| WindowDim {
                    count,
                    input,
                    output,
                };
                let window = Window {
                    kind: WindowKind::Max,
                    positions: smallvec![
                        dim(rows, width * pitch, columns * pitch),
                        dim(columns, pitch, pitch)
                    ],
                    taps: smallvec![dim(taps, width * pitch, 0), dim(across, pitch, 0)],
                    channels,
                    element,
                };
                let mut bench = Bench::new();
                let vx = bench.input("x", element, &[height * width, c], padded(pitch), &x);
                let vy = bench.output(element, &[rows * columns, c], padded(pitch));
                bench.call(Kernel::Window(window), &[vx, vy]);
                let found = bench.run().values;
                for at in 0..rows * columns * c {
                    let (row, column) = (at / c / columns, at / c % columns);
                    let values = (0..taps * across).map(|t| {
                        let pixel = (row + t / across) * width + column + t % across;
                        x[(pixel * c + at % c) as usize]
                    });
                    let what = format!("{element} {taps}x{across} of {c} channels [{at}]");
                    same(found[at as usize], fold(values, true), &what);
                }
            }
        }
    }
}
