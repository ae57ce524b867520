//! Allocation of tile memory on random problems, and what its errors say.

use ipucc_chip::memory;
use ipucc_schedule::sram::{Kind, Options, Problem, Region, Request, SramError, solve, verify};

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as u32
    }
}

/// Buffers of a random program in region 1 alone, so that peak and bound speak of one space.
fn random_problem(seed: u64) -> Problem {
    let mut random = Random(seed);
    let steps = 4 + random.below(28);
    let count = 10 + random.below(50);
    let requests = (0..count)
        .map(|i| {
            let first = random.below(steps);
            let largest = 1 << (2 + random.below(9));
            let last = first + 1 + random.below((steps - first).min(8));
            Request {
                name: format!("b{i}"),
                bytes: 8 * (1 + random.below(largest)),
                align_bytes: [8, 8, 16, 32][random.below(4) as usize],
                region: if random.below(3) == 0 {
                    Region::Interleaved
                } else {
                    Region::Any
                },
                live: (first, last),
                tail_bytes: [0, 0, 16, 64][random.below(4) as usize],
                kind: Kind::Data,
                origin: None,
                padding_bytes: 0,
                element_bytes: 4,
            }
        })
        .collect();
    let pairs = random.below(4);
    let mut apart: Vec<(u32, u32)> = Vec::new();
    for _ in 0..pairs {
        let (a, b) = (random.below(count), random.below(count));
        if a != b {
            apart.push((a, b));
        }
    }
    Problem {
        tile: 0,
        base: memory::INTERLEAVED_BASE,
        end: memory::END,
        requests,
        apart,
        sequences: vec![],
    }
}

/// What element constraints force on top of the live bytes: if two buffers must not share a
/// 32-KiB pair, the higher one starts in a later pair than the lower one ends in.
fn bound(problem: &Problem, live: u32) -> u32 {
    problem
        .apart
        .iter()
        .map(|&(a, b)| {
            let size = |i: u32| problem.requests[i as usize].bytes;
            let (small, large) = (size(a).min(size(b)), size(a).max(size(b)));
            (large.next_multiple_of(memory::PAIR_BYTES) + small)
                .min(small.next_multiple_of(memory::PAIR_BYTES) + large)
        })
        .max()
        .unwrap_or(0)
        .max(live)
}

#[test]
fn random_lifetimes_come_near_the_bound() {
    let mut sum = 0.0;
    let mut worst: f64 = 0.0;
    for seed in 0..500 {
        let problem = random_problem(seed);
        let placement = solve(&problem, Options::default()).expect("small problems fit");
        verify(&problem, &placement).expect("the placement is legal");
        let ratio = placement.peak_bytes as f64 / bound(&problem, placement.bound_bytes) as f64;
        sum += ratio;
        worst = worst.max(ratio);
    }
    let mean = sum / 500.0;
    println!("achieved peak / bound: mean {mean:.4}, worst {worst:.3}");
    assert!(mean <= 1.05, "mean ratio {mean}");
}

#[test]
fn the_same_problem_gives_the_same_addresses() {
    let problem = random_problem(17);
    assert_eq!(
        solve(&problem, Options::default()),
        solve(&problem, Options::default())
    );
}

#[test]
fn code_shares_no_element_with_data() {
    let mut problem = random_problem(3);
    problem.base = memory::APPLICATION_BASE;
    for (i, request) in problem.requests.iter_mut().enumerate() {
        if i % 5 == 0 {
            request.kind = Kind::Code;
            request.region = Region::Executable;
            request.live = (0, 64);
        }
    }
    problem
        .apart
        .retain(|(a, b)| (a % 5 == 0) == (b % 5 == 0) && a % 5 != 0);
    let placement = solve(&problem, Options::default()).expect("fits");
    verify(&problem, &placement).expect("legal");
}

#[test]
fn sequences_keep_equal_distances() {
    let mut problem = random_problem(5);
    let sequence: Vec<u32> = (0..6).collect();
    for &i in &sequence {
        let request = &mut problem.requests[i as usize];
        request.bytes = 4000;
        request.live = (0, 40);
        request.region = Region::Interleaved;
    }
    problem.apart.retain(|(a, b)| *a >= 6 && *b >= 6);
    problem.sequences = vec![sequence];
    let placement = solve(&problem, Options::default()).expect("fits");
    verify(&problem, &placement).expect("legal");
}

#[test]
fn the_verifier_rejects_broken_placements() {
    let problem = random_problem(11);
    let good = solve(&problem, Options::default()).expect("fits");
    for i in 0..problem.requests.len() {
        let mut bad = good.clone();
        bad.addresses[i] += 4;
        assert!(
            verify(&problem, &bad).is_err(),
            "misaligned request {i} accepted"
        );
        let mut bad = good.clone();
        bad.addresses[i] = memory::BASE;
        assert!(
            verify(&problem, &bad).is_err(),
            "request {i} below the base accepted"
        );
    }
}

/// A request of the messages' problems; values are f32 with some padding.
fn request(name: &str, bytes: u32, kind: Kind, live: (u32, u32), origin: Option<&str>) -> Request {
    let value = matches!(kind, Kind::Weight | Kind::Data);
    Request {
        name: name.into(),
        bytes,
        align_bytes: 8,
        region: match kind.is_code() {
            true => Region::Executable,
            false => Region::Any,
        },
        live,
        tail_bytes: 0,
        kind,
        origin: origin.map(Into::into),
        padding_bytes: if value { bytes / 50 } else { 0 },
        element_bytes: if value { 4 } else { 0 },
    }
}

fn message(problem: &Problem, steps: &[String]) -> String {
    match solve(problem, Options::default()) {
        Err(SramError::OutOfMemory(mut error)) => {
            error.name_step(steps);
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

/// A layer that fits, and the words for its steps.
fn layer() -> (Problem, Vec<String>) {
    let problem = Problem {
        tile: 37,
        base: memory::APPLICATION_BASE,
        end: memory::END,
        requests: vec![
            request("program", 9_000, Kind::Code, (0, 9), None),
            request("row0", 12_000, Kind::Row, (0, 9), None),
            request("row1", 8_000, Kind::Row, (0, 9), None),
            request("records", 1_000, Kind::Record, (0, 9), None),
            request(
                "w_up",
                200_000,
                Kind::Weight,
                (0, 9),
                Some("node `mlp/up/MatMul`"),
            ),
            request("x", 120_000, Kind::Data, (0, 4), Some("model.ir:7")),
            request("h", 160_000, Kind::Data, (3, 6), Some("model.ir:8")),
        ],
        apart: vec![],
        sequences: vec![],
    };
    let mut steps = vec!["while the program is loaded".to_owned()];
    steps.extend((0..7).map(|step| format!("in step {step}, compute `layer{step}`")));
    steps.push("when the host reads the outputs".to_owned());
    (problem, steps)
}

#[test]
fn out_of_memory_says_what_lives_there() {
    let (problem, steps) = layer();
    solve(&problem, Options::default()).expect("the layer itself fits");
    let with = |change: &dyn Fn(&mut Problem)| {
        let mut problem = problem.clone();
        change(&mut problem);
        message(&problem, &steps)
    };
    let mut told = String::new();
    let mut tell = |what: &str, message: String| {
        told.push_str(&format!("--- {what}\n{message}\n"));
    };
    tell("a weight", with(&|p| p.requests[4].bytes = 400_000));
    tell("data", with(&|p| p.requests[6].bytes = 300_000));
    tell(
        "a weight larger than the memory",
        with(&|p| p.requests[4].bytes = 4_000_000),
    );
    tell(
        "halves",
        with(&|p| {
            p.requests[4].bytes = 400_000;
            p.requests.iter_mut().for_each(|r| r.element_bytes /= 2);
        }),
    );
    tell(
        "at loading",
        with(&|p| {
            p.requests[4].bytes = 600_000;
            p.requests[6].bytes = 100_000;
        }),
    );
    tell(
        "at the end",
        with(&|p| {
            p.requests.push(request(
                "y",
                500_000,
                Kind::Data,
                (8, 9),
                Some("model.ir:9"),
            ));
        }),
    );
    tell("rows", with(&|p| p.requests[1].bytes = 300_000));
    tell("code", with(&|p| p.requests[0].bytes = 300_000));
    tell(
        "rows beyond all memory",
        with(&|p| {
            p.requests[1].region = Region::Any;
            p.requests[1].bytes = 700_000;
        }),
    );
    tell(
        "interleaved memory",
        with(&|p| {
            p.requests[5].region = Region::Interleaved;
            p.requests[6].region = Region::Interleaved;
            p.requests[6].bytes = 330_000;
            p.requests[4].bytes = 80_000;
        }),
    );
    tell(
        "no placement",
        with(&|p| {
            // 190,000 bytes do not fit in region 0 beside code, whose element they must not share.
            p.requests[6].region = Region::Executable;
            p.requests[6].bytes = 183_000;
        }),
    );
    tell(
        "elements",
        with(&|p| {
            // Thirty values, no two in one of the twenty-six elements.
            let first = p.requests.len() as u32;
            for i in 0..30 {
                let name = format!("part{i}");
                p.requests
                    .push(request(&name, 64, Kind::Data, (2, 6), None));
                p.apart
                    .extend((first..first + i).map(|other| (other, first + i)));
            }
        }),
    );
    tell(
        "many",
        with(&|p| {
            for i in 0..40 {
                let name = format!("part{i}");
                p.requests
                    .push(request(&name, 10_000 + 8 * i, Kind::Data, (2, 6), None));
            }
        }),
    );
    tell(
        "without names",
        message(
            &Problem {
                requests: vec![request("w", 700_000, Kind::Weight, (0, 9), None)],
                ..problem.clone()
            },
            &[],
        ),
    );
    insta::assert_snapshot!(told);
}

#[test]
fn malformed_problems_are_refused() {
    let (problem, _) = layer();
    let refused = |change: &dyn Fn(&mut Problem)| {
        let mut problem = problem.clone();
        change(&mut problem);
        let result = solve(&problem, Options::default());
        assert!(
            matches!(result, Err(SramError::Malformed { tile: 37, .. })),
            "{result:?}"
        );
    };
    refused(&|p| p.requests[1].align_bytes = 12);
    refused(&|p| p.requests[1].align_bytes = 0);
    refused(&|p| p.requests[1].live = (3, 3));
    refused(&|p| p.requests[1].bytes = u32::MAX);
    refused(&|p| p.requests[1].tail_bytes = u32::MAX);
    refused(&|p| p.end = u32::MAX);
    refused(&|p| p.base = 0);
    refused(&|p| p.base = p.end + 1);
    refused(&|p| p.apart.push((0, 99)));
    refused(&|p| p.sequences.push(vec![99]));
    refused(&|p| p.sequences.push(vec![4, 4]));
}
