//! The walk over the steps.

use super::bits::{Bits, spread};
use super::{Place, VerifyError, path_text, well_formed};
use crate::access::{Access, Ranges, call_accesses};
use crate::holdings::{At, Holdings, pieces};
use crate::kernel::{Copy, Kernel};
use crate::{Call, Exchange, Operand, Padding, Program, Repeat, Role, Shape, Step, Value};
use cranelift_entity::SecondaryMap;
use indexmap::IndexMap;
use ipucc_chip::LogicalTile;
use std::rc::Rc;

/// Most errors that are told of one program.
const MOST_ERRORS: usize = 50;

/// Everything that is wrong with a program, at most the first 50.
pub fn verify(program: &Program) -> Vec<VerifyError> {
    let errors = well_formed(program);
    if !errors.is_empty() {
        return errors;
    }
    let mut walk = Walk {
        program,
        holdings: Holdings::of(program),
        state: SecondaryMap::new(),
        elements: IndexMap::new(),
        errors: Vec::new(),
        path: Vec::new(),
        label: String::new(),
    };
    for (value, data) in &program.values {
        let loaded = matches!(data.role, Role::Input(_) | Role::Weight(_));
        let shards = walk.holdings.of_value(value).iter();
        walk.state[value] = shards
            .map(|holding| Bits::new(holding.bytes, loaded))
            .collect();
    }
    walk.steps(&program.steps);
    walk.path.push(program.steps.len());
    walk.label = "the end".into();
    for binding in program.outputs.values() {
        for index in 0..walk.holdings.of_value(binding.value).len() {
            let bytes = walk.holdings.of_value(binding.value)[index].bytes;
            walk.reads(binding.value, index, &[(0, bytes.into())], 0);
        }
    }
    walk.errors
}

struct Walk<'p> {
    program: &'p Program,
    holdings: Holdings,
    /// Written bytes, by value and holding.
    state: SecondaryMap<Value, Vec<Bits>>,
    /// Bytes of elements, by value and extents.
    elements: IndexMap<(Value, Shape), Rc<Bits>>,
    errors: Vec<VerifyError>,
    path: Vec<usize>,
    label: String,
}

impl Walk<'_> {
    fn place(&self, tile: Option<i64>) -> Place {
        Place {
            step: path_text(&self.path),
            label: self.label.clone(),
            tile,
        }
    }

    fn name(&self, value: Value) -> String {
        self.program.values[value].name.clone()
    }

    fn tell(&mut self, error: VerifyError) {
        if self.errors.len() < MOST_ERRORS && !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// Bytes of the elements of a shard.
    fn elements(&mut self, value: Value, index: usize) -> Rc<Bits> {
        let holding = &self.holdings.of_value(value)[index];
        let key = (value, holding.extents.clone());
        if let Some(found) = self.elements.get(&key) {
            return Rc::clone(found);
        }
        let data = &self.program.values[value];
        let size = i64::from(data.element.bytes());
        let mut bits = Bits::new(holding.bytes, false);
        let extents = &holding.extents;
        let count: u64 = extents.iter().map(|&e| u64::from(e)).product();
        let mut at = vec![0u32; extents.len()];
        for _ in 0..count {
            let offset = data.layout.offset(extents, &at) as i64 * size;
            bits.set(offset, offset + size);
            for axis in (0..at.len()).rev() {
                at[axis] += 1;
                if at[axis] < extents[axis] {
                    break;
                }
                at[axis] = 0;
            }
        }
        let bits = Rc::new(bits);
        self.elements.insert(key, Rc::clone(&bits));
        bits
    }

    /// Tells of bytes that are read and were not written: elements, and padding that is zero.
    fn reads(&mut self, value: Value, index: usize, ranges: &[(i64, i64)], offset: i64) {
        let elements = self.elements(value, index);
        let zero = self.program.values[value].padding == Padding::Zero;
        let written = &self.state[value][index];
        let mut faults = Vec::new();
        for &(low, high) in ranges {
            let (low, high) = (low + offset, high + offset);
            if let Some(byte) = written.missing(&elements, false, low, high) {
                faults.push((byte, false));
            } else if zero && let Some(byte) = written.missing(&elements, true, low, high) {
                faults.push((byte, true));
            }
            if faults.len() > 1 {
                break;
            }
        }
        let tile = self.holdings.of_value(value)[index].tile.into();
        for (byte, padding) in faults {
            let (place, value) = (self.place(Some(tile)), self.name(value));
            self.tell(match padding {
                false => VerifyError::Unwritten { place, value, byte },
                true => VerifyError::UnwrittenPadding { place, value, byte },
            });
        }
    }

    fn steps(&mut self, steps: &[Step]) {
        for (index, step) in steps.iter().enumerate() {
            self.path.push(index);
            match step {
                Step::Compute(compute) => {
                    self.label.clone_from(&compute.label);
                    for call in &compute.calls {
                        self.call(call);
                    }
                }
                Step::Exchange(exchange) => {
                    self.label.clone_from(&exchange.label);
                    self.exchange(exchange);
                }
                Step::Host(_) => self.label.clear(),
                Step::Repeat(repeat) => self.repeat(repeat),
            }
            self.path.pop();
        }
    }

    fn repeat(&mut self, repeat: &Repeat) {
        self.label.clone_from(&repeat.label);
        let pairs = repeat.carried.iter().copied();
        let strided = repeat
            .strided
            .iter()
            .flat_map(|s| s.iterations.iter().map(|&value| (s.body, value)));
        let mut fits = true;
        for (first, second) in pairs.chain(strided) {
            let (a, b) = (&self.program.values[first], &self.program.values[second]);
            if a.element != b.element
                || a.shape != b.shape
                || a.distribution != b.distribution
                || a.layout != b.layout
            {
                fits = false;
                let error = VerifyError::Repeat {
                    place: self.place(None),
                    first: a.name.clone(),
                    second: b.name.clone(),
                    reason: "types, distributions and layouts must be equal".into(),
                };
                self.tell(error);
            }
        }
        for strided in &repeat.strided {
            if strided.iterations.len() != repeat.count as usize {
                fits = false;
                let error = VerifyError::Repeat {
                    place: self.place(None),
                    first: self.name(strided.body),
                    second: format!("{} values", strided.iterations.len()),
                    reason: format!("{} iterations need as many values", repeat.count),
                };
                self.tell(error);
            }
        }
        if !fits {
            return;
        }
        // After two iterations without a change of what is written there is nothing new to see.
        let mut unchanged = 0;
        for iteration in 0..repeat.count as usize {
            let before = self.state.clone();
            for strided in &repeat.strided {
                self.state[strided.body] = self.state[strided.iterations[iteration]].clone();
            }
            self.steps(&repeat.body);
            self.label.clone_from(&repeat.label);
            let after: Vec<Vec<Bits>> = repeat
                .carried
                .iter()
                .map(|&(_, after)| self.state[after].clone())
                .collect();
            for (&(value, _), bits) in repeat.carried.iter().zip(after) {
                self.state[value] = bits;
            }
            unchanged = if before == self.state {
                unchanged + 1
            } else {
                0
            };
            if unchanged > 1 && repeat.strided.is_empty() {
                break;
            }
        }
    }

    fn call(&mut self, call: &Call) {
        let accesses = match call_accesses(&call.kernel, call.operands.len()) {
            Ok(accesses) => accesses,
            Err(fault) => {
                let place = self.place(None);
                let reason = fault.to_string();
                return self.tell(VerifyError::Kernel { place, reason });
            }
        };
        for (operand, access) in call.operands.iter().zip(&accesses) {
            let Some(data) = self.program.values.get(operand.value) else {
                let place = self.place(None);
                let reason = format!("%{} does not exist", operand.value);
                return self.tell(VerifyError::Kernel { place, reason });
            };
            if let Some(wanted) = access.element
                && wanted != data.element
            {
                let error = VerifyError::OperandType {
                    place: self.place(None),
                    value: data.name.clone(),
                    found: data.element.to_string(),
                    wanted: wanted.to_string(),
                };
                self.tell(error);
            }
            if !operand.offset_bytes.is_multiple_of(8) {
                let error = VerifyError::PartialWord {
                    place: self.place(None),
                    value: data.name.clone(),
                    offset: operand.offset_bytes,
                };
                self.tell(error);
            }
            if matches!(data.role, Role::Weight(_)) && !access.written.is_empty() {
                let place = self.place(None);
                let value = data.name.clone();
                self.tell(VerifyError::WeightWritten { place, value });
            }
        }
        self.multiplied_padding(call, &accesses);
        for tile in call.tiles.iter() {
            self.call_on(call, &accesses, tile);
        }
    }

    /// Of two operands whose padding is multiplied one must be zero there.
    fn multiplied_padding(&mut self, call: &Call, accesses: &[Access]) {
        let pairs: &[(usize, usize)] = match call.kernel {
            Kernel::Dot(_) => &[(0, 1)],
            Kernel::Attention(_) => &[(0, 1)],
            _ => &[],
        };
        for &(a, b) in pairs {
            let data = |index: usize| &self.program.values[call.operands[index].value];
            let zero = |index: usize| data(index).padding == Padding::Zero;
            if !accesses[a].multiplied.is_empty() && !zero(a) && !zero(b) {
                let error = VerifyError::NonzeroPadding {
                    place: self.place(None),
                    lhs: data(a).name.clone(),
                    rhs: data(b).name.clone(),
                };
                self.tell(error);
            }
        }
    }

    fn call_on(&mut self, call: &Call, accesses: &[Access], tile: LogicalTile) {
        if tile.0 >= self.program.tiles {
            let place = self.place(Some(tile.0.into()));
            let tiles = self.program.tiles;
            return self.tell(VerifyError::NoTile { place, tiles });
        }
        let mut indices = Vec::with_capacity(accesses.len());
        for (operand, access) in call.operands.iter().zip(accesses) {
            let Some(index) = self.holdings.index(operand.value, tile) else {
                let place = self.place(Some(tile.0.into()));
                let value = self.name(operand.value);
                return self.tell(VerifyError::NotHeld { place, value });
            };
            let bytes = self.holdings.of_value(operand.value)[index].bytes;
            let offset = i64::from(operand.offset_bytes);
            let all = [&access.read, &access.multiplied, &access.written];
            let outside = all
                .iter()
                .copied()
                .flatten()
                .find(|(low, high)| *low < 0 || high + offset > i64::from(bytes));
            if let Some(&(low, high)) = outside {
                let error = VerifyError::OutOfRange {
                    place: self.place(Some(tile.0.into())),
                    value: self.name(operand.value),
                    low: low + offset,
                    high: high + offset,
                    bytes,
                };
                return self.tell(error);
            }
            indices.push(index);
        }
        for ((operand, access), &index) in call.operands.iter().zip(accesses).zip(&indices) {
            let offset = i64::from(operand.offset_bytes);
            if !matches!(call.kernel, Kernel::Copy(_)) {
                self.reads(operand.value, index, &access.read, offset);
            } else {
                self.moves(operand.value, index, &access.read, offset);
            }
            self.multiplies(operand.value, index, &access.multiplied, offset);
        }
        if let Kernel::Copy(copy) = &call.kernel {
            let (from, to) = (call.operands[0], call.operands[1]);
            self.copied(copy, (from, indices[0]), (to, indices[1]));
            return;
        }
        for ((operand, access), &index) in call.operands.iter().zip(accesses).zip(&indices) {
            let offset = i64::from(operand.offset_bytes);
            for &(low, high) in &access.written {
                self.state[operand.value][index].set(low + offset, high + offset);
            }
        }
    }

    /// Tells of elements that are moved and were not written; padding moves as it is.
    fn moves(&mut self, value: Value, index: usize, ranges: &Ranges, offset: i64) {
        let elements = self.elements(value, index);
        let written = &self.state[value][index];
        let fault = ranges.iter().find_map(|&(low, high)| {
            written.missing(&elements, false, low + offset, high + offset)
        });
        if let Some(byte) = fault {
            let tile = self.holdings.of_value(value)[index].tile.into();
            let (place, value) = (self.place(Some(tile)), self.name(value));
            self.tell(VerifyError::Unwritten { place, value, byte });
        }
    }

    /// Tells of padding that is multiplied and was not written: it may hold anything, NaN as well.
    fn multiplies(&mut self, value: Value, index: usize, ranges: &Ranges, offset: i64) {
        let written = &self.state[value][index];
        let fault = ranges
            .iter()
            .find_map(|&(low, high)| written.unset(low + offset, high + offset));
        if let Some(byte) = fault {
            let tile = self.holdings.of_value(value)[index].tile.into();
            let (place, value) = (self.place(Some(tile)), self.name(value));
            self.tell(VerifyError::UnwrittenPadding { place, value, byte });
        }
    }

    /// What a copy leaves: written where its source was.
    fn copied(
        &mut self,
        copy: &Copy,
        (from, from_index): (Operand, usize),
        (to, to_index): (Operand, usize),
    ) {
        let source = self.state[from.value][from_index].clone();
        let target = &mut self.state[to.value][to_index];
        let total: u64 = copy.dims.iter().map(|dim| u64::from(dim.count)).product();
        for index in 0..total {
            let mut rest = index;
            let mut ends = (
                i64::from(from.offset_bytes) + i64::from(copy.source_offset),
                i64::from(to.offset_bytes) + i64::from(copy.destination_offset),
            );
            for dim in copy.dims.iter().rev() {
                let i = (rest % u64::from(dim.count)) as i64;
                rest /= u64::from(dim.count);
                ends.0 += i * i64::from(dim.source_bytes);
                ends.1 += i * i64::from(dim.destination_bytes);
            }
            spread(&source, ends.0, target, ends.1, copy.bytes.into());
        }
    }

    fn exchange(&mut self, exchange: &Exchange) {
        // What the pieces of this step write: (value, holding) to its bytes.
        let mut received: IndexMap<(Value, usize), Bits> = IndexMap::new();
        let mut sent: Vec<(Value, usize, i64, i64)> = Vec::new();
        let mut marks: Vec<(Value, usize, i64, Value, usize, i64, i64)> = Vec::new();
        for transfer in &exchange.transfers {
            let (source, destination) = (transfer.source, transfer.destination);
            if let Role::Weight(_) = self.program.values[destination].role {
                let place = self.place(None);
                let value = self.name(destination);
                self.tell(VerifyError::WeightWritten { place, value });
            }
            for run in &transfer.runs {
                if run.words == 0
                    || run.destinations.is_empty()
                    || run.dims.iter().any(|dim| dim.count == 0)
                {
                    let (place, value) = (self.place(None), self.name(source));
                    self.tell(VerifyError::EmptyRun { place, value });
                    continue;
                }
                let bounded = pieces(run, |from, ends, bytes| {
                    let Some(index) = self.end(source, from, bytes) else {
                        return;
                    };
                    let range = vec![(from.byte, from.byte + bytes)];
                    self.moves(source, index, &range, 0);
                    sent.push((source, index, from.byte, bytes));
                    for &end in ends {
                        let Some(to) = self.end(destination, end, bytes) else {
                            continue;
                        };
                        let shard = self.holdings.of_value(destination)[to].bytes;
                        let bits = received
                            .entry((destination, to))
                            .or_insert_with(|| Bits::new(shard, false));
                        if let Some(byte) = bits.first(end.byte, end.byte + bytes) {
                            let place = self.place(Some(end.tile));
                            let value = self.name(destination);
                            self.tell(VerifyError::TwoWriters { place, value, byte });
                        }
                        bits.set(end.byte, end.byte + bytes);
                        marks.push((source, index, from.byte, destination, to, end.byte, bytes));
                    }
                });
                if !bounded {
                    let (place, value) = (self.place(None), self.name(source));
                    self.tell(VerifyError::TooManyPieces { place, value });
                }
            }
        }
        for (value, index, byte, bytes) in sent {
            let clash = received
                .get(&(value, index))
                .and_then(|bits| bits.first(byte, byte + bytes));
            if let Some(byte) = clash {
                let tile = self.holdings.of_value(value)[index].tile.into();
                let (place, value) = (self.place(Some(tile)), self.name(value));
                self.tell(VerifyError::ReadWhileWritten { place, value, byte });
            }
        }
        for (source, index, from, destination, to, at, bytes) in marks {
            let source = &self.state[source][index];
            // Where no element moves unwritten, only padding can be.
            if source.unset(from, from + bytes).is_none() {
                self.state[destination][to].set(at, at + bytes);
            } else {
                let source = source.clone();
                spread(&source, from, &mut self.state[destination][to], at, bytes);
            }
        }
    }

    /// The holding at one end of a piece, if the piece lies inside it.
    fn end(&mut self, value: Value, at: At, bytes: i64) -> Option<usize> {
        let tile = u16::try_from(at.tile)
            .ok()
            .filter(|&tile| tile < self.program.tiles);
        let Some(tile) = tile else {
            let place = self.place(Some(at.tile));
            let tiles = self.program.tiles;
            self.tell(VerifyError::NoTile { place, tiles });
            return None;
        };
        let Some(index) = self.holdings.index(value, LogicalTile(tile)) else {
            let (place, value) = (self.place(Some(at.tile)), self.name(value));
            self.tell(VerifyError::NotHeld { place, value });
            return None;
        };
        let size = self.holdings.of_value(value)[index].bytes;
        if at.byte < 0 || at.byte + bytes > i64::from(size) {
            let error = VerifyError::OutOfRange {
                place: self.place(Some(at.tile)),
                value: self.name(value),
                low: at.byte,
                high: at.byte + bytes,
                bytes: size,
            };
            self.tell(error);
            return None;
        }
        Some(index)
    }
}
