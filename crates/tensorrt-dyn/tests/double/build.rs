//! Compiles the double. The result is keyed by everything that goes in (sources, headers, compiler, flags), made in a
//! folder of its own and then renamed: several test programs may do this at the same time.

use super::headers::Headers;
use super::machine::{is_asked, variable};
use super::{Double, shims, sources};
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is compiled: the library that it goes into, and files that are compiled as one. Headers, generated classes and
/// templates of the standard library cost more than our own code, so few units compile quicker than many; and most of
/// the time at -O1 went into code that runs once. The benchmark's loops alone are optimised.
struct Unit {
    library: &'static str,
    files: &'static [&'static str],
    optimise: &'static str,
}

const UNITS: [Unit; 3] = [
    Unit {
        library: "infer",
        files: &[
            "builder",
            "network",
            "build",
            "plan",
            "runtime",
            "context",
            "compute",
            "device",
            "entry",
            "core",
            "description",
        ],
        optimise: "-O0",
    },
    Unit {
        library: "parser",
        files: &["parser", "core", "description"],
        optimise: "-O0",
    },
    Unit {
        library: "infer",
        files: &["bench", "frames"],
        optimise: "-O2",
    },
];

pub fn double(headers: &Headers) -> Result<Double, String> {
    let compiler = Compiler::find(Some(&headers.path))?;
    let (rtx, [major, minor, patch, build]) = compiler.version()?;
    let old = !rtx && major < 10;
    let number = if old {
        major * 1000 + minor * 100 + patch
    } else {
        major * 10000 + minor * 100 + patch
    };
    let era = match (rtx, major, minor) {
        (false, ..10, _) => 'A',
        (false, 10, _) => 'B',
        (false, ..) => 'C',
        (true, _, ..5) => 'D',
        (true, ..) => 'E',
    };
    let (infer, parser) = if rtx {
        (
            format!("libtensorrt_rtx.so.{major}"),
            format!("libtensorrt_onnxparser_rtx.so.{major}"),
        )
    } else {
        (
            format!("libnvinfer.so.{major}"),
            format!("libnvonnxparser.so.{major}"),
        )
    };
    let mut hash = DefaultHasher::new();
    (&compiler.program, &compiler.flags, &infer).hash(&mut hash);
    hash_folder(&headers.path, &["h"], &mut hash)?;
    hash_folder(&sources(), &["h", "cpp"], &mut hash)?;
    include_str!("shims.rs").hash(&mut hash);
    include_str!("build.rs").hash(&mut hash);
    let flavour = if rtx { "rtx" } else { "trt" };
    let key = format!("{flavour}-{major}.{minor}.{patch}-{:016x}", hash.finish());
    let folder = once(&key, |into| libraries(&compiler, into, &infer, &parser))?;
    Ok(Double {
        era,
        version: format!(
            "{flavour} {major}.{minor}.{patch}.{build}{}",
            if headers.from_tables { " (tables)" } else { "" }
        ),
        number,
        infer: folder.join(infer),
        parser: folder.join(parser),
        folder,
        headers: headers.path.clone(),
    })
}

/// A program of one source file, linked with both libraries of the double.
pub fn program(double: &Double, source: &str) -> Result<PathBuf, String> {
    let compiler = Compiler::find(Some(&double.headers))?;
    let mut hash = DefaultHasher::new();
    (&double.folder, &compiler.program, &compiler.flags).hash(&mut hash);
    let text = std::fs::read(sources().join(source)).map_err(|e| format!("{source}: {e}"))?;
    text.hash(&mut hash);
    let name = source.trim_end_matches(".cpp");
    let folder = once(&format!("{name}-{:016x}", hash.finish()), |into| {
        let rpath = format!("-Wl,-rpath,{}", double.folder.display());
        compiler.run(|c| {
            c.arg(sources().join(source))
                .arg(&double.infer)
                .arg(&double.parser)
                .args([&rpath, "-ldl", "-o"])
                .arg(into.join(name))
        })
    })?;
    Ok(folder.join(name))
}

/// A shared library of this name, of C++ files of a folder that are compiled as one, and of nothing of TensorRT's; gives
/// the folder that holds it alone. It stays loaded once it is.
pub fn library(name: &str, folder: &Path, files: &[&str], defines: &[String]) -> Result<PathBuf, String> {
    let compiler = Compiler::find(None)?;
    let mut hash = DefaultHasher::new();
    (&compiler.program, &compiler.flags, name, files, defines).hash(&mut hash);
    hash_folder(folder, &["h", "cpp"], &mut hash)?;
    hash_folder(&sources(), &["h"], &mut hash)?;
    include_str!("build.rs").hash(&mut hash);
    once(&format!("{name}-{:016x}", hash.finish()), |into| {
        let include =
            |file: &&str| format!("#include \"{}\"\n", folder.join(format!("{file}.cpp")).display());
        let text: String = files.iter().map(include).collect();
        let source = into.join("all.cpp");
        std::fs::write(&source, text).map_err(|e| e.to_string())?;
        compiler.run(|c| {
            c.args(defines.iter().map(|define| format!("-D{define}")))
                .args(["-O2", "-fPIC", "-fvisibility=hidden", "-shared", "-pthread"])
                .args(["-Wl,-z,nodelete", &format!("-Wl,-soname,{name}"), "-o"])
                .arg(into.join(name))
                .arg(&source)
                .arg("-ldl")
        })?;
        std::fs::remove_file(&source).map_err(|e| e.to_string())
    })
}

/// Whether a C++ compiler is here.
pub fn compiler() -> Result<(), String> {
    Compiler::find(None).map(|_| ())
}

/// A header folder made from a table.
pub fn headers_of(table: &Path, name: &str) -> Result<PathBuf, String> {
    let script = sources().join("headers_from_tables.py");
    let mut hash = DefaultHasher::new();
    for file in [table, &script] {
        std::fs::read(file)
            .map_err(|e| format!("{}: {e}", file.display()))?
            .hash(&mut hash);
    }
    once(&format!("headers-{name}-{:016x}", hash.finish()), |into| {
        let mut python = Command::new("python3");
        run(python.arg(&script).arg(table).arg(into))
    })
}

fn libraries(compiler: &Compiler, into: &Path, infer: &str, parser: &str) -> Result<(), String> {
    let work = into.join("objects");
    for (kind, includes, interfaces) in [
        ("infer", "#include \"NvInfer.h\"\n", shims::INFER),
        (
            "parser",
            "#include \"NvInfer.h\"\n#include \"NvOnnxParser.h\"\n",
            shims::PARSER,
        ),
    ] {
        std::fs::create_dir_all(work.join(kind)).map_err(|e| e.to_string())?;
        let made = shims::generate(&compiler.preprocess(includes)?, interfaces)?;
        std::fs::write(work.join(kind).join("shims.h"), made).map_err(|e| e.to_string())?;
    }
    let jobs = Mutex::new((0..UNITS.len()).rev().collect::<Vec<_>>());
    let next = || jobs.lock().unwrap().pop();
    let object = |unit: usize| work.join(format!("{unit}.o"));
    let compile = || -> Result<(), String> {
        while let Some(unit) = next() {
            let Unit {
                library,
                files,
                optimise,
            } = UNITS[unit];
            let text: String = files.iter().map(|f| format!("#include \"{f}.cpp\"\n")).collect();
            let source = work.join(format!("{unit}.cpp"));
            std::fs::write(&source, text).map_err(|e| e.to_string())?;
            compiler.run(|c| {
                c.args([optimise, "-fPIC", "-fvisibility=hidden", "-c", "-I"])
                    .arg(work.join(library))
                    .arg(&source)
                    .arg("-o")
                    .arg(object(unit))
            })?;
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(compile)).collect();
        workers.into_iter().try_for_each(|w| {
            w.join()
                .unwrap_or_else(|_| Err("the compiling thread panicked".to_owned()))
        })
    })?;
    for (kind, library) in [("infer", infer), ("parser", parser)] {
        let objects = (0..UNITS.len()).filter(|u| UNITS[*u].library == kind).map(object);
        compiler.run(|c| {
            c.args(["-shared", "-Wl,-Bsymbolic", &format!("-Wl,-soname,{library}")]);
            c.args(objects).args(["-ldl", "-o"]).arg(into.join(library))
        })?;
    }
    std::fs::remove_dir_all(&work).map_err(|e| e.to_string())
}

/// The folder of this key; made by `make` if it is not there yet.
fn once(key: &str, make: impl FnOnce(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("double");
    let ready = root.join(key);
    if ready.is_dir() {
        return Ok(ready);
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let work = root.join(format!("unfinished-{}-{number}-{key}", std::process::id()));
    std::fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let made = make(&work).and_then(|()| match std::fs::rename(&work, &ready) {
        // Another test program was quicker: its folder is as good.
        Err(_) if ready.is_dir() => Ok(()),
        Err(e) => Err(format!("{}: {e}", ready.display())),
        Ok(()) => Ok(()),
    });
    if work.is_dir() {
        let _ = std::fs::remove_dir_all(&work);
    }
    made.map(|()| ready)
}

/// The C++ compiler with the flags of everything that is compiled here.
struct Compiler {
    program: String,
    flags: Vec<String>,
}

impl Compiler {
    /// With the include folders of TensorRT's headers and CUDA's, where headers are given.
    fn find(headers: Option<&Path>) -> Result<Self, String> {
        let mut tried: Vec<String> = std::env::var("CXX")
            .into_iter()
            .filter(|p| !p.is_empty())
            .collect();
        tried.extend(["c++", "g++", "clang++"].map(str::to_owned));
        let works = |p: &&String| {
            Command::new(p)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|s| s.success())
        };
        let program = tried.iter().find(works).cloned().ok_or_else(|| {
            format!(
                "no C++ compiler (tried {}): install g++ or clang++, or name one in CXX",
                tried.join(", ")
            )
        })?;
        let mut flags: Vec<String> = [
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Woverloaded-virtual",
            "-Wno-deprecated-declarations",
        ]
        .map(str::to_owned)
        .to_vec();
        // What only headers that we have never seen bring up is no fault of the double's.
        let given = variable("JETLAG_TENSORRT_HEADERS").unwrap_or_default();
        if !headers.is_some_and(|headers| std::env::split_paths(&given).any(|path| path == headers)) {
            flags.push("-Werror".to_owned());
        }
        if let Some(headers) = headers {
            let cuda = cuda_headers().unwrap_or_else(|| sources().join("stub"));
            for folder in [headers, &cuda] {
                flags.extend(["-isystem".to_owned(), folder.display().to_string()]);
            }
        }
        flags.extend([
            "-DTENSORRT_BUILD_LIB=1".to_owned(),
            format!("-I{}", sources().display()),
        ]);
        if is_asked("JETLAG_DOUBLE_SANITIZE") {
            flags
                .extend(["-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined"].map(str::to_owned));
        }
        Ok(Self { program, flags })
    }

    fn run(&self, arguments: impl FnOnce(&mut Command) -> &mut Command) -> Result<(), String> {
        let mut command = Command::new(&self.program);
        command.args(&self.flags);
        run(arguments(&mut command))
    }

    /// The text that these lines include.
    fn preprocess(&self, lines: &str) -> Result<String, String> {
        let mut child = Command::new(&self.program)
            .args(&self.flags)
            .args(["-x", "c++", "-E", "-P", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", self.program))?;
        child
            .stdin
            .take()
            .ok_or("no standard input")?
            .write_all(lines.as_bytes())
            .map_err(|e| e.to_string())?;
        let output = child.wait_with_output().map_err(|e| e.to_string())?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Whether the headers are TensorRT-RTX's, and their version.
    fn version(&self) -> Result<(bool, [i32; 4]), String> {
        const NAMES: &str =
            "NV_TENSORRT_MAJOR NV_TENSORRT_MINOR NV_TENSORRT_PATCH NV_TENSORRT_BUILD TRT_MAJOR_RTX";
        let text = self.preprocess(&format!("#include \"NvInferVersion.h\"\nTHE_VERSION {NAMES}\n"))?;
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix("THE_VERSION "))
            .ok_or("NvInferVersion.h has no version")?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let numbers: Vec<i32> = words.iter().take(4).filter_map(|w| w.parse().ok()).collect();
        let numbers = numbers
            .try_into()
            .map_err(|_| format!("NvInferVersion.h is not understood: {line}"))?;
        Ok((words.get(4).is_some_and(|w| *w != "TRT_MAJOR_RTX"), numbers))
    }
}

/// The include folder of an installed CUDA.
fn cuda_headers() -> Option<PathBuf> {
    let homes = ["CUDA_HOME", "CUDA_PATH"]
        .iter()
        .filter_map(std::env::var_os)
        .map(PathBuf::from);
    homes
        .chain([PathBuf::from("/usr/local/cuda")])
        .map(|home| home.join("include"))
        .find(|folder| folder.join("cuda_runtime_api.h").is_file())
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!(
        "{command:?} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    ))
}

fn hash_folder(folder: &Path, extensions: &[&str], hash: &mut impl Hasher) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|e| e.ok().map(|e| e.path())).collect();
    files.sort();
    for file in files {
        if file.ends_with("client.cpp") {
            continue; // a program of its own
        }
        if file
            .extension()
            .is_some_and(|e| extensions.iter().any(|x| e == *x))
        {
            file.file_name().hash(hash);
            std::fs::read(&file)
                .map_err(|e| format!("{}: {e}", file.display()))?
                .hash(hash);
        }
    }
    Ok(())
}
