//! Which power mode is meant, and its setting by nvpmodel, which alone knows all that a mode is.

use std::fmt::Display;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::ClockError;
use super::state::State;
use crate::board::nvpmodel::{self, NamedMode};
use crate::board::{Roots, libraries};
use crate::nearest::nearest;
use crate::scenario::PowerMode;
use crate::telemetry::power_mode;

/// How long an nvpmodel of an earlier run is waited for: one takes a second or two.
const SETTER: Duration = Duration::from_secs(10);
/// Between two looks at it.
const LOOKS: Duration = Duration::from_millis(20);

/// The number of the mode that is meant, where this board has it.
pub(super) fn find(roots: &Roots, wanted: &PowerMode) -> Result<u32, ClockError> {
    if power_mode::current(roots).is_none() {
        return Err(ClockError::NoModes);
    }
    choose(&nvpmodel::modes(roots), wanted)
}

/// The same among these; none where the board's are not known, and a number is then left to nvpmodel.
fn choose(modes: &[NamedMode], wanted: &PowerMode) -> Result<u32, ClockError> {
    let found = match wanted {
        PowerMode::Id(id) if modes.is_empty() => return Ok(*id),
        PowerMode::Id(id) => modes.iter().find(|mode| mode.id == *id),
        PowerMode::Name(name) if modes.is_empty() => {
            return Err(ClockError::UnnamedModes { name: name.clone() });
        }
        PowerMode::Name(name) => modes.iter().find(|mode| super::is_mode(&mode.name, name)),
    };
    found.map(|mode| mode.id).ok_or_else(|| ClockError::UnknownMode {
        wanted: wanted.to_string(),
        near: near(modes, wanted)
            .map(|mode| format!("; the nearest is {}", shown(mode)))
            .unwrap_or_default(),
        known: modes.iter().map(shown).collect::<Vec<_>>().join(", "),
    })
}

/// `MODE_15W` is what most people call `15W`.
pub(super) fn short(name: &str) -> &str {
    let prefix = name
        .get(..5)
        .filter(|prefix| prefix.eq_ignore_ascii_case("MODE_"));
    prefix.map_or(name, |prefix| &name[prefix.len()..])
}

fn shown(mode: &NamedMode) -> String {
    format!("{} (id {})", mode.name, mode.id)
}

/// By watts or by number where both have them, else by spelling.
fn near<'m>(modes: &'m [NamedMode], wanted: &PowerMode) -> Option<&'m NamedMode> {
    match wanted {
        PowerMode::Id(id) => modes.iter().min_by_key(|mode| mode.id.abs_diff(*id)),
        PowerMode::Name(name) => {
            let of_watts = watts(name).and_then(|wanted| {
                let with = modes.iter().filter_map(|mode| Some((mode, watts(&mode.name)?)));
                with.min_by_key(|(_, has)| has.abs_diff(wanted))
                    .map(|(mode, _)| mode)
            });
            of_watts.or_else(|| {
                let meant = nearest(short(name), modes.iter().map(|mode| short(&mode.name)))?;
                modes.iter().find(|mode| short(&mode.name) == meant)
            })
        }
    }
}

/// The watts that a name begins with: 15 of `15W` and of `MODE_15W_DESKTOP`.
fn watts(name: &str) -> Option<u32> {
    let name = short(name);
    let end = name.find(|c: char| !c.is_ascii_digit())?;
    let (digits, rest) = name.split_at(end);
    rest.starts_with(['W', 'w']).then(|| digits.parse().ok())?
}

/// `MODE_15W (id 1)`, or the number alone where this board's configuration does not tell its name.
pub(super) fn described(roots: &Roots, id: u32) -> impl Display {
    match nvpmodel::mode(roots, id).name {
        Some(name) => format!("{name} (id {id})"),
        None => format!("id {id}"),
    }
}

/// Sets the power mode by nvpmodel. A mode that takes a reboot asks for it on the terminal; without one it is
/// refused. While nvpmodel works, the state file names it.
pub(super) fn set(roots: &Roots, id: u32, state: &mut State) -> Result<(), ClockError> {
    let problem = |problem: String| ClockError::Mode { id, problem };
    if power_mode::current(roots) == Some(id) {
        return Ok(());
    }
    let program = libraries::program(roots, "nvpmodel")
        .ok_or_else(|| problem("no nvpmodel on the PATH; only Jetson boards have power modes".to_owned()))?;
    let child = Command::new(&program)
        .args(["-m", &id.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A Ctrl-C on the terminal is for the run, and would end nvpmodel in the middle of its work.
        .process_group(0)
        .spawn()
        .map_err(|error| problem(error.to_string()))?;
    state.set_by(Some(child.id()));
    if let Err(error) = state.save(roots) {
        log::warn!("{error}");
    }
    let output = child.wait_with_output();
    state.set_by(None);
    if let Err(error) = state.save(roots) {
        log::warn!("{error}");
    }
    let output = output.map_err(|error| problem(error.to_string()))?;
    let now = power_mode::current(roots);
    if output.status.success() && now == Some(id) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(problem(match (said.is_empty(), now) {
        (false, _) => said,
        (true, Some(other)) => {
            format!("the mode is still {other}; it may need a reboot: sudo nvpmodel -m {id}")
        }
        (true, None) => "nvpmodel printed nothing; try: sudo nvpmodel -m".to_owned(),
    }))
}

/// Waits for an nvpmodel that outlived the run for which it works.
pub(super) fn wait_for_setter(state: &State) -> Result<(), ClockError> {
    let began = Instant::now();
    while let Some(pid) = state.setter() {
        if began.elapsed() > SETTER {
            return Err(ClockError::Setting { pid });
        }
        std::thread::sleep(LOOKS);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(names: &[&str]) -> Vec<NamedMode> {
        let numbered = (0..).zip(names);
        numbered
            .map(|(id, name)| NamedMode {
                id,
                name: (*name).to_owned(),
            })
            .collect()
    }

    fn name(name: &str) -> PowerMode {
        PowerMode::Name(name.to_owned())
    }

    #[test]
    fn a_mode_is_found_by_number_and_by_name_in_any_case_and_without_its_prefix() {
        let orin = modes(&["MAXN", "MODE_15W", "MODE_30W", "MODE_50W"]);
        for (wanted, id) in [
            (PowerMode::Id(2), 2),
            (name("MODE_15W"), 1),
            (name("15w"), 1),
            (name("mode_50W"), 3),
            (name("maxn"), 0),
        ] {
            assert_eq!(choose(&orin, &wanted).unwrap(), id, "{wanted}");
        }
    }

    #[test]
    fn a_mode_that_the_board_lacks_is_refused_with_the_nearest() {
        let nano = modes(&["15W", "25W", "MAXN_SUPER", "7W"]);
        for (wanted, near) in [
            (name("10W"), "7W (id 3)"),
            (name("MODE_30W"), "25W (id 1)"),
            (name("MAXN"), "MAXN_SUPER (id 2)"),
            (PowerMode::Id(9), "7W (id 3)"),
        ] {
            let refused = choose(&nano, &wanted).unwrap_err().to_string();
            assert!(refused.contains(&format!("the nearest is {near}")), "{refused}");
            assert!(
                refused.contains("15W (id 0), 25W (id 1), MAXN_SUPER (id 2)"),
                "{refused}"
            );
        }
        let strange = choose(&nano, &name("hedgehog")).unwrap_err().to_string();
        assert!(
            !strange.contains("nearest") && strange.contains("25W (id 1)"),
            "{strange}"
        );
    }

    #[test]
    fn where_no_mode_is_known_a_number_is_nvpmodel_s_affair_and_a_name_is_not() {
        assert_eq!(choose(&[], &PowerMode::Id(4)).unwrap(), 4);
        let refused = choose(&[], &name("15W")).unwrap_err().to_string();
        assert!(refused.contains("give its number"), "{refused}");
        // Names that are shorter than the prefix, or no ASCII where it would end.
        assert_eq!(short("ä"), "ä");
        assert_eq!(short("MODEä"), "MODEä");
    }
}
