//! Placing objects: addresses, relocations.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use crate::object::{
    LinkError, Object, Placed, PlacedSection, Relocation, RelocationKind, Section, Step, SymbolKind,
};

impl Object {
    /// Addresses for all sections: those given; `.text` at the start of tile memory if nothing is
    /// said; every other section at the first free address behind `.text`, code before data.
    pub fn default_addresses(&self, given: &IndexMap<String, u32>) -> IndexMap<String, u32> {
        let mut out: IndexMap<String, u32> = given
            .iter()
            .filter(|(name, _)| self.sections.contains_key(*name))
            .map(|(name, address)| (name.clone(), *address))
            .collect();
        let text = ".text".to_string();
        if self.sections.contains_key(&text) {
            out.entry(text).or_insert(ipucc_chip::memory::BASE);
        }
        let start = match (self.sections.get(".text"), out.get(".text")) {
            (Some(section), Some(address)) => address.saturating_add(section.size),
            _ => ipucc_chip::memory::BASE,
        };
        for executable in [true, false] {
            for (name, section) in &self.sections {
                if section.executable == executable && !out.contains_key(name) {
                    let address = self.first_free(start, section, &out);
                    out.insert(name.clone(), address);
                }
            }
        }
        // In the order of the object.
        self.sections
            .keys()
            .filter_map(|name| Some((name.clone(), *out.get(name)?)))
            .collect()
    }

    /// The first address from `start` on where `section` meets no section that has an address.
    fn first_free(&self, start: u32, section: &Section, placed: &IndexMap<String, u32>) -> u32 {
        let align = section.align.max(1);
        let aligned = |at: u32| at.checked_next_multiple_of(align).unwrap_or(!(align - 1));
        let mut address = aligned(start);
        loop {
            let end = address.saturating_add(section.size);
            let clash = placed
                .iter()
                .filter_map(|(name, from)| Some((*from, self.sections.get(name)?.size)))
                .map(|(from, size)| (from, from.saturating_add(size)))
                .filter(|(from, to)| *from < end && address < *to)
                .map(|(_, to)| to)
                .max();
            match clash {
                Some(to) if aligned(to) > address => address = aligned(to),
                _ => return address,
            }
        }
    }

    /// Gives every section its address and resolves the relocations.
    ///
    /// # Errors
    /// All that stands against it: wrong alignment, memory that is missing or not executable,
    /// overlaps, undefined symbols, values that do not fit.
    pub fn place(&self, addresses: &IndexMap<String, u32>) -> Result<Placed, Vec<LinkError>> {
        let mut errors = Vec::new();
        for name in addresses.keys() {
            if !self.sections.contains_key(name) {
                errors.push(LinkError::NoSection(name.clone()));
            }
        }
        let mut starts = Vec::with_capacity(self.sections.len());
        for (name, section) in &self.sections {
            let address = match addresses.get(name) {
                Some(&address) => address,
                None if section.size == 0 => ipucc_chip::memory::BASE,
                None => {
                    errors.push(LinkError::NoAddress(name.clone()));
                    0
                }
            };
            self.check_address(name, section, address, &mut errors);
            starts.push(address);
        }
        self.check_overlaps(&starts, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut placed = Placed::default();
        for (index, (name, section)) in self.sections.iter().enumerate() {
            let mut bytes = section.bytes.clone();
            bytes.resize(section.size as usize, 0);
            for relocation in &section.relocations {
                if let Err(error) =
                    self.apply(&mut bytes, relocation, (index, name.as_str()), &starts)
                {
                    errors.push(error);
                }
            }
            placed.sections.insert(
                name.clone(),
                PlacedSection {
                    address: starts[index],
                    bytes,
                },
            );
        }
        for (index, (name, symbol)) in self.symbols.iter().enumerate() {
            if symbol.defined && symbol.kind != SymbolKind::Section {
                match self.value(index, &starts, 0) {
                    Ok(value) => {
                        placed.symbols.insert(name.clone(), value as u32);
                    }
                    // A relocation that needs it has reported it.
                    Err(LinkError::Undefined { .. }) => {}
                    Err(error) => errors.push(error),
                }
            }
        }
        if errors.is_empty() {
            Ok(placed)
        } else {
            let mut seen: Vec<LinkError> = Vec::new();
            for error in errors {
                let again = seen.iter().any(|e| match (e, &error) {
                    (
                        LinkError::Undefined { symbol: a, .. },
                        LinkError::Undefined { symbol: b, .. },
                    ) => a == b,
                    (a, b) => a == b,
                });
                if !again {
                    seen.push(error);
                }
            }
            Err(seen)
        }
    }

    fn check_address(
        &self,
        name: &str,
        section: &Section,
        address: u32,
        errors: &mut Vec<LinkError>,
    ) {
        use ipucc_chip::memory::{BASE, END, EXECUTABLE_END};
        if section.size == 0 {
            return;
        }
        if !address.is_multiple_of(section.align.max(1)) {
            errors.push(LinkError::Alignment {
                section: name.to_string(),
                align: section.align,
                address,
            });
        }
        let end = u64::from(address) + u64::from(section.size);
        let (memory, to) = if section.executable {
            ("executable memory", EXECUTABLE_END)
        } else {
            ("tile memory", END)
        };
        if address < BASE || end > u64::from(to) {
            errors.push(LinkError::Outside {
                section: name.to_string(),
                address,
                end,
                memory,
                from: BASE,
                to,
            });
            return;
        }
        for &offset in &section.repeat_ends {
            if address + offset >= EXECUTABLE_END {
                errors.push(LinkError::RepeatEnd {
                    section: name.to_string(),
                    address: address + offset,
                });
            }
        }
    }

    fn check_overlaps(&self, starts: &[u32], errors: &mut Vec<LinkError>) {
        let mut by_address: BTreeMap<u32, (u64, &str)> = BTreeMap::new();
        for ((name, section), &start) in self.sections.iter().zip(starts) {
            if section.size == 0 {
                continue;
            }
            let end = u64::from(start) + u64::from(section.size);
            let before = by_address.range(..=start).next_back();
            let after = by_address.range(start..).next();
            let clash = before
                .filter(|(_, (e, _))| *e > u64::from(start))
                .or(after.filter(|(s, _)| u64::from(**s) < end));
            if let Some((_, (_, other))) = clash {
                errors.push(LinkError::Overlap((*other).to_string(), name.clone()));
            }
            by_address.insert(start, (end, name));
        }
    }

    /// The value of a symbol.
    fn value(&self, index: usize, starts: &[u32], depth: u32) -> Result<i64, LinkError> {
        let Some((name, symbol)) = self.symbols.get_index(index) else {
            return Err(LinkError::Inconsistent("a symbol index is too large"));
        };
        if !symbol.defined {
            return Err(LinkError::Undefined {
                symbol: name.clone(),
                place: None,
            });
        }
        if !symbol.expression.is_empty() {
            if depth > 50 {
                return Err(LinkError::Expression(format!("`{name}` refers to itself")));
            }
            return self.run(&symbol.expression, starts, depth);
        }
        match symbol.section {
            None => Ok(i64::from(symbol.value)),
            Some(section) => match starts.get(section) {
                Some(start) => Ok(i64::from(*start) + i64::from(symbol.value)),
                None => Err(LinkError::Inconsistent("a section index is too large")),
            },
        }
    }

    fn run(&self, steps: &[Step], starts: &[u32], depth: u32) -> Result<i64, LinkError> {
        let mut stack: Vec<i64> = Vec::new();
        let short = LinkError::Inconsistent("an expression lacks operands");
        for step in steps {
            let value = match *step {
                Step::Constant(value) => value,
                Step::Symbol(symbol, addend) => {
                    self.value(symbol, starts, depth + 1)?.wrapping_add(addend)
                }
                Step::Unary(op) => {
                    let a = stack.pop().ok_or_else(|| short.clone())?;
                    crate::asm::apply_unary(op, a)
                        .ok_or(LinkError::Inconsistent("an unknown operator"))?
                }
                Step::Binary(op) => {
                    let b = stack.pop().ok_or_else(|| short.clone())?;
                    let a = stack.pop().ok_or_else(|| short.clone())?;
                    crate::asm::apply_binary(op, a, b)
                        .map_err(|why| LinkError::Expression(why.to_string()))?
                }
            };
            stack.push(value);
        }
        stack.pop().ok_or(short)
    }

    fn apply(
        &self,
        bytes: &mut [u8],
        relocation: &Relocation,
        (section, section_name): (usize, &str),
        starts: &[u32],
    ) -> Result<(), LinkError> {
        let place = (section_name.to_string(), relocation.offset);
        let address = self
            .value(relocation.symbol, starts, 0)
            .map_err(|error| match error {
                LinkError::Undefined { symbol, .. } => LinkError::Undefined {
                    symbol,
                    place: Some(place.clone()),
                },
                other => other,
            })?
            .wrapping_add(i64::from(relocation.addend));
        let at = i64::from(starts[section]) + i64::from(relocation.offset);
        let range = |value: i64, range: String| LinkError::Range {
            what: self.describe(relocation),
            value,
            range,
            place: place.clone(),
        };
        let field = |value: i64, width: u8, unit: u8| -> Result<u32, LinkError> {
            let limit = 1i64 << (u32::from(width) + u32::from(unit));
            if !(0..limit).contains(&value) {
                return Err(range(value, format!("in 0..{limit:#x}")));
            }
            if value & ((1 << unit) - 1) != 0 {
                return Err(range(value, format!("a multiple of {}", 1 << unit)));
            }
            Ok((value >> unit) as u32)
        };
        let (size, bits, mask) = match relocation.kind {
            RelocationKind::Abs8 => (1, signed(address, 8, &range)?, 0xff),
            RelocationKind::Abs16 => (2, signed(address, 16, &range)?, 0xffff),
            RelocationKind::Abs32 => (4, signed(address, 32, &range)?, u32::MAX),
            RelocationKind::Abs20 => (4, field(address, 20, 0)?, 0xf_ffff),
            RelocationKind::Word18 => (4, field(address, 18, 2)?, 0x3_ffff),
            RelocationKind::Word19 => (4, field(address, 19, 2)?, 0x7_ffff),
            RelocationKind::Word20 => (4, field(address, 19, 2)?, 0xf_ffff),
            RelocationKind::Run => {
                let value = field(address.wrapping_sub(ipucc_chip::memory::BASE.into()), 16, 2)?;
                (4, value & 0xfff | (value & 0xf000) << 4, 0xf_0fff)
            }
            RelocationKind::Rel16S2 => {
                let distance = address.wrapping_sub(at);
                if distance % 4 != 0 || !(-0x2_0000..0x2_0000).contains(&distance) {
                    return Err(range(
                        distance,
                        "a distance that is a multiple of 4 in -0x20000..0x20000".to_string(),
                    ));
                }
                (2, (distance >> 2) as u32 & 0xffff, 0xffff)
            }
            RelocationKind::Field {
                shift,
                width,
                unit_shift,
            } => {
                if u32::from(shift) + u32::from(width) > 32 || width == 0 || unit_shift > 16 {
                    return Err(LinkError::Inconsistent("a relocation field is too wide"));
                }
                let value = field(address, width, unit_shift)?;
                let mask = ((1u64 << width) - 1) as u32;
                (4, value << shift, mask << shift)
            }
        };
        let from = relocation.offset as usize;
        let Some(target) = bytes.get_mut(from..from + size) else {
            return Err(LinkError::Inconsistent(
                "a relocation lies outside its section",
            ));
        };
        let mut word = [0; 4];
        word[..size].copy_from_slice(target);
        let word = u32::from_le_bytes(word) & !mask | bits & mask;
        target.copy_from_slice(&word.to_le_bytes()[..size]);
        Ok(())
    }

    /// Symbol and addend of a relocation as text.
    pub fn describe(&self, relocation: &Relocation) -> String {
        let name = self
            .symbols
            .get_index(relocation.symbol)
            .map_or("?", |(name, _)| name);
        if name.starts_with(".Lexpression") {
            return "the value of this expression".to_string();
        }
        match relocation.addend {
            0 => format!("`{name}`"),
            addend if addend < 0 => format!("`{name} - {}`", i64::from(addend).abs()),
            addend => format!("`{name} + {addend}`"),
        }
    }
}

/// `value` as `bits` bits if it fits them signed or unsigned.
fn signed(
    value: i64,
    bits: u32,
    range: &dyn Fn(i64, String) -> LinkError,
) -> Result<u32, LinkError> {
    let (from, to) = (-(1i64 << (bits - 1)), 1i64 << bits);
    if (from..to).contains(&value) {
        Ok(value as u32)
    } else {
        Err(range(value, format!("in {from}..={}", to - 1)))
    }
}
