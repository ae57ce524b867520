//! Software pipelining of a loop body for the two lanes of a worker.
//!
//! A body is a list of instructions on virtual registers, one pass of it being one vector of
//! elements. [`Schedule::of`] finds the smallest initiation interval at which both lanes and the
//! eight aux registers suffice; [`Schedule::emit`] writes fill, `rpt` loop and drain for a known
//! number of passes. Every result of an instruction can be used by the next group, and a group
//! reads what the groups before it left (`isa/execution.md` 3), so a register may be written in the
//! group of its last use.

mod allocate;

use self::allocate::allocate;
use crate::worker::Worker;
use ipucc_chip::Assumptions;
use ipucc_chip::timing::transcendental_turns;

/// Number of a virtual aux register.
pub type Reg = usize;

/// The zero register (single or pair): reads 0, costs nothing.
pub const ZERO: Reg = usize::MAX;

/// Aux registers with storage.
const REGISTERS: u32 = 8;

/// Which unit an instruction occupies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// The aux lane.
    Aux,
    /// Main lane: loads the next vector of a buffer into `def`.
    Load(usize),
    /// Main lane: stores the next vector of a buffer from the first of `uses`.
    Store(usize),
    /// Main lane, at the place that the text names.
    Main,
}

/// An instruction on virtual registers.
#[derive(Clone, Debug)]
pub struct Ins {
    /// Text with `%n` for register `n` and `%n.i` for its word `i`; empty for loads and stores.
    pub text: String,
    /// Turns of a group that contains it.
    pub turns: u32,
    /// Register it writes, wholly or in part.
    pub def: Option<Reg>,
    /// Registers it reads.
    pub uses: Vec<Reg>,
    /// Unit.
    pub unit: Unit,
}

/// One pass of a loop.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// Instructions in an order in which they could be executed.
    pub ins: Vec<Ins>,
    /// Words of each virtual register: 1 or 2.
    pub sizes: Vec<u32>,
    /// Registers that hold the same value in every pass, or accumulate.
    pub resident: Vec<Reg>,
    /// Residents whose first word is given: register, `$a` number.
    pub pins: Vec<(Reg, u32)>,
    /// Assumptions behind the turns.
    pub assumptions: Assumptions,
}

impl Body {
    /// No instructions yet.
    pub fn new(assumptions: &Assumptions) -> Body {
        Body {
            assumptions: assumptions.clone(),
            ..Body::default()
        }
    }

    /// A new virtual register.
    pub fn register(&mut self, words: u32) -> Reg {
        self.sizes.push(words);
        self.sizes.len() - 1
    }

    /// A resident at a given place.
    pub fn pin(&mut self, place: u32, words: u32) -> Reg {
        let register = self.register(words);
        self.resident.push(register);
        self.pins.push((register, place));
        register
    }

    /// Loads the next vector of a buffer.
    pub fn load(&mut self, buffer: usize, words: u32) -> Reg {
        let register = self.register(words);
        self.ins.push(Ins {
            text: String::new(),
            turns: 1,
            def: Some(register),
            uses: vec![],
            unit: Unit::Load(buffer),
        });
        register
    }

    /// Words of the argument record from `first` on, in a register.
    pub fn constant(&mut self, first: usize, words: u32) -> Reg {
        let register = self.register(words);
        for word in 0..words {
            let at = first + word as usize;
            self.ins.push(Ins {
                text: format!("ld32 %{register}.{word}, $mvertex_base, $mzero, {at}"),
                turns: 1,
                def: Some(register),
                uses: vec![],
                unit: Unit::Main,
            });
        }
        register
    }

    /// An aux instruction into `def`: the text behind its destination.
    pub fn write(&mut self, def: Reg, mnemonic: &str, sources: &str, uses: &[Reg]) {
        self.aux(&format!("{mnemonic} %{def}, {sources}"), Some(def), uses);
    }

    /// An aux instruction into a new register of `words` words.
    pub fn fresh(&mut self, words: u32, mnemonic: &str, sources: &str, uses: &[Reg]) -> Reg {
        let register = self.register(words);
        self.write(register, mnemonic, sources, uses);
        register
    }

    /// Any aux instruction.
    pub fn aux(&mut self, text: &str, def: Option<Reg>, uses: &[Reg]) {
        let mnemonic = text.split(' ').next().unwrap_or_default();
        let turns = transcendental_turns(mnemonic, &self.assumptions).unwrap_or(1);
        self.ins.push(Ins {
            text: text.to_owned(),
            turns,
            def,
            uses: uses.iter().copied().filter(|&r| r != ZERO).collect(),
            unit: Unit::Aux,
        });
    }

    /// Stores to the next vector of a buffer.
    pub fn store(&mut self, buffer: usize, register: Reg) {
        self.ins.push(Ins {
            text: String::new(),
            turns: 1,
            def: None,
            uses: vec![register],
            unit: Unit::Store(buffer),
        });
    }
}

/// How the buffers are accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// One access a group; buffers anywhere.
    Plain,
    /// Load of buffer 0 and the store in one group: they must not share a memory element.
    LoadStore,
    /// Loads of buffers 0 and 1 and the store in one group: no two may share an element, and
    /// buffer 1 is interleaved.
    TwoLoadsStore,
}

/// A pipelined loop.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Groups from one pass to the next.
    pub interval: u32,
    access: Access,
    body: Body,
    /// Group of each instruction in its pass.
    times: Vec<u32>,
    /// First word of each virtual register.
    places: Vec<u32>,
    length: u32,
}

impl Schedule {
    /// The shortest schedule of a body with this kind of access, if the registers suffice.
    pub fn of(body: &Body, access: Access) -> Option<Schedule> {
        let aux = body.ins.iter().filter(|i| i.unit == Unit::Aux).count();
        let main = body.ins.len() - aux;
        let fused = match access {
            Access::Plain => 0,
            Access::LoadStore => 1,
            Access::TwoLoadsStore => 2,
        };
        let least = aux.max(main - fused).max(1) as u32;
        let most = body.ins.len() as u32 + 4;
        // Where registers are scarce: one pass after the other, with room to load constants late.
        let apart = 4 * body.ins.len() as u32;
        (least..=most)
            .find_map(|interval| {
                // A later store may bring the loads that go with it nearer to their use.
                let latest = if access == Access::Plain { 1 } else { interval };
                (0..latest).find_map(|delay| attempt(body, access, interval, 1, delay))
            })
            .or_else(|| attempt(body, access, apart + 4, 2, 0))
            .or_else(|| attempt(body, access, apart + 4, 3, 0))
    }

    /// The first word of a register: `$a` number.
    pub fn place(&self, register: Reg) -> u32 {
        self.places[register]
    }

    /// Emits `passes` passes. `pointer` is the MRF register that walks a buffer, `store` the number
    /// of the buffer that is stored. Returns how often each of `buffers` step pointers has moved.
    ///
    /// Only bundles are emitted, so an aligned start stays aligned.
    pub fn emit(&self, out: &mut Worker, passes: u32, walk: &Walk<'_>) -> Vec<u32> {
        let mut moved = vec![0; walk.pointers.len()];
        let (interval, length) = (self.interval, self.length);
        let stages = length.div_ceil(interval);
        let total = (passes.max(1) - 1) * interval + length;
        if passes == 0 {
            return moved;
        }
        let looped = (passes + 1).saturating_sub(stages);
        if looped < 2 {
            for cycle in 0..total {
                self.group(out, cycle, passes, walk, false, &mut moved);
            }
            return moved;
        }
        let first = (stages - 1) * interval;
        for cycle in 0..first {
            self.group(out, cycle, passes, walk, false, &mut moved);
        }
        let packed = self.access != Access::Plain;
        if packed {
            let second = if self.access == Access::TwoLoadsStore {
                walk.pointers[1]
            } else {
                15
            };
            out.bundle(
                format!(
                    "tapack $m8:9, $m{}, $m{second}, $m{}",
                    walk.pointers[0], walk.pointers[walk.stored]
                ),
                "",
            );
        }
        let mut inner = Worker::new();
        let mut each = vec![0; moved.len()];
        for cycle in first..first + interval {
            // A number of passes at which this group is in the steady state.
            self.group(&mut inner, cycle, u32::MAX, walk, packed, &mut each);
        }
        out.repeat_worker(looped, &inner);
        for (sum, once) in moved.iter_mut().zip(&each) {
            *sum += once * looped;
        }
        for cycle in passes * interval..total {
            self.group(out, cycle, passes, walk, packed, &mut moved);
        }
        moved
    }

    fn group(
        &self,
        out: &mut Worker,
        cycle: u32,
        passes: u32,
        walk: &Walk<'_>,
        packed: bool,
        moved: &mut [u32],
    ) {
        let mut aux = (String::new(), 1);
        let mut mains = Vec::new();
        let (mut loads, mut stores): (Vec<(usize, Reg)>, Vec<Reg>) = (Vec::new(), Vec::new());
        for (ins, &time) in self.body.ins.iter().zip(&self.times) {
            let here = cycle >= time
                && (cycle - time).is_multiple_of(self.interval)
                && (cycle - time) / self.interval < passes;
            if !here {
                continue;
            }
            match ins.unit {
                Unit::Aux => aux = (self.render(&ins.text), ins.turns),
                Unit::Main => mains.push(self.render(&ins.text)),
                Unit::Load(buffer) => {
                    if let Some(def) = ins.def {
                        loads.push((buffer, def));
                    }
                }
                Unit::Store(_) => stores.extend(ins.uses.first().copied()),
            }
        }
        loads.sort_unstable();
        let fused = |&(buffer, _): &(usize, Reg)| match self.access {
            Access::Plain => false,
            Access::LoadStore => buffer == 0,
            Access::TwoLoadsStore => buffer <= 1,
        };
        if packed && (!stores.is_empty() || loads.iter().any(fused)) {
            let source = self.name(stores.first().copied().unwrap_or(ZERO));
            let taken: Vec<(usize, Reg)> = loads.iter().copied().filter(fused).collect();
            loads.retain(|load| !fused(load));
            stores.clear();
            mains.push(match taken[..] {
                [] => format!("st64pace {source}, $m8:9+=, $mzero, 0"),
                [(_, x)] => format!("ldst64pace {}, {source}, $m8:9+=, $mzero, 0", self.name(x)),
                [(_, x), ..] => {
                    let base = self.places[x];
                    format!(
                        "ld2xst64pace $a{base}:{}, {source}, $m8:9+=, $mzero, 0",
                        base + 3
                    )
                }
            });
        }
        for &source in &stores {
            let at = walk.stored;
            moved[at] += 1;
            mains.push(walk.store(at, &self.words(source)));
        }
        for &(buffer, target) in &loads {
            moved[buffer] += 1;
            mains.push(walk.load(buffer, &self.words(target)));
        }
        // The store and the aux member read what the group found; loads come after.
        let mut mains = mains.into_iter();
        let turns = aux.1;
        out.slow_bundle(mains.next().unwrap_or_default(), aux.0, turns);
        for main in mains {
            out.bundle(main, "");
        }
    }

    fn words(&self, register: Reg) -> Vec<u32> {
        (0..self.body.sizes[register])
            .map(|word| self.places[register] + word)
            .collect()
    }

    fn name(&self, register: Reg) -> String {
        if register == ZERO {
            return "$azeros".into();
        }
        let at = self.places[register];
        match self.body.sizes[register] {
            1 => format!("$a{at}"),
            _ => format!("$a{at}:{}", at + 1),
        }
    }

    /// The text with physical registers.
    pub fn render(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            out.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let register: Reg = rest[..digits].parse().unwrap_or(ZERO);
            rest = &rest[digits..];
            let word = rest
                .strip_prefix('.')
                .and_then(|after| after.bytes().next())
                .filter(u8::is_ascii_digit);
            if let Some(word) = word {
                out.push_str(&format!(
                    "$a{}",
                    self.places[register] + u32::from(word - b'0')
                ));
                rest = &rest[2..];
            } else {
                out.push_str(&self.name(register));
            }
        }
        out.push_str(rest);
        out
    }
}

/// How the pointers walk.
#[derive(Clone, Copy, Debug)]
pub struct Walk<'w> {
    /// MRF register of each buffer.
    pub pointers: &'w [u32],
    /// Bytes of one access to each buffer: 4 or 8.
    pub bytes: &'w [u32],
    /// The buffer that is stored.
    pub stored: usize,
}

impl Walk<'_> {
    fn load(&self, buffer: usize, words: &[u32]) -> String {
        let pointer = self.pointers[buffer];
        if self.bytes[buffer] == 8 {
            format!(
                "ld64step $a{}:{}, $mzero, $m{pointer}+=, 1",
                words[0],
                words[0] + 1
            )
        } else {
            format!("ld32step $a{}, $mzero, $m{pointer}+=, 1", words[0])
        }
    }

    fn store(&self, buffer: usize, words: &[u32]) -> String {
        let pointer = self.pointers[buffer];
        if self.bytes[buffer] == 8 {
            format!(
                "st64step $a{}:{}, $mzero, $m{pointer}+=, 1",
                words[0],
                words[0] + 1
            )
        } else {
            format!("st32step $a{}, $mzero, $m{pointer}+=, 1", words[0])
        }
    }
}

/// A schedule with this interval, aux instructions at least `spacing` groups from one another, the
/// store `delay` groups later than it could be.
fn attempt(
    body: &Body,
    access: Access,
    interval: u32,
    spacing: i64,
    delay: u32,
) -> Option<Schedule> {
    let n = body.ins.len();
    let ii = i64::from(interval);
    let slot = |time: i64| time.rem_euclid(ii) as usize;
    let mut aux = vec![false; interval as usize];
    let mut main = vec![false; interval as usize];
    let mut times: Vec<Option<i64>> = vec![None; n];
    // Last definition and first use so far.
    let mut defined: Vec<i64> = vec![-1; body.sizes.len()];
    let is_load = |ins: &Ins| matches!(ins.unit, Unit::Load(_) | Unit::Main);
    let mut fused_slot = None;
    let mut latest = 1 - spacing;
    for (index, ins) in body.ins.iter().enumerate() {
        if is_load(ins) {
            continue;
        }
        let earliest = ins
            .uses
            .iter()
            .filter(|&&r| r != ZERO)
            .map(|&r| defined[r] + 1)
            .max()
            .unwrap_or(0)
            .max(1)
            .max(if spacing > 1 { latest + spacing } else { 1 });
        let earliest = match ins.unit {
            Unit::Store(_) => earliest + i64::from(delay),
            _ => earliest,
        };
        let busy = if ins.unit == Unit::Aux {
            &mut aux
        } else {
            &mut main
        };
        let time = (earliest..earliest + ii).find(|&t| !busy[slot(t)])?;
        busy[slot(time)] = true;
        times[index] = Some(time);
        latest = time;
        if let Some(def) = ins.def {
            defined[def] = defined[def].max(time);
        }
        if matches!(ins.unit, Unit::Store(_)) {
            fused_slot = Some(time);
        }
    }
    let first_use = |register: Reg, times: &[Option<i64>]| {
        body.ins
            .iter()
            .zip(times)
            .filter(|(ins, _)| ins.uses.contains(&register))
            .filter_map(|(_, time)| *time)
            .min()
    };
    // Loads as late as they may be; those that share the group of the store together.
    let fused = |ins: &Ins| match (access, ins.unit) {
        (Access::LoadStore, Unit::Load(0)) => true,
        (Access::TwoLoadsStore, Unit::Load(b)) => b <= 1,
        _ => false,
    };
    if access != Access::Plain {
        let store = fused_slot?;
        let mut latest = i64::MAX;
        for ins in body.ins.iter().filter(|ins| fused(ins)) {
            latest = latest.min(first_use(ins.def?, &times)? - 1);
        }
        if latest == i64::MAX {
            return None;
        }
        let time = latest - (latest - store).rem_euclid(ii);
        for (index, ins) in body.ins.iter().enumerate() {
            if fused(ins) {
                times[index] = Some(time);
            }
        }
    }
    for (index, ins) in body.ins.iter().enumerate() {
        if !is_load(ins) || times[index].is_some() {
            continue;
        }
        let latest = first_use(ins.def?, &times)? - 1;
        let time = (latest - ii + 1..=latest).rev().find(|&t| !main[slot(t)])?;
        main[slot(time)] = true;
        times[index] = Some(time);
    }
    let start = times.iter().flatten().min().copied()?;
    let times: Vec<u32> = times
        .iter()
        .map(|time| time.map(|t| (t - start) as u32))
        .collect::<Option<_>>()?;
    let length = times.iter().max()? + 1;
    let places = allocate(body, access, interval, &times)?;
    Some(Schedule {
        interval,
        access,
        body: body.clone(),
        times,
        places,
        length,
    })
}
