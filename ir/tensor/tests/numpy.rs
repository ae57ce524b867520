//! Every operation against NumPy (`fixtures/numpy_cases.py`): integers and data movement exactly,
//! floats within the bound that the interpreter states for the operation.

use indexmap::{IndexMap, IndexSet};
use ipucc_tensor::interp::{Tensor, bound, eval_all};
use ipucc_tensor::text::{operation_name, operation_names, parse, render};

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2)
        .map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hexadecimal"))
        .collect()
}

#[test]
fn operations_agree_with_numpy() {
    let cases = include_str!("fixtures/numpy_cases.jsonl");
    let mut faults = Vec::new();
    let mut count = 0;
    let mut covered: IndexSet<&str> = IndexSet::new();
    for line in cases.lines() {
        count += 1;
        let case: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
        let text = case["program"].as_str().expect("a program");
        let module = match parse(text) {
            Ok(module) => module,
            Err(errors) => {
                faults.push(render("case", text, &errors));
                continue;
            }
        };
        let function = module.entry().expect("an entry");
        let data = case["inputs"].as_array().expect("inputs");
        let inputs: IndexMap<String, Tensor> = function
            .params
            .iter()
            .zip(data)
            .map(|(port, hex)| {
                let data = bytes(hex.as_str().expect("a string"));
                let ty = function.ty(port.value).clone();
                assert_eq!(data.len(), ty.bytes(), "{text}");
                (port.name.clone(), Tensor { ty, data })
            })
            .collect();
        let values = eval_all(&module, function, &inputs).expect("the case evaluates");
        let inst = &function.insts[function.body[0]];
        covered.insert(operation_name(&inst.op));
        let operands: Vec<&Tensor> = inst.operands.iter().map(|v| &values[v]).collect();
        let found = &values[&inst.results[0]];
        let wanted = Tensor {
            ty: found.ty.clone(),
            data: bytes(case["result"].as_str().expect("a result")),
        };
        let good = if found.ty.element.is_float() {
            let bounds = bound(&inst.op, &operands, found);
            let pairs = found.to_floats().into_iter().zip(wanted.to_floats());
            found.data.len() == wanted.data.len()
                && pairs
                    .zip(bounds)
                    .all(|((f, w), b)| f == w || (f - w).abs() <= b || f.is_nan() && w.is_nan())
        } else {
            found.data == wanted.data
        };
        if !good {
            faults.push(format!(
                "{text}\nfound  {:?}\nwanted {:?}",
                found.to_floats(),
                wanted.to_floats()
            ));
        }
    }
    // `weight` and `constant` hold data and compute nothing.
    let missing: Vec<&str> = operation_names()
        .into_iter()
        .filter(|name| !covered.contains(name) && !["weight", "constant"].contains(name))
        .collect();
    assert!(missing.is_empty(), "no case from NumPy for {missing:?}");
    assert!(count > 600, "only {count} cases");
    assert!(
        faults.is_empty(),
        "{} of {count} cases differ:\n{}",
        faults.len(),
        faults[..faults.len().min(12)].join("\n\n")
    );
}
