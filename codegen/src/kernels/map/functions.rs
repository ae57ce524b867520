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
            UnaryOp::Floor => self.integral(x, 2),
            UnaryOp::Ceil => self.integral(x, 1),
            UnaryOp::Round => self.integral(x, 0),
            UnaryOp::Sin => self.sine(x, false),
            UnaryOp::Cos => self.sine(x, true),
            other => Err(format!(
                "`{}` of {ty} has no instruction here",
                other.name()
            )),
        }
    }

    /// The nearest integer in a direction (`isa/ops_f32_int.md` 5.1); halves go through f32.
    fn integral(&mut self, x: Val, mode: u32) -> Result<Val, String> {
        if x.ty() == ScalarType::F16 {
            let wide = self.convert(ScalarType::F32, x)?;
            let wide = self.integral(wide, mode)?;
            return self.convert(ScalarType::F16, wide);
        }
        let source = self.vector(x)?;
        let d = self.register(ScalarType::F32);
        for lane in 0..self.lanes() {
            self.aux(
                format!("f32int %{d}.{lane}, %{source}.{lane}, {mode}"),
                d,
                &[source],
            );
        }
        Ok(Val::Reg(d, ScalarType::F32))
    }

    /// Sine or cosine: the argument less a multiple of pi in three parts, of which two products
    /// are exact for multiples below 2^12, then the series to the eleventh power.
    fn sine(&mut self, x: Val, cosine: bool) -> Result<Val, String> {
        const PI: [f32; 3] = [3.140_625, 9.670_257_6e-4, 6.278_333e-7];
        if x.ty() == ScalarType::F16 {
            let wide = self.convert(ScalarType::F32, x)?;
            let wide = self.sine(wide, cosine)?;
            return self.convert(ScalarType::F16, wide);
        }
        let ty = ScalarType::F32;
        let c = |value: f32| Self::constant(value, ty);
        let mut n = self.arithmetic("mul", c(std::f32::consts::FRAC_1_PI), x, false)?;
        if cosine {
            n = self.arithmetic("add", c(0.5), n, false)?;
        }
        let n = self.integral(n, 0)?;
        let times = if cosine {
            self.arithmetic("add", c(-0.5), n, false)?
        } else {
            n
        };
        let mut r = x;
        for part in PI {
            let product = self.arithmetic("mul", c(-part), times, false)?;
            r = self.arithmetic("add", product, r, false)?;
        }
        // Minus where the multiple is odd: 1 - 8 f^2 with f the fraction of its half.
        let half = self.arithmetic("mul", c(0.5), n, false)?;
        let whole = self.integral(half, 0)?;
        let f = self.arithmetic("sub", half, whole, false)?;
        let sign = self.arithmetic("mul", f, f, false)?;
        let sign = self.arithmetic("mul", c(-8.0), sign, false)?;
        let sign = self.arithmetic("add", c(1.0), sign, false)?;
        let r = self.arithmetic("mul", sign, r, false)?;
        let square = self.arithmetic("mul", r, r, false)?;
        let mut p = self.arithmetic("mul", c(-2.505_210_8e-8), square, false)?;
        for coefficient in [2.755_731_9e-6, -1.984_127e-4, 8.333_333e-3, -0.166_666_67] {
            p = self.arithmetic("add", c(coefficient), p, false)?;
            p = self.arithmetic("mul", square, p, false)?;
        }
        let p = self.arithmetic("mul", r, p, false)?;
        self.arithmetic("add", r, p, false)
    }

    /// `x` to a constant power: products for whole exponents, with a root for odd halves; others
    /// for halves only, whose rounding hides that of the logarithm times the exponent.
    pub(super) fn power(&mut self, x: Val, exponent: f32) -> Result<Val, String> {
        let ty = x.ty();
        let twice = 2.0 * exponent;
        let simple = twice.fract() == 0.0 && twice.abs() <= 64.0;
        if ty == ScalarType::F16 {
            let wide = self.convert(ScalarType::F32, x)?;
            let wide = if simple {
                self.power(wide, exponent)?
            } else {
                let t = self.function("log2", wide)?;
                let t =
                    self.arithmetic("mul", Self::constant(exponent, ScalarType::F32), t, false)?;
                self.function("exp2", t)?
            };
            return self.convert(ScalarType::F16, wide);
        }
        if !simple || ty != ScalarType::F32 {
            return Err(format!("`pow` of {ty} with the exponent {exponent}"));
        }
        let halves = twice.abs() as u32;
        let mut result: Option<Val> = None;
        if halves % 2 == 1 {
            result = Some(self.by_lane("f32sqrt", &[x])?);
        }
        let (mut left, mut square) = (halves / 2, x);
        while left > 0 {
            if left % 2 == 1 {
                result = Some(match result {
                    None => square,
                    Some(result) => self.arithmetic("mul", result, square, false)?,
                });
            }
            left /= 2;
            if left > 0 {
                square = self.arithmetic("mul", square, square, false)?;
            }
        }
        let result = result.unwrap_or(Self::constant(1.0, ty));
        if exponent < 0.0 {
            return self.by_lane("f32oox", &[result]);
        }
        Ok(result)
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
            let root = std::f32::consts::FRAC_1_SQRT_2;
            let [linear, cubic] = ERF_F16;
            let t = self.erf_by_tanh(x, [linear * root, cubic * root * 0.5])?;
            let half = self.arithmetic("mul", c(0.5), x, false)?;
            let t = self.arithmetic("mul", half, t, false)?;
            return self.arithmetic("add", half, t, false);
        }
        let t = self.arithmetic("mul", c(std::f32::consts::FRAC_1_SQRT_2), x, false)?;
        // Half of x from the scaled x, so that x need not be kept.
        let half = t;
        let t = self.erf(t)?;
        let half = self.arithmetic("mul", c(std::f32::consts::FRAC_1_SQRT_2), half, false)?;
        let t = self.arithmetic("mul", half, t, false)?;
        self.arithmetic("add", half, t, false)
    }

    /// `tanh(x (a + b x^2))` in f16: where x^2 saturates the result is 1 long since.
    fn erf_by_tanh(&mut self, x: Val, [a, b]: [f32; 2]) -> Result<Val, String> {
        let c = |value: f32| Self::constant(value, ScalarType::F16);
        let square = self.arithmetic("mul", x, x, false)?;
        let t = self.arithmetic("mul", c(b), square, false)?;
        let t = self.arithmetic("add", c(a), t, false)?;
        let t = self.arithmetic("mul", x, t, false)?;
        self.function("tanh", t)
    }

    /// Error function: `x p(x^2)` with a polynomial in x^2 scaled to [-1, 1], kept within [-1, 1]:
    /// f32 rounds to 1 behind the last x^2. Relative error below 4.2 units of f32, also where x is
    /// small. One running value and x fit the registers, a quotient would not.
    fn erf(&mut self, x: Val) -> Result<Val, String> {
        if x.ty() == ScalarType::F16 {
            return self.erf_by_tanh(x, ERF_F16);
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
        self.clamp(y, (-1f32).to_bits(), 1f32.to_bits())
    }
}

/// `erf(x)` as `tanh(x (a + b x^2))`: relative error below 3.6e-4 everywhere (a and b by a
/// weighted least-squares fit of `atanh(erf(x)) / x`), with the roundings of f16 below 3 of its
/// units.
const ERF_F16: [f32; 2] = [1.128_777, 0.100_709_2];

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
