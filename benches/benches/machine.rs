//! Rates of the machine language: words decoded and encoded, rows encoded.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ipucc_machine::row::{Event, Place, RowEvents, SendControl, encode};
use ipucc_machine::{Context, Group, Inst};
use std::hint::black_box;

/// Words that decode, from a fixed stream.
fn words(count: usize) -> Vec<u32> {
    let mut state = 1u64;
    let mut words = Vec::with_capacity(count);
    while words.len() < count {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let word = (state >> 32) as u32 & 0x7fff_ffff;
        if Inst::decode(word).is_ok() {
            words.push(word);
        }
    }
    words
}

fn instructions(criterion: &mut Criterion) {
    let words = words(1 << 16);
    let decoded: Vec<Inst> = words
        .iter()
        .filter_map(|&word| Inst::decode(word).ok())
        .map(|(inst, _)| inst)
        .collect();
    let mut group = criterion.benchmark_group("machine");
    group.throughput(Throughput::Elements(words.len() as u64));
    group.bench_function("decode words", |bencher| {
        bencher.iter(|| {
            words
                .iter()
                .filter(|&&word| Inst::decode(black_box(word)).is_ok())
                .count()
        });
    });
    group.bench_function("decode groups", |bencher| {
        bencher.iter(|| {
            let pairs = words.windows(2);
            pairs
                .filter(|pair| Group::decode(black_box(pair), Context::Worker).is_ok())
                .count()
        });
    });
    group.bench_function("encode words", |bencher| {
        bencher.iter(|| {
            decoded
                .iter()
                .filter_map(|inst| black_box(inst).encode(false).ok())
                .fold(0, |a, b| a ^ b)
        });
    });
    group.finish();
}

fn rows(criterion: &mut Criterion) {
    // A tile that sends 500 messages of 8 words back to back.
    let events = (0..500)
        .map(|i| Event::Send {
            at: 8 * i,
            from: Place::absolute(0x60000 + 64 * i),
            items: 8,
            control: SendControl {
                directions: 1,
                wide: false,
            },
        })
        .collect();
    let row = RowEvents {
        events,
        horizon: 4000,
    };
    let length = encode(&row).map_or(0, |row| row.words.len());
    let mut group = criterion.benchmark_group("rows");
    group.throughput(Throughput::Elements(length as u64));
    group.bench_function("encode row words", |bencher| {
        bencher.iter(|| encode(black_box(&row)))
    });
    group.finish();
}

criterion_group!(benches, instructions, rows);
criterion_main!(benches);
