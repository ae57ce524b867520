//! Kernels on the simulator: results against plain loops, predicted cycles against simulated ones.

use indexmap::IndexMap;
use ipucc::backend::{Options, compile};
use ipucc_chip::{Assumptions, HostType, LogicalTile, ScalarType};
use ipucc_runtime::{HostTensor, Session};
use ipucc_tile::kernel::{Access, BinaryOp, Dot, Expr, Kernel, Map, UnaryOp};
use ipucc_tile::{
    Binding, Call, Compute, Distribution, Layout, LayoutKind, MemoryClass, Operand, Padding,
    Program, Role, Step, TileSet, Value, ValueData,
};
use smallvec::smallvec;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// A program of one tile and one compute step.
struct Bench {
    program: Program,
    weights: IndexMap<String, Vec<u8>>,
    inputs: IndexMap<String, HostTensor>,
}

impl Bench {
    fn new() -> Bench {
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

    fn value(&mut self, name: &str, shape: &[u32], layout: Layout, role: Role) -> Value {
        let weight = matches!(role, Role::Weight(_));
        self.program.values.push(ValueData {
            name: name.into(),
            element: ScalarType::F32,
            shape: shape.into(),
            distribution: Distribution::single(shape.len(), LogicalTile(0)),
            memory: if weight || matches!(layout.kind, LayoutKind::AmpLhs { panel: 16 }) {
                MemoryClass::Interleaved
            } else {
                MemoryClass::Any
            },
            layout,
            align_bytes: 16,
            tail_bytes: 8,
            padding: Padding::Zero,
            role,
            origin: None,
        })
    }

    fn input(&mut self, name: &str, shape: &[u32], layout: Layout, data: &[f32]) -> Value {
        let value = self.value(name, shape, layout, Role::Input(name.into()));
        let host = HostType::Device(ScalarType::F32);
        let binding = Binding {
            value,
            host,
            shape: shape.into(),
        };
        self.program.inputs.insert(name.into(), binding);
        let bytes = data.iter().flat_map(|v| v.to_le_bytes()).collect();
        let tensor = HostTensor {
            element: host,
            shape: shape.to_vec(),
            bytes,
        };
        self.inputs.insert(name.into(), tensor);
        value
    }

    fn output(&mut self, shape: &[u32], layout: Layout) -> Value {
        let value = self.value("y", shape, layout, Role::Output("y".into()));
        let host = HostType::Device(ScalarType::F32);
        self.program.outputs.insert(
            "y".into(),
            Binding {
                value,
                host,
                shape: shape.into(),
            },
        );
        value
    }

    fn call(&mut self, kernel: Kernel, operands: &[Value]) {
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

    /// Runs, checks the prediction, returns the output.
    fn run(self) -> Vec<f32> {
        let compiled = compile(self.program, &self.weights, &Options::default()).expect("compiles");
        let predicted = compiled.package.predicted.cycles;
        let mut session =
            Session::new(compiled.package, Assumptions::default(), Default::default())
                .expect("loads");
        let outcome = session.run(&self.inputs).expect("runs");
        assert_eq!(predicted, outcome.cycles, "predicted and simulated cycles");
        outcome.outputs["y"]
            .bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|chunk| f32::from_le_bytes(*chunk))
            .collect()
    }
}

fn lhs(panel: u32) -> Layout {
    Layout {
        kind: LayoutKind::AmpLhs { panel },
        order: smallvec![0, 1],
    }
}

/// Integers of small size: every sum is exact, so the result must be, too.
fn check_dot(m: u32, n: u32, k: u32) {
    let mut random = Random(u64::from(m) << 40 | u64::from(n) << 20 | u64::from(k));
    let mut ints = |count: u32| -> Vec<f32> {
        (0..count)
            .map(|_| (random.next() % 17) as f32 - 8.0)
            .collect()
    };
    let (a, b) = (ints(m * k), ints(k * n));
    let mut bench = Bench::new();
    let x = bench.input("x", &[m, k], lhs(8), &a);
    let w = bench.value(
        "w",
        &[k, n],
        Layout {
            kind: LayoutKind::AmpRhs { panel: 8 },
            order: smallvec![1, 0],
        },
        Role::Weight("w".into()),
    );
    bench
        .weights
        .insert("w".into(), b.iter().flat_map(|v| v.to_le_bytes()).collect());
    let y = bench.output(&[m, n], lhs(16));
    let dot = Dot {
        m,
        n,
        k,
        input: ScalarType::F32,
        partials: ScalarType::F32,
        accumulate: false,
    };
    bench.call(Kernel::Dot(dot), &[x, w, y]);
    let found = bench.run();
    for i in 0..m {
        for j in 0..n {
            let sum: f32 = (0..k)
                .map(|l| a[(i * k + l) as usize] * b[(l * n + j) as usize])
                .sum();
            assert_eq!(found[(i * n + j) as usize], sum, "{m}x{k}x{n}: ({i}, {j})");
        }
    }
}

#[test]
fn dot_f32() {
    for m in [1, 2, 3, 5, 6, 7, 11, 12, 13, 17, 18, 19, 24, 30, 41] {
        check_dot(m, 16, 8);
        check_dot(m, 32, 24);
    }
    for (m, n, k) in [
        (1, 10, 32),
        (4, 1, 1),
        (9, 5, 7),
        (64, 32, 64),
        (20, 48, 100),
        (7, 128, 64),
    ] {
        check_dot(m, n, k);
    }
}

fn access(strides: &[u32]) -> Access {
    Access {
        element: ScalarType::F32,
        strides: strides.into(),
    }
}

#[test]
fn map_bias_and_relu() {
    for (rows, columns) in [
        (1, 2),
        (1, 11),
        (3, 10),
        (6, 4),
        (7, 16),
        (8, 2),
        (20, 34),
        (13, 128),
    ] {
        let mut random = Random(u64::from(rows * 1000 + columns));
        let x: Vec<f32> = (0..rows * columns).map(|_| random.unit()).collect();
        let b: Vec<f32> = (0..columns).map(|_| random.unit()).collect();
        let mut bench = Bench::new();
        let row = Layout::row(2);
        let vx = bench.input("x", &[rows, columns], row.clone(), &x);
        let vb = bench.input("b", &[columns], Layout::row(1), &b);
        let vy = bench.output(&[rows, columns], row);
        let map = Map {
            extents: smallvec![rows, columns],
            inputs: smallvec![access(&[columns, 1]), access(&[0, 1])],
            output: access(&[columns, 1]),
            nodes: vec![
                Expr::Input(0),
                Expr::Input(1),
                Expr::Binary(BinaryOp::Add, 0, 1),
                Expr::Constant(0, ScalarType::F32),
                Expr::Binary(BinaryOp::Max, 2, 3),
            ],
        };
        bench.call(Kernel::Map(map), &[vx, vb, vy]);
        let found = bench.run();
        for i in 0..(rows * columns) as usize {
            let wanted = (x[i] + b[i % columns as usize]).max(0.0);
            assert_eq!(found[i], wanted, "{rows}x{columns}: {i}");
        }
    }
}

#[test]
fn map_with_row_scalar_and_slow_functions() {
    let (rows, columns) = (10u32, 12u32);
    let mut random = Random(5);
    let x: Vec<f32> = (0..rows * columns).map(|_| random.unit()).collect();
    let s: Vec<f32> = (0..rows).map(|_| random.unit() + 2.0).collect();
    let mut bench = Bench::new();
    let vx = bench.input("x", &[rows, columns], Layout::row(2), &x);
    let vs = bench.input("s", &[rows], Layout::row(1), &s);
    let vy = bench.output(&[rows, columns], Layout::row(2));
    let map = Map {
        extents: smallvec![rows, columns],
        inputs: smallvec![access(&[columns, 1]), access(&[1, 0])],
        output: access(&[columns, 1]),
        nodes: vec![
            Expr::Input(0),
            Expr::Input(1),
            Expr::Binary(BinaryOp::Div, 0, 1),
            Expr::Unary(UnaryOp::Sqrt, 1),
            Expr::Binary(BinaryOp::Mul, 2, 3),
        ],
    };
    bench.call(Kernel::Map(map), &[vx, vs, vy]);
    let found = bench.run();
    for i in 0..(rows * columns) as usize {
        let scale = s[i / columns as usize];
        assert_eq!(found[i], x[i] / scale * scale.sqrt(), "{i}");
    }
}
