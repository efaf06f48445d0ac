//! Made-up tables in every form that ncu writes, and products of known size as an H100 counted them.

use super::number::{Evidence, Style, number};
use super::ranges::{frame_of, layer_of, ranges};
use super::unit::{Base, unit};
use super::{
    Asked, Caches, Counters, Measurement, TableError, complaint, measurement, read, renamed, wanted,
};

const BEFORE: &str = "ID,Process ID,Process Name,Host Name,\"thread Domain:Push/Pop_Range:PL_Type:PL_Value:CLR_Type:Color:Msg_Type:Msg\",Kernel Name,Context,Stream,Block Size,Grid Size,Device,CC";

fn cell(frame: u64, layer: &str) -> String {
    format!(
        "\"516  \"\"jetlag:camera {frame} submit:PAYLOAD_TYPE_UNSIGNED_INT64:{frame}:none:none:none:none\"\"  \"\"TensorRT:{layer}:none:none:none:none:none:none\"\" \""
    )
}

fn of(text: &str) -> Measurement {
    measurement(&read(text).unwrap(), &Asked::default())
}

/// A raw page of one kernel with these metrics.
fn raw(kernel: &str, metrics: &[(&str, &str, &str)]) -> String {
    let names: Vec<&str> = metrics.iter().map(|(name, _, _)| *name).collect();
    let units: Vec<String> = metrics.iter().map(|(_, unit, _)| format!("\"{unit}\"")).collect();
    let values: Vec<String> = metrics
        .iter()
        .map(|(_, _, value)| format!("\"{value}\""))
        .collect();
    format!(
        "{BEFORE},{}\n,,,,,,,,,,,,{}\n0,516,python3,127.0.0.1,{},{kernel},1,7,\"(1, 1, 1)\",\"(1, 1, 1)\",0,9.0,{}\n",
        names.join(","),
        units.join(","),
        cell(7, "/conv1/Conv"),
        values.join(",")
    )
}

const S: &str = "smsp__sass_thread_inst_executed_op_";

fn fp32(fadd: &str, fmul: &str, ffma: &str) -> Vec<(String, String)> {
    [("fadd", fadd), ("fmul", fmul), ("ffma", ffma)]
        .map(|(op, count)| (format!("{S}{op}_pred_on.sum"), count.to_owned()))
        .to_vec()
}

fn page(kernel: &str, more: &[(&str, &str, &str)], fp32: &[(String, String)]) -> String {
    let mut all: Vec<(&str, &str, &str)> = fp32
        .iter()
        .map(|(name, count)| (name.as_str(), "inst", count.as_str()))
        .collect();
    all.extend(more);
    raw(kernel, &all)
}

#[test]
fn numbers_of_every_language_are_read() {
    let read = |cells: &[&str]| {
        let mut evidence = Evidence::default();
        cells.iter().for_each(|cell| evidence.see(cell));
        let style = evidence.style();
        cells.iter().map(|cell| number(cell, style)).collect::<Vec<_>>()
    };
    assert_eq!(
        read(&["2,147,483,648", "1,234.5", "117.344"]),
        [Some(2_147_483_648.0), Some(1234.5), Some(117.344)]
    );
    assert_eq!(
        read(&["27.595.520", "65,77", "117.344"]),
        [Some(27_595_520.0), Some(65.77), Some(117_344.0)]
    );
    assert_eq!(read(&["1\u{202f}234,5", "0,25"]), [Some(1234.5), Some(0.25)]);
    assert_eq!(read(&["n/a", "", "nan", "inf", "240; 240", "(0)"]), [None; 6]);
    assert_eq!(number("1.5e9", Style::Point), Some(1.5e9));
}

#[test]
fn units_are_scaled_as_ncu_scales_them() {
    assert_eq!(unit("Mbyte"), Some((1e6, Base::Byte)));
    assert_eq!(unit("us"), Some((1e-6, Base::Second)));
    assert_eq!(unit("nsecond"), Some((1e-9, Base::Second)));
    assert_eq!(unit("Kinst"), Some((1e3, Base::Count)));
    assert_eq!(unit(""), Some((1.0, Base::Count)));
    assert_eq!(
        (unit("byte/second"), unit("%"), unit("é"), unit("M")),
        (None, None, None, None)
    );
}

#[test]
fn ranges_give_frame_and_layer_and_names_may_hold_colons() {
    let all = ranges(
        "516  \"jetlag:camera 7 submit:PAYLOAD_TYPE_UNSIGNED_INT64:7:none:none:none:none\"  \"CCCL:cub::DeviceReduce::Reduce:none:none:none:none:REGISTERED:x\" ",
    );
    assert_eq!(layer_of(&all), Some("cub::DeviceReduce::Reduce"));
    let frame = frame_of(&all).unwrap();
    assert_eq!((frame.tenant.as_str(), frame.number), ("camera", 7));
    assert_eq!(
        layer_of(&ranges(
            "516  \"jetlag:camera 7 submit:none:none:none:none:none:none\" "
        )),
        None
    );
    assert!(ranges("").is_empty() && ranges("\"").is_empty());
    let plain = ranges("99  front camera 3 submit");
    assert_eq!(frame_of(&plain).unwrap().tenant, "front camera");
}

#[test]
fn products_of_1024_cubed_count_two_to_the_31() {
    // As an H100 counted them: by its counter of operations, and by instructions times what the kernel's name says.
    let fp32_none = fp32("0", "0", "0");
    let wgmma = [
        (
            "sm__inst_executed_pipe_tensor_op_hmma.sum",
            "inst",
            "65536.000000",
        ),
        (
            "sm__inst_executed_pipe_tensor_op_gmma.sum",
            "inst",
            "65536.000000",
        ),
        (
            "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum",
            "inst",
            "0",
        ),
    ];
    let two_31 = (1_u64 << 31) as f64;
    let with_ops = [
        &wgmma[..],
        &[
            ("sm__ops_path_tensor_src_fp16.sum", "", "2,147,483,648"),
            ("sm__ops_path_tensor_op_hgmma_src_fp16.sum", "", "2,147,483,648"),
            (
                "sm__ops_path_tensor_op_hgmma_src_fp16_sparsity_off.sum",
                "",
                "2,147,483,648",
            ),
        ],
    ]
    .concat();
    let own = of(&page(
        "nvjet_sm90_hsh_128x64_64x8_1x2_h_bz_NNT",
        &with_ops,
        &fp32_none,
    ));
    assert_eq!(own.total.flops, Some(two_31));
    assert_eq!(own.total.flops_by_pipe.get("tensor fp16"), Some(&two_31));
    assert_eq!(
        (
            own.total.generation.as_deref(),
            own.total.tensor_instructions.get("wgmma")
        ),
        (Some("wgmma"), Some(&65536.0))
    );
    for (kernel, metric, count) in [
        (
            "cutlass3x_sm90_tensorop_s64x64x16gemm_f16_f16_f32",
            "sm__inst_executed_pipe_tensor_op_gmma.sum",
            "65536",
        ),
        (
            "ampere_fp16_s16816gemm_fp16_128x64_ldg8_stages_32x6_tn",
            "sm__inst_executed_pipe_tensor_op_hmma.sum",
            "524288",
        ),
        (
            "sm80_xmma_gemm_i8i8_i32_tn_n_tilesize128x64_tensor16x8x32",
            "sm__inst_executed_pipe_tensor_op_imma.sum",
            "262144",
        ),
        (
            "cutlass_80_tensorop_d16x8x16gemm_64x64",
            "sm__inst_executed_pipe_tensor_op_dmma.sum",
            "524288",
        ),
        (
            "volta_fp16_s884gemm_fp16_128x64_ldg8_f2f_nn",
            "sm__inst_executed_pipe_tensor_op_hmma.sum",
            "2097152",
        ),
    ] {
        let mut metrics = vec![
            (metric, "inst", count),
            ("sm__inst_executed_pipe_tensor.sum", "inst", count),
        ];
        if metric.ends_with("gmma.sum") {
            metrics.push(("sm__inst_executed_pipe_tensor_op_hmma.sum", "inst", count));
        }
        let own = of(&page(kernel, &metrics, &fp32_none));
        assert_eq!(own.total.flops, Some(two_31), "{kernel}: {:?}", own.notes);
    }
    // A name that states nothing leaves the sum unknown, and says so.
    let own = of(&page("nvjet_sm90_hsh_128x64", &wgmma, &fp32_none));
    assert_eq!(own.total.flops, None);
    assert!(!own.notes.is_empty());
}

#[test]
fn pairs_of_halves_in_the_tensor_pipe_are_no_products() {
    // An fp32 product on an H100: 512 such instructions, which times 2048 would be a million operations too many.
    let metrics = [
        ("sm__inst_executed_pipe_tensor.sum", "inst", "512"),
        ("sm__inst_executed_pipe_tensor_op_hmma.sum", "inst", "512"),
        (
            "sm__inst_executed_pipe_tensor_op_hmma_type_hfma2.sum",
            "inst",
            "512",
        ),
    ];
    let own = of(&page(
        "sm80_xmma_gemm_f32f32",
        &metrics,
        &fp32("0", "0", "1074790400.000000"),
    ));
    assert_eq!(own.total.flops, Some(2.0 * 1_074_790_400.0));
    assert!(own.total.tensor_instructions.is_empty() && own.total.generation.is_none());
}

#[test]
fn both_pages_give_the_same() {
    let metrics = [
        ("gpu__time_duration.sum", "us", "7.456"),
        ("dram__bytes_read.sum", "Mbyte", "4.213760"),
        ("dram__bytes_write.sum", "byte", "240"),
        ("lts__t_bytes.sum", "Kbyte", "29,237.408"),
    ];
    let wide =
        of(&page("k<float, 3>(int)", &metrics, &[]).replace("k<float, 3>(int)", "\"k<float, 3>(int)\""));
    let mut long = format!(
        "==PROF== Connected to process 516\nhello\n{BEFORE},Section Name,Metric Name,Metric Unit,Metric Value\n"
    );
    for (name, unit, value) in metrics {
        let name = if name.starts_with("gpu") { "Duration" } else { name };
        long += &format!(
            "0,516,python3,127.0.0.1,{},\"k<float, 3>(int)\",1,7,x,y,0,9.0,Section,{name},{unit},\"{value}\"\n",
            cell(7, "/conv1/Conv")
        );
    }
    long += "==PROF== Disconnected from process 516\n";
    let long = of(&long);
    assert_eq!(wide.total, long.total);
    assert_eq!(wide.total.dram_bytes, Some(4_214_000.0));
    assert_eq!(wide.total.l2_bytes, Some(29_237_408.0));
    assert!((wide.total.seconds.unwrap() - 7.456e-6).abs() < 1e-15);
    assert!(long.notes.len() > wide.notes.len(), "{:?}", long.notes);
    assert_eq!(
        (wide.kernels[0].name.as_str(), wide.layers[0].name.as_deref()),
        ("k<float, 3>(int)", Some("/conv1/Conv"))
    );
    assert_eq!(
        (
            wide.tenant.as_deref(),
            wide.frames,
            wide.compute_capability.as_deref()
        ),
        (Some("camera"), 1, Some("9.0"))
    );
}

#[test]
fn figures_are_of_one_frame() {
    let one = page(
        "k",
        &[("dram__bytes.sum", "byte", "100"), ("my__metric.sum", "", "6")],
        &fp32("1", "2", "3"),
    );
    let second = one
        .lines()
        .last()
        .unwrap()
        .replacen("0,516", "1,516", 1)
        .replace("camera 7 ", "camera 8 ");
    let own = of(&format!("{one}{second}\n"));
    assert_eq!((own.frames, own.launches, own.kernels[0].launches), (2, 2, 1.0));
    assert_eq!(
        (own.total.dram_bytes, own.total.others.get("my__metric.sum")),
        (Some(100.0), Some(&6.0))
    );
    assert_eq!(own.total.flops_by_pipe.get("fp32"), Some(&9.0));
    // The tensor cores are not in it, so there is no sum.
    assert_eq!(own.total.flops, None);
}

#[test]
fn missing_cells_are_unknown_and_not_zero() {
    let text = page(
        "k",
        &[
            ("dram__bytes_read.sum", "byte", "n/a"),
            ("dram__bytes_write.sum", "byte", "5"),
        ],
        &fp32("1", "", "3"),
    );
    let own = of(&text);
    assert_eq!(
        (own.total.dram_bytes, own.total.dram_written_bytes),
        (None, Some(5.0))
    );
    assert!(!own.total.flops_by_pipe.contains_key("fp32"));
    assert!(!own.notes.is_empty());
    // A unit that nobody knows.
    let own = of(&page("k", &[("dram__bytes.sum", "furlong", "5")], &[]));
    assert_eq!(own.total.dram_bytes, None);
    assert!(!own.notes.is_empty());
}

#[test]
fn what_is_no_table_says_what_it_is() {
    assert!(matches!(read("").unwrap_err(), TableError::NoTable));
    assert!(matches!(
        read("\"ID\",\"Kernel Name\"\n").unwrap_err(),
        TableError::Empty
    ));
    let denied = "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n";
    for said in [
        denied,
        "==ERROR== Failed to find metric regex:x\n",
        "==WARNING== No kernels were profiled.\n",
    ] {
        assert!(complaint(said).is_some() && read(said).is_err(), "{said}");
    }
    assert_eq!(complaint("==PROF== Disconnected"), None);
}

#[test]
fn old_names_become_new_ones() {
    assert_eq!(renamed("flop_count_sp").unwrap().metrics().len(), 3);
    assert!(renamed("inst_replay_overhead").unwrap().metrics().is_empty());
    assert_eq!(renamed("nothing"), None);
    let all = wanted(&[
        "dram_read_transactions".to_owned(),
        "sm__cycles_active.avg".to_owned(),
        "flop_count_sp".to_owned(),
    ]);
    assert!(
        all.contains(&"dram__sectors_read.sum".to_owned())
            && all.contains(&"sm__cycles_active.avg".to_owned())
    );
    let mut once = all.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), all.len());
}

#[test]
fn a_file_of_counters_is_read_again() {
    let own = Counters {
        schema: super::COUNTERS_SCHEMA,
        measurements: vec![measurement(
            &read(&page(
                "k",
                &[("dram__bytes.sum", "byte", "5")],
                &fp32("1", "2", "3"),
            ))
            .unwrap(),
            &Asked {
                caches: Caches::Emptied,
                ..Asked::default()
            },
        )],
    };
    let text = serde_json::to_string(&own).unwrap();
    assert_eq!(Counters::read(&text).unwrap(), own);
    let later = text.replace("\"schema\":1", "\"schema\":2");
    assert!(Counters::read(&later).is_err());
    assert!(Counters::read("{}").is_err());
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,400}", rest in "[\\x00-\\x7f]{0,300}") {
        let _ = read(&text);
        let _ = ranges(&text);
        let _ = unit(&text);
        let _ = super::mma::shape(&text);
        let _ = read(&format!("{BEFORE},Metric Name,Metric Unit,Metric Value\n0,1,{rest}\n{text}"));
        if let Ok(table) = read(&format!("{BEFORE},dram__bytes.sum\n{rest}\n0,1,a,b,\"{text}\",k,1,1,1,1,0,9.0,{rest}\n")) {
            let _ = measurement(&table, &Asked::default());
        }
    }
}

#[test]
fn cut_and_negative_cells_leave_sums_unknown_with_the_reason() {
    let ops = ("sm__ops_path_tensor_src_fp16.sum", "", "64");
    let whole = page("k", &[ops], &fp32("1", "2", "3"));
    assert_eq!(of(&whole).total.flops, Some(73.0), "{:?}", of(&whole).notes);
    let halves = |cell| {
        (
            "smsp__sass_thread_inst_executed_op_hadd_pred_on.sum",
            "inst",
            cell,
        )
    };
    let is_unknown = |own: &Measurement| own.total.flops.is_none() && !own.notes.is_empty();
    let negative = ("sm__ops_path_tensor_src_fp16.sum", "", "-64");
    for text in [
        page("k", &[ops, halves("n/a")], &fp32("1", "2", "3")),
        page("k", &[ops, halves("4")], &fp32("1", "2", "3")),
        page("k", &[ops], &fp32("1", "-2", "3")),
        page("k", &[negative], &fp32("1", "2", "3")),
    ] {
        assert!(is_unknown(&of(&text)), "{text}");
    }
    // The last line of a file whose writer was killed.
    let end = whole.trim_end();
    let second = end.lines().last().unwrap().replacen("0,516", "1,516", 1);
    let cut = &second[..second.len() - 12];
    let own = of(&format!("{end}\n{cut}\n"));
    assert!(own.launches == 2 && is_unknown(&own), "{own:?}");
}
