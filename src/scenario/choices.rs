//! The words that may stand where a scenario has a choice, with the fields that each takes.

use super::read::{Choice, Choices};

/// A choice that is one word.
pub(super) const fn plain(name: &'static str) -> Choice {
    choice(name, &[], 0, name)
}

const fn choice(
    name: &'static str,
    fields: &'static [&'static str],
    bare: usize,
    example: &'static str,
) -> Choice {
    Choice {
        name,
        fields,
        bare,
        example,
    }
}

pub(super) static CLOCKS: Choices = Choices {
    what: "clock",
    default: "Real",
    all: &[plain("Real"), plain("Virtual")],
};

pub(super) static RELEASES: Choices = Choices {
    what: "release",
    default: "Sleep",
    all: &[plain("Sleep"), plain("Spin")],
};

pub(super) static SHARINGS: Choices = Choices {
    what: "sharing",
    default: "Streams",
    all: &[
        plain("Streams"),
        plain("SingleStream"),
        plain("Priority"),
        plain("RoundRobin"),
        plain("Exclusive"),
        plain("Edf"),
        plain("Partition"),
        plain("Processes"),
    ],
};

/// The words for [`Sharing`](super::Sharing).
pub fn sharings() -> impl Iterator<Item = &'static str> {
    SHARINGS.all.iter().map(|choice| choice.name)
}

pub(super) static MPS: Choices = Choices {
    what: "way with MPS",
    default: "Auto",
    all: &[plain("Auto"), plain("Required"), plain("Off")],
};

pub(super) static HELD_CLOCKS: Choices = Choices {
    what: "way with clocks",
    default: "AsIs",
    all: &[plain("AsIs"), plain("Max")],
};

pub(super) static TELEMETRY_SOURCES: Choices = Choices {
    what: "source of samples",
    default: "Host",
    all: &[
        plain("Host"),
        plain("Processes"),
        plain("Rails"),
        plain("Thermal"),
        plain("Gpu"),
        plain("Emc"),
        plain("Fan"),
        plain("PowerMode"),
        plain("Nvml"),
        plain("Rapl"),
        plain("Tegrastats"),
    ],
};

pub(super) static BACKENDS: Choices = Choices {
    what: "backend",
    default: "Auto",
    all: &[
        plain("Auto"),
        choice("Cpu", &["threads", "profile"], 0, "Cpu(threads: 1)"),
        choice("Sim", &["model"], 1, "Sim(Fixed(\"5ms\"))"),
        plain("Null"),
        choice(
            "TensorRt",
            &["build", "plans", "profile"],
            0,
            "TensorRt(build: \"--precision fp16\")",
        ),
        choice(
            "OnnxRuntime",
            &["provider", "threads"],
            0,
            "OnnxRuntime(provider: Cpu)",
        ),
        choice(
            "Stress",
            &["resource", "level", "burst"],
            0,
            "Stress(resource: Dram, level: 0.5)",
        ),
    ],
};

pub(super) static LATENCIES: Choices = Choices {
    what: "latency model",
    default: "Fixed",
    all: &[
        choice("Fixed", &["latency"], 1, "Fixed(\"5ms\")"),
        choice("Normal", &["mean", "sd"], 0, "Normal(mean: \"8ms\", sd: \"1ms\")"),
        choice(
            "LogNormal",
            &["median", "sigma"],
            0,
            "LogNormal(median: \"8ms\", sigma: 0.3)",
        ),
        choice(
            "Bimodal",
            &["fast", "slow", "slow_share"],
            0,
            "Bimodal(fast: \"5ms\", slow: \"20ms\", slow_share: 0.05)",
        ),
        choice("Recorded", &["latencies"], 1, "Recorded([\"5ms\", \"6ms\"])"),
    ],
};

pub(super) static SOURCES: Choices = Choices {
    what: "source",
    default: "Empty",
    all: &[
        plain("Empty"),
        choice(
            "Images",
            &["path", "repeat", "max_megapixels"],
            1,
            "Images(\"folder\")",
        ),
        choice(
            "Points",
            &["path", "repeat", "format", "max_points"],
            1,
            "Points(\"folder\")",
        ),
        choice(
            "Synthetic",
            &["sensor", "scenes", "seed"],
            1,
            "Synthetic(sensor: Camera, scenes: 64)",
        ),
    ],
};

pub(super) static FORMATS: Choices = Choices {
    what: "format",
    default: "Kitti",
    all: &[plain("Kitti"), plain("NuScenes")],
};

pub(super) static SENSORS: Choices = Choices {
    what: "sensor",
    default: "Camera",
    all: &[plain("Camera"), plain("Lidar")],
};

pub(super) static ARRIVALS: Choices = Choices {
    what: "arrival",
    default: "Closed",
    all: &[
        plain("Closed"),
        choice("Periodic", &["hz", "phase", "jitter"], 1, "Periodic(hz: 30)"),
        choice("Poisson", &["hz"], 1, "Poisson(hz: 30)"),
        choice("Replay", &["speed"], 1, "Replay(speed: 1.0)"),
    ],
};

pub(super) static OVERLOADS: Choices = Choices {
    what: "overload",
    default: "DropOldest",
    all: &[
        choice("Queue", &["capacity"], 1, "Queue(capacity: 100)"),
        choice("DropOldest", &["queue"], 1, "DropOldest(queue: 1)"),
        choice("DropNewest", &["queue"], 1, "DropNewest(queue: 1)"),
    ],
};
