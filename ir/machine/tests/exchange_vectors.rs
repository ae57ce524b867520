//! Rows recorded from a public planner and from hardware work (`vectors/exchange_rows.jsonl`):
//! decoded to the event times given there, and reproduced from their transfers.

use ipucc_chip::PhysicalTile;
use ipucc_machine::row::call_site::{self, Action, Active, Patch};
use ipucc_machine::row::host::{self, HostDirection, HostTransfer};
use ipucc_machine::row::transfer::{Placed, Placement, Transfer, compose, primitive};
use ipucc_machine::row::{Event, Place, RowEvents, decode, encode};
use serde_json::Value;
use std::collections::BTreeMap;

const SYNC_INTERNAL: u32 = 0x4180_0003;

fn vectors() -> Vec<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/vectors/exchange_rows.jsonl"
    );
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|error| panic!("the shared vectors are needed: {path}: {error}"));
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect()
}

fn of_kind(kind: &str) -> Vec<Value> {
    let found: Vec<Value> = vectors()
        .into_iter()
        .filter(|vector| vector["kind"] == kind && vector["status"] == "current")
        .collect();
    assert!(!found.is_empty(), "no current vectors of kind {kind}");
    found
}

fn words(value: &Value) -> Vec<u32> {
    let list = value.as_array().expect("a list of words");
    list.iter()
        .map(|word| u32::from_str_radix(word.as_str().expect("a word"), 16).expect("hex"))
        .collect()
}

fn number(value: &Value) -> u32 {
    match value.as_str() {
        Some(text) => u32::from_str_radix(text.trim_start_matches("0x"), 16).expect("hex"),
        None => value
            .as_u64()
            .unwrap_or_else(|| panic!("a number: {value}")) as u32,
    }
}

fn tile(value: &Value) -> PhysicalTile {
    PhysicalTile(number(value) as u16)
}

/// The transfer of a `p2p`, `multicast` or `paired64` vector; pointers count from the incoming base.
fn transfer(vector: &Value) -> Transfer {
    let wide = vector["kind"].as_str().unwrap().starts_with("paired64");
    let base = vector.get("incoming_base").map_or(0, number);
    Transfer {
        source: tile(&vector["source"]["physical"]),
        from: Place::absolute(vector["source"].get("address").map_or(0, number)),
        items: number(&vector[if wide { "items" } else { "words" }]),
        wide,
        receivers: vector["receivers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|receiver| {
                let address = number(&receiver["address"]) - base;
                (tile(&receiver["physical"]), Place::absolute(address))
            })
            .collect(),
    }
}

fn placement(vector: &Value) -> Placement {
    match vector.get("schedule_offset") {
        None if vector["kind"] == "p2p" => Placement::PointToPoint,
        offset => Placement::Multicast {
            offset: offset.map_or(0, number),
        },
    }
}

/// Sends of one item each: what leaves when, whatever the events are called.
fn expanded(row: &RowEvents) -> Vec<Event> {
    let mut result = Vec::new();
    for event in &row.events {
        match *event {
            Event::Send {
                at,
                from,
                items,
                control,
            } => {
                for item in 0..items {
                    let from = from.plus(item * control.item_bytes());
                    result.push(Event::Send {
                        at: at + item,
                        from,
                        items: 1,
                        control,
                    });
                }
            }
            other => result.push(other),
        }
    }
    result
}

/// Compares composed rows with the rows of a vector; returns how many rows were the same words.
fn compare(id: &str, composed: &BTreeMap<PhysicalTile, RowEvents>, rows: &Value) -> usize {
    let mut equal = 0;
    for row in rows.as_array().unwrap() {
        let public = words(&row["row"]);
        let physical = tile(&row["physical"]);
        let decoded = decode(&public).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(decoded.horizon, number(&row["events"]), "{id} {physical}");
        let Some(events) = composed.get(&physical) else {
            // The planner also keeps the sender's partner busy; a policy, not an event.
            assert!(decoded.events.is_empty(), "{id} {physical}: {decoded:?}");
            continue;
        };
        assert_eq!(expanded(events), expanded(&decoded), "{id} {physical}");
        assert_eq!(events.horizon, decoded.horizon, "{id} {physical}");
        let ours = encode(events).unwrap_or_else(|error| panic!("{id}: {error}"));
        if ours.words == public {
            equal += 1;
        } else {
            assert!(
                ours.words.len() < public.len(),
                "{id} {physical}: {:08x?}",
                ours.words
            );
            let again = decode(&ours.words).unwrap();
            assert_eq!(expanded(&again), expanded(&decoded), "{id} {physical}");
        }
    }
    equal
}

#[test]
fn single_transfers_are_reproduced_word_for_word() {
    let mut equal = 0;
    for kind in ["p2p", "multicast", "paired64"] {
        for vector in of_kind(kind) {
            let id = vector["id"].as_str().unwrap();
            let transfer = transfer(&vector);
            for receiver in vector["receivers"].as_array().unwrap() {
                let route = ipucc_chip::fabric::route(transfer.source, tile(&receiver["physical"]));
                assert_eq!(
                    i64::from(route.time),
                    receiver["time_to_mux"].as_i64().unwrap()
                );
            }
            if !vector["phase"].is_null() {
                let start = number(&vector["phase"]["placed"][0]["send_start"]);
                let rows = compose(&[Placed {
                    transfer: &transfer,
                    start,
                }])
                .unwrap_or_else(|error| panic!("{id}: {error}"));
                let count = compare(id, &rows, &vector["phase"]["rows"]);
                assert_eq!(count, rows.len(), "{id}: every row is the public one");
                equal += count;
                let placed = &vector["phase"]["placed"][0];
                for (index, (receiver, _)) in transfer.receivers.iter().enumerate() {
                    let horizon = number(&placed["receiver_horizons"][index]);
                    let pointer = number(&placed["receiver_first_write"][index]);
                    assert_eq!(rows[receiver].horizon, horizon, "{id}");
                    assert!(
                        rows[receiver].events.iter().any(
                            |event| matches!(event, Event::Pointer { at, .. } if *at == pointer)
                        ),
                        "{id}"
                    );
                }
            }
            // The stand-alone rows, which start with `sync 3`.
            let rows = primitive(&transfer, placement(&vector))
                .unwrap_or_else(|error| panic!("{id}: {error}"));
            let with_sync = |tile: &PhysicalTile| {
                let mut words = vec![SYNC_INTERNAL];
                words.extend(encode(&rows[tile]).expect("a primitive row").words);
                words
            };
            let sender = words(&vector["primitive"]["sender"]);
            assert_eq!(with_sync(&transfer.source), sender, "{id}");
            assert!(decode(&sender).is_ok());
            let receivers = vector["primitive"]["receivers"].as_array().unwrap();
            for ((tile, _), public) in transfer.receivers.iter().zip(receivers) {
                assert_eq!(with_sync(tile), words(public), "{id} {tile}");
                let events = decode(&words(public)).unwrap();
                assert_eq!(events, rows[tile], "{id} {tile}");
                equal += 1;
            }
            if let Some(times) = vector.get("primitive_events") {
                assert_eq!(
                    number(&times["sender_horizon"]),
                    rows[&transfer.source].horizon
                );
                for ((tile, _), times) in transfer
                    .receivers
                    .iter()
                    .zip(times["receivers"].as_array().unwrap())
                {
                    let events = &rows[tile].events;
                    let selects: Vec<u32> = events
                        .iter()
                        .filter_map(|event| match event {
                            Event::Select { at, .. } => Some(*at),
                            _ => None,
                        })
                        .collect();
                    let pointer = events
                        .iter()
                        .find_map(|event| match event {
                            Event::Pointer { at, .. } => Some(*at),
                            _ => None,
                        })
                        .unwrap();
                    assert_eq!(selects[0], number(&times["xpic_source"]), "{id}");
                    assert_eq!(selects[1], number(&times["xpic_neutral"]), "{id}");
                    assert_eq!(pointer, number(&times["pic_pointer"]), "{id}");
                    assert_eq!(rows[tile].horizon, number(&times["horizon"]), "{id}");
                }
            }
        }
    }
    assert!(equal > 150, "{equal}");
}

#[test]
fn sequences_are_reproduced() {
    for vector in of_kind("sequence") {
        let id = vector["id"].as_str().unwrap();
        let transfers: Vec<Transfer> = vector["transfers"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| Transfer {
                source: tile(&one["source_physical"]),
                from: Place::absolute(number(&one["source_address"])),
                items: number(&one["words"]),
                wide: false,
                receivers: one["destinations"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|to| {
                        (
                            tile(&to["physical"]),
                            Place::absolute(number(&to["address"])),
                        )
                    })
                    .collect(),
            })
            .collect();
        let starts = vector["phase"]["placed"].as_array().unwrap();
        let placed: Vec<Placed<'_>> = transfers
            .iter()
            .zip(starts)
            .map(|(transfer, placed)| Placed {
                transfer,
                start: number(&placed["send_start"]),
            })
            .collect();
        let rows = compose(&placed).unwrap_or_else(|error| panic!("{id}: {error}"));
        let equal = compare(id, &rows, &vector["phase"]["rows"]);
        // v103 sends three contiguous messages one after the other: one stream is shorter.
        let shorter = usize::from(id == "v103");
        assert_eq!(equal + shorter, rows.len(), "{id}");
    }
}

#[test]
fn impossible_transfers_are_refused_with_their_reason() {
    for kind in ["multicast_error", "paired64_error"] {
        for vector in of_kind(kind) {
            let transfer = transfer(&vector);
            let error = primitive(&transfer, placement(&vector))
                .unwrap_err()
                .to_string();
            let public = vector["error"].as_str().unwrap();
            assert!(
                error.starts_with(public),
                "{}: {error} / {public}",
                vector["id"]
            );
        }
    }
}

#[test]
fn superseded_rows_decode() {
    let mut rows = 0;
    for vector in vectors() {
        if vector["status"] != "superseded" || vector["phase"]["rows"].is_null() {
            continue;
        }
        for row in vector["phase"]["rows"].as_array().unwrap() {
            let decoded = decode(&words(&row["row"])).unwrap();
            assert_eq!(decoded.horizon, number(&row["events"]));
            rows += 1;
        }
    }
    assert!(rows > 10, "{rows}");
}

#[test]
fn call_sites_are_reproduced_from_their_description() {
    for vector in of_kind("boundary") {
        let id = vector["id"].as_str().unwrap();
        let symbol = |name: &str| number(&vector["symbols"][name]);
        let row = number(&vector["row_address"]);
        let worker_barrier = symbol("worker_barrier");
        let site = |incoming_base, patch| {
            call_site::active(&Active {
                incoming_base,
                worker_barrier,
                row,
                patch,
            })
        };
        let note = vector["note"].as_str().unwrap();
        let mut actions = match note {
            "active tile, absolute receive addresses (A4 = 0)" => site(0, None),
            "active tile, single P2P receive (A4 = destination)" => site(0x98080, None),
            "inactive tile" => call_site::inactive(row),
            "active tile, shared row patched before use (setup patch of two words)" => {
                let patch = Patch {
                    offsets: row + 0x100,
                    values: row + 0x108,
                    count: 2,
                    routine: symbol("patch_row"),
                };
                site(0, Some(patch))
            }
            note if note.starts_with("diagnostic paired form") => {
                call_site::diagnostic_pair(1, 2, worker_barrier, row)
            }
            note if note.starts_with("sync inside the row") => {
                call_site::diagnostic_mux(5, 0, worker_barrier, row)
            }
            other => panic!("{id}: unknown description {other}"),
        };
        actions.push(Action::Leave(symbol("complete")));
        assert_eq!(
            call_site::encode(&actions),
            words(&vector["call_site"]),
            "{id}"
        );
        let public = words(&vector["row"]);
        let events = decode(&public).unwrap_or_else(|error| panic!("{id}: {error}"));
        let ours = encode(&events).unwrap().words;
        let skipped = usize::from(public[0] == SYNC_INTERNAL);
        assert_eq!(ours, public[skipped..], "{id}");
        if note != "inactive tile" {
            assert!(
                matches!(
                    events.events[..],
                    [Event::Send {
                        at: 4,
                        items: 64,
                        ..
                    }]
                ),
                "{id}: {events:?}"
            );
        }
    }
}

#[test]
fn host_programs_are_reproduced_from_their_description() {
    const PACKETS: u32 = 0x50000;
    for vector in of_kind("host") {
        let id = vector["id"].as_str().unwrap();
        let target = tile(&vector["physical"]);
        assert_eq!(
            u32::from(target.host_mux()),
            number(&vector["host_mux"]),
            "{id}"
        );
        let owner = target.request_owner();
        assert_eq!(owner, tile(&vector["xreq_owner_physical"]), "{id}");
        for (direction, name) in [
            (HostDirection::ToTile, "host_to_tile"),
            (HostDirection::ToHost, "tile_to_host"),
        ] {
            let transfer = HostTransfer {
                tile: target,
                direction,
                address: number(&vector["tile_address"]),
                host_offset: number(&vector["host_offset"]),
                bytes: number(&vector["bytes"]),
                packets: PACKETS,
            };
            let body = transfer
                .body()
                .unwrap_or_else(|error| panic!("{id}: {error}"));
            assert_eq!(
                body.headers,
                words(&vector[name]["packet_words"]),
                "{id} {name}"
            );
            let mut plain = body.words.clone();
            plain.push(0x43a0_0000);
            assert_eq!(plain, words(&vector[name]["instructions"]), "{id} {name}");
            let wrapped = host::program(target, Some(&transfer), None).unwrap().words;
            assert_eq!(wrapped, words(&vector[name]["wrapped"]), "{id} {name}");
            // And decoded: the times of every word.
            let steps = ipucc_machine::row::steps(&wrapped, &Default::default()).unwrap();
            assert_eq!(steps.len(), wrapped.len());
        }
        assert_eq!(
            target.request_words().to_vec(),
            words(&vector["xreq"]["packet_words"]),
            "{id}"
        );
        let wrapped = host::program(owner, None, Some(PACKETS)).unwrap().words;
        assert_eq!(wrapped, words(&vector["xreq"]["wrapped"]), "{id}");
    }
}

/// The sender and receiver of the example on the contracts page.
#[test]
fn the_documented_example_holds() {
    let transfer = Transfer {
        source: PhysicalTile(0),
        from: Place::absolute(0x60000),
        items: 3,
        wide: false,
        receivers: vec![(PhysicalTile(53), Place::absolute(0x98000))],
    };
    let rows = compose(&[Placed {
        transfer: &transfer,
        start: 26,
    }])
    .unwrap();
    let sender = &rows[&PhysicalTile(0)];
    let receiver = &rows[&PhysicalTile(53)];
    assert_eq!((sender.horizon, receiver.horizon), (29, 64));
    assert_eq!(
        receiver.events,
        [
            Event::Select {
                at: 4,
                source: 0,
                pair: false
            },
            Event::Select {
                at: 7,
                source: 0x640,
                pair: false
            },
            Event::Pointer {
                at: 56,
                to: Place::absolute(0x98000)
            },
        ]
    );
}
