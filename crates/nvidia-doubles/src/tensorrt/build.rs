//! Compiles the double of TensorRT.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use super::headers::Headers;
use super::{Double, shims, sources};
use crate::compile::{Compiler, hash_folder, once, run};
use crate::machine::variable;
use crate::nvtx;

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
            "ranges",
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

pub(super) fn double(headers: &Headers) -> Result<Double, String> {
    let compiler = compiler(&headers.path)?;
    let (rtx, [major, minor, patch, build]) = version(&compiler)?;
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
    include_str!("../compile.rs").hash(&mut hash);
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
pub(super) fn program(double: &Double, source: &Path) -> Result<PathBuf, String> {
    let compiler = compiler(&double.headers)?;
    let mut hash = DefaultHasher::new();
    (&double.folder, &compiler.program, &compiler.flags).hash(&mut hash);
    let text = std::fs::read(source).map_err(|e| format!("{}: {e}", source.display()))?;
    text.hash(&mut hash);
    let name = source.file_stem().unwrap_or_default();
    let folder = once(&format!("{}-{:016x}", name.display(), hash.finish()), |into| {
        let rpath = format!("-Wl,-rpath,{}", double.folder.display());
        compiler.run(|c| {
            c.arg(source)
                .arg(&double.infer)
                .arg(&double.parser)
                .args([&rpath, "-ldl", "-o"])
                .arg(into.join(name))
        })
    })?;
    Ok(folder.join(name))
}

/// A header folder made from a table.
pub(super) fn headers_of(table: &Path, name: &str) -> Result<PathBuf, String> {
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

/// The C++ compiler with the include folders of TensorRT's headers, CUDA's and the double's.
fn compiler(headers: &Path) -> Result<Compiler, String> {
    let mut compiler = Compiler::find()?;
    // What only headers that we have never seen bring up is no fault of the double's.
    let given = variable("JETLAG_TENSORRT_HEADERS").unwrap_or_default();
    if std::env::split_paths(&given).any(|path| path == headers) {
        compiler.flags.push("-Wno-error".to_owned());
    }
    let cuda = cuda_headers().unwrap_or_else(|| sources().join("stub"));
    for folder in [headers, &cuda] {
        compiler
            .flags
            .extend(["-isystem".to_owned(), folder.display().to_string()]);
    }
    if let Some(folder) = nvtx::headers() {
        compiler.flags.extend([
            "-isystem".to_owned(),
            folder.display().to_string(),
            "-DDOUBLE_NVTX".to_owned(),
        ]);
    }
    compiler.flags.extend([
        "-DTENSORRT_BUILD_LIB=1".to_owned(),
        format!("-I{}", sources().display()),
    ]);
    Ok(compiler)
}

/// Whether the headers are TensorRT-RTX's, and their version.
fn version(compiler: &Compiler) -> Result<(bool, [i32; 4]), String> {
    const NAMES: &str =
        "NV_TENSORRT_MAJOR NV_TENSORRT_MINOR NV_TENSORRT_PATCH NV_TENSORRT_BUILD TRT_MAJOR_RTX";
    let text = compiler.preprocess(&format!("#include \"NvInferVersion.h\"\nTHE_VERSION {NAMES}\n"))?;
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
