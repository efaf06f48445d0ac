//! The messages of a run file as ROS 2 definitions, their topics, and the version that they have.
//!
//! How a record becomes such a message, and a message a record, is in `message`. docs/run-file.md is the
//! manual of what is here; change both together.

/// Larger where a reader of the old version would misread the file.
pub const SCHEMA_MAJOR: u32 = 1;
/// Larger where fields were appended or channels added; an older reader passes over them.
pub const SCHEMA_MINOR: u32 = 0;

/// Name of the metadata record that holds the manifest, and of its entries.
pub(super) const MANIFEST: &str = "jetlag.manifest";
pub(super) const MANIFEST_JSON: &str = "manifest";
pub(super) const MANIFEST_MAJOR: &str = "schema_major";
pub(super) const MANIFEST_MINOR: &str = "schema_minor";
pub(super) const MANIFEST_CHECKSUM: &str = "crc32";

/// The checksum of a manifest's entries, each followed by a line feed, in hexadecimal: it lies in no chunk.
pub(super) fn manifest_checksum(major: &str, minor: &str, json: &str) -> String {
    let mut crc = crc32fast::Hasher::new();
    for entry in [major, minor, json] {
        crc.update(entry.as_bytes());
        crc.update(b"\n");
    }
    format!("{:08x}", crc.finalize())
}

/// What the messages of a channel are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageKind {
    Frame,
    Detections,
    Sample,
    Phase,
    OtherFrame,
    OtherPhase,
    PhaseSpec,
    Node,
    Finding,
    Log,
    Signal,
    Window,
    Range,
    Activities,
    Name,
    Trace,
    Work,
    Output,
}

impl MessageKind {
    pub(super) const ALL: [MessageKind; 18] = [
        MessageKind::Frame,
        MessageKind::Detections,
        MessageKind::Sample,
        MessageKind::Phase,
        MessageKind::OtherFrame,
        MessageKind::OtherPhase,
        MessageKind::PhaseSpec,
        MessageKind::Node,
        MessageKind::Finding,
        MessageKind::Log,
        MessageKind::Signal,
        MessageKind::Window,
        MessageKind::Range,
        MessageKind::Activities,
        MessageKind::Name,
        MessageKind::Trace,
        MessageKind::Work,
        MessageKind::Output,
    ];
    /// Name of the ROS 2 message type.
    pub(super) const fn name(self) -> &'static str {
        match self {
            MessageKind::Frame => "jetlag_msgs/msg/Frame",
            MessageKind::Detections => "jetlag_msgs/msg/Detections",
            MessageKind::Sample => "jetlag_msgs/msg/Sample",
            MessageKind::Phase => "jetlag_msgs/msg/Phase",
            MessageKind::OtherFrame => "jetlag_msgs/msg/OtherFrame",
            MessageKind::OtherPhase => "jetlag_msgs/msg/OtherPhase",
            MessageKind::PhaseSpec => "jetlag_msgs/msg/PhaseSpec",
            MessageKind::Node => "jetlag_msgs/msg/Node",
            MessageKind::Finding => "jetlag_msgs/msg/Finding",
            MessageKind::Log => "jetlag_msgs/msg/Log",
            MessageKind::Signal => "jetlag_msgs/msg/Signal",
            MessageKind::Window => "jetlag_msgs/msg/Window",
            MessageKind::Range => "jetlag_msgs/msg/Range",
            MessageKind::Activities => "jetlag_msgs/msg/Activities",
            MessageKind::Name => "jetlag_msgs/msg/Name",
            MessageKind::Trace => "jetlag_msgs/msg/Trace",
            MessageKind::Work => "jetlag_msgs/msg/Work",
            MessageKind::Output => "jetlag_msgs/msg/Output",
        }
    }
    /// The definition, with those that it uses (`ros2msg`, as the MCAP registry describes it).
    pub(super) const fn definition(self) -> &'static str {
        match self {
            MessageKind::Frame => concat!(
                include_str!("msg/Frame.msg"),
                include_str!("msg/Submission.dep"),
                include_str!("msg/Captured.dep"),
                include_str!("msg/Batch.dep"),
                include_str!("msg/Set.dep"),
                include_str!("msg/Camera.dep"),
                include_str!("msg/Time.dep")
            ),
            MessageKind::Detections => concat!(
                include_str!("msg/Detections.msg"),
                include_str!("msg/Detection.dep"),
                include_str!("msg/Velocity.dep"),
                include_str!("msg/Time.dep")
            ),
            MessageKind::Sample => concat!(include_str!("msg/Sample.msg"), include_str!("msg/Time.dep")),
            MessageKind::Phase => concat!(
                include_str!("msg/Phase.msg"),
                include_str!("msg/Sampled.dep"),
                include_str!("msg/Peak.dep"),
                include_str!("msg/Time.dep")
            ),
            MessageKind::OtherFrame => concat!(
                include_str!("msg/Frame.msg"),
                include_str!("msg/Number.dep"),
                include_str!("msg/Submission.dep"),
                include_str!("msg/Captured.dep"),
                include_str!("msg/Batch.dep"),
                include_str!("msg/Set.dep"),
                include_str!("msg/Camera.dep"),
                include_str!("msg/Time.dep")
            ),
            MessageKind::OtherPhase => concat!(
                include_str!("msg/Phase.msg"),
                include_str!("msg/Number.dep"),
                include_str!("msg/Sampled.dep"),
                include_str!("msg/Peak.dep"),
                include_str!("msg/Time.dep")
            ),
            MessageKind::PhaseSpec => {
                concat!(include_str!("msg/PhaseSpec.msg"), include_str!("msg/Time.dep"))
            }
            MessageKind::Node => concat!(include_str!("msg/Node.msg"), include_str!("msg/Time.dep")),
            MessageKind::Finding => concat!(include_str!("msg/Finding.msg"), include_str!("msg/Time.dep")),
            MessageKind::Log => concat!(include_str!("msg/Log.msg"), include_str!("msg/Time.dep")),
            MessageKind::Signal => concat!(include_str!("msg/Signal.msg"), include_str!("msg/Time.dep")),
            MessageKind::Window => concat!(include_str!("msg/Window.msg"), include_str!("msg/Time.dep")),
            MessageKind::Range => concat!(include_str!("msg/Range.msg"), include_str!("msg/Time.dep")),
            MessageKind::Activities => {
                concat!(include_str!("msg/Activities.msg"), include_str!("msg/Time.dep"))
            }
            MessageKind::Name => concat!(
                include_str!("msg/Name.msg"),
                include_str!("msg/Launch.dep"),
                include_str!("msg/Time.dep")
            ),
            MessageKind::Trace => concat!(
                include_str!("msg/Trace.msg"),
                include_str!("msg/TracedDevice.dep"),
                include_str!("msg/Time.dep")
            ),
            MessageKind::Work => concat!(include_str!("msg/Work.msg"), include_str!("msg/Time.dep")),
            MessageKind::Output => concat!(include_str!("msg/Output.msg"), include_str!("msg/Time.dep")),
        }
    }
    /// The kind of a schema's name; none for those of newer versions and of other programs.
    pub(super) fn of_name(name: &str) -> Option<MessageKind> {
        MessageKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A tenant's topic: `/jetlag/<tenant>/<what>`.
pub(super) fn tenant_topic(tenant: &str, what: &str) -> String {
    format!("/jetlag/{}/{what}", topic_part(tenant))
}

/// A signal's topic: `/jetlag/telemetry/<source>/<signal>`.
pub(super) fn telemetry_topic(source: &str, signal: &str) -> String {
    format!("/jetlag/telemetry/{}/{}", topic_part(source), topic_part(signal))
}

/// A name as one part of a topic: letters, digits, `_`, `-` and `.` stay, all else becomes `_`. Names
/// need not survive this: messages carry the tenant's number, or the names themselves.
fn topic_part(name: &str) -> String {
    if name.is_empty() {
        return "_".to_owned();
    }
    name.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "_-.".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_have_as_many_parts_whatever_the_names_are() {
        assert_eq!(tenant_topic("camera", "frame"), "/jetlag/camera/frame");
        assert_eq!(tenant_topic("a/b c", "frame"), "/jetlag/a_b_c/frame");
        assert_eq!(tenant_topic("", "phase"), "/jetlag/_/phase");
        assert_eq!(
            telemetry_topic("host", "cpu0_load"),
            "/jetlag/telemetry/host/cpu0_load"
        );
    }

    #[test]
    fn every_kind_is_found_by_its_own_name_alone() {
        for kind in MessageKind::ALL {
            assert_eq!(MessageKind::of_name(kind.name()), Some(kind));
        }
        assert_eq!(MessageKind::of_name("jetlag_msgs/msg/GpuActivity"), None);
        assert_eq!(MessageKind::of_name("sensor_msgs/msg/Image"), None);
    }
}
