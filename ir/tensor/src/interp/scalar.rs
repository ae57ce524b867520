//! Functions of single f32 numbers.

use crate::op::{BinaryOp, UnaryOp};

/// GELU of one number, in f32.
pub fn gelu(x: f32, tanh: bool) -> f32 {
    if tanh {
        let inner = 0.797_884_6 * (x + 0.044_715 * x * x * x);
        0.5 * x * (1.0 + inner.tanh())
    } else {
        (0.5 * f64::from(x) * (1.0 + erf(f64::from(x) / std::f64::consts::SQRT_2))) as f32
    }
}

/// The error function: its series for small arguments, the continued fraction of erfc beyond.
pub fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a > 6.0 {
        return x.signum();
    }
    if a < 2.5 {
        let (mut term, mut sum) = (a, a);
        for n in 1..200 {
            term *= -a * a / f64::from(n);
            let add = term / f64::from(2 * n + 1);
            sum += add;
            if add.abs() < sum.abs() * 1e-18 {
                break;
            }
        }
        return x.signum() * sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    let tail = (1..120)
        .rev()
        .fold(a, |rest, n| a + f64::from(n) / 2.0 / rest);
    x.signum() * (1.0 - (-a * a).exp() / tail / std::f64::consts::PI.sqrt())
}

/// One unary operation on an f32.
pub fn unary_f32(op: UnaryOp, x: f32) -> f32 {
    match op {
        UnaryOp::Neg => -x,
        UnaryOp::Abs => x.abs(),
        UnaryOp::Sign => {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                x
            }
        }
        UnaryOp::Floor => x.floor(),
        UnaryOp::Ceil => x.ceil(),
        UnaryOp::Round => x.round_ties_even(),
        UnaryOp::Exp => f64::from(x).exp() as f32,
        UnaryOp::Exp2 => f64::from(x).exp2() as f32,
        UnaryOp::Log => f64::from(x).ln() as f32,
        UnaryOp::Log2 => f64::from(x).log2() as f32,
        UnaryOp::Sqrt => x.sqrt(),
        UnaryOp::Rsqrt => (1.0 / f64::from(x).sqrt()) as f32,
        UnaryOp::Reciprocal => 1.0 / x,
        UnaryOp::Tanh => f64::from(x).tanh() as f32,
        UnaryOp::Sigmoid => (1.0 / (1.0 + (-f64::from(x)).exp())) as f32,
        UnaryOp::Erf => erf(f64::from(x)) as f32,
        UnaryOp::Sin => f64::from(x).sin() as f32,
        UnaryOp::Cos => f64::from(x).cos() as f32,
        UnaryOp::Not | UnaryOp::Popcount => f32::NAN,
    }
}

/// One binary operation on f32 numbers.
pub fn binary_f32(op: BinaryOp, x: f32, y: f32) -> f32 {
    match op {
        BinaryOp::Add => x + y,
        BinaryOp::Sub => x - y,
        BinaryOp::Mul => x * y,
        BinaryOp::Div => x / y,
        BinaryOp::FloorRem => {
            let rest = x % y;
            if rest != 0.0 && (rest < 0.0) != (y < 0.0) {
                rest + y
            } else {
                rest
            }
        }
        BinaryOp::Rem => x % y,
        BinaryOp::Pow => f64::from(x).powf(f64::from(y)) as f32,
        BinaryOp::Min if x.is_nan() || y.is_nan() => f32::NAN,
        BinaryOp::Min => x.min(y),
        BinaryOp::Max if x.is_nan() || y.is_nan() => f32::NAN,
        BinaryOp::Max => x.max(y),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Xor | BinaryOp::Shl | BinaryOp::Shr => f32::NAN,
    }
}
