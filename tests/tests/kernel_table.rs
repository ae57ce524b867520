//! The table of `docs/kernels.md`: cycles per element as the slope between n and 4 n elements, code
//! bytes, and the best public figure. Costs are the catalogue's, which the other kernel tests hold
//! against the simulator. `UPDATE_DOCS=1` writes the table anew.

use ipucc_chip::ScalarType::{self, F8E4M3, F16, F32, I1, I8, I32};
use ipucc_codegen::Catalog;
use ipucc_tile::cost::KernelCatalog;
use ipucc_tile::kernel::{
    Access, ArgReduce, Attention, BinaryOp, CompareOp, Copy, CopyDim, Dot, Expr, Fill, Gather,
    IntegerDot, Kernel, Lerp, LerpPoint, Map, Reduce, ReduceKind, Rows, Scan, Scatter, TopK,
    UnaryOp, Window, WindowDim, WindowKind, Words,
};
use smallvec::smallvec;
use std::fmt::Write as _;

/// What a line is measured per, and its kernel for a size.
struct Line {
    name: &'static str,
    /// Best public figure or bound of `facts/kernel_targets.md`, `kernel_findings.md`; none known.
    public: Option<f64>,
    /// The smaller size.
    n: u32,
    /// Elements of the unit for each of n.
    elements: f64,
    kernel: Box<dyn Fn(u32) -> Kernel>,
}

fn line(
    name: &'static str,
    public: impl Into<Option<f64>>,
    n: u32,
    elements: f64,
    kernel: impl Fn(u32) -> Kernel + 'static,
) -> Line {
    Line {
        name,
        public: public.into(),
        n,
        elements,
        kernel: Box::new(kernel),
    }
}

/// A flat map.
fn map(count: u32, inputs: &[ScalarType], output: ScalarType, nodes: &[Expr]) -> Kernel {
    let access = |element| Access {
        element,
        strides: smallvec![1],
    };
    Kernel::Map(Map {
        extents: smallvec![count],
        inputs: inputs.iter().map(|&element| access(element)).collect(),
        output: access(output),
        nodes: nodes.to_vec(),
    })
}

fn unary(element: ScalarType, op: UnaryOp) -> impl Fn(u32) -> Kernel {
    let nodes = [Expr::Input(0), Expr::Unary(op, 0)];
    move |n| map(n, &[element], element, &nodes)
}

fn binary(element: ScalarType, op: BinaryOp) -> impl Fn(u32) -> Kernel {
    let nodes = [Expr::Input(0), Expr::Input(1), Expr::Binary(op, 0, 1)];
    move |n| map(n, &[element; 2], element, &nodes)
}

fn reduce(element: ScalarType, kind: ReduceKind, outer: u32, axis: u32, inner: u32) -> Kernel {
    Kernel::Reduce(Reduce {
        kind,
        outer,
        axis,
        inner,
        input_strides: (axis * inner, inner),
        output_stride: inner,
        input: element,
        output: element,
    })
}

fn rows(element: ScalarType, columns: u32) -> Rows {
    Rows {
        rows: 6,
        columns,
        pitch: columns,
        element,
    }
}

/// A copy of pieces of `size` elements over (count, source stride, destination stride).
fn copy(element: ScalarType, size: u32, dims: &[(u32, u32, u32)]) -> Kernel {
    let bytes = element.bytes();
    let dim = |&(count, from, to): &(u32, u32, u32)| CopyDim {
        count,
        source_bytes: (from * bytes) as i32,
        destination_bytes: (to * bytes) as i32,
    };
    Kernel::Copy(Copy {
        source_offset: 0,
        destination_offset: 0,
        bytes: size * bytes,
        dims: dims.iter().map(dim).collect(),
    })
}

/// [k = n][64 columns] to panels of the right operand, which run along k.
fn transposed_pack(element: ScalarType, n: u32) -> Kernel {
    let panel = 32 / element.bytes();
    let panels = n / panel;
    let dims = [
        (panels, panel * 64, 16 * panel),
        (panel, 64, 1),
        (4, 16, panels * 16 * panel),
        (16, 1, panel),
    ];
    copy(element, 1, &dims)
}

fn window(element: ScalarType, kind: WindowKind, n: u32) -> Kernel {
    let dim = |count: u32, input: u32, output: u32| WindowDim {
        count,
        input,
        output,
    };
    let row = 18 * 32;
    Kernel::Window(Window {
        kind,
        positions: smallvec![dim(n, row, 16 * 32), dim(16, 32, 32)],
        taps: smallvec![dim(3, row, 0), dim(3, 32, 0)],
        channels: 32,
        element,
    })
}

fn dot(input: ScalarType, partials: ScalarType, m: u32, panels: u32) -> Kernel {
    Kernel::Dot(Dot {
        m,
        n: 16,
        k: panels * 32 / input.bytes(),
        input,
        partials,
        accumulate: false,
        scale: 0,
    })
}

fn attention(element: ScalarType, queries: u32, mask: Option<u32>) -> Kernel {
    Kernel::Attention(Attention {
        queries,
        keys: 256,
        head: 64,
        values: 64,
        block: 64,
        scale: 0.125f32.to_bits(),
        causal: None,
        mask,
        element,
    })
}

fn elementwise() -> Vec<Line> {
    let add = |element| binary(element, BinaryOp::Add);
    let gelu = |tanh: bool, element| {
        let nodes = [Expr::Input(0), Expr::Gelu(tanh, 0)];
        move |n| map(n, &[element], element, &nodes)
    };
    let bias = [
        Expr::Input(0),
        Expr::Input(1),
        Expr::Binary(BinaryOp::Add, 0, 1),
        Expr::Gelu(true, 2),
    ];
    let scaled = [
        Expr::Input(0),
        Expr::Input(1),
        Expr::Constant(3f32.to_bits(), F32),
        Expr::Binary(BinaryOp::Mul, 1, 2),
        Expr::Binary(BinaryOp::Add, 0, 3),
    ];
    let with_scalar = [
        Expr::Input(0),
        Expr::Constant(3f32.to_bits(), F32),
        Expr::Binary(BinaryOp::Add, 0, 1),
    ];
    let convert = |from, to| {
        let nodes = [Expr::Input(0), Expr::Convert(to, 0)];
        move |n| map(n, &[from], to, &nodes)
    };
    let compare = [
        Expr::Input(0),
        Expr::Input(1),
        Expr::Compare(CompareOp::Lt, 0, 1),
    ];
    vec![
        line("f32 add", 0.5, 4608, 1.0, add(F32)),
        line("f16 add", 0.25, 4608, 1.0, add(F16)),
        line("f32 add of a scalar", 0.5, 4608, 1.0, move |n| {
            map(n, &[F32], F32, &with_scalar)
        }),
        line("f32 a + k b", 1.0, 4608, 1.0, move |n| {
            map(n, &[F32; 2], F32, &scaled)
        }),
        line("f16 gelu, tanh form", 2.5, 4608, 1.0, gelu(true, F16)),
        line("f16 bias + gelu", 3.75, 4608, 1.0, move |n| {
            map(n, &[F16; 2], F16, &bias)
        }),
        line("f16 gelu, erf form", None, 4608, 1.0, gelu(false, F16)),
        line("f16 erf", None, 4608, 1.0, unary(F16, UnaryOp::Erf)),
        line("f32 gelu, tanh form", None, 4608, 1.0, gelu(true, F32)),
        line("f32 gelu, erf form", None, 4608, 1.0, gelu(false, F32)),
        line("f16 tanh", 0.5, 4608, 1.0, unary(F16, UnaryOp::Tanh)),
        line("f32 tanh", 5.0, 4608, 1.0, unary(F32, UnaryOp::Tanh)),
        line("f16 sigmoid", 1.0, 4608, 1.0, unary(F16, UnaryOp::Sigmoid)),
        line("f32 exp", 3.0, 4608, 1.0, unary(F32, UnaryOp::Exp)),
        line("f16 to f8", 0.25, 4608, 1.0, convert(F16, F8E4M3)),
        line("f32 to f16", 4.0, 4608, 1.0, convert(F32, F16)),
        line("f16 to f32", None, 4608, 1.0, convert(F16, F32)),
        line("i32 add", None, 4608, 1.0, add(I32)),
        line("i8 to f32", None, 4608, 1.0, convert(I8, F32)),
        line("f32 less than, to i1", None, 4608, 1.0, move |n| {
            map(n, &[F32; 2], I1, &compare)
        }),
    ]
}

fn along_axes() -> Vec<Line> {
    use ReduceKind::{Max, Prod, Sum};
    let norm = |shape| Kernel::LayerNorm(shape, 1e-5f32.to_bits());
    let rms = |shape| Kernel::RmsNorm(shape, 1e-5f32.to_bits());
    let softmax = |element| move |n| Kernel::Softmax(rows(element, n));
    let arg = |input| {
        move |axis: u32| {
            Kernel::ArgReduce(ArgReduce {
                largest: true,
                outer: 6,
                axis,
                inner: 1,
                input_strides: (axis, 1),
                output_stride: 1,
                input,
            })
        }
    };
    let scan = |element, inner: u32| {
        move |axis: u32| {
            Kernel::Scan(Scan {
                exclusive: false,
                reverse: false,
                outer: 6,
                axis,
                inner,
                strides: (axis * inner, inner),
                element,
            })
        }
    };
    let top = |element| {
        move |columns: u32| {
            Kernel::TopK(TopK {
                largest: true,
                rows: 6,
                columns,
                pitch: columns,
                k: 8,
                result_pitch: 8,
                element,
            })
        }
    };
    vec![
        line("f32 column sum", 0.25, 48, 96.0, |n| {
            reduce(F32, Sum, 1, n, 96)
        }),
        line("f16 column sum", 0.125, 96, 96.0, |n| {
            reduce(F16, Sum, 1, n, 96)
        }),
        line("f32 row sum", 0.5, 768, 12.0, |n| {
            reduce(F32, Sum, 12, n, 1)
        }),
        line("f16 row sum", None, 768, 12.0, |n| {
            reduce(F16, Sum, 12, n, 1)
        }),
        line("f32 column maximum", None, 48, 96.0, |n| {
            reduce(F32, Max, 1, n, 96)
        }),
        line("f16 row product", None, 768, 6.0, |n| {
            reduce(F16, Prod, 6, n, 1)
        }),
        line("i32 row sum", None, 768, 6.0, |n| reduce(I32, Sum, 6, n, 1)),
        line("f16 softmax row", 2.56, 768, 6.0, softmax(F16)),
        line("f32 softmax row", 6.0, 768, 6.0, softmax(F32)),
        line("f16 layer norm row", 4.5, 768, 6.0, move |n| {
            norm(rows(F16, n))
        }),
        line("f32 layer norm row", None, 768, 6.0, move |n| {
            norm(rows(F32, n))
        }),
        line("f16 rms norm row", None, 768, 6.0, move |n| {
            rms(rows(F16, n))
        }),
        line("f32 rms norm row", None, 768, 6.0, move |n| {
            rms(rows(F32, n))
        }),
        line("f32 argmax row", None, 768, 6.0, arg(F32)),
        line("f16 argmax row", None, 768, 6.0, arg(F16)),
        line("f32 running sum of a row", None, 768, 6.0, scan(F32, 1)),
        line("f16 running sum of a row", None, 768, 6.0, scan(F16, 1)),
        line("f32 running sums of columns", None, 96, 96.0, scan(F32, 16)),
        line("f32 top-k, per element and k", None, 768, 48.0, top(F32)),
    ]
}

fn moves() -> Vec<Line> {
    let transpose = |element| move |n| copy(element, 1, &[(n, 64, 1), (64, 1, n)]);
    let pack = |element: ScalarType| {
        let panel = 32 / element.bytes();
        move |n| {
            copy(
                element,
                panel,
                &[(n, 64, panel), (64 / panel, panel, n * panel)],
            )
        }
    };
    let gather = |count: u32| Gather {
        count,
        first: 0,
        rows: 64,
        row_bytes: 768,
    };
    let scatter = |count: u32| Scatter {
        count,
        first: 0,
        rows: 64,
        row_bytes: 768,
    };
    vec![
        line("copy, 4 bytes", 0.5, 4608, 1.0, |n| {
            copy(F32, 2 * (n / 2), &[])
        }),
        line("fill, 4 bytes", 0.5, 4608, 1.0, |n| {
            Kernel::Fill(Fill { words: n, word: 7 })
        }),
        line("f16 rows to panels", 1.25, 96, 64.0, pack(F16)),
        line("f32 rows to panels", None, 96, 64.0, pack(F32)),
        line("f16 transpose", 0.36, 96, 64.0, transpose(F16)),
        line("f32 transpose", 0.75, 96, 64.0, transpose(F32)),
        line("f16 transposed pack", 0.36, 96, 64.0, |n| {
            transposed_pack(F16, n)
        }),
        line("f32 transposed pack", 0.75, 96, 64.0, |n| {
            transposed_pack(F32, n)
        }),
        line("f16 rows at odd offsets", None, 96, 63.0, |n| {
            copy(F16, 63, &[(n, 63, 64)])
        }),
        line("f16 to words, bit by bit", None, 4608, 1.0, |count| {
            Kernel::Words(Words {
                count,
                narrow: false,
            })
        }),
        line("words to f16, bit by bit", None, 4608, 1.0, |count| {
            Kernel::Words(Words {
                count,
                narrow: true,
            })
        }),
        line("gather, 4 bytes", None, 24, 192.0, move |n| {
            Kernel::Gather(gather(n))
        }),
        line("scatter, 4 bytes", None, 24, 192.0, move |n| {
            Kernel::Scatter(scatter(n))
        }),
    ]
}

fn products() -> Vec<Line> {
    let lerp = |element| {
        move |n: u32| {
            Kernel::Lerp(Lerp {
                outer: 1,
                axis: 24,
                inner: 64,
                pitch: 64,
                points: (0..n)
                    .map(|i| LerpPoint {
                        low: i % 23,
                        high: i % 23 + 1,
                        t: 0.5f32.to_bits(),
                    })
                    .collect(),
                element,
            })
        }
    };
    let integers = |input| {
        move |m: u32| {
            Kernel::IntegerDot(IntegerDot {
                m,
                n: 12,
                k: 64,
                pitches: (64, 64, 12),
                zeros: if input == I8 { (3, 5) } else { (0, 0) },
                input,
            })
        }
    };
    // Taps of all positions and channels.
    let taps = f64::from(9 * 16 * 32);
    let average = WindowKind::Sum((1f32 / 9.0).to_bits());
    vec![
        line("f16 dot, row and panel", 4.0, 60, 4.0, |n| {
            dot(F16, F16, n, 4)
        }),
        line("f16 dot, f32 partials, row and panel", 8.0, 60, 4.0, |n| {
            dot(F16, F32, n, 4)
        }),
        line("f32 dot, row and panel", 8.0, 60, 4.0, |n| {
            dot(F32, F32, n, 4)
        }),
        line("f8 dot, row and panel", 4.0, 60, 4.0, |n| {
            dot(F8E4M3, F16, n, 4)
        }),
        line("f16 attention, per query and key", None, 60, 256.0, |n| {
            attention(F16, n, None)
        }),
        line(
            "f16 attention with a mask, per query and key",
            None,
            60,
            256.0,
            |n| attention(F16, n, Some(256)),
        ),
        line("f32 attention, per query and key", None, 60, 256.0, |n| {
            attention(F32, n, None)
        }),
        line("f32 depth-wise convolution, per tap", None, 6, taps, |n| {
            window(F32, WindowKind::Conv, n)
        }),
        line("f16 depth-wise convolution, per tap", None, 6, taps, |n| {
            window(F16, WindowKind::Conv, n)
        }),
        line("f32 maximum pooling, per tap", None, 6, taps, |n| {
            window(F32, WindowKind::Max, n)
        }),
        line("f16 maximum pooling, per tap", None, 6, taps, |n| {
            window(F16, WindowKind::Max, n)
        }),
        line("f16 average pooling, per tap", None, 6, taps, move |n| {
            window(F16, average, n)
        }),
        line("f32 interpolation", None, 72, 64.0, lerp(F32)),
        line("f16 interpolation", None, 72, 64.0, lerp(F16)),
        line(
            "i32 product, per multiply-add",
            None,
            48,
            768.0,
            integers(I32),
        ),
        line(
            "i8 product, per multiply-add",
            None,
            48,
            768.0,
            integers(I8),
        ),
    ]
}

const BEGIN: &str = "<!-- table: begin -->\n";
const END: &str = "<!-- table: end -->\n";

#[test]
fn table_of_the_documentation() {
    let catalog = Catalog::default();
    let cost = |kernel: &Kernel| {
        catalog
            .cost(kernel)
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let mut table = String::from(
        "| kernel | cycles per element | public or bound | fixed cycles | code bytes |\n\
         |---|---|---|---|---|\n",
    );
    let mut above = vec![];
    let lines = [elementwise(), along_axes(), moves(), products()];
    for line in lines.iter().flatten() {
        let (small, large) = (
            cost(&(line.kernel)(line.n)),
            cost(&(line.kernel)(4 * line.n)),
        );
        let n = f64::from(line.n) * line.elements;
        let slope = (large.cycles - small.cycles) as f64 / (3.0 * n);
        let fixed = small.cycles as f64 - slope * n;
        let public = line.public.map_or("none".into(), |p| p.to_string());
        let _ = writeln!(
            table,
            "| {} | {slope:.3} | {public} | {fixed:.0} | {} |",
            line.name, small.code_bytes
        );
        if line.public.is_some_and(|public| slope > public + 5e-4) {
            above.push(format!("{}: {slope}", line.name));
        }
    }
    println!("{table}");
    assert!(above.is_empty(), "above the public figure: {above:?}");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/kernels.md");
    let page = std::fs::read_to_string(path).expect("docs/kernels.md");
    let begin = page.find(BEGIN).expect("the table's begin") + BEGIN.len();
    let end = page.find(END).expect("the table's end");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let page = format!("{}{table}{}", &page[..begin], &page[end..]);
        std::fs::write(path, page).expect("docs/kernels.md is written");
        return;
    }
    assert_eq!(
        &page[begin..end],
        table,
        "docs/kernels.md is not up to date; UPDATE_DOCS=1 writes it"
    );
}
