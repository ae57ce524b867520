//! The nearest known name to a mistyped one.

/// Distance of two words: insertions, deletions, replacements and swaps of neighbours.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before: Vec<usize> = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

/// The candidate nearest to `word`, the first of equals, if it is near enough to be meant.
pub(super) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_ascii_lowercase();
    if word.len() > 40 {
        return None;
    }
    let limit = (word.len() / 2).max(2);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate.len().abs_diff(word.len()) > limit {
            continue;
        }
        let d = distance(word.as_bytes(), candidate.to_ascii_lowercase().as_bytes());
        if d <= limit && best.is_none_or(|(least, _)| d < least) {
            best = Some((d, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_the_meant_one() {
        let all = ["add", "and", "f32v2add", "ld32", "st32"];
        assert_eq!(nearest("ad", all), Some("add"));
        assert_eq!(nearest("f32vadd", all), Some("f32v2add"));
        assert_eq!(nearest("ldd32", all), Some("ld32"));
        assert_eq!(nearest("zzzzzzzz", all), None);
    }
}
