//! One kernel on one tile of the simulator, with every byte of memory guarded.

#![allow(dead_code)] // Each test file uses a part.

use half::f16;
use indexmap::IndexMap;
use ipucc::backend::{Options, compile};
use ipucc::stage::UNWATCHED;
use ipucc_chip::{Assumptions, HostType, LogicalTile, ScalarType, memory};
use ipucc_codegen::{Word, generate};
use ipucc_runtime::{HostTensor, Session};
use ipucc_tile::kernel::{Dot, Kernel};
use ipucc_tile::{
    Binding, Call, Compute, Distribution, Layout, LayoutKind, MemoryClass, Operand, Padding,
    Program, Role, Step, TileSet, Value, ValueData,
};
use smallvec::smallvec;

/// A seeded generator (splitmix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in [-1, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 40) as f64 / (1u64 << 23) as f64 - 1.0
    }

    /// `count` values of a type, exact in it, in [-scale, scale).
    pub fn values(&mut self, count: u32, element: ScalarType, scale: f64) -> Vec<f64> {
        (0..count)
            .map(|_| round(self.unit() * scale, element))
            .collect()
    }

    /// Small integers.
    pub fn integers(&mut self, count: u32, most: u64) -> Vec<f64> {
        (0..count)
            .map(|_| (self.next() % (2 * most + 1)) as f64 - most as f64)
            .collect()
    }
}

/// The nearest value of a type.
pub fn round(value: f64, element: ScalarType) -> f64 {
    match element {
        ScalarType::F16 => f16::from_f64(value).to_f64(),
        ScalarType::F32 => f64::from(value as f32),
        ScalarType::F8E4M3 | ScalarType::F8E5M2 => decode_f8(encode_f8(value, element), element),
        _ => value,
    }
}

/// Unit roundoff.
pub fn unit_of(element: ScalarType) -> f64 {
    match element {
        ScalarType::F16 => 2f64.powi(-11),
        _ => 2f64.powi(-24),
    }
}

fn encode(values: &[f64], element: ScalarType) -> Vec<u8> {
    values
        .iter()
        .flat_map(|&v| match element {
            ScalarType::F16 => f16::from_f64(v).to_le_bytes().to_vec(),
            ScalarType::F32 => (v as f32).to_le_bytes().to_vec(),
            ScalarType::I32 => (v as i32).to_le_bytes().to_vec(),
            ScalarType::I16 => (v as i16).to_le_bytes().to_vec(),
            ScalarType::I8 => vec![v as i8 as u8],
            ScalarType::U8 | ScalarType::I1 => vec![v as u8],
            ScalarType::F8E4M3 | ScalarType::F8E5M2 => vec![encode_f8(v, element)],
            other => panic!("no encoder of {other}"),
        })
        .collect()
}

/// Mantissa bits and bias of an f8 format.
fn f8(element: ScalarType) -> (i32, i32) {
    match element {
        ScalarType::F8E4M3 => (3, 8),
        _ => (2, 16),
    }
}

/// The value of an f8 code; the code 0x80 is no number.
pub fn decode_f8(code: u8, element: ScalarType) -> f64 {
    let (mantissa, bias) = f8(element);
    if code == 0x80 {
        return f64::NAN;
    }
    let size = i32::from(code & 0x7f);
    let (exponent, fraction) = (size >> mantissa, size & ((1 << mantissa) - 1));
    let fraction = f64::from(fraction) / f64::from(1 << mantissa);
    let size = if exponent == 0 {
        fraction * 2f64.powi(1 - bias)
    } else {
        (1.0 + fraction) * 2f64.powi(exponent - bias)
    };
    if code & 0x80 == 0 { size } else { -size }
}

/// The code nearest to a value, the even one of two: a search over all codes.
pub fn encode_f8(value: f64, element: ScalarType) -> u8 {
    (0..=255u8)
        .filter(|&code| code != 0x80)
        .min_by(|&a, &b| {
            let far = |code| (decode_f8(code, element) - value).abs();
            far(a).total_cmp(&far(b)).then((a & 1).cmp(&(b & 1)))
        })
        .expect("codes")
}

fn decode(bytes: &[u8], element: ScalarType) -> Vec<f64> {
    match element {
        ScalarType::F16 => bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|c| f16::from_le_bytes(*c).to_f64())
            .collect(),
        ScalarType::F32 => bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|c| f64::from(f32::from_le_bytes(*c)))
            .collect(),
        ScalarType::F8E4M3 | ScalarType::F8E5M2 => {
            bytes.iter().map(|&code| decode_f8(code, element)).collect()
        }
        ScalarType::I16 => bytes
            .as_chunks::<2>()
            .0
            .iter()
            .map(|c| f64::from(i16::from_le_bytes(*c)))
            .collect(),
        ScalarType::I32 => bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|c| f64::from(i32::from_le_bytes(*c)))
            .collect(),
        ScalarType::I8 => bytes.iter().map(|&b| f64::from(b as i8)).collect(),
        ScalarType::U8 | ScalarType::I1 => bytes.iter().map(|&b| f64::from(b)).collect(),
        other => panic!("no decoder of {other}"),
    }
}

/// A program of one tile and one compute step.
pub struct Bench {
    program: Program,
    weights: IndexMap<String, Vec<u8>>,
    inputs: IndexMap<String, HostTensor>,
}

/// What a run gave.
pub struct Outcome {
    /// The output `y`.
    pub values: Vec<f64>,
    /// The other outputs, in the order of their making.
    pub others: Vec<Vec<f64>>,
    /// Cycles of the whole program.
    pub cycles: u64,
}

impl Bench {
    pub fn new() -> Bench {
        Bench {
            program: Program {
                name: "kernel".into(),
                tiles: 1,
                values: Default::default(),
                steps: vec![],
                inputs: IndexMap::new(),
                outputs: IndexMap::new(),
                weights: IndexMap::new(),
            },
            weights: IndexMap::new(),
            inputs: IndexMap::new(),
        }
    }

    fn value(
        &mut self,
        name: &str,
        element: ScalarType,
        shape: &[u32],
        layout: Layout,
        role: Role,
    ) -> Value {
        self.program.values.push(ValueData {
            name: name.into(),
            element,
            shape: shape.into(),
            distribution: Distribution::single(shape.len(), LogicalTile(0)),
            memory: MemoryClass::Any,
            layout,
            align_bytes: 8,
            tail_bytes: 0,
            padding: Padding::Zero,
            role,
            origin: None,
            tensor: None,
        })
    }

    pub fn input(
        &mut self,
        name: &str,
        element: ScalarType,
        shape: &[u32],
        layout: Layout,
        data: &[f64],
    ) -> Value {
        let value = self.value(name, element, shape, layout, Role::Input(name.into()));
        let host = HostType::Device(element);
        let binding = Binding {
            value,
            host,
            shape: shape.into(),
        };
        self.program.inputs.insert(name.into(), binding);
        let tensor = HostTensor {
            element: host,
            shape: shape.to_vec(),
            bytes: encode(data, element),
        };
        self.inputs.insert(name.into(), tensor);
        value
    }

    pub fn weight(
        &mut self,
        name: &str,
        element: ScalarType,
        shape: &[u32],
        layout: Layout,
        data: &[f64],
    ) -> Value {
        let value = self.value(name, element, shape, layout, Role::Weight(name.into()));
        self.weights.insert(name.into(), encode(data, element));
        value
    }

    pub fn output(&mut self, element: ScalarType, shape: &[u32], layout: Layout) -> Value {
        self.named_output("y", element, shape, layout)
    }

    pub fn named_output(
        &mut self,
        name: &str,
        element: ScalarType,
        shape: &[u32],
        layout: Layout,
    ) -> Value {
        let value = self.value(name, element, shape, layout, Role::Output(name.into()));
        let binding = Binding {
            value,
            host: HostType::Device(element),
            shape: shape.into(),
        };
        self.program.outputs.insert(name.into(), binding);
        value
    }

    /// A buffer that a kernel uses for itself.
    pub fn scratch(&mut self, element: ScalarType, elements: u32) -> Value {
        let name = format!("scratch{}", self.program.values.len());
        self.value(&name, element, &[elements], Layout::row(1), Role::Temporary)
    }

    pub fn call(&mut self, kernel: Kernel, operands: &[Value]) {
        let operands = operands
            .iter()
            .map(|&value| Operand {
                value,
                offset_bytes: 0,
            })
            .collect();
        let tiles = TileSet::from_tiles([LogicalTile(0)]);
        let call = Call {
            tiles,
            kernel,
            operands,
        };
        let compute = Compute {
            label: "kernel".into(),
            calls: vec![call],
        };
        self.program.steps.push(Step::Compute(compute));
    }

    /// A product of `a` (m, k) and the weight `b` (k, n).
    pub fn product(dot: Dot, a: &[f64], b: &[f64]) -> Bench {
        let Dot { m, n, k, .. } = dot;
        let panel = Dot::input_panel(dot.input);
        let result = lhs(Dot::result_panel(dot.input, dot.partials));
        let mut bench = Bench::new();
        let x = bench.input("x", dot.input, &[m, k], lhs(panel), a);
        let w = bench.weight("w", dot.input, &[k, n], rhs(panel), b);
        let y = bench.output(dot.partials, &[m, n], result);
        bench.call(Kernel::Dot(dot), &[x, w, y]);
        bench
    }

    /// Runs; the prediction must be exact and nothing but inputs and output may have changed.
    pub fn run(self) -> Outcome {
        self.run_with(Assumptions::default())
    }

    /// As [`Bench::run`], with the same assumptions on both sides.
    pub fn run_with(self, assumptions: Assumptions) -> Outcome {
        let tile = LogicalTile(0);
        let values: Vec<(String, u32)> = self
            .program
            .values
            .values()
            .map(|data| (data.name.clone(), data.shard_bytes(&data.shape)))
            .collect();
        let outputs: Vec<(String, ScalarType)> = self
            .program
            .outputs
            .iter()
            .map(|(name, binding)| (name.clone(), self.program.values[binding.value].element))
            .collect();
        let shared = shared_words(&self.program);
        let options = Options {
            assumptions: assumptions.clone(),
            ..Options::default()
        };
        let compiled = compile(self.program, &self.weights, &options, UNWATCHED).expect("compiles");
        let addresses = &compiled.placements[0].addresses;
        let first = addresses.len() - values.len();
        let mut free: Vec<(u32, u32)> = Vec::new();
        for ((name, bytes), &address) in values.iter().zip(&addresses[first..]) {
            let scratch = name.starts_with("scratch");
            let output = outputs.iter().any(|(output, _)| output == name);
            if scratch || output || self.inputs.contains_key(name) {
                free.push((address, address + bytes));
            }
        }
        // The records are the second section.
        free.extend(
            shared
                .iter()
                .map(|at| (addresses[1] + at, addresses[1] + at + 4)),
        );
        let predicted = compiled.package.predicted.cycles;
        let mut session =
            Session::new(compiled.package, assumptions, Default::default()).expect("loads");
        let memory = |session: &Session| {
            let mut bytes = vec![0; memory::SIZE as usize];
            session
                .simulator()
                .read(tile, memory::BASE, &mut bytes)
                .expect("reads");
            bytes
        };
        let before = memory(&session);
        let outcome = session.run(&self.inputs).expect("runs");
        let after = memory(&session);
        for (at, (b, a)) in before.iter().zip(&after).enumerate() {
            let address = memory::BASE + at as u32;
            let inside = free
                .iter()
                .any(|(low, high)| (*low..*high).contains(&address));
            assert!(b == a || inside, "byte {address:#x} has changed");
        }
        assert_eq!(predicted, outcome.cycles, "predicted and simulated cycles");
        let mut values = IndexMap::new();
        for (name, element) in outputs {
            let bytes = &outcome.outputs[&name].bytes;
            values.insert(name, decode(bytes, element));
        }
        Outcome {
            values: values.shift_remove("y").unwrap_or_default(),
            others: values.into_values().collect(),
            cycles: outcome.cycles,
        }
    }
}

/// Where, in the argument records of a program on one tile, workers leave something for the next
/// launch.
fn shared_words(program: &Program) -> Vec<u32> {
    let mut found = Vec::new();
    let mut at = 0;
    for step in &program.steps {
        let Step::Compute(compute) = step else {
            continue;
        };
        for call in &compute.calls {
            let made = generate(&call.kernel, &Assumptions::default()).expect("a kernel");
            let mut last = None;
            for launch in &made.launches {
                if last == Some(&launch.record) {
                    continue;
                }
                for (number, word) in (0..).zip(&launch.record) {
                    if *word == Word::Shared {
                        found.push(at + 4 * number);
                    }
                }
                at += 4 * launch.record.len() as u32;
                last = Some(&launch.record);
            }
        }
    }
    found
}

/// Left operand or result of a product.
pub fn lhs(panel: u32) -> Layout {
    Layout {
        kind: LayoutKind::AmpLhs { panel },
        order: smallvec![0, 1],
    }
}

/// Right operand of a product, stored (k, n) in the tensor.
pub fn rhs(panel: u32) -> Layout {
    Layout {
        kind: LayoutKind::AmpRhs { panel },
        order: smallvec![1, 0],
    }
}

/// Rows padded to a multiple of `pitch`.
pub fn padded(pitch: u32) -> Layout {
    Layout {
        kind: LayoutKind::Row { pitch },
        order: smallvec![0, 1],
    }
}

/// Bound of a result (design 4): `n` roundings of unit `u`, `r` the root of the sum of the squares
/// of what is rounded.
pub fn bound(n: f64, u: f64, r: f64) -> f64 {
    6.0 * n.sqrt() * u * r
}

/// Asserts that two values differ by at most `bound`, with a message that shows both.
pub fn close(found: f64, wanted: f64, bound: f64, what: &str) {
    assert!(
        (found - wanted).abs() <= bound,
        "{what}: found {found}, wanted {wanted}, bound {bound:e}"
    );
}
