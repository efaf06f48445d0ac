//! Several runs together, and what work, traffic and time cost in energy over them.

use super::energy::{Coefficient, EnergyFit, EnergyRow, balance_point, fit_energy};
use super::result::{EnergyRoofline, Racing, Roofline, RunRoofline};

/// Version of the JSON form.
const SCHEMA: u32 = 1;

/// Rooflines of runs, with the fit of their energy.
pub fn of_runs(runs: Vec<RunRoofline>) -> Roofline {
    Roofline {
        schema: SCHEMA,
        energy: energy(&runs),
        runs,
    }
}

fn energy(runs: &[RunRoofline]) -> EnergyRoofline {
    let tenants = || runs.iter().flat_map(|run| &run.tenants);
    let rows: Vec<EnergyRow> = tenants()
        .filter_map(|tenant| {
            let (work, energy) = (tenant.work?, tenant.energy?);
            Some(EnergyRow {
                flops: work.flops as f64,
                bytes: work.fused_bytes as f64,
                seconds: energy.seconds,
                joules: energy.joules,
            })
        })
        .collect();
    let mut found = EnergyRoofline {
        rows: rows.len(),
        fit: None,
        balance: None,
        racing: None,
        missing: Vec::new(),
    };
    if rows.is_empty() {
        found.missing.push(
            "No run has the energy of a frame of a tenant that ran alone: record on a machine whose power is measured \
             (jetlag doctor lists its sensors), one tenant a run."
                .to_owned(),
        );
        return found;
    }
    match fit_energy(&rows) {
        Err(why) => found
            .missing
            .push(format!("No price of work, traffic or time: {why}.")),
        Ok(fit) => {
            let prices = [
                (&fit.e_flop, "work", WORK),
                (&fit.e_byte, "traffic", TRAFFIC),
                (&fit.p0, "time", TIME),
            ];
            for (price, of, advice) in prices {
                found.missing.extend(unknown(price, of, advice));
            }
            found.balance = balance_point(&fit).ok();
            let idle = tenants()
                .filter_map(|tenant| tenant.energy?.idle_w)
                .collect::<Vec<_>>();
            found.racing = racing(&fit, &idle);
            if found.racing.is_none() {
                found.missing.push(
                    "Whether it pays to be done early is not known: that takes the price of time, and the power at idle \
                     (`baseline: (idle: \"10s\")` in the scenario)."
                        .to_owned(),
                );
            }
            found.fit = Some(fit);
        }
    }
    found
}

const WORK: &str = "runs of a compute-bound network at several batches would tell it";
const TRAFFIC: &str =
    "runs of networks whose intensities differ, one of them memory-bound, at the same clocks would tell it";
const TIME: &str = "runs of one network in a closed loop and paced at lower rates would tell it";

fn unknown(price: &Coefficient, of: &str, advice: &str) -> Option<String> {
    let why = price.not_identifiable.as_ref()?;
    Some(format!("The price of {of} is not known: {why}; {advice}."))
}

/// Whether finishing early and resting takes less than going on slowly: while something runs, `p0` is drawn whatever is done.
fn racing(fit: &EnergyFit, idle: &[f64]) -> Option<Racing> {
    let (p0_w, (low, _)) = fit.p0.value.zip(fit.p0.interval)?;
    let idle_w = idle.iter().sum::<f64>() / idle.len() as f64;
    idle_w.is_finite().then_some(Racing {
        p0_w,
        idle_w,
        saves_w: p0_w - idle_w,
        pays: low > idle_w,
    })
}
