//! Elementwise kernels on integers, truth values and mixtures of types on the simulator: exact
//! against plain functions, cycles predicted = simulated.

mod support;

use ipucc_chip::ScalarType::{self, F16, F32, I1, I8, I32, U8};
use ipucc_tile::Layout;
use ipucc_tile::kernel::{Access, BinaryOp, CompareOp, Expr, Kernel, Map, UnaryOp};
use smallvec::smallvec;
use support::{Bench, Random, padded, round};

/// Flat counts: tiny, odd, fewer and more than workers.
const COUNTS: [u32; 50] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 23, 24, 25, 26, 29, 30, 31,
    32, 33, 35, 36, 37, 41, 47, 48, 49, 53, 60, 61, 63, 64, 65, 71, 72, 77, 95, 96, 97, 100, 201,
    321,
];

fn access(element: ScalarType, strides: &[u32]) -> Access {
    Access {
        element,
        strides: strides.into(),
    }
}

/// Random values of a type; integers use all their bits.
fn data(count: u32, element: ScalarType, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    (0..count)
        .map(|_| {
            let bits = random.next();
            match element {
                I32 => f64::from(bits as i32 >> ((bits >> 40) % 28)),
                I8 => f64::from(bits as i8),
                U8 => f64::from(bits as u8),
                I1 => (bits % 2) as f64,
                _ => round((bits % 41) as f64 / 4.0 - 5.0, element),
            }
        })
        .collect()
}

/// Runs an expression over flat buffers.
fn run(inputs: &[(ScalarType, &[f64])], output: ScalarType, nodes: Vec<Expr>) -> Vec<f64> {
    let count = inputs[0].1.len() as u32;
    let mut bench = Bench::new();
    let mut operands: Vec<_> = inputs
        .iter()
        .enumerate()
        .map(|(n, (element, x))| {
            bench.input(&format!("x{n}"), *element, &[count], Layout::row(1), x)
        })
        .collect();
    operands.push(bench.output(output, &[count], Layout::row(1)));
    let map = Map {
        extents: smallvec![count],
        inputs: inputs.iter().map(|(e, _)| access(*e, &[1])).collect(),
        output: access(output, &[1]),
        nodes,
    };
    bench.call(Kernel::Map(map), &operands);
    bench.run().values
}

/// A value as an integer type holds it.
fn wrapped(value: i64, element: ScalarType) -> f64 {
    match element {
        I32 => f64::from(value as i32),
        I8 => f64::from(value as i8),
        U8 => f64::from(value as u8),
        _ => (value & 1) as f64,
    }
}

#[test]
fn integer_arithmetic() {
    use BinaryOp::{Add, And, Max, Min, Mul, Or, Shl, Shr, Sub, Xor};
    for element in [I32, I8, U8] {
        for op in [Add, Sub, Mul, Min, Max, And, Or, Xor, Shl, Shr] {
            for count in COUNTS {
                let x = data(count, element, u64::from(count));
                let mut y = data(count, element, u64::from(count) + 1);
                if matches!(op, Shl | Shr) {
                    y = y.iter().map(|v| v.abs() % 40.0).collect();
                }
                let nodes = vec![Expr::Input(0), Expr::Input(1), Expr::Binary(op, 0, 1)];
                let found = run(&[(element, &x), (element, &y)], element, nodes);
                let bits = 8 * i64::from(element.bytes());
                for i in 0..count as usize {
                    let (a, b) = (x[i] as i64, y[i] as i64);
                    let wanted = match op {
                        Add => a + b,
                        Sub => a - b,
                        Mul => a.wrapping_mul(b),
                        Min => a.min(b),
                        Max => a.max(b),
                        And => a & b,
                        Or => a | b,
                        Xor => a ^ b,
                        Shl if b >= bits => 0,
                        Shl => a << b,
                        _ => a >> b.min(63),
                    };
                    let wanted = wrapped(wanted, element);
                    assert_eq!(found[i], wanted, "{element} {} {a} {b}", op.name());
                }
            }
        }
    }
}

#[test]
fn integer_functions() {
    use UnaryOp::{Abs, Neg, Not, Popcount, Sign};
    for op in [Abs, Neg, Not, Popcount, Sign] {
        for count in COUNTS {
            let x = data(count, I32, u64::from(count));
            let found = run(&[(I32, &x)], I32, vec![Expr::Input(0), Expr::Unary(op, 0)]);
            for i in 0..count as usize {
                let a = x[i] as i32;
                let wanted = match op {
                    Abs => a.wrapping_abs(),
                    Neg => a.wrapping_neg(),
                    Not => !a,
                    Popcount => a.count_ones() as i32,
                    _ => a.signum(),
                };
                assert_eq!(found[i], f64::from(wanted), "{} {a}", op.name());
            }
        }
    }
}

#[test]
fn comparisons_and_selections() {
    use CompareOp::{Eq, Ge, Gt, Le, Lt, Ne};
    for element in [F32, F16, I32, I8, U8] {
        for op in [Eq, Ne, Lt, Le, Gt, Ge] {
            for count in COUNTS {
                let x = data(count, element, u64::from(count));
                let mut y = data(count, element, u64::from(count) + 1);
                y.iter_mut().zip(&x).step_by(3).for_each(|(y, x)| *y = *x);
                let holds = |i: usize| match op {
                    Eq => x[i] == y[i],
                    Ne => x[i] != y[i],
                    Lt => x[i] < y[i],
                    Le => x[i] <= y[i],
                    Gt => x[i] > y[i],
                    Ge => x[i] >= y[i],
                };
                let compare = vec![Expr::Input(0), Expr::Input(1), Expr::Compare(op, 0, 1)];
                let found = run(&[(element, &x), (element, &y)], I1, compare.clone());
                for (i, found) in found.iter().enumerate() {
                    let wanted = f64::from(u8::from(holds(i)));
                    assert_eq!(*found, wanted, "{element} {} [{i}]", op.name());
                }
                let mut select = compare;
                select.push(Expr::Select(2, 0, 1));
                let found = run(&[(element, &x), (element, &y)], element, select);
                for (i, found) in found.iter().enumerate() {
                    let wanted = if holds(i) { x[i] } else { y[i] };
                    assert_eq!(*found, wanted, "{element} select {} [{i}]", op.name());
                }
            }
        }
    }
}

#[test]
fn conversions_between_all_types() {
    for from in [F32, F16, I32, I8, U8, I1] {
        for to in [F32, F16, I32, I8, U8, I1] {
            for count in COUNTS {
                let x: Vec<f64> = data(count, from, u64::from(count))
                    .iter()
                    // What the narrow types hold after cutting towards zero.
                    .map(|v| if from == I32 { v % 2000.0 } else { *v })
                    .collect();
                let nodes = vec![Expr::Input(0), Expr::Convert(to, 0)];
                let found = run(&[(from, &x)], to, nodes);
                for (i, found) in found.iter().enumerate() {
                    let wanted = match to {
                        F32 | F16 => round(x[i], to),
                        I1 => f64::from(u8::from(x[i] != 0.0)),
                        _ => wrapped(x[i] as i64, to),
                    };
                    assert_eq!(*found, wanted, "{from} to {to}: {}", x[i]);
                }
            }
        }
    }
}

#[test]
fn truth_values_in_rows() {
    // mask & (x > limit of the row) ? x : -1, rows of whole words.
    for element in [F32, F16, I32] {
        let mut random = Random(91);
        let mut below = |n: u64| 1 + (random.next() % n) as u32;
        for _ in 0..50 {
            let (rows, columns) = (below(20), 4 * below(12));
            let x = data(rows * columns, element, u64::from(columns));
            let mask = data(rows * columns, I1, u64::from(rows));
            let limit = data(rows, element, 3);
            let mut bench = Bench::new();
            let vx = bench.input("x", element, &[rows, columns], padded(1), &x);
            let vm = bench.input("m", I1, &[rows, columns], padded(1), &mask);
            let vl = bench.input("l", element, &[rows], Layout::row(1), &limit);
            let vy = bench.output(element, &[rows, columns], padded(1));
            let minus = match element {
                F32 => (-1f32).to_bits(),
                F16 => 0xbc00,
                _ => u32::MAX,
            };
            let map = Map {
                extents: smallvec![rows, columns],
                inputs: smallvec![
                    access(element, &[columns, 1]),
                    access(I1, &[columns, 1]),
                    access(element, &[1, 0]),
                ],
                output: access(element, &[columns, 1]),
                nodes: vec![
                    Expr::Input(0),
                    Expr::Input(1),
                    Expr::Input(2),
                    Expr::Compare(CompareOp::Gt, 0, 2),
                    Expr::Binary(BinaryOp::And, 3, 1),
                    Expr::Constant(minus, element),
                    Expr::Select(4, 0, 5),
                ],
            };
            bench.call(Kernel::Map(map), &[vx, vm, vl, vy]);
            let found = bench.run().values;
            for at in 0..(rows * columns) as usize {
                let taken = mask[at] != 0.0 && x[at] > limit[at / columns as usize];
                let wanted = if taken { x[at] } else { -1.0 };
                assert_eq!(found[at], wanted, "{element} {rows}x{columns} [{at}]");
            }
        }
    }
}
