//! Strided copies inside a tile.
//!
//! The innermost loop moves words or double words with constant strides; the longest of the other
//! dimensions is dealt to the workers, the rest are launches of their own.

use super::{Launch, Made, Word, anywhere, fits};
use crate::pipeline::{Access, Body, Schedule, Walk};
use crate::worker::{Worker, entry};
use ipucc_tile::cost::NoKernel;
use ipucc_tile::kernel::{Copy, CopyDim};

/// Most launches of one call.
const MAX_LAUNCHES: u32 = 256;

const MANY: &str = "more than 256 launches; hint: fewer, longer dimensions";

pub(super) fn generate(copy: &Copy, relaxed: bool) -> Result<Made, NoKernel> {
    let no = |reason: &str| NoKernel {
        what: format!("copy of {} bytes over {:?}", copy.bytes, copy.dims),
        reason: reason.into(),
    };
    let total = copy
        .dims
        .iter()
        .map(|dim| u64::from(dim.count))
        .product::<u64>()
        * u64::from(copy.bytes);
    if total == 0 || !fits(total) {
        return Err(no("it has no bytes, or more than fit a tile"));
    }
    let mut dims: Vec<CopyDim> = copy.dims.iter().copied().filter(|d| d.count > 1).collect();
    if copy.bytes == 2 {
        // Halves are stored in pairs: some dimension must put them side by side.
        let side = dims
            .iter()
            .position(|d| d.destination_bytes == 2 && d.count.is_multiple_of(2));
        let Some(side) = side else {
            return Err(no(
                "halves that do not come to stand side by side in pairs; hint: pad the innermost \
                 axis of the destination to an even extent",
            ));
        };
        let inner = dims.remove(side);
        let whole = dims
            .iter()
            .all(|d| d.destination_bytes % 4 == 0 && d.source_bytes % 2 == 0);
        if !whole || inner.source_bytes % 2 != 0 {
            return Err(no("strides that are not whole words in the destination"));
        }
        if dims.is_empty() {
            dims.push(CopyDim {
                count: 1,
                source_bytes: 0,
                destination_bytes: 0,
            });
        }
        return launches(inner, dims, 2, false).ok_or_else(|| no(MANY));
    }
    if !copy.bytes.is_multiple_of(4) {
        return Err(no("pieces that are neither halves nor whole words"));
    }
    let strides_by = |unit: i32| {
        dims.iter()
            .all(|d| d.source_bytes % unit == 0 && d.destination_bytes % unit == 0)
    };
    let unit: u32 = match copy.bytes.is_multiple_of(8) && strides_by(8) {
        true => 8,
        false if strides_by(4) => 4,
        false => return Err(no("strides that are not whole words")),
    };
    if copy.bytes > unit {
        dims.push(CopyDim {
            count: copy.bytes / unit,
            source_bytes: unit as i32,
            destination_bytes: unit as i32,
        });
    }
    let inner = dims.pop().unwrap_or(CopyDim {
        count: 1,
        source_bytes: unit as i32,
        destination_bytes: unit as i32,
    });
    let contiguous = inner.source_bytes == unit as i32 && inner.destination_bytes == unit as i32;
    let fast = !relaxed && contiguous && unit == 8;
    launches(inner, dims, unit, fast).ok_or_else(|| no(MANY))
}

/// Code for the inner loop and the dimension that is dealt, launches for the rest; `None` if there
/// are too many.
fn launches(inner: CopyDim, mut dims: Vec<CopyDim>, unit: u32, fast: bool) -> Option<Made> {
    // The longest other dimension goes to the workers.
    let dealt = dims
        .iter()
        .enumerate()
        .max_by_key(|(index, dim)| (dim.count, usize::MAX - index))
        .filter(|(_, dim)| unit == 2 || dim.count >= 6 || dim.count > inner.count)
        .map(|(index, _)| index);
    let rows = dealt.map(|index| dims.remove(index));
    let outer: u64 = dims.iter().map(|dim| u64::from(dim.count)).product();
    if outer > u64::from(MAX_LAUNCHES) {
        return None;
    }
    let (text, turns) = code(inner, rows, unit, fast);
    let launches = (0..outer as u32)
        .map(|point| {
            let (mut from, mut to, mut rest) = (0u32, 0u32, point);
            for dim in dims.iter().rev() {
                let index = (rest % dim.count) as i32;
                rest /= dim.count;
                from = from.wrapping_add_signed(index * dim.source_bytes);
                to = to.wrapping_add_signed(index * dim.destination_bytes);
            }
            Launch {
                entry: "copy",
                record: vec![Word::Operand(0, from), Word::Operand(1, to)],
                turns,
                ..Launch::default()
            }
        })
        .collect();
    let mut needs = vec![anywhere(); 2];
    if fast {
        needs[0].apart_from = 0b10;
        needs[1].apart_from = 0b01;
    }
    Some((text, launches, needs))
}

fn code(inner: CopyDim, rows: Option<CopyDim>, unit: u32, fast: bool) -> (String, [u64; 6]) {
    let step = rows.unwrap_or(inner);
    let mut head = Worker::new();
    head.bundle("ld32 $m0, $mvertex_base, $mzero, 0", "");
    head.bundle("ld32 $m1, $mvertex_base, $mzero, 1", "");
    head.first_item(2, 3, 4, step.count);
    for (pointer, bytes) in [(0, step.source_bytes), (1, step.destination_bytes)] {
        head.constant_m(4, bytes as u32);
        head.bundle("mul $m4, $m3, $m4", "");
        head.bundle(format!("add $m{pointer}, $m{pointer}, $m4"), "");
    }
    // Strides of the inner loop in units.
    head.constant_m(6, (inner.source_bytes / unit as i32) as u32);
    head.constant_m(7, (inner.destination_bytes / unit as i32) as u32);
    let mut body = Body::default();
    let x = body.load(0, (unit / 4).max(1));
    body.store(1, x);
    let access = if fast {
        Access::LoadStore
    } else {
        Access::Plain
    };
    let schedule = Schedule::of(&body, access);
    let line = |out: &mut Worker, pointers: [u32; 2], count: u32| {
        let unit_strides =
            inner.source_bytes == unit as i32 && inner.destination_bytes == unit as i32;
        if unit == 2 {
            halves(out, pointers, count);
            return;
        }
        match &schedule {
            Some(schedule) if unit_strides => {
                let walk = Walk {
                    pointers: &pointers,
                    bytes: &[unit, unit],
                    stored: 1,
                };
                schedule.emit(out, count, &walk);
            }
            _ => {
                let (load, store, register) = if unit == 8 {
                    ("ld64step", "st64step", "$a0:1")
                } else {
                    ("ld32step", "st32step", "$a0")
                };
                let [from, to] = pointers;
                out.repeat(count, |body| {
                    body.bundle(format!("{load} {register}, $mzero, $m{from}+=, $m6"), "");
                    body.bundle(format!("{store} {register}, $mzero, $m{to}+=, $m7"), "");
                });
            }
        }
    };
    entry("copy", head, 2, step.count, |count, label| {
        let mut out = Worker::new();
        match rows {
            None => line(&mut out, [0, 1], count),
            Some(_) if count == 0 => {}
            Some(rows) => {
                out.constant_m(11, count - 1);
                let mut row = Worker::new();
                row.bundle("mov $m2, $m0", "");
                row.bundle("mov $m3, $m1", "");
                line(&mut row, [2, 3], inner.count);
                for (pointer, bytes) in [(0, rows.source_bytes), (1, rows.destination_bytes)] {
                    row.constant_m(4, bytes as u32);
                    row.bundle(format!("add $m{pointer}, $m{pointer}, $m4"), "");
                }
                row.bundle(format!("brnzdec $m11, {label}"), "");
                out.looped(&row, count, label);
            }
        }
        out.solo("exitz $mzero");
        out
    })
}

/// `count` halves, an even number, `$m6` halves apart: two loads and a store a pair.
fn halves(out: &mut Worker, [from, to]: [u32; 2], count: u32) {
    let load = |register: u32| format!("ldb16step $a{register}, $mzero, $m{from}+=, $m6");
    let store = format!("st32step $a2, $mzero, $m{to}+=, 1");
    const JOIN: &str = "sort4x16lo $a2, $a0, $a1";
    out.bundle(load(0), "");
    out.bundle(load(1), "");
    out.repeat(count / 2 - 1, |body| {
        body.bundle(load(0), JOIN);
        body.bundle(load(1), "");
        body.bundle(&store, "");
    });
    out.bundle("", JOIN);
    out.bundle(&store, "");
}
