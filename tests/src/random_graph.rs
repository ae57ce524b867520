//! Random models: well-typed functions of a few operations, with odd shapes, values that several
//! operations read, and everything that is left unread as a result.

use ipucc_chip::ScalarType;
use ipucc_tensor::{
    Axes, BinaryOp, Builder, CompareOp, Coordinates, Module, Op, PoolKind, ReduceKind, ResizeMode,
    ScatterKind, Shape, TensorType, TypeError, UnaryOp, Value, Weight, WeightSource, Window,
};

/// A stream of numbers from a seed (splitmix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number below `end`, which is at least 1.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }

    /// One of the entries.
    pub fn pick<T: Copy>(&mut self, entries: &[T]) -> T {
        entries[self.below(entries.len())]
    }
}

/// Which operations a graph may hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operations {
    /// What has a plan and a kernel in every form that is drawn here.
    Planned,
    /// Reductions, concatenation, padding, comparisons too.
    All,
    /// Windows, resizes, lookups, updates, scans, quantization too.
    Wide,
}

/// Extents that cross the granules of vectors, panels and grids.
const EXTENTS: &[u32] = &[1, 2, 3, 5, 8, 12, 16, 17, 24, 31, 32, 33, 40, 64, 70];

/// Most elements of any value.
const MOST_ELEMENTS: u64 = 8192;

struct Graph {
    random: Random,
    builder: Builder,
    module: Module,
    element: ScalarType,
    /// Values of `element`, with the number of their readers.
    values: Vec<(Value, u32)>,
}

/// The model of a seed.
pub fn random_graph(seed: u64, operations: Operations) -> Module {
    let mut random = Random::new(seed);
    let element = random.pick(&[ScalarType::F32, ScalarType::F32, ScalarType::F16]);
    let mut graph = Graph {
        random,
        builder: Builder::new("main"),
        module: Module::default(),
        element,
        values: Vec::new(),
    };
    for number in 0..1 + graph.random.below(2) {
        let rank = 1 + graph.random.below(3);
        let mut shape: Shape = (0..rank).map(|_| graph.random.pick(EXTENTS)).collect();
        while elements(&shape) > MOST_ELEMENTS / 2 {
            shape.remove(0);
        }
        let value = graph
            .builder
            .param(format!("x{number}"), TensorType::new(element, shape));
        graph.values.push((value, 0));
    }
    let steps = 2 + graph.random.below(8);
    let mut made = 0;
    // A draw that does not fit (too large, wrong rank) is drawn again.
    for _ in 0..50 * steps {
        if made < steps && graph.step(operations).is_some() {
            made += 1;
        }
    }
    graph.finish()
}

fn elements(shape: &[u32]) -> u64 {
    shape.iter().map(|&extent| u64::from(extent)).product()
}

impl Graph {
    fn read(&mut self) -> Value {
        // Young values are read more often, so that graphs are deep.
        let count = self.values.len();
        let old = self.random.below(count);
        let at = old.max(self.random.below(count));
        self.values[at].1 += 1;
        self.values[at].0
    }

    fn shape(&self, value: Value) -> Shape {
        self.builder.ty(value).shape.clone()
    }

    fn weight(&mut self, shape: &[u32], scale: f32) -> Value {
        let name = format!("w{}", self.module.weights.len());
        let ty = TensorType::new(self.element, shape.iter().copied());
        let source = WeightSource::Random {
            seed: self.random.below(1 << 20) as u64,
            scale: scale.to_bits(),
        };
        let weight = Weight {
            ty: ty.clone(),
            source,
        };
        self.module.weights.insert(name.clone(), weight);
        self.builder.weight(name, ty)
    }

    /// Adds one operation, if the draw fits.
    fn step(&mut self, operations: Operations) -> Option<()> {
        let kinds = match operations {
            Operations::Planned => 11,
            Operations::All => 16,
            Operations::Wide => 26,
        };
        let x = self.read();
        let shape = self.shape(x);
        let rank = shape.len();
        let value = match self.random.below(kinds) {
            0 => {
                let op = self.random.pick(&[
                    UnaryOp::Neg,
                    UnaryOp::Abs,
                    UnaryOp::Tanh,
                    UnaryOp::Sigmoid,
                    UnaryOp::Erf,
                ]);
                self.builder.unary(op, x)
            }
            1 => self.builder.op(
                Op::Gelu {
                    tanh: self.random.below(2) == 0,
                },
                &[x],
            ),
            2 => {
                // With itself, another value of the same shape, or a row that is broadcast.
                let op = self.random.pick(&[
                    BinaryOp::Add,
                    BinaryOp::Sub,
                    BinaryOp::Mul,
                    BinaryOp::Min,
                    BinaryOp::Max,
                ]);
                let same: Vec<Value> = self
                    .values
                    .iter()
                    .map(|&(value, _)| value)
                    .filter(|&value| self.shape(value) == shape)
                    .collect();
                let other = match self.random.below(3) {
                    0 => self.weight(&shape[rank - 1..], 1.0),
                    1 => self.builder.scalar(0.75, self.element).ok()?,
                    _ => self.random.pick(&same),
                };
                self.builder.binary(op, x, other)
            }
            3 | 4 => {
                if rank < 2 {
                    return None;
                }
                let columns = self.random.pick(EXTENTS);
                let depth = shape[rank - 1];
                let w = self.weight(&[depth, columns], 1.0 / (depth as f32).sqrt());
                self.builder.matmul(x, w)
            }
            5 => {
                // Scores of rows against rows, one product per matrix of a batch.
                if rank == 3 {
                    return self.batched(x);
                }
                if rank != 2 {
                    return None;
                }
                let scale = 1.0 / shape[1] as f32;
                let scores = self.builder.dot(x, x, &[], &[], &[1], &[1]).ok()?;
                let scale = self.builder.scalar(scale, self.element).ok()?;
                self.builder.binary(BinaryOp::Mul, scores, scale)
            }
            6 => self
                .builder
                .op(Op::Softmax(rank.checked_sub(1)? as u8), &[x]),
            7 => {
                if rank < 2 {
                    return None;
                }
                let row = &shape[rank - 1..];
                let (scale, bias) = (self.weight(row, 1.0), self.weight(row, 1.0));
                let epsilon = 1e-3f32.to_bits();
                if self.random.below(2) == 0 {
                    self.builder
                        .op(Op::LayerNorm { epsilon }, &[x, scale, bias])
                } else {
                    self.builder.op(Op::RmsNorm { epsilon }, &[x, scale])
                }
            }
            8 => {
                let mut permutation: Axes = (0..rank as u8).collect();
                permutation.rotate_left(self.random.below(rank));
                self.builder.op(Op::Transpose(permutation), &[x])
            }
            9 => {
                let total = elements(&shape) as u32;
                let divisors: Vec<u32> = EXTENTS
                    .iter()
                    .copied()
                    .filter(|&extent| total.is_multiple_of(extent))
                    .collect();
                let inner = self.random.pick(&divisors);
                let flat = Shape::from_slice(&[total / inner, inner]);
                self.builder.op(Op::Reshape(flat), &[x])
            }
            10 => {
                let axis = self.random.below(rank);
                let start = self.random.below(shape[axis] as usize) as u32;
                let left = shape[axis] - start;
                let mut starts = Shape::from_elem(0, rank);
                let mut sizes = shape.clone();
                starts[axis] = start;
                sizes[axis] = 1 + self.random.below(left as usize) as u32;
                let strides = (0..rank).map(|_| 1).collect();
                let slice = Op::Slice {
                    starts,
                    sizes,
                    strides,
                };
                self.builder.op(slice, &[x])
            }
            11 => {
                let axis = self.random.below(rank) as u8;
                let kind = self
                    .random
                    .pick(&[ReduceKind::Sum, ReduceKind::Mean, ReduceKind::Max]);
                let keep = self.random.below(2) == 0 || rank == 1;
                self.builder.reduce(kind, x, &[axis], keep)
            }
            12 => {
                let axis = self.random.below(rank) as u8;
                self.builder.op(Op::Concat(axis), &[x, x])
            }
            13 => {
                let axis = self.random.below(rank) as u8;
                self.builder.op(Op::Softmax(axis), &[x])
            }
            14 => {
                let zero = self.builder.scalar(0.0, self.element).ok()?;
                let low = (0..rank).map(|_| self.random.below(3) as u32).collect();
                let high = (0..rank).map(|_| self.random.below(3) as u32).collect();
                self.builder.op(Op::Pad { low, high }, &[x, zero])
            }
            16..=20 => {
                let image = self.image(x)?;
                self.windowed(image)
            }
            21..=25 => self.varied(x),
            _ => {
                let zero = self.builder.scalar(0.0, self.element).ok()?;
                let negative = self.builder.compare(CompareOp::Lt, x, zero).ok()?;
                let scaled = self.builder.scalar(0.25, self.element).ok()?;
                let scaled = self.builder.binary(BinaryOp::Mul, x, scaled).ok()?;
                self.builder.op(Op::Select, &[negative, scaled, x])
            }
        };
        let value = value.ok()?;
        let shape = self.shape(value);
        // Empty values are cases of their own, not of this generator.
        if !(1..=MOST_ELEMENTS).contains(&elements(&shape)) || shape.len() > 6 {
            return None;
        }
        self.values.push((value, 0));
        Some(())
    }

    /// The value as an image: `[n, c, spatial..]` with one to three spatial axes.
    fn image(&mut self, x: Value) -> Option<Value> {
        let total = elements(&self.shape(x)) as u32;
        let spatial = 1 + self.random.below(3);
        let mut left = total;
        let mut shape = Shape::new();
        for _ in 0..spatial + 1 {
            let divisors: Vec<u32> = (1..=12).filter(|&d| left.is_multiple_of(d)).collect();
            let extent = self.random.pick(&divisors);
            shape.push(extent);
            left /= extent;
        }
        // What is left over are the channels.
        shape.insert(1, left);
        self.builder.op(Op::Reshape(shape), &[x]).ok()
    }

    fn window(&mut self, spatial: usize) -> Window {
        let mut draw = |from: usize, count: usize| -> Shape {
            let mut one = || (from + self.random.below(count)) as u32;
            (0..spatial).map(|_| one()).collect()
        };
        Window {
            strides: draw(1, 3),
            low: draw(0, 2),
            high: draw(0, 2),
            dilation: draw(1, 2),
        }
    }

    /// An operation whose window slides over an image, or one that scales it.
    fn windowed(&mut self, x: Value) -> Result<Value, TypeError> {
        let shape = self.shape(x);
        let (channels, spatial) = (shape[1], shape.len() - 2);
        let window = self.window(spatial);
        let size: Shape = (0..spatial)
            .map(|_| 1 + self.random.below(3) as u32)
            .collect();
        let divisors: Vec<u32> = [1, 1, 2, 3, 4, channels]
            .into_iter()
            .filter(|&d| channels.is_multiple_of(d))
            .collect();
        let groups = self.random.pick(&divisors);
        let outputs = 1 + self.random.below(6) as u32;
        match self.random.below(4) {
            0 => {
                let outputs = if groups == channels {
                    groups
                } else {
                    groups * outputs
                };
                let mut weights = Shape::from_slice(&[outputs, channels / groups]);
                weights.extend_from_slice(&size);
                let w = self.weight(&weights, 0.4);
                let op = Op::Conv {
                    window,
                    groups,
                    accumulate: ScalarType::F32,
                    result: self.element,
                };
                self.builder.op(op, &[x, w])
            }
            1 => {
                let mut weights = Shape::from_slice(&[channels, outputs]);
                weights.extend_from_slice(&size);
                let w = self.weight(&weights, 0.4);
                let op = Op::ConvTranspose {
                    window,
                    output_padding: Shape::from_elem(0, spatial),
                    groups,
                    result: self.element,
                };
                self.builder.op(op, &[x, w])
            }
            2 => {
                let kind = self.random.pick(&[
                    PoolKind::Max,
                    PoolKind::Average,
                    PoolKind::AverageWithPadding,
                ]);
                // A window in the padding alone has no mean.
                let window = match kind {
                    PoolKind::AverageWithPadding => window,
                    _ => Window {
                        low: window
                            .low
                            .iter()
                            .zip(&size)
                            .map(|(&l, &s)| l.min(s / 2))
                            .collect(),
                        high: window.high.iter().map(|_| 0).collect(),
                        dilation: window.dilation.iter().map(|_| 1).collect(),
                        ..window
                    },
                };
                self.builder.op(Op::Pool { kind, size, window }, &[x])
            }
            _ => {
                let mut to = shape;
                for extent in &mut to[2..] {
                    *extent = 1 + self.random.below(10) as u32;
                }
                let resize = Op::Resize {
                    shape: to,
                    mode: self.random.pick(&[
                        ResizeMode::Linear,
                        ResizeMode::NearestPreferFloor,
                        ResizeMode::NearestPreferCeil,
                        ResizeMode::NearestFloor,
                    ]),
                    coordinates: self.random.pick(&[
                        Coordinates::HalfPixel,
                        Coordinates::AlignCorners,
                        Coordinates::Asymmetric,
                    ]),
                };
                self.builder.op(resize, &[x])
            }
        }
    }

    /// Operations that need no particular shape.
    fn varied(&mut self, x: Value) -> Result<Value, TypeError> {
        let shape = self.shape(x);
        let rank = shape.len();
        let axis = self.random.below(rank);
        let count = 1 + self.random.below(6) as u32;
        match self.random.below(8) {
            0 => self
                .builder
                .op(Op::Reverse(Axes::from_elem(axis as u8, 1)), &[x]),
            1 => self.builder.op(
                Op::CumSum {
                    axis: axis as u8,
                    exclusive: self.random.below(2) == 0,
                    reverse: self.random.below(2) == 0,
                },
                &[x],
            ),
            2 => {
                // Of an input: where a computed value is largest, rounding decides.
                let x = self.builder.function().params[0].value;
                let shape = self.shape(x);
                if shape.is_empty() || self.builder.ty(x).element != self.element {
                    return self
                        .builder
                        .op(Op::Reverse(Axes::from_elem(axis as u8, 1)), &[x]);
                }
                let axis = axis % shape.len();
                let most = Op::ArgReduce {
                    largest: self.random.below(2) == 0,
                    axis: axis as u8,
                    keep: true,
                };
                let at = self.builder.op(most, &[x])?;
                // Positions as indices into the value itself.
                let flat = Op::Reshape(Shape::from_slice(&[elements(&self.shape(at)) as u32]));
                let at = self.builder.op(flat, &[at])?;
                self.builder.op(Op::Gather { axis: axis as u8 }, &[x, at])
            }
            3 | 4 => {
                let name = format!("i{}", self.builder.function().params.len());
                let ty = TensorType::new(ScalarType::I32, [count]);
                let indices = self.builder.param(name, ty);
                if self.random.below(2) == 0 {
                    return self
                        .builder
                        .op(Op::Gather { axis: axis as u8 }, &[x, indices]);
                }
                let mut updates = shape.clone();
                updates[axis] = count;
                let updates = self.weight(&updates, 1.0);
                let kind = self.random.pick(&[ScatterKind::Update, ScatterKind::Add]);
                let op = Op::Scatter {
                    axis: axis as u8,
                    kind,
                };
                self.builder.op(op, &[x, indices, updates])
            }
            6 => {
                // Elements only: of nearly equal ones rounding decides which comes first.
                let op = Op::TopK {
                    axis: axis as u8,
                    k: count.min(shape[axis]),
                    largest: self.random.below(2) == 0,
                    indices: false,
                };
                self.builder.op(op, &[x])
            }
            5 => {
                let to = self
                    .random
                    .pick(&[ScalarType::I8, ScalarType::U8, ScalarType::I16]);
                let scale = self.builder.scalar(0.0625, self.element)?;
                let q = self
                    .builder
                    .op(Op::Quantize { to, axis: None }, &[x, scale])?;
                self.builder.op(Op::Dequantize { axis: None }, &[q, scale])
            }
            _ => {
                let first = self.random.below(rank);
                let size = Shape::from_elem(1 + self.random.below(3) as u32, 1);
                let seen = Op::Windows {
                    first: first as u8,
                    size,
                    strides: Shape::from_elem(count, 1),
                    dilation: Shape::from_elem(1 + self.random.below(2) as u32, 1),
                };
                self.builder.op(seen, &[x])
            }
        }
    }

    /// A product of two activations per matrix of a batch.
    fn batched(&mut self, x: Value) -> Option<()> {
        let scores = self.builder.dot(x, x, &[0], &[0], &[2], &[2]).ok()?;
        let columns = self.shape(x)[2];
        let scale = self.builder.scalar(1.0 / columns as f32, self.element);
        let value = self.builder.binary(BinaryOp::Mul, scores, scale.ok()?);
        let value = value.ok()?;
        if elements(&self.shape(value)) > MOST_ELEMENTS {
            return None;
        }
        self.values.push((value, 0));
        Some(())
    }

    fn finish(mut self) -> Module {
        let params: Vec<Value> = self
            .builder
            .function()
            .params
            .iter()
            .map(|port| port.value)
            .collect();
        let unread: Vec<Value> = self
            .values
            .iter()
            .filter(|(value, readers)| *readers == 0 && !params.contains(value))
            .map(|&(value, _)| value)
            .collect();
        let last = self.values.last().map(|&(value, _)| value);
        let results = if unread.is_empty() {
            last.into_iter().collect()
        } else {
            unread
        };
        for (number, value) in results.into_iter().enumerate() {
            self.builder.result(format!("y{number}"), value);
        }
        let function = self.builder.finish();
        self.module
            .functions
            .insert(function.name.clone(), function);
        self.module
    }
}
