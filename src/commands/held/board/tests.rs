//! Ceilings of boards against figures worked out by hand.

use super::*;

#[test]
fn a_mode_scales_the_peaks_by_its_clocks_and_multiprocessors() {
    for module in modules::modules() {
        for configuration in &module.configurations {
            let Ok(full) = at_mode(module, configuration, None) else {
                continue;
            };
            for mode in configuration.modes.iter().filter(|mode| mode.caps.is_some()) {
                let Ok(capped) = at_mode(module, configuration, Some(mode)) else {
                    continue;
                };
                let pairs = capped.peaks.iter().zip(&full.peaks);
                for (own, all) in pairs {
                    assert!(
                        own.flops_per_s <= all.flops_per_s && own.flops_per_s > 0.0,
                        "{} {}",
                        module.name,
                        mode.name
                    );
                }
                assert!(capped.bandwidths[0].bytes_per_s <= full.bandwidths[0].bytes_per_s);
                assert_eq!(
                    Ceilings::read(&serde_json::to_string(&capped).unwrap()).unwrap(),
                    capped
                );
            }
        }
    }
}

#[test]
fn an_agx_orin_at_its_highest_clocks_has_the_published_peaks() {
    let module = named("jetson agx orin 64gb").unwrap();
    let full = at_mode(module, &module.configurations[0], None).unwrap();
    // 2048 cores, two operations a clock, 1300.5 MHz; 204.8 GB/s.
    let fp32 = full.peaks[0].flops_per_s;
    assert!((fp32 / (2048.0 * 2.0 * 1300.5e6) - 1.0).abs() < 0.01, "{fp32}");
    assert!((full.bandwidths[0].bytes_per_s / 204.8e9 - 1.0).abs() < 0.01);
}

#[test]
fn what_is_not_known_is_said_with_what_is_meant() {
    let said = named("Jetson AGX Oryn 64GB").unwrap_err();
    assert!(said.contains("did you mean \"Jetson AGX Orin 64GB\"?"), "{said}");
    let module = named("Jetson AGX Orin 64GB").unwrap();
    let said = mode_named(&module.configurations[0], "MAXIMUM").unwrap_err();
    assert!(said.contains("known are") && said.contains("MAXN"), "{said}");
    assert!(
        mode_of(&module.configurations[0], 99)
            .unwrap_err()
            .contains("power mode 99")
    );
    assert!(
        of_tree("p9999-0000")
            .unwrap_err()
            .contains("not in jetlag's table")
    );
}

#[test]
fn a_part_of_a_name_will_do_where_one_board_has_it() {
    assert_eq!(named("AGX Orin 64GB").unwrap().name, "Jetson AGX Orin 64GB");
    assert_eq!(named("IGX Orin").unwrap().name, "IGX Orin");
    let several = named("agx orin").unwrap_err();
    assert!(
        several.contains("several boards") && several.contains("Jetson AGX Orin 32GB, "),
        "{several}"
    );
    assert!(named("").unwrap_err().contains("known are Jetson TX1, "));
}
