//! A fused expression as worker instructions on one vector of elements.

use crate::pipeline::{Body, Ins, Reg, Unit, ZERO};
use ipucc_chip::{Assumptions, ScalarType};
use ipucc_tile::kernel::{BinaryOp, CompareOp, Expr, Map};

/// What a resident register is loaded with before a loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// These bits in every word.
    Bits(u32),
    /// These bits in the first word and those in the second.
    Limits(u32, u32),
    /// The one element of this input that the row has, in every lane.
    Scalar(usize, ScalarType),
}

/// A lowered expression.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The loop body.
    pub body: Body,
    /// Content of the resident registers.
    pub residents: Vec<(Reg, Source)>,
    /// Constants that are reloaded from the argument record at every use.
    pub constants: Vec<u32>,
}

/// Where a node's value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Val {
    Reg(Reg, ScalarType),
    Const(u32, ScalarType),
    Scalar(usize, ScalarType),
}

impl Val {
    pub(super) fn ty(self) -> ScalarType {
        match self {
            Val::Reg(_, ty) | Val::Const(_, ty) | Val::Scalar(_, ty) => ty,
        }
    }
}

pub(super) struct Lower<'m> {
    map: &'m Map,
    strides: &'m [u32],
    /// Elements of a vector: 4 (f16 only), 2, or 1 (f32 only).
    width: u32,
    /// Constants come from the record at every use instead of staying in registers.
    reload: bool,
    /// Record word of the first constant.
    base: usize,
    out: Lowered,
    loaded: Vec<Option<Reg>>,
}

/// Lowers `map`; `strides` are those of the innermost axis per buffer.
///
/// # Errors
/// An operation or type that has no instruction sequence here.
pub fn lower(
    map: &Map,
    strides: &[u32],
    width: u32,
    reload: bool,
    assumptions: &Assumptions,
) -> Result<Lowered, String> {
    let mut lower = Lower {
        map,
        strides,
        width,
        reload,
        base: map.inputs.len() + 1,
        out: Lowered {
            body: Body::new(assumptions),
            residents: Vec::new(),
            constants: Vec::new(),
        },
        loaded: vec![None; map.inputs.len()],
    };
    let mut values: Vec<Val> = Vec::new();
    for node in &map.nodes {
        let at = |i: u16| {
            values
                .get(i as usize)
                .copied()
                .ok_or_else(|| format!("node {i} is used before it is defined"))
        };
        let value = match *node {
            Expr::Input(input) => lower.input(input as usize)?,
            Expr::Constant(bits, ty) => Val::Const(bits, ty),
            Expr::Unary(op, x) => lower.unary(op, at(x)?)?,
            Expr::Binary(op, x, y) => lower.binary(op, at(x)?, at(y)?)?,
            Expr::Compare(op, x, y) => lower.compare(op, at(x)?, at(y)?)?,
            Expr::Select(c, x, y) => lower.select(at(c)?, at(x)?, at(y)?)?,
            Expr::Convert(ty, x) => lower.convert(ty, at(x)?)?,
            Expr::Gelu(tanh, x) => lower.gelu(tanh, at(x)?)?,
        };
        values.push(value);
    }
    let last = *values.last().ok_or("it has no nodes")?;
    if last.ty() != map.output.element {
        return Err(format!(
            "its result is {}, the buffer {}",
            last.ty(),
            map.output.element
        ));
    }
    let result = lower.vector(last)?;
    lower.out.body.ins.push(Ins {
        text: String::new(),
        turns: 1,
        def: None,
        uses: vec![result],
        unit: Unit::Store(map.inputs.len()),
    });
    // Inputs that nothing depends on are not loaded.
    let used: Vec<Reg> = (lower.out.body.ins.iter())
        .flat_map(|ins| ins.uses.iter().copied())
        .collect();
    let idle = |ins: &Ins| {
        matches!(ins.unit, Unit::Load(_)) && ins.def.is_some_and(|def| !used.contains(&def))
    };
    lower.out.body.ins.retain(|ins| !idle(ins));
    Ok(lower.out)
}

/// Bits of an f32 constant in a type, in both halves for f16.
fn bits_of(value: f32, ty: ScalarType) -> u32 {
    match ty {
        ScalarType::F16 => dup(u32::from(f16_bits(value))),
        _ => value.to_bits(),
    }
}

fn dup(half: u32) -> u32 {
    (half & 0xffff) | half << 16
}

/// Nearest-even conversion of a finite f32 in the normal range of f16.
fn f16_bits(value: f32) -> u16 {
    half::f16::from_f32(value).to_bits()
}

impl Lower<'_> {
    pub(super) fn words(&self, ty: ScalarType) -> u32 {
        match ty {
            ScalarType::F16 => (self.width / 2).max(1),
            _ => 2,
        }
    }

    pub(super) fn lanes(&self) -> u32 {
        self.width.min(2)
    }

    pub(super) fn register(&mut self, ty: ScalarType) -> Reg {
        let words = self.words(ty);
        self.out.body.register(words)
    }

    pub(super) fn aux(&mut self, text: String, def: Reg, uses: &[Reg]) {
        self.out.body.aux(&text, Some(def), uses);
    }

    fn input(&mut self, input: usize) -> Result<Val, String> {
        let ty = self.map.inputs[input].element;
        if self.strides[input] == 0 {
            return Ok(Val::Scalar(input, ty));
        }
        if let Some(register) = self.loaded[input] {
            return Ok(Val::Reg(register, ty));
        }
        let register = self.register(ty);
        self.loaded[input] = Some(register);
        self.out.body.ins.push(Ins {
            text: String::new(),
            turns: 1,
            def: Some(register),
            uses: vec![],
            unit: Unit::Load(input),
        });
        Ok(Val::Reg(register, ty))
    }

    /// A constant or scalar in `words` equal words.
    pub(super) fn resident(&mut self, source: Source, words: u32) -> Reg {
        if let Source::Bits(0) = source {
            return ZERO;
        }
        let constants = match source {
            Source::Bits(bits) => Some([bits, bits]),
            Source::Limits(low, high) => Some([low, high]),
            Source::Scalar(..) => None,
        };
        if let (true, Some(constants)) = (self.reload, constants) {
            let register = self.out.body.register(words);
            for (word, &bits) in (0..words).zip(&constants) {
                let list = &mut self.out.constants;
                let at = list.iter().position(|&c| c == bits).unwrap_or_else(|| {
                    list.push(bits);
                    list.len() - 1
                });
                self.out.body.ins.push(Ins {
                    text: format!(
                        "ld32 %{register}.{word}, $mvertex_base, $mzero, {}",
                        self.base + at
                    ),
                    turns: 1,
                    def: Some(register),
                    uses: vec![],
                    unit: Unit::Main,
                });
            }
            return register;
        }
        let sizes = &self.out.body.sizes;
        let known = self
            .out
            .residents
            .iter()
            .find(|(r, s)| *s == source && sizes[*r] >= words)
            .map(|(r, _)| *r);
        known.unwrap_or_else(|| {
            let register = self.out.body.register(words);
            self.out.body.resident.push(register);
            self.out.residents.push((register, source));
            register
        })
    }

    fn source(value: Val) -> Option<Source> {
        match value {
            Val::Reg(..) => None,
            Val::Const(bits, ScalarType::F16) => Some(Source::Bits(dup(bits))),
            Val::Const(bits, _) => Some(Source::Bits(bits)),
            Val::Scalar(input, ty) => Some(Source::Scalar(input, ty)),
        }
    }

    /// The value as a whole vector.
    pub(super) fn vector(&mut self, value: Val) -> Result<Reg, String> {
        let words = self.words(value.ty());
        Ok(match value {
            Val::Reg(register, _) => register,
            other => {
                let source = Self::source(other).ok_or("internal: no source")?;
                self.resident(source, words)
            }
        })
    }

    /// The first operand of an instruction that can broadcast it: text and register.
    fn broadcast(&mut self, value: Val) -> Result<(String, Reg), String> {
        let source = Self::source(value);
        let zero = source == Some(Source::Bits(0));
        if source.is_none() || zero || (value.ty() == ScalarType::F16 && self.width == 2) {
            let register = self.vector(value)?;
            return Ok((self.whole(register, value.ty()), register));
        }
        let register = self.resident(source.ok_or("internal: no source")?, 1);
        // A resident pair may serve: its first word.
        let suffix = if value.ty() == ScalarType::F16 {
            "BL"
        } else {
            "B"
        };
        Ok((format!("%{register}.0:{suffix}"), register))
    }

    pub(super) fn whole(&self, register: Reg, ty: ScalarType) -> String {
        match register {
            ZERO if self.words(ty) == 1 => "$azero".into(),
            ZERO => "$azeros".into(),
            register => format!("%{register}"),
        }
    }

    fn mnemonic(&self, op: &str, ty: ScalarType) -> Result<String, String> {
        Ok(match ty {
            ScalarType::F32 => format!("f32v2{op}"),
            ScalarType::F16 if self.width == 4 => format!("f16v4{op}"),
            ScalarType::F16 => format!("f16v2{op}"),
            other => return Err(format!("`{op}` of {other} has no instruction here")),
        })
    }

    /// `op` whose first operand may be a broadcast one; `turn` if the operands may be exchanged.
    pub(super) fn arithmetic(
        &mut self,
        op: &str,
        mut x: Val,
        mut y: Val,
        turn: bool,
    ) -> Result<Val, String> {
        let ty = x.ty();
        if ty != y.ty() {
            return Err(format!("`{op}` of {ty} and {}", y.ty()));
        }
        if turn && matches!(x, Val::Reg(..)) && !matches!(y, Val::Reg(..)) {
            std::mem::swap(&mut x, &mut y);
        }
        let mnemonic = self.mnemonic(op, ty)?;
        let (first, a) = self.broadcast(x)?;
        let b = self.vector(y)?;
        let second = self.whole(b, ty);
        let d = self.register(ty);
        self.aux(format!("{mnemonic} %{d}, {first}, {second}"), d, &[a, b]);
        Ok(Val::Reg(d, ty))
    }

    /// `op` of two whole vectors.
    pub(super) fn plain(&mut self, op: &str, x: Val, y: Val) -> Result<Val, String> {
        let ty = x.ty();
        if ty != y.ty() {
            return Err(format!("`{op}` of {ty} and {}", y.ty()));
        }
        let mnemonic = self.mnemonic(op, ty)?;
        let (a, b) = (self.vector(x)?, self.vector(y)?);
        let (first, second) = (self.whole(a, ty), self.whole(b, ty));
        let d = self.register(ty);
        self.aux(format!("{mnemonic} %{d}, {first}, {second}"), d, &[a, b]);
        Ok(Val::Reg(d, ty))
    }

    /// Maximum or minimum that keeps NaN: `clamp` does where one operand is a constant.
    fn extreme(&mut self, op: &str, x: Val, y: Val) -> Result<Val, String> {
        let ty = x.ty();
        let infinity = match ty {
            ScalarType::F16 => 0x7c00,
            _ => 0x7f80_0000,
        };
        let sign = match ty {
            ScalarType::F16 => 0x8000,
            _ => 0x8000_0000,
        };
        match (x, y) {
            (Val::Const(bits, _), other) | (other, Val::Const(bits, _)) if x.ty() == y.ty() => {
                if op == "max" {
                    self.clamp(other, bits, infinity)
                } else {
                    self.clamp(other, infinity | sign, bits)
                }
            }
            _ => {
                let most = self.plain(op, x, y)?;
                let mut found = self.vector(most)?;
                for operand in [x, y] {
                    let nan = self.plain("cmpne", operand, operand)?;
                    let nan = self.vector(nan)?;
                    found = self.logic("or", found, nan, ty);
                }
                Ok(Val::Reg(found, ty))
            }
        }
    }

    /// `x` between two constants given by their bits, NaN where x is.
    pub(super) fn clamp(&mut self, x: Val, low: u32, high: u32) -> Result<Val, String> {
        let ty = x.ty();
        let source = self.vector(x)?;
        let limits = match ty {
            ScalarType::F16 => self.resident(Source::Bits(low & 0xffff | high << 16), 1),
            _ => self.resident(Source::Limits(low, high), 2),
        };
        let mnemonic = self.mnemonic("clamp", ty)?;
        let first = self.whole(source, ty);
        let d = self.register(ty);
        let second = match (limits, ty) {
            (ZERO, _) => "$azero".to_owned(),
            (limits, ScalarType::F16) => format!("%{limits}.0"),
            (limits, _) => format!("%{limits}"),
        };
        self.aux(
            format!("{mnemonic} %{d}, {first}, {second}"),
            d,
            &[source, limits],
        );
        Ok(Val::Reg(d, ty))
    }

    /// A bitwise operation of whole vectors.
    pub(super) fn logic(&mut self, op: &str, x: Reg, y: Reg, ty: ScalarType) -> Reg {
        let d = self.register(ty);
        let long = if self.words(ty) == 2 { "64" } else { "" };
        let (first, second) = (self.whole(x, ty), self.whole(y, ty));
        self.aux(format!("{op}{long} %{d}, {first}, {second}"), d, &[x, y]);
        d
    }

    pub(super) fn constant(value: f32, ty: ScalarType) -> Val {
        Val::Const(
            match ty {
                ScalarType::F16 => bits_of(value, ty) & 0xffff,
                _ => bits_of(value, ty),
            },
            ty,
        )
    }

    fn binary(&mut self, op: BinaryOp, x: Val, y: Val) -> Result<Val, String> {
        let ty = x.ty();
        match op {
            BinaryOp::Add => self.arithmetic("add", x, y, true),
            BinaryOp::Mul => self.arithmetic("mul", x, y, true),
            BinaryOp::Sub => match y {
                // x - c as x + (-c): the broadcast operand is the first one.
                Val::Const(bits, ScalarType::F32) => {
                    self.arithmetic("add", x, Val::Const(bits ^ 0x8000_0000, ty), true)
                }
                Val::Const(bits, ScalarType::F16) => {
                    self.arithmetic("add", x, Val::Const(bits ^ 0x8000, ty), true)
                }
                _ => self.arithmetic("sub", x, y, false),
            },
            BinaryOp::Min => self.extreme("min", x, y),
            BinaryOp::Max => self.extreme("max", x, y),
            BinaryOp::Div => self.by_lane("f32div", &[x, y]),
            BinaryOp::Pow => match y {
                Val::Const(bits, ScalarType::F32) => self.power(x, f32::from_bits(bits)),
                Val::Const(bits, ScalarType::F16) => {
                    self.power(x, half::f16::from_bits(bits as u16).to_f32())
                }
                _ => Err("`pow` with an exponent that is not a constant".into()),
            },
            other => Err(format!(
                "`{}` of {ty} has no instruction here",
                other.name()
            )),
        }
    }

    /// An f32 instruction lane by lane; f16 vectors go through f32.
    pub(super) fn by_lane(&mut self, mnemonic: &str, operands: &[Val]) -> Result<Val, String> {
        let ty = operands[0].ty();
        let sources: Vec<Reg> = operands
            .iter()
            .map(|&value| self.vector(value))
            .collect::<Result<_, _>>()?;
        let d = self.register(ty);
        let word = |register: Reg, lane: u32| match register {
            ZERO => "$azero".to_owned(),
            register => format!("%{register}.{lane}"),
        };
        match ty {
            ScalarType::F32 => {
                for lane in 0..self.lanes() {
                    let list: Vec<String> = sources.iter().map(|&s| word(s, lane)).collect();
                    self.aux(
                        format!("{mnemonic} %{d}.{lane}, {}", list.join(", ")),
                        d,
                        &sources,
                    );
                }
            }
            ScalarType::F16 => {
                for part in 0..self.words(ty) {
                    let wide: Vec<Reg> = sources
                        .iter()
                        .map(|&source| {
                            let t = self.out.body.register(2);
                            self.aux(
                                format!("f16v2tof32 %{t}, {}", word(source, part)),
                                t,
                                &[source],
                            );
                            t
                        })
                        .collect();
                    let t = self.out.body.register(2);
                    for lane in 0..2 {
                        let list: Vec<String> = wide.iter().map(|&s| word(s, lane)).collect();
                        self.aux(
                            format!("{mnemonic} %{t}.{lane}, {}", list.join(", ")),
                            t,
                            &wide,
                        );
                    }
                    self.aux(format!("f32v2tof16 %{d}.{part}, %{t}"), d, &[t]);
                }
            }
            other => return Err(format!("`{mnemonic}` of {other}")),
        }
        Ok(Val::Reg(d, ty))
    }

    /// A function that exists for f32 lanes and for f16 words.
    pub(super) fn function(&mut self, name: &str, x: Val) -> Result<Val, String> {
        if x.ty() != ScalarType::F16 {
            return self.by_lane(&format!("f32{name}"), &[x]);
        }
        let source = self.vector(x)?;
        let d = self.register(ScalarType::F16);
        for word in 0..self.words(ScalarType::F16) {
            let from = match source {
                ZERO => "$azero".to_owned(),
                source => format!("%{source}.{word}"),
            };
            self.aux(format!("f16v2{name} %{d}.{word}, {from}"), d, &[source]);
        }
        Ok(Val::Reg(d, ScalarType::F16))
    }

    fn compare(&mut self, op: CompareOp, x: Val, y: Val) -> Result<Val, String> {
        let name = match op {
            CompareOp::Eq => "cmpeq",
            CompareOp::Ne => "cmpne",
            CompareOp::Lt => "cmplt",
            CompareOp::Le => "cmple",
            CompareOp::Gt => "cmpgt",
            CompareOp::Ge => "cmpge",
        };
        self.arithmetic(name, x, y, false)
    }

    fn select(&mut self, c: Val, x: Val, y: Val) -> Result<Val, String> {
        let ty = x.ty();
        if c.ty() != ty || ty != y.ty() || !matches!(c, Val::Reg(..)) {
            return Err(format!(
                "`select` between {ty} and {} by a condition that is not a comparison of that type",
                y.ty()
            ));
        }
        let (mask, x, y) = (self.vector(c)?, self.vector(x)?, self.vector(y)?);
        let taken = if x == ZERO {
            ZERO
        } else {
            self.logic("and", x, mask, ty)
        };
        // `andc a, b` is a and not b.
        let other = if y == ZERO {
            ZERO
        } else {
            self.logic("andc", y, mask, ty)
        };
        let d = match (taken, other) {
            (ZERO, one) | (one, ZERO) if one != ZERO => one,
            (a, b) => self.logic("or", a, b, ty),
        };
        Ok(Val::Reg(d, ty))
    }

    pub(super) fn convert(&mut self, ty: ScalarType, x: Val) -> Result<Val, String> {
        let from = x.ty();
        if from == ty {
            return Ok(x);
        }
        let lanes = self.lanes();
        match (from, ty) {
            (ScalarType::F16, ScalarType::F32) if self.width == 2 => {
                let source = self.vector(x)?;
                let d = self.register(ty);
                let first = self.whole(source, from);
                self.aux(format!("f16v2tof32 %{d}, {first}"), d, &[source]);
                Ok(Val::Reg(d, ty))
            }
            (ScalarType::F32, ScalarType::F16) if self.width == 2 => {
                let source = self.vector(x)?;
                let d = self.register(ty);
                let first = self.whole(source, from);
                self.aux(format!("f32v2tof16 %{d}, {first}"), d, &[source]);
                Ok(Val::Reg(d, ty))
            }
            (ScalarType::I32, ScalarType::F32) => {
                let source = self.vector(x)?;
                let d = self.register(ty);
                for lane in 0..lanes {
                    let from = if source == ZERO {
                        "$azero".into()
                    } else {
                        format!("%{source}.{lane}")
                    };
                    self.aux(format!("f32fromi32 %{d}.{lane}, {from}"), d, &[source]);
                }
                Ok(Val::Reg(d, ty))
            }
            _ => Err(format!(
                "conversion from {from} to {ty} has no instruction here"
            )),
        }
    }
}
