//! The text form: printing and parsing go round, and faults are told in full.

use ipucc_tensor::text::{parse, print, render};

const MLP: &str = include_str!("../../../examples/mlp.ir");

#[test]
fn printing_and_parsing_go_round() {
    let module = parse(MLP).unwrap_or_else(|faults| panic!("{}", render("mlp.ir", MLP, &faults)));
    let text = print(&module);
    let again = parse(&text).unwrap_or_else(|faults| panic!("{}", render("out", &text, &faults)));
    assert_eq!(print(&again), text);
    assert_eq!(
        again.functions["main"].body.len(),
        module.functions["main"].body.len()
    );
}

#[test]
fn every_fault_is_told() {
    let text = "module {
  weight @w : tensor<4x?xf32> = random(seed = 1, scale = 1.0)
  weight @v : tensor<4x4xf32> = random(seed = 1, scale = 1.0)
  func @main(%x: tensor<2x4xf32>) -> (%y: tensor<2x4xf32>) {
    %a = dto %x, %x {lhs_contract = [1], rhs_contract = [0]} : tensor<2x4xf32>
    %v = weight @v : tensor<4x4xf32>
    %b = dot %x, %v {lhs_contract = [1], rhs_contract = [0]} : tensor<2x5xf32>
    %c = add %x, %nowhere : tensor<2x4xf32>
    %d = add %x, %v : tensor<2x4xf32>
    return %x, %x
  }
}
";
    let faults = parse(text).expect_err("it is full of faults");
    insta::assert_snapshot!(render("bad.ir", text, &faults));
}

#[test]
fn no_text_panics() {
    // Every prefix and every text with one byte changed must give an answer.
    let short: String = MLP.chars().take(1200).collect();
    for cut in 0..short.len() {
        let _ = parse(&short[..cut]);
    }
    for at in 0..short.len() {
        for byte in [b'{', b'"'] {
            let mut bytes = short.clone().into_bytes();
            bytes[at] = byte;
            if let Ok(text) = String::from_utf8(bytes) {
                let _ = parse(&text);
            }
        }
    }
}

#[test]
fn attributes_that_an_operation_does_not_have_are_refused() {
    let text = "module { func @main(%x: tensor<3x4xf32>) -> (%y: tensor<3x4xf32>) {
 %y = softmax %x {axis = 1, axsi = 0} : tensor<3x4xf32>
 return %y } }
";
    let faults = parse(text).expect_err("a misspelt attribute");
    assert_eq!(faults.len(), 1);
    let told = render("t.ir", text, &faults);
    assert!(
        told.contains("`softmax` has no attribute `axsi`; it has `axis`"),
        "{told}"
    );
}
