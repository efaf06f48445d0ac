//! Heads on small outputs whose boxes are known by hand.
