//! Linking: addresses go into words, sections and weights become one image per tile.

mod lines;

use crate::emit::Emitted;
use crate::program::Target;
use crate::runs::host_runs;
use indexmap::IndexMap;
use ipucc_chip::{Assumptions, LogicalTile};
use ipucc_machine::package::{
    Binding, FORMAT_VERSION, Header, MapLines, MapStep, MapSymbol, Package, Prediction, Segment,
    SegmentKind, SourceMap, TileImage,
};
use ipucc_tile::schedule::Scheduled;
use ipucc_tile::sram::{Kind, Placement};
use ipucc_tile::{Role, Shard, Step, Value, ValueData};
use smallvec::SmallVec;
use std::sync::Arc;
use thiserror::Error;

/// Why a program cannot be linked.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum LinkError {
    /// A stored weight has no data, or data of another size.
    #[error("stored weight `{name}`: {found} bytes of data, expected {expected}")]
    Weight {
        /// Name.
        name: String,
        /// Bytes given.
        found: usize,
        /// Bytes needed.
        expected: usize,
    },
    /// An address that does not fit its field.
    #[error("tile {tile}, section `{section}`: address {address:#x} does not fit its field")]
    Address {
        /// Logical tile.
        tile: u16,
        /// Section.
        section: String,
        /// The address.
        address: u32,
    },
}

/// Links an emitted program. `placements` are by tile, addresses by request; `weights` holds the
/// row-major device data of every stored weight.
///
/// # Errors
/// Missing weight data, or an address out of range.
pub fn link(
    scheduled: &Scheduled,
    emitted: &Emitted,
    placements: &[Placement],
    weights: &IndexMap<String, Vec<u8>>,
    assumptions: &Assumptions,
) -> Result<Package, LinkError> {
    let program = &scheduled.program;
    let mut blobs = Blobs::default();
    let mut images = Vec::with_capacity(emitted.tiles.len());
    let mut symbols: Vec<MapSymbol> = Vec::new();
    let mut map_lines: Vec<MapLines> = Vec::new();
    // Names of the tile before, which this one often has at the same places.
    let mut before: IndexMap<(String, u32), usize> = IndexMap::new();
    // Address of each value on each tile, for bindings.
    let mut places: IndexMap<(Value, u16), u32> = IndexMap::new();
    for (tile, (code, placement)) in emitted.tiles.iter().zip(placements).enumerate() {
        let tile = tile as u16;
        let count = code.sections.len();
        for ((value, _), &address) in code.values.iter().zip(&placement.addresses[count..]) {
            places.insert((*value, tile), address);
        }
        let address_of = |target: Target| match target {
            Target::Section(section, offset) => placement.addresses[section as usize] + offset,
            Target::Value(value, offset) => places
                .get(&(value, tile))
                .map_or(0, |address| address + offset),
            Target::Absolute(address) => address,
        };
        let spans = lines::spans(code, &placement.addresses);
        match map_lines.last_mut() {
            Some(last) if last.spans == spans => last.tiles.1 = tile,
            _ => map_lines.push(MapLines {
                tiles: (tile, tile),
                spans,
            }),
        }
        let mut named = IndexMap::new();
        let mut segments = Vec::new();
        for (section, &address) in code.sections.iter().zip(&placement.addresses) {
            if section.bytes.is_empty() {
                continue;
            }
            let mut bytes = section.bytes.to_vec();
            for patch in section.patches.iter() {
                let target = address_of(patch.target);
                let at = patch.offset as usize;
                let bad = || LinkError::Address {
                    tile,
                    section: section.name.clone(),
                    address: target,
                };
                let Some(field) = bytes.get_mut(at..at + 4) else {
                    return Err(bad());
                };
                let shifted = u64::from(target >> patch.right) << patch.left;
                let aligned = target & ((1 << patch.right) - 1) == 0;
                let Ok(shifted) = u32::try_from(shifted) else {
                    return Err(bad());
                };
                if !aligned {
                    return Err(bad());
                }
                for (byte, more) in field.iter_mut().zip(shifted.to_le_bytes()) {
                    *byte |= more;
                }
            }
            let kind = match section.kind {
                Kind::Code => SegmentKind::Code,
                Kind::Row => SegmentKind::Row,
                _ => SegmentKind::Data,
            };
            let size = bytes.len() as u32;
            let key = (section.name.clone(), address);
            let same = before.get(&key).copied().filter(|&at| {
                let symbol = &symbols[at];
                (symbol.bytes, symbol.kind) == (size, kind)
            });
            let at = same.unwrap_or(symbols.len());
            match symbols.get_mut(at) {
                Some(symbol) => symbol.tiles.1 = tile,
                None => symbols.push(MapSymbol {
                    name: section.name.clone(),
                    tiles: (tile, tile),
                    address,
                    bytes: size,
                    kind,
                }),
            }
            named.insert(key, at);
            segments.push(Segment {
                address,
                blob: blobs.add(bytes),
                kind,
            });
        }
        for ((value, bytes), &address) in code.values.iter().zip(&placement.addresses[count..]) {
            let data = &program.values[*value];
            if let Role::Weight(name) = &data.role {
                let shard = data.distribution.shard_on(&data.shape, LogicalTile(tile));
                let source: &[u8] = weights.get(name.as_str()).map_or(&[], Vec::as_slice);
                let expected = data
                    .shape
                    .iter()
                    .map(|&extent| extent as usize)
                    .product::<usize>()
                    * data.element.bytes() as usize;
                if source.len() != expected {
                    let found = source.len();
                    return Err(LinkError::Weight {
                        name: name.clone(),
                        found,
                        expected,
                    });
                }
                if let Some(shard) = shard {
                    let blob = blobs.add(pack(data, &shard, source, *bytes));
                    segments.push(Segment {
                        address,
                        blob,
                        kind: SegmentKind::Weight,
                    });
                }
            }
        }
        before = named;
        segments.sort_by_key(|segment| segment.address);
        images.push(TileImage {
            entry: placement.addresses[0],
            segments,
        });
    }
    let bindings = |map: &IndexMap<String, ipucc_tile::Binding>, all_replicas: bool| {
        map.iter()
            .map(|(name, binding)| {
                let data = &program.values[binding.value];
                let runs = host_runs(data, all_replicas, |tile| {
                    places.get(&(binding.value, tile.0)).copied()
                });
                let binding = Binding {
                    host: binding.host,
                    device: data.element,
                    shape: binding.shape.to_vec(),
                    runs,
                };
                (name.clone(), binding)
            })
            .collect()
    };
    Ok(Package {
        header: Header {
            format_version: FORMAT_VERSION,
            producer: concat!("ipucc ", env!("CARGO_PKG_VERSION")).into(),
            name: program.name.clone(),
        },
        tiles: program.tiles,
        images,
        inputs: bindings(&program.inputs, true),
        outputs: bindings(&program.outputs, false),
        predicted: Prediction {
            cycles: emitted.predicted.cycles,
            assumptions: assumptions.clone(),
            tile_cycles: emitted.predicted.ends.clone(),
            barrier_releases: emitted.predicted.releases.clone(),
        },
        map: SourceMap {
            symbols,
            lines: map_lines,
            steps: program.steps.iter().map(map_step).collect(),
            tile_text: String::new(),
            tensor_text: String::new(),
        },
        blobs: blobs.list,
    })
}

fn map_step(step: &Step) -> MapStep {
    let name = match step {
        Step::Compute(compute) => format!("compute {}", compute.label),
        Step::Exchange(exchange) => format!("exchange {}", exchange.label),
        Step::Host(_) => "host".to_owned(),
        Step::Repeat(repeat) => format!("repeat {}", repeat.label),
    };
    MapStep {
        name,
        nodes: Vec::new(),
        predicted_cycles: 0,
    }
}

/// Distinct byte strings.
#[derive(Default)]
struct Blobs {
    list: Vec<Arc<[u8]>>,
    index: IndexMap<Arc<[u8]>, u32>,
}

impl Blobs {
    fn add(&mut self, bytes: Vec<u8>) -> u32 {
        let bytes: Arc<[u8]> = bytes.into();
        let next = self.list.len() as u32;
        *self.index.entry(bytes).or_insert_with_key(|bytes| {
            self.list.push(Arc::clone(bytes));
            next
        })
    }
}

/// A shard's buffer from the whole row-major tensor; padding is zero.
fn pack(data: &ValueData, shard: &Shard, source: &[u8], bytes: u32) -> Vec<u8> {
    let size = data.element.bytes() as usize;
    let extents = shard.extents();
    let mut buffer = vec![0; bytes as usize];
    let mut index = SmallVec::<[u32; 4]>::from_elem(0, extents.len());
    if shard.is_empty() {
        return buffer;
    }
    loop {
        let host = index
            .iter()
            .zip(&shard.low)
            .zip(&data.shape)
            .fold(0usize, |sum, ((i, low), extent)| {
                sum * *extent as usize + (i + low) as usize
            });
        let at = data.layout.offset(&extents, &index) as usize * size;
        buffer[at..at + size].copy_from_slice(&source[host * size..host * size + size]);
        // Next index, last axis fastest.
        let mut axis = extents.len();
        loop {
            if axis == 0 {
                return buffer;
            }
            axis -= 1;
            index[axis] += 1;
            if index[axis] < extents[axis] {
                break;
            }
            index[axis] = 0;
        }
    }
}
