//! The words of rows, from the instruction table.

use crate::{Inst, Op};

/// Word of an instruction whose operands the caller keeps in range.
#[inline]
fn word(op: Op, operands: [u32; 6]) -> u32 {
    Inst {
        op,
        operands,
        ignored: 0,
    }
    .first_word()
}

/// `delay`, 1..=0x80000 events.
pub(super) fn delay(events: u32) -> u32 {
    word(Op::DelayMmmnZi, [events - 1, 0, 0, 0, 0, 0])
}

/// `delaypic`, 1..=128 events; `select` 0 = pointer word address, 1 = format.
pub(super) fn delay_pic(events: u32, select: u32, value: u32) -> u32 {
    word(Op::DelayPic, [events - 1, select, value, 0, 0, 0])
}

/// `delayxpic`, 1..=4096 events; `select` 0 = own mux, 1 = pair mux.
pub(super) fn delay_xpic(events: u32, select: u32, value: u32) -> u32 {
    word(Op::DelayXpic, [events - 1, select, value, 0, 0, 0])
}

/// `send`, 1..=64 items.
pub(super) fn send(items: u32, address: u32, control: u32) -> u32 {
    word(Op::SendMmmnZi, [items - 1, address, control, 0, 0, 0])
}

/// `sendoff`, 1..=4096 items.
pub(super) fn send_off(items: u32, control: u32) -> u32 {
    word(Op::SendOff, [items - 1, 0, control, 0, 0, 0])
}

/// `sendpic`, 1..=64 items; `select` 0, 1 = XPIC selectors, 2, 3 = PIC selectors.
pub(super) fn send_pic(items: u32, select: u32, value: u32) -> u32 {
    word(Op::SendPic, [items - 1, select, value, 0, 0, 0])
}

/// First word of `sendpicp` for a pointer, 1..=64 events.
pub(super) fn send_picp(events: u32, address: u32, control: u32) -> u32 {
    word(Op::SendPicP, [0, events - 1, address, control, 0, 0])
}

/// Second word of `sendpicp`: own-mux source and pointer word address.
pub(super) fn send_picp_payload(source: u32, pointer: u32) -> u32 {
    source << 18 | pointer
}

/// `setzi $m, value`.
pub(super) fn setzi(register: u32, value: u32) -> u32 {
    word(Op::SetziMmmnZi, [register, value, 0, 0, 0, 0])
}

/// `put csr, $m`.
pub(super) fn put(csr: u32, register: u32) -> u32 {
    word(Op::PutMmmnZi, [register, csr, 0, 0, 0, 0])
}

/// `call $m, address`.
pub(super) fn call(register: u32, address: u32) -> u32 {
    word(Op::CallMmmnZi, [register, address, 0, 0, 0, 0])
}

/// `br $m`.
pub(super) fn br(register: u32) -> u32 {
    word(Op::BrMmmn, [register, 0, 0, 0, 0, 0])
}

/// `sync zone`.
pub(super) fn sync(zone: u32) -> u32 {
    word(Op::SyncMmmnZi, [zone, 0, 0, 0, 0, 0])
}

/// `sans n`.
pub(super) fn sans(credits_minus_one: u32) -> u32 {
    word(Op::SansMmmnZi, [credits_minus_one, 0, 0, 0, 0, 0])
}

/// The register that holds the return address of a row.
pub(super) const LINK: u32 = 10;
/// The register that base switches and call sites use.
pub(super) const SCRATCH: u32 = 8;
