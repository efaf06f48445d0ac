//! Messages in little-endian CDR.

use crate::message::{CompressedImage, Field, Header, Image, Region, TransformStamped, kind};
use crate::time::Time;

/// A message to be written.
#[derive(Clone, Copy, Debug)]
pub enum Message<'a> {
    /// `sensor_msgs/Image`
    Image(Image<'a>),
    /// `sensor_msgs/CompressedImage`
    CompressedImage(CompressedImage<'a>),
    /// `sensor_msgs/PointCloud2`
    PointCloud(CloudMessage<'a>),
    /// `sensor_msgs/CameraInfo`
    CameraInfo(&'a CameraMessage<'a>),
    /// `tf2_msgs/TFMessage`
    Transforms(&'a [TransformStamped<'a>]),
}

/// A `sensor_msgs/PointCloud2` to be written; see [`PointCloud`](crate::message::PointCloud) for the fields.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "see PointCloud")]
pub struct CloudMessage<'a> {
    pub stamp: Time,
    pub frame_id: &'a str,
    pub height: u32,
    pub width: u32,
    pub fields: &'a [Field<'a>],
    pub is_big_endian: bool,
    pub point_step: u32,
    pub row_step: u32,
    pub data: &'a [u8],
    pub is_dense: bool,
}

/// A `sensor_msgs/CameraInfo` to be written; see [`CameraInfo`](crate::message::CameraInfo) for the fields.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "see CameraInfo")]
pub struct CameraMessage<'a> {
    pub header: Header<'a>,
    pub height: u32,
    pub width: u32,
    pub distortion_model: &'a str,
    pub d: &'a [f64],
    pub k: [f64; 9],
    pub r: [f64; 9],
    pub p: [f64; 12],
    pub binning_x: u32,
    pub binning_y: u32,
    pub roi: Region,
}

impl Message<'_> {
    /// The type's name.
    pub fn kind(&self) -> &'static str {
        match self {
            Message::Image(_) => kind::IMAGE,
            Message::CompressedImage(_) => kind::COMPRESSED_IMAGE,
            Message::PointCloud(_) => kind::POINT_CLOUD,
            Message::CameraInfo(_) => kind::CAMERA_INFO,
            Message::Transforms(_) => kind::TRANSFORMS,
        }
    }
}

/// Replaces what `out` holds by a message as bags hold it. A sequence of 2³² or more elements, which CDR cannot hold, is cut to that.
pub fn encode(message: &Message<'_>, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0, 1, 0, 0]);
    let mut encoder = Encoder(out);
    match message {
        Message::Image(image) => encoder.image(image),
        Message::CompressedImage(image) => {
            encoder.header(&image.header);
            encoder.str(image.format);
            encoder.bytes(image.data);
        }
        Message::PointCloud(cloud) => encoder.cloud(cloud),
        Message::CameraInfo(info) => encoder.camera(info),
        Message::Transforms(transforms) => {
            encoder.length(transforms.len());
            for transform in *transforms {
                encoder.header(&transform.header);
                encoder.str(transform.child_frame_id);
                encoder.f64s(&transform.translation);
                encoder.f64s(&transform.rotation);
            }
        }
    }
}

struct Encoder<'a>(&'a mut Vec<u8>);

impl Encoder<'_> {
    fn put<const N: usize>(&mut self, bytes: [u8; N]) {
        let used = self.0.len() - 4;
        self.0.resize(4 + used.next_multiple_of(N), 0);
        self.0.extend_from_slice(&bytes);
    }
    fn bool(&mut self, value: bool) {
        self.0.push(u8::from(value));
    }
    fn u32(&mut self, value: u32) {
        self.put(value.to_le_bytes());
    }
    fn f64s(&mut self, values: &[f64]) {
        values.iter().for_each(|value| self.put(value.to_le_bytes()));
    }
    fn length(&mut self, elements: usize) -> usize {
        let length = u32::try_from(elements).unwrap_or(u32::MAX);
        self.u32(length);
        length as usize
    }
    fn bytes(&mut self, bytes: &[u8]) {
        let length = self.length(bytes.len());
        self.0.extend_from_slice(&bytes[..length]);
    }
    fn str(&mut self, text: &str) {
        self.length(text.len() + 1);
        self.0.extend_from_slice(text.as_bytes());
        self.0.push(0);
    }
    fn time(&mut self, time: Time) {
        let (sec, nanosec) = time.parts();
        self.put(sec.to_le_bytes());
        self.u32(nanosec);
    }
    fn header(&mut self, header: &Header<'_>) {
        self.time(header.stamp);
        self.str(header.frame_id);
    }
    fn image(&mut self, image: &Image<'_>) {
        self.header(&image.header);
        self.u32(image.height);
        self.u32(image.width);
        self.str(image.encoding.name());
        self.bool(image.is_big_endian);
        self.u32(image.step);
        self.bytes(image.data);
    }
    fn cloud(&mut self, cloud: &CloudMessage<'_>) {
        self.time(cloud.stamp);
        self.str(cloud.frame_id);
        self.u32(cloud.height);
        self.u32(cloud.width);
        self.length(cloud.fields.len());
        for field in cloud.fields {
            self.str(field.name);
            self.u32(field.offset);
            self.0.push(field.number.datatype());
            self.u32(field.count);
        }
        self.bool(cloud.is_big_endian);
        self.u32(cloud.point_step);
        self.u32(cloud.row_step);
        self.bytes(cloud.data);
        self.bool(cloud.is_dense);
    }
    fn camera(&mut self, info: &CameraMessage<'_>) {
        self.header(&info.header);
        self.u32(info.height);
        self.u32(info.width);
        self.str(info.distortion_model);
        self.length(info.d.len());
        self.f64s(info.d);
        self.f64s(&info.k);
        self.f64s(&info.r);
        self.f64s(&info.p);
        self.u32(info.binning_x);
        self.u32(info.binning_y);
        let roi = &info.roi;
        for number in [roi.x_offset, roi.y_offset, roi.height, roi.width] {
            self.u32(number);
        }
        self.bool(roi.do_rectify);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{CameraInfo, Encoding, Number, PointCloud, transforms};

    const HEADER: Header<'static> = Header {
        stamp: Time(1_700_000_000_123_456_789),
        frame_id: "front",
    };

    fn encoded(message: Message<'_>) -> Vec<u8> {
        let mut out = vec![7; 30];
        encode(&message, &mut out);
        out
    }

    #[test]
    fn what_was_encoded_is_decoded_the_same() {
        let image = Image {
            header: HEADER,
            width: 3,
            height: 2,
            encoding: Encoding::Bgr8,
            is_big_endian: true,
            step: 10,
            data: &[5; 20],
        };
        assert_eq!(Image::decode(&encoded(Message::Image(image))), Ok(image));
        let jpeg = CompressedImage {
            header: HEADER,
            format: "jpeg",
            data: &[1, 2, 3],
        };
        assert_eq!(
            CompressedImage::decode(&encoded(Message::CompressedImage(jpeg))),
            Ok(jpeg)
        );
        let places = ["a", "longer"].map(|child| TransformStamped {
            header: HEADER,
            child_frame_id: child,
            translation: [1.0, 2.0, 3.0],
            rotation: [0.0, 0.0, 0.6, 0.8],
        });
        assert_eq!(
            transforms(&encoded(Message::Transforms(&places))).unwrap(),
            places
        );
        assert_eq!(transforms(&encoded(Message::Transforms(&[]))).unwrap(), []);
    }

    #[test]
    fn calibrations_and_clouds_too() {
        let info = CameraMessage {
            header: HEADER,
            height: 480,
            width: 640,
            distortion_model: "plumb_bob",
            d: &[0.1, -0.2, 0.0, 0.0, 0.5],
            k: [500.0, 0.0, 320.0, 0.0, 500.0, 240.0, 0.0, 0.0, 1.0],
            r: [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            p: [500.0; 12],
            binning_x: 1,
            binning_y: 2,
            roi: Region {
                x_offset: 1,
                y_offset: 2,
                height: 3,
                width: 4,
                do_rectify: true,
            },
        };
        let message = encoded(Message::CameraInfo(&info));
        let found = CameraInfo::decode(&message).unwrap();
        assert_eq!(found.d.collect::<Vec<_>>(), info.d);
        assert_eq!(
            (found.k, found.r, found.p, found.roi),
            (info.k, info.r, info.p, info.roi)
        );
        assert_eq!((found.header, found.height, found.width), (HEADER, 480, 640));
        assert_eq!(
            (found.distortion_model, found.binning_x, found.binning_y),
            ("plumb_bob", 1, 2)
        );
        for cut in 0..message.len() {
            assert!(CameraInfo::decode(&message[..cut]).is_err(), "{cut}");
        }
        let fields = [("x", Number::Float32), ("ring", Number::Uint16)].map(|(name, number)| Field {
            name,
            offset: 4,
            number,
            count: 1,
        });
        let cloud = CloudMessage {
            stamp: HEADER.stamp,
            frame_id: HEADER.frame_id,
            height: 2,
            width: 2,
            fields: &fields,
            is_big_endian: false,
            point_step: 6,
            row_step: 13,
            data: &[3; 26],
            is_dense: true,
        };
        let message = encoded(Message::PointCloud(cloud));
        let found = PointCloud::decode(&message).unwrap();
        assert_eq!(found.fields.collect::<Vec<_>>(), fields);
        assert_eq!(
            (found.header, found.data, found.row_step),
            (HEADER, cloud.data, 13)
        );
        assert!(found.is_dense && !found.is_big_endian);
        for cut in 0..message.len() {
            assert!(PointCloud::decode(&message[..cut]).is_err(), "{cut}");
        }
    }

    #[test]
    fn an_image_that_claims_more_than_it_holds_is_a_sentence() {
        let mut image = Image {
            header: HEADER,
            width: u32::MAX,
            height: u32::MAX,
            encoding: Encoding::Rgb8,
            is_big_endian: false,
            step: u32::MAX,
            data: &[0; 2000],
        };
        let refused = |image| {
            Image::decode(&encoded(Message::Image(image)))
                .unwrap_err()
                .to_string()
        };
        let text = refused(image);
        assert!(
            text.contains(
                "a row of 4294967295 pixels as rgb8 takes 4294967295 bytes, but it takes 12884901885"
            ),
            "{text}"
        );
        image.encoding = Encoding::Mono8;
        let text = refused(image);
        assert!(text.contains("but it holds 2000"), "{text}");
        (image.width, image.height, image.step) = (640, 480, 640);
        let text = refused(image);
        assert!(
            text.contains("640×480") && text.contains("307200 bytes, but it holds 2000"),
            "{text}"
        );
        image.encoding = Encoding::Other("strange");
        assert!(refused(image).contains("but it holds 2000"));
    }
}
