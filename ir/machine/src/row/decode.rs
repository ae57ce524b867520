//! Words -> events.

use super::{
    BaseRegister, BaseValue, Event, Place, RowError, RowEvents, SendControl, continued, steps,
    words,
};
use crate::{Group, Op};
use ipucc_chip::Assumptions;
use ipucc_chip::csr::number::{INCOMING_BASE, OUTGOING_BASE};

/// Decodes a row; its places are absolute and the result is normalized
/// ([`RowEvents::normalized`]). A leading `sync 3` (the form of stand-alone primitive rows) is
/// skipped.
///
/// # Errors
/// A word that no row holds, or no `br $m10` at the end.
pub fn decode(row: &[u32]) -> Result<RowEvents, RowError> {
    const INTERNAL: u32 = 3;
    let skipped = usize::from(row.first() == Some(&words::sync(INTERNAL)));
    let row = &row[skipped..];
    if row.last() != Some(&words::br(words::LINK)) {
        return Err(RowError::NoEnd);
    }
    // A stand-alone primitive row is aligned behind its `sync`; it holds no `sendpicp`.
    let steps = steps(row, &Assumptions::default())?;
    let mut events: Vec<Event> = Vec::new();
    // Address of the next item of the running stream, its control, and the event of the last send.
    let mut stream: Option<(u32, SendControl)> = None;
    let mut last_send: Option<usize> = None;
    // What the scratch register holds since the last `setzi`, and when that started.
    let mut scratch: Option<(u32, u32, u32)> = None;
    let mut horizon = 0;
    for step in &steps {
        let (Group::Solo(inst) | Group::SendPicP(inst)) = step.group else {
            unreachable!("steps holds no bundles");
        };
        let bad = |why: &str| RowError::BadWord {
            index: step.word + skipped,
            word: row[step.word],
            why: why.to_owned(),
        };
        let o = inst.operands;
        let effect = step.effect.unwrap_or_default();
        horizon = step.end;
        let sent = step.end - step.start;
        match inst.op {
            Op::DelayMmmnZi => {}
            Op::DelayPic => events
                .push(pic(effect, o[1], o[2]).ok_or_else(|| bad("an item format is 0, 1 or 2"))?),
            Op::DelayXpic => events.push(xpic(effect, o[1], o[2])),
            Op::SendMmmnZi => {
                let control = SendControl::from_bits(o[2]);
                let from = o[1] * control.item_bytes();
                send(&mut events, &mut last_send, step.start, from, sent, control);
                stream = Some((from + sent * control.item_bytes(), control));
            }
            Op::SendOff => {
                if o[1] != 0 {
                    return Err(bad("`sendoff` with an offset is not a continued stream"));
                }
                let (from, _) = stream.ok_or_else(|| bad("no send is running"))?;
                let control = SendControl::from_bits(o[2]);
                send(&mut events, &mut last_send, step.start, from, sent, control);
                stream = Some((from + sent * control.item_bytes(), control));
            }
            Op::SendPic => {
                let (from, control) = stream.ok_or_else(|| bad("no send is running"))?;
                send(&mut events, &mut last_send, step.start, from, sent, control);
                stream = Some((from + sent * control.item_bytes(), control));
                events.push(if o[1] < 2 {
                    xpic(effect, o[1], o[2])
                } else {
                    pic(effect, o[1] - 2, o[2]).ok_or_else(|| bad("an item format is 0, 1 or 2"))?
                });
            }
            Op::SendPicP => {
                if o[3] & 3 != 0 {
                    let control = SendControl::from_bits(o[3]);
                    let from = o[2] * control.item_bytes();
                    send(&mut events, &mut last_send, step.start, from, sent, control);
                    stream = Some((from + sent * control.item_bytes(), control));
                }
                events.push(xpic(effect, o[4] >> 13, o[4] & 0x1fff));
                events.push(
                    pic(effect, o[0], o[5]).ok_or_else(|| bad("an item format is 0, 1 or 2"))?,
                );
            }
            Op::SetziMmmnZi => scratch = Some((o[0], o[1], step.start)),
            Op::PutMmmnZi => {
                let which = match o[1] as u16 {
                    INCOMING_BASE => BaseRegister::Incoming,
                    OUTGOING_BASE => BaseRegister::Outgoing,
                    _ => return Err(bad("only the exchange bases can be switched in a row")),
                };
                let (at, value) = match scratch {
                    Some((register, value, start)) if register == o[0] => {
                        // The first `put` belongs to the `setzi` before it.
                        let at = if start + 1 == step.start {
                            start
                        } else {
                            step.start
                        };
                        (at, BaseValue::Place(Place::absolute(value)))
                    }
                    _ => (step.start, BaseValue::Register(o[0] as u8)),
                };
                events.push(Event::Base { at, which, value });
            }
            Op::BrMmmn if step.word + 1 == row.len() => {}
            _ => return Err(bad("not an instruction of an exchange row")),
        }
    }
    events.sort_by_key(Event::key);
    Ok(RowEvents { events, horizon })
}

fn xpic(at: u32, select: u32, value: u32) -> Event {
    Event::Select {
        at,
        source: (value & 0x1fff) as u16,
        pair: select & 1 == 1,
    }
}

fn pic(at: u32, select: u32, value: u32) -> Option<Event> {
    Some(match select {
        0 => Event::Pointer {
            at,
            to: Place::absolute(value << 2),
        },
        _ => Event::Format {
            at,
            value: u8::try_from(value).ok().filter(|&value| value <= 2)?,
        },
    })
}

/// Adds a send or lets it continue the one before.
fn send(
    events: &mut Vec<Event>,
    last: &mut Option<usize>,
    at: u32,
    from: u32,
    items: u32,
    control: SendControl,
) {
    let new = Event::Send {
        at,
        from: Place::absolute(from),
        items,
        control,
    };
    if let Some(index) = *last
        && let Some(merged) = continued(&events[index], &new)
    {
        events[index] = merged;
        return;
    }
    *last = Some(events.len());
    events.push(new);
}
