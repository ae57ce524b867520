//! Operations and their attributes.

use crate::ty::{Shape, TensorType};
use ipucc_chip::ScalarType;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All variants, in a fixed order.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The name in program text.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

named! {
    /// Elementwise operations of one operand.
    UnaryOp {
        /// -x
        Neg = "neg",
        /// |x|
        Abs = "abs",
        /// -1, 0 or 1
        Sign = "sign",
        /// Largest integer not above x.
        Floor = "floor",
        /// Smallest integer not below x.
        Ceil = "ceil",
        /// Nearest integer, ties to even.
        Round = "round",
        /// e to the power x
        Exp = "exp",
        /// 2 to the power x
        Exp2 = "exp2",
        /// Natural logarithm.
        Log = "log",
        /// Logarithm to base 2.
        Log2 = "log2",
        /// Square root.
        Sqrt = "sqrt",
        /// 1 / square root.
        Rsqrt = "rsqrt",
        /// 1 / x
        Reciprocal = "reciprocal",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// 1 / (1 + e^-x)
        Sigmoid = "sigmoid",
        /// Error function.
        Erf = "erf",
        /// Sine.
        Sin = "sin",
        /// Cosine.
        Cos = "cos",
        /// Bitwise complement of integers, negation of i1.
        Not = "not",
        /// Number of one bits of an integer.
        Popcount = "popcount",
    }
}

named! {
    /// Elementwise operations of two operands of one type.
    BinaryOp {
        /// x + y (integers wrap)
        Add = "add",
        /// x - y (integers wrap)
        Sub = "sub",
        /// x * y (integers wrap)
        Mul = "mul",
        /// x / y (integers truncate towards zero; division by zero gives 0)
        Div = "div",
        /// Remainder with the sign of the divisor.
        FloorRem = "floor_rem",
        /// Remainder with the sign of the dividend.
        Rem = "rem",
        /// x to the power y
        Pow = "pow",
        /// Smaller operand; NaN if either is.
        Min = "min",
        /// Larger operand; NaN if either is.
        Max = "max",
        /// Bitwise and; logical for i1.
        And = "and",
        /// Bitwise or; logical for i1.
        Or = "or",
        /// Bitwise exclusive or; logical for i1.
        Xor = "xor",
        /// Shift left; 0 when the count is at least the width.
        Shl = "shl",
        /// Shift right, arithmetic for signed types.
        Shr = "shr",
    }
}

named! {
    /// Comparisons; the result is i1. With NaN only `ne` is true.
    CompareOp {
        /// x == y
        Eq = "eq",
        /// x != y
        Ne = "ne",
        /// x < y
        Lt = "lt",
        /// x <= y
        Le = "le",
        /// x > y
        Gt = "gt",
        /// x >= y
        Ge = "ge",
    }
}

named! {
    /// Ways to fold an axis.
    ReduceKind {
        /// Sum.
        Sum = "sum",
        /// Maximum; NaN if any element is.
        Max = "max",
        /// Minimum; NaN if any element is.
        Min = "min",
        /// Product.
        Prod = "prod",
        /// Sum divided by the number of elements.
        Mean = "mean",
    }
}

named! {
    /// What `pool` computes.
    PoolKind {
        /// Greatest element of the window (padding is not looked at); NaN if any is.
        Max = "max",
        /// Mean of the elements of the window (padding is not counted).
        Average = "average",
        /// Mean over the whole window, padding counted as zeros.
        AverageWithPadding = "average_with_padding",
    }
}

named! {
    /// What `scatter` does with the element that an update hits.
    ScatterKind {
        /// Replaces it; of several updates of one element the last counts.
        Update = "update",
        /// Adds to it, in row-major order of the updates.
        Add = "add",
        /// Multiplies it.
        Mul = "mul",
        /// Takes the smaller.
        Min = "min",
        /// Takes the larger.
        Max = "max",
    }
}

named! {
    /// Coordinate of the operand that element `i` of a `resize` result stands for, with `scale` =
    /// result extent / operand extent.
    Coordinates {
        /// `(i + 0.5) / scale - 0.5`
        HalfPixel = "half_pixel",
        /// `i * (operand - 1) / (result - 1)`; 0 when the result extent is 1.
        AlignCorners = "align_corners",
        /// `i / scale`
        Asymmetric = "asymmetric",
        /// As `half_pixel`, but 0 when the result extent is 1.
        PytorchHalfPixel = "pytorch_half_pixel",
    }
}

named! {
    /// How `resize` gets a value at a coordinate between elements.
    ResizeMode {
        /// Weighted mean of the two neighbours on every axis.
        Linear = "linear",
        /// Nearest element, the lower one halfway.
        NearestPreferFloor = "nearest_prefer_floor",
        /// Nearest element, the upper one halfway.
        NearestPreferCeil = "nearest_prefer_ceil",
        /// The element below.
        NearestFloor = "nearest_floor",
        /// The element above.
        NearestCeil = "nearest_ceil",
    }
}

/// Strides, padding and dilation of a window that slides over the spatial axes (those from 2 on):
/// one entry per spatial axis in each list.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Window {
    /// Steps of the window, in elements.
    pub strides: Shape,
    /// Padding before the first element.
    pub low: Shape,
    /// Padding behind the last element.
    pub high: Shape,
    /// Distance between neighbouring taps of the window.
    pub dilation: Shape,
}

/// Axis numbers.
pub type Axes = SmallVec<[u8; 4]>;

/// An operation with its attributes; operands stand in the instruction. Floats are stored as bits,
/// so that operations compare and hash.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Op {
    /// `f(x)` per element.
    Unary(UnaryOp),
    /// `f(x, y)` per element; equal types.
    Binary(BinaryOp),
    /// `x ? y` per element; equal types, result i1.
    Compare(CompareOp),
    /// `condition ? x : y` per element; condition i1 of the same shape.
    Select,
    /// `min(max(x, low), high)`; operands x, low, high of equal type.
    Clamp,
    /// Conversion of the element type.
    Convert(ScalarType),
    /// Axis `i` of the operand becomes axis `axes[i]` of a result of shape `shape`; extents 1 or equal.
    Broadcast {
        /// Result shape.
        shape: Shape,
        /// Ascending result axes of the operand's axes.
        axes: Axes,
    },
    /// Same elements, other shape.
    Reshape(Shape),
    /// Result axis `i` is operand axis `permutation[i]`.
    Transpose(Axes),
    /// Per axis the elements `start + k * stride`, `size` of them.
    Slice {
        /// First element.
        starts: Shape,
        /// Number of elements.
        sizes: Shape,
        /// Steps; may be negative, not zero.
        strides: SmallVec<[i32; 4]>,
    },
    /// Every position of a sliding window: axis `first + i` of the result is the position along it,
    /// the last axes are the taps. Element `p * stride + t * dilation` of the axis stands at (p, t).
    Windows {
        /// First of the axes along which windows slide.
        first: u8,
        /// Taps per axis.
        size: Shape,
        /// Elements from one position to the next.
        strides: Shape,
        /// Elements from one tap to the next.
        dilation: Shape,
    },
    /// Adds `low` and `high` elements of the second operand (rank 0) per axis.
    Pad {
        /// Elements before.
        low: Shape,
        /// Elements behind.
        high: Shape,
    },
    /// Operands one behind the other along an axis.
    Concat(u8),
    /// Slices of operand 0 along `axis`, at the indices (i32) of operand 1; negative indices count
    /// from the end, others out of range are clamped.
    Gather {
        /// The axis that indices select from.
        axis: u8,
    },
    /// Operands data, indices (i32), updates: data with the slices at the indices combined with
    /// those of the updates. Negative indices count from the end, others out of range hit nothing.
    Scatter {
        /// The axis that indices select from.
        axis: u8,
        /// How an update meets what is there.
        kind: ScatterKind,
    },
    /// Counts along an axis: 0, 1, 2, ...
    Iota {
        /// Element type of the result.
        element: ScalarType,
        /// Result shape.
        shape: Shape,
        /// The axis along which it counts.
        axis: u8,
    },
    /// Axes in reverse order of elements.
    Reverse(Axes),
    /// Folds axes away (`keep`: leaves extents of 1). Floats accumulate in f32.
    Reduce {
        /// How.
        kind: ReduceKind,
        /// Which axes.
        axes: Axes,
        /// Keep the axes with extent 1.
        keep: bool,
    },
    /// Index (i32) of the largest (`largest`) or smallest element along an axis; the first of equals.
    ArgReduce {
        /// Largest or smallest.
        largest: bool,
        /// The axis.
        axis: u8,
        /// Keep the axis with extent 1.
        keep: bool,
    },
    /// Running sum along an axis; floats accumulate in f32.
    CumSum {
        /// The axis.
        axis: u8,
        /// An element's own value is not part of its sum.
        exclusive: bool,
        /// From the last element to the first.
        reverse: bool,
    },
    /// Product of two tensors: batch axes pairwise, contracted axes pairwise summed; the result has
    /// the batch axes, then the free axes of the left, then those of the right operand.
    Dot {
        /// Batch axes of the left operand.
        lhs_batch: Axes,
        /// Batch axes of the right operand.
        rhs_batch: Axes,
        /// Contracted axes of the left operand.
        lhs_contract: Axes,
        /// Contracted axes of the right operand.
        rhs_contract: Axes,
        /// Type in which products are summed.
        accumulate: ScalarType,
        /// Element type of the result.
        result: ScalarType,
    },
    /// Convolution of x `[n, c, spatial..]` with w `[o, c / groups, window..]`; 1 to 3 spatial axes.
    Conv {
        /// Strides, padding, dilation.
        window: Window,
        /// Number of channel groups.
        groups: u32,
        /// Type in which products are summed.
        accumulate: ScalarType,
        /// Element type of the result.
        result: ScalarType,
    },
    /// Transposed convolution of x `[n, c, spatial..]` with w `[c, o / groups, window..]`: every
    /// operand element adds its multiple of the window to the result.
    ConvTranspose {
        /// Strides, padding (taken off the result), dilation.
        window: Window,
        /// Extent added to the end of each spatial axis of the result.
        output_padding: Shape,
        /// Number of channel groups.
        groups: u32,
        /// Element type of the result; floats are summed in f32.
        result: ScalarType,
    },
    /// Other extents: elements are looked up at scaled coordinates.
    Resize {
        /// Result shape.
        shape: Shape,
        /// Nearest or linear.
        mode: ResizeMode,
        /// How coordinates are mapped.
        coordinates: Coordinates,
    },
    /// Combines the elements of a window that slides over the axes from 2 on.
    Pool {
        /// What is computed.
        kind: PoolKind,
        /// Extent of the window per spatial axis.
        size: Shape,
        /// Strides, padding, dilation.
        window: Window,
    },
    /// `exp(x - max) / sum(exp(x - max))` along an axis.
    Softmax(u8),
    /// `(x - mean) / sqrt(variance + epsilon) * scale + bias` over the last axis; operands x, scale, bias.
    LayerNorm {
        /// f32 bits.
        epsilon: u32,
    },
    /// `x / sqrt(mean(x^2) + epsilon) * scale` over the last axis; operands x, scale.
    RmsNorm {
        /// f32 bits.
        epsilon: u32,
    },
    /// Gaussian error linear unit.
    Gelu {
        /// The tanh form instead of erf.
        tanh: bool,
    },
    /// Operands x (float), scale [, zero point]: `round(x / scale) + zero`, saturated. Scale and zero
    /// point have rank 0, or one element per index of `axis`.
    Quantize {
        /// Integer type of the result.
        to: ScalarType,
        /// The axis along which scale and zero point vary.
        axis: Option<u8>,
    },
    /// Operands q, scale [, zero point]: `(q - zero) * scale`, of the scale's element type.
    Dequantize {
        /// The axis along which scale and zero point vary.
        axis: Option<u8>,
    },
    /// `softmax(q k^T * scale + mask) v`; operands q `[.., sq, d]`, k `[.., sk, d]`, v `[.., sk, dv]`
    /// [, mask].
    Attention {
        /// Factor of the scores as f32 bits; `None`: 1 / sqrt(d).
        scale: Option<u32>,
        /// Query i sees the keys up to `i + sk - sq` only.
        causal: bool,
    },
    /// The first `k` elements of every line along an axis in descending (`largest`) or ascending
    /// order, or their positions (i32). Of equal elements the earlier comes first; NaN counts as
    /// greater than every number.
    TopK {
        /// The axis.
        axis: u8,
        /// Number of elements; the result's extent of the axis.
        k: u32,
        /// Largest or smallest elements.
        largest: bool,
        /// Positions instead of elements.
        indices: bool,
    },
    /// Another function of the module on the operands; its results are this operation's.
    Call {
        /// Name of the function.
        function: String,
        /// Types of its results.
        results: Vec<TensorType>,
    },
    /// A function of the module, `count` times. Operands: `carried` values, which the function takes
    /// first and gives back changed; `sliced` values, of which iteration i takes slice i of the
    /// outermost axis (its own weights); values that are the same for every iteration. The results
    /// are the carried values after the last iteration.
    Repeat {
        /// Name of the function.
        function: String,
        /// Number of iterations.
        count: u32,
        /// Number of carried values.
        carried: u32,
        /// Number of operands that are sliced.
        sliced: u32,
    },
    /// A named weight of the module.
    Weight(String),
    /// A literal: little-endian row-major data of the result type; at most 64 elements unless every
    /// element is equal (then one element is stored).
    Constant {
        /// Element type.
        element: ScalarType,
        /// Shape.
        shape: Shape,
        /// All elements, or one that stands for all.
        data: Vec<u8>,
    },
}
