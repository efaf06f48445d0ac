//! Collects what rooflines need of a run beside its summary: the work of its networks, and the times of their layers.

use crate::record::{Event, Manifest, NodeRecord, Phase, WorkRecord};

/// Most nodes that are kept of one tenant: damaged files may have any number.
const MOST: usize = 1 << 20;

/// Takes a run's events.
#[derive(Clone, Debug)]
pub struct Gatherer {
    gathered: Gathered,
}

/// What a run file has.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// The run's manifest.
    pub manifest: Manifest,
    /// By tenant, the nodes of its networks in the order of execution.
    pub work: Vec<Vec<WorkRecord>>,
    /// By tenant, times of its layers in the measurement, in the order of execution.
    pub layers: Vec<Vec<NodeRecord>>,
    /// nvpmodel's number of the power mode, the latest that was read.
    pub power_mode: Option<u32>,
    /// What is to be said of the work, a sentence each: where it was not recorded and was counted again.
    pub notes: Vec<String>,
}

impl Gathered {
    /// Adds work that was counted after the run, with what is to be said of it.
    pub fn add(&mut self, work: Vec<WorkRecord>, notes: Vec<String>) {
        for node in work {
            if let Some(own) = self.work.get_mut(usize::from(node.tenant)) {
                own.push(node);
            }
        }
        self.notes.extend(notes);
    }
}

impl Gatherer {
    /// For a run of this manifest.
    pub fn new(manifest: &Manifest) -> Gatherer {
        let tenants = manifest.tenants.len();
        Gatherer {
            gathered: Gathered {
                manifest: manifest.clone(),
                work: vec![Vec::new(); tenants],
                layers: vec![Vec::new(); tenants],
                power_mode: None,
                notes: Vec::new(),
            },
        }
    }

    /// Adds an event.
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::Work(work) => {
                if let Some(own) = self.gathered.work.get_mut(usize::from(work.tenant))
                    && own.len() < MOST
                {
                    own.push(work.clone());
                }
            }
            Event::Node(node) if node.phase == Phase::Together => {
                if let Some(own) = self.gathered.layers.get_mut(usize::from(node.tenant))
                    && own.len() < MOST
                {
                    own.push(node.clone());
                }
            }
            Event::Sample(sample) if sample.source == "nvpmodel" && sample.signal == "power_mode" => {
                let mode = sample.value.filter(|mode| *mode >= 0.0 && *mode <= 1e6);
                self.gathered.power_mode = mode.map(|mode| mode as u32).or(self.gathered.power_mode);
            }
            _ => {}
        }
    }

    /// All that was there.
    pub fn finish(mut self) -> Gathered {
        for own in &mut self.gathered.work {
            own.sort_by_key(|node| (node.network, node.node));
        }
        self.gathered
    }
}
