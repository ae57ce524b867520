//! Supervisor instructions, decoded once per word and thread.

use crate::decode::{Micro, lower_main};
use ipucc_machine::{Context, Group, Inst, Op};
use std::cell::RefCell;

/// A decoded supervisor instruction.
#[derive(Clone, Copy)]
pub struct Decoded {
    /// The instruction.
    pub inst: Inst,
    /// Its executable form, if workers share it.
    pub micro: Option<Micro>,
    /// Words, 1 or 2.
    pub words: u32,
    /// True for the timed instructions of rows.
    pub exchange: bool,
}

const ENTRIES: usize = 1 << 14;

/// A word and what it decodes to.
type Entry = Option<(u32, Option<Decoded>)>;

thread_local! {
    static CACHE: RefCell<Vec<Entry>> = RefCell::new(vec![None; ENTRIES]);
}

/// The supervisor instruction that begins with `word`; `second` is the word after it.
pub fn decode(word: u32, second: u32) -> Option<Decoded> {
    if word >> 28 == 0xf {
        return fresh(word, second);
    }
    CACHE.with_borrow_mut(|cache| {
        let at = (word.wrapping_mul(0x9e37_79b1) >> 18) as usize % ENTRIES;
        match &cache[at] {
            Some((key, decoded)) if *key == word => *decoded,
            _ => {
                let decoded = fresh(word, second);
                cache[at] = Some((word, decoded));
                decoded
            }
        }
    })
}

fn fresh(word: u32, second: u32) -> Option<Decoded> {
    let (group, words) = Group::decode(&[word, second], Context::Supervisor).ok()?;
    let inst = match group {
        Group::Solo(inst) | Group::SendPicP(inst) => inst,
        Group::Bundle { .. } => return None,
    };
    let exchange = matches!(
        inst.op,
        Op::DelayMmmnZi
            | Op::DelayPic
            | Op::DelayXpic
            | Op::SendMmmnZi
            | Op::SendOff
            | Op::SendPic
            | Op::SendPicP
    );
    let micro = lower_main(&inst).filter(|micro| micro.main().is_common());
    Some(Decoded {
        inst,
        micro,
        words: words as u32,
        exchange,
    })
}
