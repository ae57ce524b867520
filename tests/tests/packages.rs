//! Package files: what is altered, cut, foreign or old is refused, and nothing panics.

use ipucc::model::{Options, compile};
use ipucc::stage::UNWATCHED;
use ipucc_chip::Chip;
use ipucc_runtime::file::{FileError, from_bytes, to_bytes};

const MLP: &str = include_str!("../../examples/mlp.ir");

fn bytes() -> Vec<u8> {
    let module = ipucc_tensor::text::parse(MLP).expect("parses");
    let options = Options::new(Chip::first(64).expect("64 tiles"));
    let package = compile(&module, &options, UNWATCHED)
        .expect("compiles")
        .compiled
        .package;
    to_bytes(&package).expect("serialises")
}

#[test]
fn a_thousand_altered_packages_are_refused() {
    let good = bytes();
    assert!(from_bytes("good", &good).is_ok());
    let mut state = 7u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for case in 0..1000 {
        let mut bad = good.clone();
        match case % 4 {
            0 => bad[next(good.len())] ^= 1 << next(8),
            1 => bad.truncate(next(good.len())),
            2 => bad.insert(next(good.len()), next(256) as u8),
            _ => {
                let (at, length) = (next(good.len() - 64), 1 + next(63));
                bad[at..at + length].rotate_left(1);
            }
        }
        if bad != good {
            assert!(from_bytes("bad", &bad).is_err(), "case {case} was accepted");
        }
    }
}

#[test]
fn the_reason_is_told() {
    let good = bytes();
    assert!(matches!(
        from_bytes("x", b"something else"),
        Err(FileError::Foreign { .. })
    ));
    assert!(matches!(
        from_bytes("x", &good[..40]),
        Err(FileError::Length { .. })
    ));
    assert!(matches!(
        from_bytes("x", &good[..good.len() - 1]),
        Err(FileError::Length { .. })
    ));
    let mut old = good.clone();
    old[8] = 0;
    assert!(matches!(
        from_bytes("x", &old),
        Err(FileError::Version { .. })
    ));
    let mut altered = good;
    let last = altered.len() - 1;
    altered[last] ^= 1;
    assert!(matches!(
        from_bytes("x", &altered),
        Err(FileError::Checksum { .. })
    ));
}

#[test]
fn the_same_model_gives_the_same_bytes_on_any_number_of_threads() {
    let first = bytes();
    for threads in [1, 2, 5] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        assert!(pool.install(bytes) == first, "{threads} threads");
    }
}

#[test]
fn contents_that_make_no_sense_are_refused_even_with_a_right_checksum() {
    let mut package = from_bytes("good", &bytes()).expect("good");
    package.images[0].entry = 0x90000;
    let error = from_bytes("bad", &to_bytes(&package).expect("serialises")).expect_err("bad entry");
    assert!(error.to_string().contains("entry"), "{error}");
    let mut package = from_bytes("good", &bytes()).expect("good");
    package.outputs[0].runs[0].host = 1 << 40;
    assert!(from_bytes("bad", &to_bytes(&package).expect("serialises")).is_err());
}

/// A context fetches behind its last instruction: no data may stand in the element that this reaches
/// (`isa/supervisor.md` 2).
#[test]
fn code_keeps_the_reach_of_fetching_free_of_data() {
    let module = ipucc_tensor::text::parse(MLP).expect("parses");
    let options = Options::new(Chip::first(16).expect("tiles"));
    let model = compile(&module, &options, UNWATCHED).expect("compiles");
    let program = model.compiled.scheduled.program;
    let problems = ipucc::backend::problems(program, &Default::default()).expect("emits");
    let mut code = 0;
    for tile in &problems.problems {
        for request in &tile.problem.requests {
            if request.kind.is_code() {
                assert!(request.tail_bytes >= 64, "{}", request.name);
                code += 1;
            }
        }
    }
    assert!(code > 16, "{code}");
}
