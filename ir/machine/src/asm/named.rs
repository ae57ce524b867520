//! Names of immediates: AMP phases and engines, SLIC columns, phases of the accumulator stores
//! (`isa/amp.md` 3), the local sync zone (`isa/system_and_limits.md` 3). They stand for numbers wherever the text defines no symbol of that name.

use ipucc_chip::sync::Zone;

/// Bits of the phase or column below the engine field, at the default of the assumption
/// `amp_imm_layout`.
const F16_ENGINE_SHIFT: u32 = 2;
const F32_ENGINE_SHIFT: u32 = 3;

/// The value of a named immediate.
pub(super) fn value(name: &str) -> Option<i64> {
    let digit = |text: &str, limit: u32| -> Option<u32> {
        let value: u32 = text.parse().ok()?;
        (text.len() == 1 && value < limit).then_some(value)
    };
    if name == "TEXCH_SYNCZONE_LOCAL" {
        return Some(Zone::Local.operand().into());
    }
    if let Some(phase) = name
        .strip_prefix("TISTACC_P")
        .or_else(|| name.strip_prefix("TSTACC_P"))
    {
        return digit(phase, 2).map(i64::from);
    }
    if let Some(rest) = name.strip_prefix("TAMP_") {
        let (phases, shift, rest) = if let Some(rest) = rest.strip_prefix("F16V4_") {
            (4, F16_ENGINE_SHIFT, rest)
        } else {
            (8, F32_ENGINE_SHIFT, rest.strip_prefix("F32_")?)
        };
        let (engines, phase) = rest.split_once("_P")?;
        // The field holds the number of engines a set, minus one.
        let engines = match engines {
            "E1" => 0,
            "E2" => 1,
            "E4" => 3,
            _ => return None,
        };
        return digit(phase, phases).map(|phase| i64::from(phase | engines << shift));
    }
    let rest = name.strip_prefix("TSLIC_")?;
    let engines = |text: &str| match text {
        "1x3" => Some(2u32),
        "1x4" => Some(3),
        _ => None,
    };
    if let Some(rest) = rest.strip_prefix("F16V4_") {
        let (shape, column) = rest.split_once("_W")?;
        let engines = engines(shape)?;
        return digit(column, 4).map(|column| i64::from(column | engines << F16_ENGINE_SHIFT));
    }
    let (shape, place) = rest.strip_prefix("F32_")?.split_once("_W")?;
    let engines = engines(shape)?;
    let (column, phase) = place.split_once("_P")?;
    let (column, phase) = (digit(column, 4)?, digit(phase, 2)?);
    Some((phase | column << 1 | engines << F32_ENGINE_SHIFT).into())
}

#[cfg(test)]
mod tests {
    use super::value;

    #[test]
    fn names() {
        assert_eq!(value("TAMP_F16V4_E4_P0"), Some(12));
        assert_eq!(value("TAMP_F16V4_E1_P3"), Some(3));
        assert_eq!(value("TAMP_F32_E4_P7"), Some(31));
        assert_eq!(value("TAMP_F32_E2_P1"), Some(9));
        assert_eq!(value("TSLIC_F16V4_1x4_W2"), Some(14));
        assert_eq!(value("TSLIC_F16V4_1x3_W0"), Some(8));
        assert_eq!(value("TSLIC_F32_1x3_W0_P1"), Some(17));
        assert_eq!(value("TSTACC_P1"), Some(1));
        assert_eq!(value("TEXCH_SYNCZONE_LOCAL"), Some(2));
        assert_eq!(value("TAMP_F16V4_E4_P4"), None);
        assert_eq!(value("TAMP_F16V4_E3_P0"), None);
        assert_eq!(value("TAMP"), None);
    }
}
