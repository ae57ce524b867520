//! Elementwise expressions on integers, truth values and mixtures: element by element.
//!
//! Integers and truth values (0 or 1) live in MRF registers, floats in aux registers, halves in
//! both halves of one. As many elements as fill a word are computed one after the other and stored
//! together. A value goes from the aux to the main registers by `atom`, back through the memory of
//! the result, which is written last.

use super::super::nest::{Code, Nest};
use crate::worker::Worker;
use ipucc_chip::timing::transcendental_turns;
use ipucc_chip::{Assumptions, ScalarType};
use ipucc_tile::kernel::{BinaryOp, CompareOp, Expr, Map, UnaryOp};

/// Where a node's value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// MRF register: an integer, a truth value, or the bits of a float.
    Main(u32),
    /// Aux register.
    Aux(u32),
    /// These bits, in both halves for a type of two bytes.
    Bits(u32),
}

#[derive(Clone, Copy, Debug)]
struct Value {
    place: Place,
    ty: ScalarType,
}

fn float(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F32 | ScalarType::F16)
}

/// Elements that are computed together: those of one word of the narrowest buffer.
pub(super) fn group(types: &[ScalarType], strides: &[u32]) -> u32 {
    types
        .iter()
        .zip(strides)
        .filter(|(_, stride)| **stride != 0)
        .map(|(ty, _)| (4 / ty.bytes()).max(1))
        .max()
        .unwrap_or(1)
}

/// Checks the types of the buffers.
pub(super) fn supports(types: &[ScalarType]) -> bool {
    types.iter().all(|ty| {
        matches!(
            ty,
            ScalarType::F32
                | ScalarType::F16
                | ScalarType::I32
                | ScalarType::U32
                | ScalarType::I16
                | ScalarType::I8
                | ScalarType::U8
                | ScalarType::I1
        )
    })
}

/// Code for an expression over `nest`, whose innermost passes are groups of `group` elements.
pub(super) fn generate(
    map: &Map,
    strides: &[u32],
    group: u32,
    mut nest: Nest,
    loops: u32,
    aliased: bool,
    assumptions: &Assumptions,
) -> Result<Code, String> {
    let buffers = map.inputs.len() as u32 + 1;
    let last = 11u32
        .checked_sub(loops.max(1))
        .filter(|&last| last > buffers)
        .ok_or("more buffers and loops than there are registers")?;
    let mut maker = Maker {
        out: Worker::new(),
        map,
        strides,
        free: [(buffers..last).rev().collect(), (0..8).rev().collect()],
        scratch: 0,
        packed: None,
        aliased,
        assumptions,
    };
    for element in 0..group {
        maker.scratch = element * map.output.element.bytes() / 4;
        maker.element(element, group)?;
    }
    nest.registers = last;
    nest.emit(&maker.out)
}

struct Maker<'a> {
    out: Worker,
    map: &'a Map,
    strides: &'a [u32],
    /// Free registers: main, aux; the last is taken first.
    free: [Vec<u32>; 2],
    /// The word of the result that is not written yet.
    scratch: u32,
    /// Elements of the word so far.
    packed: Option<Place>,
    aliased: bool,
    assumptions: &'a Assumptions,
}

impl Maker<'_> {
    fn main(&mut self) -> Result<u32, String> {
        self.free[0]
            .pop()
            .ok_or_else(|| "the expression needs more registers than there are".into())
    }

    fn aux(&mut self) -> Result<u32, String> {
        self.free[1]
            .pop()
            .ok_or_else(|| "the expression needs more registers than there are".into())
    }

    fn release(&mut self, place: Place) {
        match place {
            Place::Main(register) => self.free[0].push(register),
            Place::Aux(register) => self.free[1].push(register),
            Place::Bits(_) => {}
        }
    }

    fn m(&mut self, text: String) {
        self.out.bundle(text, "");
    }

    fn a(&mut self, text: String) {
        let mnemonic = text.split(' ').next().unwrap_or_default();
        let turns = transcendental_turns(mnemonic, self.assumptions).unwrap_or(1);
        self.out.slow_bundle("", text, turns);
    }

    fn element(&mut self, element: u32, group: u32) -> Result<(), String> {
        let nodes = &self.map.nodes;
        let mut values: Vec<Value> = Vec::with_capacity(nodes.len());
        let uses = |node: &Expr| -> Vec<u16> {
            match *node {
                Expr::Input(_) | Expr::Constant(..) => vec![],
                Expr::Unary(_, x) | Expr::Convert(_, x) | Expr::Gelu(_, x) => vec![x],
                Expr::Binary(_, x, y) | Expr::Compare(_, x, y) => vec![x, y],
                Expr::Select(c, x, y) => vec![c, x, y],
            }
        };
        for (index, node) in nodes.iter().enumerate() {
            if uses(node).iter().any(|&used| used as usize >= index) {
                return Err(format!("node {index} uses one that is not defined before"));
            }
            let value = self.node(node, &values, element)?;
            values.push(value);
            // What is used here for the last time is free now.
            let mut over: Vec<u16> = uses(node);
            over.sort_unstable();
            over.dedup();
            for used in over {
                let later = nodes[index + 1..]
                    .iter()
                    .any(|node| uses(node).contains(&used));
                let place = values[used as usize].place;
                if !later && place != value.place {
                    self.release(place);
                }
            }
        }
        let result = *values.last().ok_or("it has no nodes")?;
        if result.ty != self.map.output.element {
            return Err(format!(
                "its result is {}, the buffer {}",
                result.ty, self.map.output.element
            ));
        }
        self.store(result, element, group)
    }

    fn node(&mut self, node: &Expr, values: &[Value], element: u32) -> Result<Value, String> {
        let at = |i: u16| values[i as usize];
        match *node {
            Expr::Input(input) => self.load(input as usize, element),
            Expr::Constant(bits, ty) => {
                let bits = match ty.bytes() {
                    2 => (bits & 0xffff) | bits << 16,
                    _ => bits,
                };
                Ok(Value {
                    place: Place::Bits(bits),
                    ty,
                })
            }
            Expr::Unary(op, x) => self.unary(op, at(x)),
            Expr::Binary(op, x, y) => self.binary(op, at(x), at(y)),
            Expr::Compare(op, x, y) => self.compare(op, at(x), at(y)),
            Expr::Select(c, x, y) => self.select(at(c), at(x), at(y)),
            Expr::Convert(ty, x) => self.convert(ty, at(x)),
            Expr::Gelu(..) => Err("`gelu` beside integers; hint: a kernel of its own".into()),
        }
    }

    fn load(&mut self, input: usize, element: u32) -> Result<Value, String> {
        let ty = self.map.inputs[input].element;
        let at = element * self.strides[input];
        let (mnemonic, aux) = match ty {
            ScalarType::F32 => ("ld32", true),
            ScalarType::F16 => ("ldb16", true),
            ScalarType::I32 | ScalarType::U32 => ("ld32", false),
            ScalarType::I16 => ("lds16", false),
            ScalarType::I8 => ("lds8", false),
            ScalarType::U8 | ScalarType::I1 => ("ldz8", false),
            other => return Err(format!("a buffer of {other}")),
        };
        let (place, name) = if aux {
            let register = self.aux()?;
            (Place::Aux(register), format!("$a{register}"))
        } else {
            let register = self.main()?;
            (Place::Main(register), format!("$m{register}"))
        };
        self.m(format!("{mnemonic} {name}, $m{input}, $mzero, {at}"));
        Ok(Value { place, ty })
    }

    /// The value in a main register, and the register if it was taken for this.
    fn in_main(&mut self, value: Value) -> Result<(u32, Option<u32>), String> {
        match value.place {
            Place::Main(register) => Ok((register, None)),
            Place::Bits(0) => Ok((15, None)),
            Place::Aux(from) => {
                let register = self.main()?;
                self.m(format!("atom $m{register}, $a{from}"));
                Ok((register, Some(register)))
            }
            Place::Bits(bits) => {
                let register = self.main()?;
                self.m(format!("setzi $m{register}, {:#x}", bits & 0xf_ffff));
                if bits >> 20 != 0 {
                    self.m(format!(
                        "or $m{register}, $m{register}, {:#x}",
                        bits & 0xfff0_0000
                    ));
                }
                Ok((register, Some(register)))
            }
        }
    }

    /// The value in an aux register, and the register if it was taken for this.
    fn in_aux(&mut self, value: Value) -> Result<(u32, Option<u32>), String> {
        match value.place {
            Place::Aux(register) => Ok((register, None)),
            Place::Bits(0) => Ok((15, None)),
            Place::Bits(bits) => {
                let register = self.aux()?;
                self.a(format!("setzi $a{register}, {:#x}", bits & 0xf_ffff));
                if bits >> 20 != 0 {
                    self.a(format!(
                        "or $a{register}, $a{register}, {:#x}",
                        bits & 0xfff0_0000
                    ));
                }
                Ok((register, Some(register)))
            }
            Place::Main(from) => {
                if self.aliased {
                    return Err(
                        "a float from an integer where the result overwrites an input".into(),
                    );
                }
                let register = self.aux()?;
                let result = self.map.inputs.len();
                let at = self.scratch;
                self.m(format!("st32 $m{from}, $m{result}, $mzero, {at}"));
                self.m(format!("ld32 $a{register}, $m{result}, $mzero, {at}"));
                Ok((register, Some(register)))
            }
        }
    }

    fn drop_all(&mut self, taken: &[Option<u32>], which: usize) {
        self.free[which].extend(taken.iter().flatten());
    }

    fn unary(&mut self, op: UnaryOp, x: Value) -> Result<Value, String> {
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

    fn binary(&mut self, op: BinaryOp, x: Value, y: Value) -> Result<Value, String> {
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

    fn compare(&mut self, op: CompareOp, x: Value, y: Value) -> Result<Value, String> {
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

    fn select(&mut self, c: Value, x: Value, y: Value) -> Result<Value, String> {
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

    fn convert(&mut self, ty: ScalarType, x: Value) -> Result<Value, String> {
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

    /// Puts the element into its word and stores the word when it is full.
    fn store(&mut self, value: Value, element: u32, group: u32) -> Result<(), String> {
        let result = self.map.inputs.len();
        let bytes = value.ty.bytes();
        let per_word = 4 / bytes;
        let (register, taken) = self.in_main(value)?;
        if bytes == 4 {
            self.m(format!("st32 $m{register}, $m{result}, $mzero, {element}"));
            self.drop_all(&[taken], 0);
            self.release(value.place);
            return Ok(());
        }
        debug_assert!(group.is_multiple_of(per_word));
        let lane = element % per_word;
        let mask = |this: &mut Self, d: u32, s: u32| {
            if bytes == 1 {
                this.m(format!("and $m{d}, $m{s}, 255"));
            } else {
                this.m(format!("sort4x16lo $m{d}, $m{s}, $mzero"));
            }
        };
        match self.packed.take() {
            Some(Place::Main(word)) => {
                let t = self.main()?;
                mask(self, t, register);
                self.m(format!("shl $m{t}, $m{t}, {}", 8 * bytes * lane));
                self.m(format!("or $m{word}, $m{word}, $m{t}"));
                self.free[0].push(t);
                self.packed = Some(Place::Main(word));
            }
            _ => {
                let word = self.main()?;
                mask(self, word, register);
                self.packed = Some(Place::Main(word));
            }
        }
        self.drop_all(&[taken], 0);
        self.release(value.place);
        if lane + 1 == per_word
            && let Some(Place::Main(word)) = self.packed.take()
        {
            let at = element / per_word;
            self.m(format!("st32 $m{word}, $m{result}, $mzero, {at}"));
            self.free[0].push(word);
        }
        Ok(())
    }
}
