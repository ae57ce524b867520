//! Operations and their attributes: between [`Op`] and text.

use crate::module::Function;
use crate::op::{
    Axes, BinaryOp, CompareOp, Coordinates, Op, PoolKind, ReduceKind, ResizeMode, ScatterKind,
    UnaryOp, Window,
};
use crate::ty::TensorType;
use indexmap::IndexMap;
use ipucc_chip::ScalarType;

/// An attribute's value.
#[derive(Clone, PartialEq, Debug)]
pub enum Attribute {
    /// A number as written.
    Number(String),
    /// A word.
    Word(String),
    /// A list of integers.
    List(Vec<i64>),
}

/// Attributes by name.
pub type Attributes = IndexMap<String, Attribute>;

/// The names of all operations in text.
pub fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = UnaryOp::ALL.iter().map(|op| op.name()).collect();
    names.extend(BinaryOp::ALL.iter().map(|op| op.name()));
    names.extend(CompareOp::ALL.iter().map(|op| op.name()));
    names.extend(ReduceKind::ALL.iter().map(|kind| reduce_name(*kind)));
    names.extend([
        "select",
        "clamp",
        "convert",
        "broadcast",
        "reshape",
        "transpose",
        "slice",
        "windows",
        "pad",
        "concat",
        "gather",
        "iota",
        "reverse",
        "argmax",
        "argmin",
        "dot",
        "softmax",
        "layer_norm",
        "rms_norm",
        "gelu",
        "scatter",
        "cumsum",
        "conv",
        "conv_transpose",
        "resize",
        "pool",
        "quantize",
        "dequantize",
        "attention",
        "topk",
        "topk_indices",
        "call",
        "repeat",
        "weight",
        "constant",
    ]);
    names
}

fn reduce_name(kind: ReduceKind) -> &'static str {
    match kind {
        ReduceKind::Sum => "reduce_sum",
        ReduceKind::Max => "reduce_max",
        ReduceKind::Min => "reduce_min",
        ReduceKind::Prod => "reduce_prod",
        ReduceKind::Mean => "reduce_mean",
    }
}

/// The name of an operation in text.
pub fn name(op: &Op) -> &'static str {
    match op {
        Op::Reduce { kind, .. } => reduce_name(*kind),
        other => other.name(),
    }
}

/// Refuses attributes that the operation does not have.
///
/// # Errors
/// The first of them, and those that there are.
pub fn known_attributes(name: &str, attributes: &Attributes) -> Result<(), String> {
    let known = crate::docs::find(name).map_or(Vec::new(), |entry| entry.attributes());
    match attributes.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) if known.is_empty() => Err(format!("`{name}` has no attributes, not `{key}`")),
        Some(key) => Err(format!(
            "`{name}` has no attribute `{key}`; it has `{}`",
            known.join("`, `")
        )),
    }
}

/// The operation of a line. `operands` are the operands' types, `ty` the written result type.
///
/// # Errors
/// What is missing or malformed.
pub fn build(
    name: &str,
    attributes: &Attributes,
    operands: &[TensorType],
    ty: &TensorType,
) -> Result<Op, String> {
    known_attributes(name, attributes)?;
    let list = |key: &str| -> Result<Option<Vec<i64>>, String> {
        match attributes.get(key) {
            None => Ok(None),
            Some(Attribute::List(list)) => Ok(Some(list.clone())),
            Some(_) => Err(format!("`{key}` must be a list like [0, 1]")),
        }
    };
    let axes = |key: &str| -> Result<Axes, String> {
        let found = list(key)?.unwrap_or_default();
        found
            .iter()
            .map(|&a| u8::try_from(a).map_err(|_| format!("axis {a}")))
            .collect()
    };
    let needed = |key: &str| -> Result<Vec<i64>, String> {
        list(key)?.ok_or_else(|| format!("attribute `{key}` is missing"))
    };
    let unsigned = |key: &str| -> Result<smallvec::SmallVec<[u32; 4]>, String> {
        let found = needed(key)?;
        found
            .iter()
            .map(|&v| u32::try_from(v).map_err(|_| format!("`{key}` holds {v}")))
            .collect()
    };
    let axis = || -> Result<u8, String> {
        match attributes.get("axis") {
            Some(Attribute::Number(text)) => text
                .parse()
                .map_err(|_| format!("axis `{text}` is not a small number")),
            _ => Err("attribute `axis` is missing".into()),
        }
    };
    let keep = || matches!(attributes.get("keep"), Some(Attribute::Word(word)) if word == "true");
    let epsilon = || -> Result<u32, String> {
        match attributes.get("epsilon") {
            None => Ok(1e-5f32.to_bits()),
            Some(Attribute::Number(text)) => {
                let value: f32 = text.parse().map_err(|_| format!("epsilon `{text}`"))?;
                Ok(value.to_bits())
            }
            Some(_) => Err("`epsilon` must be a number".into()),
        }
    };
    let word = |key: &str| match attributes.get(key) {
        None => Ok(None),
        Some(Attribute::Word(word)) => Ok(Some(word.as_str())),
        Some(_) => Err(format!("`{key}` must be a word")),
    };
    let truth = |key: &str| match word(key)? {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(format!("`{key}` is true or false, not {other}")),
    };
    let optional_axis =
        || -> Result<Option<u8>, String> { attributes.contains_key("axis").then(axis).transpose() };
    let groups = || match attributes.get("groups") {
        None => Ok(1),
        Some(Attribute::Number(text)) => text.parse().map_err(|_| format!("groups `{text}`")),
        Some(_) => Err("`groups` must be a number".to_owned()),
    };
    let window = || -> Result<Window, String> {
        let spatial = ty.rank().saturating_sub(2);
        let entries = |key: &str, default: u32| match attributes.contains_key(key) {
            true => unsigned(key),
            false => Ok(smallvec::SmallVec::from_elem(default, spatial)),
        };
        Ok(Window {
            strides: entries("strides", 1)?,
            low: entries("low", 0)?,
            high: entries("high", 0)?,
            dilation: entries("dilation", 1)?,
        })
    };
    if let Some(op) = UnaryOp::ALL.iter().find(|op| op.name() == name) {
        return Ok(Op::Unary(*op));
    }
    if let Some(op) = BinaryOp::ALL.iter().find(|op| op.name() == name) {
        return Ok(Op::Binary(*op));
    }
    if let Some(op) = CompareOp::ALL.iter().find(|op| op.name() == name) {
        return Ok(Op::Compare(*op));
    }
    if let Some(&kind) = ReduceKind::ALL
        .iter()
        .find(|kind| reduce_name(**kind) == name)
    {
        return Ok(Op::Reduce {
            kind,
            axes: axes("axes")?,
            keep: keep(),
        });
    }
    Ok(match name {
        "select" => Op::Select,
        "clamp" => Op::Clamp,
        "convert" => Op::Convert(ty.element),
        "broadcast" => Op::Broadcast {
            shape: ty.shape.clone(),
            axes: axes("axes")?,
        },
        "reshape" => Op::Reshape(ty.shape.clone()),
        "transpose" => Op::Transpose(axes("permutation")?),
        "slice" => {
            let starts = unsigned("starts")?;
            let ones = vec![1; starts.len()];
            let strides = list("strides")?.unwrap_or(ones);
            let narrow = |&v: &i64| i32::try_from(v).map_err(|_| format!("stride {v}"));
            Op::Slice {
                starts,
                sizes: ty.shape.clone(),
                strides: strides.iter().map(narrow).collect::<Result<_, String>>()?,
            }
        }
        "windows" => {
            let size = unsigned("size")?;
            let ones = |key: &str| match attributes.contains_key(key) {
                true => unsigned(key),
                false => Ok(smallvec::SmallVec::from_elem(1, size.len())),
            };
            Op::Windows {
                first: match attributes.get("first") {
                    None => 0,
                    Some(Attribute::Number(text)) => text
                        .parse()
                        .map_err(|_| format!("axis `{text}` is not a small number"))?,
                    Some(_) => return Err("`first` must be a number".into()),
                },
                strides: ones("strides")?,
                dilation: ones("dilation")?,
                size,
            }
        }
        "pad" => Op::Pad {
            low: unsigned("low")?,
            high: unsigned("high")?,
        },
        "concat" => Op::Concat(axis()?),
        "gather" => Op::Gather { axis: axis()? },
        "iota" => Op::Iota {
            element: ty.element,
            shape: ty.shape.clone(),
            axis: axis()?,
        },
        "reverse" => Op::Reverse(axes("axes")?),
        "argmax" | "argmin" => Op::ArgReduce {
            largest: name == "argmax",
            axis: axis()?,
            keep: keep(),
        },
        "dot" => {
            let element = |key: &str, default: ScalarType| match attributes.get(key) {
                None => Ok(default),
                Some(Attribute::Word(word)) => word
                    .parse()
                    .map_err(|()| format!("`{key}` is no element type: {word}")),
                Some(_) => Err(format!("`{key}` must be an element type")),
            };
            let first = operands
                .first()
                .map_or(ty.element, |operand| operand.element);
            let default = if first.is_float() {
                ScalarType::F32
            } else {
                ScalarType::I32
            };
            Op::Dot {
                lhs_batch: axes("lhs_batch")?,
                rhs_batch: axes("rhs_batch")?,
                lhs_contract: axes("lhs_contract")?,
                rhs_contract: axes("rhs_contract")?,
                accumulate: element("accumulate", default)?,
                result: ty.element,
            }
        }
        "softmax" => Op::Softmax(axis()?),
        "layer_norm" => Op::LayerNorm {
            epsilon: epsilon()?,
        },
        "rms_norm" => Op::RmsNorm {
            epsilon: epsilon()?,
        },
        "gelu" => Op::Gelu {
            tanh: matches!(attributes.get("form"), Some(Attribute::Word(word)) if word == "tanh"),
        },
        "scatter" => Op::Scatter {
            axis: axis()?,
            kind: match word("kind")? {
                None => ScatterKind::Update,
                Some(word) => *ScatterKind::ALL
                    .iter()
                    .find(|kind| kind.name() == word)
                    .ok_or_else(|| format!("`kind` is update, add, mul, min or max, not {word}"))?,
            },
        },
        "cumsum" => Op::CumSum {
            axis: axis()?,
            exclusive: truth("exclusive")?,
            reverse: truth("reverse")?,
        },
        "conv" => {
            let default = if ty.element.is_float() {
                ScalarType::F32
            } else {
                ty.element
            };
            Op::Conv {
                window: window()?,
                groups: groups()?,
                accumulate: match word("accumulate")? {
                    None => default,
                    Some(word) => word
                        .parse()
                        .map_err(|()| format!("`accumulate` is no element type: {word}"))?,
                },
                result: ty.element,
            }
        }
        "conv_transpose" => Op::ConvTranspose {
            window: window()?,
            output_padding: if attributes.contains_key("output_padding") {
                unsigned("output_padding")?
            } else {
                smallvec::SmallVec::from_elem(0, ty.rank().saturating_sub(2))
            },
            groups: groups()?,
            result: ty.element,
        },
        "resize" => Op::Resize {
            shape: ty.shape.clone(),
            mode: match word("mode")? {
                None => return Err("attribute `mode` is missing".into()),
                Some(word) => *ResizeMode::ALL
                    .iter()
                    .find(|mode| mode.name() == word)
                    .ok_or_else(|| format!("there is no mode `{word}`"))?,
            },
            coordinates: match word("coordinates")? {
                None => Coordinates::HalfPixel,
                Some(word) => *Coordinates::ALL
                    .iter()
                    .find(|mapping| mapping.name() == word)
                    .ok_or_else(|| format!("there are no coordinates `{word}`"))?,
            },
        },
        "pool" => Op::Pool {
            kind: match word("kind")? {
                None => return Err("attribute `kind` is missing".into()),
                Some(word) => *PoolKind::ALL
                    .iter()
                    .find(|kind| kind.name() == word)
                    .ok_or_else(|| {
                        format!("`kind` is max, average or average_with_padding, not {word}")
                    })?,
            },
            size: unsigned("size")?,
            window: window()?,
        },
        "quantize" => Op::Quantize {
            to: ty.element,
            axis: optional_axis()?,
        },
        "dequantize" => Op::Dequantize {
            axis: optional_axis()?,
        },
        "attention" => Op::Attention {
            scale: match attributes.get("scale") {
                None => None,
                Some(Attribute::Number(text)) => {
                    let value: f32 = text.parse().map_err(|_| format!("scale `{text}`"))?;
                    Some(value.to_bits())
                }
                Some(_) => return Err("`scale` must be a number".into()),
            },
            causal: truth("causal")?,
        },
        "topk" | "topk_indices" => {
            let axis = axis()?;
            let extent = ty.shape.get(usize::from(axis));
            Op::TopK {
                axis,
                k: *extent.ok_or_else(|| format!("axis {axis} does not exist in {ty}"))?,
                largest: match word("largest")? {
                    None => true,
                    Some(_) => truth("largest")?,
                },
                indices: name == "topk_indices",
            }
        }
        other => return Err(format!("there is no operation `{other}`")),
    })
}

/// A `call` or `repeat` of a function.
///
/// # Errors
/// What is missing or malformed.
pub fn build_call(name: &str, attributes: &Attributes, callee: &Function) -> Result<Op, String> {
    known_attributes(name, attributes)?;
    if name == "call" {
        return Ok(Op::Call {
            function: callee.name.clone(),
            results: callee.result_types(),
        });
    }
    let number = |key: &str, default: Option<u32>| match attributes.get(key) {
        None => default.ok_or_else(|| format!("attribute `{key}` is missing")),
        Some(Attribute::Number(text)) => text.parse().map_err(|_| format!("{key} `{text}`")),
        Some(_) => Err(format!("`{key}` must be a number")),
    };
    Ok(Op::Repeat {
        function: callee.name.clone(),
        count: number("count", None)?,
        carried: number("carried", Some(callee.results.len() as u32))?,
        sliced: number("sliced", Some(0))?,
    })
}

/// The attributes of an operation as text, without braces; empty if there are none.
pub fn attributes(op: &Op) -> String {
    fn list<T: std::fmt::Display>(values: &[T]) -> String {
        let all: Vec<String> = values.iter().map(ToString::to_string).collect();
        format!("[{}]", all.join(", "))
    }
    let window_text = |window: &Window| {
        format!(
            "strides = {}, low = {}, high = {}, dilation = {}",
            list(&window.strides),
            list(&window.low),
            list(&window.high),
            list(&window.dilation)
        )
    };
    let float = |bits: u32| format!("{:?}", f32::from_bits(bits));
    match op {
        Op::Broadcast { axes, .. } | Op::Reverse(axes) => format!("axes = {}", list(axes)),
        Op::Transpose(axes) => format!("permutation = {}", list(axes)),
        Op::Slice {
            starts, strides, ..
        } => {
            format!("starts = {}, strides = {}", list(starts), list(strides))
        }
        Op::Windows {
            first,
            size,
            strides,
            dilation,
        } => format!(
            "first = {first}, size = {}, strides = {}, dilation = {}",
            list(size),
            list(strides),
            list(dilation)
        ),
        Op::Pad { low, high } => format!("low = {}, high = {}", list(low), list(high)),
        Op::Concat(axis) | Op::Softmax(axis) => format!("axis = {axis}"),
        Op::Gather { axis } | Op::Iota { axis, .. } => format!("axis = {axis}"),
        Op::Reduce { axes, keep, .. } => {
            format!(
                "axes = {}{}",
                list(axes),
                if *keep { ", keep = true" } else { "" }
            )
        }
        Op::ArgReduce { axis, keep, .. } => {
            format!("axis = {axis}{}", if *keep { ", keep = true" } else { "" })
        }
        Op::Dot {
            lhs_batch,
            rhs_batch,
            lhs_contract,
            rhs_contract,
            accumulate,
            ..
        } => {
            let mut parts = Vec::new();
            if !lhs_batch.is_empty() {
                parts.push(format!("lhs_batch = {}", list(lhs_batch)));
                parts.push(format!("rhs_batch = {}", list(rhs_batch)));
            }
            parts.push(format!("lhs_contract = {}", list(lhs_contract)));
            parts.push(format!("rhs_contract = {}", list(rhs_contract)));
            parts.push(format!("accumulate = {accumulate}"));
            parts.join(", ")
        }
        Op::LayerNorm { epsilon } | Op::RmsNorm { epsilon } => {
            format!("epsilon = {}", float(*epsilon))
        }
        Op::Scatter { axis, kind } => format!("axis = {axis}, kind = {}", kind.name()),
        Op::CumSum {
            axis,
            exclusive,
            reverse,
        } => format!(
            "axis = {axis}{}{}",
            if *exclusive { ", exclusive = true" } else { "" },
            if *reverse { ", reverse = true" } else { "" }
        ),
        Op::Conv {
            window,
            groups,
            accumulate,
            ..
        } => format!(
            "{}, groups = {groups}, accumulate = {accumulate}",
            window_text(window)
        ),
        Op::ConvTranspose {
            window,
            output_padding,
            groups,
            ..
        } => format!(
            "{}, output_padding = {}, groups = {groups}",
            window_text(window),
            list(output_padding)
        ),
        Op::Resize {
            mode, coordinates, ..
        } => format!(
            "mode = {}, coordinates = {}",
            mode.name(),
            coordinates.name()
        ),
        Op::Pool { kind, size, window } => format!(
            "kind = {}, size = {}, {}",
            kind.name(),
            list(size),
            window_text(window)
        ),
        Op::Quantize {
            axis: Some(axis), ..
        }
        | Op::Dequantize { axis: Some(axis) } => format!("axis = {axis}"),
        Op::Attention { scale, causal } => {
            let mut parts = Vec::new();
            if let Some(scale) = scale {
                parts.push(format!("scale = {}", float(*scale)));
            }
            if *causal {
                parts.push("causal = true".to_owned());
            }
            parts.join(", ")
        }
        Op::TopK { axis, largest, .. } => format!("axis = {axis}, largest = {largest}"),
        Op::Repeat {
            count,
            carried,
            sliced,
            ..
        } => format!("count = {count}, carried = {carried}, sliced = {sliced}"),
        Op::Gelu { tanh: true } => "form = tanh".into(),
        _ => String::new(),
    }
}
