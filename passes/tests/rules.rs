//! Every rule on random tensors: the function before and after one application, both through the
//! reference interpreter. Exact rules give equal numbers; for the others the two results differ by
//! no more than the bounds of both evaluations, carried through the operations.

use indexmap::IndexMap;
use ipucc_passes::simplify::{RULES, applications};
use ipucc_tensor::interp::{self, Tensor, bound, carried};
use ipucc_tensor::{Module, Op, Value, text};
use proptest::test_runner::{Config, TestRunner};

/// Rule, weights, parameters, body, type of the result `%r`.
type Case = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const W: &str = "weight @w : tensor<6x5xf32> = random(seed = 1, scale = 1.0)
weight @k : tensor<6xf32> = random(seed = 2, scale = 1.0)
weight @s : tensor<5xf32> = random(seed = 3, scale = 1.0)
weight @t : tensor<5xf32> = random(seed = 4, scale = 1.0)
weight @c : tensor<4x3x2x2xf32> = random(seed = 5, scale = 1.0)
weight @f : tensor<4xf32> = random(seed = 6, scale = 1.0)
weight @m : tensor<5x3xf32> = random(seed = 7, scale = 1.0)";

const CASES: &[Case] = &[
    (
        "commute",
        "",
        "%x: tensor<3x4xf32>, %y: tensor<3x4xf32>",
        "%r = mul %x, %y : tensor<3x4xf32>",
        "tensor<3x4xf32>",
    ),
    (
        "commute",
        "",
        "%x: tensor<3x4xf16>, %y: tensor<3x4xf16>",
        "%r = max %x, %y : tensor<3x4xf16>",
        "tensor<3x4xf16>",
    ),
    (
        "neutral",
        "",
        "%x: tensor<3x4xf32>",
        "%o = constant 1.0 : tensor<3x4xf32>\n%r = div %x, %o : tensor<3x4xf32>",
        "tensor<3x4xf32>",
    ),
    (
        "neutral",
        "",
        "%x: tensor<3x4xi32>",
        "%o = constant 0 : tensor<3x4xi32>\n%r = mul %x, %o : tensor<3x4xi32>",
        "tensor<3x4xi32>",
    ),
    (
        "neutral",
        "",
        "%x: tensor<7xf16>",
        "%o = constant 0.0 : tensor<7xf16>\n%r = add %x, %o : tensor<7xf16>",
        "tensor<7xf16>",
    ),
    (
        "negation",
        "",
        "%x: tensor<5xf32>, %y: tensor<5xf32>",
        "%d = sub %x, %y : tensor<5xf32>\n%r = neg %d : tensor<5xf32>",
        "tensor<5xf32>",
    ),
    (
        "negation",
        "",
        "%x: tensor<5xf32>, %y: tensor<5xf32>",
        "%d = neg %y : tensor<5xf32>\n%r = add %x, %d : tensor<5xf32>",
        "tensor<5xf32>",
    ),
    (
        "negation",
        "",
        "%x: tensor<5xf32>",
        "%o = constant -1.0 : tensor<5xf32>\n%r = mul %x, %o : tensor<5xf32>",
        "tensor<5xf32>",
    ),
    (
        "idempotent",
        "",
        "%x: tensor<5xf32>",
        "%a = abs %x : tensor<5xf32>\n%r = abs %a : tensor<5xf32>",
        "tensor<5xf32>",
    ),
    (
        "idempotent",
        "",
        "%x: tensor<5xi32>",
        "%r = and %x, %x : tensor<5xi32>",
        "tensor<5xi32>",
    ),
    (
        "divide-by-power-of-two",
        "",
        "%x: tensor<9xf32>",
        "%o = constant 8.0 : tensor<9xf32>\n%r = div %x, %o : tensor<9xf32>",
        "tensor<9xf32>",
    ),
    (
        "divide-by-power-of-two",
        "",
        "%x: tensor<9xf16>",
        "%o = constant 0.25 : tensor<9xf16>\n%r = div %x, %o : tensor<9xf16>",
        "tensor<9xf16>",
    ),
    (
        "associate-exact",
        "",
        "%x: tensor<5xi32>, %y: tensor<5xi32>, %z: tensor<5xi32>",
        "%a = mul %x, %y : tensor<5xi32>\n%r = mul %a, %z : tensor<5xi32>",
        "tensor<5xi32>",
    ),
    (
        "associate-exact",
        "",
        "%x: tensor<5xf32>, %y: tensor<5xf32>, %z: tensor<5xf32>",
        "%a = min %x, %y : tensor<5xf32>\n%r = min %a, %z : tensor<5xf32>",
        "tensor<5xf32>",
    ),
    (
        "factor-integers",
        "",
        "%x: tensor<5xi32>, %y: tensor<5xi32>, %z: tensor<5xi32>",
        "%a = mul %x, %z : tensor<5xi32>\n%b = mul %z, %y : tensor<5xi32>\n%r = sub %a, %b : tensor<5xi32>",
        "tensor<5xi32>",
    ),
    (
        "associate-floats",
        W,
        "%x: tensor<5xf32>",
        "%s = weight @s : tensor<5xf32>\n%t = weight @t : tensor<5xf32>\n%a = add %x, %s : tensor<5xf32>\n%r = add %a, %t : tensor<5xf32>",
        "tensor<5xf32>",
    ),
    (
        "factor-floats",
        "",
        "%x: tensor<5xf32>, %y: tensor<5xf32>, %z: tensor<5xf32>",
        "%a = mul %x, %z : tensor<5xf32>\n%b = mul %y, %z : tensor<5xf32>\n%r = add %a, %b : tensor<5xf32>",
        "tensor<5xf32>",
    ),
    (
        "divide-by-constant",
        "",
        "%x: tensor<9xf32>",
        "%o = constant 3.0 : tensor<9xf32>\n%r = div %x, %o : tensor<9xf32>",
        "tensor<9xf32>",
    ),
    (
        "views-of-views",
        "",
        "%x: tensor<2x3x4xf32>",
        "%a = transpose %x {permutation = [1, 2, 0]} : tensor<3x4x2xf32>\n%r = transpose %a {permutation = [1, 0, 2]} : tensor<4x3x2xf32>",
        "tensor<4x3x2xf32>",
    ),
    (
        "views-of-views",
        "",
        "%x: tensor<2x1x4xf32>",
        "%r = transpose %x {permutation = [1, 0, 2]} : tensor<1x2x4xf32>",
        "tensor<1x2x4xf32>",
    ),
    (
        "views-of-views",
        "",
        "%x: tensor<4xf32>",
        "%a = broadcast %x {axes = [1]} : tensor<3x4xf32>\n%r = broadcast %a {axes = [0, 2]} : tensor<3x2x4xf32>",
        "tensor<3x2x4xf32>",
    ),
    (
        "lift-views",
        W,
        "%x: tensor<5x6xf32>",
        "%w = weight @w : tensor<6x5xf32>\n%a = transpose %x {permutation = [1, 0]} : tensor<6x5xf32>\n%r = mul %a, %w : tensor<6x5xf32>",
        "tensor<6x5xf32>",
    ),
    (
        "lift-views",
        "",
        "%x: tensor<2x6xf32>, %y: tensor<2x6xf32>",
        "%a = reshape %x : tensor<3x4xf32>\n%b = reshape %y : tensor<3x4xf32>\n%r = lt %a, %b : tensor<3x4xi1>",
        "tensor<3x4xi1>",
    ),
    (
        "lift-views",
        "",
        "%x: tensor<2x3x4xf32>",
        "%o = constant 0.5 : tensor<4x2x3xf32>\n%a = transpose %x {permutation = [2, 0, 1]} : tensor<4x2x3xf32>\n%r = sub %o, %a : tensor<4x2x3xf32>",
        "tensor<4x2x3xf32>",
    ),
    (
        "broadcast-later",
        "",
        "%x: tensor<4xf32>, %y: tensor<4xf32>",
        "%a = broadcast %x {axes = [1]} : tensor<3x4xf32>\n%b = broadcast %y {axes = [1]} : tensor<3x4xf32>\n%r = add %a, %b : tensor<3x4xf32>",
        "tensor<3x4xf32>",
    ),
    (
        "broadcast-later",
        "",
        "%x: tensor<4xf32>",
        "%a = broadcast %x {axes = [0]} : tensor<4x4xf32>\n%r = exp %a : tensor<4x4xf32>",
        "tensor<4x4xf32>",
    ),
    (
        "transposed-operand",
        W,
        "%x: tensor<6x4xf32>",
        "%w = weight @w : tensor<6x5xf32>\n%a = transpose %x {permutation = [1, 0]} : tensor<4x6xf32>\n%r = dot %a, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<4x5xf32>",
        "tensor<4x5xf32>",
    ),
    (
        "transposed-operand",
        "",
        "%x: tensor<2x3x4xf32>, %y: tensor<4x2x5xf32>",
        "%b = transpose %y {permutation = [1, 2, 0]} : tensor<2x5x4xf32>\n%r = dot %x, %b {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<2x3x5xf32>",
        "tensor<2x3x5xf32>",
    ),
    (
        "transposed-product",
        "",
        "%x: tensor<2x3x4xf32>, %y: tensor<2x4x5xf32>",
        "%a = dot %x, %y {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : tensor<2x3x5xf32>\n%r = transpose %a {permutation = [0, 2, 1]} : tensor<2x5x3xf32>",
        "tensor<2x5x3xf32>",
    ),
    (
        "reduce-transposed",
        "",
        "%x: tensor<2x3x4xf32>",
        "%a = transpose %x {permutation = [2, 0, 1]} : tensor<4x2x3xf32>\n%r = reduce_sum %a {axes = [1]} : tensor<4x3xf32>",
        "tensor<4x3xf32>",
    ),
    (
        "reduce-broadcast",
        "",
        "%x: tensor<4xf32>",
        "%a = broadcast %x {axes = [1]} : tensor<3x4xf32>\n%r = reduce_max %a {axes = [0]} : tensor<4xf32>",
        "tensor<4xf32>",
    ),
    (
        "sum-of-scaled",
        "",
        "%x: tensor<3x7xf32>",
        "%o = constant 0.3 : tensor<3x7xf32>\n%a = mul %x, %o : tensor<3x7xf32>\n%r = reduce_sum %a {axes = [1]} : tensor<3xf32>",
        "tensor<3xf32>",
    ),
    (
        "mean-from-sum",
        "",
        "%x: tensor<3x7xf32>",
        "%a = reduce_sum %x {axes = [1]} : tensor<3xf32>\n%o = constant 7.0 : tensor<3xf32>\n%r = div %a, %o : tensor<3xf32>",
        "tensor<3xf32>",
    ),
    (
        "scale-into-weight",
        W,
        "%x: tensor<3x6xf32>",
        "%w = weight @w : tensor<6x5xf32>\n%s = weight @s : tensor<5xf32>\n%b = broadcast %s {axes = [1]} : tensor<3x5xf32>\n%a = dot %x, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<3x5xf32>\n%r = mul %a, %b : tensor<3x5xf32>",
        "tensor<3x5xf32>",
    ),
    (
        "scale-into-weight",
        W,
        "%x: tensor<3x6xf32>",
        "%w = weight @w : tensor<6x5xf32>\n%s = weight @s : tensor<5xf32>\n%b = broadcast %s {axes = [1]} : tensor<3x5xf32>\n%o = constant 0.7 : tensor<3x5xf32>\n%a = dot %x, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<3x5xf32>\n%c = add %a, %b : tensor<3x5xf32>\n%r = mul %c, %o : tensor<3x5xf32>",
        "tensor<3x5xf32>",
    ),
    (
        "operand-scale-into-weight",
        W,
        "%x: tensor<3x6xf32>",
        "%w = weight @w : tensor<6x5xf32>\n%k = weight @k : tensor<6xf32>\n%b = broadcast %k {axes = [1]} : tensor<3x6xf32>\n%a = mul %x, %b : tensor<3x6xf32>\n%r = dot %a, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<3x5xf32>",
        "tensor<3x5xf32>",
    ),
    (
        "operand-bias-into-bias",
        W,
        "%x: tensor<3x6xf32>",
        "%w = weight @w : tensor<6x5xf32>\n%k = weight @k : tensor<6xf32>\n%b = broadcast %k {axes = [1]} : tensor<3x6xf32>\n%a = add %x, %b : tensor<3x6xf32>\n%r = dot %a, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<3x5xf32>",
        "tensor<3x5xf32>",
    ),
    (
        "conv-scale-into-weight",
        W,
        "%x: tensor<1x3x5x5xf32>",
        "%w = weight @c : tensor<4x3x2x2xf32>\n%f = weight @f : tensor<4xf32>\n%b = broadcast %f {axes = [1]} : tensor<1x4x4x4xf32>\n%a = conv %x, %w : tensor<1x4x4x4xf32>\n%r = mul %a, %b : tensor<1x4x4x4xf32>",
        "tensor<1x4x4x4xf32>",
    ),
    (
        "norm-scale-and-bias",
        W,
        "%x: tensor<3x5xf32>",
        "%s = weight @s : tensor<5xf32>\n%t = weight @t : tensor<5xf32>\n%b = broadcast %t {axes = [1]} : tensor<3x5xf32>\n%a = layer_norm %x, %s, %t {epsilon = 0.00001} : tensor<3x5xf32>\n%r = mul %a, %b : tensor<3x5xf32>",
        "tensor<3x5xf32>",
    ),
    (
        "norm-scale-and-bias",
        W,
        "%x: tensor<3x5xf32>",
        "%s = weight @s : tensor<5xf32>\n%t = weight @t : tensor<5xf32>\n%b = broadcast %t {axes = [1]} : tensor<3x5xf32>\n%a = layer_norm %x, %s, %t {epsilon = 0.00001} : tensor<3x5xf32>\n%r = add %a, %b : tensor<3x5xf32>",
        "tensor<3x5xf32>",
    ),
    (
        "product-chain",
        W,
        "%x: tensor<4x6xf32>",
        "%w = weight @w : tensor<6x5xf32>\n%m = weight @m : tensor<5x3xf32>\n%a = dot %x, %w {lhs_contract = [1], rhs_contract = [0]} : tensor<4x5xf32>\n%r = dot %a, %m {lhs_contract = [1], rhs_contract = [0]} : tensor<4x3xf32>",
        "tensor<4x3xf32>",
    ),
    (
        "sigmoid",
        "",
        "%x: tensor<9xf32>",
        "%o = constant 1.0 : tensor<9xf32>\n%n = neg %x : tensor<9xf32>\n%e = exp %n : tensor<9xf32>\n%a = add %o, %e : tensor<9xf32>\n%r = div %o, %a : tensor<9xf32>",
        "tensor<9xf32>",
    ),
    (
        "gelu-erf",
        "",
        "%x: tensor<9xf32>",
        "%o = constant 1.0 : tensor<9xf32>\n%h = constant 0.5 : tensor<9xf32>\n%q = constant 1.41421356 : tensor<9xf32>\n%d = div %x, %q : tensor<9xf32>\n%e = erf %d : tensor<9xf32>\n%a = add %e, %o : tensor<9xf32>\n%b = mul %x, %a : tensor<9xf32>\n%r = mul %b, %h : tensor<9xf32>",
        "tensor<9xf32>",
    ),
    (
        "gelu-tanh",
        "",
        "%x: tensor<9xf32>",
        "%o = constant 1.0 : tensor<9xf32>\n%h = constant 0.5 : tensor<9xf32>\n%c = constant 0.044715 : tensor<9xf32>\n%p = constant 3.0 : tensor<9xf32>\n%q = constant 0.7978845608 : tensor<9xf32>\n%x3 = pow %x, %p : tensor<9xf32>\n%i = mul %c, %x3 : tensor<9xf32>\n%s = add %x, %i : tensor<9xf32>\n%u = mul %q, %s : tensor<9xf32>\n%t = tanh %u : tensor<9xf32>\n%a = add %o, %t : tensor<9xf32>\n%b = mul %h, %x : tensor<9xf32>\n%r = mul %b, %a : tensor<9xf32>",
        "tensor<9xf32>",
    ),
    (
        "softmax",
        "",
        "%x: tensor<3x7xf32>",
        "%m = reduce_max %x {axes = [1], keep = true} : tensor<3x1xf32>\n%n = broadcast %m {axes = [0, 1]} : tensor<3x7xf32>\n%d = sub %x, %n : tensor<3x7xf32>\n%e = exp %d : tensor<3x7xf32>\n%s = reduce_sum %e {axes = [1], keep = true} : tensor<3x1xf32>\n%t = broadcast %s {axes = [0, 1]} : tensor<3x7xf32>\n%r = div %e, %t : tensor<3x7xf32>",
        "tensor<3x7xf32>",
    ),
    (
        "layer-norm",
        "",
        "%x: tensor<7x7xf32>",
        "%m = reduce_mean %x {axes = [1], keep = true} : tensor<7x1xf32>\n%n = broadcast %m {axes = [0, 1]} : tensor<7x7xf32>\n%d = sub %x, %n : tensor<7x7xf32>\n%p = constant 2.0 : tensor<7x7xf32>\n%q = pow %d, %p : tensor<7x7xf32>\n%v = reduce_mean %q {axes = [1], keep = true} : tensor<7x1xf32>\n%eps = constant 0.00001 : tensor<7x1xf32>\n%a = add %v, %eps : tensor<7x1xf32>\n%s = sqrt %a : tensor<7x1xf32>\n%t = broadcast %s {axes = [0, 1]} : tensor<7x7xf32>\n%r = div %d, %t : tensor<7x7xf32>",
        "tensor<7x7xf32>",
    ),
    (
        "attention",
        "",
        "%q: tensor<2x3x4xf32>, %k: tensor<2x5x4xf32>, %v: tensor<2x5x6xf32>",
        "%s = dot %q, %k {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [2]} : tensor<2x3x5xf32>\n%c = constant 0.5 : tensor<2x3x5xf32>\n%a = mul %s, %c : tensor<2x3x5xf32>\n%p = softmax %a {axis = 2} : tensor<2x3x5xf32>\n%r = dot %p, %v {lhs_batch = [0], rhs_batch = [0], lhs_contract = [2], rhs_contract = [1]} : tensor<2x3x6xf32>",
        "tensor<2x3x6xf32>",
    ),
    (
        "decompose-gelu",
        "",
        "%x: tensor<9xf32>",
        "%r = gelu %x : tensor<9xf32>",
        "tensor<9xf32>",
    ),
    (
        "decompose-gelu",
        "",
        "%x: tensor<9xf32>",
        "%r = gelu %x {form = tanh} : tensor<9xf32>",
        "tensor<9xf32>",
    ),
    (
        "decompose-softmax",
        "",
        "%x: tensor<3x7xf32>",
        "%r = softmax %x {axis = 0} : tensor<3x7xf32>",
        "tensor<3x7xf32>",
    ),
    (
        "decompose-layer-norm",
        W,
        "%x: tensor<3x5xf32>",
        "%s = weight @s : tensor<5xf32>\n%t = weight @t : tensor<5xf32>\n%r = layer_norm %x, %s, %t {epsilon = 0.00001} : tensor<3x5xf32>",
        "tensor<3x5xf32>",
    ),
];

fn module(case: &Case) -> Module {
    let (_, weights, params, body, ty) = case;
    let source = format!(
        "module {{\n{weights}\nfunc @main({params}) -> (%r: {ty}) {{\n{body}\nreturn %r\n}}\n}}\n"
    );
    match text::parse(&source) {
        Ok(module) => module,
        Err(faults) => panic!("{}", text::render("case", &source, &faults)),
    }
}

/// Random inputs: floats in [-2, 2), integers of every magnitude.
fn inputs(module: &Module, seed: u64) -> IndexMap<String, Tensor> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let function = module.entry().expect("an entry");
    function
        .params
        .iter()
        .map(|port| {
            let ty = function.ty(port.value).clone();
            let count = ty.elements();
            let tensor = if ty.element.is_float() {
                let values: Vec<f32> = (0..count)
                    .map(|_| (next() >> 40) as f32 / (1u64 << 22) as f32 - 2.0)
                    .collect();
                Tensor::from_floats(ty, &values)
            } else {
                let values: Vec<i64> = (0..count)
                    .map(|_| (next() >> (next() % 64)) as i64)
                    .collect();
                Tensor::from_ints(ty, &values)
            };
            (port.name.clone(), tensor)
        })
        .collect()
}

/// The result and its bound.
fn evaluate(module: &Module, inputs: &IndexMap<String, Tensor>) -> (Tensor, Vec<f32>) {
    let function = module.entry().expect("an entry");
    let values = interp::eval_all(module, function, inputs).expect("evaluates");
    let mut bounds: IndexMap<Value, Vec<f32>> = IndexMap::new();
    for &inst in &function.body {
        let data = &function.insts[inst];
        let result = &values[&data.results[0]];
        if matches!(data.op, Op::Weight(_) | Op::Constant { .. }) {
            continue;
        }
        let operands: Vec<&Tensor> = data.operands.iter().map(|v| &values[v]).collect();
        let own = bound(&data.op, &operands, result);
        let moved = carried(&data.op, &operands, result, |i| {
            bounds.get(&data.operands[i])
        });
        let sum = own.iter().zip(&moved).map(|(a, b)| a + b).collect();
        bounds.insert(data.results[0], sum);
    }
    let value = function.results[0].value;
    let bound = bounds
        .get(&value)
        .cloned()
        .unwrap_or_else(|| vec![0.0; values[&value].ty.elements()]);
    (values[&value].clone(), bound)
}

#[test]
fn every_rule_keeps_its_promise() {
    for rule in RULES {
        let cases: Vec<&Case> = CASES.iter().filter(|case| case.0 == rule.name).collect();
        assert!(!cases.is_empty(), "rule `{}` has no case", rule.name);
        for case in cases {
            let before = module(case);
            let after = applications(&before, rule);
            assert!(
                !after.is_empty(),
                "rule `{}` does not apply: {}",
                rule.name,
                case.3
            );
            let config = Config {
                cases: 64,
                failure_persistence: None,
                ..Config::default()
            };
            let outcome = TestRunner::new(config).run(&proptest::num::u64::ANY, |seed| {
                let inputs = inputs(&before, seed);
                let (wanted, slack) = evaluate(&before, &inputs);
                for changed in &after {
                    let (found, more) = evaluate(changed, &inputs);
                    compare(rule.fast, &wanted, &found, &slack, &more)
                        .map_err(proptest::test_runner::TestCaseError::fail)?;
                }
                Ok(())
            });
            if let Err(error) = outcome {
                panic!(
                    "rule `{}` on\n{}\n{error}\n{}",
                    rule.name,
                    case.3,
                    text::print(&after[0])
                );
            }
        }
    }
}

fn compare(
    fast: bool,
    wanted: &Tensor,
    found: &Tensor,
    slack: &[f32],
    more: &[f32],
) -> Result<(), String> {
    if wanted.ty != found.ty {
        return Err(format!("{} became {}", wanted.ty, found.ty));
    }
    if !wanted.ty.element.is_float() {
        return match wanted.data == found.data {
            true => Ok(()),
            false => Err("integers differ".into()),
        };
    }
    for (index, (a, b)) in wanted.to_floats().iter().zip(found.to_floats()).enumerate() {
        let allowed = if fast {
            slack[index] + more[index]
        } else {
            0.0
        };
        if !((a - b).abs() <= allowed || *a == b || (a.is_nan() && b.is_nan())) {
            return Err(format!(
                "element {index}: {a} became {b}, allowed {allowed}"
            ));
        }
    }
    Ok(())
}
