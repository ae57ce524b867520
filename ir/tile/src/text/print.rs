//! Printing.

use super::lex::quoted;
use crate::kernel::Kernel;
use crate::{
    Call, HostDirection, LayoutKind, MemoryClass, Padding, Program, Role, Run, Step, ValueData,
};
use ipucc_chip::LogicalTile;
use std::fmt::Write as _;

/// The text of a program; parsing it gives the same program.
pub fn print(program: &Program) -> String {
    let mut out = format!("tile {} on {} {{\n", quoted(&program.name), program.tiles);
    for (value, data) in &program.values {
        let head = head(data, program.tiles);
        let _ = writeln!(out, "  value %{value} {} : {head}", quoted(&data.name));
        let _ = writeln!(out, "    {}", rest(data));
    }
    for (name, weight) in &program.weights {
        let _ = writeln!(out, "  weight {} {{", quoted(name));
        for line in ipucc_tensor::text::print(&weight.module).lines() {
            let _ = writeln!(out, "    {line}");
        }
        out.push_str("  }\n");
    }
    for (word, bindings) in [("input", &program.inputs), ("output", &program.outputs)] {
        for (name, binding) in bindings {
            let _ = writeln!(
                out,
                "  {word} {} = %{} : {} [{}]",
                quoted(name),
                binding.value,
                binding.host,
                joined(&binding.shape)
            );
        }
    }
    steps(&program.steps, 1, program.tiles, &mut out);
    out.push_str("}\n");
    out
}

fn joined(numbers: &[u32]) -> String {
    let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// Type and distribution.
fn head(data: &ValueData, limit: u16) -> String {
    let mut ty = String::new();
    for extent in &data.shape {
        let _ = write!(ty, "{extent}x");
    }
    let cuts: Vec<String> = data
        .distribution
        .cuts
        .iter()
        .map(|cut| format!("{}/{}", cut.parts, cut.granule))
        .collect();
    format!(
        "{ty}{} cuts [{}] copies {} tiles [{}]",
        data.element,
        cuts.join(", "),
        data.distribution.replicas,
        tiles(data.distribution.tiles.iter().copied(), limit)
    )
}

/// Layout, place in memory, role and origin.
fn rest(data: &ValueData) -> String {
    let kind = match data.layout.kind {
        LayoutKind::Row { pitch } => format!("row({pitch})"),
        LayoutKind::AmpLhs { panel } => format!("amp_lhs({panel})"),
        LayoutKind::AmpRhs { panel } => format!("amp_rhs({panel})"),
    };
    let order: Vec<u32> = data.layout.order.iter().map(|&axis| axis.into()).collect();
    let memory = match data.memory {
        MemoryClass::Any => "any",
        MemoryClass::Interleaved => "interleaved",
    };
    let padding = match data.padding {
        Padding::Zero => "zero",
        Padding::Anything => "anything",
    };
    let role = match &data.role {
        Role::Temporary => "temporary".to_owned(),
        Role::Input(name) => format!("input {}", quoted(name)),
        Role::Output(name) => format!("output {}", quoted(name)),
        Role::Weight(name) => format!("weight {}", quoted(name)),
    };
    let mut out = format!(
        "layout {kind} order [{}] memory {memory} align {} tail {} padding {padding} {role}",
        joined(&order),
        data.align_bytes,
        data.tail_bytes
    );
    if let Some(tensor) = &data.tensor {
        let _ = write!(out, " tensor {}", quoted(tensor));
    }
    if let Some(origin) = &data.origin {
        let _ = write!(out, " from {}", quoted(origin));
    }
    out
}

/// Tiles in order, as arithmetic progressions: `3`, `0..8`, `0..64 by 4`. `limit` is the number of
/// tiles of the program.
fn tiles(list: impl Iterator<Item = LogicalTile>, limit: u16) -> String {
    let list: Vec<i64> = list.map(|tile| tile.0.into()).collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < list.len() {
        let step = list.get(at + 1).map_or(0, |next| next - list[at]);
        let mut count = 1;
        if step > 0 {
            while list.get(at + count) == Some(&(list[at] + step * count as i64)) {
                count += 1;
            }
        }
        // Two that are apart read better one by one.
        if count < 2 || (count == 2 && step != 1) {
            parts.push(list[at].to_string());
            at += 1;
            continue;
        }
        let last = list[at + count - 1];
        let end = (last + step).min(limit.into()).max(last + 1);
        parts.push(match step {
            1 => format!("{}..{end}", list[at]),
            _ => format!("{}..{end} by {step}", list[at]),
        });
        at += count;
    }
    parts.join(", ")
}

fn steps(list: &[Step], depth: usize, limit: u16, out: &mut String) {
    let indent = "  ".repeat(depth);
    for step in list {
        match step {
            Step::Compute(compute) => {
                let _ = writeln!(out, "{indent}compute {} {{", quoted(&compute.label));
                for call in &compute.calls {
                    let _ = writeln!(out, "{indent}  {}", call_text(call, limit));
                }
                let _ = writeln!(out, "{indent}}}");
            }
            Step::Exchange(exchange) => {
                let _ = writeln!(out, "{indent}exchange {} {{", quoted(&exchange.label));
                for transfer in &exchange.transfers {
                    let _ = writeln!(
                        out,
                        "{indent}  %{} -> %{} {{",
                        transfer.source, transfer.destination
                    );
                    for run in &transfer.runs {
                        let _ = writeln!(out, "{indent}    {}", run_text(run));
                    }
                    let _ = writeln!(out, "{indent}  }}");
                }
                let _ = writeln!(out, "{indent}}}");
            }
            Step::Host(host) => {
                let direction = match host.direction {
                    HostDirection::In => "in",
                    HostDirection::Out => "out",
                };
                let values: Vec<String> = host.values.iter().map(|v| format!("%{v}")).collect();
                let _ = writeln!(out, "{indent}host {direction} [{}]", values.join(", "));
            }
            Step::Repeat(repeat) => {
                let _ = writeln!(
                    out,
                    "{indent}repeat {} times {} {{",
                    quoted(&repeat.label),
                    repeat.count
                );
                for (before, after) in &repeat.carried {
                    let _ = writeln!(out, "{indent}  carried %{before} = %{after}");
                }
                for strided in &repeat.strided {
                    let values: Vec<String> =
                        strided.iterations.iter().map(|v| format!("%{v}")).collect();
                    let _ = writeln!(
                        out,
                        "{indent}  strided %{} = [{}]",
                        strided.body,
                        values.join(", ")
                    );
                }
                steps(&repeat.body, depth + 1, limit, out);
                let _ = writeln!(out, "{indent}}}");
            }
        }
    }
}

fn call_text(call: &Call, limit: u16) -> String {
    let operands: Vec<String> = call
        .operands
        .iter()
        .map(|operand| match operand.offset_bytes {
            0 => format!("%{}", operand.value),
            offset => format!("%{}+{offset}", operand.value),
        })
        .collect();
    format!(
        "tiles [{}] {} ({})",
        tiles(call.tiles.iter(), limit),
        kernel_text(&call.kernel),
        operands.join(", ")
    )
}

/// RON without spaces; the fields of a variant's struct stand in its own parentheses.
fn kernel_text(kernel: &Kernel) -> String {
    // Kernels are plain data: nothing in them can fail to be written.
    super::parse::ron_options()
        .to_string(kernel)
        .unwrap_or_default()
}

fn run_text(run: &Run) -> String {
    let mut out = format!(
        "{} words {}@{} ->",
        run.words, run.source.tile.0, run.source.word
    );
    for destination in &run.destinations {
        let _ = write!(out, " {}@{}", destination.tile.0, destination.word);
    }
    if !run.dims.is_empty() {
        let dims: Vec<String> = run
            .dims
            .iter()
            .map(|dim| {
                format!(
                    "{}: {}, {}, {}, {}",
                    dim.count,
                    dim.source_words,
                    dim.destination_words,
                    dim.source_tiles,
                    dim.destination_tiles
                )
            })
            .collect();
        let _ = write!(out, " times [{}]", dims.join("; "));
    }
    out
}
