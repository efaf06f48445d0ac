//! Where the wanted numbers are within a point.

use jetlag_record::point_fields;

use crate::message::{Field, Number, PointCloud};

/// A number of a point: where it begins, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) offset: usize,
    pub(super) number: Number,
}

/// Where the wanted numbers are within each point of a cloud, checked against the length of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointLayout {
    pub(super) xyz: [Place; 3],
    pub(super) intensity: Option<Place>,
    pub(super) ring: Option<Place>,
    pub(super) time: Option<Place>,
}

/// Why the fields of a cloud are not those of points.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayoutError {
    /// A coordinate is missing.
    #[error("the point cloud has no field `{missing}`: its fields are {fields}")]
    Missing {
        /// `x`, `y` or `z`.
        missing: &'static str,
        /// The names that there are.
        fields: String,
    },
    /// Two fields of one name.
    #[error("the point cloud has two fields `{name}`, so that it is not known which is meant")]
    Twice {
        /// The name.
        name: String,
    },
    /// More fields than any driver has.
    #[error("the point cloud has more than {MOST_FIELDS} fields: it is damaged")]
    TooMany,
    /// A field that goes beyond the point.
    #[error(
        "the field `{name}` of the point cloud takes {bytes} bytes at {offset}, but a point has {point_step} bytes"
    )]
    Beyond {
        /// The field's name.
        name: String,
        /// Where it begins.
        offset: u32,
        /// Its bytes.
        bytes: u32,
        /// Bytes of a point.
        point_step: u32,
    },
    /// A field of a type that the format does not know.
    #[error(
        "the field `{name}` of the point cloud has the type {datatype}; types are 1 (int8) to 8 (float64)"
    )]
    Type {
        /// The field's name.
        name: String,
        /// The type's number.
        datatype: u8,
    },
    /// A field that is a list.
    #[error("the field `{name}` of the point cloud has {count} numbers for each point, not one")]
    List {
        /// The field's name.
        name: String,
        /// How many.
        count: u32,
    },
}

impl PointLayout {
    /// Of a cloud.
    ///
    /// # Errors
    /// x, y or z is missing; a name is there twice; or a wanted field goes beyond a point, is a list, or has no known type.
    pub fn of(cloud: &PointCloud<'_>) -> Result<PointLayout, LayoutError> {
        for (n, field) in cloud.fields.enumerate() {
            if n == MOST_FIELDS {
                return Err(LayoutError::TooMany);
            }
            if cloud.fields.take(n).any(|earlier| earlier.name == field.name) {
                return Err(LayoutError::Twice {
                    name: field.name.to_owned(),
                });
            }
        }
        let place = |names: &[&str]| -> Result<Option<Place>, LayoutError> {
            let found = point_fields::find(cloud.fields.map(|field| field.name), names);
            let mut fields = cloud.fields;
            let field = found.and_then(|place| fields.nth(place));
            field.map(|field| check(&field, cloud.point_step)).transpose()
        };
        let coordinate = |name: &'static str| {
            place(&[name])?.ok_or_else(|| LayoutError::Missing {
                missing: name,
                fields: names(cloud),
            })
        };
        Ok(PointLayout {
            xyz: [coordinate("x")?, coordinate("y")?, coordinate("z")?],
            intensity: place(point_fields::INTENSITY)?,
            ring: place(point_fields::RING)?,
            time: place(point_fields::TIME)?,
        })
    }

    /// Whether the points say how strong their returns were.
    pub fn has_intensity(&self) -> bool {
        self.intensity.is_some()
    }

    /// Whether the points say which laser measured them.
    pub fn has_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// Whether the points say when they were measured.
    pub fn has_time(&self) -> bool {
        self.time.is_some()
    }
}

/// More fields than any driver has; looking for two of a name takes the square of their number.
const MOST_FIELDS: usize = 256;

fn check(field: &Field<'_>, point_step: u32) -> Result<Place, LayoutError> {
    let name = || field.name.to_owned();
    let Some(bytes) = field.number.bytes() else {
        return Err(LayoutError::Type {
            name: name(),
            datatype: field.number.datatype(),
        });
    };
    // Some drivers leave the count at 0, meaning one.
    if field.count > 1 {
        return Err(LayoutError::List {
            name: name(),
            count: field.count,
        });
    }
    if field.offset.checked_add(bytes).is_none_or(|end| end > point_step) {
        return Err(LayoutError::Beyond {
            name: name(),
            offset: field.offset,
            bytes,
            point_step,
        });
    }
    Ok(Place {
        offset: field.offset as usize,
        number: field.number,
    })
}

/// The names of a cloud's fields, in words.
pub fn names(cloud: &PointCloud<'_>) -> String {
    const SHOWN: usize = 32;
    let names: Vec<&str> = cloud.fields.take(SHOWN).map(|field| field.name).collect();
    match names.is_empty() {
        true => "none at all".to_owned(),
        false => names.join(", "),
    }
}
