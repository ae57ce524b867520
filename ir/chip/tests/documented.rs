//! docs/simulator.md lists every assumption as it is.

use ipucc_chip::Assumptions;

#[test]
fn the_page_of_the_simulator_lists_every_assumption() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/simulator.md");
    let page = std::fs::read_to_string(path).expect("docs/simulator.md");
    let mut rows = page.lines().filter(|line| line.starts_with("| `"));
    let table: Vec<&str> = rows.by_ref().collect();
    for (info, value) in Assumptions::default().iter() {
        let row = format!(
            "| `{}` | {} | {value} | {} | {} |",
            info.name, info.decides, info.alternatives, info.evidence
        );
        assert!(table.contains(&row.as_str()), "missing: {row}");
    }
}
