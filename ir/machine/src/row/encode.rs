//! Events -> the shortest legal words.
//!
//! The timeline is cut into sends and the idle stretches between them. In an idle stretch a lone
//! control costs one `delaypic` or `delayxpic` that ends where it acts; inside a send it costs one
//! `sendpic` that starts one event earlier; two controls at one event cost the two words of a
//! `sendpicp`. All of these are forced, and so is each plain delay that bridges what a field cannot
//! hold, so the words are the fewest possible except for parity: `sendpicp` must stand at an even
//! word. If it would not, exactly one more word is needed, and one is gained by splitting the
//! nearest earlier word of at least two events (anything after the `sendpicp` before this one).

mod both;

use super::{
    AddressSite, BaseRegister, BaseValue, Event, Place, Row, RowError, RowEvents, SendControl,
    continued, words,
};
use ipucc_chip::csr::number::{INCOMING_BASE, OUTGOING_BASE};
use ipucc_chip::fabric::limit;
use ipucc_chip::timing::ROW_SETZI;

/// Cycles of a base `put` in a row: the default of `sup_put_exch` (hardware).
const PUT_CYCLES: u32 = 13;

/// Encodes a row with the default time of base switches.
///
/// # Errors
/// The event that cannot be encoded, and why.
pub fn encode(row: &RowEvents) -> Result<Row, RowError> {
    encode_with(row, PUT_CYCLES)
}

/// As [`encode`], with the cycles of a base `put` (`sup_put_exch`) given.
///
/// # Errors
/// As [`encode`].
pub fn encode_with(row: &RowEvents, put_cycles: u32) -> Result<Row, RowError> {
    if !row.events.is_sorted_by_key(Event::key) {
        let sorted = row.normalized();
        return Encoder::new(&sorted, put_cycles).run();
    }
    Encoder::new(row, put_cycles).run()
}

/// A control event or two that act together, without their time.
#[derive(Clone, Copy)]
enum Control {
    Xpic {
        select: u32,
        value: u32,
    },
    Pic {
        select: u32,
        value: u32,
        place: Option<Place>,
    },
    Both {
        source: u32,
        pointer: u32,
        place: Option<Place>,
    },
    Base {
        which: BaseRegister,
        value: BaseValue,
    },
}

struct Encoder<'a> {
    events: &'a [Event],
    horizon: u32,
    put_cycles: u32,
    /// Index of the next event that may be a control.
    next_control: usize,
    /// Time reached by the words so far.
    time: u32,
    words: Vec<u32>,
    sites: Vec<AddressSite>,
    /// The latest word since the last `sendpicp` (itself included) that lasts two events or more,
    /// and the control bits of the stream that runs in it.
    splittable: Option<(usize, u32)>,
    /// Control bits of the last stream.
    stream: u32,
    /// Item format in force.
    format: u8,
    /// What a base switch of this row has left in the scratch register.
    scratch: Option<Place>,
}

impl<'a> Encoder<'a> {
    fn new(row: &'a RowEvents, put_cycles: u32) -> Encoder<'a> {
        Encoder {
            events: &row.events,
            horizon: row.horizon,
            put_cycles,
            next_control: 0,
            time: 0,
            words: Vec::with_capacity(row.events.len() * 3 / 2 + 4),
            sites: Vec::new(),
            splittable: None,
            stream: 0,
            format: 0,
            scratch: None,
        }
    }

    fn run(mut self) -> Result<Row, RowError> {
        let mut index = 0;
        while index < self.events.len() {
            let Event::Send { .. } = self.events[index] else {
                index += 1;
                continue;
            };
            let mut send = self.events[index];
            index += 1;
            // Sends that continue this one belong to the same stream; controls may stand between.
            let mut probe = index;
            while probe < self.events.len() && self.events[probe].at() <= send_end(&send) {
                if let Event::Send { at, .. } = self.events[probe] {
                    match continued(&send, &self.events[probe]) {
                        Some(merged) => {
                            send = merged;
                            index = probe + 1;
                        }
                        None if at < send_end(&send) => {
                            return Err(RowError::SendsOverlap {
                                first: send.at(),
                                second: at,
                            });
                        }
                        None => break,
                    }
                }
                probe += 1;
            }
            self.send(send)?;
        }
        self.idle(self.horizon)?;
        if let Some(event) = self.events.get(self.next_control) {
            return Err(RowError::PastHorizon {
                event: *event,
                horizon: self.horizon,
            });
        }
        self.words.push(words::br(words::LINK));
        Ok(Row {
            words: self.words,
            sites: self.sites,
            events: self.horizon,
        })
    }

    /// Time of the next control, if it is at most `until`.
    fn peek(&mut self, until: u32) -> Option<u32> {
        while let Some(Event::Send { .. }) = self.events.get(self.next_control) {
            self.next_control += 1;
        }
        let at = self.events.get(self.next_control)?.at();
        (at <= until).then_some(at)
    }

    /// Takes the control or controls at the time that [`Encoder::peek`] has found.
    fn take(&mut self, at: u32) -> Result<Control, RowError> {
        let first = self.events[self.next_control];
        self.next_control += 1;
        let control = self.single(&first)?;
        // Sends at the same event come first in the order, so a partner is the next event. A base
        // switch that starts where a control acts is no partner: it comes after.
        let Some(second) = self.partner(at) else {
            return Ok(control);
        };
        let coincident = RowError::Coincident { first, second };
        self.next_control += 1;
        let other = self.single(&second)?;
        if let Some(third) = self.partner(at) {
            return Err(RowError::Coincident {
                first: second,
                second: third,
            });
        }
        match (control, other) {
            (
                Control::Xpic {
                    select: 0,
                    value: source,
                },
                Control::Pic {
                    select: 0,
                    value: pointer,
                    place,
                },
            ) if self.format == 0 => Ok(Control::Both {
                source,
                pointer,
                place,
            }),
            _ => Err(coincident),
        }
    }

    /// The next event if it is a control at `at`.
    fn partner(&self, at: u32) -> Option<Event> {
        self.events
            .get(self.next_control)
            .copied()
            .filter(|event| event.at() == at && !matches!(event, Event::Base { .. }))
    }

    /// As [`Encoder::peek`], inside a send that ends at `end`, where no base may be switched.
    fn peek_in_send(&mut self, until: u32, end: u32) -> Result<Option<u32>, RowError> {
        match self.peek(until) {
            Some(at) if matches!(self.events[self.next_control], Event::Base { .. }) => {
                if at == end {
                    // It starts when the send has ended.
                    return Ok(None);
                }
                Err(RowError::BaseBlocked {
                    at,
                    events: self.put_cycles,
                })
            }
            found => Ok(found),
        }
    }

    fn single(&mut self, event: &Event) -> Result<Control, RowError> {
        if event.at() == 0 && !matches!(event, Event::Base { .. }) {
            return Err(RowError::AtZero { event: *event });
        }
        let field = |what| RowError::Field {
            event: *event,
            what,
        };
        Ok(match *event {
            Event::Select { source, pair, .. } => {
                if u32::from(source) >> limit::SOURCE_BITS != 0 {
                    return Err(field("a source has 13 bits"));
                }
                Control::Xpic {
                    select: u32::from(pair),
                    value: u32::from(source),
                }
            }
            Event::Pointer { to, .. } => {
                let value = address(to, 2)
                    .ok_or_else(|| field("a receive address is a multiple of 4 below 1 MiB"))?;
                Control::Pic {
                    select: 0,
                    value,
                    place: to.symbol.map(|_| to),
                }
            }
            Event::Format { value, .. } => {
                if value > 2 {
                    return Err(field("an item format is 0, 1 or 2"));
                }
                self.format = value;
                Control::Pic {
                    select: 1,
                    value: u32::from(value),
                    place: None,
                }
            }
            Event::Base { which, value, .. } => {
                match value {
                    BaseValue::Register(number) if number > 15 => {
                        return Err(field("a register is $m0..$m15"));
                    }
                    BaseValue::Place(place)
                        if place.symbol.is_none() && place.offset >> 20 != 0 =>
                    {
                        return Err(field("a base is below 1 MiB"));
                    }
                    _ => {}
                }
                Control::Base { which, value }
            }
            Event::Send { .. } => unreachable!("sends are skipped before"),
        })
    }

    /// Appends a word that lasts `events`.
    fn push(&mut self, word: u32, events: u32) {
        if events >= 2 {
            self.splittable = Some((self.words.len(), self.stream));
        }
        self.words.push(word);
        self.time += events;
    }

    fn site(&mut self, word: usize, field_shift: u8, unit_shift: u8, width: u8, place: Place) {
        self.sites.push(AddressSite {
            word: word as u32,
            field_shift,
            unit_shift,
            width,
            place,
        });
    }

    /// Plain delays up to `until`.
    fn delay_to(&mut self, until: u32) {
        while self.time < until {
            let events = (until - self.time).min(limit::DELAY);
            self.push(words::delay(events), events);
        }
    }

    /// The idle stretch from the current time to `until`, with its controls.
    fn idle(&mut self, until: u32) -> Result<(), RowError> {
        while let Some(at) = self.peek(until) {
            let event = self.events[self.next_control];
            match self.take(at)? {
                Control::Xpic { select, value } => {
                    self.reach(at, limit::DELAY_XPIC, &event)?;
                    let events = at - self.time;
                    self.push(words::delay_xpic(events, select, value), events);
                }
                Control::Pic {
                    select,
                    value,
                    place,
                } => {
                    self.reach(at, limit::DELAY_PIC, &event)?;
                    let events = at - self.time;
                    if let Some(place) = place {
                        self.site(self.words.len(), 0, 2, 18, place);
                    }
                    self.push(words::delay_pic(events, select, value), events);
                }
                Control::Both {
                    source,
                    pointer,
                    place,
                } => {
                    if at <= self.time {
                        return Err(self.blocked(&event));
                    }
                    self.delay_to(at - 1);
                    self.even(at)?;
                    // It may last until the next control has to be prepared.
                    let free = match self.peek(until) {
                        Some(next)
                            if matches!(self.events[self.next_control], Event::Base { .. }) =>
                        {
                            next + 1 - at
                        }
                        Some(next) => next - at,
                        None => until + 1 - at,
                    };
                    let events = free.clamp(1, limit::SEND);
                    self.both(events, 0, 0, source, pointer, place);
                }
                Control::Base { which, value } => self.base(at, until, which, value)?,
            }
        }
        self.delay_to(until);
        Ok(())
    }

    /// Delays so that a word of at most `most` events can end at `at`.
    fn reach(&mut self, at: u32, most: u32, event: &Event) -> Result<(), RowError> {
        if at <= self.time {
            return Err(self.blocked(event));
        }
        if at - self.time > most {
            self.delay_to(at - most);
        }
        Ok(())
    }

    /// A control fell into the time of a base switch.
    fn blocked(&self, event: &Event) -> RowError {
        RowError::BaseBlocked {
            at: event.at(),
            events: self.time - event.at().min(self.time),
        }
    }

    fn base(
        &mut self,
        at: u32,
        until: u32,
        which: BaseRegister,
        value: BaseValue,
    ) -> Result<(), RowError> {
        let (register, set) = match value {
            BaseValue::Register(number) => (u32::from(number), None),
            BaseValue::Place(place) if self.scratch == Some(place) => (words::SCRATCH, None),
            BaseValue::Place(place) => (words::SCRATCH, Some(place)),
        };
        let events = self.put_cycles + if set.is_some() { ROW_SETZI } else { 0 };
        if at < self.time || at.checked_add(events).is_none_or(|end| end > until) {
            return Err(RowError::BaseBlocked { at, events });
        }
        self.delay_to(at);
        if let Some(place) = set {
            let value = if place.symbol.is_some() {
                0
            } else {
                place.offset
            };
            if place.symbol.is_some() {
                self.site(self.words.len(), 0, 0, 20, place);
            }
            self.words.push(words::setzi(words::SCRATCH, value));
            self.time += ROW_SETZI;
            self.scratch = Some(place);
        }
        let csr = match which {
            BaseRegister::Incoming => INCOMING_BASE,
            BaseRegister::Outgoing => OUTGOING_BASE,
        };
        self.words.push(words::put(u32::from(csr), register));
        self.time += self.put_cycles;
        Ok(())
    }

    /// One send with the controls that act while it runs.
    fn send(&mut self, send: Event) -> Result<(), RowError> {
        let Event::Send {
            at: start,
            from,
            items,
            control,
        } = send
        else {
            unreachable!("called with sends only");
        };
        let field = |what| RowError::Field { event: send, what };
        if items == 0 {
            return Err(field("a send has at least one item"));
        }
        if control.directions == 0 || control.directions > 3 {
            return Err(field("a send needs direction 1, 2 or 3"));
        }
        let end = match start.checked_add(items) {
            Some(end) if end <= self.horizon => end,
            _ => {
                return Err(RowError::PastHorizon {
                    event: send,
                    horizon: self.horizon,
                });
            }
        };
        let unit = if control.wide { 3 } else { 2 };
        address(from, unit).ok_or_else(|| {
            field("a send address is a multiple of its item size below 1 MiB (8-byte items: 2 MiB)")
        })?;
        if start < self.time {
            return Err(RowError::SendsOverlap {
                first: self.time,
                second: start,
            });
        }
        self.idle(start)?;
        // The leading word, with a control only as a complete pair.
        match self.peek_in_send(start + 1, end)? {
            Some(at) => {
                let event = self.events[self.next_control];
                match self.take(at)? {
                    Control::Both {
                        source,
                        pointer,
                        place,
                    } => {
                        self.even(at)?;
                        self.restart(send, start, end, source, pointer, place)?;
                    }
                    _ => return Err(RowError::SendStart { event, send: start }),
                }
            }
            None => {
                self.stream = control.bits();
                let chunk = self.chunk(end)?;
                let first = chunk.min(limit::SEND);
                let value = self.source_field(from, unit, self.words.len());
                self.push(words::send(first, value, control.bits()), first);
                self.send_off(chunk - first, control);
            }
        }
        while let Some(at) = self.peek_in_send(end, end)? {
            debug_assert_eq!(self.time, at - 1);
            let (select, value, place) = match self.take(at)? {
                Control::Xpic { select, value } => (select, value, None),
                Control::Pic {
                    select,
                    value,
                    place,
                } => (2 + select, value, place),
                Control::Both {
                    source,
                    pointer,
                    place,
                } => {
                    self.even(at)?;
                    self.restart(send, start, end, source, pointer, place)?;
                    continue;
                }
                Control::Base { .. } => {
                    return Err(RowError::BaseBlocked {
                        at,
                        events: self.put_cycles,
                    });
                }
            };
            let chunk = self.chunk(end)?;
            let first = chunk.min(limit::SEND);
            if let Some(place) = place {
                self.site(self.words.len(), 0, 2, 18, place);
            }
            self.push(words::send_pic(first, select, value), first);
            self.send_off(chunk - first, control);
        }
        Ok(())
    }

    /// Items from the current time to the instruction of the next control in the send, or its end.
    fn chunk(&mut self, end: u32) -> Result<u32, RowError> {
        Ok(match self.peek_in_send(end, end)? {
            Some(next) => next - 1 - self.time,
            None => end - self.time,
        })
    }

    fn send_off(&mut self, mut items: u32, control: SendControl) {
        while items > 0 {
            let count = items.min(limit::SEND_OFF);
            self.push(words::send_off(count, control.bits()), count);
            items -= count;
        }
    }

    /// A `sendpicp` that restarts the stream of `send` where it stands.
    fn restart(
        &mut self,
        send: Event,
        start: u32,
        end: u32,
        source: u32,
        pointer: u32,
        place: Option<Place>,
    ) -> Result<(), RowError> {
        let Event::Send { from, control, .. } = send else {
            unreachable!("called with sends only");
        };
        let unit = if control.wide { 3 } else { 2 };
        let sent = self.time - start;
        let here = from.plus(sent.wrapping_mul(control.item_bytes()));
        if address(here, unit).is_none() {
            return Err(RowError::Field {
                event: send,
                what: "the send runs past the address field",
            });
        }
        let chunk = self.chunk(end)?;
        let first = chunk.min(limit::SEND);
        let value = self.source_field(here, unit, self.words.len());
        self.stream = control.bits();
        self.both(first, value, control.bits(), source, pointer, place);
        self.send_off(chunk - first, control);
        Ok(())
    }

    /// Field value of a send address; records the site of a symbol.
    fn source_field(&mut self, place: Place, unit: u8, word: usize) -> u32 {
        match place.symbol {
            None => place.offset >> unit,
            Some(_) => {
                self.site(word, 3, unit, 18, place);
                0
            }
        }
    }
}

/// Event in which the last item of a send leaves.
fn send_end(send: &Event) -> u32 {
    match *send {
        Event::Send { at, items, .. } => at.saturating_add(items),
        _ => send.at(),
    }
}

/// Field value of a place in units of `1 << unit` bytes (0 for a symbol); `None` if it does not fit.
fn address(place: Place, unit: u8) -> Option<u32> {
    if !place.offset.is_multiple_of(1 << unit) {
        return None;
    }
    match place.symbol {
        Some(_) => Some(0),
        None => {
            let value = place.offset >> unit;
            (value >> limit::ADDRESS_BITS == 0).then_some(value)
        }
    }
}
