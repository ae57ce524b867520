//! The row encoder and decoder: random events, and minimality against an exhaustive search.

mod support;

use ipucc_chip::Assumptions;
use ipucc_machine::SymbolId;
use ipucc_machine::row::{
    BaseRegister, BaseValue, Event, Place, Row, RowError, RowEvents, SendControl, decode, encode,
    steps,
};
use support::Random;

/// Times of sends and controls with every legal shape; `scale` stretches gaps and lengths.
fn random_row(random: &mut Random, scale: u32, bases: bool) -> RowEvents {
    let mut events = Vec::new();
    let mut time = 0;
    let mut format = 0u8;
    // Event that must stay free of lone controls: the first of a send.
    for _ in 0..random.below(6) + 1 {
        // Idle stretch, or none.
        let idle = if random.chance(30) {
            0
        } else {
            random.below(scale)
        };
        controls(
            random,
            &mut events,
            time + 1,
            time + idle,
            None,
            &mut format,
        );
        time += idle;
        if bases && random.chance(40) {
            let value = if random.chance(50) {
                BaseValue::Register(15)
            } else {
                BaseValue::Place(Place::absolute(random.below(16) * 0x1000))
            };
            let which = if random.chance(50) {
                BaseRegister::Incoming
            } else {
                BaseRegister::Outgoing
            };
            events.push(Event::Base {
                at: time,
                which,
                value,
            });
            // Room for either length, so a base switch never meets the next one.
            time += 14;
        }
        if random.chance(70) {
            let wide = random.chance(30);
            let items = random.below(scale) + 1;
            let control = SendControl {
                directions: random.below(3) as u8 + 1,
                wide,
            };
            let unit = control.item_bytes();
            let from = Place::absolute(random.below(0x1_0000) * unit);
            events.push(Event::Send {
                at: time,
                from,
                items,
                control,
            });
            controls(
                random,
                &mut events,
                time + 1,
                time + items,
                Some(time + 1),
                &mut format,
            );
            time += items;
        }
    }
    let tail = random.below(scale);
    RowEvents {
        events,
        horizon: time + tail,
    }
    .normalized()
}

/// Controls at some of the events `from..=to`; at `first` only a complete ordinary pair.
fn controls(
    random: &mut Random,
    events: &mut Vec<Event>,
    from: u32,
    to: u32,
    first: Option<u32>,
    format: &mut u8,
) {
    let mut at = from;
    while at <= to {
        let source = random.below(0x641) as u16;
        let pointer = Place::absolute(random.below(0x4_0000) * 4);
        match random.below(10) {
            0..=2 if first != Some(at) => {
                events.push(Event::Select {
                    at,
                    source,
                    pair: random.chance(30),
                });
            }
            3..=4 if first != Some(at) => events.push(Event::Pointer { at, to: pointer }),
            5 if first != Some(at) => {
                *format = random.below(3) as u8;
                events.push(Event::Format { at, value: *format });
            }
            6..=7 if *format == 0 => {
                events.push(Event::Select {
                    at,
                    source,
                    pair: false,
                });
                events.push(Event::Pointer { at, to: pointer });
            }
            _ => {}
        }
        at += random.below(to - from + 2).min(200) / 3 + 1;
    }
}

#[test]
fn random_events_become_rows_that_decode_to_them() {
    let mut random = Random(7);
    let (mut encoded, mut refused) = (0, 0);
    for round in 0..60_000 {
        let scale = [3, 8, 40, 200, 3000, 20_000][round % 6];
        let row = random_row(&mut random, scale, round % 4 == 0);
        match encode(&row) {
            Ok(words) => {
                encoded += 1;
                assert_eq!(words.events, row.horizon);
                assert!(words.sites.is_empty());
                assert_eq!(
                    decode(&words.words).as_ref(),
                    Ok(&row),
                    "{:08x?}",
                    words.words
                );
            }
            // The only thing that a well-formed list can lack is room for alignment.
            Err(RowError::Parity { .. }) => refused += 1,
            Err(other) => panic!("{other}\n{row:?}"),
        }
    }
    assert!(encoded > 5 * refused, "{encoded} {refused}");
}

/// Fewest words of a row by exhaustive search over (time, parity); `None` if there are none.
/// Controls stand at `controls[event]` as (own XPIC, PIC) flags; sends as (start, end).
fn fewest(
    horizon: u32,
    sends: &[(u32, u32)],
    control: impl Fn(u32) -> (bool, bool),
) -> Option<u32> {
    let size = horizon as usize + 1;
    let mut best = vec![[None::<u32>; 2]; size];
    best[0][0] = Some(0);
    let sending = |event: u32| sends.iter().position(|&(s, e)| event > s && event <= e);
    for time in 0..horizon {
        for parity in 0..2 {
            let Some(words) = best[time as usize][parity] else {
                continue;
            };
            for end in time + 1..=horizon {
                let stream = sending(time + 1);
                if (time + 1..=end).any(|event| sending(event) != stream) {
                    break;
                }
                let quiet =
                    |from: u32, to: u32| (from..=to).all(|event| control(event) == (false, false));
                let begins = stream.is_some_and(|index| sends[index].0 == time);
                let mut cost: Option<u32> = None;
                let mut offer = |words: u32| cost = Some(cost.map_or(words, |c| c.min(words)));
                match stream {
                    None => {
                        if quiet(time + 1, end) {
                            offer(1);
                        }
                        let (x, p) = control(end);
                        if quiet(time + 1, end - 1) && x != p {
                            offer(1);
                        }
                    }
                    Some(_) => {
                        if quiet(time + 1, end) {
                            offer(1);
                        }
                        let (x, p) = control(time + 1);
                        if !begins && quiet(time + 2, end) && x != p {
                            offer(1);
                        }
                    }
                }
                if parity == 0 && control(time + 1) == (true, true) && quiet(time + 2, end) {
                    offer(2);
                }
                if let Some(cost) = cost {
                    let slot = &mut best[end as usize][(parity + cost as usize) % 2];
                    *slot = Some(slot.map_or(words + cost, |old| old.min(words + cost)));
                }
            }
        }
    }
    match best[horizon as usize] {
        [Some(a), Some(b)] => Some(a.min(b)),
        [a, b] => a.or(b),
    }
}

#[test]
fn rows_are_the_shortest_ones() {
    let mut random = Random(11);
    let (mut rows, mut refused) = (0, 0);
    while rows < 20_000 {
        let row = random_row(&mut random, 7, false);
        if row.horizon == 0 || row.horizon > 24 {
            continue;
        }
        rows += 1;
        let sends: Vec<(u32, u32)> = row
            .events
            .iter()
            .filter_map(|event| match *event {
                Event::Send { at, items, .. } => Some((at, at + items)),
                _ => None,
            })
            .collect();
        let control = |event: u32| {
            let mut found = (false, false);
            for other in row.events.iter().filter(|other| other.at() == event) {
                match other {
                    Event::Select { .. } => found.0 = true,
                    Event::Pointer { .. } | Event::Format { .. } => found.1 = true,
                    _ => {}
                }
            }
            found
        };
        let best = fewest(row.horizon, &sends, control);
        match encode(&row) {
            Ok(words) => {
                assert_eq!(
                    Some(words.words.len() as u32 - 1),
                    best,
                    "{row:?}\n{words:08x?}"
                );
            }
            Err(RowError::Parity { .. }) => {
                refused += 1;
                assert_eq!(best, None, "{row:?}");
            }
            Err(other) => panic!("{other}"),
        }
    }
    // The search must meet both outcomes.
    assert!(refused > 50, "{refused}");
}

fn site_value(row: &Row, address: impl Fn(SymbolId) -> u32) -> Vec<u32> {
    let mut words = row.words.clone();
    for site in &row.sites {
        let address = site.place.symbol.map_or(0, &address) + site.place.offset;
        let value = address >> site.unit_shift;
        assert!(value >> site.width == 0);
        assert_eq!(
            words[site.word as usize] >> site.field_shift & ((1 << site.width) - 1),
            0
        );
        words[site.word as usize] |= value << site.field_shift;
    }
    words
}

#[test]
fn symbolic_places_give_the_words_of_their_addresses() {
    let mut random = Random(13);
    let base = |symbol: SymbolId| 0x50000 + symbol.0 * 0x800;
    let mut sites = 0;
    for round in 0..5_000 {
        let scale = [8, 40, 300][round % 3];
        let mut symbolic = random_row(&mut random, scale, round % 2 == 0);
        let mut absolute = symbolic.clone();
        for (symbolic, absolute) in symbolic.events.iter_mut().zip(&mut absolute.events) {
            let place = Place::of(SymbolId(random.below(40)), random.below(0x100) * 8);
            let known = Place::absolute(base(place.symbol.unwrap()) + place.offset);
            match (symbolic, absolute) {
                (Event::Send { from, .. }, Event::Send { from: other, .. }) => {
                    (*from, *other) = (place, known);
                }
                (Event::Pointer { to, .. }, Event::Pointer { to: other, .. }) => {
                    (*to, *other) = (place, known);
                }
                (
                    Event::Base {
                        value: BaseValue::Place(value),
                        ..
                    },
                    Event::Base {
                        value: BaseValue::Place(other),
                        ..
                    },
                ) => {
                    (*value, *other) = (place, known);
                }
                _ => {}
            }
        }
        // Sends that happen to continue in addresses, or bases that happen to be equal, would be
        // joined when their symbols are known; skip those.
        let joins = |row: &RowEvents| row.normalized().events.len();
        if joins(&absolute) != joins(&symbolic) {
            continue;
        }
        let bases = |row: &RowEvents| {
            let mut values: Vec<BaseValue> = row
                .events
                .iter()
                .filter_map(|event| match event {
                    Event::Base { value, .. } => Some(*value),
                    _ => None,
                })
                .collect();
            values.dedup();
            values.len()
        };
        if bases(&absolute) != bases(&symbolic) {
            continue;
        }
        if let (Ok(symbolic), Ok(absolute)) = (encode(&symbolic), encode(&absolute)) {
            sites += symbolic.sites.len();
            assert!(symbolic.sites.is_sorted_by_key(|site| site.word));
            assert_eq!(site_value(&symbolic, base), absolute.words);
        }
    }
    assert!(sites > 5_000, "{sites}");
}

#[test]
fn steps_agree_with_events() {
    let mut random = Random(17);
    let assumptions = Assumptions::default();
    for _ in 0..2_000 {
        let row = random_row(&mut random, 60, true);
        let Ok(words) = encode(&row) else { continue };
        let steps = steps(&words.words, &assumptions).unwrap();
        assert_eq!(steps.last().unwrap().end, row.horizon);
        assert!(steps.windows(2).all(|pair| pair[0].end == pair[1].start));
        let mut effects: Vec<u32> = steps.iter().filter_map(|step| step.effect).collect();
        effects.dedup();
        let mut controls: Vec<u32> = row
            .events
            .iter()
            .filter(|event| !matches!(event, Event::Send { .. } | Event::Base { .. }))
            .map(Event::at)
            .collect();
        controls.dedup();
        assert_eq!(effects, controls);
    }
}

#[test]
fn refusals_name_the_event() {
    let send = |at, items| Event::Send {
        at,
        from: Place::absolute(0x60000),
        items,
        control: SendControl {
            directions: 1,
            wide: false,
        },
    };
    let select = |at| Event::Select {
        at,
        source: 5,
        pair: false,
    };
    let pointer = |at| Event::Pointer {
        at,
        to: Place::absolute(0x70000),
    };
    let refuse = |events: &[Event], horizon| {
        encode(&RowEvents {
            events: events.to_vec(),
            horizon,
        })
        .unwrap_err()
    };
    assert!(matches!(refuse(&[select(0)], 6), RowError::AtZero { .. }));
    assert!(matches!(
        refuse(&[select(7)], 6),
        RowError::PastHorizon { .. }
    ));
    assert!(matches!(
        refuse(&[send(2, 9)], 10),
        RowError::PastHorizon { .. }
    ));
    assert!(matches!(
        refuse(&[send(0, 9), send(5, 3)], 20),
        RowError::SendsOverlap {
            first: 0,
            second: 5
        }
    ));
    assert!(matches!(
        refuse(&[send(4, 9), select(5)], 20),
        RowError::SendStart { send: 4, .. }
    ));
    assert!(matches!(
        refuse(&[select(4), select(4)], 20),
        RowError::Coincident { .. }
    ));
    // Hardware rules: a pair mux or a pointer of a paired receive shares no instruction.
    let pair = Event::Select {
        at: 4,
        source: 5,
        pair: true,
    };
    assert!(matches!(
        refuse(&[pair, pointer(4)], 20),
        RowError::Coincident { .. }
    ));
    let on = Event::Format { at: 2, value: 1 };
    assert!(matches!(
        refuse(&[on, select(4), pointer(4)], 20),
        RowError::Coincident { .. }
    ));
    // Parity: two pairs with one event between them, and a lone control at it.
    assert!(matches!(
        refuse(
            &[select(1), pointer(1), select(2), select(3), pointer(3)],
            20
        ),
        RowError::Parity { at: 3 }
    ));
    let base = |at| Event::Base {
        at,
        which: BaseRegister::Outgoing,
        value: BaseValue::Place(Place::absolute(0x100)),
    };
    assert!(matches!(
        refuse(&[base(2), select(10)], 20),
        RowError::BaseBlocked { .. }
    ));
    assert!(matches!(
        refuse(&[send(0, 9), base(5)], 40),
        RowError::BaseBlocked { .. }
    ));
    assert!(matches!(
        refuse(&[base(2), send(15, 3)], 40),
        RowError::BaseBlocked { .. }
    ));
    let odd = Event::Pointer {
        at: 3,
        to: Place::absolute(0x70002),
    };
    assert!(matches!(refuse(&[odd], 20), RowError::Field { .. }));
    let nowhere = Event::Send {
        at: 0,
        from: Place::absolute(0),
        items: 1,
        control: SendControl {
            directions: 0,
            wide: false,
        },
    };
    assert!(matches!(refuse(&[nowhere], 20), RowError::Field { .. }));
}

#[test]
fn base_switches_take_the_measured_time() {
    // setzi + put 14, a second put of the same value 13 more: 27 in all (exchange_findings.md 2.9).
    let value = BaseValue::Place(Place::absolute(0x100));
    let row = RowEvents {
        events: vec![
            Event::Base {
                at: 0,
                which: BaseRegister::Incoming,
                value,
            },
            Event::Base {
                at: 14,
                which: BaseRegister::Outgoing,
                value,
            },
        ],
        horizon: 27,
    };
    let encoded = encode(&row).unwrap();
    assert_eq!(
        encoded.words,
        [0x1980_0100, 0x4380_80a4, 0x4380_80a7, 0x43a0_0000]
    );
    assert_eq!(decode(&encoded.words), Ok(row));
    let zero = RowEvents {
        events: vec![Event::Base {
            at: 0,
            which: BaseRegister::Outgoing,
            value: BaseValue::Register(15),
        }],
        horizon: 13,
    };
    let encoded = encode(&zero).unwrap();
    assert_eq!(encoded.words, [0x43f0_80a7, 0x43a0_0000]);
    assert_eq!(decode(&encoded.words), Ok(zero));
}

#[test]
fn random_words_never_panic_the_row_decoder() {
    let mut random = Random(19);
    let mut decoded = 0;
    for _ in 0..300_000 {
        let length = random.below(8) as usize;
        let mut words: Vec<u32> = (0..length)
            .map(|_| {
                let word = random.next() as u32;
                // Mostly exchange words.
                match random.below(8) {
                    0 => word,
                    1 => 0x40a0_0000 | word & 0x7_ffff,
                    2 => 0xf000_0000 | word >> 4,
                    3 => 0x7800_0000 | word >> 5,
                    _ => 0x6000_0000 | word >> 4,
                }
            })
            .collect();
        words.push(0x43a0_0000);
        decoded += u32::from(decode(&words).is_ok());
    }
    assert!(decoded > 10_000, "{decoded}");
}
