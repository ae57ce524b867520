//! Sync zones (`isa/supervisor.md` 6, `facts/hardware.md` 6.3).

use std::fmt;

/// What a `sync` waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Zone {
    /// 0: `$INCOMING_DCOUNT` is 0 (hardware).
    Receive,
    /// 1: own abstention credit is 0 (hardware).
    Abstention,
    /// 2: all workers of the tile are inactive (hardware).
    Local,
    /// 3: all tiles of the chip (hardware).
    Internal,
    /// 4 and 12: first external group, without host (assumed, `sup_zones`).
    External1,
    /// 5 and 13: first external group and its host mark (hardware: the loader).
    External1Host,
    /// 6 and 14: second external group, without host (assumed, `sup_zones`).
    External2,
    /// 7 and 15: second external group and its host mark (hardware); 15 is the form of the tile
    /// that sends the exchange request next.
    External2Host,
}

impl Zone {
    /// The zone of a `sync` operand; `None` for 8..=11, which are no zones, and above 15.
    pub const fn from_operand(operand: u32) -> Option<Zone> {
        Some(match operand {
            0 => Zone::Receive,
            1 => Zone::Abstention,
            2 => Zone::Local,
            3 => Zone::Internal,
            4 | 12 => Zone::External1,
            5 | 13 => Zone::External1Host,
            6 | 14 => Zone::External2,
            7 | 15 => Zone::External2Host,
            _ => return None,
        })
    }

    /// The plain operand of `sync`, 0..=7.
    pub const fn operand(self) -> u32 {
        self as u32
    }

    /// True if the zone is a barrier over tiles.
    pub const fn is_barrier(self) -> bool {
        self as u32 >= 3
    }

    /// True if the barrier also needs a host mark.
    pub const fn needs_host(self) -> bool {
        matches!(self, Zone::External1Host | Zone::External2Host)
    }
}

impl fmt::Display for Zone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Zone::Receive => "receive",
            Zone::Abstention => "abstention",
            Zone::Local => "local",
            Zone::Internal => "internal",
            Zone::External1 => "external 1",
            Zone::External1Host => "external 1 with host",
            Zone::External2 => "external 2",
            Zone::External2Host => "external 2 with host",
        })
    }
}

/// Operand of the host-exchange form of zone 7 used by the requesting tile (hardware).
pub const REQUESTER: u32 = 15;
/// `sans n` adds `n + SANS_EXTRA` credits (`isa/supervisor.md` 7, hardware).
pub const SANS_EXTRA: u32 = 1;
/// Largest operand of `sans`, 19 bits.
pub const SANS_MAX: u32 = (1 << 19) - 1;
/// Host mark that releases the loader (`facts/hardware.md` 3.7, reference driver).
pub const HANDOFF_MARK: u32 = 23;
/// Bits of a host mark (`facts/exchange_findings.md` 3.3, hardware).
pub const MARK_MASK: u32 = 0xffff;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_fold() {
        for operand in 0..8 {
            assert_eq!(Zone::from_operand(operand).unwrap().operand(), operand);
        }
        for operand in 8..12 {
            assert_eq!(Zone::from_operand(operand), None);
        }
        for operand in 12..16 {
            assert_eq!(Zone::from_operand(operand), Zone::from_operand(operand - 8));
        }
    }
}
