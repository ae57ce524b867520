//! Kernels on integers and indices on the simulator: products of integers, rows scattered into a
//! table; exact, cycles predicted = simulated.

mod support;

use ipucc_chip::ScalarType::{self, F32, I8, I32, U8};
use ipucc_tile::Layout;
use ipucc_tile::kernel::{IntegerDot, Kernel, Scatter, Words};
use support::{Bench, Random, padded};

#[test]
fn products_of_integers() {
    for input in [I32, I8, U8] {
        let mut random = Random(81);
        let mut below = |n: u64| 1 + (random.next() % n) as u32;
        for case in 0..55u32 {
            let (m, n, k) = (below(14), below(14), below(60));
            let zeros = match input {
                ScalarType::I8 if case % 2 == 0 => (below(20) as i32 - 10, below(20) as i32 - 10),
                ScalarType::U8 => (128, below(255) as i32),
                _ => (0, 0),
            };
            let mut data = Random(u64::from(case));
            let mut values = |count: u32| -> Vec<f64> {
                (0..count)
                    .map(|_| {
                        let bits = data.next();
                        match input {
                            ScalarType::I8 => f64::from(bits as i8),
                            ScalarType::U8 => f64::from(bits as u8),
                            // Products that wrap.
                            _ => f64::from(bits as i32 >> (bits % 20)),
                        }
                    })
                    .collect()
            };
            let (a, b) = (values(m * k), values(n * k));
            let pitch = k.next_multiple_of(4);
            let mut bench = Bench::new();
            let va = bench.input("a", input, &[m, k], padded(pitch), &a);
            let vb = bench.input("b", input, &[n, k], padded(pitch), &b);
            let vy = bench.output(I32, &[m, n], padded(1));
            let dot = IntegerDot {
                m,
                n,
                k,
                pitches: (pitch, pitch, n),
                zeros,
                input,
            };
            bench.call(Kernel::IntegerDot(dot), &[va, vb, vy]);
            let found = bench.run().values;
            for at in 0..m * n {
                let (i, j) = (at / n, at % n);
                let wanted = (0..k).fold(0i32, |sum, l| {
                    let x = (a[(i * k + l) as usize] as i32).wrapping_sub(zeros.0);
                    let y = (b[(j * k + l) as usize] as i32).wrapping_sub(zeros.1);
                    sum.wrapping_add(x.wrapping_mul(y))
                });
                assert_eq!(found[at as usize], f64::from(wanted), "{dot:?} ({i}, {j})");
            }
        }
    }
}

#[test]
fn scattered_rows() {
    let mut random = Random(82);
    let mut below = |n: u64| 1 + (random.next() % n) as u32;
    for case in 0..55 {
        let (count, first, rows, columns) = (below(20), below(1 << 17) - 1, below(12), below(30));
        let mut data = Random(case);
        let x = data.values(count * columns, F32, 1.0);
        let indices: Vec<f64> = (0..count)
            .map(|_| {
                let near = data.next() % u64::from(rows + 6);
                f64::from((first + near as u32).saturating_sub(3))
            })
            .collect();
        let mut bench = Bench::new();
        let vx = bench.input("x", F32, &[count, columns], padded(1), &x);
        let vi = bench.input("i", I32, &[count], Layout::row(1), &indices);
        let vy = bench.output(F32, &[rows, columns], padded(1));
        let scatter = Scatter {
            count,
            first,
            rows,
            row_bytes: 4 * columns,
        };
        bench.call(Kernel::Scatter(scatter), &[vx, vi, vy]);
        let found = bench.run().values;
        let mut wanted = vec![0.0; (rows * columns) as usize];
        for (i, &index) in indices.iter().enumerate() {
            let row = index as u32;
            if !(first..first + rows).contains(&row) {
                continue;
            }
            for c in 0..columns as usize {
                let at = (row - first) as usize * columns as usize + c;
                wanted[at] = x[i * columns as usize + c];
            }
        }
        assert_eq!(found, wanted, "{scatter:?}");
    }
}

#[test]
fn halves_and_words() {
    for case in 0..60u32 {
        let count = 1 + case * case / 3;
        let mut random = Random(u64::from(case));
        let halves: Vec<f64> = (0..count)
            .map(|_| f64::from(random.next() as i16))
            .collect();
        let words: Vec<f64> = (0..count)
            .map(|_| f64::from(random.next() as i32))
            .collect();
        for narrow in [false, true] {
            let (values, from, to) = match narrow {
                true => (&words, I32, ScalarType::I16),
                false => (&halves, ScalarType::I16, I32),
            };
            let mut bench = Bench::new();
            let x = bench.input("x", from, &[count], Layout::row(1), values);
            let y = bench.output(to, &[count], Layout::row(1));
            bench.call(Kernel::Words(Words { count, narrow }), &[x, y]);
            let wanted: Vec<f64> = values
                .iter()
                .map(|&value| match narrow {
                    true => f64::from(value as i64 as i16),
                    false => f64::from(value as i16 as u16),
                })
                .collect();
            assert_eq!(bench.run().values, wanted, "{count} {narrow}");
        }
    }
}
