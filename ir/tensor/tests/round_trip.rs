//! Random modules: what is printed is read as the same module, and what the verifier accepts is
//! evaluated. Every operation of the language is drawn.

use indexmap::IndexSet;
use ipucc_chip::ScalarType;
use ipucc_tensor::text::{format, operation_name, operation_names, parse, print, render};
use ipucc_tensor::{
    BinaryOp, Builder, CompareOp, Coordinates, Function, Module, Op, PoolKind, ReduceKind,
    ResizeMode, ScatterKind, Shape, TensorType, UnaryOp, Value, Weight, WeightSource, Window,
    verify,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// Numbers drawn by proptest, so that a failing module shrinks.
struct Draw<'d> {
    numbers: &'d [u32],
    at: usize,
}

impl Draw<'_> {
    /// A number below `end` (0 if `end` is 0).
    fn below(&mut self, end: u32) -> u32 {
        let number = self.numbers.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        number.checked_rem(end).unwrap_or(0)
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u32) as usize]
    }

    fn flag(&mut self) -> bool {
        self.below(2) == 1
    }

    fn ended(&self) -> bool {
        self.at >= self.numbers.len()
    }

    fn shape(&mut self, least: u32, most: u32) -> Shape {
        let rank = least + self.below(most - least + 1);
        (0..rank).map(|_| self.of(&[2, 1, 3, 4, 0])).collect()
    }

    fn bits(&mut self) -> u32 {
        self.below(u32::MAX)
    }

    /// The bits of a float that text gives back.
    fn float(&mut self) -> u32 {
        let value = f32::from_bits(self.bits());
        if value.is_finite() {
            value.to_bits()
        } else {
            0.5f32.to_bits()
        }
    }
}

const ELEMENTS: &[ScalarType] = &[
    ScalarType::F32,
    ScalarType::F16,
    ScalarType::F8E4M3,
    ScalarType::F8E5M2,
    ScalarType::I32,
    ScalarType::U32,
    ScalarType::I16,
    ScalarType::I8,
    ScalarType::U8,
    ScalarType::I1,
];

/// The value as another type, through `convert` and `reshape`-free operations only: a constant.
fn constant(builder: &mut Builder, draw: &mut Draw, ty: &TensorType) -> Value {
    let one = ty.element.bytes() as usize;
    let count = match ty.elements() {
        n @ 1..=64 if draw.flag() => n,
        _ => 1,
    };
    let data: Vec<u8> = (0..count)
        .flat_map(|_| {
            let bits = draw.bits().to_le_bytes();
            match ty.element {
                ScalarType::I1 => vec![bits[0] & 1],
                // NaNs with any payload are written by their bits.
                _ => bits[..one].to_vec(),
            }
        })
        .collect();
    let op = Op::Constant {
        element: ty.element,
        shape: ty.shape.clone(),
        data,
    };
    builder.op(op, &[]).expect("a constant of its size")
}

fn window(draw: &mut Draw, spatial: usize) -> Window {
    let mut list =
        |least: u32, end: u32| -> Shape { (0..spatial).map(|_| least + draw.below(end)).collect() };
    Window {
        strides: list(1, 3),
        low: list(0, 2),
        high: list(0, 2),
        dilation: list(1, 2),
    }
}

/// Adds one random operation; `None` if what was drawn does not fit.
fn operation(
    builder: &mut Builder,
    draw: &mut Draw,
    module: &Module,
    values: &[Value],
) -> Option<Vec<Value>> {
    let x = values[draw.below(values.len() as u32) as usize];
    let ty = builder.ty(x).clone();
    let rank = ty.rank() as u32;
    let axis = draw.below(rank) as u8;
    let floats = [ScalarType::F32, ScalarType::F16];
    let list =
        |draw: &mut Draw, end: u32| -> Shape { (0..rank).map(|_| draw.below(end)).collect() };
    let (op, operands) = match draw.below(39) {
        0 => (Op::Unary(draw.of(UnaryOp::ALL)), vec![x]),
        1 => {
            let y = constant(builder, draw, &ty);
            (Op::Binary(draw.of(BinaryOp::ALL)), vec![x, y])
        }
        2 => {
            let y = constant(builder, draw, &ty);
            (Op::Compare(draw.of(CompareOp::ALL)), vec![x, y])
        }
        3 => {
            let condition = constant(builder, draw, &ty.with_element(ScalarType::I1));
            let y = constant(builder, draw, &ty);
            (Op::Select, vec![condition, x, y])
        }
        4 => {
            let (low, high) = (constant(builder, draw, &ty), constant(builder, draw, &ty));
            (Op::Clamp, vec![x, low, high])
        }
        5 => (Op::Convert(draw.of(ELEMENTS)), vec![x]),
        6 => {
            let mut shape = Shape::from_elem(1 + draw.below(3), 1);
            shape.extend(ty.shape.iter().copied());
            let axes = (1..=rank as u8).collect();
            (Op::Broadcast { shape, axes }, vec![x])
        }
        7 => {
            let mut shape = ty.shape.clone();
            shape.insert(axis.into(), 1);
            (Op::Reshape(shape), vec![x])
        }
        8 => {
            let mut axes: Vec<u8> = (0..rank as u8).collect();
            axes.rotate_left(axis.into());
            (Op::Transpose(axes.into()), vec![x])
        }
        9 => {
            let strides: Vec<i32> = (0..rank).map(|_| draw.of(&[1, -1, 2])).collect();
            let starts = strides.iter().zip(&ty.shape);
            let starts = starts.map(|(&s, &e)| if s < 0 { e.saturating_sub(1) } else { 0 });
            let sizes = strides.iter().zip(&ty.shape);
            let sizes = sizes.map(|(&s, &e)| if s == 2 { e.div_ceil(2) } else { e });
            let op = Op::Slice {
                starts: starts.collect(),
                sizes: sizes.collect(),
                strides: strides.clone().into(),
            };
            (op, vec![x])
        }
        10 => {
            let value = constant(builder, draw, &TensorType::new(ty.element, []));
            let (low, high) = (list(draw, 3), list(draw, 3));
            (Op::Pad { low, high }, vec![x, value])
        }
        11 => (Op::Concat(axis), vec![x; 1 + draw.below(3) as usize]),
        12 | 13 => {
            let shape = draw.shape(0, 2);
            let indices = TensorType::new(ScalarType::I32, shape);
            let i = constant(builder, draw, &indices);
            if ty.shape.get(usize::from(axis)) == Some(&0) && indices.elements() > 0 {
                return None;
            }
            if draw.flag() {
                (Op::Gather { axis }, vec![x, i])
            } else {
                let updates = Op::Gather { axis }.infer(&[ty.clone(), indices]).ok()?;
                let u = constant(builder, draw, &updates);
                let kind = draw.of(ScatterKind::ALL);
                (Op::Scatter { axis, kind }, vec![x, i, u])
            }
        }
        14 => {
            let element = draw.of(&ELEMENTS[..9]);
            let shape = draw.shape(1, 3);
            let axis = draw.below(shape.len() as u32) as u8;
            let op = Op::Iota {
                element,
                shape,
                axis,
            };
            (op, vec![])
        }
        15 => (Op::Reverse([axis].as_slice().into()), vec![x]),
        16 | 17 => {
            let op = Op::Reduce {
                kind: draw.of(ReduceKind::ALL),
                axes: if draw.flag() {
                    [axis].as_slice().into()
                } else {
                    Default::default()
                },
                keep: draw.flag(),
            };
            (op, vec![x])
        }
        18 => {
            let op = Op::ArgReduce {
                largest: draw.flag(),
                axis,
                keep: draw.flag(),
            };
            (op, vec![x])
        }
        19 => {
            let op = Op::CumSum {
                axis,
                exclusive: draw.flag(),
                reverse: draw.flag(),
            };
            (op, vec![x])
        }
        20 | 21 => {
            let y = constant(builder, draw, &ty);
            let batch: Vec<u8> = (0..rank as u8)
                .filter(|&a| a != axis && draw.flag())
                .collect();
            let float = ty.element.is_float();
            let op = Op::Dot {
                lhs_batch: batch.clone().into(),
                rhs_batch: batch.into(),
                lhs_contract: [axis].as_slice().into(),
                rhs_contract: [axis].as_slice().into(),
                accumulate: if float {
                    draw.of(&floats)
                } else {
                    ScalarType::I32
                },
                result: if float {
                    draw.of(&floats)
                } else {
                    ScalarType::I32
                },
            };
            (op, vec![x, y])
        }
        22 => (Op::Softmax(axis), vec![x]),
        23 | 24 => {
            let row = TensorType::new(ty.element, [*ty.shape.last()?]);
            let (scale, bias) = (constant(builder, draw, &row), constant(builder, draw, &row));
            let epsilon = f32::from_bits(draw.float()).abs().to_bits();
            if draw.flag() {
                (Op::LayerNorm { epsilon }, vec![x, scale, bias])
            } else {
                (Op::RmsNorm { epsilon }, vec![x, scale])
            }
        }
        25 => (Op::Gelu { tanh: draw.flag() }, vec![x]),
        26 | 27 => {
            let spatial = 1 + draw.below(3) as usize;
            let element = draw.of(&[ScalarType::F32, ScalarType::F16, ScalarType::I8]);
            let mut shape = Shape::from_slice(&[1, 2]);
            shape.extend((0..spatial).map(|_| 3));
            let mut kernel = Shape::from_slice(&[2, 2]);
            kernel.extend((0..spatial).map(|_| 1 + draw.below(2)));
            let image = constant(builder, draw, &TensorType::new(element, shape));
            let weights = constant(builder, draw, &TensorType::new(element, kernel.clone()));
            let window = window(draw, spatial);
            let float = element.is_float();
            let result = if float { element } else { ScalarType::I32 };
            match draw.below(3) {
                0 => {
                    let op = Op::Conv {
                        window,
                        groups: 1,
                        accumulate: if float {
                            draw.of(&floats)
                        } else {
                            ScalarType::I32
                        },
                        result,
                    };
                    (op, vec![image, weights])
                }
                1 => {
                    let op = Op::ConvTranspose {
                        output_padding: (0..spatial).map(|_| draw.below(2)).collect(),
                        window,
                        groups: 1 + draw.below(2),
                        result,
                    };
                    (op, vec![image, weights])
                }
                _ => {
                    let op = Op::Pool {
                        kind: draw.of(PoolKind::ALL),
                        size: kernel[2..].into(),
                        window,
                    };
                    (op, vec![image])
                }
            }
        }
        28 => {
            let shape = ty
                .shape
                .iter()
                .map(|&e| if e == 0 { 0 } else { 1 + draw.below(4) });
            let op = Op::Resize {
                shape: shape.collect(),
                mode: draw.of(ResizeMode::ALL),
                coordinates: draw.of(Coordinates::ALL),
            };
            (op, vec![x])
        }
        29 | 30 => {
            let per = (rank > 0 && draw.flag()).then_some(axis);
            let shape: Shape = per.map(|a| ty.shape[usize::from(a)]).into_iter().collect();
            let quantized = draw.of(&[ScalarType::I8, ScalarType::U8, ScalarType::I16]);
            if draw.flag() {
                let scale = TensorType::new(ty.element, shape.clone());
                let scale = constant(builder, draw, &scale);
                let zero = constant(builder, draw, &TensorType::new(quantized, shape));
                let op = Op::Quantize {
                    to: quantized,
                    axis: per,
                };
                (op, vec![x, scale, zero])
            } else {
                let scale = TensorType::new(draw.of(&floats), shape);
                let scale = constant(builder, draw, &scale);
                (Op::Dequantize { axis: per }, vec![x, scale])
            }
        }
        31 => {
            let element = draw.of(&floats);
            let stack = |rows: u32, columns: u32| TensorType::new(element, [2, rows, columns]);
            let q = constant(builder, draw, &stack(3, 4));
            let k = constant(builder, draw, &stack(2, 4));
            let v = constant(builder, draw, &stack(2, 5));
            let op = Op::Attention {
                scale: draw.flag().then(|| draw.float()),
                causal: draw.flag(),
            };
            (op, vec![q, k, v])
        }
        32 => {
            let extent = *ty.shape.get(usize::from(axis))?;
            let op = Op::TopK {
                axis,
                k: draw.below(extent + 1),
                largest: draw.flag(),
                indices: draw.flag(),
            };
            (op, vec![x])
        }
        33 => {
            let at = draw.below(module.weights.len() as u32) as usize;
            let (name, weight) = module.weights.get_index(at)?;
            return Some(vec![builder.weight(name.clone(), weight.ty.clone())]);
        }
        34 | 35 => {
            let at = draw.below(module.functions.len() as u32) as usize;
            let (_, callee) = module.functions.get_index(at)?;
            let params = callee.param_types();
            let operands: Vec<Value> = params
                .iter()
                .map(|ty| constant(builder, draw, ty))
                .collect();
            return builder.call(callee, &operands).ok();
        }
        37 => {
            let slides = usize::from(axis)..rank as usize;
            let list =
                |draw: &mut Draw| -> Shape { slides.clone().map(|_| 1 + draw.below(2)).collect() };
            let op = Op::Windows {
                first: axis,
                size: list(draw),
                strides: list(draw),
                dilation: list(draw),
            };
            (op, vec![x])
        }
        36 => {
            let at = draw.below(module.functions.len() as u32) as usize;
            let (_, body) = module.functions.get_index(at)?;
            let (params, count) = (body.param_types(), draw.below(3));
            let carried = body.results.len();
            if body.result_types()[..] != *params.get(..carried)? {
                return None;
            }
            let split = carried + draw.below((params.len() - carried) as u32 + 1) as usize;
            let mut operands = Vec::new();
            for (index, ty) in params.iter().enumerate() {
                let mut ty = ty.clone();
                if (carried..split).contains(&index) {
                    ty.shape.insert(0, count);
                }
                operands.push(constant(builder, draw, &ty));
            }
            let (carried, rest) = operands.split_at(carried);
            let (sliced, fixed) = rest.split_at(split - carried.len());
            return builder.repeat(body, count, carried, sliced, fixed).ok();
        }
        _ => return Some(vec![constant(builder, draw, &ty)]),
    };
    builder.op(op, &operands).ok().map(|value| vec![value])
}

fn function(draw: &mut Draw, module: &Module, name: &str, operations: u32) -> Function {
    let mut builder = Builder::new(name);
    let mut values = Vec::new();
    for index in 0..1 + draw.below(3) {
        let ty = TensorType {
            element: draw.of(ELEMENTS),
            shape: draw.shape(0, 4),
        };
        values.push(builder.param(format!("p{index}"), ty));
    }
    for index in 0..operations {
        if draw.ended() {
            break;
        }
        let Some(results) = operation(&mut builder, draw, module, &values) else {
            continue;
        };
        for &value in &results {
            match draw.below(4) {
                0 => builder.name(value, format!("v{index}")),
                // Names that are taken or no names: the printer finds others.
                1 => builder.name(value, "p0"),
                2 => builder.name(value, "not a name"),
                _ => {}
            }
        }
        // Constants that were made on the way are operands too.
        values.extend(results);
    }
    // A body that can be repeated: the first results have the types of the parameters.
    let body = draw.flag();
    for index in 0..1 + draw.below(2) as usize {
        let value = match builder.function().params.get(index) {
            Some(port) if body => port.value,
            _ => values[draw.below(values.len() as u32) as usize],
        };
        builder.result(format!("r{index}"), value);
    }
    builder.finish()
}

fn module(numbers: &[u32]) -> Module {
    let mut draw = Draw { numbers, at: 0 };
    let mut module = Module::default();
    for index in 0..draw.below(3) {
        let ty = TensorType {
            element: draw.of(ELEMENTS),
            shape: draw.shape(0, 3),
        };
        let one = ty.element.bytes() as usize;
        let data = |draw: &mut Draw, count: usize| -> Vec<u8> {
            (0..count).map(|_| draw.below(2) as u8).collect()
        };
        let source = match draw.below(4) {
            0 => WeightSource::Dense(data(&mut draw, ty.bytes()).into()),
            1 => WeightSource::Splat(data(&mut draw, one)),
            2 => WeightSource::File {
                path: "a/model.safetensors".into(),
                key: "layer.0.weight".into(),
            },
            _ => WeightSource::Random {
                seed: u64::from(draw.bits()) << 20,
                scale: draw.float(),
            },
        };
        module
            .weights
            .insert(format!("w.{index}"), Weight { ty, source });
    }
    for name in ["first", "second", "main"] {
        let operations = draw.below(12);
        let function = function(&mut draw, &module, name, operations);
        module.functions.insert(name.into(), function);
    }
    module
}

/// What a text says of a module: everything but names that were taken and positions.
fn essence(module: &Module) -> String {
    let mut out = String::new();
    for (name, weight) in &module.weights {
        out.push_str(&format!("{name} {weight:?}\n"));
    }
    for function in module.functions.values() {
        let params = function.params.iter();
        let params: Vec<_> = params
            .map(|p| (&p.name, p.host, function.ty(p.value)))
            .collect();
        out.push_str(&format!("{} {params:?}\n", function.name));
        for &inst in &function.body {
            let data = &function.insts[inst];
            let types: Vec<_> = data.results.iter().map(|&v| function.ty(v)).collect();
            let (op, operands) = (&data.op, &data.operands);
            out.push_str(&format!(
                "{op:?} {operands:?} {:?} {types:?}\n",
                data.results
            ));
        }
        out.push_str(&format!("{:?}\n", function.results));
    }
    out
}

#[test]
fn random_modules_go_round() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[6; 32]);
    let config = Config {
        cases: 3_000,
        failure_persistence: None,
        ..Config::default()
    };
    let mut drawn: IndexSet<&'static str> = IndexSet::new();
    let seen = std::cell::RefCell::new(&mut drawn);
    let strategy = prop::collection::vec(any::<u32>(), 100..700);
    let outcome = TestRunner::new_with_rng(config, rng).run(&strategy, |numbers| {
        let module = module(&numbers);
        prop_assert_eq!(verify(&module), vec![]);
        let text = print(&module);
        let again = match parse(&text) {
            Ok(again) => again,
            Err(faults) => return Err(TestCaseError::fail(render("text", &text, &faults))),
        };
        prop_assert_eq!(essence(&again), essence(&module), "{}", text);
        prop_assert_eq!(&print(&again), &text);
        prop_assert_eq!(&format(&text), &Ok(text.clone()));
        prop_assert_eq!(verify(&again), vec![]);
        for function in module.functions.values() {
            for &inst in &function.body {
                seen.borrow_mut()
                    .insert(operation_name(&function.insts[inst].op));
            }
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let missing: Vec<&str> = operation_names()
        .into_iter()
        .filter(|name| !drawn.contains(name))
        .collect();
    assert!(missing.is_empty(), "never drawn: {missing:?}");
}

/// What stands above a function does not change it: neither its value nor its hash.
#[test]
fn edits_above_a_function_change_nothing_in_it() {
    let text = include_str!("../../../examples/mlp.ir");
    let before = parse(text).unwrap_or_else(|faults| panic!("{}", render("text", text, &faults)));
    let at = text.find("weight").expect("it has a weight");
    let edits = [
        format!("// A comment.\n\n// And another.\n{text}"),
        format!(
            "{}weight @new : tensor<2xf32> = splat(1.0)\n  {}",
            &text[..at],
            &text[at..]
        ),
        format!(
            "{}func @new(%x: tensor<2xf32>) -> (%y: tensor<2xf32>) {{\n    return %x\n  }}\n  {}",
            &text[..at],
            &text[at..]
        ),
    ];
    let hash = |function: &Function| {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        function.params.hash(&mut hasher);
        function.results.hash(&mut hasher);
        function.body.hash(&mut hasher);
        function
            .values
            .values()
            .for_each(|value| value.hash(&mut hasher));
        function
            .insts
            .values()
            .for_each(|inst| inst.hash(&mut hasher));
        hasher.finish()
    };
    for edit in edits {
        let after =
            parse(&edit).unwrap_or_else(|faults| panic!("{}", render("text", &edit, &faults)));
        for (name, function) in &before.functions {
            assert_eq!(&after.functions[name], function, "{edit}");
            assert_eq!(hash(&after.functions[name]), hash(function), "{edit}");
        }
    }
    // An edit inside it does move what follows.
    let inside = text.replacen("\n    %", "\n\n    %", 1);
    let after = parse(&inside).expect("an empty line is no fault");
    assert_ne!(after.functions["main"], before.functions["main"]);
}
