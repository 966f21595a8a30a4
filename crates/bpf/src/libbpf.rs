//! Loads a BPF object with libbpf, the system's: found when it is needed, so that this tool is built and runs without it.

use crate::bpf::{LINKED, Map};
use crate::host_error::{Doing as _, HostError};
use crate::object::Object;
use libloading::os::unix::RTLD_NOW;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{NonNull, null};
use std::sync::Mutex;

/// Version 1 of its interface, which all of 1.x have.
const LIBRARY: &str = "libbpf.so.1";

/// Whether it is there; if not, what to do.
pub fn check() -> Result<(), String> {
    Library::open().map(drop)
}

/// The messages of libbpf since the last look: warnings, and the verifier's log.
static SAID: Mutex<String> = Mutex::new(String::new());

/// The parts of libbpf that are used, `bpf/libbpf.h`.
#[derive(Clone, Copy)]
struct Library {
    open_mem: unsafe extern "C" fn(*const c_void, usize, *const c_void) -> *mut c_void,
    load: unsafe extern "C" fn(*mut c_void) -> c_int,
    close: unsafe extern "C" fn(*mut c_void),
    next_program: unsafe extern "C" fn(*mut c_void, *mut c_void) -> *mut c_void,
    program_name: unsafe extern "C" fn(*const c_void) -> *const c_char,
    program_fd: unsafe extern "C" fn(*const c_void) -> c_int,
    set_autoload: unsafe extern "C" fn(*mut c_void, bool) -> c_int,
    map_by_name: unsafe extern "C" fn(*mut c_void, *const c_char) -> *mut c_void,
    map_fd: unsafe extern "C" fn(*const c_void) -> c_int,
    set_autocreate: unsafe extern "C" fn(*mut c_void, bool) -> c_int,
    set_map_flags: unsafe extern "C" fn(*mut c_void, u32) -> c_int,
    reuse_fd: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    value_size: unsafe extern "C" fn(*const c_void) -> u32,
    attach_struct_ops: unsafe extern "C" fn(*const c_void) -> *mut c_void,
    link_fd: unsafe extern "C" fn(*const c_void) -> c_int,
    link_disconnect: unsafe extern "C" fn(*mut c_void),
    link_destroy: unsafe extern "C" fn(*mut c_void) -> c_int,
    set_print: unsafe extern "C" fn(Option<Print>) -> Option<Print>,
}

/// A `va_list` is passed as a pointer on all machines that Linux runs BPF on.
type Print = unsafe extern "C" fn(c_int, *const c_char, *mut c_void) -> c_int;

unsafe extern "C" {
    fn vsnprintf(to: *mut c_char, size: usize, format: *const c_char, arguments: *mut c_void) -> c_int;
}

unsafe extern "C" fn hear(level: c_int, format: *const c_char, arguments: *mut c_void) -> c_int {
    // Warnings; the rest is its diary.
    if level > 0 {
        return 0;
    }
    let mut line = vec![0_u8; 64 << 10];
    // SAFETY: it writes at most that many bytes; format and arguments are libbpf's, and passed on as they came.
    unsafe { vsnprintf(line.as_mut_ptr().cast(), line.len(), format, arguments) };
    if let Ok(mut said) = SAID.lock() {
        said.push_str(&super::bpf::text(&line));
    }
    0
}

impl Library {
    fn open() -> Result<Self, String> {
        // SAFETY: the initialisers of libbpf and of the libraries that it needs do nothing.
        let library = unsafe { libloading::os::unix::Library::open(Some(LIBRARY), RTLD_NOW) }.map_err(|error| {
            format!(
                "{LIBRARY} cannot be loaded: {error}; install libbpf, version 1 or newer (Debian: apt-get install libbpf1; \
                 Fedora: dnf install libbpf)"
            )
        })?;
        let library: &'static _ = Box::leak(Box::new(library));
        // SAFETY: the types above are those of `bpf/libbpf.h`, which keeps them throughout version 1.
        unsafe {
            Ok(Self {
                open_mem: function(library, c"bpf_object__open_mem")?,
                load: function(library, c"bpf_object__load")?,
                close: function(library, c"bpf_object__close")?,
                next_program: function(library, c"bpf_object__next_program")?,
                program_name: function(library, c"bpf_program__name")?,
                program_fd: function(library, c"bpf_program__fd")?,
                set_autoload: function(library, c"bpf_program__set_autoload")?,
                map_by_name: function(library, c"bpf_object__find_map_by_name")?,
                map_fd: function(library, c"bpf_map__fd")?,
                set_autocreate: function(library, c"bpf_map__set_autocreate")?,
                set_map_flags: function(library, c"bpf_map__set_map_flags")?,
                reuse_fd: function(library, c"bpf_map__reuse_fd")?,
                value_size: function(library, c"bpf_map__value_size")?,
                attach_struct_ops: function(library, c"bpf_map__attach_struct_ops")?,
                link_fd: function(library, c"bpf_link__fd")?,
                link_disconnect: function(library, c"bpf_link__disconnect")?,
                link_destroy: function(library, c"bpf_link__destroy")?,
                set_print: function(library, c"libbpf_set_print")?,
            })
        }
    }
}

/// A function of a library that stays open until this process ends.
///
/// # Safety
/// It must be of that type, which must be one of a function.
unsafe fn function<T: Copy>(library: &'static libloading::os::unix::Library, name: &CStr) -> Result<T, String> {
    // SAFETY: the type is the caller's.
    let found = unsafe { library.get::<T>(name.to_bytes_with_nul()) };
    found.map(|function| *function).map_err(|_| format!("{LIBRARY} has no {}", name.to_string_lossy()))
}

/// Which programs of the object are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The congestion control; whether a link is to hold it.
    Control {
        /// Whether a link holds it.
        linked: bool,
    },
    /// The program that chooses one for the connections of others.
    Choose,
    /// The program that shows connections.
    Watch,
}

impl Part {
    fn has(self, program: &str) -> bool {
        match self {
            Self::Control { .. } => !matches!(program, "pcc_choose" | "pcc_watch"),
            Self::Choose => program == "pcc_choose",
            Self::Watch => program == "pcc_watch",
        }
    }
}

/// An object whose programs the kernel has taken. When this is dropped they go, unless somebody else holds them.
pub struct Loaded {
    library: Library,
    object: NonNull<c_void>,
}

impl Loaded {
    /// Errors: no libbpf; the kernel's verifier refused the object, or has not all that it needs; no rights.
    pub fn load(object: &Object, part: Part) -> Result<Self, HostError> {
        Self::load_with(object, part, None)
    }

    /// The same, with a map that is there already instead of the object's own of its name, if they have the same size.
    pub fn load_with(object: &Object, part: Part, shared: Option<&Map>) -> Result<Self, HostError> {
        let library = Library::open().map_err(HostError::NoLibrary)?;
        said();
        // SAFETY: `hear` is a function of that type, and lives as long as this process.
        unsafe { (library.set_print)(Some(hear)) };
        // SAFETY: the bytes live through the call, which copies what it needs; no options.
        let opened = unsafe { (library.open_mem)(object.bytes().as_ptr().cast(), object.bytes().len(), null()) };
        let opened = NonNull::new(opened).ok_or_else(|| {
            let error = io::Error::last_os_error();
            HostError::Refused(format!("{} is no BPF object that libbpf can read: {error}{}", object.origin(), said()))
        })?;
        let loaded = Self { library, object: opened };
        loaded.choose(part)?;
        if let Some(shared) = shared {
            loaded.share(shared);
        }
        // SAFETY: an open object that is not loaded yet.
        let done = unsafe { (library.load)(loaded.object.as_ptr()) };
        if done < 0 {
            let error = io::Error::from_raw_os_error(-done);
            if matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES)) && !crate::rights::may_load() {
                return Err(crate::rights::MissingRights(error).into());
            }
            // Faults that the verifier finds are EACCES or EINVAL.
            if part == Part::Watch && error.raw_os_error() == Some(libc::EPERM) {
                return Err(HostError::NoIterators(error));
            }
            return Err(HostError::Refused(format!("the kernel refused {}: {error}{}", object.origin(), said())));
        }
        Ok(loaded)
    }

    fn choose(&self, part: Part) -> Result<(), HostError> {
        let mut found = false;
        let mut program = std::ptr::null_mut();
        loop {
            // SAFETY: the object is open, and `program` one of its or null for the first.
            program = unsafe { (self.library.next_program)(self.object.as_ptr(), program) };
            let Some(one) = NonNull::new(program) else { break };
            // SAFETY: a program of an open object; its name lives as long.
            let name = unsafe { CStr::from_ptr((self.library.program_name)(one.as_ptr())) };
            let wanted = part.has(&name.to_string_lossy());
            found |= wanted;
            // SAFETY: the object is not loaded yet.
            unsafe { (self.library.set_autoload)(one.as_ptr(), wanted) };
        }
        if !found {
            return Err(HostError::Lacking("program for this".to_owned()));
        }
        let Some(map) = self.map(c"pcc") else { return Ok(()) };
        // SAFETY: the object is not loaded yet.
        match part {
            Part::Control { linked: false } => {}
            Part::Control { linked: true } => drop(unsafe { (self.library.set_map_flags)(map.as_ptr(), LINKED) }),
            Part::Choose | Part::Watch => drop(unsafe { (self.library.set_autocreate)(map.as_ptr(), false) }),
        }
        Ok(())
    }

    fn share(&self, shared: &Map) {
        let Some(map) = CString::new(shared.name.as_str()).ok().and_then(|name| self.map(&name)) else { return };
        // SAFETY: a map of an object that is not loaded yet. The library makes a copy of the file descriptor.
        unsafe {
            if (self.library.value_size)(map.as_ptr()) as usize == shared.value_size {
                (self.library.reuse_fd)(map.as_ptr(), shared.fd.as_raw_fd());
            }
        }
    }

    fn map(&self, name: &CStr) -> Option<NonNull<c_void>> {
        // SAFETY: the object is open.
        NonNull::new(unsafe { (self.library.map_by_name)(self.object.as_ptr(), name.as_ptr()) })
    }

    /// The file descriptor of a map, as one of our own.
    pub fn map_fd(&self, name: &str) -> Result<OwnedFd, HostError> {
        let map = CString::new(name).ok().and_then(|name| self.map(&name));
        let map = map.ok_or_else(|| HostError::Lacking(format!("map {name}")))?;
        // SAFETY: a map of a loaded object, which holds it open while it is copied.
        let fd = unsafe { BorrowedFd::borrow_raw((self.library.map_fd)(map.as_ptr())) };
        fd.try_clone_to_owned().doing(|| format!("no file descriptor for the map {name}"))
    }

    /// The file descriptor of the program of that name.
    pub fn program_fd(&self, wanted: &CStr) -> Result<OwnedFd, HostError> {
        let mut program = std::ptr::null_mut();
        loop {
            // SAFETY: as in `choose`.
            program = unsafe { (self.library.next_program)(self.object.as_ptr(), program) };
            let one = NonNull::new(program)
                .ok_or_else(|| HostError::Lacking(format!("program {}", wanted.to_string_lossy())))?;
            // SAFETY: a program of an open object; its name lives as long.
            if unsafe { CStr::from_ptr((self.library.program_name)(one.as_ptr())) } == wanted {
                // SAFETY: the object holds it open while it is copied.
                let fd = unsafe { BorrowedFd::borrow_raw((self.library.program_fd)(one.as_ptr())) };
                return fd.try_clone_to_owned().doing(|| "no file descriptor for a program");
            }
        }
    }

    /// Gives the congestion control's map its value. One that no link holds is registered by that, and stays when this process
    /// ends. For one that a link is to hold, libbpf makes the link since its version 1.2: then this is it.
    pub fn attach(&self) -> io::Result<Option<OwnedFd>> {
        let map = self.map(c"pcc").ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))?;
        // SAFETY: a struct_ops map of a loaded object.
        let link = unsafe { (self.library.attach_struct_ops)(map.as_ptr()) };
        if link.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the map and the link are there; a link that is none has the map's file descriptor.
        let fd = unsafe { (self.library.link_fd)(link) };
        let is_link = fd != unsafe { (self.library.map_fd)(map.as_ptr()) };
        // SAFETY: the link holds it open while it is copied.
        let copy = is_link.then(|| unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned());
        // SAFETY: the link is ours. Disconnected, what stands for a map leaves that in place; a real one closes its own descriptor.
        unsafe {
            if !is_link {
                (self.library.link_disconnect)(link);
            }
            (self.library.link_destroy)(link);
        }
        copy.transpose()
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: opened once, closed once.
        unsafe { (self.library.close)(self.object.as_ptr()) }
    }
}

/// The messages since then, to be put behind an error: the end of them, since a verifier's log has thousands of lines.
fn said() -> String {
    let all = SAID.lock().map(|mut said| std::mem::take(&mut *said)).unwrap_or_default();
    let lines: Vec<_> = all.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(12)..];
    last.iter().map(|line| format!("\n  {line}")).collect()
}
