//! Operands of the matrix unit.

use super::{KernelFault, Ranges, merged, nest, rest, size};
use ipucc_chip::{ScalarType, memory};

/// A left operand or result in `[k / panel][m][panel]`: bytes of its elements, and of its padding.
pub(super) fn lhs(
    m: u32,
    k: u32,
    panel: u32,
    element: ScalarType,
) -> Result<(Ranges, Ranges), KernelFault> {
    let size = size(element);
    let width = i64::from(panel) * size;
    let whole = i64::from(k / panel);
    let block = i64::from(m).saturating_mul(width);
    let full = whole.saturating_mul(block);
    let part = nest(&[(m, width)], full, i64::from(k % panel) * size)?;
    let end = i64::from(k.div_ceil(panel)).saturating_mul(block);
    if end > i64::from(memory::SIZE) {
        return Err(KernelFault::TooLarge);
    }
    let mut ranges = part;
    if full > 0 {
        ranges.push((0, full));
    }
    let ranges = merged(ranges);
    let padding = rest(&ranges, end);
    Ok((ranges, padding))
}

/// A right operand in `[n / 16][k / panel][16][panel]`: bytes of its elements, and of the padding
/// along k of rows that count.
pub(super) fn rhs(
    n: u32,
    k: u32,
    panel: u32,
    element: ScalarType,
) -> Result<(Ranges, Ranges), KernelFault> {
    let size = size(element);
    let width = i64::from(panel) * size;
    let blocks = i64::from(k.div_ceil(panel));
    let end = i64::from(n.div_ceil(16)).saturating_mul(blocks * 16 * width);
    if end > i64::from(memory::SIZE) {
        return Err(KernelFault::TooLarge);
    }
    let (mut counts, mut padding) = (Ranges::new(), Ranges::new());
    for column in (0..n).step_by(16) {
        let rows = i64::from((n - column).min(16));
        for block in 0..blocks {
            let at = (i64::from(column / 16) * blocks + block) * 16 * width;
            let used = (i64::from(k) - block * i64::from(panel)).min(i64::from(panel)) * size;
            for row in 0..rows {
                let start = at + row * width;
                counts.push((start, start + used));
                if used < width {
                    padding.push((start + used, start + width));
                }
            }
        }
    }
    Ok((merged(counts), merged(padding)))
}
