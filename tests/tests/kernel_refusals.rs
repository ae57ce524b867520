//! Descriptions that make no sense, or none on this machine, are refused with a reason: random
//! fields, extreme ones among them, for every family. Nothing may panic.

mod support;

use ipucc_chip::{Assumptions, ScalarType};
use ipucc_codegen::generate_with;
use ipucc_tile::kernel::{
    Access, ArgReduce, Attention, BinaryOp, CompareOp, Copy, CopyDim, Dot, Expr, Fill, Gather,
    IntegerDot, Kernel, Lerp, LerpPoint, Map, Reduce, ReduceKind, Rows, Scan, Scatter, TopK,
    UnaryOp, Window, WindowDim, WindowKind,
};
use support::Random;

struct Fields(Random);

impl Fields {
    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[(self.0.next() % from.len() as u64) as usize].clone()
    }

    /// Mostly small numbers, now and then one at a limit.
    fn number(&mut self) -> u32 {
        match self.0.next() % 12 {
            0 => self.pick(&[0, 4095, 4096, 32767, 32768, 65535, 65536, 1 << 20, u32::MAX]),
            1 => 1 + (self.0.next() % 3000) as u32,
            _ => 1 + (self.0.next() % 20) as u32,
        }
    }

    fn signed(&mut self) -> i32 {
        match self.0.next() % 8 {
            0 => self.pick(&[0, i32::MIN, i32::MAX, -1, -8, -4096]),
            _ => (self.number() % 100_000) as i32 * 2,
        }
    }

    fn element(&mut self) -> ScalarType {
        match self.0.next() % 4 {
            0 => self.pick(&ScalarType::ALL),
            1 => ScalarType::F16,
            _ => ScalarType::F32,
        }
    }

    fn flag(&mut self) -> bool {
        self.0.next().is_multiple_of(2)
    }

    fn few<T>(&mut self, mut make: impl FnMut(&mut Fields) -> T) -> Vec<T> {
        let count = self.0.next() % 4;
        (0..count).map(|_| make(self)).collect()
    }

    fn window_dim(&mut self) -> WindowDim {
        WindowDim {
            count: self.number(),
            input: self.number(),
            output: self.number(),
        }
    }

    fn rows(&mut self) -> Rows {
        Rows {
            rows: self.number(),
            columns: self.number(),
            pitch: self.number(),
            element: self.element(),
        }
    }

    fn map(&mut self) -> Map {
        let axes = self.few(Fields::number);
        let rank = axes.len();
        let access = |this: &mut Fields| Access {
            element: this.element(),
            strides: (0..rank)
                .map(|axis| {
                    if axis + 1 == rank {
                        u32::from(!this.0.next().is_multiple_of(4))
                    } else {
                        this.number()
                    }
                })
                .collect(),
        };
        let inputs: Vec<Access> = self.few(access);
        let output = access(self);
        let node = |this: &mut Fields| {
            let at = (this.0.next() % 6) as u16;
            let other = (this.0.next() % 6) as u16;
            match this.0.next() % 8 {
                0 => Expr::Constant(this.0.next() as u32, this.element()),
                1 => Expr::Unary(this.pick(&[UnaryOp::Exp, UnaryOp::Erf, UnaryOp::Not]), at),
                2 => Expr::Binary(
                    this.pick(&[BinaryOp::Add, BinaryOp::Div, BinaryOp::Shl]),
                    at,
                    other,
                ),
                3 => Expr::Compare(CompareOp::Le, at, other),
                4 => Expr::Select(at, other, at),
                5 => Expr::Convert(this.element(), at),
                6 => Expr::Gelu(this.flag(), at),
                _ => Expr::Input(at),
            }
        };
        let mut nodes: Vec<Expr> = (0..inputs.len() as u16).map(Expr::Input).collect();
        nodes.extend((0..5).map(|_| node(self)));
        Map {
            extents: axes.into(),
            inputs: inputs.into(),
            output,
            nodes,
        }
    }

    fn kernel(&mut self) -> Kernel {
        let kind = self.pick(&[
            ReduceKind::Sum,
            ReduceKind::Mean,
            ReduceKind::Max,
            ReduceKind::Min,
            ReduceKind::Prod,
        ]);
        match self.0.next() % 17 {
            0 => Kernel::Dot(Dot {
                m: self.number(),
                n: self.number(),
                k: self.number(),
                input: self.element(),
                partials: self.element(),
                accumulate: self.flag(),
                scale: if self.flag() { 0 } else { self.signed() as i8 },
            }),
            1 | 2 => Kernel::Map(self.map()),
            3 => Kernel::Reduce(Reduce {
                kind,
                outer: self.number(),
                axis: self.number(),
                inner: self.number(),
                input_strides: (self.number(), self.number()),
                output_stride: self.number(),
                input: self.element(),
                output: self.element(),
            }),
            4 => Kernel::Softmax(self.rows()),
            5 => Kernel::LayerNorm(self.rows(), 7),
            6 => Kernel::RmsNorm(self.rows(), 7),
            7 => Kernel::Copy(Copy {
                bytes: 2 * (self.number() % 2500),
                source_offset: 2 * (self.0.next() % 9) as u32,
                destination_offset: self.number(),
                dims: self
                    .few(|this| CopyDim {
                        count: this.number(),
                        source_bytes: this.signed(),
                        destination_bytes: this.signed(),
                    })
                    .into(),
            }),
            8 => Kernel::Fill(Fill {
                words: self.number(),
                word: 1,
            }),
            9 => Kernel::Gather(Gather {
                count: self.number(),
                first: self.number(),
                rows: self.number(),
                row_bytes: 4 * (self.number() % (1 << 20)),
            }),
            10 => Kernel::Scatter(Scatter {
                count: self.number(),
                first: self.number(),
                rows: self.number(),
                row_bytes: 4 * (self.number() % (1 << 20)),
            }),
            11 => Kernel::ArgReduce(ArgReduce {
                largest: self.flag(),
                outer: self.number(),
                axis: self.number(),
                inner: self.number(),
                input_strides: (self.number(), self.number()),
                output_stride: self.number(),
                input: self.element(),
            }),
            12 => Kernel::Scan(Scan {
                exclusive: self.flag(),
                reverse: self.flag(),
                outer: self.number(),
                axis: self.number(),
                inner: self.number(),
                strides: (self.number(), self.number()),
                element: self.element(),
            }),
            13 => Kernel::TopK(TopK {
                largest: self.flag(),
                rows: self.number(),
                columns: self.number(),
                pitch: self.number(),
                k: self.number(),
                result_pitch: self.number(),
                element: self.element(),
            }),
            14 => Kernel::Window(Window {
                kind: self.pick(&[WindowKind::Conv, WindowKind::Max, WindowKind::Sum(9)]),
                positions: self.few(Fields::window_dim).into(),
                taps: self.few(Fields::window_dim).into(),
                channels: self.number(),
                element: self.element(),
            }),
            15 => Kernel::Lerp(Lerp {
                outer: self.number(),
                axis: self.number(),
                inner: self.number(),
                pitch: self.number(),
                points: self.few(|this| LerpPoint {
                    low: this.number(),
                    high: this.number(),
                    t: 0,
                }),
                element: self.element(),
            }),
            _ if self.flag() => Kernel::IntegerDot(IntegerDot {
                m: self.number(),
                n: self.number(),
                k: self.number(),
                pitches: (self.number(), self.number(), self.number()),
                zeros: (self.signed(), self.signed()),
                input: self.element(),
            }),
            _ => Kernel::Attention(Attention {
                queries: self.number(),
                keys: self.number(),
                head: self.number(),
                values: self.number(),
                block: 16 * (self.number() % 1000),
                scale: 0.5f32.to_bits(),
                causal: self.flag().then(|| self.signed()),
                mask: self.flag().then(|| self.number()),
                element: self.element(),
            }),
        }
    }
}

#[test]
fn random_descriptions_do_not_panic() {
    let mut fields = Fields(Random(101));
    let assumptions = Assumptions::default();
    let (mut made, mut refused) = (0, 0);
    for _ in 0..6000 {
        let kernel = fields.kernel();
        let relaxed = fields.flag();
        match generate_with(&kernel, relaxed, &assumptions) {
            Ok(_) => made += 1,
            Err(error) => {
                refused += 1;
                assert!(
                    !error.reason.is_empty() && !error.reason.contains("internal"),
                    "{error}"
                );
            }
        }
    }
    println!("{made} kernels, {refused} refusals");
    assert!(made > 1000 && refused > 500, "{made} {refused}");
}
