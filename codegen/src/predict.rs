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
        result.arrivals.push(arrival);
        result.releases.push(release);
        for (index, tile) in clocks.iter_mut().enumerate() {
            if matches!(tile.state, State::Barrier) {
                let row = LogicalTile(index as u16).physical().row();
                tile.clock
                    .resume(release + u64::from(a.sup_release_skew) * u64::from(row));
                tile.state = State::Ready;
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
}
