//! Argument types; no behaviour.
