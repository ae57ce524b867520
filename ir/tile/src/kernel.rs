//! What kernels compute: the vocabulary between planner, interpreter and code generator.
//!
//! A [`Kernel`] says exactly what one call does to the buffers of one tile, for one exact shape.
//! It says nothing about instructions: `codegen` turns it into code and states its cycles, the
//! tile interpreter executes it on the same bytes. Operands come in the order that each variant
//! documents, inputs first, then results. Element offsets inside a buffer are the kernel's own
//! business as described by its fields; they agree with [`crate::Layout`] of the shards.

use ipucc_chip::ScalarType;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

pub use ipucc_tensor::{BinaryOp, CompareOp, ReduceKind, UnaryOp};

/// One computation on a tile's own buffers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Kernel {
    /// Matrix product on the matrix unit. Operands: lhs, rhs, result.
    Dot(Dot),
    /// Fused elementwise expression. Operands: inputs in order, result.
    Map(Map),
    /// Reduction over one axis. Operands: input, result.
    Reduce(Reduce),
    /// Softmax over rows. Operands: input, result (may be the same buffer).
    Softmax(Rows),
    /// Layer normalisation over rows. Operands: input, scale, bias, result; scale and bias are one
    /// row each of the same element type.
    LayerNorm(Rows, /** f32 bits of epsilon. */ u32),
    /// Root-mean-square normalisation over rows. Operands: input, scale, result.
    RmsNorm(Rows, /** f32 bits of epsilon. */ u32),
    /// Strided copy between two buffers. Operands: source, destination.
    Copy(Copy),
    /// Writes one 32-bit pattern. Operands: destination.
    Fill(Fill),
    /// Rows of a table selected by indices. Operands: table, indices (i32), result.
    Gather(Gather),
}

impl Kernel {
    /// How many of the call's operands are results: the last ones.
    pub const fn results(&self) -> usize {
        1
    }
}

/// `C[m][n] (+)= sum over k of A[m][k] * B[k][n]` with A in `amp_lhs` (panel by `input`), B in
/// `amp_rhs` (order (n, k)), C in `amp_lhs` with a panel of [`Dot::result_panel`] columns.
/// Padding of k must be zero in one operand and finite in the other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Dot {
    /// Rows of A and C.
    pub m: u32,
    /// Columns of B and C.
    pub n: u32,
    /// Contraction length.
    pub k: u32,
    /// Element type of A and B: f16, f32, or one of the f8 formats.
    pub input: ScalarType,
    /// Element type of C: f16 or f32 for f16 input, f32 for f32, f16 for f8.
    pub partials: ScalarType,
    /// True: C holds partial results that are added to; false: C is overwritten.
    pub accumulate: bool,
}

impl Dot {
    /// Elements of k in one panel (`isa/amp.md` 12.1): 32 bytes.
    pub const fn input_panel(input: ScalarType) -> u32 {
        32 / input.bytes()
    }

    /// Columns of C in one panel: 16, but 8 for f32 partials of f16 (`isa/amp.md` 12.1).
    pub const fn result_panel(input: ScalarType, partials: ScalarType) -> u32 {
        if matches!((input, partials), (ScalarType::F16, ScalarType::F32)) {
            8
        } else {
            16
        }
    }
}

/// A node of a fused expression; operands are indices of earlier nodes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Expr {
    /// Element of input `n`.
    Input(u16),
    /// A constant: bits of the node's type in the low end.
    Constant(u32, ScalarType),
    /// Unary operation.
    Unary(UnaryOp, u16),
    /// Binary operation.
    Binary(BinaryOp, u16, u16),
    /// Comparison; result i1.
    Compare(CompareOp, u16, u16),
    /// Condition (i1), then-value, else-value.
    Select(u16, u16, u16),
    /// Conversion to a type.
    Convert(ScalarType, u16),
    /// GELU: exact with erf (`false`) or in the tanh form (`true`).
    Gelu(bool, u16),
}

/// How a fused expression reads or writes one buffer: element offset = sum of index * stride.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Access {
    /// Element type.
    pub element: ScalarType,
    /// Element stride per axis of the iteration space; 0 broadcasts.
    pub strides: SmallVec<[u32; 4]>,
}

/// `result[i] = nodes.last()(inputs[i]...)` for every point of `extents`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Map {
    /// Iteration space, outermost first. The result's innermost stride is 1.
    pub extents: SmallVec<[u32; 4]>,
    /// One per input.
    pub inputs: SmallVec<[Access; 4]>,
    /// The result.
    pub output: Access,
    /// The expression in topological order; the last node is the result.
    pub nodes: Vec<Expr>,
}

/// `result[o][i] = fold over a of input[o][a][i]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Reduce {
    /// How elements are folded; `Mean` divides by `axis`.
    pub kind: ReduceKind,
    /// Extents: outer, reduced, inner.
    pub outer: u32,
    /// Length of the reduced axis.
    pub axis: u32,
    /// Extent of the axes inside the reduced one.
    pub inner: u32,
    /// Element strides of the input: of `outer` and of `axis` (that of `inner` is 1).
    pub input_strides: (u32, u32),
    /// Element stride of `outer` in the result (that of `inner` is 1).
    pub output_stride: u32,
    /// Element type of the input; accumulation is in f32 for floats.
    pub input: ScalarType,
    /// Element type of the result.
    pub output: ScalarType,
}

/// Shape of a row-wise kernel: `rows` rows of `columns` elements, one after the other every
/// `pitch` elements.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Rows {
    /// Number of rows.
    pub rows: u32,
    /// Elements of a row that count.
    pub columns: u32,
    /// Elements from one row to the next.
    pub pitch: u32,
    /// Element type of input and result.
    pub element: ScalarType,
}

/// One dimension of a strided copy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct CopyDim {
    /// Repetitions.
    pub count: u32,
    /// Bytes from one source to the next.
    pub source_bytes: i32,
    /// Bytes from one destination to the next.
    pub destination_bytes: i32,
}

/// Copies `bytes` contiguous bytes for every point of `dims` (outermost first).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Copy {
    /// Contiguous bytes of one piece: 2, 4 or a multiple of 8.
    pub bytes: u32,
    /// Repetitions.
    pub dims: SmallVec<[CopyDim; 4]>,
}

/// Writes `word` into `words` consecutive words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Fill {
    /// Number of words.
    pub words: u32,
    /// The pattern.
    pub word: u32,
}

/// `result[i] = table[indices[i] - first]` for rows with `first <= index < first + rows`, zero for
/// the others: the owner's share of a table lookup.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Gather {
    /// Number of indices.
    pub count: u32,
    /// First table row that this tile owns.
    pub first: u32,
    /// Table rows that this tile owns.
    pub rows: u32,
    /// Bytes of one row, a multiple of 4.
    pub row_bytes: u32,
}
