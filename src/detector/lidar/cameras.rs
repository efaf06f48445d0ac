//! What a network that takes images beside a sweep is given of the cameras: their images, prepared as a camera detector's are, and
//! their calibration as matrices.

use std::sync::Arc;

use jetlag_datasets::geometry::{Matrix, Pose, product};
use serde::Deserialize;

use crate::detector::camera::Fit;
use crate::detector::camera::preprocess::CameraPreprocess;
use crate::detector::fusion::set_of;
use crate::detector::{Carry, DetectorError, Preprocess};
use crate::source::context::FrameContext;
use crate::source::wants::Wants;
use crate::source::{Content, ContentKind, Frame};
use crate::tensor::{ElementType, HostTensor, Shape, TensorError, TensorSet};

/// A matrix of a set. Points are columns with a 1 below; a camera's frame has x right, y down and z forward, and pixels are counted as
/// the calibration counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum CalibrationMatrix {
    /// The camera's frame to pixels of its image, times depth.
    CameraIntrinsics,
    /// The camera's frame to the one in which the source places its sensors (nuScenes: ego).
    CameraToEgo,
    /// The LiDAR's frame to that one: one for all cameras.
    LidarToEgo,
    /// The camera's frame when it captured to the LiDAR's when that did.
    CameraToLidar,
    /// The other way.
    LidarToCamera,
    /// `CameraIntrinsics` times `LidarToCamera`.
    LidarToImage,
    /// Pixels of the image to pixels of the network's input: what `fit` does.
    ImageAugmentation,
    /// `ImageAugmentation` times `LidarToImage`, as points with their depth are scaled: x and y of the input, times depth.
    LidarToInput,
    /// What was done to the sweep: nothing, so ones on the diagonal. One for all cameras.
    LidarAugmentation,
}

/// Why a matrix cannot be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoMatrix {
    /// It is not known how the camera projects.
    #[error("it is not known how the camera projects (its intrinsic matrix)")]
    Projection,
    /// It is not known where the camera is.
    #[error("it is not known where the camera is")]
    CameraPlace,
    /// It is not known where the LiDAR is.
    #[error("it is not known where the LiDAR is")]
    LidarPlace,
    /// It is not known where the two are against each other.
    #[error("it is not known where the camera and the LiDAR are against each other")]
    Against,
}

const IDENTITY: Matrix = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
    [0.0, 0.0, 0.0, 1.0],
];

impl CalibrationMatrix {
    /// Whether there is one for each camera.
    pub fn is_per_camera(self) -> bool {
        !matches!(
            self,
            CalibrationMatrix::LidarToEgo | CalibrationMatrix::LidarAugmentation
        )
    }

    /// Its rows, for a camera and the LiDAR of a set, whose image was fitted so.
    ///
    /// # Errors
    /// The source does not know enough of the two.
    pub fn of(
        self,
        camera: Option<&FrameContext>,
        lidar: Option<&FrameContext>,
        fit: Fit,
    ) -> Result<Matrix, NoMatrix> {
        let intrinsics = || {
            let projection = camera.and_then(|of| of.projection).ok_or(NoMatrix::Projection)?;
            let mut matrix = IDENTITY;
            for (row, own) in matrix.iter_mut().zip(projection.matrix) {
                row[..3].copy_from_slice(&own);
            }
            Ok(matrix)
        };
        let place = |of: Option<&FrameContext>, without: NoMatrix| -> Result<Pose, NoMatrix> {
            let place = of.and_then(|of| of.place.as_ref());
            place.map(|place| place.pose).ok_or(without)
        };
        let onto = || {
            let both = lidar.zip(camera);
            both.and_then(|(lidar, camera)| lidar.onto(camera))
                .ok_or(NoMatrix::Against)
        };
        let to_image = || Ok(product(&intrinsics()?, &onto()?.matrix()));
        Ok(match self {
            CalibrationMatrix::CameraIntrinsics => intrinsics()?,
            CalibrationMatrix::CameraToEgo => place(camera, NoMatrix::CameraPlace)?.matrix(),
            CalibrationMatrix::LidarToEgo => place(lidar, NoMatrix::LidarPlace)?.matrix(),
            CalibrationMatrix::CameraToLidar => onto()?.inverse().matrix(),
            CalibrationMatrix::LidarToCamera => onto()?.matrix(),
            CalibrationMatrix::LidarToImage => to_image()?,
            CalibrationMatrix::ImageAugmentation => augmentation(fit, 3),
            CalibrationMatrix::LidarToInput => product(&augmentation(fit, 2), &to_image()?),
            CalibrationMatrix::LidarAugmentation => IDENTITY,
        })
    }
}

/// Pixels of the image to those of the input. The offset stands in this column: the last where it is added to pixels, the third where
/// pixels are still times their depth.
fn augmentation(fit: Fit, column: usize) -> Matrix {
    let mut matrix = IDENTITY;
    for (axis, row) in matrix.iter_mut().take(2).enumerate() {
        row[axis] = f64::from(fit.scale[axis]);
        row[column] = f64::from(fit.offset[axis]);
    }
    matrix
}

/// How the images of several cameras lie in tensors.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Images {
    /// `[cameras, 3, height, width]`, and matrices `[cameras, 4, 4]`.
    #[default]
    Stacked,
    /// `[1, cameras, 3, height, width]`, and matrices `[1, cameras, 4, 4]`.
    Batched,
    /// A tensor a camera, `[1, 3, height, width]`; matrices `[cameras, 4, 4]`.
    Apart(Vec<String>),
}

/// A tensor of matrices.
#[derive(Clone, Debug, PartialEq)]
pub struct CalibrationSpec {
    /// Its name.
    pub tensor: String,
    /// What it holds.
    pub matrix: CalibrationMatrix,
    /// How many rows and columns of it, from its upper left corner.
    pub size: [usize; 2],
}

/// Fills what a network takes of the cameras.
pub struct CameraInputs {
    /// How many cameras there are.
    pub count: usize,
    /// What prepares an image.
    pub prepare: CameraPreprocess,
    /// The tensor of all images, where they have one.
    pub tensor: String,
    /// How they lie.
    pub images: Images,
    /// The tensors of calibration.
    pub calibration: Vec<CalibrationSpec>,
}

impl CameraInputs {
    /// The tensors that it writes.
    pub fn tensors(&self) -> Vec<(String, ElementType, Shape)> {
        let element = self.prepare.format().element.of_tensor();
        let one = self.prepare.format().shape();
        let mut all = match &self.images {
            Images::Apart(names) => names.iter().map(|name| (name.clone(), element, one)).collect(),
            Images::Stacked | Images::Batched => {
                let each = one.dims().get(1..).unwrap_or_default();
                vec![(self.tensor.clone(), element, self.of_all(each, true))]
            }
        };
        let matrices = self.calibration.iter().map(|spec| {
            let shape = self.of_all(&spec.size, spec.matrix.is_per_camera());
            (spec.tensor.clone(), ElementType::F32, shape)
        });
        all.extend(matrices);
        all
    }

    /// The shape of one tensor for all cameras, or for the set.
    fn of_all(&self, each: &[usize], is_per_camera: bool) -> Shape {
        let batch = matches!(self.images, Images::Batched).then_some(1);
        let count = is_per_camera.then_some(self.count);
        let dims: Vec<usize> = batch
            .into_iter()
            .chain(count)
            .chain(each.iter().copied())
            .collect();
        Shape::new(&dims).expect("five dimensions are fewer than MAX_RANK")
    }

    /// Prepares an image where it belongs; answers how it was fitted.
    fn image(&mut self, camera: usize, frame: &Frame, inputs: &mut TensorSet) -> Result<Fit, DetectorError> {
        let Content::Image(image) = frame.content() else {
            return Err(DetectorError::WrongContent {
                wanted: ContentKind::Image,
                found: frame.content().kind(),
            });
        };
        let (name, part) = match &self.images {
            Images::Apart(names) => (names.get(camera).map_or("", String::as_str), 0),
            Images::Stacked | Images::Batched => (self.tensor.as_str(), camera),
        };
        let format = self.prepare.format();
        let each = format.shape().len() * format.element.of_tensor().size();
        let tensor = inputs.get_mut(name)?;
        check_type(tensor, format.element.of_tensor())?;
        let bytes = tensor.host_bytes_mut()?;
        let place = bytes.get_mut(part * each..(part + 1) * each).unwrap_or_default();
        let placed = self.prepare.fill_bytes(image, place);
        let placement = placed.map_err(|error| DetectorError::BadFrame {
            index: frame.index,
            problem: error.to_string(),
        })?;
        Ok(placement.fit([image.width, image.height]))
    }

    /// Writes a camera's matrices.
    fn matrices(
        &self,
        camera: usize,
        image: &Frame,
        lidar: Option<&Arc<FrameContext>>,
        fit: Fit,
        inputs: &mut TensorSet,
    ) -> Result<(), DetectorError> {
        for spec in &self.calibration {
            // What is the same for all cameras is written with the first.
            if camera > 0 && !spec.matrix.is_per_camera() {
                continue;
            }
            let context = image.context.as_deref();
            let matrix = spec.matrix.of(context, lidar.map(|of| &**of), fit);
            let matrix = matrix.map_err(|why| DetectorError::BadFrame {
                index: image.index,
                problem: format!(
                    "no calibration for camera {camera} ({}): {why}, and `{}` takes {:?}",
                    context.map_or("of which the source knows nothing", |of| &of.sensor),
                    spec.tensor,
                    spec.matrix
                ),
            })?;
            let [rows, columns] = spec.size;
            let values = inputs.get_mut(&spec.tensor)?.f32_mut()?;
            let from = camera * rows * columns;
            let place = values.get_mut(from..from + rows * columns).unwrap_or_default();
            let all = matrix.iter().take(rows).flat_map(|row| row.iter().take(columns));
            for (value, of) in place.iter_mut().zip(all) {
                *value = *of as f32;
            }
        }
        Ok(())
    }
}

fn check_type(tensor: &HostTensor, wanted: ElementType) -> Result<(), TensorError> {
    match tensor.element() == wanted {
        true => Ok(()),
        false => Err(TensorError::WrongType {
            name: tensor.name().to_owned(),
            wanted: wanted.name(),
            found: tensor.element().name(),
        }),
    }
}

/// Fills the inputs of a network that takes the images of a set and its sweep.
pub struct SetInput {
    /// What it takes of the cameras.
    pub cameras: CameraInputs,
    /// What fills its inputs from the sweep.
    pub lidar: Box<dyn Preprocess>,
}

impl Preprocess for SetInput {
    fn run(
        &mut self,
        frame: &Frame,
        inputs: &mut TensorSet,
        carry: &mut Carry,
    ) -> Result<u32, DetectorError> {
        let set = set_of(frame, self.cameras.count)?;
        for (camera, image) in set.cameras.iter().enumerate() {
            let fit = self.cameras.image(camera, image, inputs)?;
            let lidar = set.lidar.context.as_ref();
            self.cameras.matrices(camera, image, lidar, fit, inputs)?;
        }
        self.lidar.run(&set.lidar, inputs, carry)
    }

    fn wants(&self) -> Wants {
        self.lidar.wants()
    }
}

#[cfg(test)]
#[path = "cameras_tests.rs"]
mod tests;
