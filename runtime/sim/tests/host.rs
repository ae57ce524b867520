//! Host exchange at the level of packets, with programs made of the words of `facts/hardware.md`
//! 4.2 to 4.7, and the external barriers.

use ipucc_chip::{Assumptions, Chip, LogicalTile, PhysicalTile};
use ipucc_machine::{Context, asm};
use ipucc_sim::{Cause, Failure, HostStep, Options, RunReport, Simulator, SyncGroup};

const GS1: SyncGroup = SyncGroup::First;
const GS2: SyncGroup = SyncGroup::Second;

/// Bytes of a supervisor program whose first word stands at the start of memory.
fn assemble(text: &str) -> Vec<u8> {
    let options = asm::Options {
        file: "host".into(),
        context: Context::Supervisor,
    };
    let assembly = asm::assemble(text, &options).expect("the program is right");
    let addresses = [(".text".to_owned(), ipucc_chip::memory::BASE)].into();
    let placed = assembly.object.place(&addresses).expect("it can be placed");
    placed.sections[".text"].bytes.clone()
}

/// A whole chip of which only the tiles with a program are started.
struct Bench {
    simulator: Simulator,
    entries: Vec<(LogicalTile, u32)>,
}

impl Bench {
    fn new(assumptions: Assumptions) -> Bench {
        let simulator = Simulator::new(Chip::c600(), assumptions, Options::default());
        Bench {
            simulator: simulator.expect("memory"),
            entries: Vec::new(),
        }
    }

    fn tile(physical: u16) -> LogicalTile {
        PhysicalTile(physical).logical().expect("a tile")
    }

    fn write(&mut self, physical: u16, address: u32, bytes: &[u8]) {
        let tile = Bench::tile(physical);
        self.simulator.write(tile, address, bytes).expect("memory");
    }

    fn words(&mut self, physical: u16, address: u32, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.write(physical, address, &bytes);
    }

    fn read(&self, physical: u16, address: u32, bytes: usize) -> Vec<u8> {
        let mut out = vec![0; bytes];
        let tile = Bench::tile(physical);
        self.simulator
            .read(tile, address, &mut out)
            .expect("memory");
        out
    }

    fn program(&mut self, physical: u16, text: &str) {
        self.write(physical, ipucc_chip::memory::BASE, &assemble(text));
        let entry = (Bench::tile(physical), ipucc_chip::memory::BASE);
        self.entries.push(entry);
    }

    /// A program that is one host phase made of these words, which end in `br $m10`.
    fn phase(&mut self, physical: u16, words: &[u32]) {
        let list: Vec<String> = words.iter().map(|word| format!("{word:#x}")).collect();
        self.program(
            physical,
            &format!(
                "setzi $m10, done\nbri phase\ndone: bri 0\n.p2align 3\nphase: .long {}\n",
                list.join(", ")
            ),
        );
    }

    fn run(&mut self) -> Result<RunReport, Box<Failure>> {
        self.simulator.start(&self.entries);
        self.simulator.run()
    }
}

/// The host's part in one phase: two marks of GS2, each used up before it goes on.
fn one_phase() -> Vec<HostStep> {
    let mark = || [HostStep::Mark(GS2, 1), HostStep::Wait(GS2)];
    mark().into_iter().chain(mark()).collect()
}

/// Words of a phase: mux to the host, entry, `body`, completion, mux to neutral.
fn wrapped(physical: u16, entry: u32, body: &[u32]) -> Vec<u32> {
    let mux = 0x600 | u32::from(physical & 0x3d);
    let mut words = vec![0x1980_0000 | mux, 0x4380_80a0, entry];
    words.extend(body);
    words.extend([0x4180_0007, 0x1980_0640, 0x4380_80a0, 0x43a0_0000]);
    words
}

const TARGET_ENTRY: u32 = 0x4180_0007;
const OWNER_ENTRY: u32 = 0x4180_000f;
/// `send` of the two words at 0x50000.
const SEND_REQUEST: u32 = 0x7800_0000 | 1 << 21 | (0x50000 >> 2) << 3 | 3;

fn pattern(bytes: usize, seed: u8) -> Vec<u8> {
    (0..bytes)
        .map(|i| (i as u8).wrapping_mul(31).wrapping_add(seed))
        .collect()
}

/// The owner of tile 260's context, which only asks for it.
fn owner_of_260(bench: &mut Bench) {
    bench.words(4, 0x50000, &[0x100, 0]);
    bench.phase(4, &wrapped(4, OWNER_ENTRY, &[SEND_REQUEST]));
}

/// The worked example of 4.7: tile 260 sends 64 bytes at 0x50120 to host address 0x40.
fn to_host(assumptions: Assumptions) -> Bench {
    let mut bench = Bench::new(assumptions);
    bench.simulator.attach(0, 4096).expect("attached");
    owner_of_260(&mut bench);
    bench.phase(
        260,
        &[
            0x1980_0604,
            0x4380_80a0,
            0x4180_0007,
            0x1980_0001,
            0x4380_80a6,
            0x782a_02c3,
            0x79ea_0243,
            0x40a0_0001,
            0x782a_02d3,
            0x4180_0000,
            0x4180_0007,
            0x1980_0640,
            0x4380_80a0,
            0x43a0_0000,
        ],
    );
    bench.words(260, 0x50160, &[0xa082_0000, 0x11, 0xcc82_020c, 0]);
    bench.write(260, 0x50120, &pattern(64, 7));
    bench
}

/// The other half of it: 64 bytes at host address 0x40 come to 0x50120.
fn to_tile(assumptions: Assumptions) -> Bench {
    let mut bench = Bench::new(assumptions);
    bench.simulator.attach(0, 4096).expect("attached");
    owner_of_260(&mut bench);
    let body = [0x1980_0010, 0x4380_80a6, 0x782a_02e3, 0x4180_0000];
    bench.phase(260, &wrapped(260, TARGET_ENTRY, &body));
    bench.words(260, 0x50170, &[0xec82_0209, 0x11]);
    let write = HostStep::Write {
        offset: 0x40,
        bytes: pattern(64, 3),
    };
    bench.simulator.host_script([write]);
    bench.simulator.host_script(one_phase());
    bench
}

#[test]
fn the_worked_example_reaches_host_memory() {
    let mut bench = to_host(Assumptions::default());
    bench.write(260, 0x50180, &[0xff; 4]);
    bench.simulator.host_script(one_phase());
    let read = HostStep::Read {
        offset: 0x40,
        bytes: 64,
    };
    bench.simulator.host_script([read]);
    let report = bench.run().expect("runs");
    assert_eq!(bench.simulator.host_reads(), [pattern(64, 7)]);
    assert_eq!(bench.simulator.host_memory(0, 64), Some(&[0; 64][..]));
    assert_eq!(bench.simulator.host_steps_left(), 0);
    // The closing read delivers one dummy word.
    assert_eq!(bench.read(260, 0x50180, 8), [0; 8]);
    assert_eq!(report.barriers.len(), 2);
    assert!(report.barriers.iter().all(|barrier| barrier.zone == 7));
}

#[test]
fn the_worked_example_reaches_the_tile() {
    let mut bench = to_tile(Assumptions::default());
    bench.run().expect("runs");
    assert_eq!(bench.read(260, 0x50120, 64), pattern(64, 3));
    // Nothing beyond it was written: the header stands behind.
    assert_eq!(bench.read(260, 0x50170, 4), 0xec82_0209u32.to_le_bytes());
}

#[test]
fn time_of_a_read_is_made_of_its_assumptions() {
    let end = |assumptions: Assumptions| {
        let mut bench = to_tile(assumptions);
        bench.run().expect("runs").cycles
    };
    let base = end(Assumptions::default());
    // By hand. Both tiles: setzi 1, bri 6, setzi 1, put 13 (its wait for the operand is inside),
    // entry in cycle 21, release 118 later. The owner's request leaves in two cycles and one more for
    // its way; tile 260 has set DCOUNT by then: setzi 1, put 13. Grant 6, header 2, words 1500 later,
    // 16 of them, wake-up 6. Completion 118, setzi 1, put 13, br 6.
    let entered = 21 + 118;
    let words = entered + 14 + 6 + 2 + 1500;
    let joined = words + 15 + 6;
    // One turn, one read, one wait for words, two barriers. The host's first mark is there at the
    // start; its second comes `host_poll` after the first was used up and decides only if that is
    // later than the tiles.
    let second_mark = |poll: u64| (entered + poll).saturating_sub(joined);
    for (name, value, more) in [
        ("host_grant", 106, 100),
        ("host_read_latency", 1600, 100),
        ("sup_recv_wake", 106, 100),
        ("host_poll", 1540, second_mark(1540)),
        ("host_poll", 1600, second_mark(1600)),
        ("host_poll", 11_500, second_mark(11_500)),
        ("sup_barrier", 218, 200),
    ] {
        let mut changed = Assumptions::default();
        changed.set(name, &value.to_string()).expect("a value");
        assert_eq!(end(changed) - base, more, "{name} = {value}");
    }
    assert_eq!(base, joined + 118 + 1 + 13 + 6);
}

#[test]
fn late_data_is_seen_by_hosts_that_wait_only() {
    for (value, early) in [("prompt", pattern(64, 7)), ("late", vec![0; 64])] {
        let mut assumptions = Assumptions::default();
        assumptions.set("host_data", value).expect("a value");
        let mut bench = to_host(assumptions);
        let read = || HostStep::Read {
            offset: 0x40,
            bytes: 64,
        };
        let phase = one_phase();
        // A host that reads while the phase runs, then one that waits for its end.
        bench.simulator.host_script(phase[..3].to_vec());
        bench.simulator.host_script([HostStep::Wait(GS2), read()]);
        bench.run().expect("runs");
        assert_eq!(bench.simulator.host_reads(), [pattern(64, 7)], "{value}");
        // Without the closing barrier only prompt data is there.
        let mut assumptions = Assumptions::default();
        assumptions.set("host_data", value).expect("a value");
        let mut bench = to_host(assumptions);
        bench.simulator.host_script(phase[..2].to_vec());
        let failure = bench.run().expect_err("the second mark is missing");
        assert!(matches!(failure.cause, Cause::Deadlock(_)), "{failure}");
        let seen = bench.simulator.host_memory(0x40, 64).expect("attached");
        assert_eq!(seen, early, "{value}");
    }
}

#[test]
fn the_zero_word_of_a_closing_read_is_an_assumption() {
    let mut assumptions = Assumptions::default();
    assumptions
        .set("host_zero_read", "0x12345678")
        .expect("a value");
    let mut bench = to_host(assumptions);
    bench.simulator.host_script(one_phase());
    bench.run().expect("runs");
    assert_eq!(bench.read(260, 0x50180, 4), 0x1234_5678u32.to_le_bytes());
}

#[test]
fn four_packets_of_tile_1471_fill_4096_bytes() {
    let mut bench = Bench::new(Assumptions::default());
    bench.simulator.attach(0, 4096).expect("attached");
    bench.simulator.attach(1, 4096).expect("attached");
    let bytes = pattern(4096, 1);
    bench.simulator.host_script([HostStep::Write {
        offset: 0x1000,
        bytes: bytes.clone(),
    }]);
    bench.simulator.host_script(one_phase());
    bench.words(61, 0x50000, &[0, 0x20_0000]);
    bench.phase(61, &wrapped(61, OWNER_ENTRY, &[SEND_REQUEST]));
    let send = 0x7800_0000 | 1 << 21 | (0x50008 >> 2) << 3 | 3;
    let more = 0x7020_0003;
    let body = [
        0x1980_0000 | 1024,
        0x4380_80a6,
        send,
        more,
        more,
        more,
        0x4180_0000,
    ];
    bench.phase(1471, &wrapped(1471, TARGET_ENTRY, &body));
    bench.words(
        1471,
        0x50008,
        &[
            0xe2df_820c,
            0x8000_0400,
            0xe2df_822c,
            0x8000_0500,
            0xe2df_824c,
            0x8000_0600,
            0xeedf_826c,
            0x8000_0700,
        ],
    );
    bench.run().expect("runs");
    assert_eq!(bench.read(1471, 0x50180, 4096), bytes);
}

/// All 46 tiles of context 5 write 64 bytes each; the owner is one of them.
fn whole_context(order: &str) -> (Bench, Vec<u16>) {
    let mut assumptions = Assumptions::default();
    assumptions.set("host_order", order).expect("a value");
    let mut bench = Bench::new(assumptions);
    bench.simulator.attach(0, 4096).expect("attached");
    bench.simulator.host_script(one_phase());
    let tiles: Vec<u16> = (0..1472).filter(|tile| tile & 0x3d == 5).collect();
    assert_eq!(tiles.len(), 46);
    for (index, &tile) in tiles.iter().enumerate() {
        let send = |n: u32, address: u32| 0x7800_0000 | (n - 1) << 21 | (address >> 2) << 3 | 3;
        let mut body = vec![0x1980_0001, 0x4380_80a6];
        if tile == 5 {
            body.push(SEND_REQUEST);
        }
        body.extend([send(2, 0x50008), send(16, 0x50120), 0x40a0_0001]);
        body.extend([send(2, 0x50010), 0x4180_0000]);
        let entry = if tile == 5 { OWNER_ENTRY } else { TARGET_ENTRY };
        bench.phase(tile, &wrapped(tile, entry, &body));
        let source = u32::from(tile) << 15;
        let host = index as u32 + 1;
        let packets = [
            0xff_ffff,
            0x3f_ffff,
            0xa000_0000 | source,
            host << 4 | 1,
            0xcc00_0000 | source | 0x20c,
            0,
        ];
        bench.words(tile, 0x50000, &packets);
        bench.write(tile, 0x50120, &pattern(64, tile as u8));
    }
    (bench, tiles)
}

#[test]
fn a_context_serves_its_46_tiles_in_either_order() {
    for order in ["on_demand", "ascending"] {
        let (mut bench, tiles) = whole_context(order);
        bench
            .run()
            .unwrap_or_else(|failure| panic!("{order}: {failure}"));
        for (index, &tile) in tiles.iter().enumerate() {
            let offset = 64 * (index as u32 + 1);
            let found = bench.simulator.host_memory(offset, 64);
            assert_eq!(
                found,
                Some(&pattern(64, tile as u8)[..]),
                "{order}, tile {tile}"
            );
        }
    }
}

#[test]
fn generated_phases_go_around_the_whole_chip() {
    use ipucc_machine::row::host::{HostDirection, HostTransfer, program};
    let mut bench = Bench::new(Assumptions::default());
    bench.simulator.attach(1, 1472 * 4096).expect("attached");
    let base = 0x1000;
    for tile in 0..1472u16 {
        let offset = base + 4096 * u32::from(tile);
        bench.simulator.host_script([HostStep::Write {
            offset,
            bytes: pattern(2048, tile as u8),
        }]);
    }
    bench.simulator.host_script(one_phase());
    bench.simulator.host_script(one_phase());
    for tile in (0..1472u16).map(PhysicalTile) {
        // A piece to the tile at an odd place, and the same back 2 KiB behind.
        let down = HostTransfer {
            tile,
            direction: HostDirection::ToTile,
            address: 0x50200,
            host_offset: base + 4096 * u32::from(tile.0) + 4,
            bytes: 1000,
            packets: 0x50000,
        };
        let up = HostTransfer {
            direction: HostDirection::ToHost,
            host_offset: down.host_offset + 2048,
            packets: 0x50800,
            ..down
        };
        let owner = tile.request_owner() == tile;
        let mut code = String::new();
        for (name, transfer) in [("down", down), ("up", up)] {
            let request = owner.then_some(transfer.packets);
            let made = program(tile, Some(&transfer), request).expect("a program");
            let list: Vec<String> = made.words.iter().map(|word| format!("{word:#x}")).collect();
            code.push_str(&format!("{name}: .long {}\n", list.join(", ")));
            let mut packets = vec![0xff_ffff, 0x3f_ffff];
            packets.extend(made.headers);
            bench.words(tile.0, transfer.packets, &packets);
        }
        let text = format!("call $m10, down\ncall $m10, up\nbri 0\n{code}");
        bench.program(tile.0, &text);
    }
    bench.run().expect("runs");
    for tile in 0..1472u16 {
        let sent = &pattern(2048, tile as u8)[4..1004];
        assert_eq!(bench.read(tile, 0x50200, 1000), sent, "tile {tile}");
        let offset = base + 4096 * u32::from(tile) + 4 + 2048;
        assert_eq!(
            bench.simulator.host_memory(offset, 1000),
            Some(sent),
            "tile {tile}"
        );
    }
}

#[test]
fn every_zone_is_a_barrier_with_its_own_marks() {
    // Forms with and without bit 3 meet; 5 and 7 use marks up, 4 and 6 do not.
    for (zone, other, group) in [
        (3, 3, None),
        (4, 12, None),
        (5, 13, Some(GS1)),
        (6, 14, None),
        (7, 15, Some(GS2)),
    ] {
        let mut bench = Bench::new(Assumptions::default());
        for (tile, operand) in [(0, zone), (4, other)] {
            let mux = 0x600 | tile;
            let text = format!(
                "setzi $m8, {mux}\nput $INCOMING_MUX, $m8\nsync {operand}\nsync {operand}\nbri 0\n"
            );
            bench.program(tile, &text);
        }
        // A third tile stays away with credit for both, whatever the zone.
        bench.program(8, "sans 1\nsync 1\nbri 0\n");
        if let Some(group) = group {
            let short = HostStep::Mark(group, 1);
            bench.simulator.host_script([short]);
            let failure = bench.run().expect_err("one mark is missing");
            let text = failure.to_string();
            assert!(text.contains(&format!("wait at sync {zone}")), "{text}");
            assert!(text.contains("waits for its credit"), "{text}");
            assert!(text.contains("marks left: GS1 0, GS2 0"), "{text}");
            bench.simulator.host_script([HostStep::Mark(group, 2)]);
        }
        let mut again = Bench::new(Assumptions::default());
        std::mem::swap(&mut again.entries, &mut bench.entries);
        for tile in [0, 4, 8] {
            let code = bench.read(tile, ipucc_chip::memory::BASE, 32);
            again.write(tile, ipucc_chip::memory::BASE, &code);
        }
        again
            .simulator
            .host_script(group.map(|group| HostStep::Mark(group, 2)));
        let report = again.run().expect("runs");
        let zones: Vec<u32> = report.barriers.iter().map(|b| b.zone).collect();
        assert_eq!(zones, [zone, zone]);
        // setzi 1, put 13, then 118 cycles each, as the waiting tiles arrive at once; the tile with
        // credit wakes up 6 later.
        assert_eq!(report.cycles, 14 + 118 + 118 + 6);
    }
}

#[test]
fn marks_replace_or_add() {
    for (value, fires) in [("replaces", 1), ("adds", 3)] {
        let mut assumptions = Assumptions::default();
        assumptions.set("host_mark", value).expect("a value");
        let mut bench = Bench::new(assumptions);
        bench.program(
            0,
            "setzi $m8, 0x600\nput $INCOMING_MUX, $m8\nsync 7\nsync 7\nsync 7\nbri 0\n",
        );
        let steps = [HostStep::Mark(GS2, 2), HostStep::Mark(GS2, 1)];
        bench.simulator.host_script(steps);
        match bench.run() {
            Ok(report) => assert_eq!(report.barriers.len(), fires, "{value}"),
            Err(failure) => {
                assert_eq!(fires, 1, "{value}: {failure}");
                assert!(matches!(failure.cause, Cause::Deadlock(_)), "{failure}");
            }
        }
    }
}

#[test]
fn zones_that_differ_never_meet() {
    let mut bench = Bench::new(Assumptions::default());
    bench.program(
        0,
        "setzi $m8, 0x600\nput $INCOMING_MUX, $m8\nsync 4\nbri 0\n",
    );
    bench.program(4, "sync 3\nbri 0\n");
    let failure = bench.run().expect_err("a deadlock");
    let text = failure.to_string();
    assert!(text.contains("sync 4") && text.contains("sync 3"), "{text}");
}

/// What a hostile change to a working phase gives: the failing tile's message.
fn refused(change: impl FnOnce(&mut Bench)) -> String {
    let mut bench = to_host(Assumptions::default());
    bench.simulator.host_script(one_phase());
    change(&mut bench);
    bench.run().expect_err("it is wrong").to_string()
}

#[test]
fn wrong_packets_are_refused_with_the_reason() {
    let header = |first: u32, second: u32| {
        move |bench: &mut Bench| bench.words(260, 0x50160, &[first, second])
    };
    let cases = [
        (
            refused(header(0xa081_8000, 0x11)),
            "names tile 259 as its source",
        ),
        (
            refused(header(0xa882_0000, 0x11)),
            "bits 27 and 26 must be equal",
        ),
        (refused(header(0xb082_0000, 0x11)), "bit 28 must be 0"),
        (
            refused(header(0xa082_0001, 0x11)),
            "no destination on the tile",
        ),
        (
            refused(header(0x2082_0000, 0x11)),
            "is no packet of a turn (format 1)",
        ),
        (refused(header(0xa082_0000, 0x401)), "are not attached"),
        (
            refused(header(0xa082_0000, 0x7fff_fff1)),
            "beyond the window",
        ),
        (
            refused(header(0xa082_0000, 0x3f2)),
            "cross a page of 4096 bytes",
        ),
        (refused(header(0x8082_0000, 0)), "a write of no bytes"),
        // The request: unknown bits, and one by a tile that is no owner.
        (
            refused(|bench| bench.words(4, 0x50000, &[1 << 24, 0])),
            "unknown bits",
        ),
        (
            refused(|bench| bench.words(260, 0x50160, &[0x100, 0])),
            "does not own its context; p4 does",
        ),
        // Nobody lists the tile.
        (
            refused(|bench| bench.words(4, 0x50000, &[0x200, 0])),
            "no exchange request lists it",
        ),
        // The closing read does not end the turn, or is not there.
        (
            refused(|bench| bench.words(260, 0x50168, &[0xcc82_0000 | 0x7fff, 0])),
            "for tile address",
        ),
        // Another block's mux value; the `put` follows.
        (
            refused(|bench| {
                let code = ipucc_chip::memory::BASE;
                let word = 0x1980_0605u32;
                let at = (0..40)
                    .map(|i| code + 4 * i)
                    .find(|&at| bench.read(260, at, 4) == 0x1980_0604u32.to_le_bytes());
                bench.words(260, at.expect("the switch"), &[word]);
            }),
            "the block of this tile is 0x604",
        ),
    ];
    for (text, reason) in cases {
        assert!(text.contains(reason), "expected `{reason}`: {text}");
    }
}

/// A phase of tile 260 with this body and packet words, after the request of tile 4.
fn body(body: &[u32], packets: &[u32]) -> String {
    let mut bench = Bench::new(Assumptions::default());
    bench.simulator.attach(0, 4096).expect("attached");
    bench.simulator.host_script(one_phase());
    owner_of_260(&mut bench);
    bench.phase(260, &wrapped(260, TARGET_ENTRY, body));
    bench.words(260, 0x50160, packets);
    bench.run().expect_err("it is wrong").to_string()
}

#[test]
fn wrong_bodies_are_refused_with_the_reason() {
    let dcount = [0x1980_0001, 0x4380_80a6];
    let send = |n: u32, address: u32| 0x7800_0000 | (n - 1) << 21 | (address >> 2) << 3 | 3;
    let write = [0xa082_0000, 0x11, 0xcc82_020c, 0];
    let with = |rest: &[u32]| [&dcount[..], rest].concat();
    let wait = 0x4180_0000;
    // Without the 18 events after a payload of 16 words.
    let close = [send(2, 0x50160), send(16, 0x50120), send(2, 0x50168), wait];
    assert!(body(&with(&close), &write).contains("16 events after the start of a payload"));
    // Without the closing read the expected word never comes.
    let open = [send(2, 0x50160), send(16, 0x50120), 0x40a0_0001, wait];
    assert!(body(&with(&open), &write).contains("waits for 1 words"));
    // More words than expected.
    let read = [0xec82_0209, 0x11];
    let text = body(&with(&[send(2, 0x50160), wait]), &read);
    assert!(
        text.contains("16 words arrive, but $INCOMING_DCOUNT is 1"),
        "{text}"
    );
    // After the end of the turn a tile waits for another one, which nobody asked for.
    let twice = [send(2, 0x50168), send(2, 0x50168), wait];
    let text = body(&with(&twice), &write);
    assert!(text.contains("no exchange request lists it"), "{text}");
    // Words out of, and into, the element of the running code.
    let near = [send(2, ipucc_chip::memory::BASE + 0x200), wait];
    let text = body(&with(&near), &write);
    assert!(
        text.contains("exception 6") && text.contains("beside the code"),
        "{text}"
    );
    let into = [0xcc82_0010, 0];
    let text = body(&with(&[send(2, 0x50160), wait]), &into);
    assert!(
        text.contains("exception 6") && text.contains("arrive at 0x4c200"),
        "{text}"
    );
    // A stream that nothing began, and controls of on-chip rows.
    let text = body(&with(&[0x7020_0003, wait]), &write);
    assert!(text.contains("no send has begun"), "{text}");
}

#[test]
fn syncs_that_make_no_sense_are_exception_7() {
    for (text, reason) in [
        ("sync 9\nbri 0\n", "not a sync zone"),
        ("sync 7\nbri 0\n", "does not select the host"),
        ("sans 0\nsync 3\nbri 0\n", "abstention credit"),
    ] {
        let mut bench = Bench::new(Assumptions::default());
        bench.program(0, text);
        let failure = bench.run().expect_err("it is wrong");
        let found = failure.to_string();
        assert!(
            found.contains("exception 7") && found.contains(reason),
            "{found}"
        );
        assert!(failure.instruction.starts_with("sync"), "{found}");
        // With the checks off the program goes on, or waits for what never comes.
        let mut unchecked = Assumptions::default();
        unchecked.set("sup_sync_e7", "unchecked").expect("a value");
        let mut bench = Bench::new(unchecked);
        bench.program(0, text);
        match bench.run() {
            Ok(_) => assert_eq!(reason, "abstention credit"),
            Err(failure) => {
                let found = failure.to_string();
                assert!(
                    found.contains("deadlock") || found.contains("not a sync zone"),
                    "{found}"
                );
            }
        }
    }
}

#[test]
fn buffers_do_not_overlap_and_stay_in_the_window() {
    let mut bench = Bench::new(Assumptions::default());
    bench.simulator.attach(1, 8192).expect("attached");
    for (index, bytes, reason) in [
        (2, 1, "attached already"),
        (0, 4097, "attached already"),
        (0, 0, "empty"),
        (32768, 1, "128 MiB"),
        (u32::MAX, u32::MAX, "128 MiB"),
    ] {
        let error = bench.simulator.attach(index, bytes).expect_err("refused");
        assert!(error.to_string().contains(reason), "{error}");
    }
    assert!(bench.simulator.detach(1));
    assert!(!bench.simulator.detach(1));
    bench.simulator.attach(2, 1).expect("attached");
    assert_eq!(bench.simulator.host_memory(8192, 2), None);
}
