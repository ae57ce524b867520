//! From mnemonic and operands to an instruction: pseudo instructions, candidates of the table,
//! immediate forms.

use super::expr::Expr;
use super::operand::{Arg, Operand, show};
use super::pseudo::pseudo;
use super::state::Span;
use super::suggest::nearest;
use crate::{Context, Group, Inst, Lane, Modifier, Op, OperandInfo, OperandKind};

/// Code of one statement.
#[derive(Clone, Debug)]
pub(super) enum Code {
    Solo(Pending),
    Bundle(Pending, Pending),
    /// `ldconst`: register file, register, value.
    LoadConst(Lane, u32, Expr, (u32, u32)),
    /// A statement with an error, of so many bytes.
    Bad,
}

/// A member of an open bundle.
pub(super) struct Member {
    pub pending: Pending,
    pub span: Span,
    /// The operands.
    pub tail: Span,
}

/// An operand whose form fits; by operand number.
#[derive(Clone, Debug)]
pub(super) enum Filled {
    Known(u32),
    /// A constant that the candidates judge.
    Constant(i64),
    /// An expression that is not known yet.
    Open(Expr),
}

/// An instruction whose class and values may still be open.
#[derive(Clone, Debug)]
pub(super) struct Pending {
    /// Classes in order of preference; all have the same operands but for the immediate.
    pub candidates: Vec<Op>,
    pub filled: Vec<Filled>,
    /// Bytes of each operand in the statement.
    pub places: Vec<(u32, u32)>,
    /// The finished instruction if everything is known.
    pub ready: Option<Inst>,
}

/// Why a statement is no instruction: place in the statement (`None`: all of it), message, help.
#[derive(Debug)]
pub(super) struct Refusal {
    pub place: Option<(u32, u32)>,
    pub message: String,
    pub help: Option<String>,
}

impl Refusal {
    pub fn new(message: impl Into<String>) -> Refusal {
        Refusal {
            place: None,
            message: message.into(),
            help: None,
        }
    }

    pub(super) fn at(place: (u32, u32), message: impl Into<String>) -> Refusal {
        Refusal {
            place: Some(place),
            ..Refusal::new(message)
        }
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Refusal {
        self.help = Some(help.into());
        self
    }
}

/// Mnemonics that are no rows of the table.
const PSEUDO: [&str; 11] = [
    "nop",
    "fnop",
    "mov",
    "zero",
    "ldconst",
    "swap16",
    "strap",
    "movnz",
    "f16v4sisov2amp",
    "f16v4sisov2slic",
    "sub",
];

/// Finds the instruction.
pub(super) fn select(
    mnemonic: &str,
    operands: &[Operand],
    context: Context,
) -> Result<Code, Refusal> {
    let lower;
    let mnemonic = if mnemonic.bytes().any(|b| b.is_ascii_uppercase()) {
        lower = mnemonic.to_ascii_lowercase();
        lower.as_str()
    } else {
        mnemonic
    };
    let known = Op::by_mnemonic(mnemonic);
    if known.is_empty() && !PSEUDO.contains(&mnemonic) {
        let all = Op::mnemonics().chain(PSEUDO);
        let refusal = Refusal::new(format!("unknown instruction `{mnemonic}`"));
        return Err(match nearest(mnemonic, all) {
            Some(near) => refusal.help(format!("did you mean `{near}`?")),
            None => refusal,
        });
    }
    if let Some(code) = pseudo(mnemonic, operands, context)? {
        return Ok(code);
    }
    let name = match mnemonic {
        "movnz" => "movz",
        "f16v4sisov2amp" => "f16v4sisoamp",
        "f16v4sisov2slic" => "f16v4sisoslic",
        other => other,
    };
    choose(name, Op::by_mnemonic(name), operands, context).map(Code::Solo)
}

pub(super) fn wrong_count(mnemonic: &str, wanted: usize, operands: &[Operand]) -> Refusal {
    let plural = if wanted == 1 { "" } else { "s" };
    let refusal = Refusal::new(format!(
        "`{mnemonic}` takes {wanted} operand{plural}, found {}",
        operands.len()
    ));
    match operands.get(wanted) {
        Some(extra) => Refusal {
            place: Some((extra.start, operands[operands.len() - 1].end)),
            ..refusal
        },
        None => refusal,
    }
}

pub(super) fn wrong_context(mnemonic: &str, op: Op, context: Context) -> Refusal {
    let info = op.info();
    let some_known = Op::by_mnemonic(mnemonic).iter().any(|o| context.knows(*o));
    let which = if some_known {
        " with these operands"
    } else {
        ""
    };
    match (context, info.lane) {
        (Context::Supervisor, Lane::Aux) => Refusal::new(format!(
            "`{mnemonic}` is an aux-lane instruction; the supervisor has no aux lane"
        ))
        .help("put it in code behind `.worker`"),
        (Context::Supervisor, Lane::Main) => {
            Refusal::new(format!("the supervisor cannot execute `{mnemonic}`{which}"))
                .help("it is a worker instruction; put it in code behind `.worker`")
        }
        (Context::Worker, _) => {
            Refusal::new(format!("a worker cannot execute `{mnemonic}`{which}"))
                .help("it is a supervisor instruction; put it in code behind `.supervisor`")
        }
    }
}

/// A load or store whose address may be written without delta, which is then `$m15`.
fn has_short_address(op: Op) -> bool {
    let info = op.info();
    (info.flags.load || info.flags.store)
        && info.asm_order == [3, 0, 1, 2]
        && info.operands[1].modifier == Modifier::None
        && info.operands[1].kind == OperandKind::M
}

/// Preference among immediate forms: signed, high, zero-extended. The last two share only the
/// value 0, for which the word vectors have the high form (`andc $a15, $a14, 0` = 0x52eff000).
fn rank(op: Op) -> u8 {
    op.info()
        .operands
        .iter()
        .map(|o| match o.kind {
            OperandKind::Simm(_) => 0,
            OperandKind::Immz12 => 1,
            _ => 2,
        })
        .min()
        .unwrap_or(2)
}

/// How far a class fits: operands that do, and the refusal of the first that does not.
struct Misfit {
    fit: usize,
    refusal: Refusal,
}

pub(super) fn choose(
    mnemonic: &str,
    ops: &[Op],
    operands: &[Operand],
    context: Context,
) -> Result<Pending, Refusal> {
    let mut ops = ops.to_vec();
    ops.sort_by_key(|op| rank(*op));
    let mut matching: Vec<(Op, Fit)> = Vec::new();
    let mut elsewhere = None;
    let mut nearest: Option<Misfit> = None;
    for op in ops {
        match fit(op, mnemonic, operands, context) {
            Ok((filled, places)) => {
                if context.knows(op) {
                    matching.push((op, (filled, places)));
                } else {
                    elsewhere = elsewhere.or(Some(op));
                }
            }
            Err(misfit) => {
                // A class of this context tells more than one of the other.
                if !context.knows(op) && nearest.is_some() {
                    continue;
                }
                if nearest.as_ref().is_none_or(|n| misfit.fit > n.fit) {
                    nearest = Some(misfit);
                }
                if !context.knows(op)
                    && Op::by_mnemonic(mnemonic).iter().all(|o| !context.knows(*o))
                {
                    elsewhere = elsewhere.or(Some(op));
                }
            }
        }
    }
    let Some((first, (filled, places))) = matching.first().cloned() else {
        if let Some(op) = elsewhere {
            return Err(wrong_context(mnemonic, op, context));
        }
        return Err(nearest.map_or_else(
            || Refusal::new(format!("`{mnemonic}` cannot stand here")),
            |misfit| misfit.refusal,
        ));
    };
    let mut pending = Pending {
        candidates: matching
            .iter()
            .filter(|(op, ..)| same_registers(*op, first))
            .map(|(op, ..)| *op)
            .collect(),
        filled,
        places,
        ready: None,
    };
    if !pending.filled.iter().any(|f| matches!(f, Filled::Open(_))) {
        let values: Vec<i64> = pending
            .filled
            .iter()
            .map(|f| match f {
                Filled::Known(value) => i64::from(*value),
                Filled::Constant(value) => *value,
                Filled::Open(_) => 0,
            })
            .collect();
        pending.ready = Some(pending.finish(&values)?);
    }
    Ok(pending)
}

/// True if two classes differ in the form of an immediate only.
fn same_registers(a: Op, b: Op) -> bool {
    let (a, b) = (a.info(), b.info());
    a.asm_order == b.asm_order
        && a.operands.len() == b.operands.len()
        && a.operands
            .iter()
            .zip(b.operands)
            .all(|(a, b)| a.kind == b.kind || !a.kind.is_register() && !b.kind.is_register())
}

/// Operands by number, and their bytes in the text.
type Fit = (Vec<Filled>, Vec<(u32, u32)>);

/// Lays the operands of the text on those of a class.
fn fit(op: Op, mnemonic: &str, operands: &[Operand], context: Context) -> Result<Fit, Misfit> {
    let info = op.info();
    let short = operands.len() + 1 == info.operands.len() && has_short_address(op);
    if operands.len() != info.operands.len() && !short {
        return Err(Misfit {
            fit: 0,
            refusal: wrong_count(mnemonic, info.operands.len(), operands),
        });
    }
    let mut filled = vec![Filled::Known(0); info.operands.len()];
    let mut places = vec![(0, 0); info.operands.len()];
    let mut index = 0;
    for (position, &number) in info.asm_order.iter().enumerate() {
        let number = usize::from(number);
        if short && number == 1 {
            filled[number] = Filled::Known(15);
            continue;
        }
        let operand = &operands[index];
        index += 1;
        places[number] = (operand.start, operand.end);
        filled[number] =
            fit_one(op, &info.operands[number], operand, context).map_err(|why| Misfit {
                fit: position + 1,
                refusal: Refusal {
                    place: Some((operand.start, operand.end)),
                    message: format!("operand {index} of `{mnemonic}` {}", why.0),
                    help: why.1,
                },
            })?;
    }
    Ok((filled, places))
}

type Why = (String, Option<String>);

fn fit_one(op: Op, info: &OperandInfo, operand: &Operand, context: Context) -> Result<Filled, Why> {
    let wanted = || -> Why {
        (
            format!("must be {}, found {}", in_words(info), show(&operand.arg)),
            None,
        )
    };
    match &operand.arg {
        Arg::Register(kind, number, modifier) => {
            if *kind != info.kind {
                return Err(wanted());
            }
            let optional = op == Op::Stm32stepMmmn && *modifier == Modifier::Add;
            if *modifier != info.modifier && !optional {
                let written = show(&Arg::Register(*kind, *number, info.modifier));
                return Err((
                    format!("must be written `{written}`, found {}", show(&operand.arg)),
                    None,
                ));
            }
            Ok(Filled::Known(*number))
        }
        Arg::Weight(index) => match op {
            Op::Ld64putcsMmmnZi | Op::Ld128putcsMmmnZi => Ok(Filled::Known(*index)),
            _ => Err((
                format!("cannot be {}", show(&operand.arg)),
                Some("weight registers are written by `ld64putcs` and `ld128putcs`".to_string()),
            )),
        },
        Arg::Csr(csr) => {
            let name = csr.name;
            let upper = match op {
                Op::GetMmmnZi | Op::PutMmmnZi => false,
                Op::UgetAaanZi | Op::UputAaanZi => true,
                _ => return Err(wanted()),
            };
            if info.kind.is_register() {
                return Err(wanted());
            }
            if csr.is_upper() != upper {
                let (is, file) = if upper {
                    ("an `$a`", "an `$m`")
                } else {
                    ("an `$m`", "an `$a`")
                };
                return Err((
                    format!("cannot be `${name}` with {is} register"),
                    Some(format!("`${name}` is reached through {file} register")),
                ));
            }
            let here = match context {
                Context::Supervisor => csr.contexts.supervisor(),
                Context::Worker => csr.contexts.worker(),
            };
            if !here {
                return Err((
                    format!(
                        "cannot be `${name}`: {} has no such register",
                        match context {
                            Context::Supervisor => "the supervisor",
                            Context::Worker => "a worker",
                        }
                    ),
                    None,
                ));
            }
            Ok(Filled::Known(csr.operand()))
        }
        Arg::Value(expr) => {
            if info.kind.is_register() {
                return Err(wanted());
            }
            Ok(match expr.as_const() {
                Some(value) => Filled::Constant(value),
                None => Filled::Open(expr.clone()),
            })
        }
    }
}

fn in_words(info: &OperandInfo) -> String {
    let suffix = info.modifier.suffix();
    match info.kind {
        kind if kind.is_register() && suffix.is_empty() => kind.range(),
        kind if kind.is_register() => format!("{} with the suffix `{suffix}`", kind.range()),
        OperandKind::Target19 | OperandKind::Target20 => "a branch target".to_string(),
        kind => format!("a number ({})", kind.range()),
    }
}

/// The operand value that an immediate form gives to `value`, if it can.
pub(super) fn immediate(kind: OperandKind, value: i64) -> Option<u32> {
    let word = match kind {
        OperandKind::Simm(_) => i32::try_from(value).ok()? as u32,
        OperandKind::Immz12 => {
            if !(-(1 << 31)..1 << 32).contains(&value) {
                return None;
            }
            value as u32
        }
        _ => u32::try_from(value).ok()?,
    };
    kind.accepts(word).then_some(word)
}

impl Pending {
    /// The instruction, once every operand is a number (registers as their number).
    pub fn finish(&self, values: &[i64]) -> Result<Inst, Refusal> {
        if let Some(inst) = self.ready {
            return Ok(inst);
        }
        let mut failed: Option<usize> = None;
        for op in &self.candidates {
            let info = op.info();
            let mut operands = Vec::with_capacity(values.len());
            let mut bad = None;
            for (number, value) in values.iter().enumerate() {
                let word = match self.filled[number] {
                    Filled::Known(word) => Some(word),
                    _ => immediate(info.operands[number].kind, *value),
                };
                match word {
                    Some(word) => operands.push(word),
                    None => {
                        bad = bad.or(Some(number));
                        operands.push(0);
                    }
                }
            }
            match bad {
                None => {
                    return Inst::new(*op, &operands).map_err(|e| Refusal::new(e.to_string()));
                }
                Some(number) => failed = failed.or(Some(number)),
            }
        }
        let number = failed.unwrap_or(0);
        Err(self.out_of_range(number, values.get(number).copied().unwrap_or(0)))
    }

    fn out_of_range(&self, number: usize, value: i64) -> Refusal {
        let info = self.candidates[0].info();
        let ranges: Vec<String> = self
            .candidates
            .iter()
            .map(|op| op.info().operands[number].kind.range())
            .collect();
        let position = 1 + info
            .asm_order
            .iter()
            .position(|n| usize::from(*n) == number)
            .unwrap_or(number);
        // A short address leaves one operand out of the text.
        let position = match self.places.get(1) {
            Some((0, 0)) if has_short_address(info.op) && position > 3 => position - 1,
            _ => position,
        };
        let shown = match info.operands[number].kind {
            OperandKind::Target19 | OperandKind::Target20 | OperandKind::Immz12 => {
                format!("{value:#x}")
            }
            _ => value.to_string(),
        };
        Refusal {
            place: self.places.get(number).copied().filter(|p| *p != (0, 0)),
            message: format!(
                "operand {position} of `{}` is {shown}, but must be {}",
                info.mnemonic,
                ranges.join(" or ")
            ),
            help: None,
        }
    }

    /// The mnemonic for messages.
    pub fn shown(&self) -> &'static str {
        match self.ready {
            Some(inst) if inst.op == Op::SetziMmmnZi && inst.operands[..2] == [14, 0] => "nop",
            Some(inst) if inst.op == Op::SetziAaanZi && inst.operands[..2] == [13, 0] => "fnop",
            _ => self.op().info().mnemonic,
        }
    }

    /// A class that stands for all candidates where lane and flags matter.
    pub fn op(&self) -> Op {
        self.ready.map_or(self.candidates[0], |inst| inst.op)
    }
}

/// True if a bundle of these would be refused wherever it stands, or for the register numbers.
pub(super) fn check_bundle(main: &Pending, aux: &Pending) -> Result<(), Refusal> {
    for member in [main, aux] {
        let info = member.op().info();
        if !info.can_coissue {
            return Err(Refusal::new(format!(
                "`{}` cannot stand in a bundle",
                info.mnemonic
            )));
        }
    }
    let zero = |pending: &Pending| match pending.ready {
        Some(inst) => inst,
        None => {
            let mut inst = Inst {
                op: pending.candidates[0],
                operands: [0; 6],
                ignored: 0,
            };
            for (number, filled) in pending.filled.iter().enumerate() {
                if let Filled::Known(value) = filled {
                    inst.operands[number] = *value;
                }
            }
            inst
        }
    };
    Group::Bundle {
        main: zero(main),
        aux: zero(aux),
    }
    .check()
    .map_err(|e| Refusal::new(e.to_string()))
}

/// Words of `ldconst` for `value`, if it has 32 bits.
pub(super) fn load_const_words(value: i64) -> Option<u32> {
    let value = load_const_value(value)?;
    Some(if value >> 20 == 0 { 1 } else { 2 })
}

fn load_const_value(value: i64) -> Option<u32> {
    (-(1i64 << 31)..1 << 32)
        .contains(&value)
        .then_some(value as u32)
}

/// The instructions of `ldconst` (`isa/encoding.md` 7); the second is left out where it adds
/// nothing and `words` is 1.
pub(super) fn load_const(lane: Lane, register: u32, value: i64, words: u32) -> Option<Vec<Inst>> {
    let value = load_const_value(value)?;
    let (set, or) = match lane {
        Lane::Main => (Op::SetziMmmnZi, Op::OrMmmnIz),
        Lane::Aux => (Op::SetziAaanZi, Op::OrAaanIz),
    };
    let mut out = vec![Inst::new(set, &[register, value & 0xf_ffff]).ok()?];
    if words == 2 {
        out.push(Inst::new(or, &[register, register, value & 0xfff0_0000]).ok()?);
    }
    Some(out)
}
