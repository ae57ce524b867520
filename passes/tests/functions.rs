//! Calls and repeats written out: the same numbers, one function, names that lead back.

use indexmap::IndexMap;
use ipucc_passes::{ExpandError, expand, inline, unroll};
use ipucc_tensor::interp::{Tensor, eval};
use ipucc_tensor::text::parse;
use ipucc_tensor::{Module, Op, verify};

const TEXT: &str = "module {
  weight @w : tensor<3x4x4xf32> = random(seed = 1, scale = 0.5)

  func @product(%h: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> (%p: tensor<2x4xf32>) {
    %p = dot %h, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<2x4xf32>
    return %p
  }

  func @layer(%h: tensor<2x4xf32>, %k: tensor<2x4xf32>, %w: tensor<4x4xf32>, %b: tensor<2x4xf32>) -> (%n: tensor<2x4xf32>, %o: tensor<2x4xf32>) {
    %p = call @product %h, %w : tensor<2x4xf32>
    %s = add %p, %b : tensor<2x4xf32>
    return %s, %h
  }

  func @main(%x: tensor<2x4xf32>) -> (%y: tensor<2x4xf32>, %z: tensor<2x4xf32>, %same: tensor<2x4xf32>) {
    %w = weight @w : tensor<3x4x4xf32>
    %y, %z = repeat @layer %x, %x, %w, %x {count = 3, carried = 2, sliced = 1} : tensor<2x4xf32>, tensor<2x4xf32>
    %none, %same = repeat @layer %x, %x, %e, %x {count = 0, carried = 2, sliced = 1} : tensor<2x4xf32>, tensor<2x4xf32>
    return %y, %z, %same
  }
}
";

fn module() -> Module {
    let text = TEXT.replace(
        "    %none,",
        "    %e = constant 0.0 : tensor<0x4x4xf32>\n    %none,",
    );
    parse(&text).unwrap_or_else(|faults| panic!("{faults:?}"))
}

#[test]
fn written_out_modules_compute_the_same() {
    let module = module();
    let ty = module.functions["main"].param_types().remove(0);
    let x: Vec<f32> = (0..8).map(|i| i as f32 * 0.25 - 1.0).collect();
    let inputs = IndexMap::from([("x".to_owned(), Tensor::from_floats(ty, &x))]);
    let wanted = eval(&module, &inputs).expect("it evaluates");
    let unrolled = unroll(&module).expect("it is short");
    let flat = inline(&unrolled).expect("it is short");
    for (name, module) in [("unroll", &unrolled), ("inline", &flat)] {
        assert_eq!(verify(module), [], "{name}");
        assert_eq!(eval(module, &inputs), Ok(wanted.clone()), "{name}");
    }
    assert_eq!(flat.functions.len(), 1);
    let main = &flat.functions["main"];
    let left = |&inst: &ipucc_tensor::Inst| {
        matches!(main.insts[inst].op, Op::Call { .. } | Op::Repeat { .. })
    };
    assert!(!main.body.iter().any(left));
    let names: Vec<&str> = main
        .values
        .values()
        .filter_map(|value| value.name.as_deref())
        .collect();
    assert!(names.contains(&"y") && names.contains(&"x"), "{names:?}");
    assert_eq!(expand(&flat), Ok(flat.clone()), "nothing is left to do");
}

#[test]
fn repeats_without_calls_behind_them_stay() {
    let module = module();
    let inlined = inline(&module).expect("it is short");
    assert_eq!(verify(&inlined), []);
    assert!(inlined.functions.contains_key("layer"));
}

#[test]
fn endless_programs_are_refused() {
    let text = TEXT
        .replace("tensor<3x4x4xf32>", "tensor<1000000x4x4xf32>")
        .replace("count = 3", "count = 1000000")
        .replace("    %none, %same = repeat @layer %x, %x, %e, %x {count = 0, carried = 2, sliced = 1} : tensor<2x4xf32>, tensor<2x4xf32>\n", "    %same = neg %x : tensor<2x4xf32>\n");
    let module = parse(&text).unwrap_or_else(|faults| panic!("{faults:?}"));
    let error = expand(&module).expect_err("too long");
    assert!(matches!(error, ExpandError::TooLong(name, _) if name == "main"));
}
