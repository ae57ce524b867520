//! Abstention: which tiles wait at the barrier of a phase, and which post a credit instead.
//!
//! A tile that moves nothing in a phase does not wait for it. In `PerPhase` mode it posts one credit
//! where the phase stands in its program and waits until the barrier has used it. In `Advance` mode
//! it posts the credits of all phases up to the next one it is needed for at once, as soon as it is
//! done with the last one (`sans n` adds n + 1 credits, `isa/supervisor.md` 7), computes across, and
//! joins with `sync 1` before that next phase (assumption `sup_ans_overlap`).
//!
//! Why this cannot deadlock: every tile has, for every barrier, either a `sync 3` of its own or
//! exactly one credit, and it posts the credit before it can come to wait for anything later.
//! [`verify`] proves it anew for a finished schedule by letting the barriers fire one by one.

use ipucc_chip::{Assumptions, LogicalTile};
use ipucc_tile::schedule::{Absence, AbstainMode, Phase, Scheduled, StepPath};
use thiserror::Error;

/// Why tiles cannot abstain as they should.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Error)]
pub enum AbstainError {
    /// Work between `sans` and `sync 1` is not allowed.
    #[error(
        "--abstain=advance computes between `sans` and `sync 1`, which the assumption \
         sup_ans_overlap does not allow; hint: --abstain=per-phase"
    )]
    Overlap,
    /// A tile would have more credits than the counter holds.
    #[error("tile {tile}: {credits} credits at once, the counter holds {limit} (sup_ans_limit)")]
    Limit {
        /// Logical tile.
        tile: u16,
        /// Credits.
        credits: u64,
        /// Most credits.
        limit: u32,
    },
    /// A list of absences for every tile is needed.
    #[error("absences of {found} tiles, the program has {tiles}")]
    Tiles {
        /// Lists.
        found: usize,
        /// Tiles of the program.
        tiles: u16,
    },
    /// A phase in which a tile neither takes part nor abstains.
    #[error("tile {tile} neither waits nor has credit at the barrier of phase {phase}: deadlock")]
    Uncovered {
        /// Logical tile.
        tile: u16,
        /// Index of the phase.
        phase: u32,
    },
    /// A phase in which a tile takes part although it has credit for it.
    #[error("tile {tile} takes part in phase {phase} with {credits} credits left")]
    CreditLeft {
        /// Logical tile.
        tile: u16,
        /// Index of the phase.
        phase: u32,
        /// Credits that no barrier has used.
        credits: u64,
    },
    /// Absences out of order, empty, beyond the last phase, or longer than the mode allows.
    #[error("tile {tile}: an absence of {count} phases from phase {first} on is none")]
    Malformed {
        /// Logical tile.
        tile: u16,
        /// First phase.
        first: u32,
        /// Number of phases.
        count: u32,
    },
    /// An absence that begins inside a repeat's body and ends outside, or the other way round.
    #[error("tile {tile}: the absence from phase {first} on crosses the border of a repeat")]
    CrossesRepeat {
        /// Logical tile.
        tile: u16,
        /// First phase.
        first: u32,
    },
    /// Credits that no barrier uses: the tile waits for ever at the end.
    #[error("tile {tile} ends with {credits} credits that no barrier uses: deadlock")]
    Leftover {
        /// Logical tile.
        tile: u16,
        /// Credits.
        credits: u64,
    },
}

/// Which phases every tile is absent from, by logical tile. A run of absences never crosses the
/// border of a repeat's body, because a body's credits must balance in every iteration.
///
/// # Errors
/// The mode needs an assumption that does not hold, or more credits than the counter has.
pub fn abstain(
    phases: &[Phase],
    tiles: u16,
    mode: AbstainMode,
    assumptions: &Assumptions,
) -> Result<Vec<Vec<Absence>>, AbstainError> {
    if mode == AbstainMode::Advance && !assumptions.sup_ans_overlap {
        return Err(AbstainError::Overlap);
    }
    let mut all = Vec::with_capacity(tiles.into());
    for tile in (0..tiles).map(LogicalTile) {
        let mut list: Vec<Absence> = Vec::new();
        for (index, phase) in phases.iter().enumerate() {
            if phase.rows.contains_key(&tile) {
                continue;
            }
            let index = index as u32;
            match list.last_mut() {
                Some(last)
                    if mode == AbstainMode::Advance
                        && last.first + last.count == index
                        && same_body(&phases[last.first as usize].step, &phase.step) =>
                {
                    last.count += 1;
                }
                _ => list.push(Absence {
                    first: index,
                    count: 1,
                }),
            }
        }
        let most = list.iter().map(|absence| absence.count).max().unwrap_or(0);
        if most > assumptions.sup_ans_limit {
            return Err(AbstainError::Limit {
                tile: tile.0,
                credits: most.into(),
                limit: assumptions.sup_ans_limit,
            });
        }
        all.push(list);
    }
    Ok(all)
}

fn same_body(a: &StepPath, b: &StepPath) -> bool {
    a.len() == b.len() && a[..a.len() - 1] == b[..b.len() - 1]
}

/// What a tile does about barriers, in the order of its program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    /// `sync 3` for a phase.
    Wait(u32),
    /// `sans count - 1`.
    Post(u32),
    /// `sync 1`.
    Join,
}

/// The acts of one tile, as `docs/contracts.md` 4.5 orders them.
fn acts(scheduled: &Scheduled, tile: LogicalTile, absences: &[Absence]) -> Vec<Act> {
    let mut acts = Vec::new();
    let mut open = false;
    let mut next = absences.iter().peekable();
    for (phase, data) in scheduled.phases.iter().enumerate() {
        let phase = phase as u32;
        if let Some(absence) = next.next_if(|absence| absence.first == phase) {
            acts.push(Act::Post(absence.count));
            match scheduled.abstain {
                AbstainMode::PerPhase => acts.push(Act::Join),
                AbstainMode::Advance => open = true,
            }
        }
        if data.rows.contains_key(&tile) {
            if std::mem::take(&mut open) {
                acts.push(Act::Join);
            }
            acts.push(Act::Wait(phase));
        }
    }
    if open {
        acts.push(Act::Join);
    }
    acts
}

/// Proves that a schedule's barriers all fire: at every one each tile is waiting for that very phase
/// or has credit, credits end exactly where the tile joins, and none is left at the end. Knows
/// nothing of how absences are made; lets the barriers fire one after the other.
///
/// # Errors
/// The first tile and phase where it is not so.
pub fn verify(scheduled: &Scheduled, assumptions: &Assumptions) -> Result<(), AbstainError> {
    let tiles = scheduled.program.tiles;
    if scheduled.absences.len() != usize::from(tiles) {
        return Err(AbstainError::Tiles {
            found: scheduled.absences.len(),
            tiles,
        });
    }
    for (tile, absences) in scheduled.absences.iter().enumerate() {
        shape(scheduled, tile as u16, absences)?;
    }
    struct State {
        acts: Vec<Act>,
        next: usize,
        credits: u64,
    }
    let mut states: Vec<State> = (0..tiles)
        .map(|tile| State {
            acts: acts(
                scheduled,
                LogicalTile(tile),
                &scheduled.absences[usize::from(tile)],
            ),
            next: 0,
            credits: 0,
        })
        .collect();
    for phase in 0..=scheduled.phases.len() as u32 {
        let end = phase as usize == scheduled.phases.len();
        for (tile, state) in states.iter_mut().enumerate() {
            let tile = tile as u16;
            // As far as the tile comes without a barrier.
            while let Some(act) = state.acts.get(state.next) {
                match *act {
                    Act::Post(count) => state.credits += u64::from(count),
                    Act::Join if state.credits == 0 => {}
                    Act::Join | Act::Wait(_) => break,
                }
                state.next += 1;
                if state.credits > u64::from(assumptions.sup_ans_limit) {
                    return Err(AbstainError::Limit {
                        tile,
                        credits: state.credits,
                        limit: assumptions.sup_ans_limit,
                    });
                }
            }
            let credits = state.credits;
            if end {
                if credits > 0 {
                    return Err(AbstainError::Leftover { tile, credits });
                }
                continue;
            }
            match state.acts.get(state.next) {
                Some(&Act::Wait(wanted)) if credits == 0 && wanted == phase => state.next += 1,
                Some(&Act::Wait(wanted)) if credits > 0 && wanted == phase => {
                    return Err(AbstainError::CreditLeft {
                        tile,
                        phase,
                        credits,
                    });
                }
                _ if credits > 0 => state.credits -= 1,
                _ => return Err(AbstainError::Uncovered { tile, phase }),
            }
        }
    }
    Ok(())
}

/// The list of a tile's absences by itself.
fn shape(scheduled: &Scheduled, tile: u16, absences: &[Absence]) -> Result<(), AbstainError> {
    let mut next = 0;
    for &Absence { first, count } in absences {
        let end = first.checked_add(count);
        let fits = end.is_some_and(|end| end as usize <= scheduled.phases.len());
        let single = scheduled.abstain == AbstainMode::PerPhase && count > 1;
        if count == 0 || first < next || !fits || single {
            return Err(AbstainError::Malformed { tile, first, count });
        }
        next = first + count;
        let steps = &scheduled.phases[first as usize..next as usize];
        if steps
            .iter()
            .any(|phase| !same_body(&phase.step, &steps[0].step))
        {
            return Err(AbstainError::CrossesRepeat { tile, first });
        }
        for phase in first..next {
            let rows = &scheduled.phases[phase as usize].rows;
            if rows.contains_key(&LogicalTile(tile)) {
                return Err(AbstainError::CreditLeft {
                    tile,
                    phase,
                    credits: u64::from(next - phase),
                });
            }
        }
    }
    Ok(())
}
