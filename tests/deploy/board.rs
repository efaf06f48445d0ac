//! A board to deploy to: an sshd of our own on loopback, with keys made for the test.

use std::fs;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::under_way::{PATIENCE, completed, wait_until};

const SSHD: &str = "/usr/sbin/sshd";

/// An sshd, its keys, and a folder that is the board's.
pub(crate) struct TestBoard {
    sshd: Child,
    port: u16,
    /// Everything of the test.
    pub(crate) here: tempfile::TempDir,
}

impl TestBoard {
    /// Starts one; `None`, with the test skipped, where there is no sshd.
    pub(crate) fn start() -> Option<TestBoard> {
        if !Path::new(SSHD).exists() || Command::new("ssh").arg("-V").output().is_err() {
            let why = "no sshd or no ssh (scripts/setup.sh --test installs them)";
            nvidia_doubles::machine::missing(&["JETLAG_REQUIRE_SSHD"], why);
            return None;
        }
        let here = tempfile::tempdir().unwrap();
        let path = |name: &str| here.path().join(name);
        for key in ["host", "user", "stranger"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-C", key, "-f"])
                .arg(path(key))
                .status()
                .unwrap();
            assert!(made.success());
        }
        fs::copy(path("user.pub"), path("authorized")).unwrap();
        fs::create_dir(path("board")).unwrap();
        fs::create_dir(path("programs")).unwrap();
        // As on a board, a session starts at home: sshd itself takes the home that the machine has for the user. (A bash that
        // sshd starts reads this.)
        let at_home = "case $PWD in \"$HOME\"*) ;; *) cd ;; esac\n";
        fs::write(path("board/.bashrc"), at_home).unwrap();
        // The folder where sshd confines what it does not trust yet; Debian's service makes it.
        let _ = fs::create_dir_all("/run/sshd");
        // A port that was free a moment ago may be taken by now, as by another test's connection.
        let (sshd, port) = (0..5)
            .find_map(|_| listen(here.path()))
            .expect("sshd listens on one of five ports");
        let host = fs::read_to_string(path("host.pub")).unwrap();
        fs::write(path("known"), format!("[localhost]:{port} {host}")).unwrap();
        Some(TestBoard { sshd, port, here })
    }

    /// A path of the test's own.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.here.path().join(name)
    }

    /// A folder whose programs the board finds before its own.
    pub(crate) fn programs(&self) -> PathBuf {
        self.path("programs")
    }

    /// `jetlag deploy localhost` with these arguments, knowing the host and having its key.
    pub(crate) fn deploy(&self, arguments: &[&str]) -> Command {
        self.deploy_as("known", "user", arguments)
    }

    /// The same with other known hosts and another key.
    pub(crate) fn deploy_as(&self, known: &str, key: &str, arguments: &[&str]) -> Command {
        let mut command = self.connected(known, key, arguments);
        command.arg("--out").arg(self.path("out"));
        command
    }

    /// The same with another folder for what comes.
    pub(crate) fn deploy_into(&self, arguments: &[&str], out: &Path) -> Command {
        let mut command = self.connected("known", "user", arguments);
        command.arg("--out").arg(out);
        command
    }

    fn connected(&self, known: &str, key: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jetlag"));
        command.arg("deploy").arg("localhost").args(arguments);
        for option in [
            format!("Port={}", self.port),
            format!("UserKnownHostsFile={}", self.path(known).display()),
            format!("IdentityFile={}", self.path(key).display()),
            "GlobalKnownHostsFile=/dev/null".to_owned(),
            "IdentitiesOnly=yes".to_owned(),
            "IdentityAgent=none".to_owned(),
            "BatchMode=yes".to_owned(),
            "AddressFamily=inet".to_owned(),
        ] {
            command.args(["--ssh-option", &option]);
        }
        command
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .env_remove("RUST_LOG")
            .env("NO_COLOR", "1");
        command
    }

    /// Writes a program that is ssh with a config in which this board has a name.
    pub(crate) fn ssh_that_knows(&self, name: &str, program: &Path) {
        let config = self.path("ssh_config");
        let text = format!(
            "Host {name}\n  HostName localhost\n  AddressFamily inet\n  Port {}\n  UserKnownHostsFile {}\n  IdentityFile {}\n  \
             IdentitiesOnly yes\n  IdentityAgent none\n  BatchMode yes\n",
            self.port,
            self.path("known").display(),
            self.path("user").display()
        );
        fs::write(&config, text).unwrap();
        let line = format!("exec /usr/bin/ssh -F {} \"$@\"", config.display());
        nvidia_doubles::script(program, &line);
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.deploy(arguments).output().unwrap()
    }

    /// Breaks every connection that there is; new ones are taken.
    pub(crate) fn cut_connections(&self) {
        assert!(self.cut_any_connections() > 0, "nobody is connected");
    }

    /// The same, where there may be none; how many there were.
    pub(crate) fn cut_any_connections(&self) -> usize {
        let sessions = children(self.sshd.id());
        let count = sessions.len();
        for session in sessions {
            // The process that holds the connection, and, where rights were given up, its child.
            for process in children(session).into_iter().chain([session]) {
                let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
                if name.starts_with("sshd") {
                    let _ = Command::new("kill").args(["-9", &process.to_string()]).status();
                }
            }
        }
        count
    }

    /// The run files that were brought.
    pub(crate) fn brought(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("out")) else {
            return Vec::new();
        };
        let mut runs: Vec<PathBuf> = entries
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|e| e == "mcap"))
            .collect();
        runs.sort();
        runs
    }

    /// Waits until somebody is shown a run: until then, a connection that is lost is made anew. What a connection that was cut left
    /// there shows it to nobody.
    pub(crate) fn wait_for_follower(&self) {
        let runs = self.path("board/jetlag/runs");
        let follows = |process: &Path| {
            let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
            let line = fs::read_to_string(process.join("cmdline")).unwrap_or_default();
            name.trim() == "tail"
                && line.contains("--pid")
                && fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&runs))
                && is_below(process, self.sshd.id())
        };
        wait_until("somebody follows the run", || {
            let mut processes = fs::read_dir("/proc").unwrap().flatten();
            processes.any(|entry| follows(&entry.path()))
        });
    }

    /// Waits until a run has recorded frames on the board.
    pub(crate) fn wait_for_frames(&self) {
        wait_until("frames are recorded on the board", || {
            let runs = fs::read_dir(self.path("board/jetlag/runs")).into_iter().flatten();
            let mut files = runs
                .flatten()
                .flat_map(|run| fs::read_dir(run.path()).into_iter().flatten().flatten());
            files.any(|file| {
                let path = file.path();
                path.extension().is_some_and(|e| e == "mcap") && completed(&path, 0) > 0
            })
        });
    }
}

impl Drop for TestBoard {
    fn drop(&mut self) {
        for session in children(self.sshd.id()) {
            let _ = Command::new("kill").arg(session.to_string()).status();
        }
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

fn children(parent: u32) -> Vec<u32> {
    let tasks = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap_or_default();
    tasks
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Whether a process was started by another, or by one that was.
fn is_below(process: &Path, ancestor: u32) -> bool {
    let mut process = process.to_owned();
    // After the name, which may hold anything: state, parent.
    while let Ok(stat) = fs::read_to_string(process.join("stat"))
        && let Some((_, fields)) = stat.rsplit_once(')')
        && let Some(Ok(parent)) = fields.split_whitespace().nth(1).map(str::parse::<u32>)
        && parent > 1
    {
        if parent == ancestor {
            return true;
        }
        process = Path::new("/proc").join(parent.to_string());
    }
    false
}

/// Starts sshd over the keys of a folder on a port that was free; none where it ends or is not the one that answers there.
fn listen(here: &Path) -> Option<(Child, u16)> {
    let path = |name: &str| here.join(name).display().to_string();
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    fs::write(
        here.join("config"),
        format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PidFile none\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nSetEnv HOME={} \
             PATH={}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n",
            path("host"),
            path("authorized"),
            path("board"),
            path("programs")
        ),
    )
    .unwrap();
    let mut sshd = Command::new(SSHD)
        .args(["-D", "-e", "-f", &path("config")])
        .stdin(Stdio::null())
        .stderr(fs::File::create(here.join("sshd.log")).unwrap())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE && sshd.try_wait().unwrap().is_none() {
        if greets(port) {
            return Some((sshd, port));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = sshd.kill();
    let _ = sshd.wait();
    None
}

/// Whether a server of ssh answers: a connection alone proves nothing, since one to a free port can end at itself.
fn greets(port: u16) -> bool {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else {
        return false;
    };
    let mut greeting = [0; 4];
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.read_exact(&mut greeting).is_ok() && greeting == *b"SSH-"
}
