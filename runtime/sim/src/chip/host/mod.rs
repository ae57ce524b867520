//! The host's side of the chip: attached pages, marks, and a host that acts by a script
//! (`facts/hardware.md` 4 and 9.4 to 9.5).

mod block;
mod port;

pub(super) use block::{Block, CONTEXTS};
pub(super) use port::{HostOp, Port, is_host};

use crate::fault::SimError;
use ipucc_chip::Assumptions;
use ipucc_chip::assumptions::HostMark;
use ipucc_chip::sync::{MARK_MASK, Zone};
use std::collections::{BTreeMap, VecDeque};

/// Translation granularity: an attached buffer of index i begins at i of these.
pub const PAGE_BYTES: u32 = 4096;
/// Device addresses of attached buffers end here (`facts/hardware.md` 1.4).
const WINDOW_BYTES: u32 = 128 << 20;

/// One of the two groups of external barriers, each with its own host marks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SyncGroup {
    /// GS1: zones 4 and 5.
    First,
    /// GS2: zones 6 and 7.
    Second,
}

impl SyncGroup {
    /// The group whose marks a zone uses up.
    pub(super) fn of(zone: Zone) -> Option<SyncGroup> {
        match zone {
            Zone::External1Host => Some(SyncGroup::First),
            Zone::External2Host => Some(SyncGroup::Second),
            _ => None,
        }
    }
}

/// One action of the host; the host does one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostStep {
    /// Polls until the group has no mark left.
    Wait(SyncGroup),
    /// Writes the mark register of a group.
    Mark(SyncGroup, u16),
    /// Writes attached memory.
    Write {
        /// Device-side byte address: 4096 times the buffer's index, plus the offset in it.
        offset: u32,
        /// Bytes.
        bytes: Vec<u8>,
    },
    /// Reads attached memory; the bytes come out of [`super::Simulator::host_reads`].
    Read {
        /// Device-side byte address.
        offset: u32,
        /// Length.
        bytes: u32,
    },
}

/// Host memory, marks and script.
#[derive(Default)]
pub struct Host {
    pages: BTreeMap<u32, Vec<u8>>,
    marks: [u32; 2],
    /// Cycle in which the group's mark register was last written, and last used up.
    marked: [u64; 2],
    used: [u64; 2],
    script: VecDeque<HostStep>,
    now: u64,
    /// Written, but not to be seen before the next barrier.
    late: Vec<(u32, Vec<u8>)>,
    pub(super) reads: Vec<Vec<u8>>,
}

impl Host {
    /// The clock begins again; memory, marks and what is left of the script stay.
    pub(super) fn restart(&mut self) {
        self.now = 0;
        self.marked = [0; 2];
        self.used = [0; 2];
        self.reads.clear();
    }

    pub(super) fn attach(&mut self, index: u32, bytes: u32) -> Result<(), SimError> {
        let bad = |reason: &str| {
            Err(SimError::Host(format!(
                "buffer {index} of {bytes} bytes: {reason}"
            )))
        };
        let start = u64::from(index) * u64::from(PAGE_BYTES);
        if bytes == 0 {
            return bad("it is empty");
        }
        if start + u64::from(bytes) > u64::from(WINDOW_BYTES) {
            return bad("it ends beyond the window of 128 MiB");
        }
        let start = start as u32;
        let slots =
            |start: u32, bytes: u32| start / PAGE_BYTES..(start + bytes).div_ceil(PAGE_BYTES);
        let mine = slots(start, bytes);
        let meets = |(&other, data): (&u32, &Vec<u8>)| {
            let other = slots(other, data.len() as u32);
            other.start < mine.end && mine.start < other.end
        };
        if self.pages.iter().any(meets) {
            return bad("a page of it is attached already");
        }
        self.pages.insert(start, vec![0; bytes as usize]);
        Ok(())
    }

    pub(super) fn detach(&mut self, index: u32) -> bool {
        let start = index.checked_mul(PAGE_BYTES);
        start.is_some_and(|start| self.pages.remove(&start).is_some())
    }

    fn find(&self, offset: u32, bytes: u32) -> Option<(u32, std::ops::Range<usize>)> {
        let (&start, data) = self.pages.range(..=offset).next_back()?;
        let at = (offset - start) as usize;
        let end = at.checked_add(bytes as usize)?;
        (end <= data.len()).then_some((start, at..end))
    }

    /// Attached memory; `None` if a byte is not attached.
    pub(super) fn read(&self, offset: u32, bytes: u32) -> Option<&[u8]> {
        let (start, span) = self.find(offset, bytes)?;
        self.pages.get(&start)?.get(span)
    }

    /// Writes attached memory; false if a byte is not attached.
    pub(super) fn write(&mut self, offset: u32, bytes: &[u8]) -> bool {
        let Some((start, span)) = self.find(offset, bytes.len() as u32) else {
            return false;
        };
        match self
            .pages
            .get_mut(&start)
            .and_then(|data| data.get_mut(span))
        {
            Some(out) => out.copy_from_slice(bytes),
            None => return false,
        }
        true
    }

    /// As [`Host::write`], seen from the next barrier on.
    pub(super) fn write_late(&mut self, offset: u32, bytes: Vec<u8>) {
        self.late.push((offset, bytes));
    }

    /// A barrier has fired, or a read of the chip must not overtake earlier writes.
    pub(super) fn settle(&mut self) {
        for (offset, bytes) in std::mem::take(&mut self.late) {
            self.write(offset, &bytes);
        }
    }

    pub(super) fn extend(&mut self, steps: impl IntoIterator<Item = HostStep>) {
        self.script.extend(steps);
    }

    /// Steps that were not reached.
    pub(super) fn left(&self) -> usize {
        self.script.len()
    }

    /// Marks left in a group, and the cycle since when.
    pub(super) fn mark(&self, group: SyncGroup) -> (u32, u64) {
        (self.marks[group as usize], self.marked[group as usize])
    }

    /// A barrier of the group used a mark up.
    pub(super) fn use_mark(&mut self, group: SyncGroup, cycle: u64) {
        let marks = &mut self.marks[group as usize];
        *marks = marks.saturating_sub(1);
        self.used[group as usize] = cycle;
    }

    /// Does what the script allows now; true if it did something.
    ///
    /// # Errors
    /// A step about memory that is not attached.
    pub(super) fn advance(&mut self, a: &Assumptions) -> Result<bool, String> {
        let mut acted = false;
        while let Some(step) = self.script.front() {
            match step {
                HostStep::Wait(group) => {
                    if self.marks[*group as usize] > 0 {
                        break;
                    }
                    let seen = self.used[*group as usize] + u64::from(a.host_poll);
                    self.now = self.now.max(seen);
                }
                HostStep::Mark(group, value) => {
                    let left = &mut self.marks[*group as usize];
                    let value = u32::from(*value);
                    *left = match a.host_mark {
                        HostMark::Replaces => value,
                        HostMark::Adds => (*left + value) & MARK_MASK,
                    };
                    self.marked[*group as usize] = self.now;
                }
                HostStep::Write { offset, bytes } => {
                    let (offset, bytes) = (*offset, bytes.clone());
                    if !self.write(offset, &bytes) {
                        return Err(format!(
                            "{} bytes at {offset:#x} are not attached",
                            bytes.len()
                        ));
                    }
                }
                HostStep::Read { offset, bytes } => {
                    let data = self
                        .read(*offset, *bytes)
                        .ok_or_else(|| format!("{bytes} bytes at {offset:#x} are not attached"))?;
                    let data = data.to_vec();
                    self.reads.push(data);
                }
            }
            self.script.pop_front();
            acted = true;
        }
        Ok(acted)
    }

    /// True if the host takes part at all.
    pub(super) fn is_used(&self) -> bool {
        let marked = self.marks != [0; 2] || self.used != [0; 2];
        marked || !self.pages.is_empty() || !self.script.is_empty()
    }

    /// What the host waits for, for the table of a deadlock.
    pub(super) fn waits(&self) -> String {
        let marks = format!("marks left: GS1 {}, GS2 {}", self.marks[0], self.marks[1]);
        match self.script.front() {
            Some(HostStep::Wait(group)) => format!("host polls for {group:?} group; {marks}"),
            Some(step) => format!("host is about to do {step:?}; {marks}"),
            None => format!("host has nothing left to do; {marks}"),
        }
    }
}
