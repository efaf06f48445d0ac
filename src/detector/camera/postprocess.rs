//! Output tensors to detections: the head's candidates, thinned, and put back into the image.

use super::head::{Geometry, Head};
use super::nms::{Candidates, Nms};
use crate::detector::{Carry, Detection, DetectorError, Place, Postprocess};
use crate::tensor::TensorSet;

/// [`Postprocess`] of every camera detector.
pub struct CameraPostprocess {
    /// The detector spec's name, for messages.
    spec: String,
    geometry: Geometry,
    head: Head,
    nms: Nms,
    candidates: Candidates,
}

impl CameraPostprocess {
    /// With this head; `spec` is the name that errors show.
    pub fn new(spec: String, geometry: Geometry, head: Head, score_threshold: f32, nms: Nms) -> Self {
        CameraPostprocess {
            spec,
            geometry,
            head,
            candidates: Candidates::new(score_threshold, nms.labels),
            nms,
        }
    }
}

impl Postprocess for CameraPostprocess {
    fn run(
        &mut self,
        outputs: &TensorSet,
        carry: &Carry,
        found: &mut Vec<Detection>,
    ) -> Result<(), DetectorError> {
        found.clear();
        self.candidates.clear();
        self.head
            .decode(&self.geometry, outputs, &mut self.candidates)
            .map_err(|error| error.of_spec(&self.spec))?;
        self.candidates.suppress(&self.nms);
        let is_of_image = self.head.is_of_image();
        found.extend(self.candidates.as_slice().iter().filter_map(|candidate| {
            let place = match is_of_image {
                true => candidate.place,
                false => carry.fit.to_image(candidate.place),
            };
            let place = carry.fit.clip(place)?;
            Some(Detection {
                camera: carry.camera,
                ..Detection::still(candidate.class, candidate.score, Place::Image(place))
            })
        }));
        Ok(())
    }
}
