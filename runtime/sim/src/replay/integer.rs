//! `integer.jsonl`: integer and bit instructions of both lanes (`isa/ops_f32_int.md` 8.1).

use super::bench::{Bench, Form, find, place, raised};
use super::{
    Differences, Outcome, ReplayError, Report, exception_name, hex, lines, text_of, words,
};
use crate::arith::prng::Prng;
use ipucc_chip::Assumptions;
use ipucc_machine::Lane;
use serde_json::Value;

/// Replays the lines of a file.
///
/// # Errors
/// A line that is not of this format.
pub fn replay(text: &str, assumptions: &Assumptions) -> Result<Report, ReplayError> {
    let mut bench = Bench::new(assumptions).map_err(|message| ReplayError { line: 0, message })?;
    lines(text, assumptions, |line| case(&mut bench, line))
}

fn prng(words: &[u32]) -> Prng {
    let mut p = Prng::default();
    for (i, &w) in words.iter().take(4).enumerate() {
        p.set_word(i as u32, w);
    }
    p
}

fn case(bench: &mut Bench, line: &Value) -> Result<Outcome, String> {
    let op = text_of(line, "op")?;
    let (mnemonic, broadcast) = match op.split_once(':') {
        Some((mnemonic, broadcast)) => (mnemonic, Some(broadcast)),
        None => (op, None),
    };
    let lane = match text_of(line, "lane")? {
        "m" => Lane::Main,
        _ => Lane::Aux,
    };
    let immediate = match text_of(line, "form")? {
        "reg" => None,
        other => Some(other),
    };
    let value = match line.get("imm") {
        None => 0,
        Some(v) => v.as_i64().ok_or("`imm` is not an integer")? as u32,
    };
    let placed = place(
        find(Form {
            mnemonic,
            lane,
            broadcast,
            immediate,
        })?,
        value,
    )?;
    let input = words(line, "in")?;
    if input.len() != placed.sources.len() {
        return Err(format!(
            "`{}` has {} source words, the line {}",
            placed.inst,
            placed.sources.len(),
            input.len()
        ));
    }
    let empty = Value::Null;
    let before = words(line.get("state").unwrap_or(&empty), "PRNG")?;
    let after = words(line.get("after").unwrap_or(&empty), "PRNG")?;
    let w = &mut bench.worker;
    w.prng = prng(&before);
    // sticky flags must survive
    w.fp_sts = 5;
    w.fp_ctl = 7;
    let file = if lane == Lane::Main {
        &mut w.mrf
    } else {
        &mut w.arf
    };
    file[..12].fill(0);
    if let Some(old) = line.get("old") {
        file[placed.destinations[0]] = hex(old)?;
    }
    for (&r, &v) in placed.sources.iter().zip(&input) {
        file[r] = v;
    }
    let stop = bench.execute(&placed.inst)?;
    let w = &bench.worker;
    let file = if lane == Lane::Main { &w.mrf } else { &w.arf };
    let mut d = Differences::default();
    d.text("trap", "none", raised(&stop).map_or("none", exception_name));
    for (&r, e) in placed.destinations.iter().zip(words(line, "out")?) {
        d.word(&format!("r{r}"), Some(e), file[r]);
    }
    let expected = if after.is_empty() { &before } else { &after };
    for i in 0..4 {
        let e = prng(expected).word(i);
        d.word(&format!("PRNG{i}"), Some(e), w.prng.word(i));
    }
    d.word("FP_STS", Some(5), w.fp_sts);
    Ok(d.outcome())
}
