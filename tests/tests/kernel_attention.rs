//! Attention on the simulator: blocks of keys with a running maximum, masked behind a diagonal, by a
//! mask or not, against plain loops in f64 within the bound of `docs/contracts.md` 6.

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

fn run(of: Attention, [q, k, v, mask]: &[Vec<f64>; 4]) -> Outcome {
    let element = of.element;
    let panel = Dot::input_panel(element);
    let mut bench = Bench::new();
    let vq = bench.input("q", element, &[of.queries, of.head], lhs(panel), q);
    let vk = bench.input("k", element, &[of.keys, of.head], along(panel), k);
    // v is (keys, values) in the tensor and runs along the keys in memory.
    let vv = bench.input("v", element, &[of.keys, of.values], support::rhs(panel), v);
    let mut operands = vec![vq, vk, vv];
    if let Some(pitch) = of.mask {
        let shape = match pitch {
            0 => [1, of.keys],
            _ => [of.queries, pitch],
        };
        operands.push(bench.input(
            "mask",
            element,
            &shape,
            support::padded(8 / element.bytes()),
            mask,
        ));
    }
    operands.push(bench.scratch(ScalarType::I32, of.scratch_bytes() / 4));
    operands.push(bench.output(element, &[of.queries, of.values], lhs(16)));
    bench.call(Kernel::Attention(of), &operands);
    bench.run()
}

/// The result and its bound: every rounding of scores, differences, exponentials and partial
/// results, carried to the result by its derivative.
fn reference(of: Attention, [q, k, v, mask]: &[Vec<f64>; 4]) -> Vec<(f64, f64)> {
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
        // Scaled scores, and the sum of squares of what is rounded on the way to them.
        let scores: Vec<(f64, f64)> = (0..seen)
            .map(|j| {
                let terms = (0..head).map(|l| q[i * head + l] * k[j * head + l]);
                let r = terms.clone().map(|t| t * t).sum::<f64>().sqrt();
                let s = terms.sum::<f64>();
                let score = panels(of.head) * (scale * r.max(s.abs())).powi(2);
                match of.mask {
                    None => (scale * s, score),
                    Some(pitch) => {
                        let s = scale * s;
                        let sum = s + mask[i * pitch as usize + j];
                        (sum, score + s * s + sum * sum)
                    }
                }
            })
            .collect();
        let most = scores.iter().map(|s| s.0).fold(f64::MIN, f64::max);
        let p: Vec<f64> = scores.iter().map(|s| (s.0 - most).exp()).collect();
        let sum: f64 = p.iter().sum();
        if sum == 0.0 {
            // Nothing is seen.
            out.extend(vec![(0.0, 0.0); values]);
            continue;
        }
        for c in 0..values {
            let value = |j: usize| v[j * values + c];
            let wanted = (0..seen).map(|j| p[j] * value(j)).sum::<f64>() / sum;
            let terms: f64 = (0..seen).map(|j| (p[j] * value(j) / sum).powi(2)).sum();
            let mut squares = (panels(of.keys) + 3.0 * blocks + 2.0) * terms.max(wanted * wanted);
            let mut tiny = 0.0;
            for j in 0..seen {
                if p[j] == 0.0 {
                    continue;
                }
                let (s, score) = scores[j];
                let d = s - most;
                let slope = p[j] * (value(j) - wanted) / sum;
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

fn data(of: Attention, seed: u64) -> [Vec<f64>; 4] {
    let mut random = Random(seed);
    let mut values = |rows: u32, columns: u32| random.values(rows * columns, of.element, 1.5);
    let (q, k) = (values(of.queries, of.head), values(of.keys, of.head));
    let v = values(of.keys, of.values);
    let mask = match of.mask {
        None => vec![],
        Some(0) => values(1, of.keys),
        Some(pitch) => values(of.queries, pitch),
    };
    // Every third number hides its key, but for one key that all queries see; what is behind a row
    // of the mask is nobody's.
    let lowest = if of.element == ScalarType::F16 {
        -65504.0
    } else {
        -3.0e38
    };
    let pitch = of.mask.unwrap_or(0).max(of.keys) as usize;
    let shown = seed as usize % of.keys as usize;
    let hide = |(at, x): (usize, f64)| match (at % pitch, random.next() % 6) {
        (column, _) if column >= of.keys as usize => f64::INFINITY,
        (column, 0) if column != shown => f64::NEG_INFINITY,
        (column, 1) if column != shown => lowest,
        _ => x,
    };
    let mask = mask.into_iter().enumerate().map(hide).collect();
    [q, k, v, mask]
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
        mask: None,
        element,
    }
}

/// One mask for all queries, or one for each with some elements behind its row.
fn masked(of: Attention, each: bool, behind: u32) -> Attention {
    let pitch = (of.keys + behind).next_multiple_of(8 / of.element.bytes());
    Attention {
        causal: None,
        mask: Some(if each { pitch } else { 0 }),
        ..of
    }
}

fn check(of: Attention) {
    let data = data(of, u64::from(of.keys * 100 + of.queries));
    let found = run(of, &data).values;
    for (at, (wanted, limit)) in reference(of, &data).into_iter().enumerate() {
        close(found[at], wanted, limit, &format!("{of:?} [{at}]"));
    }
}

#[test]
fn attention() {
    for element in [ScalarType::F32, ScalarType::F16] {
        for shape in shapes() {
            check(kernel(shape, element));
        }
    }
}

#[test]
fn masks() {
    for element in [ScalarType::F32, ScalarType::F16] {
        for (n, shape) in shapes().into_iter().enumerate() {
            check(masked(kernel(shape, element), n % 3 != 0, n as u32 % 5));
        }
    }
}

#[test]
fn who_sees_nothing_gets_zeros() {
    for keys in [16, 17, 100] {
        let of = masked(
            kernel((7, keys, 16, 16, 32, None), ScalarType::F32),
            true,
            0,
        );
        let pitch = of.mask.expect("a mask") as usize;
        let mut data = data(of, 5);
        data[3][2 * pitch..3 * pitch].fill(f64::NEG_INFINITY);
        let found = run(of, &data).values;
        for (at, (wanted, limit)) in reference(of, &data).into_iter().enumerate() {
            close(found[at], wanted, limit, &format!("{of:?} [{at}]"));
        }
        assert!(found[2 * 16..3 * 16].iter().all(|&x| x == 0.0));
    }
}

#[test]
fn broken_references_are_caught() {
    for mask in [false, true] {
        let plain = kernel((7, 40, 16, 16, 16, None), ScalarType::F16);
        broken(if mask { masked(plain, true, 0) } else { plain });
    }
}

fn broken(of: Attention) {
    let mut caught = [0; 4];
    for seed in 0..100 {
        let given = data(of, seed);
        let found = run(of, &given).values;
        let accepted = |of: Attention, data: &[Vec<f64>; 4]| {
            let wanted = reference(of, data);
            (found.iter().zip(wanted)).all(|(f, (w, limit))| (f - w).abs() <= limit)
        };
        assert!(accepted(of, &given), "seed {seed}");
        let shown = seed as usize % 40;
        let mut dropped = given.clone();
        dropped[2][shown * 16] += 1.0;
        caught[0] += u32::from(!accepted(of, &dropped));
        // Two keys without their values.
        let mut swapped = given.clone();
        for l in 0..16 {
            swapped[1].swap(shown * 16 + l, (shown + 20) % 40 * 16 + l);
        }
        caught[1] += u32::from(!accepted(of, &swapped));
        // The last block of keys lost.
        let lost = Attention { keys: 32, ..of };
        let mut kept = given.clone();
        kept[1].truncate(32 * 16);
        kept[2].truncate(32 * 16);
        caught[2] += u32::from(!accepted(lost, &kept));
        // The masks of two queries exchanged.
        if let Some(pitch) = of.mask {
            let mut swapped = given.clone();
            for j in 0..pitch as usize {
                swapped[3].swap(j, 5 * pitch as usize + j);
            }
            caught[3] += u32::from(!accepted(of, &swapped));
        }
    }
    let last = if of.mask.is_some() { 4 } else { 3 };
    let names = [
        "value changed",
        "keys exchanged",
        "block lost",
        "masks exchanged",
    ];
    for (what, count) in names.iter().zip(&caught[..last]) {
        println!("{what}: {count} of 100 caught");
        assert!(*count >= 99, "{what}: {count} of 100 caught");
    }
}
