//! Switches kinds of records and single calls on and off.

use super::{EnableCall, Session};
use crate::error::{Error, Result};
use crate::loss::{Refusal, Why};
use crate::sys::{Domain, Kind, Status};

impl Session {
    /// Switches kinds on; those that cannot be had here are noted in [`Session::refused`] and left out. Devices, contexts and
    /// streams that are there already are told as well, from 11.7 on.
    ///
    /// # Errors
    /// CUPTI fails for another reason than the kind.
    pub fn enable(&mut self, kinds: &[Kind]) -> Result<()> {
        for &kind in kinds {
            if self.enabled.contains(&kind) {
                continue;
            }
            if let Some(why) = self.unreadable(kind) {
                self.refuse(Refusal {
                    what: kind.to_string(),
                    why,
                });
                continue;
            }
            let functions = self.library.functions();
            let tells_what_is_there = matches!(kind, Kind::DEVICE | Kind::CONTEXT | Kind::STREAM);
            let (call, enable) = match functions.enable_and_dump.filter(|_| tells_what_is_there) {
                Some(enable_and_dump) => ("cuptiActivityEnableAndDump", enable_and_dump),
                None => ("cuptiActivityEnable", functions.enable),
            };
            // SAFETY: it takes a number.
            let status = unsafe { enable(kind.0) };
            match Status(status) {
                Status::SUCCESS => self.enabled.push(kind),
                status if status.refuses_a_kind() => {
                    self.refuse(Refusal {
                        what: kind.to_string(),
                        why: Why::Status(status),
                    });
                }
                status => self.library.check(call, status.0)?,
            }
        }
        Ok(())
    }

    /// Switches single calls on where the release can (12.5 on), in place of every call of the domain.
    ///
    /// # Errors
    /// It cannot, or the domain has no calls, or CUPTI refuses one.
    pub fn enable_calls(&mut self, domain: Domain, functions: &[u32]) -> Result<()> {
        let (call, enable) = self.one_call(domain)?;
        for function in functions {
            // SAFETY: it takes two numbers.
            let status = unsafe { enable(*function, 1) };
            self.library.check(call, status)?;
            self.calls.push((enable, *function));
        }
        Ok(())
    }

    /// Leaves single calls of a domain whose kind is switched on out of the trace, where the release can (12.5 on): they cost
    /// nothing then. Switching the kind on anew brings them back.
    ///
    /// # Errors
    /// It cannot, or CUPTI refuses one.
    pub fn leave_out_calls(&mut self, domain: Domain, functions: &[u32]) -> Result<()> {
        let (call, enable) = self.one_call(domain)?;
        for function in functions {
            // SAFETY: it takes two numbers.
            let status = unsafe { enable(*function, 0) };
            self.library.check(call, status)?;
        }
        Ok(())
    }

    /// Switches single calls of a domain on or off.
    fn one_call(&self, domain: Domain) -> Result<(&'static str, EnableCall)> {
        let known = self.library.functions();
        let (call, enable) = match domain {
            Domain::DRIVER_API => ("cuptiActivityEnableDriverApi", known.enable_driver_call),
            _ => ("cuptiActivityEnableRuntimeApi", known.enable_runtime_call),
        };
        let enable = enable.ok_or(Error::Missing {
            function: call,
            since: "12.5",
            version: self.library.version(),
        })?;
        Ok((call, enable))
    }

    /// Switches a kind off.
    ///
    /// # Errors
    /// CUPTI refuses.
    pub fn disable(&mut self, kind: Kind) -> Result<()> {
        self.enabled.retain(|enabled| *enabled != kind);
        // SAFETY: it takes a number.
        let status = unsafe { (self.library.functions().disable)(kind.0) };
        self.library.check("cuptiActivityDisable", status)
    }

    /// Why records of a kind could not be read, where the library says how long they are.
    fn unreadable(&self, kind: Kind) -> Option<Why> {
        let Some(oldest) = kind.oldest() else {
            return Some(Why::NotRead);
        };
        match self.library.record_length(kind) {
            None => Some(Why::NoSuchKind),
            Some(found) if found < oldest => Some(Why::TooShort { found, oldest }),
            Some(_) => None,
        }
    }

    pub(super) fn disable_calls(&mut self) {
        for (enable, function) in std::mem::take(&mut self.calls) {
            // SAFETY: it takes two numbers; what it answers changes nothing any more.
            let _ = unsafe { enable(function, 0) };
        }
    }
}
