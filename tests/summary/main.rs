//! From records to numbers to what people read, on runs whose answers are known.

mod findings;
mod made_up;
mod output;
mod power;
mod truth;
