//! The ground truth of a raw drive: KITTI's `tracklet_labels.xml`, a box for each frame of everybody's way through the drive.
//! The boxes are of everybody within 85 m ahead, with how much of each is hidden and cut off in the image.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::{Actor, Drive, Identity, MIN_VISIBLE, Object, Rate};

/// Somebody's boxes in frames one after the other.
struct Tracklet {
    first: u64,
    boxes: Vec<(Actor, Sight)>,
}

/// What the camera sees of somebody, in KITTI's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sight {
    /// 0 visible, 1 partly and 2 largely hidden; −1 of who is not in the image.
    occlusion: i8,
    /// 0 wholly in the image, 1 cut by its edge, 2 outside of it.
    truncation: i8,
}

impl Sight {
    /// By the rules of the labels of single scenes.
    pub(super) fn of(object: &Object) -> Sight {
        let is_outside = object.truncated >= 1.0;
        Sight {
            occlusion: match object.visible {
                _ if is_outside => -1,
                visible if visible < MIN_VISIBLE => 2,
                visible => i8::from(visible < 0.8),
            },
            truncation: match is_outside {
                true => 2,
                false => i8::from(object.truncated > 0.0),
            },
        }
    }

    /// Of whom nobody looked at.
    const UNKNOWN: Sight = Sight {
        occlusion: -1,
        truncation: -1,
    };
}

/// The file; `sights` are those of each frame's actors, in their order.
pub(super) fn text(drive: &Drive, rate: Rate, sights: &[Vec<Sight>]) -> String {
    let mut open: BTreeMap<Identity, Tracklet> = BTreeMap::new();
    let mut all = Vec::new();
    let frames = 0..rate.captures(drive.seconds());
    for (frame, sights) in frames.zip(sights) {
        let sights = sights.iter().copied().chain(std::iter::repeat(Sight::UNKNOWN));
        for (actor, sight) in drive.at(rate.time(frame)).actors().iter().zip(sights) {
            let tracklet = open.remove(&actor.identity);
            let mut tracklet = match tracklet {
                Some(known) if known.first + known.boxes.len() as u64 == frame => known,
                // Who was out of sight comes back as another.
                ended => {
                    all.extend(ended);
                    Tracklet {
                        first: frame,
                        boxes: Vec::new(),
                    }
                }
            };
            tracklet.boxes.push((*actor, sight));
            open.insert(actor.identity, tracklet);
        }
    }
    all.extend(open.into_values());
    all.sort_by_key(|tracklet| {
        (
            tracklet.first,
            tracklet.boxes.first().map(|(actor, _)| actor.identity),
        )
    });
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\" ?>\n<!DOCTYPE boost_serialization>\n\
         <boost_serialization signature=\"serialization::archive\" version=\"9\">\n\
         <tracklets class_id=\"0\" tracking_level=\"0\" version=\"0\">\n<count>{}</count>\n<item_version>1</item_version>\n",
        all.len()
    );
    for tracklet in &all {
        one(tracklet, &mut text);
    }
    text + "</tracklets>\n</boost_serialization>\n"
}

fn one(tracklet: &Tracklet, text: &mut String) {
    let Some((first, _)) = tracklet.boxes.first() else {
        return;
    };
    let [length, width, height] = first.size;
    // Writing to a text does not fail.
    let _ = write!(
        text,
        "<item class_id=\"1\" tracking_level=\"0\" version=\"1\">\n<objectType>{}</objectType>\n<h>{height}</h>\n\
         <w>{width}</w>\n<l>{length}</l>\n<first_frame>{}</first_frame>\n\
         <poses class_id=\"2\" tracking_level=\"0\" version=\"0\">\n<count>{}</count>\n<item_version>2</item_version>\n",
        first.class.name(),
        tracklet.first,
        tracklet.boxes.len()
    );
    for (actor, sight) in &tracklet.boxes {
        let place = &actor.place;
        // A place is that of the box's bottom; −1 is what nobody said.
        let _ = writeln!(
            text,
            "<item><tx>{}</tx><ty>{}</ty><tz>{}</tz><rx>0</rx><ry>0</ry><rz>{}</rz><state>2</state>\
             <occlusion>{}</occlusion><occlusion_kf>0</occlusion_kf><truncation>{}</truncation>\
             <amt_occlusion>-1</amt_occlusion><amt_occlusion_kf>-1</amt_occlusion_kf><amt_border_l>-1</amt_border_l>\
             <amt_border_r>-1</amt_border_r><amt_border_kf>-1</amt_border_kf></item>",
            place.x,
            place.y,
            place.z - height / 2.0,
            place.yaw,
            sight.occlusion,
            sight.truncation
        );
    }
    text.push_str("</poses>\n<finished>1</finished>\n</item>\n");
}
