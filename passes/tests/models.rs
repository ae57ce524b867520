//! Every pass over every model of `tests/models`: dumps as snapshots, the same from run to run, the
//! same numbers as before where a pass is exact, and never a higher estimate.

use ipucc_passes::PASSES;
use ipucc_passes::simplify::{Group, Simplify, simplify_with};
use ipucc_tensor::{Module, text};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The models by name, in order.
fn models() -> Vec<(String, Module)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/models");
    let entries = std::fs::read_dir(&folder).expect("the folder of models is part of the repo");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("can be listed").path())
        .filter(|path| path.extension().is_some_and(|end| end == "ir"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 8, "{} models only", paths.len());
    let named = |path: PathBuf| {
        let source = std::fs::read_to_string(&path).expect("can be read");
        let name = path.file_stem().expect("has a name").to_string_lossy();
        match text::parse(&source) {
            Ok(module) => (name.into_owned(), module),
            Err(faults) => panic!("{}", text::render(&name, &source, &faults)),
        }
    };
    paths.into_iter().map(named).collect()
}

fn fast() -> Simplify {
    Simplify {
        fast: true,
        ..Simplify::default()
    }
}

#[test]
fn passes_over_models() {
    for (name, model) in models() {
        for (mode, options) in [("exact", Simplify::default()), ("fast", fast())] {
            let mut module = model.clone();
            let mut dump = String::new();
            for pass in PASSES {
                let next = (pass.run)(&module, &options);
                assert_eq!(
                    next,
                    (pass.run)(&module, &options),
                    "{} of {name}",
                    pass.name
                );
                let (before, after) = (text::print(&module), text::print(&next));
                if before == after {
                    let _ = writeln!(dump, "// after {}: as before\n", pass.name);
                } else {
                    let _ = writeln!(dump, "// after {}\n{after}", pass.name);
                }
                let again = text::parse(&after);
                let again = again.unwrap_or_else(|f| panic!("{}", text::render(&name, &after, &f)));
                assert_eq!(after, text::print(&again), "{} of {name}", pass.name);
                module = next;
            }
            insta::assert_snapshot!(format!("{name}_{mode}"), dump);
        }
    }
}

/// What each group buys: the estimate with all groups, and with one of them off.
#[test]
fn ablation() {
    let mut table = String::from("model | before | exact | fast |");
    for group in Group::ALL {
        let _ = write!(table, " fast without {} |", group.name());
    }
    table.push('\n');
    let estimate = |module: &Module, options: &Simplify| {
        let (_, outcomes) = simplify_with(module, options);
        let outcome = outcomes["main"];
        assert!(outcome.after <= outcome.before);
        outcome
    };
    for (name, module) in models() {
        let module = ipucc_passes::fold(&module);
        let exact = estimate(&module, &Simplify::default());
        let all = estimate(&module, &fast());
        let _ = write!(
            table,
            "{name} | {} | {} | {} |",
            exact.before, exact.after, all.after
        );
        for group in Group::ALL {
            let without = Simplify {
                without: vec![group],
                ..fast()
            };
            let _ = write!(table, " {} |", estimate(&module, &without).after);
        }
        table.push('\n');
    }
    insta::assert_snapshot!(table);
}

/// 96 layers, each `x + gelu(x w + b) v` with gelu from primitives: the limits must hold the graph,
/// and idioms are found in the last layer as in the first.
#[test]
fn ninety_six_residual_layers() {
    let mut source = String::from(
        "module {\nweight @w : tensor<64x64xf32> = random(seed = 1, scale = 0.1)\nfunc @main(%x0: tensor<32x64xf32>) -> (%y: tensor<32x64xf32>) {\n",
    );
    let ty = "tensor<32x64xf32>";
    let _ = writeln!(
        source,
        "%w = weight @w : tensor<64x64xf32>\n%one = constant 1.0 : {ty}\n%half = constant 0.5 : {ty}\n%root = constant 1.4142135 : {ty}"
    );
    for i in 0..96 {
        let _ = writeln!(
            source,
            "%p{i} = dot %x{i}, %w {{lhs_contract = [1], rhs_contract = [0]}} : {ty}
%d{i} = div %p{i}, %root : {ty}
%e{i} = erf %d{i} : {ty}
%g{i} = add %e{i}, %one : {ty}
%h{i} = mul %p{i}, %g{i} : {ty}
%u{i} = mul %h{i}, %half : {ty}
%x{} = add %x{i}, %u{i} : {ty}",
            i + 1
        );
    }
    source.push_str("return %x96\n}\n}\n");
    let module = text::parse(&source).expect("parses");
    let begin = std::time::Instant::now();
    let (simple, outcomes) = simplify_with(&module, &fast());
    let took = begin.elapsed();
    println!("{outcomes:?} in {took:?}");
    assert!(outcomes["main"].after < outcomes["main"].before);
    assert_eq!(text::print(&simple).matches("gelu").count(), 96);
    assert!(took.as_secs_f64() < 2.0, "{took:?}");
}
