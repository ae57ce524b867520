//! Abstention: random patterns of phases in both modes, and every way in which it can be wrong.

use ipucc_chip::{Assumptions, LogicalTile};
use ipucc_machine::row::RowEvents;
use ipucc_schedule::abstain::{AbstainError, abstain, verify};
use ipucc_tile::Program;
use ipucc_tile::schedule::{Absence, AbstainMode, Phase, Scheduled, StepPath};

struct Random(u64);

impl Random {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % u64::from(n)) as u32
    }
}

const MODES: [AbstainMode; 2] = [AbstainMode::PerPhase, AbstainMode::Advance];

/// Phases at these steps, with these tiles.
fn phases(of: &[(&[u32], Vec<u16>)]) -> Vec<Phase> {
    of.iter()
        .map(|(step, tiles)| Phase {
            step: StepPath::from_slice(step),
            rows: tiles
                .iter()
                .map(|&tile| (LogicalTile(tile), RowEvents::default()))
                .collect(),
            horizon: 0,
            bound_words: 0,
            bound_route: 0,
        })
        .collect()
}

fn scheduled(phases: Vec<Phase>, tiles: u16, mode: AbstainMode) -> Scheduled {
    let assumptions = Assumptions::default();
    let absences = abstain(&phases, tiles, mode, &assumptions).expect("possible");
    let program = Program {
        name: "p".into(),
        tiles,
        values: Default::default(),
        steps: Vec::new(),
        inputs: Default::default(),
        outputs: Default::default(),
        weights: Default::default(),
    };
    Scheduled {
        program,
        phases,
        abstain: mode,
        absences,
        apart: Vec::new(),
    }
}

fn random(seed: u64, mode: AbstainMode) -> Scheduled {
    let mut random = Random(seed);
    let tiles = 1 + random.below(12) as u16;
    let mut list = Vec::new();
    for step in 0..random.below(14) {
        let share = 1 + random.below(4);
        let taking: Vec<u16> = (0..tiles).filter(|_| random.below(share) == 0).collect();
        // Some phases stand in the body of a repeat.
        let path: Vec<u32> = match random.below(3) {
            0 => vec![step, 0],
            _ => vec![step],
        };
        list.push((path, taking));
    }
    let list: Vec<(&[u32], Vec<u16>)> = list
        .iter()
        .map(|(path, taking)| (path.as_slice(), taking.clone()))
        .collect();
    scheduled(phases(&list), tiles, mode)
}

#[test]
fn what_is_made_is_free_of_deadlock() {
    let assumptions = Assumptions::default();
    for seed in 0..2000 {
        for mode in MODES {
            assert_eq!(verify(&random(seed, mode), &assumptions), Ok(()), "{seed}");
        }
    }
}

/// A change of one absence is always one too many or too few.
#[test]
fn every_change_of_an_absence_is_found() {
    let assumptions = Assumptions::default();
    let mut tried = 0;
    for seed in 0..1000 {
        for mode in MODES {
            let mut wrong = random(seed, mode);
            let mut random = Random(seed ^ 0xabcd);
            let tile = random.below(wrong.program.tiles.into()) as usize;
            let list = &mut wrong.absences[tile];
            if list.is_empty() {
                continue;
            }
            let at = random.below(list.len() as u32) as usize;
            match random.below(5) {
                0 => list[at].count += 1,
                1 => list[at].count -= 1,
                2 => list[at].first += 1,
                3 => {
                    list.remove(at);
                }
                _ => {
                    let again = list[at];
                    list.insert(at, again);
                }
            }
            tried += 1;
            assert!(verify(&wrong, &assumptions).is_err(), "{seed} {mode:?}");
        }
    }
    assert!(tried > 1000, "{tried}");
}

#[test]
fn an_absence_is_as_long_as_it_can_be() {
    let list = phases(&[
        (&[0], vec![0, 1]),
        (&[1], vec![1]),
        (&[2], vec![1]),
        (&[3, 0], vec![1]),
        (&[4], vec![0, 1]),
    ]);
    let absence = |first, count| Absence { first, count };
    let advance = scheduled(list.clone(), 3, AbstainMode::Advance);
    assert_eq!(advance.absences[0], [absence(1, 2), absence(3, 1)]);
    assert_eq!(advance.absences[1], []);
    let all = [absence(0, 3), absence(3, 1), absence(4, 1)];
    assert_eq!(advance.absences[2], all);
    let each = scheduled(list, 3, AbstainMode::PerPhase);
    assert_eq!(each.absences[2].len(), 5);
}

#[test]
fn every_error_has_a_name() {
    let assumptions = Assumptions::default();
    let list = phases(&[
        (&[0], vec![0]),
        (&[1], vec![0, 1]),
        (&[2], vec![0]),
        (&[3], vec![0]),
        (&[4, 0], vec![0]),
    ]);
    let absence = |first, count| Absence { first, count };
    let verdict = |mode, absences: &[Absence]| {
        let mut wrong = scheduled(list.clone(), 2, mode);
        wrong.absences[1] = absences.to_vec();
        verify(&wrong, &assumptions)
    };
    let advance = |absences: &[Absence]| verdict(AbstainMode::Advance, absences);
    let right = [absence(0, 1), absence(2, 2), absence(4, 1)];
    assert_eq!(advance(&right), Ok(()));
    // The credit of phase 4 is posted early and used up by the barrier of phase 3.
    let uncovered = AbstainError::Uncovered { tile: 1, phase: 4 };
    assert_eq!(
        advance(&[absence(0, 1), absence(2, 1), absence(4, 1)]),
        Err(uncovered)
    );
    let left = AbstainError::CreditLeft {
        tile: 1,
        phase: 1,
        credits: 1,
    };
    assert_eq!(
        advance(&[absence(0, 2), absence(2, 2), absence(4, 1)]),
        Err(left)
    );
    let crossing = AbstainError::CrossesRepeat { tile: 1, first: 2 };
    assert_eq!(advance(&[absence(0, 1), absence(2, 3)]), Err(crossing));
    let malformed = AbstainError::Malformed {
        tile: 1,
        first: 4,
        count: 2,
    };
    assert_eq!(
        advance(&[absence(0, 1), absence(2, 2), absence(4, 2)]),
        Err(malformed)
    );
    let long = AbstainError::Malformed {
        tile: 1,
        first: 2,
        count: 2,
    };
    assert_eq!(verdict(AbstainMode::PerPhase, &right), Err(long));
    let mut lists = scheduled(list.clone(), 2, AbstainMode::Advance);
    lists.absences.pop();
    let tiles = AbstainError::Tiles { found: 1, tiles: 2 };
    assert_eq!(verify(&lists, &assumptions), Err(tiles));
    let strict = Assumptions {
        sup_ans_overlap: false,
        ..Assumptions::default()
    };
    let made = |mode, assumptions: &Assumptions| abstain(&list, 2, mode, assumptions);
    assert_eq!(
        made(AbstainMode::Advance, &strict),
        Err(AbstainError::Overlap)
    );
    assert!(made(AbstainMode::PerPhase, &strict).is_ok());
    let small = Assumptions {
        sup_ans_limit: 1,
        ..Assumptions::default()
    };
    let limit = AbstainError::Limit {
        tile: 1,
        credits: 2,
        limit: 1,
    };
    assert_eq!(made(AbstainMode::Advance, &small), Err(limit.clone()));
    assert!(made(AbstainMode::PerPhase, &small).is_ok());
    let overflowing = scheduled(list.clone(), 2, AbstainMode::Advance);
    assert_eq!(verify(&overflowing, &small), Err(limit));
}
