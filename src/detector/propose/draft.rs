//! Proposals as specs in RON, with comments that say what the network's file does not.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use crate::detector::camera::classes::COCO80;
use crate::detector::camera::fit::{Align, FitSpec, Letterbox, Rounding};
use crate::detector::camera::preprocess::{Colour, Layout};

/// Class names of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub enum ClassNames {
    /// The 80 of COCO, which every network of 80 classes is taken to have.
    Coco80,
    /// Names that the network's file holds.
    OfTheFile(Vec<String>),
    /// Names made up for so many.
    MadeUp(usize),
}

impl ClassNames {
    /// As a spec has them.
    fn ron(&self) -> String {
        let list = |names: &mut dyn Iterator<Item = String>| {
            format!(
                "[{}]",
                names
                    .map(|name| format!("{name:?}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        };
        match self {
            ClassNames::Coco80 => "Coco80".to_owned(),
            ClassNames::OfTheFile(names) if names[..] == COCO80 => "Coco80".to_owned(),
            ClassNames::OfTheFile(names) => list(&mut told_apart(names).into_iter()),
            ClassNames::MadeUp(1) => list(&mut std::iter::once("object".to_owned())),
            ClassNames::MadeUp(count) => list(&mut (0..*count).map(|class| format!("class-{class}"))),
        }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        match self {
            ClassNames::Coco80 => 80,
            ClassNames::OfTheFile(names) => names.len(),
            ClassNames::MadeUp(count) => *count,
        }
    }

    /// Where they come from.
    fn comment(&self) -> &'static str {
        match self {
            ClassNames::Coco80 => "80 classes are taken for COCO's.",
            ClassNames::OfTheFile(names) if told_apart(names) != *names => {
                "The names are in the network's file; those that are empty or repeated there got a number, since a spec needs names that differ."
            }
            ClassNames::OfTheFile(_) => "The names are in the network's file.",
            ClassNames::MadeUp(_) => "The file has no names: replace these, in the network's order.",
        }
    }
}

/// Names of which none is empty or repeated, as a spec needs them.
fn told_apart(names: &[String]) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::new();
    let own: HashSet<&String> = names.iter().collect();
    let mut last = HashMap::new();
    names
        .iter()
        .enumerate()
        .map(|(class, name)| {
            let is_empty = name.trim().is_empty();
            if !is_empty && taken.insert(name.clone()) {
                return name.clone();
            }
            let begin = if is_empty { "class" } else { name.as_str() };
            let number = last.entry(begin.to_owned()).or_insert(class);
            loop {
                let numbered = format!("{begin}-{number}");
                *number += 1;
                if !own.contains(&numbered) && taken.insert(numbered.clone()) {
                    return numbered;
                }
            }
        })
        .collect()
}

/// From pixels of 0 to 255 to what a network wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// As they are.
    Bytes,
    /// From 0 to 1.
    Unit,
    /// `(pixel − 127) / 128`.
    Centred,
    /// ImageNet's mean and deviation, of pixels from 0 to 1.
    ImageNet,
    /// The same of pixels from 0 to 255, rounded as mmdetection has them.
    ImageNetBytes,
}

impl Scaling {
    /// All of them.
    pub const ALL: [Scaling; 5] = [
        Scaling::Unit,
        Scaling::Bytes,
        Scaling::Centred,
        Scaling::ImageNet,
        Scaling::ImageNetBytes,
    ];

    /// Whether the values are the same, up to rounding.
    pub fn makes_same_as(self, other: Scaling) -> bool {
        let is_image_net = |scaling| matches!(scaling, Scaling::ImageNet | Scaling::ImageNetBytes);
        self == other || is_image_net(self) && is_image_net(other)
    }

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Scaling::Bytes => "0 to 255",
            Scaling::Unit => "0 to 1",
            Scaling::Centred => "-1 to 1",
            Scaling::ImageNet => "ImageNet's mean, of 0 to 1",
            Scaling::ImageNetBytes => "ImageNet's mean, of 0 to 255",
        }
    }

    /// The fields of `input`; means are listed in the order of the channels.
    fn ron(self, colour: Colour) -> String {
        let in_order = |[red, green, blue]: [&str; 3]| match colour {
            Colour::Rgb => format!("[{red}, {green}, {blue}]"),
            Colour::Bgr => format!("[{blue}, {green}, {red}]"),
        };
        let both = |mean, std| format!("mean: {}, std: {}", in_order(mean), in_order(std));
        match self {
            Scaling::Bytes => "scale: 1.0".to_owned(),
            Scaling::Unit => "scale: 0.00392156862745098".to_owned(),
            Scaling::Centred => both(["127"; 3], ["128"; 3]),
            Scaling::ImageNet => format!(
                "scale: 0.00392156862745098, {}",
                both(["0.485", "0.456", "0.406"], ["0.229", "0.224", "0.225"])
            ),
            Scaling::ImageNetBytes => both(["123.675", "116.28", "103.53"], ["58.395", "57.12", "57.375"]),
        }
    }
}

/// A camera detector as proposed.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraDraft {
    /// What the network tells apart.
    pub classes: ClassNames,
    /// The input.
    pub tensor: String,
    /// Images of an inference, as the network's file has them.
    pub batch: usize,
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// Whether the network's file says the size.
    pub is_sized: bool,
    /// Order of the input's dimensions.
    pub layout: Layout,
    /// Order of the channels, as the family has it.
    pub colour: Colour,
    /// How pixels are scaled, as the family does it.
    pub scaling: Scaling,
    /// How an image is brought to the size.
    pub fit: FitSpec,
    /// What the network takes beside the image: entries of `also`, in RON.
    pub also: Vec<String>,
    /// The head, in RON.
    pub head: String,
    /// Lowest score of a detection.
    pub score_threshold: f32,
    /// Overlap above which a box goes.
    pub iou: f32,
    /// What else the file does not say, each a sentence.
    pub assumed: Vec<&'static str>,
}

impl CameraDraft {
    /// The head's name in specs.
    pub fn head_name(&self) -> &'static str {
        const NAMES: [&str; 9] = [
            "YoloxGrid",
            "YoloAnchors",
            "YoloAnchorFree",
            "NanoDet",
            "PriorBoxes",
            "EndToEnd",
            "Queries",
            "Grid",
            "Classifier",
        ];
        let begins = |name: &&str| {
            self.head
                .strip_prefix(*name)
                .is_some_and(|rest| rest.starts_with('('))
        };
        NAMES.into_iter().find(begins).unwrap_or("YoloxGrid")
    }

    /// The spec, over `network` as its path is written there; `evidence` are comments on colour and scaling.
    pub fn ron(&self, name: &str, network: &str, evidence: &[String]) -> String {
        let mut out = String::from("Camera(\n");
        let _ = writeln!(out, "    name: {name:?},");
        let _ = writeln!(out, "    // {}", self.classes.comment());
        let _ = writeln!(out, "    classes: {},", self.classes.ron());
        let _ = writeln!(out, "    network: {network:?},");
        for line in evidence {
            let _ = writeln!(out, "    // {}", one_line(line));
        }
        let layout = match self.layout {
            Layout::Nchw => "",
            Layout::Nhwc => ", layout: Nhwc",
        };
        let colour = match self.colour {
            Colour::Rgb => "Rgb",
            Colour::Bgr => "Bgr",
        };
        if !self.is_sized {
            let _ = writeln!(out, "    // The network takes any size; this is the usual one.");
        }
        let _ = writeln!(
            out,
            "    input: (\n        tensor: {:?}, width: {}, height: {}{layout}, colour: {colour},\n        fit: {},\n        {},\n    ),",
            self.tensor,
            self.width,
            self.height,
            fit(self.fit),
            self.scaling.ron(self.colour)
        );
        for sentence in &self.assumed {
            let _ = writeln!(out, "    // {sentence}");
        }
        if !self.also.is_empty() {
            let _ = writeln!(
                out,
                "    also: [\n        {},\n    ],",
                self.also.join(",\n        ")
            );
        }
        let _ = writeln!(out, "    head: {},", self.head);
        let _ = writeln!(
            out,
            "    score_threshold: {:?}, nms: (iou: {:?}),\n)",
            self.score_threshold, self.iou
        );
        out
    }
}

/// A comment ends with its line, and names of files and tensors may hold anything.
pub fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn fit(fit: FitSpec) -> String {
    let FitSpec::Letterbox(Letterbox { align, pad, rounding }) = fit else {
        return "Stretch".to_owned();
    };
    let align = match align {
        Align::Centre => "Centre",
        Align::TopLeft => "TopLeft",
    };
    let rounding = match rounding {
        Rounding::Nearest => "Nearest",
        Rounding::Down => "Down",
    };
    format!("Letterbox(align: {align}, pad: {pad}, rounding: {rounding})")
}

/// A network of a LiDAR detector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// From pillars to features.
    Encoder,
    /// From the canvas to the head's outputs.
    Backbone,
    /// All of it.
    Whole,
}

/// A piece of a spec whose paths are not known yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Fields, in RON.
    Fields(String),
    /// The path of a network.
    Path(Place),
}

/// A LiDAR detector as proposed; `networks` says how many it has.
#[derive(Clone, Debug, PartialEq)]
pub struct LidarDraft {
    /// Class names.
    pub classes: Vec<&'static str>,
    /// Range, pillars and limits, as fields of the spec.
    pub grid: String,
    /// The networks' fields.
    pub networks: Vec<Piece>,
    /// The head, in RON.
    pub head: String,
    /// What the files do not say, each a sentence.
    pub assumed: Vec<&'static str>,
}

impl LidarDraft {
    /// The spec over these networks.
    pub fn ron(&self, name: &str, networks: &[(Place, &str)], evidence: &[String]) -> String {
        let path = |place: Place| {
            networks
                .iter()
                .find(|(of, _)| *of == place)
                .map_or("", |(_, path)| *path)
        };
        let parts: String = self
            .networks
            .iter()
            .map(|piece| match piece {
                Piece::Fields(text) => text.clone(),
                Piece::Path(place) => format!("{:?}", path(*place)),
            })
            .collect();
        let mut out = String::from("Lidar(\n");
        let _ = writeln!(out, "    name: {name:?}, classes: {:?},", self.classes);
        for line in self
            .assumed
            .iter()
            .map(|line| (*line).to_owned())
            .chain(evidence.iter().cloned())
        {
            let _ = writeln!(out, "    // {}", one_line(&line));
        }
        let _ = writeln!(out, "    {}\n    {parts}\n    head: {},", self.grid, self.head);
        out += "    score_threshold: 0.4, nms: (iou: 0.1),\n)\n";
        out
    }
}
