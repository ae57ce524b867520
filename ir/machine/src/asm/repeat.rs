//! Bodies of `rpt` (`isa/encoding.md` 6, `isa/ops_core.md` 5.3).

use super::Assembler;
use super::code::is_rpt;
use super::state::Item;
use crate::object::Section;
use crate::{EncodeError, Group, check_rpt_body};
impl Assembler<'_> {
    /// Checks the body of every `rpt` (`isa/encoding.md` 6, `isa/ops_core.md` 5.3).
    pub(super) fn check_repeats(
        &mut self,
        items: &[Item],
        groups: &[(u32, usize, Group)],
        section: &mut Section,
    ) {
        let size = section.bytes.len() as u32;
        for (position, &(at, number, group)) in groups.iter().enumerate() {
            let (rpt, words) = match group {
                Group::Solo(inst) => (inst, 1),
                Group::Bundle { main, .. } => (main, 2),
                Group::SendPicP(_) => continue,
            };
            let Item::Code(item) = &items[number] else {
                continue;
            };
            if !is_rpt(rpt.op) || !item.check_rpt {
                continue;
            }
            let first = at + 4 * words;
            let end = first + 8 * (rpt.operands[1] + 1);
            if first == size {
                // Nothing follows in this section: another one holds the body.
                continue;
            }
            section.repeat_ends.push(end);
            let span = item.span.clone();
            if !first.is_multiple_of(8) {
                let help = if words == 1 {
                    "a solo `rpt` stands at 4 mod 8: put `nop` before it, or write it as \
                     `{ rpt .. ; fnop }` behind `.p2align 3`"
                } else {
                    "a bundled `rpt` stands at 0 mod 8: put `.p2align 3` before it"
                };
                self.error_with(
                    &span,
                    format!(
                        "the body of this `rpt` starts at offset {first:#x}, but must start at a \
                         multiple of 8"
                    ),
                    None,
                    Some(help.to_string()),
                );
                continue;
            }
            if end > size {
                self.error(
                    &span,
                    format!(
                        "the body of this `rpt` has {} bytes, but the section ends {} bytes behind \
                         its start",
                        end - first,
                        size - first
                    ),
                );
                continue;
            }
            let mut expected = first;
            for &(offset, number, group) in groups[position + 1..]
                .iter()
                .take_while(|(offset, ..)| *offset < end)
            {
                let inner = match &items[number] {
                    Item::Code(item) => item.span.clone(),
                    Item::Align { span, .. } => span.clone(),
                    _ => span.clone(),
                };
                if offset != expected {
                    break;
                }
                expected = offset + 4 * group.words() as u32;
                if let Err(error) = check_rpt_body(&[group]) {
                    let message = match error {
                        EncodeError::RptBody { what } => format!(
                            "the body of a `rpt` holds bundles without control and system \
                             instructions only, not {what}"
                        ),
                        other => other.to_string(),
                    };
                    self.error_with(
                        &inner,
                        message,
                        Some(("the body belongs to this `rpt`".to_string(), span.clone())),
                        None,
                    );
                    expected = end;
                    break;
                }
            }
            if expected != end && !self.has_errors() {
                self.error(
                    &span,
                    format!(
                        "the body of this `rpt` ({:#x}..{end:#x}) does not end at the end of a \
                         bundle, or holds data",
                        first
                    ),
                );
            }
        }
    }
}
