//! `amp.jsonl`: sequences of matrix-unit instructions (`isa/amp.md` 13).

use super::bench::{Bench, Form, Placed, find, place, raised};
use super::{
    Differences, Outcome, ReplayError, Report, exception_name, hex, hex_or_nan, lines, list,
    number_of, numbered, text_of, words,
};
use ipucc_chip::Assumptions;
use ipucc_chip::assumptions::AmpImmLayout;
use ipucc_machine::Lane;
use serde_json::Value;

/// Destinations hold this before an instruction.
const UNTOUCHED: u32 = 0x5a5a_5a5a;

/// Replays the lines of a file.
///
/// # Errors
/// A line that is not of this format.
pub fn replay(text: &str, assumptions: &Assumptions) -> Result<Report, ReplayError> {
    let mut bench = Bench::new(assumptions).map_err(|message| ReplayError { line: 0, message })?;
    let inner = assumptions.get("dot_inner").unwrap_or_default();
    lines(text, assumptions, |line| {
        let models = list(line, "dot_inner")?;
        if !models.is_empty() && !models.iter().any(|m| m.as_str() == Some(&inner)) {
            return Ok(Outcome::Skipped("dot_inner".into()));
        }
        case(&mut bench, line, assumptions)
    })
}

/// The immediate of a step (assumption `amp_imm_layout`).
fn immediate(op: &str, step: &Value, layout: AmpImmLayout) -> Result<u32, String> {
    let field = |name: &str| number_of(step, name).map(|v| v as u32);
    let (ph, ee, wid) = (field("ph")?, field("ee")?, field("wid")?);
    let low = layout == AmpImmLayout::EngineLow;
    // (field, width) from bit 0 up, the engines apart
    let fields: &[(u32, u32)] = match (op.ends_with("amp"), op.starts_with("f32")) {
        (true, false) => &[(ph, 2)],
        (true, true) => &[(ph, 3)],
        (false, _) if !op.ends_with("slic") => return Ok(ph & 1),
        (false, false) => &[(wid, 2)],
        (false, true) => &[(ph, 1), (wid, 2)],
    };
    let (mut value, mut at) = (0, if low { 2 } else { 0 });
    for (field, width) in fields {
        value |= field << at;
        at += width;
    }
    Ok(value | ee << if low { 0 } else { at })
}

fn placed_step(op: &str, immediate: u32) -> Result<Placed, String> {
    place(
        find(Form {
            mnemonic: op,
            lane: Lane::Aux,
            broadcast: None,
            immediate: Some("any"),
        })?,
        immediate,
    )
}

fn case(bench: &mut Bench, line: &Value, assumptions: &Assumptions) -> Result<Outcome, String> {
    let word = |name: &str| line.get(name).map_or(Ok(0), hex);
    bench.shared.clear_weights();
    for (i, v) in numbered(line, "cwei")? {
        let text = v.as_str().ok_or("a weight is not a string")?;
        let value = u64::from_str_radix(text, 16).map_err(|_| format!("bad weight `{text}`"))?;
        bench.shared.set_weight(i, value);
    }
    let w = &mut bench.worker;
    w.arf = [0; 32];
    w.fp_ctl = word("fp_ctl")?;
    w.fp_nfmt = number_of(line, "fp_nfmt")? as u32 & 3;
    w.fp_scl = number_of(line, "fp_scl")? as u32 & 0x3f;
    w.fp_sts = number_of(line, "fp_sts_in")? as u32;
    w.tas = word("tas_in")?;
    w.prng = Default::default();
    for (i, v) in words(line, "aacc_in")?.into_iter().enumerate() {
        w.acc.set(i % 32, v);
    }
    let mut d = Differences::default();
    for (n, step) in list(line, "steps")?.iter().enumerate() {
        let op = text_of(step, "op")?;
        let placed = placed_step(op, immediate(op, step, assumptions.amp_imm_layout)?)?;
        let mut input = words(step, "src0")?;
        input.extend(words(step, "src1")?);
        if input.len() != placed.sources.len() {
            return Err(format!(
                "step {n}: `{}` has {} source words",
                placed.inst,
                placed.sources.len()
            ));
        }
        for &r in &placed.destinations {
            bench.worker.arf[r] = UNTOUCHED;
        }
        for (&r, &v) in placed.sources.iter().zip(&input) {
            bench.worker.arf[r] = v;
        }
        let stop = bench.execute(&placed.inst)?;
        let what = |name: &str| format!("step {n} {name}");
        let exception = step.get("exc").and_then(Value::as_str).unwrap_or("none");
        let found = raised(&stop).map_or("none", exception_name);
        d.text(&what("exc"), exception, found);
        d.word(
            &what("FP_STS"),
            Some(number_of(step, "fp_sts")? as u32),
            bench.worker.fp_sts,
        );
        let dst = list(step, "dst")?;
        for (i, &r) in placed.destinations.iter().enumerate() {
            let expected = match dst.get(i) {
                Some(v) => hex_or_nan(v)?,
                None => Some(UNTOUCHED),
            };
            d.word(&what(&format!("dst{i}")), expected, bench.worker.arf[r]);
        }
    }
    for (i, v) in list(line, "aacc_out")?.iter().enumerate() {
        d.word(
            &format!("AACC{i}"),
            hex_or_nan(v)?,
            bench.worker.acc.get(i % 32),
        );
    }
    let tas = line.get("tas_out").map_or(Ok(None), hex_or_nan)?;
    d.word("TAS", tas, bench.worker.tas);
    d.word(
        "FP_STS",
        Some(number_of(line, "fp_sts_out")? as u32),
        bench.worker.fp_sts,
    );
    Ok(d.outcome())
}
