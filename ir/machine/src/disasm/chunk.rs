//! What the disassembler reads: bytes with an address, names and relocations.

use std::collections::BTreeMap;

use crate::Context;
use crate::object::{Object, Relocation, Symbol, SymbolKind};

/// A run of bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Chunk {
    /// Section name.
    pub name: String,
    /// Address of the first byte; `None` in an object, where branch operands are numbers unless a
    /// relocation says otherwise.
    pub address: Option<u32>,
    /// Alignment in bytes.
    pub align: u32,
    /// Decode as instructions.
    pub code: bool,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Names by offset.
    pub labels: BTreeMap<u32, Vec<String>>,
    /// Relocations by offset.
    pub relocations: BTreeMap<u32, Relocation>,
    /// Comment lines before what stands at an offset.
    pub comments: BTreeMap<u32, Vec<String>>,
    /// Comment lines before the section.
    pub notes: Vec<String>,
    /// Context of the first instructions, if it is known.
    pub context: Option<Context>,
    /// The object that the relocations belong to: its symbols.
    pub symbols: Vec<(String, Symbol)>,
    /// Position of this chunk's section in the object.
    pub section: usize,
}

impl Chunk {
    /// A chunk of code at an address.
    pub fn words(name: &str, address: u32, words: &[u32]) -> Chunk {
        Chunk::bytes(
            name,
            address,
            words.iter().flat_map(|w| w.to_le_bytes()).collect(),
            true,
        )
    }

    /// A chunk of bytes at an address.
    pub fn bytes(name: &str, address: u32, bytes: Vec<u8>, code: bool) -> Chunk {
        Chunk {
            name: name.to_string(),
            address: Some(address),
            align: 1 << address.trailing_zeros().min(3),
            code,
            bytes,
            ..Chunk::default()
        }
    }

    /// Address of an offset as comments show it.
    pub(super) fn at(&self, offset: u32) -> u32 {
        self.address.unwrap_or(0).wrapping_add(offset)
    }

    pub(super) fn word(&self, offset: u32) -> Option<u32> {
        let offset = offset as usize;
        let bytes = self.bytes.get(offset..offset.checked_add(4)?)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }
}

/// The sections of an object as chunks.
pub fn object_chunks(object: &Object) -> Vec<Chunk> {
    let symbols: Vec<(String, Symbol)> = object
        .symbols
        .iter()
        .map(|(n, s)| (n.clone(), s.clone()))
        .collect();
    let mut out = Vec::new();
    for (index, (name, section)) in object.sections.iter().enumerate() {
        let mut bytes = section.bytes.clone();
        bytes.resize(section.size as usize, 0);
        let mut labels: BTreeMap<u32, Vec<String>> = BTreeMap::new();
        for (symbol, entry) in &symbols {
            if entry.section == Some(index)
                && entry.kind != SymbolKind::Section
                && entry.value <= section.size
            {
                labels.entry(entry.value).or_default().push(symbol.clone());
            }
        }
        out.push(Chunk {
            name: name.clone(),
            address: None,
            align: section.align.max(1),
            code: section.executable,
            bytes,
            labels,
            relocations: section.relocations.iter().map(|r| (r.offset, *r)).collect(),
            comments: BTreeMap::new(),
            notes: Vec::new(),
            context: None,
            symbols: symbols.clone(),
            section: index,
        });
    }
    out
}
