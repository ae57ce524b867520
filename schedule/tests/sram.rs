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

#[test]
fn out_of_memory_says_what_lives_there() {
    let request = |name: &str, bytes, kind: Kind, live, origin: Option<&str>| Request {
        name: name.into(),
        bytes,
        align_bytes: 8,
        region: if kind.is_code() {
            Region::Executable
        } else {
            Region::Any
        },
        live,
        tail_bytes: 0,
        kind,
        origin: origin.map(Into::into),
    };
    let problem = Problem {
        tile: 37,
        base: memory::APPLICATION_BASE,
        end: memory::END,
        requests: vec![
            request("supervisor", 9_000, Kind::Code, (0, 9), None),
            request("rows", 20_000, Kind::Row, (0, 9), None),
            request(
                "w_up",
                400_000,
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
    let error = solve(&problem, Options::default()).expect_err("too large");
    insta::assert_snapshot!(error);
    let mut fragmented = problem;
    fragmented.requests[2].bytes = 200_000;
    fragmented.requests[3].live = (0, 9);
    fragmented.requests[4].live = (0, 9);
    fragmented.requests[4].region = Region::Executable;
    fragmented.requests[4].bytes = 190_000;
    let error = solve(&fragmented, Options::default())
        .expect_err("190,000 bytes do not fit in region 0 beside code");
    insta::assert_snapshot!(error);
    let mut malformed = fragmented;
    malformed.requests[1].align_bytes = 12;
    assert!(matches!(
        solve(&malformed, Options::default()),
        Err(SramError::Malformed { tile: 37, .. })
    ));
}
