//! Package types: what a compiled program is after linking, before it becomes a file.

pub use crate::source_map::{MapLines, MapSpan, MapStep, MapSymbol, SourceMap};
use indexmap::IndexMap;
use ipucc_chip::{Assumptions, HostType, ScalarType};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Version of the package data; the file form refuses any other.
pub const FORMAT_VERSION: u32 = 2;

/// A compiled program for the first `tiles` logical tiles of a C600.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Package {
    /// Who made it, and its name.
    pub header: Header,
    /// Number of logical tiles, 1..=1472.
    pub tiles: u16,
    /// Distinct byte strings; segments refer to them by index.
    pub blobs: Vec<Arc<[u8]>>,
    /// One image per logical tile.
    pub images: Vec<TileImage>,
    /// Inputs by name, in the user's order.
    pub inputs: IndexMap<String, Binding>,
    /// Outputs by name, in the user's order.
    pub outputs: IndexMap<String, Binding>,
    /// What the compiler says the program costs.
    pub predicted: Prediction,
    /// Names of addresses and steps, for reports and for checking runs.
    pub map: SourceMap,
}

/// Identity of a package.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Header {
    /// [`FORMAT_VERSION`] of the writer.
    pub format_version: u32,
    /// Program and version that wrote it.
    pub producer: String,
    /// Name of the compiled model.
    pub name: String,
}

/// Everything that one tile holds at load. Memory that no segment names is zero.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct TileImage {
    /// Byte address at which the supervisor starts.
    pub entry: u32,
    /// Segments by address; they do not overlap.
    pub segments: Vec<Segment>,
}

/// Bytes at an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// Byte address in tile memory.
    pub address: u32,
    /// Index into [`Package::blobs`].
    pub blob: u32,
    /// What the bytes are.
    pub kind: SegmentKind,
}

/// What a segment holds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum SegmentKind {
    /// Supervisor or worker code.
    Code,
    /// Exchange rows.
    Row,
    /// Argument records and constants.
    Data,
    /// Weights in their stored form.
    Weight,
}

/// An input or output of a program.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Binding {
    /// Element type of the host buffer.
    pub host: HostType,
    /// Element type in tile memory.
    pub device: ScalarType,
    /// Shape of the row-major host buffer, outermost dimension first.
    pub shape: Vec<u32>,
    /// Where its elements stand.
    pub runs: Vec<HostRun>,
}

impl Binding {
    /// Number of host elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().map(|&extent| u64::from(extent)).product()
    }
}

/// An affine block of elements: for indices `i` over `dims` (outermost first), the device element
/// at byte `address + sum(i * device_bytes)` of `tile` is host element
/// `host + sum(i * host_elements)`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HostRun {
    /// Logical tile.
    pub tile: u16,
    /// Byte address of the first element.
    pub address: u32,
    /// Index of the first host element.
    pub host: u64,
    /// Loops, outermost first; none for a single element.
    pub dims: SmallVec<[HostDim; 3]>,
}

/// One loop of a [`HostRun`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct HostDim {
    /// Iterations.
    pub count: u32,
    /// Step of the host index, in elements.
    pub host_elements: i64,
    /// Step of the device address, in bytes.
    pub device_bytes: i32,
}

impl HostRun {
    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.dims.iter().map(|dim| u64::from(dim.count)).product()
    }

    /// Calls `element(host index, device byte address)` for every element, outermost loop first.
    /// Both wrap in their type; who reads a package from outside checks the ranges first.
    pub fn for_each(&self, mut element: impl FnMut(u64, u32)) {
        fn walk(dims: &[HostDim], host: u64, address: u32, element: &mut impl FnMut(u64, u32)) {
            match dims.split_first() {
                None => element(host, address),
                Some((dim, rest)) => {
                    let (mut host, mut address) = (host, address);
                    for _ in 0..dim.count {
                        walk(rest, host, address, element);
                        host = host.wrapping_add_signed(dim.host_elements);
                        address = address.wrapping_add_signed(dim.device_bytes);
                    }
                }
            }
        }
        walk(&self.dims, self.host, self.address, &mut element);
    }
}

/// A value inside a program, readable while it runs: what checks and debuggers look at. Not part of
/// a package; the compiler makes it beside one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Observation {
    /// Name of the value in the tensor program's text.
    pub name: String,
    /// Its elements, at host type = device type.
    pub value: Binding,
    /// By logical tile: address of the supervisor's instruction before which the tile's shard is
    /// complete.
    pub complete: BTreeMap<u16, u32>,
}

/// Cycles as the compiler computed them, and the assumptions behind them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Prediction {
    /// Cycles from the release of the first barrier to the last arrival at the last one.
    pub cycles: u64,
    /// Values of all assumptions that the prediction used.
    pub assumptions: Assumptions,
    /// Cycle in which each logical tile ends, counted from the common start of all tiles.
    pub tile_cycles: Vec<u64>,
    /// Cycle of the release of each barrier, in program order, counted from the common start.
    pub barrier_releases: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use smallvec::smallvec;

    #[test]
    fn runs_enumerate_their_elements() {
        let run = HostRun {
            tile: 0,
            address: 0x50000,
            host: 10,
            dims: smallvec![
                HostDim {
                    count: 2,
                    host_elements: 100,
                    device_bytes: 64
                },
                HostDim {
                    count: 3,
                    host_elements: -1,
                    device_bytes: 2
                },
            ],
        };
        let mut seen = Vec::new();
        run.for_each(|host, address| seen.push((host, address)));
        assert_eq!(
            seen,
            [
                (10, 0x50000),
                (9, 0x50002),
                (8, 0x50004),
                (110, 0x50040),
                (109, 0x50042),
                (108, 0x50044)
            ]
        );
        assert_eq!(run.elements(), 6);
    }
}
