//! Texts and shapes of launches that activities refer to by number, each kept once.

use std::collections::HashMap;
use std::sync::Arc;

use jetlag_record::{Definition, Launch};

/// Numbers of one process begin at a multiple of this, so that those of several processes are different.
const A_PROCESS: u32 = 1 << 20;

/// Text of all names that are kept, in bytes: ranges may have a new name each time.
const MOST_TEXT: usize = 64 << 20;

/// Gives numbers.
#[derive(Debug, Default)]
pub struct Names {
    known: HashMap<(Arc<str>, Option<Launch>), u32>,
    /// By number, from the first on.
    order: Vec<(Arc<str>, Option<Launch>)>,
    first: u32,
    bytes: usize,
    /// How many were told already.
    told: usize,
}

impl Names {
    /// Of the process at this place among those that are traced.
    pub fn of_process(place: u16) -> Self {
        Names {
            // Beyond 4096 processes there are no numbers left; `jetlag trace` takes fewer.
            first: (u32::from(place) % 4096) * A_PROCESS,
            ..Names::default()
        }
    }

    /// The number of a text; `None` beyond what a process can have.
    pub fn number(&mut self, text: &Arc<str>, launch: Option<Launch>) -> Option<u32> {
        if let Some(known) = self.known.get(&(Arc::clone(text), launch)) {
            return Some(*known);
        }
        let next = self.order.len() as u32;
        if next >= A_PROCESS || self.bytes + text.len() > MOST_TEXT {
            return None;
        }
        let number = self.first + next;
        self.bytes += text.len();
        self.order.push((Arc::clone(text), launch));
        self.known.insert((Arc::clone(text), launch), number);
        Some(number)
    }

    /// The text with a number.
    pub fn text(&self, number: u32) -> Option<&Arc<str>> {
        let place = number.checked_sub(self.first)? as usize;
        self.order.get(place).map(|(text, _)| text)
    }

    /// Those that came since this was asked last, as they are.
    pub fn news(&mut self) -> Vec<Definition> {
        let told = std::mem::replace(&mut self.told, self.order.len());
        let numbers = self.first + told as u32..;
        let news = self.order[told..].iter().zip(numbers);
        news.map(|((text, launch), number)| Definition {
            number,
            text: text.to_string(),
            launch: *launch,
        })
        .collect()
    }

    /// The same; names of kernels as the source has them.
    pub fn readable_news(&mut self) -> Vec<Definition> {
        let mut news = self.news();
        news.iter_mut().for_each(read);
        news
    }

    /// All of them, by number; names of kernels as the source has them.
    pub fn definitions(&self) -> Vec<Definition> {
        let all = self.order.iter().zip(self.first..);
        all.map(|((text, launch), number)| {
            let mut definition = Definition {
                number,
                text: text.to_string(),
                launch: *launch,
            };
            read(&mut definition);
            definition
        })
        .collect()
    }
}

/// As the source has it.
fn read(definition: &mut Definition) {
    if definition.launch.is_some() {
        definition.text = demangled(&definition.text);
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
        let texts = |all: Vec<Definition>| all.into_iter().map(|d| d.text).collect::<Vec<_>>();
        let all = ["_Z4convIfEvPT_", "conv<float>", "conv<float>"];
        assert_eq!(texts(names.definitions()), all);
        assert_eq!(texts(names.readable_news()), all);
        assert_eq!(texts(names.readable_news()), [""; 0]);
    }

    #[test]
    fn what_is_new_is_told_once_and_text_is_kept_up_to_a_limit() {
        let mut names = Names::of_process(0);
        let number = |names: &mut Names, text: &str| names.number(&text.into(), None);
        assert_eq!(number(&mut names, "a"), Some(0));
        assert_eq!(names.news().len(), 1);
        number(&mut names, "a");
        number(&mut names, "b");
        let news: Vec<String> = names.news().into_iter().map(|d| d.text).collect();
        assert_eq!(news, ["b"]);
        assert_eq!(names.text(1).map(|text| &**text), Some("b"));
        let long = "x".repeat(MOST_TEXT);
        assert_eq!(number(&mut names, &long), None);
        assert_eq!(number(&mut names, "c"), Some(2));
    }

    #[test]
    fn names_that_are_not_mangled_stay_as_they_are() {
        for name in ["jetlag_fit", "", "_Z", "sm80_xmma_gemm_f16f16", "ü"] {
            assert_eq!(demangled(name), name);
        }
    }
}
