//! What is known of the machine, and of what this jetlag can do, when a scenario is resolved.

/// Says what is wrong with an expectation, given the names of the tenants: an error of whoever judges them, whose words follow
/// the expectation.
pub type CheckExpectation = fn(&str, &[&str]) -> Result<(), Box<dyn std::error::Error>>;

/// Facts that resolving depends on and that a test can make up.
#[derive(Clone, Debug, Default)]
pub struct ResolveEnv {
    /// Processors that this process may run on.
    pub cpus: Vec<usize>,
    /// The GPU's name, where one was found.
    pub gpu: Option<String>,
    /// Why there is none, where it was not looked for.
    pub no_gpu: Option<&'static str>,
    /// TensorRT's version, where it was found.
    pub tensorrt: Option<String>,
    /// How expectations are checked; without it they are taken as they are.
    pub check_expectation: Option<CheckExpectation>,
}

impl ResolveEnv {
    /// The processors of this machine that this process may use; whether there is a GPU, and how
    /// expectations are checked, is for the caller to add.
    pub fn of_this_machine() -> Self {
        let counted = || (0..std::thread::available_parallelism().map_or(1, usize::from)).collect();
        let cpus = match rustix::thread::sched_getaffinity(None) {
            Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU)
                .filter(|&cpu| set.is_set(cpu))
                .collect(),
            Err(_) => counted(),
        };
        ResolveEnv {
            cpus,
            ..ResolveEnv::default()
        }
    }
}
