//! What is meant by a video or a camera as a tenant's source.

use std::path::{Path, PathBuf};

use super::{MOST_MEGAPIXELS, One};
use crate::scenario::choices::CAMERA_EXAMPLE;
use crate::scenario::rules::require;
use crate::scenario::video::{CameraFile, VideoFile};
use crate::scenario::{
    CameraFrom, CameraSpec, ImageSize, MAX_MEGAPIXELS, RATES, Reading, SourceSpec, VideoDecoder, VideoSpec,
};
use crate::written::{ProblemKind, Read, Reader, Spot};

impl One<'_> {
    /// A video as it is read.
    pub(super) fn video(&self, file: &VideoFile, r: &mut Reader) -> SourceSpec {
        let path = self.find(
            &file.path.value,
            &file.path.place,
            "source",
            "video file",
            Path::is_file,
            r,
        );
        let reading = self.reading(&file.reading, r);
        if let Some(spot) = file.reading.ahead.given()
            && reading == (Reading::Ahead { frames: 0 })
        {
            let wanted = "from 1 to 64 for a video, whose decoder works beside the tenant";
            require(r, spot, false, self.of("ahead"), wanted);
        }
        SourceSpec::Video(VideoSpec {
            path: path.unwrap_or_default(),
            decoder: self.decoder(file, r),
            repeat: file.repeat.or(true),
            max_megapixels: self.megapixels(&file.max_megapixels, r),
            reading,
        })
    }

    fn decoder(&self, file: &VideoFile, r: &mut Reader) -> VideoDecoder {
        let size = self.size(&file.size, r);
        let Some(spot) = file.command.given() else {
            if let Some(size) = file.size.given() {
                let why = "the video says how large its images are";
                let advice = "leave it out; only with `command` may it differ";
                self.contradiction(r, &size.place, "size", why, advice);
            }
            return VideoDecoder::Ffmpeg(file.decoder.given().map(|spot| spot.value.clone()));
        };
        if let Some(decoder) = file.decoder.given() {
            let (why, advice) = ("`command` decodes by itself", "give one of the two");
            self.contradiction(r, &decoder.place, "decoder", why, advice);
        }
        VideoDecoder::Command {
            command: self.command(spot, r),
            size,
        }
    }

    /// A camera as it is read.
    pub(super) fn camera_source(&self, file: &CameraFile, r: &mut Reader) -> SourceSpec {
        let size = self.size(&file.size, r);
        let from = match (file.device.given(), file.command.given()) {
            (Some(device), Some(command)) => {
                let (why, advice) = (
                    "a camera has one of `device` and `command`",
                    "give one of the two",
                );
                self.contradiction(r, &command.place, "command", why, advice);
                self.device(device, size, file, r)
            }
            (Some(device), None) => self.device(device, size, file, r),
            (None, Some(command)) => {
                for (name, place) in [
                    ("format", file.format.given().map(|spot| &spot.place)),
                    ("hz", file.hz.given().map(|spot| &spot.place)),
                ] {
                    if let Some(place) = place {
                        let (why, advice) = ("`command` chooses it", "write it into the command");
                        self.contradiction(r, place, name, why, advice);
                    }
                }
                if matches!(file.size, Read::Absent) {
                    self.misses(
                        r,
                        "size",
                        "size: \"1280x720\", of the images that the command writes",
                    );
                }
                CameraFrom::Command {
                    command: self.command(command, r),
                    size: size.unwrap_or(ImageSize { width: 1, height: 1 }),
                }
            }
            (None, None) => {
                if !matches!((&file.device, &file.command), (Read::Wrong, _) | (_, Read::Wrong)) {
                    self.misses(r, "device", CAMERA_EXAMPLE);
                }
                CameraFrom::Command {
                    command: Vec::new(),
                    size: ImageSize { width: 1, height: 1 },
                }
            }
        };
        SourceSpec::Camera(CameraSpec {
            from,
            max_megapixels: self.megapixels(&file.max_megapixels, r),
        })
    }

    fn device(
        &self,
        device: &Spot<String>,
        size: Option<ImageSize>,
        file: &CameraFile,
        r: &mut Reader,
    ) -> CameraFrom {
        let is_named = !device.value.is_empty();
        require(
            r,
            device,
            is_named,
            self.of("device"),
            "a device, such as \"/dev/video0\"",
        );
        CameraFrom::Device {
            // It is the machine's that runs it, which need not be this one.
            device: PathBuf::from(&device.value),
            format: file.format.given().map(|spot| spot.value.clone()),
            size,
            hz: file.hz.given().map(|spot| {
                require(
                    r,
                    spot,
                    RATES.contains(&spot.value),
                    self.of("hz"),
                    "from 0.001 to 100000",
                );
                spot.value
            }),
        }
    }

    fn command(&self, spot: &Spot<Vec<Spot<String>>>, r: &mut Reader) -> Vec<String> {
        let is_named = spot
            .value
            .first()
            .is_some_and(|program| !program.value.is_empty());
        if !is_named {
            let kind = ProblemKind::OutOfRange {
                what: self.of("command"),
                found: "empty".into(),
                wanted: "a program and its arguments".into(),
            };
            r.report(&spot.place, kind);
        }
        spot.value.iter().map(|word| word.value.clone()).collect()
    }

    fn size(&self, size: &Read<String>, r: &mut Reader) -> Option<ImageSize> {
        let spot = size.given()?;
        match spot.value.parse() {
            Ok(size) => Some(size),
            Err(error) => {
                let wanted = format!("{error}");
                require(r, spot, false, self.of("size"), &wanted);
                None
            }
        }
    }

    fn megapixels(&self, read: &Read<u32>, r: &mut Reader) -> u32 {
        let wanted = "from 1 to 1000, in millions of pixels";
        self.at_most(read, "max_megapixels", MAX_MEGAPIXELS, MOST_MEGAPIXELS, wanted, r)
    }

    fn misses(&self, r: &mut Reader, field: &'static str, example: &str) {
        let kind = ProblemKind::Missing {
            field,
            owner: format!("`source` of {}", self.label),
            example: example.to_owned(),
        };
        let place = match &self.typed.source {
            Read::Given(spot) => &spot.place,
            Read::Absent | Read::Wrong => &self.typed.place,
        };
        r.report(place, kind);
    }
}
