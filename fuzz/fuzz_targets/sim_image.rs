//! A tile image of any bytes ends: in an end, a fault or the cycle limit.
#![no_main]

use ipucc_chip::{Assumptions, Chip, LogicalTile, memory};
use ipucc_sim::{Options, Simulator};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let options = Options {
        cycle_limit: 20_000,
        trace: true,
        ..Options::default()
    };
    let chip = Chip::first(2).expect("a chip");
    let mut simulator = Simulator::new(chip, Assumptions::default(), options).expect("memory");
    let data = &data[..data.len().min(memory::SIZE as usize)];
    let tiles = [LogicalTile(0), LogicalTile(1)];
    for tile in tiles {
        simulator.write(tile, memory::BASE, data).expect("populated");
    }
    // Worker code where a short program can reach it, too.
    let half = data.len() / 2 & !3;
    simulator
        .write(LogicalTile(1), 0x60000, &data[half..])
        .unwrap_or(());
    let _ = simulator.attach(0, 4096);
    simulator.start(&tiles.map(|tile| (tile, memory::BASE)));
    if let Err(failure) = simulator.run() {
        assert!(!failure.to_string().is_empty());
    }
});
