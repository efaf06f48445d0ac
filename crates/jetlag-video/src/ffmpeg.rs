//! What ffmpeg is told: argument lists, of options that ffmpeg has had since version 4.2.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::error::VideoError;
use crate::frames::{Layout, Reading};
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
    /// Since version 5.1 the option that keeps frames as they come is called otherwise, and later the old name went.
    has_fps_mode: bool,
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
const RGB: &str = "rgb24";
/// A packet is written when it is there and not when 32 KiB are full, and no index is kept in memory.
const NUT: [&str; 13] = [
    "-an",
    "-sn",
    "-dn",
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
        let (mut has_autoscale, mut has_fps_mode) = (false, false);
        lines(&ask, guard, reading, |line| {
            has_autoscale |= line.trim_start().starts_with("-autoscale");
            has_fps_mode |= line.trim_start().starts_with("-fps_mode");
            true
        })?;
        Ok(Ffmpeg {
            program: program.to_owned(),
            has_autoscale,
            has_fps_mode,
        })
    }

    /// Decodes a file as fast as its frames are taken. Times count from the frame that is shown first, whether or not that can be
    /// decoded. `decoder` is ffmpeg's name of one, of the hardware for example; ffmpeg's own choice where it is not said. Answers how the
    /// frames come, too: `yuv420p` as it is decoded, since it is half as long as RGB, or RGB.
    pub fn file(&self, path: &Path, facts: &VideoFacts, decoder: Option<&str>) -> (Launch, Layout) {
        let (first, num, den) = facts.first();
        let launch = self.quiet().with(["-copyts"]);
        let launch = match decoder {
            Some(decoder) => launch.with(["-c:v", decoder]),
            None => launch,
        };
        // ffmpeg's own zero is the begin of the container, which may be that of its sound. In ticks of the filter, rounded.
        let from_first = format!("setpts=floor(PTS-({first}*{num}/{den})/TB+0.5)");
        let launch = launch
            .with(local(path))
            .with(["-map", "0:V:0", "-vf", &from_first]);
        match facts.planes() {
            Some(planes) => (self.nut(launch, planes.format), Layout::NutOf(planes.colours)),
            None => (self.nut(launch, RGB), Layout::Nut),
        }
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
        self.nut(launch.with(["-map", "0:v:0"]), RGB)
    }

    /// The first of these encoders that this ffmpeg was built with.
    ///
    /// # Errors
    /// It has none of them, or says nothing.
    pub fn encoder<'a>(
        &self,
        wanted: &[&'a str],
        guard: Option<&Guard>,
        reading: &Reading,
    ) -> Result<&'a str, VideoError> {
        let ask = Launch::of(&self.program).with(["-hide_banner", "-v", "error", "-encoders"]);
        let mut video = Vec::new();
        lines(&ask, guard, reading, |line| {
            video.extend(video_encoder(line));
            true
        })?;
        let found = wanted
            .iter()
            .find(|wanted| video.iter().any(|name| name == **wanted));
        found.copied().ok_or_else(|| VideoError::NoEncoder {
            program: ask.name(),
            encoder: wanted.join("` or `"),
            has: video
                .into_iter()
                .filter(|name| {
                    ["264", "265", "mpeg4", "vp9"]
                        .iter()
                        .any(|known| name.contains(known))
                })
                .take(6)
                .collect(),
        })
    }

    /// Takes frames of this size in NUT from a pipe, and makes a file of them that is there already or not. They keep their times.
    pub fn encode(&self, to: &Path, encoder: &str, size: Size) -> Launch {
        let mut launch = self
            .quiet()
            .with(["-y", "-f", "nut", "-i", "pipe:0", "-map", "0:v:0"]);
        // Colours at half the resolution need sides of an even number of pixels.
        if size.width() % 2 + size.height() % 2 > 0 {
            launch = launch.with(["-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2"]);
        }
        // MPEG-4 part 2 cannot count finer.
        let tick = match encoder.contains("mpeg4") {
            true => "1/60000",
            false => "1/1000000",
        };
        // Its usual preset takes several processors away from what makes the frames, for files hardly smaller.
        let preset: &[&str] = match encoder {
            "libx264" => &["-preset", "veryfast"],
            _ => &[],
        };
        // Else frames are repeated until the rate is constant, which is a million a second here.
        let as_they_come = match self.has_fps_mode {
            true => "-fps_mode",
            false => "-vsync",
        };
        let mut file = OsString::from("file:");
        file.push(to);
        launch
            .with([
                "-an",
                "-c:v",
                encoder,
                "-pix_fmt",
                "yuv420p",
                "-enc_time_base",
                tick,
            ])
            .with(preset)
            .with([as_they_come, "passthrough"])
            .with([file])
    }

    fn quiet(&self) -> Launch {
        Launch::of(&self.program).with(QUIET)
    }

    fn nut(&self, launch: Launch, pixels: &str) -> Launch {
        let launch = match self.has_autoscale {
            true => launch.with(["-autoscale", "0"]),
            false => launch,
        };
        launch.with(["-pix_fmt", pixels]).with(NUT).with(["pipe:1"])
    }
}

/// The name in a line of ffmpeg's list of encoders, such as ` V....D libx264   libx264 H.264 (codec h264)`.
fn video_encoder(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let (flags, name) = (words.next()?, words.next()?);
    (flags.len() == 6 && flags.starts_with('V') && name != "=").then(|| name.to_owned())
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
            has_fps_mode: has_autoscale,
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
        let (launch, layout) = ffmpeg(true).file(Path::new("-a b.mp4"), &facts, Some("h264_v4l2m2m"));
        assert_eq!(layout, Layout::Nut, "nothing is known of its pixels");
        assert_eq!(
            written(&launch),
            "-hide_banner -nostdin -v error -copyts -c:v h264_v4l2m2m -fflags +genpts -protocol_whitelist file -i file:-a b.mp4 \
             -map 0:V:0 -vf setpts=floor(PTS-(-512*1/15360)/TB+0.5) -autoscale 0 -pix_fmt rgb24 -an -sn -dn -c:v rawvideo \
             -enc_time_base 1/1000000 -f nut -write_index 0 -flush_packets 1 pipe:1"
        );
        assert_eq!(
            launch.arguments[12], "file:-a b.mp4",
            "one word, whatever is in it"
        );
        let (old, _) = ffmpeg(false).file(Path::new("a.mp4"), &facts, None);
        assert!(!written(&old).contains("autoscale") && !written(&old).contains("-c:v h264"));
    }

    #[test]
    fn an_encoder_takes_frames_with_their_times_and_writes_one_file() {
        let size = |width, height| Size::new(width, height).unwrap();
        let even = ffmpeg(true).encode(Path::new("-a b.mp4"), "libx264", size(4, 2));
        assert_eq!(
            written(&even),
            "-hide_banner -nostdin -v error -y -f nut -i pipe:0 -map 0:v:0 -an -c:v libx264 -pix_fmt yuv420p -enc_time_base 1/1000000 \
             -preset veryfast -fps_mode passthrough file:-a b.mp4"
        );
        let odd = written(&ffmpeg(false).encode(Path::new("a.mp4"), "mpeg4", size(5, 2)));
        assert!(
            odd.contains("-vf pad=ceil(iw/2)*2:ceil(ih/2)*2 ")
                && odd.ends_with("1/60000 -vsync passthrough file:a.mp4"),
            "{odd}"
        );
    }

    #[test]
    fn encoders_are_found_in_the_list() {
        let found = |line| video_encoder(line);
        let libx264 = " V....D libx264              libx264 H.264 / AVC (codec h264)";
        assert_eq!(found(libx264).as_deref(), Some("libx264"));
        for other in [" V..... = Video", " A....D aac  AAC", "Encoders:", " ------", ""] {
            assert_eq!(found(other), None, "{other}");
        }
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
