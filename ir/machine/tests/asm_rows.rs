//! Exchange rows of the shared vectors as text: words come back, event times are those of the
//! vectors.

use indexmap::IndexMap;
use ipucc_machine::asm::{Options, assemble};
use ipucc_machine::disasm;
use serde_json::Value;

const BASE: u32 = 0x4c000;

fn vectors() -> Vec<Value> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/vectors/exchange_rows.jsonl"
    );
    let text = std::fs::read_to_string(path)
        .unwrap_or_else(|e| panic!("the shared vectors are missing: {path}: {e}"));
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

fn words(list: &Value) -> Option<Vec<u32>> {
    list.as_array()?
        .iter()
        .map(|w| u32::from_str_radix(w.as_str()?, 16).ok())
        .collect()
}

/// Every list of hexadecimal words anywhere in a vector.
fn rows(value: &Value, out: &mut Vec<Vec<u32>>) {
    match value {
        Value::Array(items) => match words(value) {
            Some(row)
                if !row.is_empty()
                    && items
                        .iter()
                        .all(|i| i.as_str().is_some_and(|s| s.len() == 8)) =>
            {
                out.push(row);
            }
            _ => items.iter().for_each(|i| rows(i, out)),
        },
        Value::Object(fields) => fields.values().for_each(|v| rows(v, out)),
        _ => {}
    }
}

/// The text of a row with event times, after a check that it assembles to the row.
fn text(row: &[u32]) -> String {
    let options = disasm::Options {
        context: Some(ipucc_machine::Context::Supervisor),
        events: true,
    };
    let text = disasm::words(row, BASE, &options);
    let assembly =
        assemble(&text, &Options::default()).unwrap_or_else(|e| panic!("{e}\n--- text\n{text}"));
    let addresses = IndexMap::from([(".text".to_string(), BASE)]);
    let placed = assembly.object.place(&addresses).expect("placed");
    assert_eq!(placed.sections[".text"].words(), row, "--- text\n{text}");
    text
}

#[test]
fn all_words_come_back() {
    let mut count = 0;
    for vector in vectors() {
        let mut found = Vec::new();
        rows(&vector, &mut found);
        for row in found {
            text(&row);
            count += 1;
        }
    }
    assert!(count > 300, "only {count} rows");
}

#[test]
fn rows_end_when_the_vectors_say() {
    let mut count = 0;
    for vector in vectors() {
        for row in vector["phase"]["rows"].as_array().into_iter().flatten() {
            let list = words(&row["row"]).expect("a row");
            let shown = text(&list);
            // A row of `br` alone has no event.
            if list.len() > 1 {
                let wanted = format!("row ends at {}", row["events"]);
                assert!(
                    shown.contains(&wanted),
                    "{}: {wanted}\n{shown}",
                    vector["id"]
                );
                count += 1;
            }
        }
    }
    assert!(count > 100, "only {count} rows");
}

#[test]
fn effects_are_when_the_vectors_say() {
    let mut count = 0;
    for vector in vectors() {
        let events = &vector["primitive_events"];
        let Some(receivers) = events["receivers"].as_array() else {
            continue;
        };
        for (index, receiver) in receivers.iter().enumerate() {
            let row = words(&vector["primitive"]["receivers"][index]).expect("a row");
            let shown = text(&row);
            let id = &vector["id"];
            for (name, what) in [
                ("xpic_source", "mux tile"),
                ("xpic_neutral", "mux neutral"),
                ("pic_pointer", "pointer"),
            ] {
                let wanted = format!("effect {} {what}", receiver[name]);
                assert!(shown.contains(&wanted), "{id}: {wanted}\n{shown}");
            }
            let wanted = format!("row ends at {}", receiver["horizon"]);
            assert!(shown.contains(&wanted), "{id}: {wanted}\n{shown}");
            count += 1;
        }
        let shown = text(&words(&vector["primitive"]["sender"]).expect("a row"));
        let start = events["send_start"].as_u64().expect("a number");
        let wanted = format!("start {start} end");
        assert!(
            shown.contains(&wanted),
            "{}: {wanted}\n{shown}",
            vector["id"]
        );
        let wanted = format!("effect {} first word", start + 1);
        assert!(
            shown.contains(&wanted),
            "{}: {wanted}\n{shown}",
            vector["id"]
        );
    }
    assert!(count > 50, "only {count} receivers");
}
