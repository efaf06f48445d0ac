//! Rates below two roofs, and prices of work, traffic and time.

use jetlag::analysis::roofline::{EnergyRow, FitError, Limit, Roofs, balance_point, fit_energy};
use nvidia_doubles::machine::shared;

#[test]
fn the_lower_roof_limits() {
    let roofs = Roofs {
        peak_flops_per_s: 1e12,
        bytes_per_s: 1e11,
    };
    assert_eq!(roofs.balance(), Some(10.0));
    assert_eq!(roofs.attainable(5.0), Some((5e11, Limit::Memory)));
    assert_eq!(roofs.attainable(20.0), Some((1e12, Limit::Compute)));
    let place = roofs.place(1e9, 2e8, 4e-3).unwrap();
    assert_eq!((place.intensity, place.limit), (5.0, Limit::Memory));
    assert!((place.share - 0.5).abs() < 1e-12 && (place.least_s - 2e-3).abs() < 1e-15);
    assert!(roofs.place(1e9, 0.0, 1.0).is_none());
    assert!(roofs.attainable(f64::NAN).is_none());
}

/// Rows made of known prices.
fn made(prices: [f64; 3], rows: &[[f64; 3]], noise: &[f64]) -> Vec<EnergyRow> {
    let each = rows.iter().zip(noise.iter().chain(std::iter::repeat(&0.0)));
    each.map(|([flops, bytes, seconds], noise)| EnergyRow {
        flops: *flops,
        bytes: *bytes,
        seconds: *seconds,
        joules: (prices[0] * flops + prices[1] * bytes + prices[2] * seconds) * (1.0 + noise),
    })
    .collect()
}

const ROWS: [[f64; 3]; 7] = [
    [1e9, 1e9, 0.01],
    [9e9, 1e8, 0.02],
    [1e8, 5e9, 0.03],
    [5e9, 2e9, 0.05],
    [2e10, 3e9, 0.04],
    [3e9, 8e9, 0.02],
    [1e8, 1e8, 0.09],
];

#[test]
fn known_prices_come_back() {
    let noise = [0.01, -0.02, 0.015, -0.01, 0.02, -0.015, 0.005];
    let fit = fit_energy(&made([20e-12, 80e-12, 12.0], &ROWS, &noise)).unwrap();
    for (price, wanted) in [(&fit.e_flop, 20e-12), (&fit.e_byte, 80e-12), (&fit.p0, 12.0)] {
        let (low, high) = price.interval.unwrap();
        assert!(low < wanted && wanted < high, "{price:?}, {wanted}");
        assert!((price.value.unwrap() / wanted - 1.0).abs() < 0.05);
    }
    assert!((balance_point(&fit).unwrap() - 4.0).abs() < 0.3);
    assert!(fit.mean_relative_error < 0.02);
}

#[test]
fn proportional_work_and_traffic_have_no_prices() {
    let rows: Vec<[f64; 3]> = ROWS
        .iter()
        .map(|[flops, _, seconds]| [*flops, flops / 7.0, *seconds])
        .collect();
    let fit = fit_energy(&made([20e-12, 80e-12, 12.0], &rows, &[])).unwrap();
    let why = fit.e_flop.not_identifiable.as_ref().unwrap();
    assert!(why.contains("proportional"), "{why}");
    assert!(fit.e_flop.value.is_none() && fit.e_byte.value.is_none());
    assert!(balance_point(&fit).is_err());
}

#[test]
fn rows_that_tell_nothing_are_refused() {
    let rows = made([1e-12, 1e-12, 1.0], &ROWS, &[]);
    assert_eq!(
        fit_energy(&rows[..4]),
        Err(FitError::TooFew { found: 4, wanted: 5 })
    );
    let mut bad = rows.clone();
    bad[2].joules = 0.0;
    assert_eq!(fit_energy(&bad), Err(FitError::Row { row: 2 }));
    assert_eq!(fit_energy(&[rows[0]; 6]).map(|fit| fit.e_flop.value), Ok(None));
}

/// Fourteen executions on an AGX Orin: without the recurrent network, whose published work is wrong, and the row whose power
/// is a third of its neighbours'.
#[test]
fn published_rows_give_a_price_for_work_and_time_and_none_for_bytes() {
    let Some(estimates) = shared("data/pagoda/static_estimates.csv") else {
        return;
    };
    let Some(measured) = shared("data/pagoda/orin_agx_maxn_measured.csv") else {
        return;
    };
    let table = |path| -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .skip(1)
            .map(|line| line.split(',').map(str::to_owned).collect())
            .collect()
    };
    let estimates = table(estimates);
    let number = |text: &String| -> f64 { text.parse().unwrap() };
    let mut rows = Vec::new();
    for row in table(measured) {
        let (model, batch) = (&row[0], &row[1]);
        if model == "lstm" || (model == "resnet50" && batch == "32") {
            continue;
        }
        let own = estimates
            .iter()
            .find(|own| own[0] == *model && own[1] == *batch)
            .unwrap();
        let seconds = number(&row[6]) / 1e3;
        rows.push(EnergyRow {
            flops: number(&own[2]),
            bytes: number(&own[4]),
            seconds,
            joules: seconds * number(&row[7]),
        });
    }
    assert_eq!(rows.len(), 14);
    let fit = fit_energy(&rows).unwrap();
    assert!(
        (fit.e_flop.value.unwrap() / 15.9e-12 - 1.0).abs() < 0.005,
        "{fit:?}"
    );
    assert!((fit.p0.value.unwrap() / 21.7 - 1.0).abs() < 0.005, "{fit:?}");
    assert!((fit.mean_relative_error - 0.18).abs() < 0.001, "{fit:?}");
    assert_eq!(fit.e_byte.value, None);
    assert!(
        fit.e_byte.not_identifiable.as_ref().unwrap().contains("negative"),
        "{fit:?}"
    );
    assert!(balance_point(&fit).is_err());
}

/// All twenty rows against the board's own peak and bandwidth: an execution above its roof would be a wrong count or a wrong ceiling.
#[test]
fn no_published_row_is_above_the_roof_of_its_board() {
    let Some(estimates) = shared("data/pagoda/static_estimates.csv") else {
        return;
    };
    let Some(measured) = shared("data/pagoda/orin_agx_maxn_measured.csv") else {
        return;
    };
    let rows = |path| -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines()
            .skip(1)
            .map(|line| line.split(',').map(str::to_owned).collect())
            .collect()
    };
    let estimates = rows(estimates);
    let number = |text: &String| -> f64 { text.parse().unwrap() };
    // 2048 cores with a multiply-add a clock at 1300.5 MHz; 256 bits at 3199 MHz, twice a clock.
    let peak = 2048.0 * 2.0 * 1300.5e6;
    let roofs = Roofs {
        peak_flops_per_s: peak,
        bytes_per_s: 256.0 / 8.0 * 3199e6 * 2.0,
    };
    let mut highest: f64 = 0.0;
    let measured = rows(measured);
    for row in &measured {
        let own = estimates
            .iter()
            .find(|own| own[0] == row[0] && own[1] == row[1])
            .unwrap();
        let place = roofs
            .place(number(&own[2]), number(&own[4]), number(&row[6]) / 1e3)
            .unwrap();
        assert!(place.share < 1.0, "{row:?}: {place:?}");
        highest = highest.max(place.achieved_flops_per_s / peak);
    }
    assert_eq!(measured.len(), 20);
    assert!((highest - 0.51).abs() < 0.01, "{highest}");
}
