//! What a video is, and when its frames are to be shown: asked of ffprobe, which reads the file's packets and decodes nothing.
//!
//! Packets come in the order of decoding; their times, sorted, are the frames'. A container that has the times of decoding alone (AVI)
//! is given times of showing as ffmpeg makes them up, here and when it is decoded (`genpts`).

use std::io::{BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use crate::child::start;
use crate::error::VideoError;
use crate::frames::Reading;
use crate::input::local;
use crate::planar::Planes;
use crate::program::{Guard, Launch};
use crate::size::Size;

/// The most frames of a video: 46 hours at 60 frames a second, whose times take 80 MB.
pub const MOST_FRAMES: usize = 10_000_000;
/// Lines are shorter; of a longer one the rest is a line of its own.
const LONGEST_LINE: u64 = 64 << 10;

/// What a video is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VideoFacts {
    codec: String,
    size: Size,
    /// Where ffmpeg need not convert what it decodes.
    planes: Option<Planes>,
    /// When frames are shown, in ticks, ascending and each once.
    ticks: Vec<i64>,
    /// A tick in seconds, as a fraction.
    tick: (u32, u32),
    /// Frames that the file's head counts and that are not in it.
    missing: usize,
}

impl VideoFacts {
    pub(crate) fn new(codec: String, size: Size, mut ticks: Vec<i64>, tick: (u32, u32)) -> VideoFacts {
        ticks.sort_unstable();
        ticks.dedup();
        VideoFacts {
            codec,
            size,
            planes: None,
            ticks,
            tick,
            missing: 0,
        }
    }

    /// How it is compressed, in ffmpeg's words: `h264`.
    pub fn codec(&self) -> &str {
        &self.codec
    }

    /// The size of its images as they are stored. ffmpeg turns them upright where the file says how, so that they may come out the
    /// other way round.
    pub fn size(&self) -> Size {
        self.size
    }

    /// As its images are decoded, if they are `yuv420p` with even sides. Of anything else ffmpeg makes RGB.
    pub(crate) fn planes(&self) -> Option<Planes> {
        self.planes
    }

    /// How many more frames the file's head counts: a file that was cut off. 0 also where the head does not count them.
    pub fn missing(&self) -> usize {
        self.missing
    }

    /// How many frames it has.
    pub fn frames(&self) -> usize {
        self.ticks.len()
    }

    /// When its frames are to be shown, in nanoseconds from the first.
    pub fn times_ns(&self) -> impl Iterator<Item = i64> {
        let first = self.first().0;
        self.ticks.iter().map(move |ticks| {
            let all = i128::from(*ticks) - i128::from(first);
            let ns = all * i128::from(self.tick.0) * 1_000_000_000 / i128::from(self.tick.1);
            i64::try_from(ns).unwrap_or(i64::MAX)
        })
    }

    /// How long a tick is, in nanoseconds, rounded up: times that are nearer to each other may be the same.
    pub fn tick_ns(&self) -> i64 {
        let (num, den) = (i64::from(self.tick.0), i64::from(self.tick.1));
        (num * 1_000_000_000).div_euclid(den) + 1
    }

    /// The time of its first frame in the file, and the tick in which it is counted.
    pub(crate) fn first(&self) -> (i64, u32, u32) {
        (self.ticks.first().copied().unwrap_or(0), self.tick.0, self.tick.1)
    }
}

/// Asks ffprobe about the first video in a file, covers of songs excepted.
///
/// # Errors
/// ffprobe is not there; the file has no video, one without times, or one of too many frames.
pub fn probe(
    ffprobe: &Path,
    path: &Path,
    guard: Option<&Guard>,
    reading: &Reading,
) -> Result<VideoFacts, VideoError> {
    let mut answer = Answer::default();
    let heard = lines(&question(ffprobe, path), guard, reading, |line| {
        answer.line(line);
        answer.ticks.len() <= MOST_FRAMES
    });
    let said = match heard {
        Ok(said) => said,
        // A file that breaks off has frames all the same; one that is no video has none.
        Err(VideoError::Ended { said, .. }) => said,
        Err(error) => return Err(error),
    };
    if answer.ticks.len() > MOST_FRAMES {
        return Err(VideoError::TooLong {
            path: path.to_owned(),
            most: MOST_FRAMES,
        });
    }
    let is_timeless = answer.is_timeless;
    match answer.facts() {
        Some(_) if is_timeless => Err(VideoError::NoTimes {
            path: path.to_owned(),
        }),
        Some(facts) => Ok(facts),
        None => Err(VideoError::NoVideo {
            path: path.to_owned(),
            said,
        }),
    }
}

fn question(ffprobe: &Path, path: &Path) -> Launch {
    let entries =
        "stream=codec_name,width,height,pix_fmt,color_range,color_space,time_base,nb_frames:packet=pts,flags";
    Launch::of(ffprobe)
        .with(["-hide_banner", "-v", "error", "-select_streams", "V:0"])
        .with(["-show_entries", entries, "-of", "compact"])
        .with(local(path))
}

/// What ffprobe has answered so far.
#[derive(Debug, Default)]
struct Answer {
    codec: Option<String>,
    size: Option<Size>,
    planes: Option<Planes>,
    tick: Option<(u32, u32)>,
    ticks: Vec<i64>,
    /// Packets that came, and those that the head counts, where it does.
    packets: usize,
    counted: Option<usize>,
    /// A frame has no time.
    is_timeless: bool,
    /// There are frames.
    has_some: bool,
}

impl Answer {
    /// Takes in `packet|pts=512|flags=K__` or `stream|codec_name=h264|width=320|height=240|time_base=1/15360`. Others are of no
    /// interest.
    fn line(&mut self, line: &str) {
        let mut parts = line.trim().split('|');
        let kind = parts.next().unwrap_or_default();
        let field = |name: &str| {
            let mut fields = line.trim().split('|').filter_map(|part| part.split_once('='));
            fields.find_map(|(found, value)| (found == name).then_some(value))
        };
        match kind {
            "packet" => {
                self.packets += 1;
                // Needed for decoding, and not shown.
                let is_hidden = field("flags").is_some_and(|flags| flags.contains('D'));
                if !is_hidden {
                    self.time(field("pts"));
                }
            }
            "stream" => {
                let whole = |name| field(name).and_then(|value| value.parse().ok());
                self.codec = field("codec_name").map(str::to_owned);
                self.size = whole("width")
                    .zip(whole("height"))
                    .and_then(|(w, h)| Size::new(w, h));
                let is_even = self
                    .size
                    .is_some_and(|size| (size.width() | size.height()) % 2 == 0);
                self.planes = field("pix_fmt")
                    .filter(|_| is_even)
                    .and_then(|pixels| Planes::of(pixels, field("color_range"), field("color_space")));
                self.tick = field("time_base").and_then(fraction);
                self.counted = field("nb_frames").and_then(|value| value.parse().ok());
            }
            _ => {}
        }
    }

    fn time(&mut self, value: Option<&str>) {
        self.has_some = true;
        match value.and_then(|value| value.parse().ok()) {
            Some(ticks) => self.ticks.push(ticks),
            None => self.is_timeless = true,
        }
    }

    /// `None` where there is no video.
    fn facts(self) -> Option<VideoFacts> {
        let tick = self.tick.filter(|_| self.has_some)?;
        let codec = self.codec.unwrap_or_else(|| "unknown".to_owned());
        let missing = self
            .counted
            .map_or(0, |counted| counted.saturating_sub(self.packets));
        Some(VideoFacts {
            missing,
            planes: self.planes,
            ..VideoFacts::new(codec, self.size?, self.ticks, tick)
        })
    }
}

fn fraction(text: &str) -> Option<(u32, u32)> {
    let (num, den) = text.split_once('/')?;
    let (num, den): (u32, u32) = (num.parse().ok()?, den.parse().ok()?);
    (num > 0 && den > 0).then_some((num, den))
}

/// Starts a program and hands over each line that it writes, as long as more are wanted; what it said beside them.
///
/// # Errors
/// It is not there, gives nothing, or ends badly.
pub(crate) fn lines(
    launch: &Launch,
    guard: Option<&Guard>,
    reading: &Reading,
    mut line: impl FnMut(&str) -> bool,
) -> Result<String, VideoError> {
    let (mut running, pipe) = start(launch, guard, reading.patience, reading.stop.clone())?;
    let mut pipe = BufReader::with_capacity(64 << 10, pipe);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        let read = pipe.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut bytes);
        match read {
            Ok(0) => break,
            Ok(_) if line(&String::from_utf8_lossy(&bytes)) => {}
            Ok(_) => return Ok(String::new()),
            Err(error) => {
                return Err(match error.kind() {
                    ErrorKind::ConnectionAborted => VideoError::Stopped,
                    ErrorKind::TimedOut => VideoError::Stalled {
                        program: launch.name(),
                        patience: reading.patience,
                        frames: 0,
                        said: pipe.get_ref().said.words(),
                    },
                    _ => VideoError::Pipe {
                        program: launch.name(),
                        error,
                    },
                });
            }
        }
    }
    let how = running.ended();
    pipe.get_mut().listen();
    let said = pipe.get_ref().said.words();
    match how {
        None => Ok(said),
        Some(how) => Err(VideoError::Ended {
            program: launch.name(),
            how,
            frames: 0,
            said,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(lines: &[&str]) -> Answer {
        let mut answer = Answer::default();
        lines.iter().for_each(|line| answer.line(line));
        answer
    }

    const STREAM: &str = "stream|codec_name=h264|width=320|height=240|time_base=1/15360\n";

    #[test]
    fn times_are_those_of_the_packets_in_the_order_of_showing() {
        let told = answer(&[
            "packet|pts=-512|flags=K__",
            "packet|pts=1024|flags=___|side_datum/skip_samples:side_data_type=Skip Samples",
            "packet|pts=-1024|flags=_D_",
            "packet|pts=0|flags=__",
            "",
            "side_data|pts=9",
            "packet|pts=0|flags=_",
            STREAM,
        ]);
        assert!(!told.is_timeless);
        let facts = told.facts().unwrap();
        assert_eq!(
            (facts.codec(), facts.size(), facts.frames()),
            ("h264", Size::new(320, 240).unwrap(), 3)
        );
        let times: Vec<i64> = facts.times_ns().collect();
        assert_eq!(times, [0, 33_333_333, 100_000_000]);
        assert_eq!(facts.first(), (-512, 1, 15_360));
        assert_eq!(facts.tick_ns(), 65_105);
    }

    #[test]
    fn a_packet_without_time_and_a_file_without_video_are_seen() {
        let told = answer(&["packet|pts=N/A|flags=K_", "packet|pts=2|flags=__", STREAM]);
        assert!(told.is_timeless);
        assert!(answer(&["packet|flags=K_", STREAM]).is_timeless);
        assert_eq!(answer(&[STREAM]).facts(), None, "no frames");
        assert_eq!(answer(&["packet|pts=1|flags=K_"]).facts(), None);
        for wrong in ["0/1", "1/0", "1", "a/b", "-1/5"] {
            assert_eq!(fraction(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn times_of_any_size_are_no_panic() {
        let facts = VideoFacts::new(
            "x".into(),
            Size::new(1, 1).unwrap(),
            vec![i64::MIN, i64::MAX],
            (u32::MAX, 1),
        );
        assert_eq!(facts.times_ns().collect::<Vec<_>>(), [0, i64::MAX]);
        assert!(facts.tick_ns() > 0);
        assert_eq!(
            VideoFacts::new("x".into(), Size::new(1, 1).unwrap(), vec![], (1, 1))
                .first()
                .0,
            0
        );
    }

    #[test]
    fn a_file_is_asked_about_by_name_alone() {
        let launch = question(Path::new("ffprobe"), Path::new("http://x"));
        assert_eq!(launch.arguments.last().unwrap(), "file:http://x");
        assert!(launch.arguments.iter().any(|word| word == "V:0"));
    }
}
