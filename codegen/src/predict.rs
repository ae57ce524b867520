//! Predicted cycles of a whole program: every tile's clock, coupled by barriers and credits.

use crate::emit::TileCode;
use crate::program::{SupOp, panel_loader};
use crate::timeline::Clock;
use ipucc_chip::{Assumptions, LogicalTile};

/// What a program costs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Predicted {
    /// From the release of the first barrier to the last arrival at the last one.
    pub cycles: u64,
    /// Release of every barrier, in cycles since all tiles started together.
    pub releases: Vec<u64>,
    /// Last arrival at every barrier.
    pub arrivals: Vec<u64>,
    /// Cycle in which each tile ends.
    pub ends: Vec<u64>,
    /// What the last tile did before each barrier.
    pub critical: Vec<Interval>,
}

/// The time from the release of a barrier (or the start) to the last arrival at the next one, on the
/// tile that arrives last.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Interval {
    /// The tile.
    pub tile: u16,
    /// Cycle in which it went on from the barrier before.
    pub from: u64,
    /// Cycle of its arrival.
    pub to: u64,
    /// Steps of the program that it took part in, with their cycles; what is left is between them.
    pub steps: Vec<(u32, u64)>,
}

enum State {
    Ready,
    Barrier,
    Credit(u64),
    End,
}

struct TileClock<'p> {
    ops: &'p [SupOp],
    next: usize,
    clock: Clock,
    state: State,
    /// Credits with the cycle in which they were posted, oldest first.
    credits: Vec<(u64, u32)>,
    end: u64,
    /// Where steps end, as [`TileCode::marks`], and how many have.
    marks: &'p [(u32, u32)],
    marked: usize,
    /// Since the last barrier: where it began, steps with their ends.
    since: u64,
    steps: Vec<(u32, u64)>,
}

/// Predicts from the supervisor programs of all tiles.
pub fn predict(tiles: &[TileCode], a: &Assumptions) -> Predicted {
    let loaders = [panel_loader(16), panel_loader(8)];
    let mut clocks: Vec<TileClock<'_>> = tiles
        .iter()
        .map(|tile| TileClock {
            ops: &tile.ops,
            next: 0,
            clock: Clock::at(0),
            state: State::Ready,
            credits: Vec::new(),
            end: 0,
            marks: &tile.marks,
            marked: 0,
            since: 0,
            steps: Vec::new(),
        })
        .collect();
    let mut result = Predicted::default();
    loop {
        for tile in &mut clocks {
            while matches!(tile.state, State::Ready) && tile.next < tile.ops.len() {
                advance(tile, &loaders, a);
            }
        }
        // A barrier fires when every tile waits at it or has credit.
        let mut arrival = 0;
        let mut waiting = false;
        for tile in &clocks {
            match tile.state {
                State::Barrier => {
                    waiting = true;
                    arrival = arrival.max(tile.clock.now);
                }
                _ => {
                    if let Some(&(posted, _)) = tile.credits.first() {
                        arrival = arrival.max(posted);
                    }
                }
            }
        }
        if !waiting {
            break;
        }
        let release = arrival + u64::from(a.sup_barrier);
        result.critical.push(critical(&clocks, arrival));
        result.arrivals.push(arrival);
        result.releases.push(release);
        for (index, tile) in clocks.iter_mut().enumerate() {
            if matches!(tile.state, State::Barrier) {
                let row = LogicalTile(index as u16).physical().row();
                tile.clock
                    .resume(release + u64::from(a.sup_release_skew) * u64::from(row));
                tile.state = State::Ready;
                tile.since = tile.clock.now;
                tile.steps.clear();
                continue;
            }
            if let Some(front) = tile.credits.first_mut() {
                front.1 -= 1;
                if front.1 == 0 {
                    tile.credits.remove(0);
                }
            }
            if let (State::Credit(since), true) = (&tile.state, tile.credits.is_empty()) {
                let wake = (release + u64::from(a.sup_ans_wake)).max(*since);
                tile.clock.resume(wake);
                tile.state = State::Ready;
            }
        }
    }
    result.ends = clocks.iter().map(|tile| tile.end).collect();
    result.cycles = match (result.releases.first(), result.arrivals.last()) {
        (Some(&first), Some(&last)) if result.releases.len() > 1 => last - first,
        _ => 0,
    };
    result
}

/// What the tile that arrived last did since its own last barrier.
fn critical(clocks: &[TileClock<'_>], arrival: u64) -> Interval {
    let last = clocks
        .iter()
        .enumerate()
        .find(|(_, tile)| matches!(tile.state, State::Barrier) && tile.clock.now == arrival);
    let Some((index, tile)) = last else {
        // A tile that only posted its credit.
        return Interval {
            from: arrival,
            to: arrival,
            ..Interval::default()
        };
    };
    let mut before = tile.since;
    let steps = tile.steps.iter().map(|&(step, end)| {
        let cycles = end - before;
        before = end;
        (step, cycles)
    });
    Interval {
        tile: index as u16,
        from: tile.since,
        to: arrival,
        steps: steps.collect(),
    }
}

fn advance(tile: &mut TileClock<'_>, loaders: &[Vec<SupOp>; 2], a: &Assumptions) {
    let op = &tile.ops[tile.next];
    tile.next += 1;
    match *op {
        SupOp::Barrier => {
            tile.clock.arrive();
            tile.state = State::Barrier;
        }
        SupOp::Sans { credits } => {
            let posted = tile.clock.arrive();
            tile.credits.push((posted, credits));
            tile.clock.resume(posted + u64::from(a.sup_sans));
        }
        SupOp::AwaitCredit => {
            let since = tile.clock.arrive();
            if tile.credits.is_empty() {
                tile.clock.resume(since + u64::from(a.sup_sync));
            } else {
                tile.state = State::Credit(since);
            }
        }
        SupOp::Row { events, .. } => {
            // The call, the events of the row, and its return.
            let call = tile.clock.arrive();
            let start = call + u64::from(a.sup_branch);
            let back = start + u64::from(events);
            tile.clock.resume(back + u64::from(a.sup_branch));
        }
        SupOp::End => {
            tile.end = tile.clock.arrive();
            tile.state = State::End;
        }
        SupOp::Call { columns, .. } => {
            tile.clock.execute(op, a);
            for op in &loaders[usize::from(columns == 8)] {
                tile.clock.execute(op, a);
            }
        }
        _ => tile.clock.execute(op, a),
    }
    while let Some(&(step, end)) = tile.marks.get(tile.marked)
        && end as usize <= 4 * tile.next
    {
        tile.marked += 1;
        tile.steps.push((step, tile.clock.now));
    }
}
