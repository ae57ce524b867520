//! Both controls in one event: the two-word instruction and its even place.

use super::super::{Place, RowError, words};
use super::Encoder;
use crate::{Context, Group, Op};

impl Encoder<'_> {
    /// Both words of a `sendpicp` at an even index.
    pub(super) fn both(
        &mut self,
        events: u32,
        address: u32,
        control: u32,
        source: u32,
        pointer: u32,
        place: Option<Place>,
    ) {
        debug_assert!(self.words.len().is_multiple_of(2));
        self.splittable = None;
        self.push(words::send_picp(events, address, control), events);
        if let Some(place) = place {
            self.site(self.words.len(), 0, 2, 18, place);
        }
        self.words.push(words::send_picp_payload(source, pointer));
    }

    /// Makes the number of words even by splitting a word of two or more events.
    pub(super) fn even(&mut self, at: u32) -> Result<(), RowError> {
        if self.words.len().is_multiple_of(2) {
            return Ok(());
        }
        let (index, stream) = self.splittable.ok_or(RowError::Parity { at })?;
        let split = Group::decode(&self.words[index..], Context::Supervisor);
        let Ok((Group::Solo(inst) | Group::SendPicP(inst), length)) = split else {
            return Err(RowError::Parity { at });
        };
        let [a, b, c, d, ..] = inst.operands;
        let (kept, insert_at, inserted) = match inst.op {
            Op::DelayMmmnZi => (words::delay(a), index + 1, words::delay(1)),
            Op::DelayPic => (words::delay_pic(1, b, c), index, words::delay(a)),
            Op::DelayXpic => (words::delay_xpic(1, b, c), index, words::delay(a)),
            Op::SendMmmnZi => (words::send(a, b, c), index + 1, words::send_off(1, c)),
            Op::SendOff => (words::send_off(a, c), index + 1, words::send_off(1, c)),
            Op::SendPic => (
                words::send_pic(a, b, c),
                index + 1,
                words::send_off(1, stream),
            ),
            Op::SendPicP if d == 0 => (words::send_picp(b, c, d), index + length, words::delay(1)),
            Op::SendPicP => (
                words::send_picp(b, c, d),
                index + length,
                words::send_off(1, d),
            ),
            _ => return Err(RowError::Parity { at }),
        };
        self.words[index] = kept;
        self.words.insert(insert_at, inserted);
        for site in self.sites.iter_mut().rev() {
            if (site.word as usize) < insert_at {
                break;
            }
            site.word += 1;
        }
        // The pieces are shorter, but what stands before is in front of an even word now; nothing
        // of it may be moved again.
        self.splittable = None;
        Ok(())
    }
}
