//! From records to numbers to what people read, on runs whose answers are known.

mod advice;
mod causes;
#[path = "../common/mod.rs"]
mod common;
mod compare;
mod cvcuda;
mod export;
mod findings;
mod html;
mod interference;
mod made_up;
mod outliers;
mod output;
mod phases;
mod power;
mod predictability;
mod range;
mod scipy;
mod trtexec;
mod truth;
