//! CUPTI's only place: taking it, or learning who holds it.

use std::ffi::CString;

use crate::error::{Error, Result};
use crate::graph;
use crate::library::Library;
use crate::sys::{Status, Subscriber, SubscriberParams};

/// Takes CUPTI's only place; who holds it is asked of the newer function, which says so and then fails the same way.
pub(super) fn subscribe(library: Library, name: &str) -> Result<Subscriber> {
    let functions = library.functions();
    let mut subscriber = std::ptr::null_mut();
    // SAFETY: callback and library are never freed; the subscriber lives through the call.
    let status = unsafe { (functions.subscribe)(&mut subscriber, graph::callback, library.as_pointer()) };
    match Status(status) {
        Status::MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED => Err(Error::Held {
            name: holder(library, name),
        }),
        _ => library.check("cuptiSubscribe", status).map(|()| subscriber),
    }
}

/// What CUPTI calls the tool that holds it, from 13.0 on.
fn holder(library: Library, name: &str) -> Option<String> {
    let subscribe = library.functions().subscribe_v2?;
    let name = CString::new(name).ok()?;
    let mut old = [0u8; 128];
    // 13.2 has a field more, and tells by the size whether it may read it.
    let with_more = library.functions().struct_size.is_some();
    let mut parameters = SubscriberParams {
        size: if with_more {
            size_of::<SubscriberParams>()
        } else {
            32
        },
        name: name.as_ptr(),
        old_name: old.as_mut_ptr().cast(),
        old_size: old.len() - 1,
        allow_multiple: 0,
        padding: [0; 7],
    };
    let mut subscriber = std::ptr::null_mut();
    // SAFETY: everything that the parameters point to lives through the call, and is as long as they say.
    let status = unsafe {
        subscribe(
            &mut subscriber,
            graph::callback,
            std::ptr::null_mut(),
            &mut parameters,
        )
    };
    if Status(status).is_success() {
        // Whoever held it has just gone. Tracing with this form and the older calls is not allowed.
        // SAFETY: given a moment ago.
        let _ = unsafe { (library.functions().unsubscribe)(subscriber) };
        return None;
    }
    let length = old.iter().position(|byte| *byte == 0)?;
    (length > 0).then(|| String::from_utf8_lossy(&old[..length]).into_owned())
}
