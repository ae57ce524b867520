//! Models: reading them, and the way from a tensor module to a package.

use crate::backend::{self, Compiled};
use crate::onnx;
use indexmap::IndexMap;
use ipucc_chip::{Assumptions, Chip};
use ipucc_codegen::Catalog;
use ipucc_passes::{PASSES, PlanEntry};
use ipucc_schedule::Cost;
use ipucc_tensor::{Module, interp, text};
use ipucc_tile::Program;
use ipucc_tile::schedule::AbstainMode;
use rayon::prelude::*;
use std::path::Path;

/// Options of a compilation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The chip.
    pub chip: Chip,
    /// How idle tiles pass barriers.
    pub abstain: AbstainMode,
    /// Assumptions behind the prediction.
    pub assumptions: Assumptions,
    /// Say where the values inside the program can be read (`Compiled::observations`).
    pub observe: bool,
}

impl Options {
    /// The default options for a chip.
    pub fn new(chip: Chip) -> Options {
        Options {
            chip,
            abstain: AbstainMode::default(),
            assumptions: Assumptions::default(),
            observe: false,
        }
    }
}

/// A compiled model.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    /// The module after the tensor passes.
    pub module: Module,
    /// What the planner decided.
    pub plan: Vec<PlanEntry>,
    /// The package and what led to it.
    pub compiled: Compiled,
}

/// Reads a model file: ONNX by its ending, text otherwise.
///
/// # Errors
/// A rendered message with every fault.
pub fn read(path: &Path, bytes: &[u8], dims: &IndexMap<String, u32>) -> Result<Module, String> {
    let name = path.display();
    if path
        .extension()
        .is_some_and(|extension| extension == "onnx")
    {
        return onnx::import(bytes, path.parent(), dims).map_err(|errors| {
            let lines: Vec<String> = errors
                .iter()
                .map(|error| format!("error: {name}: {error}"))
                .collect();
            lines.join("\n")
        });
    }
    let source = std::str::from_utf8(bytes)
        .map_err(|error| format!("error: {name}: not text at byte {}", error.valid_up_to()))?;
    text::parse(source).map_err(|faults| text::render(&name.to_string(), source, &faults))
}

/// Runs the tensor passes; `dump` sees the module after each.
pub fn optimize(module: Module, mut dump: impl FnMut(&str, &Module)) -> Module {
    PASSES.iter().fold(module, |module, pass| {
        let next = (pass.run)(&module);
        dump(pass.name, &next);
        next
    })
}

/// Compiles a module.
///
/// # Errors
/// What stands against it, in words.
pub fn compile(module: &Module, options: &Options) -> Result<Model, String> {
    let module = optimize(module.clone(), |_, _| {});
    let catalog = Catalog {
        assumptions: options.assumptions.clone(),
    };
    let cost = Cost {
        assumptions: options.assumptions.clone(),
    };
    let planned = ipucc_passes::partition(
        &module,
        &catalog,
        &cost,
        &ipucc_passes::Options { chip: options.chip },
    )
    .map_err(|error| error.to_string())?;
    let mut compiled = compile_program(planned.program, options)?;
    compiled.package.map.tensor_text = text::print(&without_data(&module));
    Ok(Model {
        module,
        plan: planned.log,
        compiled,
    })
}

/// Reads the text of a tile program.
///
/// # Errors
/// A rendered message with every fault.
pub fn read_program(path: &Path, bytes: &[u8]) -> Result<Program, String> {
    let name = path.display();
    let source = std::str::from_utf8(bytes)
        .map_err(|error| format!("error: {name}: not text at byte {}", error.valid_up_to()))?;
    ipucc_tile::text::parse(source)
        .map_err(|faults| text::render(&name.to_string(), source, &faults))
}

/// True for files that hold tile programs.
pub fn is_program(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "tile")
}

/// Compiles a tile program.
///
/// # Errors
/// What stands against it, in words.
pub fn compile_program(program: Program, options: &Options) -> Result<Compiled, String> {
    // Weight bytes appear here and not before: the package writer runs the weight programs.
    let programs: Vec<(&String, &ipucc_tile::WeightProgram)> = program.weights.iter().collect();
    let weights: IndexMap<String, Vec<u8>> = programs
        .par_iter()
        .map(|(name, program)| {
            let results = interp::eval(&program.module, &IndexMap::new())
                .map_err(|error| format!("stored weight `{name}`: {error}"))?;
            let data = results
                .into_values()
                .next()
                .map(|tensor| tensor.data)
                .unwrap_or_default();
            Ok(((*name).clone(), data))
        })
        .collect::<Result<Vec<_>, String>>()?
        .into_iter()
        .collect();
    let options = backend::Options {
        abstain: options.abstain,
        assumptions: options.assumptions.clone(),
        observe: options.observe,
    };
    backend::compile(program, &weights, &options).map_err(|error| error.to_string())
}

/// The module without the bytes of its weights: what a package keeps for reports.
fn without_data(module: &Module) -> Module {
    let mut module = module.clone();
    for weight in module.weights.values_mut() {
        if let ipucc_tensor::WeightSource::Dense(_) = weight.source {
            let size = weight.ty.element.bytes() as usize;
            weight.source = ipucc_tensor::WeightSource::Splat(vec![0; size]);
        }
    }
    module
}
