//! The formula by which a network's raw value becomes a length: what a spec states so that a new network needs no code.
//!
//! `length = (function(gain · raw) · scale + shift) ^ power · unit`

use crate::record::field::{self, Choices, Entry, Value, choice};
use crate::record::{fields, words};
use crate::written::Rules;

use super::sigmoid;

/// What is done to a raw value first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Function {
    /// Nothing.
    #[default]
    Identity,
    /// `1 / (1 + e^−v)`
    Sigmoid,
    /// `e^v`
    Exp,
    /// `max(v, 0)`
    Relu,
}

/// What a value is counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum Unit {
    /// Pixels of the network's input.
    #[default]
    Pixels,
    /// The stride of the level.
    Stride,
    /// Width or height of the anchor.
    Anchor,
    /// Width or height of the network's input.
    Input,
}

fields! {
    /// From a raw value to a length in pixels of the network's input.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Curve {
        others: {
            /// What is done first.
            pub function: Function = Function::Identity;
        }
        /// By what the raw value is multiplied before that.
        pub gain: f32 = 1.0;
        /// By what the function's value is multiplied.
        pub scale: f32 = 1.0;
        /// What is added then.
        pub shift: f32 = 0.0;
        /// The power to which that is raised.
        pub power: i32 = 1;
        /// What the result is counted in.
        pub times: Unit = Unit::Pixels;
    }
}

words! {
    Unit: "unit";
}

/// The lengths that a unit may mean at one place, along one axis, in pixels.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Units {
    pub(super) stride: f32,
    pub(super) anchor: f32,
    pub(super) input: f32,
}

static FUNCTIONS: Choices<'_> = Choices {
    what: "function",
    default: "Identity",
    all: &[
        choice("Identity", Curve::FIELDS, 0, "Identity(times: Stride)"),
        choice(
            "Sigmoid",
            Curve::FIELDS,
            0,
            "Sigmoid(scale: 2, shift: -0.5, times: Stride)",
        ),
        choice("Exp", Curve::FIELDS, 0, "Exp(gain: 0.2, times: Anchor)"),
        choice("Relu", Curve::FIELDS, 0, "Relu(times: Stride)"),
    ],
};

/// As written: `Exp(gain: 0.2, times: Anchor)`.
impl Value for Curve {
    fn kind() -> String {
        "choice".to_owned()
    }

    fn read(entry: &mut dyn Entry) -> Option<Self> {
        let mut curve = Curve::default();
        entry.choice(&FUNCTIONS, &mut |name, entries| {
            curve.function = match name {
                "Sigmoid" => Function::Sigmoid,
                "Exp" => Function::Exp,
                "Relu" => Function::Relu,
                _ => Function::Identity,
            };
            curve.fill(entries);
        })?;
        Some(curve)
    }

    fn text(&self) -> String {
        field::call(&format!("{:?}", self.function), &self.texts())
    }
}

impl Curve {
    /// The function alone, in this unit.
    pub(super) fn plain(function: Function, times: Unit) -> Self {
        Curve {
            function,
            times,
            ..Curve::default()
        }
    }

    /// What must hold of it, written at `path`.
    pub(super) fn check(&self, path: &str, rules: &mut Rules<'_>) {
        for (field, value) in [("gain", self.gain), ("scale", self.scale)] {
            let ok = value.is_finite() && value != 0.0;
            rules.require(
                ok,
                &format!("{path}.{field}"),
                value,
                "a finite number other than 0",
            );
        }
        let shift = format!("{path}.shift");
        rules.require(self.shift.is_finite(), &shift, self.shift, "a finite number");
        let power = format!("{path}.power");
        rules.require((1..=4).contains(&self.power), &power, self.power, "from 1 to 4");
    }

    /// The length that a raw value stands for.
    #[inline]
    pub(super) fn of(&self, raw: f32, units: Units) -> f32 {
        let v = self.gain * raw;
        let v = match self.function {
            Function::Identity => v,
            Function::Sigmoid => sigmoid(v),
            Function::Exp => v.exp(),
            Function::Relu => v.max(0.0),
        };
        let v = (v * self.scale + self.shift).powi(self.power);
        v * match self.times {
            Unit::Pixels => 1.0,
            Unit::Stride => units.stride,
            Unit::Anchor => units.anchor,
            Unit::Input => units.input,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: Units = Units {
        stride: 8.0,
        anchor: 30.0,
        input: 320.0,
    };

    #[test]
    fn known_networks_formulas() {
        // YOLOv5: (2σ(t) − ½) · stride for the centre, (2σ(t))² · anchor for the size.
        let centre = Curve {
            scale: 2.0,
            shift: -0.5,
            ..Curve::plain(Function::Sigmoid, Unit::Stride)
        };
        assert_eq!(centre.of(0.0, UNITS), 4.0);
        let size = Curve {
            scale: 2.0,
            power: 2,
            ..Curve::plain(Function::Sigmoid, Unit::Anchor)
        };
        assert_eq!(size.of(0.0, UNITS), 30.0);
        // SSD: variances 0.1 and 0.2.
        let size = Curve {
            gain: 0.2,
            ..Curve::plain(Function::Exp, Unit::Anchor)
        };
        assert!((size.of(5.0, UNITS) - 30.0 * std::f32::consts::E).abs() < 1e-4);
        assert_eq!(Curve::plain(Function::Relu, Unit::Input).of(-3.0, UNITS), 0.0);
    }
}
