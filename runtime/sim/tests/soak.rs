//! Nothing that a tile holds makes the simulator panic or hang: random images, random exchange rows,
//! random host packets, for `IPUCC_SOAK_SECONDS` seconds (5 without it). A case is a number: when one
//! fails it is named, and `IPUCC_SOAK_CASE=N` runs it alone.

use ipucc_chip::memory::{BASE, EXECUTABLE_END, INTERLEAVED_BASE, SIZE};
use ipucc_chip::{Assumptions, Chip, LogicalTile};
use ipucc_machine::{Group, Inst, Op, OperandKind};
use ipucc_sim::{AmpMode, Failure, HostStep, Options, RunReport, Simulator, SyncGroup};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A generator of numbers (xorshift with a multiplication).
struct Random(u64);

impl Random {
    fn new(case: u64) -> Random {
        let mut random = Random(case.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.next();
        random.next();
        random
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn word(&mut self) -> u32 {
        (self.next() >> 32) as u32
    }

    fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.word()) * u64::from(bound)) >> 32) as u32
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u32) as usize]
    }

    /// An address: mostly populated and aligned.
    fn address(&mut self) -> u32 {
        match self.below(8) {
            0 => self.word(),
            1 => self.of(&[
                BASE,
                EXECUTABLE_END - 8,
                INTERLEAVED_BASE,
                BASE + SIZE - 8,
                0,
                4,
            ]),
            2 => BASE + self.below(SIZE),
            3..5 => BASE + self.below(0x400) * 4,
            _ => 0x60000 + self.below(0x4000) * 8,
        }
    }

    fn operand(&mut self, kind: OperandKind) -> u32 {
        match kind {
            OperandKind::Simm(bits) | OperandKind::Zimm(bits) => {
                let value = if self.one_in(2) {
                    self.below(8)
                } else {
                    self.word()
                };
                let shift = 32 - u32::from(bits).min(32);
                match kind {
                    OperandKind::Simm(_) => ((value << shift) as i32 >> shift) as u32,
                    _ => value << shift >> shift,
                }
            }
            OperandKind::Target19 | OperandKind::Target20 => BASE + 4 * self.below(0x200),
            OperandKind::Rel16 | OperandKind::Rel20 => self.below(0x1_0000),
            OperandKind::Immz12 => self.word() & 0xfff0_0000 | self.below(0x1000),
            OperandKind::RptBody => self.below(16),
            kind if kind.is_register() => self.below(16),
            _ => self.below(64),
        }
    }

    /// An instruction that can be encoded; `nop` if luck fails.
    fn inst(&mut self, ops: &[Op]) -> Option<Inst> {
        for _ in 0..8 {
            let op = self.of(ops);
            let kinds = op.info().operands;
            let mut operands: Vec<u32> = kinds.iter().map(|o| self.operand(o.kind)).collect();
            for (operand, info) in operands.iter_mut().zip(kinds) {
                match info.kind {
                    OperandKind::MPair | OperandKind::APair => *operand &= !1,
                    OperandKind::AQuad => *operand &= !3,
                    _ => {}
                }
            }
            if let Ok(inst) = Inst::new(op, &operands) {
                return Some(inst);
            }
        }
        None
    }

    /// Words of a program.
    fn program(&mut self, words: usize, ops: &[Op]) -> Vec<u32> {
        let mut out = Vec::with_capacity(words + 4);
        while out.len() < words {
            let first = self.inst(ops);
            let second = self.inst(ops);
            let done = match (self.below(16), first, second) {
                (0, _, _) => false,
                (1..6, Some(main), Some(aux)) => {
                    Group::Bundle { main, aux }.encode(&mut out).is_ok()
                }
                (_, Some(inst), _) if inst.op == Op::SendPicP => {
                    if out.len() % 2 == 1 {
                        out.push(0x19e0_0000);
                    }
                    Group::SendPicP(inst).encode(&mut out).is_ok()
                }
                (_, Some(inst), _) => Group::Solo(inst).encode(&mut out).is_ok(),
                _ => false,
            };
            if !done {
                let word = self.word();
                out.push(word);
            }
        }
        out
    }
}

const LIMIT: u64 = 30_000;

fn simulator(random: &mut Random, tiles: u16) -> (Simulator, bool) {
    let mut assumptions = Assumptions::default();
    // Now and then other values of the assumptions.
    let often = random.one_in(3);
    for info in Assumptions::TABLE {
        if often && random.one_in(20) {
            let others: Vec<&str> = info.alternatives.split([',', ';']).map(str::trim).collect();
            let value = if random.one_in(2) {
                random.of(&others).to_owned()
            } else {
                random.below(200).to_string()
            };
            // What is no value is refused, which is fine here.
            let _ = assumptions.set(info.name, &value);
        }
    }
    let options = Options {
        cycle_limit: LIMIT,
        amp: random.of(&[AmpMode::Exact, AmpMode::Exact, AmpMode::Fast]),
        trace: random.one_in(4),
        record_launches: random.one_in(4),
    };
    let chip = Chip::first(tiles).expect("a chip");
    let changed = assumptions != Assumptions::default();
    let simulator = Simulator::new(chip, assumptions, options).expect("memory");
    (simulator, changed)
}

fn put(simulator: &mut Simulator, tile: u16, address: u32, words: &[u32]) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    simulator
        .write(LogicalTile(tile), address, &bytes)
        .expect("populated");
}

/// Everything is random.
fn image(random: &mut Random, simulator: &mut Simulator, tiles: u16) {
    let all: Vec<Op> = Op::ALL.to_vec();
    let supervisor: Vec<Op> = all
        .iter()
        .copied()
        .filter(|op| op.info().table != ipucc_machine::Table::Worker)
        .collect();
    let worker: Vec<Op> = all
        .iter()
        .copied()
        .filter(|op| op.info().table != ipucc_machine::Table::Supervisor)
        .collect();
    for tile in 0..tiles {
        let ops = if random.one_in(4) { &all } else { &supervisor };
        let mut code = Vec::new();
        // Registers that hold something, and often a launch of real worker code.
        for register in 0..10 {
            let value = random.address() & 0xf_ffff;
            code.push(0x1900_0000 | register << 20 | value);
        }
        if random.one_in(2) {
            let launch = "setzi $m0, 0x50000\nsetzi $m1, 0x60000\nrunall $m0, $m1, 2\nsync 2\n";
            code.extend(assemble(launch));
        }
        code.extend(random.program(60, ops));
        put(simulator, tile, BASE, &code);
        let program = random.program(200, &worker);
        put(simulator, tile, 0x50000, &program);
        let data: Vec<u32> = (0..512)
            .map(|_| {
                if random.one_in(2) {
                    random.address()
                } else {
                    random.word()
                }
            })
            .collect();
        put(simulator, tile, 0x60000, &data);
        put(simulator, tile, INTERLEAVED_BASE, &data);
    }
}

/// Workers that mostly stay alive: no jumps but loops, loads and stores near addresses that exist.
fn tame(random: &mut Random, simulator: &mut Simulator, tiles: u16) {
    let calm: Vec<Op> = Op::ALL
        .iter()
        .copied()
        .filter(|op| {
            let info = op.info();
            info.table != ipucc_machine::Table::Supervisor
                && !info.flags.control
                && !info.flags.system
        })
        .collect();
    let arithmetic: Vec<Op> = calm
        .iter()
        .copied()
        .filter(|op| !op.info().flags.load && !op.info().flags.store)
        .collect();
    for tile in 0..tiles {
        let launch = "setzi $m0, 0x50000\nsetzi $m1, 0x60000\nrunall $m0, $m1, 2\nsync 2\nbri 0\n";
        put(simulator, tile, BASE, &assemble(launch));
        let mut code = Vec::new();
        for _ in 0..1 + random.below(20) {
            for register in 0..8 {
                let value = match register {
                    0..2 => 0x60000 + 16 * random.below(2000),
                    2..4 => INTERLEAVED_BASE + 16 * random.below(2000),
                    _ => random.below(4),
                };
                code.push(0x1900_0000 | register << 20 | value);
            }
            let memory = random.below(4) as usize;
            for _ in 0..memory {
                let Some(inst) = random.inst(&calm) else {
                    continue;
                };
                // The first register that is used is the base, the others are small.
                let mut operands = inst.operands;
                let mut based = false;
                for (operand, info) in operands.iter_mut().zip(inst.op.info().operands) {
                    match info.kind {
                        OperandKind::Simm(_) | OperandKind::Zimm(_) => *operand = random.below(4),
                        OperandKind::M if info.role != ipucc_machine::Role::Def => {
                            *operand = random.below(4) + if based { 4 } else { 0 };
                            based = true;
                        }
                        _ => {}
                    }
                }
                let used = inst.op.info().operands.len();
                let inst = Inst::new(inst.op, &operands[..used]).unwrap_or(inst);
                let group = Group::Solo(inst);
                if group.encode(&mut code).is_err() {
                    code.push(0x19e0_0000);
                }
            }
            for _ in 0..10 {
                let pair = (random.inst(&arithmetic), random.inst(&arithmetic));
                let done = match pair {
                    (Some(main), Some(aux)) => {
                        Group::Bundle { main, aux }.encode(&mut code).is_ok()
                            || Group::Solo(main).encode(&mut code).is_ok()
                    }
                    (Some(inst), None) | (None, Some(inst)) => {
                        Group::Solo(inst).encode(&mut code).is_ok()
                    }
                    _ => false,
                };
                if !done {
                    code.push(0x19e0_0000);
                }
            }
        }
        code.extend(worker_words("exitz $mzero"));
        put(simulator, tile, 0x50000, &code);
        let data: Vec<u32> = (0..16384).map(|_| random.word()).collect();
        put(simulator, tile, 0x60000, &data);
        put(simulator, tile, INTERLEAVED_BASE, &data);
    }
}

fn worker_words(text: &str) -> Vec<u32> {
    assemble(&format!(".worker\n{text}\n"))
}

fn assemble(text: &str) -> Vec<u32> {
    let options = ipucc_machine::asm::Options {
        file: "soak".into(),
        context: ipucc_machine::Context::Supervisor,
    };
    let assembly = ipucc_machine::asm::assemble(text, &options).expect("right");
    let bytes = &assembly.object.sections[".text"].bytes;
    let words = bytes.chunks(4);
    words
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect()
}

/// Every tile enters a phase with a row of exchange instructions; several phases.
fn rows(random: &mut Random, simulator: &mut Simulator, tiles: u16) {
    let physical: Vec<u32> = (0..tiles)
        .map(|tile| u32::from(LogicalTile(tile).physical().0))
        .collect();
    for tile in 0..tiles {
        let row = |random: &mut Random| {
            let mut words = Vec::new();
            let length = 1 + random.below(24);
            for _ in 0..length {
                let wide = random.one_in(6);
                let (control, unit) = if wide { (7, 3) } else { (3, 2) };
                let address = (0x60000 + 64 * random.below(64)) >> unit;
                let items = random.below(20);
                let source = match random.below(4) {
                    0 => 0x640,
                    1 => random.below(0x800),
                    _ => random.of(&physical),
                };
                let pointer = (0x62000 + 64 * random.below(64)) >> 2;
                let inst = match random.below(8) {
                    0 => Inst::new(Op::DelayMmmnZi, &[random.below(120)]),
                    1 => Inst::new(
                        Op::DelayPic,
                        &[random.below(60), random.below(3) / 2, pointer],
                    ),
                    2 | 3 => Inst::new(
                        Op::DelayXpic,
                        &[random.below(60), random.below(5) / 4, source],
                    ),
                    4 => Inst::new(Op::SendMmmnZi, &[items, address, control]),
                    5 => Inst::new(Op::SendOff, &[items, 0, control]),
                    6 => Inst::new(Op::SendPic, &[items, random.below(4), source]),
                    _ => {
                        let xpic = random.below(2) << 13 | source;
                        let operands =
                            [0, items, address, random.below(2) * control, xpic, pointer];
                        if words.len() % 2 == 1 {
                            words.push(0x40a0_0000);
                        }
                        Inst::new(Op::SendPicP, &operands)
                    }
                };
                let Ok(inst) = inst else { continue };
                let group = match inst.op {
                    Op::SendPicP => Group::SendPicP(inst),
                    _ => Group::Solo(inst),
                };
                if group.encode(&mut words).is_err() {
                    words.push(0x40a0_0005);
                }
            }
            words.push(0x40a0_0064 + random.below(100));
            words.push(0x43a0_0000);
            words
        };
        let phases = 1 + random.below(3);
        let mut code = String::new();
        for phase in 0..3 {
            if phase < phases || random.one_in(10) {
                let at = 0x50000 + 0x1000 * phase;
                code.push_str(&format!("sync 3\ncall $m10, {at:#x}\n"));
            } else {
                code.push_str("sans 0\nsync 1\n");
            }
            let words = row(random);
            put(simulator, tile, 0x50000 + 0x1000 * phase, &words);
        }
        code.push_str("bri 0\n");
        put(simulator, tile, BASE, &assemble(&code));
        let data: Vec<u32> = (0..2048).map(|_| random.word()).collect();
        put(simulator, tile, 0x60000, &data);
    }
}

/// Phases that are right: in each, sends one after the other, each to a few receivers. Returns true
/// if one word was spoiled.
fn good_rows(random: &mut Random, simulator: &mut Simulator, tiles: u16) -> bool {
    use ipucc_chip::fabric::{pointer_event, receive_horizon, route, select_event};
    use ipucc_machine::row::{self, Event, Place, RowEvents, SendControl};
    let place = |offset: u32| Place {
        symbol: None,
        offset,
    };
    let mut events: Vec<Vec<Event>> = vec![Vec::new(); usize::from(tiles)];
    let mut horizon = 20;
    let mut start = 100i64;
    for _ in 0..1 + random.below(6) {
        let from = random.below(u32::from(tiles)) as u16;
        let sender = LogicalTile(from).physical();
        let items = 1 + random.below(100);
        let mut directions = 0;
        for to in (0..tiles).filter(|&to| to != from) {
            if random.one_in(2) {
                continue;
            }
            let receiver = LogicalTile(to).physical();
            let way = route(sender, receiver);
            directions |= way.direction as u8;
            let select = select_event(start, way.time);
            let list = &mut events[usize::from(to)];
            let at = select as u32;
            let pointer = pointer_event(select, receiver.row()) as u32;
            list.push(Event::Select {
                at,
                source: sender.0,
                pair: false,
            });
            list.push(Event::Select {
                at: at + items,
                source: 0x640,
                pair: false,
            });
            list.push(Event::Pointer {
                at: pointer,
                to: place(0x88000 + 64 * random.below(64)),
            });
            let end = receive_horizon(select, i64::from(items), receiver.row());
            horizon = horizon.max(end as u32 + 5);
        }
        let control = SendControl {
            directions: directions.max(1),
            wide: false,
        };
        let list = &mut events[usize::from(from)];
        list.push(Event::Send {
            at: start as u32,
            from: place(0x60000 + 64 * random.below(64)),
            items,
            control,
        });
        horizon = horizon.max(start as u32 + items + 5);
        start += i64::from(items) + 130 + i64::from(random.below(50));
    }
    let spoiled = random.one_in(3);
    let mut bad = false;
    for (tile, mut list) in events.into_iter().enumerate() {
        let at = |event: &Event| match *event {
            Event::Send { at, .. }
            | Event::Select { at, .. }
            | Event::Pointer { at, .. }
            | Event::Format { at, .. }
            | Event::Base { at, .. } => at,
        };
        let kind = |event: &Event| match event {
            Event::Send { .. } => 0,
            Event::Select { .. } => 1,
            _ => 2,
        };
        list.sort_by_key(|event| (at(event), kind(event)));
        let row = row::encode(&RowEvents {
            events: list,
            horizon,
        });
        let mut words = row.expect("controls are far from each other").words;
        if spoiled && random.one_in(2) {
            let index = random.below(words.len() as u32) as usize;
            words[index] ^= 1 << random.below(32);
            bad = true;
        }
        let tile = tile as u16;
        put(simulator, tile, 0x50000, &words);
        put(
            simulator,
            tile,
            BASE,
            &assemble("sync 3\ncall $m10, 0x50000\nsync 3\nbri 0\n"),
        );
        let data: Vec<u32> = (0..2048).map(|_| random.word()).collect();
        put(simulator, tile, 0x60000, &data);
    }
    bad
}

/// Sends to the host with headers that are nearly right, and a host with a random script.
fn packets(random: &mut Random, simulator: &mut Simulator, tiles: u16) {
    for index in 0..3 {
        // Overlapping ones are refused, which is fine.
        let _ = simulator.attach(index, 1 + random.below(9000));
    }
    for tile in 0..tiles {
        let physical = u32::from(LogicalTile(tile).physical().0);
        let key = if random.one_in(12) {
            random.below(64)
        } else {
            physical & 0x3d
        };
        let mut code = format!(
            "setzi $m8, {:#x}\nput $INCOMING_MUX, $m8\nsetzi $m8, {}\nput $INCOMING_DCOUNT, $m8\n",
            0x600 | key,
            random.below(20)
        );
        for _ in 0..1 + random.below(8) {
            let line = match random.below(8) {
                0 => "sync 0\n".to_owned(),
                1 => random
                    .of(&["sync 7\n", "sync 15\n", "sync 5\n", "sync 4\n"])
                    .into(),
                2 => format!("delay {}\n", random.below(30)),
                3 => format!("sendoff {}, 0, 3\n", random.below(4)),
                4 => format!("sans {}\n", random.below(3)),
                _ => format!(
                    "send {}, {:#x}, 3\n",
                    random.of(&[1, 1, 1, 0, 15, 63]),
                    (0x60000 + 8 * random.below(16)) >> 2
                ),
            };
            code.push_str(&line);
        }
        code.push_str("sync 0\nbri 0\n");
        put(simulator, tile, BASE, &assemble(&code));
        let mut data = vec![0xff_ffff, 0x3f_ffff];
        for _ in 0..32 {
            let ends = random.of(&[0, 0x0c00_0000, 0x0400_0000]);
            data.push(
                random.of(&[4, 5, 6, 7, 0, 1]) << 29 | ends | physical << 15 | random.below(0x4000),
            );
            data.push(random.below(3) << 12 | random.below(0x1000));
        }
        put(simulator, tile, 0x60000, &data);
    }
    for _ in 0..random.below(8) {
        let group = random.of(&[SyncGroup::First, SyncGroup::Second]);
        let step = match random.below(4) {
            0 => HostStep::Wait(group),
            1 => HostStep::Mark(group, random.below(3) as u16),
            2 => HostStep::Read {
                offset: random.below(20_000),
                bytes: random.below(100),
            },
            _ => HostStep::Write {
                offset: random.below(9000),
                bytes: vec![7; random.below(64) as usize],
            },
        };
        simulator.host_script([step]);
    }
}

/// A host phase that is right, with all tiles in one context; true if one bit was spoiled.
fn good_packets(random: &mut Random, simulator: &mut Simulator, tiles: u16) -> bool {
    use ipucc_machine::row::host::{HostDirection, HostTransfer, program};
    simulator.attach(1, 4096 * 8).expect("attached");
    let mut request = [0u32; 2];
    let mut made = Vec::new();
    for tile in 0..tiles {
        let physical = LogicalTile(tile).physical();
        let transfer = HostTransfer {
            tile: physical,
            direction: random.of(&[HostDirection::ToHost, HostDirection::ToTile]),
            address: 0x50200 + 32 * random.below(64),
            host_offset: 4096 * (1 + u32::from(tile)) + 4 * random.below(200),
            bytes: 4 + 4 * random.below(600),
            packets: 0x54000,
        };
        let transfer = (!random.one_in(4)).then_some(transfer);
        if transfer.is_some() {
            let words = physical.request_words();
            request = [request[0] | words[0], request[1] | words[1]];
        }
        made.push((physical, transfer));
    }
    let spoiled = random.one_in(3);
    for (tile, (physical, transfer)) in made.into_iter().enumerate() {
        let owner = physical.request_index() == 0 && request != [0; 2];
        let request_from = owner.then_some(0x54000);
        let mut phase = program(physical, transfer.as_ref(), request_from).expect("it is right");
        let mut packets = request.to_vec();
        packets.append(&mut phase.headers);
        if spoiled && random.one_in(2) {
            let list = random.of(&[0, 1]);
            let list = if list == 0 {
                &mut phase.words
            } else {
                &mut packets
            };
            let index = random.below(list.len() as u32) as usize;
            list[index] ^= 1 << random.below(32);
        }
        let tile = tile as u16;
        put(simulator, tile, 0x58000, &phase.words);
        put(simulator, tile, 0x54000, &packets);
        put(
            simulator,
            tile,
            BASE,
            &assemble("call $m10, 0x58000\nbri 0\n"),
        );
    }
    let mark = || {
        let group = SyncGroup::Second;
        [HostStep::Mark(group, 1), HostStep::Wait(group)]
    };
    simulator.host_script(mark());
    simulator.host_script(mark());
    // Without a transfer nobody enters the barriers: those that stay away wait for ever.
    spoiled || request == [0; 2]
}

fn case(number: u64) -> Result<RunReport, Box<Failure>> {
    let mut random = Random::new(number);
    let tiles = 1 + random.below(6) as u16;
    let (mut simulator, changed) = simulator(&mut random, tiles);
    let mut right = false;
    match number % 4 {
        0 => image(&mut random, &mut simulator, tiles),
        1 => tame(&mut random, &mut simulator, tiles),
        2 if random.one_in(3) => rows(&mut random, &mut simulator, tiles),
        2 => right = !good_rows(&mut random, &mut simulator, tiles),
        _ if random.one_in(2) => packets(&mut random, &mut simulator, tiles),
        _ => right = !good_packets(&mut random, &mut simulator, tiles),
    }
    let entries: Vec<_> = (0..tiles).map(|tile| (LogicalTile(tile), BASE)).collect();
    simulator.start(&entries);
    let outcome = simulator.run();
    if right && !changed {
        assert!(outcome.is_ok(), "case {number}: {outcome:?}");
    }
    outcome
}

fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|error| panic!("{name}={text}: {error}")),
    )
}

#[test]
fn random_images_rows_and_packets_end() {
    if let Some(number) = setting("IPUCC_SOAK_CASE") {
        eprintln!("{:#?}", case(number));
        return;
    }
    let seconds = setting("IPUCC_SOAK_SECONDS").unwrap_or(5);
    let first = setting("IPUCC_SOAK_FIRST").unwrap_or(0);
    // A case that hangs is named by this thread, which ends the process.
    static RUNNING: AtomicU64 = AtomicU64::new(0);
    RUNNING.store(first, Ordering::Relaxed);
    std::thread::spawn(|| {
        let mut last = (0, 0);
        loop {
            std::thread::sleep(Duration::from_secs(10));
            let now = RUNNING.load(Ordering::Relaxed);
            last = if now == last.0 {
                (now, last.1 + 1)
            } else {
                (now, 0)
            };
            if last.1 >= 6 {
                eprintln!("case {now} has not ended for a minute");
                std::process::exit(3);
            }
        }
    });
    let started = Instant::now();
    let (mut number, mut ended) = (first, [0u64; 4]);
    let mut again = Vec::new();
    while started.elapsed() < Duration::from_secs(seconds) {
        RUNNING.store(number, Ordering::Relaxed);
        let outcome = catch_unwind(AssertUnwindSafe(|| case(number)));
        let Ok(outcome) = outcome else {
            panic!("case {number} panics");
        };
        match &outcome {
            Ok(report) => {
                ended[number as usize % 4] += 1;
                assert!(report.cycles <= LIMIT, "case {number}");
                for tile in &report.tiles {
                    let split = tile.breakdown;
                    let sum = split.compute + split.exchange + split.barrier + split.supervisor;
                    assert_eq!(Some(sum), tile.end_cycle, "case {number}: {split:?}");
                }
            }
            Err(failure) => assert!(!failure.to_string().is_empty()),
        }
        // Now and then the same case again: it gives the same.
        if number % 64 < 4 {
            again.push((number, outcome));
        }
        if again.len() > 3 {
            for (number, outcome) in again.drain(..) {
                assert!(
                    case(number) == outcome,
                    "case {number} differs the second time"
                );
            }
        }
        number += 1;
    }
    eprintln!(
        "{} cases; ended without a fault by kind: {ended:?}",
        number - first
    );
    if seconds >= 5 && first == 0 {
        assert!(
            ended[1..].iter().all(|&count| count > 0),
            "a kind never ends: {ended:?}"
        );
    }
}
