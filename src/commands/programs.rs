//! Programs that a scenario names, such as a camera's. A scenario may be somebody else's, so whoever starts jetlag allows them: with
//! `--allow-commands`, or in the environment. No file that jetlag reads can.

use super::outcome::WrongUse;
use crate::scenario::{Scenario, Tenant};
use crate::shell;

/// Set to 1, it stands for `--allow-commands`.
const SETTING: &str = "JETLAG_ALLOW_COMMANDS";

/// Whether they may be started; `asked` is the option.
pub(super) fn allowed(asked: bool) -> bool {
    asked || std::env::var_os(SETTING).is_some_and(|value| value == "1")
}

/// What a tenant's source starts, as lines for a shell.
pub(super) fn named(tenant: &Tenant) -> Vec<String> {
    let commands = tenant.source.commands();
    commands.into_iter().map(shell::line).collect()
}

/// Refuses a scenario that names programs, unless they are allowed; all are named.
pub(super) fn refuse(scenario: &Scenario, allowed: bool) -> Result<(), WrongUse> {
    let of = |tenant: &Tenant| {
        let lines = named(tenant).into_iter();
        let told: Vec<String> = lines
            .map(|line| format!("tenant {}: {line}", tenant.name))
            .collect();
        told
    };
    let named: Vec<String> = scenario.tenants.iter().flat_map(of).collect();
    match named.is_empty() || allowed {
        true => Ok(()),
        false => Err(WrongUse(format!(
            "the scenario starts programs, and none was started:\n       {}\n       \
             read them, and allow them with --allow-commands (or {SETTING}=1)",
            named.join("\n       ")
        ))),
    }
}
