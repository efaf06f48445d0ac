//! What the messages are, in the words of ROS 2, for readers that do not know them.

use crate::message::kind;

/// Lines of one definition, and the types that it needs.
struct Definition {
    kind: &'static str,
    text: &'static str,
    needs: &'static [&'static str],
}

const DEFINITIONS: [Definition; 13] = [
    Definition {
        kind: kind::IMAGE,
        text: "std_msgs/Header header\nuint32 height\nuint32 width\nstring encoding\nuint8 is_bigendian\nuint32 step\nuint8[] data\n",
        needs: &["std_msgs/msg/Header", "builtin_interfaces/msg/Time"],
    },
    Definition {
        kind: kind::COMPRESSED_IMAGE,
        text: "std_msgs/Header header\nstring format\nuint8[] data\n",
        needs: &["std_msgs/msg/Header", "builtin_interfaces/msg/Time"],
    },
    Definition {
        kind: kind::POINT_CLOUD,
        text: "std_msgs/Header header\nuint32 height\nuint32 width\nsensor_msgs/PointField[] fields\nbool is_bigendian\n\
               uint32 point_step\nuint32 row_step\nuint8[] data\nbool is_dense\n",
        needs: &[
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
            "sensor_msgs/msg/PointField",
        ],
    },
    Definition {
        kind: kind::CAMERA_INFO,
        text: "std_msgs/Header header\nuint32 height\nuint32 width\nstring distortion_model\nfloat64[] d\nfloat64[9] k\n\
               float64[9] r\nfloat64[12] p\nuint32 binning_x\nuint32 binning_y\nsensor_msgs/RegionOfInterest roi\n",
        needs: &[
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
            "sensor_msgs/msg/RegionOfInterest",
        ],
    },
    Definition {
        kind: kind::TRANSFORMS,
        text: "geometry_msgs/TransformStamped[] transforms\n",
        needs: &[
            kind::TRANSFORM,
            "std_msgs/msg/Header",
            "builtin_interfaces/msg/Time",
            "geometry_msgs/msg/Transform",
            "geometry_msgs/msg/Vector3",
            "geometry_msgs/msg/Quaternion",
        ],
    },
    Definition {
        kind: kind::TRANSFORM,
        text: "std_msgs/Header header\nstring child_frame_id\ngeometry_msgs/Transform transform\n",
        needs: &[],
    },
    Definition {
        kind: "std_msgs/msg/Header",
        text: "builtin_interfaces/Time stamp\nstring frame_id\n",
        needs: &[],
    },
    Definition {
        kind: "builtin_interfaces/msg/Time",
        text: "int32 sec\nuint32 nanosec\n",
        needs: &[],
    },
    Definition {
        kind: "sensor_msgs/msg/PointField",
        text: "uint8 INT8=1\nuint8 UINT8=2\nuint8 INT16=3\nuint8 UINT16=4\nuint8 INT32=5\nuint8 UINT32=6\nuint8 FLOAT32=7\n\
               uint8 FLOAT64=8\nstring name\nuint32 offset\nuint8 datatype\nuint32 count\n",
        needs: &[],
    },
    Definition {
        kind: "sensor_msgs/msg/RegionOfInterest",
        text: "uint32 x_offset\nuint32 y_offset\nuint32 height\nuint32 width\nbool do_rectify\n",
        needs: &[],
    },
    Definition {
        kind: "geometry_msgs/msg/Transform",
        text: "geometry_msgs/Vector3 translation\ngeometry_msgs/Quaternion rotation\n",
        needs: &[],
    },
    Definition {
        kind: "geometry_msgs/msg/Vector3",
        text: "float64 x\nfloat64 y\nfloat64 z\n",
        needs: &[],
    },
    Definition {
        kind: "geometry_msgs/msg/Quaternion",
        text: "float64 x 0\nfloat64 y 0\nfloat64 z 0\nfloat64 w 1\n",
        needs: &[],
    },
];

fn definition(kind: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|definition| definition.kind == kind)
}

/// The definition of a type with all that it needs, as MCAP's `ros2msg` has it; empty for a type that is not known here.
pub(super) fn text(kind: &str) -> String {
    let Some(main) = definition(kind) else {
        return String::new();
    };
    let mut text = main.text.to_owned();
    for needed in main.needs.iter().filter_map(|kind| definition(kind)) {
        let rule = "=".repeat(80);
        let name = needed.kind.replace("/msg/", "/");
        text += &format!("{rule}\nMSG: {name}\n{}", needed.text);
    }
    text
}
