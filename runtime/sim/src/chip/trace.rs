//! What the contexts of a tile did, and when.

use super::{RunReport, TileReport};
use crate::fault::ContextId;
use std::io::{self, Write};

/// What a worker used in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkerUse {
    /// Turns in which it issued or executed.
    pub turns: u64,
    /// Tile cycles from its first issue to its exit, summed over launches.
    pub cycles: u64,
}

/// What a context was doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// A worker's program.
    Worker,
    /// An exchange row.
    Exchange,
    /// Waiting at a barrier of this zone.
    Barrier {
        /// Operand of `sync`.
        zone: u32,
    },
    /// Waiting for the tile's abstention credit to be used up.
    Credit,
    /// Waiting for received words (`sync 0`) or for the host's port.
    Receive,
    /// Waiting for workers (`sync 2`).
    Join,
    /// Supervisor instructions.
    Supervisor,
}

impl Activity {
    /// A word for it; barriers say their zone.
    pub fn name(self) -> String {
        match self {
            Activity::Worker => "worker".into(),
            Activity::Exchange => "exchange".into(),
            Activity::Barrier { zone } => format!("barrier, zone {zone}"),
            Activity::Credit => "abstention".into(),
            Activity::Receive => "receive".into(),
            Activity::Join => "join".into(),
            Activity::Supervisor => "supervisor".into(),
        }
    }
}

/// A stretch of one context's time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// Whose.
    pub context: ContextId,
    /// What it did.
    pub activity: Activity,
    /// First cycle.
    pub start: u64,
    /// Cycle after the last.
    pub end: u64,
    /// Address of its first instruction: a worker's entry, a row's first word, a `sync`.
    pub pc: u32,
}

impl TileReport {
    /// The recorded spans and, for the supervisor, the stretches of ordinary instructions between
    /// them; every cycle of the supervisor up to its end is in exactly one span.
    pub fn timeline(&self) -> Vec<Span> {
        let mut all = Vec::with_capacity(2 * self.spans.len());
        let mut at = 0;
        let gap = |start, end| Span {
            context: ContextId::Supervisor,
            activity: Activity::Supervisor,
            start,
            end,
            pc: 0,
        };
        for span in &self.spans {
            if span.context == ContextId::Supervisor {
                if span.start > at {
                    all.push(gap(at, span.start));
                }
                at = span.end;
            }
            all.push(*span);
        }
        if let Some(end) = self.end_cycle.filter(|&end| end > at) {
            all.push(gap(at, end));
        }
        all
    }
}

impl RunReport {
    /// Writes the timeline in the trace format of Chrome and Perfetto: a process per tile, a thread
    /// per context (0 = supervisor), times in microseconds at the nominal clock, cycles in `args`.
    /// `tiles` says which tiles; `name` names a worker's entry or a row's first word.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_trace(
        &self,
        out: &mut dyn Write,
        tiles: &dyn Fn(u16) -> bool,
        name: &dyn Fn(u16, u32) -> Option<String>,
    ) -> io::Result<()> {
        let micros = |cycles: u64| ipucc_chip::timing::seconds(cycles) * 1e6;
        write!(out, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let mut first = true;
        let mut event = |out: &mut dyn Write, value: serde_json::Value| {
            out.write_all(if first { b"\n" } else { b",\n" })?;
            first = false;
            serde_json::to_writer(out, &value).map_err(io::Error::from)
        };
        for (tile, report) in self.tiles.iter().enumerate() {
            let tile = tile as u16;
            if report.end_cycle.is_none() || !tiles(tile) {
                continue;
            }
            let meta = |thread: u32, kind: &str, name: String| {
                serde_json::json!({
                    "ph": "M", "pid": tile, "tid": thread, "name": kind, "args": {"name": name},
                })
            };
            event(out, meta(0, "process_name", format!("tile {tile}")))?;
            event(out, meta(0, "thread_name", "supervisor".into()))?;
            for (worker, used) in report.workers.iter().enumerate() {
                if used.turns > 0 {
                    let name = format!("worker {worker}");
                    event(out, meta(worker as u32 + 1, "thread_name", name))?;
                }
            }
            for span in report.timeline() {
                let thread = match span.context {
                    ContextId::Supervisor => 0,
                    ContextId::Worker(index) => u32::from(index) + 1,
                };
                let what = span.activity.name();
                let label = match span.activity {
                    Activity::Worker | Activity::Exchange => name(tile, span.pc),
                    _ => None,
                };
                let value = serde_json::json!({
                    "ph": "X", "pid": tile, "tid": thread,
                    "cat": what, "name": label.unwrap_or_else(|| what.clone()),
                    "ts": micros(span.start), "dur": micros(span.end - span.start),
                    "args": {"cycle": span.start, "cycles": span.end - span.start,
                             "pc": format!("{:#x}", span.pc)},
                });
                event(out, value)?;
            }
        }
        for barrier in &self.barriers {
            let value = serde_json::json!({
                "ph": "i", "s": "g", "pid": 0, "tid": 0, "name": format!("release, zone {}", barrier.zone),
                "ts": micros(barrier.release), "args": {"cycle": barrier.release},
            });
            event(out, value)?;
        }
        writeln!(out, "\n]}}")
    }
}
