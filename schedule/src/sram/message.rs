//! What is said when tile memory does not suffice.

use super::{Kind, Problem, Region, Request};
use ipucc_chip::memory;

/// What does not suffice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Shortage {
    /// All live bytes together.
    Total,
    /// What must be executable: code and rows.
    Executable,
    /// What must stand in interleaved memory.
    Interleaved,
    /// The bytes would fit; no placement around elements, regions and lifetimes was found.
    Placement,
}

impl Shortage {
    /// True if a request takes of what does not suffice.
    fn concerns(self, request: &Request) -> bool {
        match self {
            Shortage::Executable => request.region == Region::Executable,
            Shortage::Interleaved => request.region == Region::Interleaved,
            Shortage::Total | Shortage::Placement => true,
        }
    }
}

/// What did not fit, in full.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutOfMemory {
    /// Logical tile.
    pub tile: u16,
    /// Step of the problem with the most live bytes.
    pub step: u32,
    /// That step by the program's names, if they are known.
    pub place: Option<String>,
    /// What does not suffice.
    pub shortage: Shortage,
    /// Bytes that there are of it.
    pub available_bytes: u32,
    /// Bytes that are live in that step and need it.
    pub live_bytes: u64,
    /// Everything live in that step, largest first.
    pub live: Vec<Request>,
}

/// Bytes of the regions, and the most that are live in one step of what must stand there, with the
/// step; `None` if everything may fit.
pub(super) fn shortage(problem: &Problem) -> Option<OutOfMemory> {
    let size = |low: u32, high: u32| high.saturating_sub(low);
    let (base, end) = (problem.base, problem.end);
    let executable = size(base, memory::EXECUTABLE_END.min(end));
    let interleaved = size(memory::INTERLEAVED_BASE.max(base), end);
    let all = [
        (Shortage::Executable, executable),
        (Shortage::Total, size(base, end)),
        (Shortage::Interleaved, interleaved),
    ];
    all.into_iter().find_map(|(shortage, available)| {
        let (live, step) = super::most_live(problem, |request| shortage.concerns(request));
        (live > u64::from(available)).then(|| described(problem, shortage, available, live, step))
    })
}

/// The message about a step of a problem.
pub(super) fn described(
    problem: &Problem,
    shortage: Shortage,
    available_bytes: u32,
    live_bytes: u64,
    step: u32,
) -> OutOfMemory {
    let mut live: Vec<Request> = problem
        .requests
        .iter()
        .filter(|request| request.bytes > 0 && (request.live.0..request.live.1).contains(&step))
        .cloned()
        .collect();
    live.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
    OutOfMemory {
        tile: problem.tile,
        step,
        place: None,
        shortage,
        available_bytes,
        live_bytes,
        live,
    }
}

/// Most live requests that are named one by one.
const NAMED: usize = 12;

impl OutOfMemory {
    /// Names the step by a problem's labels: what stands there for its steps 0, 1, ...
    pub fn name_step(&mut self, labels: &[String]) {
        self.place = labels.get(self.step as usize).cloned();
    }

    fn sum(&self, of: impl Fn(&Request) -> u32) -> u64 {
        self.live.iter().map(|request| u64::from(of(request))).sum()
    }

    fn of_kind(&self, kind: Kind) -> u64 {
        self.sum(|request| {
            if request.kind == kind {
                request.bytes
            } else {
                0
            }
        })
    }

    /// Bytes beyond what there is.
    fn excess(&self) -> u64 {
        self.live_bytes
            .saturating_sub(u64::from(self.available_bytes))
    }

    /// What would make it fit, the most promising first.
    fn remedies(&self) -> Vec<String> {
        let rows = self.of_kind(Kind::Row);
        let code = self.of_kind(Kind::Code);
        let is_value =
            |r: &Request| matches!(r.kind, Kind::Weight | Kind::Data) && self.shortage.concerns(r);
        let values = self.sum(|r| if is_value(r) { r.bytes } else { 0 });
        let fixed = self.live_bytes.saturating_sub(values);
        let room = u64::from(self.available_bytes).saturating_sub(fixed);
        let mut list = Vec::new();
        let larger_messages = "fewer and larger messages: a coarser grid, or fewer tiles (--tiles) \
                               in each exchange";
        match self.shortage {
            Shortage::Executable => {
                if rows >= code {
                    list.push(larger_messages.to_owned());
                }
                list.push(
                    "fewer different kernels: shapes that divide evenly over the tiles".into(),
                );
                return list;
            }
            Shortage::Placement => {
                list.push(
                    "a larger grid (--tiles): smaller values leave more ways to keep code, what is \
                     sent and what is received in memory elements of their own"
                        .into(),
                );
            }
            Shortage::Total | Shortage::Interleaved if room == 0 => {
                list.push(larger_messages.to_owned());
            }
            Shortage::Total | Shortage::Interleaved => {
                let times = values.div_ceil(room).max(2);
                list.push(format!(
                    "a larger grid: cut over {times} times as many tiles (--tiles), the values fit"
                ));
            }
        }
        let wide = self.sum(|r| match r.element_bytes {
            4 if is_value(r) => r.bytes / 2,
            _ => 0,
        });
        if wide > 0 {
            let enough = match self.shortage {
                Shortage::Placement => "",
                _ if wide >= self.excess() => ", which is enough",
                _ => ", which alone is not enough",
            };
            list.push(format!(
                "lower precision: --precision f16 saves {wide} bytes here{enough}"
            ));
        }
        let largest = self.live.iter().find(|request| is_value(request));
        if let Some(request) = largest
            && self.shortage != Shortage::Placement
            && u64::from(request.bytes) > self.excess()
        {
            let bytes = u64::from(request.bytes);
            let pieces = bytes.div_ceil(bytes - self.excess()).max(2);
            list.push(format!(
                "streaming: `{}` in {pieces} pieces, one at a time, leaves room",
                request.name
            ));
        }
        list
    }
}

impl std::fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "tile {} is out of memory ", self.tile)?;
        match &self.place {
            Some(place) => write!(f, "{place}: ")?,
            None => write!(f, "in step {}: ", self.step)?,
        }
        let (live, there) = (self.live_bytes, self.available_bytes);
        match self.shortage {
            Shortage::Total => write!(f, "{live} bytes are live, {there} are there")?,
            Shortage::Executable => write!(
                f,
                "{live} bytes of code and rows must be executable, {there} bytes are"
            )?,
            Shortage::Interleaved => write!(
                f,
                "{live} bytes must stand in interleaved memory, {there} bytes are"
            )?,
            Shortage::Placement => write!(
                f,
                "{live} bytes are live and {there} are there, but no placement was found around \
                 memory elements, regions and lifetimes"
            )?,
        }
        match self.excess() {
            0 => writeln!(f)?,
            excess => writeln!(f, ": {excess} too many")?,
        }
        let kinds = [
            Kind::Code,
            Kind::Row,
            Kind::Record,
            Kind::Weight,
            Kind::Data,
            Kind::Scratch,
        ];
        let sums: Vec<String> = kinds
            .iter()
            .map(|&kind| (kind, self.of_kind(kind)))
            .filter(|(_, sum)| *sum > 0)
            .map(|(kind, sum)| format!("{} {sum}", kind_name(kind)))
            .collect();
        let padding = self.sum(|request| request.padding_bytes);
        writeln!(
            f,
            "  by kind: {} bytes; {padding} of them are padding",
            sums.join(", ")
        )?;
        for request in self.live.iter().take(NAMED) {
            let name = kind_name(request.kind);
            write!(f, "  {:>8} {name} `{}`", request.bytes, request.name)?;
            if let Some(origin) = &request.origin {
                write!(f, " from {origin}")?;
            }
            match request.padding_bytes {
                0 => writeln!(f)?,
                padding => writeln!(f, ", {padding} padding")?,
            }
        }
        if self.live.len() > NAMED {
            let rest = &self.live[NAMED..];
            let bytes: u64 = rest.iter().map(|request| u64::from(request.bytes)).sum();
            writeln!(f, "  {bytes:>8} in {} smaller ones", rest.len())?;
        }
        write!(f, "  what would make it fit:")?;
        for remedy in self.remedies() {
            write!(f, "\n    {remedy}")?;
        }
        Ok(())
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Code => "code",
        Kind::Row => "rows",
        Kind::Record => "records",
        Kind::Weight => "weight",
        Kind::Data => "data",
        Kind::Scratch => "scratch",
    }
}
