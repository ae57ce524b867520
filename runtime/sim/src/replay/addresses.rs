//! `addresses.jsonl`: loads and stores with packed pointers and deltas (`isa/ops_memory.md` 7).

use super::bench::{Bench, raised};
use super::{
    Differences, Outcome, ReplayError, Report, exception_name, hex, lines, list, numbered, text_of,
};
use ipucc_chip::Assumptions;
use ipucc_chip::memory::{BASE, END};
use serde_json::Value;

/// Word that every line finds at address `x`.
fn pattern(x: u32) -> u32 {
    x.wrapping_mul(0x9e37_79b1).wrapping_add(0x7f4a_7c15)
}

/// Replays the lines of a file.
///
/// # Errors
/// A line that is not of this format.
pub fn replay(text: &str, assumptions: &Assumptions) -> Result<Report, ReplayError> {
    let mut bench = Bench::new(assumptions).map_err(|message| ReplayError { line: 0, message })?;
    lines(text, assumptions, |line| case(&mut bench, line))
}

fn case(bench: &mut Bench, line: &Value) -> Result<Outcome, String> {
    let mut mem = bench.memory();
    for x in (BASE..END).step_by(4) {
        mem.write(x, &pattern(x).to_le_bytes());
    }
    let w = &mut bench.worker;
    w.mrf = [0; 32];
    w.arf = [0; 32];
    w.fp_sts = 2;
    for (r, v) in numbered(line, "m")? {
        w.mrf[r % 16] = hex(v)?;
    }
    for (r, v) in numbered(line, "a")? {
        w.arf[r % 16] = hex(v)?;
    }
    w.repeat_count = 0;
    let pc = hex(line.get("pc").ok_or("no `pc`")?)?;
    let mut text = text_of(line, "asm")?.to_owned();
    if let [first, end] = list(line, "repeat")? {
        // the last pass but one of a body, which holds bundles only
        w.repeat_count = 2;
        w.repeat_first = hex(first)?;
        w.repeat_end = hex(end)?;
        text = format!("{{ {text} ; fnop }}");
    }
    let before = w.clone();
    let stop = bench.execute_at(&text, pc)?;
    let code = pc..pc + 8;

    let mut d = Differences::default();
    let fault = line.get("fault").and_then(Value::as_str).unwrap_or("none");
    d.text("fault", fault, raised(&stop).map_or("none", exception_name));
    for (file, before, found, field) in [
        ("m", &before.mrf, &bench.worker.mrf, "m_after"),
        ("a", &before.arf, &bench.worker.arf, "a_after"),
    ] {
        let changed = numbered(line, field)?;
        for r in 0..12 {
            let expected = match changed.iter().find(|(k, _)| *k == r) {
                Some((_, v)) => hex(v)?,
                None => before[r],
            };
            d.word(&format!("{file}{r}"), Some(expected), found[r]);
        }
    }
    d.word("FP_STS", Some(2), bench.worker.fp_sts);
    // what a store of a faulting instruction leaves is `store_on_exception`, not the line's
    if fault == "none" {
        let mut stored = Vec::new();
        if let [at, data @ ..] = list(line, "st")? {
            let at = hex(at)?;
            for (i, v) in data.iter().enumerate() {
                stored.push((at + 4 * i as u32, hex(v)?));
            }
        }
        let mem = bench.memory();
        for x in (BASE..END).step_by(4).filter(|x| !code.contains(x)) {
            let expected = match stored.iter().find(|(a, _)| *a == x) {
                Some(&(_, v)) => v,
                None => pattern(x),
            };
            let found = mem.word(x).unwrap_or(0);
            if found != expected {
                d.word(&format!("[{x:#x}]"), Some(expected), found);
            }
        }
        for access in list(line, "touch")? {
            // reads show in the data; a write must be where the line says
            if let [kind, at, _] = access.as_array().map_or(&[][..], Vec::as_slice)
                && kind.as_str() == Some("w")
            {
                let at = hex(at)?;
                let first = stored.first().map_or(0, |s| s.0);
                d.word("store address", Some(at), first);
            }
        }
    }
    Ok(d.outcome())
}
