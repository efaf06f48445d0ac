//! What ffmpeg is told: argument lists, of options that ffmpeg has had since version 4.2.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::VideoError;
use crate::frames::Reading;
use crate::input::local;
use crate::probe::{VideoFacts, lines};
use crate::program::{Guard, Launch};
use crate::size::Size;

/// The programs of ffmpeg.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ffmpeg {
    program: PathBuf,
    /// Since version 4.4 it can be told to leave images as large as they are that change their size in the middle.
    has_autoscale: bool,
}

/// A camera as ffmpeg opens it, with Video4Linux.
#[derive(Clone, Debug, PartialEq)]
pub struct Device<'a> {
    /// Its file: `/dev/video0`.
    pub path: &'a Path,
    /// How it is to send pixels: `mjpeg`, `yuyv422`, `h264`; its own choice where it is not said.
    pub format: Option<&'a str>,
    /// The size of its images; its own choice where it is not said.
    pub size: Option<Size>,
    /// Frames a second; its own choice where it is not said.
    pub hz: Option<f64>,
}

/// Errors alone, no questions, no banner.
const QUIET: [&str; 4] = ["-hide_banner", "-nostdin", "-v", "error"];
/// A packet is written when it is there and not when 32 KiB are full, and no index is kept in memory.
const NUT: [&str; 15] = [
    "-an",
    "-sn",
    "-dn",
    "-pix_fmt",
    "rgb24",
    "-c:v",
    "rawvideo",
    "-enc_time_base",
    "1/1000000",
    "-f",
    "nut",
    "-write_index",
    "0",
    "-flush_packets",
    "1",
];

impl Ffmpeg {
    /// The ffmpeg in `PATH`.
    ///
    /// # Errors
    /// There is none, or it says nothing.
    pub fn find(guard: Option<&Guard>, reading: &Reading) -> Result<Ffmpeg, VideoError> {
        Ffmpeg::at(Path::new("ffmpeg"), guard, reading)
    }

    /// The ffmpeg of this path or name.
    ///
    /// # Errors
    /// There is none, or it says nothing.
    pub fn at(program: &Path, guard: Option<&Guard>, reading: &Reading) -> Result<Ffmpeg, VideoError> {
        let ask = Launch::of(program).with(["-hide_banner", "-h", "long"]);
        let mut has_autoscale = false;
        lines(&ask, guard, reading, |line| {
            has_autoscale |= line.trim_start().starts_with("-autoscale");
            true
        })?;
        Ok(Ffmpeg {
            program: program.to_owned(),
            has_autoscale,
        })
    }

    /// Decodes a file as fast as its frames are taken. Times count from the frame that is shown first, whether or not that can be
    /// decoded. `decoder` is ffmpeg's name of one, of the hardware for example; ffmpeg's own choice where it is not said.
    pub fn file(&self, path: &Path, facts: &VideoFacts, decoder: Option<&str>) -> Launch {
        let (first, num, den) = facts.first();
        let launch = self.quiet().with(["-copyts"]);
        let launch = match decoder {
            Some(decoder) => launch.with(["-c:v", decoder]),
            None => launch,
        };
        // ffmpeg's own zero is the begin of the container, which may be that of its sound. In ticks of the filter, rounded.
        let from_first = format!("setpts=floor(PTS-({first}*{num}/{den})/TB+0.5)");
        self.nut(
            launch
                .with(local(path))
                .with(["-map", "0:V:0", "-vf", &from_first]),
        )
    }

    /// Takes the frames of a camera as they come. Their times are the driver's, where it gives any.
    pub fn device(&self, device: &Device<'_>) -> Launch {
        // Decoding in several threads would hold back as many frames.
        let mut launch = self
            .quiet()
            .with(["-copyts", "-fflags", "nobuffer", "-threads", "1"]);
        launch = launch.with(["-f", "v4l2"]);
        if let Some(format) = device.format {
            launch = launch.with(["-input_format", format]);
        }
        if let Some(hz) = device.hz {
            launch = launch.with(["-framerate", &hz.to_string()]);
        }
        if let Some(size) = device.size {
            launch = launch.with(["-video_size", &size.to_string()]);
        }
        let launch = launch.with([OsString::from("-i"), device.path.into()]);
        self.nut(launch.with(["-map", "0:v:0"]))
    }

    fn quiet(&self) -> Launch {
        Launch::of(&self.program).with(QUIET)
    }

    fn nut(&self, launch: Launch) -> Launch {
        let launch = match self.has_autoscale {
            true => launch.with(["-autoscale", "0"]),
            false => launch,
        };
        launch.with(NUT).with(["pipe:1"])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(launch: &Launch) -> String {
        let words = launch.arguments.iter().map(|word| word.to_string_lossy());
        words.collect::<Vec<_>>().join(" ")
    }

    fn ffmpeg(has_autoscale: bool) -> Ffmpeg {
        Ffmpeg {
            program: "ffmpeg".into(),
            has_autoscale,
        }
    }

    #[test]
    fn a_file_is_decoded_into_nut_with_times_from_its_first_frame() {
        let facts = VideoFacts::new(
            "h264".into(),
            Size::new(2, 1).unwrap(),
            vec![-512, 0],
            (1, 15_360),
        );
        let launch = ffmpeg(true).file(Path::new("-a b.mp4"), &facts, Some("h264_v4l2m2m"));
        assert_eq!(
            written(&launch),
            "-hide_banner -nostdin -v error -copyts -c:v h264_v4l2m2m -fflags +genpts -protocol_whitelist file -i file:-a b.mp4 \
             -map 0:V:0 -vf setpts=floor(PTS-(-512*1/15360)/TB+0.5) -autoscale 0 -an -sn -dn -pix_fmt rgb24 -c:v rawvideo \
             -enc_time_base 1/1000000 -f nut -write_index 0 -flush_packets 1 pipe:1"
        );
        assert_eq!(
            launch.arguments[12], "file:-a b.mp4",
            "one word, whatever is in it"
        );
        let old = ffmpeg(false).file(Path::new("a.mp4"), &facts, None);
        assert!(!written(&old).contains("autoscale") && !written(&old).contains("-c:v h264"));
    }

    #[test]
    fn a_camera_is_asked_for_what_was_said_and_for_nothing_else() {
        let mut device = Device {
            path: Path::new("/dev/video0"),
            format: None,
            size: None,
            hz: None,
        };
        let bare = written(&ffmpeg(true).device(&device));
        assert!(
            bare.contains("-threads 1 -f v4l2 -i /dev/video0 -map 0:v:0 -autoscale"),
            "{bare}"
        );
        device.format = Some("mjpeg");
        device.size = Size::new(1280, 720);
        device.hz = Some(29.97);
        let full = written(&ffmpeg(true).device(&device));
        assert!(
            full.contains("-f v4l2 -input_format mjpeg -framerate 29.97 -video_size 1280x720 -i /dev/video0"),
            "{full}"
        );
    }
}
