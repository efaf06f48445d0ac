//! `metadata.yaml` of a bag: which files it has, in which order, and how many messages they should hold. All that is known of
//! their content comes from the files themselves.

use std::path::Path;

use jetlag_record::files;
use jetlag_record::units::Bytes;
use serde::Deserialize;

/// Longest `metadata.yaml`: topics and files take a few hundred bytes each.
const LONGEST: Bytes = Bytes(64 << 20);

/// What is used of the file; every version of rosbag2 writes these names.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Metadata {
    #[serde(default)]
    pub(crate) version: u32,
    #[serde(default)]
    pub(crate) relative_file_paths: Vec<String>,
    #[serde(default)]
    pub(crate) message_count: Option<u64>,
    #[serde(default)]
    pub(crate) ros_distro: Option<String>,
}

#[derive(Deserialize)]
struct File {
    rosbag2_bagfile_information: Metadata,
}

/// Reads the file; what is wrong with it, in words.
pub(crate) fn read(path: &Path) -> Result<Metadata, String> {
    let text = files::read_text(path, LONGEST).map_err(|error| error.to_string())?;
    parse(&text)
}

fn parse(text: &str) -> Result<Metadata, String> {
    let file: File = serde_saphyr::from_str(text).map_err(|error| {
        let all = error.to_string();
        // What follows is a picture of the place.
        all.lines()
            .next()
            .unwrap_or_default()
            .trim_start_matches("error: ")
            .to_owned()
    })?;
    Ok(file.rosbag2_bagfile_information)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_files_are_read_and_what_is_unknown_is_passed_over() {
        let old = "rosbag2_bagfile_information:\n  version: 1\n  storage_identifier: sqlite3\n  relative_file_paths:\n    - a/a_0.db3\n\
                   \x20   - a/a_1.db3\n  duration:\n    nanoseconds: 5\n  message_count: 7\n  topics_with_message_count: []\n";
        let read = parse(old).unwrap();
        assert_eq!(read.relative_file_paths, ["a/a_0.db3", "a/a_1.db3"]);
        assert_eq!((read.version, read.message_count), (1, Some(7)));
        let new = "rosbag2_bagfile_information:\n  version: 9\n  ros_distro: jazzy\n  custom_data: ~\n  files:\n    - path: x\n\
                   \x20 relative_file_paths: ['x.mcap']\n  offered: [{history: keep_last}]\n";
        let read = parse(new).unwrap();
        assert_eq!(read.relative_file_paths, ["x.mcap"]);
        assert_eq!(read.ros_distro.as_deref(), Some("jazzy"));
    }

    #[test]
    fn what_is_no_metadata_is_a_sentence() {
        for text in [
            "",
            "a: [",
            "rosbag2_bagfile_information: 3",
            "\u{0}",
            "- 1\n- 2",
            "rosbag2_bagfile_information:\n  version: x\n",
        ] {
            let problem = parse(text).unwrap_err();
            assert!(
                !problem.is_empty() && !problem.contains('\n'),
                "{text:?}: {problem}"
            );
        }
        // References that would multiply.
        let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for n in 1..12 {
            let m = n - 1;
            bomb += &format!(
                "a{n}: &a{n} [*a{m}, *a{m}, *a{m}, *a{m}, *a{m}, *a{m}, *a{m}, *a{m}, *a{m}, *a{m}]\n"
            );
        }
        assert!(parse(&bomb).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text: String, tail in "[ -~\n]{0,200}") {
            let _ = parse(&text);
            let _ = parse(&format!("rosbag2_bagfile_information:\n  relative_file_paths: {tail}"));
        }
    }
}
