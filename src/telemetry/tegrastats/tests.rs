use super::*;
use crate::record::RailRole;
use std::path::Path;

const LINE: &str = "RAM 6185/7620MB (lfb 8x2MB) SWAP 851/3810MB (cached 1MB) \
    CPU [15%@729,off,14%@729,13%@729,11%@729,8%@729] EMC_FREQ 43%@2133 GR3D_FREQ 63%@[621] NVDEC off \
    APE 200 cpu@53.968C gpu@-256C VDD_IN 12479mW/12479mW VDD_CPU_GPU_CV 4667mW/4667mW VDD_SOC 0mW/2817mW";

fn program(script: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tegrastats");
    nvidia_doubles::script(&path, script);
    (folder, path)
}

fn sampler(path: &Path) -> Tegrastats {
    let start = Start {
        program: path.to_owned(),
        guard: None,
    };
    Tegrastats::new(start, Nanos::from_millis(100), None)
}

/// Until something holds, which a busy machine may put off for long; what does not come at all fails.
fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !holds() {
        assert!(begun.elapsed().as_secs() < 300, "{what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Reads until something has come.
fn wait(tegrastats: &mut Tegrastats) -> Vec<SampleRecord> {
    let mut out = Vec::new();
    wait_until("the program's first line", || {
        tegrastats.sample(Stamp(100_000_000), &mut out).unwrap();
        out.retain(|reading| reading.signal != PROCESS_LOAD);
        !out.is_empty()
    });
    out
}

#[test]
fn a_line_becomes_readings_and_what_it_does_not_say_is_not_there() {
    let (mut out, mut asides) = (Vec::new(), Vec::new());
    let mut readings = Readings::default();
    assert!(readings.line(LINE, Stamp(7), None, None, &mut out, &mut asides));
    let value = |signal: &str| out.iter().find(|s| s.signal == signal).map(|s| s.value);
    assert_eq!(value("VDD_IN"), Some(Some(12_479.0)));
    assert_eq!(value("VDD_SOC"), Some(Some(0.0)), "0 mW is a reading");
    assert_eq!(value("gpu_temperature"), Some(None), "gated: not measured");
    assert_eq!(value("cpu1_online"), Some(Some(0.0)));
    assert_eq!(value("cpu1_load"), None, "a core that is off has no load");
    assert_eq!(value("nvdec_on"), Some(Some(0.0)));
    assert_eq!(value("ape_frequency"), Some(Some(200.0)));
    assert_eq!(value("gpu_load"), Some(Some(63.0)));
    let role = |rail: &str| {
        asides.iter().find_map(|aside| match aside {
            Event::Signal(s) if s.signal == rail => Some(s.role),
            _ => None,
        })
    };
    assert_eq!(role("VDD_IN"), Some(RailRole::Total));
    assert_eq!(role("VDD_SOC"), Some(RailRole::Part));
}

#[test]
fn lines_that_are_cut_garbled_or_other_text_are_counted_and_give_nothing() {
    let mut readings = Readings::default();
    let (mut out, mut asides) = (Vec::new(), Vec::new());
    let mixed = format!("{} {LINE}", &LINE[..60]);
    for bad in [
        "",
        "Killed",
        "\u{0}\u{1}",
        "RAM 1/",
        &mixed,
        "RAM x/yMB CPU [1%@2",
    ] {
        assert!(
            !readings.line(bad, Stamp(0), None, None, &mut out, &mut asides),
            "{bad}"
        );
    }
    assert!(out.is_empty() && asides.is_empty());
    assert_eq!((readings.skipped, readings.taken), (6, 0));
    assert!(readings.first_problem.is_some());
}

#[test]
fn lines_of_the_running_program_are_read_with_the_time_at_which_they_came() {
    let (_folder, path) = program(&format!(
        "echo header; while :; do echo '{LINE}'; sleep 0.05; done"
    ));
    let mut tegrastats = sampler(&path);
    let before = RealClock.now();
    let out = wait(&mut tegrastats);
    assert!(out[0].at >= before && out[0].at <= RealClock.now());
    assert_eq!(tegrastats.readings.skipped, 1, "the header");
    let pid = tegrastats.running.as_ref().unwrap().child.id();
    drop(tegrastats);
    assert!(
        !Path::new(&format!("/proc/{pid}")).exists(),
        "killed and waited for"
    );
}

#[test]
fn what_the_program_itself_takes_of_a_core_is_a_reading() {
    let (_folder, path) = program("while :; do :; done");
    let mut tegrastats = sampler(&path);
    let mut out = Vec::new();
    tegrastats.sample(Stamp(0), &mut out).unwrap();
    let pid = tegrastats.running.as_ref().unwrap().child.id();
    let first = ticks(pid).unwrap();
    wait_until("the program uses a processor", || {
        ticks(pid).unwrap() >= first + 20
    });
    tegrastats.sample(Stamp(500_000_000), &mut out).unwrap();
    assert!(out.is_empty(), "too soon to tell: {out:?}");
    tegrastats.sample(Stamp(1_000_000_000), &mut out).unwrap();
    // Twenty ticks of 10 ms, said to have gone by in a second.
    assert_eq!(out.len(), 1);
    assert!(out[0].value.unwrap() >= 20.0, "{out:?}");
    let mut asides = Vec::new();
    tegrastats.asides(&mut asides);
    assert!(
        asides
            .iter()
            .any(|a| matches!(a, Event::Signal(s) if s.signal == PROCESS_LOAD))
    );
}

#[test]
fn a_program_that_keeps_ending_is_started_again_a_few_times_and_then_given_up() {
    let (folder, path) = program("echo x >> \"$0.starts\"; exit 3");
    let mut tegrastats = sampler(&path);
    let mut at = 0;
    let error = loop {
        at += 2_000_000_000;
        if let Err(error) = tegrastats.sample(Stamp(at), &mut Vec::new()) {
            break error.to_string();
        }
        // However long it takes to end, it is seen to have ended soon.
        wait_until("the program ends", || {
            tegrastats.running.is_none() || tegrastats.sample(Stamp(at), &mut Vec::new()).is_err()
        });
    };
    assert!(error.contains("ended 6 times"), "{error}");
    let starts = std::fs::read_to_string(folder.path().join("tegrastats.starts")).unwrap();
    assert_eq!(starts.lines().count(), 6);
    let mut asides = Vec::new();
    tegrastats.asides(&mut asides);
    assert!(
        asides
            .iter()
            .any(|a| matches!(a, Event::Log(l) if l.message.contains("restarting it")))
    );
}

#[test]
fn a_program_that_ends_now_and_then_is_started_again_as_often_as_it_takes() {
    let (folder, path) = program("echo x >> \"$0.starts\"; exit 3");
    let mut tegrastats = sampler(&path);
    let starts = || {
        let text = std::fs::read_to_string(folder.path().join("tegrastats.starts"));
        text.unwrap_or_default().lines().count()
    };
    for n in 1..=10 {
        let begun = Stamp(n * 3_600_000_000_000);
        tegrastats.sample(begun, &mut Vec::new()).unwrap();
        // It has ended by an hour later, when it is looked at again.
        wait_until("the program ends", || {
            let has_ended = tegrastats.running.is_none();
            if !has_ended {
                let later = begun + Nanos::from_secs(3599);
                tegrastats.sample(later, &mut Vec::new()).unwrap();
            }
            has_ended
        });
        assert_eq!(starts(), usize::try_from(n).unwrap());
    }
}

#[test]
fn a_program_that_prints_nothing_that_can_be_read_is_a_finding() {
    for (script, code, says) in [
        ("echo 'NVRM: power=5W'; sleep 60", "lines-skipped", "NVRM:"),
        ("sleep 60", "source-missing", "prints nothing"),
    ] {
        let (_folder, path) = program(script);
        let mut tegrastats = sampler(&path);
        tegrastats.sample(Stamp(0), &mut Vec::new()).unwrap();
        wait_until("the program's line", || {
            tegrastats.sample(Stamp(1_000_000_000), &mut Vec::new()).unwrap();
            code != "lines-skipped" || tegrastats.readings.skipped > 0
        });
        let mut asides = Vec::new();
        tegrastats.asides(&mut asides);
        let is_finding = |event: &&Event| matches!(event, Event::Finding(_));
        assert_eq!(asides.iter().filter(is_finding).count(), 0, "too soon to tell");
        for at in [6, 7] {
            tegrastats
                .sample(Stamp(at * 1_000_000_000), &mut Vec::new())
                .unwrap();
        }
        tegrastats.asides(&mut asides);
        let findings: Vec<_> = asides
            .iter()
            .filter_map(|event| match event {
                Event::Finding(finding) => Some((finding.code.as_str(), finding.message.contains(says))),
                _ => None,
            })
            .collect();
        assert_eq!(findings, [(code, true)], "once");
    }
}

#[test]
fn a_program_that_is_not_there_ends_the_sampler_with_its_name() {
    let mut tegrastats = sampler(Path::new("/no/such/tegrastats"));
    let error = tegrastats
        .sample(Stamp(0), &mut Vec::new())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("/no/such/tegrastats") && error.contains("cannot be started"),
        "{error}"
    );
}

#[test]
fn a_log_is_read_with_other_text_in_it_and_its_cut_end_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let cut = LINE.split(" VDD_CPU").next().unwrap().trim_end_matches("mW");
    std::fs::write(&path, format!("# header\n{LINE}\nKilled\n\n{LINE}\n{cut}")).unwrap();
    let mut stamps = Vec::new();
    let readings = read_log(&path, Nanos::from_secs(1), |at, _, out| {
        assert!(
            out.iter()
                .any(|s| s.signal == "VDD_IN" && s.value == Some(12_479.0))
        );
        stamps.push(at.0);
    });
    let readings = readings.unwrap();
    // Neither other text nor a blank line stands for a row.
    assert_eq!(stamps, [0, 1_000_000_000]);
    assert_eq!((readings.taken, readings.skipped), (2, 3));
}

#[test]
fn a_line_without_end_does_not_fill_the_memory() {
    let endless = vec![b'x'; LONGEST_LINE as usize * 2 + 10];
    let mut reader = std::io::Cursor::new(endless);
    assert_eq!(next_line(&mut reader).as_deref(), Some("\n"));
    assert_eq!(next_line(&mut reader).as_deref(), Some("\n"));
    assert_eq!(next_line(&mut reader), None, "cut by the end");
}
