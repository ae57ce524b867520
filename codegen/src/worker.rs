//! Worker code as it is generated: assembler text together with the turns it takes.
//!
//! A turn is one issue group of one worker, six tile cycles. The count comes from what is emitted
//! here, loop by loop, never from running it.

use std::fmt::Write as _;

/// The address of a pace access that does not move: stride field of `$mzero`.
pub const STAY: u32 = 1;

/// Largest immediate count of `rpt`.
const MOST_PASSES: u32 = 4095;

/// A straight-line piece of worker code with counted loops.
#[derive(Clone, Debug, Default)]
pub struct Worker {
    text: String,
    turns: u64,
}

impl Worker {
    /// No code.
    pub fn new() -> Worker {
        Worker::default()
    }

    /// Turns from the first group to the last, both included.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// One instruction that issues alone.
    pub fn solo(&mut self, instruction: impl AsRef<str>) {
        let _ = writeln!(self.text, "        {}", instruction.as_ref());
        self.turns += 1;
    }

    /// A bundle; an empty half is filled with `nop` or `fnop`.
    pub fn bundle(&mut self, main: impl AsRef<str>, aux: impl AsRef<str>) {
        let (main, aux) = (main.as_ref(), aux.as_ref());
        let main = if main.is_empty() { "nop" } else { main };
        let aux = if aux.is_empty() { "fnop" } else { aux };
        let _ = writeln!(self.text, "        {{ {main} ; {aux} }}");
        self.turns += 1;
    }

    /// A bundle whose slower member takes `turns` turns.
    pub fn slow_bundle(&mut self, main: impl AsRef<str>, aux: impl AsRef<str>, turns: u32) {
        self.bundle(main, aux);
        self.turns += u64::from(turns) - 1;
    }

    /// `count` passes over a body of bundles (`rpt`); nothing if `count` is 0.
    ///
    /// The body must start at a multiple of 8, so the caller keeps the number of words before it
    /// even ([`Worker::words`]).
    pub fn repeat(&mut self, count: u32, body: impl FnOnce(&mut Worker)) {
        let mut inner = Worker::new();
        body(&mut inner);
        self.repeat_worker(count, &inner);
    }

    /// [`Worker::repeat`] of code that exists already.
    pub fn repeat_worker(&mut self, count: u32, inner: &Worker) {
        if count == 0 {
            return;
        }
        if count == 1 {
            self.text.push_str(&inner.text);
            self.turns += inner.turns;
            return;
        }
        debug_assert!(
            self.words().is_multiple_of(2),
            "a rpt body must start at a multiple of 8"
        );
        // The immediate has 12 bits: long loops are several, so that no register is needed.
        let mut left = count;
        while left > 0 {
            let passes = left.min(MOST_PASSES);
            left -= passes;
            self.bundle(format!("rpt {passes}, ((8f - 7f) / 8) - 1"), "");
            let _ = writeln!(self.text, "7:\n{}8:", inner.text);
            self.turns += u64::from(passes) * inner.turns;
        }
    }

    /// A `rpt` of as many passes as `$m(register)` says (its low 16 bits); the caller adds the time
    /// of the passes ([`Worker::pass_time`]). Words before it must be even.
    pub fn repeat_by(&mut self, register: u32, inner: &Worker) {
        self.bundle(format!("rpt $m{register}, ((8f - 7f) / 8) - 1"), "");
        let _ = writeln!(self.text, "7:\n{}8:", inner.text);
    }

    /// Turns that pass in loops whose counts are in registers.
    pub fn pass_time(&mut self, turns: u64) {
        self.turns += turns;
    }

    /// Code that begins at `label` and runs `count` times by its own branch. The caller has made
    /// the number of words before it even.
    pub fn looped(&mut self, body: &Worker, count: u32, label: &str) {
        let _ = write!(self.text, "{label}:\n{}", body.text);
        self.turns += u64::from(count) * body.turns;
    }

    /// Words so far, from an 8-byte aligned start.
    pub fn words(&self) -> usize {
        self.text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.ends_with(':') && !line.starts_with('.'))
            .map(|line| if line.starts_with('{') { 2 } else { 1 })
            .sum()
    }

    /// A 32-bit constant in an MRF register, always two turns.
    pub fn constant_m(&mut self, register: u32, value: u32) {
        self.solo(format!("setzi $m{register}, {:#x}", value & 0xf_ffff));
        self.solo(format!(
            "or $m{register}, $m{register}, {:#x}",
            value & 0xfff0_0000
        ));
    }

    /// `$m(register) = $m(factor) * value`.
    pub fn times(&mut self, register: u32, factor: u32, value: u32) {
        if value < 0x8000 {
            self.solo(format!("mul $m{register}, $m{factor}, {value}"));
        } else {
            self.constant_m(register, value);
            self.solo(format!("mul $m{register}, $m{factor}, $m{register}"));
        }
    }

    /// A 32-bit constant in an ARF register, always two turns.
    pub fn constant_a(&mut self, register: u32, value: u32) {
        self.solo(format!("setzi $a{register}, {:#x}", value & 0xf_ffff));
        self.solo(format!(
            "or $a{register}, $a{register}, {:#x}",
            value & 0xfff0_0000
        ));
    }

    /// `$m(first)` = the first of the calling worker's items of `items` ([`share`]), `$m(number)` =
    /// its number; `scratch` is overwritten.
    pub fn first_item(&mut self, number: u32, first: u32, scratch: u32, items: u32) {
        self.solo(format!("get $m{number}, $WSR"));
        self.solo(format!("and $m{number}, $m{number}, 7"));
        self.times(first, number, items / 6);
        let more = items % 6;
        if more > 0 {
            self.solo(format!("min $m{scratch}, $m{number}, {more}"));
            self.solo(format!("add $m{first}, $m{first}, $m{scratch}"));
        }
    }

    /// Appends other code.
    pub fn append(&mut self, other: &Worker) {
        self.text.push_str(&other.text);
        self.turns += other.turns;
    }
}

/// The text of an entry that deals `items` to its workers, and their turns: the head, then
/// `path(count, label of its loop)` for the worker's number of items. The head leaves the worker's
/// number in `$m(number)`; paths start at a multiple of 8.
pub fn entry(
    name: &str,
    mut head: Worker,
    number: u32,
    items: u32,
    path: impl Fn(u32, &str) -> Worker,
) -> (String, [u64; 6]) {
    let (each, more) = (items / 6, items % 6);
    let mut text = format!("        .text\n        .globl {name}\n        .p2align 3\n{name}:\n");
    if more > 0 {
        head.solo(format!("cmpult $m{number}, $m{number}, {more}"));
        head.solo(format!("brz $m{number}, .Lshort"));
    }
    let branched = head.turns();
    if head.words() % 2 == 1 {
        head.solo("nop");
    }
    let long = path(each + u32::from(more > 0), ".Llong_row");
    let _ = write!(text, "{}{}", head.text(), long.text());
    if more == 0 {
        return (text, [head.turns() + long.turns(); 6]);
    }
    let short = path(each, ".Lshort_row");
    let _ = write!(text, "        .p2align 3\n.Lshort:\n{}", short.text());
    let turns = std::array::from_fn(|w| {
        if share(items, w as u32).1 > each {
            head.turns() + long.turns()
        } else {
            branched + short.turns()
        }
    });
    (text, turns)
}

/// How `count` items are dealt to six workers in contiguous runs: (first, number) of worker `w`.
pub fn share(count: u32, w: u32) -> (u32, u32) {
    let (each, more) = (count / 6, count % 6);
    (each * w + w.min(more), each + u32::from(w < more))
}
