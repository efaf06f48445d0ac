//! A figure: a value with its key, and what supports it. Its JSON form, of docs/json.md, is written and read here.

use jetlag_figure::{Known, Support, Unit};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Key;

/// A figure of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is.
    pub key: Key,
    /// Its value, or why there is none.
    pub known: Known,
    /// What the value supports; nothing where there is none.
    pub support: Support,
}

impl Figure {
    /// Its value, in its unit.
    pub fn value(&self) -> Option<f64> {
        match self.known {
            Known::Measured(value) => Some(value),
            Known::Needs(_) | Known::Withheld(_) | Known::NotMeasured => None,
        }
    }
}

/// The JSON form.
#[derive(Serialize, Deserialize)]
struct Form {
    key: String,
    /// Whose it is; a name alone would not tell, since a tenant may be called `clock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    unit: Unit,
    value: Option<f64>,
    ci95: Option<[f64; 2]>,
    support: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    needs_frames: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    withheld: Option<String>,
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let needs_frames = match self.known {
            Known::Needs(frames) => Some(frames),
            _ => None,
        };
        let withheld = match &self.known {
            Known::Withheld(reason) => Some(reason.clone()),
            _ => None,
        };
        Form {
            key: self.key.to_string(),
            tenant: self.key.tenant().map(str::to_owned),
            unit: self.key.unit(),
            value: self.value(),
            ci95: self.support.interval(),
            support: self.support.word().to_owned(),
            needs_frames,
            withheld,
        }
        .serialize(to)
    }
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let form = Form::deserialize(from)?;
        let tenants: Vec<&str> = form.tenant.as_deref().into_iter().collect();
        let known = match (form.value, form.needs_frames, form.withheld) {
            (Some(value), ..) => Known::Measured(value),
            (None, Some(frames), _) => Known::Needs(frames),
            (None, None, Some(reason)) => Known::Withheld(reason),
            (None, None, None) => Known::NotMeasured,
        };
        Ok(Figure {
            key: Key::parse(&form.key, &tenants).map_err(de::Error::custom)?,
            known,
            support: Support::of_json(&form.support, form.ci95).map_err(de::Error::custom)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_read_as_it_was_written() {
        let tenants = ["camera", "clock", "energy", "cam.front"]
            .into_iter()
            .flat_map(Key::all_of_tenant);
        let machine = [
            "clock.response.min",
            "energy.total",
            "power.VDD.IN.mean",
            "host.samples",
        ];
        let machine = machine.into_iter().map(|name| Key::parse(name, &[]).unwrap());
        let cases = [
            (Known::Measured(7.25), Support::Interval([7.0, 8.0])),
            (Known::Measured(3.0), Support::Exact),
            (Known::Measured(0.1 + 0.2), Support::ThisRun),
            (Known::Measured(9.5), Support::Nothing),
            (Known::Needs(662), Support::Nothing),
            (
                Known::Withheld("the turns are too few".to_owned()),
                Support::Nothing,
            ),
            (Known::NotMeasured, Support::Nothing),
        ];
        for (key, (known, support)) in tenants.chain(machine).zip(cases.into_iter().cycle()) {
            let figure = Figure { key, known, support };
            let text = serde_json::to_string(&figure).unwrap();
            assert_eq!(serde_json::from_str::<Figure>(&text).unwrap(), figure, "{text}");
        }
        let unsupported =
            r#"{"key":"host.others","unit":"percent","value":1,"ci95":null,"support":"interval"}"#;
        assert!(serde_json::from_str::<Figure>(unsupported).is_err());
    }
}
