//! Definitions: values, bindings and weights.

use super::VerifyError;
use crate::{LayoutKind, Program, Role, ValueData};
use ipucc_chip::{LogicalTile, memory};
use ipucc_tensor::TensorType;

/// What is wrong with the definitions of a program: values, bindings, weights. Only programs
/// without such errors can be walked at all.
pub fn well_formed(program: &Program) -> Vec<VerifyError> {
    let mut errors = Vec::new();
    for data in program.values.values() {
        if let Err(reason) = value(data, program) {
            errors.push(VerifyError::Definition {
                value: data.name.clone(),
                reason,
            });
        }
    }
    if !errors.is_empty() {
        return errors;
    }
    for (bindings, input) in [(&program.inputs, true), (&program.outputs, false)] {
        for (name, binding) in bindings {
            let mut bad = |reason: &str| {
                errors.push(VerifyError::Definition {
                    value: name.clone(),
                    reason: reason.to_owned(),
                });
            };
            let Some(data) = program.values.get(binding.value) else {
                bad("the bound value does not exist");
                continue;
            };
            let count = |shape: &[u32]| shape.iter().map(|&e| u64::from(e)).product::<u64>();
            if count(&binding.shape) != count(&data.shape) {
                bad("the binding and its value differ in the number of elements");
            }
            let fits = match &data.role {
                Role::Input(bound) => input && bound == name,
                Role::Output(bound) => !input && bound == name,
                Role::Temporary | Role::Weight(_) => false,
            };
            if !fits {
                bad("the bound value has another role");
            }
        }
    }
    for data in program.values.values() {
        let reason = match &data.role {
            Role::Input(name) if !program.inputs.contains_key(name) => "has no binding",
            Role::Output(name) if !program.outputs.contains_key(name) => "has no binding",
            Role::Weight(name) => match weight(program, name, data) {
                Some(reason) => reason,
                None => continue,
            },
            _ => continue,
        };
        errors.push(VerifyError::Definition {
            value: data.name.clone(),
            reason: reason.to_owned(),
        });
    }
    errors
}

/// What is wrong with the program of a stored weight.
fn weight(program: &Program, name: &str, data: &ValueData) -> Option<&'static str> {
    let Some(weight) = program.weights.get(name) else {
        return Some("the weight has no program");
    };
    let function = weight.module.entry();
    let result = function.and_then(|function| {
        let port = function.results.first()?;
        (function.params.is_empty() && function.results.len() == 1)
            .then(|| function.ty(port.value).clone())
    });
    match result {
        None => Some("the program of the weight takes something or returns not one tensor"),
        Some(ty) if ty != TensorType::new(data.element, data.shape.iter().copied()) => {
            Some("the program of the weight returns another type")
        }
        Some(_) => None,
    }
}

fn value(data: &ValueData, program: &Program) -> Result<(), String> {
    let rank = data.shape.len();
    let distribution = &data.distribution;
    if distribution.cuts.len() != rank
        || distribution
            .cuts
            .iter()
            .any(|cut| cut.parts == 0 || cut.granule == 0)
    {
        return Err("one cut per axis is needed, with parts and granule of at least 1".into());
    }
    let points = distribution
        .cuts
        .iter()
        .try_fold(u64::from(distribution.replicas), |n, cut| {
            n.checked_mul(cut.parts.into())
        });
    if distribution.replicas == 0 || points != Some(distribution.tiles.len() as u64) {
        return Err("a grid has as many tiles as points times copies".into());
    }
    let mut tiles: Vec<LogicalTile> = distribution.tiles.clone();
    tiles.sort_unstable_by_key(|tile| tile.0);
    if tiles.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err("a tile holds at most one shard of a value".into());
    }
    if let Some(tile) = tiles.last().filter(|tile| tile.0 >= program.tiles) {
        return Err(format!(
            "tile {}: the program has tiles 0..{}",
            tile.0, program.tiles
        ));
    }
    let mut order: Vec<u8> = data.layout.order.to_vec();
    order.sort_unstable();
    let permutation = order
        .iter()
        .enumerate()
        .all(|(i, &axis)| usize::from(axis) == i);
    let (size, least) = match data.layout.kind {
        LayoutKind::Row { pitch } => (pitch, 0),
        LayoutKind::AmpLhs { panel } | LayoutKind::AmpRhs { panel } => (panel, 2),
    };
    if order.len() != rank || !permutation || size == 0 || rank < least {
        return Err("the layout does not fit the shape".into());
    }
    if data.align_bytes < 8 || !data.align_bytes.is_power_of_two() {
        return Err("the alignment is a power of two of at least 8 bytes".into());
    }
    // Sizes in u64 saturate nowhere: extents are u32, ranks small, and what is large is refused.
    let (_, high) = distribution.box_of(&data.shape, 0);
    let elements = high
        .iter()
        .try_fold(1u64, |n, &extent| n.checked_mul(extent.max(1).into()));
    let room = u64::from(memory::SIZE);
    if elements.is_none_or(|n| n > room)
        || size > memory::SIZE
        || data.layout.elements(&high) * u64::from(data.element.bytes()) > room
    {
        return Err(format!("a shard is larger than a tile's {room} bytes"));
    }
    Ok(())
}
