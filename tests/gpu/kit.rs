//! What a machine with a GPU and no compiler needs to measure TensorRT tenants: the double, whose kernels run on a real
//! device, and plans of known duration. scripts/gpu/measure.sh makes it and takes it from there.

use nvidia_doubles::tensorrt;

use super::in_flight::MANY;
use super::scene::{Scene, backbone, camera, encoder, large, launches};

#[test]
#[ignore = "writes the kit into the folder JETLAG_GPU_KIT names"]
fn make_the_kit() {
    let folder = std::path::PathBuf::from(std::env::var_os("JETLAG_GPU_KIT").unwrap());
    let scene = Scene::new().unwrap();
    scene
        .demo(3_000, 6_000)
        .plan("camera5.plan", &camera(5_000))
        .plan("encoder-many.plan", &(encoder(0) + MANY))
        .plan("backbone-many.plan", &(backbone(0) + MANY))
        .plan("launches.plan", &launches(300, 20, 2))
        .plan("kernels.plan", &launches(40, 0, 100))
        .plan("kernels-half.plan", &launches(40, 0, 50))
        .plan("large.plan", &large(3_000))
        .plan("traffic.plan", &(camera(2_000) + "traffic_bytes 268435456\n"));
    let copy = |from: &std::path::Path, to: &std::path::Path| {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    };
    copy(scene.folder.path(), &folder);
    copy(&tensorrt::era('C').unwrap().folder, &folder.join("tensorrt"));
}
