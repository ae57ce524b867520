//! `docs/contracts.md` as its reader uses it: a kernel in assembler called by the calling convention
//! (4.3), an exchange as typed events (2.2), and a package by hand (2.4), for two tiles. Tile 0 adds
//! `a` and `b`, sends the sum to tile 1, tile 1 adds `c` to it.
//!
//! Nothing of the compiler is used. The prediction is worked out from the timing table
//! (`isa/supervisor.md` 4) and the event relations (`facts/exchange.md` 1.2) by hand.

use indexmap::IndexMap;
use ipucc_chip::fabric::{pointer_event, receive_horizon, route, select_event};
use ipucc_chip::timing::SLOTS;
use ipucc_chip::{Assumptions, HostType, LogicalTile, PhysicalTile, ScalarType};
use ipucc_machine::asm::{Options as AsmOptions, assemble};
use ipucc_machine::object::Placed;
use ipucc_machine::package::{
    Binding, FORMAT_VERSION, Header, HostDim, HostRun, Package, Prediction, Segment, SegmentKind,
    SourceMap, TileImage,
};
use ipucc_machine::row::{Event, Place, Row, RowEvents, SendControl, decode, encode};
use ipucc_machine::{Context, SymbolId};
use ipucc_runtime::{HostTensor, Session, file, validate};
use ipucc_sim::Options;
use ipucc_tile::{AxisCut, Distribution, Layout, LayoutKind};
use smallvec::smallvec;
use std::sync::Arc;

/// Elements of every tensor: one pair of f32 for each of the six workers.
const ELEMENTS: u32 = 12;
/// Code at the start of memory, the row behind it in the same element, each operand in an element
/// of its own.
const CODE: u32 = 0x4c000;
const ROW: u32 = 0x4d000;
const RECORD: u32 = 0x50000;
const LEFT: u32 = 0x54000;
const RIGHT: u32 = 0x58000;
const RESULT: u32 = 0x5c000;

/// The kernel: `result = left + right`. A record of three addresses; worker w adds pair w.
const KERNEL: &str = "
        .worker
        .p2align 3
add:    get $m0, $WSR
        and $m0, $m0, 7
        shl $m0, $m0, 3
        ld32 $m1, $m13, $m15, 0
        ld32 $m2, $m13, $m15, 1
        ld32 $m3, $m13, $m15, 2
        add $m1, $m1, $m0
        add $m2, $m2, $m0
        add $m3, $m3, $m0
        ld64 $a0:1, $m1, $m15, 0
        ld64 $a2:3, $m2, $m15, 0
        f32v2add $a0:1, $a0:1, $a2:3
        st64 $a0:1, $m3, $m15, 0
        exitz $m15
        .supervisor
";
/// Issue groups of the kernel on every worker.
const TURNS: u64 = 14;

const PROLOGUE: &str = "
main:   put $FP_ICTL, $m15
        put $INCOMING_BASE, $m15
        put $OUTGOING_BASE, $m15
        setzi $m8, 0x640
        put $INCOMING_MUX, $m8
        setzi $m8, 1
        put $INCOMING_DCOUNT, $m8
        sync 3
";
const CALL: &str = "
        setzi $m0, add
        setzi $m1, RECORD
        runall $m0, $m1, 0
        sync 2
";
const EXCHANGE: &str = "
        sync 3
        call $m10, ROW
";
const EPILOGUE: &str = "
        sync 3
        bri 0
";

fn program(parts: &[&str]) -> Placed {
    let text = format!(
        "        .set ROW, {ROW:#x}\n        .set RECORD, {RECORD:#x}\n        .text\n{}{KERNEL}",
        parts.concat()
    );
    let options = AsmOptions {
        file: "page.S".into(),
        context: Context::Supervisor,
    };
    let assembly = assemble(&text, &options).unwrap_or_else(|errors| panic!("{errors}"));
    let given = IndexMap::from([(".text".to_owned(), CODE)]);
    let addresses = assembly.object.default_addresses(&given);
    assembly.object.place(&addresses).expect("places")
}

/// The rows of both tiles; addresses are symbols, which the sites say how to fill in.
fn rows(a: &Assumptions) -> [Row; 2] {
    const SENT: SymbolId = SymbolId(0);
    const RECEIVED: SymbolId = SymbolId(1);
    let (from, to) = (LogicalTile(0).physical(), LogicalTile(1).physical());
    let route = route(from, to);
    // The earliest start: the select acts at event 1.
    let start = (-i64::from(route.time)).max(0);
    let select = select_event(start, route.time);
    let sender = RowEvents {
        events: vec![Event::Send {
            at: start as u32,
            from: Place::of(SENT, 0),
            items: ELEMENTS,
            control: SendControl {
                directions: route.direction as u8,
                wide: false,
            },
        }],
        horizon: (start as u32 + ELEMENTS).max(a.sup_row_min),
    };
    let receiver = RowEvents {
        events: vec![
            Event::Select {
                at: select as u32,
                source: from.0,
                pair: false,
            },
            Event::Select {
                at: select as u32 + ELEMENTS,
                source: 0x640,
                pair: false,
            },
            Event::Pointer {
                at: pointer_event(select, to.row()) as u32,
                to: Place::of(RECEIVED, 0),
            },
        ],
        horizon: receive_horizon(select, i64::from(ELEMENTS), to.row()) as u32,
    };
    [(sender, RESULT), (receiver, LEFT)].map(|(events, address)| {
        let mut row = encode(&events).expect("encodes");
        assert_eq!(row.events, events.horizon);
        assert_eq!(row.sites.len(), 1, "one address in each row");
        for site in &row.sites {
            let field = (address + site.place.offset) >> site.unit_shift;
            assert!(field < 1 << site.width);
            row.words[site.word as usize] |= field << site.field_shift;
        }
        row
    })
}

fn words(words: &[u32]) -> Arc<[u8]> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A tensor of `ELEMENTS` f32 in a row at an address of a tile.
fn binding(tile: u16, address: u32) -> Binding {
    Binding {
        host: HostType::Device(ScalarType::F32),
        device: ScalarType::F32,
        shape: vec![ELEMENTS],
        runs: vec![HostRun {
            tile,
            address,
            host: 0,
            dims: smallvec![HostDim {
                count: ELEMENTS,
                host_elements: 1,
                device_bytes: 4,
            }],
        }],
    }
}

/// Cycle after a kernel call whose first `setzi` issues at `now`.
fn after_call(now: u64, a: &Assumptions) -> u64 {
    let slots = u64::from(SLOTS);
    let launch = now + u64::from(a.sup_issue + a.sup_use_early);
    let first = launch + u64::from(a.sup_launch);
    // The six workers begin in six consecutive cycles, each in its slot. They hold all slots, so
    // `sync 2` issues when the first to end has given its slot back, and lasts until the last has.
    let first_exit = first + slots * (TURNS - 1);
    let last_exit = first_exit + slots - 1;
    let joined = last_exit + u64::from(a.sup_join);
    joined.max(first_exit + u64::from(a.sup_slot_return + a.sup_sync))
}

fn predict(rows: &[Row; 2], a: &Assumptions) -> Prediction {
    let cycles = |n: u32| u64::from(n);
    let barrier = cycles(a.sup_barrier);
    let prologue = cycles(a.sup_put + 4 * a.sup_put_exch + 2 * a.sup_issue);
    let first = prologue + barrier;
    let second = after_call(first, a) + barrier;
    let back = |row: &Row| second + cycles(2 * a.sup_branch + row.events);
    let arrivals = [back(&rows[0]), after_call(back(&rows[1]), a)];
    let last = arrivals[0].max(arrivals[1]);
    let third = last + barrier;
    Prediction {
        cycles: last - first,
        assumptions: a.clone(),
        tile_cycles: vec![third; 2],
        barrier_releases: vec![first, second, third],
    }
}

fn package(a: &Assumptions) -> Package {
    let rows = rows(a);
    let programs = [
        program(&[PROLOGUE, CALL, EXCHANGE, EPILOGUE]),
        program(&[PROLOGUE, EXCHANGE, CALL, EPILOGUE]),
    ];
    let mut blobs = vec![words(&[LEFT, RIGHT, RESULT])];
    let mut images = Vec::new();
    for (program, row) in programs.iter().zip(&rows) {
        let text = &program.sections[".text"];
        let blob = blobs.len() as u32;
        blobs.push(text.bytes.as_slice().into());
        blobs.push(words(&row.words));
        let segment = |address, blob, kind| Segment {
            address,
            blob,
            kind,
        };
        images.push(TileImage {
            entry: program.symbols["main"],
            segments: vec![
                segment(text.address, blob, SegmentKind::Code),
                segment(ROW, blob + 1, SegmentKind::Row),
                segment(RECORD, 0, SegmentKind::Data),
            ],
        });
    }
    Package {
        header: Header {
            format_version: FORMAT_VERSION,
            producer: "contracts_page.rs".into(),
            name: "two tiles".into(),
        },
        tiles: 2,
        blobs,
        images,
        inputs: IndexMap::from([
            ("a".to_owned(), binding(0, LEFT)),
            ("b".to_owned(), binding(0, RIGHT)),
            ("c".to_owned(), binding(1, RIGHT)),
        ]),
        outputs: IndexMap::from([("y".to_owned(), binding(1, RESULT))]),
        predicted: predict(&rows, a),
        map: SourceMap::default(),
    }
}

fn tensor(values: &[f32]) -> HostTensor {
    HostTensor {
        element: HostType::Device(ScalarType::F32),
        shape: vec![ELEMENTS],
        bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    }
}

#[test]
fn a_package_written_from_the_page_runs_as_predicted() {
    let assumptions = Assumptions::default();
    let package = package(&assumptions);
    validate(&package).expect("the package makes sense");
    let bytes = file::to_bytes(&package).expect("serialises");
    let package = file::from_bytes("two tiles", &bytes).expect("reads");

    let mut session =
        Session::new(package, assumptions, Options::default()).expect("the package loads");
    // Twice with other numbers: a loaded program can be started again.
    for scale in [1.0f32, -3.5] {
        let numbers = |step: f32| -> Vec<f32> {
            (0..ELEMENTS)
                .map(|i| scale * (i as f32 + 1.0) * step)
                .collect()
        };
        let (a, b, c) = (numbers(0.1), numbers(17.0), numbers(-0.3));
        let expected: Vec<f32> = (0..ELEMENTS as usize)
            .map(|i| (a[i] + b[i]) + c[i])
            .collect();
        let inputs = IndexMap::from([
            ("a".to_owned(), tensor(&a)),
            ("b".to_owned(), tensor(&b)),
            ("c".to_owned(), tensor(&c)),
        ]);
        let outcome = session.run(&inputs).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(outcome.outputs["y"], tensor(&expected));
        assert_eq!(outcome.misprediction(session.package()), None);
    }
}

#[test]
fn a_prediction_that_is_off_anywhere_is_told() {
    let assumptions = Assumptions::default();
    let right = package(&assumptions);
    let numbers = tensor(&[1.0; ELEMENTS as usize]);
    let inputs = ["a", "b", "c"].map(|name| (name.to_owned(), numbers.clone()));
    let inputs = IndexMap::from(inputs);
    let changes: [fn(&mut Prediction); 5] = [
        |p| p.cycles += 1,
        |p| p.barrier_releases[1] -= 1,
        |p| p.barrier_releases.truncate(2),
        |p| p.tile_cycles[1] += 1,
        |p| p.tile_cycles.truncate(1),
    ];
    for (case, change) in changes.into_iter().enumerate() {
        let mut package = right.clone();
        change(&mut package.predicted);
        let mut session =
            Session::new(package, assumptions.clone(), Options::default()).expect("loads");
        let outcome = session.run(&inputs).expect("runs");
        let told = outcome.misprediction(session.package());
        assert!(told.is_some(), "change {case} was not noticed");
    }
}

/// The example of 2.2: three words from physical tile 0 to physical tile 53.
#[test]
fn the_example_of_a_row_holds() {
    let (from, to) = (PhysicalTile(0), PhysicalTile(53));
    let route = route(from, to);
    assert_eq!((route.time, to.row()), (-23, 0));
    let select = select_event(26, route.time);
    assert_eq!(select, 4);
    assert_eq!(pointer_event(select, to.row()), 56);
    assert_eq!(receive_horizon(select, 3, to.row()), 64);
    let at = |at, source| Event::Select {
        at,
        source,
        pair: false,
    };
    let sender = RowEvents {
        events: vec![Event::Send {
            at: 26,
            from: Place::absolute(0x60000),
            items: 3,
            control: SendControl {
                directions: route.direction as u8,
                wide: false,
            },
        }],
        horizon: 29,
    };
    let receiver = RowEvents {
        events: vec![
            at(4, from.0),
            at(7, 0x640),
            Event::Pointer {
                at: 56,
                to: Place::absolute(0x98000),
            },
        ],
        horizon: 64,
    };
    for events in [sender, receiver] {
        let row = encode(&events).expect("encodes");
        assert!(row.sites.is_empty(), "absolute places are in the words");
        assert_eq!(decode(&row.words).expect("decodes"), events.normalized());
    }
}

/// The example of 4.1: the right operand of a product on 4 x 16 tiles.
#[test]
fn the_example_of_a_layout_holds() {
    let cut = |parts, granule| AxisCut { parts, granule };
    let shape = [256, 512];
    let distribution = Distribution {
        cuts: smallvec![cut(4, 8), cut(16, 16)],
        replicas: 1,
        tiles: (0..64).map(LogicalTile).collect(),
    };
    let layout = Layout {
        kind: LayoutKind::AmpRhs { panel: 8 },
        order: smallvec![1, 0],
    };
    for (point, shard) in distribution.shards(&shape).enumerate() {
        let (i, j) = (point as u32 / 16, point as u32 % 16);
        assert_eq!(shard.low[..], [64 * i, 32 * j]);
        assert_eq!(shard.high[..], [64 * i + 64, 32 * j + 32]);
        let extents = shard.extents();
        assert_eq!(4 * layout.elements(&extents), 8192);
        for (k, n) in (0..64).flat_map(|k| (0..32).map(move |n| (k, n))) {
            let by_the_page = ((n / 16 * 64 / 8 + k / 8) * 16 + n % 16) * 8 + k % 8;
            assert_eq!(
                layout.offset(&extents, &[k, n]),
                u64::from(by_the_page),
                "k {k}, n {n}"
            );
        }
    }
}
