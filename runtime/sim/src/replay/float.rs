//! `float.jsonl`: aux-lane instructions on numbers, and rules that are seen through them
//! (`isa/float.md` 15).

use super::bench::{Bench, Form, Placed, find, place, raised};
use super::{
    Differences, Outcome, ReplayError, Report, exception_name, flags, hex, hex_or_nan, lines, list,
    number_of, numbered, text_of, words,
};
use crate::arith::prng::Prng;
use crate::worker::{ESR, NANOO};
use ipucc_chip::Assumptions;
use ipucc_chip::exception::Exception;
use ipucc_machine::Lane;
use serde_json::Value;

/// Destinations hold this before an instruction.
const UNTOUCHED: u32 = 0xa5a5_a5a5;

/// Replays the lines of a file.
///
/// # Errors
/// A line that is not of this format.
pub fn replay(text: &str, assumptions: &Assumptions) -> Result<Report, ReplayError> {
    let mut bench = Bench::new(assumptions).map_err(|message| ReplayError { line: 0, message })?;
    lines(text, assumptions, |line| case(&mut bench, line))
}

fn prng_of(value: &Value) -> Result<Option<Prng>, String> {
    let w = words(value, "PRNG")?;
    match w[..] {
        [] => Ok(None),
        [a, b, c, d] => Ok(Some(Prng {
            s0: u64::from(a) | u64::from(b) << 32,
            s1: u64::from(c) | u64::from(d) << 32,
        })),
        _ => Err("`PRNG` has not four words".into()),
    }
}

fn set_up(bench: &mut Bench, state: &Value) -> Result<(), String> {
    let w = &mut bench.worker;
    w.arf = [0; 32];
    w.acc = Default::default();
    for (i, v) in numbered(state, "AACC")? {
        w.acc.set(i, hex(v)?);
    }
    w.tas = state.get("TAS").map_or(Ok(0), hex)?;
    w.prng = prng_of(state)?.unwrap_or_default();
    w.fp_sts = flags(state, "STS")?;
    w.fp_ctl = flags(state, "EN")?;
    if number_of(state, "NANOO")? != 0 {
        w.fp_ctl |= NANOO;
    }
    if number_of(state, "ESR")? != 0 {
        w.fp_ctl |= ESR;
    }
    w.fp_nfmt = (number_of(state, "ARF_FMT")? as u32 & 1) << 1;
    w.fp_scl = number_of(state, "SCALE")? as u32 & 0x3f;
    w.repeat_count = 0;
    Ok(())
}

fn case(bench: &mut Bench, line: &Value) -> Result<Outcome, String> {
    let empty = Value::Null;
    let state = line.get("state").unwrap_or(&empty);
    set_up(bench, state)?;
    let op = text_of(line, "op")?;
    match op {
        "fn.advance" => return advance(bench, line),
        "fn.seed" => return seed(bench, line),
        "fn.sr_f16" => return rounded(bench, line, state, "f32tof16", true),
        "fn.sr_f8" => return rounded(bench, line, state, "f16v2tof8", false),
        _ => {}
    }
    let immediate = number_of(state, "IMM")? as u32;
    let (mnemonic, broadcast) = match op.split_once(':') {
        Some((mnemonic, broadcast)) => (mnemonic, Some(broadcast)),
        None => (op, None),
    };
    let placed = place(
        find(Form {
            mnemonic,
            lane: Lane::Aux,
            broadcast,
            immediate: Some("any"),
        })?,
        immediate,
    )?;
    let input = words(line, "in")?;
    execute(bench, line, state, &placed, &input)
}

/// Runs a placed instruction on input words and compares everything with the line.
fn execute(
    bench: &mut Bench,
    line: &Value,
    state: &Value,
    placed: &Placed,
    input: &[u32],
) -> Result<Outcome, String> {
    if input.len() != placed.sources.len() {
        return Err(format!(
            "`{}` has {} source words, the line {}",
            placed.inst,
            placed.sources.len(),
            input.len()
        ));
    }
    for &r in &placed.destinations {
        bench.worker.arf[r] = UNTOUCHED;
    }
    for (&r, &v) in placed.sources.iter().zip(input) {
        bench.worker.arf[r] = v;
    }
    let before = bench.worker.clone();
    let stop = bench.execute(&placed.inst)?;

    let empty = Value::Null;
    let after = line.get("after").unwrap_or(&empty);
    let mut d = Differences::default();
    let trap = after.get("trap").and_then(Value::as_str).unwrap_or("none");
    let found = raised(&stop).map_or("none", exception_name);
    d.text("trap", trap, found);
    compare_out(line, placed, bench, &mut d)?;
    let sts = flags(state, "STS")? | flags(line, "flags")?;
    d.word("FP_STS", Some(sts), bench.worker.fp_sts);
    let changed = numbered(after, "AACC")?;
    for i in 0..32 {
        let expected = match changed.iter().find(|(k, _)| *k == i) {
            Some((_, v)) => hex_or_nan(v)?,
            None => Some(before.acc.get(i)),
        };
        d.word(&format!("AACC{i}"), expected, bench.worker.acc.get(i));
    }
    let prng = prng_of(after)?.unwrap_or(before.prng);
    for i in 0..4 {
        d.word(
            &format!("PRNG{i}"),
            Some(prng.word(i)),
            bench.worker.prng.word(i),
        );
    }
    d.word("TAS", Some(before.tas), bench.worker.tas);
    Ok(d.outcome())
}

fn compare_out(
    line: &Value,
    placed: &Placed,
    bench: &Bench,
    d: &mut Differences,
) -> Result<(), String> {
    // an error bound of `ulp` admits whole codes up to floor(ulp + 0.5)
    let ulp = line.get("ulp").and_then(Value::as_f64).unwrap_or(0.0);
    let codes = (ulp + 0.5).floor() as u32;
    match line.get("out") {
        None | Some(Value::Null) => {
            for &r in &placed.destinations {
                d.word(&format!("a{r}"), Some(UNTOUCHED), bench.worker.arf[r]);
            }
        }
        Some(_) => {
            let out = list(line, "out")?;
            if out.len() != placed.destinations.len() {
                return Err(format!("`out` has {} words", out.len()));
            }
            for (&r, v) in placed.destinations.iter().zip(out) {
                let (expected, found) = (hex_or_nan(v)?, bench.worker.arf[r]);
                let halves = placed.inst.op.info().mnemonic.starts_with("f16v2") && codes > 0;
                if let (true, Some(e)) = (halves, expected) {
                    for shift in [0, 16] {
                        // a half's codes, put where the sign of a word is
                        let (e, f) = ((e >> shift) << 16, (found >> shift) << 16);
                        d.word_within(&format!("a{r}"), Some(e), f, codes << 16);
                    }
                } else {
                    d.word_within(&format!("a{r}"), expected, found, codes);
                }
            }
        }
    }
    Ok(())
}

fn place_named(mnemonic: &str) -> Result<Placed, String> {
    place(
        find(Form {
            mnemonic,
            lane: Lane::Aux,
            broadcast: None,
            immediate: Some("any"),
        })?,
        0,
    )
}

/// The state whose successor is `p`: one generator step undone.
fn previous(p: Prng) -> Prng {
    // next: s1' = rol(x, 36), s0' = rol(s0, 55) ^ x ^ (x << 14) with x = s0 ^ s1
    let x = p.s1.rotate_right(36);
    let s0 = (p.s0 ^ x ^ (x << 14)).rotate_right(55);
    Prng { s0, s1: x ^ s0 }
}

/// `fn.advance`: R0 is the output of `urand64`. R1 is the output of the state one step on: two
/// steps after the state before this one, which one more `urand64` therefore reaches.
fn advance(bench: &mut Bench, line: &Value) -> Result<Outcome, String> {
    let urand = place_named("urand64")?;
    let start = bench.worker.prng;
    let mut d = Differences::default();
    let mut found = Vec::new();
    for warm_up in [false, true] {
        if warm_up {
            bench.worker.prng = previous(start);
            bench.execute(&urand.inst)?;
        }
        bench.execute(&urand.inst)?;
        found.extend(urand.destinations.iter().map(|&r| bench.worker.arf[r]));
        if !warm_up {
            let empty = Value::Null;
            let after = prng_of(line.get("after").unwrap_or(&empty))?.unwrap_or(start);
            for i in 0..4 {
                let found = bench.worker.prng.word(i);
                d.word(&format!("PRNG{i}"), Some(after.word(i)), found);
            }
        }
    }
    for (i, (e, f)) in words(line, "out")?.into_iter().zip(found).enumerate() {
        d.word(&format!("R word {i}"), Some(e), f);
    }
    Ok(d.outcome())
}

/// `fn.seed`: a write to `$PRNG_SEED`, the four words read back by `uget`.
fn seed(bench: &mut Bench, line: &Value) -> Result<Outcome, String> {
    let input = words(line, "in")?;
    bench.worker.arf[0] = *input.first().ok_or("`in` is empty")?;
    bench.execute_at("uput $PRNG_SEED, $a0", super::bench::CODE)?;
    let mut d = Differences::default();
    for (i, e) in words(line, "out")?.into_iter().enumerate() {
        let name = ["$PRNG_0_0", "$PRNG_0_1", "$PRNG_1_0", "$PRNG_1_1"][i & 3];
        bench.execute_at(&format!("uget $a1, {name}"), super::bench::CODE)?;
        d.word(name, Some(e), bench.worker.arf[1]);
    }
    Ok(d.outcome())
}

/// A generator state whose draw begins with this noise: with s1 = 0 the first output is s0, so
/// its low bits are free to choose and the rest is searched for the low bits of the second.
fn state_with_noise(low: u64, low_bits: u32, high: u64, high_bits: u32) -> Option<Prng> {
    let mask = (1u64 << high_bits) - 1;
    (0..1u64 << 16).find_map(|k| {
        let p = Prng {
            s0: low | k.wrapping_mul(0x9e37_79b9_7f4a_7c15) << low_bits,
            s1: 0,
        };
        let draw = { p }.advance();
        (draw.r1 & mask == high && draw.r0 & ((1 << low_bits) - 1) == low).then_some(p)
    })
}

/// `fn.sr_f16` and `fn.sr_f8`: the conversion with ESR set, and a generator state that gives
/// the line's noise.
fn rounded(
    bench: &mut Bench,
    line: &Value,
    state: &Value,
    mnemonic: &str,
    to_half: bool,
) -> Result<Outcome, String> {
    let placed = place_named(mnemonic)?;
    let input = words(line, "in")?;
    let &[value, noise] = &input[..] else {
        return Err("`in` has not two words".into());
    };
    let noise = u64::from(noise);
    let prng = if to_half {
        state_with_noise(noise & 0xffff, 16, noise >> 16, 8)
    } else {
        state_with_noise(noise & 0xff, 8, noise >> 8, 3)
    };
    bench.worker.prng = prng.ok_or("no generator state has this noise")?;
    bench.worker.fp_ctl |= ESR;
    bench.worker.arf[placed.sources[0]] = value;
    let stop = bench.execute(&placed.inst)?;
    let mut d = Differences::default();
    if let Some(e) = raised(&stop).filter(|&e| e != Exception::None) {
        d.text("trap", "none", exception_name(e));
    }
    // one element: the result stands in every field, compare the lowest
    let mask = if to_half { 0xffff } else { 0xff };
    let out = words(line, "out")?;
    let found = bench.worker.arf[placed.destinations[0]] & mask;
    d.word("out", Some(*out.first().ok_or("`out` is empty")?), found);
    let sts = flags(state, "STS")? | flags(line, "flags")?;
    d.word("FP_STS", Some(sts), bench.worker.fp_sts);
    Ok(d.outcome())
}
