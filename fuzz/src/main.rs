//! One of the inputs in tests/hardening/inputs.rs, named by JETLAG_FUZZ, under libFuzzer. scripts/hardening/fuzz.sh runs them all.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;

#[path = "../../tests/hardening/inputs.rs"]
mod inputs;

fuzz_target!(|bytes: &[u8]| {
    static CHOSEN: OnceLock<fn(&[u8])> = OnceLock::new();
    let read = CHOSEN.get_or_init(|| {
        // A library's panic that our code catches is no find: the fuzzer's own hook would end the process before. One that
        // nobody catches still does.
        std::panic::set_hook(Box::new(|panic| eprintln!("{panic}")));
        let name = std::env::var("JETLAG_FUZZ").expect("JETLAG_FUZZ names an input");
        let found = inputs::INPUTS.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("JETLAG_FUZZ is `{name}`, which is no input")).1
    });
    read(bytes);
});
