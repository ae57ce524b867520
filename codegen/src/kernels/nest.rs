//! Loops around the body of a kernel: one dimension is dealt to the six workers, the others are
//! loops of each worker.
//!
//! Pointers stand in `$m0..` and are the first words of the argument record. A body is bundles
//! only, leaves the pointers as it found them, and may use the MRF registers below
//! `$m(11 - loops)` ([`Nest::registers`]) and all aux registers; what [`Nest::setup`] puts into registers stays.

use super::{Launch, Word};
use crate::worker::{Worker, share};
use smallvec::SmallVec;
use std::fmt::Write as _;

/// One loop.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Dim {
    /// Passes.
    pub count: u32,
    /// Bytes from pass to pass, by pointer.
    pub strides: SmallVec<[i32; 4]>,
}

impl Dim {
    pub(super) fn new(count: u32, strides: &[i32]) -> Dim {
        Dim {
            count,
            strides: strides.into(),
        }
    }
}

/// Drops loops of one pass and joins neighbours that every pointer walks as one.
pub(super) fn joined(dims: &[Dim]) -> Vec<Dim> {
    let mut out: Vec<Dim> = Vec::new();
    for dim in dims.iter().filter(|dim| dim.count != 1) {
        match out.last_mut() {
            Some(last)
                if last
                    .strides
                    .iter()
                    .zip(&dim.strides)
                    .all(|(&o, &i)| i64::from(o) == i64::from(i) * i64::from(dim.count)) =>
            {
                last.count *= dim.count;
                last.strides.clone_from(&dim.strides);
            }
            _ => out.push(dim.clone()),
        }
    }
    out
}

/// Text of a kernel and the turns of its workers.
pub(super) type Code = (String, [u64; 6]);

/// The loops of a kernel.
pub(super) struct Nest {
    /// Entry, and prefix of labels.
    pub name: &'static str,
    /// Pointers: words 0.. of the record, in `$m0..`.
    pub pointers: u32,
    /// Outermost first.
    pub dims: Vec<Dim>,
    /// Bundles that each worker runs once; they may change no pointer.
    pub setup: Worker,
    /// MRF registers that set-up and body use, pointers included: `$m0` to `$m(registers - 1)`.
    pub registers: u32,
}

impl Nest {
    /// Code and turns of the workers; the loop that loads them most evenly is dealt.
    pub(super) fn emit(&self, body: &Worker) -> Result<Code, String> {
        let mut dims = joined(&self.dims);
        if dims.is_empty() {
            dims.push(self.once());
        }
        let waste = |dim: &Dim| {
            let each = u64::from(dim.count.div_ceil(6));
            each * 0x1_0000_0000 / u64::from(dim.count)
        };
        let dealt = (0..dims.len())
            .min_by_key(|&index| (waste(&dims[index]), index))
            .unwrap_or(0);
        let dim = dims.remove(dealt);
        let scratch = self.scratch(dims.len() + 1)?;
        let (each, more) = (dim.count / 6, dim.count % 6);
        let mut head = self.head(&dim, scratch)?;
        let exit = format!(".L{}_exit", self.name);
        if more > 0 {
            head.bundle(format!("cmpult $m11, $m{scratch}, {more}"), "");
        }
        match (each, more) {
            (0, _) => head.bundle(format!("brz $m11, {exit}"), ""),
            (_, 0) => {}
            _ => head.bundle(format!("add $m11, $m11, {each}"), ""),
        }
        let idle = head.turns() + 1;
        match more {
            0 => head.bundle(format!("setzi $m11, {}", each - 1), ""),
            _ => head.bundle("add $m11, $m11, -1", ""),
        }
        head.append(&self.setup);
        dims.insert(0, dim.clone());
        let (inner, turns) = self.level(&dims, 0, scratch, "", body);
        let text = format!(
            "{}{}{inner}{exit}:\n        exitz $mzero\n",
            self.title(),
            head.text()
        );
        let turns = std::array::from_fn(|w| match share(dim.count, w as u32).1 {
            0 => idle,
            count => head.turns() + u64::from(count) * turns + 1,
        });
        Ok((text, turns))
    }

    /// As [`Nest::emit`] for a body that walks `dim` itself, given its number of passes: either
    /// `dim` is dealt or another loop, whichever is faster.
    pub(super) fn emit_walk(
        &self,
        dim: &Dim,
        body: impl Fn(u32) -> Result<Worker, String>,
    ) -> Result<Code, String> {
        let dealt = self.emit_dealt(dim, &body)?;
        if joined(&self.dims).is_empty() {
            return Ok(dealt);
        }
        let whole = self.emit(&body(dim.count)?)?;
        let most = |code: &Code| code.1.iter().copied().max();
        Ok(if most(&whole) <= most(&dealt) {
            whole
        } else {
            dealt
        })
    }

    /// `dim` is dealt, every worker runs all loops around it.
    fn emit_dealt(
        &self,
        dim: &Dim,
        body: &dyn Fn(u32) -> Result<Worker, String>,
    ) -> Result<Code, String> {
        let dims = joined(&self.dims);
        let scratch = self.scratch(dims.len().max(1))?;
        let (each, more) = (dim.count / 6, dim.count % 6);
        let mut head = self.head(dim, scratch)?;
        let mut paths = vec![each + u32::from(more > 0)];
        if more > 0 {
            head.bundle(format!("cmpult $m11, $m{scratch}, {more}"), "");
        }
        head.append(&self.setup);
        if more > 0 {
            head.bundle(format!("brz $m11, .L{}_short", self.name), "");
            paths.push(each);
        }
        let mut text = format!("{}{}", self.title(), head.text());
        let mut turns = vec![];
        for (index, &count) in paths.iter().enumerate() {
            let mut path = Worker::new();
            let prefix = if index == 0 { "long" } else { "short" };
            if index == 1 {
                let _ = writeln!(text, "        .p2align 3\n.L{}_short:", self.name);
            }
            let mut inside = (String::new(), 0);
            if count > 0 {
                let body = body(count)?;
                if dims.is_empty() {
                    path.append(&body);
                } else {
                    path.bundle(format!("setzi $m11, {}", dims[0].count - 1), "");
                    let (inner, pass) = self.level(&dims, 0, scratch, prefix, &body);
                    inside = (inner, u64::from(dims[0].count) * pass);
                }
            }
            let _ = writeln!(text, "{}{}        exitz $mzero", path.text(), inside.0);
            turns.push(head.turns() + path.turns() + inside.1 + 1);
        }
        let turns = std::array::from_fn(|w| {
            turns[usize::from(more > 0 && share(dim.count, w as u32).1 == each)]
        });
        Ok((text, turns))
    }

    fn once(&self) -> Dim {
        Dim::new(1, &vec![0; self.pointers as usize])
    }

    /// The register of addresses and numbers when there are so many loops.
    fn scratch(&self, loops: usize) -> Result<u32, String> {
        match 11u32.checked_sub(loops as u32) {
            Some(scratch) if scratch >= self.registers.max(self.pointers + 2) => Ok(scratch),
            _ => Err("more loops than there are registers".into()),
        }
    }

    fn title(&self) -> String {
        format!(
            "        .text\n        .globl {name}\n        .p2align 3\n{name}:\n",
            name = self.name
        )
    }

    /// Pointers moved to the worker's first pass of `dim`; its number stays in `$m(scratch)`.
    fn head(&self, dim: &Dim, scratch: u32) -> Result<Worker, String> {
        let (each, more) = (dim.count / 6, dim.count % 6);
        if each >= 0x8000 || self.dims.iter().any(|dim| dim.count >= 1 << 20) {
            return Err("a loop of more passes than its counter takes".into());
        }
        let mut head = Worker::new();
        for pointer in 0..self.pointers {
            head.bundle(
                format!("ld32 $m{pointer}, $mvertex_base, $mzero, {pointer}"),
                "",
            );
        }
        let start = scratch - 1;
        head.bundle(format!("get $m{scratch}, $WSR"), "");
        head.bundle(format!("and $m{scratch}, $m{scratch}, 7"), "");
        if dim.count == 1 || dim.strides.iter().all(|&bytes| bytes == 0) {
            return Ok(head);
        }
        head.bundle(format!("mul $m{start}, $m{scratch}, {each}"), "");
        if more > 0 {
            head.bundle(format!("min $m11, $m{scratch}, {more}"), "");
            head.bundle(format!("add $m{start}, $m{start}, $m11"), "");
        }
        for (pointer, &bytes) in dim.strides.iter().enumerate() {
            if bytes == 0 {
                continue;
            }
            if (0..0x8000).contains(&bytes) {
                head.bundle(format!("mul $m11, $m{start}, {bytes}"), "");
            } else {
                head.constant_m(11, bytes as u32);
                head.bundle(format!("mul $m11, $m11, $m{start}"), "");
            }
            head.bundle(format!("add $m{pointer}, $m{pointer}, $m11"), "");
        }
        Ok(head)
    }

    /// The loop `level` and those inside it: its text and the turns of one pass.
    fn level(
        &self,
        dims: &[Dim],
        level: usize,
        scratch: u32,
        path: &str,
        body: &Worker,
    ) -> (String, u64) {
        let counter = 11 - level;
        let label = format!(".L{}_{path}{level}", self.name);
        let mut text = format!("{label}:\n");
        let mut turns = 0;
        let mut moved: SmallVec<[i64; 4]> = SmallVec::from_elem(0, self.pointers as usize);
        if let Some(next) = dims.get(level + 1) {
            let mut set = Worker::new();
            set.bundle(format!("setzi $m{}, {}", counter - 1, next.count - 1), "");
            let (inner, pass) = self.level(dims, level + 1, scratch, path, body);
            text.push_str(set.text());
            text.push_str(&inner);
            turns += set.turns() + u64::from(next.count) * pass;
            for (moved, &stride) in moved.iter_mut().zip(&next.strides) {
                *moved = i64::from(next.count) * i64::from(stride);
            }
        } else {
            text.push_str(body.text());
            turns += body.turns();
        }
        let mut end = Worker::new();
        for (pointer, (&stride, &moved)) in dims[level].strides.iter().zip(&moved).enumerate() {
            add(&mut end, pointer as u32, i64::from(stride) - moved, scratch);
        }
        end.bundle(format!("brnzdec $m{counter}, {label}"), "");
        text.push_str(end.text());
        (text, turns + end.turns())
    }

    /// A launch of this nest with pointers `offset` bytes into their operands.
    pub(super) fn launch(&self, turns: [u64; 6], pointers: &[(usize, u32)]) -> Launch {
        Launch {
            entry: self.name,
            record: pointers
                .iter()
                .map(|&(operand, offset)| Word::Operand(operand, offset))
                .collect(),
            turns,
            ..Launch::default()
        }
    }
}

/// `$m(register) += bytes`, in bundles; `scratch` is overwritten where the number is large.
pub(super) fn add(out: &mut Worker, register: u32, bytes: i64, scratch: u32) {
    if bytes == 0 {
        return;
    }
    if (-0x8000..0x8000).contains(&bytes) {
        out.bundle(format!("add $m{register}, $m{register}, {bytes}"), "");
    } else {
        out.constant_m(scratch, bytes as u32);
        out.bundle(format!("add $m{register}, $m{register}, $m{scratch}"), "");
    }
}
