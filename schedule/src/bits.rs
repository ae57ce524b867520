//! Sets of events as bits, for finding free starts 64 events at a time.

/// A set of events from 0 on; it grows as events are added.
#[derive(Clone, Default)]
pub struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Adds the events `start..end`.
    pub fn insert(&mut self, start: i64, end: i64) {
        let (start, end) = (start.max(0) as usize, end.max(0) as usize);
        if start >= end {
            return;
        }
        if self.words.len() < end.div_ceil(64) {
            self.words.resize(end.div_ceil(64), 0);
        }
        for word in start / 64..end.div_ceil(64) {
            let low = start.saturating_sub(word * 64);
            let high = (end - word * 64).min(64);
            let ones = if high == 64 {
                u64::MAX
            } else {
                (1 << high) - 1
            };
            self.words[word] |= ones & !((1u64 << low) - 1);
        }
    }

    /// True if the event is in the set.
    #[cfg(test)]
    pub fn contains(&self, at: i64) -> bool {
        self.block(at) & 1 != 0
    }

    /// The events `at..at + 64` as bits; those before 0 are not in the set.
    pub fn block(&self, at: i64) -> u64 {
        let word = |index: i64| match usize::try_from(index) {
            Ok(index) => self.words.get(index).copied().unwrap_or(0),
            Err(_) => 0,
        };
        let (index, shift) = (at.div_euclid(64), at.rem_euclid(64));
        if shift == 0 {
            word(index)
        } else {
            word(index) >> shift | word(index + 1) << (64 - shift)
        }
    }

    /// The last event of the set in `start..end`.
    pub fn last_in(&self, start: i64, end: i64) -> Option<i64> {
        let end = end.min(64 * self.words.len() as i64);
        let start = start.max(0);
        let mut at = end;
        while at > start {
            let low = (at - 64).max(start);
            // Bits of low..at.
            let count = (at - low) as u32;
            let bits = self.block(low) & (u64::MAX >> (64 - count));
            if bits != 0 {
                return Some(low + 63 - i64::from(bits.leading_zeros()));
            }
            at = low;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_agree_with_a_list() {
        let mut state = 1u64;
        let mut next = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 33) % below) as i64
        };
        for _ in 0..200 {
            let (mut bits, mut list) = (Bits::default(), vec![false; 600]);
            for _ in 0..next(12) {
                let start = next(400);
                let end = start + next(150);
                bits.insert(start, end);
                list[start as usize..end as usize].fill(true);
            }
            for at in 0..600 {
                assert_eq!(bits.contains(at), list[at as usize]);
            }
            let start = next(500);
            let end = start + next(100);
            let last = (start..end).rev().find(|&at| list[at as usize]);
            assert_eq!(bits.last_in(start, end), last);
            assert_eq!(bits.block(-3) & 7, 0);
        }
    }
}
