//! Which operands an instruction has, and what it becomes.

use super::super::micro::{AuxOp, MainOp};
use ipucc_machine::{Lane, Op, OperandKind};
use std::sync::LazyLock;

/// Where the fields of a main-lane instruction come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// op0 = dst, op1, op2 registers or an immediate.
    Binary(MainOp, MainOp),
    /// op0 = dst, op1 register or immediate.
    Unary(MainOp),
    MovZ,
    Load(MainOp, u32),
    Store(MainOp, u32),
    Stm32,
    Stm32Step,
    Pace(MainOp),
    St64Pace,
    Delta(MainOp),
    TaPack,
    BranchRegister(MainOp),
    BranchAlways(MainOp),
    Branch(MainOp),
    Call,
    Exit(MainOp),
    Rpt,
    Get,
    Put,
    Trap,
    Supervisor,
}

pub(super) fn main_shape(op: Op) -> Option<Shape> {
    use MainOp as M;
    let info = op.info();
    if info.table == ipucc_machine::Table::Supervisor || info.name.starts_with("send") {
        return Some(Shape::Supervisor);
    }
    let to_arf = info.operands.get(3).is_some_and(|o| {
        matches!(
            o.kind,
            OperandKind::A | OperandKind::APair | OperandKind::AQuad
        )
    });
    let by = |m: MainOp, a: MainOp| if to_arf { a } else { m };
    Some(match info.mnemonic {
        "add" => Shape::Binary(M::Add, M::AddI),
        "sub" => Shape::Binary(M::Sub, M::SubI),
        "mul" => Shape::Binary(M::Mul, M::MulI),
        "max" => Shape::Binary(M::Max, M::MaxI),
        "min" => Shape::Binary(M::Min, M::MinI),
        "cmpeq" => Shape::Binary(M::CmpEq, M::CmpEqI),
        "cmpne" => Shape::Binary(M::CmpNe, M::None),
        "cmpslt" => Shape::Binary(M::CmpSlt, M::CmpSltI),
        "cmpult" => Shape::Binary(M::CmpUlt, M::CmpUltI),
        "and" => Shape::Binary(M::And, M::AndI),
        "andc" => Shape::Binary(M::AndC, M::AndCI),
        "or" => Shape::Binary(M::Or, M::OrI),
        "xor" => Shape::Binary(M::Xor, M::None),
        "xnor" => Shape::Binary(M::Xnor, M::None),
        "shl" => Shape::Binary(M::Shl, M::ShlI),
        "shr" => Shape::Binary(M::Shr, M::ShrI),
        "shrs" => Shape::Binary(M::Shrs, M::ShrsI),
        "roll16" => Shape::Binary(M::Roll16, M::None),
        "roll8l" => Shape::Binary(M::Roll8L, M::None),
        "roll8r" => Shape::Binary(M::Roll8R, M::None),
        "shuf8x8hi" => Shape::Binary(M::Shuf8x8Hi, M::None),
        "shuf8x8lo" => Shape::Binary(M::Shuf8x8Lo, M::None),
        "sort4x16hi" => Shape::Binary(M::Sort4x16Hi, M::None),
        "sort4x16lo" => Shape::Binary(M::Sort4x16Lo, M::None),
        "sort8x8hi" => Shape::Binary(M::Sort8x8Hi, M::None),
        "sort8x8lo" => Shape::Binary(M::Sort8x8Lo, M::None),
        "abs" => Shape::Unary(M::Abs),
        "bitrev8" => Shape::Unary(M::BitRev8),
        "clz" => Shape::Unary(M::Clz),
        "cms" => Shape::Unary(M::Cms),
        "popc" => Shape::Unary(M::Popc),
        "sort8" => Shape::Unary(M::Sort8),
        "swap8" => Shape::Unary(M::Swap8),
        "setzi" => Shape::Unary(M::SetZi),
        "atom" => Shape::Unary(M::Atom),
        "movz" => Shape::MovZ,
        "ld32" => Shape::Load(by(M::Ld32, M::LdA32), 2),
        "lds16" => Shape::Load(M::LdS16, 1),
        "ldz16" => Shape::Load(M::LdZ16, 1),
        "lds8" => Shape::Load(M::LdS8, 0),
        "ldz8" => Shape::Load(M::LdZ8, 0),
        "ldb16" => Shape::Load(M::LdB16, 1),
        "ldb8" => Shape::Load(M::LdB8, 0),
        "ld64" => Shape::Load(M::Ld64, 3),
        "ld128" => Shape::Load(M::Ld128, 4),
        "ld32step" => Shape::Load(by(M::Ld32Step, M::LdA32Step), 2),
        "lds16step" => Shape::Load(M::LdS16Step, 1),
        "ldz16step" => Shape::Load(M::LdZ16Step, 1),
        "lds8step" => Shape::Load(M::LdS8Step, 0),
        "ldz8step" => Shape::Load(M::LdZ8Step, 0),
        "ldb16step" => Shape::Load(M::LdB16Step, 1),
        "ldb8step" => Shape::Load(M::LdB8Step, 0),
        "ld64step" => Shape::Load(M::Ld64Step, 3),
        "ld128step" => Shape::Load(M::Ld128Step, 4),
        "st32" => Shape::Store(by(M::St32, M::StA32), 2),
        "st32step" => Shape::Store(by(M::St32Step, M::StA32Step), 2),
        "st64" => Shape::Store(M::St64, 3),
        "st64step" => Shape::Store(M::St64Step, 3),
        "stm32" => Shape::Stm32,
        "stm32step" => Shape::Stm32Step,
        "ldst64pace" => Shape::Pace(M::LdSt64Pace),
        "ld2xst64pace" => Shape::Pace(M::Ld2xSt64Pace),
        "ld2x64pace" => Shape::Pace(M::Ld2x64Pace),
        "ld64a32pace" => Shape::Pace(M::Ld64A32Pace),
        "ld64b16pace" => Shape::Pace(M::Ld64B16Pace),
        "st64pace" => Shape::St64Pace,
        "ldd16b16" => Shape::Delta(M::LdD16B16),
        "ldd16a32" => Shape::Delta(M::LdD16A32),
        "ldd16a64" => Shape::Delta(M::LdD16A64),
        "ldd16v2a32" => Shape::Delta(M::LdD16V2A32),
        "ld64a32" => Shape::Delta(M::Ld64A32),
        "ldb16b16" => Shape::Delta(M::LdB16B16),
        "tapack" => Shape::TaPack,
        "br" => Shape::BranchRegister(M::Br),
        "bri" => Shape::BranchAlways(M::Bri),
        "brneg" => Shape::Branch(M::BrNeg),
        "brpos" => Shape::Branch(M::BrPos),
        "brz" => Shape::Branch(M::BrZ),
        "brnz" => Shape::Branch(M::BrNz),
        "brnzdec" => Shape::Branch(M::BrNzDec),
        "call" => Shape::Call,
        "exitz" => Shape::Exit(M::ExitZ),
        "exitnz" => Shape::Exit(M::ExitNz),
        "exitneg" => Shape::Exit(M::ExitNeg),
        "exitpos" => Shape::Exit(M::ExitPos),
        "rpt" => Shape::Rpt,
        "get" => Shape::Get,
        "put" => Shape::Put,
        "trap" => Shape::Trap,
        _ => return None,
    })
}

/// Where the sources of an aux-lane instruction stand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AuxShape {
    /// op0 = dst, op1 and op2 = sources (op2 may be an immediate).
    Plain(AuxOp),
    /// As `Plain` with an immediate form of its own.
    Immediate(AuxOp, AuxOp),
    /// op0 = dst, op2 = first source in assembler order, op1 = second.
    Swapped(AuxOp),
    /// No destination: op0, op1 = sources.
    Sources(AuxOp),
    /// op0 = dst, op1 = immediate.
    Constant(AuxOp),
    /// Matrix unit: op0 = dst, op1 = x, op2 = partials, op3 = fields.
    Matrix(AuxOp, Fields),
    UPut,
}

/// Kind of a matrix immediate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fields {
    Amp16,
    Amp32,
    Slic16,
    Slic32,
    Phase,
}

pub(super) fn aux_shape(op: Op) -> Option<AuxShape> {
    use AuxOp as A;
    use AuxShape::*;
    let info = op.info();
    Some(match info.mnemonic {
        "and" => Immediate(A::And, A::AndI),
        "andc" => Immediate(A::AndC, A::AndCI),
        "or" => Immediate(A::Or, A::OrI),
        "not" => Plain(A::Not),
        "and64" => Plain(A::And64),
        "andc64" => Plain(A::AndC64),
        "or64" => Plain(A::Or64),
        "not64" => Plain(A::Not64),
        "setzi" => Constant(A::SetZi),
        "roll16" => Plain(A::Roll16),
        "roll8l" => Plain(A::Roll8L),
        "roll8r" => Plain(A::Roll8R),
        "roll32" => Plain(A::Roll32),
        "shuf8x8hi" => Plain(A::Shuf8x8Hi),
        "shuf8x8lo" => Plain(A::Shuf8x8Lo),
        "sort4x16hi" => Plain(A::Sort4x16Hi),
        "sort4x16lo" => Plain(A::Sort4x16Lo),
        "sort4x32hi" => Plain(A::Sort4x32Hi),
        "sort4x32lo" => Plain(A::Sort4x32Lo),
        "sort8" => Plain(A::Sort8),
        "sort8x8hi" => Plain(A::Sort8x8Hi),
        "sort8x8lo" => Plain(A::Sort8x8Lo),
        "swap8" => Plain(A::Swap8),
        "f32add" => Plain(A::F32Add),
        "f32sub" => Plain(A::F32Sub),
        "f32mul" => Plain(A::F32Mul),
        "f32absadd" => Plain(A::F32AbsAdd),
        "f32max" => Plain(A::F32Max),
        "f32min" => Plain(A::F32Min),
        "f32absmax" => Plain(A::F32AbsMax),
        "f32clamp" => Plain(A::F32Clamp),
        "f32class" => Plain(A::F32Class),
        "f32cmpeq" => Plain(A::F32CmpEq),
        "f32cmpne" => Plain(A::F32CmpNe),
        "f32cmplt" => Plain(A::F32CmpLt),
        "f32cmple" => Plain(A::F32CmpLe),
        "f32cmpgt" => Plain(A::F32CmpGt),
        "f32cmpge" => Plain(A::F32CmpGe),
        "f32mac" => Sources(A::F32Mac),
        "f32int" => Plain(A::F32Int),
        "f32div" => Plain(A::F32Div),
        "f32sqrt" => Plain(A::F32Sqrt),
        "f32oox" => Plain(A::F32Oox),
        "f32oorx" => Plain(A::F32Oorx),
        "f32exp" => Plain(A::F32Exp),
        "f32exp2" => Plain(A::F32Exp2),
        "f32ln" => Plain(A::F32Ln),
        "f32log2" => Plain(A::F32Log2),
        "f32tanh" => Plain(A::F32Tanh),
        "f32sigm" => Plain(A::F32Sigm),
        "f32v2add" => Plain(A::F32v2Add),
        "f32v2sub" => Plain(A::F32v2Sub),
        "f32v2mul" => Plain(A::F32v2Mul),
        "f32v2absadd" => Plain(A::F32v2AbsAdd),
        "f32v2max" => Plain(A::F32v2Max),
        "f32v2min" => Plain(A::F32v2Min),
        "f32v2absmax" => Plain(A::F32v2AbsMax),
        "f32v2clamp" => Plain(A::F32v2Clamp),
        "f32v2class" => Plain(A::F32v2Class),
        "f32v2cmpeq" => Plain(A::F32v2CmpEq),
        "f32v2cmpne" => Plain(A::F32v2CmpNe),
        "f32v2cmplt" => Plain(A::F32v2CmpLt),
        "f32v2cmple" => Plain(A::F32v2CmpLe),
        "f32v2cmpgt" => Plain(A::F32v2CmpGt),
        "f32v2cmpge" => Plain(A::F32v2CmpGe),
        "f32v2mac" => Sources(A::F32v2Mac),
        "f32v2axpy" => Swapped(A::F32v2Axpy),
        "f32v2gina" => Plain(A::F32v2Gina),
        "f32v2grand" => Plain(A::F32v2Grand),
        "f32v2rmask" => Plain(A::F32v2RMask),
        "f32v2aop" => Sources(A::F32v2Aop),
        "f32v4acc" => Sources(A::F32v4Acc),
        "f32v4absacc" => Sources(A::F32v4AbsAcc),
        "f32v4sqacc" => Sources(A::F32v4SqAcc),
        "f16v2add" => Plain(A::F16v2Add),
        "f16v2sub" => Plain(A::F16v2Sub),
        "f16v2absadd" => Plain(A::F16v2AbsAdd),
        "f16v2mul" => Plain(A::F16v2Mul),
        "f16v4add" => Plain(A::F16v4Add),
        "f16v4sub" => Plain(A::F16v4Sub),
        "f16v4absadd" => Plain(A::F16v4AbsAdd),
        "f16v4mul" => Plain(A::F16v4Mul),
        "f16v2cmpeq" => Plain(A::F16v2CmpEq),
        "f16v2cmpne" => Plain(A::F16v2CmpNe),
        "f16v2cmplt" => Plain(A::F16v2CmpLt),
        "f16v2cmple" => Plain(A::F16v2CmpLe),
        "f16v2cmpgt" => Plain(A::F16v2CmpGt),
        "f16v2cmpge" => Plain(A::F16v2CmpGe),
        "f16v4cmpeq" => Plain(A::F16v4CmpEq),
        "f16v4cmpne" => Plain(A::F16v4CmpNe),
        "f16v4cmplt" => Plain(A::F16v4CmpLt),
        "f16v4cmple" => Plain(A::F16v4CmpLe),
        "f16v4cmpgt" => Plain(A::F16v4CmpGt),
        "f16v4cmpge" => Plain(A::F16v4CmpGe),
        "f16v2max" => Plain(A::F16v2Max),
        "f16v2min" => Plain(A::F16v2Min),
        "f16v2absmax" => Plain(A::F16v2AbsMax),
        "f16v2maxc" => Plain(A::F16v2MaxC),
        "f16v2clamp" => Plain(A::F16v2Clamp),
        "f16v2class" => Plain(A::F16v2Class),
        "f16v4max" => Plain(A::F16v4Max),
        "f16v4min" => Plain(A::F16v4Min),
        "f16v4absmax" => Plain(A::F16v4AbsMax),
        "f16v4maxc" => Plain(A::F16v4MaxC),
        "f16v4clamp" => Plain(A::F16v4Clamp),
        "f16v4class" => Plain(A::F16v4Class),
        "f16v2sum" => Plain(A::F16v2Sum),
        "f16v4sum" => Plain(A::F16v4Sum),
        "f16v4acc" => Sources(A::F16v4Acc),
        "f16v4absacc" => Sources(A::F16v4AbsAcc),
        "f16v2cmac" => Sources(A::F16v2CMac),
        "f16v4cmac" => Sources(A::F16v4CMac),
        "f16v4gacc" => Plain(A::F16v4GAcc),
        "f16v2gina" => Plain(A::F16v2Gina),
        "f16v4mix" => Plain(A::F16v4Mix),
        "f16v8acc" => Sources(A::F16v8Acc),
        "f16v8absacc" => Sources(A::F16v8AbsAcc),
        "f16v8sqacc" => Sources(A::F16v8SqAcc),
        "f16v2exp" => Plain(A::F16v2Exp),
        "f16v2exp2" => Plain(A::F16v2Exp2),
        "f16v2ln" => Plain(A::F16v2Ln),
        "f16v2log2" => Plain(A::F16v2Log2),
        "f16v2tanh" => Plain(A::F16v2Tanh),
        "f16v2sigm" => Plain(A::F16v2Sigm),
        "f16v2grand" => Plain(A::F16v2Grand),
        "f16v4rmask" => Plain(A::F16v4RMask),
        "f16tof32" => Plain(A::F16ToF32),
        "f16v2tof32" => Plain(A::F16v2ToF32),
        "f32tof16" => Plain(A::F32ToF16),
        "f32v2tof16" => Plain(A::F32v2ToF16),
        "f32v4tof16" => Plain(A::F32v4ToF16),
        "f16v2tof8" => Plain(A::F16v2ToF8),
        "f16v8tof8" => Plain(A::F16v8ToF8),
        "f8v2tof16" => Plain(A::F8v2ToF16),
        "f8v4tof16" => Plain(A::F8v4ToF16),
        "f32fromi32" => Plain(A::F32FromI32),
        "f32fromui32" => Plain(A::F32FromUi32),
        "f32toi32" => Plain(A::F32ToI32),
        "f32toui32" => Plain(A::F32ToUi32),
        "f16v2sufromui" => Plain(A::F16v2SuFromUi),
        "f16v4sufromui" => Plain(A::F16v4SuFromUi),
        "f32sufromui" => Plain(A::F32SuFromUi),
        "f32v2sufromui" => Plain(A::F32v2SuFromUi),
        "f8v4class" => Plain(A::F8v4Class),
        "urand32" => Plain(A::Urand32),
        "urand64" => Plain(A::Urand64),
        "f16v4hihoamp" => Matrix(A::F16v4HihoAmp, Fields::Amp16),
        "f16v4hihov4amp" => Matrix(A::F16v4Hihov4Amp, Fields::Amp16),
        "f16v4sisoamp" => Matrix(A::F16v4SisoAmp, Fields::Amp16),
        "f8v8hihov4amp" => Matrix(A::F8v8Hihov4Amp, Fields::Amp16),
        "f32sisoamp" => Matrix(A::F32SisoAmp, Fields::Amp32),
        "f32sisov2amp" => Matrix(A::F32Sisov2Amp, Fields::Amp32),
        "f16v4hihoslic" => Matrix(A::F16v4HihoSlic, Fields::Slic16),
        "f16v4hihov4slic" => Matrix(A::F16v4Hihov4Slic, Fields::Slic16),
        "f16v4sisoslic" => Matrix(A::F16v4SisoSlic, Fields::Slic16),
        "f8v8hihov4slic" => Matrix(A::F8v8Hihov4Slic, Fields::Slic16),
        "f32sisoslic" => Matrix(A::F32SisoSlic, Fields::Slic32),
        "f32sisov2slic" => Matrix(A::F32Sisov2Slic, Fields::Slic32),
        "f16v4istacc" => Matrix(A::F16v4IstAcc, Fields::Phase),
        "f16v4stacc" => Constant(A::F16v4StAcc),
        "uget" => Constant(A::UGet),
        "uput" => UPut,
        _ => return None,
    })
}

pub(super) static MAIN: LazyLock<Vec<Option<Shape>>> = LazyLock::new(|| {
    Op::ALL
        .iter()
        .map(|&op| {
            (op.info().lane == Lane::Main)
                .then(|| main_shape(op))
                .flatten()
        })
        .collect()
});

pub(super) static AUX: LazyLock<Vec<Option<AuxShape>>> = LazyLock::new(|| {
    Op::ALL
        .iter()
        .map(|&op| {
            (op.info().lane == Lane::Aux)
                .then(|| aux_shape(op))
                .flatten()
        })
        .collect()
});
