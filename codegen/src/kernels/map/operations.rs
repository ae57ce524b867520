//! The operations of the element-by-element form ([`super::scalar`]).

use super::scalar::{Maker, Place, Value, float};
use ipucc_chip::ScalarType;
use ipucc_tile::kernel::{BinaryOp, CompareOp, UnaryOp};

impl Maker<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, x: Value) -> Result<Value, String> {
        let ty = x.ty;
        if float(ty) {
            return self.float_unary(op, x);
        }
        let (s, taken) = self.in_main(x)?;
        let d = self.main()?;
        match (op, ty) {
            (UnaryOp::Not, ScalarType::I1) => self.m(format!("cmpeq $m{d}, $m{s}, 0")),
            (UnaryOp::Not, _) => {
                self.m(format!("xnor $m{d}, $m{s}, $mzero"));
                self.wrap(d, ty);
            }
            (UnaryOp::Neg, _) => {
                self.m(format!("sub $m{d}, $mzero, $m{s}"));
                self.wrap(d, ty);
            }
            (UnaryOp::Abs, ScalarType::I32) => {
                // The least number stays what it is, where `abs` gives 0.
                let t = self.main()?;
                self.m(format!("shrs $m{t}, $m{s}, 31"));
                self.m(format!("xor $m{d}, $m{s}, $m{t}"));
                self.m(format!("sub $m{d}, $m{d}, $m{t}"));
                self.free[0].push(t);
            }
            (UnaryOp::Sign, ScalarType::I32 | ScalarType::I16 | ScalarType::I8) => {
                self.m(format!("max $m{d}, $m{s}, -1"));
                self.m(format!("min $m{d}, $m{d}, 1"));
            }
            (UnaryOp::Popcount, ScalarType::I32 | ScalarType::U32) => {
                self.m(format!("popc $m{d}, $m{s}"));
            }
            _ => return Err(format!("`{}` of {ty} has no instruction here", op.name())),
        }
        self.drop_all(&[taken], 0);
        Ok(Value {
            place: Place::Main(d),
            ty,
        })
    }

    fn float_unary(&mut self, op: UnaryOp, x: Value) -> Result<Value, String> {
        let ty = x.ty;
        let half = ty == ScalarType::F16;
        let (s, taken) = self.in_aux(x)?;
        let d = self.aux()?;
        let same = |name: &str| {
            if half {
                format!("f16v2{name}")
            } else {
                format!("f32{name}")
            }
        };
        // Functions that only f32 has.
        let wide = |this: &mut Self, name: &str, tail: &str| {
            if half {
                this.a(format!("f16tof32 $a{d}, $a{s}"));
                this.a(format!("{name} $a{d}, $a{d}{tail}"));
                this.a(format!("f32tof16 $a{d}, $a{d}"));
            } else {
                this.a(format!("{name} $a{d}, $a{s}{tail}"));
            }
        };
        match op {
            UnaryOp::Abs => self.a(format!("{} $a{d}, $a{s}, $a{s}", same("absmax"))),
            UnaryOp::Neg => {
                // Minus one times x keeps the sign of zero.
                let minus = Value {
                    place: Place::Bits(if half { 0xbc00_bc00 } else { 0xbf80_0000 }),
                    ty,
                };
                let (one, taken) = self.in_aux(minus)?;
                self.a(format!("{} $a{d}, $a{one}, $a{s}", same("mul")));
                self.drop_all(&[taken], 1);
            }
            UnaryOp::Exp => self.a(format!("{} $a{d}, $a{s}", same("exp"))),
            UnaryOp::Exp2 => self.a(format!("{} $a{d}, $a{s}", same("exp2"))),
            UnaryOp::Log => self.a(format!("{} $a{d}, $a{s}", same("ln"))),
            UnaryOp::Log2 => self.a(format!("{} $a{d}, $a{s}", same("log2"))),
            UnaryOp::Tanh => self.a(format!("{} $a{d}, $a{s}", same("tanh"))),
            UnaryOp::Sigmoid => self.a(format!("{} $a{d}, $a{s}", same("sigm"))),
            UnaryOp::Sqrt => wide(self, "f32sqrt", ""),
            UnaryOp::Rsqrt => wide(self, "f32oorx", ""),
            UnaryOp::Reciprocal => wide(self, "f32oox", ""),
            UnaryOp::Round => wide(self, "f32int", ", 0"),
            UnaryOp::Ceil => wide(self, "f32int", ", 1"),
            UnaryOp::Floor => wide(self, "f32int", ", 2"),
            other => {
                return Err(format!(
                    "`{}` of {ty} has no instruction here",
                    other.name()
                ));
            }
        }
        self.drop_all(&[taken], 1);
        Ok(Value {
            place: Place::Aux(d),
            ty,
        })
    }

    /// Brings a main register back into the range of a narrow type.
    fn wrap(&mut self, register: u32, ty: ScalarType) {
        let bits = 32 - 8 * ty.bytes();
        match ty {
            ScalarType::I8 | ScalarType::I16 => {
                self.m(format!("shl $m{register}, $m{register}, {bits}"));
                self.m(format!("shrs $m{register}, $m{register}, {bits}"));
            }
            ScalarType::U8 => self.m(format!("and $m{register}, $m{register}, 255")),
            _ => {}
        }
    }

    pub(super) fn binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Result<Value, String> {
        let ty = x.ty;
        if ty != y.ty {
            return Err(format!("`{}` of {ty} and {}", op.name(), y.ty));
        }
        let no = || format!("`{}` of {ty} has no instruction here", op.name());
        if float(ty) {
            let name = match op {
                BinaryOp::Add => "add",
                BinaryOp::Sub => "sub",
                BinaryOp::Mul => "mul",
                BinaryOp::Min => "min",
                BinaryOp::Max => "max",
                BinaryOp::Div => "div",
                _ => return Err(no()),
            };
            let (a, first) = self.in_aux(x)?;
            let (b, second) = self.in_aux(y)?;
            let d = self.aux()?;
            if matches!(op, BinaryOp::Min | BinaryOp::Max) {
                let t = self.aux()?;
                let form = if ty == ScalarType::F16 {
                    "f16v2"
                } else {
                    "f32"
                };
                self.a(format!("{form}{name} $a{d}, $a{a}, $a{b}"));
                // The chip's own loses a NaN.
                for operand in [a, b] {
                    self.a(format!("{form}cmpne $a{t}, $a{operand}, $a{operand}"));
                    self.a(format!("or $a{d}, $a{d}, $a{t}"));
                }
                self.free[1].push(t);
                self.drop_all(&[first, second], 1);
                return Ok(Value {
                    place: Place::Aux(d),
                    ty,
                });
            }
            match (ty, name) {
                (ScalarType::F16, "div") => {
                    let t = self.aux()?;
                    self.a(format!("f16tof32 $a{d}, $a{a}"));
                    self.a(format!("f16tof32 $a{t}, $a{b}"));
                    self.a(format!("f32div $a{d}, $a{d}, $a{t}"));
                    self.a(format!("f32tof16 $a{d}, $a{d}"));
                    self.free[1].push(t);
                }
                (ScalarType::F16, _) => self.a(format!("f16v2{name} $a{d}, $a{a}, $a{b}")),
                _ => self.a(format!("f32{name} $a{d}, $a{a}, $a{b}")),
            }
            self.drop_all(&[first, second], 1);
            return Ok(Value {
                place: Place::Aux(d),
                ty,
            });
        }
        let (a, first) = self.in_main(x)?;
        let (b, second) = self.in_main(y)?;
        let d = self.main()?;
        let truth = ty == ScalarType::I1;
        let signed = matches!(ty, ScalarType::I32 | ScalarType::I16 | ScalarType::I8);
        let small = ty.bytes() < 4;
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul if !truth => {
                self.m(format!("{} $m{d}, $m{a}, $m{b}", op.name()));
                self.wrap(d, ty);
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                self.m(format!("{} $m{d}, $m{a}, $m{b}", op.name()));
            }
            BinaryOp::Min | BinaryOp::Max if signed || small => {
                self.m(format!("{} $m{d}, $m{a}, $m{b}", op.name()));
            }
            BinaryOp::Shl if !truth => {
                let (t, bits) = (self.main()?, 8 * ty.bytes());
                self.m(format!("shl $m{d}, $m{a}, $m{b}"));
                self.m(format!("cmpult $m{t}, $m{b}, {bits}"));
                self.m(format!("mul $m{d}, $m{d}, $m{t}"));
                self.free[0].push(t);
                self.wrap(d, ty);
            }
            BinaryOp::Shr if signed => {
                // Counts beyond the width shift by all but the sign.
                let t = self.main()?;
                self.m(format!("setzi $m{d}, 31"));
                self.m(format!("cmpult $m{t}, $m{b}, 32"));
                self.m(format!("movz $m{d}, $m{t}, $m{b}"));
                self.m(format!("shrs $m{d}, $m{a}, $m{d}"));
                self.free[0].push(t);
            }
            BinaryOp::Shr if !truth => {
                let t = self.main()?;
                self.m(format!("shr $m{d}, $m{a}, $m{b}"));
                self.m(format!("cmpult $m{t}, $m{b}, 32"));
                self.m(format!("mul $m{d}, $m{d}, $m{t}"));
                self.free[0].push(t);
            }
            _ => return Err(no()),
        }
        self.drop_all(&[first, second], 0);
        Ok(Value {
            place: Place::Main(d),
            ty,
        })
    }

    pub(super) fn compare(&mut self, op: CompareOp, x: Value, y: Value) -> Result<Value, String> {
        let ty = x.ty;
        if ty != y.ty {
            return Err(format!("a comparison of {ty} and {}", y.ty));
        }
        let truth = |place| Value {
            place,
            ty: ScalarType::I1,
        };
        if float(ty) {
            let name = match op {
                CompareOp::Eq => "cmpeq",
                CompareOp::Ne => "cmpne",
                CompareOp::Lt => "cmplt",
                CompareOp::Le => "cmple",
                CompareOp::Gt => "cmpgt",
                CompareOp::Ge => "cmpge",
            };
            let (a, first) = self.in_aux(x)?;
            let (b, second) = self.in_aux(y)?;
            let (t, d) = (self.aux()?, self.main()?);
            let form = if ty == ScalarType::F16 {
                "f16v2"
            } else {
                "f32"
            };
            self.a(format!("{form}{name} $a{t}, $a{a}, $a{b}"));
            self.m(format!("atom $m{d}, $a{t}"));
            self.m(format!("and $m{d}, $m{d}, 1"));
            self.drop_all(&[first, second, Some(t)], 1);
            return Ok(truth(Place::Main(d)));
        }
        let less = if ty == ScalarType::U32 {
            "cmpult"
        } else {
            "cmpslt"
        };
        let (a, first) = self.in_main(x)?;
        let (b, second) = self.in_main(y)?;
        let d = self.main()?;
        match op {
            CompareOp::Eq => self.m(format!("cmpeq $m{d}, $m{a}, $m{b}")),
            CompareOp::Ne => self.m(format!("cmpne $m{d}, $m{a}, $m{b}")),
            CompareOp::Lt | CompareOp::Ge => self.m(format!("{less} $m{d}, $m{a}, $m{b}")),
            CompareOp::Gt | CompareOp::Le => self.m(format!("{less} $m{d}, $m{b}, $m{a}")),
        }
        if matches!(op, CompareOp::Ge | CompareOp::Le) {
            self.m(format!("cmpeq $m{d}, $m{d}, 0"));
        }
        self.drop_all(&[first, second], 0);
        Ok(truth(Place::Main(d)))
    }

    pub(super) fn select(&mut self, c: Value, x: Value, y: Value) -> Result<Value, String> {
        if c.ty != ScalarType::I1 || x.ty != y.ty {
            return Err(format!(
                "`select` by {} between {} and {}",
                c.ty, x.ty, y.ty
            ));
        }
        let (c, first) = self.in_main(c)?;
        let (a, second) = self.in_main(x)?;
        let (b, third) = self.in_main(y)?;
        let d = self.main()?;
        self.m(format!("mov $m{d}, $m{b}"));
        self.m(format!("movz $m{d}, $m{c}, $m{a}"));
        self.drop_all(&[first, second, third], 0);
        Ok(Value {
            place: Place::Main(d),
            ty: x.ty,
        })
    }

    pub(super) fn convert(&mut self, ty: ScalarType, x: Value) -> Result<Value, String> {
        let from = x.ty;
        let value = |place| Ok(Value { place, ty });
        match (from, ty) {
            (from, ty) if from == ty => {
                // A copy, so that every node owns its register.
                let (s, taken) = self.in_main(x)?;
                let d = self.main()?;
                self.m(format!("mov $m{d}, $m{s}"));
                self.drop_all(&[taken], 0);
                value(Place::Main(d))
            }
            (ScalarType::F16, ScalarType::F32) | (ScalarType::F32, ScalarType::F16) => {
                let (s, taken) = self.in_aux(x)?;
                let d = self.aux()?;
                let name = if ty == ScalarType::F32 {
                    "f16tof32"
                } else {
                    "f32tof16"
                };
                self.a(format!("{name} $a{d}, $a{s}"));
                self.drop_all(&[taken], 1);
                value(Place::Aux(d))
            }
            (from, ScalarType::I1) if float(from) => {
                let zero = Value {
                    place: Place::Bits(0),
                    ty: from,
                };
                self.compare(CompareOp::Ne, x, zero)
            }
            (from, ty) if float(from) => {
                let (s, taken) = self.in_aux(x)?;
                let (t, d) = (self.aux()?, self.main()?);
                if from == ScalarType::F16 {
                    self.a(format!("f16tof32 $a{t}, $a{s}"));
                    self.a(format!("f32int $a{t}, $a{t}, 3"));
                } else {
                    self.a(format!("f32int $a{t}, $a{s}, 3"));
                }
                let unsigned = matches!(ty, ScalarType::U32);
                let name = if unsigned { "f32toui32" } else { "f32toi32" };
                self.a(format!("{name} $a{t}, $a{t}"));
                self.m(format!("atom $m{d}, $a{t}"));
                self.wrap(d, ty);
                self.drop_all(&[taken, Some(t)], 1);
                value(Place::Main(d))
            }
            (from, ty) if float(ty) => {
                let (s, taken) = self.in_aux(x)?;
                let d = self.aux()?;
                let name = if from == ScalarType::U32 {
                    "f32fromui32"
                } else {
                    "f32fromi32"
                };
                self.a(format!("{name} $a{d}, $a{s}"));
                if ty == ScalarType::F16 {
                    self.a(format!("f32tof16 $a{d}, $a{d}"));
                }
                self.drop_all(&[taken], 1);
                value(Place::Aux(d))
            }
            (_, ScalarType::I1) => {
                let (s, taken) = self.in_main(x)?;
                let d = self.main()?;
                self.m(format!("cmpne $m{d}, $m{s}, $mzero"));
                self.drop_all(&[taken], 0);
                value(Place::Main(d))
            }
            _ => {
                let (s, taken) = self.in_main(x)?;
                let d = self.main()?;
                self.m(format!("mov $m{d}, $m{s}"));
                self.wrap(d, ty);
                self.drop_all(&[taken], 0);
                value(Place::Main(d))
            }
        }
    }
}
