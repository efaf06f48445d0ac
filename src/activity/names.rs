//! Texts and shapes of launches that activities refer to by number, each kept once.

use std::collections::HashMap;
use std::sync::Arc;

use crate::record::{Definition, Launch};

/// Numbers of one process begin at a multiple of this, so that those of several processes are different.
const A_PROCESS: u32 = 1 << 20;

/// Gives numbers.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: HashMap<(Arc<str>, Option<Launch>), u32>,
    first: u32,
}

impl Names {
    /// Of the process at this place among those that are traced.
    pub(super) fn of_process(place: u16) -> Self {
        Names {
            known: HashMap::new(),
            first: u32::from(place) * A_PROCESS,
        }
    }

    /// The number of a text; `None` beyond what a process can have.
    pub(super) fn number(&mut self, text: &Arc<str>, launch: Option<Launch>) -> Option<u32> {
        let next = self.known.len() as u32;
        if let Some(known) = self.known.get(&(Arc::clone(text), launch)) {
            return Some(*known);
        }
        if next >= A_PROCESS {
            return None;
        }
        let number = self.first + next;
        self.known.insert((Arc::clone(text), launch), number);
        Some(number)
    }

    /// All of them, by number; names of kernels as the source has them.
    pub(super) fn definitions(&self) -> Vec<Definition> {
        let mut all: Vec<Definition> = self
            .known
            .iter()
            .map(|((text, launch), number)| Definition {
                number: *number,
                text: match launch {
                    Some(_) => demangled(text),
                    None => text.to_string(),
                },
                launch: *launch,
            })
            .collect();
        all.sort_by_key(|definition| definition.number);
        all
    }
}

/// A kernel's name without the linker's mangling; as it is where it has none.
fn demangled(name: &str) -> String {
    let symbol = cpp_demangle::Symbol::new(name).ok();
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    symbol
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_one_number_and_a_kernel_one_for_each_shape() {
        let mut names = Names::of_process(2);
        let text: Arc<str> = "_Z4convIfEvPT_".into();
        let small = Some(Launch::default());
        let large = Some(Launch {
            registers: 7,
            ..Launch::default()
        });
        let numbers = [None, small, large, small].map(|launch| names.number(&text, launch));
        let first = 2 * A_PROCESS;
        assert_eq!(numbers, [0, 1, 2, 1].map(|n| Some(first + n)));
        let texts: Vec<String> = names.definitions().into_iter().map(|d| d.text).collect();
        assert_eq!(texts, ["_Z4convIfEvPT_", "conv<float>", "conv<float>"]);
    }

    #[test]
    fn names_that_are_not_mangled_stay_as_they_are() {
        for name in ["jetlag_fit", "", "_Z", "sm80_xmma_gemm_f16f16", "ü"] {
            assert_eq!(demangled(name), name);
        }
    }
}
