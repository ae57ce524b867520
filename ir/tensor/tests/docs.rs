//! The documented operations: the page is the table, every example runs, nothing is left out.

use indexmap::IndexMap;
use ipucc_tensor::docs;
use ipucc_tensor::interp::{Tensor, eval};
use ipucc_tensor::text::{format, operation_names, parse, print, render};

#[test]
fn the_page_is_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ops.md");
    let page = std::fs::read_to_string(path).expect("docs/ops.md exists");
    assert!(
        page == docs::markdown(),
        "docs/ops.md differs from the table: run `ipucc ops --markdown > docs/ops.md`"
    );
}

#[test]
fn every_operation_is_documented_once() {
    let mut documented: Vec<&str> = docs::OPERATIONS
        .iter()
        .flat_map(|operation| operation.names.iter().copied())
        .collect();
    documented.sort_unstable();
    let mut names = operation_names();
    names.sort_unstable();
    assert_eq!(documented, names);
}

#[test]
fn every_example_goes_round_and_evaluates() {
    for operation in docs::OPERATIONS {
        let text = operation.program();
        let module =
            parse(&text).unwrap_or_else(|faults| panic!("{}", render("doc", &text, &faults)));
        let again = parse(&print(&module)).expect("printed text parses");
        assert_eq!(print(&again), print(&module));
        let function = module.entry().expect("there is an entry");
        let inputs: IndexMap<String, Tensor> = function
            .params
            .iter()
            .map(|port| {
                let ty = function.ty(port.value).clone();
                let values: Vec<i64> = (0..ty.elements() as i64).map(|i| i % 2).collect();
                let tensor = if ty.element.is_float() {
                    let floats: Vec<f32> = values.iter().map(|&v| v as f32 + 0.5).collect();
                    Tensor::from_floats(ty, &floats)
                } else {
                    Tensor::from_ints(ty, &values)
                };
                (port.name.clone(), tensor)
            })
            .collect();
        let outputs = eval(&module, &inputs).expect("the example evaluates");
        assert_eq!(outputs.len(), 1, "{text}");
    }
}

#[test]
fn formatting_keeps_comments_and_is_stable() {
    let text = "// head\nmodule { // open\n  // about w\n  weight @w : tensor<2xf32> = random(seed = 1, scale = 1.0) // w\n\n  // the function\n  func @main(%x: tensor<2xf32>) -> (%y: tensor<2xf32>) {\n    %w = weight @w : tensor<2xf32>\n      // sum\n    %y = add %x,\n        %w : tensor<2xf32> // a + b\n    // before return\n    return %y // done\n    // last in function\n  }\n}\n// end\n";
    let once = format(text).unwrap_or_else(|faults| panic!("{}", render("x", text, &faults)));
    for comment in [
        "// head",
        "// open",
        "// about w",
        "// w",
        "// the function",
        "// sum",
        "// a + b",
        "// before return",
        "// done",
        "// last in function",
        "// end",
    ] {
        let count = once.lines().filter(|line| line.ends_with(comment)).count();
        assert_eq!(count, 1, "{comment} in\n{once}");
    }
    assert_eq!(format(&once).expect("formatted text parses"), once);
}
