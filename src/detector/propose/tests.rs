//! Public exports by their published inputs and outputs, and networks that nothing fits.

use std::path::Path;
use std::sync::Arc;

use super::*;
use crate::backend::NetworkSource;
use crate::detector::camera::preprocess::Colour;
use crate::detector::spec;
use crate::engine::network::Port;

/// `images:float:1,3,640,640`.
fn port(text: &str) -> Port {
    // The last two parts are type and shape; a name may hold colons.
    let [shape, element, name] = text.rsplitn(3, ':').collect::<Vec<_>>()[..] else {
        panic!("{text}");
    };
    Port {
        name: name.to_owned(),
        element: element.to_owned(),
        shape: shape.split(',').map(str::to_owned).collect(),
        is_shaped: true,
        made_by: None,
    }
}

fn network(inputs: &[&str], outputs: &[&str]) -> NetworkFacts {
    NetworkFacts {
        inputs: inputs.iter().map(|text| port(text)).collect(),
        outputs: outputs.iter().map(|text| port(text)).collect(),
        ..NetworkFacts::default()
    }
}

/// Over an image of 640 × 640.
fn of_image(outputs: &[&str]) -> NetworkFacts {
    network(&["images:float:1,3,640,640"], outputs)
}

/// The best proposal.
fn best(facts: &NetworkFacts) -> Proposal {
    let all = propose(facts);
    let first = all.first().unwrap_or_else(|| panic!("nothing fits {facts:?}"));
    assert!(!first.reasons.is_empty());
    first.clone()
}

/// The best proposal's family, and its head.
fn looks(facts: &NetworkFacts) -> (&'static str, Option<&'static str>) {
    let best = best(facts);
    (best.family, best.head())
}

/// A draft's spec must be one; its networks need not be there.
#[track_caller]
fn builds(text: &str) {
    let made = spec::from_str(text, "draft.ron", Path::new(""), &|_| {
        Some(NetworkSource::Embedded {
            name: "network",
            bytes: Arc::from([]),
        })
    });
    if let Err(problem) = made {
        panic!("{problem}\nin\n{text}");
    }
}

fn camera(facts: &NetworkFacts) -> CameraDraft {
    match best(facts).draft {
        Draft::Camera(draft) => {
            builds(&draft.ron("net", "net.onnx", &["tried on nothing".to_owned()]));
            *draft
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn yolov5_has_three_rows_a_cell() {
    let plain = of_image(&["output0:float:1,25200,85"]);
    assert_eq!(looks(&plain), ("YOLOv5, YOLOv7", Some("YoloAnchors")));
    assert_eq!(camera(&plain).classes, ClassNames::Coco80);
    // Older exports name their maps, too.
    let maps = [
        "output:float:1,25200,85",
        "339:float:1,3,80,80,85",
        "391:float:1,3,40,40,85",
        "443:float:1,3,20,20,85",
    ];
    assert_eq!(looks(&of_image(&maps)), ("YOLOv5, YOLOv7", Some("YoloAnchors")));
    // Without the last layer.
    let raw = of_image(&maps[1..]);
    assert_eq!(
        looks(&raw),
        ("YOLOv5, YOLOv7 without their last layer", Some("YoloAnchors"))
    );
    camera(&raw);
    let large = network(&["images:float:1,3,1280,1280"], &["output0:float:1,102000,85"]);
    assert_eq!(
        looks(&large),
        ("YOLOv5, YOLOv7", Some("YoloAnchors")),
        "P6: four strides"
    );
}

#[test]
fn yolov8_and_yolo11_have_a_column_a_cell_and_no_objectness() {
    let plain = of_image(&["output0:float:1,84,8400"]);
    assert_eq!(looks(&plain), ("YOLOv8, YOLOv9, YOLO11", Some("YoloAnchorFree")));
    let draft = camera(&plain);
    assert_eq!(
        (draft.width, draft.height, draft.scaling),
        (640, 640, Scaling::Unit)
    );
    // YOLO11 for 7 own classes, whose names and size the exporter noted, of any size.
    let mut own = network(
        &["images:float:batch,3,height,width"],
        &["output0:float:batch,11,anchors"],
    );
    own.metadata.insert(
        "names".to_owned(),
        "{0: 'a', 1: 'b', 2: 'c', 3: 'd', 4: 'e', 5: 'f', 6: 'g'}".to_owned(),
    );
    own.metadata.insert("imgsz".to_owned(), "[384, 640]".to_owned());
    own.metadata.insert("task".to_owned(), "detect".to_owned());
    assert_eq!(looks(&own), ("YOLOv8, YOLOv9, YOLO11", Some("YoloAnchorFree")));
    let draft = camera(&own);
    assert_eq!((draft.width, draft.height, draft.is_sized), (640, 384, false));
    assert!(
        draft
            .ron("n", "n.onnx", &[])
            .contains(r#"["a", "b", "c", "d", "e", "f", "g"]"#)
    );
    // What has the shape of boxes and is something else.
    own.metadata.insert("task".to_owned(), "pose".to_owned());
    assert_eq!(looks(&own).1, None);
    let segment = of_image(&["output0:float:1,116,8400", "output1:float:1,32,160,160"]);
    assert!(propose(&segment).iter().all(|proposal| proposal.head().is_none()));
}

#[test]
fn yolov10_ends_in_boxes() {
    let facts = of_image(&["output0:float:1,300,6"]);
    let (family, head) = looks(&facts);
    assert!(family.contains("YOLOv10"), "{family}");
    assert_eq!(head, Some("EndToEnd"));
    let text = camera(&facts).ron("yolov10", "yolov10.onnx", &[]);
    assert!(
        text.contains(r#"EndToEnd(boxes: "output0")"#) && text.contains("iou: 1.0"),
        "{text}"
    );
}

#[test]
fn yolox_has_a_row_a_cell() {
    let nano = network(&["images:float:1,3,416,416"], &["output:float:1,3549,85"]);
    assert_eq!(looks(&nano), ("YOLOX", Some("YoloxGrid")));
    let text = camera(&nano).ron("yolox", "../yolox.onnx", &[]);
    assert!(
        text.contains("colour: Bgr") && text.contains("scale: 1.0"),
        "{text}"
    );
    // The next candidate has one class more, and no objectness.
    let next: Vec<_> = propose(&nano).iter().map(|proposal| proposal.family).collect();
    assert_eq!(next, ["YOLOX", "YOLOv6", "YOLOv8, YOLOv9, YOLO11"]);
}

#[test]
fn nanodet_has_a_pair_of_outputs_a_stride() {
    let plain = network(
        &["input.1:float:1,3,416,416"],
        &[
            "792:float:1,2704,80",
            "814:float:1,676,80",
            "836:float:1,169,80",
            "795:float:1,2704,32",
            "817:float:1,676,32",
            "839:float:1,169,32",
        ],
    );
    assert_eq!(looks(&plain), ("NanoDet", Some("NanoDet")));
    let text = camera(&plain).ron("nanodet", "nanodet.onnx", &[]);
    assert!(
        text.contains(r#"(scores: "814", boxes: "817", stride: 16)"#),
        "{text}"
    );
    let plus = network(&["data:float:1,3,416,416"], &["output:float:1,3598,112"]);
    assert_eq!(looks(&plus), ("NanoDet-Plus", Some("Grid")));
    let text = camera(&plus).ron("plus", "plus.onnx", &[]);
    assert!(text.contains("(stride: 64, cells: (7, 7))"), "{text}");
}

#[test]
fn rt_detr_is_told_and_read_in_each_of_its_forms() {
    let of_outputs = |outputs: &[&str]| {
        network(
            &["images:float:N,3,640,640", "orig_target_sizes:int64:N,2"],
            outputs,
        )
    };
    let own = of_outputs(&["labels:int64:N,300", "boxes:float:N,300,4", "scores:float:N,300"]);
    let ultralytics = of_image(&["output0:float:1,300,84"]);
    let paddle = network(
        &[
            "im_shape:float:N,2",
            "image:float:N,3,640,640",
            "scale_factor:float:N,2",
        ],
        &["concat_0.tmp_0:float:?,6", "cast_0.tmp_0:int32:?"],
    );
    let family = "RT-DETR or a network like it";
    assert_eq!(looks(&own), (family, Some("EndToEnd")));
    assert_eq!(looks(&ultralytics), (family, Some("Grid")));
    assert_eq!(looks(&paddle), (family, Some("EndToEnd")));
    let text = camera(&own).ron("rtdetr", "rtdetr.onnx", &[]);
    let entry = r#"(tensor: "orig_target_sizes", values: [ImageWidth, ImageHeight], element: I64)"#;
    assert!(
        text.contains(entry) && text.contains("units: ImagePixels"),
        "{text}"
    );
    builds(&text);
    let text = camera(&paddle).ron("paddle", "paddle.onnx", &[]);
    assert!(
        text.contains(r#"(tensor: "scale_factor", values: [ScaleY, ScaleX])"#)
            && text.contains(r#"count: "cast_0.tmp_0""#),
        "{text}"
    );
    builds(&text);
    // An input that nobody knows, and outputs that no head is for.
    assert_eq!(looks(&of_outputs(&["out:float:N,300,92"])), (family, None));
    let masked = network(
        &[
            "images:float:1,3,640,640",
            "orig_target_sizes:int64:1,2",
            "mask:bool:1,640,640",
        ],
        &["labels:int64:1,300", "boxes:float:1,300,4", "scores:float:1,300"],
    );
    assert!(best(&masked).sentence().contains("no head here: time only"));
}

#[test]
fn detr_has_a_column_for_no_object_and_a_classifier_values_alone() {
    let detr = network(
        &["image:float:1,3,800,1066"],
        &["logits:float:1,100,92", "pred_boxes:float:1,100,4"],
    );
    assert_eq!(looks(&detr), ("DETR or a network like it", Some("Queries")));
    assert_eq!(camera(&detr).classes, ClassNames::MadeUp(91));
    let resnet = network(&["data:float:1,3,224,224"], &["logits:float:1,1000"]);
    assert_eq!(looks(&resnet), ("an image classifier", Some("Classifier")));
}

#[test]
fn what_the_file_says_of_itself_goes_before_shapes() {
    let mut turned = of_image(&["output0:float:1,8400,84"]);
    assert_eq!(looks(&turned).1, Some("YoloAnchorFree"), "80 classes are COCO's");
    let names: Vec<String> = (0..10).map(|n| format!("{n}: 'c{n}'")).collect();
    turned = of_image(&["output0:float:1,8400,14"]);
    turned
        .metadata
        .insert("names".to_owned(), format!("{{{}}}", names.join(", ")));
    turned.metadata.insert("task".to_owned(), "detect".to_owned());
    assert_eq!(looks(&turned).1, Some("YoloAnchorFree"));
    let mut classes = network(&["images:float:1,3,224,224"], &["output0:float:1,10"]);
    classes.metadata.clone_from(&turned.metadata);
    classes.metadata.insert("task".to_owned(), "classify".to_owned());
    let draft = camera(&classes);
    assert!(draft.head.contains("activation: Identity"), "{}", draft.head);
    assert!(matches!(draft.classes, ClassNames::OfTheFile(_)));
}

#[test]
fn a_classifier_that_ends_in_a_softmax_has_no_second_one() {
    let mut net = network(&["x:float:1,3,224,224"], &["y:float:1,1000"]);
    assert!(!camera(&net).head.contains("Identity"));
    net.outputs[0].made_by = Some("Softmax".to_owned());
    assert!(camera(&net).head.contains("activation: Identity"));
}

#[test]
fn rf_detr_has_queries_and_no_background() {
    let net = network(
        &["input:float:1,3,560,560"],
        &["dets:float:1,300,4", "labels:float:1,300,91"],
    );
    assert_eq!(looks(&net), ("RF-DETR", Some("Queries")));
    assert!(camera(&net).head.contains("Sigmoid"));
}

#[test]
fn a_grid_s_names_and_joints_tell_yunet_yolov6_and_fastestdet() {
    let yunet = network(
        &["input:float:1,3,640,640"],
        &[
            "cls_8:float:1,6400,1",
            "cls_16:float:1,1600,1",
            "cls_32:float:1,400,1",
            "obj_8:float:1,6400,1",
            "obj_16:float:1,1600,1",
            "obj_32:float:1,400,1",
            "bbox_8:float:1,6400,4",
            "bbox_16:float:1,1600,4",
            "bbox_32:float:1,400,4",
            "kps_8:float:1,6400,10",
            "kps_16:float:1,1600,10",
            "kps_32:float:1,400,10",
        ],
    );
    assert_eq!(looks(&yunet), ("YuNet", Some("Grid")));
    let draft = camera(&yunet);
    assert!(
        draft
            .head
            .contains(r#"(stride: 16, tensors: ["cls_16", "obj_16", "bbox_16"])"#),
        "{}",
        draft.head
    );
    assert_eq!((draft.colour, draft.scaling), (Colour::Bgr, Scaling::Bytes));

    let mut fastest = network(&["input.1:float:1,3,352,352"], &["758:float:1,85,22,22"]);
    assert!(best(&fastest).is_doubtful(), "a backbone has maps like this one");
    fastest.outputs[0].made_by = Some("Concat".to_owned());
    assert!(!best(&fastest).is_doubtful());
    assert_eq!(looks(&fastest), ("FastestDet", Some("Grid")));
    let head = camera(&fastest).head;
    assert!(head.contains("Powers(objectness: 0.6, class: 0.4)"), "{head}");

    assert_eq!(
        looks(&of_image(&["outputs:float:1,8400,85"])),
        ("YOLOv6", Some("YoloAnchors"))
    );
}

#[test]
fn several_images_of_an_inference_are_a_batch_where_the_outputs_have_as_many() {
    let batch = network(&["images:float:8,3,640,640"], &["output0:float:8,84,8400"]);
    assert_eq!(looks(&batch), ("YOLOv8, YOLOv9, YOLO11", Some("YoloAnchorFree")));
    assert_eq!(camera(&batch).batch, 8);
    // Six cameras of one scene.
    let views = network(&["images:float:6,3,256,704"], &["output0:float:1,84,8400"]);
    assert!(propose(&views).iter().all(|proposal| !proposal.has_spec()));
}

#[test]
fn an_input_beside_the_image_that_nobody_knows_leaves_the_time() {
    let policy = network(
        &["images:float:1,3,640,640", "state:float:1,14"],
        &["output0:float:1,84,8400"],
    );
    let best = best(&policy);
    assert!(!best.has_spec());
    assert!(best.sentence().contains("`state`"), "{}", best.sentence());
}

#[test]
fn scores_that_are_final_in_the_network_are_not_made_again() {
    let mut detr = network(
        &["image:float:1,3,800,1066"],
        &["logits:float:1,100,92", "pred_boxes:float:1,100,4"],
    );
    assert!(camera(&detr).head.contains("Softmax, no_object: Last"));
    detr.outputs[0].made_by = Some("Softmax".to_owned());
    assert!(camera(&detr).head.contains("Identity, no_object: Last"));
    // 80 are COCO's classes: none is no object.
    let mut descendant = network(
        &["pixel_values:float:1,3,640,640"],
        &["logits:float:1,300,80", "pred_boxes:float:1,300,4"],
    );
    assert_eq!(
        looks(&descendant),
        ("RT-DETR, Deformable DETR or DINO", Some("Queries"))
    );
    assert_eq!(camera(&descendant).classes, ClassNames::Coco80);
    assert!(camera(&descendant).head.contains("activation: Sigmoid"));
    descendant.outputs[0].made_by = Some("Sigmoid".to_owned());
    assert!(camera(&descendant).head.contains("activation: Identity"));
}

#[test]
fn values_of_the_whole_image_that_are_as_many_as_embeddings_have_are_no_classes() {
    let embedding = network(&["input:float:1,3,112,112"], &["output:float:1,512"]);
    assert_eq!(looks(&embedding).1, None);
}

#[test]
fn a_guess_says_how_sure_it_is() {
    let of = |facts: &NetworkFacts| Confidence::of(&propose(facts));
    assert_eq!(
        of(&of_image(&["output0:float:1,84,8400"])),
        Some(Confidence::Likely)
    );
    let turned = propose(&of_image(&["output0:float:1,8400,84"]));
    assert_eq!(Confidence::of(&turned), Some(Confidence::Guess));
    let sentence = Confidence::Guess.sentence(&turned[1..]);
    assert!(sentence.contains("it may also be: YOLO"), "{sentence}");
    let nas = of_image(&["boxes:float:1,8400,4", "scores:float:1,8400,80"]);
    assert_eq!(of(&nas), Some(Confidence::Guess));
    let mut told = of_image(&["output0:float:1,8400,6"]);
    told.metadata
        .insert("names".to_owned(), "{0: 'a', 1: 'b'}".to_owned());
    assert_eq!(of(&told), Some(Confidence::Stated));
    assert_eq!(of(&NetworkFacts::default()), None);
}

#[test]
fn yolo_nas_has_a_class_for_each_column_and_corners_in_pixels() {
    let nas = of_image(&["boxes:float:1,8400,4", "scores:float:1,8400,80"]);
    assert_eq!(looks(&nas), ("YOLO-NAS", Some("Grid")));
    let draft = camera(&nas);
    assert!(draft.head.contains("[X1, Y1, X2, Y2]"), "{}", draft.head);
    assert_eq!(draft.classes, ClassNames::Coco80);
    let damo = of_image(&["output:float:1,8400,80", "953:float:1,8400,4"]);
    assert_eq!(looks(&damo), ("DAMO-YOLO", Some("Grid")));
    assert_eq!(
        (camera(&damo).colour, camera(&damo).scaling),
        (Colour::Bgr, Scaling::Bytes)
    );
    // More cells than a level may have.
    let large = network(
        &["images:float:1,3,1280,1280"],
        &["boxes:float:1,33600,4", "scores:float:1,33600,80"],
    );
    camera(&large);
}

#[test]
fn boxes_that_no_head_reads_are_told_for_what_they_are() {
    let of = |image: &str, outputs: &[&str]| looks(&network(&[image], outputs));
    let image = "image:float:1,3,512,512";
    assert_eq!(
        of(image, &["cls:float:1,49104,90", "box:float:1,49104,4"]),
        ("EfficientDet or RetinaNet", None)
    );
    // So many rows as boxes are found, not values of the whole image.
    assert_eq!(
        of(image, &["output:float:n,7"]),
        ("YOLOv7 or a network with its suppression inside", None)
    );
    assert_eq!(
        of("image:float:n,3,224,224", &["output:float:n,7"]),
        ("an image classifier", Some("Classifier"))
    );
}

#[test]
fn ssd_has_scores_and_corners_of_the_same_boxes() {
    let mobile = network(
        &["input_0:float:1,3,300,300"],
        &["scores:float:1,3000,21", "boxes:float:1,3000,4"],
    );
    assert_eq!(looks(&mobile), ("SSD with decoded boxes", Some("PriorBoxes")));
    let draft = camera(&mobile);
    assert_eq!(
        (draft.scaling, draft.classes.clone()),
        (Scaling::Centred, ClassNames::MadeUp(20))
    );
    let zoo = network(
        &["image:float:1,3,1200,1200"],
        &[
            "bboxes:float:1,nbox,4",
            "labels:int64:1,nbox",
            "scores:float:1,nbox",
        ],
    );
    assert_eq!(looks(&zoo).1, None, "suppressed in the network");
}

#[test]
fn centerpoint_is_told_and_has_no_head() {
    let heads = network(
        &["input:float:1,64,512,512"],
        &[
            "reg_0:float:1,2,128,128",
            "height_0:float:1,1,128,128",
            "dim_0:float:1,3,128,128",
            "rot_0:float:1,2,128,128",
            "vel_0:float:1,2,128,128",
            "hm_0:float:1,1,128,128",
        ],
    );
    assert_eq!(looks(&heads), ("CenterPoint", None));
    let pillars = network(&["input.1:float:1,10,5268,20"], &["46:float:1,64,5268,1"]);
    assert!(matches!(
        best(&pillars).draft,
        Draft::Part(Part::Encoder { channels: 64, .. })
    ));
}

#[test]
fn pointpillars_is_a_pair_or_one_network() {
    let planes: Vec<String> = [
        "pillar_x",
        "pillar_y",
        "pillar_z",
        "pillar_i",
        "x_sub_shaped",
        "y_sub_shaped",
        "mask",
    ]
    .iter()
    .map(|name| format!("{name}:float:1,1,num_pillars,100"))
    .chain(["num_points_per_pillar:float:1,num_pillars".to_owned()])
    .collect();
    let planes: Vec<&str> = planes.iter().map(String::as_str).collect();
    let encoder = network(&planes, &["pillar_features:float:1,64,num_pillars,1"]);
    let backbone = network(
        &["spatial_features:float:1,64,496,432"],
        &[
            "box_preds:float:1,248,216,14",
            "cls_preds:float:1,248,216,2",
            "dir_cls_preds:float:1,248,216,4",
        ],
    );
    let part = |facts| match best(facts).draft {
        Draft::Part(part) => part,
        other => panic!("{other:?}"),
    };
    let (encoder, backbone) = (part(&encoder), part(&backbone));
    let draft = pair(&encoder, &backbone).unwrap();
    let text = draft.ron(
        "pp",
        &[
            (Place::Encoder, "{backbone}/pfe.onnx"),
            (Place::Backbone, "{encoder}.onnx"),
        ],
        &[],
    );
    assert!(
        text.contains("Planes(")
            && text.contains("drop_empty: true")
            && text.contains("network: \"{backbone}/pfe.onnx\"")
            && text.contains("network: \"{encoder}.onnx\""),
        "{text}"
    );
    builds(&text);
    assert!(pair(&backbone, &encoder).is_err());
    // Another grid is no one's that is known.
    let other = part(&network(
        &["spatial_features:float:1,64,128,128"],
        &["box_preds:float:1,64,64,14", "cls_preds:float:1,64,64,2"],
    ));
    assert!(pair(&encoder, &other).unwrap_err().contains("128 × 128"));

    let whole = network(
        &[
            "voxels:float:40000,32,10",
            "voxel_idxs:int32:40000,4",
            "voxel_num:int32:1",
        ],
        &[
            "cls_preds:float:1,248,216,18",
            "box_preds:float:1,248,216,42",
            "dir_cls_preds:float:1,248,216,12",
        ],
    );
    let Draft::Lidar(draft) = best(&whole).draft else {
        panic!("{:?}", best(&whole));
    };
    assert_eq!(draft.classes, ["Car", "Pedestrian", "Cyclist"]);
    builds(&draft.ron(
        "pp",
        &[(Place::Whole, "pointpillar.onnx")],
        &["5 boxes".to_owned()],
    ));
}

#[test]
fn what_fits_nothing_is_not_taken_for_a_detector() {
    let text = network(
        &[
            "input_ids:int64:batch,sequence",
            "attention_mask:int64:batch,sequence",
        ],
        &["last_hidden_state:float:batch,sequence,384"],
    );
    assert_eq!(propose(&text), []);
    assert_eq!(propose(&NetworkFacts::default()), []);
}

#[test]
fn pixels_that_jetlag_does_not_make_leave_the_time() {
    let bytes = network(&["images:uint8:1,640,640,3"], &["output0:float:1,84,8400"]);
    let proposal = best(&bytes);
    assert_eq!(
        (proposal.family, proposal.head()),
        ("YOLOv8, YOLOv9, YOLO11", None)
    );
}

#[test]
fn a_number_of_classes_that_no_detector_has_is_no_proposal() {
    for classes in [3_000_000u64, 1 << 40] {
        let facts = of_image(&[&format!("output:float:1,8400,{}", classes + 5)]);
        assert!(
            propose(&facts).iter().all(|proposal| !proposal.has_spec()),
            "{classes}"
        );
    }
}

#[test]
fn sizes_whose_products_no_number_holds_fit_nothing() {
    // Cells of 2^36 pixels a side at strides 8 and 16 are multiples of 2^64; those at stride 32 are these rows.
    let side = 1_u64 << 36;
    let image = format!("images:float:1,3,{side},{side}");
    let rows = 1_u64 << 62;
    for output in [format!("o:float:1,{rows},85"), format!("o:float:1,84,{rows}")] {
        let facts = network(&[&image], &[&output]);
        assert!(
            propose(&facts).iter().all(|proposal| !proposal.has_spec()),
            "{output}"
        );
    }
    // Eight, 16 and 32 times these are 640 and a multiple of 2^64.
    let maps = [(8, 61), (16, 60), (32, 59)].map(|(stride, bits)| {
        let side = (1_u64 << bits) + 640 / stride;
        format!("m{stride}:float:1,3,{side},{side},85")
    });
    let maps: Vec<&str> = maps.iter().map(String::as_str).collect();
    assert!(
        propose(&of_image(&maps))
            .iter()
            .all(|proposal| !proposal.has_spec())
    );
}
