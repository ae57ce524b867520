//! What must hold for any text; shared by the fuzz target and the mutation loop.

use indexmap::IndexMap;
use ipucc_machine::Context;
use ipucc_machine::asm::{Diagnostics, Options, assemble};
use ipucc_machine::disasm::{self, disassemble, object_chunks};
use ipucc_machine::object::Object;

/// Assembles `text` in both contexts. Errors must render; an object must survive its file form and
/// give the same bytes after disassembly and assembly. Returns true if a context accepts the text.
pub fn check(text: &str) -> bool {
    let mut accepted = false;
    for context in [Context::Worker, Context::Supervisor] {
        let options = Options {
            file: "fuzz.S".to_string(),
            context,
        };
        let assembly = match assemble(text, &options) {
            Err(errors) => {
                assert!(errors.has_errors(), "an error without a message");
                assert!(!errors.render(true).is_empty());
                continue;
            }
            Ok(assembly) => assembly,
        };
        accepted = true;
        let bytes = assembly.object.to_bytes().expect("an object file");
        let object = Object::from_bytes(&bytes).expect("the object file that was written");
        assert_eq!(object, assembly.object);
        let addresses = object.default_addresses(&IndexMap::new());
        let placed = match object.place(&addresses) {
            Err(errors) => {
                let messages: Vec<_> = errors.iter().map(|e| assembly.diagnose(e)).collect();
                assert!(!Diagnostics(messages).to_string().is_empty());
                continue;
            }
            Ok(placed) => placed,
        };
        let shown = disassemble(&object_chunks(&object), &disasm::Options::default());
        let again = assemble(&shown, &options)
            .unwrap_or_else(|e| panic!("the disassembly does not assemble:\n{e}\n{shown}"));
        let placed_again = again
            .object
            .place(&addresses)
            .unwrap_or_else(|e| panic!("the disassembly cannot be placed:\n{e:?}\n{shown}"));
        assert_eq!(placed.sections, placed_again.sections, "{shown}");
    }
    accepted
}
