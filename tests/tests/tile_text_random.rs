//! Random tile programs, well formed only as far as the text asks for it: what is printed is read
//! again as the same program.

use cranelift_entity::EntityRef as _;
use ipucc_chip::{HostType, LogicalTile, ScalarType};
use ipucc_tile::kernel::*;
use ipucc_tile::{
    AxisCut, Binding, Call, Compute, Dim, Distribution, Endpoint, Exchange, Host, HostDirection,
    Layout, LayoutKind, MemoryClass, Operand, Padding, Program, Repeat, Role, Run, Step, Strided,
    TileSet, Transfer, Value, ValueData, text,
};
use proptest::prelude::*;

const TILES: u16 = 40;

fn element() -> impl Strategy<Value = ScalarType> {
    prop::sample::select(vec![
        ScalarType::F32,
        ScalarType::F16,
        ScalarType::F8E4M3,
        ScalarType::I32,
        ScalarType::I8,
        ScalarType::U8,
        ScalarType::I1,
    ])
}

fn value_data() -> impl Strategy<Value = ValueData> {
    let axes = prop::collection::vec((1u32..50, 1u32..4, 1u32..9), 0..4);
    let rest = (
        any::<String>(),
        element(),
        1u32..3,
        0usize..3,
        1u32..33,
        any::<[bool; 2]>(),
        3u32..10,
        0u32..100,
        0usize..4,
        (
            any::<String>(),
            any::<Option<String>>(),
            any::<Option<String>>(),
            any::<u64>(),
        ),
    );
    (axes, rest).prop_map(|(axes, rest)| {
        let (name, element, replicas, kind, size, flags, align, tail, role, more) = rest;
        let (bound, origin, tensor, seed) = more;
        let cuts: Vec<AxisCut> = axes
            .iter()
            .map(|&(_, parts, granule)| AxisCut { parts, granule })
            .collect();
        let count = cuts.iter().map(|cut| cut.parts).product::<u32>() * replicas;
        // Every third tile or so, in an order of its own.
        let stride = [1u64, 3, 7, 9][(seed % 4) as usize];
        let tiles = (0..u64::from(count).min(TILES.into()))
            .map(|i| LogicalTile(((i * stride + seed % 40) % 40) as u16))
            .collect::<Vec<_>>();
        let fits = u32::from(TILES) >= count;
        let (cuts, replicas, tiles) = match fits {
            true => (cuts, replicas, tiles),
            false => {
                let whole = vec![AxisCut::WHOLE; axes.len()];
                (whole, 1, vec![LogicalTile((seed % 40) as u16)])
            }
        };
        let mut order: Vec<u8> = (0..axes.len() as u8).collect();
        if !order.is_empty() {
            let by = (seed / 7) as usize % order.len();
            order.rotate_left(by);
        }
        let kind = match (kind, axes.len() >= 2) {
            (1, true) => LayoutKind::AmpLhs { panel: size },
            (2, true) => LayoutKind::AmpRhs { panel: size },
            _ => LayoutKind::Row { pitch: size },
        };
        ValueData {
            name,
            element,
            shape: axes.iter().map(|&(extent, ..)| extent).collect(),
            distribution: Distribution {
                cuts: cuts.into_iter().collect(),
                replicas,
                tiles,
            },
            layout: Layout {
                kind,
                order: order.into_iter().collect(),
            },
            memory: match flags[0] {
                true => MemoryClass::Interleaved,
                false => MemoryClass::Any,
            },
            align_bytes: 1 << align,
            tail_bytes: tail,
            padding: match flags[1] {
                true => Padding::Zero,
                false => Padding::Anything,
            },
            role: match role {
                0 => Role::Temporary,
                1 => Role::Input(bound),
                2 => Role::Output(bound),
                _ => Role::Weight(bound),
            },
            origin,
            tensor,
        }
    })
}

fn kernel() -> impl Strategy<Value = Kernel> {
    let numbers = any::<[u32; 6]>();
    (0usize..14, numbers, any::<bool>(), element(), any::<i32>()).prop_map(
        |(which, [a, b, c, d, e, f], flag, element, signed)| {
            let rows = Rows {
                rows: a,
                columns: b,
                pitch: c,
                element,
            };
            match which {
                0 => Kernel::Dot(Dot {
                    m: a,
                    n: b,
                    k: c,
                    input: element,
                    partials: ScalarType::F32,
                    accumulate: flag,
                    scale: signed as i8,
                }),
                1 => Kernel::Map(Map {
                    extents: [a, b].into_iter().collect(),
                    inputs: [Access {
                        element,
                        strides: [c, d].into_iter().collect(),
                    }]
                    .into_iter()
                    .collect(),
                    output: Access {
                        element,
                        strides: [e, f].into_iter().collect(),
                    },
                    nodes: vec![
                        Expr::Input(a as u16),
                        Expr::Constant(b, element),
                        Expr::Unary(UnaryOp::Erf, 0),
                        Expr::Binary(BinaryOp::FloorRem, 1, 2),
                        Expr::Compare(CompareOp::Ge, 3, 0),
                        Expr::Select(4, 1, 2),
                        Expr::Convert(ScalarType::F16, 5),
                        Expr::Gelu(flag, 6),
                    ],
                }),
                2 => Kernel::Reduce(Reduce {
                    kind: ReduceKind::Mean,
                    outer: a,
                    axis: b,
                    inner: c,
                    input_strides: (d, e),
                    output_stride: f,
                    input: element,
                    output: ScalarType::F32,
                }),
                3 => Kernel::Softmax(rows),
                4 => Kernel::LayerNorm(rows, d),
                5 => Kernel::RmsNorm(rows, d),
                6 => Kernel::Copy(Copy {
                    bytes: a,
                    source_offset: b,
                    destination_offset: c,
                    dims: [CopyDim {
                        count: d,
                        source_bytes: signed,
                        destination_bytes: -(signed / 2),
                    }]
                    .into_iter()
                    .collect(),
                }),
                7 => Kernel::Fill(Fill { words: a, word: b }),
                8 => Kernel::Gather(Gather {
                    count: a,
                    first: b,
                    rows: c,
                    row_bytes: d,
                }),
                9 => Kernel::TopK(TopK {
                    largest: flag,
                    rows: a,
                    columns: b,
                    pitch: c,
                    k: d,
                    result_pitch: e,
                    element,
                }),
                10 => Kernel::Window(Window {
                    kind: match a % 3 {
                        0 => WindowKind::Conv,
                        1 => WindowKind::Max,
                        _ => WindowKind::Sum(b),
                    },
                    positions: [WindowDim {
                        count: c,
                        input: d,
                        output: e,
                    }]
                    .into_iter()
                    .collect(),
                    taps: Default::default(),
                    channels: f,
                    element,
                }),
                11 => Kernel::Lerp(Lerp {
                    outer: a,
                    axis: b,
                    inner: c,
                    pitch: d,
                    points: vec![LerpPoint {
                        low: e,
                        high: f,
                        t: a,
                    }],
                    element,
                }),
                12 => Kernel::Attention(Attention {
                    queries: a,
                    keys: b,
                    head: c,
                    values: d,
                    block: e,
                    scale: f,
                    causal: flag.then_some(signed),
                    mask: flag.then_some(a),
                    element,
                }),
                _ => Kernel::IntegerDot(IntegerDot {
                    m: a,
                    n: b,
                    k: c,
                    pitches: (d, e, f),
                    zeros: (signed, -(signed / 2)),
                    input: element,
                }),
            }
        },
    )
}

/// A value by a number that is cut to the program's values later.
fn value() -> impl Strategy<Value = usize> {
    0usize..1000
}

fn endpoint() -> impl Strategy<Value = Endpoint> {
    (0..TILES, any::<u32>()).prop_map(|(tile, word)| Endpoint {
        tile: LogicalTile(tile),
        word,
    })
}

fn run() -> impl Strategy<Value = Run> {
    let dim = (any::<u32>(), any::<[i32; 4]>()).prop_map(|(count, steps)| Dim {
        count,
        source_words: steps[0],
        destination_words: steps[1],
        source_tiles: steps[2],
        destination_tiles: steps[3],
    });
    let ends = prop::collection::vec(endpoint(), 1..4);
    let dims = prop::collection::vec(dim, 0..3);
    (any::<u32>(), endpoint(), ends, dims).prop_map(|(words, source, ends, dims)| Run {
        words,
        source,
        destinations: ends.into_iter().collect(),
        dims: dims.into_iter().collect(),
    })
}

fn step(count: usize) -> impl Strategy<Value = Step> {
    let at = move |number: usize| Value::new(number % count);
    let operand = (value(), any::<u32>()).prop_map(move |(value, offset_bytes)| Operand {
        value: at(value),
        offset_bytes,
    });
    let call = (
        prop::collection::btree_set(0..TILES, 0..9),
        kernel(),
        prop::collection::vec(operand, 0..4),
    )
        .prop_map(|(tiles, kernel, operands)| Call {
            tiles: TileSet::from_tiles(tiles.into_iter().map(LogicalTile)),
            kernel,
            operands: operands.into_iter().collect(),
        });
    let compute = (any::<String>(), prop::collection::vec(call, 0..3))
        .prop_map(|(label, calls)| Step::Compute(Compute { label, calls }));
    let transfer = (value(), value(), prop::collection::vec(run(), 0..4)).prop_map(
        move |(source, destination, runs)| Transfer {
            source: at(source),
            destination: at(destination),
            runs,
        },
    );
    let exchange = (any::<String>(), prop::collection::vec(transfer, 0..3))
        .prop_map(|(label, transfers)| Step::Exchange(Exchange { label, transfers }));
    let host =
        (any::<bool>(), prop::collection::vec(value(), 0..3)).prop_map(move |(inward, values)| {
            Step::Host(Host {
                direction: match inward {
                    true => HostDirection::In,
                    false => HostDirection::Out,
                },
                values: values.into_iter().map(at).collect(),
            })
        });
    let leaf = prop_oneof![compute, exchange, host];
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let pair = (value(), value());
        let strided = (value(), prop::collection::vec(value(), 0..3));
        (
            any::<String>(),
            any::<u32>(),
            prop::collection::vec(inner, 0..3),
            prop::collection::vec(pair, 0..2),
            prop::collection::vec(strided, 0..2),
        )
            .prop_map(move |(label, count, body, carried, strided)| {
                Step::Repeat(Repeat {
                    label,
                    count,
                    body,
                    carried: carried.into_iter().map(|(a, b)| (at(a), at(b))).collect(),
                    strided: strided
                        .into_iter()
                        .map(|(body, iterations)| Strided {
                            body: at(body),
                            iterations: iterations.into_iter().map(at).collect(),
                        })
                        .collect(),
                })
            })
    })
}

fn program() -> impl Strategy<Value = Program> {
    prop::collection::vec(value_data(), 1..6).prop_flat_map(|values| {
        let steps = prop::collection::vec(step(values.len()), 0..5);
        let names = prop::collection::btree_set(any::<String>(), 0..4);
        (Just(values), steps, names, any::<String>()).prop_map(|(values, steps, names, name)| {
            let mut program = Program {
                name,
                tiles: TILES,
                values: Default::default(),
                steps,
                inputs: Default::default(),
                outputs: Default::default(),
                weights: Default::default(),
            };
            for data in values {
                program.values.push(data);
            }
            for (index, name) in names.into_iter().enumerate() {
                let value = Value::new(index % program.values.len());
                let shape = program.values[value].shape.clone();
                let (host, bindings) = match index % 2 {
                    0 => (HostType::I64, &mut program.inputs),
                    _ => (HostType::Device(ScalarType::F16), &mut program.outputs),
                };
                bindings.insert(name, Binding { value, host, shape });
            }
            program
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_round_trip(program in program()) {
        let printed = text::print(&program);
        match text::parse(&printed) {
            Ok(parsed) => {
                prop_assert_eq!(&parsed, &program);
                prop_assert_eq!(text::print(&parsed), printed);
            }
            Err(faults) => {
                let rendered = ipucc_tensor::text::render("program", &printed, &faults);
                prop_assert!(false, "{}", rendered);
            }
        }
        // Nonsense as it is, the verifier and the interpreter get through it.
        let _ = ipucc_tile::verify::verify(&program);
    }
}
