//! The interpreter of tile programs: executes a program on the bytes of its shards, so that an
//! error of planning is told from an error of code generation.
//!
//! It knows nothing of time, addresses and instructions. Kernels are plain loops over the buffers
//! of one tile (`kernels`); arithmetic is the tensor interpreter's where there is an operation
//! for it. What nobody wrote is poison: bytes 0xff, which are NaN in every float type, so that a
//! result that depends on them is seen to be wrong.

mod kernels;

use crate::access::{KernelFault, call_accesses};
use crate::holdings::{At, Holdings, pieces};
use crate::kernel::Kernel;
use crate::verify::{VerifyError, well_formed};
use crate::{Call, Exchange, HostDirection, Program, Repeat, Role, Step, Value};
use cranelift_entity::SecondaryMap;
use indexmap::IndexMap;
use ipucc_chip::LogicalTile;
use ipucc_tensor::TensorType;
use ipucc_tensor::interp::{Tensor, eval};
use thiserror::Error;

/// What unwritten memory holds.
pub const POISON: u8 = 0xff;

/// Why a program could not be executed.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum InterpError {
    /// The program is not well formed.
    #[error("{0}")]
    Malformed(Box<VerifyError>),
    /// An input is missing or of another type.
    #[error("input `{0}`: {1}")]
    Input(String, String),
    /// A stored weight cannot be had.
    #[error("stored weight `{0}`: {1}")]
    Weight(String, String),
    /// A step that cannot be done.
    #[error("step {step} ({label}): {reason}")]
    Step {
        /// Position of the step: its index, then those inside repeats.
        step: String,
        /// Its label.
        label: String,
        /// What is the matter.
        reason: String,
    },
    /// Copies of one box of a value differ.
    #[error("`{value}`: the copies on tiles {first} and {second} differ")]
    Copies {
        /// The value's name.
        value: String,
        /// A tile.
        first: u16,
        /// Another one.
        second: u16,
    },
}

/// What a program computed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// The outputs by binding, in the device's element type and the binding's shape.
    pub outputs: IndexMap<String, Tensor>,
    /// The values that hold a value of the tensor program, by its name, as they were when the
    /// program ended.
    pub values: IndexMap<String, Tensor>,
}

/// Executes a program. `inputs` are by binding, in the device's element type, row-major.
///
/// # Errors
/// Inputs or weights that are missing, calls and transfers that leave the buffers of their tiles,
/// copies of an output that differ.
pub fn run(program: &Program, inputs: &IndexMap<String, Tensor>) -> Result<Outcome, InterpError> {
    if let Some(fault) = well_formed(program).into_iter().next() {
        return Err(InterpError::Malformed(Box::new(fault)));
    }
    let mut machine = Machine::new(program);
    machine.load_weights()?;
    for (name, binding) in &program.inputs {
        machine.load_input(name, binding.value, inputs)?;
    }
    machine.steps(&program.steps, &mut Vec::new(), inputs)?;
    let mut outcome = Outcome::default();
    for (name, binding) in &program.outputs {
        let mut tensor = machine.tensor(binding.value)?;
        tensor.ty = TensorType::new(tensor.ty.element, binding.shape.iter().copied());
        outcome.outputs.insert(name.clone(), tensor);
    }
    for (value, data) in &program.values {
        if let Some(name) = &data.tensor {
            outcome.values.insert(name.clone(), machine.tensor(value)?);
        }
    }
    Ok(outcome)
}

struct Machine<'p> {
    program: &'p Program,
    holdings: Holdings,
    /// Buffers by value, in the order of its holdings.
    memory: SecondaryMap<Value, Vec<Vec<u8>>>,
}

impl<'p> Machine<'p> {
    fn new(program: &'p Program) -> Machine<'p> {
        let holdings = Holdings::of(program);
        let mut memory = SecondaryMap::new();
        for value in program.values.keys() {
            let shards = holdings.of_value(value).iter();
            memory[value] = shards
                .map(|holding| vec![POISON; holding.bytes as usize])
                .collect();
        }
        Machine {
            program,
            holdings,
            memory,
        }
    }

    fn load_weights(&mut self) -> Result<(), InterpError> {
        for (value, data) in &self.program.values {
            let Role::Weight(name) = &data.role else {
                continue;
            };
            let error = |reason: String| InterpError::Weight(name.clone(), reason);
            let program = self
                .program
                .weights
                .get(name)
                .ok_or_else(|| error("has no program".into()))?;
            let stored = eval(&program.module, &IndexMap::new())
                .map_err(|fault| error(fault.to_string()))?
                .into_values()
                .next()
                .ok_or_else(|| error("its program returns nothing".into()))?;
            let ty = TensorType::new(data.element, data.shape.iter().copied());
            if stored.ty != ty {
                return Err(error(format!("is {}, expected {ty}", stored.ty)));
            }
            self.scatter(value, &stored.data);
        }
        Ok(())
    }

    fn load_input(
        &mut self,
        name: &str,
        value: Value,
        inputs: &IndexMap<String, Tensor>,
    ) -> Result<(), InterpError> {
        let data = &self.program.values[value];
        let error = |reason: String| InterpError::Input(name.to_owned(), reason);
        let given = inputs.get(name).ok_or_else(|| error("is missing".into()))?;
        let ty = TensorType::new(data.element, data.shape.iter().copied());
        if given.ty.element != ty.element || given.data.len() != ty.bytes() {
            return Err(error(format!("is {}, expected {ty}", given.ty)));
        }
        self.scatter(value, &given.data);
        Ok(())
    }

    /// Calls `visit` with the byte of the row-major tensor and the byte of the shard for every
    /// element of every shard of a value: index of the holding, tensor, shard.
    fn each(&self, value: Value, mut visit: impl FnMut(usize, usize, usize)) {
        let data = &self.program.values[value];
        let size = data.element.bytes() as usize;
        for shard in data.shards() {
            let Some(index) = self.holdings.index(value, shard.tile) else {
                continue;
            };
            let extents = shard.extents();
            let count: u64 = extents.iter().map(|&e| u64::from(e)).product();
            let mut at = vec![0u32; extents.len()];
            for _ in 0..count {
                let flat = at
                    .iter()
                    .zip(&shard.low)
                    .zip(&data.shape)
                    .fold(0usize, |sum, ((&i, &low), &extent)| {
                        sum * extent as usize + (i + low) as usize
                    });
                let offset = data.layout.offset(&extents, &at) as usize;
                visit(index, flat * size, offset * size);
                for axis in (0..at.len()).rev() {
                    at[axis] += 1;
                    if at[axis] < extents[axis] {
                        break;
                    }
                    at[axis] = 0;
                }
            }
        }
    }

    /// Writes a row-major tensor into the shards of a value; host and loader leave zeros in what
    /// holds no element.
    fn scatter(&mut self, value: Value, tensor: &[u8]) {
        let size = self.program.values[value].element.bytes() as usize;
        let mut buffers = std::mem::take(&mut self.memory[value]);
        for buffer in &mut buffers {
            buffer.fill(0);
        }
        self.each(value, |index, from, to| {
            buffers[index][to..to + size].copy_from_slice(&tensor[from..from + size]);
        });
        self.memory[value] = buffers;
    }

    /// The whole of a value; every copy must be the same.
    fn tensor(&self, value: Value) -> Result<Tensor, InterpError> {
        let data = &self.program.values[value];
        let ty = TensorType::new(data.element, data.shape.iter().copied());
        let size = data.element.bytes() as usize;
        let mut out = vec![0; ty.bytes()];
        let mut holder: Vec<u16> = vec![u16::MAX; ty.elements()];
        let buffers = &self.memory[value];
        let holdings = self.holdings.of_value(value);
        let mut differs = None;
        self.each(value, |index, to, from| {
            let bytes = &buffers[index][from..from + size];
            let tile = holdings[index].tile;
            let first = &mut holder[to / size];
            if *first == u16::MAX {
                *first = tile;
                out[to..to + size].copy_from_slice(bytes);
            } else if out[to..to + size] != *bytes {
                differs.get_or_insert((*first, tile));
            }
        });
        match differs {
            Some((first, second)) => Err(InterpError::Copies {
                value: data.name.clone(),
                first,
                second,
            }),
            None => Ok(Tensor { ty, data: out }),
        }
    }

    fn steps(
        &mut self,
        steps: &[Step],
        path: &mut Vec<usize>,
        inputs: &IndexMap<String, Tensor>,
    ) -> Result<(), InterpError> {
        for (index, step) in steps.iter().enumerate() {
            path.push(index);
            let fault = |label: &str, reason: String| InterpError::Step {
                step: crate::verify::path_text(path),
                label: label.to_owned(),
                reason,
            };
            match step {
                Step::Compute(compute) => {
                    for call in &compute.calls {
                        self.call(call)
                            .map_err(|reason| fault(&compute.label, reason))?;
                    }
                }
                Step::Exchange(exchange) => self
                    .exchange(exchange)
                    .map_err(|reason| fault(&exchange.label, reason))?,
                Step::Host(host) if host.direction == HostDirection::In => {
                    for &value in &host.values {
                        let named = self.program.inputs.iter();
                        if let Some((name, _)) = named
                            .into_iter()
                            .find(|(_, binding)| binding.value == value)
                        {
                            self.load_input(name, value, inputs)?;
                        }
                    }
                }
                Step::Host(_) => {}
                Step::Repeat(repeat) => self.repeat(repeat, path, inputs)?,
            }
            path.pop();
        }
        Ok(())
    }

    fn repeat(
        &mut self,
        repeat: &Repeat,
        path: &mut Vec<usize>,
        inputs: &IndexMap<String, Tensor>,
    ) -> Result<(), InterpError> {
        for iteration in 0..repeat.count as usize {
            for strided in &repeat.strided {
                let place = strided.iterations.get(iteration);
                let Some(&from) = place else {
                    return Err(InterpError::Step {
                        step: crate::verify::path_text(path),
                        label: repeat.label.clone(),
                        reason: format!("iteration {iteration} has no strided value"),
                    });
                };
                self.memory[strided.body] = self.memory[from].clone();
            }
            self.steps(&repeat.body, path, inputs)?;
            // All at once, so that two carried values may change places.
            let after: Vec<Vec<Vec<u8>>> = repeat
                .carried
                .iter()
                .map(|&(_, after)| self.memory[after].clone())
                .collect();
            for (&(before, _), buffers) in repeat.carried.iter().zip(after) {
                self.memory[before] = buffers;
            }
        }
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<(), String> {
        let shown = |fault: KernelFault| fault.to_string();
        let accesses = call_accesses(&call.kernel, call.operands.len()).map_err(shown)?;
        for tile in call.tiles.iter() {
            let mut places = Vec::with_capacity(call.operands.len());
            let mut buffers = Vec::with_capacity(call.operands.len());
            for (operand, access) in call.operands.iter().zip(&accesses) {
                let name = &self.program.values[operand.value].name;
                let index = self
                    .holdings
                    .index(operand.value, tile)
                    .ok_or_else(|| format!("tile {} holds nothing of `{name}`", tile.0))?;
                let shard = &self.memory[operand.value][index];
                let whole = shard.get(operand.offset_bytes as usize..);
                let ends = [&access.read, &access.multiplied, &access.written];
                let inside = whole.is_some_and(|bytes| {
                    ends.iter()
                        .copied()
                        .flatten()
                        .all(|&(low, high)| low >= 0 && high <= bytes.len() as i64)
                });
                match whole {
                    Some(bytes) if inside => buffers.push(bytes.to_vec()),
                    _ => {
                        return Err(format!(
                            "tile {}: the kernel leaves the shard of `{name}`",
                            tile.0
                        ));
                    }
                }
                places.push((operand, index));
            }
            // Inputs as they were, even where a result stands in the same buffer.
            kernels::execute(&call.kernel, &mut buffers)
                .map_err(|reason| format!("tile {}: {reason}", tile.0))?;
            for (((operand, index), buffer), access) in places.iter().zip(&buffers).zip(&accesses) {
                let offset = operand.offset_bytes as usize;
                let shard = &mut self.memory[operand.value][*index][offset..];
                // Nobody may depend on what attention leaves in its scratch.
                let scratch =
                    matches!(call.kernel, Kernel::Attention(_)) && access.element.is_none();
                for &(low, high) in &access.written {
                    let range = low as usize..high as usize;
                    match scratch {
                        true => shard[range].fill(POISON),
                        false => shard[range.clone()].copy_from_slice(&buffer[range]),
                    }
                }
            }
        }
        Ok(())
    }

    fn exchange(&mut self, exchange: &Exchange) -> Result<(), String> {
        // Everything is read before anything is written.
        let mut moved: Vec<(Value, usize, usize, Vec<u8>)> = Vec::new();
        for transfer in &exchange.transfers {
            let mut fault = None;
            for run in &transfer.runs {
                let bounded = pieces(run, |from, ends, bytes| {
                    if fault.is_some() {
                        return;
                    }
                    let Some((index, start)) = self.place(transfer.source, from, bytes) else {
                        fault = Some((transfer.source, from));
                        return;
                    };
                    let words = &self.memory[transfer.source][index][start..start + bytes as usize];
                    for &end in ends {
                        match self.place(transfer.destination, end, bytes) {
                            Some((index, start)) => {
                                moved.push((transfer.destination, index, start, words.to_vec()));
                            }
                            None => fault = Some((transfer.destination, end)),
                        }
                    }
                });
                if !bounded {
                    return Err("a run has more pieces than the chip has words".into());
                }
            }
            if let Some((value, at)) = fault {
                return Err(format!(
                    "tile {} holds no word {} of `{}`",
                    at.tile,
                    at.byte / 4,
                    self.program.values[value].name
                ));
            }
        }
        for (value, index, start, words) in moved {
            self.memory[value][index][start..start + words.len()].copy_from_slice(&words);
        }
        Ok(())
    }

    /// Holding and first byte of a piece, if the tile holds all of it.
    fn place(&self, value: Value, at: At, bytes: i64) -> Option<(usize, usize)> {
        let tile = LogicalTile(u16::try_from(at.tile).ok()?);
        let index = self.holdings.index(value, tile)?;
        let start = usize::try_from(at.byte).ok()?;
        let end = start.checked_add(usize::try_from(bytes).ok()?)?;
        (end <= self.memory[value][index].len()).then_some((index, start))
    }
}
