//! NVRTC: CUDA C to code for one device, at run time.
//!
//! The library comes with the CUDA toolkit and is found by its name; nothing is linked. Its functions keep their types
//! since CUDA 11.2, the oldest release that is looked for. What is compiled, and where the code is kept, is decided by
//! others.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;

use libloading::Library;

use super::toolkit::Names;

type Program = *mut std::ffi::c_void;

/// Why there is no code for the device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NvrtcError {
    /// The library was not found.
    #[error(
        "jetlag's kernels need NVRTC, which was not found (looked for {}). It comes with the CUDA toolkit: package cuda-nvrtc-12-6 or nvidia-cuda-nvrtc-cu12 (pip) for your driver's release; on a Jetson cuda-nvrtc, part of nvidia-jetpack. Set JETLAG_NVRTC to the library or its folder",
        looked.join(", ")
    )]
    Missing {
        /// Names and files, in order.
        looked: Vec<String>,
    },
    /// A library that is not NVRTC, or too old.
    #[error("{library} has no function {function}: it is not NVRTC of CUDA 11.2 or newer")]
    NoFunction {
        /// The library file that was loaded.
        library: String,
        /// Name of the missing function.
        function: &'static str,
    },
    /// The source is wrong.
    #[error("NVRTC {version} cannot compile {name} for {architecture}: {log}")]
    Compile {
        /// Name of the kernel source.
        name: String,
        /// The target architecture, such as `sm_87`.
        architecture: String,
        /// NVRTC's release, such as `12.9`.
        version: String,
        /// The compiler's log, with its error messages.
        log: String,
    },
    /// It compiles for newer devices alone.
    #[error("NVRTC {version} no longer supports compute capability {}.{}; use an older release of the CUDA toolkit", capability / 10, capability % 10)]
    TooNew {
        /// NVRTC's release, such as `12.9`.
        version: String,
        /// The device's compute capability, as 53 for 5.3.
        capability: u16,
    },
    /// Any other call of NVRTC that failed.
    #[error("NVRTC {version} failed at {call}: {problem}")]
    Failed {
        /// NVRTC's release, such as `12.9`.
        version: String,
        /// Name of the function that failed.
        call: &'static str,
        /// The error in NVRTC's words.
        problem: String,
    },
}

macro_rules! functions {
    ($($field:ident = $name:literal: fn($($argument:ty),*) -> $result:ty;)*) => {
        struct Functions { $($field: unsafe extern "C" fn($($argument),*) -> $result,)* }
        impl Functions {
            fn of(library: &Library, shown: &str) -> Result<Self, NvrtcError> {
                Ok(Self { $($field: {
                    // SAFETY: the type is that of nvrtc.h since CUDA 11.2.
                    *unsafe { library.get(concat!($name, "\0").as_bytes()) }.map_err(|_| NvrtcError::NoFunction {
                        library: shown.to_owned(),
                        function: $name,
                    })?
                },)* })
            }
        }
    };
}

functions! {
    version = "nvrtcVersion": fn(*mut c_int, *mut c_int) -> c_int;
    error = "nvrtcGetErrorString": fn(c_int) -> *const c_char;
    create = "nvrtcCreateProgram": fn(*mut Program, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char) -> c_int;
    destroy = "nvrtcDestroyProgram": fn(*mut Program) -> c_int;
    compile = "nvrtcCompileProgram": fn(Program, c_int, *const *const c_char) -> c_int;
    log_size = "nvrtcGetProgramLogSize": fn(Program, *mut usize) -> c_int;
    log = "nvrtcGetProgramLog": fn(Program, *mut c_char) -> c_int;
    cubin_size = "nvrtcGetCUBINSize": fn(Program, *mut usize) -> c_int;
    cubin = "nvrtcGetCUBIN": fn(Program, *mut c_char) -> c_int;
    ptx_size = "nvrtcGetPTXSize": fn(Program, *mut usize) -> c_int;
    ptx = "nvrtcGetPTX": fn(Program, *mut c_char) -> c_int;
    count = "nvrtcGetNumSupportedArchs": fn(*mut c_int) -> c_int;
    supported = "nvrtcGetSupportedArchs": fn(*mut c_int) -> c_int;
}

/// NVRTC, loaded at run time.
pub struct Nvrtc {
    functions: Functions,
    shown: String,
    version: (c_int, c_int),
    /// Compute capabilities that it compiles for, ascending, as 87 for 8.7.
    supported: Vec<u16>,
    /// Keeps the functions' addresses valid.
    _library: Library,
}

impl std::fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NVRTC {} ({})", self.version(), self.shown)
    }
}

/// Its names by CUDA's major version; releases of CUDA 11 from 11.2 on share one.
const NAMES: Names = Names {
    by_major: &[
        (11, "libnvrtc.so.11.2"),
        (12, "libnvrtc.so.12"),
        (13, "libnvrtc.so.13"),
        (14, "libnvrtc.so.14"),
    ],
    plain: "libnvrtc.so",
    variable: "JETLAG_NVRTC",
};

impl Nvrtc {
    /// Finds the library that fits the driver (its CUDA version, as 12040 for 12.4): at `named` (a file or a folder), else
    /// in `JETLAG_NVRTC`, else by name and in the toolkit's folder.
    ///
    /// # Errors
    /// There is none, or what there is is not NVRTC.
    pub fn find(driver_cuda: i32, named: Option<&Path>) -> Result<Self, NvrtcError> {
        let mut looked = Vec::new();
        for path in NAMES.candidates(driver_cuda, named) {
            // SAFETY: NVRTC's library runs nothing of note when it is loaded.
            match unsafe { Library::new(&path) } {
                Ok(library) => return Self::over(library, path.display().to_string()),
                Err(_) => looked.push(path.display().to_string()),
            }
        }
        Err(NvrtcError::Missing { looked })
    }

    fn over(library: Library, shown: String) -> Result<Self, NvrtcError> {
        let functions = Functions::of(&library, &shown)?;
        let (mut major, mut minor, mut count) = (0, 0, 0);
        // SAFETY: writes two numbers.
        let _ = unsafe { (functions.version)(&raw mut major, &raw mut minor) };
        // SAFETY: writes one number.
        let _ = unsafe { (functions.count)(&raw mut count) };
        let mut found = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: writes as many numbers as were counted.
        let _ = unsafe { (functions.supported)(found.as_mut_ptr()) };
        Ok(Nvrtc {
            functions,
            shown,
            version: (major, minor),
            supported: found
                .into_iter()
                .filter_map(|arch| u16::try_from(arch).ok())
                .collect(),
            _library: library,
        })
    }

    /// Its release, such as `12.9`.
    pub fn version(&self) -> String {
        format!("{}.{}", self.version.0, self.version.1)
    }

    /// What it compiles for: the device's own architecture (`sm_87`: machine code), or for a device that is newer than it
    /// the newest that it knows (`compute_90`: PTX, which the driver translates).
    ///
    /// # Errors
    /// The device is older than all that it knows.
    pub fn architecture(&self, capability: u16) -> Result<String, NvrtcError> {
        if self.supported.contains(&capability) {
            return Ok(format!("sm_{capability}"));
        }
        let older = self.supported.iter().filter(|known| **known < capability).max();
        match older {
            Some(known) => Ok(format!("compute_{known}")),
            None => Err(NvrtcError::TooNew {
                version: self.version(),
                capability,
            }),
        }
    }

    /// Compiles `source` for a device of this compute capability (87 for 8.7). The code ends with a zero, as the driver
    /// wants it of PTX.
    ///
    /// # Errors
    /// The source is wrong, with the compiler's words; or the device is not known.
    pub fn compile(&self, name: &str, source: &str, capability: u16) -> Result<Vec<u8>, NvrtcError> {
        let architecture = self.architecture(capability)?;
        let failed = |log: String| NvrtcError::Compile {
            name: name.to_owned(),
            architecture: architecture.clone(),
            version: self.version(),
            log,
        };
        let text = |text: &str| CString::new(text).map_err(|_| failed("it has a zero byte".to_owned()));
        let (source, shown) = (text(source)?, text(name)?);
        let options = [
            text(&format!("--gpu-architecture={architecture}"))?,
            text("--std=c++14")?,
        ];
        let options: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program = Compiling {
            nvrtc: self,
            raw: std::ptr::null_mut(),
        };
        let none = std::ptr::null();
        // SAFETY: both texts end with a zero; there are no headers.
        let made = unsafe {
            (self.functions.create)(
                &raw mut program.raw,
                source.as_ptr(),
                shown.as_ptr(),
                0,
                none,
                none,
            )
        };
        self.check(made, "nvrtcCreateProgram")?;
        // SAFETY: the program is alive, and there are as many options as said.
        let compiled =
            unsafe { (self.functions.compile)(program.raw, options.len() as c_int, options.as_ptr()) };
        if compiled != 0 {
            let log = program.bytes(self.functions.log_size, self.functions.log, "nvrtcGetProgramLog")?;
            let log = String::from_utf8_lossy(&log);
            return Err(failed(log.trim_matches(['\0', '\n', ' ']).to_owned()));
        }
        let mut code = match architecture.starts_with("sm_") {
            true => program.bytes(self.functions.cubin_size, self.functions.cubin, "nvrtcGetCUBIN")?,
            false => program.bytes(self.functions.ptx_size, self.functions.ptx, "nvrtcGetPTX")?,
        };
        code.push(0);
        Ok(code)
    }

    fn check(&self, answer: c_int, call: &'static str) -> Result<(), NvrtcError> {
        if answer == 0 {
            return Ok(());
        }
        // SAFETY: answers a text of its own for every number.
        let words = unsafe { (self.functions.error)(answer) };
        let problem = match words.is_null() {
            true => format!("error {answer}"),
            // SAFETY: a text that ends with a zero and lives as long as the library.
            false => unsafe { CStr::from_ptr(words) }.to_string_lossy().into_owned(),
        };
        Err(NvrtcError::Failed {
            version: self.version(),
            call,
            problem,
        })
    }
}

/// A program between its creation and its end.
struct Compiling<'a> {
    nvrtc: &'a Nvrtc,
    raw: Program,
}

type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
type Content = unsafe extern "C" fn(Program, *mut c_char) -> c_int;

impl Compiling<'_> {
    fn bytes(&self, size: Size, content: Content, call: &'static str) -> Result<Vec<u8>, NvrtcError> {
        let mut length = 0;
        // SAFETY: the program is alive; writes one number.
        self.nvrtc
            .check(unsafe { size(self.raw, &raw mut length) }, call)?;
        let mut bytes = vec![0_u8; length];
        // SAFETY: writes as many bytes as it just said.
        self.nvrtc
            .check(unsafe { content(self.raw, bytes.as_mut_ptr().cast()) }, call)?;
        Ok(bytes)
    }
}

impl Drop for Compiling<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: made by us and used no more.
            let _ = unsafe { (self.nvrtc.functions.destroy)(&raw mut self.raw) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_told_with_where_it_was_looked_for() {
        let error = Nvrtc::find(12_040, Some(Path::new("/nowhere/libnvrtc.so"))).unwrap_err();
        let said = error.to_string();
        assert!(said.contains("looked for /nowhere/libnvrtc.so)"), "{said}");
        assert!(said.contains("CUDA toolkit") && said.contains("Jetson"), "{said}");
    }
}
