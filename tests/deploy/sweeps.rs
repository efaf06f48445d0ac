//! `jetlag deploy --sweep`: a board's sweep has the table of one here, whatever becomes of the link, of the board and of the files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use nvidia_doubles::script;
use rustix::process::{Pid, Signal, kill_process};

use super::board::TestBoard;
use crate::common::output::{assert_refused, run, stderr, stdout};
use crate::common::under_way::wait_until;
use crate::sweep::{BASE, table};

/// Eight points, with a pause before each in which a test can step in.
const SWEEP: &str = r#"Sweep(base: "base.ron", order: Random(seed: 7), cool_down: (pause: "500ms"), axes: [
    Axis(set: "tenants.camera.arrival.hz", values: [10, 30, 60, 90]),
    Axis(set: "tenants.camera.overload", values: ["DropOldest(queue: 1)", "Queue(capacity: 16)"])])"#;

/// A board beside a folder with a sweep.
struct Swept {
    board: TestBoard,
}

impl Swept {
    fn start(sweep: &str) -> Option<Swept> {
        let board = TestBoard::start()?;
        fs::create_dir(board.path("here")).unwrap();
        fs::write(board.path("here/base.ron"), BASE).unwrap();
        fs::write(board.path("here/s.ron"), sweep).unwrap();
        Some(Swept { board })
    }

    fn here(&self) -> PathBuf {
        self.board.path("here")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.board.deploy(arguments);
        command.arg("--no-doctor").current_dir(self.here());
        command
    }

    fn deploy(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// The results on the board.
    fn there(&self) -> PathBuf {
        self.board.path("board/jetlag/sweeps/out")
    }

    fn finished_runs(&self) -> usize {
        runs_of(&self.there())
    }

    /// The folder of the board's last run, which is the sweep's.
    fn run_there(&self) -> PathBuf {
        let last = fs::read_to_string(self.board.path("board/jetlag/last")).unwrap();
        self.board.path("board/jetlag/runs").join(last.trim())
    }

    /// The processes of the sweep: jetlag, and the shell that keeps its exit code.
    fn processes(&self) -> [Pid; 2] {
        let folder = self.run_there();
        ["pid", "keeper"].map(|name| {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            Pid::from_raw(text.trim().parse().unwrap()).unwrap()
        })
    }

    /// Waits until the sweep has begun to finish runs, and halts it there.
    fn halt(&self) -> Pid {
        wait_until("runs are finished", || self.finished_runs() >= 2);
        let [sweep, _] = self.processes();
        kill_process(sweep, Signal::STOP).unwrap();
        assert!(self.finished_runs() < 8, "it was too fast to be halted");
        sweep
    }

    /// Starts the sweep and halts it, whether or not whoever started it has ended by then.
    fn detach_and_halt(&self) -> Pid {
        let start = self.spawn(&["--sweep", "s.ron", "--detach"]);
        let sweep = self.halt();
        let started = start.wait_with_output().unwrap();
        assert_eq!(started.status.code(), Some(0), "{}", stderr(&started));
        sweep
    }

    /// The table of an undisturbed sweep here.
    fn undisturbed(&self) -> Vec<String> {
        let output = run(&["sweep", "s.ron", "-o", "whole", "--quiet"], &self.here());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        table(&self.here().join("whole"))
    }

    /// The names of the results.
    fn results(&self) -> Vec<String> {
        let mut names = vec![
            "journal.jsonl".to_owned(),
            "table.csv".to_owned(),
            "index.html".to_owned(),
        ];
        if cfg!(feature = "parquet") {
            names.push("table.parquet".to_owned());
        }
        let runs = fs::read_dir(self.there().join("runs")).unwrap();
        names.extend(runs.map(|run| format!("runs/{}", run.unwrap().file_name().to_str().unwrap())));
        names
    }

    /// What has been fetched is what the board has.
    fn assert_same_as_there(&self) {
        let out = self.board.path("out");
        for name in self.results() {
            let [here, there] = [&out, &self.there()].map(|folder| fs::read(folder.join(&name)).unwrap());
            assert!(here == there, "{name} differs");
        }
        let parts = fs::read_dir(out.join("runs")).unwrap().flatten();
        assert_eq!(
            parts
                .filter(|entry| entry.file_name().to_str().unwrap().ends_with(".part"))
                .count(),
            0
        );
    }
}

fn runs_of(folder: &Path) -> usize {
    let journal = fs::read_to_string(folder.join("journal.jsonl")).unwrap_or_default();
    journal.matches("{\"run\":{").count()
}

#[test]
fn a_sweep_whose_link_is_cut_is_found_running_and_has_the_table_of_one_here() {
    let Some(swept) = Swept::start(SWEEP) else { return };
    let first = swept.spawn(&["--sweep", "s.ron"]);
    // Halted first: it goes on while the machine gets round to the follower.
    let sweep = swept.halt();
    swept.board.wait_for_follower();
    swept.board.cut_connections();
    let lost = first.wait_with_output().unwrap();
    assert_refused(
        &lost,
        1,
        &["the run continues there", "the connection to localhost was lost"],
    );

    // It is still under way, and another version of it is not this one.
    fs::write(swept.here().join("base.ron"), BASE.replace("30", "31")).unwrap();
    let changed = swept.deploy(&["--sweep", "s.ron"]);
    assert_refused(
        &changed,
        2,
        &["is under way on localhost", "the base has changed", "--resume"],
    );
    fs::write(swept.here().join("base.ron"), BASE).unwrap();

    let second = swept.spawn(&["--sweep", "s.ron"]);
    swept.board.wait_for_follower();
    kill_process(sweep, Signal::CONT).unwrap();
    let done = second.wait_with_output().unwrap();
    let said = stderr(&done);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(said.contains("the sweep out is under way there"), "{said}");
    assert!(stdout(&done).contains("8 runs done"), "{}", stdout(&done));
    assert_eq!(table(&swept.board.path("out")), swept.undisturbed());
    assert_eq!(runs_of(&swept.board.path("out")), 8, "no run was made twice");
    swept.assert_same_as_there();

    // What is here is not fetched again, and what is finished there is not run again.
    let again = swept.deploy(&["--sweep", "s.ron", "--quiet"]);
    let said = stderr(&again);
    assert_eq!(again.status.code(), Some(0), "{said}");
    // The table and its pages are written anew.
    let (all, sent) = (swept.results().len(), swept.results().len() - 9);
    assert!(said.contains(&format!("fetched {sent} of {all} files")), "{said}");
    assert_eq!(swept.finished_runs(), 8);

    // A folder here with a sweep that the board does not have is told before anything runs.
    let copied = Command::new("cp")
        .args(["-r", "whole", "mine"])
        .current_dir(swept.here())
        .status();
    assert!(copied.unwrap().success());
    let mut command = swept
        .board
        .deploy_into(&["--sweep", "s.ron", "--no-doctor"], Path::new("mine"));
    let mine = command.current_dir(swept.here()).output().unwrap();
    assert_refused(&mine, 2, &["mine holds another sweep than the board's mine"]);
    assert!(!swept.board.path("board/jetlag/sweeps/mine").exists());

    // Of another base, nothing is mixed with what is there.
    fs::write(swept.here().join("base.ron"), BASE.replace("30", "31")).unwrap();
    let changed = swept.deploy(&["--sweep", "s.ron"]);
    assert_refused(
        &changed,
        2,
        &[
            "was begun with another sweep",
            "the base has changed",
            "name another folder with -o",
        ],
    );
    assert!(!stderr(&changed).contains("copied"), "{}", stderr(&changed));
    assert_eq!(runs_of(&swept.board.path("out")), 8);

    // Another project's sweep of the same name is told before anything is copied or fetched; the first can still be gone on with.
    let command = || fs::read_to_string(swept.board.path("board/jetlag/sweeps/out.go")).unwrap();
    let before = command();
    let project = swept.board.path("project");
    fs::create_dir(&project).unwrap();
    fs::write(project.join("base.ron"), BASE.replace("30", "32")).unwrap();
    fs::write(project.join("s.ron"), SWEEP).unwrap();
    let mut other = swept
        .board
        .deploy_into(&["--sweep", "s.ron", "--no-doctor"], Path::new("runs/out"));
    let other = other.current_dir(&project).output().unwrap();
    assert_refused(
        &other,
        2,
        &[
            "out on localhost was begun with another sweep",
            "the base has changed",
            "name another folder with -o",
        ],
    );
    assert!(!stderr(&other).contains("copied"), "{}", stderr(&other));
    assert!(!project.join("runs/out").exists());
    assert_eq!(command(), before);
    let resumed = swept.deploy(&["--resume", "--quiet"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
}

#[test]
fn a_sweep_that_died_with_its_board_is_resumed_and_its_transfer_goes_on_where_it_broke_off() {
    let Some(swept) = Swept::start(SWEEP) else { return };
    swept.detach_and_halt();
    for process in swept.processes() {
        kill_process(process, Signal::KILL).unwrap();
    }
    wait_until("the sweep is gone", || {
        swept
            .processes()
            .iter()
            .all(|process| rustix::process::test_kill_process(*process).is_err())
    });
    // The transfer breaks off within the third file, once.
    let count = swept.board.path("count");
    let line = format!(
        "echo >>{0}; if [ \"$(wc -l <{0})\" = 3 ]; then /usr/bin/head -c 1000; kill -9 $PPID; exit 1; fi; exec /usr/bin/head \"$@\"",
        count.display()
    );
    script(&swept.board.programs().join("head"), &line);
    let broken = swept.deploy(&["--resume"]);
    assert_refused(
        &broken,
        1,
        &[
            "going on: ",
            "the connection to localhost was lost",
            "fetch its files with: jetlag deploy localhost --fetch",
        ],
    );
    let parts = || {
        let entries = fs::read_dir(swept.board.path("out/runs")).unwrap().flatten();
        let parts = entries.filter(|entry| entry.file_name().to_str().unwrap().ends_with(".part"));
        parts.map(|part| part.metadata().unwrap().len()).sum::<u64>()
    };
    assert!(parts() >= 1000, "what had come is kept");
    let all = swept.results().len();
    let fetched = swept.deploy(&["--fetch", "--quiet"]);
    let said = stderr(&fetched);
    assert_eq!(fetched.status.code(), Some(0), "{said}");
    assert!(
        said.contains(&format!("fetched {} of {all} files", all - 2)),
        "{said}"
    );
    assert_eq!(table(&swept.board.path("out")), swept.undisturbed());
    assert_eq!(runs_of(&swept.board.path("out")), 8, "no run was made twice");
    swept.assert_same_as_there();
    let nothing = swept.deploy(&["--fetch", "--quiet"]);
    let wanted = format!("fetched 0 of {all} files (0 B)");
    assert!(stderr(&nothing).contains(&wanted), "{}", stderr(&nothing));
    // A folder with another sweep in it stays as it is.
    fs::write(swept.board.path("out/journal.jsonl"), "another's\n").unwrap();
    assert_refused(
        &swept.deploy(&["--fetch", "--quiet"]),
        2,
        &["is no journal of a sweep", "move it away, or name another folder"],
    );
    assert_eq!(
        fs::read_to_string(swept.board.path("out/journal.jsonl")).unwrap(),
        "another's\n"
    );
}

/// How often links are cut at random moments; CI is short of time.
fn cuts() -> u64 {
    let asked = std::env::var("JETLAG_SWEEP_CUTS").ok();
    asked.and_then(|cuts| cuts.parse().ok()).unwrap_or(3)
}

/// While files are copied, the sweep begins, runs, or is fetched.
#[test]
fn links_that_are_cut_at_random_moments_cost_nothing_but_time() {
    let Some(swept) = Swept::start(&SWEEP.replace("500ms", "150ms")) else {
        return;
    };
    let whole = swept.undisturbed();
    let (mut cut, mut sweeps, mut moment) = (0, 0, 0x2545_f491_4f6c_dd1d_u64);
    while cut < cuts() {
        let name = format!("out{sweeps}");
        let deploy = || {
            let mut command = swept
                .board
                .deploy_into(&["--sweep", "s.ron", "--no-doctor", "--quiet"], Path::new(&name));
            command
                .current_dir(swept.here())
                .stdout(Stdio::null())
                .stderr(Stdio::piped());
            command
        };
        loop {
            let mut child = deploy().spawn().unwrap();
            // Xorshift.
            moment ^= moment << 13;
            moment ^= moment >> 7;
            moment ^= moment << 17;
            std::thread::sleep(std::time::Duration::from_millis(moment % 3500));
            let is_over = child.try_wait().unwrap().is_some();
            let links = if is_over {
                0
            } else {
                swept.board.cut_any_connections()
            };
            let ended = child.wait_with_output().unwrap();
            assert!(!stderr(&ended).contains("panicked"), "{}", stderr(&ended));
            cut += u64::from(links > 0 && !ended.status.success());
            if ended.status.success() || cut >= cuts() {
                break;
            }
        }
        let last = deploy().output().unwrap();
        assert_eq!(last.status.code(), Some(0), "after {cut} cuts: {}", stderr(&last));
        let out = swept.here().join(&name);
        assert_eq!(table(&out), whole, "after {cut} cuts");
        assert_eq!(runs_of(&out), 8);
        sweeps += 1;
    }
    println!("{cut} cuts in {sweeps} sweeps: every table is that of the undisturbed one");
}

/// Networks of which no tenant computes anything: what counts is which of them are there.
const NETWORKS: &str = r#"Scenario(duration: "10min", warmup: "0s", tenants: [Tenant(name: "a", backend: Null, source: Synthetic(sensor: Camera, scenes: 1),
    arrival: Periodic(hz: 100), frames: 3, detector: "first.ron")])"#;

#[test]
fn files_of_axes_are_brought_exactly_and_what_the_board_would_not_find_is_refused() {
    let sweep = r#"Sweep(base: "base.ron", axes: [Axis(set: "tenants.a.detector", files: "specs/*.ron")])"#;
    let Some(swept) = Swept::start(sweep) else { return };
    let here = swept.here();
    fs::write(here.join("base.ron"), NETWORKS).unwrap();
    fs::create_dir(here.join("specs")).unwrap();
    let engines = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/engines"));
    let spec = fs::read_to_string(engines.join("camera.ron")).unwrap();
    for (folder, names) in [("", &["first"][..]), ("specs", &["n5", "n10"])] {
        fs::copy(engines.join("camera.onnx"), here.join(folder).join("camera.onnx")).unwrap();
        for name in names {
            fs::write(here.join(folder).join(format!("{name}.ron")), &spec).unwrap();
        }
    }
    let done = swept.deploy(&["--sweep", "s.ron", "--quiet", "--format", "json"]);
    let said = stderr(&done);
    assert_eq!(done.status.code(), Some(0), "{said}");
    // jetlag, the sweep, its base; the base's spec and its network, and two more with one.
    assert!(said.contains("copied 8 of 8 files"), "{said}");
    let rows = |output: &Output| -> Vec<String> {
        let whole: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let rows = whole["rows"].as_array().unwrap().iter();
        rows.map(|row| {
            assert_eq!(row["state"], "done", "{row}");
            row["set"]["tenants.a.detector"].as_str().unwrap().to_owned()
        })
        .collect()
    };
    assert_eq!(rows(&done), ["specs/n5.ron", "specs/n10.ron"]);

    // A file that is gone here is none of the board's points either.
    fs::remove_file(here.join("specs/n10.ron")).unwrap();
    fs::write(here.join("specs/n7.ron"), &spec).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let extended = swept.deploy(&["--sweep", "s.ron", "--quiet", "--extend", "--format", "json"]);
    assert_eq!(extended.status.code(), Some(0), "{}", stderr(&extended));
    assert_eq!(rows(&extended), ["specs/n5.ron", "specs/n7.ron"]);

    // A base that was changed and looks as before is not sent; that its results are another's is noticed.
    let base = here.join("base.ron");
    let changed = fs::metadata(&base).unwrap().modified().unwrap();
    fs::write(&base, NETWORKS.replace("10min", "11min")).unwrap();
    fs::File::options()
        .write(true)
        .open(&base)
        .unwrap()
        .set_modified(changed)
        .unwrap();
    let mut command = swept
        .board
        .deploy_into(&["--sweep", "s.ron", "--no-doctor"], Path::new("stale"));
    let stale = command.current_dir(&here).output().unwrap();
    assert_refused(
        &stale,
        2,
        &["the board ran other files than those here: the base"],
    );

    for (text, phrase) in [
        (
            sweep.replace("specs/", &format!("{}/specs/", here.display())),
            "is an absolute path",
        ),
        (
            sweep.replace("base.ron", &format!("{}/base.ron", here.display())),
            "write it relative to s.ron",
        ),
        (sweep.replace("specs/*", "specs/none*"), "no file is called like"),
        (
            r#"Sweep(base: "base.ron", axes: [Axis(set: "tenants.a.arrivel", values: [1])])"#.to_owned(),
            "did you mean `arrival`?",
        ),
    ] {
        fs::write(here.join("s.ron"), text).unwrap();
        let refused = swept.deploy(&["--sweep", "s.ron"]);
        assert!(!refused.status.success());
        assert!(
            stderr(&refused).contains(phrase),
            "{phrase}: {}",
            stderr(&refused)
        );
        assert!(!stderr(&refused).contains("copied"), "{}", stderr(&refused));
    }
}

#[test]
fn a_board_where_another_sweep_runs_is_left_alone() {
    let Some(swept) = Swept::start(SWEEP) else { return };
    let sweep = swept.detach_and_halt();
    let mut command = swept
        .board
        .deploy_into(&["--sweep", "s.ron", "--no-doctor"], Path::new("other"));
    let other = command.current_dir(swept.here()).output().unwrap();
    assert_refused(&other, 1, &["is still running on localhost"]);
    // Ctrl-C of whoever watches it stops it, and what is finished comes. It is halted until it is asked to end, so that it does not
    // come to its end before.
    let watching = swept.spawn(&["--resume"]);
    swept.board.wait_for_follower();
    kill_process(Pid::from_child(&watching), Signal::INT).unwrap();
    wait_until("the sweep is asked to end", || {
        swept.run_there().join("stop").exists()
    });
    kill_process(sweep, Signal::CONT).unwrap();
    let stopped = watching.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", stderr(&stopped));
    assert!(
        stderr(&stopped).contains("--resume, goes on where it ended"),
        "{}",
        stderr(&stopped)
    );
    assert!(runs_of(&swept.board.path("out")) >= 2);
    let nothing = swept.deploy(&["--resume", "--set", "duration=1s"]);
    assert_eq!(nothing.status.code(), Some(2));
}
