//! Calls and repeats: text, types, values, and what the verifier says of modules that were put
//! together by hand.

use indexmap::IndexMap;
use ipucc_chip::ScalarType;
use ipucc_tensor::interp::{Tensor, eval};
use ipucc_tensor::text::{parse, print, render};
use ipucc_tensor::{BinaryOp, Builder, Def, Function, Module, Op, TensorType, verify};

const TEXT: &str = "module {
  weight @w : tensor<3x2xf32> = dense(\"0000803f0000004000004040000080400000a0400000c040\")

  func @layer(%h: tensor<2xf32>, %w: tensor<2xf32>, %b: tensor<2xf32>) -> (%n: tensor<2xf32>) {
    %p = mul %h, %w : tensor<2xf32>
    %s = add %p, %b : tensor<2xf32>
    return %s
  }

  func @both(%a: tensor<2xf32>, %b: tensor<2xf32>) -> (%x: tensor<2xf32>, %y: tensor<2xf32>) {
    %w = weight @w : tensor<3x2xf32>
    %y = repeat @layer %a, %w, %b {count = 3, carried = 1, sliced = 1} : tensor<2xf32>
    return %b, %y
  }

  func @main(%x: tensor<2xf32>) -> (%u: tensor<2xf32>, %v: tensor<2xf32>) {
    %u, %v = call @both %x, %x : tensor<2xf32>, tensor<2xf32>
    return %u, %v
  }
}
";

fn parsed(text: &str) -> Module {
    parse(text).unwrap_or_else(|faults| panic!("{}", render("text", text, &faults)))
}

#[test]
fn calls_and_repeats_go_round_and_evaluate() {
    let module = parsed(TEXT);
    assert_eq!(verify(&module), []);
    assert_eq!(print(&parsed(&print(&module))), print(&module));
    let ty = TensorType::new(ScalarType::F32, [2]);
    let x = Tensor::from_floats(ty, &[1.0, 2.0]);
    let outputs = eval(&module, &IndexMap::from([("x".to_owned(), x)])).expect("evaluates");
    // h = h * w_i + x for the rows 1 2, 3 4, 5 6 of w, beginning with x.
    let (mut a, mut b) = (1.0f32, 2.0f32);
    for (p, q) in [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)] {
        (a, b) = (a * p + 1.0, b * q + 2.0);
    }
    assert_eq!(outputs["u"].to_floats(), [1.0, 2.0]);
    assert_eq!(outputs["v"].to_floats(), [a, b]);
}

#[test]
fn misuse_is_told() {
    for (from, to, message) in [
        (
            "call @both %x, %x",
            "call @both %x",
            "`@both` takes 2 values, not 1",
        ),
        (
            "call @both",
            "call @later",
            "`@later` is not defined before this line",
        ),
        (
            "call @both",
            "call @main",
            "`@main` is not defined before this line",
        ),
        ("%u, %v = call", "%u = call", "1 results and 2 types"),
        (
            "{count = 3,",
            "{count = 4,",
            "its first axis must have 4 elements",
        ),
        ("{count = 3,", "{", "attribute `count` is missing"),
        (
            "carried = 1,",
            "carried = 2,",
            "its first axis must have 3 elements",
        ),
        (
            "sliced = 1}",
            "sliced = 9}",
            "1 carried and 9 sliced operands are named, 3 given",
        ),
    ] {
        let text = TEXT.replace(from, to);
        assert_ne!(text, TEXT);
        let faults = parse(&text).expect_err("it is wrong");
        let shown = render("text", &text, &faults);
        assert!(shown.contains(message), "{message} in\n{shown}");
    }
}

#[test]
fn the_builder_refuses_what_a_function_does_not_take() {
    let module = parsed(TEXT);
    let layer = &module.functions["layer"];
    let mut builder = Builder::new("main");
    let h = builder.param("h", TensorType::new(ScalarType::F32, [2]));
    let w = builder.param("w", TensorType::new(ScalarType::F32, [5, 2]));
    let y = builder.repeat(layer, 5, &[h], &[w], &[h]).expect("it fits");
    assert_eq!(builder.ty(y[0]), builder.ty(h));
    assert!(builder.repeat(layer, 4, &[h], &[w], &[h]).is_err());
    assert!(builder.repeat(layer, 5, &[], &[w], &[h, h]).is_err());
    assert!(builder.call(layer, &[h, w, h]).is_err());
    assert!(builder.call(layer, &[h, h]).is_err());
    assert!(builder.call(layer, &[h, h, h]).is_ok());
}

/// `%s = x + x`, returned.
fn sum() -> Function {
    let mut builder = Builder::new("main");
    let x = builder.param("x", TensorType::new(ScalarType::F32, [2]));
    let s = builder.binary(BinaryOp::Add, x, x).expect("equal types");
    builder.name(s, "s");
    builder.result("s", s);
    builder.finish()
}

fn module_of(functions: impl IntoIterator<Item = Function>) -> Module {
    let functions = functions.into_iter();
    Module {
        functions: functions.map(|f| (f.name.clone(), f)).collect(),
        ..Module::default()
    }
}

fn said(module: &Module) -> Vec<String> {
    verify(module).iter().map(ToString::to_string).collect()
}

#[test]
fn all_faults_of_a_module_are_told_at_once() {
    assert_eq!(said(&module_of([sum()])), Vec::<String>::new());
    let mut function = sum();
    let inst = function.body[0];
    let result = function.insts[inst].results[0];
    function.values[result].ty = TensorType::new(ScalarType::F16, [2]);
    function.insts[inst].origin = Some("Add_3".into());
    function.results[0].host = ipucc_chip::HostType::I64;
    function.results.push(function.results[0].clone());
    let mut module = module_of([function]);
    let bad = ipucc_tensor::Weight {
        ty: TensorType::new(ScalarType::F32, [3]),
        source: ipucc_tensor::WeightSource::Splat(vec![0; 2]),
    };
    module.weights.insert("w".into(), bad);
    insta::assert_snapshot!(said(&module).join("\n"));
}

#[test]
fn values_without_a_definition_are_told() {
    let mut function = sum();
    let inst = function.body.pop().expect("one");
    assert_eq!(
        said(&module_of([function.clone()])),
        ["function `@main`: `%s`: is returned and not defined"]
    );
    function.body = vec![inst, inst];
    assert_eq!(
        said(&module_of([function.clone()])),
        ["function `@main`: `%s`: is defined twice"]
    );
    function.body = vec![inst];
    let result = function.insts[inst].results[0];
    function.insts[inst].operands[1] = result;
    assert_eq!(
        said(&module_of([function.clone()])),
        ["function `@main`: `%s`: `add` uses `%s`, which nothing before defines"]
    );
    function.insts[inst].operands.pop();
    assert_eq!(
        said(&module_of([function.clone()])),
        ["function `@main`: `%s`: `add`: takes 2 operands, 1 given"]
    );
    function.values[function.params[0].value].def = Def::Param(3);
    assert_eq!(
        said(&module_of([function])),
        [
            "function `@main`: `%x`: is no parameter",
            "function `@main`: `%s`: `add` uses `%x`, which nothing before defines"
        ]
    );
}

#[test]
fn circles_of_calls_are_told() {
    let calling = |name: &str, callee: &str| {
        let mut function = sum();
        function.name = name.into();
        let inst = function.body[0];
        let ty = function.ty(function.results[0].value).clone();
        function.insts[inst].op = Op::Call {
            function: callee.into(),
            results: vec![ty],
        };
        function.insts[inst].operands.pop();
        function
    };
    assert_eq!(
        said(&module_of([
            calling("a", "b"),
            calling("b", "c"),
            calling("c", "a")
        ])),
        ["functions call one another in a circle: @a -> @b -> @c -> @a"]
    );
    let itself = module_of([calling("a", "a")]);
    assert_eq!(
        said(&itself),
        ["functions call one another in a circle: @a -> @a"]
    );
    let x = Tensor::from_floats(TensorType::new(ScalarType::F32, [2]), &[1.0, 2.0]);
    let error = eval(&itself, &IndexMap::from([("x".to_owned(), x)])).expect_err("endless");
    assert_eq!(error.to_string(), "function `@a` calls itself");
    assert_eq!(
        said(&module_of([calling("a", "nowhere")])),
        ["function `@a`: `%s`: there is no function `@nowhere`"]
    );
}
