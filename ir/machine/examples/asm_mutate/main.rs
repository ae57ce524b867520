//! A mutation loop over assembler text for machines without a nightly compiler: the property of
//! `fuzz/fuzz_targets/asm_text.rs` on mutations of sample programs.
//!
//! `cargo run --release -p ipucc-machine --example asm_mutate -- SECONDS SEED FILE.S...`

mod property;

use std::time::{Duration, Instant};

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit.max(1)
    }
}

/// Pieces that mean something to the assembler.
const PIECES: &[&str] = &[
    "{",
    "}",
    ";",
    "\n",
    ":",
    "1:",
    "1b",
    "1f",
    "$m0",
    "$a0:1",
    "$a0:3",
    "$mzero",
    ".macro m a\n",
    ".endm\n",
    ".rept 3\n",
    ".endr\n",
    ".if 1\n",
    ".else\n",
    ".endif\n",
    "m ",
    "\\a",
    "\\@",
    "\\()",
    ".set x, x + 1\n",
    "x",
    "(",
    ")",
    "+",
    "-",
    "<<",
    ">>",
    "*",
    "/",
    "%",
    "\"",
    "'",
    "/*",
    "*/",
    "//",
    "#",
    "# 3 \"f\"\n",
    ".p2align 3\n",
    ".align 8\n",
    ".word ",
    ".byte ",
    ".ascii \"",
    ".org ",
    ".space ",
    "rpt $m0, 0\n",
    "{ nop ; fnop }\n",
    "0x",
    "0b",
    "1.5h",
    "99999999999",
    ".supervisor\n",
    ".worker\n",
    ".section .x, \"ax\"\n",
    ".text\n",
    ".data\n",
    ".globl x\n",
    "x:\n",
    "ldconst $m0, x\n",
    "bri x\n",
    "sendpicp 0, 1, 2, 3, 4, 5\n",
    ".irp r, 1, 2\n",
    ".exitm\n",
    ".altmacro\n",
    "+=",
    "++",
    "@",
    "\u{e9}",
    ".pushsection .y\n",
    ".popsection\n",
    ".allow_optimizations\n",
    ".fill 3, 2, 1\n",
    ".extern x\n",
    "\t",
    "setzi $m0, (x - y) >> 2\n",
    "y = 3\n",
    ".size x, . - x\n",
    ".type x, @function\n",
];

fn mutate(text: &mut Vec<u8>, corpus: &[String], random: &mut Random) {
    for _ in 0..1 + random.below(6) {
        let at = random.below(text.len() + 1);
        match random.below(7) {
            0 => {
                let end = (at + random.below(40)).min(text.len());
                text.drain(at..end);
            }
            1 | 2 => {
                let piece = PIECES[random.below(PIECES.len())];
                text.splice(at..at, piece.bytes());
            }
            3 if at < text.len() => text[at] = (random.next() & 0x7f) as u8,
            4 => {
                let end = (at + random.below(200)).min(text.len());
                let copy = text[at..end].to_vec();
                let to = random.below(text.len() + 1);
                text.splice(to..to, copy);
            }
            5 => {
                let other = corpus[random.below(corpus.len())].as_bytes();
                let from = random.below(other.len());
                let end = (from + random.below(300)).min(other.len());
                text.splice(at..at, other[from..end].iter().copied());
            }
            _ => {
                let lines: Vec<&[u8]> = text.split(|b| *b == b'\n').collect();
                let drop = random.below(lines.len());
                let kept: Vec<&[u8]> = lines
                    .iter()
                    .enumerate()
                    .filter(|(i, _)| *i != drop)
                    .map(|(_, l)| *l)
                    .collect();
                *text = kept.join(&b'\n');
            }
        }
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let seconds: u64 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(10);
    let seed: u64 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(1);
    let corpus: Vec<String> = arguments
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .chain([PIECES.concat()])
        .collect();
    let mut random = Random(seed | 1);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut texts, mut accepted, mut slowest) = (0u64, 0u64, Duration::ZERO);
    while Instant::now() < end {
        // A part of a sample keeps single texts short.
        let base = corpus[random.below(corpus.len())].as_bytes();
        let from = random.below(base.len());
        let to = (from + random.below(2000)).min(base.len());
        let mut text = if random.below(4) == 0 {
            base.to_vec()
        } else {
            base[from..to].to_vec()
        };
        mutate(&mut text, &corpus, &mut random);
        let text = String::from_utf8_lossy(&text).into_owned();
        let begin = Instant::now();
        let result = std::panic::catch_unwind(|| property::check(&text));
        let took = begin.elapsed();
        slowest = slowest.max(took);
        if took > Duration::from_secs(3) {
            println!("---- {took:?}\n{text}\n----");
        }
        texts += 1;
        match result {
            Ok(true) => accepted += 1,
            Ok(false) => {}
            Err(_) => {
                println!("---- text that failed\n{text}\n----");
                std::process::exit(1);
            }
        }
    }
    println!("{texts} texts, {accepted} accepted, slowest {slowest:?}");
}
