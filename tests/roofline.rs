//! Rooflines: the arithmetic against known answers and published rows, made-up runs, and the program from a network to a page.

mod arithmetic;
mod made;
#[cfg(all(feature = "cpu", feature = "models"))]
mod program;
