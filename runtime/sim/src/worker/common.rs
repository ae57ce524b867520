//! Main-lane instructions that supervisor and workers share: integer, bit, branch, loads and
//! stores of MRF registers (`isa/ops_core.md` 4 and 5.1, `ops_f32_int.md` 8, `ops_memory.md`).

use super::state::{Exception, MRF_STORED, Raised, Registers, SCRATCH};
use crate::arith::bits;
use crate::decode::{MainOp, Micro};
use crate::memory::{AccessError, FetchWindow, TileMemory};
use ipucc_chip::memory::{BASE, EXECUTABLE_END};

/// Where a pointer or delta register number is written: registers without storage drop it.
#[inline(always)]
pub(crate) fn mrf_target(r: usize) -> usize {
    if r < MRF_STORED { r } else { SCRATCH }
}

/// Outcome of a common instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Go on with the next group.
    Next,
    /// Taken branch to a legal target (byte address).
    Taken(u32),
}

/// What a common instruction needs besides the instruction.
pub struct CommonContext<'c, 'm, W: Fn() -> FetchWindow> {
    /// MRF of the context.
    pub mrf: &'c mut Registers,
    /// Tile memory.
    pub mem: &'c mut TileMemory<'m>,
    /// Fetch window of the group, asked for only by accesses to region 0.
    pub window: W,
    /// Address of the group after this one: what `call` stores.
    pub next: u32,
    /// Assumption `brnzdec_fallthrough`: the counter stays 0 when the branch is not taken.
    pub brnzdec_stays: bool,
    /// Assumption `store_on_exception`: a store that meets the fetch window still writes.
    pub store_commits: bool,
}

#[inline(always)]
pub(crate) fn refused(e: AccessError, address: u32) -> Raised {
    let exception = match e {
        AccessError::InvalidAddr => Exception::InvalidAddress,
        AccessError::Conflict => Exception::Conflict,
    };
    Raised::about(exception, address)
}

#[inline(always)]
pub(crate) fn target_ok(t: u32) -> Result<(), Raised> {
    if t & 3 != 0 || t.wrapping_sub(BASE) >= EXECUTABLE_END - BASE {
        return Err(Raised::about(Exception::InvalidPc, t));
    }
    Ok(())
}

impl<W: Fn() -> FetchWindow> CommonContext<'_, '_, W> {
    #[inline(always)]
    fn check(&self, address: u32, mask: u32) -> Result<(), Raised> {
        TileMemory::check(address, mask).map_err(|e| refused(e, address))?;
        if address < EXECUTABLE_END && (self.window)().clashes(address) {
            return Err(Raised::about(Exception::Conflict, address));
        }
        Ok(())
    }

    #[inline(always)]
    fn load(&self, address: u32, op: MainOp) -> Result<u32, Raised> {
        Ok(match op {
            MainOp::Ld32 | MainOp::Ld32Step => {
                self.check(address, 3)?;
                self.mem.u32(address)
            }
            MainOp::LdS16 | MainOp::LdS16Step => {
                self.check(address, 1)?;
                self.mem.u16(address) as i16 as u32
            }
            MainOp::LdZ16 | MainOp::LdZ16Step => {
                self.check(address, 1)?;
                self.mem.u16(address).into()
            }
            MainOp::LdS8 | MainOp::LdS8Step => {
                self.check(address, 0)?;
                self.mem.u8(address) as i8 as u32
            }
            _ => {
                self.check(address, 0)?;
                self.mem.u8(address).into()
            }
        })
    }

    #[inline(always)]
    fn store(&mut self, address: u32, value: u32) -> Result<(), Raised> {
        if let Err(raised) = self.check(address, 3) {
            if raised.exception == Exception::Conflict && self.store_commits {
                self.mem.put_u32(address, value);
            }
            return Err(raised);
        }
        self.mem.put_u32(address, value);
        Ok(())
    }
}

/// Log2 of the bytes of a common load or store.
#[inline(always)]
const fn size_shift(op: MainOp) -> u32 {
    match op {
        MainOp::LdS8 | MainOp::LdZ8 | MainOp::LdS8Step | MainOp::LdZ8Step => 0,
        MainOp::LdS16 | MainOp::LdZ16 | MainOp::LdS16Step | MainOp::LdZ16Step => 1,
        _ => 2,
    }
}

/// Executes one common main-lane instruction. Operations that are not common
/// ([`MainOp::is_common`]) raise INVALID_INSTR.
///
/// Nothing changes if an exception is raised, except memory when a store meets the fetch window
/// (`store_commits`).
#[inline(always)]
pub fn exec_common<W: Fn() -> FetchWindow>(
    m: Micro,
    x: &mut CommonContext<'_, '_, W>,
) -> Result<Flow, Raised> {
    let op = m.main();
    let b = x.mrf[m.b()];
    let c = x.mrf[m.c()];
    let imm = m.imm();
    let value = match op {
        MainOp::Add => b.wrapping_add(c),
        MainOp::AddI => b.wrapping_add(imm),
        MainOp::Sub => b.wrapping_sub(c),
        MainOp::SubI => imm.wrapping_sub(b),
        MainOp::Mul => b.wrapping_mul(c),
        MainOp::MulI => b.wrapping_mul(imm),
        MainOp::Max => (b as i32).max(c as i32) as u32,
        MainOp::MaxI => (b as i32).max(imm as i32) as u32,
        MainOp::Min => (b as i32).min(c as i32) as u32,
        MainOp::MinI => (b as i32).min(imm as i32) as u32,
        MainOp::CmpEq => (b == c).into(),
        MainOp::CmpEqI => (b == imm).into(),
        MainOp::CmpNe => (b != c).into(),
        MainOp::CmpSlt => ((b as i32) < c as i32).into(),
        MainOp::CmpSltI => ((b as i32) < imm as i32).into(),
        MainOp::CmpUlt => (b < c).into(),
        MainOp::CmpUltI => (b < imm).into(),
        MainOp::And => b & c,
        MainOp::AndI => b & imm,
        MainOp::AndC => b & !c,
        MainOp::AndCI => b & !imm,
        MainOp::Or => b | c,
        MainOp::OrI => b | imm,
        MainOp::Xor => b ^ c,
        MainOp::Xnor => !(b ^ c),
        MainOp::Shl => b << (c & 31),
        MainOp::ShlI => b << (imm & 31),
        MainOp::Shr => b >> (c & 31),
        MainOp::ShrI => b >> (imm & 31),
        MainOp::Shrs => ((b as i32) >> (c & 31)) as u32,
        MainOp::ShrsI => ((b as i32) >> (imm & 31)) as u32,
        MainOp::Roll16 => bits::roll16(b, c),
        MainOp::Roll8L => bits::roll8l(b, c),
        MainOp::Roll8R => bits::roll8r(b, c),
        MainOp::Shuf8x8Hi => bits::shuf8x8hi(b, c),
        MainOp::Shuf8x8Lo => bits::shuf8x8lo(b, c),
        MainOp::Sort4x16Hi => bits::sort4x16hi(b, c),
        MainOp::Sort4x16Lo => bits::sort4x16lo(b, c),
        MainOp::Sort8x8Hi => bits::sort8x8hi(b, c),
        MainOp::Sort8x8Lo => bits::sort8x8lo(b, c),
        MainOp::Abs => bits::abs(b),
        MainOp::BitRev8 => bits::bitrev8(b),
        MainOp::Clz => b.leading_zeros(),
        MainOp::Cms => bits::cms(b),
        MainOp::Popc => b.count_ones(),
        MainOp::Sort8 => bits::sort8(b),
        MainOp::Swap8 => bits::swap8(b),
        MainOp::MovZ => {
            if b != 0 {
                x.mrf[m.a()] = c;
            }
            return Ok(Flow::Next);
        }
        MainOp::SetZi => imm,
        MainOp::Ld32 | MainOp::LdS16 | MainOp::LdZ16 | MainOp::LdS8 | MainOp::LdZ8 => {
            let offset = x.mrf[m.d()] << size_shift(op);
            let address = b.wrapping_add(c).wrapping_add(offset).wrapping_add(imm);
            x.load(address, op)?
        }
        MainOp::Ld32Step
        | MainOp::LdS16Step
        | MainOp::LdZ16Step
        | MainOp::LdS8Step
        | MainOp::LdZ8Step => {
            let value = x.load(b.wrapping_add(c), op)?;
            let stride = (x.mrf[m.d()] << size_shift(op)).wrapping_add(imm);
            x.mrf[mrf_target(m.c())] = c.wrapping_add(stride);
            value
        }
        MainOp::St32 => {
            let address = b
                .wrapping_add(c)
                .wrapping_add(x.mrf[m.d()] << 2)
                .wrapping_add(imm);
            let data = x.mrf[m.a()];
            x.store(address, data)?;
            return Ok(Flow::Next);
        }
        MainOp::St32Step => {
            let data = x.mrf[m.a()];
            x.store(b.wrapping_add(c), data)?;
            let stride = (x.mrf[m.d()] << 2).wrapping_add(imm);
            x.mrf[mrf_target(m.c())] = c.wrapping_add(stride);
            return Ok(Flow::Next);
        }
        MainOp::Br => {
            target_ok(b)?;
            return Ok(Flow::Taken(b));
        }
        MainOp::Bri
        | MainOp::BrNeg
        | MainOp::BrPos
        | MainOp::BrZ
        | MainOp::BrNz
        | MainOp::BrNzDec => {
            target_ok(imm)?;
            let taken = match op {
                MainOp::Bri => true,
                MainOp::BrNeg => (b as i32) < 0,
                MainOp::BrPos => (b as i32) >= 0,
                MainOp::BrZ => b == 0,
                MainOp::BrNz => b != 0,
                _ => {
                    if b != 0 || !x.brnzdec_stays {
                        x.mrf[mrf_target(m.b())] = b.wrapping_sub(1);
                    }
                    b != 0
                }
            };
            return Ok(if taken { Flow::Taken(imm) } else { Flow::Next });
        }
        MainOp::Call => {
            target_ok(imm)?;
            x.mrf[m.a()] = x.next;
            return Ok(Flow::Taken(imm));
        }
        _ => return Err(Raised::new(Exception::InvalidInstruction)),
    };
    x.mrf[m.a()] = value;
    Ok(Flow::Next)
}
