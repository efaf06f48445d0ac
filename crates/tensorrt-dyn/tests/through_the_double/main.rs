//! The whole binding through the C++ double, in every era that can be compiled here: each method is called, the double's
//! log proves what arrived, and the caller gets what the double answered.
//!
//! A *scenario* is a function of a [`Double`]; each is a test of its own, and [`every_row_is_called`] runs all of them
//! again and holds the log against the tables: a slot that no scenario reaches is a failure.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    unreachable_pub,
    reason = "tests say what they skip"
)]

mod building;
mod callbacks;
mod contracts;
mod failures;
mod lifetimes;
mod loading;
mod parsing;
mod running;
mod scene;
mod versions;

use std::collections::BTreeSet;

use nvidia_doubles::tensorrt::{self, Double};
use tensorrt_dyn::sys::rows;

/// Declares the scenarios: a test each, and the list of all.
macro_rules! scenarios {
    ($($module:ident :: $name:ident),* $(,)?) => {
        /// Every scenario, with its name.
        const SCENARIOS: &[(&str, fn(&'static Double))] =
            &[$((stringify!($name), $module::$name)),*];

        mod scenario {
            $(
                #[test]
                fn $name() {
                    for double in nvidia_doubles::tensorrt::eras() {
                        super::$module::$name(double);
                    }
                }
            )*
        }
    };
}

scenarios! {
    building::a_builder_answers,
    building::a_configuration_takes_every_option,
    building::networks_tensors_and_layers_are_read_and_changed,
    building::profiles_of_shapes_arrive_as_given,
    building::timing_caches_are_kept_between_builds,
    building::extents_beyond_32_bits_are_refused_where_they_do_not_fit,
    parsing::models_are_parsed_from_memory_and_from_files,
    parsing::what_the_parser_complains_of_is_told_with_node_and_operator,
    parsing::a_parser_answers_and_takes_flags,
    loading::a_runtime_answers,
    loading::an_engine_tells_of_itself_and_its_tensors,
    loading::plans_survive_a_second_serialisation,
    loading::what_is_no_plan_is_refused_in_the_librarys_words,
    loading::an_inspector_tells_of_layers,
    loading::runtime_configurations_and_caches_work_where_they_exist,
    loading::plugins_are_refused_in_the_loaders_words,
    contracts::each_library_of_plugins_is_registered_once,
    contracts::a_profile_serves_one_context_unless_profiles_are_shared,
    contracts::two_contexts_that_are_enqueued_in_one_memory_are_noticed,
    contracts::branches_have_streams_of_their_own,
    contracts::objects_of_two_libraries_are_not_mixed,
    running::a_frame_is_computed_from_its_inputs,
    running::shapes_and_addresses_are_set_and_read_back,
    running::a_context_takes_every_option,
    running::memory_comes_from_outside_in_the_size_that_is_needed,
    running::a_frame_that_is_not_ready_is_refused,
    running::contexts_of_one_engine_run_in_several_threads,
    callbacks::a_profiler_gets_layer_times,
    callbacks::a_progress_monitor_sees_phases_and_can_stop_a_build,
    callbacks::a_calibrator_feeds_the_builder,
    callbacks::an_output_allocator_lends_memory_of_the_size_that_data_decide,
    callbacks::messages_of_every_severity_arrive,
    callbacks::a_panic_in_a_callback_does_not_cross,
    lifetimes::values_are_dropped_in_every_order,
    lifetimes::callbacks_live_as_long_as_they_are_called,
    failures::every_fallible_method_names_itself_and_quotes_the_library,
    failures::the_same_failure_twice_is_told_twice,
    failures::a_gpu_that_is_not_there_is_told,
}

/// Some methods have a wider form, which the binding uses wherever it exists; the tables keep both, since they hold every
/// release that has a name.
fn replaced(method: &str, called: &BTreeSet<String>) -> bool {
    let strategy = "ICudaEngine::createExecutionContextWithoutDeviceMemory";
    called.contains(&format!("{method}V2"))
        || method == strategy && called.contains("ICudaEngine::createExecutionContext")
}

#[test]
fn every_row_is_called() {
    for double in tensorrt::eras() {
        for (_, scenario) in SCENARIOS {
            scenario(double);
        }
        let version = scene::version(double);
        let called = scene::called(double);
        let dead: BTreeSet<String> = rows()
            .filter(|row| row.index(version).is_some())
            // The parser's is in no log: `lifetimes` sees that the object is gone.
            .filter(|row| !row.name.starts_with('~'))
            .map(|row| scene::method(row.class, row.name))
            .filter(|method| !called.contains(method) && !replaced(method, &called))
            .collect();
        assert!(
            dead.is_empty(),
            "{}: {dead:#?} is called by nothing",
            double.version
        );
    }
}
