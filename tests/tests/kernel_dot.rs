//! Matrix products on the simulator. The data are small integers, so that every partial sum is
//! exact in the partials' type and the results must be equal, not close; a lost or doubled product
//! shows.

mod support;

use ipucc_chip::ScalarType;
use ipucc_tile::kernel::{Dot, Kernel};
use support::{Bench, Random, lhs, rhs};

const SHAPES: [(u32, u32, u32); 52] = [
    (1, 16, 8),
    (2, 16, 8),
    (3, 16, 16),
    (5, 16, 32),
    (6, 16, 8),
    (7, 16, 16),
    (11, 16, 8),
    (12, 16, 8),
    (13, 32, 16),
    (17, 32, 24),
    (18, 16, 64),
    (19, 16, 8),
    (24, 48, 40),
    (30, 16, 16),
    (41, 16, 32),
    (1, 1, 1),
    (1, 10, 32),
    (4, 1, 1),
    (1, 3, 100),
    (9, 5, 7),
    (2, 7, 3),
    (64, 32, 64),
    (20, 48, 100),
    (7, 128, 64),
    (3, 8, 16),
    (3, 9, 16),
    (8, 24, 33),
    (6, 40, 17),
    (10, 17, 31),
    (14, 33, 65),
    (15, 15, 15),
    (16, 16, 16),
    (21, 64, 8),
    (22, 1, 64),
    (23, 2, 63),
    (25, 100, 10),
    (26, 31, 12),
    (27, 16, 96),
    (28, 8, 8),
    (29, 4, 50),
    (31, 80, 5),
    (32, 72, 48),
    (33, 20, 20),
    (36, 36, 36),
    (37, 16, 1),
    (48, 48, 48),
    (50, 10, 90),
    (60, 24, 24),
    (90, 16, 32),
    (100, 30, 16),
    (121, 17, 9),
    (240, 16, 64),
];

/// Cycles of the program.
fn check(m: u32, n: u32, k: u32, input: ScalarType, partials: ScalarType, most: u64) -> u64 {
    scaled(m, n, k, (input, 0), partials, most)
}

/// As [`check`]; products are scaled by two to the power beside the type.
fn scaled(
    m: u32,
    n: u32,
    k: u32,
    (input, scale): (ScalarType, i8),
    partials: ScalarType,
    most: u64,
) -> u64 {
    let mut random = Random(u64::from(m) << 40 | u64::from(n) << 20 | u64::from(k));
    let a = random.integers(m * k, most);
    let b = random.integers(k * n, most);
    let dot = Dot {
        m,
        n,
        k,
        input,
        partials,
        accumulate: false,
        scale,
    };
    let bench = Bench::product(dot, &a, &b);
    let outcome = bench.run();
    for i in 0..m {
        for j in 0..n {
            let sum: f64 = (0..k)
                .map(|l| a[(i * k + l) as usize] * b[(l * n + j) as usize])
                .sum();
            let found = outcome.values[(i * n + j) as usize];
            let wanted = sum * 2f64.powi(scale.into());
            assert_eq!(found, wanted, "{dot:?}: ({i}, {j})");
        }
    }
    outcome.cycles
}

#[test]
fn dot_f32() {
    for (m, n, k) in SHAPES {
        check(m, n, k, ScalarType::F32, ScalarType::F32, 8);
    }
}

#[test]
fn dot_f16() {
    for (m, n, k) in SHAPES {
        check(m, n, k, ScalarType::F16, ScalarType::F16, 4);
    }
}

#[test]
fn dot_f16_with_f32_partials() {
    for (m, n, k) in SHAPES {
        check(m, n, k, ScalarType::F16, ScalarType::F32, 50);
    }
}

/// Exact sums of few bits stay exact at any scale that keeps them in range.
#[test]
fn dot_f8_with_a_scale() {
    for (at, (m, n, k)) in SHAPES.into_iter().enumerate() {
        let scale = [-9, -3, 1, 4][at % 4];
        for input in [ScalarType::F8E4M3, ScalarType::F8E5M2] {
            scaled(m, n, k, (input, scale), ScalarType::F16, 4);
        }
    }
}

#[test]
fn dot_f8() {
    for (m, n, k) in SHAPES {
        check(m, n, k, ScalarType::F8E4M3, ScalarType::F16, 4);
        check(m, n, k, ScalarType::F8E5M2, ScalarType::F16, 4);
    }
}

#[test]
fn panels_cost_less_than_published() {
    // `294 + panels * (4 R + 160)` of the best public f16 kernel (`facts/kernel_findings.md` 4.1).
    for (rows, k) in [(48, 64), (96, 64), (240, 64)] {
        let cycles = check(rows, 16, k, ScalarType::F16, ScalarType::F16, 4);
        let panels = u64::from(k / 16);
        let published = 294 + panels * (4 * u64::from(rows) + 160);
        assert!(
            cycles <= published,
            "{rows} rows: {cycles}, published {published}"
        );
    }
}

#[test]
fn accumulating_calls() {
    // C = A B, then C += D E, on the same buffer.
    use ScalarType::{F16, F32};
    for (input, partials) in [(F32, F32), (F16, F16), (F16, F32)] {
        for (m, n, k) in [
            (1, 16, 8),
            (2, 5, 16),
            (6, 32, 40),
            (13, 24, 17),
            (20, 48, 64),
            (61, 16, 32),
        ] {
            let mut random = Random(u64::from(m * 1000 + n * 10 + k));
            let panel = Dot::input_panel(input);
            let mut bench = Bench::new();
            let mut values = Vec::new();
            let mut data = Vec::new();
            for round in 0..2 {
                let a = random.integers(m * k, 4);
                let b = random.integers(k * n, 4);
                values.push((
                    bench.input(&format!("x{round}"), input, &[m, k], lhs(panel), &a),
                    bench.weight(&format!("w{round}"), input, &[k, n], rhs(panel), &b),
                ));
                data.push((a, b));
            }
            let y = bench.output(partials, &[m, n], lhs(Dot::result_panel(input, partials)));
            for (round, &(x, w)) in values.iter().enumerate() {
                let dot = Dot {
                    m,
                    n,
                    k,
                    input,
                    partials,
                    accumulate: round > 0,
                    scale: 0,
                };
                bench.call(Kernel::Dot(dot), &[x, w, y]);
            }
            let found = bench.run().values;
            for i in 0..m {
                for j in 0..n {
                    let sum: f64 = data
                        .iter()
                        .flat_map(|(a, b)| {
                            (0..k).map(move |l| a[(i * k + l) as usize] * b[(l * n + j) as usize])
                        })
                        .sum();
                    assert_eq!(
                        found[(i * n + j) as usize],
                        sum,
                        "{input} {m}x{k}x{n} ({i}, {j})"
                    );
                }
            }
        }
    }
}
