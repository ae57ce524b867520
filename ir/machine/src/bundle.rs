//! Issue groups: what is fetched and issued together.

use crate::{DecodeError, EncodeError, Inst, Lane, Op, Table};
use std::fmt;

/// Who executes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Context {
    /// The tile's supervisor: common and supervisor tables, single issue.
    Supervisor,
    /// A worker: common and worker tables, bundles.
    Worker,
}

impl Context {
    /// True if this context knows the instruction.
    pub fn knows(self, op: Op) -> bool {
        match op.info().table {
            Table::Common => true,
            Table::Worker => self == Context::Worker,
            Table::Supervisor => self == Context::Supervisor,
        }
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Context::Supervisor => "supervisor",
            Context::Worker => "worker",
        })
    }
}

/// An issue group.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Group {
    /// One instruction, one word.
    Solo(Inst),
    /// A main-lane and an aux-lane instruction, two words with the coissue bit.
    Bundle {
        /// Member at the lower address.
        main: Inst,
        /// Member at +4.
        aux: Inst,
    },
    /// `sendpicp`: an instruction of two words that must stand at a multiple of 8.
    ///
    /// Operands: PIC selector, count - 1, address, control, XPIC (selector at bit 13 and value),
    /// PIC value.
    SendPicP(Inst),
}

impl Group {
    /// Number of words.
    pub const fn words(&self) -> usize {
        match self {
            Group::Solo(_) => 1,
            Group::Bundle { .. } | Group::SendPicP(_) => 2,
        }
    }

    /// Checks lanes, the ability to coissue and common destinations. Registers without storage
    /// count as destinations like all others (`dst_clash_zero`).
    pub fn check(&self) -> Result<(), EncodeError> {
        match self {
            Group::Solo(inst) if inst.op == Op::SendPicP => Err(EncodeError::TwoWords),
            Group::Solo(_) => Ok(()),
            Group::SendPicP(inst) if inst.op == Op::SendPicP => Ok(()),
            Group::SendPicP(inst) => Err(EncodeError::Place {
                op: inst.op,
                place: "instruction with payload",
            }),
            Group::Bundle { main, aux } => {
                if main.op.info().lane != Lane::Main {
                    return Err(EncodeError::Place {
                        op: main.op,
                        place: "main member",
                    });
                }
                if aux.op.info().lane != Lane::Aux {
                    return Err(EncodeError::Place {
                        op: aux.op,
                        place: "aux member",
                    });
                }
                for member in [main, aux] {
                    if !member.op.info().can_coissue {
                        return Err(EncodeError::NotCoissuable { op: member.op });
                    }
                }
                match main.def_set().common(aux.def_set()) {
                    Some(register) => Err(EncodeError::CommonDestination { register }),
                    None => Ok(()),
                }
            }
        }
    }

    /// Appends the words of the group; nothing is appended on an error.
    pub fn encode(&self, out: &mut Vec<u32>) -> Result<(), EncodeError> {
        self.check()?;
        match self {
            Group::Solo(inst) => out.push(inst.encode(false)?),
            Group::Bundle { main, aux } => {
                let words = [main.encode(true)?, aux.encode(true)?];
                out.extend(words);
            }
            Group::SendPicP(inst) => {
                inst.check_operands()?;
                out.push(inst.first_word());
                out.push(inst.operands[4] << 18 | inst.operands[5]);
            }
        }
        Ok(())
    }

    /// Decodes the group that starts with the first of `words`; returns it and its number of words.
    ///
    /// Groups that the hardware refuses for their operands (a common destination, a class that
    /// IPU21 does not have) are decoded: [`Group::check`] and `on_ipu21` tell.
    pub fn decode(words: &[u32], context: Context) -> Result<(Group, usize), DecodeError> {
        let &word = words.first().ok_or(DecodeError::Truncated { word: 0 })?;
        match Inst::decode(word) {
            Err(DecodeError::SendPicP { word }) => {
                if context == Context::Worker {
                    return Err(DecodeError::Context {
                        word,
                        op: Op::SendPicP,
                        context,
                    });
                }
                let &payload = words.get(1).ok_or(DecodeError::Truncated { word })?;
                let mut inst = Inst::from_first_word(Op::SendPicP, word);
                inst.operands[4] = payload >> 18;
                inst.operands[5] = payload & 0x3_ffff;
                Ok((Group::SendPicP(inst), 2))
            }
            Err(error) => Err(error),
            Ok((inst, false)) => {
                if !context.knows(inst.op) {
                    return Err(DecodeError::Context {
                        word,
                        op: inst.op,
                        context,
                    });
                }
                Ok((Group::Solo(inst), 1))
            }
            Ok((main, true)) => {
                if context == Context::Supervisor || !context.knows(main.op) {
                    return Err(DecodeError::Context {
                        word,
                        op: main.op,
                        context,
                    });
                }
                let &second = words.get(1).ok_or(DecodeError::Truncated { word })?;
                let bad = |why| DecodeError::Bundle {
                    first: word,
                    second,
                    why,
                };
                if main.op.info().lane != Lane::Main {
                    return Err(bad("the first member is no main-lane instruction"));
                }
                if second >> 31 == 0 {
                    return Err(bad("the second member lacks the coissue bit"));
                }
                let (aux, _) = Inst::decode(second)?;
                if aux.op.info().lane != Lane::Aux {
                    return Err(bad("the second member is no aux-lane instruction"));
                }
                Ok((Group::Bundle { main, aux }, 2))
            }
        }
    }
}

/// Checks the body of a `rpt`: only bundles, no control and no system instruction
/// (`isa/encoding.md` 6). That it starts at a multiple of 8 is for who places it.
pub fn check_rpt_body(body: &[Group]) -> Result<(), EncodeError> {
    for group in body {
        let Group::Bundle { main, aux } = group else {
            return Err(EncodeError::RptBody {
                what: format!("the solo `{group}`"),
            });
        };
        for member in [main, aux] {
            let flags = member.op.info().flags;
            if flags.control || flags.system {
                return Err(EncodeError::RptBody {
                    what: format!("`{member}`"),
                });
            }
        }
    }
    Ok(())
}
