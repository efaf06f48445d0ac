//! Single values and lists of them: text, flags, durations, rates and numbers.

use std::str::FromStr;

use super::super::problems::{ProblemKind, Spot, shown};
use super::super::tree::{Call, Kind, Node};
use super::Reader;
use crate::units::{Nanos, QuantityError, parse_duration};

impl Reader {
    /// As [`list`](Self::list), where nobody asks for the places.
    pub(crate) fn values<T>(
        &mut self,
        node: &Node,
        field: &str,
        expected: &'static str,
        read: impl FnMut(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<Vec<T>> {
        let list = self.list(node, field, expected, read)?;
        Some(list.into_iter().map(|spot| spot.value).collect())
    }

    /// So many values, in parentheses or in brackets.
    pub(super) fn so_many<'n>(&mut self, node: &'n Node, field: &str, count: usize) -> Option<&'n [Node]> {
        let items = match &node.kind {
            Kind::List(items) => items,
            Kind::Call(Call {
                name: None,
                items,
                fields,
            }) if fields.is_empty() => items,
            _ => return self.wrong_type(node, field, "numbers in parentheses or brackets"),
        };
        if items.len() != count {
            let kind = ProblemKind::OutOfRange {
                what: format!("`{field}`"),
                found: format!("a list of {}", items.len()),
                wanted: format!("{count} numbers"),
            };
            self.report(&node.place, kind);
            return None;
        }
        Some(items)
    }

    /// Every element of a list; `None` if any of them is wrong.
    pub(crate) fn list<T>(
        &mut self,
        node: &Node,
        field: &str,
        expected: &'static str,
        mut read: impl FnMut(&mut Self, &Node, &str) -> Option<T>,
    ) -> Option<Vec<Spot<T>>> {
        let Kind::List(items) = &node.kind else {
            return self.wrong_type(node, field, expected);
        };
        let values: Vec<Option<Spot<T>>> = items
            .iter()
            .map(|item| {
                let place = item.place.clone();
                read(self, item, field).map(|value| Spot { value, place })
            })
            .collect();
        values.into_iter().collect()
    }

    pub(crate) fn text(&mut self, node: &Node, field: &str) -> Option<String> {
        match (&node.kind, &node.typed) {
            (Kind::Text(text), _) => Some(text.clone()),
            // `--set name=demo` needs no quotes.
            (Kind::Call(_) | Kind::Number(_) | Kind::Bool(_), Some(typed)) => Some(typed.clone()),
            _ => self.wrong_type(node, field, "text in quotes"),
        }
    }

    pub(crate) fn flag(&mut self, node: &Node, field: &str) -> Option<bool> {
        match node.kind {
            Kind::Bool(value) => Some(value),
            _ => self.wrong_type(node, field, "true or false"),
        }
    }

    pub(crate) fn duration(&mut self, node: &Node, field: &str) -> Option<Nanos> {
        let read = match &node.kind {
            Kind::Text(text) => parse_duration(text),
            Kind::Number(raw) => Err(QuantityError::MissingUnit { text: shown(raw) }),
            _ => return self.wrong_type(node, field, "a duration in quotes, such as \"10s\" or \"33ms\""),
        };
        match read {
            Ok(duration) => Some(duration),
            Err(source) => {
                let kind = ProblemKind::Quantity {
                    field: field.to_owned(),
                    source,
                };
                self.report(&node.place, kind);
                None
            }
        }
    }

    /// Hertz: `30` or `"30Hz"`.
    pub(crate) fn rate(&mut self, node: &Node, field: &str) -> Option<f64> {
        let value = match &node.kind {
            Kind::Number(raw) => float(raw),
            Kind::Text(text) => hertz(text),
            _ => None,
        };
        value.or_else(|| self.wrong_type(node, field, "a rate in hertz, such as 30 or \"30Hz\""))
    }

    /// A number of the field's own precision.
    pub(crate) fn number<T: FromStr>(&mut self, node: &Node, field: &str) -> Option<T> {
        let value = match &node.kind {
            Kind::Number(raw) => float(raw),
            _ => None,
        };
        value.or_else(|| self.wrong_type(node, field, "a number"))
    }

    /// A whole number that fits the type of the field.
    pub(crate) fn whole<T: TryFrom<i128>>(&mut self, node: &Node, field: &str) -> Option<T> {
        let takes_negative = T::try_from(-1).is_ok();
        self.whole_as(node, field, takes_negative, |value| T::try_from(value).ok())
    }

    /// A whole number as what it becomes; `fit` gives nothing where it does not fit.
    pub(super) fn whole_as<T>(
        &mut self,
        node: &Node,
        field: &str,
        takes_negative: bool,
        fit: impl FnOnce(i128) -> Option<T>,
    ) -> Option<T> {
        let value = match &node.kind {
            Kind::Number(raw) => integer(raw),
            _ => None,
        };
        let expected = match value {
            Some(value) if value < 0 && !takes_negative => "a whole number that is not negative",
            Some(value) if value < 0 => "a whole number closer to zero",
            Some(_) => "a smaller whole number",
            None => "a whole number",
        };
        value
            .and_then(fit)
            .or_else(|| self.wrong_type(node, field, expected))
    }
}

/// Parsed as what it becomes, so that it is rounded once.
fn float<T: FromStr>(raw: &str) -> Option<T> {
    match integer(raw) {
        Some(value) => value.to_string().parse().ok(),
        None => raw.replace('_', "").parse().ok(),
    }
}

fn integer(raw: &str) -> Option<i128> {
    let clean = raw.replace('_', "");
    let (sign, digits) = match clean.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, clean.strip_prefix('+').unwrap_or(&clean)),
    };
    let lower = digits.to_ascii_lowercase();
    let radix = |prefix: &str, radix| {
        let digits = lower.strip_prefix(prefix)?;
        i128::from_str_radix(digits, radix).ok()
    };
    let value = radix("0x", 16)
        .or_else(|| radix("0b", 2))
        .or_else(|| radix("0o", 8))
        .or_else(|| lower.parse().ok())?;
    Some(sign * value)
}

fn hertz(text: &str) -> Option<f64> {
    let trimmed = text.trim();
    let unit = trimmed.find(char::is_alphabetic)?;
    let (number, unit) = trimmed.split_at(unit);
    let scale = match unit {
        "Hz" | "hz" | "HZ" => 1.0,
        "kHz" | "khz" | "KHz" => 1e3,
        _ => return None,
    };
    number.trim().parse::<f64>().ok().map(|value| value * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_with_their_unit() {
        assert_eq!(hertz("30Hz"), Some(30.0));
        assert_eq!(hertz(" 1.5 kHz"), Some(1500.0));
        for wrong in ["30", "30fps", "Hz", "", "thirty Hz"] {
            assert_eq!(hertz(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn whole_numbers_are_read_in_every_way_that_ron_writes_them() {
        for (raw, value) in [
            ("42", Some(42)),
            ("-1_000", Some(-1000)),
            ("0xFF", Some(255)),
            ("0b101", Some(5)),
            ("1.0", None),
            ("inf", None),
        ] {
            assert_eq!(integer(raw), value, "{raw}");
        }
        assert_eq!(float("1e3"), Some(1000.0));
        assert_eq!(float("0x10"), Some(16.0_f32));
        assert!(float("NaN").is_some_and(f64::is_nan));
    }
}
