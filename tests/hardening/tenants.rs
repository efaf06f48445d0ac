//! From one to 256 tenants: each number runs, and its report has all of them.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::campaign::seconds;

#[test]
fn any_number_of_tenants() {
    let folder = tempfile::tempdir().unwrap();
    // All of them where somebody asked for a campaign.
    let numbers: Vec<usize> = match seconds() {
        Some(_) => (1..=256).collect(),
        None => vec![1, 2, 33, 256],
    };
    for count in &numbers {
        let tenants: String = (0..*count)
            .map(|n| format!("Tenant(name: \"t{n}\", backend: Sim(Normal(mean: \"2ms\", sd: \"1ms\")), arrival: Poisson(hz: 20)),"))
            .collect();
        let text = format!(
            "Scenario(name: \"many\", duration: \"2s\", warmup: \"100ms\", clock: Virtual, tenants: [{tenants}])"
        );
        fs::write(folder.path().join("s.ron"), text).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_jetlag"))
            .current_dir(folder.path())
            .env_remove("RUST_LOG")
            .args([
                "run", "s.ron", "--quiet", "--format", "json", "--out", "run.mcap", "--force",
            ])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{count} tenants: {said}");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = report["tenants"].as_array().unwrap();
        assert_eq!(found.len(), *count);
        assert!(
            found
                .iter()
                .all(|tenant| tenant["frames"]["completed"].as_u64() > Some(0)),
            "{count}"
        );
    }
    println!(
        "{} numbers of tenants from 1 to 256, each with a report of all",
        numbers.len()
    );
}
