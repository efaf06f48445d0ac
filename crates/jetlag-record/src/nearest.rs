//! The known name that a person most likely meant. Pure, and shared by everything that reads what people write.

/// The entry of `known` that was probably meant by `found`: within a few typing errors, in any case, or starting with
/// it; never `found` itself.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Names are short; a long text is no slip, and the distance costs the product of the lengths.
    if found.len() > 64 {
        return None;
    }
    let asked = found;
    let found = found.to_lowercase();
    let known: Vec<&str> = known.into_iter().collect();
    // `p999` is `p99_9`, and not `p99`.
    let letters = |name: &str| name.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
    let same = known
        .iter()
        .find(|name| **name != asked && letters(&name.to_lowercase()) == letters(&found));
    if let Some(same) = same.filter(|_| found.chars().any(char::is_alphanumeric)) {
        return Some(same);
    }
    let slips = match found.chars().count() {
        0 => return None,
        1..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    known
        .into_iter()
        // Who asks has the name already: that is no answer.
        .filter(|name| *name != asked)
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let distance = strsim::osa_distance(&found, &lower);
            let begins = found.len() >= 3 && (lower.starts_with(&found) || found.starts_with(&lower));
            (distance <= slips || begins).then_some((distance, name))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_the_name_that_was_meant() {
        let fields = ["name", "detector", "backend", "arrival", "deadline", "hz"];
        for (found, meant) in [
            ("arival", Some("arrival")),
            ("Arrival", Some("arrival")),
            ("deadlnie", Some("deadline")),
            ("detect", Some("detector")),
            ("hx", Some("hz")),
            ("rate", None),
            ("hz", None),
            ("dead_line", Some("deadline")),
            ("", None),
        ] {
            assert_eq!(nearest(found, fields), meant, "{found}");
        }
    }
}
