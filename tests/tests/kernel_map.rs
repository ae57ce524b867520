//! Elementwise kernels on the simulator: every operation in f32 and f16, chains, broadcasts, odd
//! shapes, against f64 within the bound of `docs/contracts.md` 6; cycles predicted = simulated.

mod support;

use ipucc_chip::ScalarType::F32;
use ipucc_chip::{Assumptions, ScalarType};
use ipucc_tile::Layout;
use ipucc_tile::kernel::{Access, BinaryOp, CompareOp, Expr, Kernel, Map, UnaryOp};
use smallvec::smallvec;
use support::{Bench, Random, bound, close, round, unit_of};

const TYPES: [ScalarType; 2] = [ScalarType::F32, ScalarType::F16];

fn access(element: ScalarType, strides: &[u32]) -> Access {
    Access {
        element,
        strides: strides.into(),
    }
}

fn constant(value: f64, element: ScalarType) -> Expr {
    let bits = match element {
        ScalarType::F16 => u32::from(half::f16::from_f64(value).to_bits()),
        _ => (value as f32).to_bits(),
    };
    Expr::Constant(bits, element)
}

/// Runs an expression of two vectors of `count` elements.
fn run(count: u32, element: ScalarType, x: &[f64], y: &[f64], nodes: Vec<Expr>) -> Vec<f64> {
    let mut bench = Bench::new();
    let second = nodes.contains(&Expr::Input(1));
    let mut inputs = smallvec![access(element, &[1])];
    let mut operands = vec![bench.input("x", element, &[count], Layout::row(1), x)];
    if second {
        inputs.push(access(element, &[1]));
        operands.push(bench.input("z", element, &[count], Layout::row(1), y));
    }
    operands.push(bench.output(element, &[count], Layout::row(1)));
    let map = Map {
        extents: smallvec![count],
        inputs,
        output: access(element, &[1]),
        nodes,
    };
    bench.call(Kernel::Map(map), &operands);
    bench.run().values
}

/// Bound of one rounding of a value of a type; below the least normal number it is absolute.
fn rounding(element: ScalarType, value: f64) -> f64 {
    let least = match element {
        ScalarType::F16 => 2f64.powi(-14),
        _ => 2f64.powi(-126),
    };
    bound(1.0, unit_of(element), value.abs().max(least))
}

/// Reference functions.
type Binary = fn(f64, f64) -> f64;
type Unary = fn(f64) -> f64;

/// Counts of elements: tiny, odd, around the workers' shares, large.
const COUNTS: [u32; 52] = [
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 21, 23, 24, 25, 26, 27, 29, 31, 32,
    33, 35, 36, 37, 47, 48, 49, 53, 60, 63, 64, 65, 71, 72, 77, 95, 96, 97, 100, 121, 144, 145,
    200, 257, 385, 1001,
];

#[test]
fn binary_operations() {
    let ops: [(BinaryOp, Binary); 6] = [
        (BinaryOp::Add, |x, y| x + y),
        (BinaryOp::Sub, |x, y| x - y),
        (BinaryOp::Mul, |x, y| x * y),
        (BinaryOp::Min, f64::min),
        (BinaryOp::Max, f64::max),
        (BinaryOp::Div, |x, y| x / y),
    ];
    for element in TYPES {
        for (op, f) in ops {
            for count in COUNTS {
                let mut random = Random(u64::from(count));
                let x = random.values(count, element, 4.0);
                let y: Vec<f64> = random
                    .values(count, element, 2.0)
                    .iter()
                    .map(|v| round(v + if *v < 0.0 { -1.0 } else { 1.0 }, element))
                    .collect();
                let nodes = vec![Expr::Input(0), Expr::Input(1), Expr::Binary(op, 0, 1)];
                let found = run(count, element, &x, &y, nodes);
                for i in 0..count as usize {
                    let wanted = f(x[i], y[i]);
                    let limit = match op {
                        BinaryOp::Min | BinaryOp::Max => 0.0,
                        // Halves are divided as f32.
                        BinaryOp::Div => rounding(element, wanted) + rounding(F32, wanted),
                        _ => rounding(element, wanted),
                    };
                    close(
                        found[i],
                        wanted,
                        limit,
                        &format!("{element} {} {count} [{i}]", op.name()),
                    );
                }
            }
        }
    }
}

#[test]
fn unary_operations() {
    // Function and domain. One instruction each, so one rounding; halves of the last three of f32
    // only go through f32.
    let ops: [(UnaryOp, f64, f64, Unary); 17] = [
        (UnaryOp::Neg, -4.0, 4.0, |x| -x),
        (UnaryOp::Abs, -4.0, 4.0, f64::abs),
        (UnaryOp::Exp, -4.0, 4.0, f64::exp),
        (UnaryOp::Exp2, -4.0, 4.0, f64::exp2),
        (UnaryOp::Log, 0.5, 4.0, f64::ln),
        (UnaryOp::Log2, 0.5, 4.0, f64::log2),
        (UnaryOp::Sqrt, 0.5, 4.0, f64::sqrt),
        (UnaryOp::Rsqrt, 0.5, 4.0, |x| 1.0 / x.sqrt()),
        (UnaryOp::Reciprocal, 0.5, 4.0, |x| 1.0 / x),
        (UnaryOp::Tanh, -3.0, 3.0, f64::tanh),
        (UnaryOp::Sigmoid, -4.0, 4.0, |x| 1.0 / (1.0 + (-x).exp())),
        (UnaryOp::Sign, -4.0, 4.0, f64::signum),
        (UnaryOp::Floor, -4.0, 4.0, f64::floor),
        (UnaryOp::Ceil, -4.0, 4.0, f64::ceil),
        (UnaryOp::Round, -4.0, 4.0, f64::round_ties_even),
        (UnaryOp::Sin, -40.0, 40.0, f64::sin),
        (UnaryOp::Cos, -40.0, 40.0, f64::cos),
    ];
    for element in TYPES {
        for (op, low, high, f) in ops {
            for count in COUNTS {
                let mut random = Random(u64::from(count) + 7);
                let x: Vec<f64> = random
                    .values(count, element, 1.0)
                    .iter()
                    .map(|v| round(low + (v + 1.0) / 2.0 * (high - low), element))
                    .collect();
                let nodes = vec![Expr::Input(0), Expr::Unary(op, 0)];
                let found = run(count, element, &x, &[], nodes);
                for i in 0..count as usize {
                    let wanted = f(x[i]);
                    let limit = match op {
                        UnaryOp::Neg
                        | UnaryOp::Abs
                        | UnaryOp::Sign
                        | UnaryOp::Floor
                        | UnaryOp::Ceil
                        | UnaryOp::Round => 0.0,
                        UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Reciprocal => {
                            rounding(element, wanted) + rounding(F32, wanted)
                        }
                        _ => rounding(element, wanted),
                    };
                    close(
                        found[i],
                        wanted,
                        limit,
                        &format!("{element} {} [{i}] of {}", op.name(), x[i]),
                    );
                }
            }
        }
    }
}

fn erf(x: f64) -> f64 {
    // Series for small, continued fraction for large arguments.
    let a = x.abs();
    let value = if a < 3.0 {
        let (mut term, mut sum, mut n) = (a, a, 0.0);
        while term.abs() > 1e-18 {
            n += 1.0;
            term *= -a * a / n;
            sum += term / (2.0 * n + 1.0);
        }
        sum * 2.0 / std::f64::consts::PI.sqrt()
    } else {
        let mut f = a;
        for k in (1..60).rev() {
            f = a + f64::from(k) / 2.0 / f;
        }
        1.0 - (-a * a).exp() / std::f64::consts::PI.sqrt() / f
    };
    value.copysign(x)
}

#[test]
fn gelu_and_erf() {
    for element in TYPES {
        for count in COUNTS {
            let x = Random(u64::from(count)).values(count, element, 6.0);
            for form in [
                Expr::Gelu(true, 0),
                Expr::Gelu(false, 0),
                Expr::Unary(UnaryOp::Erf, 0),
            ] {
                let found = run(count, element, &x, &[], vec![Expr::Input(0), form]);
                for i in 0..count as usize {
                    let v = x[i];
                    let wanted = match form {
                        Expr::Gelu(true, _) => {
                            let t = 0.797_884_560_802_865_4 * (v + 0.044715 * v * v * v);
                            0.5 * v * (1.0 + t.tanh())
                        }
                        Expr::Gelu(..) => 0.5 * v * (1.0 + erf(v / 2f64.sqrt())),
                        _ => erf(v),
                    };
                    // Nine roundings of magnitudes up to |x|, for erf up to its own value.
                    let size = match form {
                        Expr::Unary(..) => wanted.abs(),
                        _ => v.abs(),
                    };
                    let limit = bound(9.0, unit_of(element), size);
                    close(
                        found[i],
                        wanted,
                        limit,
                        &format!("{element} {form:?} [{i}] of {v}"),
                    );
                }
            }
        }
    }
}

#[test]
fn select_clamps() {
    for element in TYPES {
        for count in COUNTS {
            let x = Random(u64::from(count)).values(count, element, 4.0);
            // x > 1 ? 1 : (x < -2 ? x * 0.5 : x)
            let nodes = vec![
                Expr::Input(0),
                constant(1.0, element),
                constant(-2.0, element),
                constant(0.5, element),
                Expr::Compare(CompareOp::Gt, 0, 1),
                Expr::Compare(CompareOp::Lt, 0, 2),
                Expr::Binary(BinaryOp::Mul, 0, 3),
                Expr::Select(5, 6, 0),
                Expr::Select(4, 1, 7),
            ];
            let found = run(count, element, &x, &[], nodes);
            for i in 0..count as usize {
                let v = x[i];
                let wanted = if v > 1.0 {
                    1.0
                } else if v < -2.0 {
                    v * 0.5
                } else {
                    v
                };
                assert_eq!(found[i], wanted, "{element} [{i}] of {v}");
            }
        }
    }
}

#[test]
fn broadcasts_of_rows_columns_and_scalars() {
    for element in TYPES {
        let mut shapes = vec![
            (1, 4),
            (2, 8),
            (3, 12),
            (5, 20),
            (6, 4),
            (7, 16),
            (8, 64),
            (13, 128),
            (20, 36),
            (64, 8),
            (9, 2),
            (40, 6),
        ];
        let mut random = Random(80);
        let mut below = |n: u64| 1 + (random.next() % n) as u32;
        shapes.extend((0..40).map(|_| (below(50), 2 * below(40))));
        for (rows, columns) in shapes {
            let mut random = Random(u64::from(rows * 1000 + columns));
            let x = random.integers(rows * columns, 8);
            let bias = random.integers(columns, 8);
            let scale = random.integers(rows, 4);
            let one = random.integers(1, 4);
            let mut bench = Bench::new();
            let row = Layout::row(2);
            let vx = bench.input("x", element, &[rows, columns], row.clone(), &x);
            let vb = bench.input("b", element, &[columns], Layout::row(1), &bias);
            let vs = bench.input("s", element, &[rows], Layout::row(1), &scale);
            let vo = bench.input("o", element, &[1], Layout::row(1), &one);
            let vy = bench.output(element, &[rows, columns], row);
            let map = Map {
                extents: smallvec![rows, columns],
                inputs: smallvec![
                    access(element, &[1, 0]),
                    access(element, &[columns, 1]),
                    access(element, &[0, 1]),
                    access(element, &[0, 0]),
                ],
                output: access(element, &[columns, 1]),
                nodes: vec![
                    Expr::Input(0),
                    Expr::Input(1),
                    Expr::Input(2),
                    Expr::Input(3),
                    Expr::Binary(BinaryOp::Mul, 1, 0),
                    Expr::Binary(BinaryOp::Add, 4, 2),
                    Expr::Binary(BinaryOp::Sub, 5, 3),
                ],
            };
            bench.call(Kernel::Map(map), &[vs, vx, vb, vo, vy]);
            let found = bench.run().values;
            for i in 0..(rows * columns) as usize {
                let (r, c) = (i / columns as usize, i % columns as usize);
                let wanted = x[i] * scale[r] + bias[c] - one[0];
                assert_eq!(found[i], wanted, "{element} {rows}x{columns} ({r}, {c})");
            }
        }
    }
}

#[test]
fn conversions() {
    use ScalarType::{F8E4M3, F8E5M2, F16, F32, I32};
    for (from, to) in [
        (F16, F32),
        (F32, F16),
        (I32, F32),
        (F16, F8E4M3),
        (F16, F8E5M2),
        (F8E4M3, F16),
        (F8E5M2, F16),
    ] {
        for count in COUNTS {
            let x = if from == ScalarType::I32 {
                Random(3).integers(count, 1000)
            } else {
                Random(3).values(count, from, 3.0)
            };
            let mut bench = Bench::new();
            let vx = bench.input("x", from, &[count], Layout::row(1), &x);
            let vy = bench.output(to, &[count], Layout::row(1));
            let map = Map {
                extents: smallvec![count],
                inputs: smallvec![access(from, &[1])],
                output: access(to, &[1]),
                nodes: vec![Expr::Input(0), Expr::Convert(to, 0)],
            };
            bench.call(Kernel::Map(map), &[vx, vy]);
            let found = bench.run().values;
            for i in 0..count as usize {
                assert_eq!(found[i], round(x[i], to), "{from} to {to} [{i}]");
            }
        }
    }
}

#[test]
fn the_same_buffer_twice() {
    // Both inputs in one buffer: no two-load form.
    let element = ScalarType::F32;
    let x = Random(9).values(100, element, 3.0);
    let mut bench = Bench::new();
    let vx = bench.input("x", element, &[100], Layout::row(1), &x);
    let vy = bench.output(element, &[100], Layout::row(1));
    let map = Map {
        extents: smallvec![100],
        inputs: smallvec![access(element, &[1]), access(element, &[1])],
        output: access(element, &[1]),
        nodes: vec![
            Expr::Input(0),
            Expr::Input(1),
            Expr::Binary(BinaryOp::Add, 0, 1),
        ],
    };
    bench.call(Kernel::Map(map), &[vx, vx, vy]);
    let found = bench.run().values;
    for i in 0..100 {
        assert_eq!(found[i], 2.0 * x[i], "[{i}]");
    }
}

#[test]
fn prediction_follows_the_assumptions() {
    let element = ScalarType::F16;
    let mut seen = Vec::new();
    for (name, value) in [
        ("transc_slots", "measured"),
        ("transc_slots", "worst"),
        ("sup_launch", "12"),
        ("sup_join", "14"),
        ("sup_use_early", "11"),
        ("sup_put", "8"),
        ("sup_slot_return", "7"),
    ] {
        let mut assumptions = Assumptions::default();
        assumptions.set(name, value).expect("an assumption");
        let x = Random(4).values(100, element, 2.0);
        let mut bench = Bench::new();
        let vx = bench.input("x", element, &[100], Layout::row(1), &x);
        let vy = bench.output(element, &[100], Layout::row(1));
        let map = Map {
            extents: smallvec![100],
            inputs: smallvec![access(element, &[1])],
            output: access(element, &[1]),
            nodes: vec![Expr::Input(0), Expr::Unary(UnaryOp::Exp, 0)],
        };
        bench.call(Kernel::Map(map), &[vx, vy]);
        seen.push(bench.run_with(assumptions).cycles);
    }
    assert!(seen[1] > seen[0], "slower exponentials: {seen:?}");
    assert!(seen[2] > seen[0], "slower launches: {seen:?}");
}

#[test]
fn bias_over_panels() {
    // Panels of 16 columns, [n / 16][m][16], and a bias per column: three axes that do not join.
    for element in TYPES {
        for (panels, rows) in [(2, 2), (9, 3), (40, 2), (3, 30), (6, 6), (1, 5), (17, 1)] {
            let count = panels * rows * 16;
            let mut random = Random(u64::from(count));
            let x = random.integers(count, 8);
            let bias = random.integers(panels * 16, 8);
            let mut bench = Bench::new();
            let vx = bench.input("x", element, &[count], Layout::row(1), &x);
            let vb = bench.input("b", element, &[panels * 16], Layout::row(1), &bias);
            let vy = bench.output(element, &[count], Layout::row(1));
            let full = access(element, &[rows * 16, 16, 1]);
            let map = Map {
                extents: smallvec![panels, rows, 16],
                inputs: smallvec![full.clone(), access(element, &[16, 0, 1])],
                output: full,
                nodes: vec![
                    Expr::Input(0),
                    Expr::Input(1),
                    Expr::Binary(BinaryOp::Add, 0, 1),
                    Expr::Constant(0, element),
                    Expr::Binary(BinaryOp::Max, 2, 3),
                ],
            };
            bench.call(Kernel::Map(map), &[vx, vb, vy]);
            let found = bench.run().values;
            for at in 0..count as usize {
                let (panel, column) = (at / (rows as usize * 16), at % 16);
                let wanted = (x[at] + bias[panel * 16 + column]).max(0.0);
                assert_eq!(
                    found[at], wanted,
                    "{element} {panels} panels of {rows} rows [{at}]"
                );
            }
        }
    }
}

#[test]
fn rows_of_any_length() {
    // Rows that end within a vector, a bias per column, a scale per row; what is behind a row of the
    // result stays zero.
    for element in TYPES {
        let mut random = Random(95);
        let mut below = |n: u64| 1 + (random.next() % n) as u32;
        for _ in 0..60 {
            let (rows, columns) = (below(20), below(40));
            let pitch = columns.next_multiple_of(8 / element.bytes());
            let mut data = Random(u64::from(rows * 64 + columns));
            let x = data.integers(rows * columns, 8);
            let bias = data.integers(columns, 8);
            let scale = data.integers(rows, 4);
            let mut bench = Bench::new();
            let vx = bench.input("x", element, &[rows, columns], support::padded(pitch), &x);
            let vb = bench.input("b", element, &[columns], Layout::row(1), &bias);
            let vs = bench.input("s", element, &[rows], Layout::row(1), &scale);
            // Seen as whole lines, so that padding shows.
            let vy = bench.output(element, &[rows, pitch], support::padded(1));
            let map = Map {
                extents: smallvec![rows, columns],
                inputs: smallvec![
                    access(element, &[pitch, 1]),
                    access(element, &[0, 1]),
                    access(element, &[1, 0]),
                ],
                output: access(element, &[pitch, 1]),
                nodes: vec![
                    Expr::Input(0),
                    Expr::Input(1),
                    Expr::Input(2),
                    Expr::Binary(BinaryOp::Mul, 0, 2),
                    Expr::Binary(BinaryOp::Add, 3, 1),
                ],
            };
            bench.call(Kernel::Map(map), &[vx, vb, vs, vy]);
            let found = bench.run().values;
            for at in 0..rows * pitch {
                let (row, column) = (at / pitch, at % pitch);
                let wanted = if column < columns {
                    x[(row * columns + column) as usize] * scale[row as usize]
                        + bias[column as usize]
                } else {
                    0.0
                };
                assert_eq!(
                    found[at as usize], wanted,
                    "{element} {rows}x{columns} ({row}, {column})"
                );
            }
        }
    }
}

#[test]
fn constant_powers() {
    for element in TYPES {
        for exponent in [
            2.0, 3.0, 4.0, 7.0, -1.0, -2.0, 0.5, 1.5, -0.5, 0.0, 1.0, 2.25,
        ] {
            if element == F32 && exponent == 2.25 {
                continue;
            }
            for count in COUNTS {
                let x: Vec<f64> = Random(u64::from(count))
                    .values(count, element, 1.0)
                    .iter()
                    .map(|v| round(v + 1.5, element))
                    .collect();
                let nodes = vec![
                    Expr::Input(0),
                    constant(exponent, element),
                    Expr::Binary(BinaryOp::Pow, 0, 1),
                ];
                let found = run(count, element, &x, &[], nodes);
                for i in 0..count as usize {
                    let wanted = x[i].powf(exponent);
                    // Products, a root and a reciprocal in f32: at most eight roundings.
                    let limit = rounding(element, wanted) + bound(8.0, unit_of(F32), wanted.abs());
                    close(
                        found[i],
                        wanted,
                        limit,
                        &format!("{element} {} to the power {exponent}", x[i]),
                    );
                }
            }
        }
    }
}
