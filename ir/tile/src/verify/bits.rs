//! Which bytes of a buffer were written.

/// One bit per byte of a buffer.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    /// A buffer of this size, all written or nothing.
    pub fn new(bytes: u32, all: bool) -> Bits {
        let fill = if all { u64::MAX } else { 0 };
        Bits(vec![fill; bytes.div_ceil(64) as usize])
    }

    /// Words and masks of a range.
    fn words(low: i64, high: i64) -> impl Iterator<Item = (usize, u64)> {
        let (low, high) = (low as usize, high as usize);
        (low / 64..high.div_ceil(64)).map(move |word| {
            let mut mask = u64::MAX;
            if word == low / 64 {
                mask &= u64::MAX << (low % 64);
            }
            if high < (word + 1) * 64 {
                mask &= !(u64::MAX << (high % 64));
            }
            (word, mask)
        })
    }

    /// Marks a range.
    pub fn set(&mut self, low: i64, high: i64) {
        for (word, mask) in Bits::words(low, high) {
            self.0[word] |= mask;
        }
    }

    /// True if a byte is marked.
    pub fn get(&self, byte: i64) -> bool {
        self.0[byte as usize / 64] >> (byte as usize % 64) & 1 != 0
    }

    /// Marks a byte, or takes its mark.
    pub fn put(&mut self, byte: i64, on: bool) {
        let mask = 1 << (byte as usize % 64);
        match on {
            true => self.0[byte as usize / 64] |= mask,
            false => self.0[byte as usize / 64] &= !mask,
        }
    }

    /// The first set byte of a range, if any.
    pub fn first(&self, low: i64, high: i64) -> Option<i64> {
        Bits::words(low, high).find_map(|(word, mask)| {
            let found = self.0[word] & mask;
            (found != 0).then(|| word as i64 * 64 + i64::from(found.trailing_zeros()))
        })
    }

    /// The first byte of a range that is set in `wanted` (or in its complement) and not here.
    pub fn missing(&self, wanted: &Bits, complement: bool, low: i64, high: i64) -> Option<i64> {
        Bits::words(low, high).find_map(|(word, mask)| {
            let asked = if complement {
                !wanted.0[word]
            } else {
                wanted.0[word]
            };
            let lacking = asked & !self.0[word] & mask;
            (lacking != 0).then(|| word as i64 * 64 + i64::from(lacking.trailing_zeros()))
        })
    }

    /// The first byte of a range that is not marked, if any.
    pub fn unset(&self, low: i64, high: i64) -> Option<i64> {
        Bits::words(low, high).find_map(|(word, mask)| {
            let lacking = !self.0[word] & mask;
            (lacking != 0).then(|| word as i64 * 64 + i64::from(lacking.trailing_zeros()))
        })
    }
}

/// Target bytes become written or not as the source's are.
pub(super) fn spread(source: &Bits, from: i64, target: &mut Bits, at: i64, bytes: i64) {
    for byte in 0..bytes {
        target.put(at + byte, source.get(from + byte));
    }
}
