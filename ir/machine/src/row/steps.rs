//! When each word of a row starts, ends and acts.

use super::RowError;
use crate::{Context, DecodeError, Group, Op};
use ipucc_chip::{Assumptions, csr};

/// One instruction of a row with its times in events.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// Index of its first word.
    pub word: usize,
    /// The instruction.
    pub group: Group,
    /// Event of its issue.
    pub start: u32,
    /// Event of the issue of the next instruction.
    pub end: u32,
    /// Event at which its PIC or XPIC controls act.
    pub effect: Option<u32>,
    /// Event in which the first item that it sends leaves.
    pub first_item: Option<u32>,
}

/// Times of all words of a row, counted from the first word and again from each `sync`, whose own
/// end is unknown and given as its start.
///
/// # Errors
/// A word that the supervisor cannot execute or that has no known time in a row.
pub fn steps(words: &[u32], assumptions: &Assumptions) -> Result<Vec<Step>, RowError> {
    let mut result = Vec::new();
    let (mut index, mut time) = (0, 0u32);
    while index < words.len() {
        let bad = |why: String| RowError::BadWord {
            index,
            word: words[index],
            why,
        };
        let (group, length) = Group::decode(&words[index..], Context::Supervisor)
            .map_err(|error: DecodeError| bad(error.to_string()))?;
        let (Group::Solo(inst) | Group::SendPicP(inst)) = group else {
            return Err(bad("a row holds no bundles".to_owned()));
        };
        let o = inst.operands;
        // Duration, event of the effect after the start, whether items are sent.
        let (events, effect, sends) = match inst.op {
            Op::DelayMmmnZi => (o[0] + 1, None, false),
            Op::DelayPic | Op::DelayXpic => (o[0] + 1, Some(o[0] + 1), false),
            Op::SendMmmnZi | Op::SendOff => (o[0] + 1, None, true),
            Op::SendPic => (o[0] + 1, Some(1), true),
            Op::SendPicP => {
                if !index.is_multiple_of(2) {
                    return Err(bad("`sendpicp` must stand at a multiple of 8".to_owned()));
                }
                (o[1] + 1, Some(1), o[3] & 3 != 0)
            }
            Op::SetziMmmnZi => (ipucc_chip::timing::ROW_SETZI, None, false),
            Op::PutMmmnZi if csr::EXCHANGE.contains(&(o[1] as u16)) => {
                (assumptions.sup_put_exch, None, false)
            }
            Op::PutMmmnZi => (assumptions.sup_put, None, false),
            Op::SansMmmnZi => (assumptions.sup_sans, None, false),
            Op::SyncMmmnZi | Op::BrMmmn => (0, None, false),
            _ => return Err(bad(format!("`{group}` has no known time in a row"))),
        };
        let end = time
            .checked_add(events)
            .ok_or_else(|| bad("the row is longer than 2^32 events".to_owned()))?;
        result.push(Step {
            word: index,
            group,
            start: time,
            end,
            effect: effect.map(|after| time + after),
            first_item: sends.then_some(time + 1),
        });
        time = if inst.op == Op::SyncMmmnZi { 0 } else { end };
        index += length;
    }
    Ok(result)
}
