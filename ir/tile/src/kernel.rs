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
    /// Halves to words or back. Operands: source, result.
    Words(Words),
    /// Rows of a table selected by indices. Operands: table, indices (i32), result.
    Gather(Gather),
    /// Rows of a table replaced by indices. Operands: rows, indices (i32), table (written in part).
    Scatter(Scatter),
    /// Position of the largest or smallest element along one axis. Operands: input, result (i32).
    ArgReduce(ArgReduce),
    /// Running sum along one axis. Operands: input, result.
    Scan(Scan),
    /// The largest elements of each row with their positions. Operands: input, values (of the
    /// input's type), positions (i32).
    TopK(TopK),
    /// Fold of sliding windows: pooling and depth-wise convolution. Operands: input, weights (with
    /// [`WindowKind::Conv`] only), result.
    Window(Window),
    /// Weighted sum of two slices for every slice of the result: one axis of a resize. Operands:
    /// input, result.
    Lerp(Lerp),
    /// Blocked attention with a running maximum. Operands: q, k, v, mask (with [`Attention::mask`]
    /// only), scratch, result.
    Attention(Attention),
    /// Matrix product of integers. Operands: lhs, rhs, result (i32).
    IntegerDot(IntegerDot),
}

impl Kernel {
    /// How many of the call's operands are results: the last ones.
    pub const fn results(&self) -> usize {
        match self {
            Kernel::TopK(_) => 2,
            _ => 1,
        }
    }
}

/// `C[m][n] (+)= 2^scale * sum over k of A[m][k] * B[k][n]` with A in `amp_lhs` (panel by `input`), B in
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
    /// Exponent of the factor of every product, -32 to 31: the sum of the scale exponents of A and B.
    /// 0 unless the input is f8.
    #[serde(default)]
    pub scale: i8,
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
    /// Contiguous bytes of one piece, even.
    pub bytes: u32,
    /// Byte of the source at which the first piece begins, even. The buffers themselves begin at
    /// multiples of 8.
    pub source_offset: u32,
    /// Byte of the destination at which the first piece begins, even.
    pub destination_offset: u32,
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

/// `result[i] = source[i]` with 16-bit halves on one side and 32-bit words on the other: words get
/// zeros as their high half, and lose their high half.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Words {
    /// Number of halves.
    pub count: u32,
    /// From words to halves instead of from halves to words.
    pub narrow: bool,
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

/// `table[indices[i] - first] = rows[i]` for indices with `first <= index < first + rows`, in
/// rising order of i (the last one counts); other rows of the table keep their content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Scatter {
    /// Number of indices.
    pub count: u32,
    /// First table row that this tile owns.
    pub first: u32,
    /// Table rows that this tile owns.
    pub rows: u32,
    /// Bytes of one row, a multiple of 4.
    pub row_bytes: u32,
}

/// `result[o][i]` = the first position `a` of the largest (smallest) of `input[o][a][i]`: that of
/// the first element unless a later one is larger (smaller), so a NaN counts in the first place
/// only.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ArgReduce {
    /// The largest (`true`) or the smallest element.
    pub largest: bool,
    /// Extent of the axes outside the reduced one.
    pub outer: u32,
    /// Length of the reduced axis.
    pub axis: u32,
    /// Extent of the axes inside the reduced one.
    pub inner: u32,
    /// Element strides of the input: of `outer` and of `axis` (that of `inner` is 1).
    pub input_strides: (u32, u32),
    /// Element stride of `outer` in the result (that of `inner` is 1).
    pub output_stride: u32,
    /// Element type of the input: f32, f16 or i32.
    pub input: ScalarType,
}

/// `result[o][a][i] = sum of input[o][b][i]` over b up to a (`reverse`: from a on), without a
/// itself if `exclusive`. Floats accumulate in f32, i32 wraps. Input and result have the same
/// strides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Scan {
    /// Leave the element itself out.
    pub exclusive: bool,
    /// Sum from the end.
    pub reverse: bool,
    /// Extent of the axes outside.
    pub outer: u32,
    /// Length of the axis.
    pub axis: u32,
    /// Extent of the axes inside.
    pub inner: u32,
    /// Element strides of `outer` and of `axis` (that of `inner` is 1).
    pub strides: (u32, u32),
    /// Element type of input and result: f32, f16 or i32.
    pub element: ScalarType,
}

/// For each row the `k` largest (smallest) of `columns` elements in falling (rising) order, of
/// equal ones the first, and their columns. Rows follow one another every `pitch` elements in the
/// input and every `result_pitch` elements in both results. NaN and minus infinity (infinity) count
/// as no element; where there are too few, the value is that infinity and the position 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct TopK {
    /// The largest (`true`) or the smallest elements.
    pub largest: bool,
    /// Number of rows.
    pub rows: u32,
    /// Elements of a row.
    pub columns: u32,
    /// Elements from one row of the input to the next.
    pub pitch: u32,
    /// Elements to find, at most `columns`.
    pub k: u32,
    /// Elements from one row of a result to the next; even.
    pub result_pitch: u32,
    /// Element type of input and values: f32 or f16.
    pub element: ScalarType,
}

/// How a window is folded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum WindowKind {
    /// Sum of input * weight, in f32; the weight of tap t and channel c is `weights[t][c]`, taps in
    /// order of the window dimensions; a tap's channels are padded to a multiple of 8 bytes.
    Conv,
    /// Largest element.
    Max,
    /// Sum, in f32, times a factor (f32 bits): 1 / number of taps for an average.
    Sum(u32),
}

/// One dimension of the windows' positions or of a window.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct WindowDim {
    /// Positions of the window along it, or taps.
    pub count: u32,
    /// Elements of the input from one to the next.
    pub input: u32,
    /// Elements of the result from one to the next; 0 for taps.
    pub output: u32,
}

/// `result[p][c] = fold over taps t of input[p + t][c] (* weights[t][c])` with p over `positions`
/// and t over `taps`, offsets as their strides say; channels are innermost and contiguous in all
/// buffers. Padding of the image is part of the input buffer; channels are written to a multiple of
/// 8 bytes, those behind the last are anything.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Window {
    /// The fold.
    pub kind: WindowKind,
    /// Where windows stand, outermost first.
    pub positions: SmallVec<[WindowDim; 4]>,
    /// The taps of a window, outermost first.
    pub taps: SmallVec<[WindowDim; 4]>,
    /// Channels: contiguous elements; the buffers hold them to a multiple of 8 bytes.
    pub channels: u32,
    /// Element type of all operands: f32 or f16.
    pub element: ScalarType,
}

/// One slice of an interpolation: `(1 - t) * low + t * high`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct LerpPoint {
    /// Index of the first slice of the input.
    pub low: u32,
    /// Index of the second slice of the input.
    pub high: u32,
    /// f32 bits of t.
    pub t: u32,
}

/// `result[o][p][i] = (1 - t_p) * input[o][low_p][i] + t_p * input[o][high_p][i]`: an axis of a
/// resize (nearest: t = 0). Slices of the input and the result are `pitch` elements apart, outer
/// points as far as their slices reach. A slice is written to a multiple of 8 bytes; what is behind
/// its elements is anything.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Lerp {
    /// Extent of the axes outside.
    pub outer: u32,
    /// Slices of the input per outer point.
    pub axis: u32,
    /// Elements of a slice.
    pub inner: u32,
    /// Elements from slice to slice in both buffers, a multiple of 8 bytes.
    pub pitch: u32,
    /// The slices of the result.
    pub points: Vec<LerpPoint>,
    /// Element type: f32 or f16.
    pub element: ScalarType,
}

/// `result = softmax(q k^T * scale + mask) v`, rows of q independent, keys taken in blocks with a
/// running maximum. A row whose scores are all minus infinity gives zeros in f32; in f16 minus
/// infinity counts as -65504.
///
/// q is `[queries][head]` in `amp_lhs`, k `[keys][head]` in `amp_rhs` of order (keys, head), v
/// `[keys][values]` in `amp_rhs` of order (values, keys), the result `[queries][values]` in
/// `amp_lhs` with a panel of 16 columns; operand panels are [`Dot::input_panel`]. Padding of head
/// in k and q and of keys in v is zero, of keys in k finite. Partial sums are of the element type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Attention {
    /// Rows of q.
    pub queries: u32,
    /// Rows of k and v.
    pub keys: u32,
    /// Columns of q and k.
    pub head: u32,
    /// Columns of v.
    pub values: u32,
    /// Keys of one block, a multiple of 16.
    pub block: u32,
    /// f32 bits of the factor of q k^T.
    pub scale: u32,
    /// `Some(d)`: query i sees the keys up to `i + d` only, at least one of them.
    pub causal: Option<i32>,
    /// `Some(pitch)`: the mask operand has a row of `keys` elements for every query, each `pitch`
    /// elements (a multiple of 8 bytes) behind the one before, or one for all queries if the pitch
    /// is 0; of the element type, row-major, contiguous along the keys. Not together with `causal`.
    #[serde(default)]
    pub mask: Option<u32>,
    /// Element type: f16 or f32.
    pub element: ScalarType,
}

impl Attention {
    /// Bytes of the scratch operand: scores and probabilities of one block, and per row the running
    /// maximum, sum and factor.
    pub const fn scratch_bytes(&self) -> u32 {
        let block = if self.block < self.keys.next_multiple_of(16) {
            self.block
        } else {
            self.keys.next_multiple_of(16)
        };
        // f32 scores and probabilities have panels of different widths.
        let copies = if self.element.bytes() == 4 { 2 } else { 1 };
        self.queries * (block * self.element.bytes() * copies + 16) + 16
    }
}

/// `result[i][j] = sum over l of (lhs[i][l] - lhs_zero) * (rhs[j][l] - rhs_zero)`, modulo 2^32.
/// Rows of every operand are `pitch` elements apart.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct IntegerDot {
    /// Rows of lhs and result.
    pub m: u32,
    /// Rows of rhs, columns of the result.
    pub n: u32,
    /// Columns of lhs and rhs.
    pub k: u32,
    /// Elements from row to row: lhs, rhs, result.
    pub pitches: (u32, u32, u32),
    /// Zero points of lhs and rhs.
    pub zeros: (i32, i32),
    /// Element type of lhs and rhs: i32, i8 or u8.
    pub input: ScalarType,
}
