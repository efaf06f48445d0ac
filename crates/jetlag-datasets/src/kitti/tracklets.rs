//! The annotated objects of a raw drive: KITTI's `tracklet_labels.xml`, which has each object with its boxes in frames one after the
//! other, in the LiDAR's frame.
//!
//! ```text
//! <boost_serialization …><tracklets …><count>2</count><item_version>1</item_version>
//!   <item …><objectType>Car</objectType><h>1.5</h><w>1.7</w><l>4.1</l><first_frame>12</first_frame>
//!     <poses …><count>3</count><item_version>2</item_version>
//!       <item><tx>…</tx><ty>…</ty><tz>…</tz><rx>0</rx><ry>0</ry><rz>…</rz><state>2</state><occlusion>0</occlusion>…</item>
//! ```

use std::path::Path;

use jetlag_record::files;
use quick_xml::Reader;
use quick_xml::events::Event;

use crate::error::DatasetError;

/// All objects of a drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tracklets {
    all: Vec<Tracklet>,
}

/// How much of an object is hidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occlusion {
    /// Nothing.
    Visible,
    /// Some of it.
    Partly,
    /// Most of it.
    Largely,
}

/// An object in a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracked<'a> {
    /// The object: the same in all frames, and of no other of the drive.
    pub identity: usize,
    /// What it is, in the file's words: `Car`, `Van`, `Person (sitting)`, ….
    pub class: &'a str,
    /// The middle of its box in the LiDAR's frame, metres.
    pub centre: [f64; 3],
    /// Length, width and height, metres.
    pub size: [f64; 3],
    /// Which way it faces, from x to y, radians.
    pub yaw: f64,
    /// How much of it is hidden; `None` where nobody said.
    pub occlusion: Option<Occlusion>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Tracklet {
    class: String,
    /// Length, width, height.
    size: [Option<f64>; 3],
    first: Option<usize>,
    poses: Vec<Pose>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Pose {
    /// The middle of the lower side.
    place: [Option<f64>; 3],
    yaw: Option<f64>,
    occlusion: Option<Occlusion>,
}

/// More than any drive has, and few enough that no sum of two overflows.
const LAST_FRAME: usize = 10_000_000;
/// Metres. KITTI's car sees a hundred.
const FARTHEST: f64 = 1e6;
/// Deeper than the file ever is.
const DEEPEST: usize = 32;

impl Tracklets {
    /// Reads the file.
    ///
    /// # Errors
    /// A file that cannot be read, is no XML, or has an object without what it needs; with the line.
    pub fn read(path: &Path) -> Result<Tracklets, DatasetError> {
        let text = files::read_text(path, files::TEXT).map_err(|error| DatasetError::Io {
            path: path.to_owned(),
            error,
        })?;
        parse(&text).map_err(|(at, problem)| DatasetError::Text {
            path: path.to_owned(),
            line: 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count(),
            problem,
        })
    }

    /// How many objects there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether nothing was annotated.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The objects in the frame of this number, in the order of the file.
    pub fn at(&self, frame: usize) -> impl Iterator<Item = Tracked<'_>> {
        self.all.iter().enumerate().filter_map(move |(identity, of)| {
            let pose = of.poses.get(frame.checked_sub(of.first?)?)?;
            let [Some(x), Some(y), Some(z)] = pose.place else {
                return None; // Reading refuses such.
            };
            let size = of.size.map(Option::unwrap_or_default);
            Some(Tracked {
                identity,
                class: &of.class,
                centre: [x, y, z + size[2] / 2.0],
                size,
                yaw: pose.yaw?,
                occlusion: pose.occlusion,
            })
        })
    }
}

/// What is wrong, and at which byte.
type Wrong = (usize, String);

/// An object as far as it was read, and the pose within it.
#[derive(Default)]
struct Open {
    all: Vec<Tracklet>,
    object: Option<Tracklet>,
    within_poses: bool,
    pose: Option<Pose>,
}

fn parse(text: &str) -> Result<Tracklets, Wrong> {
    let mut reader = Reader::from_str(text);
    let mut open = Open::default();
    let (mut depth, mut is_file, mut value) = (0usize, false, String::new());
    loop {
        let at = reader.buffer_position() as usize;
        let event = reader
            .read_event()
            .map_err(|error| (reader.error_position() as usize, format!("is no XML: {error}")))?;
        let wrong = |problem: String| (at, problem);
        match event {
            Event::Start(tag) => {
                depth += 1;
                if depth > DEEPEST {
                    return Err(wrong(format!(
                        "has elements more than {DEEPEST} deep, where KITTI has 5"
                    )));
                }
                value.clear();
                is_file |= tag.name().0 == "tracklets";
                open.begin(tag.name().0).map_err(wrong)?;
            }
            Event::End(tag) => {
                depth = depth.saturating_sub(1);
                open.end(tag.name().0, value.trim()).map_err(wrong)?;
                value.clear();
            }
            Event::Text(text) => value.push_str(&text.xml10_content()),
            // `Person (sitting)` has none, and numbers have none.
            Event::GeneralRef(_) | Event::CData(_) => {
                return Err(wrong(
                    "has an entity or CDATA, where KITTI has plain text".to_owned(),
                ));
            }
            Event::Eof if depth > 0 => {
                return Err(wrong(
                    "ends before its last element does: is it cut off?".to_owned(),
                ));
            }
            Event::Eof if !is_file => {
                return Err(wrong(
                    "has no element `tracklets`: is it a tracklet_labels.xml of KITTI?".to_owned(),
                ));
            }
            Event::Eof => return Ok(Tracklets { all: open.all }),
            Event::Empty(_) | Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

impl Open {
    fn begin(&mut self, name: &str) -> Result<(), String> {
        match name {
            "item" if self.pose.is_some() || (self.object.is_some() && !self.within_poses) => {
                return Err("has an `item` within an object or a pose, where none can be".to_owned());
            }
            "item" if self.within_poses => self.pose = Some(Pose::default()),
            "item" => self.object = Some(Tracklet::default()),
            "poses" if self.object.is_none() => {
                return Err("has `poses` outside of an object's `item`".to_owned());
            }
            "poses" => self.within_poses = true,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, name: &str, value: &str) -> Result<(), String> {
        if name == "poses" {
            self.within_poses = false;
            return Ok(());
        }
        match (&mut self.pose, &mut self.object) {
            (Some(pose), Some(object)) if name == "item" => {
                let lacks = ["tx", "ty", "tz"]
                    .into_iter()
                    .zip(pose.place)
                    .chain([("rz", pose.yaw)])
                    .find(|(_, value)| value.is_none());
                if let Some((field, _)) = lacks {
                    return Err(format!("has a pose without `{field}`"));
                }
                object.poses.push(*pose);
                self.pose = None;
            }
            (Some(pose), _) => pose.set(name, value)?,
            (None, Some(object)) if name == "item" => {
                let sizes = ["l", "w", "h"]
                    .into_iter()
                    .zip(object.size.map(|side| side.is_some()));
                let rest = [
                    ("objectType", !object.class.is_empty()),
                    ("first_frame", object.first.is_some()),
                ];
                if let Some((field, _)) = sizes.chain(rest).find(|(_, is_there)| !is_there) {
                    return Err(format!("has an object without `{field}`"));
                }
                self.all.extend(self.object.take());
            }
            (None, Some(object)) if !self.within_poses => object.set(name, value)?,
            _ => {}
        }
        Ok(())
    }
}

impl Tracklet {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let side = ["l", "w", "h"].iter().position(|side| *side == name);
        match (name, side.and_then(|side| self.size.get_mut(side))) {
            (_, Some(side)) => *side = Some(number(name, value, 0.0)?),
            ("objectType", _) => value.clone_into(&mut self.class),
            ("first_frame", _) => {
                let first = value.parse().ok().filter(|first| *first <= LAST_FRAME);
                let wanted = || {
                    format!(
                        "`first_frame` must be a whole number from 0 to {LAST_FRAME}; found `{}`",
                        cut(value)
                    )
                };
                self.first = Some(first.ok_or_else(wanted)?);
            }
            _ => {}
        }
        Ok(())
    }
}

impl Pose {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let axis = ["tx", "ty", "tz"].iter().position(|axis| *axis == name);
        match (name, axis.and_then(|axis| self.place.get_mut(axis))) {
            (_, Some(place)) => *place = Some(number(name, value, -FARTHEST)?),
            ("rz", _) => self.yaw = Some(number(name, value, -FARTHEST)?),
            // −1 (255 as some write it) is what nobody said.
            ("occlusion", _) => {
                self.occlusion = match value {
                    "0" => Some(Occlusion::Visible),
                    "1" => Some(Occlusion::Partly),
                    "2" => Some(Occlusion::Largely),
                    _ => None,
                };
            }
            _ => {}
        }
        Ok(())
    }
}

fn number(name: &str, value: &str, least: f64) -> Result<f64, String> {
    let range = least..=FARTHEST;
    let found: Option<f64> = value.parse().ok().filter(|v| range.contains(v));
    found.ok_or_else(|| {
        format!(
            "`{name}` must be a number from {least} to {FARTHEST}; found `{}`",
            cut(value)
        )
    })
}

fn cut(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(objects: &str) -> String {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\" ?>\n<!DOCTYPE boost_serialization>\n\
             <boost_serialization signature=\"serialization::archive\" version=\"9\">\n<tracklets class_id=\"0\">\n\
             <count>1</count><item_version>1</item_version>\n{objects}\n</tracklets>\n</boost_serialization>\n"
        )
    }

    fn object(class: &str, first: &str, poses: &str) -> String {
        format!(
            "<item class_id=\"1\"><objectType>{class}</objectType>\n<h>1.5</h><w>1.75</w><l>4</l>\n<first_frame>{first}</first_frame>\n\
             <poses class_id=\"2\"><count>1</count><item_version>2</item_version>{poses}</poses>\n<finished>1</finished></item>"
        )
    }

    fn pose(x: f64, occlusion: &str) -> String {
        format!(
            "<item><tx>{x}</tx><ty>-2</ty><tz>-1.5</tz><rx>0</rx><ry>0</ry><rz>0.5</rz><state>2</state><occlusion>{occlusion}</occlusion>\
             <occlusion_kf>0</occlusion_kf><truncation>0</truncation></item>"
        )
    }

    #[test]
    fn objects_are_there_in_the_frames_of_their_poses() {
        let poses = pose(10.0, "0") + &pose(11.0, "-1");
        let text = file(&(object("Car", "3", &poses) + &object("Person (sitting)", "4", &pose(5.0, "2"))));
        let tracklets = parse(&text).unwrap();
        assert_eq!(tracklets.len(), 2);
        let at = |frame| tracklets.at(frame).collect::<Vec<_>>();
        assert!(at(2).is_empty() && at(5).is_empty());
        let first = Tracked {
            identity: 0,
            class: "Car",
            centre: [10.0, -2.0, -0.75],
            size: [4.0, 1.75, 1.5],
            yaw: 0.5,
            occlusion: Some(Occlusion::Visible),
        };
        assert_eq!(at(3), [first]);
        let both = at(4);
        assert_eq!(
            both[0],
            Tracked {
                centre: [11.0, -2.0, -0.75],
                occlusion: None,
                ..first
            }
        );
        assert_eq!((both[1].identity, both[1].class), (1, "Person (sitting)"));
        assert_eq!(both[1].occlusion, Some(Occlusion::Largely));
    }

    proptest::proptest! {
        #[test]
        fn no_slip_makes_the_reader_panic(
            slips in proptest::collection::vec((0usize..2000, 0usize..60, "[<>/&; a-z0-9.-]{0,12}"), 1..6),
        ) {
            let mut text = file(&(object("Car", "0", &pose(1.0, "0")) + &object("Van", "7", &pose(2.0, "1"))));
            for (at, cut, put) in slips {
                let at = at.min(text.len());
                let end = (at + cut).min(text.len());
                text.replace_range(at..end, &put);
            }
            if let Ok(tracklets) = parse(&text) {
                (0..10).for_each(|frame| tracklets.at(frame).for_each(drop));
            }
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let good = file(&object("Car", "0", &pose(1.0, "0")));
        for (from, to, wanted) in [
            (
                "<tx>1</tx>",
                "<tx>far</tx>",
                "`tx` must be a number from -1000000 to 1000000; found `far`",
            ),
            ("<tx>1</tx>", "<tx>nan</tx>", "`tx` must be a number"),
            ("<tx>1</tx>", "", "a pose without `tx`"),
            ("<rz>0.5</rz>", "", "a pose without `rz`"),
            ("<h>1.5</h>", "<h>-1</h>", "`h` must be a number from 0"),
            ("<h>1.5</h>", "", "an object without `h`"),
            (
                "<objectType>Car</objectType>",
                "",
                "an object without `objectType`",
            ),
            (
                "<first_frame>0<",
                "<first_frame>-4<",
                "`first_frame` must be a whole number",
            ),
            (
                "<first_frame>0<",
                "<first_frame>99999999999999999999<",
                "`first_frame` must be a whole number",
            ),
            ("Car", "C&lt;r", "an entity or CDATA"),
            ("<tracklets class_id=\"0\">", "<tracks>", "is no XML"),
            ("</tracklets>\n</boost_serialization>\n", "", "is it cut off?"),
            ("<state>2</state>", "<item><a/></item>", "an `item` within"),
        ] {
            assert!(good.contains(from), "{from}");
            let (at, problem) = parse(&good.replacen(from, to, 1)).unwrap_err();
            assert!(problem.contains(wanted), "{problem}, and not {wanted}");
            assert!(at <= good.len() + to.len());
        }
        assert!(parse("").unwrap_err().1.contains("no element `tracklets`"));
        let deep = "<a>".repeat(100_000);
        assert!(parse(&deep).unwrap_err().1.contains("more than 32 deep"));
    }
}
