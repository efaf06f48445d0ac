//! A raw drive and an odometry sequence of KITTI, made up: 10 frames each; the drive's LiDAR lost frame 4.

use std::fmt::Write as _;
use std::path::Path;

pub(crate) const DRIVE: &str = "2011_09_26_drive_0001_sync";

const FRAMES: usize = 10;

fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn text(values: &[f64]) -> String {
    values.iter().fold(String::new(), |mut text, v| {
        write!(text, " {v:e}").unwrap();
        text
    })
}

/// Of a camera so many metres to the right of camera 0.
fn projection(right: f64) -> String {
    text(&[
        721.5,
        0.0,
        609.6,
        -721.5 * right,
        0.0,
        721.5,
        172.9,
        0.1,
        0.0,
        0.0,
        1.0,
        0.002,
    ])
}

const RIGHTS: [f64; 4] = [0.0, 0.54, -0.06, 0.47];
const TURN: [f64; 9] = [
    7.5e-3, -0.99997, -6.2e-4, 1.48e-2, 7.3e-4, -0.99989, 0.99986, 7.5e-3, 1.48e-2,
];

/// Writes the drive below a root.
pub(crate) fn raw(root: &Path) {
    let day = root.join("2011_09_26");
    let turn = text(&TURN);
    let mut cameras = String::from("calib_time: 09-Jan-2012 13:57:47\ncorner_dist: 9.950000e-02\n");
    for (number, right) in RIGHTS.iter().enumerate() {
        writeln!(
            cameras,
            "R_rect_{number:02}: 0.99992 0.0098 -0.0074 -0.0099 0.99994 -0.0043 0.0074 0.0044 0.99996"
        )
        .unwrap();
        writeln!(cameras, "P_rect_{number:02}:{}", projection(*right)).unwrap();
    }
    write(&day.join("calib_cam_to_cam.txt"), cameras);
    write(
        &day.join("calib_velo_to_cam.txt"),
        format!("calib_time: 15-Mar-2012 11:37:16\nR:{turn}\nT: -0.004 -0.076 -0.27\n"),
    );
    write(
        &day.join("calib_imu_to_velo.txt"),
        "calib_time: 25-May-2012 16:47:16\nR: 0.999 7.5e-4 -2e-3 -7.8e-4 0.9998 -1.48e-2 2e-3 1.48e-2 0.9998\nT: -0.81 0.32 -0.8\n",
    );
    let drive = day.join(DRIVE);
    for (sensor, ending, late_us) in [
        ("image_02", "png", 0),
        ("velodyne_points", "bin", 7_000),
        ("oxts", "txt", 3_000),
    ] {
        let mut times = String::new();
        for number in 0..FRAMES {
            let us = 58_964_000 + late_us + number as i64 * 103_500;
            let (minute, second) = (2 + us / 60_000_000, us % 60_000_000);
            writeln!(
                times,
                "2011-09-26 13:{minute:02}:{:02}.{:06}445",
                second / 1_000_000,
                second % 1_000_000
            )
            .unwrap();
            if sensor == "velodyne_points" && number == 4 {
                continue;
            }
            let content = if sensor == "oxts" {
                packet(number)
            } else {
                String::new()
            };
            write(
                &drive.join(sensor).join(format!("data/{number:010}.{ending}")),
                content,
            );
        }
        write(&drive.join(sensor).join("timestamps.txt"), times);
    }
}

fn packet(number: usize) -> String {
    let step = number as f64;
    let mut values = vec![
        49.015 + step * 1e-5,
        8.434 + step * 3e-5,
        116.4 + step * 0.02,
        0.035,
        0.001 * step,
        -2.6 + 0.01 * step,
    ];
    values.resize(25, 0.1);
    format!("{} 4 10 4 4 0\n", text(&values).trim())
}

/// Writes sequence 00 below a root.
pub(crate) fn odometry(root: &Path) {
    let sequence = root.join("sequences/00");
    let (mut times, mut poses) = (String::new(), String::new());
    for number in 0..FRAMES {
        writeln!(times, "{:e}", number as f64 * 0.103_622_4).unwrap();
        let (sin, cos) = (number as f64 * 0.01).sin_cos();
        let pose = [
            cos,
            0.0,
            sin,
            0.1,
            0.0,
            1.0,
            0.0,
            -0.02,
            -sin,
            0.0,
            cos,
            number as f64 * 0.86,
        ];
        writeln!(poses, "{}", text(&pose).trim()).unwrap();
        write(&sequence.join(format!("velodyne/{number:06}.bin")), "");
        write(&sequence.join(format!("image_2/{number:06}.png")), "");
    }
    write(&sequence.join("times.txt"), times);
    write(&root.join("poses/00.txt"), poses);
    let mut calib = String::new();
    for (number, right) in RIGHTS.iter().enumerate() {
        writeln!(calib, "P{number}:{}", projection(*right)).unwrap();
    }
    let t = TURN;
    writeln!(
        calib,
        "Tr:{}",
        text(&[
            t[0], t[1], t[2], -0.004, t[3], t[4], t[5], -0.076, t[6], t[7], t[8], -0.27
        ])
    )
    .unwrap();
    write(&sequence.join("calib.txt"), calib);
}
