//! Rates of the simulator, as a report: `cargo bench -p benches --bench sim`.
//!
//! Every figure is for one core: the thread pool has one thread, and rates count the time that the
//! process was on a processor (Linux; elsewhere the time that passed). `--test` runs everything once and
//! briefly. The aims are those of the simulator's requirements (docs/simulator.md).

use ipucc_chip::{Assumptions, Chip, LogicalTile};
use ipucc_machine::asm;
use ipucc_sim::{AmpMode, Options, RunReport, Simulator};
use std::time::Instant;

/// Code of a program that begins in supervisor context.
fn assemble(text: &str) -> Vec<(u32, Vec<u8>)> {
    let options = asm::Options {
        file: "bench".into(),
        context: ipucc_machine::Context::Supervisor,
    };
    let assembly = asm::assemble(text, &options).expect("the program is right");
    let addresses = assembly.object.default_addresses(&Default::default());
    let placed = assembly.object.place(&addresses).expect("it can be placed");
    let sections = placed.sections.into_values();
    sections.map(|s| (s.address, s.bytes)).collect()
}

/// A worker's program as all six run it once.
fn launched(worker: &str) -> String {
    format!(
        ".supervisor\nsetzi $m0, worker\nsetzi $m1, 0x60000\nrunall $m0, $m1, 0\nsync 2\nbri 0\n\
         .worker\n.p2align 3\nworker:\n{worker}\nexitz $mzero\n"
    )
}

fn chip(tiles: u16, code: &[(u32, Vec<u8>)], amp: AmpMode) -> Simulator {
    let options = Options {
        amp,
        ..Options::default()
    };
    let chip = Chip::first(tiles).expect("such a chip");
    let mut simulator = Simulator::new(chip, Assumptions::default(), options).expect("memory");
    for tile in 0..tiles {
        for (address, bytes) in code {
            simulator
                .write(LogicalTile(tile), *address, bytes)
                .expect("populated");
        }
    }
    simulator
}

fn run(simulator: &mut Simulator) -> RunReport {
    let tiles = simulator.chip().logical_tiles();
    let entries: Vec<_> = tiles.map(|tile| (tile, ipucc_chip::memory::BASE)).collect();
    simulator.start(&entries);
    simulator.run().expect("the program runs")
}

/// Seconds that the threads of this process have run; nothing where the system does not say.
fn processor_seconds() -> Option<f64> {
    let mut nanoseconds = 0u64;
    for task in std::fs::read_dir("/proc/self/task").ok()? {
        let path = task.ok()?.path().join("schedstat");
        let text = std::fs::read_to_string(path).ok()?;
        nanoseconds += text.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(nanoseconds as f64 / 1e9)
}

/// Seconds that `work` takes of one core.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let (before, started) = (processor_seconds(), Instant::now());
    let result = work();
    let passed = started.elapsed().as_secs_f64();
    let used = processor_seconds()
        .zip(before)
        .map(|(after, before)| after - before);
    (result, used.unwrap_or(passed))
}

/// Millions of issue groups a second of a worker's program on one tile: the best of five runs.
/// All weight registers hold ordinary halves.
fn rate(worker: &str, amp: AmpMode, runs: usize) -> f64 {
    let mut text = launched(worker);
    let mut weights = String::from(".supervisor\nsetzi $m0, 0x80000\nput $CCCSLOAD, $m0\n");
    for index in (0..64).step_by(2) {
        weights.push_str(&format!("ld128putcs {index}\n"));
    }
    text.insert_str(0, &weights);
    let mut simulator = chip(1, &assemble(&text), amp);
    let halves = |i: u16| (0x3000 + 37 * i % 0x1000) | (i & 1) << 15;
    let data: Vec<u8> = (0..256).flat_map(|i| halves(i).to_le_bytes()).collect();
    simulator
        .write(LogicalTile(0), 0x80000, &data)
        .expect("populated");
    let mut best = 0.0f64;
    for _ in 0..runs {
        let (report, seconds) = timed(|| run(&mut simulator));
        best = best.max(report.tiles[0].worker_turns as f64 / seconds / 1e6);
    }
    best
}

/// Largest resident memory of this process so far, in bytes (Linux).
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

fn main() {
    let brief = std::env::args().any(|argument| argument == "--test");
    let (loops, runs, supersteps) = if brief {
        (10, 1, 10)
    } else {
        (1_000_000, 5, 1000)
    };
    // One thread for everything; a pool can be set up only once.
    rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build_global()
        .expect("the first pool");
    let integer = format!(
        "setzi $m0, {loops}\nloop: add $m1, $m1, 3\nxor $m2, $m1, $m0\nshl $m3, $m2, 5\n\
         sub $m4, $m3, $m1\nand $m5, $m4, $m2\nmul $m6, $m5, $m1\ncmpult $m7, $m6, $m2\n\
         brnzdec $m0, loop"
    );
    let memory = format!(
        "setzi $m0, {loops}\nsetzi $m1, 0x80000\nget $m9, $WSR\nand $m9, $m9, 7\nshl $m9, $m9, 4\n\
         add $m1, $m1, $m9\nloop: ld32 $m2, $m1, $mzero, 0\nld32 $m3, $m1, $mzero, 1\n\
         add $m4, $m2, $m3\nst32 $m4, $m1, $mzero, 2\nst32 $m2, $m1, $mzero, 3\nbrnzdec $m0, loop"
    );
    // `rpt` takes 4,096 iterations at most; an outer loop goes around it.
    let rounds = (loops / 4000).max(1);
    let vector = format!(
        "setzi $m0, {rounds}\nsetzi $m7, 0x80000\nsetzi $m8, 0x88000\nsetzi $m9, 0x90000\n\
         outer: tapack $m4:5, $m7, $m8, $m9\nsetzi $m6, 4000\n.p2align 3\n\
         {{ rpt $m6, 0 ; fnop }}\n\
         {{ ld2xst64pace $a0:3, $a4:5, $m4:5+=, $mzero, 0b010101 ; f32v2add $a4:5, $a0:1, $a2:3 }}\n\
         brnzdec $m0, outer"
    );
    let packed = vector.replace("f32v2add $a4:5, $a0:1, $a2:3", "fnop");
    let amp = format!(
        "setzi $m0, {rounds}\nsetzi $a2, 0x3c00\nsetzi $a3, 0x4200\nouter: setzi $m6, 4000\n.p2align 3\n\
         {{ rpt $m6, 3 ; fnop }}\n\
         {{ nop ; f16v4hihov4amp $a4:5, $a2:3, $azeros, 12 }}\n\
         {{ nop ; f16v4hihov4amp $a6:7, $a2:3, $azeros, 13 }}\n\
         {{ nop ; f16v4hihov4amp $a4:5, $a2:3, $azeros, 14 }}\n\
         {{ nop ; f16v4hihov4amp $a6:7, $a2:3, $azeros, 15 }}\n\
         brnzdec $m0, outer"
    );
    println!("worker issue groups per second and core, in millions");
    for (name, text, mode, aim) in [
        ("integer", &integer, AmpMode::Exact, Some(80.0)),
        ("load and store", &memory, AmpMode::Exact, Some(80.0)),
        (
            "64-bit load and store, packed",
            &packed,
            AmpMode::Exact,
            Some(80.0),
        ),
        ("two loads, store, f32 add", &vector, AmpMode::Exact, None),
        ("AMP f16, fast", &amp, AmpMode::Fast, Some(40.0)),
        ("AMP f16, exact", &amp, AmpMode::Exact, None),
    ] {
        let found = rate(text, mode, runs);
        let aim = aim.map_or(String::new(), |aim| format!("  (aim {aim})"));
        println!("  {name:<28} {found:>8.1}{aim}");
    }

    let before = peak_memory();
    let empty = format!(
        ".supervisor\nsetzi $m0, {}\nloop: sync 3\nbrnzdec $m0, loop\nbri 0\n",
        supersteps - 1
    );
    let mut whole = chip(1472, &assemble(&empty), AmpMode::Exact);
    let started = Instant::now();
    let report = run(&mut whole);
    let seconds = started.elapsed().as_secs_f64();
    assert_eq!(report.barriers.len(), supersteps);
    println!("1,472 tiles, {supersteps} empty supersteps: {seconds:.2} s  (aim for 1,000: 5)");
    let launch = format!(
        ".supervisor\nsetzi $m0, {}\nsetzi $m1, worker\nsetzi $m2, 0x60000\nloop: sync 3\n\
         runall $m1, $m2, 0\nsync 2\nbrnzdec $m0, loop\nbri 0\n\
         .worker\n.p2align 3\nworker: exitz $mzero\n",
        supersteps - 1
    );
    let mut whole = chip(1472, &assemble(&launch), AmpMode::Exact);
    let started = Instant::now();
    run(&mut whole);
    let seconds = started.elapsed().as_secs_f64();
    println!("the same with a launch and join in each: {seconds:.2} s");
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        println!(
            "peak resident memory: {:.1} MiB with one tile, {:.1} MiB with two chips of 1,472",
            mib(before),
            mib(after)
        );
    }
}
