//! Accesses against loops and layouts.

use super::*;

#[test]
fn nests_are_the_bytes_that_loops_touch() {
    let cases: &[(Nest<'_>, i64, i64)] = &[
        (&[(3, 8), (2, 100)], 0, 4),
        (&[(3, -8), (2, 16)], 40, 4),
        (&[(4, 2), (5, 8)], 0, 2),
        (&[(2, 0), (3, 12)], 8, 12),
        (&[(0, 4)], 0, 4),
        (&[], 16, 8),
    ];
    for &(dims, base, bytes) in cases {
        let mut touched = std::collections::BTreeSet::new();
        let mut starts = vec![base];
        for &(count, step) in dims {
            starts = starts
                .iter()
                .flat_map(|&s| (0..i64::from(count)).map(move |i| s + step * i))
                .collect();
        }
        for start in starts {
            touched.extend(start..start + bytes);
        }
        let ranges = nest(dims, base, bytes).expect("small");
        let found: Vec<i64> = ranges.iter().flat_map(|&(low, high)| low..high).collect();
        let wanted: Vec<i64> = touched.into_iter().collect();
        assert_eq!(found, wanted, "{dims:?}");
        assert!(ranges.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }
}

#[test]
fn panels_agree_with_layouts() {
    use crate::{Layout, LayoutKind};
    for (rows, k, panel) in [(5, 37, 16), (18, 16, 8), (33, 9, 8), (1, 1, 32)] {
        let element = ScalarType::F16;
        type Panels = fn(u32, u32, u32, ScalarType) -> Result<(Ranges, Ranges), KernelFault>;
        let kinds: [(LayoutKind, Panels); 2] = [
            (LayoutKind::AmpLhs { panel }, lhs),
            (LayoutKind::AmpRhs { panel }, rhs),
        ];
        for (kind, panels) in kinds {
            let order = [0u8, 1].into_iter().collect();
            let layout = Layout { kind, order };
            let mut wanted = Ranges::new();
            for row in 0..rows {
                for column in 0..k {
                    let at = layout.offset(&[rows, k], &[row, column]) as i64 * 2;
                    wanted.push((at, at + 2));
                }
            }
            let (counted, padding) = panels(rows, k, panel, element).expect("small");
            assert_eq!(counted, merged(wanted));
            let both: i64 = counted.iter().chain(&padding).map(|r| r.1 - r.0).sum();
            let width = i64::from(k.next_multiple_of(panel)) * 2;
            assert_eq!(both, i64::from(rows) * width);
        }
    }
}

#[test]
fn what_no_tile_holds_is_refused() {
    let huge = Kernel::Fill(crate::kernel::Fill {
        words: u32::MAX,
        word: 0,
    });
    assert_eq!(accesses(&huge), Err(KernelFault::TooLarge));
    let dot = Kernel::Dot(Dot {
        m: u32::MAX,
        n: u32::MAX,
        k: 1,
        input: ScalarType::F16,
        partials: ScalarType::F32,
        accumulate: false,
        scale: 0,
    });
    assert_eq!(accesses(&dot), Err(KernelFault::TooLarge));
}
