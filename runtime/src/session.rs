//! Sessions: a package loaded into a backend, run as often as wanted.

use indexmap::IndexMap;
use ipucc_chip::{Assumptions, Chip, HostType, LogicalTile, ScalarType};
use ipucc_machine::package::{Binding, Observation, Package};
use ipucc_sim::{Failure, Options, RunReport, SimError, Simulator};
use thiserror::Error;

/// A dense row-major host buffer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostTensor {
    /// Element type.
    pub element: HostType,
    /// Extents.
    pub shape: Vec<u32>,
    /// Little-endian elements.
    pub bytes: Vec<u8>,
}

/// Why a session cannot run.
#[derive(Debug, Error)]
pub enum SessionError {
    /// An input is missing or unknown.
    #[error("input `{0}` {1}")]
    Input(String, String),
    /// The simulator could not be set up or reached.
    #[error("simulator: {0}")]
    Simulator(#[from] SimError),
    /// The program failed.
    #[error("the program failed: {0}")]
    Failed(Box<Failure>),
}

/// Result of one run.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Outputs by name.
    pub outputs: IndexMap<String, HostTensor>,
    /// Values inside the program, by name, if they were asked for.
    pub observed: IndexMap<String, HostTensor>,
    /// Inputs with elements beyond the largest number of their device type, and how many; those
    /// became that number.
    pub saturated: IndexMap<String, usize>,
    /// Cycles from the release of the first barrier to the last arrival at the last one.
    pub cycles: u64,
    /// What the simulator reports.
    pub report: RunReport,
}

/// A package on the simulator.
pub struct Session {
    package: Package,
    simulator: Simulator,
}

impl Session {
    /// Loads a package: every segment is written once.
    ///
    /// # Errors
    /// The package does not fit the chip, or memory cannot be had.
    pub fn new(
        package: Package,
        assumptions: Assumptions,
        options: Options,
    ) -> Result<Session, SessionError> {
        let chip =
            Chip::first(package.tiles).ok_or(SimError::NoTile(package.tiles, Chip::C600_TILES))?;
        let mut simulator = Simulator::new(chip, assumptions, options)?;
        for (tile, image) in package.images.iter().enumerate() {
            for segment in &image.segments {
                if let Some(blob) = package.blobs.get(segment.blob as usize) {
                    simulator.write(LogicalTile(tile as u16), segment.address, blob)?;
                }
            }
        }
        Ok(Session { package, simulator })
    }

    /// The package.
    pub fn package(&self) -> &Package {
        &self.package
    }

    /// The simulator, for reading tile memory.
    pub fn simulator(&self) -> &Simulator {
        &self.simulator
    }

    /// Writes the inputs, runs the program, reads the outputs.
    ///
    /// # Errors
    /// An input that does not fit its binding, or a program that fails.
    pub fn run(&mut self, inputs: &IndexMap<String, HostTensor>) -> Result<Outcome, SessionError> {
        self.run_observed(inputs, &[])
    }

    /// As [`Session::run`], and looks at values inside the program: `observed` of the outcome holds
    /// each at the moment at which the program had completed it.
    ///
    /// # Errors
    /// As [`Session::run`].
    pub fn run_observed(
        &mut self,
        inputs: &IndexMap<String, HostTensor>,
        observations: &[Observation],
    ) -> Result<Outcome, SessionError> {
        let windows: Vec<Windows> = observations.iter().map(windows).collect();
        for (observation, windows) in observations.iter().zip(&windows) {
            for (tile, (start, end)) in windows {
                if let Some(&pc) = observation.complete.get(tile) {
                    let tile = LogicalTile(*tile);
                    self.simulator.probe(tile, pc, *start, end - start)?;
                }
            }
        }
        let mut saturated = IndexMap::new();
        for (name, binding) in &self.package.inputs {
            let missing = || SessionError::Input(name.clone(), "is missing".into());
            let tensor = inputs.get(name).ok_or_else(missing)?;
            let bad = |reason| SessionError::Input(name.clone(), reason);
            let (device, beyond) = to_device(binding, tensor).map_err(bad)?;
            if beyond > 0 {
                saturated.insert(name.clone(), beyond);
            }
            scatter(&mut self.simulator, binding, &device)?;
        }
        let entries: Vec<(LogicalTile, u32)> = self
            .package
            .images
            .iter()
            .enumerate()
            .map(|(tile, image)| (LogicalTile(tile as u16), image.entry))
            .collect();
        self.simulator.start(&entries);
        let report = self.simulator.run().map_err(SessionError::Failed)?;
        let mut outputs = IndexMap::new();
        for (name, binding) in &self.package.outputs {
            let device = gather(&self.simulator, binding)?;
            outputs.insert(name.clone(), from_device(binding, &device));
        }
        let mut observed = IndexMap::new();
        for (observation, windows) in observations.iter().zip(&windows) {
            let device = gather_with(&observation.value, |tile, address, bytes| {
                let missing = SimError::Unpopulated {
                    address,
                    bytes: bytes.len(),
                };
                let pc = observation.complete.get(&tile);
                let found = pc.and_then(|&pc| {
                    let start = windows.get(&tile)?.0;
                    let seen = self.simulator.seen(LogicalTile(tile), pc, start)?;
                    let at = (address - start) as usize;
                    seen.get(at..at + bytes.len())
                });
                bytes.copy_from_slice(found.ok_or(missing)?);
                Ok(())
            })?;
            let tensor = from_device(&observation.value, &device);
            observed.insert(observation.name.clone(), tensor);
        }
        let cycles = match (report.barriers.first(), report.barriers.last()) {
            (Some(first), Some(last)) if report.barriers.len() > 1 => {
                last.last_arrival - first.release
            }
            _ => 0,
        };
        Ok(Outcome {
            outputs,
            observed,
            saturated,
            cycles,
            report,
        })
    }
}

/// Checks a host buffer against its binding and converts it to the device type; and how many
/// elements are beyond the largest number of that type.
fn to_device(binding: &Binding, tensor: &HostTensor) -> Result<(Vec<u8>, usize), String> {
    if tensor.element != binding.host {
        return Err(format!(
            "has elements of type {}, expected {}",
            tensor.element, binding.host
        ));
    }
    if tensor.shape != binding.shape {
        return Err(format!(
            "has shape {:?}, expected {:?}",
            tensor.shape, binding.shape
        ));
    }
    let elements: usize = binding
        .shape
        .iter()
        .map(|&extent| extent as usize)
        .product();
    if tensor.bytes.len() != elements * binding.host.bytes() as usize {
        return Err(format!(
            "has {} bytes of data for {elements} elements",
            tensor.bytes.len()
        ));
    }
    match (binding.host, binding.device) {
        (HostType::I64, ScalarType::I32) => {
            let mut out = Vec::with_capacity(elements * 4);
            for (index, chunk) in tensor.bytes.as_chunks::<8>().0.iter().enumerate() {
                let value = i64::from_le_bytes(*chunk);
                let narrow = i32::try_from(value)
                    .map_err(|_| format!("element {index} is {value}, outside 32 bits"))?;
                out.extend(narrow.to_le_bytes());
            }
            Ok((out, 0))
        }
        (HostType::Bool, ScalarType::I1) => {
            let truths = tensor.bytes.iter().map(|&byte| u8::from(byte != 0));
            Ok((truths.collect(), 0))
        }
        (HostType::Device(element), device) if element == device => Ok((tensor.bytes.clone(), 0)),
        (host, device) => {
            let different = || format!("cannot be converted from {host} to {device}");
            let values = floats_of(host, &tensor.bytes).ok_or_else(different)?;
            let most = f64::from(device.largest());
            let beyond = values.iter().filter(|v| v.is_finite() && v.abs() > most);
            let beyond = beyond.count();
            let finite = |v: f64| {
                if v.is_finite() {
                    v.clamp(-most, most)
                } else {
                    v
                }
            };
            let out: Vec<u8> = match device {
                ScalarType::F32 => values
                    .iter()
                    .flat_map(|&v| (finite(v) as f32).to_le_bytes())
                    .collect(),
                ScalarType::F16 => values
                    .iter()
                    .flat_map(|&v| half::f16::from_f64(finite(v)).to_le_bytes())
                    .collect(),
                _ => return Err(different()),
            };
            Ok((out, beyond))
        }
    }
}

/// Elements of a buffer of f16, f32 or f64.
fn floats_of(element: HostType, bytes: &[u8]) -> Option<Vec<f64>> {
    Some(match element {
        HostType::F64 => {
            let chunks = bytes.as_chunks::<8>().0.iter();
            chunks.map(|chunk| f64::from_le_bytes(*chunk)).collect()
        }
        HostType::Device(ScalarType::F32) => {
            let chunks = bytes.as_chunks::<4>().0.iter();
            chunks
                .map(|chunk| f32::from_le_bytes(*chunk).into())
                .collect()
        }
        HostType::Device(ScalarType::F16) => {
            let chunks = bytes.as_chunks::<2>().0.iter();
            chunks
                .map(|chunk| half::f16::from_le_bytes(*chunk).to_f64())
                .collect()
        }
        _ => return None,
    })
}

/// Converts device data to the host type of the binding.
fn from_device(binding: &Binding, device: &[u8]) -> HostTensor {
    let values = || floats_of(HostType::Device(binding.device), device);
    let bytes = match binding.host {
        HostType::I64 => {
            let chunks = device.as_chunks::<4>().0.iter();
            chunks
                .flat_map(|chunk| i64::from(i32::from_le_bytes(*chunk)).to_le_bytes())
                .collect()
        }
        HostType::Device(element) if element == binding.device => device.to_vec(),
        HostType::F64 => {
            let values = values().unwrap_or_default();
            values.iter().flat_map(|v| v.to_le_bytes()).collect()
        }
        HostType::Device(ScalarType::F32) => {
            let values = values().unwrap_or_default();
            values
                .iter()
                .flat_map(|&v| (v as f32).to_le_bytes())
                .collect()
        }
        HostType::Device(ScalarType::F16) => {
            let values = values().unwrap_or_default();
            let halves = values.iter().map(|&v| half::f16::from_f64(v));
            halves.flat_map(half::f16::to_le_bytes).collect()
        }
        HostType::Bool | HostType::Device(_) => device.to_vec(),
    };
    HostTensor {
        element: binding.host,
        shape: binding.shape.clone(),
        bytes,
    }
}

fn scatter(simulator: &mut Simulator, binding: &Binding, data: &[u8]) -> Result<(), SimError> {
    let size = binding.device.bytes() as usize;
    let mut result = Ok(());
    for run in &binding.runs {
        run.for_each(|host, address| {
            let at = host as usize * size;
            if let (Ok(()), Some(bytes)) = (&result, data.get(at..at + size)) {
                result = simulator.write(LogicalTile(run.tile), address, bytes);
            }
        });
    }
    result
}

fn gather(simulator: &Simulator, binding: &Binding) -> Result<Vec<u8>, SimError> {
    gather_with(binding, |tile, address, bytes| {
        simulator.read(LogicalTile(tile), address, bytes)
    })
}

/// The row-major device data of a binding; `read` fills bytes at an address of a tile.
fn gather_with(
    binding: &Binding,
    mut read: impl FnMut(u16, u32, &mut [u8]) -> Result<(), SimError>,
) -> Result<Vec<u8>, SimError> {
    let size = binding.device.bytes() as usize;
    let mut data = vec![0; binding.elements() as usize * size];
    let mut result = Ok(());
    for run in &binding.runs {
        run.for_each(|host, address| {
            let at = host as usize * size;
            if let (Ok(()), Some(bytes)) = (&result, data.get_mut(at..at + size)) {
                result = read(run.tile, address, bytes);
            }
        });
    }
    result.map(|()| data)
}

/// First address and end of what a value takes, by logical tile.
type Windows = IndexMap<u16, (u32, u32)>;

fn windows(observation: &Observation) -> Windows {
    let size = observation.value.device.bytes();
    let mut windows = Windows::new();
    for run in &observation.value.runs {
        let window = windows.entry(run.tile).or_insert((u32::MAX, 0));
        run.for_each(|_, address| {
            *window = (window.0.min(address), window.1.max(address + size));
        });
    }
    windows
}

impl Outcome {
    /// What differs from the package's prediction, in words: the cycles, the release of any
    /// barrier, or the end of any tile. `None` if nothing does.
    pub fn misprediction(&self, package: &Package) -> Option<String> {
        let predicted = &package.predicted;
        if predicted.cycles != self.cycles {
            return Some(format!(
                "the simulation took {} cycles, {} were predicted",
                self.cycles, predicted.cycles
            ));
        }
        let barriers = self.report.barriers.iter();
        let releases: Vec<u64> = barriers.map(|barrier| barrier.release).collect();
        if predicted.barrier_releases != releases {
            return Some("a barrier was released at another time than predicted".into());
        }
        let tiles = self.report.tiles.iter();
        let ends: Vec<u64> = tiles.map(|tile| tile.end_cycle.unwrap_or(0)).collect();
        if predicted.tile_cycles.len() != ends.len() {
            return Some(format!(
                "the ends of {} tiles were predicted, {} tiles ran",
                predicted.tile_cycles.len(),
                ends.len()
            ));
        }
        let late = predicted
            .tile_cycles
            .iter()
            .zip(&ends)
            .position(|(a, b)| a != b);
        late.map(|tile| format!("tile {tile} ended at another time than predicted"))
    }
}
