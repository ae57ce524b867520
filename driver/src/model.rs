//! Models: reading them, and the way from a tensor module to a package.

use crate::backend::{self, Compiled};
use crate::names::name_steps;
use crate::onnx;
use crate::stage::{Stage, UNWATCHED, Watch};
use indexmap::IndexMap;
use ipucc_chip::{Assumptions, Chip, ScalarType};
use ipucc_codegen::Catalog;
use ipucc_passes::simplify::Simplify;
use ipucc_passes::{PASSES, PlanEntry, Precision, expand, precision};
use ipucc_schedule::Cost;
use ipucc_tensor::interp::EvalError;
use ipucc_tensor::{Module, Op, interp, text};
use ipucc_tile::Program;
use ipucc_tile::schedule::AbstainMode;
use ipucc_tile::sram::Problems;
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
    /// What floats are computed in.
    pub precision: Precision,
    /// What the simplifier may do.
    pub simplify: Simplify,
    /// Say where the values inside the program can be read (`Compiled::observations`).
    pub observe: bool,
    /// Text of the model's file if it is text: names of steps say the line.
    pub text: Option<String>,
}

impl Options {
    /// The default options for a chip.
    pub fn new(chip: Chip) -> Options {
        Options {
            chip,
            abstain: AbstainMode::default(),
            assumptions: Assumptions::default(),
            precision: Precision::default(),
            simplify: Simplify {
                tiles: u32::from(chip.tiles()),
                ..Simplify::default()
            },
            observe: false,
            text: None,
        }
    }
}

/// A compiled model.
#[derive(Clone, PartialEq, Debug)]
pub struct Model {
    /// The module in the precision that was asked for: what the program has to compute.
    pub source: Module,
    /// What that precision did to the weights.
    pub conversions: Vec<Conversion>,
    /// The module after the tensor passes.
    pub module: Module,
    /// What the planner decided.
    pub plan: Vec<PlanEntry>,
    /// The package and what led to it.
    pub compiled: Compiled,
}

/// What converting a weight to another float type did.
#[derive(Clone, PartialEq, Debug)]
pub struct Conversion {
    /// The weight.
    pub weight: String,
    /// The type that it is computed in.
    pub element: ScalarType,
    /// Its number of elements.
    pub elements: usize,
    /// Largest difference between an element and what it became, those that saturated left out.
    pub largest_error: f32,
    /// Elements beyond the largest number of the type.
    pub saturated: usize,
}

/// Every weight that a module converts to a float type as it is.
fn conversions(module: &Module) -> Result<Vec<Conversion>, EvalError> {
    let Some(function) = module.entry() else {
        return Ok(Vec::new());
    };
    let mut found: IndexMap<(String, ScalarType), Conversion> = IndexMap::new();
    for &inst in &function.body {
        let data = &function.insts[inst];
        let Op::Convert(element) = data.op else {
            continue;
        };
        let operand = function.def(data.operands[0]);
        let Some(Op::Weight(name)) = operand.map(|inner| &function.insts[inner].op) else {
            continue;
        };
        let key = (name.clone(), element);
        if found.contains_key(&key) {
            continue;
        }
        let stored = interp::weight(module, name)?;
        let became = interp::eval_op(&data.op, &[&stored], function.ty(data.results[0]));
        let pairs = stored.to_floats().into_iter().zip(became.to_floats());
        let most = element.largest();
        let mut conversion = Conversion {
            weight: name.clone(),
            element,
            elements: stored.ty.elements(),
            largest_error: 0.0,
            saturated: 0,
        };
        for (before, after) in pairs {
            if before.abs() > most {
                conversion.saturated += 1;
            } else {
                conversion.largest_error = conversion.largest_error.max((before - after).abs());
            }
        }
        found.insert(key, conversion);
    }
    Ok(found.into_values().collect())
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
pub fn optimize(
    module: Module,
    simplify: &Simplify,
    mut dump: impl FnMut(&str, &Module),
) -> Module {
    PASSES.iter().fold(module, |module, pass| {
        let next = (pass.run)(&module, simplify);
        dump(pass.name, &next);
        next
    })
}

/// A module on its way to tiles.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The module at its precision, before the tensor passes.
    pub source: Module,
    /// The module after the tensor passes.
    pub module: Module,
    /// What the planner decided.
    pub log: Vec<PlanEntry>,
    /// The tile program: no times, no addresses.
    pub program: Program,
}

/// Runs the tensor passes and the planner.
///
/// # Errors
/// The operations that have no plan.
pub fn plan(module: &Module, options: &Options) -> Result<Plan, String> {
    plan_watched(module, options, UNWATCHED)
}

fn plan_watched(module: &Module, options: &Options, watch: Watch) -> Result<Plan, String> {
    // Modules need not come from text: whoever builds one may build it wrong.
    let faults = ipucc_tensor::verify(module);
    if !faults.is_empty() {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        return Err(lines.join("\n"));
    }
    watch(Stage::Rewrite);
    let module = expand(module).map_err(|error| error.to_string())?;
    let source = precision(&module, &options.precision).map_err(|error| error.to_string())?;
    let module = optimize(source.clone(), &options.simplify, |_, _| {});
    watch(Stage::Plan);
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
    Ok(Plan {
        source,
        module,
        log: planned.log,
        program: planned.program,
    })
}

/// Compiles a module; `watch` is told of each stage.
///
/// # Errors
/// What stands against it, in words.
pub fn compile(module: &Module, options: &Options, watch: Watch) -> Result<Model, String> {
    let Plan {
        source,
        module,
        log,
        program,
    } = plan_watched(module, options, watch)?;
    let conversions = if options.precision.is_declared() {
        Vec::new()
    } else {
        conversions(&source).map_err(|error| error.to_string())?
    };
    let mut compiled = compile_program(program, options, watch)?;
    compiled.package.map.tensor_text = text::print(&without_data(&module));
    name_steps(&mut compiled.package.map, &module, options.text.as_deref());
    Ok(Model {
        source,
        conversions,
        module,
        plan: log,
        compiled,
    })
}

/// Reads the text of a tile program and verifies it.
///
/// # Errors
/// A rendered message with every fault.
pub fn read_program(path: &Path, bytes: &[u8]) -> Result<Program, String> {
    let name = path.display();
    let source = std::str::from_utf8(bytes)
        .map_err(|error| format!("error: {name}: not text at byte {}", error.valid_up_to()))?;
    let program = ipucc_tile::text::parse(source)
        .map_err(|faults| text::render(&name.to_string(), source, &faults))?;
    let faults = ipucc_tile::verify::verify(&program);
    if faults.is_empty() {
        return Ok(program);
    }
    let lines: Vec<String> = faults
        .iter()
        .map(|fault| format!("error: {name}: {fault}"))
        .collect();
    Err(lines.join("\n"))
}

/// True for files that hold tile programs.
pub fn is_program(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "tile")
}

/// Compiles a tile program; `watch` is told of each stage.
///
/// # Errors
/// What stands against it, in words.
pub fn compile_program(
    program: Program,
    options: &Options,
    watch: Watch,
) -> Result<Compiled, String> {
    watch(Stage::Weights);
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
    backend::compile(program, &weights, &backend_options(options), watch)
        .map_err(|error| error.to_string())
}

fn backend_options(options: &Options) -> backend::Options {
    backend::Options {
        abstain: options.abstain,
        assumptions: options.assumptions.clone(),
        observe: options.observe,
    }
}

/// The allocation problems of a tile program, whether or not they can be solved.
///
/// # Errors
/// What stands against it, in words.
pub fn problems(program: Program, options: &Options) -> Result<Problems, String> {
    backend::problems(program, &backend_options(options)).map_err(|error| error.to_string())
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
