//! Programs, values, steps and transfers.

use crate::kernel::Kernel;
use crate::layout::{Distribution, Layout, Shard};
use cranelift_entity::{PrimaryMap, entity_impl};
use indexmap::IndexMap;
use ipucc_chip::{HostType, LogicalTile, ScalarType};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

/// Extents or coordinates, one per axis.
pub type Shape = SmallVec<[u32; 4]>;

/// A distributed value of a [`Program`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// Where a shard may stand in tile memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum MemoryClass {
    /// Anywhere.
    Any,
    /// Region 1: two interleaved elements, 128-bit loads and the second load port of pace forms.
    Interleaved,
}

/// What the padding inside a shard's buffer holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Padding {
    /// Zero, from the value's definition on.
    Zero,
    /// Anything; readers must not depend on it. Buffers whose padding is multiplied must be finite.
    Anything,
}

/// Where a value comes from and how long it lives.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Role {
    /// Made by a step, dead after its last use.
    Temporary,
    /// Written by the host before the run; name of the binding.
    Input(String),
    /// Read by the host after the run; name of the binding.
    Output(String),
    /// Written once at load; key into [`Program::weights`]. Lives for the whole program.
    Weight(String),
}

/// A distributed value.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct ValueData {
    /// For people; unique within the program.
    pub name: String,
    /// Element type on the device.
    pub element: ScalarType,
    /// Logical shape (without padding).
    pub shape: Shape,
    /// Which box stands on which tile.
    pub distribution: Distribution,
    /// Element order of every shard.
    pub layout: Layout,
    /// Where shards may stand.
    pub memory: MemoryClass,
    /// Alignment of every shard in bytes, a power of two, at least 8.
    pub align_bytes: u32,
    /// Bytes past the shard's end that a kernel may read (never write); must be populated memory.
    pub tail_bytes: u32,
    /// What padding holds.
    pub padding: Padding,
    /// Source and lifetime.
    pub role: Role,
    /// Source line or ONNX node that it stems from.
    pub origin: Option<String>,
    /// The value of the tensor function that it holds whole, by the name that the function's text
    /// gives it (`ipucc_tensor::text::value_names`): what `run --check` compares. `None` for
    /// copies, partial sums and everything else that is only on the way.
    pub tensor: Option<String>,
}

impl ValueData {
    /// Bytes of a shard with these extents, a multiple of 8 (whole words always).
    pub fn shard_bytes(&self, extents: &[u32]) -> u32 {
        let bytes = self.layout.elements(extents) * self.element.bytes() as u64;
        (bytes.div_ceil(8) * 8) as u32
    }

    /// All shards.
    pub fn shards(&self) -> impl Iterator<Item = Shard> + '_ {
        self.distribution.shards(&self.shape)
    }
}

/// A set of tiles as sorted, disjoint ranges `[first, end)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct TileSet {
    ranges: Vec<(u16, u16)>,
}

impl TileSet {
    /// The tiles of an ascending or unsorted list; duplicates count once.
    pub fn from_tiles(tiles: impl IntoIterator<Item = LogicalTile>) -> TileSet {
        let mut all: Vec<u16> = tiles.into_iter().map(|tile| tile.0).collect();
        all.sort_unstable();
        all.dedup();
        let mut ranges: Vec<(u16, u16)> = Vec::new();
        for tile in all {
            match ranges.last_mut() {
                Some(last) if last.1 == tile => last.1 = tile + 1,
                _ => ranges.push((tile, tile + 1)),
            }
        }
        TileSet { ranges }
    }

    /// The ranges, ascending.
    pub fn ranges(&self) -> &[(u16, u16)] {
        &self.ranges
    }

    /// Tiles in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = LogicalTile> + '_ {
        self.ranges
            .iter()
            .flat_map(|&(first, end)| (first..end).map(LogicalTile))
    }

    /// Number of tiles.
    pub fn len(&self) -> usize {
        self.ranges
            .iter()
            .map(|&(first, end)| (end - first) as usize)
            .sum()
    }

    /// True if there is no tile.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// True if `tile` is in the set.
    pub fn contains(&self, tile: LogicalTile) -> bool {
        let after = self.ranges.partition_point(|&(first, _)| first <= tile.0);
        after > 0 && tile.0 < self.ranges[after - 1].1
    }
}

/// A buffer argument of a kernel call: the calling tile's own shard of a value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Operand {
    /// The value; the tile must hold a shard of it.
    pub value: Value,
    /// Byte offset into the shard, a multiple of 8.
    pub offset_bytes: u32,
}

impl From<Value> for Operand {
    /// The whole shard.
    fn from(value: Value) -> Operand {
        Operand {
            value,
            offset_bytes: 0,
        }
    }
}

/// One kernel run by several tiles, each on its own shards.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Call {
    /// Who runs it.
    pub tiles: TileSet,
    /// What it computes, for which exact shape.
    pub kernel: Kernel,
    /// Buffers in the order that the kernel documents: inputs, then results.
    pub operands: SmallVec<[Operand; 4]>,
}

impl Call {
    /// The buffers that the call writes.
    pub fn results(&self) -> &[Operand] {
        let inputs = self.operands.len().saturating_sub(self.kernel.results());
        &self.operands[inputs..]
    }
}

/// A compute step: calls in order; a tile runs the calls that name it, one after the other.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Compute {
    /// Operation that it stems from, for people.
    pub label: String,
    /// The calls.
    pub calls: Vec<Call>,
}

/// A place in a value: word offset (4 bytes) into the shard on a tile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Endpoint {
    /// The tile.
    pub tile: LogicalTile,
    /// Word offset into its shard.
    pub word: u32,
}

/// One dimension of an affine run: `count` repetitions, each displaced by these steps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Dim {
    /// Repetitions, at least 1.
    pub count: u32,
    /// Words from one source to the next.
    pub source_words: i32,
    /// Words from one destination to the next.
    pub destination_words: i32,
    /// Tiles from one source to the next.
    pub source_tiles: i32,
    /// Tiles from one destination to the next.
    pub destination_tiles: i32,
}

/// `words` contiguous words go from one source to every destination (a multicast if several), for
/// every point of `dims`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Contiguous words of one piece, at least 1.
    pub words: u32,
    /// Source of the first piece.
    pub source: Endpoint,
    /// Destinations of the first piece, by tile; at least one.
    pub destinations: SmallVec<[Endpoint; 2]>,
    /// Repetitions, outermost first.
    pub dims: SmallVec<[Dim; 2]>,
}

/// All words that move from one value to another in an exchange step.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Transfer {
    /// Read from the source tiles' shards.
    pub source: Value,
    /// Written into the destination tiles' shards.
    pub destination: Value,
    /// The words.
    pub runs: Vec<Run>,
}

/// An exchange step: all transfers between two barriers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Exchange {
    /// Operation that it serves, for people.
    pub label: String,
    /// The transfers; none may read what another writes.
    pub transfers: Vec<Transfer>,
}

/// Direction of a host step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum HostDirection {
    /// Host to tiles.
    In,
    /// Tiles to host.
    Out,
}

/// A host step: bindings written by or read from the host here.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Host {
    /// Direction.
    pub direction: HostDirection,
    /// The values bound to the host.
    pub values: Vec<Value>,
}

/// A value whose place moves by one stride per iteration of a repeat (weights of a layer).
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Strided {
    /// What the body reads.
    pub body: Value,
    /// What it stands for in iteration 0, 1, ...: equal types and distributions, placed one after
    /// the other with equal distance on every tile.
    pub iterations: Vec<Value>,
}

/// A counted loop over steps.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Repeat {
    /// For people.
    pub label: String,
    /// Iterations, at least 1.
    pub count: u32,
    /// The body.
    pub body: Vec<Step>,
    /// (value read by the body, value that holds it at the body's end); same type and
    /// distribution. The first of the pair holds the initial value before and the result after.
    pub carried: Vec<(Value, Value)>,
    /// Values that move with the iteration.
    pub strided: Vec<Strided>,
}

/// One step of a program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Step {
    /// Kernels on tiles' own shards.
    Compute(Compute),
    /// Words between tiles.
    Exchange(Exchange),
    /// Words between host and tiles.
    Host(Host),
    /// A counted loop.
    Repeat(Repeat),
}

/// A binding of the program: a distributed value that the host writes or reads.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Binding {
    /// The value.
    pub value: Value,
    /// Element type of the host's buffer.
    pub host: HostType,
    /// Shape of the host's buffer; same number of elements, row-major, as the value.
    pub shape: Shape,
}

/// How a stored weight comes from named sources: a tensor module whose `main` takes nothing and
/// returns one tensor of the stored value's element type and shape. Run by the tensor interpreter
/// when the package is written; passes never read the bytes.
#[derive(Clone, PartialEq, Debug)]
pub struct WeightProgram {
    /// The function, with the weights it reads.
    pub module: ipucc_tensor::Module,
}

/// A bulk-synchronous program for the first `tiles` logical tiles of a C600.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// For people.
    pub name: String,
    /// Tiles of the chip.
    pub tiles: u16,
    /// All values.
    pub values: PrimaryMap<Value, ValueData>,
    /// The steps in order.
    pub steps: Vec<Step>,
    /// Inputs in the order of the model.
    pub inputs: IndexMap<String, Binding>,
    /// Outputs in the order of the model.
    pub outputs: IndexMap<String, Binding>,
    /// Weight programs by stored weight.
    pub weights: IndexMap<String, WeightProgram>,
}
