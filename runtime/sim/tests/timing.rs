//! Times: what was measured on hardware (`facts/calibration.md`), and programs by hand that each rest
//! on one timing assumption. Tolerances are stated: counter readings of workers are multiples of six.

use ipucc_chip::memory::BASE;
use ipucc_chip::{Assumptions, Chip, LogicalTile, PhysicalTile};
use ipucc_machine::row::transfer::{Placement, Transfer, primitive};
use ipucc_machine::row::{self, Event, Place, RowEvents, SendControl};
use ipucc_machine::{Context, asm};
use ipucc_sim::{Activity, ContextId, Options, RunReport, Simulator};

fn assemble(text: &str) -> Vec<(u32, Vec<u8>)> {
    let options = asm::Options {
        file: "timing".into(),
        context: Context::Supervisor,
    };
    let assembly = asm::assemble(text, &options).expect("the program is right");
    let addresses = assembly.object.default_addresses(&Default::default());
    let placed = assembly.object.place(&addresses).expect("it can be placed");
    let sections = placed.sections.into_values();
    sections.map(|s| (s.address, s.bytes)).collect()
}

fn run_with(text: &str, assumptions: Assumptions) -> RunReport {
    let chip = Chip::first(1).expect("a chip");
    let mut simulator = Simulator::new(chip, assumptions, Options::default()).expect("memory");
    for (address, bytes) in assemble(text) {
        simulator
            .write(LogicalTile(0), address, &bytes)
            .expect("populated");
    }
    simulator.start(&[(LogicalTile(0), BASE)]);
    simulator.run().expect("runs")
}

fn cycles(text: &str) -> u64 {
    run_with(text, Assumptions::default()).cycles
}

fn changed(name: &str, value: &str) -> Assumptions {
    let mut assumptions = Assumptions::default();
    assumptions.set(name, value).expect("a value");
    assumptions
}

/// Words at the addresses that the loops use.
const DATA: &str = "setzi $m0, 0x60000\nsetzi $m1, 0x64000\n";

#[test]
fn supervisor_loops_take_what_was_measured() {
    // Exact: 23 cycles an iteration of the copy loop, 31 of the patch loop (846, 2,520 and 31,848
    // cycles for 24, 78 and 1,024 words).
    let copy = |n: u32| {
        cycles(&format!(
            "{DATA}setzi $m2, {n}\nloop: ld32 $m3, $m0, $mzero, 0\nst32 $m3, $m1, $mzero, 0\n\
             add $m0, $m0, 4\nadd $m1, $m1, 4\nadd $m2, $m2, -1\nbrnz $m2, loop\nbri 0\n"
        ))
    };
    assert_eq!(copy(78) - copy(24), 23 * (78 - 24));
    assert_eq!(copy(1024) - copy(78), 23 * (1024 - 78));
    let patch = |n: u32| {
        cycles(&format!(
            "{DATA}setzi $m2, {n}\nsetzi $m6, 0x68000\nloop: ld32 $m3, $m0, $mzero, 0\n\
             ld32 $m4, $m1, $mzero, 0\nadd $m5, $m6, $m3\nst32 $m4, $m5, $mzero, 0\n\
             add $m0, $m0, 4\nadd $m1, $m1, 4\nadd $m2, $m2, -1\nbrnz $m2, loop\nbri 0\n"
        ))
    };
    assert_eq!(patch(78) - patch(24), 2520 - 846);
    assert_eq!(patch(1024) - patch(78), 31 * (1024 - 78));
    // The readings themselves are multiples of six.
    assert!((patch(1024) - patch(78)).abs_diff(31_848 - 2520) < 6);
}

#[test]
fn worker_loops_take_what_was_measured() {
    let loops = |body: &str, n: u32| {
        cycles(&format!(
            "setzi $m0, worker\nsetzi $m1, 0x60000\nrunall $m0, $m1, 0\nsync 2\nbri 0\n\
             .worker\n.p2align 3\nworker: setzi $m0, {n}\nadd $m0, $m0, -1\nsetzi $m1, 0x60000\n\
             setzi $m2, 0x80000\n.p2align 3\nloop: {body}\nbrnzdec $m0, loop\nexitz $mzero\n"
        ))
    };
    // Nine instructions: 234 + 54 * ceil(n / 6): 24, 78 and 1,024 words in 450, 936, 9,468 cycles.
    // Exact, because the fixed part drops out.
    let nine = "ld32 $m3, $m1, $mzero, 0\nadd $m4, $m3, 1\nadd $m4, $m4, 1\nadd $m4, $m4, 1\n\
                add $m4, $m4, 1\nadd $m4, $m4, 1\nadd $m4, $m4, 1\nst32 $m4, $m1, $mzero, 0";
    let time = |words: u32| loops(nine, words.div_ceil(6));
    assert_eq!(time(78) - time(24), 936 - 450);
    assert_eq!(time(1024) - time(78), 9468 - 936);
    // Six-worker copy of 64-bit words: 12 cycles for each six of them.
    let repeated = |n: u32| {
        cycles(&format!(
            "setzi $m0, worker\nsetzi $m1, 0x60000\nrunall $m0, $m1, 0\nsync 2\nbri 0\n\
             .worker\n.p2align 3\nworker: setzi $m0, {n}\nsetzi $m1, 0x60000\nsetzi $m2, 0x80000\n\
             nop\n.p2align 3\n{{ rpt $m0, 1 ; fnop }}\n\
             {{ ld64step $a0:1, $mzero, $m1+=, 1 ; fnop }}\n\
             {{ st64step $a0:1, $mzero, $m2+=, 1 ; fnop }}\nexitz $mzero\n"
        ))
    };
    assert_eq!(repeated(1000) - repeated(500), 12 * 500);
    // The row softmax: 41 bundles a panel, 48 panels, 12,258 = 6 * (48 * 41 + about 75). The panel
    // part, exact.
    let bundles = "{ nop ; fnop }\n".repeat(40);
    assert_eq!(loops(&bundles, 48) - loops(&bundles, 47), 6 * 41);
}

#[test]
fn weights_feed_one_load_a_cycle() {
    // 64 narrow loads against 32 wide ones: exactly 32 cycles.
    let feed = |wide: bool| {
        let mut text = "setzi $m0, 0x80000\nput $CCCSLOAD, $m0\n".to_owned();
        for index in (0..64).step_by(if wide { 2 } else { 1 }) {
            let name = if wide { "ld128putcs" } else { "ld64putcs" };
            text.push_str(&format!("{name} {index}\n"));
        }
        cycles(&format!("{text}bri 0\n"))
    };
    assert_eq!(feed(false) - feed(true), 32);
}

#[test]
fn base_switches_inside_a_row() {
    // One `put` 13 events; `setzi` and two of them 27. Exact.
    let row = |switch: &str| {
        let report = run_with(
            &format!(
                "setzi $m10, done\nsetzi $m8, 0\nsync 3\ncall $m10, row\ndone: bri 0\n.org 0x4000\n\
                 row: delay 9\n{switch}delay 9\nbr $m10\n"
            ),
            Assumptions::default(),
        );
        report.tiles[0].breakdown.exchange
    };
    let plain = row("");
    assert_eq!(row("put $OUTGOING_BASE, $m8\n") - plain, 13);
    assert_eq!(
        row("setzi $m8, 0x40\nput $INCOMING_BASE, $m8\nput $OUTGOING_BASE, $m8\n") - plain,
        27
    );
}

#[test]
fn one_source_two_receivers_as_measured_up_to_the_hand_off() {
    // Words, cycles of the sender, of the receivers physical 32 and 53; the counter was sampled by a
    // worker around the row, so a fixed hand-off is inside. Tolerance 6: readings are multiples of
    // six. The 4,148 words run into the field of the select, which moves the whole row.
    let table = [
        (1u32, 204i64, 552i64, 534i64),
        (52, 258, 606, 582),
        (64, 270, 618, 594),
        (65, 270, 618, 594),
        (1024, 1230, 1578, 1554),
        (4148, 4350, 4698, 4680),
    ];
    let place = |offset: u32| Place {
        symbol: None,
        offset,
    };
    let tiles = [0, 32, 53].map(PhysicalTile);
    let mut hand_off: [Vec<i64>; 3] = Default::default();
    for (items, sender, first, second) in table {
        let transfer = Transfer {
            source: tiles[0],
            from: place(0x60000),
            receivers: vec![(tiles[1], place(0x70000)), (tiles[2], place(0x70000))],
            items,
            wide: false,
        };
        let placement = Placement::Multicast { offset: 0 };
        let rows = primitive(&transfer, placement).expect("a transfer");
        let options = Options {
            trace: true,
            ..Options::default()
        };
        let mut simulator =
            Simulator::new(Chip::c600(), Assumptions::default(), options).expect("memory");
        let mut entries = Vec::new();
        for &tile in &tiles {
            let logical = tile.logical().expect("a tile");
            let words = row::encode(&rows[&tile]).expect("a row").words;
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            simulator.write(logical, 0x50000, &bytes).expect("memory");
            for (address, bytes) in assemble("sync 3\ncall $m10, 0x50000\nbri 0\n") {
                simulator.write(logical, address, &bytes).expect("memory");
            }
            entries.push((logical, BASE));
        }
        let data: Vec<u8> = (0..4 * items).map(|i| (i * 7) as u8).collect();
        let source = tiles[0].logical().expect("a tile");
        simulator.write(source, 0x60000, &data).expect("memory");
        simulator.start(&entries);
        let report = simulator.run().expect("runs");
        for (index, measured) in [sender, first, second].into_iter().enumerate() {
            let logical = tiles[index].logical().expect("a tile");
            let spans = &report.tiles[logical.index()].spans;
            let row = spans
                .iter()
                .find(|s| s.activity == Activity::Exchange && s.context == ContextId::Supervisor)
                .expect("the row");
            hand_off[index].push(measured - (row.end - row.start) as i64);
            if index > 0 {
                let mut found = vec![0; data.len()];
                simulator.read(logical, 0x70000, &mut found).expect("reads");
                assert_eq!(found, data, "{items} words");
            }
        }
    }
    for (index, found) in hand_off.iter().enumerate() {
        let (low, high) = (found.iter().min(), found.iter().max());
        let spread = high.expect("lines") - low.expect("lines");
        assert!(spread <= 6, "endpoint {index}: hand-off {found:?}");
    }
}

/// All 1,472 tiles hold t + 1; eleven rounds of a tree leave the sum on tile 0.
#[test]
fn the_sum_over_all_tiles() {
    let tiles: Vec<LogicalTile> = Chip::c600().logical_tiles().collect();
    let mut simulator =
        Simulator::new(Chip::c600(), Assumptions::default(), Options::default()).expect("memory");
    let place = |offset: u32| Place {
        symbol: None,
        offset,
    };
    let start = 100;
    let mut programs = vec![String::new(); tiles.len()];
    let rounds = 11;
    for round in 0..rounds {
        let stride = 1usize << round;
        let mut rows: Vec<Option<RowEvents>> = vec![None; tiles.len()];
        for to in (0..tiles.len()).step_by(2 * stride) {
            let from = to + stride;
            if from >= tiles.len() {
                continue;
            }
            let (sender, receiver) = (tiles[from].physical(), tiles[to].physical());
            let way = ipucc_chip::fabric::route(sender, receiver);
            let control = SendControl {
                directions: way.direction as u8,
                wide: false,
            };
            let send = Event::Send {
                at: start,
                from: place(0x60000),
                items: 1,
                control,
            };
            rows[from] = Some(RowEvents {
                events: vec![send],
                horizon: start + 8,
            });
            let select = ipucc_chip::fabric::select_event(i64::from(start), way.time);
            let pointer = ipucc_chip::fabric::pointer_event(select, receiver.row()) as u32;
            let at = select as u32;
            let events = vec![
                Event::Select {
                    at,
                    source: sender.0,
                    pair: false,
                },
                Event::Select {
                    at: at + 1,
                    source: 0x640,
                    pair: false,
                },
                Event::Pointer {
                    at: pointer,
                    to: place(0x60004),
                },
            ];
            rows[to] = Some(RowEvents {
                events,
                horizon: pointer + 8,
            });
        }
        for (tile, events) in rows.into_iter().enumerate() {
            let text = &mut programs[tile];
            let Some(events) = events else {
                // Without work: credit instead of the barrier.
                text.push_str("sans 0\nsync 1\n");
                continue;
            };
            let words = row::encode(&events).expect("a row").words;
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            let at = 0x50000 + 0x200 * round;
            simulator.write(tiles[tile], at, &bytes).expect("memory");
            text.push_str(&format!("sync 3\ncall $m10, {at:#x}\n"));
            if tile % (2 * stride) == 0 {
                text.push_str(
                    "ld32 $m0, $m9, $mzero, 0\nld32 $m1, $m9, $mzero, 1\nadd $m0, $m0, $m1\n\
                     st32 $m0, $m9, $mzero, 0\n",
                );
            }
        }
    }
    let mut entries = Vec::new();
    for (tile, text) in tiles.iter().zip(&programs) {
        for (address, bytes) in assemble(&format!("setzi $m9, 0x60000\n{text}bri 0\n")) {
            simulator.write(*tile, address, &bytes).expect("memory");
        }
        let value = u32::from(tile.0) + 1;
        simulator
            .write(*tile, 0x60000, &value.to_le_bytes())
            .expect("memory");
        entries.push((*tile, BASE));
    }
    simulator.start(&entries);
    let report = simulator.run().expect("runs");
    let mut sum = [0; 4];
    simulator.read(tiles[0], 0x60000, &mut sum).expect("reads");
    assert_eq!(u32::from_le_bytes(sum), 1_084_128);
    assert_eq!(report.barriers.len(), rounds as usize);
}

/// A program, an assumption, another value of it, and by how much the end moves.
#[test]
fn assumptions_that_no_compiled_program_touches() {
    let launch = |worker: &str| {
        format!(
            "setzi $m0, worker\nsetzi $m1, 0x60000\nrunall $m0, $m1, 0\nsync 2\nbri 0\n\
             .worker\n.p2align 3\nworker: {worker}\nexitz $mzero\n"
        )
    };
    // `get` in cycle 0, its use 6 or 16 later.
    let get = "get $m0, $INCOMING_MUX\nadd $m1, $m0, 1\nbri 0\n".to_owned();
    // The branch is not taken twice.
    let not_taken = "setzi $m0, 1\nbrz $m0, 0x4c000\nbrz $m0, 0x4c000\nbri 0\n".to_owned();
    let store =
        "setzi $m0, 0x60000\nst32 $mzero, $m0, $mzero, 0\nst32 $mzero, $m0, $mzero, 1\nbri 0\n";
    // Nine times back, to a bundle at 4 mod 8: a turn, or a cycle, each time. `sync 2` issues in the
    // first slot that is free again, that of worker 3, in cycle 21 + T and 6 later ends the wait; nine
    // cycles shift T by half a rotation, and that slot comes three cycles later.
    let misaligned =
        launch("setzi $m0, 9\n.p2align 3\nnop\nloop: { nop ; fnop }\nbrnzdec $m0, loop");
    // Launch in cycle 9, earliest group in 15; worker 3 exits first, in cycle 15, and `sync 2` issues 6
    // later. When all begin in cycle 20 that is five cycles more; in launch order worker 0 is first.
    let empty = launch("");
    for (name, text, value, moved) in [
        ("sup_get", &get, "16", 10),
        ("sup_not_taken", &not_taken, "8", 14),
        ("sup_store", &store.to_owned(), "5", 8),
        ("branch_misaligned_turn", &misaligned, "none", -54),
        ("branch_misaligned_turn", &misaligned, "cycle", 9 - 54 + 3),
        ("sup_start", &empty, "fixed", 5),
        ("sup_slot_map", &empty, "launch", 0),
    ] {
        let base = cycles(text) as i64;
        let found = run_with(text, changed(name, value)).cycles as i64;
        assert_eq!(found - base, moved, "{name} = {value}");
    }
    // The starts of the six workers are what those two decide.
    let starts = |assumptions: Assumptions| -> Vec<u64> {
        let chip = Chip::first(1).expect("a chip");
        let options = Options {
            trace: true,
            ..Options::default()
        };
        let mut simulator = Simulator::new(chip, assumptions, options).expect("memory");
        for (address, bytes) in assemble(&empty) {
            simulator
                .write(LogicalTile(0), address, &bytes)
                .expect("populated");
        }
        simulator.start(&[(LogicalTile(0), BASE)]);
        let report = simulator.run().expect("runs");
        let spans = report.tiles[0].spans.iter();
        let workers = spans.filter(|span| span.activity == Activity::Worker);
        workers.map(|span| span.start).collect()
    };
    assert_eq!(starts(Assumptions::default()), [18, 19, 20, 15, 16, 17]);
    assert_eq!(
        starts(changed("sup_slot_map", "launch")),
        [15, 16, 17, 18, 19, 20]
    );
    assert_eq!(starts(changed("sup_start", "fixed")), [20; 6]);
}

#[test]
fn rows_last_at_least_their_least_events() {
    let row = |events: u32| {
        format!(
            "setzi $m10, done\nsync 3\ncall $m10, row\ndone: bri 0\n.org 0x4000\n\
             row: delayxpic {}, 0, 0x640\nbr $m10\n",
            events - 1
        )
    };
    cycles(&row(6));
    let chip = Chip::first(1).expect("a chip");
    for (events, least, fine) in [(5, "6", false), (5, "1", true), (20, "30", false)] {
        let assumptions = changed("sup_row_min", least);
        let mut simulator = Simulator::new(chip, assumptions, Options::default()).expect("memory");
        for (address, bytes) in assemble(&row(events)) {
            simulator
                .write(LogicalTile(0), address, &bytes)
                .expect("populated");
        }
        simulator.start(&[(LogicalTile(0), BASE)]);
        match simulator.run() {
            Ok(_) => assert!(fine, "{events} events, least {least}"),
            Err(failure) => {
                assert!(
                    !fine && failure.to_string().contains("sup_row_min"),
                    "{failure}"
                );
            }
        }
    }
}
