//! Copies on the simulator: transposes, packs and unpacks between rows and panels, strided copies
//! and halves at odd offsets; every byte compared, cycles predicted = simulated.

mod support;

use ipucc_chip::ScalarType;
use ipucc_tile::Layout;
use ipucc_tile::kernel::{Copy, CopyDim, Kernel};
use smallvec::SmallVec;
use support::{Bench, Random};

/// Runs a copy of `pieces` of `size` elements over dimensions of (count, source stride, destination
/// stride) in elements, from a buffer of numbers onto a buffer of zeros.
fn check(element: ScalarType, size: u32, dims: &[(u32, u32, u32)]) -> u64 {
    let extent = |which: fn(&(u32, u32, u32)) -> u32| {
        size + dims.iter().map(|d| (d.0 - 1) * which(d)).sum::<u32>()
    };
    let (source, destination) = (extent(|d| d.1), extent(|d| d.2));
    // Small integers, none of them zero: exact in both types, different from what was there.
    let x: Vec<f64> = (0..source).map(|i| f64::from(i % 1999 + 1)).collect();
    let mut bench = Bench::new();
    let vx = bench.input("x", element, &[source], Layout::row(1), &x);
    let vy = bench.output(element, &[destination], Layout::row(1));
    let bytes = element.bytes();
    let dims: SmallVec<[CopyDim; 4]> = dims
        .iter()
        .map(|&(count, from, to)| CopyDim {
            count,
            source_bytes: (from * bytes) as i32,
            destination_bytes: (to * bytes) as i32,
        })
        .collect();
    let copy = Copy {
        source_offset: 0,
        destination_offset: 0,
        bytes: size * bytes,
        dims,
    };
    let mut wanted = vec![0.0; destination as usize];
    let points: u32 = copy.dims.iter().map(|d| d.count).product();
    for point in 0..points {
        let (mut from, mut to, mut rest) = (0, 0, point);
        for dim in copy.dims.iter().rev() {
            from += rest % dim.count * dim.source_bytes as u32 / bytes;
            to += rest % dim.count * dim.destination_bytes as u32 / bytes;
            rest /= dim.count;
        }
        for i in 0..size {
            wanted[(to + i) as usize] = x[(from + i) as usize];
        }
    }
    let what = format!("{element} {copy:?}");
    bench.call(Kernel::Copy(copy), &[vx, vy]);
    let outcome = bench.run();
    for (at, (found, wanted)) in outcome.values.iter().zip(&wanted).enumerate() {
        assert_eq!(found, wanted, "{what} [{at}]");
    }
    outcome.cycles
}

const TYPES: [ScalarType; 2] = [ScalarType::F16, ScalarType::F32];

#[test]
fn transposes() {
    for element in TYPES {
        let mut shapes = vec![
            (1, 1),
            (4, 4),
            (8, 4),
            (4, 8),
            (2, 2),
            (5, 3),
            (64, 64),
            (48, 197),
        ];
        let mut random = Random(5);
        let mut below = |n: u64| 1 + (random.next() % n) as u32;
        shapes.extend((0..25).map(|_| (below(70), below(70))));
        shapes.extend((0..25).map(|_| (4 * below(24), 4 * below(24))));
        for (rows, columns) in shapes {
            check(element, 1, &[(rows, columns, 1), (columns, 1, rows)]);
            // Rows at whole double words.
            let (from, to) = (columns.next_multiple_of(4), rows.next_multiple_of(4));
            check(element, 1, &[(rows, from, 1), (columns, 1, to)]);
        }
    }
}

#[test]
fn packs_and_unpacks() {
    for element in TYPES {
        let panel = 32 / element.bytes();
        let mut random = Random(6);
        let mut below = |n: u64| 1 + (random.next() % n) as u32;
        for _ in 0..50 {
            let (m, k) = (below(40), panel * below(6));
            let panels = k / panel;
            // Rows to panels of the left operand and back.
            check(element, panel, &[(m, k, panel), (panels, panel, m * panel)]);
            check(element, panel, &[(m, panel, k), (panels, m * panel, panel)]);
            // Rows along n to panels of the right operand, which run along k.
            let n = 16 * (1 + m % 3);
            let block = 16 * panel;
            check(
                element,
                1,
                &[
                    (panels, panel * n, block),
                    (panel, n, 1),
                    (n / 16, 16, panels * block),
                    (16, 1, panel),
                ],
            );
        }
    }
}

#[test]
fn halves_at_odd_offsets() {
    let element = ScalarType::F16;
    let mut random = Random(7);
    let mut below = |n: u64| 1 + (random.next() % n) as u32;
    for _ in 0..60 {
        let (rows, columns) = (below(20), below(20));
        let (from, to) = (columns + below(4) - 1, columns + below(4) - 1);
        check(element, columns, &[(rows, from, to)]);
        let (a, b) = (below(5), below(5));
        check(element, b, &[(rows, a * b, b), (a, b, rows * b)]);
    }
}

#[test]
fn strided_copies() {
    for element in TYPES {
        let mut random = Random(8);
        let mut below = |n: u64| 1 + (random.next() % n) as u32;
        for _ in 0..60 {
            let (a, b, c, size) = (below(5), below(9), below(12), below(40));
            let (gap, shift) = (below(9) - 1, below(9) - 1);
            let (inner, outer) = (size + gap, size + shift);
            check(
                element,
                size,
                &[
                    (a, b * c * inner, c * outer),
                    (b, c * inner, a * c * outer),
                    (c, inner, outer),
                ],
            );
        }
    }
}

#[test]
fn long_and_deep_copies() {
    // More passes than a loop's immediate holds, more dimensions than loops.
    for element in TYPES {
        check(element, 60_000, &[]);
        check(element, 2, &[(30_000, 2, 2)]);
        check(element, 4, &[(6000, 8, 4)]);
        check(
            element,
            1,
            &[
                (2, 1000, 16),
                (2, 400, 8),
                (2, 170, 4),
                (2, 70, 2),
                (2, 30, 1),
                (3, 10, 40),
            ],
        );
    }
}
