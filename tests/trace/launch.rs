//! Copies over processes and GPUs, as CV-CUDA's launcher has them.
