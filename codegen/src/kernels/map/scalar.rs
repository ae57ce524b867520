//! Elementwise expressions on integers, truth values and mixtures: element by element.
//!
//! Integers and truth values (0 or 1) live in MRF registers, floats in aux registers, halves in
//! both halves of one. As many elements as fill a word are computed one after the other and stored
//! together. A value goes from the aux to the main registers by `atom`, back through the memory of
//! the result, which is written last.

use super::super::nest::{Code, Nest, add};
use crate::worker::Worker;
use ipucc_chip::timing::transcendental_turns;
use ipucc_chip::{Assumptions, ScalarType};
use ipucc_tile::kernel::{Expr, Map};

/// Where a node's value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// MRF register: an integer, a truth value, or the bits of a float.
    Main(u32),
    /// Aux register.
    Aux(u32),
    /// These bits, in both halves for a type of two bytes.
    Bits(u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Value {
    pub(super) place: Place,
    pub(super) ty: ScalarType,
}

/// Bundles of a `rpt` body (`isa/ops_core.md` 5.3).
const LONGEST: usize = 256;

pub(super) fn float(ty: ScalarType) -> bool {
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
        stepping: group == 1,
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
    // Groups follow one another in a `rpt` loop; the pointers walk and go back.
    let types: Vec<ScalarType> = (map.inputs.iter().chain([&map.output]))
        .map(|access| access.element)
        .collect();
    let read = |buffer: usize| {
        buffer == map.inputs.len() || map.nodes.contains(&Expr::Input(buffer as u16))
    };
    let walked: Vec<u32> = (types.iter().zip(strides).enumerate())
        .map(|(buffer, (ty, stride))| u32::from(read(buffer)) * stride * ty.bytes() * group)
        .collect();
    if group > 1 {
        for (buffer, &bytes) in walked.iter().enumerate() {
            add(&mut maker.out, buffer as u32, i64::from(bytes), last);
        }
    }
    if maker.out.words() > 2 * LONGEST {
        return Err("the expression is longer than a loop may be".into());
    }
    nest.registers = last;
    let dim = nest.dims.pop().ok_or("internal: no innermost loop")?;
    nest.emit_walk(&dim, |count| {
        let mut body = Worker::new();
        body.repeat_worker(count, &maker.out);
        for (buffer, &bytes) in walked.iter().enumerate() {
            let back = -i64::from(bytes) * i64::from(count);
            add(&mut body, buffer as u32, back, last);
        }
        Ok(body)
    })
}

pub(super) struct Maker<'a> {
    out: Worker,
    map: &'a Map,
    strides: &'a [u32],
    /// Groups are single elements: accesses move their pointers.
    stepping: bool,
    /// Free registers: main, aux; the last is taken first.
    pub(super) free: [Vec<u32>; 2],
    /// The word of the result that is not written yet.
    scratch: u32,
    /// Elements of the word so far.
    packed: Option<Place>,
    aliased: bool,
    assumptions: &'a Assumptions,
}

impl Maker<'_> {
    pub(super) fn main(&mut self) -> Result<u32, String> {
        self.free[0]
            .pop()
            .ok_or_else(|| "the expression needs more registers than there are".into())
    }

    pub(super) fn aux(&mut self) -> Result<u32, String> {
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

    pub(super) fn m(&mut self, text: String) {
        self.out.bundle(text, "");
    }

    pub(super) fn a(&mut self, text: String) {
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
            let last = !nodes[index + 1..].contains(node);
            let value = self.node(node, &values, element, last)?;
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

    /// One node; `last`: no other node reads the same input later.
    fn node(
        &mut self,
        node: &Expr,
        values: &[Value],
        element: u32,
        last: bool,
    ) -> Result<Value, String> {
        let at = |i: u16| values[i as usize];
        match *node {
            Expr::Input(input) => self.load(input as usize, element, last),
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

    fn load(&mut self, input: usize, element: u32, last: bool) -> Result<Value, String> {
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
        if self.stepping && last && self.strides[input] != 0 {
            self.m(format!("{mnemonic}step {name}, $mzero, $m{input}+=, 1"));
        } else {
            self.m(format!("{mnemonic} {name}, $m{input}, $mzero, {at}"));
        }
        Ok(Value { place, ty })
    }

    /// The value in a main register, and the register if it was taken for this.
    pub(super) fn in_main(&mut self, value: Value) -> Result<(u32, Option<u32>), String> {
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
    pub(super) fn in_aux(&mut self, value: Value) -> Result<(u32, Option<u32>), String> {
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

    pub(super) fn drop_all(&mut self, taken: &[Option<u32>], which: usize) {
        self.free[which].extend(taken.iter().flatten());
    }

    /// Puts the element into its word and stores the word when it is full.
    fn store(&mut self, value: Value, element: u32, group: u32) -> Result<(), String> {
        let result = self.map.inputs.len();
        let bytes = value.ty.bytes();
        let per_word = 4 / bytes;
        if bytes == 4 {
            let (name, taken) = match value.place {
                Place::Aux(register) => (format!("$a{register}"), None),
                _ => {
                    let (register, taken) = self.in_main(value)?;
                    (format!("$m{register}"), taken)
                }
            };
            if self.stepping {
                self.m(format!("st32step {name}, $mzero, $m{result}+=, 1"));
            } else {
                self.m(format!("st32 {name}, $m{result}, $mzero, {element}"));
            }
            self.drop_all(&[taken], 0);
            self.release(value.place);
            return Ok(());
        }
        let (register, taken) = self.in_main(value)?;
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
