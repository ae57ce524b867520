//! Attention on the simulator: blocks of keys with a running maximum, masked behind a diagonal or
//! not, against plain loops in f64 within the bound of `docs/contracts.md` 6.

mod support;

use ipucc_chip::ScalarType;
use ipucc_tile::kernel::{Attention, Dot, Kernel};
use ipucc_tile::{Layout, LayoutKind};
use smallvec::smallvec;
use support::{Bench, Outcome, Random, close, lhs, unit_of};

/// Right operand in the order of the tensor: (rows, contraction).
fn along(panel: u32) -> Layout {
    Layout {
        kind: LayoutKind::AmpRhs { panel },
        order: smallvec![0, 1],
    }
}

fn run(of: Attention, q: &[f64], k: &[f64], v: &[f64]) -> Outcome {
    let element = of.element;
    let panel = Dot::input_panel(element);
    let mut bench = Bench::new();
    let vq = bench.input("q", element, &[of.queries, of.head], lhs(panel), q);
    let vk = bench.input("k", element, &[of.keys, of.head], along(panel), k);
    // v is (keys, values) in the tensor and runs along the keys in memory.
    let vv = bench.input("v", element, &[of.keys, of.values], support::rhs(panel), v);
    let scratch = bench.scratch(ScalarType::I32, of.scratch_bytes() / 4);
    let y = bench.output(element, &[of.queries, of.values], lhs(16));
    bench.call(Kernel::Attention(of), &[vq, vk, vv, scratch, y]);
    bench.run()
}

/// The result and its bound: every rounding of scores, differences, exponentials and partial
/// results, carried to the result by its derivative.
fn reference(of: Attention, q: &[f64], k: &[f64], v: &[f64]) -> Vec<(f64, f64)> {
    let scale = f64::from(f32::from_bits(of.scale));
    let u = unit_of(of.element);
    let panel = Dot::input_panel(of.element);
    let (head, values) = (of.head as usize, of.values as usize);
    let panels = |n: u32| f64::from(n.div_ceil(panel));
    let blocks = f64::from(of.keys.div_ceil(of.block));
    let mut out = vec![];
    for i in 0..of.queries as usize {
        let seen = of.causal.map_or(of.keys as usize, |d| {
            (i as i64 + i64::from(d) + 1).clamp(0, i64::from(of.keys)) as usize
        });
        // Scores and the root of the sum of squares of their terms.
        let scores: Vec<(f64, f64)> = (0..seen)
            .map(|j| {
                let terms = (0..head).map(|l| q[i * head + l] * k[j * head + l]);
                let r = terms.clone().map(|t| t * t).sum::<f64>().sqrt();
                (terms.sum::<f64>(), r)
            })
            .collect();
        let most = scores.iter().map(|s| s.0).fold(f64::MIN, f64::max);
        let p: Vec<f64> = scores
            .iter()
            .map(|s| (scale * (s.0 - most)).exp())
            .collect();
        let sum: f64 = p.iter().sum();
        for c in 0..values {
            let value = |j: usize| v[j * values + c];
            let wanted = (0..seen).map(|j| p[j] * value(j)).sum::<f64>() / sum;
            let terms: f64 = (0..seen).map(|j| (p[j] * value(j) / sum).powi(2)).sum();
            let mut squares = (panels(of.keys) + 3.0 * blocks + 2.0) * terms.max(wanted * wanted);
            let mut tiny = 0.0;
            for j in 0..seen {
                let (s, r) = scores[j];
                let d = scale * (s - most);
                let slope = p[j] * (value(j) - wanted) / sum;
                let score = panels(of.head) * (scale * r.max(s.abs())).powi(2);
                squares += slope * slope * (score + 2.0 * d * d + 2.0);
                tiny += (value(j).abs() / sum).powi(2);
            }
            // Exponentials of halves below 2^-14 are rounded absolutely, by half of 2^-24.
            let tiny = if of.element == ScalarType::F16 {
                6.0 * 2f64.powi(-25) * (tiny + f64::from(of.keys) * wanted * wanted).sqrt()
            } else {
                0.0
            };
            out.push((wanted, 6.0 * u * squares.sqrt() + tiny));
        }
    }
    out
}

fn data(of: Attention, seed: u64) -> [Vec<f64>; 3] {
    let mut random = Random(seed);
    let mut values = |rows: u32, columns: u32| random.values(rows * columns, of.element, 1.5);
    [
        values(of.queries, of.head),
        values(of.keys, of.head),
        values(of.keys, of.values),
    ]
}

/// (queries, keys, head, values, block, diagonal).
fn shapes() -> Vec<(u32, u32, u32, u32, u32, Option<i32>)> {
    let mut shapes = vec![
        (1, 1, 1, 1, 16, None),
        (6, 16, 16, 16, 16, None),
        (7, 17, 8, 3, 16, None),
        (5, 40, 24, 20, 32, None),
        (13, 128, 64, 64, 64, None),
        (12, 100, 32, 32, 256, None),
        (16, 16, 16, 16, 16, Some(0)),
        (20, 20, 16, 8, 16, Some(0)),
        (9, 50, 12, 16, 32, Some(41)),
        (40, 64, 16, 16, 32, Some(3)),
        (24, 197, 64, 64, 64, None),
    ];
    let mut random = Random(61);
    let mut below = |n: u64| 1 + (random.next() % n) as u32;
    shapes.extend((0..42).map(|n| {
        let (queries, keys) = (below(25), below(90));
        let diagonal = (n % 3 == 0).then(|| below(u64::from(keys)) as i32 - 1);
        (queries, keys, below(40), below(40), 16 * below(4), diagonal)
    }));
    shapes
}

fn kernel(
    (queries, keys, head, values, block, causal): (u32, u32, u32, u32, u32, Option<i32>),
    element: ScalarType,
) -> Attention {
    Attention {
        queries,
        keys,
        head,
        values,
        block,
        scale: (1.0 / (head as f32).sqrt()).to_bits(),
        causal,
        element,
    }
}

#[test]
fn attention() {
    for element in [ScalarType::F32, ScalarType::F16] {
        for shape in shapes() {
            let of = kernel(shape, element);
            let [q, k, v] = data(of, u64::from(of.keys * 100 + of.queries));
            let found = run(of, &q, &k, &v).values;
            for (at, (wanted, limit)) in reference(of, &q, &k, &v).into_iter().enumerate() {
                close(found[at], wanted, limit, &format!("{of:?} [{at}]"));
            }
        }
    }
}

#[test]
fn broken_references_are_caught() {
    let of = kernel((7, 40, 16, 16, 16, None), ScalarType::F16);
    let mut caught = [0; 3];
    for seed in 0..100 {
        let [q, k, v] = data(of, seed);
        let found = run(of, &q, &k, &v).values;
        let accepted = |q: &[f64], k: &[f64], v: &[f64]| {
            let wanted = reference(of, q, k, v);
            (found.iter().zip(wanted)).all(|(f, (w, limit))| (f - w).abs() <= limit)
        };
        assert!(accepted(&q, &k, &v), "seed {seed}");
        let mut dropped = v.clone();
        dropped[seed as usize % v.len()] += 1.0;
        caught[0] += u32::from(!accepted(&q, &k, &dropped));
        // Two keys without their values.
        let mut swapped = k.clone();
        for l in 0..16 {
            swapped.swap(3 * 16 + l, 30 * 16 + l);
        }
        caught[1] += u32::from(!accepted(&q, &swapped, &v));
        // The last block of keys lost.
        let lost = Attention { keys: 32, ..of };
        let wanted = reference(lost, &q, &k[..32 * 16], &v[..32 * 16]);
        let close = (found.iter().zip(wanted)).all(|(f, (w, limit))| (f - w).abs() <= limit);
        caught[2] += u32::from(!close);
    }
    for (what, count) in ["value changed", "keys exchanged", "block lost"]
        .iter()
        .zip(caught)
    {
        println!("{what}: {count} of 100 caught");
        assert!(count >= 99, "{what}: {count} of 100 caught");
    }
}
