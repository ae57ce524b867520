//! Table lookup: rows selected by indices, zero where the row is not this tile's.

use super::rows::frame;
use super::{Launch, Made, Word, anywhere, fits};
use crate::pipeline::{Access, Body, Schedule, Walk};
use crate::worker::Worker;
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::Gather;

pub(super) fn generate(gather: &Gather) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("{gather:?}"),
        reason: reason.into(),
    };
    let bytes = gather.row_bytes;
    if gather.count == 0 || gather.rows == 0 || bytes == 0 || !bytes.is_multiple_of(4) {
        return Err(no("no rows, or rows that are not whole words"));
    }
    if !fits(u64::from(gather.rows) * u64::from(bytes))
        || !fits(u64::from(gather.count) * u64::from(bytes))
        || gather.count / 6 >= 0x8000
    {
        return Err(no("table or result do not fit a tile"));
    }
    let words: u32 = if bytes.is_multiple_of(8) { 2 } else { 1 };
    let mut row = Worker::new();
    // $m3 = offset of the row, or of row 0 if the index is elsewhere; $m5 = 1 if it is here.
    row.bundle("ld32 $m3, $m1, $mzero, 0", "");
    row.bundle("ld32 $m4, $mvertex_base, $mzero, 3", "");
    row.bundle("ld32 $m6, $mvertex_base, $mzero, 4", "");
    row.bundle("sub $m3, $m3, $m4", "");
    row.bundle("cmpult $m5, $m3, $m6", "");
    row.bundle("mul $m3, $m3, $m5", "");
    row.bundle(format!("setzi $m6, {bytes}"), "");
    row.bundle("mul $m3, $m3, $m6", "");
    row.bundle("add $m3, $m3, $m0", "");
    // The mask goes to the aux registers through the result's own memory.
    row.bundle("sub $m5, $mzero, $m5", "");
    row.bundle("st32 $m5, $m2, $mzero, 0", "");
    row.bundle("ld32 $a6, $m2, $mzero, 0", "");
    row.bundle("mov $m7, $m2", "mov $a7, $a6");
    let mut body = Body::default();
    let mask = body.pin(6, words);
    let x = body.load(0, words);
    let and = if words == 2 { "and64" } else { "and" };
    let y = body.fresh(words, and, &format!("%{x}, %{mask}"), &[x, mask]);
    body.store(1, y);
    let schedule = Schedule::of(&body, Access::Plain)
        .ok_or_else(|| no("internal: more registers than there are"))?;
    let walk = Walk {
        pointers: &[3, 7],
        bytes: &[4 * words, 4 * words],
        stored: 1,
    };
    schedule.emit(&mut row, bytes / (4 * words), &walk);
    let (text, turns) = frame("gather", gather.count, &[0, 4, bytes], &row);
    let launch = Launch {
        entry: "gather",
        record: vec![
            Word::Operand(0, 0),
            Word::Operand(1, 0),
            Word::Operand(2, 0),
            Word::Constant(gather.first),
            Word::Constant(gather.rows),
        ],
        turns,
        ..Launch::default()
    };
    Ok((text, vec![launch], vec![anywhere(); 3]))
}
