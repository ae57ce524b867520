//! Functions of one operand: those that the machine has, and those that are made of several
//! instructions.

use super::lower::{Lower, Val};
use ipucc_chip::ScalarType;
use ipucc_tile::kernel::UnaryOp;

impl Lower<'_> {
    pub(super) fn unary(&mut self, op: UnaryOp, x: Val) -> Result<Val, String> {
        let ty = x.ty();
        if !matches!(ty, ScalarType::F32 | ScalarType::F16) {
            return Err(format!("`{}` of {ty} has no instruction here", op.name()));
        }
        match op {
            UnaryOp::Neg => self.arithmetic("mul", Self::constant(-1.0, ty), x, false),
            UnaryOp::Abs => self.plain("absmax", x, x),
            UnaryOp::Exp => self.function("exp", x),
            UnaryOp::Exp2 => self.function("exp2", x),
            UnaryOp::Log => self.function("ln", x),
            UnaryOp::Log2 => self.function("log2", x),
            UnaryOp::Tanh => self.function("tanh", x),
            UnaryOp::Sigmoid => self.function("sigm", x),
            UnaryOp::Sqrt => self.by_lane("f32sqrt", &[x]),
            UnaryOp::Rsqrt => self.by_lane("f32oorx", &[x]),
            UnaryOp::Reciprocal => self.by_lane("f32oox", &[x]),
            UnaryOp::Erf => self.erf(x),
            UnaryOp::Sign => {
                let zero = Val::Const(0, ty);
                let one = self.vector(Self::constant(1.0, ty))?;
                let minus = self.vector(Self::constant(-1.0, ty))?;
                // 0 < x gives 1, 0 > x gives -1.
                let above = self.arithmetic("cmplt", zero, x, false)?;
                let below = self.arithmetic("cmpgt", zero, x, false)?;
                let (above, below) = (self.vector(above)?, self.vector(below)?);
                let a = self.logic("and", above, one, ty);
                let b = self.logic("and", below, minus, ty);
                let d = self.logic("or", a, b, ty);
                Ok(Val::Reg(d, ty))
            }
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round if ty == ScalarType::F32 => {
                let mode = match op {
                    UnaryOp::Ceil => 1,
                    UnaryOp::Floor => 2,
                    _ => 0,
                };
                let source = self.vector(x)?;
                let d = self.register(ty);
                for lane in 0..self.lanes() {
                    self.aux(
                        format!("f32int %{d}.{lane}, %{source}.{lane}, {mode}"),
                        d,
                        &[source],
                    );
                }
                Ok(Val::Reg(d, ty))
            }
            other => Err(format!(
                "`{}` of {ty} has no instruction here",
                other.name()
            )),
        }
    }

    /// `x * (0.5 + 0.5 * f(x))` with f the tanh form or erf.
    pub(super) fn gelu(&mut self, tanh: bool, x: Val) -> Result<Val, String> {
        let ty = x.ty();
        let c = |value: f32| Self::constant(value, ty);
        if tanh {
            let square = self.arithmetic("mul", x, x, false)?;
            let t = self.arithmetic("mul", c(0.797_884_6 * 0.044_715), square, false)?;
            let t = self.arithmetic("add", c(0.797_884_6), t, false)?;
            let t = self.arithmetic("mul", x, t, false)?;
            let t = self.function("tanh", t)?;
            let half = self.arithmetic("mul", c(0.5), x, false)?;
            let t = self.arithmetic("mul", half, t, false)?;
            return self.arithmetic("add", half, t, false);
        }
        if ty == ScalarType::F16 {
            let wide = self.convert(ScalarType::F32, x)?;
            let wide = self.gelu(tanh, wide)?;
            return self.convert(ScalarType::F16, wide);
        }
        let t = self.arithmetic("mul", c(std::f32::consts::FRAC_1_SQRT_2), x, false)?;
        // Half of x from the scaled x, so that x need not be kept.
        let half = t;
        let t = self.erf(t)?;
        let half = self.arithmetic("mul", c(std::f32::consts::FRAC_1_SQRT_2), half, false)?;
        let t = self.arithmetic("mul", half, t, false)?;
        self.arithmetic("add", half, t, false)
    }

    /// Error function: `x p(x^2)` with a polynomial in x^2 scaled to [-1, 1], kept within [-1, 1]:
    /// f32 rounds to 1 behind the last x^2. Relative error below 4.2 units of f32, also where x is
    /// small. One running value and x fit the registers, a quotient would not.
    fn erf(&mut self, x: Val) -> Result<Val, String> {
        if x.ty() == ScalarType::F16 {
            let wide = self.convert(ScalarType::F32, x)?;
            let wide = self.erf(wide)?;
            return self.convert(ScalarType::F16, wide);
        }
        let ty = ScalarType::F32;
        let c = |value: f32| Self::constant(value, ty);
        let square = self.arithmetic("mul", x, x, false)?;
        let square = self.plain("min", c(ERF_END), square)?;
        let u = self.arithmetic("mul", c(2.0 / ERF_END), square, false)?;
        let u = self.arithmetic("add", c(-1.0), u, false)?;
        let mut p = c(ERF[0]);
        for &coefficient in &ERF[1..] {
            p = self.arithmetic("mul", p, u, false)?;
            p = self.arithmetic("add", c(coefficient), p, false)?;
        }
        let y = self.arithmetic("mul", x, p, false)?;
        let y = self.plain("min", c(1.0), y)?;
        self.plain("max", c(-1.0), y)
    }
}

/// Where the polynomial of the error function ends, as x^2.
const ERF_END: f32 = 3.75 * 3.75;

/// `erf(x) / x` as a polynomial in `u = 2 x^2 / ERF_END - 1`, highest coefficient first: the
/// Chebyshev interpolation of degree 14 of that function on [0, `ERF_END`], in powers of u.
const ERF: [f32; 15] = [
    9.779_793e-4,
    -2.267_785e-3,
    1.541_088_1e-3,
    -2.858_864_6e-3,
    9.601_812e-3,
    -1.690_941_3e-2,
    2.461_651_3e-2,
    -3.721_267e-2,
    5.373_766_6e-2,
    -7.164_125e-2,
    9.072_103e-2,
    -1.119_360_85e-1,
    1.392_698_9e-1,
    -1.880_301_7e-1,
    3.770_569_3e-1,
];
