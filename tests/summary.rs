//! From records to numbers to what people read, on runs whose answers are known.

mod advice;
mod answers;
mod causes;
mod compare;
mod cvcuda;
mod drawn;
mod export;
mod findings;
mod html;
mod html_overlay;
mod html_timeline;
mod html_traced;
mod interference;
pub(crate) mod made_up;
mod metamorphic;
mod outliers;
mod output;
mod phases;
mod power;
mod predictability;
mod range;
mod scipy;
mod submission;
mod traced;
mod trtexec;
mod truth;
mod watts;
