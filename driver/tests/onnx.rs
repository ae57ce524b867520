//! Imported operators against onnxruntime (`fixtures/onnx_cases.py`).

use indexmap::IndexMap;
use ipucc::{check, onnx};
use ipucc_chip::{HostType, ScalarType};
use ipucc_runtime::HostTensor;
use serde_json::Value;
use std::collections::BTreeSet;

const CASES: &str = include_str!("fixtures/onnx_cases.jsonl");

fn bytes(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().expect("hexadecimal").as_bytes();
    let digit = |c: u8| (c as char).to_digit(16).expect("a digit") as u8;
    hex.chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

fn tensors(list: &Value) -> IndexMap<String, HostTensor> {
    let one = |entry: &Value| {
        let element = match entry["type"].as_str().expect("a type") {
            "i64" => HostType::I64,
            "f64" => HostType::F64,
            "bool" => HostType::Bool,
            "i32" => HostType::Device(ScalarType::I32),
            "f16" => HostType::Device(ScalarType::F16),
            "f32" => HostType::Device(ScalarType::F32),
            other => panic!("{other}"),
        };
        let shape = entry["shape"].as_array().expect("a shape");
        let shape = shape.iter().map(|e| e.as_u64().expect("an extent") as u32);
        let tensor = HostTensor {
            element,
            shape: shape.collect(),
            bytes: bytes(&entry["hex"]),
        };
        (entry["name"].as_str().expect("a name").to_owned(), tensor)
    };
    list.as_array().expect("a list").iter().map(one).collect()
}

#[test]
fn every_operator_agrees_with_onnxruntime() {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for (number, line) in CASES.lines().enumerate() {
        let case: Value = serde_json::from_str(line).expect("a case");
        let op = case["op"].as_str().expect("an operator").to_owned();
        let place = format!("case {} ({op})", number + 1);
        let module = match onnx::import(&bytes(&case["model"]), None, &IndexMap::new()) {
            Ok(module) => module,
            Err(errors) => {
                wrong.push(format!("{place}: {}", errors[0]));
                continue;
            }
        };
        seen.insert(op);
        let wanted = tensors(&case["outputs"]);
        let inputs = check::tensors(&module, &tensors(&case["inputs"])).expect("inputs");
        let function = module.entry().expect("main");
        for port in &function.results {
            let shape: Vec<u32> = function.ty(port.value).shape.to_vec();
            if shape != wanted[&port.name].shape || port.host != wanted[&port.name].element {
                wrong.push(format!("{place}: {} {shape:?}", port.host));
            }
        }
        for verdict in check::outputs(&module, &inputs, &wanted).expect("evaluates") {
            if !verdict.ok {
                wrong.push(format!("{place}: {verdict:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing: Vec<&&str> = onnx::SUPPORTED
        .iter()
        .filter(|op| !seen.contains(**op) && !UNTESTED.contains(op))
        .collect();
    assert!(missing.is_empty(), "no case for {missing:?}");
}

/// Operators without a case of their own, and why.
const UNTESTED: &[&str] = &[
    // A node without inputs; constants stand in most imported models.
    "Constant",
    // onnxruntime 1.32 knows it from operator set 23 on; the same as SimplifiedLayerNormalization.
    "RMSNormalization",
];

/// A model file that was damaged or made to harm is refused or imported, never worse.
#[test]
fn altered_models_do_no_harm() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    let (mut refused, mut imported) = (0, 0);
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        let model = bytes(&case["model"]);
        for round in 0..40 {
            let mut altered = model.clone();
            match round % 4 {
                0 => altered.truncate(next(model.len())),
                1 => altered.insert(next(model.len()), next(256) as u8),
                _ => {
                    for _ in 0..1 + next(3) {
                        let at = next(model.len());
                        // Low bits keep most files decodable: other axes, extents, names.
                        altered[at] = match next(6) {
                            0 => 0x7f,
                            1 => next(256) as u8,
                            _ => altered[at] ^ (1 << next(4)),
                        };
                    }
                }
            }
            match onnx::import(&altered, None, &IndexMap::new()) {
                Ok(_) => imported += 1,
                Err(errors) => {
                    assert!(errors.iter().all(|error| !error.message.is_empty()));
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 1000 && imported > 100, "{refused} {imported}");
}

/// Shapes, pads, repeats and steps that are far too large are refused before memory is asked for.
#[test]
fn huge_extents_are_refused() {
    let mut seen = 0;
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).expect("a case");
        let model = bytes(&case["model"]);
        for old in 1..=6i64 {
            for new in [0x7fff_ffffi64, 0xffff_ffff, i64::MAX, i64::MIN, -2] {
                let mut altered = model.clone();
                for at in 0..altered.len().saturating_sub(7) {
                    if altered[at..at + 8] == old.to_le_bytes() {
                        altered[at..at + 8].copy_from_slice(&new.to_le_bytes());
                        seen += 1;
                    }
                }
                if altered == model {
                    continue;
                }
                if let Ok(module) = onnx::import(&altered, None, &IndexMap::new()) {
                    let function = module.entry().expect("main");
                    for value in function.values.values() {
                        let elements = value.ty.shape.iter().map(|&e| u128::from(e));
                        assert!(elements.product::<u128>() <= 1 << 32, "{}", case["op"]);
                    }
                }
            }
        }
    }
    assert!(seen > 100, "{seen}");
}
