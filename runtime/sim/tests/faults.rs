//! Every kind of fault names tile, context, PC, instruction text, cycle and cause. The cycles are
//! counted by hand from `isa/supervisor.md` 4: `setzi` 1, use of a result 6 or 8, taken branch 6,
//! launch 6, worker w in its slot (cycle mod 6 = w), six cycles a turn.

use ipucc_chip::exception::Exception;
use ipucc_chip::{Assumptions, Chip, LogicalTile};
use ipucc_machine::{Context, asm};
use ipucc_sim::{Cause, ContextId, Failure, Options, Simulator};

/// Sections and labels of a program.
fn assemble(text: &str) -> ipucc_machine::object::Placed {
    let options = asm::Options {
        file: "fault".into(),
        context: Context::Supervisor,
    };
    let assembly = asm::assemble(text, &options).expect("the program is right");
    let addresses = assembly.object.default_addresses(&Default::default());
    assembly.object.place(&addresses).expect("it can be placed")
}

/// Runs a program on each of these tiles; the label at which the fault is expected.
fn fault_of(programs: &[(u16, &str)], assumptions: Assumptions) -> (Box<Failure>, Option<String>) {
    let options = Options {
        cycle_limit: 5000,
        ..Options::default()
    };
    let mut simulator = Simulator::new(Chip::c600(), assumptions, options).expect("memory");
    let mut entries = Vec::new();
    let mut labels = Vec::new();
    for &(tile, text) in programs {
        let placed = assemble(text);
        for section in placed.sections.values() {
            simulator
                .write(LogicalTile(tile), section.address, &section.bytes)
                .expect("populated");
        }
        labels.push((tile, placed.symbols));
        entries.push((LogicalTile(tile), ipucc_chip::memory::BASE));
    }
    simulator.start(&entries);
    let failure = simulator.run().expect_err("the program is wrong");
    let label = labels
        .iter()
        .filter(|(tile, _)| failure.tile == Some(LogicalTile(*tile)))
        .flat_map(|(_, symbols)| symbols)
        .find(|&(_, &at)| at == failure.pc);
    let label = label.map(|(name, _)| name.clone());
    // The message says all of it.
    let message = failure.to_string();
    if let Some(tile) = failure.tile {
        for part in [
            format!("tile {} ", tile.0),
            failure.context.to_string(),
            format!("cycle {}", failure.cycle),
            format!("pc {:#x}", failure.pc),
            failure.instruction.clone(),
        ] {
            assert!(message.contains(&part), "`{part}` in: {message}");
        }
    }
    (failure, label)
}

/// What is expected of a fault at the label `bad`.
struct Expect<'e> {
    context: ContextId,
    instruction: &'e str,
    cycle: u64,
    /// The exception, or nothing for another cause.
    exception: Option<Exception>,
    cause: &'e str,
}

fn check(program: &str, expect: Expect<'_>) {
    check_with(&[(5, program)], Assumptions::default(), expect);
}

fn check_with(programs: &[(u16, &str)], assumptions: Assumptions, expect: Expect<'_>) {
    let (failure, label) = fault_of(programs, assumptions);
    let found = failure.to_string();
    assert_eq!(failure.tile, Some(LogicalTile(5)), "{found}");
    assert_eq!(label.as_deref(), Some("bad"), "{found}");
    assert_eq!(failure.context, expect.context, "{found}");
    assert_eq!(failure.instruction, expect.instruction, "{found}");
    assert_eq!(failure.cycle, expect.cycle, "{found}");
    let exception = match &failure.cause {
        Cause::Exception { exception, .. } => Some(*exception),
        _ => None,
    };
    assert_eq!(exception, expect.exception, "{found}");
    assert!(found.contains(expect.cause), "{found}");
}

const SUPERVISOR: ContextId = ContextId::Supervisor;

/// All six workers run this; `bad` is the label of the faulting group. Launched in cycle 9 (two
/// `setzi`, of which the second is ready 8 later), earliest group in cycle 15: worker 3 is first.
fn worker(text: &str) -> String {
    format!(
        "setzi $m0, worker\nsetzi $m1, 0x60000\nrunall $m0, $m1, 0\nsync 2\nbri 0\n\
         .worker\n.p2align 3\nworker: {text}\nexitz $mzero\n"
    )
}

/// Worker 0 begins at the first multiple of six from cycle 15 on and is the first to be executed.
const FIRST: u64 = 18;
const WORKER: ContextId = ContextId::Worker(0);

#[test]
fn misaligned_and_unpopulated_addresses() {
    check(
        "setzi $m0, 0x60002\nbad: ld32 $m1, $m0, $mzero, 0\nbri 0",
        Expect {
            context: SUPERVISOR,
            instruction: "ld32 $m1, $m0, $m15, 0",
            cycle: 8,
            exception: Some(Exception::InvalidAddress),
            cause: "0x60002",
        },
    );
    check(
        "bad: st32 $m1, $mzero, $mzero, 4\nbri 0",
        Expect {
            context: SUPERVISOR,
            instruction: "st32 $m1, $m15, $m15, 4",
            cycle: 0,
            exception: Some(Exception::InvalidAddress),
            cause: "0x10",
        },
    );
    check(
        &worker("setzi $m0, 0x60004\nnop\nbad: ld64 $a0:1, $m0, $mzero, 0"),
        Expect {
            context: WORKER,
            instruction: "ld64 $a0:1, $m0, $m15, 0",
            cycle: FIRST + 12,
            exception: Some(Exception::InvalidAddress),
            cause: "0x60004",
        },
    );
    check(
        &worker("setzi $m0, 0xe8000\nbad: st32 $m0, $m0, $mzero, 0"),
        Expect {
            context: WORKER,
            instruction: "st32 $m0, $m0, $m15, 0",
            cycle: FIRST + 6,
            exception: Some(Exception::InvalidAddress),
            cause: "0xe8000",
        },
    );
}

#[test]
fn memory_elements_that_meet() {
    // Fetch of the supervisor: PC + 4 .. PC + 64.
    check(
        "setzi $m0, 0x4c100\nbad: ld32 $m1, $m0, $mzero, 0\nbri 0",
        Expect {
            context: SUPERVISOR,
            instruction: "ld32 $m1, $m0, $m15, 0",
            cycle: 8,
            exception: Some(Exception::Conflict),
            cause: "0x4c100",
        },
    );
    // Fetch of a worker.
    check(
        &worker("setzi $m0, 0x4c100\nbad: ld32 $m1, $m0, $mzero, 0"),
        Expect {
            context: WORKER,
            instruction: "ld32 $m1, $m0, $m15, 0",
            cycle: FIRST + 6,
            exception: Some(Exception::Conflict),
            cause: "0x4c100",
        },
    );
    // Two loads and a store of one instruction in one element of region 1 (bit 3 equal).
    check(
        &worker(
            "setzi $m0, 0x80000\nsetzi $m1, 0x80100\nsetzi $m2, 0x90000\n\
             tapack $m4:5, $m0, $m1, $m2\nbad: ld2x64pace $a0:1, $a2:3, $m4:5+=, $mzero, 0",
        ),
        Expect {
            context: WORKER,
            instruction: "ld2x64pace $a0:1, $a2:3, $m4:5+=, $m15, 0",
            cycle: FIRST + 24,
            exception: Some(Exception::Conflict),
            cause: "0x80000",
        },
    );
    // Weights beside the code that loads them.
    check(
        "setzi $m0, 0x4c200\nput $CCCSLOAD, $m0\nbad: ld64putcs 0\nbri 0",
        Expect {
            context: SUPERVISOR,
            instruction: "ld64putcs 0",
            cycle: 6 + 6,
            exception: Some(Exception::Conflict),
            cause: "0x4c200",
        },
    );
}

#[test]
fn execution_outside_the_executable_region() {
    // A branch to region 1 is the fault of the branch; running over the border that of what is there.
    check(
        "setzi $m0, 0x80000\nbad: br $m0\n",
        Expect {
            context: SUPERVISOR,
            instruction: "br $m0",
            cycle: 8,
            exception: Some(Exception::InvalidPc),
            cause: "0x80000",
        },
    );
    check(
        &worker("setzi $m0, 0x80000\nbad: br $m0"),
        Expect {
            context: WORKER,
            instruction: "br $m0",
            cycle: FIRST + 6,
            exception: Some(Exception::InvalidPc),
            cause: "0x80000",
        },
    );
    // A `nop` in the last executable word: the next one is not.
    let (failure, _) = fault_of(
        &[(5, "setzi $m0, end\nbr $m0\n.org 0x33ffc\nend: nop\n")],
        Assumptions::default(),
    );
    assert_eq!(failure.pc, 0x80000, "{failure}");
    assert_eq!(failure.cycle, 8 + 6 + 1, "{failure}");
    assert!(
        failure.to_string().contains("no executable memory"),
        "{failure}"
    );
}

#[test]
fn invalid_instructions() {
    // An unknown word, in both contexts.
    check(
        "nop\nbad: .long 0x0fffffff\nbri 0",
        Expect {
            context: SUPERVISOR,
            instruction: ".long 0x0fffffff",
            cycle: 1,
            exception: Some(Exception::InvalidInstruction),
            cause: "0x0fffffff",
        },
    );
    check(
        &worker("nop\nbad: .long 0x0fffffff"),
        Expect {
            context: WORKER,
            instruction: ".long 0x0fffffff",
            cycle: FIRST + 6,
            exception: Some(Exception::InvalidInstruction),
            cause: "invalid instruction",
        },
    );
    // An instruction of the other context: `sync 2` in a worker, `exitz` in the supervisor.
    check(
        &worker("nop\nbad: .long 0x41800002"),
        Expect {
            context: WORKER,
            instruction: ".long 0x41800002",
            cycle: FIRST + 6,
            exception: Some(Exception::InvalidInstruction),
            cause: "invalid instruction",
        },
    );
}

#[test]
fn operands_of_launches_and_registers() {
    check(
        "setzi $m0, 0x80000\nsetzi $m1, 0x60000\nbad: runall $m0, $m1, 0\nbri 0",
        Expect {
            context: SUPERVISOR,
            instruction: "runall $m0, $m1, 0",
            cycle: 9,
            exception: Some(Exception::InvalidOperand),
            cause: "entry 0x80000",
        },
    );
    check(
        "bad: get $m0, 0x60\nbri 0",
        Expect {
            context: SUPERVISOR,
            instruction: "get $m0, 96",
            cycle: 0,
            exception: Some(Exception::InvalidOperand),
            cause: "0x60",
        },
    );
    check(
        "nop\nbad: trap 1\nbri 0",
        Expect {
            context: SUPERVISOR,
            instruction: "trap 1",
            cycle: 1,
            exception: Some(Exception::Trap1),
            cause: "trap",
        },
    );
}

/// One worker that counts down for a long time.
const LONG: &str =
    ".worker\n.p2align 3\nlong: setzi $m0, 100\nagain: brnzdec $m0, again\nexitz $mzero\n";

#[test]
fn workers_still_running() {
    // Launched in cycle 9 by `run`; the supervisor goes on six cycles later.
    let row = format!(
        "setzi $m0, long\nsetzi $m1, 0x1000\nrun $m0, $m1, 0\nbad: send 0, 0x18000, 3\nsync 2\nbri 0\n{LONG}"
    );
    let (failure, label) = fault_of(&[(5, &row)], Assumptions::default());
    assert_eq!(label.as_deref(), Some("bad"), "{failure}");
    assert_eq!(failure.cycle, 15, "{failure}");
    assert!(failure.instruction.starts_with("send"), "{failure}");
    assert!(failure.to_string().contains("exception 7"), "{failure}");
    let again = format!(
        "setzi $m0, long\nsetzi $m1, 0x1000\nrun $m0, $m1, 0\nadd $m1, $m1, 0\nbad: runall $m0, $m1, 0\nbri 0\n{LONG}"
    );
    let (failure, label) = fault_of(&[(5, &again)], Assumptions::default());
    assert_eq!(label.as_deref(), Some("bad"), "{failure}");
    assert!(failure.to_string().contains("still active"), "{failure}");
    let Cause::Exception { exception, .. } = failure.cause else {
        panic!("{failure}");
    };
    assert_eq!(exception, Exception::InvalidInstruction);
}

#[test]
fn floating_point_exceptions_when_enabled() {
    // $FP_ICTL bits 0..2 enable invalid, division by zero, overflow.
    let launch = |text: &str| {
        format!(
            "setzi $m2, 7\nput $FP_ICTL, $m2\nsetzi $m0, worker\nsetzi $m1, 0x60000\n\
             runall $m0, $m1, 0\nsync 2\nbri 0\n.worker\n.p2align 3\nworker: {text}\nexitz $mzero\n"
        )
    };
    // Issue of the `put` in cycle 6, six cycles; setzi, setzi; launch 8 after the second (13):
    // cycle 21, workers from 27 on, worker 0 in 30.
    let program = launch("setzi $a0, 0\nbad: f32div $a1, $a0, $a0");
    check(
        &program,
        Expect {
            context: WORKER,
            instruction: "f32div $a1, $a0, $a0",
            cycle: 36,
            exception: Some(Exception::FloatingPoint),
            cause: "floating point",
        },
    );
    let program = launch("or $a0, $azero, 0x7f000000\nbad: f32mul $a1, $a0, $a0");
    check(
        &program,
        Expect {
            context: WORKER,
            instruction: "f32mul $a1, $a0, $a0",
            cycle: 36,
            exception: Some(Exception::FloatingPoint),
            cause: "floating point",
        },
    );
    // Not enabled, the same program ends.
    let quiet = worker("or $a0, $azero, 0x7f000000\nf32mul $a1, $a0, $a0");
    let mut simulator = Simulator::new(
        Chip::first(1).expect("a chip"),
        Assumptions::default(),
        Options::default(),
    )
    .expect("memory");
    for section in assemble(&quiet).sections.values() {
        simulator
            .write(LogicalTile(0), section.address, &section.bytes)
            .expect("populated");
    }
    simulator.start(&[(LogicalTile(0), ipucc_chip::memory::BASE)]);
    simulator.run().expect("no trap is enabled");
}

#[test]
fn the_cycle_limit_stops_both_contexts() {
    let (failure, label) = fault_of(&[(5, "nop\nbad: bri bad\n")], Assumptions::default());
    assert_eq!(failure.cause, Cause::Limit(5000));
    assert_eq!(failure.context, SUPERVISOR);
    assert_eq!(label.as_deref(), Some("bad"));
    // Issued in cycles 1, 7, 13, ..: the first beyond 5,000.
    assert_eq!(failure.cycle, 5005, "{failure}");
    assert!(failure.instruction.starts_with("bri"), "{failure}");
    let (failure, label) = fault_of(&[(5, &worker("nop\nbad: bri bad"))], Assumptions::default());
    assert_eq!(failure.cause, Cause::Limit(5000));
    assert_eq!(failure.context, WORKER);
    assert_eq!(label.as_deref(), Some("bad"));
    assert_eq!(failure.cycle, 5004, "{failure}");
    assert!(failure.instruction.starts_with("bri"), "{failure}");
    // Delays of a row.
    let (failure, _) = fault_of(
        &[(5, "bad: delay 3000\ndelay 3000\nbri 0\n")],
        Assumptions::default(),
    );
    assert_eq!(failure.cause, Cause::Limit(5000));
    assert_eq!(failure.tile, Some(LogicalTile(5)));
    assert!(failure.instruction.starts_with("delay"), "{failure}");
}

#[test]
fn a_deadlock_lists_what_every_tile_waits_for() {
    let wait = "sync 3\nbri 0\n";
    let mut programs: Vec<(u16, &str)> = (0..40).map(|tile| (tile, wait)).collect();
    programs.push((50, "nop\nbri 0\n"));
    programs.push((60, "sans 1\nsync 1\nbri 0\n"));
    programs.push((
        61,
        "setzi $m0, 2\nput $INCOMING_DCOUNT, $m0\nsync 0\nbri 0\n",
    ));
    let (failure, _) = fault_of(&programs, Assumptions::default());
    let Cause::Deadlock(table) = &failure.cause else {
        panic!("{failure}");
    };
    for line in [
        "tiles 0-39 (pc 0x4c004): wait at sync 3 since cycle 0",
        "tile 50 (pc 0x4c004): ended in cycle 1",
        "tile 60 (pc 0x4c008): waits for its credit since cycle 1",
        "tile 61 (pc 0x4c00c): waits for 2 words since cycle 14",
    ] {
        assert!(table.contains(line), "`{line}` in\n{table}");
    }
    assert_eq!(failure.tile, None);
}

/// A receiver on tile 0 and a sender on tile 5 (or the other way round) of one phase; both rows begin
/// at 0x50000, eight cycles plus a branch after the release.
fn phase(row: &str) -> String {
    format!(
        "setzi $m10, done\nsync 3\ncall $m10, row\ndone: bri 0\n.org 0x4000\nrow: {row}\nbr $m10\n"
    )
}

#[test]
fn exchanges_name_the_instruction_of_the_row() {
    // Tile 5 selects tile 0, which sends nothing.
    let idle = phase("delay 200");
    let silent = phase("delay 3\nbad: delayxpic 3, 0, 0\ndelayxpic 3, 0, 0x640\ndelay 150");
    let (failure, label) = fault_of(&[(0, &idle), (5, &silent)], Assumptions::default());
    let text = failure.to_string();
    assert!(matches!(failure.cause, Cause::Exchange(_)), "{text}");
    assert_eq!(failure.tile, Some(LogicalTile(5)), "{text}");
    assert!(
        label.is_some() || failure.instruction.starts_with("delay"),
        "{text}"
    );
    assert!(text.contains("sends nothing"), "{text}");
    assert!(failure.instruction.starts_with("delay"), "{text}");
    // The source of a send lies in the element of its row: the conflict that silicon reports.
    let near = phase("delay 3\nbad: send 1, 0x14100, 3\ndelay 20");
    let (failure, label) = fault_of(&[(5, &near)], Assumptions::default());
    let text = failure.to_string();
    assert_eq!(label.as_deref(), Some("bad"), "{text}");
    assert!(text.contains("conflict"), "{text}");
    assert!(failure.instruction.starts_with("send"), "{text}");
}
